// SPDX-License-Identifier: GPL-2.0-only
/*
 * Backends other than a plain tap, each in both directions: macvtap and packet
 * sockets on a wire (a veth pair, whose other end is ours), and a tap of several
 * queues with a device for each. What all backends have in common is tested with
 * taps elsewhere.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "load.h"
#include "traffic.h"
#include "variants.h"

/* a child's end of a wire, and where guests are on it */
#define WIRE	"vtw0"
#define FAR	"vtw1"
#define MACVTAP	"vtm0"

FIXTURE(backends)
{
	struct guest g, other;
	struct frame_bufs *b;
	int back;
};

FIXTURE_SETUP(backends)
{
	memset(&self->g, 0, sizeof(self->g));
	memset(&self->other, 0, sizeof(self->other));
	self->back = -1;
	self->b = malloc(sizeof(*self->b));
	ASSERT_NE(NULL, self->b);
	ASSERT_EQ(0, netns_new());
}

FIXTURE_TEARDOWN(backends)
{
	if (self->g.dev.fd > 0)
		guest_stop(&self->g);
	if (self->other.dev.fd > 0)
		guest_stop(&self->other);
	if (self->back >= 0)
		close(self->back);
	free(self->b);
}

/* what a command ends with; it says nothing */
static int run(const char *command)
{
	char line[160];

	snprintf(line, sizeof(line), "%s >/dev/null 2>&1", command);
	return system(line);
}

/* a wire with both ends up; false where iproute2 or veth is missing */
static bool make_wire(void)
{
	return !run("modprobe veth") &&
	       !run("ip link add " WIRE " type veth peer name " FAR) &&
	       !run("ip link set " WIRE " up") &&
	       !run("ip link set " FAR " up");
}

