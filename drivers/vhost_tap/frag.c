// SPDX-License-Identifier: GPL-2.0-only
/*
 * Recycled buffers for TX frames. Touches pages and their reference counts,
 * nothing else.
 *
 * A chunk is a compound page, cut from front to back. All references that its
 * fragments will carry are taken at once, in advance: chunk->bias counts those
 * not handed out yet. To hand out a fragment is then a plain decrement, and
 * whoever frees it drops a reference of the page as of any other. Once
 *
 *	page_ref_count(page) == chunk->bias
 *
 * every fragment has come home, and the chunk is cut again from its front: no
 * allocation, no clearing, no atomic operation.
 *
 * The pool never waits for a chunk. If the stack holds on to all of them
 * (queued skbs, frames redirected by XDP), one is left to its holders, who free
 * it when they are done, and a new page takes its place. So the pool never grows
 * over its number of chunks, however long its fragments live. A pool of large
 * buffers has none to give then: it would have to clear more than the frame is
 * long, and there is another way for such a frame.
 */
#include <linux/align.h>
#include <linux/bug.h>
#include <linux/cache.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/page_ref.h>
#include <linux/sizes.h>
#include <linux/string.h>

#include "frag.h"

/* Of each kind: size of a chunk, and how many. */
static const struct {
	u32 size;
	u32 chunks;
} vtap_frag_kinds[] = {
	/* 8 times 32 KiB are more than four batches of 64 bytes */
	[VTAP_FRAG_SMALL] = { SZ_32K, VTAP_FRAG_CHUNKS },
	/* one chunk is in the stack, the other one is being filled */
	[VTAP_FRAG_LARGE] = { VTAP_FRAG_LARGE_MAX, 2 },
};

/* References taken at once, and how few of them are too few for one more round. */
#define VTAP_FRAG_BIAS		65536U
#define VTAP_FRAG_BIAS_LOW	4096U

/*
 * Have all fragments of @chunk come home? Whoever dropped a reference did so
 * with a fully ordered atomic operation after its last access; our next stores
 * into the page depend on this load. So they come after.
 *
 * Pages from the emergency reserves are used once and not kept.
 */
static bool vtap_frag_idle(const struct vtap_frag_chunk *chunk)
{
	return chunk->page && page_ref_count(chunk->page) == chunk->bias &&
	       !page_is_pfmemalloc(chunk->page);
}

/* Leave the page to the holders of its fragments, or free it. */
static void vtap_frag_release(struct vtap_frag_chunk *chunk)
{
	if (!chunk->page)
		return;
	page_ref_sub(chunk->page, chunk->bias - 1);
	put_page(chunk->page);
	memset(chunk, 0, sizeof(*chunk));
}

/* Put a new page into @chunk's place; a failure leaves the old one there. */
static bool vtap_frag_renew(struct vtap_frag_chunk *chunk, enum vtap_frag_kind kind)
{
	const gfp_t gfp = GFP_KERNEL | __GFP_NOWARN | __GFP_NORETRY;
	u32 order = get_order(vtap_frag_kinds[kind].size);
	struct page *page;

	/* A large page saves time, but is not worth compacting memory for. */
	page = alloc_pages((gfp & ~__GFP_DIRECT_RECLAIM) | __GFP_COMP, order);
	if (!page && kind == VTAP_FRAG_SMALL) {
		order = 0;
		page = alloc_page(gfp);
	}
	if (!page)
		return false;

	vtap_frag_release(chunk);
	page_ref_add(page, VTAP_FRAG_BIAS - 1);
	chunk->page = page;
	chunk->addr = page_address(page);
	chunk->size = PAGE_SIZE << order;
	chunk->bias = VTAP_FRAG_BIAS;
	return true;
}

/*
 * Find a chunk to cut after the current one is used up. The search begins at
 * the front, so that as few chunks as possible are in use and these stay in
 * the cache.
 */
struct vtap_frag_chunk *vtap_frag_next(struct vtap_frag_pool *pool)
{
	struct vtap_frag_chunk *chunk;
	const u32 chunks = vtap_frag_kinds[pool->kind].chunks;
	u32 i, place = chunks;

	/* What a chunk of the smallest fragments hands out must be covered. */
	BUILD_BUG_ON(VTAP_FRAG_LARGE_MAX / SMP_CACHE_BYTES >= VTAP_FRAG_BIAS_LOW);

	for (i = 0; i < chunks; i++) {
		chunk = &pool->chunk[i];
		if (vtap_frag_idle(chunk)) {
			if (unlikely(chunk->bias < VTAP_FRAG_BIAS_LOW)) {
				page_ref_add(chunk->page, VTAP_FRAG_BIAS);
				chunk->bias += VTAP_FRAG_BIAS;
			}
			goto found;
		}
		if (!chunk->page && place == chunks)
			place = i;
	}

	/* None: take an empty place, or that of the chunk used longest ago. */
	if (place == chunks && pool->kind == VTAP_FRAG_LARGE)
		return NULL;
	i = place < chunks ? place : (pool->cur + 1) % chunks;
	chunk = &pool->chunk[i];
	if (!vtap_frag_renew(chunk, pool->kind))
		return NULL;
found:
	pool->cur = i;
	pool->offset = 0;
	return chunk;
}

void vtap_frag_init(struct vtap_frag_pool *pool, enum vtap_frag_kind kind)
{
	memset(pool, 0, sizeof(*pool));
	pool->kind = kind;
}

void vtap_frag_destroy(struct vtap_frag_pool *pool)
{
	u32 i;

	for (i = 0; i < VTAP_FRAG_CHUNKS; i++)
		vtap_frag_release(&pool->chunk[i]);
	vtap_frag_init(pool, pool->kind);
}
