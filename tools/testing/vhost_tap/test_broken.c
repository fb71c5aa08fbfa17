// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unit tests of the split ring: what a broken driver gets, and memory that is
 * in pieces, has an end, or fails.
 *
 * Plan (numbers are those of the list of known failures): cases 13, 15, 48 and
 * 49; each error alone, behind good chains, and in a later turn; the ring works
 * again afterwards; every access of a fetch failing in turn.
 */
#include "ring_tests.h"

/* A broken chain in a later turn of one fetch: those before it are good for use. */
static void fetch_bad_later(void)
{
	u32 i;

	for (i = 64; i < 130; i += 11) {
		drv_init(256, true, 0);
		add_singles(0, 200);
		drv_desc(i, BUF(0), 60, 0, 0);
		CHECK_EQ(vtap_ring_fetch(R, 200), i);
		CHECK_EQ(R->err, VHOST_TAP_RING_ERR_NONE);
		CHECK_EQ(R->nr_segs, i);
		CHECK_EQ(vtap_ring_complete(R, i), 0);
		CHECK_EQ(drv_used_idx(), i);
		check_broken(VHOST_TAP_RING_ERR_DIRECTION);
	}

	/* segments of a chain that was given up are free again */
	drv_init(256, true, 0);
	drv_desc(0, BUF(0), 60, WRITE | NEXT, 1);
	drv_desc(1, BUF(1), 60, WRITE | NEXT, 2);
	drv_desc(2, 0, 60, WRITE, 0);
	add_singles(10, 1);
	drv_add(0);
	CHECK_EQ(vtap_ring_fetch(R, 8), 1);
	CHECK_EQ(R->nr_segs, 1);
	CHECK_EQ(vtap_ring_complete(R, 1), 0);
	check_broken(VHOST_TAP_RING_ERR_ADDRESS);
	CHECK_EQ(R->nr_segs, 0);
}

/* A full ring is not a jump of its index, one more is (case 15). */
static void case15_avail_jump(void)
{
	static const u32 nums[] = { 1, 8, 32768 };
	u32 i, start;

	for (i = 0; i < 3; i++) {
		for (start = 0; start < 3; start++) {
			u16 base = start * 0x7ffd;

			drv_init(nums[i], true, 0);
			R->last_avail = base;
			CHECK_EQ(vtap_ring_start(R), 0);
			drv_set_avail_idx(base + nums[i] + 1);
			CHECK_EQ(vtap_ring_has_avail(R), -EPROTO);
			CHECK_EQ(R->err, VHOST_TAP_RING_ERR_AVAIL_IDX);
			CHECK_EQ(vtap_ring_start(R), 0);
			CHECK_EQ(vtap_ring_arm(R), -EPROTO);
			CHECK_EQ(vtap_ring_start(R), 0);
			check_broken(VHOST_TAP_RING_ERR_AVAIL_IDX);
			CHECK_EQ(R->last_avail, base);
			drv_set_avail_idx(base - 1);
			CHECK_EQ(vtap_ring_start(R), 0);
			check_broken(VHOST_TAP_RING_ERR_AVAIL_IDX);
			drv_set_avail_idx(base + nums[i]);
			drv_desc(0, BUF(0), 1, WRITE, 0);
			CHECK_EQ(vtap_ring_start(R), 0);
			CHECK_EQ(vtap_ring_has_avail(R), 1);
			CHECK_EQ(vtap_ring_fetch(R, 1), 1);
		}
	}
}

static void case15_heads(void)
{
	drv_init(8, false, 0);
	drv_desc(7, BUF(0), 60, 0, 0);
	check_bad_head(8, VHOST_TAP_RING_ERR_HEAD);
	check_bad_head(0xffff, VHOST_TAP_RING_ERR_HEAD);
	drv_desc(0, BUF(0), 60, NEXT, 8);
	check_bad_head(0, VHOST_TAP_RING_ERR_HEAD);
	drv_desc(0, BUF(0), 60, NEXT, 0xffff);
	check_bad_head(0, VHOST_TAP_RING_ERR_HEAD);
	drv_init(32768, false, 0);
	drv_desc(32767, BUF(0), 60, 0, 0);
	check_bad_head(32768, VHOST_TAP_RING_ERR_HEAD);
}

