// SPDX-License-Identifier: GPL-2.0-only
/*
 * The transmit queue: frames that the guest made available go to the backend
 * socket. Touches guest memory through guest.h and through the iov_iter of a
 * frame that goes alone; rings through ring.h; sockets through sock.h.
 *
 * A run takes chains in batches. Frames go together as long as there are recycled
 * buffers for them (frag.c), with headroom and the skb_shared_info that an skb
 * around each needs: all are copied once, header and payload in one go, all have
 * their headers checked, and go to the socket with one sendmsg(). Any other frame
 * goes alone, straight from guest memory, in its turn.
 *
 * The header of a frame is checked in our copy (I7). For a frame that goes alone
 * there is none: the socket reads the header, and checks what it has read.
 *
 * Whatever the socket answers, each chain is completed, or given back to be
 * fetched again once the socket takes frames again (I2).
 */
#include <linux/etherdevice.h>
#include <linux/if_vlan.h>
#include <trace/events/vhost_tap.h>

#include "compat/virtio_net.h"
#include "dev.h"

/* The largest frame there is: an IP packet of 64 KiB with two VLAN tags. */
#define VTAP_TX_FRAME_MAX	(ETH_HLEN + 2 * VLAN_HLEN + 65535)

/* Times in a row that a run may end for want of memory before frames are dropped. */
#define VTAP_TX_RETRIES		64

/**
 * struct vtap_tx - a run
 * @vq: the queue
 * @batch: the socket takes batches
 * @pad: bytes in front of a frame in a buffer
 * @max: bytes of the longest frame for a batch
 * @nxdp: frames waiting in vq->xdp[]
 * @turns: chains looked at, whatever became of them, long ones more than
 *	once; for the budget
 * @bytes: bytes in them
 */
struct vtap_tx {
	struct vtap_vq *vq;
	bool batch;
	u32 pad;
	u32 max;
	u32 nxdp;
	u32 turns;
	u32 bytes;
};

static void vtap_tx_drop(struct vtap_vq *vq, enum vhost_tap_drop reason, u32 len)
{
	vtap_stat_inc(&vq->stats.drops[reason]);
	trace_vhost_tap_drop(vq->dev->id, vq->index, reason, len);
}

static void vtap_tx_sent(struct vtap_vq *vq, u32 len)
{
	vtap_stat_inc(&vq->stats.packets);
	vtap_stat_add(&vq->stats.bytes, len);
}

/*
 * Is a header, in our memory, one that any stack can make sense of? @len: bytes
 * of the frame behind it. hdr_len is a hint, but must cover the checksum.
 * (VIRTIO 5.1.6.2)
 */
static bool vtap_tx_check_hdr(const struct vtap_vq *vq, struct virtio_net_hdr *hdr, u32 len)
{
	bool le = vq->ring.le;
	u32 hdr_len = __virtio16_to_cpu(le, hdr->hdr_len);
	u8 gso_type = hdr->gso_type & ~VIRTIO_NET_HDR_GSO_ECN;

	if (unlikely(vq->tunnel && gso_type & VTAP_COMPAT_TUNNEL_GSO)) {
		if (!vtap_compat_tunnel_ok(hdr, le))
			return false;
		gso_type &= ~VTAP_COMPAT_TUNNEL_GSO;
	}
	if (hdr->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) {
		u32 end = __virtio16_to_cpu(le, hdr->csum_start) +
			  __virtio16_to_cpu(le, hdr->csum_offset) + sizeof(__sum16);

		if (end > len)
			return false;
		if (end > hdr_len) {
			hdr_len = end;
			hdr->hdr_len = __cpu_to_virtio16(le, end);
		}
	}
	if (hdr_len > len)
		return false;

	if (hdr->gso_type == VIRTIO_NET_HDR_GSO_NONE)
		return true;
	switch (gso_type) {
	case VIRTIO_NET_HDR_GSO_TCPV4:
	case VIRTIO_NET_HDR_GSO_TCPV6:
	case VIRTIO_NET_HDR_GSO_UDP:
		break;
	default:
		if (!vtap_compat_is_gso_udp_l4(gso_type))
			return false;
	}
	/* The stack keeps the highest value to itself. */
	return hdr->gso_size && __virtio16_to_cpu(le, hdr->gso_size) != GSO_BY_FRAGS;
}

/*
 * First stage: which of the chains from @i up to @n can go to the socket together?
 * Each of them gets a buffer and its place in vq->xdp[], and counts.
 *
 * Return: how many.
 */
