// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fetching chains from a split ring (VIRTIO 2.7.5, 2.7.6, 2.7.13). Portable
 * like ring_split.c.
 *
 * Two stages, each for a whole batch:
 *
 *	guest memory --copy, one window--> first[], rest[] --translate--> chain[], seg[]
 *
 * ring_split_copy.c has the first: the first descriptor of every chain goes
 * into first[], and, if there are any, the others into rest[], where a chain of
 * several lies in a row. The second, here, reads no guest memory, except for
 * indirect tables (one window for each, into table[]) and for what is left of
 * a chain that is longer than rest[]. Nothing is read twice (I7).
 */
#include "guest.h"
#include "mem.h"
#include "ring.h"
#include "ring_split.h"

/* A 16-bit next field reaches no more entries than this. */
#define VTAP_TABLE_MAX		65536

/* No error of the ring's: a chain has to wait for room in ring->seg[]. */
#define VTAP_NO_ROOM		(-ENOSPC)
/* Nor this: it has to wait for a mapping in the IOTLB. */
#define VTAP_MISSED		(-EAGAIN)

/* The mapping that holds @iova, as a region; NULL, and why in r->missed. */
static bool vtap_split_translate_iova(struct vtap_ring *r, u64 iova, u32 access,
				      struct vtap_region *reg)
{
	struct vtap_span span;
	int err;

	err = vtap_iotlb_find(r->tlb, iova, access, &span);
	r->missed = err == -EAGAIN;
	if (err) {
		r->miss_iova = iova;
		r->miss_access = access;
		return false;
	}
	reg->gpa = span.gpa;
	reg->last = span.gpa + (span.size - 1);
	reg->uaddr = span.gpa + span.delta;
	return true;
}

/* A buffer, in the IOTLB: its mapping becomes the window. */
static noinline const struct vtap_region *vtap_split_find_iova(struct vtap_ring *r, u64 iova)
{
	struct vtap_mem *window = r->window;

	window->nr = 0;
	if (!vtap_split_translate_iova(r, iova, r->writable ? VHOST_ACCESS_WO : VHOST_ACCESS_RO,
				       &window->region[0]))
		return NULL;
	window->nr = 1;
	r->last_region = 0;
	return &window->region[0];
}

/* No region: is that for ever? */
static int vtap_split_nowhere(const struct vtap_ring *r)
{
	return r->tlb && r->missed ? VTAP_MISSED : VHOST_TAP_RING_ERR_ADDRESS;
}

/* The region that holds @gpa; the one hit last is looked at first. */
static const struct vtap_region *vtap_split_region(struct vtap_ring *r, u64 gpa)
{
	const struct vtap_mem *mem = r->mem;
	const struct vtap_region *reg;

	if (mem && r->last_region < mem->nr) {
		reg = &mem->region[r->last_region];
		if (gpa >= reg->gpa && gpa <= reg->last)
			return reg;
	}
	if (unlikely(r->tlb))
		return vtap_split_find_iova(r, gpa);
	reg = vtap_mem_find(mem, gpa);
	if (reg)
		r->last_region = reg - mem->region;
	return reg;
}

/* The same for a table. In the IOTLB it has to be readable, whatever buffers have to be. */
static const struct vtap_region *vtap_split_table_region(struct vtap_ring *r, u64 gpa)
{
	struct vtap_region *reg = &r->table;

	if (likely(!r->tlb))
		return vtap_split_region(r, gpa);
	if (reg->uaddr && gpa >= reg->gpa && gpa <= reg->last)
		return reg;
	reg->uaddr = 0;
	return vtap_split_translate_iova(r, gpa, VHOST_ACCESS_RO, reg) ? reg : NULL;
}

/* Bytes from @gpa to the end of @reg, but not more than @len, which is not 0. */
static u32 vtap_split_piece(const struct vtap_region *reg, u64 gpa, u32 len)
{
	return min_t(u64, reg->last - gpa, len - 1) + 1;
}

static void __user *vtap_split_uaddr(const struct vtap_region *reg, u64 gpa)
{
	return (void __user *)(unsigned long)(reg->uaddr + (gpa - reg->gpa));
}

/**
 * struct vtap_split_hot - the region hit last, as the fast path wants it
 * @gpa: where it begins
 * @size: bytes; 0 if there is none
 * @delta: to be added to a guest address to have where it stands for the owner
 */
