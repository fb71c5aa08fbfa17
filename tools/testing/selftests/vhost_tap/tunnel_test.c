// SPDX-License-Identifier: GPL-2.0-only
/*
 * The header that tells of UDP tunnels: 24 bytes to a guest that has agreed to one
 * of the offloads, and to the tap. Plain frames in both directions with it, and
 * frames of TCP in VXLAN in UDP that the host is to segment.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_tun.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"
#include "variants.h"

#define GSO_TUNNEL_V4	0x20	/* VIRTIO_NET_HDR_GSO_UDP_TUNNEL_IPV4 */
#define GSO_TUNNEL_V6	0x40
#ifndef TUN_F_UDP_TUNNEL_GSO
#define TUN_F_UDP_TUNNEL_GSO		0x080
#define TUN_F_UDP_TUNNEL_GSO_CSUM	0x100
#endif

#define OUTER_UDP	(14 + 20)		/* where the headers begin */
#define INNER_ETH	(OUTER_UDP + 8 + 8)
#define INNER_IP	(INNER_ETH + 14)
#define INNER_TCP	(INNER_IP + 20)
#define HEADERS		(INNER_TCP + 20)
#define MSS		1000
#define TUNNEL_LEN	(HEADERS + 5 * MSS)

FIXTURE(tunnel)
{
	struct guest g;
	uint8_t *out, *in;
	const char *unable;
};

FIXTURE_VARIANT(tunnel)
{
	uint64_t high, features;
};

FIXTURE_VARIANT_ADD(tunnel, both)
{ .high = F_HIGH_GUEST_TUNNEL | F_HIGH_HOST_TUNNEL, .features = F_MODERN };
FIXTURE_VARIANT_ADD(tunnel, host)
{ .high = F_HIGH_HOST_TUNNEL, .features = F_VERSION_1 };
FIXTURE_VARIANT_ADD(tunnel, guest)
{ .high = F_HIGH_GUEST_TUNNEL, .features = F_VERSION_1 | F_MRG_RXBUF };

FIXTURE_SETUP(tunnel)
{
	uint64_t array[] = { 2, 0, 0 };
	struct vdev v;

	memset(&self->g, 0, sizeof(self->g));
	self->out = malloc(FRAME_MAX);
	self->in = malloc(FRAME_MAX);
	ASSERT_NE(NULL, self->out);
	ASSERT_NE(NULL, self->in);
	ASSERT_EQ(0, vdev_open(&v));
	vdev_get_array(&v, array);
	vdev_close(&v);
	self->unable = array[2] ? NULL : "no UDP tunnel offloads on this kernel";
}

FIXTURE_TEARDOWN(tunnel)
{
	if (self->g.dev.fd > 0)
		guest_stop(&self->g);
	free(self->out);
	free(self->in);
}

static void ip_header(uint8_t *b, unsigned int len, uint8_t proto)
{
	uint16_t sum;

	memset(b, 0, 20);
	b[0] = 0x45;
	b[2] = len >> 8;
	b[3] = len;
	b[8] = 64;
	b[9] = proto;
	memcpy(b + 12, "\xc6\x33\x64\x01\xc6\x33\x64\x02", 8);
	sum = csum_fold(b, 20);
	b[10] = sum >> 8;
	b[11] = sum;
}

/* Ethernet, IP, UDP, VXLAN, Ethernet, IP, TCP; and the header that says so */
static void tunnel_frame(struct guest *g, uint8_t *b, uint64_t seq,
			 struct virtio_net_hdr *h)
{
	uint16_t port = htons(4789), where;

	frame_make(b, seq, TUNNEL_LEN);
	memset(b + 12, 0, HEADERS - 12);
	b[12] = 0x08;
	ip_header(b + 14, TUNNEL_LEN - 14, 17);
	memcpy(b + OUTER_UDP, &port, 2);
	memcpy(b + OUTER_UDP + 2, &port, 2);
	b[OUTER_UDP + 4] = (TUNNEL_LEN - OUTER_UDP) >> 8;
	b[OUTER_UDP + 5] = (uint8_t)(TUNNEL_LEN - OUTER_UDP);
	b[OUTER_UDP + 8] = 0x08;	/* VXLAN with a network identifier */
	memcpy(b + INNER_ETH, b, 14);
	ip_header(b + INNER_IP, TUNNEL_LEN - INNER_IP, 6);
	b[INNER_TCP + 12] = 5 << 4;
	b[INNER_TCP + 13] = 0x10;	/* ACK */

	memset(h, 0, sizeof(*h));
	h->flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
	h->gso_type = VIRTIO_NET_HDR_GSO_TCPV4 | GSO_TUNNEL_V4;
	h->hdr_len = HEADERS;
	h->gso_size = MSS;
	h->csum_start = INNER_TCP;
	h->csum_offset = 16;
	/* behind the hash of 8 bytes: outer transport, inner network header */
	memset(g->tx_rest, 0, sizeof(g->tx_rest));
	where = OUTER_UDP;
	memcpy(g->tx_rest + 8, &where, 2);
	where = INNER_IP;
	memcpy(g->tx_rest + 10, &where, 2);
}

static void start(struct __test_metadata *_metadata, FIXTURE_DATA(tunnel) *self,
		  const FIXTURE_VARIANT(tunnel) *v, uint64_t more)
{
	struct guest_cfg c = {
		.features = v->features | more,
		.features_high = v->high,
		.mtu = 9000,
	};

	START_GUEST(&self->g, &c);
	if (!(more & F_VHOST_HDR))
		ASSERT_EQ(0, tap_set_offload(&self->g.tap, TUN_F_CSUM | TUN_F_TSO4 |
					     TUN_F_TSO6 | TUN_F_UDP_TUNNEL_GSO));
}

