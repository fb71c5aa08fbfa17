/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What rx.c and rx_copy.c share: writing into a row of segments. Nobody else
 * includes this.
 */
#ifndef VTAP_RX_H
#define VTAP_RX_H

#include <linux/skbuff.h>

#include "dev.h"
#include "guest.h"

/* Where in a row of segments the next byte goes. */
struct vtap_rx_place {
	const struct iovec *seg;
	size_t offset;
};

/* Write @len bytes there, wherever the guest has cut its buffers: 0 or -EFAULT. */
static inline int vtap_rx_write(struct vtap_rx_place *to, const void *src, size_t len)
{
	while (len) {
		size_t n = min(len, to->seg->iov_len - to->offset);

		if (unlikely(vtap_guest_write(to->seg->iov_base + to->offset, src, n)))
			return -EFAULT;
		src += n;
		len -= n;
		to->offset += n;
		if (to->offset == to->seg->iov_len) {
			to->seg++;
			to->offset = 0;
		}
	}
	return 0;
}

/* prototypes of rx_copy.c */

/**
 * vtap_rx_put_num_buffers() - tell the guest how many chains a frame takes
 * @vq: virtqueue; its lock is held
 * @seg: segments that hold the frame; its header has a place for the number
 * @n: chains
 * Return: 0 or -EFAULT. (VIRTIO 5.1.6.4)
 */
int vtap_rx_put_num_buffers(struct vtap_vq *vq, const struct iovec *seg, u32 n);

/**
 * vtap_rx_copy_skb() - copy header and frame into reserved chains
 * @vq: virtqueue; its lock is held
 * @skb: frame that needs no socket (direct.c), held
 * @seg: segments that hold all of it
 * @n: chains
 * Return: 0, -EINVAL if it does need a socket, -EFAULT.
 */
int vtap_rx_copy_skb(struct vtap_vq *vq, const struct sk_buff *skb, const struct iovec *seg,
		     u32 n);

#endif /* VTAP_RX_H */
