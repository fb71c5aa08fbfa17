/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What tun and tap expect of those who talk to their sockets, where kernels
 * differ. The only user is sock.c.
 */
#ifndef VTAP_COMPAT_TUN_H
#define VTAP_COMPAT_TUN_H

#include <linux/if_tun.h>
#include <net/xdp.h>

/*
 * The virtio-net header of a frame in a TUN_MSG_PTR batch stands at the start
 * of its buffer; on older kernels behind the buffer's length there.
 */
static inline struct virtio_net_hdr *vtap_compat_tun_hdr(struct xdp_buff *xdp, u32 buflen)
{
#ifdef VTAP_HAVE_TUN_XDP_HDR
	struct tun_xdp_hdr *hdr = xdp->data_hard_start;

	hdr->buflen = buflen;
	return &hdr->gso;
#else
	return xdp->data_hard_start;
#endif
}

/*
 * A tap with IFF_BACKPRESSURE stops its netdev queue while its ring is full, and
 * relies on being told, with the ring's consumer lock held, that @n frames were
 * taken off. Others, and other files, do not mind.
 */
static inline void vtap_compat_tun_wake_queue(struct file *file, int n)
{
#ifdef VTAP_HAVE_TUN_WAKE_QUEUE
	tun_wake_queue(file, n);
#endif
}

#endif /* VTAP_COMPAT_TUN_H */