static void case15_loops(void)
{
	unsigned long accesses;
	u32 i;

	drv_init(8, false, F_INDIRECT);
	drv_desc(7, BUF(0), 60, 0, 0);
	drv_desc(0, BUF(0), 60, NEXT, 0);
	check_bad_head(0, VHOST_TAP_RING_ERR_LOOP);
	drv_desc(0, BUF(0), 0, NEXT, 1);
	drv_desc(1, BUF(0), 0, NEXT, 0);
	check_bad_head(0, VHOST_TAP_RING_ERR_LOOP);

	/* longer than what is copied at once */
	drv_init(32768, false, 0);
	drv_desc(32767, BUF(0), 60, 0, 0);
	for (i = 0; i < 32767; i++)
		drv_desc(i, 0, 0, NEXT, i == 32766 ? 5 : i + 1);
	check_bad_head(0, VHOST_TAP_RING_ERR_LOOP);

	/* in a table, short and long */
	drv_init(8, false, F_INDIRECT);
	drv_desc(7, BUF(0), 60, 0, 0);
	drv_desc(0, BUF(8), 16, INDIRECT, 0);
	drv_entry(BUF(8), 0, BUF(0), 60, NEXT, 0);
	check_bad_head(0, VHOST_TAP_RING_ERR_LOOP);
	drv_desc(0, BUF(8), 16 * 200, INDIRECT, 0);
	for (i = 0; i < 200; i++)
		drv_entry(BUF(8), i, 0, 0, NEXT, i == 199 ? 100 : i + 1);
	check_bad_head(0, VHOST_TAP_RING_ERR_LOOP);
	drv_entry(BUF(8), 0, 0, 0, NEXT, 200);
	check_bad_head(0, VHOST_TAP_RING_ERR_HEAD);
	/* as often as it has entries, and no more: index, head, descriptor, table */
	drv_entry(BUF(8), 0, 0, 0, NEXT, 0);
	drv_add(0);
	accesses = guest.accesses;
	CHECK_EQ(vtap_ring_fetch(R, 1), -EPROTO);
	CHECK_EQ(guest.accesses - accesses, 1 + 1 + 2 + 200 * 2);
}

