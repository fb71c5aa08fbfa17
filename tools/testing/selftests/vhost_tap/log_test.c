// SPDX-License-Identifier: GPL-2.0-only
/*
 * The dirty log: every page that the device has written is marked by the time
 * the queues are stopped, and no other page is. The test plays the VMM of a
 * live migration: it compares guest memory with what it was before, or copies
 * marked pages while frames go both ways and compares the copy at the end.
 */
#include <errno.h>
#include <linux/vhost.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "kselftest_harness.h"
#include "counters.h"
#include "dirty.h"
#include "load.h"
#include "variants.h"

#define ALIAS_GPA	0x400000000ULL
#define NO_GPA		0x4000000000000000ULL	/* its bit is 2^47 bytes behind the first one */

/* ------- all pages and no others ------- */

FIXTURE(log)
{
	struct dirty t;
};

FIXTURE_VARIANT(log)
{
	uint64_t features;
	bool indirect;
};

ADD_FEATURE_VARIANTS(log);

FIXTURE_SETUP(log)
{
	ASSERT_EQ(0, dirty_setup(&self->t));
}

FIXTURE_TEARDOWN(log)
{
	dirty_teardown(&self->t);
}

/*
 * Buffers that straddle pages at odd offsets, frames that end anywhere in the
 * last of their buffers, and rings that wrap.
 */
TEST_F_TIMEOUT(log, case42_every_page, 60)
{
	struct guest_cfg c = {
		.features = variant->features,
		.num = { 256, 256 },
		.base = { 0xffe0, 0xfff8 },
		.buf = { 5001, 2048 },
		.slots = { 30, 0 },
		.indirect = { variant->indirect, variant->indirect },
		.framing = { { .hdr_seg = 7, .seg = 1009 } },
	};
	bool mrg = variant->features & F_MRG_RXBUF;
	struct dirty *t = &self->t;
	struct guest *g = &t->g;
	unsigned int round, k;
	uint8_t frame[20000];

	ASSERT_EQ(0, dirty_start(t, &c));
	ASSERT_EQ(0, dirty_switch(g, true));
	for (round = 0; round < 40; round++) {
		guest_rx_fill(g);
		dirty_snapshot(t);
		ASSERT_EQ(0, guest_attach(g, g->tap.fd));
		for (k = 0; k < 3; k++) {
			uint32_t room = mrg ? sizeof(frame) : 5001 - g->hdr_len;
			uint32_t len = 14 + (round * 3 + k) * 977 % (room - 14);

			frame_make(frame, round * 3 + k, len);
			ASSERT_EQ(0, psock_send(g->tx_sock, NULL, frame, len));
			ASSERT_EQ(0, dirty_take(t, (len + g->hdr_len + 5000) / 5001));
			/* and the other way, which writes used entries only */
			frame_make(frame, k, 60 + k);
			ASSERT_EQ(0, guest_tx(g, NULL, frame, 60 + k));
			ASSERT_EQ(0, guest_tx_sync(g));
		}
		ASSERT_EQ(0, guest_detach(g));
		ASSERT_EQ(0, dirty_wrong_pages(t, true)) {
			TH_LOG("round %u", round);
		}
		ASSERT_NE(0, efd_drain(t->fd));
	}
}

/* the same for a burst of small frames, which take the fast path */
TEST_F_TIMEOUT(log, case42_bursts, 60)
{
	struct guest_cfg c = {
		.features = variant->features,
		.buf = { 1700, 2048 },
		.indirect = { variant->indirect, variant->indirect },
	};
	struct dirty *t = &self->t;
	struct guest *g = &t->g;
	unsigned int round, k;
	uint8_t frame[1514];

	ASSERT_EQ(0, dirty_start(t, &c));
	ASSERT_EQ(0, dirty_switch(g, true));
	/* the first frame is not alone in being looked at closely */
	for (round = 0; round < 10; round++) {
		guest_rx_fill(g);
		dirty_snapshot(t);
		ASSERT_EQ(0, guest_attach(g, g->tap.fd));
		for (k = 0; k < 100; k++) {
			uint32_t len = 14 + (round * 100 + k) * 61 % 1500;

			frame_make(frame, k, len);
			ASSERT_EQ(0, psock_send(g->tx_sock, NULL, frame, len));
		}
		ASSERT_EQ(0, dirty_take(t, 100));
		ASSERT_EQ(0, guest_detach(g));
		ASSERT_EQ(0, dirty_wrong_pages(t, true)) {
			TH_LOG("round %u", round);
		}
	}
}