/* a macvtap on it, all of whose frames are the guest's: its file, or -errno */
static int make_macvtap(int hdr_sz)
{
	struct ifreq ifr = {
		.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR,
	};
	char path[32];
	int fd, err;

	if (run("modprobe macvtap") ||
	    run("ip link add link " WIRE " name " MACVTAP
		" type macvtap mode passthru") ||
	    run("ip link set " MACVTAP " up"))
		return -ENODEV;
	snprintf(path, sizeof(path), "/dev/tap%u", if_nametoindex(MACVTAP));
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	memcpy(ifr.ifr_name, MACVTAP, sizeof(MACVTAP));
	if (ioctl(fd, TUNSETIFF, &ifr) ||
	    ioctl(fd, TUNSETVNETHDRSZ, &hdr_sz)) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

/* a guest whose backend and sockets are to be ours: 0 or -errno */
static int start_on_wire(struct guest *g, const struct guest_cfg *cfg, bool vnet)
{
	struct guest_cfg c = *cfg;
	unsigned int far = if_nametoindex(FAR);
	int err;

	c.no_backend = true;
	err = guest_start(g, &c);
	if (err)
		return err;
	guest_rx_fill(g);
	close(g->tx_sock);
	close(g->rx_sock);
	g->tx_sock = psock_sender(far, vnet);
	g->rx_sock = psock_receiver(far, vnet);
	return g->tx_sock < 0 || g->rx_sock < 0 ? -EIO : 0;
}

/* frames of all sizes that a wire takes, one way and the other */
static int both_ways(struct guest *g, struct frame_bufs *b)
{
	uint64_t seq = 1;
	int err;

	err = tx_sweep(g, b, 14, 1514, 25, 16, &seq);
	if (!err)
		err = rx_sweep(g, b, 14, 1514, 25, 16, &seq);
	return err ? err : load_check(g);
}

FIXTURE_VARIANT(backends)
{
	uint64_t features;
};

FIXTURE_VARIANT_ADD(backends, legacy)
{ .features = 0 };
FIXTURE_VARIANT_ADD(backends, modern)
{ .features = F_MODERN };

TEST_F_TIMEOUT(backends, macvtap, 60)
{
	struct guest_cfg c = {
		.features = variant->features,
		.buf = { 2048, 2048 },
	};

	if (!make_wire())
		SKIP(return, "no veth, or no iproute2");
	self->back = make_macvtap(c.features ? 12 : 10);
	if (self->back == -ENODEV)
		SKIP(return, "no macvtap");
	ASSERT_LE(0, self->back);
	ASSERT_EQ(0, start_on_wire(&self->g, &c, false));
	ASSERT_EQ(0, guest_attach(&self->g, self->back));
	EXPECT_EQ(0, both_ways(&self->g, self->b));
}

/* what the guest asks its device to do arrives as a wish on the wire */
TEST_F_TIMEOUT(backends, macvtap_offloads, 60)
{
	struct guest_cfg c = { .features = variant->features };
	struct virtio_net_hdr h, got;
	unsigned int i;

	if (!make_wire())
		SKIP(return, "no veth, or no iproute2");
	self->back = make_macvtap(c.features ? 12 : 10);
	if (self->back == -ENODEV)
		SKIP(return, "no macvtap");
	ASSERT_LE(0, self->back);
	ASSERT_EQ(0, start_on_wire(&self->g, &c, true));
	ASSERT_EQ(0, guest_attach(&self->g, self->back));
	for (i = 0; i < 20; i++) {
		uint32_t len = 4000 + 1000 * i;

		memset(&h, 0, sizeof(h));
		tcp_frame_make(self->b->out, i, len, &h);
		ASSERT_EQ(0, guest_tx_wait(&self->g, &h, self->b->out, len));
		ASSERT_EQ(0, guest_tx_sync(&self->g));
		ASSERT_EQ(len, psock_recv(self->g.rx_sock, &got, self->b->in,
					  FRAME_MAX, WATCHDOG_MS));
		EXPECT_EQ(0, memcmp(self->b->out, self->b->in, len));
		EXPECT_EQ(h.gso_type, got.gso_type);
		EXPECT_EQ(h.gso_size, got.gso_size);
		EXPECT_EQ(h.csum_start, got.csum_start);
		EXPECT_EQ(h.csum_offset, got.csum_offset);
	}
}

/* a socket without virtio-net header: the device has it */
TEST_F_TIMEOUT(backends, packet_socket, 60)
{
	struct guest_cfg c = {
		.features = variant->features | F_VHOST_HDR,
		.buf = { 2048, 2048 },
	};

	if (!make_wire())
		SKIP(return, "no veth, or no iproute2");
	self->back = psock_receiver(if_nametoindex(WIRE), false);
	ASSERT_LE(0, self->back);
	ASSERT_EQ(0, start_on_wire(&self->g, &c, false));
	ASSERT_EQ(0, guest_attach(&self->g, self->back));
	EXPECT_EQ(0, both_ways(&self->g, self->b));
}

/* a device a queue pair; a queue that goes takes nothing of the other's with it */
TEST_F_TIMEOUT(backends, multiqueue_tap, 60)
{
	struct guest_cfg c = {
		.features = variant->features,
		.buf = { 2048, 2048 },
		.tap_iff = IFF_MULTI_QUEUE,
	};
	struct guest *g = &self->g, *o = &self->other;
	unsigned int i, k;

	START_GUEST(g, &c);
	self->back = tap_open_queue(&g->tap, IFF_MULTI_QUEUE, g->hdr_len);
	ASSERT_LE(0, self->back);
	c.no_backend = true;
	START_GUEST(o, &c);
	guest_rx_fill(o);
	ASSERT_EQ(0, guest_attach(o, self->back));

	/* both send through the one tap */
	for (i = 0; i < 100; i++) {
		struct guest *from = i & 1 ? o : g;

		frame_make(self->b->out, i, 200);
		ASSERT_EQ(0, guest_tx_wait(from, NULL, self->b->out, 200));
		ASSERT_EQ(0, guest_tx_sync(from));
		ASSERT_EQ(0, host_expect(g, self->b, i, 200));
	}
	/* and each frame to it goes to one of them, whichever the tap chooses */
	for (i = 0; i < 100; i++) {
		struct ring *r[2] = { g->q[VQ_RX].ring, o->q[VQ_RX].ring };

		frame_make(self->b->out, i, 200);
		ASSERT_EQ(0, psock_send(g->tx_sock, NULL, self->b->out, 200));
		ASSERT_TRUE(wait_until(ring_used_pending(r[0]) ||
				       ring_used_pending(r[1])));
		k = !ring_used_pending(r[0]);
		ASSERT_EQ(0, guest_expect(k ? o : g, self->b, i, 200));
		guest_rx_fill(k ? o : g);
	}
	guest_stop(o);
	close(self->back);
	self->back = -1;
	EXPECT_EQ(0, load_check(g));
}

TEST_HARNESS_MAIN
