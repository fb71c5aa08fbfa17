// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unit tests of the split ring: ring_split.c, ring_split_fetch.c and ring.h.
 *
 * Plan (numbers are those of the list of known failures, "case N"):
 *	fetch		batches, chains, tables, room, wraps; cases 13, 15, 49
 *	read once	I7: no byte twice, and nothing changes behind a copy
 *	windows		one per stage
 *	unfetch		I2
 *	complete	I3, wraps
 *	faults		every access failing in turn
 *	arm, signal	I4, flags and event index, both at the wrap
 *	start		errors are forgotten, the base decides
 */
#include "driver.h"
#include "tap.h"

#define R	(&drv.r)
#define BUF(n)	gpa_of(DRV_BUF + (u64)(n) * 0x1000)

int tap_failures;

/* A broken ring says so in every call. */
static void check_broken(enum vhost_tap_ring_err err)
{
	unsigned long accesses;

	CHECK_EQ(vtap_ring_fetch(R, VTAP_BATCH), -EPROTO);
	CHECK_EQ(R->err, err);
	accesses = guest.accesses;
	CHECK_EQ(vtap_ring_fetch(R, VTAP_BATCH), -EPROTO);
	CHECK_EQ(vtap_ring_complete(R, 0), -EPROTO);
	CHECK_EQ(vtap_ring_arm(R), -EPROTO);
	CHECK_EQ(vtap_ring_disarm(R), -EPROTO);
	CHECK_EQ(vtap_ring_should_signal(R), -EPROTO);
	CHECK_EQ(vtap_ring_has_avail(R), -EPROTO);
	CHECK_EQ(guest.accesses, accesses);
}

/*
 * The chain just made available is bad: met alone, and behind a good one; the
 * ring works again after stop, base moved on, and start.
 */
static void check_bad(enum vhost_tap_ring_err err)
{
	u16 base = R->last_avail;

	check_broken(err);
	CHECK_EQ(R->last_avail, base);
	CHECK_EQ(vtap_ring_outstanding(R), 0);

	/* not moved: met again */
	CHECK_EQ(vtap_ring_start(R), 0);
	check_broken(err);

	R->last_avail = drv.avail_idx;
	CHECK_EQ(vtap_ring_start(R), 0);
	CHECK_EQ(vtap_ring_fetch(R, 1), 0);
	drv_desc(R->num - 1, BUF(1), 60, R->writable ? WRITE : 0, 0);
	drv_add(R->num - 1);
	CHECK_EQ(vtap_ring_fetch(R, 8), 1);
	CHECK_EQ(vtap_ring_chain(R, 0)->len, 60);
	vtap_ring_unfetch(R, 1);
}

static void check_bad_head(u16 head, enum vhost_tap_ring_err err)
{
	u16 saved = drv.avail_idx;

	drv_add(head);
	check_bad(err);

	/* behind a good one */
	drv_set_avail_idx(saved);
	R->last_avail = saved;
	CHECK_EQ(vtap_ring_start(R), 0);
	drv_add(R->num - 1);
	drv_add(head);
	drv_add(R->num - 1);
	CHECK_EQ(vtap_ring_fetch(R, 8), 1);
	CHECK_EQ(vtap_ring_chain(R, 0)->id, R->num - 1);
	CHECK_EQ(vtap_ring_complete(R, 1), 0);
	check_broken(err);
	R->last_avail = drv.avail_idx;
	CHECK_EQ(vtap_ring_start(R), 0);
}

/* Chains of one descriptor, @n of them, from descriptor @first on. */
static void add_singles(u32 first, u32 n)
{
	u32 i;

	for (i = first; i < first + n; i++) {
		drv_desc(i & (R->num - 1), BUF(i % 256), 100 + i % 1000, R->writable ? WRITE : 0,
			 0x7777);
		drv_add(i & (R->num - 1));
	}
}

static void fetch_one(void)
{
	struct vtap_chain *c;

	drv_init(8, false, 0);
	CHECK_EQ(vtap_ring_fetch(R, 1), 0);
	CHECK_EQ(R->nr_chains, 0);
	drv_desc(5, BUF(3) + 7, 61, 0, 0);
	drv_add(5);
	CHECK_EQ(vtap_ring_fetch(R, 64), 1);
	c = vtap_ring_chain(R, 0);
	CHECK_EQ(c->id, 5);
	CHECK_EQ(c->len, 61);
	CHECK_EQ(c->nsegs, 1);
	CHECK_EQ(c->slots, 1);
	CHECK_EQ(c->written, 0);
	CHECK(drv_seg(0, 0)->iov_base == drv.mem + DRV_BUF + 0x3007);
	CHECK_EQ(drv_seg(0, 0)->iov_len, 61);
	CHECK_EQ(vtap_ring_fetch(R, 64), 0);
	CHECK_EQ(vtap_ring_outstanding(R), 1);
}

