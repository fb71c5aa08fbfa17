/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Recycled buffers for TX frames: pages whose only reference is ours again are
 * used anew, so that in steady state no page is allocated or cleared. A pool
 * belongs to one device: stale bytes of one guest never come near another.
 * Owned by frag.c.
 */
#ifndef VTAP_FRAG_H
#define VTAP_FRAG_H

#include <linux/types.h>

struct page;

/* Chunks a pool keeps going round over; what a full tap queue can hold on to. */
#define VTAP_FRAG_CHUNKS	8

/**
 * struct vtap_frag_chunk - one (compound) page cut into fragments
 * @page: NULL until used first
 * @size: its bytes
 * @bias: references of ours not yet handed out with fragments
 */
struct vtap_frag_chunk {
	struct page *page;
	u32 size;
	u32 bias;
};

/**
 * struct vtap_frag_pool - the chunks of one device; used by its worker alone
 * @chunk: all of them
 * @cur: the chunk being cut
 * @offset: bytes of it already handed out
 */
struct vtap_frag_pool {
	struct vtap_frag_chunk chunk[VTAP_FRAG_CHUNKS];
	u32 cur;
	u32 offset;
};

/* prototypes of frag.c */

void vtap_frag_init(struct vtap_frag_pool *pool);

/**
 * vtap_frag_alloc() - a cache-aligned buffer of @size bytes (<= PAGE_SIZE)
 *
 * It carries one reference of its page: who frees it does so with
 * page_frag_free(), put_page() of its head page, or by freeing the skb built
 * around it. May sleep.
 *
 * Return: the buffer, not cleared, or NULL.
 */
void *vtap_frag_alloc(struct vtap_frag_pool *pool, u32 size);

/** vtap_frag_undo() - take back the fragment allocated last, unused */
void vtap_frag_undo(struct vtap_frag_pool *pool, void *buf, u32 size);

/** vtap_frag_destroy() - drop our references; fragments in flight live on */
void vtap_frag_destroy(struct vtap_frag_pool *pool);

#endif /* VTAP_FRAG_H */
