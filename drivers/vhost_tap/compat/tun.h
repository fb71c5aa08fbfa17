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
 * The virtio-net header of a frame in a TUN_MSG_PTR batch stands near the
 * start of its buffer, behind the buffer's length (struct tun_xdp_hdr).
 */
static inline struct virtio_net_hdr *vtap_compat_tun_hdr(struct xdp_buff *xdp, u32 buflen)
{
	struct tun_xdp_hdr *hdr = xdp->data_hard_start;

	hdr->buflen = buflen;
	return &hdr->gso;
}

/*
 * Hook for taps that stop their netdev queue while their ring is full: called
 * with the ring's consumer lock held after @n frames were taken off it.
 */
static inline void vtap_compat_tun_wake_queue(struct file *file, int n)
{
}

#endif /* VTAP_COMPAT_TUN_H */
