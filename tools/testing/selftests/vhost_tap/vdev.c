// SPDX-License-Identifier: GPL-2.0-only
/*
 * A vhost-net device as its owner sees it; see vdev.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/virtio_config.h>
#include <linux/virtio_ring.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "util.h"
#include "vdev.h"

int vhost_ioctl(int fd, unsigned long req, void *arg)
{
	return ioctl(fd, req, arg) < 0 ? -errno : 0;
}

void vdev_use(struct vdev *v, int fd)
{
	unsigned int i;

	memset(v, 0, sizeof(*v));
	for (i = 0; i < 2; i++) {
		v->ring[i].kick_fd = -1;
		v->ring[i].call_fd = -1;
		v->ring[i].err_fd = -1;
	}
	v->fd = fd;
}

int vdev_open(struct vdev *v)
{
	vdev_use(v, node_open(O_RDWR));
	return v->fd < 0 ? v->fd : 0;
}

void vdev_close(struct vdev *v)
{
	unsigned int i;

	if (v->fd >= 0)
		close(v->fd);
	v->fd = -1;
	for (i = 0; i < 2; i++) {
		struct ring *r = &v->ring[i];

		if (r->kick_fd >= 0)
			close(r->kick_fd);
		if (r->call_fd >= 0)
			close(r->call_fd);
		if (r->err_fd >= 0)
			close(r->err_fd);
		r->kick_fd = -1;
		r->call_fd = -1;
		r->err_fd = -1;
		ring_free(r);
	}
}

int vdev_get_features(struct vdev *v, uint64_t *features)
{
	return vhost_ioctl(v->fd, VHOST_GET_FEATURES, features);
}

int vdev_set_features(struct vdev *v, uint64_t features)
{
	int r = vhost_ioctl(v->fd, VHOST_SET_FEATURES, &features);

	if (!r)
		v->features = features;
	return r;
}

#ifndef VHOST_GET_FEATURES_ARRAY
#define VHOST_GET_FEATURES_ARRAY _IOR(VHOST_VIRTIO, 0x83, uint64_t)
#define VHOST_SET_FEATURES_ARRAY _IOW(VHOST_VIRTIO, 0x83, uint64_t)
#endif

int vdev_get_array(struct vdev *v, uint64_t *array)
{
	return vhost_ioctl(v->fd, VHOST_GET_FEATURES_ARRAY, array);
}

int vdev_set_array(struct vdev *v, const uint64_t *array)
{
	return vhost_ioctl(v->fd, VHOST_SET_FEATURES_ARRAY, (void *)array);
}

int vdev_set_features_array(struct vdev *v, uint64_t features, uint64_t high)
{
	uint64_t array[] = { 2, features, high };
	int r = vdev_set_array(v, array);

	if (!r)
		v->features = features;
	return r;
}

int vdev_set_owner(struct vdev *v)
{
	return vhost_ioctl(v->fd, VHOST_SET_OWNER, NULL);
}

int vdev_reset_owner(struct vdev *v)
{
	return vhost_ioctl(v->fd, VHOST_RESET_OWNER, NULL);
}

int vdev_set_mem(struct vdev *v, const struct gmem *m)
{
	struct vhost_memory *t = gmem_table(m);
	int r;

	if (!t)
		return -ENOMEM;
	r = vhost_ioctl(v->fd, VHOST_SET_MEM_TABLE, t);
	free(t);
	return r;
}

static int set_state(struct vdev *v, unsigned long req, unsigned int idx,
		     unsigned int num)
{
	struct vhost_vring_state s = { .index = idx, .num = num };

	return vhost_ioctl(v->fd, req, &s);
}

static int set_file(struct vdev *v, unsigned long req, unsigned int idx, int fd)
{
	struct vhost_vring_file f = { .index = idx, .fd = fd };

	return vhost_ioctl(v->fd, req, &f);
}

int vdev_set_num(struct vdev *v, unsigned int idx, unsigned int num)
{
	return set_state(v, VHOST_SET_VRING_NUM, idx, num);
}

int vdev_set_base(struct vdev *v, unsigned int idx, unsigned int base)
{
	return set_state(v, VHOST_SET_VRING_BASE, idx, base);
}

int vdev_get_base(struct vdev *v, unsigned int idx)
{
	struct vhost_vring_state s = { .index = idx };
	int r = vhost_ioctl(v->fd, VHOST_GET_VRING_BASE, &s);

	return r < 0 ? r : (int)s.num;
}

void vdev_ring_addr(const struct vdev *v, const struct ring *r, struct vhost_vring_addr *a)
{
	uint64_t delta = 0;

	if (v->features >> VIRTIO_F_ACCESS_PLATFORM & 1)
		delta = r->desc_gpa - (uintptr_t)r->desc;
	a->desc_user_addr = (uintptr_t)r->desc + delta;
	a->avail_user_addr = (uintptr_t)r->avail + delta;
	a->used_user_addr = (uintptr_t)r->used + delta;
}

int vdev_set_addr(struct vdev *v, unsigned int idx, const struct ring *r)
{
	struct vhost_vring_addr a = { .index = idx };

	vdev_ring_addr(v, r, &a);
	return vhost_ioctl(v->fd, VHOST_SET_VRING_ADDR, &a);
}

int vdev_set_kick(struct vdev *v, unsigned int idx, int fd)
{
	return set_file(v, VHOST_SET_VRING_KICK, idx, fd);
}

int vdev_set_call(struct vdev *v, unsigned int idx, int fd)
{
	return set_file(v, VHOST_SET_VRING_CALL, idx, fd);
}

int vdev_set_err(struct vdev *v, unsigned int idx, int fd)
{
	return set_file(v, VHOST_SET_VRING_ERR, idx, fd);
}

int vdev_set_backend(struct vdev *v, unsigned int idx, int fd)
{
	return set_file(v, VHOST_NET_SET_BACKEND, idx, fd);
}

int vdev_set_busyloop(struct vdev *v, unsigned int idx, unsigned int us)
{
	return set_state(v, VHOST_SET_VRING_BUSYLOOP_TIMEOUT, idx, us);
}

int vdev_ring_tell(struct vdev *v, unsigned int idx)
{
	struct ring *r = &v->ring[idx];
	int err;

	err = vdev_set_num(v, idx, r->num);
	if (!err)
		err = vdev_set_base(v, idx, r->last_used);
	if (!err)
		err = vdev_set_addr(v, idx, r);
	if (!err)
		err = vdev_set_kick(v, idx, r->kick_fd);
	if (!err)
		err = vdev_set_call(v, idx, r->call_fd);
	if (!err)
		err = vdev_set_err(v, idx, r->err_fd);
	return err;
}

int vdev_ring_setup(struct vdev *v, unsigned int idx, struct gmem *m,
		    unsigned int num, uint16_t base)
{
	struct ring *r = &v->ring[idx];
	int err;

	err = ring_split_init(r, m, num, base,
			      v->features >> VIRTIO_RING_F_EVENT_IDX & 1);
	if (err)
		return err;
	r->kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r->call_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r->err_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (r->kick_fd < 0 || r->call_fd < 0 || r->err_fd < 0)
		return -errno;
	return vdev_ring_tell(v, idx);
}

int vdev_new_worker(struct vdev *v)
{
	struct vhost_worker_state s;
	int err = vhost_ioctl(v->fd, VHOST_NEW_WORKER, &s);

	return err ? err : (int)s.worker_id;
}

int vdev_free_worker(struct vdev *v, unsigned int id)
{
	struct vhost_worker_state s = { .worker_id = id };

	return vhost_ioctl(v->fd, VHOST_FREE_WORKER, &s);
}

int vdev_attach_worker(struct vdev *v, unsigned int idx, unsigned int id)
{
	struct vhost_vring_worker w = { .index = idx, .worker_id = id };

	return vhost_ioctl(v->fd, VHOST_ATTACH_VRING_WORKER, &w);
}

int vdev_get_worker(struct vdev *v, unsigned int idx)
{
	struct vhost_vring_worker w = { .index = idx, .worker_id = -1 };
	int err = vhost_ioctl(v->fd, VHOST_GET_VRING_WORKER, &w);

	if (err)
		return err;
	return w.index == idx ? (int)w.worker_id : -EPROTO;
}
