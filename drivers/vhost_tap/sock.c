// SPDX-License-Identifier: GPL-2.0-only
/*
 * Backend sockets: tun and tap queues, and AF_PACKET raw sockets. This is the
 * only file that includes if_tun.h and if_tap.h and knows these apart. It
 * touches guest memory only through the iov_iters it is handed.
 *
 * tun and tap pass frames to us as pointers in a ptr_ring: skbs, or XDP frames
 * marked by a bit of the pointer. We take these off in batches and hand each of
 * them back to the socket's recvmsg(), as msg_control, to be copied and freed.
 * A packet socket keeps its queue to itself: peek, then recvmsg().
 */
#include <linux/file.h>
#include <linux/if_packet.h>
#include <linux/if_tap.h>
#include <linux/if_tun.h>
#include <linux/if_vlan.h>
#include <linux/net.h>
#include <linux/netdevice.h>
#include <linux/prefetch.h>
#include <linux/slab.h>
#include <linux/seq_file.h>
#include <linux/skb_array.h>
#include <linux/socket.h>
#include <net/sock.h>

#include "compat/tun.h"
#include "sock.h"

/* Which socket is it, and where do its frames wait? Only looks at s->file. */
static int vtap_sock_resolve(struct vtap_sock *s)
{
	struct socket *sock = sock_from_file(s->file);

	if (sock) {
		if (!sock->sk || sock->sk->sk_family != AF_PACKET ||
		    sock->sk->sk_type != SOCK_RAW)
			return -ENOTSOCK;
		s->sock = sock;
		return 0;
	}

	sock = tun_get_socket(s->file);
	if (!IS_ERR(sock)) {
		s->ring = tun_get_tx_ring(s->file);
		s->tun = true;
	} else {
		sock = tap_get_socket(s->file);
		if (IS_ERR(sock))
			return -ENOTSOCK;
		s->ring = tap_get_ptr_ring(s->file);
	}
	if (IS_ERR(s->ring))
		return -ENOTSOCK;
	s->sock = sock;
	return 0;
}

struct vtap_sock *vtap_sock_get(int fd)
{
	struct vtap_sock *s;
	int err;

	s = kzalloc(sizeof(*s), GFP_KERNEL_ACCOUNT);
	if (!s)
		return ERR_PTR(-ENOMEM);

	/*
	 * One look at the descriptor table: whatever is put in this number's
	 * place meanwhile, socket and ring belong to the file that is kept.
	 */
	s->file = fget(fd);
	if (!s->file) {
		err = -ENOTSOCK;
		goto err_free;
	}
	err = vtap_sock_resolve(s);
	if (err)
		goto err_fput;
	vtap_direct_add(&s->direct);
	return s;

err_fput:
	fput(s->file);
err_free:
	kfree(s);
	return ERR_PTR(err);
}

void vtap_sock_put(struct vtap_sock *s)
{
	if (!s)
		return;
	vtap_direct_del(&s->direct);
	fput(s->file);
	kfree(s);
}

/* A packet socket tells an interface by its index in a network namespace. */
static void vtap_sock_packet_ifname(struct socket *sock, char *name)
{
	struct sockaddr_storage addr = {};
	struct net_device *dev;

	if (sock->ops->getname(sock, (struct sockaddr *)&addr, 0) < 0)
		return;
	rcu_read_lock();
	dev = dev_get_by_index_rcu(sock_net(sock->sk),
				   ((struct sockaddr_ll *)&addr)->sll_ifindex);
	if (dev)
		strscpy(name, dev->name, IFNAMSIZ);
	rcu_read_unlock();
}

void vtap_sock_ifname(struct file *file, char *name)
{
	static const char prefix[] = "iff:\t";
	struct socket *sock = sock_from_file(file);
	char buf[64];
	/* No more of it is used than what seq_printf() fills. */
	struct seq_file m = { .buf = buf, .size = sizeof(buf) };

	name[0] = '\0';
	if (sock) {
		vtap_sock_packet_ifname(sock, name);
		return;
	}
	/*
	 * tun tells what /proc/PID/fdinfo shows, and nobody else in the kernel.
	 * macvtap and ipvtap tell nobody.
	 */
	if (IS_ERR(tun_get_socket(file)) || !file->f_op->show_fdinfo)
		return;
	file->f_op->show_fdinfo(&m, file);
	if (seq_has_overflowed(&m) || m.count < sizeof(prefix) ||
	    memcmp(buf, prefix, sizeof(prefix) - 1))
		return;
	buf[m.count - 1] = '\0';	/* in place of the newline */
	strscpy(name, buf + sizeof(prefix) - 1, IFNAMSIZ);
}

void vtap_sock_clear_error(struct vtap_sock *s)
{
	sock_error(s->sock->sk);
}

unsigned int vtap_sock_dequeue(struct vtap_sock *s, void **frames, unsigned int n)
{
	int got;

	/* The lock keeps the ring from being resized under us. */
	spin_lock(&s->ring->consumer_lock);
	got = __ptr_ring_consume_batched(s->ring, frames, n);
	if (got)
		vtap_compat_tun_wake_queue(s->file, got);
	spin_unlock(&s->ring->consumer_lock);
	return got;
}

void vtap_sock_requeue(struct vtap_sock *s, void **frames, unsigned int n)
{
	if (n)
		ptr_ring_unconsume(s->ring, frames, n, tun_ptr_free);
}

