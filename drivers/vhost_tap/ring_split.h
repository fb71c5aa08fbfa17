/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files of the split format share: byte order, descriptors as we keep
 * them, and how the two stages of fetch meet. Portable. Nobody else includes
 * this.
 */
#ifndef VTAP_RING_SPLIT_H
#define VTAP_RING_SPLIT_H

#include "guest.h"
#include "ring.h"

/* A constant where no legacy ring of the other byte order can be set up. */
static __always_inline bool vtap_split_le(const struct vtap_ring *r)
{
	if (!IS_ENABLED(CONFIG_VHOST_CROSS_ENDIAN_LEGACY) && virtio_legacy_is_little_endian())
		return true;
	return r->le;
}

static __always_inline u16 vtap_split_to_cpu16(const struct vtap_ring *r, __virtio16 v)
{
	return __virtio16_to_cpu(vtap_split_le(r), v);
}

static __always_inline __virtio16 vtap_split_from_cpu16(const struct vtap_ring *r, u16 v)
{
	return __cpu_to_virtio16(vtap_split_le(r), v);
}

/* The queue stops here, until it is started anew. */
static inline int vtap_split_broken(struct vtap_ring *r, enum vhost_tap_ring_err err)
{
	r->err = err;
	return -EPROTO;
}

#define VTAP_INFO_FLAG(flag)	((u64)(flag) << 32)
#define VTAP_INFO_NEXT		VTAP_INFO_FLAG(VRING_DESC_F_NEXT)
#define VTAP_INFO_WRITE		VTAP_INFO_FLAG(VRING_DESC_F_WRITE)
#define VTAP_INFO_INDIRECT	VTAP_INFO_FLAG(VRING_DESC_F_INDIRECT)

static __always_inline u32 vtap_info_len(u64 info)
{
	return info;
}

static __always_inline u32 vtap_info_flags(u64 info)
{
	return (u32)(info >> 32) & (VRING_DESC_F_NEXT | VRING_DESC_F_WRITE | VRING_DESC_F_INDIRECT);
}

static __always_inline u32 vtap_info_next(u64 info)
{
	return info >> 48;
}

/* Does the chain go on in its table? An indirect descriptor is its last one. */
static __always_inline bool vtap_info_goes_on(u64 info)
{
	return (vtap_info_flags(info) & ~VRING_DESC_F_WRITE) == VRING_DESC_F_NEXT;
}

/*
 * Errors between these files are positive: the reason why the ring is broken.
 */

/**
 * struct vtap_split_batch - what vtap_split_copy() has copied
 * @nr: chains; the first descriptor of each is in copy->first[], its id in
 *	ring->chain[] behind those fetched before
 * @rest: descriptors in copy->rest[]: those behind the first, chain by chain
 * @plain: each is one direct descriptor of the right direction
 * @unfinished: there is one chain only, and copy->rest[] is too short for it
 */
struct vtap_split_batch {
	u32 nr;
	u32 rest;
	bool plain;
	bool unfinished;
};

/* prototypes of ring_split_copy.c */
int vtap_split_copy(struct vtap_ring *r, u32 max, struct vtap_split_batch *b);
int vtap_split_copy_on(const struct vtap_ring *r, const struct vring_desc __user *table, u32 count,
		       u32 idx, struct vtap_desc *dst, u32 max, u32 *nr);
int vtap_split_copy_table(struct vtap_ring *r, const struct vring_desc __user *table, u32 count,
			  bool *linear);

#endif /* VTAP_RING_SPLIT_H */
