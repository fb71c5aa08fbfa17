// SPDX-License-Identifier: GPL-2.0-only
/*
 * Frames from the host to the guest: sizes, framings, merged buffers, header
 * fields, ring wraps. What a starved ring does is in starve_test.c.
 */
#include <errno.h>
#include <linux/if_tun.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "kselftest_harness.h"
#include "traffic.h"
#include "variants.h"
#include "counters.h"
#include "env.h"

#define BURST	32

FIXTURE(rx)
{
	struct guest g;
	struct frame_bufs *b;
};

FIXTURE_VARIANT(rx)
{
	uint64_t features;
	bool indirect;
};

ADD_FEATURE_VARIANTS(rx);

FIXTURE_SETUP(rx)
{
	self->b = malloc(sizeof(*self->b));
	ASSERT_NE(NULL, self->b);
	memset(&self->g, 0, sizeof(self->g));
	ASSERT_EQ(0, netns_private());
}

FIXTURE_TEARDOWN(rx)
{
	if (self->g.dev.fd > 0)
		guest_stop(&self->g);
	free(self->b);
}

static struct guest_cfg rx_cfg(const FIXTURE_VARIANT(rx) *v)
{
	struct guest_cfg c = { .features = v->features };

	c.indirect[VQ_RX] = v->indirect;
	return c;
}

/* a sample of sizes that meets every alignment, for every variant */
TEST_F(rx, sizes)
{
	struct guest_cfg c = rx_cfg(variant);
	uint64_t seq = 0;

	START_GUEST(&self->g, &c);
	ASSERT_EQ(0, rx_sweep(&self->g, self->b, 14, 1600, 1, BURST,
			      &seq));
	ASSERT_EQ(0, rx_sweep(&self->g, self->b, 3800, 4200, 1, BURST,
			      &seq));
	ASSERT_EQ(0, rx_sweep(&self->g, self->b, 4201, FRAME_MAX, 997,
			      BURST, &seq));
	ASSERT_EQ(0, rx_sweep(&self->g, self->b, FRAME_MAX - 40,
			      FRAME_MAX, 1, BURST, &seq));
}

/* the same frames whatever descriptors take them, header cut or not */
TEST_F(rx, case34_framing)
{
	static const struct framing cuts[] = {
		{ .hdr_seg = 64 },
		{ .hdr_seg = 1 },
		{ .hdr_seg = 1, .seg = 1, .max_segs = 200 },
		{ .hdr_seg = 3, .seg = 5, .gap = 3, .max_segs = 100 },
		{ .seg = 11, .gap = 1, .max_segs = 64 },
		{ .seg = 13, .gap = 64, .max_segs = 20 },
		{ .hdr_seg = 7, .seg = 4096, .gap = 4096 },
		{ .seg = 1500 },
	};
	struct guest_cfg c = rx_cfg(variant);
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(cuts); i++) {
		uint64_t seq = 0;

		c.framing[VQ_RX] = cuts[i];
		c.num[VQ_RX] = 1024;
		c.slots[VQ_RX] = 1024 / 200;
		START_GUEST(&self->g, &c);
		EXPECT_EQ(0, rx_sweep(&self->g, self->b, 14, 90, 1, 4,
				      &seq)) {
			TH_LOG("framing %u", i);
		}
		EXPECT_EQ(0, rx_sweep(&self->g, self->b, 91, FRAME_MAX,
				      3001, 4, &seq)) {
			TH_LOG("framing %u", i);
		}
		guest_stop(&self->g);
	}
}

