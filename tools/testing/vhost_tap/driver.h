/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The driver's side of one split virtqueue, for tests: it owns the guest
 * memory, writes descriptors and available entries as it is told, wrong ones
 * included, and reads what comes back. No threads: the ring under test and this
 * driver are called in turn.
 */
#ifndef VTAP_TEST_DRIVER_H
#define VTAP_TEST_DRIVER_H

#include "guest.h"
#include "../../../drivers/vhost_tap/ring.h"

#define F_EVENT_IDX	(1ULL << VIRTIO_RING_F_EVENT_IDX)
#define F_INDIRECT	(1ULL << VIRTIO_RING_F_INDIRECT_DESC)
#define F_ON_EMPTY	(1ULL << VIRTIO_F_NOTIFY_ON_EMPTY)
#define F_MODERN	(1ULL << VIRTIO_F_VERSION_1)

#define NEXT		VRING_DESC_F_NEXT
#define WRITE		VRING_DESC_F_WRITE
#define INDIRECT	VRING_DESC_F_INDIRECT

/* Guest memory: rings for 32768 entries, then room for tables and buffers. */
#define DRV_DESC	0
#define DRV_AVAIL	0x80000
#define DRV_USED	0xa0000
#define DRV_BUF		0x100000
#define DRV_SIZE	0x400000
/* Where the guest sees it. */
#define DRV_GPA		0x10000000ULL

/**
 * struct drv - a driver and the ring it plays with
 * @mem: its guest memory, @table's only region to begin with
 * @table: memory table, with room for 1024 regions
 * @avail_idx: the available index as last written
 */
struct drv {
	struct vtap_ring r;
	u8 *mem;
	struct vtap_mem *table;
	struct vring_desc *desc;
	struct vring_avail *avail;
	struct vring_used *used;
	u16 avail_idx;
	bool le;
};

extern struct drv drv;

/* A fresh ring, started; guest memory all zero. */
void drv_init(u32 num, bool writable, u64 features);
/* The same for a legacy ring of big-endian guests. */
void drv_init_be(u32 num, bool writable, u64 features);
/* Memory table: forget it, add a region (offset into drv.mem), make it usable. */
void drv_table_clear(void);
void drv_table_add(u64 gpa, u64 size, u64 uaddr);
int drv_table_done(void);

void drv_desc(u32 i, u64 gpa, u32 len, u16 flags, u16 next);
/* Entry @i of an indirect table at guest address @table. */
void drv_entry(u64 table, u32 i, u64 gpa, u32 len, u16 flags, u16 next);
/* Make a head available, and publish the index. */
void drv_add(u16 head);
void drv_set_avail_idx(u16 idx);

u16 drv_used_idx(void);
u16 drv_used_flags(void);
u32 drv_used_id(u16 i);
u32 drv_used_len(u16 i);
u16 drv_avail_event(void);
void drv_set_used_event(u16 v);
void drv_set_avail_flags(u16 v);

/* Guest address of an offset in the default table, and back to the host. */
static inline u64 gpa_of(u64 off)
{
	return DRV_GPA + off;
}

/* Segment @s of outstanding chain @i. */
static inline struct iovec *drv_seg(u32 i, u32 s)
{
	return &drv.r.seg[vtap_ring_chain(&drv.r, i)->seg + s];
}

#endif /* VTAP_TEST_DRIVER_H */
