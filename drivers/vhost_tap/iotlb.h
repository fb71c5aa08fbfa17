/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The IOTLB: I/O virtual addresses and where the owner has them mapped, on the
 * kernel's library vhost_iotlb. Owned by iotlb.c, which is portable: it reaches
 * the kernel through guest.h and that library only.
 *
 * Ranges in it do not overlap: each address is mapped once or not at all.
 */
#ifndef VTAP_IOTLB_H
#define VTAP_IOTLB_H

#include <linux/vhost.h>
#include <linux/vhost_iotlb.h>

#include "guest.h"

/**
 * struct vtap_span - a range of addresses that are mapped in one piece
 * @gpa: the first one
 * @size: bytes
 * @delta: to be added to an address to have where it stands for the owner
 * @perm: VHOST_ACCESS_* of the device
 */
struct vtap_span {
	u64 gpa;
	u64 size;
	u64 delta;
	u32 perm;
};

/* prototypes of iotlb.c */

/**
 * vtap_iotlb_alloc() - an empty table
 * @limit: mappings it may hold; of more, the oldest makes room
 * Return: the table, or NULL without memory or without a limit above 0.
 */
struct vhost_iotlb *vtap_iotlb_alloc(int limit);

/** vtap_iotlb_free() - free it, and all in it; NULL-safe */
void vtap_iotlb_free(struct vhost_iotlb *tlb);

/**
 * vtap_iotlb_update() - map a range
 * @tlb: table
 * @iova: first address
 * @size: bytes
 * @uaddr: where @iova stands in the owner's address space
 * @perm: VHOST_ACCESS_* of the device; other bits mean nothing, 0 forbids all
 *
 * What was mapped there before is mapped so no more; what is left of it on either
 * side stays.
 *
 * Return: 0, or -EFAULT: the range is empty, wraps, or leaves the owner's
 * address space, and nothing has changed; or there is no memory, and nothing is
 * mapped there any more.
 */
int vtap_iotlb_update(struct vhost_iotlb *tlb, u64 iova, u64 size, u64 uaddr, u32 perm);

/**
 * vtap_iotlb_invalidate() - forget all mappings that touch a range
 * @tlb: table
 * @iova: first address
 * @size: bytes; a range that wraps ends with the last address. 0 at address 0 is
 *	everything, and elsewhere nothing.
 */
void vtap_iotlb_invalidate(struct vhost_iotlb *tlb, u64 iova, u64 size);

/**
 * vtap_iotlb_find() - the mapping that holds an address
 * @tlb: table
 * @iova: address
 * @access: VHOST_ACCESS_RO to read there or VHOST_ACCESS_WO to write
 * @span: set to all of it
 * Return: 0, -EAGAIN if it is not mapped, -EPERM if @access is forbidden.
 */
int vtap_iotlb_find(struct vhost_iotlb *tlb, u64 iova, u32 access, struct vtap_span *span);

/**
 * vtap_iotlb_find_range() - where a range stands for the owner, in one piece
 * @tlb: table
 * @iova: first address; set to the one that the search ended at
 * @len: bytes, not 0
 * @access: as above
 * @uaddr: set to the owner's address of the first byte
 *
 * Several mappings will do, if they follow each other on both sides.
 *
 * Return: 0; -EAGAIN if *@iova is not mapped; -EPERM; -EFAULT if the range wraps or
 * is not in one piece.
 */
int vtap_iotlb_find_range(struct vhost_iotlb *tlb, u64 *iova, u64 len, u32 access, u64 *uaddr);

#endif /* VTAP_IOTLB_H */
