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
 */
struct vtap_region {
	u64 gpa;
	u64 last;
	u64 uaddr;
};

/**
 * struct vtap_mem - an immutable memory table, sorted by guest address
 * @nr: number of regions, 0 is allowed
 * @region: sorted by @gpa, no two of them overlap
 */
struct vtap_mem {
	u32 nr;
	struct vtap_region region[];
};

/* prototypes of mem.c */

/**
 * vtap_mem_check_sort() - make a table that came from outside usable
 * @mem: filled in order of arrival; sorted on return
 *
 * Return: 0, or -EFAULT for a region that is empty, wraps, overlaps another
 * or leaves the owner's address space.
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
