/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * VIRTIO_F_RING_RESET is offered by the kernel's own module from 6.2 on.
 *
 * Feature bits above 63 came with 6.18, with calls that take an array of words; so
 * did the bits that need them, and VIRTIO_F_IN_ORDER soon after. A kernel without
 * knows none of this, and its calls are unknown ones there.
 */
#ifndef VTAP_COMPAT_FEATURES_H
#define VTAP_COMPAT_FEATURES_H

#include <linux/bits.h>
#include <linux/vhost.h>
#include <linux/virtio_config.h>

#ifdef VTAP_HAVE_RING_RESET
#define VTAP_COMPAT_RING_RESET	BIT_ULL(VIRTIO_F_RING_RESET)
#else
#define VTAP_COMPAT_RING_RESET	0ULL
#endif

#ifdef VTAP_HAVE_FEATURES_ARRAY
#define VTAP_COMPAT_HAS_ARRAY	true
/* Of the bits up to 63, those that are not offered everywhere. */
#define VTAP_COMPAT_FEATURES	(VTAP_COMPAT_RING_RESET | BIT_ULL(VIRTIO_F_IN_ORDER))
#else
#define VTAP_COMPAT_HAS_ARRAY	false
#define VTAP_COMPAT_FEATURES	VTAP_COMPAT_RING_RESET
#define VHOST_GET_FEATURES_ARRAY _IOR(VHOST_VIRTIO, 0x83, __u64)
#define VHOST_SET_FEATURES_ARRAY _IOW(VHOST_VIRTIO, 0x83, __u64)
#endif

#endif /* VTAP_COMPAT_FEATURES_H */
