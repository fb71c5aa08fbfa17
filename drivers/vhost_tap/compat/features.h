/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Feature bits above 63 came with 6.18, with calls that take an array of words; so
 * did the bits that need them, and VIRTIO_F_IN_ORDER soon after. A kernel without
 * knows none of this, and its calls are unknown ones there.
 */
#ifndef VTAP_COMPAT_FEATURES_H
#define VTAP_COMPAT_FEATURES_H

#include <linux/bits.h>
#include <linux/vhost.h>
#include <linux/virtio_config.h>

#ifdef VTAP_HAVE_FEATURES_ARRAY
#define VTAP_COMPAT_HAS_ARRAY	true
/* Bits 0 to 63 that only kernels with feature arrays offer. */
#define VTAP_COMPAT_FEATURES	BIT_ULL(VIRTIO_F_IN_ORDER)
#else
#define VTAP_COMPAT_HAS_ARRAY	false
#define VTAP_COMPAT_FEATURES	0ULL
#define VHOST_GET_FEATURES_ARRAY _IOR(VHOST_VIRTIO, 0x83, __u64)
#define VHOST_SET_FEATURES_ARRAY _IOW(VHOST_VIRTIO, 0x83, __u64)
#endif

#endif /* VTAP_COMPAT_FEATURES_H */
