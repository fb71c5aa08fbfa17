// SPDX-License-Identifier: GPL-2.0-only
/*
 * The receive queue: frames that wait in the backend socket go to the guest.
 * Touches guest memory through guest.h and through the iov_iter that a frame is
 * copied into; rings through ring.h; sockets through sock.h.
 *
 * Frames are taken off the socket in batches, but then only held. For the next
 * of them, as many chains are reserved as it needs; after that, and not before, it
 * is consumed, that is, copied and freed (I1). A batch of frames is published
 * in one step.
 *
 * The outstanding chains of the ring are thus, oldest first:
 *
 *	[ filled: rx->filled, hold rx->frames frames ][ reserved ][ looked ahead ]
 *
 * If chains run out, what is filled is published, the rest is given back and
 * the frame stays held until the guest kicks. A frame that even a completely
 * posted ring could not hold is dropped instead (I8).
 */
#include <linux/uio.h>
#include <trace/events/vhost_tap.h>

#include "compat/virtio_net.h"
#include "dev.h"
#include "rx.h"

/* Frames copied in one go; their headers are on the stack meanwhile. */
#define VTAP_RX_BURST	16

/**
 * struct vtap_rx - a run
 * @vq: the queue
 * @frame: the frame at hand, still held; NULL for a backend without a ring
 * @len: its bytes
 * @nsegs: segments of the chains reserved for it
 * @filled: outstanding chains that hold frames, to be published
 * @frames: frames in them
 * @filled_bytes: bytes in these
 * @slots: places that these chains take in the ring
 * @turns: frames looked at, whatever became of them, those with long chains
 *	more than once; for the budget
 * @bytes: bytes in them
 */
struct vtap_rx {
	struct vtap_vq *vq;
	void *frame;
	u32 len;
	u32 nsegs;
	u32 filled;
	u32 frames;
	u64 filled_bytes;
	u32 slots;
	u32 turns;
	u64 bytes;
};

static void vtap_rx_drop(struct vtap_rx *rx, enum vhost_tap_drop reason)
{
	struct vtap_vq *vq = rx->vq;

	vtap_stat_inc(&vq->stats.drops[reason]);
	trace_vhost_tap_drop(vq->dev->id, vq->index, reason, rx->len);
}

/* The frame at hand leaves the held batch. */
static void vtap_rx_take(struct vtap_rx *rx)
{
	if (rx->frame)
		rx->vq->held_head++;
}

static void vtap_rx_broken(struct vtap_rx *rx, enum vhost_tap_ring_err err)
{
	if (err)
		rx->vq->ring.err = err;
	vtap_vq_broken(rx->vq);
}

/*
 * Publish what is filled, and interrupt the guest if it wants that.
 *
 * Return: 0, or -EPROTO (stopped, told).
 */
static int vtap_rx_publish(struct vtap_rx *rx)
{
	struct vtap_vq *vq = rx->vq;
	struct vtap_ring *ring = &vq->ring;
	u32 frames = rx->frames;

	if (!frames)
		return 0;
	rx->frames = 0;
	if (unlikely(vtap_ring_complete(ring, rx->filled))) {
		/* These frames are lost; the queue stops for it. */
		vtap_stat_add(&vq->stats.drops[VHOST_TAP_DROP_SOCKET], frames);
		vtap_rx_broken(rx, VHOST_TAP_RING_ERR_NONE);
		return -EPROTO;
	}
	trace_vhost_tap_publish(vq->dev->id, vq->index, rx->filled, ring->last_used);
	vtap_stat_add(&vq->stats.packets, frames);
	vtap_stat_add(&vq->stats.bytes, rx->filled_bytes);
	vtap_stats_batch(&vq->stats, frames);
	rx->filled = 0;
	rx->filled_bytes = 0;
	vtap_vq_signal(vq);
	return ring->err ? -EPROTO : 0;
}