/* what is off marks nothing: not the data, not the rings */
TEST_F(log, off)
{
	struct guest_cfg c = {
		.features = variant->features,
		.buf = { 2048, 2048 },
		.indirect = { variant->indirect, variant->indirect },
	};
	struct dirty *t = &self->t;
	struct guest *g = &t->g;
	unsigned int round;

	ASSERT_EQ(0, dirty_start(t, &c));
	guest_rx_fill(g);
	ASSERT_EQ(0, guest_attach(g, g->tap.fd));
	for (round = 0; round < 3; round++) {
		dirty_snapshot(t);
		ASSERT_EQ(0, load_check(g));
		ASSERT_EQ(0, guest_detach(g));
		EXPECT_EQ(0, memcmp(t->bitmap, t->want, LOG_SIZE));
		EXPECT_EQ(0, efd_drain(t->fd));
		ASSERT_EQ(0, guest_attach(g, g->tap.fd));
		/* on and off again while it runs */
		ASSERT_EQ(0, dirty_switch(g, true));
		ASSERT_EQ(0, load_check(g));
		EXPECT_EQ(0, efd_wait(t->fd, WATCHDOG_MS));
		EXPECT_NE(0, memcmp(t->bitmap, t->want, LOG_SIZE));
		ASSERT_EQ(0, dirty_switch(g, false));
		efd_drain(t->fd);
	}
}

/* ------- what needs no variant ------- */

FIXTURE(log1)
{
	struct dirty t;
};

FIXTURE_SETUP(log1)
{
	ASSERT_EQ(0, dirty_setup(&self->t));
}

FIXTURE_TEARDOWN(log1)
{
	dirty_teardown(&self->t);
}

/* n frames of len bytes from the host to the guest, and where they went */
static int receive(struct dirty *t, unsigned int n, uint32_t len)
{
	uint8_t frame[FRAME_MAX];
	unsigned int i;
	int err;

	for (i = 0; i < n; i++) {
		frame_make(frame, i, len);
		err = psock_send(t->g.tx_sock, NULL, frame, len);
		if (err)
			return err;
	}
	return dirty_take(t, n);
}

/* the device has broken off, said so, and does not run in circles */
static void expect_stopped(struct __test_metadata *_metadata, struct dirty *t, unsigned int idx)
{
	EXPECT_EQ(0, efd_wait(t->g.dev.ring[idx].err_fd, WATCHDOG_MS));
	EXPECT_TRUE(wait_counter(idx, Q_ERR(q, FAULT) > 0));
	/* it is told once for each start */
	ring_force_kick(&t->g.dev.ring[idx]);
	EXPECT_EQ(0, guest_detach(&t->g));
	EXPECT_EQ(0, efd_drain(t->g.dev.ring[idx].err_fd));
}

/*
 * What is empty has no page: a table of 1024 buffers, nearly all of them of no
 * length, each on a page of its own.
 */
TEST_F(log1, case1_empty_segments)
{
	struct guest_cfg c = {
		.features = F_MODERN,
		.no_fill = true,
	};
	struct dirty *t = &self->t;
	struct guest *g = &t->g;
	struct ring *rx = &g->dev.ring[VQ_RX];
	struct ring_seg segs[1024];
	struct ring_table table;
	uint64_t gpa;
	uint32_t token, len;
	unsigned int i, round;

	ASSERT_EQ(0, dirty_start(t, &c));
	table.gpa = gmem_alloc(&g->mem, sizeof(struct vring_desc) * 1024, 16);
	table.hva = gmem_hva(&g->mem, table.gpa);
	gpa = gmem_alloc(&g->mem, 1024 * PAGE, PAGE);
	ASSERT_NE(UINT64_MAX, gpa);
	ASSERT_EQ(0, dirty_switch(g, true));
	for (round = 0; round < 2; round++) {
		for (i = 0; i < 1024; i++) {
			segs[i].gpa = gpa + i * PAGE;
			segs[i].len = i % 500 ? 0 : 100;
			segs[i].write = true;
		}
		/* the last one is long, or empty as well */
		segs[1023].len = round ? 0 : 2000;
		ASSERT_EQ(0, ring_add(rx, segs, 1024, &table, 7));
		ring_kick(rx);
		dirty_snapshot(t);
		ASSERT_EQ(0, guest_attach(g, g->tap.fd));
		len = round ? 288 : 1000;
		{
			uint8_t frame[1000];

			frame_make(frame, round, len);
			ASSERT_EQ(0, psock_send(g->tx_sock, NULL, frame, len));
		}
		ASSERT_EQ(0, ring_wait_used(rx, WATCHDOG_MS));
		ASSERT_EQ(1, ring_get_used(rx, &token, &len));
		EXPECT_EQ(round ? 300 : 1012, len);
		ASSERT_EQ(0, guest_detach(g));
		for (i = 0; i < 1024; i++)
			if (i % 500 == 0 || (i == 1023 && !round))
				dirty_want(t, gpa + i * PAGE, 100);
		EXPECT_EQ(0, dirty_wrong_pages(t, true));
	}
}

