/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The host's end: taps, and packet sockets to send into and to receive from
 * them. Knows nothing of vhost.
 */
#ifndef VTAP_TEST_TAP_H
#define VTAP_TEST_TAP_H

#include <linux/virtio_net.h>
#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* local experimental Ethertype (IEEE 802): the host's stack ignores it */
#define TEST_ETHERTYPE	0x88b5

#define TAP_MAX_MTU	65521	/* 65,535 bytes of frame */
#define FRAME_MAX	65535
#define FRAME_MIN	14

struct tap {
	int fd;
	int ifindex;
	char name[IFNAMSIZ];
};

struct tap_stats {
	unsigned long rx_packets, rx_dropped, tx_packets, tx_dropped;
};

/*
 * Make a tap (name NULL: any). iff adds to IFF_TAP | IFF_NO_PI | IFF_VNET_HDR;
 * hdr_sz 0 makes one without vnet header. It is left down.
 */
int tap_open(struct tap *t, const char *name, int iff, int hdr_sz);
void tap_close(struct tap *t);
/* another queue of a multi-queue tap: its fd or -errno */
int tap_open_queue(const struct tap *t, int iff, int hdr_sz);
int tap_set_up(const struct tap *t, bool up);
int tap_set_mtu(const struct tap *t, int mtu);
int tap_set_txqlen(const struct tap *t, int len);
int tap_set_offload(const struct tap *t, unsigned int tun_f);
int tap_set_sndbuf(const struct tap *t, int bytes);
/* attach or detach a queue of a multi-queue tap */
int tap_queue_attach(int fd, bool attach);
/* ip link del, ip link set netns: as an administrator might under our feet */
int tap_delete(const struct tap *t);
int tap_set_netns(const struct tap *t, int ns_fd);
int tap_get_stats(const struct tap *t, struct tap_stats *s);

/*
 * Packet sockets on an interface. A sender bypasses the qdisc and receives
 * nothing. A receiver sees what the guest sent, not what the host did. With
 * vnet each frame has a 10-byte virtio-net header in front, both ways.
 */
int psock_sender(int ifindex, bool vnet);
/* not so any more: what is sent may be lost without a word */
int psock_use_qdisc(int fd);
int psock_receiver(int ifindex, bool vnet);
/* frames a receiver lost for lack of room, since the last call */
int psock_drops(int fd);
/* send one frame: 0, or -errno (-ENOBUFS: the tap's ring was full) */
int psock_send(int fd, const struct virtio_net_hdr *h, const void *frame,
	       size_t len);
/* a burst of equal-sized frames laid out at a stride: frames taken, or -errno */
int psock_send_burst(int fd, const void *frames, size_t len, size_t stride,
		     unsigned int n);
/*
 * Receive one frame of TEST_ETHERTYPE or any (any true): length, 0 on
 * time-out, -errno.
 */
ssize_t psock_recv(int fd, struct virtio_net_hdr *h, void *buf, size_t cap,
		   int timeout_ms);

#endif