/* offload fields reach the guest as the host's stack had them */
TEST_F(rx, case38_offload_headers)
{
	struct virtio_net_hdr_mrg_rxbuf got;
	struct guest_cfg c = rx_cfg(variant);
	static const uint32_t lens[] = { 90, 1400, 20000, 65000 };
	struct virtio_net_hdr h;
	unsigned int i;
	ssize_t n;

	c.vnet_psock = true;
	c.mtu = 1500;
	START_GUEST(&self->g, &c);
	ASSERT_EQ(0, tap_set_offload(&self->g.tap, TUN_F_CSUM | TUN_F_TSO4));
	for (i = 0; i < ARRAY_LEN(lens); i++) {
		tcp_frame_make(self->b->out, i, lens[i], &h);
		ASSERT_EQ(0, psock_send(self->g.tx_sock, &h, self->b->out,
					lens[i]));
		n = guest_rx(&self->g, &got, self->b->in, FRAME_MAX,
			     WATCHDOG_MS);
		ASSERT_EQ(lens[i], n);
		EXPECT_EQ(0, memcmp(self->b->out, self->b->in, lens[i]));
		EXPECT_EQ(h.flags, got.hdr.flags);
		EXPECT_EQ(h.gso_type, got.hdr.gso_type);
		EXPECT_EQ(h.gso_size, got.hdr.gso_size);
		EXPECT_EQ(h.csum_start, got.hdr.csum_start);
		EXPECT_EQ(h.csum_offset, got.hdr.csum_offset);
	}

	/* without offloads the guest gets the checksum filled in */
	ASSERT_EQ(0, tap_set_offload(&self->g.tap, 0));
	tcp_frame_make(self->b->out, 9, 91, &h);
	ASSERT_EQ(0, psock_send(self->g.tx_sock, &h, self->b->out, 91));
	ASSERT_EQ(91, guest_rx(&self->g, &got, self->b->in, FRAME_MAX,
			       WATCHDOG_MS));
	EXPECT_EQ(0, got.hdr.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM);
	/* summed with what was in the field, so the whole comes to zero */
	EXPECT_NE(0, memcmp(self->b->out + 50, self->b->in + 50, 2));
	EXPECT_EQ(csum_fold(self->b->out + 34, 91 - 34),
		  self->b->in[50] << 8 | self->b->in[51]);
}

TEST_F(rx, wrap_small)
{
	static const unsigned int nums[] = { 1, 2, 4, 16 };
	struct guest_cfg c = rx_cfg(variant);
	unsigned int i, k;

	for (i = 0; i < ARRAY_LEN(nums); i++) {
		uint64_t seq = 0;

		c.num[VQ_RX] = nums[i];
		c.base[VQ_RX] = 0xfff0;
		START_GUEST(&self->g, &c);
		for (k = 0; k < 20; k++)
			ASSERT_EQ(0, rx_sweep(&self->g, self->b, 60,
					      89, 1, nums[i], &seq));
		EXPECT_EQ(0, guest_detach(&self->g));
		EXPECT_EQ((0xfff0 + 600) & 0xffff,
			  vdev_get_base(&self->g.dev, VQ_RX));
		guest_stop(&self->g);
	}
}

/* ------- what needs no variant ------- */

FIXTURE(rx1)
{
	struct guest g;
	struct frame_bufs *b;
};

FIXTURE_SETUP(rx1)
{
	self->b = malloc(sizeof(*self->b));
	ASSERT_NE(NULL, self->b);
	memset(&self->g, 0, sizeof(self->g));
	ASSERT_EQ(0, netns_private());
}

FIXTURE_TEARDOWN(rx1)
{
	if (self->g.dev.fd > 0)
		guest_stop(&self->g);
	free(self->b);
}

static int host_send(FIXTURE_DATA(rx1) *s, uint32_t len)
{
	return psock_send(s->g.tx_sock, NULL, s->b->out, len);
}

TEST_F_TIMEOUT(rx1, wrap_32768, 60)
{
	struct guest_cfg c = {
		.features = F_MODERN,
		.num = { 32768, 256 },
		.buf = { 128, 0 },
	};
	uint64_t seq = 0;

	START_GUEST(&self->g, &c);
	while (seq < 70000)
		ASSERT_EQ(0, rx_sweep(&self->g, self->b, 60, 91, 1, 32,
				      &seq));
	EXPECT_EQ(0, guest_detach(&self->g));
	EXPECT_EQ(seq & 0xffff, vdev_get_base(&self->g.dev, VQ_RX));
}

