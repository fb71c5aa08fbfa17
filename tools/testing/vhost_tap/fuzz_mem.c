// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fuzzing address translation: mem.c, the translation of buffers in
 * ring_split_fetch.c, and the limits of the dirty log in log.c, against naive
 * models. An input, numbers big-endian:
 *
 *	flags (1): 1 buffers are written; then operations: kind (1) and
 *
 *	0	number (1) of regions, each NUMBER NUMBER NUMBER: where the guest has
 *		it, size, where the owner has it. The table is checked, sorted and
 *		searched around every edge; the ring uses it from now on
 *	1	NUMBER: look an address up
 *	2	number (1) of buffers, each NUMBER LEN: one chain of them through the
 *		ring, completed
 *	3	the same, fetched and given back
 *	4	NUMBER NUMBER NUMBER: base, address and length for vtap_log_access_ok(),
 *		base and table for vtap_log_mem_ok()
 *
 *	NUMBER	a byte K: K & 15: 0 to 7: the edge[] below; 8: the number before;
 *		9: a region's first address; 10: its last; 11: 2^(K >> 4); 12: the
 *		sum of the two numbers before; 13 to 15: nothing. Then K >> 6:
 *		nothing; and a byte, signed; 2 bytes, signed; 8 bytes
 *	LEN	a byte K: K < 128: that; else 4 bytes
 */
#include "oracle.h"
#include "../../../drivers/vhost_tap/log.h"

#define R	(&drv.r)

/* Nothing lies there: buffers are not touched by anybody here. */
#define LIMIT	((1ULL << 47) - 4096)

#define MAX_REGIONS	64
#define MAX_BUFS	48

const char *const fuzz_name = "fuzz_mem";

typedef unsigned __int128 u128;

/* A region as it arrived. */
struct arrived {
	u64 gpa;
	u64 size;
	u64 uaddr;
};

static struct arrived arrived[MAX_REGIONS];
static u32 nr_arrived;
static u64 before[2];	/* numbers taken last */

static u64 take_number(struct input *in)
{
	static const u64 edge[] = {
		0, 0x1000, 1ULL << 32, LIMIT, 1ULL << 47, 1ULL << 63, ~0ULL, 1ULL << 31,
	};
	u32 kind = take(in, 1);
	u64 v = 0;

	switch (kind & 15) {
	case 0 ... 7:
		v = edge[kind & 7];
		break;
	case 8:
		v = before[0];
		break;
	case 9:
		v = nr_arrived ? arrived[take(in, 1) % nr_arrived].gpa : 0;
		break;
	case 10:
		if (nr_arrived) {
			const struct arrived *a = &arrived[take(in, 1) % nr_arrived];

			v = a->gpa + a->size - 1;
		}
		break;
	case 11:
		v = 1ULL << take(in, 1) % 64;
		break;
	case 12:
		v = before[0] + before[1];
		break;
	}
	switch (kind >> 6) {
	case 1:
		v += (u64)(long long)(signed char)take(in, 1);
		break;
	case 2:
		v += (u64)(long long)(short)take(in, 2);
		break;
	case 3:
		v += take(in, 8);
		break;
	}
	before[1] = before[0];
	before[0] = v;
	return v;
}

static u32 take_len(struct input *in)
{
	u32 kind = take(in, 1);

	return kind & 0x80 ? take(in, 4) : kind;
}

static bool acceptable(const struct arrived *a)
{
	return a->size && (u128)a->gpa + a->size <= (u128)1 << 64 &&
	       (u128)a->uaddr + a->size <= LIMIT;
}

/* Of the regions that hold it, the one that starts lowest, then the first come. */
static const struct arrived *naive(u64 gpa)
{
	const struct arrived *best = NULL;
	u32 i;

	for (i = 0; i < nr_arrived; i++) {
		const struct arrived *a = &arrived[i];

		if (gpa >= a->gpa && gpa - a->gpa < a->size && (!best || a->gpa < best->gpa))
			best = a;
	}
	return best;
}

static void look_up(u64 gpa)
{
	const struct vtap_region *got = vtap_mem_find(R->mem, gpa);
	const struct arrived *want = naive(gpa);

	MUST(!got == !want);
	if (!got)
		return;
	MUST(got >= drv.table->region && got < drv.table->region + drv.table->nr);
	MUST(gpa >= got->gpa && gpa <= got->last);
	MUST(got->uaddr + (gpa - got->gpa) == want->uaddr + (gpa - want->gpa));
}

