// SPDX-License-Identifier: GPL-2.0-only
/*
 * Frames from the guest to the host: sizes, framings, headers, ring wraps.
 * A packet socket on the tap is the witness of what left the guest.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"
#include "variants.h"

#define BURST	32

FIXTURE(tx)
{
	struct guest g;
	uint8_t *out, *in;
};

FIXTURE_VARIANT(tx)
{
	uint64_t features;
	bool indirect;
};

ADD_FEATURE_VARIANTS(tx);

FIXTURE_SETUP(tx)
{
	self->out = malloc(FRAME_MAX);
	self->in = malloc(FRAME_MAX + 64);
	ASSERT_NE(NULL, self->out);
	ASSERT_NE(NULL, self->in);
	memset(&self->g, 0, sizeof(self->g));
	ASSERT_EQ(0, netns_private());
}

FIXTURE_TEARDOWN(tx)
{
	if (self->g.dev.fd > 0)
		guest_stop(&self->g);
	free(self->out);
	free(self->in);
}

static struct guest_cfg tx_cfg(const FIXTURE_VARIANT(tx) *v)
{
	struct guest_cfg c = { .features = v->features };

	c.indirect[VQ_TX] = v->indirect;
	return c;
}

/* 0 when the next frame the host sees is number seq, len bytes, intact */
static int expect_frame(struct guest *g, uint8_t *in, uint64_t seq,
			uint32_t len)
{
	ssize_t n = psock_recv(g->rx_sock, NULL, in, FRAME_MAX + 64,
			       WATCHDOG_MS);

	if (n == (ssize_t)len && frame_check(in, seq, len))
		return 0;
	fprintf(stderr, "# frame %llu of %u bytes: got %zd, number %llu\n",
		(unsigned long long)seq, len, n,
		n >= FRAME_MIN ? (unsigned long long)frame_seq(in) : 0ULL);
	return n < 0 ? n : -EBADMSG;
}

/* send frames of sizes from..to (inclusive) and check each at the host */
static int sweep(struct guest *g, uint8_t *out, uint8_t *in, uint32_t from,
		 uint32_t to, uint32_t step, uint64_t *seq)
{
	uint32_t len = from, n, i, first;
	int err;

	while (len <= to) {
		first = len;
		for (n = 0; n < BURST && len <= to; n++, len += step) {
			frame_make(out, *seq + n, len);
			err = guest_tx_wait(g, NULL, out, len);
			if (err)
				return err;
		}
		err = guest_tx_sync(g);
		if (err)
			return err;
		for (i = 0; i < n; i++) {
			err = expect_frame(g, in, *seq + i, first + i * step);
			if (err)
				return err;
		}
		*seq += n;
	}
	return 0;
}

TEST_F(tx, sizes)
{
	struct guest_cfg c = tx_cfg(variant);
	uint64_t seq = 0;

	START_GUEST(&self->g, &c);
	/* small ones all, then a stride that meets every alignment */
	ASSERT_EQ(0, sweep(&self->g, self->out, self->in, 14, 1600, 1, &seq));
	ASSERT_EQ(0, sweep(&self->g, self->out, self->in, 3800, 4200, 1, &seq));
	ASSERT_EQ(0, sweep(&self->g, self->out, self->in, 4201, FRAME_MAX, 997,
			   &seq));
	ASSERT_EQ(0, sweep(&self->g, self->out, self->in, FRAME_MAX - 40,
			   FRAME_MAX, 1, &seq));
	EXPECT_EQ(0, self->g.q[VQ_TX].ring->outstanding);
}

TEST_HARNESS_MAIN
