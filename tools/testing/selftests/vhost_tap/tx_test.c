// SPDX-License-Identifier: GPL-2.0-only
/*
 * Frames from the guest to the host: sizes, framings, headers, ring wraps.
 * A packet socket on the tap is the witness of what left the guest.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"
#include "traffic.h"
#include "variants.h"

#define BURST	32

FIXTURE(tx)
{
	struct guest g;
	struct frame_bufs *b;
};

FIXTURE_VARIANT(tx)
{
	uint64_t features;
	bool indirect;
};

ADD_FEATURE_VARIANTS(tx);

FIXTURE_SETUP(tx)
{
	self->b = malloc(sizeof(*self->b));
	ASSERT_NE(NULL, self->b);
	memset(&self->g, 0, sizeof(self->g));
	ASSERT_EQ(0, netns_private());
}

FIXTURE_TEARDOWN(tx)
{
	if (self->g.dev.fd > 0)
		guest_stop(&self->g);
	free(self->b);
}

static struct guest_cfg tx_cfg(const FIXTURE_VARIANT(tx) *v)
{
	struct guest_cfg c = { .features = v->features };

	c.indirect[VQ_TX] = v->indirect;
	return c;
}

/* one of a sample of sizes that meets every alignment, for every variant */
TEST_F(tx, sizes)
{
	struct guest_cfg c = tx_cfg(variant);
	uint64_t seq = 0;

	START_GUEST(&self->g, &c);
	ASSERT_EQ(0, tx_sweep(&self->g, self->b, 14, 1600, 1, BURST, &seq));
	ASSERT_EQ(0, tx_sweep(&self->g, self->b, 3800, 4200, 1, BURST, &seq));
	ASSERT_EQ(0, tx_sweep(&self->g, self->b, 4201, FRAME_MAX, 997,
			      BURST, &seq));
	ASSERT_EQ(0, tx_sweep(&self->g, self->b, FRAME_MAX - 40,
			      FRAME_MAX, 1, BURST, &seq));
	EXPECT_EQ(0, self->g.q[VQ_TX].ring->outstanding);
}

/* the same frames whatever descriptors they come in */
TEST_F(tx, case34_framing)
{
	static const struct framing cuts[] = {
		{ .hdr_seg = 64 },			/* header alone */
		{ .hdr_seg = 1 },			/* its bytes alone */
		{ .hdr_seg = 1, .seg = 1, .max_segs = 200 },
		{ .hdr_seg = 3, .seg = 5, .gap = 3, .max_segs = 100 },
		{ .seg = 11, .gap = 1, .max_segs = 64 },	/* straddles */
		{ .seg = 13, .gap = 64, .max_segs = 20 },
		{ .hdr_seg = 7, .seg = 4096, .gap = 4096 },
		{ .seg = 1500 },
	};
	struct guest_cfg c = tx_cfg(variant);
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(cuts); i++) {
		uint64_t seq = 0;

		c.framing[VQ_TX] = cuts[i];
		c.num[VQ_TX] = 1024;
		c.slots[VQ_TX] = 64;
		START_GUEST(&self->g, &c);
		EXPECT_EQ(0, tx_sweep(&self->g, self->b, 14, 90, 1,
				      BURST, &seq)) {
			TH_LOG("framing %u", i);
		}
		EXPECT_EQ(0, tx_sweep(&self->g, self->b, 91, FRAME_MAX,
				      3001, BURST, &seq)) {
			TH_LOG("framing %u", i);
		}
		guest_stop(&self->g);
	}
}

/* offload fields reach the host's stack as the guest wrote them */
TEST_F(tx, offload_headers)
{
	struct virtio_net_hdr h, got;
	struct guest_cfg c = tx_cfg(variant);
	uint32_t len = 20000;
	ssize_t n;

	c.vnet_psock = true;
	START_GUEST(&self->g, &c);

	tcp_frame_make(self->b->out, 7, len, &h);
	ASSERT_EQ(0, guest_tx_wait(&self->g, &h, self->b->out, len));
	ASSERT_EQ(0, guest_tx_sync(&self->g));
	n = psock_recv(self->g.rx_sock, &got, self->b->in, FRAME_MAX,
		       WATCHDOG_MS);
	ASSERT_EQ(len, n);
	EXPECT_EQ(0, memcmp(self->b->out, self->b->in, len));
	EXPECT_EQ(h.flags, got.flags);
	EXPECT_EQ(h.gso_type, got.gso_type);
	EXPECT_EQ(h.gso_size, got.gso_size);
	EXPECT_EQ(h.csum_start, got.csum_start);
	EXPECT_EQ(h.csum_offset, got.csum_offset);
}

