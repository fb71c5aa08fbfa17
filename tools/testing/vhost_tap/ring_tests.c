// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the unit tests of the split ring share: see ring_tests.h.
 */
#include "ring_tests.h"

void check_broken(enum vhost_tap_ring_err err)
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

void check_bad_head(u16 head, enum vhost_tap_ring_err err)
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

void add_singles(u32 first, u32 n)
{
	u32 i;

	for (i = first; i < first + n; i++) {
		drv_desc(i & (R->num - 1), BUF(i % 256), 100 + i % 1000, R->writable ? WRITE : 0,
			 0x7777);
		drv_add(i & (R->num - 1));
	}
}