struct vtap_split_hot {
	u64 gpa;
	u64 size;
	u64 delta;
};

static __always_inline struct vtap_split_hot vtap_split_hot(const struct vtap_ring *r)
{
	const struct vtap_mem *mem = r->mem;
	struct vtap_split_hot hot = { 0 };

	if (likely(mem && r->last_region < mem->nr)) {
		const struct vtap_region *reg = &mem->region[r->last_region];

		hot.gpa = reg->gpa;
		hot.size = reg->last - reg->gpa + 1;
		hot.delta = reg->uaddr - reg->gpa;
	}
	return hot;
}

/*
 * Does a buffer lie in the hot region, all of it? Not if it is empty: then
 * @last is less than @off, or 2^64-1, which is less than no @size.
 */
static __always_inline bool vtap_split_hits(const struct vtap_split_hot *hot, struct vtap_desc d)
{
	u64 off = d.addr - hot->gpa;
	u64 last = off + ((u64)vtap_info_len(d.info) - 1);

	return last >= off && last < hot->size;
}

/* The same, but have another look at all regions if it does not. */
static __always_inline bool vtap_split_find(struct vtap_ring *r, struct vtap_split_hot *hot,
					    struct vtap_desc d)
{
	if (likely(vtap_split_hits(hot, d)))
		return true;
	if (!vtap_split_region(r, d.addr))
		return false;
	*hot = vtap_split_hot(r);
	return vtap_split_hits(hot, d);
}

static __always_inline void vtap_split_put_seg(const struct vtap_split_hot *hot, struct iovec *seg,
					       struct vtap_desc d)
{
	seg->iov_base = (void __user *)(unsigned long)(d.addr + hot->delta);
	seg->iov_len = vtap_info_len(d.info);
}

/*
 * vtap_split_add() - append one buffer of any kind to ring->seg[]
 * @first: segment that its chain begins with
 * @len: its length is added
 *
 * An empty buffer gives no segment, one that lies across regions several.
 */
static noinline int vtap_split_add(struct vtap_ring *r, const struct vtap_desc *d, u32 first,
				   u64 *len)
{
	u32 left = vtap_info_len(d->info);
	u64 gpa = d->addr;

	/* Here it would be one in a table: tables of the ring do not get so far. */
	if (d->info & VTAP_INFO_INDIRECT)
		return VHOST_TAP_RING_ERR_INDIRECT;
	if (!(d->info & VTAP_INFO_WRITE) != !r->writable)
		return VHOST_TAP_RING_ERR_DIRECTION;
	if (!left)
		return 0;
	if (gpa + (left - 1) < gpa)
		return VHOST_TAP_RING_ERR_ADDRESS;
	*len += left;

	do {
		const struct vtap_region *reg = vtap_split_region(r, gpa);
		struct iovec *seg = &r->seg[r->nr_segs];
		u32 piece;

		if (!reg)
			return vtap_split_nowhere(r);
		if (r->nr_segs == r->max_segs)
			return first ? VTAP_NO_ROOM : VHOST_TAP_RING_ERR_SEGMENTS;
		piece = vtap_split_piece(reg, gpa, left);
		seg->iov_base = vtap_split_uaddr(reg, gpa);
		seg->iov_len = piece;
		r->nr_segs++;
		gpa += piece;
		left -= piece;
	} while (left);
	return 0;
}

/* One entry of a table that does not lie in one piece: copied byte range by byte range. */
static int vtap_split_copy_entry(struct vtap_ring *r, u64 gpa, struct vtap_desc *dst)
{
	struct vring_desc raw;
	u32 done = 0;

	while (done < sizeof(raw)) {
		const struct vtap_region *reg = vtap_split_table_region(r, gpa + done);
		u32 piece;

		if (!reg)
			return vtap_split_nowhere(r);
		piece = vtap_split_piece(reg, gpa + done, sizeof(raw) - done);
		if (vtap_guest_copy_in((u8 *)&raw + done, vtap_split_uaddr(reg, gpa + done), piece))
			return VHOST_TAP_RING_ERR_FAULT;
		done += piece;
	}
	dst->addr = __virtio64_to_cpu(vtap_split_le(r), raw.addr);
	dst->info = __virtio32_to_cpu(vtap_split_le(r), raw.len) |
		    VTAP_INFO_FLAG(vtap_split_to_cpu16(r, raw.flags)) |
		    (u64)vtap_split_to_cpu16(r, raw.next) << 48;
	return 0;
}

