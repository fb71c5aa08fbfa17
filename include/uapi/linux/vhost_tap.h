/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause) */
/* Do not edit directly, auto-generated from: */
/*	Documentation/netlink/specs/vhost_tap.yaml */
/* YNL-GEN uapi header */

#ifndef _UAPI_LINUX_VHOST_TAP_H
#define _UAPI_LINUX_VHOST_TAP_H

#define VHOST_TAP_FAMILY_NAME		"vhost_tap"
#define VHOST_TAP_FAMILY_VERSION	1

/**
 * enum vhost_tap_ring_err - Why a virtqueue stopped.
 * @VHOST_TAP_RING_ERR_NONE: It did not.
 * @VHOST_TAP_RING_ERR_AVAIL_IDX: The available index is more than the ring
 *   size ahead of what was consumed.
 * @VHOST_TAP_RING_ERR_HEAD: An available head, or a next field, is outside the
 *   descriptor table.
 * @VHOST_TAP_RING_ERR_LOOP: A chain visits more descriptors than its table
 *   has.
 * @VHOST_TAP_RING_ERR_INDIRECT: An indirect descriptor where none may stand
 *   (not negotiated, inside an indirect table, or together with NEXT).
 * @VHOST_TAP_RING_ERR_TABLE: An indirect table of length 0, no multiple of 16,
 *   or with too many entries.
 * @VHOST_TAP_RING_ERR_DIRECTION: A readable descriptor in the receive queue or
 *   a writable one in the transmit queue.
 * @VHOST_TAP_RING_ERR_ADDRESS: A buffer or table outside the memory table.
 * @VHOST_TAP_RING_ERR_SEGMENTS: A chain of more than 1024 segments, or one in
 *   an indirect table with more descriptors than that and than the ring has.
 * @VHOST_TAP_RING_ERR_LENGTH: A chain of 2^32 bytes or more.
 * @VHOST_TAP_RING_ERR_FAULT: Guest memory could not be read or written, or
 *   what was written not be marked in the dirty log.
 */
enum vhost_tap_ring_err {
	VHOST_TAP_RING_ERR_NONE,
	VHOST_TAP_RING_ERR_AVAIL_IDX,
	VHOST_TAP_RING_ERR_HEAD,
	VHOST_TAP_RING_ERR_LOOP,
	VHOST_TAP_RING_ERR_INDIRECT,
	VHOST_TAP_RING_ERR_TABLE,
	VHOST_TAP_RING_ERR_DIRECTION,
	VHOST_TAP_RING_ERR_ADDRESS,
	VHOST_TAP_RING_ERR_SEGMENTS,
	VHOST_TAP_RING_ERR_LENGTH,
	VHOST_TAP_RING_ERR_FAULT,

	/* private: */
	__VHOST_TAP_RING_ERR_MAX,
	VHOST_TAP_RING_ERR_MAX = (__VHOST_TAP_RING_ERR_MAX - 1)
};

/**
 * enum vhost_tap_drop - Why a frame was dropped.
 * @VHOST_TAP_DROP_SHORT: TX: nothing, or no whole Ethernet header, behind the
 *   virtio-net header.
 * @VHOST_TAP_DROP_OFFLOAD: TX: impossible offload fields in its header.
 * @VHOST_TAP_DROP_TOO_BIG: TX: larger than a socket takes; RX: larger than a
 *   completely posted ring could hold.
 * @VHOST_TAP_DROP_SOCKET: The socket refused it (no longer attached, link
 *   down, filter, and the like).
 * @VHOST_TAP_DROP_NOMEM: No memory to carry it.
 */
enum vhost_tap_drop {
	VHOST_TAP_DROP_SHORT,
	VHOST_TAP_DROP_OFFLOAD,
	VHOST_TAP_DROP_TOO_BIG,
	VHOST_TAP_DROP_SOCKET,
	VHOST_TAP_DROP_NOMEM,

	/* private: */
	__VHOST_TAP_DROP_MAX,
	VHOST_TAP_DROP_MAX = (__VHOST_TAP_DROP_MAX - 1)
};

/**
 * enum vhost_tap_queue_type - Which way the frames of a virtqueue go.
 * @VHOST_TAP_QUEUE_TYPE_RX: Host to guest.
 * @VHOST_TAP_QUEUE_TYPE_TX: Guest to host.
 */
enum vhost_tap_queue_type {
	VHOST_TAP_QUEUE_TYPE_RX,
	VHOST_TAP_QUEUE_TYPE_TX,
};

/**
 * enum vhost_tap_queue_state - Whether a virtqueue works.
 * @VHOST_TAP_QUEUE_STATE_STOPPED: It has no backend.
 * @VHOST_TAP_QUEUE_STATE_RUNNING: It has a backend and serves its ring.
 * @VHOST_TAP_QUEUE_STATE_BROKEN: It has a backend, but its ring was found
 *   broken; it waits for the backend to be attached anew.
 */
enum vhost_tap_queue_state {
	VHOST_TAP_QUEUE_STATE_STOPPED,
	VHOST_TAP_QUEUE_STATE_RUNNING,
	VHOST_TAP_QUEUE_STATE_BROKEN,
};

/**
 * enum vhost_tap_backend - What kind of socket carries the frames of a
 *   virtqueue.
 * @VHOST_TAP_BACKEND_NONE: There is none.
 * @VHOST_TAP_BACKEND_TAP: A queue of a tun, tap or macvtap device.
 * @VHOST_TAP_BACKEND_PACKET: An AF_PACKET socket.
 */
enum vhost_tap_backend {
	VHOST_TAP_BACKEND_NONE,
	VHOST_TAP_BACKEND_TAP,
	VHOST_TAP_BACKEND_PACKET,
};

