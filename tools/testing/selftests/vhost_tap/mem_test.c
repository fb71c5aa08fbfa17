// SPDX-License-Identifier: GPL-2.0-only
/*
 * Guest memory of many regions: all of them reachable, buffers that span two,
 * rings and tables anywhere.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "kselftest_harness.h"
#include "variants.h"
#include "counters.h"

#define PAGE	4096

FIXTURE(mem)
{
	struct guest g;
	uint8_t out[FRAME_MAX], in[FRAME_MAX];
	unsigned int max;
};

FIXTURE_SETUP(mem)
{
	struct guest_cfg c = {
		.features = F_MODERN,
		.num = { 256, 256 },
		.no_backend = true,
	};
	long max = file_read_long("/sys/module/vhost/parameters/max_mem_regions");

	memset(&self->g, 0, sizeof(self->g));
	ASSERT_EQ(0, netns_private());
	ASSERT_GT(max, 2);
	self->max = max < GMEM_MAX_REGIONS ? max : GMEM_MAX_REGIONS;
	START_GUEST(&self->g, &c);
}

FIXTURE_TEARDOWN(mem)
{
	if (self->g.dev.fd > 0)
		guest_stop(&self->g);
}

/* one page a region, with holes between, up to the limit */
TEST_F(mem, case47_every_region)
{
	struct guest *g = &self->g;
	struct ring *tx = &g->dev.ring[VQ_TX], *rx = &g->dev.ring[VQ_RX];
	uint32_t token, len, n = 0, part = 800, total;
	struct ring_seg segs[GMEM_MAX_REGIONS];
	unsigned int i, first = g->mem.nr;

	for (i = first; i < self->max; i++)
		ASSERT_EQ(i, gmem_add(&g->mem, 0x1000000000ULL + i * 5 * PAGE,
				      PAGE));
	ASSERT_EQ(0, vdev_set_mem(&g->dev, &g->mem));

	/* TX: a frame with a piece in every region, the header in the first */
	total = (self->max - first) * part;
	ASSERT_LT(total, FRAME_MAX);
	frame_make(self->out, 3, total);
	segs[n].gpa = g->q[VQ_TX].buf_gpa;
	segs[n].len = g->hdr_len;
	segs[n++].write = false;
	for (i = self->max; i-- > first; n++) {
		memcpy(g->mem.region[i].hva + PAGE - part,
		       self->out + (n - 1) * part, part);
		segs[n].gpa = g->mem.region[i].gpa + PAGE - part;
		segs[n].len = part;
		segs[n].write = false;
	}
	ASSERT_EQ(0, ring_add(tx, segs, n, NULL, 0));

	/* RX: the same the other way round */
	for (i = 0; i < n; i++) {
		segs[i].write = true;
		if (i)
			segs[i].gpa -= PAGE - part;
	}
	segs[0].gpa = g->q[VQ_RX].buf_gpa;
	ASSERT_EQ(0, ring_add(rx, segs, n, NULL, 0));
	ring_kick(rx);
	ASSERT_EQ(0, guest_attach(g, g->tap.fd));
	ring_kick(tx);

	ASSERT_EQ(0, ring_wait_used(tx, WATCHDOG_MS));
	ASSERT_EQ(total, psock_recv(g->rx_sock, NULL, self->in, FRAME_MAX,
				    WATCHDOG_MS));
	ASSERT_TRUE(frame_check(self->in, 3, total));

	ASSERT_EQ(0, psock_send(g->tx_sock, NULL, self->out, total));
	ASSERT_EQ(0, ring_wait_used(rx, WATCHDOG_MS));
	ASSERT_EQ(1, ring_get_used(rx, &token, &len));
	ASSERT_EQ(total + g->hdr_len, len);
	for (i = self->max, n = 0; i-- > first; n++)
		memcpy(self->in + n * part, g->mem.region[i].hva, part);
	ASSERT_TRUE(frame_check(self->in, 3, total));
}

