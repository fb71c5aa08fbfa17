/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A vhost-net device as its owner sees it: one function an ioctl, and the
 * setup of a queue. Knows memory and rings, knows nothing of frames.
 */
#ifndef VTAP_TEST_VDEV_H
#define VTAP_TEST_VDEV_H

#include <linux/vhost.h>
#include <stdbool.h>
#include <stdint.h>

#include "gmem.h"
#include "ring.h"

/* calls of 6.5 that the headers of who builds this may lack */
#ifndef VHOST_NEW_WORKER
struct vhost_worker_state {
	unsigned int worker_id;
};

struct vhost_vring_worker {
	unsigned int index;
	unsigned int worker_id;
};

#define VHOST_NEW_WORKER _IOR(VHOST_VIRTIO, 0x8, struct vhost_worker_state)
#define VHOST_FREE_WORKER _IOW(VHOST_VIRTIO, 0x9, struct vhost_worker_state)
#define VHOST_ATTACH_VRING_WORKER \
	_IOW(VHOST_VIRTIO, 0x15, struct vhost_vring_worker)
#define VHOST_GET_VRING_WORKER \
	_IOWR(VHOST_VIRTIO, 0x16, struct vhost_vring_worker)
#endif

#define VQ_RX	0
#define VQ_TX	1

struct vdev {
	int fd;
	uint64_t features;
	struct ring ring[2];
};

/* all return 0 or -errno unless they say otherwise */
int vdev_open(struct vdev *v);
/* take a device that is already open */
void vdev_use(struct vdev *v, int fd);
void vdev_close(struct vdev *v);

int vhost_ioctl(int fd, unsigned long req, void *arg);
int vdev_get_features(struct vdev *v, uint64_t *features);
int vdev_set_features(struct vdev *v, uint64_t features);
/*
 * Kernels from 6.18 on have feature words in an array; elsewhere -ENOTTY, or
 * -EPERM before there is an owner. array[0] says how many words follow.
 */
int vdev_get_array(struct vdev *v, uint64_t *array);
int vdev_set_array(struct vdev *v, const uint64_t *array);
int vdev_set_features_array(struct vdev *v, uint64_t features, uint64_t high);
int vdev_set_owner(struct vdev *v);
int vdev_reset_owner(struct vdev *v);
int vdev_set_mem(struct vdev *v, const struct gmem *m);
int vdev_set_num(struct vdev *v, unsigned int idx, unsigned int num);
int vdev_set_base(struct vdev *v, unsigned int idx, unsigned int base);
/* the base, or -errno */
int vdev_get_base(struct vdev *v, unsigned int idx);
int vdev_set_addr(struct vdev *v, unsigned int idx, const struct ring *r);
/* the addresses of a ring, as the device wants them: the owner's, or I/O virtual */
void vdev_ring_addr(const struct vdev *v, const struct ring *r, struct vhost_vring_addr *a);
int vdev_set_kick(struct vdev *v, unsigned int idx, int fd);
int vdev_set_call(struct vdev *v, unsigned int idx, int fd);
int vdev_set_err(struct vdev *v, unsigned int idx, int fd);
int vdev_set_backend(struct vdev *v, unsigned int idx, int fd);
int vdev_set_busyloop(struct vdev *v, unsigned int idx, unsigned int us);
/* workers: the first and the last of these return an id, or -errno */
int vdev_new_worker(struct vdev *v);
int vdev_free_worker(struct vdev *v, unsigned int id);
int vdev_attach_worker(struct vdev *v, unsigned int idx, unsigned int id);
int vdev_get_worker(struct vdev *v, unsigned int idx);

/*
 * Make ring idx of num entries in m, starting at base, with eventfds of its
 * own, and tell the device about all of it.
 */
int vdev_ring_setup(struct vdev *v, unsigned int idx, struct gmem *m,
		    unsigned int num, uint16_t base);
/* tell the device again about a ring that exists (after a reset) */
int vdev_ring_tell(struct vdev *v, unsigned int idx);

#endif