/*
 * A table that is large, or does not lie in one piece (@table is NULL): bit by bit.
 *
 * Empty buffers take no segment, but time. So that a full ring of full tables
 * cannot hold the worker (I6), a chain in a table ends where no driver's may be
 * longer (VIRTIO 2.7.5.3.1): after as many as the ring has, or as VTAP_MAX_SEGS,
 * for those that take that for the limit.
 */
static int vtap_split_add_large_table(struct vtap_ring *r, const struct vring_desc __user *table,
				      u64 gpa, u32 count, u32 first, u64 *len)
{
	const u32 limit = max_t(u32, r->num, VTAP_MAX_SEGS);
	u32 idx = 0, seen = 0, nr, i;
	u64 last;
	int err;

	do {
		if (seen == count)
			return VHOST_TAP_RING_ERR_LOOP;
		if (seen >= limit)
			return VHOST_TAP_RING_ERR_SEGMENTS;
		if (table) {
			err = vtap_split_copy_on(r, table, count, idx, r->copy->table,
						 min_t(u32, count - seen, VTAP_RING_TABLE), &nr);
		} else if (idx >= count) {
			err = VHOST_TAP_RING_ERR_HEAD;
		} else {
			nr = 1;
			err = vtap_split_copy_entry(r, gpa + idx * sizeof(*table), r->copy->table);
		}
		if (err)
			return err;
		for (i = 0; i < nr; i++) {
			err = vtap_split_add(r, &r->copy->table[i], first, len);
			if (err)
				return err;
		}
		last = r->copy->table[nr - 1].info;
		idx = vtap_info_next(last);
		seen += nr;
	} while (last & VTAP_INFO_NEXT);
	return 0;
}

/* The first @count entries of copy->table[], for which vtap_split_copy_table() vouches. */
static int vtap_split_add_linear(struct vtap_ring *r, u32 count, u32 first, u64 *len)
{
	struct vtap_split_hot hot = vtap_split_hot(r);
	const struct vtap_desc *table = r->copy->table;
	struct iovec *seg = &r->seg[r->nr_segs];
	struct iovec *end = &r->seg[r->max_segs];
	u64 total = 0;
	u32 i;
	int err;

	for (i = 0; i < count; i++) {
		const struct vtap_desc d = table[i];

		if (likely(seg != end && vtap_split_find(r, &hot, d))) {
			vtap_split_put_seg(&hot, seg++, d);
			total += vtap_info_len(d.info);
			continue;
		}
		r->nr_segs = seg - r->seg;
		err = vtap_split_add(r, &table[i], first, len);
		if (err)
			return err;
		seg = &r->seg[r->nr_segs];
		hot = vtap_split_hot(r);
	}
	r->nr_segs = seg - r->seg;
	*len += total;
	return 0;
}

/* A small table in copy->table[], by its next fields. */
static int vtap_split_add_by_next(struct vtap_ring *r, u32 count, u32 first, u64 *len)
{
	u32 idx = 0, seen = 0;
	int err;

	for (;;) {
		/* the mask: not even speculatively outside */
		const struct vtap_desc *d = &r->copy->table[idx & (VTAP_RING_TABLE - 1)];

		err = vtap_split_add(r, d, first, len);
		if (err)
			return err;
		if (!(d->info & VTAP_INFO_NEXT))
			return 0;
		idx = vtap_info_next(d->info);
		if (idx >= count)
			return VHOST_TAP_RING_ERR_HEAD;
		if (++seen == count)
			return VHOST_TAP_RING_ERR_LOOP;
	}
}

/*
 * vtap_split_add_table() - append the buffers of an indirect table to a chain
 * @ind: the descriptor that refers to it; its WRITE flag means nothing
 *
 * (VIRTIO 2.7.5.3)
 */
