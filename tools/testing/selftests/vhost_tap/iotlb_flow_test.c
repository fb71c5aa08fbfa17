// SPDX-License-Identifier: GPL-2.0-only
/*
 * Frames through an IOTLB: a thread answers what the queues miss, a page at a time,
 * while mappings come, go and move. Memory that the device must not use any more
 * is made inaccessible: a stale address breaks the queue.
 */
#include <errno.h>
#include <linux/vhost.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "kselftest_harness.h"
#include "iommu.h"
#include "load.h"
#include "traffic.h"
#include "variants.h"

#define DELTA	0x7000000000ULL

FIXTURE(flow)
{
	struct guest g;
	struct iommu m;
	struct load l;
	bool loaded;
};

FIXTURE_VARIANT(flow)
{
	uint64_t features;
	bool indirect;
	bool v2;
};

FIXTURE_VARIANT_ADD(flow, modern) { .features = F_MODERN, .v2 = true };
FIXTURE_VARIANT_ADD(flow, indirect) { .features = F_MODERN, .indirect = true };
FIXTURE_VARIANT_ADD(flow, plain) { .features = F_VERSION_1, .v2 = true };

FIXTURE_SETUP(flow)
{
	memset(&self->g, 0, sizeof(self->g));
	memset(&self->m, 0, sizeof(self->m));
	self->loaded = false;
	ASSERT_EQ(0, netns_private());
}

FIXTURE_TEARDOWN(flow)
{
	if (self->loaded)
		load_abandon(&self->l);
	iommu_stop(&self->m);
	if (self->g.dev.fd > 0)
		guest_stop(&self->g);
}

/* a guest behind an IOMMU, with its used rings mapped and a backend */
static int start(struct guest *g, struct iommu *m, uint64_t features, bool indirect,
		 bool thread)
{
	struct guest_cfg c = {
		.features = features | F_IOMMU,
		/* 2048 bytes: two frames a page, and none across */
		.buf = { 3001, 2048 },
		.indirect = { indirect, indirect },
		.iova_delta = DELTA,
		.shared_mem = true,
		.no_backend = true,
	};
	uint64_t bits = m->v2 ? 1ULL << VHOST_BACKEND_F_IOTLB_MSG_V2 : 0;
	int err;

	err = guest_start(g, &c);
	if (err)
		return err;
	m->g = g;
	if (thread)
		err = iommu_start(m, g);
	else
		err = vhost_ioctl(g->dev.fd, VHOST_SET_BACKEND_FEATURES, &bits);
	if (!err)
		err = iommu_map_used(m);
	if (err)
		return err;
	guest_rx_fill(g);
	return guest_attach(g, g->tap.fd);
}

TEST_F_TIMEOUT(flow, both_ways, 60)
{
	self->m.v2 = variant->v2;
	ASSERT_EQ(0, start(&self->g, &self->m, variant->features, variant->indirect, true));
	ASSERT_EQ(0, load_check(&self->g));
	ASSERT_EQ(0, load_start_both(&self->l, &self->g));
	self->loaded = true;
	ASSERT_EQ(0, load_wait(&self->l, 3000));
	EXPECT_EQ(0, load_stop(&self->l));
	self->loaded = false;
	EXPECT_LT(10, iommu_misses(&self->m));
	EXPECT_EQ(0, iommu_stop(&self->m));
}

/* the same memory, mapped once more */
static void *alias_of(struct guest *g)
{
	const struct gmem_region *r = &g->mem.region[0];
	void *p = mremap(r->hva, 0, r->size, MREMAP_MAYMOVE);

	return p == MAP_FAILED ? NULL : p;
}

/* all that is moved works there, and what was there before is used no more */
TEST_F_TIMEOUT(flow, moved_under_load, 60)
{
	const struct gmem_region *r;
	uint8_t *alias[2];
	unsigned int round;

	self->m.v2 = variant->v2;
	/* the driver's own mapping is never taken away */
	ASSERT_EQ(0, start(&self->g, &self->m, variant->features, variant->indirect, true));
	r = &self->g.mem.region[0];
	alias[0] = alias_of(&self->g);
	alias[1] = alias_of(&self->g);
	ASSERT_NE(NULL, alias[0]);
	ASSERT_NE(NULL, alias[1]);
	ASSERT_EQ(0, load_start_both(&self->l, &self->g));
	self->loaded = true;
	for (round = 0; round < 60; round++) {
		uint8_t *now = alias[round & 1], *then = alias[!(round & 1)];

		ASSERT_EQ(0, mprotect(now, r->size, PROT_READ | PROT_WRITE));
		ASSERT_EQ(0, iommu_move(&self->m, now - r->hva));
		ASSERT_EQ(0, mprotect(then, r->size, PROT_NONE));
		ASSERT_EQ(0, load_wait(&self->l, round % 3 ? 20 : 300)) {
			TH_LOG("round %u", round);
		}
	}
	EXPECT_EQ(0, load_stop(&self->l));
	self->loaded = false;
	EXPECT_EQ(0, iommu_stop(&self->m));
	munmap(alias[0], r->size);
	munmap(alias[1], r->size);
}

