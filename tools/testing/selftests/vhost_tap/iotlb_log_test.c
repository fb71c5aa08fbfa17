// SPDX-License-Identifier: GPL-2.0-only
/*
 * The dirty log behind an IOTLB: pages are marked by guest-physical address,
 * whatever I/O virtual address they were written under, and no others are.
 */
#include <errno.h>
#include <string.h>

#include "kselftest_harness.h"
#include "dirty.h"
#include "iommu.h"
#include "variants.h"

/* beyond the end of the bitmap: who took it for a guest-physical one would fail */
#define DELTA	0x7000000000ULL

FIXTURE(iolog)
{
	struct dirty t;
	struct iommu m;
};

FIXTURE_VARIANT(iolog)
{
	uint64_t features;
	bool indirect;
};

ADD_FEATURE_VARIANTS(iolog);

FIXTURE_SETUP(iolog)
{
	memset(&self->m, 0, sizeof(self->m));
	self->m.v2 = true;
	ASSERT_EQ(0, dirty_setup(&self->t));
}

FIXTURE_TEARDOWN(iolog)
{
	iommu_stop(&self->m);
	dirty_teardown(&self->t);
}

TEST_F_TIMEOUT(iolog, case42_by_guest_address, 60)
{
	struct guest_cfg c = {
		.features = variant->features | F_IOMMU,
		.num = { 256, 256 },
		.base = { 0xffe0, 0xfff8 },
		.buf = { 5001, 2048 },
		.slots = { 30, 0 },
		.indirect = { variant->indirect, variant->indirect },
		.framing = { { .hdr_seg = 7, .seg = 1009 } },
		.iova_delta = DELTA,
	};
	bool mrg = variant->features & F_MRG_RXBUF;
	struct dirty *t = &self->t;
	struct guest *g = &t->g;
	unsigned int round, k;
	uint8_t frame[20000];

	ASSERT_EQ(0, dirty_start(t, &c));
	ASSERT_EQ(0, iommu_start(&self->m, g));
	ASSERT_EQ(0, dirty_switch(g, true));
	for (round = 0; round < 10; round++) {
		guest_rx_fill(g);
		dirty_snapshot(t);
		ASSERT_EQ(0, iommu_map_used(&self->m));
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
	EXPECT_EQ(0, iommu_stop(&self->m));
}

/* on and off while frames go both ways: each SET_FEATURES begins with no mapping */
TEST_F_TIMEOUT(iolog, on_and_off, 60)
{
	struct guest_cfg c = {
		.features = variant->features | F_IOMMU,
		.buf = { 2048, 2048 },
		.indirect = { variant->indirect, variant->indirect },
		.iova_delta = DELTA,
	};
	struct dirty *t = &self->t;
	struct guest *g = &t->g;
	unsigned int round;

	ASSERT_EQ(0, dirty_start(t, &c));
	ASSERT_EQ(0, iommu_start(&self->m, g));
	guest_rx_fill(g);
	ASSERT_EQ(0, iommu_map_used(&self->m));
	ASSERT_EQ(0, guest_attach(g, g->tap.fd));
	for (round = 0; round < 3; round++) {
		dirty_snapshot(t);
		ASSERT_EQ(0, load_check(g));
		EXPECT_EQ(0, memcmp(t->bitmap, t->want, LOG_SIZE));
		ASSERT_EQ(0, dirty_switch(g, true));
		ASSERT_EQ(0, load_check(g));
		EXPECT_EQ(0, efd_wait(t->fd, WATCHDOG_MS));
		EXPECT_NE(0, memcmp(t->bitmap, t->want, LOG_SIZE));
		ASSERT_EQ(0, dirty_switch(g, false));
		/* marks that were due are made when the queue is at rest */
		ASSERT_EQ(0, guest_detach(g));
		efd_drain(t->fd);
		ASSERT_EQ(0, iommu_map_used(&self->m));
		ASSERT_EQ(0, guest_attach(g, g->tap.fd));
	}
	EXPECT_EQ(0, iommu_stop(&self->m));
}

TEST_HARNESS_MAIN