static int vtap_split_add_table(struct vtap_ring *r, const struct vtap_desc *ind, u32 first,
				u64 *len)
{
	const struct vring_desc __user *table = NULL;
	const struct vtap_region *reg;
	u32 bytes = vtap_info_len(ind->info);
	u32 count = bytes / sizeof(*table);
	u64 gpa = ind->addr;
	bool linear;
	int err;

	if (!r->indirect || ind->info & VTAP_INFO_NEXT)
		return VHOST_TAP_RING_ERR_INDIRECT;
	if (!bytes || bytes % sizeof(*table) || count > VTAP_TABLE_MAX)
		return VHOST_TAP_RING_ERR_TABLE;
	if (gpa + (bytes - 1) < gpa)
		return VHOST_TAP_RING_ERR_ADDRESS;

	reg = vtap_split_table_region(r, gpa);
	if (!reg)
		return vtap_split_nowhere(r);
	if (vtap_split_piece(reg, gpa, bytes) == bytes) {
		table = vtap_split_uaddr(reg, gpa);
		if (!VTAP_GUEST_UNALIGNED && (unsigned long)table % sizeof(u64))
			table = NULL;
	}
	if (!table || count > VTAP_RING_TABLE)
		return vtap_split_add_large_table(r, table, gpa, count, first, len);

	err = vtap_split_copy_table(r, table, count, &linear);
	if (err)
		return err;
	if (likely(linear))
		return vtap_split_add_linear(r, count, first, len);
	return vtap_split_add_by_next(r, count, first, len);
}

/*
 * The first two append as many chains as they can from chain @i on, and return
 * which one is the first that they could not. What they can is chains of direct
 * descriptors that lie in the hot region, each in one segment: nearly all.
 */

/* The common batch, one descriptor a chain; nothing is spent on anything else. */
static noinline u32 vtap_split_chains_plain(struct vtap_ring *r, const struct vtap_split_batch *b,
					    u32 i)
{
	struct vtap_split_hot hot = vtap_split_hot(r);
	struct vtap_chain *c = &r->chain[r->nr_chains + i];
	struct iovec *seg = &r->seg[r->nr_segs];
	const struct vtap_desc *copy = r->copy->first;
	u32 s = r->nr_segs;
	u32 end = i + min(b->nr - i, r->max_segs - s);

	for (; i < end; i++) {
		const struct vtap_desc d = copy[i];

		if (unlikely(!vtap_split_find(r, &hot, d)))
			break;
		vtap_split_put_seg(&hot, seg++, d);
		c->written = 0;
		c->seg = s++;
		c->len = vtap_info_len(d.info);
		c->nsegs = 1;
		c->slots = 1;
		c++;
	}
	r->nr_segs = s;
	return i;
}

static noinline u32 vtap_split_chains(struct vtap_ring *r, const struct vtap_split_batch *b, u32 i,
				      const struct vtap_desc **rest)
{
	const u32 dir = r->writable ? VRING_DESC_F_WRITE : 0;
	const struct vtap_split_hot hot = vtap_split_hot(r);
	struct vtap_chain *c = &r->chain[r->nr_chains + i];
	const struct vtap_desc *copy = r->copy->first;
	const struct vtap_desc *row = *rest;
	u32 s = r->nr_segs;
	struct iovec *seg = &r->seg[s];

	/* Room for all that is left, so that the loop need not look. */
	if (unlikely(b->nr - i + (b->rest - (row - r->copy->rest)) > r->max_segs - s))
		return i;

	for (; i < b->nr; i++) {
		struct vtap_desc d = copy[i];
		const u32 first = s;
		u64 len = 0;
		u32 flags;

		*rest = row;
		for (;;) {
			flags = vtap_info_flags(d.info);
			if (unlikely((flags & ~VRING_DESC_F_NEXT) != dir ||
				     !vtap_split_hits(&hot, d)))
				goto stop;
			vtap_split_put_seg(&hot, seg++, d);
			len += vtap_info_len(d.info);
			s++;
			if (!(flags & VRING_DESC_F_NEXT))
				break;
			d = *row++;
		}
		if (unlikely(len > U32_MAX)) {
stop:
			s = first;
			row = *rest;
			break;
		}

		c->written = 0;
		c->seg = first;
		c->len = len;
		c->nsegs = s - first;
		c->slots = s - first;
		c++;
	}
	*rest = row;
	r->nr_segs = s;
	return i;
}

/* One chain that is an indirect table, and nothing else. */
static int vtap_split_chain_table(struct vtap_ring *r, struct vtap_chain *c,
				  const struct vtap_desc *d)
{
	u64 len = 0;
	int err;

	c->written = 0;
	c->seg = r->nr_segs;
	err = vtap_split_add_table(r, d, c->seg, &len);
	if (err)
		return err;
	if (len > U32_MAX)
		return VHOST_TAP_RING_ERR_LENGTH;
	c->len = len;
	c->nsegs = r->nr_segs - c->seg;
	c->slots = 1;
	return 0;
}

