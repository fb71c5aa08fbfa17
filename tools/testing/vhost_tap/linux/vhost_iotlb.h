/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's IOTLB library as iotlb.c calls it, for userspace builds without a
 * kernel's source: a list in the order of arrival (vhost_iotlb.c). Any addition
 * can be made to fail.
 */
#ifndef VTAP_TEST_VHOST_IOTLB_H
#define VTAP_TEST_VHOST_IOTLB_H

#include "../guest.h"

#define VHOST_IOTLB_FLAG_RETIRE	1

struct vhost_iotlb_map {
	struct vhost_iotlb_map *next;
	u64 start;
	u64 last;
	u64 size;
	u64 addr;
	u32 perm;
};

struct vhost_iotlb {
	struct vhost_iotlb_map *first;	/* the oldest */
	unsigned int limit;
	unsigned int nmaps;
	unsigned int flags;
};

/* the addition that finds no memory, counted from 1; 0 for none */
extern unsigned long vhost_iotlb_fail_at;

struct vhost_iotlb *vhost_iotlb_alloc(unsigned int limit, unsigned int flags);
void vhost_iotlb_free(struct vhost_iotlb *tlb);
int vhost_iotlb_add_range(struct vhost_iotlb *tlb, u64 start, u64 last, u64 addr,
			  unsigned int perm);
void vhost_iotlb_del_range(struct vhost_iotlb *tlb, u64 start, u64 last);
struct vhost_iotlb_map *vhost_iotlb_itree_first(struct vhost_iotlb *tlb, u64 start, u64 last);
void vhost_iotlb_map_free(struct vhost_iotlb *tlb, struct vhost_iotlb_map *map);

#endif /* VTAP_TEST_VHOST_IOTLB_H */