/* Publish what is filled and give back all else: both arrays of the ring are empty then. */
static int vtap_rx_settle(struct vtap_rx *rx)
{
	struct vtap_ring *ring = &rx->vq->ring;

	vtap_ring_unfetch(ring, vtap_ring_outstanding(ring) - rx->filled);
	return vtap_rx_publish(rx);
}

/*
 * A fetch ended with @ret: the ring is broken, or an address is not mapped. What
 * was filled before is good and is published; the ring refuses that after an
 * error, so that the error waits.
 */
static void vtap_rx_fetch_failed(struct vtap_rx *rx, int ret)
{
	struct vtap_ring *ring = &rx->vq->ring;
	enum vhost_tap_ring_err err = ring->err;

	if (ret == -EAGAIN) {
		/* The frame stays held; its chains are given back (I2). */
		vtap_iotlb_miss(rx->vq);
		vtap_rx_settle(rx);
		return;
	}
	ring->err = VHOST_TAP_RING_ERR_NONE;
	if (!vtap_rx_settle(rx))
		vtap_rx_broken(rx, err);
}

/*
 * Make the next frame the one at hand. It stays held.
 *
 * Return: false if there is none, or if publishing the ones before it failed. In
 * the first case some may still have to be published.
 */
static bool vtap_rx_next(struct vtap_rx *rx)
{
	struct vtap_vq *vq = rx->vq;

	if (!vq->sock->ring) {
		if (rx->frames == VTAP_BATCH && vtap_rx_publish(rx))
			return false;
		rx->frame = NULL;
		rx->len = vtap_sock_peek_len(vq->sock);
		return rx->len;
	}

	if (vq->held_head == vq->held_tail) {
		/*
		 * A batch at most waits to be published. It does not wait for
		 * frames to come, but those that are there already come along.
		 */
		if (rx->frames >= VTAP_BATCH && vtap_rx_publish(rx))
			return false;
		vq->held_head = 0;
		vq->held_tail = vtap_sock_dequeue(vq->sock, vq->held, VTAP_BATCH);
		if (!vq->held_tail)
			return false;
	}
	rx->frame = vq->held[vq->held_head];
	if (vq->held_head + 1 < vq->held_tail)
		vtap_sock_prefetch(vq->held[vq->held_head + 1]);
	rx->len = vtap_sock_frame_len(rx->frame);
	return true;
}

static void vtap_rx_wait_begin(struct vtap_rx *rx, u32 chains)
{
	struct vtap_vq *vq = rx->vq;

	if (vq->wait_since)
		return;
	vq->wait_since = ktime_get_ns();
	vtap_stat_inc(&vq->stats.headcount_waits);
	trace_vhost_tap_headcount_wait(vq->dev->id, vq->index, rx->len + vq->hlen, chains);
}

static void vtap_rx_wait_end(struct vtap_vq *vq)
{
	u64 ns = ktime_get_ns() - vq->wait_since;

	vq->wait_since = 0;
	vtap_stat_add(&vq->stats.headcount_wait_ns, ns);
	trace_vhost_tap_headcount_resume(vq->dev->id, vq->index, ns);
}

/*
 * The ring has no chain beyond the @n reserved ones, which are all that is
 * outstanding, and they are not enough.
 *
 * Return: 0 if there are more meanwhile, -EAGAIN if the guest will kick for
 * them, -EPROTO (stopped, told).
 */
static int vtap_rx_wait(struct vtap_rx *rx, u32 n)
{
	struct vtap_ring *ring = &rx->vq->ring;
	int ret;

	vtap_rx_wait_begin(rx, n);
	/*
	 * I4: ask, then look again. The reserved chains are given back only
	 * after that, so that it is the one behind them that the guest kicks
	 * for, and that the look is for.
	 */
	ret = vtap_ring_arm(ring);
	if (!ret)
		return -EAGAIN;
	if (ret > 0)
		ret = vtap_ring_disarm(ring);
	if (unlikely(ret < 0))
		vtap_rx_broken(rx, VHOST_TAP_RING_ERR_NONE);
	return ret;
}

