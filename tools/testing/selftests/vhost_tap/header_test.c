// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who has the virtio-net header, and how long is it: every combination of
 * header features, of VHOST_NET_F_VIRTIO_NET_HDR and of backend. The payload
 * must start right behind the header, and used lengths count both.
 *
 *   tap backend            tap's ptr_ring <--> packet sockets of the host
 *   packet socket backend  AF_PACKET on a tap <--> read/write on the tap
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "variants.h"

FIXTURE(header)
{
	struct guest g;
	uint8_t *out, *in;
};

FIXTURE_VARIANT(header)
{
	uint64_t features;
	bool packet;
};

FIXTURE_VARIANT_ADD(header, tap_none) { .features = 0 };
FIXTURE_VARIANT_ADD(header, tap_mrg) { .features = F_MRG_RXBUF };
FIXTURE_VARIANT_ADD(header, tap_v1) { .features = F_VERSION_1 };
FIXTURE_VARIANT_ADD(header, tap_v1_mrg)
{ .features = F_VERSION_1 | F_MRG_RXBUF };
FIXTURE_VARIANT_ADD(header, tap_own_none) { .features = F_VHOST_HDR };
FIXTURE_VARIANT_ADD(header, tap_own_mrg)
{ .features = F_VHOST_HDR | F_MRG_RXBUF };
FIXTURE_VARIANT_ADD(header, tap_own_v1)
{ .features = F_VHOST_HDR | F_VERSION_1 };
FIXTURE_VARIANT_ADD(header, tap_own_v1_mrg)
{ .features = F_VHOST_HDR | F_VERSION_1 | F_MRG_RXBUF };
FIXTURE_VARIANT_ADD(header, packet_own_none)
{ .features = F_VHOST_HDR, .packet = true };
FIXTURE_VARIANT_ADD(header, packet_own_mrg)
{ .features = F_VHOST_HDR | F_MRG_RXBUF, .packet = true };
FIXTURE_VARIANT_ADD(header, packet_own_v1)
{ .features = F_VHOST_HDR | F_VERSION_1, .packet = true };
FIXTURE_VARIANT_ADD(header, packet_own_v1_mrg)
{ .features = F_VHOST_HDR | F_VERSION_1 | F_MRG_RXBUF, .packet = true };

FIXTURE_SETUP(header)
{
	self->out = malloc(FRAME_MAX);
	self->in = malloc(FRAME_MAX + 64);
	ASSERT_NE(NULL, self->out);
	ASSERT_NE(NULL, self->in);
	memset(&self->g, 0, sizeof(self->g));
	ASSERT_EQ(0, netns_private());
}

FIXTURE_TEARDOWN(header)
{
	if (self->g.dev.fd > 0)
		guest_stop(&self->g);
	free(self->out);
	free(self->in);
}

/* the next frame of ours that comes out of the tap's file */
static ssize_t tap_read(int fd, uint8_t *buf, size_t cap)
{
	ssize_t n;

	do {
		if (fd_wait(fd, POLLIN, WATCHDOG_MS) != 1)
			return -ETIMEDOUT;
		n = read(fd, buf, cap);
	} while (n > 0 && !frame_is_ours(buf, n));
	return n < 0 ? -errno : n;
}

TEST_F(header, case35_matrix)
{
	static const uint32_t lens[] = { 60, 61, 200, 1499, 1514 };
	struct guest_cfg c = {
		.features = variant->features,
		.buf = { 2048, 2048 },
		.mtu = 1500,
		.no_backend = true,
	};
	struct virtio_net_hdr_mrg_rxbuf h;
	unsigned int i, round;
	int back, wire;
	ssize_t n;

	if (variant->packet)
		c.tap_hdr = -1;
	START_GUEST(&self->g, &c);
	guest_rx_fill(&self->g);
	back = self->g.tap.fd;
	wire = -1;
	if (variant->packet) {
		/* the guest is on the packet socket, we are the tap's other end */
		wire = back;
		back = psock_receiver(self->g.tap.ifindex, false);
		ASSERT_GE(back, 0);
	}
	ASSERT_EQ(0, guest_attach(&self->g, back));

	for (round = 0; round < 20; round++) {
		for (i = 0; i < ARRAY_LEN(lens); i++) {
			uint32_t len = lens[i];

			frame_make(self->out, round, len);
			ASSERT_EQ(0, guest_tx_wait(&self->g, NULL, self->out,
						   len));
			ASSERT_EQ(0, guest_tx_sync(&self->g));
			n = variant->packet ?
			    tap_read(wire, self->in, FRAME_MAX) :
			    psock_recv(self->g.rx_sock, NULL, self->in,
				       FRAME_MAX, WATCHDOG_MS);
			ASSERT_EQ(len, n);
			ASSERT_TRUE(frame_check(self->in, round, len));

			n = variant->packet ? write(wire, self->out, len) :
			    psock_send(self->g.tx_sock, NULL, self->out, len);
			ASSERT_EQ(variant->packet ? len : 0, n);
			/* used length less header is what guest_rx() returns */
			ASSERT_EQ(len, guest_rx(&self->g, &h, self->in,
						FRAME_MAX, WATCHDOG_MS));
			ASSERT_TRUE(frame_check(self->in, round, len));
			EXPECT_EQ(0, h.hdr.flags &
				     ~VIRTIO_NET_HDR_F_DATA_VALID);
			EXPECT_EQ(0, h.hdr.gso_type);
			guest_rx_fill(&self->g);
		}
	}
	ASSERT_EQ(0, guest_detach(&self->g));
	if (variant->packet)
		close(back);
}

TEST_HARNESS_MAIN
