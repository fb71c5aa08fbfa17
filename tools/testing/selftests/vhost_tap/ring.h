/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The driver's side of a virtqueue, as a guest would run it: add chains,
 * publish them, kick when asked to, take used entries back and check that
 * each was outstanding. The formats stand behind struct ring_ops so that a
 * caller never sees one; split rings are in ring_split.c.
 *
 * The device is distrusted: a used entry for a chain that is not outstanding,
 * or an index that runs ahead, comes back as -EPROTO. That check is what
 * proves I2 (each head completed exactly once).
 */
#ifndef VTAP_TEST_RING_H
#define VTAP_TEST_RING_H

#include <linux/virtio_ring.h>
#include <stdbool.h>
#include <stdint.h>

#include "gmem.h"

#define RING_MAX_SEGS	1100	/* 1025 and some: one too many must fit */

/* one descriptor's worth of a chain */
struct ring_seg {
	uint64_t gpa;
	uint32_t len;
	bool write;		/* the device writes here */
};

/* memory for an indirect table, as the device and as we know it */
struct ring_table {
	uint64_t gpa;
	void *hva;
};

struct ring;

struct ring_ops {
	int (*add)(struct ring *r, const struct ring_seg *segs, unsigned int n,
		   const struct ring_table *table, uint32_t token);
	void (*publish)(struct ring *r);
	bool (*kick_wanted)(struct ring *r);
	bool (*used_pending)(const struct ring *r);
	int (*get_used)(struct ring *r, uint32_t *token, uint32_t *len);
	void (*call_disable)(struct ring *r);
	bool (*call_enable)(struct ring *r, unsigned int after);
};

/* what is known of the chain that starts at one descriptor (or id) */
struct ring_chain {
	uint32_t token;
	uint16_t ndesc;		/* descriptors to free; 0: not outstanding */
};

struct ring {
	const struct ring_ops *ops;
	unsigned int num;
	bool event_idx;
	bool call_on;		/* interrupts were asked for */

	/* the split ring itself */
	struct vring_desc *desc;
	struct vring_avail *avail;
	struct vring_used *used;
	uint64_t desc_gpa;

	/* the driver's own account of it */
	uint16_t avail_idx;	/* next entry to fill */
	uint16_t published;	/* avail->idx as last written */
	uint16_t kicked;	/* avail index at the last look at kick_wanted */
	uint16_t last_used;
	uint16_t free_head;
	unsigned int nfree;
	unsigned int outstanding;	/* chains with the device */
	uint16_t *next_free;
	struct ring_chain *chain;

	int kick_fd;
	int call_fd;
	int err_fd;

	/* for tests and benchmarks that count */
	uint64_t n_added, n_used, n_kicks, n_calls;
};

/* the memory a split ring of num entries takes, each part on its own page */
int ring_split_init(struct ring *r, struct gmem *m, unsigned int num,
		    uint16_t base, bool event_idx);
/* set indices and used ring as a driver would after a reset to base */
void ring_split_reset(struct ring *r, uint16_t base);
/* put any head into the avail ring, with no account of it: for bad rings */
void ring_split_push_raw(struct ring *r, uint16_t head);
/* true when the device has asked to be kicked for the next chain */
bool ring_split_kicks_on(const struct ring *r);
void ring_free(struct ring *r);

/*
 * Add one chain; device-readable segments must come first. With a table the
 * chain goes there and costs one descriptor of the ring. 0, or -ENOSPC.
 */
static inline int ring_add(struct ring *r, const struct ring_seg *segs,
			   unsigned int n, const struct ring_table *table,
			   uint32_t token)
{
	return r->ops->add(r, segs, n, table, token);
}

/* let the device see everything added so far */
static inline void ring_publish(struct ring *r)
{
	r->ops->publish(r);
}

/* publish, and kick if the device asked for it: true when it did */
bool ring_kick(struct ring *r);
/* kick whether asked or not */
void ring_force_kick(struct ring *r);

static inline bool ring_used_pending(const struct ring *r)
{
	return r->ops->used_pending(r);
}

/* next used chain: 1, 0 when there is none, -EPROTO on a device's lie */
static inline int ring_get_used(struct ring *r, uint32_t *token, uint32_t *len)
{
	return r->ops->get_used(r, token, len);
}

/* ask for no interrupts (the device may send some all the same) */
static inline void ring_call_disable(struct ring *r)
{
	r->ops->call_disable(r);
}

/*
 * Ask for an interrupt once `after` more chains are used (1: at the next).
 * True when used chains are already there: look before you wait.
 */
static inline bool ring_call_enable(struct ring *r, unsigned int after)
{
	return r->ops->call_enable(r, after);
}

/*
 * Wait for used chains, asleep on the call eventfd. 0, -ETIMEDOUT, or -EIO
 * when the err eventfd fired. Never kicks: a lost wake-up must show.
 */
int ring_wait_used(struct ring *r, int timeout_ms);
/* wait until at most n chains are outstanding, dropping used ones */
int ring_drain(struct ring *r, unsigned int n, int timeout_ms);

#endif
