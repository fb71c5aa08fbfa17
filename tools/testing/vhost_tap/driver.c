// SPDX-License-Identifier: GPL-2.0-only
/*
 * The driver's side of one split virtqueue, for tests: see driver.h.
 */
#include <sys/mman.h>

#include "driver.h"

struct drv drv;

static void init(u32 num, bool writable, u64 features, bool be)
{
	struct vtap_mem *table = drv.table;
	struct vtap_ring *r = &drv.r;
	u8 *mem = drv.mem;

	if (!mem) {
		mem = mmap(NULL, DRV_SIZE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		table = calloc(1, sizeof(*table) + 1024 * sizeof(table->region[0]));
		if (mem == MAP_FAILED || !table)
			abort();
	} else {
		madvise(mem, DRV_SIZE, MADV_DONTNEED);
	}
	guest_reset();
	guest_map(mem, DRV_SIZE, true);

	/* of the very size, each alone: nobody writes behind their ends unseen */
	free(r->chain);
	free(r->seg);
	free(r->copy);
	memset(&drv, 0, sizeof(drv));
	drv.mem = mem;
	drv.table = table;
	drv.desc = (void *)(mem + DRV_DESC);
	drv.avail = (void *)(mem + DRV_AVAIL);
	drv.used = (void *)(mem + DRV_USED);
	drv.le = !be;
	drv_table_clear();
	drv_table_add(DRV_GPA, DRV_SIZE, 0);
	if (drv_table_done())
		abort();

	vtap_ring_init(r, writable, NULL, writable ? VTAP_MAX_SEGS : VTAP_BATCH, NULL, NULL);
	r->chain = malloc(r->max_chains * sizeof(*r->chain));
	r->seg = malloc(VTAP_MAX_SEGS * sizeof(*r->seg));
	r->copy = malloc(sizeof(*r->copy));
	if (!r->chain || !r->seg || !r->copy)
		abort();
	vtap_ring_set_features(r, features);
	r->le = !be;
	r->mem = table;
	r->desc = drv.desc;
	r->avail = drv.avail;
	r->used = drv.used;
	r->num = num;
	if (vtap_ring_start(r))
		abort();
	guest.accesses = 0;
	guest.windows = 0;
}

void drv_init(u32 num, bool writable, u64 features)
{
	init(num, writable, features, false);
}

void drv_init_be(u32 num, bool writable, u64 features)
{
	init(num, writable, features, true);
}

void drv_table_clear(void)
{
	drv.table->nr = 0;
}

void drv_table_add(u64 gpa, u64 size, u64 off)
{
	struct vtap_region *reg = &drv.table->region[drv.table->nr++];

	reg->gpa = gpa;
	reg->last = gpa + size - 1;
	reg->uaddr = (u64)(unsigned long)drv.mem + off;
}

int drv_table_done(void)
{
	return vtap_mem_check_sort(drv.table);
}

static void put_desc(struct vring_desc *d, u64 gpa, u32 len, u16 flags, u16 next)
{
	struct vring_desc v = {
		.addr = __cpu_to_virtio64(drv.le, gpa),
		.len = __cpu_to_virtio32(drv.le, len),
		.flags = __cpu_to_virtio16(drv.le, flags),
		.next = __cpu_to_virtio16(drv.le, next),
	};

	memcpy(d, &v, sizeof(v));
}

void drv_desc(u32 i, u64 gpa, u32 len, u16 flags, u16 next)
{
	put_desc(&drv.desc[i], gpa, len, flags, next);
}

void drv_entry(u64 table, u32 i, u64 gpa, u32 len, u16 flags, u16 next)
{
	u8 *p = drv.mem + (table - DRV_GPA) + i * sizeof(struct vring_desc);

	put_desc((struct vring_desc *)p, gpa, len, flags, next);
}

void drv_set_avail_idx(u16 idx)
{
	drv.avail_idx = idx;
	drv.avail->idx = __cpu_to_virtio16(drv.le, idx);
}

void drv_add(u16 head)
{
	drv.avail->ring[drv.avail_idx & (drv.r.num - 1)] = __cpu_to_virtio16(drv.le, head);
	drv_set_avail_idx(drv.avail_idx + 1);
}

u16 drv_used_idx(void)
{
	return __virtio16_to_cpu(drv.le, drv.used->idx);
}

u16 drv_used_flags(void)
{
	return __virtio16_to_cpu(drv.le, drv.used->flags);
}

u32 drv_used_id(u16 i)
{
	return __virtio32_to_cpu(drv.le, drv.used->ring[i & (drv.r.num - 1)].id);
}

u32 drv_used_len(u16 i)
{
	return __virtio32_to_cpu(drv.le, drv.used->ring[i & (drv.r.num - 1)].len);
}

u16 drv_avail_event(void)
{
	__virtio16 v;

	memcpy(&v, &drv.used->ring[drv.r.num], sizeof(v));
	return __virtio16_to_cpu(drv.le, v);
}

void drv_set_used_event(u16 v)
{
	drv.avail->ring[drv.r.num] = __cpu_to_virtio16(drv.le, v);
}

void drv_set_avail_flags(u16 v)
{
	drv.avail->flags = __cpu_to_virtio16(drv.le, v);
}