/* the payload begins behind 24 bytes, and used lengths count these */
static void plain_frames(struct __test_metadata *_metadata,
			 FIXTURE_DATA(tunnel) *self)
{
	static const uint32_t lens[] = { 60, 61, 200, 1514, 5000 };
	struct virtio_net_hdr_mrg_rxbuf h;
	static const uint8_t none[HDR_REST_LEN];
	struct guest *g = &self->g;
	unsigned int i, round;

	memset(g->tx_rest, 0, sizeof(g->tx_rest));
	for (round = 0; round < 20; round++) {
		for (i = 0; i < ARRAY_LEN(lens); i++) {
			frame_make(self->out, round, lens[i]);
			ASSERT_EQ(0, guest_tx_wait(g, NULL, self->out, lens[i]));
			ASSERT_EQ(0, guest_tx_sync(g));
			ASSERT_EQ(lens[i], psock_recv(g->rx_sock, NULL, self->in,
						      FRAME_MAX, WATCHDOG_MS));
			ASSERT_TRUE(frame_check(self->in, round, lens[i]));

			memset(g->rx_rest, 0xff, sizeof(g->rx_rest));
			ASSERT_EQ(0, psock_send(g->tx_sock, NULL, self->out, lens[i]));
			ASSERT_EQ(lens[i], guest_rx(g, &h, self->in, FRAME_MAX,
						    WATCHDOG_MS));
			ASSERT_TRUE(frame_check(self->in, round, lens[i]));
			EXPECT_EQ(0, h.hdr.gso_type);
			if (node_is_vhost_tap() || !(g->cfg.features & F_VHOST_HDR))
				EXPECT_EQ(0, memcmp(none, g->rx_rest, HDR_REST_LEN));
			guest_rx_fill(g);
		}
	}
}

TEST_F(tunnel, plain)
{
	SKIP_IF_UNABLE();
	start(_metadata, self, variant, 0);
	plain_frames(_metadata, self);
}

/* the same with the header that is vhost's own */
TEST_F(tunnel, plain_own)
{
	SKIP_IF_UNABLE();
	start(_metadata, self, variant, F_VHOST_HDR);
	plain_frames(_metadata, self);
}

/* it reaches the host as one frame, or in segments that carry all of it */
TEST_F(tunnel, tx_gso)
{
	struct virtio_net_hdr h;
	struct guest *g = &self->g;
	unsigned int round, got;
	ssize_t n;

	SKIP_IF_UNABLE();
	start(_metadata, self, variant, 0);
	for (round = 0; round < 20; round++) {
		tunnel_frame(g, self->out, round, &h);
		ASSERT_EQ(0, guest_tx_wait(g, &h, self->out, TUNNEL_LEN));
		ASSERT_EQ(0, guest_tx_sync(g));
		for (got = 0; got < TUNNEL_LEN - HEADERS; got += n - HEADERS) {
			n = psock_recv(g->rx_sock, NULL, self->in, FRAME_MAX,
				       WATCHDOG_MS);
			ASSERT_LT(HEADERS, n);
			/* neither VXLAN's nor the inner headers are rewritten */
			ASSERT_EQ(0, memcmp(self->out + INNER_ETH, self->in + INNER_ETH,
					    14));
			ASSERT_EQ(0, memcmp(self->out + HEADERS + got,
					    self->in + HEADERS, n - HEADERS));
		}
		ASSERT_EQ(TUNNEL_LEN - HEADERS, got);
	}
}

/* headers that say what cannot be: dropped, and the next frame arrives */
TEST_F(tunnel, tx_bad)
{
	static const struct {
		uint8_t set, clear;	/* bits of gso_type */
		bool no_csum;
		uint16_t outer, inner;
	} bad[] = {
		{ .set = GSO_TUNNEL_V6, .outer = OUTER_UDP, .inner = INNER_IP },
		{ .clear = VIRTIO_NET_HDR_GSO_TCPV4, .outer = OUTER_UDP, .inner = INNER_IP },
		{ .no_csum = true, .outer = OUTER_UDP, .inner = INNER_IP },
		{ .outer = 0, .inner = INNER_IP },
		{ .outer = OUTER_UDP, .inner = OUTER_UDP },
		{ .outer = OUTER_UDP, .inner = INNER_TCP },
		{ .outer = 0xffff, .inner = 0xffff },
	};
	struct virtio_net_hdr h;
	struct guest *g = &self->g;
	unsigned int i;

	SKIP_IF_UNABLE();
	start(_metadata, self, variant, 0);
	for (i = 0; i < ARRAY_LEN(bad); i++) {
		tunnel_frame(g, self->out, i, &h);
		h.gso_type = (h.gso_type | bad[i].set) & ~bad[i].clear;
		if (bad[i].no_csum)
			h.flags = 0;
		memcpy(g->tx_rest + 8, &bad[i].outer, 2);
		memcpy(g->tx_rest + 10, &bad[i].inner, 2);
		ASSERT_EQ(0, guest_tx_wait(g, &h, self->out, TUNNEL_LEN));
		ASSERT_EQ(0, guest_tx_sync(g));
		frame_make(self->out, 100 + i, 100);
		memset(g->tx_rest, 0, sizeof(g->tx_rest));
		ASSERT_EQ(0, guest_tx_wait(g, NULL, self->out, 100));
		ASSERT_EQ(0, guest_tx_sync(g));
		ASSERT_EQ(100, psock_recv(g->rx_sock, NULL, self->in, FRAME_MAX,
					  WATCHDOG_MS)) {
			TH_LOG("header %u", i);
		}
		ASSERT_TRUE(frame_check(self->in, 100 + i, 100));
	}
}

TEST_HARNESS_MAIN
