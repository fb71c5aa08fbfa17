/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a split ring in guest memory means, read as slowly and simply as the
 * specification has it, for the fuzzers: which chains a fetch must give, where
 * their buffers lie, for which reasons the first bad one may be refused, and
 * how often each byte may be read on the way (I7: a byte once for each time
 * that the ring refers to it).
 */
#ifndef VTAP_TEST_ORACLE_H
#define VTAP_TEST_ORACLE_H

#include "driver.h"
#include "fuzz.h"

struct oracle_chain {
	u32 id;
	u32 seg;
	u32 nsegs;
	u32 slots;
	u64 len;
};

struct oracle_seg {
	u64 base;
	u64 len;
};

/**
 * struct oracle - what a fetch that comes now must do
 * @max: chains that it may take
 * @bad_index: the available index is further ahead than the ring is long
 * @nr: chains that are there, are good, and have room: @chain
 * @plain: each of these has one descriptor, so that nothing excuses less
 * @errs: reasons why the chain behind them is bad, one bit each
 * @waits: there may be no room for it
 * @aliased: the ring refers to some byte twice
 */
struct oracle {
	u32 max;
	bool bad_index;
	u32 nr;
	bool plain;
	u32 errs;
	bool waits;
	bool aliased;
	u32 nr_segs;
	struct oracle_chain chain[VTAP_MAX_SEGS];
	struct oracle_seg seg[VTAP_MAX_SEGS];
};

extern struct oracle oracle;

/* Look at drv.r and at guest memory, for a fetch of @max. */
void oracle_look(u32 max);
/* Was it right to return @ret? @failed: an access was made to fail. */
void oracle_check(int ret, bool failed, u32 outstanding);
/* For guest.on_get, while nobody but the driver's past self writes memory. */
void oracle_read(const void *src, size_t len);

/* The region that holds an address, looked for one by one. */
const struct vtap_region *oracle_region(const struct vtap_mem *mem, u64 gpa);

#endif /* VTAP_TEST_ORACLE_H */