/*
 * Fetch until the chains behind the filled ones hold @need bytes, or none is
 * left. Looks ahead by what is held, as most frames take one chain each, and
 * for a frame that takes many by as many again each time.
 *
 * Return: chains reserved, rx->nsegs segments; -EAGAIN if one of them has to wait
 * for a mapping; -EPROTO (stopped, told).
 * *@room: bytes in them.
 */
static int vtap_rx_gather(struct vtap_rx *rx, u32 need, u64 *room)
{
	struct vtap_vq *vq = rx->vq;
	struct vtap_ring *ring = &vq->ring;
	const struct vtap_chain *chain;
	u32 held = rx->frame ? vq->held_tail - vq->held_head : 1;
	u32 n = 0;
	int ret;

	*room = 0;
	rx->slots = 0;
	rx->nsegs = 0;
	/* More slots than the ring has: the guest lies, or this is all of it (I6). */
	while (*room < need && (vq->mergeable || !n) && rx->slots < ring->num) {
		if (rx->filled + n == vtap_ring_outstanding(ring)) {
			ret = vtap_ring_fetch(ring, max(held, n));
			if (unlikely(ret < 0)) {
				vtap_rx_fetch_failed(rx, ret);
				return ret;
			}
			if (!ret)
				break;
			trace_vhost_tap_fetch(vq->dev->id, vq->index, ret, ring->last_avail);
		}
		chain = vtap_ring_chain(ring, rx->filled + n);
		*room += chain->len;
		rx->slots += chain->slots;
		rx->nsegs += chain->nsegs;
		n++;
	}
	return n;
}

/*
 * Reserve chains for the frame at hand: the ones behind the filled ones (I1).
 *
 * Return: how many; -EFBIG if the guest could never provide enough (I8);
 * -EAGAIN if the guest will kick for more, or a mapping has to come first; -EPROTO
 * (stopped, told).
 */
static int vtap_rx_reserve(struct vtap_rx *rx)
{
	struct vtap_vq *vq = rx->vq;
	struct vtap_ring *ring = &vq->ring;
	u32 need = rx->len + vq->hlen;
	u64 room;
	int n, ret;

	for (;;) {
		n = vtap_rx_gather(rx, need, &room);
		if (unlikely(n < 0))
			return n;
		if (likely(room >= need))
			return n;
		/* Without merging, a frame has the next chain or none. */
		if (n && !vq->mergeable)
			return -EFBIG;

		/*
		 * Out of chains, or of room in the ring's arrays. Before
		 * anything waits, and to have all of the arrays for this frame:
		 * publish, give back, begin again.
		 */
		if (rx->filled || ring->nr_done) {
			if (vtap_rx_settle(rx))
				return -EPROTO;
			continue;
		}
		/* I8: all of the ring, and still not enough. */
		if (rx->slots >= ring->num)
			return -EFBIG;
		/* I8: chains there are, but more than the arrays can take. */
		ret = vtap_ring_has_avail(ring);
		if (ret > 0) {
			ret = vtap_ring_fetch(ring, 1);
			if (ret > 0)
				continue;
			if (!ret)
				return -EFBIG;
			if (ret == -EAGAIN) {
				vtap_iotlb_miss(vq);
				return ret;
			}
		}
		if (unlikely(ret < 0)) {
			vtap_rx_broken(rx, VHOST_TAP_RING_ERR_NONE);
			return ret;
		}

		ret = vtap_rx_wait(rx, n);
		if (ret)
			return ret;
	}
}

/*
 * Receiving into @seg did not go as it should: is it guest memory that cannot
 * be written? The sockets do not tell that from other failures.
 */
static bool vtap_rx_is_fault(struct vtap_rx *rx, const struct iovec *seg)
{
	size_t len = rx->len + rx->vq->hlen;
	struct iov_iter iter;

	iov_iter_init(&iter, ITER_DEST, seg, rx->nsegs, len);
	return fault_in_iov_iter_writeable(&iter, len);
}

