// SPDX-License-Identifier: GPL-2.0-only
/*
 * The VMM's side of an IOTLB; see iommu.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/vhost.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "iommu.h"
#include "util.h"

void iotlb_msg(uint8_t *bytes, bool v2, const struct vhost_iotlb_msg *m)
{
	int type = v2 ? VHOST_IOTLB_MSG_V2 : VHOST_IOTLB_MSG;

	memset(bytes, 0xee, IOTLB_MSG_SIZE);
	memcpy(bytes, &type, sizeof(type));
	memcpy(bytes + 8, m, sizeof(*m));
}

int iotlb_write(int fd, bool v2, const struct vhost_iotlb_msg *m)
{
	uint8_t bytes[IOTLB_MSG_SIZE];
	ssize_t n;

	iotlb_msg(bytes, v2, m);
	n = write(fd, bytes, sizeof(bytes));
	if (n < 0)
		return -errno;
	return n == sizeof(bytes) ? 0 : -EPROTO;
}

int iotlb_update(int fd, bool v2, uint64_t iova, uint64_t size, const void *hva, uint8_t perm)
{
	const struct vhost_iotlb_msg m = {
		.iova = iova,
		.size = size,
		.uaddr = (uintptr_t)hva,
		.perm = perm,
		.type = VHOST_IOTLB_UPDATE,
	};

	return iotlb_write(fd, v2, &m);
}

int iotlb_invalidate(int fd, bool v2, uint64_t iova, uint64_t size)
{
	const struct vhost_iotlb_msg m = {
		.iova = iova,
		.size = size,
		.type = VHOST_IOTLB_INVALIDATE,
	};

	return iotlb_write(fd, v2, &m);
}

int iotlb_read(int fd, bool v2, struct vhost_iotlb_msg *m, int timeout_ms)
{
	int type = v2 ? VHOST_IOTLB_MSG_V2 : VHOST_IOTLB_MSG;
	uint8_t bytes[IOTLB_MSG_SIZE], want[IOTLB_MSG_SIZE] = { };
	struct vhost_iotlb_msg clean = { .type = VHOST_IOTLB_MISS };
	int flags, r;
	ssize_t n;

	r = fd_wait(fd, POLLIN, timeout_ms);
	if (r <= 0)
		return r ? r : -ETIMEDOUT;
	flags = fcntl(fd, F_GETFL);
	fcntl(fd, F_SETFL, flags | O_NONBLOCK);
	memset(bytes, 0xcc, sizeof(bytes));
	n = read(fd, bytes, sizeof(bytes));
	r = n < 0 ? -errno : 0;
	fcntl(fd, F_SETFL, flags);
	if (r)
		return r;
	memcpy(m, bytes + 8, sizeof(*m));
	/* case 6 */
	clean.iova = m->iova;
	clean.perm = m->perm;
	memcpy(want, &type, sizeof(type));
	memcpy(want + 8, &clean, sizeof(clean));
	return n == sizeof(bytes) && !memcmp(bytes, want, sizeof(want)) ? 0 : -EPROTO;
}

static int answer(struct iommu *m, uint64_t iova)
{
	uint64_t page = m->page ? m->page : 4096, from = iova / page * page;
	uint8_t *hva = gmem_hva(&m->g->mem, from & ~IOMMU_MOVED);

	if (!hva) {
		fprintf(stderr, "# miss of %#llx, which nobody has\n", (unsigned long long)iova);
		return -EFAULT;
	}
	return iotlb_update(m->g->dev.fd, m->v2, from, page, hva + m->alias, VHOST_ACCESS_RW);
}

static int lock_answer(struct iommu *m, uint64_t iova)
{
	int err;

	pthread_mutex_lock(&m->lock);
	err = answer(m, iova);
	m->misses++;
	pthread_mutex_unlock(&m->lock);
	return err;
}

static void *iommu_thread(void *arg)
{
	struct iommu *m = arg;
	struct pollfd p[2] = {
		{ .fd = m->g->dev.fd, .events = POLLIN },
		{ .fd = m->stop_fd, .events = POLLIN },
	};
	struct vhost_iotlb_msg miss;
	int err = 0;

	while (!err) {
		if (poll(p, 2, -1) < 0 || p[1].revents)
			break;
		err = iotlb_read(m->g->dev.fd, m->v2, &miss, 0);
		if (!err)
			err = lock_answer(m, miss.iova);
		/* answered, or taken back, meanwhile */
		else if (err == -EAGAIN || err == -ETIMEDOUT)
			err = 0;
	}
	m->err = err;
	return NULL;
}

int iommu_map_used(struct iommu *m)
{
	uint64_t page = m->page ? m->page : 4096, at;
	unsigned int i;
	int err = 0;

	pthread_mutex_lock(&m->lock);
	for (i = 0; i < 2; i++) {
		const struct ring *r = &m->g->dev.ring[i];
		uint64_t first = r->desc_gpa + ((uint8_t *)r->used - (uint8_t *)r->desc);
		uint64_t last = first + 4 + r->num * 8ULL + 1;

		for (at = first / page * page; at <= last && !err; at += page)
			err = answer(m, at);
	}
	pthread_mutex_unlock(&m->lock);
	return err;
}

int iommu_start(struct iommu *m, struct guest *g)
{
	uint64_t features = m->v2 ? 1ULL << VHOST_BACKEND_F_IOTLB_MSG_V2 : 0;
	int err;

	m->g = g;
	m->err = 0;
	pthread_mutex_init(&m->lock, NULL);
	err = vhost_ioctl(g->dev.fd, VHOST_SET_BACKEND_FEATURES, &features);
	if (err)
		return err;
	m->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (m->stop_fd < 0)
		return -errno;
	err = -pthread_create(&m->thread, NULL, iommu_thread, m);
	if (err)
		close(m->stop_fd);
	m->running = !err;
	return err;
}

int iommu_stop(struct iommu *m)
{
	if (!m->running)
		return 0;
	m->running = false;
	efd_signal(m->stop_fd);
	pthread_join(m->thread, NULL);
	close(m->stop_fd);
	return m->err;
}

unsigned long iommu_misses(struct iommu *m)
{
	unsigned long n;

	pthread_mutex_lock(&m->lock);
	n = m->misses;
	pthread_mutex_unlock(&m->lock);
	return n;
}

int iommu_move(struct iommu *m, int64_t alias)
{
	int err;

	pthread_mutex_lock(&m->lock);
	m->alias = alias;
	err = iotlb_invalidate(m->g->dev.fd, m->v2, 0, 0);
	pthread_mutex_unlock(&m->lock);
	return err;
}