static void case15_indirect(void)
{
	static const u32 bad_len[] = { 0, 1, 15, 17, 31, 65537 * 16, 0xfffffff0, 0xffffffff };
	u32 i;

	drv_init(8, false, F_INDIRECT);
	drv_desc(7, BUF(0), 60, 0, 0);
	for (i = 0; i < sizeof(bad_len) / sizeof(bad_len[0]); i++) {
		drv_desc(0, BUF(8), bad_len[i], INDIRECT, 0);
		check_bad_head(0, VHOST_TAP_RING_ERR_TABLE);
	}
	/* with NEXT */
	drv_entry(BUF(8), 0, BUF(0), 60, 0, 0);
	drv_desc(0, BUF(8), 16, INDIRECT | NEXT, 1);
	drv_desc(1, BUF(9), 16, 0, 0);
	check_bad_head(0, VHOST_TAP_RING_ERR_INDIRECT);
	/* nested */
	drv_desc(0, BUF(8), 32, INDIRECT, 0);
	drv_entry(BUF(8), 0, BUF(0), 60, NEXT, 1);
	drv_entry(BUF(8), 1, BUF(8), 16, INDIRECT, 0);
	check_bad_head(0, VHOST_TAP_RING_ERR_INDIRECT);
	/* outside of memory, wrapping */
	drv_desc(0, DRV_GPA - 16, 16, INDIRECT, 0);
	check_bad_head(0, VHOST_TAP_RING_ERR_ADDRESS);
	drv_desc(0, gpa_of(DRV_SIZE - 16), 32, INDIRECT, 0);
	drv_entry(gpa_of(DRV_SIZE - 16), 0, BUF(0), 60, NEXT, 1);
	check_bad_head(0, VHOST_TAP_RING_ERR_ADDRESS);
	drv_desc(0, ~0ULL - 15, 32, INDIRECT, 0);
	check_bad_head(0, VHOST_TAP_RING_ERR_ADDRESS);
	/* next is right behind the table, where the one before had an entry */
	drv_init(8, false, F_INDIRECT);
	drv_desc(7, BUF(0), 60, 0, 0);
	drv_desc(0, BUF(8), 48, INDIRECT, 0);
	for (i = 0; i < 3; i++)
		drv_entry(BUF(8), i, BUF(0), 60, i == 2 ? 0 : NEXT, i + 1);
	drv_add(0);
	CHECK_EQ(vtap_ring_fetch(R, 1), 1);
	vtap_ring_unfetch(R, 1);
	drv_set_avail_idx(0);
	drv_desc(0, BUF(8), 32, INDIRECT, 0);
	drv_entry(BUF(8), 0, BUF(0), 60, NEXT, 2);
	check_bad_head(0, VHOST_TAP_RING_ERR_HEAD);
	/* not negotiated */
	drv_init(8, false, 0);
	drv_desc(7, BUF(0), 60, 0, 0);
	drv_entry(BUF(8), 0, BUF(0), 60, 0, 0);
	drv_desc(0, BUF(8), 16, INDIRECT, 0);
	check_bad_head(0, VHOST_TAP_RING_ERR_INDIRECT);
}

/* A table across regions, cut between entries and inside of one. */
static void fetch_table_across_regions(void)
{
	u32 cut, i;

	for (cut = 0; cut <= 80; cut++) {
		u64 table = BUF(0x10) - cut;

		drv_init(8, false, F_INDIRECT);
		drv_desc(0, table, 80, INDIRECT, 0);
		for (i = 0; i < 5; i++)
			drv_entry(table, i, BUF(0x40) + i, 100 + i, i == 4 ? 0 : NEXT, i + 1);
		drv_add(0);
		/* guest memory is swapped at the cut: moved to elsewhere */
		memcpy(drv.mem + DRV_SIZE - 0x1000, drv.mem + DRV_BUF + 0x10000, 80);
		memset(drv.mem + DRV_BUF + 0x10000, 0xff, 80);
		drv_table_clear();
		drv_table_add(DRV_GPA, DRV_BUF + 0x10000, 0);
		drv_table_add(BUF(0x10), 0x1000, DRV_SIZE - 0x1000);
		drv_table_add(BUF(0x11), DRV_SIZE - DRV_BUF - 0x11000, DRV_BUF + 0x11000);
		CHECK_EQ(drv_table_done(), 0);
		guest_track();
		CHECK_EQ(vtap_ring_fetch(R, 1), 1);
		CHECK_EQ(guest.read_twice, 0);
		CHECK_EQ(vtap_ring_chain(R, 0)->nsegs, 5);
		CHECK_EQ(vtap_ring_chain(R, 0)->len, 510);
		for (i = 0; i < 5; i++) {
			CHECK(drv_seg(0, i)->iov_base == drv.mem + DRV_BUF + 0x40000 + i);
			CHECK_EQ(drv_seg(0, i)->iov_len, 100 + i);
		}
		CHECK_EQ(vtap_ring_complete(R, 1), 0);
	}

	/* broken ones of this kind: the last one above is cut at its end */
	drv_desc(0, BUF(0x10) - 70, 80, INDIRECT, 0);
	drv_desc(7, BUF(0x40), 60, 0, 0);
	drv_entry(BUF(0x10) - 70, 0, BUF(0x40), 60, NEXT, 5);
	check_bad_head(0, VHOST_TAP_RING_ERR_HEAD);
	drv_entry(BUF(0x10) - 70, 0, BUF(0x40), 60, NEXT, 0);
	check_bad_head(0, VHOST_TAP_RING_ERR_LOOP);
	drv_entry(BUF(0x10) - 70, 0, BUF(0x40), 16, INDIRECT, 0);
	check_bad_head(0, VHOST_TAP_RING_ERR_INDIRECT);
}