/* What the frame at hand fills of each of the @n chains reserved for it. */
static void vtap_rx_set_written(struct vtap_rx *rx, u32 n)
{
	struct vtap_chain *chain = vtap_ring_chain(&rx->vq->ring, rx->filled);
	u32 left = rx->len + rx->vq->hlen;

	for (; n; n--, chain++) {
		chain->written = min(left, chain->len);
		left -= chain->written;
	}
}

/* They may have been written, but are not published: mark them. 0 or -EFAULT. */
static int vtap_rx_log_scraps(struct vtap_rx *rx, u32 n)
{
	if (likely(!rx->vq->ring.log.what))
		return 0;
	vtap_rx_set_written(rx, n);
	return vtap_log_chains(&rx->vq->ring, rx->filled, n);
}

/* Consume the frame at hand into the @n chains reserved for it. */
static void vtap_rx_consume(struct vtap_rx *rx, u32 n)
{
	struct vtap_vq *vq = rx->vq;
	struct vtap_ring *ring = &vq->ring;
	const struct iovec *seg = &ring->seg[vtap_ring_chain(ring, rx->filled)->seg];
	struct iov_iter iter;
	int len;

	/* I1: it has its chains, so it may go. */
	if (vq->direct && rx->frame && vtap_sock_direct(vq->sock, &rx->frame, 1)) {
		len = vtap_rx_copy_skb(rx->vq, rx->frame, seg, n);
		if (unlikely(len == -EFAULT))
			goto fault;
		if (likely(!len)) {
			vtap_direct_consume(&vq->sock->direct, &rx->frame, 1, rx->len);
			vtap_rx_take(rx);
			goto done;
		}
	}

	iov_iter_init(&iter, ITER_DEST, seg, rx->nsegs, rx->len + vq->hlen);
	if (!vq->sock_hlen) {
		static const u8 hdr[VTAP_COMPAT_TUNNEL_HLEN];
		struct vtap_rx_place to = { .seg = seg };

		if (vtap_rx_write(&to, hdr, vq->hlen))
			goto fault;
		iov_iter_advance(&iter, vq->hlen);
	}
	vtap_rx_take(rx);
	len = vtap_sock_recv(vq->sock, rx->frame, &iter, rx->len + vq->sock_hlen);
	if (unlikely(len != rx->len + vq->sock_hlen || iov_iter_count(&iter)))
		goto failed;
	if (vq->hlen > sizeof(struct virtio_net_hdr) &&
	    unlikely(vtap_rx_put_num_buffers(rx->vq, seg, n)))
		goto lost;

done:
	vtap_rx_set_written(rx, n);
	rx->filled += n;
	rx->frames++;
	rx->filled_bytes += rx->len;
	return;

failed:
	if (unlikely(vtap_rx_log_scraps(rx, n)))
		goto lost;
	/* Somebody else reads the same packet socket and was faster. */
	if (!rx->frame && len == -EAGAIN)
		return;
	if (len == -EFAULT || vtap_rx_is_fault(rx, seg))
		goto lost;
	/* I2, I3: its chains stay as they are, for the next frame. */
	vtap_rx_drop(rx, VHOST_TAP_DROP_SOCKET);
	return;

lost:
	vtap_rx_drop(rx, VHOST_TAP_DROP_SOCKET);
fault:
	/* Should that fail, too: it is for a fault that the queue stops. */
	vtap_rx_log_scraps(rx, n);
	if (!vtap_rx_settle(rx))
		vtap_rx_broken(rx, VHOST_TAP_RING_ERR_FAULT);
}

/*
 * Copy frames that need no socket, each with its header in front, into the chains
 * behind the filled ones. Small ones share a window.
 *
 * Return: how many; less than @n if the next one is to be where nothing can be
 * written.
 */