static void new_table(struct input *in)
{
	struct arrived next[MAX_REGIONS];
	u32 nr = take(in, 1) % (MAX_REGIONS + 1), i;
	bool good = true;
	int d;

	drv_table_clear();
	for (i = 0; i < nr; i++) {
		struct vtap_region *reg = &drv.table->region[i];

		next[i].gpa = take_number(in);
		next[i].size = take_number(in);
		next[i].uaddr = take_number(in);
		good &= acceptable(&next[i]);
		reg->gpa = next[i].gpa;
		reg->last = next[i].gpa + next[i].size - 1;
		reg->uaddr = next[i].uaddr;
		reg->order = 77;
	}
	drv.table->nr = nr;
	if (vtap_mem_check_sort(drv.table)) {
		MUST(!good);
		/* the caller throws it away, and has none here */
		drv_table_clear();
		nr_arrived = 0;
		return;
	}
	MUST(good);
	memcpy(arrived, next, sizeof(next));
	nr_arrived = nr;
	MUST(drv.table->nr <= nr && !drv.table->nr == !nr);
	for (i = 0; i < drv.table->nr; i++) {
		MUST(drv.table->region[i].gpa <= drv.table->region[i].last);
		if (i)
			MUST(drv.table->region[i].gpa > drv.table->region[i - 1].last);
	}
	for (i = 0; i < nr; i++) {
		for (d = -1; d <= 1; d++) {
			look_up(arrived[i].gpa + d);
			look_up(arrived[i].gpa + arrived[i].size - 1 + d);
		}
		look_up(arrived[i].gpa + arrived[i].size / 2);
	}
}

/* Through the ring; what it must become is oracle.c's to say. */
static void buffers(struct input *in, bool completes)
{
	u32 n = 1 + take(in, 1) % MAX_BUFS;
	u16 dir = R->writable ? WRITE : 0;
	u16 base = R->last_avail;
	u32 i;
	int ret;

	for (i = 0; i < n; i++) {
		u64 gpa = take_number(in);

		drv_desc(i, gpa, take_len(in), dir | (i < n - 1 ? NEXT : 0), i + 1);
	}
	drv_add(0);
	if (n > 1)
		drv_add(n - 1);		/* its last buffer once more, alone */
	oracle_look(2);
	ret = vtap_ring_fetch(R, 2);
	oracle_check(ret, false, 0);
	if (ret > 0 && completes && ret == (u16)(drv.avail_idx - base)) {
		MUST(!vtap_ring_complete(R, ret));
		return;
	}
	vtap_ring_unfetch(R, vtap_ring_outstanding(R));
	MUST(R->last_avail == base);
	R->last_avail = drv.avail_idx;
	MUST(!vtap_ring_start(R));
}

static void log_limits(struct input *in)
{
	u64 base = take_number(in);
	u64 gpa = take_number(in);
	u64 len = take_number(in);
	u128 last = (u128)gpa + len - 1;
	bool want;
	u32 i;

	/* a bit for each page, and all bytes that hold one of them in reach */
	want = !len || (last >> 64 == 0 && base + last / VTAP_LOG_BYTE_SPAN + 1 <= LIMIT);
	MUST(vtap_log_access_ok(base, gpa, len) == want);

	/* and for all of the table that is there */
	want = true;
	for (i = 0; i < nr_arrived; i++) {
		last = (u128)arrived[i].gpa + arrived[i].size - 1;
		want &= base + last / VTAP_LOG_BYTE_SPAN + 1 <= LIMIT;
	}
	MUST(vtap_log_mem_ok(base, drv.table) == want);
}

void fuzz_one(struct input *in)
{
	u32 flags = take(in, 1);
	u32 steps = 0;

	drv_init(64, flags & 1, 0);
	drv_table_clear();
	nr_arrived = 0;
	memset(before, 0, sizeof(before));
	while (in->left && steps++ < 500) {
		switch (take(in, 1) % 5) {
		case 0:
			new_table(in);
			break;
		case 1:
			look_up(take_number(in));
			break;
		case 2:
			buffers(in, true);
			break;
		case 3:
			buffers(in, false);
			break;
		case 4:
			log_limits(in);
			break;
		}
	}
}
