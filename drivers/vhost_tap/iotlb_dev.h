/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The IOTLB of a device: who may change it, and what its queues miss. Owned by
 * iotlb_dev.c.
 */
#ifndef VTAP_IOTLB_DEV_H
#define VTAP_IOTLB_DEV_H

#include <linux/poll.h>
#include <linux/spinlock.h>
#include <linux/uio.h>
#include <linux/wait.h>

#include "iotlb.h"

struct vtap_dev;
struct vtap_vq;

enum vtap_miss_state {
	VTAP_MISS_NONE,
	VTAP_MISS_WAITS,	/* to be read */
	VTAP_MISS_READ,		/* to be answered */
};

/**
 * struct vtap_miss - what a queue waits for; there is one of them a queue
 * @state: protected, like all of it, by the device's iotlb_lock
 * @seq: the lowest one is read first
 * @iova: address that is not mapped
 * @access: VHOST_ACCESS_* that was wanted
 */
struct vtap_miss {
	enum vtap_miss_state state;
	u64 seq;
	u64 iova;
	u32 access;
};

/* prototypes of iotlb_dev.c */

/** vtap_iotlb_dev_init() - once per open: no IOTLB */
void vtap_iotlb_dev_init(struct vtap_dev *dev);

/**
 * vtap_iotlb_dev_set() - begin with an empty IOTLB, or end having one
 * @dev: device; dev->lock held
 * @on: whether VIRTIO_F_ACCESS_PLATFORM is acknowledged
 *
 * Ring addresses that were set under the other regime are forgotten, as in-tree.
 *
 * Return: 0 or -EFAULT; then nothing has changed.
 */
int vtap_iotlb_dev_set(struct vtap_dev *dev, bool on);

/** vtap_iotlb_miss() - ask for what ring->miss_iova says; vq->lock held */
void vtap_iotlb_miss(struct vtap_vq *vq);

/** vtap_iotlb_forget_miss() - @vq is stopped: nobody asks any more */
void vtap_iotlb_forget_miss(struct vtap_vq *vq);

/**
 * vtap_iotlb_prepare() - make a ring ready whose addresses go through an IOTLB
 * @vq: queue with a backend; vq->lock held
 * Return: true if it is ready now; else the handler ends, and runs again once
 * what is missing has come, or the ring has broken, and that has been told.
 */
bool vtap_iotlb_prepare(struct vtap_vq *vq);

/** vtap_iotlb_read() - read() of the node: the oldest miss that waits */
ssize_t vtap_iotlb_read(struct vtap_dev *dev, struct iov_iter *to, bool nonblock);

/** vtap_iotlb_write() - write() to the node: one message */
ssize_t vtap_iotlb_write(struct vtap_dev *dev, struct iov_iter *from);

/** vtap_iotlb_poll() - can it be read */
__poll_t vtap_iotlb_poll(struct vtap_dev *dev, struct file *file, poll_table *wait);

#endif /* VTAP_IOTLB_DEV_H */
