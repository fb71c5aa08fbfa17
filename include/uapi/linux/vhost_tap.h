/* SPDX-License-Identifier: GPL-2.0-only WITH Linux-syscall-note */
/*
 * What vhost_tap adds to the UAPI of <linux/vhost.h>: the reasons that its
 * counters are kept by. The generic netlink family that reports them is
 * described in Documentation/netlink/specs/vhost_tap.yaml.
 */
#ifndef _UAPI_LINUX_VHOST_TAP_H
#define _UAPI_LINUX_VHOST_TAP_H

/**
 * enum vhost_tap_ring_err - why a virtqueue stopped
 * @VHOST_TAP_RING_ERR_NONE: it did not
 * @VHOST_TAP_RING_ERR_AVAIL_IDX: the available index is more than the ring
 *	size ahead of what was consumed
 * @VHOST_TAP_RING_ERR_HEAD: an available head, or a next field, is outside
 *	the descriptor table
 * @VHOST_TAP_RING_ERR_LOOP: a chain visits more descriptors than its table has
 * @VHOST_TAP_RING_ERR_INDIRECT: an indirect descriptor where none may stand
 *	(not negotiated, inside an indirect table, or together with NEXT)
 * @VHOST_TAP_RING_ERR_TABLE: an indirect table of length 0, no multiple of
 *	16, or with too many entries
 * @VHOST_TAP_RING_ERR_DIRECTION: a readable descriptor in the receive queue
 *	or a writable one in the transmit queue
 * @VHOST_TAP_RING_ERR_ADDRESS: a buffer or table outside the memory table
 * @VHOST_TAP_RING_ERR_SEGMENTS: a chain of more than 1024 segments
 * @VHOST_TAP_RING_ERR_LENGTH: a chain of 2^32 bytes or more
 * @VHOST_TAP_RING_ERR_FAULT: guest memory could not be read or written
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
};

/**
 * enum vhost_tap_drop - why a frame was dropped
 * @VHOST_TAP_DROP_SHORT: TX: nothing, or no whole Ethernet header, behind
 *	the virtio-net header
 * @VHOST_TAP_DROP_OFFLOAD: TX: impossible offload fields in its header
 * @VHOST_TAP_DROP_TOO_BIG: TX: larger than a socket takes; RX: larger than
 *	a completely posted ring could hold (invariant I8)
 * @VHOST_TAP_DROP_SOCKET: the socket refused it (no longer attached, link
 *	down, filter, and the like)
 * @VHOST_TAP_DROP_NOMEM: no memory to carry it
 */
enum vhost_tap_drop {
	VHOST_TAP_DROP_SHORT,
	VHOST_TAP_DROP_OFFLOAD,
	VHOST_TAP_DROP_TOO_BIG,
	VHOST_TAP_DROP_SOCKET,
	VHOST_TAP_DROP_NOMEM,
	/* private: */
	__VHOST_TAP_DROP_MAX,
};

#endif /* _UAPI_LINUX_VHOST_TAP_H */
