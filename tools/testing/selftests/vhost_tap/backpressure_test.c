// SPDX-License-Identifier: GPL-2.0-only
/*
 * A tap with IFF_BACKPRESSURE stops its netdev queue while its ring is full, and
 * whoever takes frames off the ring has to wake it. However often that happens,
 * and whatever becomes of the backend meanwhile: it never stays stopped.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "variants.h"

#ifndef IFF_BACKPRESSURE
#define IFF_BACKPRESSURE 0x0080
#endif

#define RING	64	/* frames that the tap's ring takes */
#define LEN	60

FIXTURE(backpressure)
{
	struct guest g;
	uint8_t *out, *in;
	uint64_t seq;
	const char *unable;
};

FIXTURE_SETUP(backpressure)
{
	unsigned int known = 0;
	int fd;

	memset(&self->g, 0, sizeof(self->g));
	self->seq = 0;
	self->out = malloc(FRAME_MAX);
	self->in = malloc(FRAME_MAX);
	ASSERT_NE(NULL, self->out);
	ASSERT_NE(NULL, self->in);
	fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, ioctl(fd, TUNGETFEATURES, &known));
	close(fd);
	self->unable = known & IFF_BACKPRESSURE ? NULL : "this kernel's taps know no backpressure";
}

FIXTURE_TEARDOWN(backpressure)
{
	if (self->g.dev.fd > 0)
		guest_stop(&self->g);
	free(self->out);
	free(self->in);
}

static void start(struct __test_metadata *_metadata,
		  FIXTURE_DATA(backpressure) *self)
{
	struct guest_cfg c = {
		.features = F_MODERN,
		.tap_iff = IFF_BACKPRESSURE,
		.txqlen = RING,
		.mtu = 1500,
		.buf = { 2048, 2048 },
		.no_fill = true,
	};

	START_GUEST(&self->g, &c);
	/* past the qdisc nobody minds whether the queue is stopped */
	ASSERT_EQ(0, psock_use_qdisc(self->g.tx_sock));
}

/* send n frames; what ring and qdisc have no room for is lost */
static void offer(FIXTURE_DATA(backpressure) *self, unsigned int n)
{
	while (n--) {
		frame_make(self->out, self->seq++, LEN);
		psock_send(self->g.tx_sock, NULL, self->out, LEN);
	}
}

/*
 * Does one frame more arrive, behind all that wait? It is sent again as long as
 * the qdisc may have been full.
 */
static bool passes(FIXTURE_DATA(backpressure) *self)
{
	uint64_t end = now_ns() + WATCHDOG_MS * 1000000ULL;
	uint64_t marker = self->seq++;
	ssize_t n;

	do {
		guest_rx_fill(&self->g);
		frame_make(self->out, marker, LEN);
		psock_send(self->g.tx_sock, NULL, self->out, LEN);
		for (;;) {
			n = guest_rx(&self->g, NULL, self->in, FRAME_MAX, 20);
			if (n < 0)
				break;
			if (n == LEN && frame_seq(self->in) == marker)
				return true;
			guest_rx_fill(&self->g);
		}
	} while (n == -EAGAIN && now_ns() < end);
	return false;
}

/* the queue stops behind a guest without buffers; it goes on with some */
TEST_F(backpressure, wakes)
{
	unsigned int round;

	SKIP_IF_UNABLE();
	start(_metadata, self);
	for (round = 0; round < 20; round++) {
		offer(self, RING * 2 + 16 * round);
		ASSERT_TRUE(passes(self)) {
			TH_LOG("stopped for good in round %u", round);
		}
	}
}

/* it stopped while there was no backend, or lost the one it had */
TEST_F(backpressure, reattach)
{
	unsigned int round;

	SKIP_IF_UNABLE();
	start(_metadata, self);
	for (round = 0; round < 10; round++) {
		offer(self, RING * 3);
		ASSERT_EQ(0, guest_detach(&self->g));
		offer(self, RING * 3);
		ASSERT_EQ(0, guest_attach(&self->g, self->g.tap.fd));
		ASSERT_TRUE(passes(self)) {
			TH_LOG("stopped for good in round %u", round);
		}
	}
}

TEST_HARNESS_MAIN