enum {
	VHOST_TAP_A_DEV_ID = 1,
	VHOST_TAP_A_DEV_NODE,
	VHOST_TAP_A_DEV_OWNER_PID,
	VHOST_TAP_A_DEV_WORKER_PID,
	VHOST_TAP_A_DEV_FEATURES,
	VHOST_TAP_A_DEV_BACKEND_FEATURES,
	VHOST_TAP_A_DEV_MEM_REGIONS,
	VHOST_TAP_A_DEV_MEM_BYTES,
	VHOST_TAP_A_DEV_BUSY,
	VHOST_TAP_A_DEV_WORKERS,

	__VHOST_TAP_A_DEV_MAX,
	VHOST_TAP_A_DEV_MAX = (__VHOST_TAP_A_DEV_MAX - 1)
};

enum {
	VHOST_TAP_A_QUEUE_DEV_ID = 1,
	VHOST_TAP_A_QUEUE_INDEX,
	VHOST_TAP_A_QUEUE_TYPE,
	VHOST_TAP_A_QUEUE_STATE,
	VHOST_TAP_A_QUEUE_ERROR,
	VHOST_TAP_A_QUEUE_SIZE,
	VHOST_TAP_A_QUEUE_LAST_AVAIL,
	VHOST_TAP_A_QUEUE_LAST_USED,
	VHOST_TAP_A_QUEUE_BUSYLOOP_TIMEOUT,
	VHOST_TAP_A_QUEUE_HELD,
	VHOST_TAP_A_QUEUE_WAITING_NS,
	VHOST_TAP_A_QUEUE_BACKEND,
	VHOST_TAP_A_QUEUE_IFNAME,
	VHOST_TAP_A_QUEUE_STATS,
	VHOST_TAP_A_QUEUE_BUSY,
	VHOST_TAP_A_QUEUE_WORKER_PID,

	__VHOST_TAP_A_QUEUE_MAX,
	VHOST_TAP_A_QUEUE_MAX = (__VHOST_TAP_A_QUEUE_MAX - 1)
};

enum {
	VHOST_TAP_A_STATS_PACKETS = 1,
	VHOST_TAP_A_STATS_BYTES,
	VHOST_TAP_A_STATS_KICKS,
	VHOST_TAP_A_STATS_SOCKET_WAKEUPS,
	VHOST_TAP_A_STATS_SIGNALS,
	VHOST_TAP_A_STATS_SIGNALS_SUPPRESSED,
	VHOST_TAP_A_STATS_BUDGET_ENDS,
	VHOST_TAP_A_STATS_HEADCOUNT_WAITS,
	VHOST_TAP_A_STATS_HEADCOUNT_WAIT_NS,
	VHOST_TAP_A_STATS_BUSYPOLL_HITS,
	VHOST_TAP_A_STATS_EAGAIN,
	VHOST_TAP_A_STATS_HELD_RETURNED,
	VHOST_TAP_A_STATS_BATCHES,
	VHOST_TAP_A_STATS_DROPS,
	VHOST_TAP_A_STATS_RING_ERRORS,

	__VHOST_TAP_A_STATS_MAX,
	VHOST_TAP_A_STATS_MAX = (__VHOST_TAP_A_STATS_MAX - 1)
};

enum {
	VHOST_TAP_A_BATCHES_FROM_1 = 1,
	VHOST_TAP_A_BATCHES_FROM_2,
	VHOST_TAP_A_BATCHES_FROM_4,
	VHOST_TAP_A_BATCHES_FROM_8,
	VHOST_TAP_A_BATCHES_FROM_16,
	VHOST_TAP_A_BATCHES_FROM_32,
	VHOST_TAP_A_BATCHES_FROM_64,

	__VHOST_TAP_A_BATCHES_MAX,
	VHOST_TAP_A_BATCHES_MAX = (__VHOST_TAP_A_BATCHES_MAX - 1)
};

enum {
	VHOST_TAP_A_DROPS_SHORT = 1,
	VHOST_TAP_A_DROPS_OFFLOAD,
	VHOST_TAP_A_DROPS_TOO_BIG,
	VHOST_TAP_A_DROPS_SOCKET,
	VHOST_TAP_A_DROPS_NOMEM,

	__VHOST_TAP_A_DROPS_MAX,
	VHOST_TAP_A_DROPS_MAX = (__VHOST_TAP_A_DROPS_MAX - 1)
};

enum {
	VHOST_TAP_A_RING_ERRORS_AVAIL_IDX = 1,
	VHOST_TAP_A_RING_ERRORS_HEAD,
	VHOST_TAP_A_RING_ERRORS_LOOP,
	VHOST_TAP_A_RING_ERRORS_INDIRECT,
	VHOST_TAP_A_RING_ERRORS_TABLE,
	VHOST_TAP_A_RING_ERRORS_DIRECTION,
	VHOST_TAP_A_RING_ERRORS_ADDRESS,
	VHOST_TAP_A_RING_ERRORS_SEGMENTS,
	VHOST_TAP_A_RING_ERRORS_LENGTH,
	VHOST_TAP_A_RING_ERRORS_FAULT,

	__VHOST_TAP_A_RING_ERRORS_MAX,
	VHOST_TAP_A_RING_ERRORS_MAX = (__VHOST_TAP_A_RING_ERRORS_MAX - 1)
};

enum {
	VHOST_TAP_CMD_DEV_GET = 1,
	VHOST_TAP_CMD_QUEUE_GET,

	__VHOST_TAP_CMD_MAX,
	VHOST_TAP_CMD_MAX = (__VHOST_TAP_CMD_MAX - 1)
};

#endif /* _UAPI_LINUX_VHOST_TAP_H */