/* two regions that touch in the guest and lie apart, swapped, in the host */
TEST_F(mem, case48_buffer_spans_regions)
{
	const uint64_t gpa = 0x2000000000ULL;
	struct guest *g = &self->g;
	struct ring *tx = &g->dev.ring[VQ_TX], *rx = &g->dev.ring[VQ_RX];
	struct ring_seg seg;
	uint32_t token, len, k, cut;
	uint8_t *m;

	m = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, m);
	ASSERT_GE(gmem_add_hva(&g->mem, gpa, PAGE, m + 2 * PAGE), 0);
	ASSERT_GE(gmem_add_hva(&g->mem, gpa + PAGE, PAGE, m), 0);
	ASSERT_EQ(0, vdev_set_mem(&g->dev, &g->mem));
	ASSERT_EQ(0, guest_attach(g, g->tap.fd));

	/* every place of the border: in the header, at its end, in the frame */
	for (cut = 1; cut < 300; cut += cut < 20 ? 1 : 37) {
		uint64_t at = gpa + PAGE - cut;
		uint8_t hdr[12] = { };

		frame_make(self->out, cut, 400);
		for (k = 0; k < 412; k++) {
			uint8_t *p = gmem_hva(&g->mem, at + k);

			*p = k < 12 ? hdr[k] : self->out[k - 12];
		}
		seg.gpa = at;
		seg.len = 412;
		seg.write = false;
		ASSERT_EQ(0, ring_add(tx, &seg, 1, NULL, 0));
		ring_kick(tx);
		ASSERT_EQ(0, ring_wait_used(tx, WATCHDOG_MS));
		ASSERT_EQ(1, ring_get_used(tx, &token, &len));
		ASSERT_EQ(400, psock_recv(g->rx_sock, NULL, self->in, FRAME_MAX,
					  WATCHDOG_MS));
		ASSERT_TRUE(frame_check(self->in, cut, 400)) {
			TH_LOG("TX with %u bytes in the first", cut);
		}

		memset(m, 0, 3 * PAGE);
		seg.write = true;
		ASSERT_EQ(0, ring_add(rx, &seg, 1, NULL, 0));
		ring_kick(rx);
		ASSERT_EQ(0, psock_send(g->tx_sock, NULL, self->out, 400));
		ASSERT_EQ(0, ring_wait_used(rx, WATCHDOG_MS));
		ASSERT_EQ(1, ring_get_used(rx, &token, &len));
		ASSERT_EQ(412, len);
		for (k = 0; k < 400; k++)
			self->in[k] = *(uint8_t *)gmem_hva(&g->mem,
							   at + 12 + k);
		ASSERT_TRUE(frame_check(self->in, cut, 400)) {
			TH_LOG("RX with %u bytes in the first", cut);
		}
		/* and not a byte beyond it, or in the page between */
		ASSERT_EQ(0, *(uint8_t *)gmem_hva(&g->mem, at + 412));
		for (k = 0; k < PAGE; k++)
			ASSERT_EQ(0, m[PAGE + k]);
	}
	munmap(m + PAGE, PAGE);
}

/* a hole in the midst of a buffer is a ring error, not a short frame */
TEST_F(mem, case48_hole)
{
	const uint64_t gpa = 0x2000000000ULL;
	struct guest *g = &self->g;
	struct ring *tx = &g->dev.ring[VQ_TX];
	struct ring_seg seg = { .gpa = gpa + PAGE - 100, .len = 412 };

	ASSERT_GE(gmem_add(&g->mem, gpa, PAGE), 0);
	ASSERT_GE(gmem_add(&g->mem, gpa + 2 * PAGE, PAGE), 0);
	ASSERT_EQ(0, vdev_set_mem(&g->dev, &g->mem));
	ASSERT_EQ(0, guest_attach(g, g->tap.fd));
	ASSERT_EQ(0, ring_add(tx, &seg, 1, NULL, 0));
	ring_kick(tx);
	EXPECT_EQ(-EIO, ring_wait_used(tx, WATCHDOG_MS));
	EXPECT_EQ(0, psock_recv(g->rx_sock, NULL, self->in, FRAME_MAX, 0));
	if (node_is_vhost_tap())
		EXPECT_TRUE(wait_counter(VQ_TX, Q_ERR(q, ADDRESS) == 1));
}

TEST_HARNESS_MAIN
