// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages of the IOTLB, one by one: what is offered, what a write answers, and
 * when the node can be read. Rings that are set up here never carry a frame.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/vhost.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "env.h"
#include "iommu.h"
#include "variants.h"

#define DELTA	0x7000000000ULL

FIXTURE(iotlb)
{
	struct vdev v;
	uint8_t *p;	/* two pages that can be mapped */
};

FIXTURE_SETUP(iotlb)
{
	ASSERT_EQ(0, vdev_open(&self->v));
	ASSERT_EQ(0, vdev_set_owner(&self->v));
	self->p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, (void *)self->p);
}

FIXTURE_TEARDOWN(iotlb)
{
	vdev_close(&self->v);
	munmap(self->p, 8192);
}

TEST_F(iotlb, features)
{
	struct vdev *v = &self->v;
	uint64_t f = 0, v2 = 1ULL << VHOST_BACKEND_F_IOTLB_MSG_V2;

	ASSERT_EQ(0, vdev_get_features(v, &f));
	EXPECT_NE(0, f & F_IOMMU);
	f = 0;
	ASSERT_EQ(0, vhost_ioctl(v->fd, VHOST_GET_BACKEND_FEATURES, &f));
	EXPECT_NE(0, f & v2);
	EXPECT_EQ(0, vhost_ioctl(v->fd, VHOST_SET_BACKEND_FEATURES, &v2));

	/* there is a table exactly while the feature is on; each time an empty one */
	EXPECT_EQ(-EFAULT, iotlb_update(v->fd, true, 0, 4096, self->p, VHOST_ACCESS_RW));
	EXPECT_EQ(-EFAULT, iotlb_invalidate(v->fd, true, 0, 4096));
	ASSERT_EQ(0, vdev_set_features(v, F_IOMMU));
	EXPECT_EQ(0, iotlb_update(v->fd, true, 0, 4096, self->p, VHOST_ACCESS_RW));
	ASSERT_EQ(0, vdev_set_features(v, F_IOMMU));
	EXPECT_EQ(0, iotlb_update(v->fd, true, 0, 4096, self->p, VHOST_ACCESS_RW));
	ASSERT_EQ(0, vdev_set_features(v, F_MODERN));
	EXPECT_EQ(-EFAULT, iotlb_update(v->fd, true, 0, 4096, self->p, VHOST_ACCESS_RW));
	ASSERT_EQ(0, vdev_set_features(v, F_IOMMU | F_MODERN));
	EXPECT_EQ(0, iotlb_update(v->fd, true, 0, 4096, self->p, VHOST_ACCESS_RW));
	ASSERT_EQ(0, vdev_reset_owner(v));
	EXPECT_EQ(-EFAULT, iotlb_update(v->fd, true, 0, 4096, self->p, VHOST_ACCESS_RW));
}

TEST_F(iotlb, case10_messages)
{
	struct vhost_iotlb_msg m = { .iova = 0x1000, .size = 0x1000, .perm = VHOST_ACCESS_RW };
	const uint64_t end = ~0ULL;
	int fd = self->v.fd;
	unsigned int v2, i;

	ASSERT_EQ(0, vdev_set_features(&self->v, F_IOMMU));
	m.uaddr = (uintptr_t)self->p;
	for (v2 = 0; v2 < 2; v2++) {
		for (i = 0; i < 256; i++) {
			m.type = i;
			EXPECT_EQ(i == VHOST_IOTLB_UPDATE || i == VHOST_IOTLB_INVALIDATE ?
				  0 : -EFAULT, iotlb_write(fd, v2, &m)) {
				TH_LOG("version %u, type %u", v2 + 1, i);
			}
		}
		EXPECT_EQ(-EINVAL, iotlb_update(fd, v2, 0, 0, self->p, VHOST_ACCESS_RW));
		EXPECT_EQ(-EINVAL, iotlb_update(fd, v2, 0x1000, 0, self->p, VHOST_ACCESS_RW));
		/* ranges that wrap, here and there */
		EXPECT_EQ(-EFAULT, iotlb_update(fd, v2, end, 2, self->p, VHOST_ACCESS_RW));
		EXPECT_EQ(-EFAULT, iotlb_update(fd, v2, 1, end, (void *)1, VHOST_ACCESS_RW));
		EXPECT_EQ(-EFAULT, iotlb_update(fd, v2, 0x1000, 0x1000, (void *)(end - 0xffe), 0));
		EXPECT_EQ(-EFAULT, iotlb_update(fd, v2, 0x1000, 0x1000, (void *)(end - 0xfff),
						VHOST_ACCESS_RO));
		EXPECT_EQ(-EFAULT, iotlb_update(fd, v2, 0x1000, 0x1000, (void *)(end - 0xfff),
						VHOST_ACCESS_WO));
		/* the end of the address space is no wrap (case 13) */
		EXPECT_EQ(0, iotlb_update(fd, v2, end, 1, self->p, VHOST_ACCESS_RW));
		EXPECT_EQ(0, iotlb_update(fd, v2, end - 0xfff, 0x1000, self->p, VHOST_ACCESS_RW));
		EXPECT_EQ(0, iotlb_invalidate(fd, v2, end - 0xfff, 0x1000));
	}
}