/* single pages come and go; the others stay */
TEST_F_TIMEOUT(flow, pages_come_and_go, 60)
{
	struct rng rng = { .s = 12 };
	const struct gmem_region *r;
	unsigned int round;

	self->m.v2 = variant->v2;
	ASSERT_EQ(0, start(&self->g, &self->m, variant->features, variant->indirect, true));
	r = &self->g.mem.region[0];
	ASSERT_EQ(0, load_start_both(&self->l, &self->g));
	self->loaded = true;
	for (round = 0; round < 2000; round++) {
		uint64_t page = r->gpa + (uint64_t)rng_below(&rng, r->used / 4096) * 4096;

		pthread_mutex_lock(&self->m.lock);
		EXPECT_EQ(0, iotlb_invalidate(self->g.dev.fd, variant->v2, page, 4096));
		pthread_mutex_unlock(&self->m.lock);
		if (round % 100 == 0)
			ASSERT_EQ(0, load_wait(&self->l, 50)) {
				TH_LOG("round %u", round);
			}
	}
	EXPECT_EQ(0, load_stop(&self->l));
	self->loaded = false;
	EXPECT_EQ(0, iommu_stop(&self->m));
}

/* ------- what needs no variant ------- */

FIXTURE(flow1)
{
	struct guest g;
	struct iommu m;
	struct load l;
	bool loaded;
	struct frame_bufs *b;
};

FIXTURE_SETUP(flow1)
{
	memset(&self->g, 0, sizeof(self->g));
	memset(&self->m, 0, sizeof(self->m));
	self->m.v2 = true;
	self->loaded = false;
	self->b = malloc(sizeof(*self->b));
	ASSERT_NE(NULL, self->b);
	ASSERT_EQ(0, netns_private());
}

FIXTURE_TEARDOWN(flow1)
{
	if (self->loaded)
		load_abandon(&self->l);
	iommu_stop(&self->m);
	if (self->g.dev.fd > 0)
		guest_stop(&self->g);
	free(self->b);
}

static int map(struct guest *g, uint64_t iova, uint64_t len, uint8_t perm)
{
	uint64_t from = iova / 4096 * 4096, to = (iova + len + 4095) / 4096 * 4096;

	return iotlb_update(g->dev.fd, true, from, to - from, gmem_hva(&g->mem, from), perm);
}

/* rings, as the device needs them at least */
static int map_ring(struct guest *g, unsigned int idx)
{
	const struct ring *r = &g->dev.ring[idx];
	uint64_t avail = r->desc_gpa + ((uint8_t *)r->avail - (uint8_t *)r->desc);
	uint64_t used = r->desc_gpa + ((uint8_t *)r->used - (uint8_t *)r->desc);
	int err;

	err = map(g, r->desc_gpa, r->num * 16, VHOST_ACCESS_RO);
	if (!err)
		err = map(g, avail, 6 + r->num * 2, VHOST_ACCESS_RO);
	/* in-tree vhost_net reads the used index when it starts */
	return err ? err : map(g, used, 6 + r->num * 8, VHOST_ACCESS_RW);
}

static int map_bufs(struct guest *g, unsigned int idx, uint8_t perm)
{
	const struct guest_q *q = &g->q[idx];

	return map(g, q->buf_gpa, (uint64_t)q->slots * q->stride, perm);
}

