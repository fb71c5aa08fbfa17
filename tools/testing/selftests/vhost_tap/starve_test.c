// SPDX-License-Identifier: GPL-2.0-only
/*
 * A guest that posts too few receive buffers while the host sends: the
 * regression that vhost_tap exists never to have.
 *
 *   packet socket --> tap's ptr_ring --> [held by the worker] --> RX ring
 *                      (txqueuelen)        up to one batch         starved
 *
 * What entered the tap's ring must reach the guest once, in order, after it
 * refills, wherever it waited meanwhile (I1, I5), and not one skb may stay
 * allocated when all is over.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"
#include "variants.h"
#include "counters.h"

#define QLEN	4000	/* frames that the tap's ring takes */

FIXTURE(starve)
{
	struct guest g;
	uint8_t *out, *in;
	uint64_t sent, got;	/* sequence numbers: next to send, to expect */
};

FIXTURE_VARIANT(starve)
{
	uint64_t features;
	bool indirect;
};

ADD_FEATURE_VARIANTS(starve);

FIXTURE_SETUP(starve)
{
	self->out = malloc(FRAME_MAX);
	self->in = malloc(FRAME_MAX + 64);
	ASSERT_NE(NULL, self->out);
	ASSERT_NE(NULL, self->in);
	memset(&self->g, 0, sizeof(self->g));
	self->sent = 0;
	self->got = 0;
	ASSERT_EQ(0, netns_private());
}

FIXTURE_TEARDOWN(starve)
{
	if (self->g.dev.fd > 0)
		guest_stop(&self->g);
	free(self->out);
	free(self->in);
}

static struct guest_cfg starve_cfg(const FIXTURE_VARIANT(starve) *v)
{
	struct guest_cfg c = {
		.features = v->features,
		.num = { 256, 256 },
		.buf = { 2048, 0 },
		.txqlen = QLEN,
		.no_fill = true,
	};

	c.indirect[VQ_RX] = v->indirect;
	return c;
}

/* sizes vary, so that a mix-up of two frames shows as a wrong length too */
static uint32_t size_of(uint64_t seq)
{
	return 60 + seq * 37 % 1400;
}

static int host_send(FIXTURE_DATA(starve) *s, unsigned int n)
{
	int err;

	while (n--) {
		frame_make(s->out, s->sent, size_of(s->sent));
		err = psock_send(s->g.tx_sock, NULL, s->out, size_of(s->sent));
		if (err)
			return err;
		s->sent++;
	}
	return 0;
}

/* take n frames, which must be the next ones; post nothing */
static int guest_take(FIXTURE_DATA(starve) *s, unsigned int n)
{
	uint32_t len;
	ssize_t r;

	while (n--) {
		len = size_of(s->got);
		r = guest_rx(&s->g, NULL, s->in, FRAME_MAX, WATCHDOG_MS);
		if (r != (ssize_t)len || !frame_check(s->in, s->got, len)) {
			fprintf(stderr, "# wanted %llu (%u bytes), got %zd",
				(unsigned long long)s->got, len, r);
			if (r >= FRAME_MIN)
				fprintf(stderr, " number %llu",
					(unsigned long long)frame_seq(s->in));
			fprintf(stderr, "\n");
			return r < 0 ? r : -EBADMSG;
		}
		s->got++;
	}
	return 0;
}

static int guest_take_all(FIXTURE_DATA(starve) *s)
{
	int err = 0;

	while (!err && s->got < s->sent) {
		guest_rx_fill(&s->g);
		err = guest_take(s, 1);
	}
	return err;
}

/* the same, never with a buffer more than there are frames */
static int guest_take_exactly(FIXTURE_DATA(starve) *s)
{
	unsigned int n;
	int err = 0;

	while (!err && s->got < s->sent) {
		n = s->sent - s->got < 50 ? s->sent - s->got : 50;
		if (guest_rx_post(&s->g, n) != n)
			return -ENOSPC;
		err = guest_take(s, n);
	}
	return err;
}

/*
 * I1: run out of buffers again and again, by one, by some, by a whole batch.
 * The host sends all the time; nothing is lost, doubled or reordered.
 */
TEST_F(starve, rx_starved)
{
	static const unsigned int posts[] = { 1, 2, 3, 1, 63, 64, 65, 7, 128 };
	struct guest_cfg c = starve_cfg(variant);
	unsigned int round, n;

	START_GUEST(&self->g, &c);
	ASSERT_EQ(0, host_send(self, 300));
	for (round = 0; round < 200; round++) {
		n = posts[round % ARRAY_LEN(posts)];
		if (self->sent - self->got < QLEN / 2)
			ASSERT_EQ(0, host_send(self, n + round % 5));
		ASSERT_EQ(n, guest_rx_post(&self->g, n));
		ASSERT_EQ(0, guest_take(self, n));
		/* not one more than there were buffers */
		ASSERT_FALSE(ring_used_pending(self->g.q[VQ_RX].ring));
	}
	if (node_is_vhost_tap())
		EXPECT_TRUE(wait_counter(VQ_RX,
					 Q_STAT(q, HEADCOUNT_WAITS) > 100));
	ASSERT_EQ(0, guest_take_all(self));
	EXPECT_EQ(-EAGAIN, guest_rx(&self->g, NULL, self->in, FRAME_MAX, 0));
	if (node_is_vhost_tap())
		EXPECT_TRUE(wait_counter(VQ_RX,
					 Q_STAT(q, PACKETS) == self->sent));
}

