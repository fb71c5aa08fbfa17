// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every frame size there is, each way, with its content looked at; on a slow machine
 * only one of every few ($VTAP_SLOW).
 */
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"
#include "env.h"
#include "traffic.h"
#include "variants.h"

/* from one size to the next: odd, so that all alignments are met */
static uint32_t step(void)
{
	return env_number("VTAP_SLOW", 1) | 1;
}

FIXTURE(sweep)
{
	struct guest g;
	struct frame_bufs *b;
};

FIXTURE_SETUP(sweep)
{
	self->b = malloc(sizeof(*self->b));
	ASSERT_NE(NULL, self->b);
	memset(&self->g, 0, sizeof(self->g));
	ASSERT_EQ(0, netns_private());
}

FIXTURE_TEARDOWN(sweep)
{
	if (self->g.dev.fd > 0)
		guest_stop(&self->g);
	free(self->b);
}

TEST_F_TIMEOUT(sweep, tx_every_size, 150)
{
	struct guest_cfg c = { .features = F_MODERN };
	uint64_t seq = 0;

	START_GUEST(&self->g, &c);
	ASSERT_EQ(0, tx_sweep(&self->g, self->b, FRAME_MIN, FRAME_MAX, step(), 32,
			      &seq));
	EXPECT_EQ((FRAME_MAX - FRAME_MIN) / step() + 1, seq);
}

TEST_F_TIMEOUT(sweep, rx_every_size, 150)
{
	struct guest_cfg c = {
		.features = F_MODERN,
		.num = { 1024, 256 },
		.buf = { 4096, 0 },
	};
	uint64_t seq = 0;

	START_GUEST(&self->g, &c);
	ASSERT_EQ(0, rx_sweep(&self->g, self->b, FRAME_MIN, FRAME_MAX, step(), 32,
			      &seq));
	EXPECT_EQ((FRAME_MAX - FRAME_MIN) / step() + 1, seq);
}

TEST_HARNESS_MAIN
