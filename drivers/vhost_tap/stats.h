/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counters of one virtqueue. Only the worker (or whoever else holds the
 * virtqueue's mutex) writes them, with plain stores; anybody reads them
 * without a lock. On 64-bit hosts a reader sees each of them whole.
 * Owned by stats.c, which also instantiates the tracepoints.
 */
#ifndef VTAP_STATS_H
#define VTAP_STATS_H

#include <linux/compiler.h>
#include <linux/types.h>
#include <linux/vhost_tap.h>

struct vtap_ring;

/* Batch sizes 1, 2-3, 4-7, 8-15, 16-31, 32-63, 64 */
#define VTAP_BATCH_BUCKETS	7

/**
 * struct vtap_stats - what one virtqueue has done since the node was opened
 * @packets: frames handed to the socket (TX) or to the guest (RX)
 * @bytes: of these frames, without virtio-net header
 * @kicks: runs begun because the guest kicked
 * @socket_wakeups: runs begun because the socket became readable or writable
 * @signals: interrupts sent to the guest
 * @signals_suppressed: publishes for which the guest wanted none
 * @batch: histogram of frames published together
 * @budget_ends: runs ended by the packet or byte budget
 * @headcount_waits: times that RX held a packet because chains were missing
 * @headcount_wait_ns: how long these waits took in all
 * @busypoll_hits: busy polls that found work
 * @eagain: times that the TX socket was not writable
 * @held_returned: packets given back to the socket at detach (I5)
 * @drops: frames dropped, by enum vhost_tap_drop
 * @ring_errors: times the queue stopped, by enum vhost_tap_ring_err
 */
struct vtap_stats {
	u64 packets;
	u64 bytes;
	u64 kicks;
	u64 socket_wakeups;
	u64 signals;
	u64 signals_suppressed;
	u64 batch[VTAP_BATCH_BUCKETS];
	u64 budget_ends;
	u64 headcount_waits;
	u64 headcount_wait_ns;
	u64 busypoll_hits;
	u64 eagain;
	u64 held_returned;
	u64 drops[__VHOST_TAP_DROP_MAX];
	u64 ring_errors[__VHOST_TAP_RING_ERR_MAX];
};

static inline void vtap_stat_add(u64 *counter, u64 n)
{
	WRITE_ONCE(*counter, *counter + n);
}

static inline void vtap_stat_inc(u64 *counter)
{
	vtap_stat_add(counter, 1);
}

/* prototypes of stats.c */

/**
 * vtap_stats_batch() - count a publish in the histogram of batch sizes
 * @stats: counters of the queue; its mutex is held
 * @n: frames published, at least one
 */
void vtap_stats_batch(struct vtap_stats *stats, unsigned int n);

#endif /* VTAP_STATS_H */