TEST_F(iotlb, case14_split_and_cut)
{
	const struct vhost_iotlb_msg m = {
		.iova = 0x1000, .size = 0x1000, .uaddr = (uintptr_t)self->p,
		.perm = VHOST_ACCESS_RW, .type = VHOST_IOTLB_UPDATE,
	};
	uint8_t bytes[IOTLB_MSG_SIZE];
	unsigned int v2, len;
	int fd = self->v.fd;

	ASSERT_EQ(0, vdev_set_features(&self->v, F_IOMMU));
	for (v2 = 0; v2 < 2; v2++) {
		iotlb_msg(bytes, v2, &m);
		for (len = 0; len < IOTLB_MSG_BYTES; len++) {
			errno = 0;
			EXPECT_EQ(-1, write(fd, bytes, len));
			EXPECT_EQ(EINVAL, errno);
		}
		for (len = 0; len <= sizeof(bytes); len++) {
			struct iovec iov[3] = {
				{ bytes, len / 2 },
				{ bytes + len / 2, len - len / 2 },
				{ bytes + len, sizeof(bytes) - len },
			};

			EXPECT_EQ(sizeof(bytes), writev(fd, iov, 3));
		}
		bytes[0] = 0x77;
		EXPECT_EQ(-1, write(fd, bytes, sizeof(bytes)));
		EXPECT_EQ(EINVAL, errno);
		EXPECT_EQ(-1, write(fd, (void *)8, sizeof(bytes)));
		EXPECT_EQ(EINVAL, errno);
	}
}

/* ------- misses ------- */

FIXTURE(miss)
{
	struct guest g;
	struct iommu m;
};

FIXTURE_VARIANT(miss)
{
	bool v2;
};

FIXTURE_VARIANT_ADD(miss, v1) { .v2 = false };
FIXTURE_VARIANT_ADD(miss, v2) { .v2 = true };

FIXTURE_SETUP(miss)
{
	struct guest_cfg c = {
		.features = F_MODERN | F_IOMMU,
		.buf = { 2048, 2048 },
		.iova_delta = DELTA,
		.no_backend = true,
	};
	uint64_t bits = variant->v2 ? 1ULL << VHOST_BACKEND_F_IOTLB_MSG_V2 : 0;

	memset(&self->m, 0, sizeof(self->m));
	START_GUEST(&self->g, &c);
	self->m.g = &self->g;
	self->m.v2 = variant->v2;
	pthread_mutex_init(&self->m.lock, NULL);
	ASSERT_EQ(0, vhost_ioctl(self->g.dev.fd, VHOST_SET_BACKEND_FEATURES, &bits));
}

FIXTURE_TEARDOWN(miss)
{
	guest_stop(&self->g);
}

/* have TX miss its descriptor table: the first thing it looks at */
static int provoke(struct guest *g, struct iommu *m)
{
	int err = iommu_map_used(m);

	if (!err)
		err = vdev_set_backend(&g->dev, VQ_TX, g->tap.fd);
	if (!err)
		ring_force_kick(g->q[VQ_TX].ring);
	return err;
}

