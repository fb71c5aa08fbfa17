// SPDX-License-Identifier: GPL-2.0-only
/*
 * Taps and packet sockets; see tap.h.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tap.h"
#include "util.h"

#define BURST	64

static int ctl_ioctl(unsigned long req, struct ifreq *ifr)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int r;

	if (fd < 0)
		return -errno;
	r = ioctl(fd, req, ifr) < 0 ? -errno : 0;
	close(fd);
	return r;
}

static int queue_open(const char *name, int iff, int hdr_sz, char *got)
{
	struct ifreq ifr = { };
	int fd, err;

	fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	ifr.ifr_flags = IFF_TAP | IFF_NO_PI | iff;
	if (hdr_sz)
		ifr.ifr_flags |= IFF_VNET_HDR;
	if (name)
		strncpy(ifr.ifr_name, name, IFNAMSIZ - 1);
	if (ioctl(fd, TUNSETIFF, &ifr) < 0 ||
	    (hdr_sz && ioctl(fd, TUNSETVNETHDRSZ, &hdr_sz) < 0)) {
		err = -errno;
		close(fd);
		return err;
	}
	if (got)
		memcpy(got, ifr.ifr_name, IFNAMSIZ);
	return fd;
}

int tap_open(struct tap *t, const char *name, int iff, int hdr_sz)
{
	memset(t, 0, sizeof(*t));
	t->fd = queue_open(name, iff, hdr_sz, t->name);
	if (t->fd < 0)
		return t->fd;
	t->ifindex = if_nametoindex(t->name);
	return 0;
}

int tap_open_queue(const struct tap *t, int iff, int hdr_sz)
{
	return queue_open(t->name, iff, hdr_sz, NULL);
}

void tap_close(struct tap *t)
{
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
}

static void ifr_of(struct ifreq *ifr, const struct tap *t)
{
	memset(ifr, 0, sizeof(*ifr));
	memcpy(ifr->ifr_name, t->name, IFNAMSIZ);
}

int tap_set_up(const struct tap *t, bool up)
{
	struct ifreq ifr;
	int r;

	ifr_of(&ifr, t);
	r = ctl_ioctl(SIOCGIFFLAGS, &ifr);
	if (r)
		return r;
	if (up)
		ifr.ifr_flags |= IFF_UP;
	else
		ifr.ifr_flags &= ~IFF_UP;
	return ctl_ioctl(SIOCSIFFLAGS, &ifr);
}

int tap_set_mtu(const struct tap *t, int mtu)
{
	struct ifreq ifr;

	ifr_of(&ifr, t);
	ifr.ifr_mtu = mtu;
	return ctl_ioctl(SIOCSIFMTU, &ifr);
}

int tap_set_txqlen(const struct tap *t, int len)
{
	struct ifreq ifr;

	ifr_of(&ifr, t);
	ifr.ifr_qlen = len;
	return ctl_ioctl(SIOCSIFTXQLEN, &ifr);
}

int tap_set_offload(const struct tap *t, unsigned int tun_f)
{
	return ioctl(t->fd, TUNSETOFFLOAD, tun_f) < 0 ? -errno : 0;
}

int tap_set_sndbuf(const struct tap *t, int bytes)
{
	return ioctl(t->fd, TUNSETSNDBUF, &bytes) < 0 ? -errno : 0;
}

int tap_queue_attach(int fd, bool attach)
{
	struct ifreq ifr = { };

	ifr.ifr_flags = attach ? IFF_ATTACH_QUEUE : IFF_DETACH_QUEUE;
	return ioctl(fd, TUNSETQUEUE, &ifr) < 0 ? -errno : 0;
}

/* one request about a link, with at most one attribute of four bytes */
static int link_request(int type, int ifindex, int attr, uint32_t value)
{
	struct {
		struct nlmsghdr n;
		struct ifinfomsg i;
		struct rtattr a;
		uint32_t v;
	} req = {
		.n.nlmsg_len = NLMSG_LENGTH(sizeof(req.i)),
		.n.nlmsg_type = type,
		.n.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK,
		.i.ifi_index = ifindex,
		.a.rta_type = attr,
		.a.rta_len = RTA_LENGTH(sizeof(value)),
		.v = value,
	};
	struct {
		struct nlmsghdr n;
		struct nlmsgerr e;
		char rest[256];
	} ack;
	int fd, err = 0;

	if (attr)
		req.n.nlmsg_len = sizeof(req);
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (fd < 0)
		return -errno;
	if (send(fd, &req, req.n.nlmsg_len, 0) < 0 ||
	    recv(fd, &ack, sizeof(ack), 0) < 0)
		err = -errno;
	else if (ack.n.nlmsg_type == NLMSG_ERROR)
		err = ack.e.error;
	close(fd);
	return err;
}