/* a frame over many buffers: all of them full but the last, count right */
TEST_F(rx1, merged_buffers)
{
	static const uint32_t bufs[] = { 16, 61, 128, 1500, 4096 };
	static const uint64_t features[] = { F_MRG_RXBUF, F_MODERN };
	uint32_t len, want, buf;
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(bufs) * ARRAY_LEN(features); i++) {
		struct guest_cfg c = { .num = { 1024, 256 } };
		uint64_t seq = 0;

		buf = bufs[i / ARRAY_LEN(features)];
		c.buf[VQ_RX] = buf;
		c.features = features[i % ARRAY_LEN(features)];
		START_GUEST(&self->g, &c);
		for (len = 14; len < FRAME_MAX; len += len / 9 + 1) {
			want = (len + self->g.hdr_len + buf - 1) / buf;
			if (want > 1000)
				break;
			ASSERT_EQ(0, rx_sweep(&self->g, self->b, len,
					      len, 1, 1, &seq));
			ASSERT_EQ(want, self->g.rx_buffers);
		}
		guest_stop(&self->g);
	}
}

/* what the guest got is what the tap says that it has sent */
TEST_F(rx1, counted_by_the_tap)
{
	struct guest_cfg c = { .features = F_MODERN };
	struct tap_stats before, after;
	uint64_t seq = 0;

	START_GUEST(&self->g, &c);
	ASSERT_EQ(0, tap_get_stats(&self->g.tap, &before));
	/* of one piece, and of several */
	ASSERT_EQ(0, rx_sweep(&self->g, self->b, 60, 259, 1, 32, &seq));
	ASSERT_EQ(0, rx_sweep(&self->g, self->b, 4000, 60000, 2000, 8, &seq));
	ASSERT_EQ(0, rx_sweep(&self->g, self->b, 60, 259, 1, 32, &seq));
	ASSERT_TRUE(wait_until(!tap_get_stats(&self->g.tap, &after) &&
			       after.tx_packets - before.tx_packets >= seq));
	EXPECT_EQ(seq, after.tx_packets - before.tx_packets);
	EXPECT_EQ(0, after.tx_dropped - before.tx_dropped);
}

TEST_F(rx1, any_base)
{
	static const uint16_t bases[] = { 0, 1, 255, 256, 0x7fff, 0x8000,
					  0xffff };
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(bases); i++) {
		struct guest_cfg c = {
			.features = F_MODERN,
			.base = { bases[i], bases[i] },
		};
		uint64_t seq = 0;

		START_GUEST(&self->g, &c);
		ASSERT_EQ(0, rx_sweep(&self->g, self->b, 60, 359, 1,
				      32, &seq));
		EXPECT_EQ(0, guest_detach(&self->g));
		EXPECT_EQ((uint16_t)(bases[i] + 300),
			  vdev_get_base(&self->g.dev, VQ_RX));
		guest_stop(&self->g);
	}
}

TEST_F(rx1, case49_chain_of_1024)
{
	unsigned int ind;

	for (ind = 0; ind < 2; ind++) {
		struct guest_cfg c = {
			.features = F_VERSION_1 | F_INDIRECT,
			.num = { 2048, 256 },
			.slots = { 2, 0 },
			.indirect = { ind, false },
			.framing = { { .hdr_seg = 1, .seg = 61,
				       .max_segs = 1024 }, { } },
		};
		uint64_t seq = 0;

		START_GUEST(&self->g, &c);
		ASSERT_EQ(0, rx_sweep(&self->g, self->b, 61 * 1012 + 1,
				      61 * 1012 + 200, 40, 1, &seq));
		guest_stop(&self->g);
	}
}