/* a queue that may not do what it has to stops, and says so; the other one works */
TEST_F(flow1, permissions)
{
	static const uint8_t wrong[2] = { VHOST_ACCESS_RO, VHOST_ACCESS_WO };
	struct ring *r;
	unsigned int idx;

	for (idx = 0; idx < 2; idx++) {
		struct guest *g = &self->g;

		ASSERT_EQ(0, start(g, &self->m, F_MODERN, false, false));
		ASSERT_EQ(0, map_ring(g, VQ_RX));
		ASSERT_EQ(0, map_ring(g, VQ_TX));
		/* enough is enough: nothing beyond what each needs */
		ASSERT_EQ(0, map_bufs(g, VQ_RX, VHOST_ACCESS_WO));
		ASSERT_EQ(0, map_bufs(g, VQ_TX, VHOST_ACCESS_RO));
		ASSERT_EQ(0, load_check(g));

		ASSERT_EQ(0, map_bufs(g, idx, wrong[idx]));
		r = g->q[idx].ring;
		frame_make(self->b->out, 7, 100);
		if (idx == VQ_RX) {
			guest_rx_fill(g);
			ASSERT_EQ(0, psock_send(g->tx_sock, NULL, self->b->out, 100));
		} else {
			ASSERT_EQ(0, guest_tx(g, NULL, self->b->out, 100));
			guest_tx_flush(g);
		}
		EXPECT_EQ(0, efd_wait(r->err_fd, WATCHDOG_MS));
		EXPECT_FALSE(ring_used_pending(r));
		if (idx == VQ_RX) {
			ASSERT_EQ(0, guest_tx(g, NULL, self->b->out, 100));
			ASSERT_EQ(0, guest_tx_sync(g));
			EXPECT_EQ(0, host_expect(g, self->b, 7, 100));
		} else {
			ASSERT_EQ(0, psock_send(g->tx_sock, NULL, self->b->out, 100));
			EXPECT_EQ(0, guest_expect(g, self->b, 7, 100));
		}
		guest_stop(g);
		g->dev.fd = -1;
	}
}

/*
 * A frame that misses waits; nothing of it, nor of what is behind it, is lost or goes
 * out of order (I2), and there is one question for it however often it is kicked for.
 */
TEST_F(flow1, waits_for_the_answer)
{
	struct guest *g = &self->g;
	struct vhost_iotlb_msg miss;
	unsigned int i;

	ASSERT_EQ(0, start(g, &self->m, F_MODERN, false, false));
	ASSERT_EQ(0, map_ring(g, VQ_RX));
	ASSERT_EQ(0, map_ring(g, VQ_TX));
	ASSERT_EQ(0, map_bufs(g, VQ_RX, VHOST_ACCESS_RW));
	for (i = 0; i < 10; i++) {
		frame_make(self->b->out, i, 100);
		ASSERT_EQ(0, guest_tx(g, NULL, self->b->out, 100));
		guest_tx_flush(g);
	}
	ASSERT_EQ(0, iotlb_read(g->dev.fd, true, &miss, WATCHDOG_MS));
	EXPECT_EQ(g->q[VQ_TX].buf_gpa, miss.iova);
	EXPECT_EQ(VHOST_ACCESS_RO, miss.perm);
	for (i = 0; i < 100; i++)
		ring_force_kick(g->q[VQ_TX].ring);
	/* what passes the other queue afterwards passes the kicks */
	for (i = 0; i < 3; i++) {
		frame_make(self->b->out, i, 100);
		ASSERT_EQ(0, psock_send(g->tx_sock, NULL, self->b->out, 100));
		ASSERT_EQ(0, guest_expect(g, self->b, i, 100));
	}
	EXPECT_FALSE(ring_used_pending(g->q[VQ_TX].ring));
	if (node_is_vhost_tap())
		EXPECT_EQ(0, fd_wait(g->dev.fd, POLLIN, 0));
	/* somebody else's address is no answer */
	ASSERT_EQ(0, iotlb_update(g->dev.fd, true, 0, 4096, self->b, VHOST_ACCESS_RO));
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, psock_send(g->tx_sock, NULL, self->b->out, 100));
		ASSERT_EQ(0, guest_expect(g, self->b, 2, 100));
	}
	EXPECT_FALSE(ring_used_pending(g->q[VQ_TX].ring));
	/* no kick, the answer alone */
	ASSERT_EQ(0, map_bufs(g, VQ_TX, VHOST_ACCESS_RO));
	for (i = 0; i < 10; i++)
		EXPECT_EQ(0, host_expect(g, self->b, i, 100));
}