TEST_F(miss, case6_used_ring_first)
{
	struct guest *g = &self->g;
	struct vhost_iotlb_msg miss;
	const struct ring *r = g->q[VQ_TX].ring;

	/* a queue starts only where its used ring is mapped, and says what it lacks */
	EXPECT_EQ(-EFAULT, vdev_set_backend(&g->dev, VQ_TX, g->tap.fd));
	ASSERT_EQ(0, iotlb_read(g->dev.fd, variant->v2, &miss, WATCHDOG_MS));
	EXPECT_EQ(r->desc_gpa + ((uint8_t *)r->used - (uint8_t *)r->desc), miss.iova);
	EXPECT_EQ(VHOST_IOTLB_MISS, miss.type);

	ASSERT_EQ(0, provoke(g, &self->m));
	ASSERT_EQ(0, iotlb_read(g->dev.fd, variant->v2, &miss, WATCHDOG_MS));
	EXPECT_EQ(r->desc_gpa, miss.iova);
	EXPECT_EQ(VHOST_ACCESS_RO, miss.perm);
	EXPECT_EQ(VHOST_IOTLB_MISS, miss.type);
}

TEST_F(miss, case14_read)
{
	struct guest *g = &self->g;
	struct vhost_iotlb_msg miss;
	uint8_t bytes[IOTLB_MSG_SIZE + 8];
	int fd = g->dev.fd;

	fcntl(fd, F_SETFL, O_RDWR | O_NONBLOCK);
	EXPECT_EQ(0, fd_wait(fd, POLLIN, 0));
	EXPECT_EQ(-1, read(fd, bytes, sizeof(bytes)));
	EXPECT_EQ(EAGAIN, errno);
	EXPECT_EQ(0, read(fd, bytes, IOTLB_MSG_SIZE - 1));

	ASSERT_EQ(0, provoke(g, &self->m));
	ASSERT_EQ(1, fd_wait(fd, POLLIN, WATCHDOG_MS));
	/* too short: nothing, and the message stays */
	EXPECT_EQ(0, read(fd, bytes, IOTLB_MSG_SIZE - 1));
	EXPECT_EQ(0, read(fd, bytes, 0));
	if (node_is_vhost_tap()) {
		/* in-tree vhost_net loses it */
		EXPECT_EQ(-1, read(fd, (void *)8, IOTLB_MSG_SIZE));
		EXPECT_EQ(EFAULT, errno);
	}
	ASSERT_EQ(0, iotlb_read(fd, variant->v2, &miss, WATCHDOG_MS));
	EXPECT_EQ(g->q[VQ_TX].ring->desc_gpa, miss.iova);
}

/* one question a queue, however often it runs */
TEST_F(miss, one_a_queue)
{
	struct guest *g = &self->g;
	struct ring *r = g->q[VQ_TX].ring;
	struct vhost_iotlb_msg miss;
	unsigned int i;

	SKIP_IN_TREE("a message for each run");
	ASSERT_EQ(0, provoke(g, &self->m));
	ASSERT_EQ(0, iotlb_read(g->dev.fd, variant->v2, &miss, WATCHDOG_MS));
	for (i = 0; i < 100; i++)
		ring_force_kick(r);
	/* has the worker run since? stopping waits for it */
	ASSERT_EQ(0, vdev_set_kick(&g->dev, VQ_TX, -1));
	EXPECT_EQ(0, fd_wait(g->dev.fd, POLLIN, 0));
	ASSERT_EQ(0, vdev_set_kick(&g->dev, VQ_TX, r->kick_fd));
	/* answered, and taken away again: asked for anew */
	ASSERT_EQ(0, iotlb_update(g->dev.fd, variant->v2, miss.iova, 4096, r->desc,
				  VHOST_ACCESS_RO));
	ASSERT_EQ(0, iotlb_read(g->dev.fd, variant->v2, &miss, WATCHDOG_MS));
	EXPECT_EQ(r->desc_gpa + 4096, miss.iova);
	ASSERT_EQ(0, iotlb_invalidate(g->dev.fd, variant->v2, r->desc_gpa, 4096));
	ring_force_kick(r);
	ASSERT_EQ(0, iotlb_read(g->dev.fd, variant->v2, &miss, WATCHDOG_MS));
	EXPECT_EQ(r->desc_gpa, miss.iova);
}

static uint64_t used_iova(const struct ring *r)
{
	return r->desc_gpa + ((uint8_t *)r->used - (uint8_t *)r->desc);
}

/* does a queue that starts find its used ring? */
static bool mapped(struct guest *g)
{
	int err = vdev_set_backend(&g->dev, VQ_TX, g->tap.fd);

	vdev_set_backend(&g->dev, VQ_TX, -1);
	return !err;
}