unsigned int vtap_sock_frame_len(void *frame)
{
	if (tun_is_xdp_frame(frame))
		return tun_ptr_to_xdp(frame)->len;
	return __skb_array_len_with_tag(frame);
}

void vtap_sock_prefetch(void *frame)
{
	if (!tun_is_xdp_frame(frame))
		prefetch(&((struct sk_buff *)frame)->len);
}

unsigned int vtap_sock_peek_len(struct vtap_sock *s)
{
	struct sk_buff_head *queue = &s->sock->sk->sk_receive_queue;
	unsigned int len = 0;
	unsigned long flags;
	struct sk_buff *skb;

	if (skb_queue_empty_lockless(queue))
		return 0;
	spin_lock_irqsave(&queue->lock, flags);
	skb = skb_peek(queue);
	if (skb) {
		/*
		 * A packet socket tells of a VLAN tag beside the frame only,
		 * where a guest cannot see it. Expecting the tag makes what is
		 * received too short, so that the frame is dropped instead of
		 * turning up in the wrong VLAN.
		 */
		len = __skb_array_len_with_tag(skb);
	}
	spin_unlock_irqrestore(&queue->lock, flags);
	return len;
}

bool vtap_sock_has_frames(struct vtap_sock *s)
{
	/* Not the lockless look at the ring: it may be resized meanwhile. */
	if (s->ring)
		return !ptr_ring_empty(s->ring);
	return !skb_queue_empty_lockless(&s->sock->sk->sk_receive_queue);
}

int vtap_sock_recv(struct vtap_sock *s, void *frame, struct iov_iter *iter, size_t len)
{
	struct msghdr msg = {
		.msg_control = frame,
		.msg_iter = *iter,
	};
	int ret;

	if (s->tun && frame && !tun_is_xdp_frame(frame))
		vtap_direct_learn(&s->direct, frame);
	ret = s->sock->ops->recvmsg(s->sock, &msg, len, MSG_DONTWAIT | MSG_TRUNC);
	*iter = msg.msg_iter;
	s->direct.sound = ret == len;
	return ret;
}

unsigned int vtap_sock_direct(struct vtap_sock *s, void **frames, unsigned int n)
{
	unsigned int i;

	if (!s->direct.sound)
		return 0;
	for (i = 0; i < n && !tun_is_xdp_frame(frames[i]); i++)
		if (!vtap_direct_skb(&s->direct, frames[i]))
			break;
	return i;
}

void vtap_sock_drop(struct vtap_sock *s, void *frame)
{
	struct iov_iter iter;

	if (frame) {
		tun_ptr_free(frame);
		return;
	}
	iov_iter_init(&iter, ITER_DEST, NULL, 0, 0);
	vtap_sock_recv(s, NULL, &iter, 0);
}

bool vtap_sock_can_batch(const struct vtap_sock *s)
{
	/*
	 * A batch is not charged to the socket, so it is only for those without
	 * a limit. Packet sockets know nothing of batches.
	 */
	return s->ring && READ_ONCE(s->sock->sk->sk_sndbuf) == INT_MAX;
}

int vtap_sock_send(struct vtap_sock *s, struct iov_iter *iter)
{
	/*
	 * Never MSG_MORE: tun would keep the frame until another one comes, and
	 * if that one turns out broken or has to wait for the send buffer that
	 * the kept ones fill, nothing would ever move again (I4).
	 */
	struct msghdr msg = {
		.msg_flags = MSG_DONTWAIT,
		.msg_iter = *iter,
	};
	int ret;

	ret = s->sock->ops->sendmsg(s->sock, &msg, iov_iter_count(iter));
	return ret < 0 ? ret : 0;
}

u32 vtap_sock_pad(const struct vtap_sock *s, u32 hlen)
{
	/* tun sets the flag while an XDP program is attached. */
	u32 headroom = sock_flag(s->sock->sk, SOCK_XDP) ? XDP_PACKET_HEADROOM : 0;

	return SKB_DATA_ALIGN(NET_IP_ALIGN + NET_SKB_PAD + headroom + hlen);
}

u32 vtap_sock_batch_max(const struct vtap_sock *s, u32 pad)
{
	/*
	 * XDP programs are promised frames within a page. All else takes linear
	 * skbs of 64 KiB, as netvsc receives them; but not more, since drivers
	 * keep the length in 16 bits.
	 */
	if (sock_flag(s->sock->sk, SOCK_XDP))
		return SKB_WITH_OVERHEAD(PAGE_SIZE) - pad;
	return U16_MAX;
}

struct virtio_net_hdr *vtap_sock_hdr(struct xdp_buff *xdp)
{
	return vtap_compat_tun_hdr(xdp, xdp->frame_sz);
}

int vtap_sock_send_batch(struct vtap_sock *s, struct xdp_buff *xdp, unsigned int n)
{
	struct tun_msg_ctl ctl = {
		.type = TUN_MSG_PTR,
		.num = n,
		.ptr = xdp,
	};
	struct msghdr msg = {
		.msg_control = &ctl,
		.msg_controllen = sizeof(ctl),
		.msg_flags = MSG_DONTWAIT,
	};
	unsigned int i;
	int err;

	err = s->sock->ops->sendmsg(s->sock, &msg, 0);
	if (likely(err >= 0))
		return 0;
	/* A socket without a device looks at none of them, and frees none. */
	for (i = 0; i < n; i++)
		page_frag_free(xdp[i].data_hard_start);
	return err;
}
