// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unit tests of the dirty log: log.c, and where the split ring calls it.
 *
 * Plan (numbers are those of the list of known failures): every range against
 * a reference that goes byte by byte; regions that share memory, or together
 * hold a buffer; no mark for what is empty (case 1); odd offsets and partial
 * last buffers (case 42); the used ring, at its wrap, and not a page more
 * (case 43); a bitmap that is not there (case 44); written first, marked
 * second, published third.
 */
#include <sys/mman.h>

#include "ring_tests.h"
#include "../../../drivers/vhost_tap/log.h"

#define LIMIT	((1ULL << 47) - 4096)
#define SPAN	VTAP_LOG_BYTE_SPAN
#define LOG_SIZE	0x4000	/* for 512 MiB of guest memory */
/* the used ring has another address in the log than in the table */
#define USED_GPA	0x8000004ULL

static u8 *bitmap;
static u8 want[LOG_SIZE];

static void expect(u64 gpa, u64 len)
{
	u64 i, page;

	for (i = 0; i < len; i++) {
		page = (gpa + i) / 4096;
		want[page / 8] |= 1 << page % 8;
	}
}

/* The bitmap says what was expected, no less and no more; then both are cleared. */
static void check_log(const u8 *base)
{
	u32 i, len = LOG_SIZE - (base - bitmap);

	for (i = 0; memcmp(base + i, want + i, len - i); i++)
		CHECK_EQ((u64)i << 32 | base[i], (u64)i << 32 | want[i]);
	memset(bitmap, 0, LOG_SIZE);
	memset(want, 0, sizeof(want));
}