/* stopped while it waits: at once, with the base in front of what it waited for */
TEST_F(flow1, stopped_while_missing)
{
	struct guest *g = &self->g;
	struct vhost_iotlb_msg miss;
	unsigned int i;

	ASSERT_EQ(0, start(g, &self->m, F_MODERN, false, false));
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, map_ring(g, i));
	for (i = 0; i < 10; i++) {
		frame_make(self->b->out, i, 100);
		ASSERT_EQ(0, guest_tx(g, NULL, self->b->out, 100));
		guest_tx_flush(g);
		ASSERT_EQ(0, psock_send(g->tx_sock, NULL, self->b->out, 100));
	}
	/* TX and RX, in whatever order */
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, iotlb_read(g->dev.fd, true, &miss, WATCHDOG_MS));
		EXPECT_TRUE(miss.perm == VHOST_ACCESS_RO || miss.perm == VHOST_ACCESS_WO);
	}
	ASSERT_EQ(0, guest_detach(g));
	EXPECT_EQ(0, vdev_get_base(&g->dev, VQ_TX));
	EXPECT_EQ(0, vdev_get_base(&g->dev, VQ_RX));
	EXPECT_FALSE(ring_used_pending(g->q[VQ_TX].ring));
	EXPECT_FALSE(ring_used_pending(g->q[VQ_RX].ring));
	/* nobody asks for a queue that is stopped */
	EXPECT_EQ(0, fd_wait(g->dev.fd, POLLIN, 0));

	ASSERT_EQ(0, map_bufs(g, VQ_TX, VHOST_ACCESS_RO));
	ASSERT_EQ(0, map_bufs(g, VQ_RX, VHOST_ACCESS_WO));
	ASSERT_EQ(0, guest_attach(g, g->tap.fd));
	for (i = 0; i < 10; i++) {
		EXPECT_EQ(0, host_expect(g, self->b, i, 100));
		EXPECT_EQ(0, guest_expect(g, self->b, i, 100));
	}
	ASSERT_EQ(0, guest_tx_sync(g));
	EXPECT_EQ(0, load_check(g));
}

/* the rings under other addresses, while frames go both ways */
TEST_F_TIMEOUT(flow1, rings_moved_under_load, 60)
{
	struct guest *g = &self->g;
	unsigned int round, i;

	SKIP_IN_TREE("a queue that waits for the old place is not woken");
	ASSERT_EQ(0, start(g, &self->m, F_MODERN, false, true));
	ASSERT_EQ(0, load_start_both(&self->l, g));
	self->loaded = true;
	for (round = 0; round < 100; round++) {
		for (i = 0; i < 2; i++) {
			struct vhost_vring_addr a = { .index = i };

			vdev_ring_addr(&g->dev, &g->dev.ring[i], &a);
			if (round & 1) {
				a.desc_user_addr |= IOMMU_MOVED;
				a.avail_user_addr |= IOMMU_MOVED;
				a.used_user_addr |= IOMMU_MOVED;
			}
			ASSERT_EQ(0, vhost_ioctl(g->dev.fd, VHOST_SET_VRING_ADDR, &a));
			/* what is not used any more is not needed either */
			pthread_mutex_lock(&self->m.lock);
			EXPECT_EQ(0, iotlb_invalidate(g->dev.fd, true,
						      (round & 1 ? 0 : IOMMU_MOVED) +
						      g->dev.ring[i].desc_gpa, 4096));
			pthread_mutex_unlock(&self->m.lock);
		}
		ASSERT_EQ(0, load_wait(&self->l, 20)) {
			TH_LOG("round %u", round);
		}
	}
	EXPECT_EQ(0, load_stop(&self->l));
	self->loaded = false;
	EXPECT_EQ(0, iommu_stop(&self->m));
}

/* SET_FEATURES anew forgets all mappings, as when a migration begins; frames go on */
TEST_F_TIMEOUT(flow1, features_again_under_load, 60)
{
	struct guest *g = &self->g;
	unsigned int round;

	ASSERT_EQ(0, start(g, &self->m, F_MODERN, false, true));
	ASSERT_EQ(0, load_start_both(&self->l, g));
	self->loaded = true;
	for (round = 0; round < 30; round++) {
		ASSERT_EQ(0, vdev_set_features(&g->dev, g->cfg.features));
		ASSERT_EQ(0, load_wait(&self->l, 50)) {
			TH_LOG("round %u", round);
		}
	}
	EXPECT_EQ(0, load_stop(&self->l));
	self->loaded = false;
	EXPECT_EQ(0, iommu_stop(&self->m));
}

TEST_HARNESS_MAIN