/* the used ring of several pages, logged alone and under another address */
TEST_F(log1, case43_used_wrap)
{
	static const uint64_t features[] = { 0, F_MODERN };
	const uint64_t gpa = 0x300000000ULL + 4 * 1000;
	struct dirty *t = &self->t;
	struct guest *g = &t->g;
	unsigned int i, round, n;

	for (i = 0; i < ARRAY_LEN(features); i++) {
		struct guest_cfg c = {
			.features = features[i],
			.num = { 2048, 256 },
			.base = { 2047, 0 },
			.buf = { 2048, 2048 },
		};
		uint32_t slot = 2047;

		if (i) {
			guest_stop(g);
			free(t->before);
		}
		ASSERT_EQ(0, dirty_start(t, &c));
		ASSERT_EQ(0, dirty_set_addr(g, VQ_RX, true, gpa));
		for (round = 0; round < 9; round++) {
			guest_rx_fill(g);
			dirty_snapshot(t);
			ASSERT_EQ(0, guest_attach(g, g->tap.fd));
			n = 1 + round * 37;
			ASSERT_EQ(0, receive(t, n, 100));
			ASSERT_EQ(0, guest_detach(g));
			/* data are not logged */
			memset(t->want, 0, LOG_SIZE);
			dirty_want(t, gpa, 4);
			for (; n; n--, slot = (slot + 1) % 2048)
				dirty_want(t, gpa + 4 + slot * 8, 8);
			/* in-tree does not write the event before it waits */
			if (features[i] & F_EVENT_IDX &&
			    (node_is_vhost_tap() ||
			     dirty_marked(t->bitmap, (gpa + 4 + 2048 * 8) / PAGE)))
				dirty_want(t, gpa + 4 + 2048 * 8, 2);
			EXPECT_EQ(0, memcmp(t->want, t->bitmap, LOG_SIZE)) {
				TH_LOG("features %#llx, round %u",
				       (unsigned long long)features[i], round);
			}
		}
	}
}

/* in-tree vhost_net knows one name for a page, unless there is an IOTLB */
TEST_F(log1, aliases)
{
	struct guest_cfg c = {
		.features = F_MODERN,
		.buf = { 3001, 2048 },
	};
	struct dirty *t = &self->t;
	struct guest *g = &t->g;
	uint64_t page, end, delta;

	SKIP_IN_TREE("does not mark aliases");
	ASSERT_EQ(0, dirty_start(t, &c));
	/* all of the first region once more, shifted by a page and a half */
	ASSERT_GE(gmem_add_hva(&g->mem, ALIAS_GPA, g->mem.region[0].size - 6144,
			       g->mem.region[0].hva + 6144), 0);
	ASSERT_EQ(0, vdev_set_mem(&g->dev, &g->mem));
	/* ours, not to be unmapped twice */
	g->mem.nr--;
	ASSERT_EQ(0, dirty_switch(g, true));
	guest_rx_fill(g);
	dirty_snapshot(t);
	ASSERT_EQ(0, guest_attach(g, g->tap.fd));
	ASSERT_EQ(0, receive(t, 20, 2900));
	ASSERT_EQ(0, guest_detach(g));
	delta = ALIAS_GPA - g->mem.region[0].gpa - 6144;
	end = (g->mem.region[0].gpa + t->len) / PAGE;
	/* whatever is marked under one name ... */
	for (page = 0; page <= end; page++)
		if (dirty_marked(t->want, page))
			EXPECT_TRUE(dirty_marked(t->bitmap, page));
	/* ... has its two halves marked under the other, if they were written */
	for (page = 0; page < g->q[VQ_RX].slots && page < 20; page++) {
		uint64_t buf = g->q[VQ_RX].buf_gpa + page * g->q[VQ_RX].stride;

		EXPECT_TRUE(dirty_marked(t->bitmap, buf / PAGE));
		EXPECT_TRUE(dirty_marked(t->bitmap, (buf + 2911) / PAGE));
		EXPECT_TRUE(dirty_marked(t->bitmap, (buf + delta) / PAGE));
		EXPECT_TRUE(dirty_marked(t->bitmap, (buf + delta + 2911) / PAGE));
	}
	EXPECT_TRUE(dirty_marked(t->bitmap, (dirty_used_gpa(&g->dev.ring[VQ_RX]) + delta) / PAGE));
	EXPECT_TRUE(dirty_marked(t->bitmap, (dirty_used_gpa(&g->dev.ring[VQ_TX]) + delta) / PAGE));
}

