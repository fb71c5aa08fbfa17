// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unit tests of the split ring: fetching what a good driver makes available.
 *
 * Plan: batches, chains and tables of every size; full arrays; unfetch (I2);
 * index wraps; no byte is read twice, and nothing changes behind a copy (I7);
 * one window a stage.
 */
#include "ring_tests.h"

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

#define T(fn)	{ #fn, fn }

static const struct tap_test tests[] = {
	T(fetch_one),
	T(fetch_batch),
	T(fetch_cached_index),
	T(fetch_chain),
	T(fetch_long_chain),
	T(fetch_many_descs),
	T(fetch_empty_descs),
	T(fetch_indirect),
	T(fetch_after_swap),
	T(fetch_room),
	T(fetch_room_edge),
	T(unfetch),
	T(wrap_small),
	T(wrap_big),
	T(read_once),
	T(windows),
};

int main(int argc, char **argv)
{
	return tap_run(tests, sizeof(tests) / sizeof(tests[0]), argc > 1 ? argv[1] : NULL);
}
