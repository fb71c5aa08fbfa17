// SPDX-License-Identifier: GPL-2.0-only
/*
 * Frames that a guest must not be able to pass on: impossible offload fields,
 * too short for an Ethernet header, shorter than the virtio-net header. Each
 * is dropped and counted, its descriptor is completed, its neighbours arrive.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kselftest_harness.h"
#include "variants.h"
#include "counters.h"
#include "env.h"

FIXTURE(frame)
{
	struct guest g;
	uint8_t *out, *in;
};

FIXTURE_VARIANT(frame)
{
	uint64_t features;
	bool indirect;
};

ADD_FEATURE_VARIANTS(frame);

FIXTURE_SETUP(frame)
{
	self->out = malloc(FRAME_MAX);
	self->in = malloc(FRAME_MAX + 64);
	ASSERT_NE(NULL, self->out);
	ASSERT_NE(NULL, self->in);
	memset(&self->g, 0, sizeof(self->g));
	ASSERT_EQ(0, netns_private());
}

FIXTURE_TEARDOWN(frame)
{
	if (self->g.dev.fd > 0)
		guest_stop(&self->g);
	free(self->out);
	free(self->in);
}

static uint64_t all_drops(const struct queue_counters *q)
{
	uint64_t n = 0;
	unsigned int i;

	for (i = 0; i <= VHOST_TAP_A_DROPS_MAX; i++)
		n += q->drops[i];
	return n;
}

static const struct {
	const char *what;
	struct virtio_net_hdr h;
	uint32_t len;
	bool in_tree_takes_it;
} bad_headers[] = {
	{ "unknown gso_type", { .gso_type = 0x7f, .gso_size = 100 }, 300 },
	{ "unknown gso_type with checksum",
	  { .flags = 1, .csum_start = 34, .csum_offset = 16, .gso_type = 2,
	    .gso_size = 100 }, 300 },
	{ "gso_size 0",
	  { .flags = 1, .csum_start = 34, .csum_offset = 16, .hdr_len = 54,
	    .gso_type = VIRTIO_NET_HDR_GSO_TCPV4, .gso_size = 0 }, 300 },
	{ "csum_start behind the end",
	  { .flags = 1, .csum_start = 301, .csum_offset = 0 }, 300 },
	{ "checksum field behind the end",
	  { .flags = 1, .csum_start = 290, .csum_offset = 9 }, 300 },
	{ "csum_start 65535",
	  { .flags = 1, .csum_start = 0xffff, .csum_offset = 0xffff }, 300 },
	{ "hdr_len behind the end", { .hdr_len = 301 }, 300, true },
	{ "hdr_len 65535", { .hdr_len = 0xffff }, 300, true },
	{ "large, hdr_len behind the end", { .hdr_len = 40001 }, 40000 },
	{ "large, unknown gso_type", { .gso_type = 0x7f }, 40000 },
	{ "large, csum_start behind the end",
	  { .flags = 1, .csum_start = 40001 }, 40000 },
};

/* number seq of len bytes is the next of ours that the host sees */
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

/* alone, and in the midst of a batch of good ones */
TEST_F(frame, case7_offload_fields)
{
	struct guest_cfg c = { .features = variant->features };
	const struct virtio_net_hdr *h;
	unsigned int i, k, bad = 0;
	uint64_t seq = 1;

	c.indirect[VQ_TX] = variant->indirect;
	START_GUEST(&self->g, &c);
	for (i = 0; i < ARRAY_LEN(bad_headers); i++) {
		uint32_t len = bad_headers[i].len;

		if (bad_headers[i].in_tree_takes_it && !node_is_vhost_tap())
			continue;
		h = &bad_headers[i].h;
		frame_make(self->out, 0, len);
		ASSERT_EQ(0, guest_tx_wait(&self->g, h, self->out, len));
		bad++;
		ASSERT_EQ(0, guest_tx_sync(&self->g)) {
			TH_LOG("%s", bad_headers[i].what);
		}
		for (k = 0; k < 9; k++) {
			if (k == 4) {
				frame_make(self->out, 0, len);
				ASSERT_EQ(0, guest_tx_wait(&self->g, h,
							   self->out, len));
				bad++;
				continue;
			}
			frame_make(self->out, seq + k, 200);
			ASSERT_EQ(0, guest_tx_wait(&self->g, NULL, self->out,
						   200));
		}
		ASSERT_EQ(0, guest_tx_sync(&self->g));
		for (k = 0; k < 9; k++) {
			if (k == 4)
				continue;
			ASSERT_EQ(0, expect_frame(&self->g, self->in, seq + k,
						  200)) {
				TH_LOG("%s", bad_headers[i].what);
			}
		}
		seq += 9;
	}
	if (node_is_vhost_tap()) {
		EXPECT_TRUE(wait_counter(VQ_TX, all_drops(q) == bad)) {
			TH_LOG("dropped %u, counted %llu", bad,
			       (unsigned long long)
			       all_drops(counters_of(VQ_TX)));
		}
		EXPECT_EQ(0, efd_drain(self->g.q[VQ_TX].ring->err_fd));
	}
}

