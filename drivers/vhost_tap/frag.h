/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Recycled buffers for TX frames: pages whose only reference is ours again are
 * used anew, so that in steady state no page is allocated or cleared. A pool
 * belongs to one device: stale bytes of one guest never come near another.
 * Owned by frag.c.
 */
#ifndef VTAP_FRAG_H
#define VTAP_FRAG_H

#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/types.h>

struct page;

/* Chunks of a pool at most. */
#define VTAP_FRAG_CHUNKS	8

/* The two kinds of pools. */
enum vtap_frag_kind {
	VTAP_FRAG_SMALL,	/* buffers of a page at most: 8 chunks of 32 KiB */
	VTAP_FRAG_LARGE,	/* all others: 2 chunks of 128 KiB */
};

/**
 * struct vtap_frag_chunk - one (compound) page cut into fragments
 * @page: NULL until used first
 * @addr: where it is
 * @size: its bytes; 0 without a page
 * @bias: references of ours not yet handed out with fragments; at least 1
 *	with a page
 */
struct vtap_frag_chunk {
	struct page *page;
	void *addr;
	u32 size;
	u32 bias;
};

/**
 * struct vtap_frag_pool - the chunks of one device
 * @chunk: all of them
 * @cur: the chunk being cut
 * @offset: bytes of it already handed out
 * @kind: which of the two kinds it is
 *
 * Used by the device's TX queue alone, under that queue's mutex.
 */
struct vtap_frag_pool {
	struct vtap_frag_chunk chunk[VTAP_FRAG_CHUNKS];
	u32 cur;
	u32 offset;
	enum vtap_frag_kind kind;
};

/* prototypes of frag.c */

/** vtap_frag_init() - an empty pool; pages come with the first frames */
void vtap_frag_init(struct vtap_frag_pool *pool, enum vtap_frag_kind kind);

/**
 * vtap_frag_next() - the chunk to cut after the current one is used up
 * @pool: the pool
 *
 * Return: it, or NULL without memory. For vtap_frag_alloc().
 */
struct vtap_frag_chunk *vtap_frag_next(struct vtap_frag_pool *pool);

/* The largest buffer. */
#define VTAP_FRAG_LARGE_MAX	SZ_128K

/**
 * vtap_frag_alloc() - a buffer of @size bytes, not cleared
 * @size: a multiple of SMP_CACHE_BYTES, at most PAGE_SIZE or, if the pool is of
 *	large ones, VTAP_FRAG_LARGE_MAX; the buffer is aligned to
 *	SMP_CACHE_BYTES then
 *
 * It carries one reference of its page: who frees it does so with
 * page_frag_free(), put_page() of its head page, or by freeing the skb built
 * around it. May sleep. Asks for memory without insisting: a large page only
 * if there is one, a small one after one try to reclaim.
 *
 * Return: the buffer, or NULL. A pool of large ones also has none while all that
 * it has are in use.
 */
static inline void *vtap_frag_alloc(struct vtap_frag_pool *pool, u32 size)
{
	struct vtap_frag_chunk *chunk = &pool->chunk[pool->cur];
	void *buf;

	if (unlikely(pool->offset + size > chunk->size)) {
		chunk = vtap_frag_next(pool);
		if (unlikely(!chunk))
			return NULL;
	}
	buf = chunk->addr + pool->offset;
	pool->offset += size;
	chunk->bias--;
	return buf;
}

/**
 * vtap_frag_free() - free a buffer that nobody else got to see
 * @buf: what vtap_frag_alloc() has returned
 */
static inline void vtap_frag_free(void *buf)
{
	put_page(virt_to_head_page(buf));
}

/** vtap_frag_destroy() - drop our references; fragments in flight live on */
void vtap_frag_destroy(struct vtap_frag_pool *pool);

#endif /* VTAP_FRAG_H */