int tap_delete(const struct tap *t)
{
	return link_request(RTM_DELLINK, t->ifindex, 0, 0);
}

int tap_set_netns(const struct tap *t, int ns_fd)
{
	return link_request(RTM_NEWLINK, t->ifindex, IFLA_NET_NS_FD, ns_fd);
}

/* /proc/net/dev follows the caller's network namespace; /sys does not */
int tap_get_stats(const struct tap *t, struct tap_stats *s)
{
	char line[512], *p;
	FILE *f = fopen("/proc/net/dev", "r");
	int err = -ENOENT;

	if (!f)
		return -errno;
	while (err && fgets(line, sizeof(line), f)) {
		p = strchr(line, ':');
		if (!p)
			continue;
		*p++ = 0;
		if (strcmp(line + strspn(line, " "), t->name))
			continue;
		if (sscanf(p, "%*u %lu %*u %lu %*u %*u %*u %*u %*u %lu %*u %lu",
			   &s->rx_packets, &s->rx_dropped, &s->tx_packets,
			   &s->tx_dropped) == 4)
			err = 0;
	}
	fclose(f);
	return err;
}

static int psock_open(int ifindex, int proto, bool vnet)
{
	struct sockaddr_ll sll = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(proto),
		.sll_ifindex = ifindex,
	};
	int fd, one = 1, err;

	fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (vnet && setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &one,
			       sizeof(one)))
		goto fail;
	if (bind(fd, (struct sockaddr *)&sll, sizeof(sll)))
		goto fail;
	return fd;
fail:
	err = -errno;
	close(fd);
	return err;
}

int psock_sender(int ifindex, bool vnet)
{
	int fd = psock_open(ifindex, 0, vnet);
	int one = 1, buf = 64 << 20;

	if (fd < 0)
		return fd;
	setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &one, sizeof(one));
	/* skbs held by the tap count against it, and tests hold many */
	setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &buf, sizeof(buf));
	return fd;
}

int psock_use_qdisc(int fd)
{
	int zero = 0;

	return setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &zero,
			  sizeof(zero)) ? -errno : 0;
}

int psock_receiver(int ifindex, bool vnet)
{
	int fd = psock_open(ifindex, ETH_P_ALL, vnet);
	int one = 1, buf = 64 << 20;

	if (fd < 0)
		return fd;
	setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &one, sizeof(one));
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &buf, sizeof(buf));
	return fd;
}

int psock_drops(int fd)
{
	struct tpacket_stats st;
	socklen_t len = sizeof(st);

	if (getsockopt(fd, SOL_PACKET, PACKET_STATISTICS, &st, &len))
		return -errno;
	return st.tp_drops;
}

int psock_send(int fd, const struct virtio_net_hdr *h, const void *frame,
	       size_t len)
{
	struct iovec iov[2] = {
		{ .iov_base = (void *)h, .iov_len = h ? sizeof(*h) : 0 },
		{ .iov_base = (void *)frame, .iov_len = len },
	};
	struct msghdr m = { .msg_iov = h ? iov : iov + 1,
			    .msg_iovlen = h ? 2 : 1 };

	return sendmsg(fd, &m, 0) < 0 ? -errno : 0;
}

int psock_send_burst(int fd, const void *frames, size_t len, size_t stride,
		     unsigned int n)
{
	struct mmsghdr m[BURST];
	struct iovec iov[BURST];
	unsigned int i;
	int r;

	if (n > BURST)
		n = BURST;
	memset(m, 0, sizeof(m[0]) * n);
	for (i = 0; i < n; i++) {
		iov[i].iov_base = (char *)frames + i * stride;
		iov[i].iov_len = len;
		m[i].msg_hdr.msg_iov = &iov[i];
		m[i].msg_hdr.msg_iovlen = 1;
	}
	r = sendmmsg(fd, m, n, 0);
	return r < 0 ? -errno : r;
}

ssize_t psock_recv(int fd, struct virtio_net_hdr *h, void *buf, size_t cap,
		   int timeout_ms)
{
	struct iovec iov[2] = {
		{ .iov_base = h, .iov_len = h ? sizeof(*h) : 0 },
		{ .iov_base = buf, .iov_len = cap },
	};
	struct msghdr m = { .msg_iov = h ? iov : iov + 1,
			    .msg_iovlen = h ? 2 : 1 };
	ssize_t n;
	int r;

	for (;;) {
		n = recvmsg(fd, &m, MSG_DONTWAIT | MSG_TRUNC);
		if (n >= 0)
			return h ? n - (ssize_t)sizeof(*h) : n;
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		r = fd_wait(fd, POLLIN, timeout_ms);
		if (r <= 0)
			return r;
	}
}
