/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Guest memory: regions of this process's memory that the device knows under
 * guest-physical addresses, and a bump allocator over them. Knows neither
 * rings nor ioctls, except that it can write itself down as a vhost_memory
 * table.
 */
#ifndef VTAP_TEST_GMEM_H
#define VTAP_TEST_GMEM_H

#include <linux/vhost.h>
#include <stdint.h>

#define GMEM_MAX_REGIONS	1024

struct gmem_region {
	uint64_t gpa;
	uint64_t size;
	uint8_t *hva;
	uint64_t used;		/* bytes given out by gmem_alloc() */
};

struct gmem {
	unsigned int nr;
	/*
	 * Behind an IOMMU the driver's addresses, and those of the regions here, are
	 * I/O virtual ones: by so much higher than guest-physical ones.
	 */
	uint64_t iova_delta;
	struct gmem_region region[GMEM_MAX_REGIONS];
};

/* add a region of fresh, zeroed memory: its index or -errno */
int gmem_add(struct gmem *m, uint64_t gpa, uint64_t size);
/* the same, shared: mremap() can map it a second time */
int gmem_add_shared(struct gmem *m, uint64_t gpa, uint64_t size);
/* add a region backed by memory that the caller owns */
int gmem_add_hva(struct gmem *m, uint64_t gpa, uint64_t size, void *hva);
/* allocate from region idx: guest-physical address, or UINT64_MAX */
uint64_t gmem_alloc_in(struct gmem *m, unsigned int idx, uint64_t size,
		       uint64_t align);
/* the same from the first region that has room */
uint64_t gmem_alloc(struct gmem *m, uint64_t size, uint64_t align);
/* translate; NULL when gpa lies in no region */
void *gmem_hva(const struct gmem *m, uint64_t gpa);
/* the table for VHOST_SET_MEM_TABLE; the caller frees it */
struct vhost_memory *gmem_table(const struct gmem *m);
void gmem_destroy(struct gmem *m);

#endif
