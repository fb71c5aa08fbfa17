// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stands in for the kernel's IOTLB library: see linux/vhost_iotlb.h here.
 */
#include <linux/vhost_iotlb.h>

unsigned long vhost_iotlb_fail_at;

struct vhost_iotlb *vhost_iotlb_alloc(unsigned int limit, unsigned int flags)
{
	struct vhost_iotlb *tlb = calloc(1, sizeof(*tlb));

	if (!tlb)
		abort();
	tlb->limit = limit;
	tlb->flags = flags;
	return tlb;
}

void vhost_iotlb_map_free(struct vhost_iotlb *tlb, struct vhost_iotlb_map *map)
{
	struct vhost_iotlb_map **at = &tlb->first;

	while (*at != map)
		at = &(*at)->next;
	*at = map->next;
	tlb->nmaps--;
	free(map);
}

void vhost_iotlb_free(struct vhost_iotlb *tlb)
{
	while (tlb && tlb->first)
		vhost_iotlb_map_free(tlb, tlb->first);
	free(tlb);
}

int vhost_iotlb_add_range(struct vhost_iotlb *tlb, u64 start, u64 last, u64 addr,
			  unsigned int perm)
{
	struct vhost_iotlb_map **at = &tlb->first;
	struct vhost_iotlb_map *map;

	if (last < start)
		return -EFAULT;
	if (vhost_iotlb_fail_at && !--vhost_iotlb_fail_at)
		return -ENOMEM;
	if (tlb->nmaps == tlb->limit) {
		if (!(tlb->flags & VHOST_IOTLB_FLAG_RETIRE))
			return -ENOSPC;
		vhost_iotlb_map_free(tlb, tlb->first);
	}
	map = calloc(1, sizeof(*map));
	if (!map)
		abort();
	map->start = start;
	map->last = last;
	map->size = last - start + 1;
	map->addr = addr;
	map->perm = perm;
	while (*at)
		at = &(*at)->next;
	*at = map;
	tlb->nmaps++;
	return 0;
}

/* the one that starts lowest of those that touch the range */
struct vhost_iotlb_map *vhost_iotlb_itree_first(struct vhost_iotlb *tlb, u64 start, u64 last)
{
	struct vhost_iotlb_map *map, *best = NULL;

	for (map = tlb->first; map; map = map->next)
		if (map->start <= last && map->last >= start &&
		    (!best || map->start < best->start))
			best = map;
	return best;
}

void vhost_iotlb_del_range(struct vhost_iotlb *tlb, u64 start, u64 last)
{
	struct vhost_iotlb_map *map;

	while ((map = vhost_iotlb_itree_first(tlb, start, last)))
		vhost_iotlb_map_free(tlb, map);
}
