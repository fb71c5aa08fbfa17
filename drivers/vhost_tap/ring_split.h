/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the files of the split format share: byte order and errors. Portable.
 * Nobody else includes this.
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

#endif /* VTAP_RING_SPLIT_H */