/* A buffer across three regions is three segments, a hole is an error (case 48). */
static void fetch_across_regions(void)
{
	drv_init(8, false, 0);
	drv_table_clear();
	drv_table_add(BUF(2), 0x1000, DRV_BUF + 0x9000);
	drv_table_add(BUF(0), 0x1000, DRV_BUF + 0x5000);
	drv_table_add(BUF(1), 0x1000, DRV_BUF + 0x1000);
	drv_table_add(BUF(4), 0x1000, DRV_BUF + 0x4000);
	CHECK_EQ(drv_table_done(), 0);
	drv_desc(0, BUF(0) + 0xfff, 0x1002, NEXT, 1);
	drv_desc(1, BUF(4), 0x1000, 0, 0);
	drv_add(0);
	CHECK_EQ(vtap_ring_fetch(R, 1), 1);
	CHECK_EQ(vtap_ring_chain(R, 0)->nsegs, 4);
	CHECK_EQ(vtap_ring_chain(R, 0)->len, 0x2002);
	CHECK(drv_seg(0, 0)->iov_base == drv.mem + DRV_BUF + 0x5fff);
	CHECK_EQ(drv_seg(0, 0)->iov_len, 1);
	CHECK(drv_seg(0, 1)->iov_base == drv.mem + DRV_BUF + 0x1000);
	CHECK_EQ(drv_seg(0, 1)->iov_len, 0x1000);
	CHECK(drv_seg(0, 2)->iov_base == drv.mem + DRV_BUF + 0x9000);
	CHECK_EQ(drv_seg(0, 2)->iov_len, 1);
	CHECK(drv_seg(0, 3)->iov_base == drv.mem + DRV_BUF + 0x4000);
	CHECK_EQ(vtap_ring_complete(R, 1), 0);

	drv_desc(7, BUF(0), 60, 0, 0);
	drv_desc(0, BUF(2), 0x1001, 0, 0);
	check_bad_head(0, VHOST_TAP_RING_ERR_ADDRESS);
	drv_desc(0, BUF(3) + 0xfff, 2, 0, 0);
	check_bad_head(0, VHOST_TAP_RING_ERR_ADDRESS);
	drv_desc(0, BUF(5), 1, 0, 0);
	check_bad_head(0, VHOST_TAP_RING_ERR_ADDRESS);
	drv_desc(0, BUF(0) - 1, 1, 0, 0);
	check_bad_head(0, VHOST_TAP_RING_ERR_ADDRESS);
}

static void fetch_without_memory(void)
{
	drv_init(8, false, 0);
	add_singles(0, 1);
	R->mem = NULL;
	check_broken(VHOST_TAP_RING_ERR_ADDRESS);
	drv_table_clear();
	R->mem = drv.table;
	CHECK_EQ(vtap_ring_start(R), 0);
	check_broken(VHOST_TAP_RING_ERR_ADDRESS);
	/* not even at 0, and an empty one needs no memory */
	drv_desc(0, 0, 1, 0, 0);
	CHECK_EQ(vtap_ring_start(R), 0);
	check_broken(VHOST_TAP_RING_ERR_ADDRESS);
	drv_desc(0, 0, 0, 0, 0);
	CHECK_EQ(vtap_ring_start(R), 0);
	CHECK_EQ(vtap_ring_fetch(R, 1), 1);
}