static u32 vtap_tx_claim(struct vtap_tx *tx, u32 i, u32 n)
{
	struct vtap_vq *vq = tx->vq;
	const struct vtap_chain *chain = vtap_ring_chain(&vq->ring, i);
	struct vtap_frag_pool *pool;
	struct xdp_buff *xdp = vq->xdp;
	u32 len, buflen;
	void *buf;

	for (; i < n && tx->bytes < VTAP_BUDGET_BYTES; i++, chain++, xdp++) {
		len = chain->len - vq->hlen;
		if (unlikely(chain->len < vq->hlen + ETH_HLEN || len > tx->max))
			break;
		buflen = vtap_sock_buflen(tx->pad, len);
		pool = buflen <= PAGE_SIZE ? &vq->dev->frags : &vq->dev->large_frags;
		buf = vtap_frag_alloc(pool, buflen);
		if (unlikely(!buf))
			break;
		vtap_sock_prepare(xdp, buf, buflen, tx->pad, len);
		tx->turns += 1 + (chain->slots >> VTAP_BUDGET_DESC_SHIFT);
		tx->bytes += chain->len;
	}
	return xdp - vq->xdp;
}

/*
 * Second stage: copy the @n frames from chain @i on, each with its header in
 * front, wherever the guest has cut them. Small ones share a window.
 *
 * Return: how many; less than @n if the next one is where nothing can be read.
 */
static u32 vtap_tx_copy(struct vtap_tx *tx, u32 i, u32 n)
{
	struct vtap_vq *vq = tx->vq;
	const struct vtap_chain *chain = vtap_ring_chain(&vq->ring, i);
	const struct iovec *seg = &vq->ring.seg[chain->seg];
	const struct xdp_buff *xdp = vq->xdp;
	const struct iovec *end;
	bool large = false;
	void *dst;
	u32 k;

	if (unlikely(!vtap_guest_read_begin(seg->iov_base, seg->iov_len)))
		return 0;
	/* The segments of chains that follow each other do so, too. */
	for (k = 0; k < n; k++) {
		end = seg + chain[k].nsegs;
		if (chain[k].len > VTAP_GUEST_SMALL) {
			large = true;
			seg = end;
			continue;
		}
		dst = xdp[k].data - vq->hlen;
		for (; seg < end; seg++) {
			if (unlikely(!vtap_guest_get_bytes(dst, seg->iov_base, seg->iov_len)))
				goto fault;
			dst += seg->iov_len;
		}
	}
fault:
	vtap_guest_read_end();

	n = k;
	for (k = 0; large && k < n; k++) {
		if (chain[k].len <= VTAP_GUEST_SMALL)
			continue;
		dst = xdp[k].data - vq->hlen;
		seg = &vq->ring.seg[chain[k].seg];
		for (end = seg + chain[k].nsegs; seg < end; seg++) {
			if (unlikely(vtap_guest_read(dst, seg->iov_base, seg->iov_len)))
				return k;
			dst += seg->iov_len;
		}
	}
	return n;
}

/*
 * Third stage: give the socket the header of each of the @n frames. Those with
 * an impossible one leave the batch.
 */
static void vtap_tx_headers(struct vtap_tx *tx, u32 n)
{
	struct vtap_vq *vq = tx->vq;
	struct xdp_buff *xdp = vq->xdp;
	u32 k, len;

	for (k = 0; k < n; k++) {
		struct virtio_net_hdr *hdr = vtap_sock_hdr(&xdp[k]);

		if (!vq->sock_hlen) {
			/* The guest's header is for us, and we offer no offloads. */
			memset(hdr, 0, sizeof(*hdr));
		} else {
			memcpy(hdr, xdp[k].data - vq->hlen, sizeof(*hdr));
			if (unlikely(vq->tunnel))
				memcpy(hdr, xdp[k].data - vq->hlen, VTAP_COMPAT_TUNNEL_HLEN);
			len = xdp[k].data_end - xdp[k].data;
			if (unlikely(!vtap_tx_check_hdr(vq, hdr, len))) {
				vtap_tx_drop(vq, VHOST_TAP_DROP_OFFLOAD, len);
				vtap_frag_free(xdp[k].data_hard_start);
				continue;
			}
		}
		if (unlikely(tx->nxdp != k))
			xdp[tx->nxdp] = xdp[k];
		tx->nxdp++;
	}
}

