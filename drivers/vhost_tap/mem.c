// SPDX-License-Identifier: GPL-2.0-only
/*
 * The memory table of a device: made usable once when it arrives, searched
 * for every buffer that does not lie where the one before did. Portable: it
 * reaches the kernel through guest.h only.
 */
#include "guest.h"
#include "mem.h"

static int vtap_region_cmp(const void *va, const void *vb)
{
	const struct vtap_region *a = va;
	const struct vtap_region *b = vb;

	if (a->gpa != b->gpa)
		return a->gpa < b->gpa ? -1 : 1;
	return a->order < b->order ? -1 : 1;
}

static int vtap_region_cmp_uaddr(const void *va, const void *vb)
{
	const struct vtap_region *a = va;
	const struct vtap_region *b = vb;

	if (a->uaddr == b->uaddr)
		return 0;
	return a->uaddr < b->uaddr ? -1 : 1;
}

/* Do two regions overlap where the owner has them? @mem is sorted by that. */
static bool vtap_mem_is_aliased(const struct vtap_mem *mem)
{
	u64 last = 0;
	u32 i;

	for (i = 0; i < mem->nr; i++) {
		const struct vtap_region *reg = &mem->region[i];

		if (i && reg->uaddr <= last)
			return true;
		last = reg->uaddr + (reg->last - reg->gpa);
	}
	return false;
}

/*
 * The size comes back from an inclusive last address, modulo 2^64: 0 is an
 * empty region (also the one at address 0, whose @last looks like everything).
 */
static bool vtap_region_ok(const struct vtap_region *reg)
{
	u64 size = reg->last - reg->gpa + 1;

	if (!size || reg->last < reg->gpa)
		return false;
	if (size != (unsigned long)size || reg->uaddr != (unsigned long)reg->uaddr)
		return false;
	return vtap_guest_access_ok((const void __user *)(unsigned long)reg->uaddr,
				    (unsigned long)size);
}

int vtap_mem_check_sort(struct vtap_mem *mem)
{
	struct vtap_region *out = mem->region;
	u32 i;

	for (i = 0; i < mem->nr; i++) {
		if (!vtap_region_ok(&mem->region[i]))
			return -EFAULT;
		mem->region[i].order = i;
	}
	sort(mem->region, mem->nr, sizeof(mem->region[0]), vtap_region_cmp_uaddr, NULL);
	mem->aliased = vtap_mem_is_aliased(mem);
	sort(mem->region, mem->nr, sizeof(mem->region[0]), vtap_region_cmp, NULL);

	/* Cut what an earlier region holds already; drop what lies in it whole. */
	for (i = 0; i < mem->nr; i++) {
		struct vtap_region reg = mem->region[i];

		if (out != mem->region) {
			u64 last = out[-1].last;

			if (reg.last <= last)
				continue;
			if (reg.gpa <= last) {
				reg.uaddr += last + 1 - reg.gpa;
				reg.gpa = last + 1;
			}
		}
		*out++ = reg;
	}
	mem->nr = out - mem->region;
	return 0;
}

const struct vtap_region *vtap_mem_find(const struct vtap_mem *mem, u64 gpa)
{
	u32 low = 0;
	u32 high;

	if (!mem)
		return NULL;

	/* region[low - 1].gpa <= gpa < region[high].gpa */
	high = mem->nr;
	while (low < high) {
		u32 mid = low + (high - low) / 2;

		if (mem->region[mid].gpa <= gpa)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low || mem->region[low - 1].last < gpa)
		return NULL;
	return &mem->region[low - 1];
}
