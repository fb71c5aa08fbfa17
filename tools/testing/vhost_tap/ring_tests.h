/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the unit tests of the split ring share.
 */
#ifndef VTAP_RING_TESTS_H
#define VTAP_RING_TESTS_H

#include "driver.h"
#include "tap.h"

#define R	(&drv.r)
#define BUF(n)	gpa_of(DRV_BUF + (u64)(n) * 0x1000)

/* The next fetch says why the ring is broken, and so does every call after it. */
void check_broken(enum vhost_tap_ring_err err);
/*
 * The chain with @head is a bad one: met alone and behind a good one, and the
 * ring works again after stop, base moved on, and start. The last descriptor
 * of the ring must be a good chain.
 */
void check_bad_head(u16 head, enum vhost_tap_ring_err err);
/* Make chains of one descriptor available, @n of them, from descriptor @first on. */
void add_singles(u32 first, u32 n);

#endif /* VTAP_RING_TESTS_H */
