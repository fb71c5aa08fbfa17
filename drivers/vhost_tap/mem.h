/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The memory table: guest-physical ranges and where the owner has them mapped.
 * Owned by mem.c, which is portable: it reaches the kernel through guest.h only.
 */
#ifndef VTAP_MEM_H
#define VTAP_MEM_H

#include "guest.h"

/**
 * struct vtap_region - one piece of guest memory
 * @gpa: first guest-physical address
 * @last: last guest-physical address, inclusive (so that 2^64-1 can be)
 * @uaddr: where @gpa stands in the owner's address space
 * @order: place in the table as it arrived; vtap_mem_check_sort() sets it
 */
struct vtap_region {
	u64 gpa;
	u64 last;
	u64 uaddr;
	u64 order;
};

/**
 * struct vtap_mem - an immutable memory table, sorted by guest address
 * @nr: number of regions, 0 is allowed
 * @aliased: two of them may share memory of the owner's: the guest sees that in
 *	two places
 * @region: sorted by @gpa, no two of them overlap
 */
struct vtap_mem {
	u32 nr;
	bool aliased;
	struct vtap_region region[];
};

/* prototypes of mem.c */

/**
 * vtap_mem_check_sort() - make a table that came from outside usable
 * @mem: filled in order of arrival, @last = guest_phys_addr + memory_size - 1
 *	with no check made; sorted on return
 *
 * Regions that overlap are cut so that none does any more: an address in
 * several of them belongs to the one that starts lowest, and of these to the
 * one that came first (what in-tree vhost answers). mem->nr may shrink.
 *
 * Return: 0, or -EFAULT for a region that is empty, wraps, or leaves the
 * owner's address space; @mem is not usable then.
 */
int vtap_mem_check_sort(struct vtap_mem *mem);

/**
 * vtap_mem_find() - the region that holds an address
 * @mem: table, may be NULL (then nothing is found)
 * @gpa: guest-physical address
 *
 * Return: the region, valid as long as @mem, or NULL.
 */
const struct vtap_region *vtap_mem_find(const struct vtap_mem *mem, u64 gpa);

#endif /* VTAP_MEM_H */