static u32 vtap_rx_copy(struct vtap_rx *rx, const struct virtio_net_hdr_mrg_rxbuf *hdr, u32 n)
{
	struct vtap_vq *vq = rx->vq;
	const struct iovec *seg = &vq->ring.seg[vtap_ring_chain(&vq->ring, rx->filled)->seg];
	void **skbs = vq->held + vq->held_head;
	const struct sk_buff *skb;
	bool large = false;
	u32 k;

	/* They are one segment each, and these follow each other. */
	if (unlikely(!vtap_guest_write_begin(seg->iov_base, seg->iov_len)))
		return 0;
	for (k = 0; k < n; k++) {
		skb = skbs[k];
		if (unlikely(!vtap_guest_put_bytes(seg[k].iov_base, (const u8 *)&hdr[k],
						   vq->hlen)))
			break;
		if (skb->len > VTAP_GUEST_SMALL)
			large = true;
		else if (unlikely(!vtap_guest_put_bytes(seg[k].iov_base + vq->hlen, skb->data,
							skb->len)))
			break;
	}
	vtap_guest_write_end();

	n = k;
	for (k = 0; large && k < n; k++) {
		skb = skbs[k];
		if (skb->len > VTAP_GUEST_SMALL &&
		    unlikely(vtap_guest_write(seg[k].iov_base + vq->hlen, skb->data, skb->len)))
			return k;
	}
	return n;
}

/*
 * The common case, in stages: from the frame at hand on, those that need no socket
 * and find a chain of one segment each.
 *
 * Return: how many were consumed; 0 leaves the frame at hand to who deals with
 * all cases; -EAGAIN if a mapping has to come first; -EPROTO (stopped, told).
 */
static int vtap_rx_burst(struct vtap_rx *rx)
{
	struct virtio_net_hdr_mrg_rxbuf hdr[VTAP_RX_BURST];
	struct vtap_vq *vq = rx->vq;
	struct vtap_ring *ring = &vq->ring;
	void **skbs = vq->held + vq->held_head;
	u32 n, i, ready, bytes = 0;
	struct vtap_chain *chain;
	int ret;

	if (!rx->frame || !vq->direct)
		return 0;
	n = min(vq->held_tail - vq->held_head, (u32)VTAP_RX_BURST);
	n = vtap_sock_direct(vq->sock, skbs, n);
	ready = vtap_ring_outstanding(ring) - rx->filled;
	if (ready < n) {
		ret = vtap_ring_fetch(ring, vq->held_tail - vq->held_head - ready);
		/* What is ready needs no mapping that is missing behind it. */
		if (unlikely(ret == -EAGAIN && ready))
			ret = 0;
		if (unlikely(ret < 0)) {
			vtap_rx_fetch_failed(rx, ret);
			return ret;
		}
		if (ret)
			trace_vhost_tap_fetch(vq->dev->id, vq->index, ret, ring->last_avail);
		n = min_t(u32, n, ready + ret);
	}

	/* I1: each has its chain before any of them goes. */
	for (i = 0; i < n && rx->bytes + bytes < VTAP_BUDGET_BYTES; i++) {
		const struct sk_buff *skb = skbs[i];

		chain = vtap_ring_chain(ring, rx->filled + i);
		if (chain->nsegs != 1 || chain->len < vq->hlen + skb->len ||
		    skb_is_nonlinear(skb) ||
		    virtio_net_hdr_from_skb(skb, &hdr[i].hdr, ring->le, true, 0))
			break;
		hdr[i].num_buffers = __cpu_to_virtio16(ring->le, 1);
		chain->written = vq->hlen + skb->len;
		bytes += skb->len;
	}
	if (!i)
		return 0;
	n = vtap_rx_copy(rx, hdr, i);
	/* Where the log is at fault, the next frame meets that. */
	if (unlikely(n < i && ring->log.what))
		vtap_log_chains(ring, rx->filled + n, i - n);
	while (unlikely(i > n))
		bytes -= ((struct sk_buff *)skbs[--i])->len;
	if (unlikely(!n))
		return 0;

	if (unlikely(vq->wait_since))
		vtap_rx_wait_end(vq);
	vtap_direct_consume(&vq->sock->direct, skbs, n, bytes);
	vq->held_head += n;
	rx->filled += n;
	rx->frames += n;
	rx->filled_bytes += bytes;
	rx->turns += n;
	rx->bytes += bytes;
	return n;
}

