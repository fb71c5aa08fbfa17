/* SPDX-License-Identifier: GPL-2.0-only */
/* Segmentation of UDP came with 6.2; older stacks refuse such a frame. */
#ifndef VTAP_COMPAT_VIRTIO_NET_H
#define VTAP_COMPAT_VIRTIO_NET_H

#include <linux/virtio_net.h>

static inline bool vtap_compat_is_gso_udp_l4(u8 gso_type)
{
#ifdef VIRTIO_NET_HDR_GSO_UDP_L4
	return gso_type == VIRTIO_NET_HDR_GSO_UDP_L4;
#else
	return false;
#endif
}

#endif /* VTAP_COMPAT_VIRTIO_NET_H */