/* The end of the address space (case 13). */
static void case13_last_byte(void)
{
	u64 top = ~0ULL - 0xfff;

	drv_init(8, false, F_INDIRECT);
	drv_table_add(top, 0x1000, DRV_BUF);
	drv_table_add(0, 0x1000, DRV_BUF + 0x1000);
	CHECK_EQ(drv_table_done(), 0);
	drv_desc(7, BUF(0), 60, 0, 0);
	drv_desc(0, ~0ULL, 1, NEXT, 1);
	drv_desc(1, top, 0x1000, NEXT, 2);
	drv_desc(2, top + 1, 0xfff, 0, 0);
	drv_add(0);
	CHECK_EQ(vtap_ring_fetch(R, 1), 1);
	CHECK_EQ(vtap_ring_chain(R, 0)->nsegs, 3);
	CHECK(drv_seg(0, 0)->iov_base == drv.mem + DRV_BUF + 0xfff);
	CHECK_EQ(drv_seg(0, 1)->iov_len, 0x1000);
	CHECK_EQ(vtap_ring_complete(R, 1), 0);
	/* over the end, although there is memory at 0 */
	drv_desc(0, ~0ULL, 2, 0, 0);
	check_bad_head(0, VHOST_TAP_RING_ERR_ADDRESS);
	drv_desc(0, top, 0x1001, 0, 0);
	check_bad_head(0, VHOST_TAP_RING_ERR_ADDRESS);
	drv_desc(0, ~0ULL, 0xffffffff, 0, 0);
	check_bad_head(0, VHOST_TAP_RING_ERR_ADDRESS);
	drv_desc(0, top - 1, 2, 0, 0);
	check_bad_head(0, VHOST_TAP_RING_ERR_ADDRESS);
	/* a table there */
	drv_desc(0, ~0ULL - 15, 16, INDIRECT, 0);
	memset(drv.mem + DRV_BUF + 0xff0, 0, 16);
	drv_entry(BUF(0) + 0xff0, 0, BUF(2), 77, 0, 0);
	drv_add(0);
	CHECK_EQ(vtap_ring_fetch(R, 1), 1);
	CHECK_EQ(vtap_ring_chain(R, 0)->len, 77);
	CHECK_EQ(vtap_ring_complete(R, 1), 0);
	/* over the end */
	drv_desc(0, ~0ULL - 15, 32, INDIRECT, 0);
	check_bad_head(0, VHOST_TAP_RING_ERR_ADDRESS);
}

static void direction(bool writable)
{
	u16 good = writable ? WRITE : 0;
	u16 bad = WRITE ^ good;

	drv_init(8, writable, F_INDIRECT);
	drv_desc(7, BUF(0), 60, good, 0);
	drv_desc(0, BUF(0), 60, bad, 0);
	check_bad_head(0, VHOST_TAP_RING_ERR_DIRECTION);
	drv_desc(0, BUF(0), 60, good | NEXT, 1);
	drv_desc(1, BUF(0), 60, bad, 0);
	check_bad_head(0, VHOST_TAP_RING_ERR_DIRECTION);
	drv_desc(0, BUF(8), 32, INDIRECT, 0);
	drv_entry(BUF(8), 0, BUF(0), 60, good | NEXT, 1);
	drv_entry(BUF(8), 1, BUF(0), 60, bad, 0);
	check_bad_head(0, VHOST_TAP_RING_ERR_DIRECTION);
	drv_entry(BUF(8), 0, BUF(0), 60, bad | NEXT, 1);
	drv_entry(BUF(8), 1, BUF(0), 60, good, 0);
	check_bad_head(0, VHOST_TAP_RING_ERR_DIRECTION);
}

static void fetch_direction(void)
{
	direction(false);
	direction(true);
}

/* A chain of @n segments, direct or in a table. */
static void add_segs(u32 n, bool table)
{
	u16 dir = R->writable ? WRITE : 0;
	u32 i;

	for (i = 0; i < n; i++) {
		u16 flags = dir | (i == n - 1 ? 0 : NEXT);

		if (table)
			drv_entry(BUF(8), i, BUF(i % 100), 3, flags, i + 1);
		else
			drv_desc(i, BUF(i % 100), 3, flags, i + 1);
	}
	if (table)
		drv_desc(0, BUF(8), n * 16, INDIRECT, 0);
}