TEST_F(miss, case11_invalidate)
{
	struct guest *g = &self->g;
	uint64_t iova = used_iova(g->q[VQ_TX].ring);
	int fd = g->dev.fd;

	ASSERT_FALSE(mapped(g));
	ASSERT_EQ(0, iommu_map_used(&self->m));
	ASSERT_TRUE(mapped(g));
	/* neighbours only */
	EXPECT_EQ(0, iotlb_invalidate(fd, variant->v2, iova - 4096, 4096));
	EXPECT_EQ(0, iotlb_invalidate(fd, variant->v2, iova + 4096, ~0ULL - (iova + 4096)));
	EXPECT_TRUE(mapped(g));
	/* exactly it */
	EXPECT_EQ(0, iotlb_invalidate(fd, variant->v2, iova, 4096));
	EXPECT_FALSE(mapped(g));
	ASSERT_EQ(0, iommu_map_used(&self->m));
	ASSERT_TRUE(mapped(g));
	/* a byte of it */
	EXPECT_EQ(0, iotlb_invalidate(fd, variant->v2, iova + 4095, 1));
	EXPECT_FALSE(mapped(g));
	ASSERT_EQ(0, iommu_map_used(&self->m));
	/* everything; in-tree 7.3 refuses this way to say it */
	ASSERT_TRUE(mapped(g));
	if (iotlb_invalidate(fd, variant->v2, 0, 0) == -EFAULT && !node_is_vhost_tap())
		SKIP(return, "in-tree vhost_net refuses it");
	EXPECT_FALSE(mapped(g));
}

TEST_F(miss, case12_oldest_goes)
{
	const char *param = node_is_vhost_tap() ?
		"/sys/module/vhost_tap/parameters/max_iotlb_entries" :
		"/sys/module/vhost/parameters/max_iotlb_entries";
	struct guest *g = &self->g;
	long i, limit = file_read_long(param);
	uint64_t n = env_volume(200000);
	int fd = g->dev.fd;

	ASSERT_LT(16, limit);
	ASSERT_EQ(0, iommu_map_used(&self->m));
	/* it is the oldest one now */
	for (i = 0; i < limit - 8; i++)
		ASSERT_EQ(0, iotlb_update(fd, variant->v2, i * 4096, 4096, self, VHOST_ACCESS_RO));
	EXPECT_TRUE(mapped(g));
	for (i = 0; i < n; i++)
		ASSERT_EQ(0, iotlb_update(fd, variant->v2, (limit + i) * 4096, 4096, self,
					  VHOST_ACCESS_RO));
	EXPECT_FALSE(mapped(g));
	ASSERT_EQ(0, iommu_map_used(&self->m));
	EXPECT_TRUE(mapped(g));
}

struct reader {
	int fd;
	ssize_t n;
	int err;
	pid_t tid;
	uint8_t bytes[IOTLB_MSG_SIZE];
};

static void *reader_thread(void *arg)
{
	struct reader *r = arg;

	__atomic_store_n(&r->tid, gettid(), __ATOMIC_RELEASE);
	r->n = read(r->fd, r->bytes, sizeof(r->bytes));
	r->err = r->n < 0 ? errno : 0;
	return NULL;
}

static bool sleeps(struct reader *r)
{
	return wait_until(__atomic_load_n(&r->tid, __ATOMIC_ACQUIRE) &&
			  task_state(r->tid) == 'S');
}

/* a reader that waits gets what comes, and does not stand in the way of ioctls */
TEST_F(miss, blocking_read)
{
	struct guest *g = &self->g;
	struct reader r = { .fd = g->dev.fd };
	pthread_t thread;

	ASSERT_EQ(0, pthread_create(&thread, NULL, reader_thread, &r));
	ASSERT_TRUE(sleeps(&r));
	ASSERT_EQ(0, provoke(g, &self->m));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(IOTLB_MSG_SIZE, r.n);

	/* without an IOTLB there is nothing to wait for */
	r.tid = 0;
	ASSERT_EQ(0, pthread_create(&thread, NULL, reader_thread, &r));
	ASSERT_TRUE(sleeps(&r));
	ASSERT_EQ(0, vdev_set_features(&g->dev, F_MODERN));
	ASSERT_EQ(0, pthread_join(thread, NULL));
	EXPECT_EQ(-1, r.n);
	EXPECT_EQ(EBADFD, r.err);
}

TEST_HARNESS_MAIN