/* ------- a bitmap that is not there ------- */

static const struct guest_cfg small = {
	.features = F_MODERN,
	.buf = { 2048, 2048 },
};

/* refused while a queue runs, and what was in force stays so */
TEST_F(log1, case44_refused)
{
	struct dirty *t = &self->t;
	struct guest *g = &t->g;
	void *const bad = (void *)(1UL << 63), *const wraps = (void *)-8UL;
	/* bits of user addresses, as far as anybody looks at them */
	static const unsigned int limit[] = { 63, 56, 47 };
	struct gmem far;
	unsigned int i;

	ASSERT_EQ(0, dirty_start(t, &small));
	/* inactive: anything goes, until a queue is started */
	ASSERT_EQ(0, dirty_set_base(g, bad));
	ASSERT_EQ(0, dirty_switch(g, true));
	EXPECT_EQ(-EFAULT, guest_attach(g, g->tap.fd));
	ASSERT_EQ(0, dirty_set_base(g, wraps));
	EXPECT_EQ(-EFAULT, guest_attach(g, g->tap.fd));
	/* rings alone */
	ASSERT_EQ(0, vdev_set_features(&g->dev, g->cfg.features));
	EXPECT_EQ(-EFAULT, guest_attach(g, g->tap.fd));
	ASSERT_EQ(0, dirty_switch(g, false));
	ASSERT_EQ(0, guest_attach(g, g->tap.fd));
	/* active, and not logging */
	EXPECT_EQ(-EFAULT, vdev_set_features(&g->dev, g->cfg.features | F_LOG));
	EXPECT_EQ(-EINVAL, dirty_set_addr(g, VQ_RX, true, dirty_used_gpa(&g->dev.ring[VQ_RX])));
	EXPECT_EQ(0, dirty_set_base(g, bad));
	EXPECT_EQ(-EFAULT, vdev_set_features(&g->dev, g->cfg.features | F_LOG));
	/* the last place for it: what the memory has now just fits */
	for (i = 0; i < ARRAY_LEN(limit); i++) {
		ASSERT_EQ(0, dirty_set_base(g, (void *)((1UL << limit[i]) - 2 * LOG_SIZE)));
		if (!vdev_set_features(&g->dev, g->cfg.features | F_LOG))
			break;
	}
	ASSERT_LT(i, ARRAY_LEN(limit));
	far = g->mem;
	ASSERT_GE(gmem_add_hva(&far, NO_GPA, 4 * PAGE, g->mem.region[0].hva), 0);
	EXPECT_EQ(-EFAULT, vdev_set_mem(&g->dev, &far));
	EXPECT_EQ(-EINVAL, dirty_set_addr(g, VQ_RX, true, NO_GPA));
	EXPECT_EQ(0, dirty_set_base(g, t->bitmap));
	ASSERT_EQ(0, dirty_switch(g, true));
	EXPECT_EQ(-EFAULT, dirty_set_base(g, bad));
	EXPECT_EQ(-EFAULT, dirty_set_base(g, wraps));

	/* all that was refused has changed nothing */
	guest_rx_fill(g);
	dirty_snapshot(t);
	ASSERT_EQ(0, receive(t, 20, 1000));
	ASSERT_EQ(0, guest_detach(g));
	EXPECT_EQ(0, dirty_wrong_pages(t, true));
}

