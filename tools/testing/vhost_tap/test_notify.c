// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unit tests of the split ring: completing chains, kicks and signals.
 *
 * Plan (numbers are those of the list of known failures): published means
 * written (I3); every access failing in turn (case 17); no lost wake-up (I4,
 * case 21), with flags and with an event index, both at the wrap; start;
 * rings of the other byte order (case 59).
 */
#include "ring_tests.h"

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
	T(complete_order),
	T(complete_faults),
	T(notify_faults),
	T(arm_flags),
	T(arm_event),
	T(arm_looks_again),
	T(signal_flags),
	T(signal_event),
	T(signal_event_wrap),
	T(signal_on_empty),
	T(case59_big_endian),
	T(start),
	T(ring_access_ok),
};

int main(int argc, char **argv)
{
	return tap_run(tests, sizeof(tests) / sizeof(tests[0]), argc > 1 ? argv[1] : NULL);
}