static void fetch_batch(void)
{
	u32 i;

	drv_init(256, false, 0);
	add_singles(0, 100);
	CHECK_EQ(vtap_ring_fetch(R, 10), 10);
	CHECK_EQ(vtap_ring_fetch(R, 200), VTAP_BATCH - 10);
	CHECK_EQ(vtap_ring_fetch(R, 200), 0);	/* no room in chain[] */
	for (i = 0; i < VTAP_BATCH; i++) {
		CHECK_EQ(vtap_ring_chain(R, i)->id, i);
		CHECK_EQ(vtap_ring_chain(R, i)->len, 100 + i);
		CHECK(drv_seg(i, 0)->iov_base == drv.mem + DRV_BUF + i * 0x1000);
	}
	CHECK_EQ(vtap_ring_complete(R, VTAP_BATCH), 0);
	CHECK_EQ(vtap_ring_fetch(R, 200), 36);
	CHECK_EQ(vtap_ring_chain(R, 35)->id, 99);

	/* a receive queue takes more than one turn */
	drv_init(1024, true, 0);
	add_singles(0, 1024);
	CHECK_EQ(vtap_ring_fetch(R, 1000), 1000);
	CHECK_EQ(vtap_ring_fetch(R, 1000), 24);
	for (i = 0; i < 1024; i++)
		CHECK_EQ(vtap_ring_chain(R, i)->id, i);
	CHECK_EQ(guest.read_twice, 0);
}

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

static void fetch_cached_index(void)
{
	drv_init(16, false, 0);
	add_singles(0, 4);
	CHECK_EQ(vtap_ring_fetch(R, 2), 2);
	add_singles(4, 4);
	/* the index is not looked at before its promise is used up */
	CHECK_EQ(vtap_ring_fetch(R, 8), 2);
	CHECK_EQ(vtap_ring_fetch(R, 8), 4);
}

static void fetch_chain(void)
{
	u32 i;

	drv_init(16, true, 0);
	drv_desc(3, BUF(0), 10, WRITE | NEXT, 9);
	drv_desc(9, BUF(1), 20, WRITE | NEXT, 1);
	drv_desc(1, BUF(2), 30, WRITE, 9);
	drv_add(3);
	drv_desc(4, BUF(5), 40, WRITE, 0);
	drv_add(4);
	CHECK_EQ(vtap_ring_fetch(R, 64), 2);
	CHECK_EQ(vtap_ring_chain(R, 0)->id, 3);
	CHECK_EQ(vtap_ring_chain(R, 0)->nsegs, 3);
	CHECK_EQ(vtap_ring_chain(R, 0)->slots, 3);
	CHECK_EQ(vtap_ring_chain(R, 0)->len, 60);
	for (i = 0; i < 3; i++) {
		CHECK(drv_seg(0, i)->iov_base == drv.mem + DRV_BUF + i * 0x1000);
		CHECK_EQ(drv_seg(0, i)->iov_len, 10 + i * 10);
	}
	CHECK_EQ(vtap_ring_chain(R, 1)->id, 4);
	CHECK_EQ(drv_seg(1, 0)->iov_len, 40);
}

/* Every descriptor of the ring in one chain; rest[] is shorter. */
static void fetch_long_chain(void)
{
	static const u32 sizes[] = { 64, VTAP_RING_REST, VTAP_RING_REST + 1, VTAP_RING_REST + 2,
				     2 * VTAP_RING_REST + 1, 511, 512 };
	u32 s, i, n;

	for (s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		n = sizes[s];
		drv_init(512, false, 0);
		add_singles(511, 1);
		for (i = 0; i < n; i++)
			drv_desc((i * 3) % 512, BUF(i), 1 + i, i == n - 1 ? 0 : NEXT,
				 (i + 1) * 3 % 512);
		if (n == 512)
			drv_set_avail_idx(0);
		drv_add(0);
		guest_track();
		if (n < 512)
			CHECK_EQ(vtap_ring_fetch(R, 64), n <= VTAP_RING_REST + 1 ? 2 : 1);
		CHECK_EQ(guest.read_twice, 0);
		if (n > VTAP_RING_REST + 1) {
			guest_track();
			CHECK_EQ(vtap_ring_fetch(R, 64), 1);
			CHECK_EQ(guest.read_twice, 0);
		}
		CHECK_EQ(R->chain[R->nr_chains - 1].nsegs, n);
		CHECK_EQ(R->chain[R->nr_chains - 1].slots, n);
		CHECK_EQ(R->chain[R->nr_chains - 1].len, n * (n + 1) / 2);
		for (i = 0; i < n; i++)
			CHECK_EQ(R->seg[R->chain[R->nr_chains - 1].seg + i].iov_len, i + 1);
	}
}

static void fetch_many_descs(void)
{
	u32 i;

	/* 64 chains of 5 do not fit into rest[] at once, but come in the end */
	drv_init(512, false, 0);
	for (i = 0; i < 320; i++)
		drv_desc(i, BUF(i), 10 + i % 5, i % 5 == 4 ? 0 : NEXT, i + 1);
	for (i = 0; i < 64; i++)
		drv_add(i * 5);
	for (i = 0; i < 64; i += VTAP_RING_REST / 4)
		CHECK_EQ(vtap_ring_fetch(R, 64), VTAP_RING_REST / 4);
	for (i = 0; i < 64; i++) {
		CHECK_EQ(vtap_ring_chain(R, i)->id, i * 5);
		CHECK_EQ(vtap_ring_chain(R, i)->nsegs, 5);
		CHECK_EQ(vtap_ring_chain(R, i)->seg, i * 5);
		CHECK_EQ(vtap_ring_chain(R, i)->len, 60);
	}
}