/* mergeable: too few buffers for the whole of the next frame */
TEST_F(starve, rx_starved_half_a_frame)
{
	struct guest_cfg c = starve_cfg(variant);
	unsigned int i;

	if (!(variant->features & F_MRG_RXBUF))
		c.features |= F_MRG_RXBUF;
	c.buf[VQ_RX] = 128;
	START_GUEST(&self->g, &c);
	ASSERT_EQ(0, host_send(self, 500));
	/* buffers trickle in: frames of up to 12 of them must wait and come */
	while (self->got < 500) {
		uint64_t need = size_of(self->got) + self->g.hdr_len;

		need = (need + 127) / 128;
		for (i = self->g.q[VQ_RX].ring->outstanding; i < need; i++) {
			ASSERT_FALSE(ring_used_pending(self->g.q[VQ_RX].ring));
			ASSERT_EQ(1, guest_rx_post(&self->g, 1));
		}
		ASSERT_EQ(0, guest_take(self, 1));
		ASSERT_EQ(need, self->g.rx_buffers);
	}
}

/*
 * I5: detached while frames are held; they come back on the next attach, in
 * order, before those that came later.
 */
TEST_F(starve, detach_while_held)
{
	struct guest_cfg c = starve_cfg(variant);
	unsigned int round;

	START_GUEST(&self->g, &c);
	for (round = 0; round < 60; round++) {
		if (self->sent - self->got > QLEN / 2)
			ASSERT_EQ(0, guest_take_exactly(self));
		ASSERT_EQ(0, host_send(self, 40 + round));
		ASSERT_EQ(round % 7, guest_rx_post(&self->g, round % 7));
		ASSERT_EQ(0, guest_take(self, round % 7));
		ASSERT_EQ(0, guest_detach(&self->g));
		ASSERT_FALSE(ring_used_pending(self->g.q[VQ_RX].ring));
		ASSERT_EQ(0, host_send(self, 3));
		ASSERT_EQ(self->g.q[VQ_RX].ring->last_used,
			  vdev_get_base(&self->g.dev, VQ_RX));
		ASSERT_EQ(0, guest_attach(&self->g, self->g.tap.fd));
	}
	if (node_is_vhost_tap())
		EXPECT_GT(Q_STAT(counters_of(VQ_RX), HELD_RETURNED), 60);
	ASSERT_EQ(0, guest_take_all(self));
	EXPECT_EQ(-EAGAIN, guest_rx(&self->g, NULL, self->in, FRAME_MAX, 0));
}

/*
 * The tap is deleted while frames from it are held: whatever becomes of them,
 * nobody asks the device that they came from.
 */
TEST_F(starve, gone_while_held)
{
	struct guest_cfg c = starve_cfg(variant);
	unsigned int round;

	for (round = 0; round < 10; round++) {
		START_GUEST(&self->g, &c);
		self->sent = 0;
		self->got = 0;
		ASSERT_EQ(0, host_send(self, 200));
		ASSERT_EQ(5, guest_rx_post(&self->g, 5));
		ASSERT_EQ(0, guest_take(self, 5));
		if (round & 1)
			ASSERT_EQ(0, tap_delete(&self->g.tap));
		ASSERT_EQ(0, guest_detach(&self->g));
		if (!(round & 1))
			ASSERT_EQ(0, tap_delete(&self->g.tap));
		ASSERT_EQ(-EINVAL, guest_attach(&self->g, self->g.tap.fd));
		guest_rx_fill(&self->g);
		/* another tap is as good as the first */
		ASSERT_EQ(0, guest_new_tap(&self->g));
		ASSERT_EQ(0, guest_attach(&self->g, self->g.tap.fd));
		ASSERT_EQ(0, host_send(self, 1));
		do {
			ASSERT_LE(0, guest_rx(&self->g, NULL, self->in,
					      FRAME_MAX, WATCHDOG_MS));
			guest_rx_fill(&self->g);
		} while (frame_seq(self->in) != self->sent - 1);
		guest_stop(&self->g);
	}
}

static long settled(long *skbs)
{
	slab_settle();
	*skbs = slab_active("skbuff_head_cache");
	return *skbs;
}

/*
 * Not an skb is leaked: held ones at detach and at close, delivered ones, and
 * those that a closed tap still had. Counts far above what the allocator keeps
 * in reserve for each CPU.
 */
TEST_F_TIMEOUT(starve, no_skb_leaked, 60)
{
	struct guest_cfg c = starve_cfg(variant);
	long before, after = 0;
	unsigned int round;

	if (variant->features != F_MODERN && variant->features)
		return;		/* the oldest and the newest guest say it all */
	before = slab_active("skbuff_head_cache");
	if (before < 0)
		SKIP(return, "no skbuff_head_cache in /proc/slabinfo");

	for (round = 0; round < 40; round++) {
		START_GUEST(&self->g, &c);
		self->sent = 0;
		self->got = 0;
		ASSERT_EQ(0, host_send(self, 200));
		/* the worker holds a batch when the first has arrived */
		ASSERT_EQ(1, guest_rx_post(&self->g, 1));
		ASSERT_EQ(0, guest_take(self, 1));
		if (round & 1)
			ASSERT_EQ(0, guest_detach(&self->g));
		guest_stop(&self->g);
	}
	/* 40 rounds of a held batch would be 2,500 and more */
	EXPECT_TRUE(wait_until(settled(&after) < before + 1000)) {
		TH_LOG("skbuff_head_cache: %ld before, %ld after", before,
		       after);
	}
}

TEST_HARNESS_MAIN
