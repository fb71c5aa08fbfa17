// SPDX-License-Identifier: GPL-2.0-only
/*
 * Feature bits: what is offered can be acknowledged, one by one and all together,
 * and nothing else; the calls that take an array of words; what VIRTIO_F_IN_ORDER
 * promises. Whether the offer is the in-tree module's is for install_test.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "variants.h"

#define F_IN_ORDER	F_BIT(35)
#define CANARY		0xc0ffee0ddba11ULL
#define BAD_PTR		((void *)16)

FIXTURE(features)
{
	struct vdev v;
};

FIXTURE_SETUP(features)
{
	ASSERT_EQ(0, vdev_open(&self->v));
}

FIXTURE_TEARDOWN(features)
{
	vdev_close(&self->v);
}

static bool has_array(struct vdev *v)
{
	uint64_t array[] = { 0 };

	return !vdev_get_array(v, array);
}

#define NEED_ARRAY(v) do {						\
	if (!has_array(v))						\
		SKIP(return, "this kernel has no feature arrays");	\
} while (0)

TEST_F(features, case58_each_bit)
{
	uint64_t offered, rest;
	unsigned int i;

	ASSERT_EQ(0, vdev_get_features(&self->v, &offered));
	/* without an IOTLB or a log to go with it, those two are refused or not */
	rest = offered & ~(F_BIT(VHOST_F_LOG_ALL) | F_BIT(VIRTIO_F_ACCESS_PLATFORM));
	EXPECT_EQ(0, vdev_set_features(&self->v, rest));
	for (i = 0; i < 64; i++) {
		if (rest & F_BIT(i)) {
			EXPECT_EQ(0, vdev_set_features(&self->v, F_BIT(i)));
		} else if (!(offered & F_BIT(i))) {
			EXPECT_EQ(-EOPNOTSUPP,
				  vdev_set_features(&self->v, F_BIT(i)));
			EXPECT_EQ(-EOPNOTSUPP,
				  vdev_set_features(&self->v, rest | F_BIT(i)));
		}
	}
	EXPECT_EQ(0, vdev_set_features(&self->v, 0));
}

/* on a kernel without, an unknown call: for the owner, and for nobody */
TEST_F(features, case58_array_unknown)
{
	uint64_t array[] = { 0, 0, 0 };

	if (has_array(&self->v))
		SKIP(return, "this kernel has feature arrays");
	EXPECT_EQ(-EPERM, vdev_get_array(&self->v, array));
	EXPECT_EQ(-EPERM, vdev_set_array(&self->v, array));
	ASSERT_EQ(0, vdev_set_owner(&self->v));
	EXPECT_EQ(-ENOTTY, vdev_get_array(&self->v, array));
	EXPECT_EQ(-ENOTTY, vdev_set_array(&self->v, array));
}

TEST_F(features, case58_get_array)
{
	uint64_t array[8], offered;
	unsigned int count, i;

	NEED_ARRAY(&self->v);
	ASSERT_EQ(0, vdev_get_features(&self->v, &offered));
	for (count = 0; count < ARRAY_LEN(array) - 1; count++) {
		for (i = 0; i < ARRAY_LEN(array); i++)
			array[i] = CANARY;
		array[0] = count;
		ASSERT_EQ(0, vdev_get_array(&self->v, array));
		EXPECT_EQ(count, array[0]);
		if (count > 0)
			EXPECT_EQ(offered, array[1]);
		if (count > 1)
			EXPECT_EQ(F_HIGH_GUEST_TUNNEL | F_HIGH_HOST_TUNNEL, array[2]);
		for (i = 3; i <= count; i++)
			EXPECT_EQ(0, array[i]);
		for (i = count + 1; i < ARRAY_LEN(array); i++)
			EXPECT_EQ(CANARY, array[i]);
	}
}