static void fetch_empty_descs(void)
{
	u32 i;

	/* nothing but nothing */
	drv_init(4096, false, 0);
	drv_desc(0, ~0ULL, 0, 0, 0);
	drv_add(0);
	CHECK_EQ(vtap_ring_fetch(R, 1), 1);
	CHECK_EQ(vtap_ring_chain(R, 0)->nsegs, 0);
	CHECK_EQ(vtap_ring_chain(R, 0)->len, 0);
	CHECK_EQ(vtap_ring_complete(R, 1), 0);

	/* a little between a lot of nothing: more descriptors than segments */
	for (i = 0; i < 4096; i++)
		drv_desc(i, i % 1000 ? 0 : BUF(i / 1000), i % 1000 ? 0 : 7, i == 4095 ? 0 : NEXT,
			 i + 1);
	drv_add(0);
	CHECK_EQ(vtap_ring_fetch(R, 1), 1);
	CHECK_EQ(vtap_ring_chain(R, 0)->nsegs, 5);
	CHECK_EQ(vtap_ring_chain(R, 0)->slots, 4096);
	CHECK_EQ(vtap_ring_chain(R, 0)->len, 35);
}

static void wrap(u32 num, u32 rounds, u32 step)
{
	u32 done = 0, i;
	int n;

	drv_init(num, false, F_EVENT_IDX);
	while (done < rounds) {
		u32 todo = 1 + (done * 7 + 3) % step;

		add_singles(done, todo);
		n = vtap_ring_fetch(R, todo);
		CHECK_EQ(n, todo);
		for (i = 0; i < todo; i++) {
			CHECK_EQ(vtap_ring_chain(R, i)->id, (done + i) % num);
			vtap_ring_chain(R, i)->written = done + i;
		}
		CHECK_EQ(vtap_ring_complete(R, todo), 0);
		CHECK_EQ(drv_used_idx(), (u16)(done + todo));
		for (i = 0; i < todo; i++) {
			CHECK_EQ(drv_used_id(done + i), (done + i) % num);
			CHECK_EQ(drv_used_len(done + i), done + i);
		}
		done += todo;
		if (tap_failures)
			break;
	}
}

static void wrap_small(void)
{
	wrap(1, 200000, 1);
	wrap(2, 70000, 2);
	wrap(4, 200000, 4);
}

static void wrap_big(void)
{
	wrap(32768, 300000, 64);
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
	/* not negotiated */
	drv_init(8, false, 0);
	drv_desc(7, BUF(0), 60, 0, 0);
	drv_entry(BUF(8), 0, BUF(0), 60, 0, 0);
	drv_desc(0, BUF(8), 16, INDIRECT, 0);
	check_bad_head(0, VHOST_TAP_RING_ERR_INDIRECT);
}