static void init(u32 num, bool writable, u64 features, u8 what)
{
	drv_init(num, writable, features);
	if (!bitmap)
		bitmap = mmap(NULL, LOG_SIZE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(bitmap, 0, LOG_SIZE);
	memset(want, 0, sizeof(want));
	guest_map(bitmap, LOG_SIZE, true);
	R->log.base = (unsigned long)bitmap;
	R->log.used_gpa = USED_GPA;
	R->log.what = what;
}

static void case44_limits(void)
{
	/* nothing is asked for */
	CHECK(vtap_log_access_ok(0, 0, 0));
	CHECK(vtap_log_access_ok(~0ULL, ~0ULL, 0));

	/* the byte of the last address that is asked for */
	CHECK(vtap_log_access_ok(LIMIT - 1, 0, 1));
	CHECK(vtap_log_access_ok(LIMIT - 1, 0, SPAN));
	CHECK(!vtap_log_access_ok(LIMIT - 1, 0, SPAN + 1));
	CHECK(!vtap_log_access_ok(LIMIT - 1, SPAN - 1, 2));
	CHECK(!vtap_log_access_ok(LIMIT - 1, SPAN, 1));
	CHECK(!vtap_log_access_ok(LIMIT, 0, 1));
	CHECK(vtap_log_access_ok(LIMIT - 2, SPAN, SPAN));

	/* the last address there is, and one more */
	CHECK(vtap_log_access_ok(0, ~0ULL, 1) == (~0ULL / SPAN < LIMIT));
	CHECK(!vtap_log_access_ok(0x1000, ~0ULL, 2));
	CHECK(!vtap_log_access_ok(0x1000, 1, ~0ULL));
	CHECK(!vtap_log_access_ok(0x1000, 1ULL << 63, 1ULL << 63 | 1));

	/* a bitmap that wraps, or begins beyond */
	CHECK(!vtap_log_access_ok(~0ULL, 0, SPAN + 1));
	CHECK(!vtap_log_access_ok(~0ULL, SPAN, 1));
	CHECK(!vtap_log_access_ok(~0ULL - 1, 0, 1));
}

/* The bitmap must do for each region, whichever of them is the one it is too short for. */
static void case44_table(void)
{
	u32 i;

	drv_init(16, true, 0);
	drv_table_clear();
	CHECK(vtap_log_mem_ok(LIMIT, drv.table));
	for (i = 0; i < 3; i++)
		drv_table_add(i * SPAN, i == 1 ? 1 : SPAN, 0);
	CHECK_EQ(drv_table_done(), 0);
	CHECK(vtap_log_mem_ok(0x1000, drv.table));
	CHECK(vtap_log_mem_ok(LIMIT - 3, drv.table));
	CHECK(!vtap_log_mem_ok(LIMIT - 2, drv.table));
	CHECK(!vtap_log_mem_ok(LIMIT, drv.table));
	drv_table_clear();
	drv_table_add(~0ULL - 0xfff, 0x1000, 0);
	drv_table_add(0x1000, 0x1000, 0);
	CHECK_EQ(drv_table_done(), 0);
	CHECK(!vtap_log_mem_ok(LIMIT - ~0ULL / SPAN, drv.table));
	CHECK(vtap_log_mem_ok(LIMIT - ~0ULL / SPAN - 1, drv.table) == (~0ULL / SPAN < LIMIT));
}

static void pages(void)
{
	u32 round;

	init(16, true, 0, VTAP_LOG_DATA);
	srand(1);
	for (round = 0; round < 3000; round++) {
		u32 shift = round % 9;	/* a bitmap may begin anywhere */
		u32 i;

		R->log.base = (unsigned long)bitmap + shift;
		for (i = 0; i < 1 + round % 4; i++) {
			u64 gpa = rand() % (100 * 4096);
			u64 len = rand() % (round & 1 ? 80 * 4096 : 5000);

			CHECK_EQ(vtap_log_pages(&R->log, gpa, len), 0);
			expect(gpa, len);
		}
		CHECK_EQ(vtap_log_flush(&R->log), 0);
		check_log(bitmap + shift);
		if (tap_failures)
			return;
	}
	/* what is empty is nowhere (case 1) */
	CHECK_EQ(vtap_log_pages(&R->log, 0, 0), 0);
	CHECK_EQ(vtap_log_pages(&R->log, ~0ULL, 0), 0);
	CHECK_EQ(vtap_log_flush(&R->log), 0);
	check_log(bitmap);
	CHECK_EQ(vtap_log_pages(&R->log, ~0ULL, 2), -EFAULT);
	R->log.base = ~0ULL - 1;
	CHECK_EQ(vtap_log_pages(&R->log, 0x100000, 1), -EFAULT);
	CHECK_EQ(vtap_log_flush(&R->log), 0);
}

/* Marks in one word are made at once, and only those. */
static u32 words;

static void count_word(const u32 *word, u32 bits)
{
	(void)word;
	(void)bits;
	words++;
}

static void together(void)
{
	u32 i;

	init(16, true, 0, VTAP_LOG_DATA);
	guest.on_bits = count_word;
	words = 0;
	for (i = 0; i < 64; i++) {
		CHECK_EQ(vtap_log_pages(&R->log, i * 2048, 2048), 0);
		expect(i * 2048, 2048);
	}
	CHECK_EQ(words, 0);
	CHECK_EQ(vtap_log_flush(&R->log), 0);
	CHECK_EQ(words, 1);
	CHECK(R->log.marked);
	check_log(bitmap);
}

/* Regions of any shape, with the same memory behind several of them. */
static void aliases(void)
{
	u32 round, i, k, nr, holes = 0, several = 0;

	init(16, true, 0, VTAP_LOG_DATA);
	srand(2);
	for (round = 0; round < 5000; round++) {
		struct vtap_region saved[6];
		u64 first, len, b;
		bool covered = true;
		int ret, parts = 0;

		drv_table_clear();
		nr = 1 + rand() % 6;
		for (i = 0; i < nr; i++) {
			saved[i].gpa = 0x100000 * i + rand() % 0x4000;
			saved[i].last = saved[i].gpa + rand() % 0x6000;
			saved[i].uaddr = rand() % 0x10000;
			drv_table_add(saved[i].gpa, saved[i].last - saved[i].gpa + 1,
				      saved[i].uaddr);
		}
		CHECK_EQ(drv_table_done(), 0);
		first = rand() % 0x10000;
		len = 1 + rand() % 0x3000;
		for (b = first; b < first + len; b++) {
			bool hit = false;

			for (k = 0; k < nr; k++) {
				if (b - saved[k].uaddr <= saved[k].last - saved[k].gpa &&
				    b >= saved[k].uaddr) {
					expect(saved[k].gpa + (b - saved[k].uaddr), 1);
					hit = true;
				}
			}
			covered &= hit;
		}
		for (k = 0; k < nr; k++)
			parts += first + len > saved[k].uaddr &&
				 first <= saved[k].uaddr + (saved[k].last - saved[k].gpa);
		ret = vtap_log_user(&R->log, drv.table, (unsigned long)drv.mem + first, len);
		CHECK_EQ(ret, covered ? 0 : -ENOENT);
		CHECK_EQ(vtap_log_flush(&R->log), 0);
		check_log(bitmap);
		holes += !covered;
		several += covered && parts > 1;
		if (tap_failures)
			return;
	}
	/* both were met */
	CHECK(holes > 100);
	CHECK(several > 100);
	CHECK_EQ(vtap_log_user(&R->log, NULL, 1, 1), -ENOENT);
	CHECK_EQ(vtap_log_user(&R->log, drv.table, ~0ULL, 2), -ENOENT);
}

static void case1_empty_segments(void)
{
	u32 i;

	init(16, true, F_INDIRECT, VTAP_LOG_DATA);
	for (i = 0; i < 1024; i++)
		drv_entry(gpa_of(DRV_BUF), i, BUF(0x100 + i % 0x100), i % 300 ? 0 : 100,
			  WRITE | (i < 1023 ? NEXT : 0), i + 1);
	drv_desc(0, gpa_of(DRV_BUF), 1024 * 16, INDIRECT, 0);
	drv_add(0);
	CHECK_EQ(vtap_ring_fetch(R, 1), 1);
	CHECK_EQ(vtap_ring_chain(R, 0)->nsegs, 4);
	vtap_ring_chain(R, 0)->written = 150;
	CHECK_EQ(vtap_ring_complete(R, 1), 0);
	expect(BUF(0x100), 100);
	expect(BUF(0x100 + 300 % 0x100), 50);
	check_log(bitmap);

	/* nothing at all, and nothing written */
	drv_desc(1, BUF(1), 0, WRITE, 0);
	drv_desc(2, BUF(2), 100, WRITE, 0);
	drv_add(1);
	drv_add(2);
	CHECK_EQ(vtap_ring_fetch(R, 2), 2);
	CHECK_EQ(vtap_ring_complete(R, 2), 0);
	check_log(bitmap);
}

static void case42_odd_offsets(void)
{
	u32 off, k;

	for (off = 1; off < 4096; off += 409) {
		init(16, true, 0, VTAP_LOG_DATA);
		/* three buffers of two and a half pages, the last one half filled */
		for (k = 0; k < 3; k++) {
			drv_desc(k, BUF(10 * k) + off, 10000, WRITE, 0);
			drv_add(k);
		}
		CHECK_EQ(vtap_ring_fetch(R, 3), 3);
		for (k = 0; k < 3; k++) {
			u32 len = k < 2 ? 10000 : 4097 - off;

			vtap_ring_chain(R, k)->written = len;
			expect(BUF(10 * k) + off, len);
		}
		CHECK_EQ(vtap_ring_complete(R, 3), 0);
		check_log(bitmap);
		CHECK(R->log.marked);
	}
}

/* What a chain's pieces in several regions are called, and through aliases. */
static void through_regions(void)
{
	init(16, true, 0, VTAP_LOG_DATA);
	drv_table_clear();
	drv_table_add(0x1000000, 0x1000, DRV_BUF + 0x5000);
	drv_table_add(0x1001000, 0x1000, DRV_BUF);
	drv_table_add(0x3000000, 0x200000, DRV_BUF);
	CHECK_EQ(drv_table_done(), 0);
	drv_desc(0, 0x1000f80, 0x100, WRITE, 0);
	drv_add(0);
	CHECK_EQ(vtap_ring_fetch(R, 1), 1);
	vtap_ring_chain(R, 0)->written = 0x81;
	CHECK_EQ(vtap_ring_complete(R, 1), 0);
	expect(0x1000f80, 0x81);
	expect(0x3005f80, 1);
	expect(0x3000000, 1);
	check_log(bitmap);
}

static void case43_used_wrap(void)
{
	u32 n, i;

	for (n = 1; n < 1000; n += n < 4 ? 1 : 149) {
		init(2048, true, F_EVENT_IDX, VTAP_LOG_USED);
		R->last_avail = 2047;
		R->avail_idx = 2047;
		R->last_used = 2047;
		for (i = 0; i < n; i++) {
			drv_desc(i, BUF(i % 256), 64, WRITE, 0);
			drv.avail->ring[(2047 + i) % 2048] = i;
		}
		drv_set_avail_idx(2047 + n);
		for (i = 0; i < n; i++) {
			CHECK_EQ(vtap_ring_fetch(R, 1), 1);
			vtap_ring_chain(R, i)->written = 64;
		}
		CHECK_EQ(vtap_ring_complete(R, n), 0);
		CHECK_EQ(R->err, 0);
		/* buffers are not logged: VHOST_F_LOG_ALL is off */
		expect(USED_GPA + 2, 2);
		expect(USED_GPA + 4 + 2047 * 8, 8);
		expect(USED_GPA + 4, (n - 1) * 8);
		check_log(bitmap);
	}
}

static void used_fields(void)
{
	const u64 event = USED_GPA + 4 + 2048 * 8;

	init(2048, true, F_EVENT_IDX, VTAP_LOG_USED);
	CHECK_EQ(vtap_ring_arm(R), 0);
	expect(event, 2);
	check_log(bitmap);
	CHECK_EQ(vtap_ring_start(R), 0);
	CHECK_EQ(R->err, 0);
	expect(event, 2);
	expect(USED_GPA, 2);
	check_log(bitmap);

	init(2048, false, 0, VTAP_LOG_USED);
	CHECK_EQ(vtap_ring_disarm(R), 0);
	expect(USED_GPA, 2);
	check_log(bitmap);
	/* written on change only */
	CHECK_EQ(vtap_ring_disarm(R), 0);
	check_log(bitmap);
	CHECK_EQ(vtap_ring_arm(R), 0);
	expect(USED_GPA, 2);
	check_log(bitmap);

	/* the guest sees the ring twice, and the log has a third name for it */
	drv_table_clear();
	drv_table_add(0x1000000, 0x100000, 0);
	drv_table_add(0x2000000, 0x100000, 0);
	CHECK_EQ(drv_table_done(), 0);
	CHECK_EQ(vtap_ring_disarm(R), 0);
	expect(USED_GPA, 2);
	expect(0x1000000 + DRV_USED, 2);
	expect(0x2000000 + DRV_USED, 2);
	check_log(bitmap);
}

/* Written, then marked; the buffers, then the index, then the index's page. */
static u32 steps;

static void check_step(const u32 *word, u32 bits)
{
	(void)word;
	(void)bits;
	if (!steps++) {
		CHECK_EQ(drv_used_idx(), 0);
		CHECK_EQ(drv_used_len(0), 0);
	} else {
		CHECK_EQ(drv_used_idx(), 3);
		CHECK_EQ(drv_used_len(0), 10);
		CHECK_EQ(drv_used_len(2), 10);
	}
}

static void order(void)
{
	u32 i;

	init(16, true, 0, VTAP_LOG_DATA | VTAP_LOG_USED);
	add_singles(0, 3);
	CHECK_EQ(vtap_ring_fetch(R, 3), 3);
	for (i = 0; i < 3; i++)
		vtap_ring_chain(R, i)->written = 10;
	steps = 0;
	guest.on_bits = check_step;
	CHECK_EQ(vtap_ring_complete(R, 3), 0);
	CHECK(steps >= 3);
}

/* Marking fails at each step in turn. */
static void case44_faults(void)
{
	unsigned long at, done;
	u32 i;

	for (at = 1; at < 100; at++) {
		init(16, true, 0, VTAP_LOG_DATA | VTAP_LOG_USED);
		add_singles(0, 3);
		CHECK_EQ(vtap_ring_fetch(R, 3), 3);
		for (i = 0; i < 3; i++)
			vtap_ring_chain(R, i)->written = 10;
		done = guest.accesses;
		guest.fail_at = done + at;
		if (vtap_ring_complete(R, 3)) {
			/* buffers not marked, or entries not written */
			CHECK_EQ(drv_used_idx(), 0);
			CHECK_EQ(vtap_ring_outstanding(R), 3);
			CHECK_EQ(R->err, VHOST_TAP_RING_ERR_FAULT);
		} else {
			CHECK_EQ(drv_used_idx(), 3);
			CHECK_EQ(vtap_ring_outstanding(R), 0);
		}
		if (guest.accesses - done < at)
			break;
		CHECK_EQ(R->err, VHOST_TAP_RING_ERR_FAULT);
		CHECK_EQ(vtap_ring_fetch(R, 1), -EPROTO);
		CHECK_EQ(vtap_ring_complete(R, 0), -EPROTO);
	}
	/* one or two words of buffers, three entries, index, two of the used ring */
	CHECK(at > 6);
	CHECK(at < 10);

	/* a bitmap that is not there at all */
	init(16, true, F_EVENT_IDX, VTAP_LOG_USED);
	guest.fail_at = guest.accesses + 4;
	CHECK_EQ(vtap_ring_start(R), 0);
	CHECK_EQ(R->err, VHOST_TAP_RING_ERR_FAULT);
	init(16, true, F_EVENT_IDX, VTAP_LOG_USED);
	R->log.base = 1ULL << 63;
	CHECK_EQ(vtap_ring_arm(R), -EPROTO);
	CHECK_EQ(R->err, VHOST_TAP_RING_ERR_FAULT);
}

static void off(void)
{
	init(16, true, 0, 0);
	R->log.base = 1ULL << 63;
	add_singles(0, 3);
	CHECK_EQ(vtap_ring_fetch(R, 3), 3);
	vtap_ring_chain(R, 0)->written = 10;
	CHECK_EQ(vtap_ring_complete(R, 3), 0);
	CHECK_EQ(R->err, 0);
	CHECK_EQ(vtap_ring_arm(R), 0);
	CHECK(!R->log.marked);
	check_log(bitmap);
}

static const struct tap_test tests[] = {
	{ "case44_limits", case44_limits },
	{ "case44_table", case44_table },
	{ "pages", pages },
	{ "together", together },
	{ "aliases", aliases },
	{ "case1_empty_segments", case1_empty_segments },
	{ "case42_odd_offsets", case42_odd_offsets },
	{ "through_regions", through_regions },
	{ "case43_used_wrap", case43_used_wrap },
	{ "used_fields", used_fields },
	{ "order", order },
	{ "case44_faults", case44_faults },
	{ "off", off },
};

int main(int argc, char **argv)
{
	return tap_run(tests, sizeof(tests) / sizeof(tests[0]), argc > 1 ? argv[1] : NULL);
}