/* 1024 segments pass, 1025 fail cleanly (case 49). */
static void case49_segments(void)
{
	u32 kind;

	for (kind = 0; kind < 4; kind++) {
		drv_init(2048, kind & 1, F_INDIRECT);
		drv_desc(2047, BUF(0), 60, R->writable ? WRITE : 0, 0);
		add_segs(1024, kind & 2);
		drv_add(0);
		CHECK_EQ(vtap_ring_fetch(R, 8), 1);
		CHECK_EQ(vtap_ring_chain(R, 0)->nsegs, 1024);
		CHECK_EQ(vtap_ring_chain(R, 0)->len, 3072);
		CHECK_EQ(vtap_ring_complete(R, 1), 0);
		add_segs(1025, kind & 2);
		check_bad_head(0, VHOST_TAP_RING_ERR_SEGMENTS);
	}

	/* 1004 descriptors, 20 of them across two regions */
	drv_init(2048, false, 0);
	drv_table_clear();
	drv_table_add(DRV_GPA, DRV_BUF + 0x50001, 0);
	drv_table_add(BUF(0x50) + 1, 0x10000, DRV_BUF + 0x50001);
	drv_table_add(BUF(0x60) + 1, 0x100000, DRV_BUF + 0x60001);
	CHECK_EQ(drv_table_done(), 0);
	drv_desc(2047, BUF(0), 60, 0, 0);
	add_segs(1004, false);
	drv_add(0);
	CHECK_EQ(vtap_ring_fetch(R, 8), 1);
	CHECK_EQ(vtap_ring_chain(R, 0)->nsegs, 1024);
	CHECK_EQ(vtap_ring_complete(R, 1), 0);
	add_segs(1005, false);
	check_bad_head(0, VHOST_TAP_RING_ERR_SEGMENTS);
}

/* A chain of @n entries in a table, one buffer at its end: all else is empty. */
static void add_empties(u32 n)
{
	u32 i;

	for (i = 0; i < n - 1; i++)
		drv_entry(BUF(16), i, BUF(0), 0, NEXT, i + 1);
	drv_entry(BUF(16), i, BUF(0), 60, 0, 0);
	drv_desc(0, BUF(16), n * 16, INDIRECT, 0);
}

/* Empty buffers take no segment: their number has a limit of its own (I6). */
static void long_table_of_empties(void)
{
	drv_init(8, false, F_INDIRECT);
	drv_desc(7, BUF(0), 60, 0, 0);
	add_empties(1024);
	drv_add(0);
	CHECK_EQ(vtap_ring_fetch(R, 8), 1);
	CHECK_EQ(vtap_ring_chain(R, 0)->nsegs, 1);
	CHECK_EQ(vtap_ring_complete(R, 1), 0);
	add_empties(4096);
	check_bad_head(0, VHOST_TAP_RING_ERR_SEGMENTS);

	/* as many as the ring has are allowed */
	drv_init(4096, false, F_INDIRECT);
	add_empties(4096);
	drv_add(0);
	CHECK_EQ(vtap_ring_fetch(R, 8), 1);
	CHECK_EQ(vtap_ring_chain(R, 0)->nsegs, 1);
	CHECK_EQ(vtap_ring_complete(R, 1), 0);
}

