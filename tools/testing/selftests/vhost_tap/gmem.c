// SPDX-License-Identifier: GPL-2.0-only
/*
 * Guest memory for the guest driver; see gmem.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "gmem.h"

int gmem_add_hva(struct gmem *m, uint64_t gpa, uint64_t size, void *hva)
{
	struct gmem_region *r;

	if (m->nr == GMEM_MAX_REGIONS)
		return -ENOSPC;
	r = &m->region[m->nr];
	r->gpa = gpa;
	r->size = size;
	r->hva = hva;
	r->used = 0;
	return m->nr++;
}

static int add_fresh(struct gmem *m, uint64_t gpa, uint64_t size, int flags)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       flags | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int r;

	if (p == MAP_FAILED)
		return -errno;
	r = gmem_add_hva(m, gpa, size, p);
	if (r < 0)
		munmap(p, size);
	return r;
}

int gmem_add(struct gmem *m, uint64_t gpa, uint64_t size)
{
	return add_fresh(m, gpa, size, MAP_PRIVATE);
}

int gmem_add_shared(struct gmem *m, uint64_t gpa, uint64_t size)
{
	return add_fresh(m, gpa, size, MAP_SHARED);
}

uint64_t gmem_alloc_in(struct gmem *m, unsigned int idx, uint64_t size,
		       uint64_t align)
{
	struct gmem_region *r = &m->region[idx];
	uint64_t off;

	off = (r->gpa + r->used + align - 1) / align * align - r->gpa;
	if (off > r->size || size > r->size - off)
		return UINT64_MAX;
	r->used = off + size;
	return r->gpa + off;
}

uint64_t gmem_alloc(struct gmem *m, uint64_t size, uint64_t align)
{
	uint64_t gpa;
	unsigned int i;

	for (i = 0; i < m->nr; i++) {
		gpa = gmem_alloc_in(m, i, size, align);
		if (gpa != UINT64_MAX)
			return gpa;
	}
	return UINT64_MAX;
}

void *gmem_hva(const struct gmem *m, uint64_t gpa)
{
	unsigned int i;

	for (i = 0; i < m->nr; i++) {
		const struct gmem_region *r = &m->region[i];

		if (gpa >= r->gpa && gpa - r->gpa < r->size)
			return r->hva + (gpa - r->gpa);
	}
	return NULL;
}

struct vhost_memory *gmem_table(const struct gmem *m)
{
	struct vhost_memory *t;
	unsigned int i;

	t = calloc(1, sizeof(*t) + m->nr * sizeof(t->regions[0]));
	if (!t)
		return NULL;
	t->nregions = m->nr;
	for (i = 0; i < m->nr; i++) {
		t->regions[i].guest_phys_addr = m->region[i].gpa -
						m->iova_delta;
		t->regions[i].memory_size = m->region[i].size;
		t->regions[i].userspace_addr = (uintptr_t)m->region[i].hva;
	}
	return t;
}

void gmem_destroy(struct gmem *m)
{
	unsigned int i;

	for (i = 0; i < m->nr; i++)
		munmap(m->region[i].hva, m->region[i].size);
	m->nr = 0;
}
