// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copying one received frame into chains of any shape. Touches guest memory through
 * guest.h, and an skb that is not changed. Frames of the common shape take the way of
 * vtap_rx_burst() in rx.c, many at a time.
 */
#include <linux/skbuff.h>

#include "compat/virtio_net.h"
#include "dev.h"
#include "rx.h"

int vtap_rx_put_num_buffers(struct vtap_vq *vq, const struct iovec *seg, u32 n)
{
	__virtio16 num = __cpu_to_virtio16(vq->ring.le, n);
	struct vtap_rx_place to = {
		.seg = seg,
		.offset = offsetof(struct virtio_net_hdr_mrg_rxbuf, num_buffers),
	};

	while (to.offset >= to.seg->iov_len) {
		to.offset -= to.seg->iov_len;
		to.seg++;
	}
	return vtap_rx_write(&to, &num, sizeof(num));
}

int vtap_rx_copy_skb(struct vtap_vq *vq, const struct sk_buff *skb, const struct iovec *seg,
		     u32 n)
{
	struct virtio_net_hdr_mrg_rxbuf hdr;
	struct vtap_rx_place to = { .seg = seg };
	u32 i;

	if (virtio_net_hdr_from_skb(skb, &hdr.hdr, vq->ring.le, true, 0))
		return -EINVAL;
	hdr.num_buffers = __cpu_to_virtio16(vq->ring.le, n);
	if (vtap_rx_write(&to, &hdr, vq->hlen) ||
	    vtap_rx_write(&to, skb->data, skb_headlen(skb)))
		return -EFAULT;
	for (i = 0; i < skb_shinfo(skb)->nr_frags; i++) {
		const skb_frag_t *frag = &skb_shinfo(skb)->frags[i];

		/* Not everything that a fragment can be is a page. */
		if (unlikely(!skb_frag_page(frag)))
			return -EINVAL;
		if (vtap_rx_write(&to, skb_frag_address(frag), skb_frag_size(frag)))
			return -EFAULT;
	}
	return 0;
}