/* n frames in bursts, through whatever index the ring wraps at */
static int wrap_run(struct guest *g, struct frame_bufs *b, uint32_t n)
{
	uint64_t seq = 0;
	int err = 0;

	while (!err && seq < n)
		err = tx_sweep(g, b, 14, n - seq < 100 ? 13 + n - seq : 113, 1,
			       100, &seq);
	return err;
}

TEST_F(tx, wrap_small)
{
	static const unsigned int nums[] = { 1, 2, 4, 16 };
	struct guest_cfg c = tx_cfg(variant);
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(nums); i++) {
		c.num[VQ_TX] = nums[i];
		c.base[VQ_TX] = 0xfff0;
		START_GUEST(&self->g, &c);
		EXPECT_EQ(0, wrap_run(&self->g, self->b, 600)) {
			TH_LOG("ring of %u", nums[i]);
		}
		EXPECT_EQ((0xfff0 + 600) & 0xffff,
			  vdev_get_base(&self->g.dev, VQ_TX));
		guest_stop(&self->g);
	}
}

/* ------- what needs no variant ------- */

FIXTURE(tx1)
{
	struct guest g;
	struct frame_bufs *b;
};

FIXTURE_SETUP(tx1)
{
	self->b = malloc(sizeof(*self->b));
	ASSERT_NE(NULL, self->b);
	memset(&self->g, 0, sizeof(self->g));
	ASSERT_EQ(0, netns_private());
}

FIXTURE_TEARDOWN(tx1)
{
	if (self->g.dev.fd > 0)
		guest_stop(&self->g);
	free(self->b);
}

TEST_F_TIMEOUT(tx1, wrap_32768, 60)
{
	struct guest_cfg c = {
		.features = F_MODERN,
		.num = { 256, 32768 },
		.buf = { 0, 128 },
	};

	START_GUEST(&self->g, &c);
	ASSERT_EQ(0, wrap_run(&self->g, self->b, 70000));
	EXPECT_EQ(70000 & 0xffff, vdev_get_base(&self->g.dev, VQ_TX));
}

/* every starting point counts the same */
TEST_F(tx1, any_base)
{
	static const uint16_t bases[] = { 0, 1, 255, 256, 0x7fff, 0x8000,
					  0xffff };
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(bases); i++) {
		struct guest_cfg c = {
			.features = F_MODERN,
			.base = { bases[i], bases[i] },
		};

		START_GUEST(&self->g, &c);
		ASSERT_EQ(0, wrap_run(&self->g, self->b, 300));
		EXPECT_EQ((uint16_t)(bases[i] + 300),
			  vdev_get_base(&self->g.dev, VQ_TX));
		guest_stop(&self->g);
	}
}

/* 1024 descriptors carry a frame, direct and indirect */
TEST_F(tx1, case49_chain_of_1024)
{
	unsigned int ind;

	for (ind = 0; ind < 2; ind++) {
		struct guest_cfg c = {
			.features = F_MODERN,
			.num = { 256, 2048 },
			.slots = { 0, 2 },
			.indirect = { false, ind },
			.framing = { { }, { .hdr_seg = 1, .seg = 61,
					    .max_segs = 1024 } },
		};
		uint64_t seq = 0;

		START_GUEST(&self->g, &c);
		ASSERT_EQ(0, tx_sweep(&self->g, self->b, 61 * 1012 + 1,
				      61 * 1012 + 200, 40, BURST, &seq));
		guest_stop(&self->g);
	}
}

/* 1025 are too many: a ring error, and no frame */
TEST_F(tx1, case49_chain_of_1025)
{
	unsigned int ind;

	for (ind = 0; ind < 2; ind++) {
		struct guest_cfg c = {
			.features = F_MODERN,
			.num = { 256, 2048 },
			.slots = { 0, 2 },
			.indirect = { false, ind },
			.framing = { { }, { .hdr_seg = 1, .seg = 61,
					    .max_segs = 1025 } },
		};
		struct ring *r;

		START_GUEST(&self->g, &c);
		r = self->g.q[VQ_TX].ring;
		frame_make(self->b->out, 0, 61 * 1013 + 20);
		ASSERT_EQ(0, guest_tx(&self->g, NULL, self->b->out,
				      61 * 1013 + 20));
		guest_tx_flush(&self->g);
		EXPECT_EQ(-EIO, ring_wait_used(r, WATCHDOG_MS));
		EXPECT_EQ(0, psock_recv(self->g.rx_sock, NULL, self->b->in,
					FRAME_MAX, 0));
		guest_stop(&self->g);
	}
}

TEST_HARNESS_MAIN