/* Hand over the batch; taken or not, nothing waits afterwards. */
static void vtap_tx_flush(struct vtap_tx *tx)
{
	struct vtap_vq *vq = tx->vq;
	const struct xdp_buff *xdp = vq->xdp;
	u32 i, bytes = 0, n = tx->nxdp;

	if (!n)
		return;
	tx->nxdp = 0;

	/* The lengths are ours to read only before. */
	for (i = 0; i < n; i++)
		bytes += xdp[i].data_end - xdp[i].data;
	if (likely(!vtap_sock_send_batch(vq->sock, vq->xdp, n))) {
		vq->retries = 0;
		vtap_stat_add(&vq->stats.packets, n);
		vtap_stat_add(&vq->stats.bytes, bytes);
		return;
	}
	/* None of them was looked at. */
	for (i = 0; i < n; i++)
		vtap_tx_drop(vq, VHOST_TAP_DROP_SOCKET, xdp[i].data_end - xdp[i].data);
}

/*
 * Send as many of the chains from @i up to @n as can go together.
 *
 * Return: how many can be completed. *@err is set to -EFAULT if a fault ended
 * them.
 */
static u32 vtap_tx_group(struct vtap_tx *tx, u32 i, u32 n, int *err)
{
	struct xdp_buff *xdp = tx->vq->xdp;
	u32 claimed, copied, k;

	claimed = vtap_tx_claim(tx, i, n);
	if (!claimed)
		return 0;
	copied = vtap_tx_copy(tx, i, claimed);
	vtap_tx_headers(tx, copied);
	for (k = copied; unlikely(k < claimed); k++) {
		vtap_frag_free(xdp[k].data_hard_start);
		*err = -EFAULT;
	}
	vtap_tx_flush(tx);
	return copied;
}

/*
 * Send a frame alone, @len bytes without header.
 *
 * Return: 0 if it is done with, sent or not; -EAGAIN if the socket is not
 * writable; -ENOBUFS if there is no memory right now; -EFAULT.
 */
static int vtap_tx_single(struct vtap_tx *tx, const struct vtap_chain *chain, u32 len)
{
	struct vtap_vq *vq = tx->vq;
	struct iov_iter iter;
	int err;

	iov_iter_init(&iter, ITER_SOURCE, &vq->ring.seg[chain->seg], chain->nsegs,
		      chain->len);
	iov_iter_advance(&iter, vq->hlen - vq->sock_hlen);
	err = vtap_sock_send(vq->sock, &iter);
	if (likely(!err)) {
		vq->retries = 0;
		vtap_tx_sent(vq, len);
		return 0;
	}

	switch (err) {
	case -EAGAIN:
	case -EFAULT:
		return err;
	case -ENOMEM:
	case -ENOBUFS:
		if (vq->retries < VTAP_TX_RETRIES) {
			vq->retries++;
			return -ENOBUFS;
		}
		/* Nothing has gone through for long: a queue must not block for ever. */
		vtap_tx_drop(vq, VHOST_TAP_DROP_NOMEM, len);
		return 0;
	case -EMSGSIZE:
		vtap_tx_drop(vq, VHOST_TAP_DROP_TOO_BIG, len);
		return 0;
	case -EINVAL:
		/* All that is left to find fault with is the header, if it sees one. */
		vtap_tx_drop(vq, vq->sock_hlen ? VHOST_TAP_DROP_OFFLOAD :
						 VHOST_TAP_DROP_SOCKET, len);
		return 0;
	default:
		vtap_tx_drop(vq, VHOST_TAP_DROP_SOCKET, len);
		return 0;
	}
}

/*
 * Deal with one chain that cannot go together with others.
 *
 * Return: 0 if it can be completed, or the error for which it must be given
 * back: -EAGAIN, -ENOBUFS, -EFAULT.
 */
static int vtap_tx_frame(struct vtap_tx *tx, const struct vtap_chain *chain)
{
	struct vtap_vq *vq = tx->vq;
	u32 len;

	tx->turns += 1 + (chain->slots >> VTAP_BUDGET_DESC_SHIFT);
	tx->bytes += min_t(u32, chain->len, VTAP_BUDGET_BYTES);
	/*
	 * No frame without a whole Ethernet header enters the stack: it trusts
	 * that somebody has looked.
	 */
	if (unlikely(chain->len < vq->hlen + ETH_HLEN)) {
		vtap_tx_drop(vq, VHOST_TAP_DROP_SHORT,
			     chain->len > vq->hlen ? chain->len - vq->hlen : 0);
		return 0;
	}
	len = chain->len - vq->hlen;
	if (unlikely(len > VTAP_TX_FRAME_MAX)) {
		vtap_tx_drop(vq, VHOST_TAP_DROP_TOO_BIG, len);
		return 0;
	}

	return vtap_tx_single(tx, chain, len);
}