static void fetch_indirect(void)
{
	u32 i;

	drv_init(8, true, F_INDIRECT);
	/* its WRITE flag means nothing; tables follow next */
	for (i = 0; i < 8; i++) {
		drv_desc(i, BUF(8 + i), 16 * 100, INDIRECT | (i & 1 ? WRITE : 0), 0x5555);
		drv_entry(BUF(8 + i), 0, BUF(0) + i, 11, WRITE | NEXT, 50);
		drv_entry(BUF(8 + i), 50, BUF(1) + i, 22, WRITE | NEXT, 2);
		drv_entry(BUF(8 + i), 2, BUF(2) + i, 33, WRITE, 1);
		drv_add(i);
	}
	guest_track();
	CHECK_EQ(vtap_ring_fetch(R, 8), 8);
	CHECK_EQ(guest.read_twice, 0);
	CHECK_EQ(guest.windows, 1 + 8);
	for (i = 0; i < 8; i++) {
		CHECK_EQ(vtap_ring_chain(R, i)->id, i);
		CHECK_EQ(vtap_ring_chain(R, i)->slots, 1);
		CHECK_EQ(vtap_ring_chain(R, i)->nsegs, 3);
		CHECK_EQ(vtap_ring_chain(R, i)->len, 66);
		CHECK(drv_seg(i, 1)->iov_base == drv.mem + DRV_BUF + 0x1000 + i);
	}

	/* behind direct ones, in one chain */
	drv_init(8, true, F_INDIRECT);
	drv_desc(0, BUF(0), 5, WRITE | NEXT, 1);
	drv_desc(1, BUF(1), 6, WRITE | NEXT, 2);
	drv_desc(2, BUF(8), 32, INDIRECT, 0);
	drv_entry(BUF(8), 0, BUF(2), 7, WRITE | NEXT, 1);
	drv_entry(BUF(8), 1, BUF(3), 8, WRITE, 0);
	drv_add(0);
	add_singles(5, 2);
	CHECK_EQ(vtap_ring_fetch(R, 8), 3);
	CHECK_EQ(vtap_ring_chain(R, 0)->nsegs, 4);
	CHECK_EQ(vtap_ring_chain(R, 0)->slots, 3);
	CHECK_EQ(vtap_ring_chain(R, 0)->len, 26);
	CHECK_EQ(vtap_ring_chain(R, 1)->id, 5);
	CHECK_EQ(vtap_ring_chain(R, 2)->seg, 5);
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

/* The table shrinks while the region hit last was its last one. */
static void fetch_after_swap(void)
{
	u32 i;

	drv_init(64, false, 0);
	drv_table_clear();
	for (i = 0; i < 64; i++)
		drv_table_add(BUF(i), 0x1000, DRV_BUF + i * 0x1000);
	CHECK_EQ(drv_table_done(), 0);
	for (i = 0; i < 64; i++) {
		drv_desc(i, BUF(63 - i), 0x1000, 0, 0);
		drv_add(i);
	}
	CHECK_EQ(vtap_ring_fetch(R, 64), 64);
	for (i = 0; i < 64; i++)
		CHECK(drv_seg(i, 0)->iov_base == drv.mem + DRV_BUF + (63 - i) * 0x1000);
	CHECK_EQ(vtap_ring_complete(R, 64), 0);
	drv_desc(63, BUF(63), 0x1000, 0, 0);
	drv_add(63);
	CHECK_EQ(vtap_ring_fetch(R, 64), 1);
	CHECK_EQ(R->last_region, 63);
	vtap_ring_unfetch(R, 1);
	drv_table_clear();
	drv_table_add(BUF(63), 0x1000, DRV_BUF);
	CHECK_EQ(drv_table_done(), 0);
	CHECK_EQ(vtap_ring_fetch(R, 64), 1);
	CHECK(drv_seg(0, 0)->iov_base == drv.mem + DRV_BUF);
	CHECK_EQ(R->last_region, 0);
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

/* What does not fit into seg[] waits. */
static void fetch_room(void)
{
	u32 i;

	drv_init(2048, true, 0);
	for (i = 0; i < 2000; i++)
		drv_desc(i, BUF(i % 100), 5, WRITE | (i % 100 == 99 ? 0 : NEXT), i + 1);
	for (i = 0; i < 20; i++)
		drv_add(i * 100);
	for (i = 0; i < 10; i++)
		CHECK_EQ(vtap_ring_fetch(R, 20), 1);
	CHECK_EQ(R->nr_segs, 1000);
	CHECK_EQ(vtap_ring_fetch(R, 20), 0);
	CHECK_EQ(vtap_ring_outstanding(R), 10);
	CHECK_EQ(R->err, VHOST_TAP_RING_ERR_NONE);
	vtap_ring_unfetch(R, 1);
	CHECK_EQ(R->nr_segs, 900);
	CHECK_EQ(vtap_ring_fetch(R, 20), 1);
	CHECK_EQ(vtap_ring_complete(R, 9), 0);
	CHECK_EQ(vtap_ring_fetch(R, 20), 0);	/* the arrays start anew only when empty */
	CHECK_EQ(vtap_ring_complete(R, 1), 0);
	CHECK_EQ(vtap_ring_fetch(R, 1), 1);
	CHECK_EQ(vtap_ring_chain(R, 0)->id, 1000);
	CHECK_EQ(vtap_ring_chain(R, 0)->seg, 0);
}

/* The last segments there are: each kind of chain takes them, and not one more. */
static void fetch_room_edge(void)
{
	u32 taken, i;

	for (taken = VTAP_MAX_SEGS - 6; taken <= VTAP_MAX_SEGS; taken++) {
		u32 room = VTAP_MAX_SEGS - taken;

		drv_init(4096, true, F_INDIRECT);
		for (i = 0; i < taken; i++)
			drv_desc(i, BUF(0), 1, WRITE | (i == taken - 1 ? 0 : NEXT), i + 1);
		drv_add(0);
		CHECK_EQ(vtap_ring_fetch(R, 1), 1);
		CHECK_EQ(R->nr_segs, taken);

		/* single ones: as many as fit */
		add_singles(2000, 40);
		CHECK_EQ(vtap_ring_fetch(R, 64), room);
		CHECK_EQ(R->nr_segs, VTAP_MAX_SEGS);
		CHECK_EQ(vtap_ring_fetch(R, 64), 0);
		vtap_ring_unfetch(R, room);

		/* one of four */
		for (i = 0; i < 4; i++)
			drv_desc(2000 + i, BUF(i), 5, WRITE | (i == 3 ? 0 : NEXT), 2001 + i);
		CHECK_EQ(vtap_ring_fetch(R, 1), room >= 4);
		CHECK_EQ(R->nr_segs, taken + (room >= 4 ? 4 : 0));
		if (room >= 4)
			vtap_ring_unfetch(R, 1);

		/* a table of four, in order and not */
		for (i = 0; i < 4; i++)
			drv_entry(BUF(8), i, BUF(i), 5, WRITE | (i == 3 ? 0 : NEXT), i + 1);
		drv_desc(2000, BUF(8), 64, INDIRECT, 0);
		CHECK_EQ(vtap_ring_fetch(R, 1), room >= 4);
		CHECK_EQ(R->nr_segs, taken + (room >= 4 ? 4 : 0));
		if (room >= 4)
			vtap_ring_unfetch(R, 1);
		for (i = 0; i < 4; i++)
			drv_entry(BUF(8), i, BUF(i), 5, WRITE | (i == 1 ? 0 : NEXT), (i + 2) % 5);
		drv_entry(BUF(8), 0, BUF(0), 5, WRITE | NEXT, 3);
		drv_entry(BUF(8), 3, BUF(0), 5, WRITE | NEXT, 2);
		drv_entry(BUF(8), 2, BUF(0), 5, WRITE | NEXT, 1);
		CHECK_EQ(vtap_ring_fetch(R, 1), room >= 4);
		CHECK_EQ(R->nr_segs, taken + (room >= 4 ? 4 : 0));
	}
}

static void unfetch(void)
{
	drv_init(16, false, 0);
	add_singles(0, 10);
	CHECK_EQ(vtap_ring_fetch(R, 6), 6);
	vtap_ring_unfetch(R, 0);
	CHECK_EQ(vtap_ring_outstanding(R), 6);
	CHECK_EQ(vtap_ring_complete(R, 2), 0);
	vtap_ring_unfetch(R, 3);
	CHECK_EQ(vtap_ring_outstanding(R), 1);
	CHECK_EQ(vtap_ring_chain(R, 0)->id, 2);
	CHECK_EQ(R->last_avail, 3);
	CHECK_EQ(vtap_ring_fetch(R, 64), 7);
	CHECK_EQ(vtap_ring_chain(R, 0)->id, 2);
	CHECK_EQ(vtap_ring_chain(R, 1)->id, 3);
	CHECK_EQ(vtap_ring_chain(R, 7)->id, 9);
	vtap_ring_unfetch(R, 8);
	CHECK_EQ(R->nr_chains, 0);
	CHECK_EQ(R->nr_done, 0);
	CHECK_EQ(R->nr_segs, 0);
	CHECK_EQ(R->last_avail, 2);
	CHECK_EQ(vtap_ring_fetch(R, 64), 8);
	CHECK_EQ(vtap_ring_complete(R, 8), 0);
	CHECK_EQ(drv_used_idx(), 10);
}

/* I7: whatever is read changes at once, and nobody notices. */
static void read_once(void)
{
	u32 i, j;

	drv_init(256, false, F_INDIRECT);
	for (i = 0; i < 20; i++) {
		drv_desc(i * 8, BUF(i), 10, NEXT, i * 8 + 1);
		drv_desc(i * 8 + 1, BUF(0x80 + i), 80 * 16, INDIRECT, 0);
		for (j = 0; j < 20; j++)
			drv_entry(BUF(0x80 + i), j, BUF(0x40 + j), 20 + i,
				  j == 19 ? 0 : NEXT, j + 1);
		drv_add(i * 8);
	}
	add_singles(200, 30);
	guest_track();
	guest.scribble = true;
	CHECK_EQ(vtap_ring_fetch(R, 64), 50);
	CHECK_EQ(guest.read_twice, 0);
	for (i = 0; i < 20; i++) {
		CHECK_EQ(vtap_ring_chain(R, i)->nsegs, 21);
		CHECK_EQ(vtap_ring_chain(R, i)->len, 10 + 20 * (20 + i));
		CHECK(drv_seg(i, 20)->iov_base == drv.mem + DRV_BUF + 0x40000 + 19 * 0x1000);
	}
	for (i = 0; i < 30; i++)
		CHECK_EQ(vtap_ring_chain(R, 20 + i)->id, 200 + i);
}

static void windows(void)
{
	drv_init(256, false, 0);
	add_singles(0, 100);
	CHECK_EQ(vtap_ring_fetch(R, 64), 64);
	CHECK_EQ(guest.windows, 1);
	CHECK_EQ(vtap_ring_complete(R, 64), 0);
	CHECK_EQ(guest.windows, 2);
	CHECK_EQ(vtap_ring_should_signal(R), 1);
	CHECK_EQ(guest.windows, 3);
	/* over the wrap of both rings, still one each */
	drv_init(64, false, 0);
	add_singles(0, 40);
	CHECK_EQ(vtap_ring_fetch(R, 64), 40);
	CHECK_EQ(vtap_ring_complete(R, 40), 0);
	add_singles(40, 64);
	guest.windows = 0;
	CHECK_EQ(vtap_ring_fetch(R, 64), 64);
	CHECK_EQ(vtap_ring_complete(R, 64), 0);
	CHECK_EQ(guest.windows, 2);
	CHECK_EQ(drv_used_idx(), 104);
}

static u32 puts_seen;

/* I3: by the time the index is written, its entries are there. */
static void index_comes_last(const void *dst, size_t len)
{
	u32 i;

	(void)len;
	if (dst != &drv.used->idx) {
		CHECK_EQ(drv_used_idx(), 0);
		puts_seen++;
		return;
	}
	CHECK_EQ(puts_seen, 10);
	for (i = 0; i < 10; i++) {
		CHECK_EQ(drv_used_id(i), i);
		CHECK_EQ(drv_used_len(i), 1000 + i);
	}
}

static void complete_order(void)
{
	u32 i;

	drv_init(16, true, 0);
	add_singles(0, 12);
	CHECK_EQ(vtap_ring_fetch(R, 12), 12);
	for (i = 0; i < 12; i++)
		vtap_ring_chain(R, i)->written = 1000 + i;
	puts_seen = 0;
	guest.on_put = index_comes_last;
	CHECK_EQ(vtap_ring_complete(R, 10), 0);
	guest.on_put = NULL;
	CHECK_EQ(drv_used_idx(), 10);
	CHECK_EQ(vtap_ring_outstanding(R), 2);
	CHECK_EQ(vtap_ring_chain(R, 0)->id, 10);
	CHECK_EQ(vtap_ring_complete(R, 0), 0);
	CHECK_EQ(drv_used_idx(), 10);
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

/* Any access of a completion fails: nothing is published (case 17). */
static void complete_faults(void)
{
	unsigned long at;

	for (at = 1; at <= 9; at++) {
		drv_init(16, false, 0);
		add_singles(0, 8);
		CHECK_EQ(vtap_ring_fetch(R, 8), 8);
		guest.fail_at = guest.accesses + at;
		CHECK_EQ(vtap_ring_complete(R, 8), -EPROTO);
		CHECK_EQ(R->err, VHOST_TAP_RING_ERR_FAULT);
		CHECK_EQ(drv_used_idx(), 0);
		CHECK_EQ(vtap_ring_outstanding(R), 8);
		CHECK_EQ(vtap_ring_should_signal(R), -EPROTO);
		vtap_ring_unfetch(R, 8);
		CHECK_EQ(R->last_avail, 0);
		CHECK_EQ(vtap_ring_start(R), 0);
		CHECK_EQ(vtap_ring_fetch(R, 8), 8);
		CHECK_EQ(vtap_ring_complete(R, 8), 0);
		CHECK_EQ(drv_used_idx(), 8);
	}
}

static void notify_faults(void)
{
	u32 kind;

	for (kind = 0; kind < 2; kind++) {
		drv_init(16, false, kind ? F_EVENT_IDX : 0);
		CHECK_EQ(vtap_ring_disarm(R), 0);
		guest.fail_at = guest.accesses + 1;
		CHECK_EQ(vtap_ring_arm(R), -EPROTO);
		CHECK_EQ(R->err, VHOST_TAP_RING_ERR_FAULT);
		guest.fail_at = 0;
		CHECK_EQ(vtap_ring_start(R), 0);
		CHECK_EQ(vtap_ring_disarm(R), 0);
		guest.fail_at = guest.accesses + 2;
		CHECK_EQ(vtap_ring_arm(R), -EPROTO);
		guest.fail_at = 0;
		CHECK_EQ(vtap_ring_start(R), 0);
		add_singles(0, 2);
		CHECK_EQ(vtap_ring_fetch(R, 2), 2);
		CHECK_EQ(vtap_ring_complete(R, 1), 0);
		CHECK_EQ(vtap_ring_should_signal(R), 1);
		CHECK_EQ(vtap_ring_complete(R, 1), 0);
		guest.fail_at = guest.accesses + 1;
		CHECK_EQ(vtap_ring_should_signal(R), -EPROTO);
		guest.fail_at = guest.accesses + 1;
		CHECK_EQ(vtap_ring_start(R), -EFAULT);
		guest.fail_at = guest.accesses + 2;
		CHECK_EQ(vtap_ring_start(R), -EFAULT);
		guest.fail_at = 0;
		CHECK_EQ(vtap_ring_start(R), 0);
		guest.fail_at = guest.accesses + 1;
		CHECK_EQ(vtap_ring_has_avail(R), -EPROTO);
		guest.fail_at = 0;
		CHECK_EQ(vtap_ring_start(R), 0);
		if (!kind) {
			guest.fail_at = guest.accesses + 1;
			CHECK_EQ(vtap_ring_disarm(R), -EPROTO);
		}
	}
}

static void arm_flags(void)
{
	unsigned long accesses;

	drv_init(16, false, 0);
	CHECK_EQ(drv_used_flags(), 0);
	CHECK(R->armed);
	CHECK_EQ(vtap_ring_disarm(R), 0);
	CHECK(!R->armed);
	CHECK_EQ(drv_used_flags(), VRING_USED_F_NO_NOTIFY);
	accesses = guest.accesses;
	CHECK_EQ(vtap_ring_disarm(R), 0);
	CHECK_EQ(guest.accesses, accesses);	/* written only when it changes */
	CHECK_EQ(vtap_ring_arm(R), 0);
	CHECK_EQ(drv_used_flags(), 0);
	CHECK_EQ(guest.accesses, accesses + 2);
	CHECK_EQ(vtap_ring_arm(R), 0);
	CHECK_EQ(guest.accesses, accesses + 3);
	add_singles(0, 1);
	CHECK_EQ(vtap_ring_arm(R), 1);
	CHECK_EQ(vtap_ring_has_avail(R), 1);
	CHECK_EQ(vtap_ring_fetch(R, 1), 1);
	CHECK_EQ(vtap_ring_has_avail(R), 0);
	CHECK_EQ(vtap_ring_arm(R), 0);
}

static void arm_event(void)
{
	u32 i;

	drv_init(16, false, F_EVENT_IDX);
	R->last_avail = 65530;
	drv_set_avail_idx(65530);
	CHECK_EQ(vtap_ring_start(R), 0);
	CHECK_EQ(drv_avail_event(), 65530);
	for (i = 0; i < 20; i++) {
		CHECK_EQ(vtap_ring_disarm(R), 0);
		CHECK_EQ(drv_used_flags(), 0);	/* must stay 0 */
		add_singles(i, 1);
		CHECK_EQ(vtap_ring_arm(R), 1);
		CHECK_EQ(vtap_ring_fetch(R, 4), 1);
		CHECK_EQ(vtap_ring_complete(R, 1), 0);
		CHECK_EQ(vtap_ring_arm(R), 0);
		CHECK_EQ(drv_avail_event(), (u16)(65531 + i));
	}
}

/* Work that slips in between asking and looking is seen (I4, case 21). */
static void slip_in(const void *dst, size_t len)
{
	(void)dst;
	(void)len;
	guest.on_put = NULL;
	add_singles(0, 1);
}

static void arm_looks_again(void)
{
	u32 kind;

	for (kind = 0; kind < 2; kind++) {
		drv_init(16, false, kind ? F_EVENT_IDX : 0);
		CHECK_EQ(vtap_ring_disarm(R), 0);
		guest.on_put = slip_in;
		CHECK_EQ(vtap_ring_arm(R), 1);
	}
}

static int complete_some(u32 n)
{
	u32 todo = n;

	while (todo) {
		u32 k = min_t(u32, todo, R->num < VTAP_BATCH ? R->num : VTAP_BATCH);

		add_singles(0, k);
		if (vtap_ring_fetch(R, k) != (int)k || vtap_ring_complete(R, k))
			return -1;
		todo -= k;
	}
	return vtap_ring_should_signal(R);
}

static void signal_flags(void)
{
	drv_init(16, false, 0);
	CHECK_EQ(vtap_ring_should_signal(R), 0);	/* nothing published */
	CHECK_EQ(complete_some(1), 1);
	CHECK_EQ(vtap_ring_should_signal(R), 0);
	CHECK_EQ(complete_some(5), 1);
	drv_set_avail_flags(VRING_AVAIL_F_NO_INTERRUPT);
	CHECK_EQ(complete_some(5), 0);
	drv_set_avail_flags(0);
	CHECK_EQ(vtap_ring_should_signal(R), 0);
	CHECK_EQ(complete_some(5), 1);
}

static void signal_event(void)
{
	drv_init(16, false, F_EVENT_IDX);
	drv_set_avail_flags(VRING_AVAIL_F_NO_INTERRUPT);	/* ignored */
	drv_set_used_event(0x8000);
	CHECK_EQ(complete_some(1), 1);		/* the first always */
	CHECK_EQ(complete_some(1), 0);
	drv_set_used_event(2);			/* when entry 2 is written */
	CHECK_EQ(complete_some(1), 1);
	CHECK_EQ(complete_some(1), 0);
	drv_set_used_event(7);
	CHECK_EQ(complete_some(3), 0);		/* up to 6 */
	CHECK_EQ(complete_some(3), 1);		/* 7 among them */
	CHECK_EQ(complete_some(3), 0);
	/* once in 65536, wherever the index wraps */
	drv_set_used_event(3);
	while (R->last_used != 65535)
		CHECK_EQ(complete_some(1), 0);
	CHECK_EQ(complete_some(4), 0);		/* 65535 ... 2 */
	CHECK_EQ(complete_some(1), 1);
}

/* Half a turn of the index without a decision: the next is "yes" (no lost signal). */
static void signal_event_wrap(void)
{
	u32 n;

	for (n = 65530; n < 65545; n++) {
		drv_init(16, false, F_EVENT_IDX);
		drv_set_used_event(0x4000);
		CHECK_EQ(complete_some(1), 1);
		CHECK_EQ(complete_some(n), 1);
	}
	drv_init(16, false, F_EVENT_IDX);
	drv_set_used_event(5);
	CHECK_EQ(complete_some(10), 1);
	CHECK_EQ(complete_some(65536), 1);
	CHECK_EQ(complete_some(65536 + 3), 1);
}

static void signal_on_empty(void)
{
	u32 kind;

	for (kind = 0; kind < 2; kind++) {
		drv_init(16, false, F_ON_EMPTY | (kind ? F_EVENT_IDX : 0));
		drv_set_avail_flags(VRING_AVAIL_F_NO_INTERRUPT);
		drv_set_used_event(0x8000);
		CHECK_EQ(complete_some(1), 1);		/* all taken */
		add_singles(0, 3);
		CHECK_EQ(vtap_ring_fetch(R, 2), 2);
		CHECK_EQ(vtap_ring_complete(R, 2), 0);
		CHECK_EQ(vtap_ring_should_signal(R), 0);	/* one is left */
		CHECK_EQ(vtap_ring_fetch(R, 2), 1);
		CHECK_EQ(vtap_ring_complete(R, 1), 0);
		CHECK_EQ(vtap_ring_should_signal(R), 1);
		CHECK_EQ(vtap_ring_should_signal(R), 0);
	}
}

/* A legacy ring of the other byte order (case 59). */
static void case59_big_endian(void)
{
	u32 i;

	drv_init_be(16, true, F_INDIRECT | F_EVENT_IDX);
	CHECK(!R->le);
	drv_desc(3, BUF(0) + 0x123, 0x1234, WRITE | NEXT, 5);
	drv_desc(5, BUF(8), 32, INDIRECT, 0);
	drv_entry(BUF(8), 0, BUF(2), 7, WRITE | NEXT, 1);
	drv_entry(BUF(8), 1, BUF(3), 0x10000, WRITE, 0);
	drv_add(3);
	CHECK_EQ(vtap_ring_fetch(R, 8), 1);
	CHECK_EQ(vtap_ring_chain(R, 0)->id, 3);
	CHECK_EQ(vtap_ring_chain(R, 0)->nsegs, 3);
	CHECK_EQ(vtap_ring_chain(R, 0)->len, 0x1234 + 7 + 0x10000);
	CHECK(drv_seg(0, 0)->iov_base == drv.mem + DRV_BUF + 0x123);
	vtap_ring_chain(R, 0)->written = 0x11234;
	CHECK_EQ(vtap_ring_complete(R, 1), 0);
	CHECK_EQ(drv_used_idx(), 1);
	CHECK_EQ(drv_used_id(0), 3);
	CHECK_EQ(drv_used_len(0), 0x11234);
	CHECK_EQ(vtap_ring_arm(R), 0);
	CHECK_EQ(drv_avail_event(), 1);
	CHECK_EQ(vtap_ring_should_signal(R), 1);
	drv_set_used_event(0x102);
	for (i = 1; i < 0x200; i++)
		CHECK_EQ(complete_some(1), i == 0x102);

	/* a table across regions */
	drv_table_clear();
	drv_table_add(DRV_GPA, DRV_BUF + 0x8008, 0);
	drv_table_add(BUF(8) + 8, 0x100000, DRV_BUF + 0x8008);
	CHECK_EQ(drv_table_done(), 0);
	drv_add(3);
	CHECK_EQ(vtap_ring_fetch(R, 8), 1);
	CHECK_EQ(vtap_ring_chain(R, 0)->len, 0x1234 + 7 + 0x10000);
	CHECK_EQ(vtap_ring_complete(R, 1), 0);

	/* and without an event index */
	drv_init_be(16, true, 0);
	CHECK_EQ(vtap_ring_disarm(R), 0);
	CHECK_EQ(drv_used_flags(), VRING_USED_F_NO_NOTIFY);
	drv_set_avail_flags(VRING_AVAIL_F_NO_INTERRUPT);
	CHECK_EQ(complete_some(1), 0);
}

static void start(void)
{
	drv_init(16, false, F_EVENT_IDX);
	drv.used->idx = 1234;
	drv.used->flags = VRING_USED_F_NO_NOTIFY;
	R->last_avail = 1234;
	drv_set_avail_idx(1234);
	CHECK_EQ(vtap_ring_start(R), 0);
	CHECK_EQ(drv_used_flags(), 0);
	CHECK_EQ(drv_avail_event(), 1234);
	CHECK_EQ(R->last_used, 1234);
	add_singles(0, 1);
	CHECK_EQ(vtap_ring_fetch(R, 1), 1);
	CHECK_EQ(vtap_ring_complete(R, 1), 0);
	CHECK_EQ(drv_used_idx(), 1235);
	/* without an event index the event is none of ours */
	drv_init(16, false, 0);
	memset(&drv.used->ring[16], 0x5a, 2);
	CHECK_EQ(vtap_ring_start(R), 0);
	CHECK_EQ(drv_avail_event(), 0x5a5a);
}

static void ring_access_ok(void)
{
	const unsigned long limit = (1UL << 47) - 4096;

	drv_init(256, false, 0);
	CHECK(vtap_ring_access_ok(R, 256, drv.desc, drv.avail, drv.used));
	CHECK(vtap_ring_access_ok(R, 256, (void *)(limit - 4096), drv.avail, drv.used));
	CHECK(!vtap_ring_access_ok(R, 256, (void *)(limit - 4080), drv.avail, drv.used));
	CHECK(vtap_ring_access_ok(R, 256, drv.desc, (void *)(limit - 516), drv.used));
	CHECK(!vtap_ring_access_ok(R, 256, drv.desc, (void *)(limit - 514), drv.used));
	CHECK(vtap_ring_access_ok(R, 256, drv.desc, drv.avail, (void *)(limit - 2052)));
	CHECK(!vtap_ring_access_ok(R, 256, drv.desc, drv.avail, (void *)(limit - 2048)));
	vtap_ring_set_features(R, F_EVENT_IDX);
	CHECK(!vtap_ring_access_ok(R, 256, drv.desc, (void *)(limit - 516), drv.used));
	CHECK(!vtap_ring_access_ok(R, 256, drv.desc, drv.avail, (void *)(limit - 2052)));
	/* what was checked once and lies outside now is a fault, no access */
	drv_init(16, false, 0);
	R->desc = (void *)(limit - 8);
	check_broken(VHOST_TAP_RING_ERR_FAULT);
	drv_init(16, false, 0);
	R->used = (void *)(limit - 8);
	add_singles(0, 1);
	CHECK_EQ(vtap_ring_fetch(R, 1), 1);
	CHECK_EQ(vtap_ring_complete(R, 1), -EPROTO);
}

#define T(fn)	{ #fn, fn }

static const struct tap_test tests[] = {
	T(fetch_one),
	T(fetch_batch),
	T(fetch_cached_index),
	T(fetch_bad_later),
	T(fetch_chain),
	T(fetch_long_chain),
	T(fetch_many_descs),
	T(fetch_empty_descs),
	T(fetch_indirect),
	T(fetch_table_across_regions),
	T(fetch_across_regions),
	T(fetch_without_memory),
	T(fetch_after_swap),
	T(fetch_direction),
	T(fetch_length),
	T(fetch_room),
	T(fetch_room_edge),
	T(wrap_small),
	T(wrap_big),
	T(case13_last_byte),
	T(case15_avail_jump),
	T(case15_heads),
	T(case15_loops),
	T(case15_indirect),
	T(case49_segments),
	T(case59_big_endian),
	T(unfetch),
	T(read_once),
	T(windows),
	T(complete_order),
	T(fetch_faults),
	T(complete_faults),
	T(notify_faults),
	T(arm_flags),
	T(arm_event),
	T(arm_looks_again),
	T(signal_flags),
	T(signal_event),
	T(signal_event_wrap),
	T(signal_on_empty),
	T(start),
	T(ring_access_ok),
};

int main(int argc, char **argv)
{
	return tap_run(tests, sizeof(tests) / sizeof(tests[0]), argc > 1 ? argv[1] : NULL);
}
