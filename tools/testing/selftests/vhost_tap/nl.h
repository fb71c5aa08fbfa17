/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the module says of itself over its netlink family, for tests that want
 * to see that something was counted. A client of its own, without a library and
 * without the tool vhost-tap. Every call opens and closes a socket.
 */
#ifndef VTAP_TEST_NL_H
#define VTAP_TEST_NL_H

#include <linux/vhost_tap.h>
#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* absent attributes are 0; has tells them apart, by a bit for each attribute */
struct nl_dev {
	uint32_t has;
	uint32_t id;
	char node[64];
	uint32_t owner_pid;
	uint32_t worker_pid;
	uint64_t features;
	uint64_t backend_features;
	uint32_t mem_regions;
	uint64_t mem_bytes;
	uint32_t nworkers;
	uint32_t worker[16];	/* in the order of their ids */
};

struct nl_queue {
	uint32_t has;
	uint32_t dev_id;
	uint32_t index;
	uint32_t type;
	uint32_t state;
	uint32_t error;
	uint32_t size;
	uint32_t last_avail;
	uint32_t last_used;
	uint32_t busyloop_timeout;
	uint32_t held;
	uint64_t waiting_ns;
	uint32_t backend;
	uint32_t worker_pid;
	char ifname[IFNAMSIZ];
	/* by VHOST_TAP_A_STATS_*, _BATCHES_*, _DROPS_*, _RING_ERRORS_* */
	uint64_t stats[VHOST_TAP_A_STATS_MAX + 1];
	uint64_t batches[VHOST_TAP_A_BATCHES_MAX + 1];
	uint64_t drops[VHOST_TAP_A_DROPS_MAX + 1];
	uint64_t ring_errors[VHOST_TAP_A_RING_ERRORS_MAX + 1];
};

/* has attribute a of a device or queue been there? */
#define NL_HAS(x, a)	(!!((x)->has & (1U << (a))))

#define NL_ALL	UINT64_MAX	/* no id: ask for all */

/*
 * All return 0 or -errno; the kernel's own errno where it refused. A dump calls
 * fn for each message; it stops early when fn returns false.
 */
int nl_dev_dump(bool (*fn)(const struct nl_dev *d, void *arg), void *arg);
int nl_queue_dump(uint64_t dev_id, bool (*fn)(const struct nl_queue *q, void *arg),
		  void *arg);
int nl_dev_get(uint64_t id, struct nl_dev *d);
/* one queue of one device */
int nl_queue_get(uint32_t dev_id, uint32_t index, struct nl_queue *q);
/* the only device that process pid owns: -ENODEV, or -EEXIST for several */
int nl_dev_of(pid_t pid, struct nl_dev *d);

/*
 * A request as bad as wanted: cmd with flags beside NLM_F_REQUEST and u32
 * attributes 1 ... n of the given values. How the kernel answered: 0 or -errno.
 */
int nl_raw(uint8_t cmd, uint16_t flags, const uint32_t *attrs, unsigned int n);

/* bytes a read of a dump takes at once; small ones make many parts. 0: 32 KiB */
extern size_t nl_recv_size;

#endif