/*
 * Send @n chains just fetched; complete what is done with, give the rest back.
 *
 * Return: 0, or why the run ends: -EAGAIN, -ENOBUFS, -EPROTO (stopped, told).
 */
static int vtap_tx_batch(struct vtap_tx *tx, u32 n)
{
	struct vtap_vq *vq = tx->vq;
	struct vtap_ring *ring = &vq->ring;
	u32 i, done;
	int err = 0;

	/* Both can change while we run. */
	tx->batch = vtap_sock_can_batch(vq->sock);
	tx->pad = vtap_sock_pad(vq->sock, vq->hlen);
	tx->max = vtap_sock_batch_max(vq->sock, tx->pad);

	for (i = 0; i < n && tx->bytes < VTAP_BUDGET_BYTES && !err; i += done) {
		done = tx->batch ? vtap_tx_group(tx, i, n, &err) : 0;
		if (!done && !err) {
			err = vtap_tx_frame(tx, vtap_ring_chain(ring, i));
			done = !err;
		}
	}

	/* I2: what was not dealt with is given back, all else completed. */
	vtap_ring_unfetch(ring, n - i);
	if (i) {
		if (vtap_ring_complete(ring, i))
			goto broken;
		vtap_stats_batch(&vq->stats, i);
		trace_vhost_tap_publish(vq->dev->id, vq->index, i, ring->last_used);
		vtap_vq_signal(vq);
		if (ring->err)
			return -EPROTO;
	}
	if (unlikely(err == -EFAULT)) {
		ring->err = VHOST_TAP_RING_ERR_FAULT;
		goto broken;
	}
	return err;

broken:
	/* What could not be completed is given back as well. */
	vtap_ring_unfetch(ring, vtap_ring_outstanding(ring));
	vtap_vq_broken(vq);
	return -EPROTO;
}

/*
 * The ring is empty. Watch it for a while if told so, then ask for kicks.
 *
 * Return: true if there is more to do.
 */
static bool vtap_tx_idle(struct vtap_vq *vq)
{
	int ret;

	if (vtap_vq_busy_poll(vq))
		return true;

	/* I4: what came before the driver saw our wish is found by looking again. */
	ret = vtap_ring_arm(&vq->ring);
	if (ret > 0)
		ret = vtap_ring_disarm(&vq->ring) ?: 1;
	if (unlikely(ret < 0))
		vtap_vq_broken(vq);
	return ret > 0;
}

void vtap_tx_run(struct vtap_vq *vq)
{
	struct vtap_tx tx = { .vq = vq };
	int ret;

	mutex_lock(&vq->lock);
	if (!vq->sock)
		goto out;
	/* Busy polling for the other queue may have found ours broken. */
	if (unlikely(vq->ring.err)) {
		vtap_vq_broken(vq);
		goto out;
	}
	if (unlikely(!vtap_ring_ready(&vq->ring)) && !vtap_iotlb_prepare(vq))
		goto out;
	/* Writability is of interest only after the socket said -EAGAIN. */
	vtap_poll_stop(&vq->sock_poll);
	if (vtap_ring_disarm(&vq->ring)) {
		vtap_vq_broken(vq);
		goto out;
	}

	do {
		/* I6: all that was looked at counts, also if it was dropped. */
		if (tx.turns >= VTAP_BUDGET_PACKETS || tx.bytes >= VTAP_BUDGET_BYTES) {
			vtap_stat_inc(&vq->stats.budget_ends);
			vtap_worker_queue(vq, &vq->again);
			break;
		}
		ret = vtap_ring_fetch(&vq->ring, VTAP_BATCH);
		if (unlikely(ret == -EAGAIN)) {
			/* Its answer brings us back, not the socket. */
			vtap_iotlb_miss(vq);
			ret = 0;
			break;
		}
		if (unlikely(ret < 0)) {
			vtap_vq_broken(vq);
			break;
		}
		if (!ret) {
			ret = vtap_tx_idle(vq) ? 0 : -ENODATA;
			continue;
		}
		trace_vhost_tap_fetch(vq->dev->id, vq->index, ret, vq->ring.last_avail);
		ret = vtap_tx_batch(&tx, ret);
	} while (!ret);

	if (unlikely(ret == -EAGAIN)) {
		vtap_stat_inc(&vq->stats.eagain);
		vtap_vq_watch_sock(vq);
	} else if (unlikely(ret == -ENOBUFS)) {
		vtap_vq_retry(vq);
	}
	vtap_vq_log_signal(vq);
out:
	mutex_unlock(&vq->lock);
}