/* One chain of any kind. */
static noinline int vtap_split_chain(struct vtap_ring *r, struct vtap_chain *c,
				     const struct vtap_desc *d, const struct vtap_desc **rest,
				     bool unfinished)
{
	const struct vtap_desc *end = &r->copy->rest[VTAP_RING_REST];
	u32 slots = 0, nr;
	u64 len = 0;
	int err;

	c->written = 0;
	c->seg = r->nr_segs;
	for (;;) {
		slots++;
		if (d->info & VTAP_INFO_INDIRECT)
			err = vtap_split_add_table(r, d, c->seg, &len);
		else
			err = vtap_split_add(r, d, c->seg, &len);
		if (err)
			return err;
		if (!vtap_info_goes_on(d->info))
			break;

		if (unlikely(unfinished && *rest == end)) {
			/* The chain is alone in rest[]: more of it comes over it. */
			if (slots == r->num)
				return VHOST_TAP_RING_ERR_LOOP;
			err = vtap_split_copy_on(r, r->desc, r->num, vtap_info_next(d->info),
						 r->copy->rest,
						 min_t(u32, r->num - slots, VTAP_RING_REST), &nr);
			if (err)
				return err;
			*rest = r->copy->rest;
			end = &r->copy->rest[nr];
		}
		d = (*rest)++;
	}
	if (len > U32_MAX)
		return VHOST_TAP_RING_ERR_LENGTH;
	c->len = len;
	c->nsegs = r->nr_segs - c->seg;
	c->slots = slots;
	return 0;
}

/*
 * vtap_split_translate() - turn what was copied into chains and segments
 * @err: set to why it ended early, if it did
 *
 * Return: chains appended.
 */
static u32 vtap_split_translate(struct vtap_ring *r, const struct vtap_split_batch *b, int *err)
{
	const struct vtap_desc *rest = r->copy->rest;
	u32 i = 0;

	*err = 0;
	while (i < b->nr) {
		const struct vtap_desc *d = &r->copy->first[i];
		struct vtap_chain *c = &r->chain[r->nr_chains + i];
		u32 segs = r->nr_segs;
		u32 next = i;

		if (d->info & VTAP_INFO_INDIRECT) {
			*err = vtap_split_chain_table(r, c, d);
		} else {
			if (likely(b->plain)) {
				next = vtap_split_chains_plain(r, b, i);
			} else if (!b->unfinished) {
				/* its region becomes the hot one */
				vtap_split_region(r, d->addr);
				next = vtap_split_chains(r, b, i, &rest);
			}
			if (likely(next != i)) {
				i = next;
				continue;
			}
			*err = vtap_split_chain(r, c, d, &rest, b->unfinished);
		}
		if (unlikely(*err)) {
			r->nr_segs = segs;
			break;
		}
		i++;
	}
	return i;
}

/* One turn of fetch: up to VTAP_BATCH chains. */
static int vtap_split_fetch_batch(struct vtap_ring *r, u32 max, bool *more)
{
	struct vtap_split_batch b;
	u32 n;
	int err;

	err = vtap_split_copy(r, max, &b);
	if (unlikely(err))
		return vtap_split_broken(r, err);
	if (!b.nr) {
		*more = false;
		return 0;
	}
	n = vtap_split_translate(r, &b, &err);
	if (unlikely(err > 0 && !n))
		return vtap_split_broken(r, err);
	if (unlikely(err == VTAP_MISSED && !n))
		return err;

	/* A very long chain is enough work for one call (I6). */
	*more = n == max && !b.unfinished;
	r->nr_chains += n;
	r->last_avail += n;
	return n;
}

int vtap_ring_fetch_split(struct vtap_ring *r, u32 max)
{
	bool more = true;
	u32 done = 0;
	int n;

	if (unlikely(r->err))
		return -EPROTO;

	max = min(max, r->max_chains - r->nr_chains);
	while (done < max && more) {
		/* Only what is known already is fetched in a second turn. */
		if (done && r->avail_idx == r->last_avail)
			break;
		n = vtap_split_fetch_batch(r, min_t(u32, max - done, VTAP_BATCH), &more);
		if (unlikely(n < 0)) {
			if (!done)
				return n;
			/* The next call meets it first. */
			r->err = VHOST_TAP_RING_ERR_NONE;
			break;
		}
		done += n;
	}
	return done;
}