/* addresses that are fine, with nothing there: it shows when it is used */
TEST_F(log1, case44_faults)
{
	struct dirty *t = &self->t;
	struct guest *g = &t->g;
	uint8_t *hole;
	int prot;

	SKIP_IN_TREE("pages that cannot be marked are passed over in silence");
	ASSERT_EQ(0, dirty_start(t, &small));
	guest_rx_fill(g);
	for (prot = PROT_NONE; prot <= PROT_READ; prot += PROT_READ) {
		hole = mmap(NULL, LOG_SIZE, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		ASSERT_NE(MAP_FAILED, hole);
		ASSERT_EQ(0, guest_attach(g, g->tap.fd));
		/* data only; the used ring only; while it runs, or before */
		ASSERT_EQ(0, dirty_set_base(g, hole));
		ASSERT_EQ(0, vdev_set_features(&g->dev, g->cfg.features | F_LOG));
		ASSERT_EQ(0, psock_send(g->tx_sock, NULL, t->before, 100));
		expect_stopped(_metadata, t, VQ_RX);
		ASSERT_EQ(0, dirty_switch(g, false));

		ASSERT_EQ(0, dirty_set_addr(g, VQ_RX, true, dirty_used_gpa(&g->dev.ring[VQ_RX])));
		ASSERT_EQ(0, guest_attach(g, g->tap.fd));
		expect_stopped(_metadata, t, VQ_RX);
		ASSERT_EQ(0, dirty_switch(g, false));

		ASSERT_EQ(0, guest_attach(g, g->tap.fd));
		/* idle, or the first that it logs is that it goes to sleep */
		ASSERT_EQ(0, guest_tx(g, NULL, t->before, 100));
		ASSERT_EQ(0, guest_tx_sync(g));
		ASSERT_TRUE(wait_until(ring_split_kicks_on(&g->dev.ring[VQ_TX])));
		ASSERT_EQ(0, dirty_set_addr(g, VQ_TX, true, dirty_used_gpa(&g->dev.ring[VQ_TX])));
		ASSERT_EQ(1, guest_tx_blast(g, 100, 1));
		guest_tx_flush(g);
		expect_stopped(_metadata, t, VQ_TX);
		/* the frame itself went out, and is not sent twice */
		ASSERT_EQ(1, guest_tx_reap(g));

		/* a good one, and all is well */
		ASSERT_EQ(0, dirty_switch(g, true));
		ASSERT_EQ(0, dirty_set_base(g, t->bitmap));
		ASSERT_EQ(0, guest_attach(g, g->tap.fd));
		EXPECT_EQ(0, load_check(g));
		ASSERT_EQ(0, guest_detach(g));
		ASSERT_EQ(0, dirty_switch(g, false));
		munmap(hole, LOG_SIZE);
	}
}

/* one that ends in the midst of guest memory */
TEST_F(log1, case44_short)
{
	struct guest_cfg c = small;
	struct dirty *t = &self->t;
	struct guest *g = &t->g;
	struct ring *rx = &g->dev.ring[VQ_RX];
	struct ring_seg seg = { .len = 2048, .write = true };

	SKIP_IN_TREE("pages that cannot be marked are passed over in silence");
	c.no_fill = true;
	ASSERT_EQ(0, dirty_start(t, &c));
	ASSERT_EQ(0, dirty_switch(g, true));
	/* enough for the first 128 MiB */
	ASSERT_EQ(0, mprotect(t->bitmap + PAGE, LOG_SIZE - PAGE, PROT_NONE));
	ASSERT_EQ(0, guest_attach(g, g->tap.fd));
	guest_rx_post(g, 1);
	ASSERT_EQ(0, receive(t, 1, 100));
	seg.gpa = gmem_alloc_in(&g->mem, 1, 2048, PAGE);
	ASSERT_NE(UINT64_MAX, seg.gpa);
	ASSERT_EQ(0, ring_add(rx, &seg, 1, NULL, 0));
	ring_kick(rx);
	ASSERT_EQ(0, psock_send(g->tx_sock, NULL, t->before, 100));
	expect_stopped(_metadata, t, VQ_RX);
	/* what could not be marked was not published */
	EXPECT_FALSE(ring_used_pending(rx));
	ASSERT_EQ(0, mprotect(t->bitmap, LOG_SIZE, PROT_READ | PROT_WRITE));
}

/* ------- under load ------- */

/* take marks and copy the pages, as a live migration does: how many */
static unsigned int copy_marked(struct dirty *t)
{
	const struct gmem_region *r = &t->g.mem.region[0];
	uint32_t *word = (uint32_t *)t->bitmap;
	unsigned int i, n = 0;

	for (i = 0; i < LOG_SIZE / 4; i++) {
		uint32_t bits;

		if (!READ_ONCE(word[i]))
			continue;
		bits = __atomic_exchange_n(&word[i], 0, __ATOMIC_SEQ_CST);
		for (; bits; bits &= bits - 1, n++) {
			uint64_t at = (i * 32ULL + __builtin_ctz(bits)) * PAGE;
			size_t len = PAGE;

			if (at < r->gpa || at - r->gpa >= t->len)
				continue;
			if (len > t->len - (at - r->gpa))
				len = t->len - (at - r->gpa);
			memcpy(t->before + (at - r->gpa), r->hva + (at - r->gpa), len);
		}
	}
	return n;
}

/*
 * Switched on while frames go both ways, all of memory copied, marked pages
 * copied again and again, queues stopped, the last ones copied: nothing that
 * the device has written is missing. Then it goes on without a log.
 */
TEST_F_TIMEOUT(log1, migration_under_load, 120)
{
	struct dirty *t = &self->t;
	struct guest *g = &t->g;
	unsigned int round, i;
	uint64_t page, pages;

	ASSERT_EQ(0, dirty_start(t, &small));
	guest_rx_fill(g);
	ASSERT_EQ(0, guest_attach(g, g->tap.fd));
	ASSERT_EQ(0, load_start_both(&t->l, g));
	t->loaded = true;
	pages = (g->mem.region[0].gpa + t->len) / PAGE + 1;
	for (round = 0; round < 6; round++) {
		unsigned int n = 0, last;

		ASSERT_EQ(0, dirty_switch(g, true));
		dirty_snapshot(t);
		for (i = 0; i < 30; i++) {
			ASSERT_EQ(0, load_wait(&t->l, 20));
			n += copy_marked(t);
		}
		EXPECT_GT(n, 30);
		/* the guest's own writes are somebody else's to log */
		ASSERT_EQ(0, guest_detach(g));
		last = copy_marked(t);
		for (page = 0; page < pages; page++)
			EXPECT_FALSE(dirty_changed(t, page)) {
				TH_LOG("round %u: page %#llx is not what was copied",
				       round, (unsigned long long)page);
			}
		/* the queues have stopped: nothing more is marked */
		EXPECT_EQ(0, copy_marked(t));
		TH_LOG("%u pages copied, then %u", n, last);
		ASSERT_EQ(0, dirty_switch(g, false));
		ASSERT_EQ(0, guest_attach(g, g->tap.fd));
		ASSERT_EQ(0, load_wait(&t->l, 20));
		EXPECT_EQ(0, copy_marked(t));
	}
	/* back and forth, as fast as it goes */
	for (round = 0; round < 200; round++)
		ASSERT_EQ(0, dirty_switch(g, round & 1));
	EXPECT_EQ(0, load_stop(&t->l));
	t->loaded = false;
}

/* the eventfd can go, and come back */
TEST_F(log1, eventfd)
{
	struct dirty *t = &self->t;
	struct guest *g = &t->g;
	int none = -1;

	ASSERT_EQ(0, dirty_start(t, &small));
	ASSERT_EQ(0, dirty_switch(g, true));
	guest_rx_fill(g);
	ASSERT_EQ(0, guest_attach(g, g->tap.fd));
	ASSERT_EQ(0, load_check(g));
	EXPECT_EQ(0, efd_wait(t->fd, WATCHDOG_MS));
	ASSERT_EQ(0, vhost_ioctl(g->dev.fd, VHOST_SET_LOG_FD, &none));
	efd_drain(t->fd);
	ASSERT_EQ(0, load_check(g));
	EXPECT_EQ(0, efd_drain(t->fd));
	ASSERT_EQ(0, vhost_ioctl(g->dev.fd, VHOST_SET_LOG_FD, &t->fd));
	ASSERT_EQ(0, load_check(g));
	EXPECT_EQ(0, efd_wait(t->fd, WATCHDOG_MS));
}

TEST_HARNESS_MAIN
