// SPDX-License-Identifier: GPL-2.0-only
/*
 * The door to guest memory of the userspace build: see guest.h.
 */
#include <stdio.h>

#include "guest.h"

struct guest guest;

static struct {
	u8 *base;
	size_t len;
	bool ok;
	u32 *seen;	/* epoch in which each byte was read */
} map[GUEST_MAX_MAPS];

static unsigned int nr_maps;
static u32 epoch;

static struct {
	enum guest_access what;
	const u8 *p[2];
	size_t len[2];
} window;

static void stray(const char *why, const void *p, size_t len)
{
	fprintf(stderr, "guest memory: %s: %zu bytes at %p\n", why, len, p);
	abort();
}

void guest_reset(void)
{
	nr_maps = 0;
	memset(&guest, 0, sizeof(guest));
	if (window.what != GUEST_NONE)
		stray("window left open", window.p[0], window.len[0]);
}

void guest_map(void *base, size_t len, bool ok)
{
	if (nr_maps == GUEST_MAX_MAPS)
		abort();
	/* what was read before guest_reset() is of an older epoch */
	if (map[nr_maps].len < len || !map[nr_maps].seen) {
		free(map[nr_maps].seen);
		map[nr_maps].seen = calloc(len, sizeof(u32));
		if (!map[nr_maps].seen)
			abort();
	}
	map[nr_maps].base = base;
	map[nr_maps].len = len;
	map[nr_maps].ok = ok;
	nr_maps++;
}

void guest_track(void)
{
	guest.track = true;
	guest.read_twice = 0;
	epoch++;
}

static int find(const void *p, size_t len)
{
	unsigned int i;

	for (i = 0; i < nr_maps; i++) {
		size_t off = (const u8 *)p - map[i].base;

		if ((const u8 *)p >= map[i].base && off < map[i].len && len <= map[i].len - off)
			return i;
	}
	stray("outside of all of it", p, len);
	return -1;
}

/* Does this access fail? */
static bool fails(int m)
{
	guest.accesses++;
	if (!map[m].ok)
		return true;
	if (!guest.fail_at)
		return false;
	return guest.accesses == guest.fail_at ||
	       (guest.fail_after && guest.accesses > guest.fail_at);
}

static void was_read(int m, const void *p, size_t len)
{
	size_t off = (const u8 *)p - map[m].base;
	size_t i;

	for (i = off; i < off + len; i++) {
		if (guest.track) {
			if (map[m].seen[i] == epoch)
				guest.read_twice++;
			map[m].seen[i] = epoch;
		}
		if (guest.scribble)
			map[m].base[i] ^= 0xa5;
	}
	if (guest.on_get)
		guest.on_get(p, len);
}

static void check_window(enum guest_access what, const void *p, size_t len)
{
	unsigned int i;

	if (window.what != what)
		stray(what == GUEST_READ ? "read without a read window" :
					   "written without a write window", p, len);
	for (i = 0; i < 2; i++) {
		size_t off = (const u8 *)p - window.p[i];

		if ((const u8 *)p >= window.p[i] && off < window.len[i] &&
		    len <= window.len[i] - off)
			return;
	}
	stray("outside of the window", p, len);
}

bool guest_begin(enum guest_access what, const void *p1, size_t l1, const void *p2, size_t l2)
{
	if (window.what != GUEST_NONE)
		stray("a window in a window", p1, l1);
	if (!vtap_guest_access_ok(p1, l1) || !vtap_guest_access_ok(p2, l2))
		return false;
	window.what = what;
	window.p[0] = p1;
	window.len[0] = l1;
	window.p[1] = p2;
	window.len[1] = l2;
	guest.windows++;
	return true;
}

void guest_end(enum guest_access what)
{
	if (window.what != what)
		stray("closed and not open", window.p[0], window.len[0]);
	window.what = GUEST_NONE;
}

int guest_get(void *dst, const void *src, size_t len)
{
	int m = find(src, len);

	check_window(GUEST_READ, src, len);
	if (fails(m))
		return -EFAULT;
	memcpy(dst, src, len);
	was_read(m, src, len);
	return 0;
}

int guest_put(const void *src, void *dst, size_t len)
{
	int m = find(dst, len);

	check_window(GUEST_WRITE, dst, len);
	if (fails(m))
		return -EFAULT;
	if (guest.on_put)
		guest.on_put(dst, len);
	memcpy(dst, src, len);
	return 0;
}

int guest_copy_in(void *dst, const void *src, size_t len)
{
	int m = find(src, len);

	if (window.what != GUEST_NONE)
		stray("copied inside of a window", src, len);
	if (fails(m))
		return -EFAULT;
	memcpy(dst, src, len);
	was_read(m, src, len);
	return 0;
}

int guest_copy_out(void *dst, const void *src, size_t len)
{
	int m = find(dst, len);

	if (window.what != GUEST_NONE)
		stray("copied inside of a window", dst, len);
	if (fails(m))
		return -EFAULT;
	memcpy(dst, src, len);
	return 0;
}

int guest_set_bits(u32 *word, u32 bits)
{
	int m = find(word, sizeof(*word));

	if (window.what != GUEST_NONE)
		stray("bits set inside of a window", word, sizeof(*word));
	if ((unsigned long)word % sizeof(*word))
		stray("bits set in no aligned word", word, sizeof(*word));
	if (fails(m))
		return -EFAULT;
	if (guest.on_bits)
		guest.on_bits(word, bits);
	*word |= bits;
	return 0;
}