TEST_F(features, case58_set_array)
{
	uint64_t all[] = { 2, 0, 0 };
	uint64_t array[8] = { };
	unsigned int count, i;

	NEED_ARRAY(&self->v);
	ASSERT_EQ(0, vdev_get_array(&self->v, all));
	all[1] &= ~(F_BIT(VHOST_F_LOG_ALL) | F_BIT(VIRTIO_F_ACCESS_PLATFORM));
	for (count = 0; count < ARRAY_LEN(array) - 1; count++) {
		memset(array, 0, sizeof(array));
		array[0] = count;
		memcpy(array + 1, all + 1, (count < 2 ? count : 2) * 8);
		EXPECT_EQ(0, vdev_set_array(&self->v, array));
		/* a bit in a word behind the array means nothing */
		array[count + 1] = 1;
		EXPECT_EQ(0, vdev_set_array(&self->v, array));
		/* one in any word of it that nobody knows does */
		for (i = 3; i <= count; i++) {
			array[i] = F_BIT(i);
			EXPECT_EQ(-EOPNOTSUPP, vdev_set_array(&self->v, array));
			array[i] = 0;
		}
	}
	array[0] = 2;
	for (i = 64; i < 128; i++) {
		array[1] = 0;
		array[2] = F_BIT(i - 64);
		EXPECT_EQ(all[2] & array[2] ? 0 : -EOPNOTSUPP,
			  vdev_set_array(&self->v, array));
	}
}

TEST_F(features, case58_absurd_count)
{
	static const uint64_t counts[] = {
		1ULL << 32, 1ULL << 60, 1ULL << 61, (1ULL << 61) + 1,
		1ULL << 63, UINT64_MAX,
	};
	long page = sysconf(_SC_PAGESIZE);
	uint64_t *array;
	uint8_t *map;
	unsigned int i;

	NEED_ARRAY(&self->v);
	/* a page of zeros, and behind it nothing */
	map = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, map);
	ASSERT_EQ(0, mprotect(map + page, page, PROT_NONE));
	array = (uint64_t *)(map + page - 8 * sizeof(*array));
	for (i = 0; i < ARRAY_LEN(counts); i++) {
		memset(array, 0, 8 * sizeof(*array));
		array[0] = counts[i];
		EXPECT_EQ(-EFAULT, vdev_get_array(&self->v, array));
		memset(array, 0, 8 * sizeof(*array));
		array[0] = counts[i];
		EXPECT_EQ(-EFAULT, vdev_set_array(&self->v, array));
	}
	/* seven words are there: one more is not */
	memset(array, 0, 8 * sizeof(*array));
	array[0] = 7;
	EXPECT_EQ(0, vdev_set_array(&self->v, array));
	EXPECT_EQ(0, vdev_get_array(&self->v, array));
	memset(array, 0, 8 * sizeof(*array));
	array[0] = 8;
	EXPECT_EQ(-EFAULT, vdev_set_array(&self->v, array));
	EXPECT_EQ(-EFAULT, vdev_get_array(&self->v, array));
	EXPECT_EQ(-EFAULT, vdev_get_array(&self->v, BAD_PTR));
	EXPECT_EQ(-EFAULT, vdev_set_array(&self->v, BAD_PTR));
	munmap(map, 2 * page);
}

FIXTURE(in_order)
{
	struct guest g;
	uint8_t *out, *in;
	const char *unable;
};

FIXTURE_SETUP(in_order)
{
	struct vdev v;
	uint64_t offered = 0;

	memset(&self->g, 0, sizeof(self->g));
	self->out = malloc(FRAME_MAX);
	self->in = malloc(FRAME_MAX);
	ASSERT_NE(NULL, self->out);
	ASSERT_NE(NULL, self->in);
	ASSERT_EQ(0, vdev_open(&v));
	EXPECT_EQ(0, vdev_get_features(&v, &offered));
	vdev_close(&v);
	self->unable = NULL;
	if (!(offered & F_IN_ORDER))
		self->unable = "VIRTIO_F_IN_ORDER is not offered";
	else if (!node_is_vhost_tap())
		self->unable = "heads come from a cursor that a nonzero base moves off";
}