TEST_F(rx1, case49_chain_of_1025)
{
	unsigned int ind;

	for (ind = 0; ind < 2; ind++) {
		struct guest_cfg c = {
			.features = F_VERSION_1 | F_INDIRECT,
			.num = { 2048, 256 },
			.slots = { 1, 0 },
			.indirect = { ind, false },
			.framing = { { .hdr_seg = 1, .seg = 61,
				       .max_segs = 1025 }, { } },
		};

		START_GUEST(&self->g, &c);
		frame_make(self->b->out, 0, 100);
		ASSERT_EQ(0, host_send(self, 100));
		EXPECT_EQ(-EIO, ring_wait_used(self->g.q[VQ_RX].ring,
					       WATCHDOG_MS));
		guest_stop(&self->g);
	}
}

/*
 * One byte too many for a buffer that cannot be merged: that frame is dropped
 * whole, its buffer takes the next one, and the largest that fit do pass.
 */
TEST_F(rx1, case36_oversize)
{
	static const uint32_t sizes[] = { 64, 1514, 1518, 9014, 65000 };
	unsigned int i, k;

	for (i = 0; i < ARRAY_LEN(sizes); i++) {
		struct guest_cfg c = {
			.features = F_VERSION_1,
			.num = { 4, 4 },
			.buf = { sizes[i] + 12, 0 },
		};

		START_GUEST(&self->g, &c);
		for (k = 0; k < 20; k++) {
			frame_make(self->b->out, k, sizes[i] + (k & 1));
			ASSERT_EQ(0, host_send(self, sizes[i] + (k & 1)));
		}
		for (k = 0; k < 20; k += 2) {
			ASSERT_EQ(0, guest_expect(&self->g, self->b, k,
						  sizes[i]));
			guest_rx_fill(&self->g);
		}
		EXPECT_FALSE(ring_used_pending(self->g.q[VQ_RX].ring));
		guest_stop(&self->g);
	}
}

/* I8: a frame no posted ring could hold must not block those behind it */
TEST_F(rx1, case37_impossible_frame)
{
	struct guest_cfg c = {
		.features = F_MODERN,
		.num = { 4, 256 },
		.buf = { 1500, 0 },
	};
	unsigned int i;

	SKIP_IN_TREE("an impossible frame stops the queue");
	START_GUEST(&self->g, &c);
	frame_make(self->b->out, 1, 60000);
	ASSERT_EQ(0, host_send(self, 60000));
	for (i = 2; i < 10; i++) {
		frame_make(self->b->out, i, 100);
		ASSERT_EQ(0, host_send(self, 100));
		ASSERT_EQ(0, guest_expect(&self->g, self->b, i, 100));
		guest_rx_fill(&self->g);
	}
	EXPECT_TRUE(wait_counter(VQ_RX, Q_DROP(q, TOO_BIG) == 1));
	/* what just fits is no impossible frame */
	frame_make(self->b->out, i, 5988);
	ASSERT_EQ(0, host_send(self, 5988));
	ASSERT_EQ(0, guest_expect(&self->g, self->b, i, 5988));
}

/*
 * One frame at a time, the next sent as soon as the guest has seen the one
 * before, that is while the device still signals: none may wait for another.
 */
TEST_F_TIMEOUT(rx1, case22_send_while_signalling, 120)
{
	struct guest_cfg c = { .features = F_MODERN, .buf = { 2048, 0 } };
	uint64_t enough = now_ns() + 10 * 1000000000ULL;
	struct ring *r;
	unsigned int i;

	START_GUEST(&self->g, &c);
	r = self->g.q[VQ_RX].ring;
	/* fewer where every wake-up takes its time */
	for (i = 0; i < 30000 && (i < env_volume(1000) || now_ns() < enough); i++) {
		frame_make(self->b->out, i, 60);
		ASSERT_EQ(0, host_send(self, 60));
		/* half the rounds see it in the ring before the interrupt */
		if (i & 1)
			ASSERT_TRUE(wait_until(ring_used_pending(r)));
		ASSERT_EQ(0, guest_expect(&self->g, self->b, i, 60));
		guest_rx_fill(&self->g);
	}
}

TEST_HARNESS_MAIN