/*
 * The socket is empty. Publish what there is, watch for a while if told so, then
 * have the socket wake us.
 *
 * Return: true if there is more to do.
 */
static bool vtap_rx_idle(struct vtap_rx *rx)
{
	struct vtap_vq *vq = rx->vq;

	if (vtap_rx_settle(rx))
		return false;
	if (vtap_vq_busy_poll(vq))
		return true;
	/* I4: it looks at the socket once more itself, and queues us then. */
	vtap_vq_watch_sock(vq);
	return false;
}

void vtap_rx_run(struct vtap_vq *vq)
{
	struct vtap_ring *ring = &vq->ring;
	struct vtap_rx rx = { .vq = vq };
	int n;

	mutex_lock(&vq->lock);
	if (!vq->sock)
		goto out;
	/* Busy polling for the other queue may have found ours broken. */
	if (unlikely(ring->err)) {
		vtap_vq_broken(vq);
		goto out;
	}
	if (unlikely(!vtap_ring_ready(ring)) && !vtap_iotlb_prepare(vq))
		goto out;
	/* Off while we run, and while we wait for chains: then a kick wakes us. */
	vtap_poll_stop(&vq->sock_poll);
	if (vtap_ring_disarm(ring)) {
		vtap_vq_broken(vq);
		goto out;
	}

	do {
		/* I6: all that was looked at counts, also if it was dropped. */
		if (rx.turns >= VTAP_BUDGET_PACKETS || rx.bytes >= VTAP_BUDGET_BYTES) {
			vtap_stat_inc(&vq->stats.budget_ends);
			vtap_worker_queue(vq, &vq->again);
			break;
		}
		if (!vtap_rx_next(&rx)) {
			if (ring->err || !vtap_rx_idle(&rx))
				break;
			continue;
		}
		n = vtap_rx_burst(&rx);
		if (likely(n > 0))
			continue;
		if (unlikely(n < 0))
			break;
		n = vtap_rx_reserve(&rx);
		if (n == -EAGAIN || n == -EPROTO)
			break;
		if (unlikely(vq->wait_since))
			vtap_rx_wait_end(vq);
		rx.turns += 1 + (rx.slots >> VTAP_BUDGET_DESC_SHIFT);
		rx.bytes += rx.len;
		if (n > 0) {
			vtap_rx_consume(&rx, n);
		} else {
			/* Its chains stay, for the next frame. */
			vtap_rx_take(&rx);
			vtap_rx_drop(&rx, VHOST_TAP_DROP_TOO_BIG);
			vtap_sock_drop(vq->sock, rx.frame);
		}
	} while (!ring->err);

	/* I2: between two runs nothing is outstanding. */
	if (likely(!ring->err))
		vtap_rx_settle(&rx);
	else
		vtap_vq_broken(vq);
	vtap_ring_unfetch(ring, vtap_ring_outstanding(ring));
	vtap_vq_log_signal(vq);
out:
	mutex_unlock(&vq->lock);
}

void vtap_rx_return_held(struct vtap_vq *vq)
{
	u32 n = vq->held_tail - vq->held_head;

	lockdep_assert_held(&vq->lock);
	if (vq->wait_since)
		vtap_rx_wait_end(vq);
	if (!n)
		return;
	vtap_sock_requeue(vq->sock, vq->held + vq->held_head, n);
	vtap_stat_add(&vq->stats.held_returned, n);
	vq->held_head = 0;
	vq->held_tail = 0;
}
