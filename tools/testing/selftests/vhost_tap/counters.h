/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What vhost_tap itself reports of this process's device, over its generic
 * netlink family. Only for tests of ours: in-tree vhost_net has no counters.
 */
#ifndef VTAP_TEST_COUNTERS_H
#define VTAP_TEST_COUNTERS_H

#include <linux/vhost_tap.h>
#include <stdint.h>
#include <sys/types.h>

struct queue_counters {
	uint32_t state;
	uint32_t error;		/* enum vhost_tap_ring_err, when broken */
	uint32_t held;
	/* all by attribute number */
	uint64_t stat[VHOST_TAP_A_STATS_MAX + 1];
	uint64_t batches[VHOST_TAP_A_BATCHES_MAX + 1];
	uint64_t drops[VHOST_TAP_A_DROPS_MAX + 1];
	uint64_t ring_errors[VHOST_TAP_A_RING_ERRORS_MAX + 1];
};

#define Q_STAT(q, name)	((q)->stat[VHOST_TAP_A_STATS_##name])
#define Q_DROP(q, name)	((q)->drops[VHOST_TAP_A_DROPS_##name])
#define Q_ERR(q, name)	((q)->ring_errors[VHOST_TAP_A_RING_ERRORS_##name])

struct dev_counters {
	uint32_t id;
	uint32_t worker_pid;
	unsigned int devices;	/* that the owner has */
	struct queue_counters q[2];
};

/*
 * Counters of the newest device that process owner owns. 0, -ENOENT when it
 * owns none, -EOPNOTSUPP without the family.
 */
int counters_read(pid_t owner, struct dev_counters *c);
/* the same for this process; aborts the program when it cannot be had */
const struct queue_counters *counters_of(unsigned int queue);

/*
 * The worker counts a little after the guest sees a result: wait until
 * counter expression c, with `q` the queue's counters, comes true.
 */
#define wait_counter(queue, expr)					\
	wait_until(({							\
		const struct queue_counters *q = counters_of(queue);	\
		(expr);							\
	}))

#endif