FIXTURE_TEARDOWN(in_order)
{
	if (self->g.dev.fd > 0)
		guest_stop(&self->g);
	free(self->out);
	free(self->in);
}

/* frames in both directions; each chain comes back in its turn */
static void in_order_traffic(struct __test_metadata *_metadata,
			     FIXTURE_DATA(in_order) *self, unsigned int n)
{
	struct guest *g = &self->g;
	struct ring *tx = g->q[VQ_TX].ring;
	static uint64_t seq;
	unsigned int i, k;
	uint32_t token, len;
	uint16_t at;

	while (n--) {
		/* a batch: what was used is looked at where it stands */
		at = tx->last_used;
		for (i = 0; i < 8; i++) {
			frame_make(self->out, seq + i, 100 + i);
			ASSERT_EQ(0, guest_tx(g, NULL, self->out, 100 + i));
		}
		guest_tx_flush(g);
		for (i = 0; i < 8; i++) {
			ASSERT_EQ(100 + i, psock_recv(g->rx_sock, NULL, self->in,
						      FRAME_MAX, WATCHDOG_MS));
			ASSERT_TRUE(frame_check(self->in, seq + i, 100 + i));
		}
		for (i = 0; i < 8; i++) {
			k = (uint16_t)(at + i) & (tx->num - 1);
			ASSERT_EQ(0, ring_wait_used(tx, WATCHDOG_MS));
			ASSERT_EQ(tx->avail->ring[k], tx->used->ring[k].id);
			ASSERT_EQ(1, ring_get_used(tx, &token, &len));
			g->q[VQ_TX].free[g->q[VQ_TX].nfree++] = token;
		}
		for (i = 0; i < 8; i++, seq++) {
			frame_make(self->out, seq, 200);
			ASSERT_EQ(0, psock_send(g->tx_sock, NULL, self->out, 200));
			ASSERT_EQ(200, guest_rx(g, NULL, self->in, FRAME_MAX,
						WATCHDOG_MS));
			ASSERT_TRUE(frame_check(self->in, seq, 200));
			guest_rx_fill(g);
		}
	}
}

/* a driver that begins at a base which is not 0, with a table that it begins at 0 */
TEST_F(in_order, case61_base)
{
	struct guest_cfg c = {
		.features = F_VERSION_1 | F_MRG_RXBUF | F_EVENT_IDX | F_IN_ORDER,
		.num = { 64, 64 },
		.base = { 37, 65500 },
		.buf = { 2048, 2048 },
		.mtu = 1500,
	};

	SKIP_IF_UNABLE();
	START_GUEST(&self->g, &c);
	in_order_traffic(_metadata, self, 30);
}

/* stopped and started again behind chains of several descriptors */
TEST_F(in_order, case61_restart)
{
	struct guest_cfg c = {
		.features = F_VERSION_1 | F_MRG_RXBUF | F_EVENT_IDX | F_IN_ORDER,
		.num = { 64, 64 },
		.buf = { 2048, 2048 },
		.framing = { { 0 }, { .hdr_seg = 12, .seg = 40 } },
		.slots = { 0, 16 },
		.mtu = 1500,
	};
	unsigned int round;
	int base;

	SKIP_IF_UNABLE();
	START_GUEST(&self->g, &c);
	for (round = 0; round < 10; round++) {
		in_order_traffic(_metadata, self, 3);
		ASSERT_EQ(0, guest_detach(&self->g));
		base = vdev_get_base(&self->g.dev, VQ_TX);
		ASSERT_EQ(self->g.q[VQ_TX].ring->last_used, base);
		ASSERT_EQ(0, vdev_set_base(&self->g.dev, VQ_TX, base));
		ASSERT_EQ(0, guest_attach(&self->g, self->g.tap.fd));
	}
}

TEST_HARNESS_MAIN
