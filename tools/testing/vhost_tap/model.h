/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The model that random operations are checked against: what a driver has made
 * available, and what it must translate to. It never reads a ring.
 */
#ifndef VTAP_TEST_MODEL_H
#define VTAP_TEST_MODEL_H

#include "driver.h"
#include "tap.h"

#define R		(&drv.r)

/* Indirect tables: one place for each head, linear in guest and host. */
#define TABLES		0x100000
#define TABLE_MAX	120
#define TABLE_BYTES	2048
#define TABLE_HEADS	512
/* Buffers lie elsewhere; nothing reads or writes them here. */
#define BUF_GPA		0x400000000ULL
#define BUF_HOST	0x7a0000000000ULL

#define MAX_BUFS	260
#define MAX_REGIONS	12

/* What the model knows of a chain. */
struct chain {
	u16 head;
	u32 nr;				/* buffers */
	struct {
		u64 gpa;
		u32 len;
	} buf[MAX_BUFS];
	u32 slots;
	u32 nr_own;			/* descriptors of the ring it occupies */
	u16 own[MAX_BUFS];
	u64 table;			/* where its table is, 0 for none */
	u32 table_len;
	enum vhost_tap_ring_err defect;
};

struct seg {
	u64 base;
	u64 len;
};

struct model {
	u32 num;
	bool writable, event_idx, indirect, on_empty;
	/* memory table as it arrived */
	u32 nr_regions;
	struct vtap_region region[MAX_REGIONS];
	/* made available and not completed, oldest first */
	struct chain *queue;
	u32 q_head, q_tail, q_size;	/* free-running */
	u32 fetched;			/* of these, the oldest are outstanding */
	u16 base;			/* available index of queue[q_head] */
	u16 cached;			/* the ring's idea of the available index */
	u16 used;
	u32 unused;			/* descriptors free */
	u8 *busy;			/* one per descriptor */
	/* notification */
	bool published, signalled_valid;
	u16 signalled;
	u16 used_event, avail_flags;
};

extern struct model m;

/* Random numbers below @n, the same for the same seed everywhere. */
void rnd_seed(u64 seed);
u32 rnd(u32 n);
bool one_in(u32 n);

/* Chains that are available and not completed: the @i-th oldest, and how many. */
struct chain *queued(u32 i);
u32 nr_queued(void);

/* Another random memory table, for the model and for the ring. */
void new_table(void);
/*
 * What a chain translates to. Returns the number of segments, or the error as
 * a negative number; *total is its length.
 */
int translate(const struct chain *c, struct seg *seg, u64 *total);
/* Make a random chain available, but do not publish it. */
void add_chain(void);
/* The oldest chain is gone: its descriptors are free. */
void release(struct chain *c);

#endif /* VTAP_TEST_MODEL_H */