/* no whole Ethernet header behind the virtio-net header */
TEST_F(frame, case8_short_frames)
{
	struct guest_cfg c = { .features = variant->features };
	unsigned int len, k, total;
	uint64_t seq = 1;

	c.indirect[VQ_TX] = variant->indirect;
	START_GUEST(&self->g, &c);
	for (len = 0; len < FRAME_MIN; len++) {
		total = self->g.hdr_len + len;
		for (k = 0; k < 9; k++) {
			if (k % 4 == 1) {
				/* whatever the slot holds, cut short */
				ASSERT_EQ(1, guest_tx_blast(&self->g, total,
							    1));
				continue;
			}
			frame_make(self->out, seq + k, 60 + k);
			ASSERT_EQ(0, guest_tx_wait(&self->g, NULL, self->out,
						   60 + k));
		}
		ASSERT_EQ(0, guest_tx_sync(&self->g)) {
			TH_LOG("%u bytes", len);
		}
		for (k = 0; k < 9; k++) {
			if (k % 4 == 1)
				continue;
			ASSERT_EQ(0, expect_frame(&self->g, self->in, seq + k,
						  60 + k)) {
				TH_LOG("%u bytes", len);
			}
		}
		seq += 9;
	}
	if (node_is_vhost_tap())
		EXPECT_TRUE(wait_counter(VQ_TX,
					 Q_DROP(q, SHORT) == 2 * FRAME_MIN));
}

/* not even a virtio-net header */
TEST_F(frame, shorter_than_header)
{
	struct guest_cfg c = { .features = variant->features };
	unsigned int len;

	c.indirect[VQ_TX] = variant->indirect;
	SKIP_IN_TREE("stops the queue at a chain without a whole header");
	START_GUEST(&self->g, &c);
	for (len = 1; len < self->g.hdr_len; len++) {
		ASSERT_EQ(1, guest_tx_blast(&self->g, len, 1));
		frame_make(self->out, len, 100);
		ASSERT_EQ(0, guest_tx_wait(&self->g, NULL, self->out, 100));
		ASSERT_EQ(0, guest_tx_sync(&self->g));
		ASSERT_EQ(0, expect_frame(&self->g, self->in, len, 100));
	}
	EXPECT_TRUE(wait_counter(VQ_TX,
				 Q_DROP(q, SHORT) == self->g.hdr_len - 1));
}

FIXTURE(frame1)
{
	struct guest g;
	uint8_t *out, *in;
};

FIXTURE_SETUP(frame1)
{
	self->out = malloc(FRAME_MAX);
	self->in = malloc(FRAME_MAX + 64);
	ASSERT_NE(NULL, self->out);
	ASSERT_NE(NULL, self->in);
	memset(&self->g, 0, sizeof(self->g));
	ASSERT_EQ(0, netns_private());
}

FIXTURE_TEARDOWN(frame1)
{
	if (self->g.dev.fd > 0)
		guest_stop(&self->g);
	free(self->out);
	free(self->in);
}

static long mem_free_kb(void)
{
	char line[128];
	long kb = -1;
	FILE *f = fopen("/proc/meminfo", "r");

	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "MemFree: %ld", &kb) == 1)
			break;
	fclose(f);
	return kb;
}

/* a flood of them costs no memory: a page each would be a gigabyte */
TEST_F_TIMEOUT(frame1, case8_flood, 120)
{
	struct guest_cfg c = { .features = F_MODERN, .buf = { 0, 128 } };
	unsigned int n = 0, k, burst;
	long before, after;

	START_GUEST(&self->g, &c);
	before = mem_free_kb();
	while (n < env_volume(250000)) {
		for (burst = 0; burst < 64; burst++) {
			if (!guest_tx_blast(&self->g,
					    self->g.hdr_len + burst % FRAME_MIN,
					    1))
				break;
			n++;
		}
		guest_tx_flush(&self->g);
		if (!burst)
			ASSERT_EQ(0, ring_wait_used(self->g.q[VQ_TX].ring,
						    WATCHDOG_MS));
		ASSERT_GE(guest_tx_reap(&self->g), 0);
	}
	ASSERT_EQ(0, guest_tx_sync(&self->g));
	after = mem_free_kb();
	EXPECT_GT(after, before - 100 * 1024) {
		TH_LOG("free memory: %ld kB before, %ld after", before, after);
	}
	for (k = 0; k < 10; k++) {
		frame_make(self->out, k, 100);
		ASSERT_EQ(0, guest_tx_wait(&self->g, NULL, self->out, 100));
	}
	ASSERT_EQ(0, guest_tx_sync(&self->g));
	for (k = 0; k < 10; k++)
		ASSERT_EQ(0, expect_frame(&self->g, self->in, k, 100));
}

/* larger than any frame, be it of 65,535 bytes with two tags: dropped, and the queue goes on */
TEST_F(frame1, too_big)
{
	struct guest_cfg c = {
		.features = F_MODERN,
		.num = { 256, 64 },
		.buf = { 0, 1 << 20 },
		.slots = { 0, 4 },
	};
	static const uint32_t lens[] = { 66000, 70000, 200000, 1 << 20 };
	unsigned int i;

	SKIP_IN_TREE("its limits differ between kernels");
	START_GUEST(&self->g, &c);
	for (i = 0; i < ARRAY_LEN(lens); i++) {
		ASSERT_EQ(1, guest_tx_blast(&self->g, lens[i], 1));
		frame_make(self->out, i, 100);
		ASSERT_EQ(0, guest_tx_wait(&self->g, NULL, self->out, 100));
		ASSERT_EQ(0, guest_tx_sync(&self->g)) {
			TH_LOG("%u bytes", lens[i]);
		}
		ASSERT_EQ(0, expect_frame(&self->g, self->in, i, 100)) {
			TH_LOG("%u bytes", lens[i]);
		}
	}
	EXPECT_TRUE(wait_counter(VQ_TX, all_drops(q) == ARRAY_LEN(lens)));
}

TEST_HARNESS_MAIN
