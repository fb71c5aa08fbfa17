/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The VMM's side of an IOTLB: messages of both versions, and a thread that answers
 * misses from a guest's memory as a virtual IOMMU would.
 */
#ifndef VTAP_TEST_IOMMU_H
#define VTAP_TEST_IOMMU_H

#include <linux/vhost.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "guest_driver.h"

/* a second range of I/O virtual addresses for the same memory */
#define IOMMU_MOVED	(1ULL << 60)

/* bytes of a message of either version, and those that are looked at */
#define IOTLB_MSG_SIZE	72
#define IOTLB_MSG_BYTES	40

/* lay a message out; bytes that mean nothing are not zero */
void iotlb_msg(uint8_t *bytes, bool v2, const struct vhost_iotlb_msg *m);
/* write one: 0 or -errno */
int iotlb_write(int fd, bool v2, const struct vhost_iotlb_msg *m);
int iotlb_update(int fd, bool v2, uint64_t iova, uint64_t size, const void *hva, uint8_t perm);
int iotlb_invalidate(int fd, bool v2, uint64_t iova, uint64_t size);
/*
 * Wait for a miss and read it: 0; -ETIMEDOUT; -errno; -EPROTO if it is none, in the
 * wrong version, or has a byte that is not zero and means nothing.
 */
int iotlb_read(int fd, bool v2, struct vhost_iotlb_msg *m, int timeout_ms);

struct iommu {
	struct guest *g;
	bool v2;
	uint64_t page;		/* bytes of a mapping; 0: 4096 */
	pthread_mutex_t lock;	/* from looking an address up to having told the device */
	int64_t alias;		/* added to where the driver has its memory */
	unsigned long misses;
	int err;
	int stop_fd;
	pthread_t thread;
	bool running;
};

/* map what a start needs: both used rings, all of them */
int iommu_map_used(struct iommu *m);
/* choose the version of messages, and answer misses until stopped */
int iommu_start(struct iommu *m, struct guest *g);
/* 0, or what went wrong in the thread */
int iommu_stop(struct iommu *m);
/* misses answered so far */
unsigned long iommu_misses(struct iommu *m);
/* from now on memory is elsewhere; the device knows when this returns */
int iommu_move(struct iommu *m, int64_t alias);

#endif
