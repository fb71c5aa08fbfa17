/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The backend socket of a virtqueue: a tun or tap queue, or an AF_PACKET raw
 * socket. Owned by sock.c, the only file that knows these apart.
 */
#ifndef VTAP_SOCK_H
#define VTAP_SOCK_H

#include <linux/ptr_ring.h>
#include <linux/skbuff.h>
#include <linux/uio.h>
#include <linux/virtio_net.h>
#include <net/xdp.h>

#include "direct.h"

/**
 * struct vtap_sock - a backend, with the file it was resolved from
 * @sock: the socket
 * @file: the one reference that keeps all of it alive
 * @ring: where its frames to us wait; NULL for packet sockets
 * @tun: it is a tun queue
 * @direct: what may pass the socket by
 */
struct vtap_sock {
	struct socket *sock;
	struct file *file;
	struct ptr_ring *ring;
	bool tun;
	struct vtap_direct direct;
};

/* prototypes of sock.c */

/**
 * vtap_sock_get() - resolve a file descriptor once: socket and ring of one file
 * @fd: descriptor of the calling process
 * Return: the backend with a reference on its file; ERR_PTR(-ENOTSOCK) for
 * anything that is none (as in-tree), ERR_PTR(-ENOMEM).
 */
struct vtap_sock *vtap_sock_get(int fd);

/** vtap_sock_put() - drop it; NULL-safe */
void vtap_sock_put(struct vtap_sock *s);

/**
 * vtap_sock_ifname() - name of the interface behind a backend's file, for reports
 * @file: a vtap_sock's file, referenced
 * @name: IFNAMSIZ bytes; made empty if the backend cannot tell
 * Takes the rtnl lock; no lock of ours may be held.
 */
void vtap_sock_ifname(struct file *file, char *name);

/**
 * vtap_sock_clear_error() - forget an error that the socket has pending
 * A packet socket keeps one from the moment its link goes down, and reports
 * EPOLLERR until somebody has taken it.
 */
void vtap_sock_clear_error(struct vtap_sock *s);

/*
 * Receiving
 */

/**
 * vtap_sock_dequeue() - take up to @n frames off the backend's ring
 * @frames: where they are put
 * @n: room there
 * Only with s->ring. The frames are the caller's afterwards: each ends in
 * vtap_sock_recv(), vtap_sock_drop() or vtap_sock_requeue().
 * Return: how many.
 */
unsigned int vtap_sock_dequeue(struct vtap_sock *s, void **frames, unsigned int n);

/**
 * vtap_sock_requeue() - put held frames back to the front of the ring, in order (I5)
 * @frames: the frames, the oldest first
 * @n: how many
 * What a full ring has no room for is freed by its own type.
 */
void vtap_sock_requeue(struct vtap_sock *s, void **frames, unsigned int n);

/** vtap_sock_frame_len() - bytes of a frame as the guest will see it, VLAN tag included */
unsigned int vtap_sock_frame_len(void *frame);

/** vtap_sock_prefetch() - @frame's length will be asked for soon */
void vtap_sock_prefetch(void *frame);

/**
 * vtap_sock_peek_len() - bytes of the next frame of a backend without a ring, 0 if none
 */
unsigned int vtap_sock_peek_len(struct vtap_sock *s);

/** vtap_sock_has_frames() - is there something to receive; for busy polling */
bool vtap_sock_has_frames(struct vtap_sock *s);

/**
 * vtap_sock_recv() - copy a frame, behind the socket's own header, into @iter
 * @frame: dequeued frame, consumed whatever happens; NULL takes the next one
 *	of a backend without a ring
 * @iter: guest segments; what is left in it afterwards was not written, also
 *	where the socket reports no error for that
 * @len: bytes expected, header included
 * Return: bytes the frame has (it may be more than @len), or -errno. If it is
 * @len, others after it may not need the socket.
 */
int vtap_sock_recv(struct vtap_sock *s, void *frame, struct iov_iter *iter, size_t len);

/**
 * vtap_sock_direct() - how many of these frames can be copied without the socket
 * @frames: dequeued frames
 * @n: how many
 * Return: that many from the first on; they are skbs then, of which
 * vtap_direct_skb() is true. They end in vtap_direct_consume().
 */
unsigned int vtap_sock_direct(struct vtap_sock *s, void **frames, unsigned int n);

/**
 * vtap_sock_drop() - free a frame by its own type (skb or XDP frame)
 * @frame: dequeued frame; NULL takes and frees the next one of a backend
 *	without a ring
 */
void vtap_sock_drop(struct vtap_sock *s, void *frame);

/*
 * Sending
 */

/** vtap_sock_can_batch() - may frames wait for others: the send buffer is unlimited */
bool vtap_sock_can_batch(const struct vtap_sock *s);

/**
 * vtap_sock_send() - send one frame from guest segments; never blocks
 * @iter: socket header and frame
 * Return: 0, -EAGAIN (not writable: retry later), or another -errno.
 */
int vtap_sock_send(struct vtap_sock *s, struct iov_iter *iter);

/**
 * vtap_sock_pad() - bytes to leave in front of a frame in a buffer for a batch
 * @hlen: bytes in front of the frame that are copied along with it
 *
 * It depends on whether an XDP program is attached, so that it is good for one
 * batch only.
 */
u32 vtap_sock_pad(const struct vtap_sock *s, u32 hlen);

/**
 * vtap_sock_batch_max() - bytes of the longest frame that may go into a batch
 * @pad: what vtap_sock_pad() says
 */
u32 vtap_sock_batch_max(const struct vtap_sock *s, u32 pad);

/** vtap_sock_buflen() - size of the buffer for a frame of @len bytes; may be over PAGE_SIZE */
static inline u32 vtap_sock_buflen(u32 pad, u32 len)
{
	return SKB_DATA_ALIGN(pad + len) + SKB_DATA_ALIGN(sizeof(struct skb_shared_info));
}

/**
 * vtap_sock_prepare() - where a frame of a batch stands
 * @xdp: filled in
 * @buf: start of the buffer
 * @buflen: its size (vtap_sock_buflen())
 * @pad: where the frame begins in it (vtap_sock_pad())
 * @len: bytes of the frame
 */
static inline void vtap_sock_prepare(struct xdp_buff *xdp, void *buf, u32 buflen, u32 pad,
				     u32 len)
{
	xdp_init_buff(xdp, buflen, NULL);
	xdp_prepare_buff(xdp, buf, pad, len, true);
}

/**
 * vtap_sock_hdr() - where the socket looks for a frame's virtio-net header
 * @xdp: prepared frame
 * Return: a place in front of what vtap_sock_pad() leaves, to be filled in.
 */
struct virtio_net_hdr *vtap_sock_hdr(struct xdp_buff *xdp);

/**
 * vtap_sock_send_batch() - hand @n prepared frames over in one sendmsg (TUN_MSG_PTR)
 * @xdp: what vtap_sock_prepare() filled in
 * @n: how many
 * Whatever is returned, the buffers are not the caller's any more.
 * Return: 0, or -errno if none of them was taken.
 */
int vtap_sock_send_batch(struct vtap_sock *s, struct xdp_buff *xdp, unsigned int n);

#endif /* VTAP_SOCK_H */
