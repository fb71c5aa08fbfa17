// SPDX-License-Identifier: GPL-2.0-only
/*
 * The IOTLB: what the kernel's library does not do by itself. It would keep
 * mappings that overlap, and answer with any of them; here a new one takes the
 * place of what it covers, and the rest of that stays. Portable: touches nothing
 * but guest.h and the library.
 */
#include <linux/vhost.h>
#include <linux/vhost_iotlb.h>

#include "guest.h"
#include "iotlb.h"

struct vhost_iotlb *vtap_iotlb_alloc(int limit)
{
	if (limit <= 0)
		return NULL;
	return vhost_iotlb_alloc(limit, VHOST_IOTLB_FLAG_RETIRE);
}

void vtap_iotlb_free(struct vhost_iotlb *tlb)
{
	vhost_iotlb_free(tlb);
}

/*
 * Take a range out of the mappings that it touches. Without memory for what is
 * left of one, that misses again, as if it had been the oldest.
 */
static void vtap_iotlb_cut(struct vhost_iotlb *tlb, u64 first, u64 last)
{
	struct vhost_iotlb_map *map;

	while ((map = vhost_iotlb_itree_first(tlb, first, last))) {
		u64 map_first = map->start, map_last = map->last, addr = map->addr;
		u32 perm = map->perm;

		vhost_iotlb_map_free(tlb, map);
		if (map_first < first)
			vhost_iotlb_add_range(tlb, map_first, first - 1, addr, perm);
		if (map_last > last)
			vhost_iotlb_add_range(tlb, last + 1, map_last,
					      addr + (last + 1 - map_first), perm);
	}
}

int vtap_iotlb_update(struct vhost_iotlb *tlb, u64 iova, u64 size, u64 uaddr, u32 perm)
{
	u64 last, uend;

	perm &= VHOST_ACCESS_RW;
	/* A size of all addresses cannot be written down: the library's sizes are sound. */
	if (!size || check_add_overflow(iova, size - 1, &last) ||
	    check_add_overflow(uaddr, size - 1, &uend) || uend > ULONG_MAX)
		return -EFAULT;
	/* Where nothing is allowed, nobody goes: the address may be any. */
	if (perm && !vtap_guest_access_ok((const void __user *)(unsigned long)uaddr, size))
		return -EFAULT;
	vtap_iotlb_cut(tlb, iova, last);
	return vhost_iotlb_add_range(tlb, iova, last, uaddr, perm) ? -EFAULT : 0;
}

void vtap_iotlb_invalidate(struct vhost_iotlb *tlb, u64 iova, u64 size)
{
	u64 last;

	if (!size && iova)
		return;
	if (!size || check_add_overflow(iova, size - 1, &last))
		last = ~0ULL;
	vhost_iotlb_del_range(tlb, iova, last);
}

int vtap_iotlb_find(struct vhost_iotlb *tlb, u64 iova, u32 access, struct vtap_span *span)
{
	const struct vhost_iotlb_map *map = vhost_iotlb_itree_first(tlb, iova, iova);

	if (!map)
		return -EAGAIN;
	if (!(map->perm & access))
		return -EPERM;
	span->gpa = map->start;
	span->size = map->size;
	span->delta = map->addr - map->start;
	span->perm = map->perm;
	return 0;
}

int vtap_iotlb_find_range(struct vhost_iotlb *tlb, u64 *iova, u64 len, u32 access, u64 *uaddr)
{
	struct vtap_span span;
	u64 last, delta = 0;
	bool first = true;
	int err;

	if (check_add_overflow(*iova, len - 1, &last))
		return -EFAULT;
	for (;;) {
		err = vtap_iotlb_find(tlb, *iova, access, &span);
		if (err)
			return err;
		if (first) {
			delta = span.delta;
			*uaddr = *iova + delta;
			first = false;
		} else if (span.delta != delta) {
			return -EFAULT;
		}
		if (span.size > last - span.gpa)
			return 0;
		*iova = span.gpa + span.size;
	}
}