static void fetch_length(void)
{
	u32 i;

	/* one region of 4 GiB, never touched */
	drv_init(64, true, 0);
	drv_table_add(1ULL << 40, 1ULL << 33, 0);
	CHECK_EQ(drv_table_done(), 0);
	drv_desc(63, BUF(0), 60, WRITE, 0);
	drv_desc(0, 1ULL << 40, 0xffffffff, WRITE, 0);
	drv_add(0);
	CHECK_EQ(vtap_ring_fetch(R, 1), 1);
	CHECK_EQ(vtap_ring_chain(R, 0)->len, 0xffffffffULL);
	CHECK_EQ(vtap_ring_complete(R, 1), 0);
	drv_desc(0, 1ULL << 40, 0xffffffff, WRITE | NEXT, 1);
	drv_desc(1, 1ULL << 40, 1, WRITE, 0);
	check_bad_head(0, VHOST_TAP_RING_ERR_LENGTH);
	for (i = 0; i < 33; i++)
		drv_desc(i, 1ULL << 40, 0x80000000, WRITE | (i == 32 ? 0 : NEXT), i + 1);
	check_bad_head(0, VHOST_TAP_RING_ERR_LENGTH);
	drv_desc(1, 1ULL << 40, 0x7fffffff, WRITE, 0);
	drv_add(0);
	CHECK_EQ(vtap_ring_fetch(R, 1), 1);
}

/* Any access of a fetch fails: a good beginning comes first, then the error. */
static void fetch_faults(void)
{
	unsigned long at, total = 0;
	u32 i;
	int n, m;

	for (at = 0; !total || at <= total; at++) {
		drv_init(64, false, F_INDIRECT);
		for (i = 0; i < 8; i++) {
			drv_desc(i * 4, BUF(i), 10, NEXT, i * 4 + 1);
			if (i & 1) {
				drv_desc(i * 4 + 1, BUF(0x80 + i), 3 * 16, INDIRECT, 0);
				drv_entry(BUF(0x80 + i), 0, BUF(1), 20, NEXT, 2);
				drv_entry(BUF(0x80 + i), 2, BUF(1), 20, 0, 2);
			} else {
				drv_desc(i * 4 + 1, BUF(i), 40, 0, 0);
			}
			drv_add(i * 4);
		}
		guest.fail_at = at;
		guest.fail_after = true;
		n = vtap_ring_fetch(R, 64);
		if (!at) {
			CHECK_EQ(n, 8);
			total = guest.accesses;
			continue;
		}
		CHECK(n == -EPROTO || (n > 0 && n < 8));
		if (n > 0) {
			CHECK_EQ(R->err, VHOST_TAP_RING_ERR_NONE);
			m = vtap_ring_fetch(R, 64);
			CHECK_EQ(m, -EPROTO);
			CHECK_EQ(vtap_ring_outstanding(R), n);
			CHECK_EQ(R->last_avail, n);
			for (i = 0; i < (u32)n; i++)
				CHECK_EQ(vtap_ring_chain(R, i)->len, 50);
		} else {
			CHECK_EQ(vtap_ring_outstanding(R), 0);
			CHECK_EQ(R->last_avail, 0);
		}
		CHECK_EQ(R->err, VHOST_TAP_RING_ERR_FAULT);
		/* memory comes back: all of them come, none twice */
		vtap_ring_unfetch(R, vtap_ring_outstanding(R));
		guest.fail_at = 0;
		CHECK_EQ(vtap_ring_start(R), 0);
		CHECK_EQ(vtap_ring_fetch(R, 64), 8);
	}
	CHECK_EQ(total, 1 + 8 + 16 * 2 + 4 * 3 * 2);
}

#define T(fn)	{ #fn, fn }

static const struct tap_test tests[] = {
	T(fetch_bad_later),
	T(case15_avail_jump),
	T(case15_heads),
	T(case15_loops),
	T(case15_indirect),
	T(fetch_table_across_regions),
	T(fetch_across_regions),
	T(fetch_without_memory),
	T(case13_last_byte),
	T(fetch_direction),
	T(case49_segments),
	T(long_table_of_empties),
	T(fetch_length),
	T(fetch_faults),
};

int main(int argc, char **argv)
{
	return tap_run(tests, sizeof(tests) / sizeof(tests[0]), argc > 1 ? argv[1] : NULL);
}
