// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fetching chains from a split ring: copy, then translate (VIRTIO 2.7.5,
 * 2.7.6, 2.7.13). Portable like ring_split.c, whose first lines explain the
 * barriers.
 *
 * Two stages, each for a whole batch:
 *
 *	guest memory --copy, one window--> head[], copy[] --translate--> chain[], seg[]
 *
 * The window of the first stage holds loads, checks of indices and nothing
 * else. The second stage reads no guest memory, except for indirect tables
 * (one window for each, into table[]) and for what is left of a chain that is
 * longer than copy[]. Nothing is read twice (I7).
 */
#include "guest.h"
#include "mem.h"
#include "ring.h"
#include "ring_split.h"

#define VTAP_INFO_FLAG(flag)	((u64)(flag) << 32)
#define VTAP_INFO_NEXT		VTAP_INFO_FLAG(VRING_DESC_F_NEXT)
#define VTAP_INFO_WRITE		VTAP_INFO_FLAG(VRING_DESC_F_WRITE)
#define VTAP_INFO_INDIRECT	VTAP_INFO_FLAG(VRING_DESC_F_INDIRECT)

/* A 16-bit next field reaches no more entries than this. */
#define VTAP_TABLE_MAX		65536

/* What vtap_split_copy() has copied. */
struct vtap_split_batch {
	u16 head[VTAP_BATCH];
	u32 nr;			/* chains */
	u32 descs;		/* descriptors of them in ring->copy[] */
	bool unfinished;	/* one chain, and copy[] is too short for it */
};

/*
 * Errors inside this file are positive: the reason why the ring is broken.
 * This one means that a chain has to wait for room in ring->seg[].
 */
#define VTAP_NO_ROOM	(-ENOSPC)

/* Length, flags and next, which lie side by side, from one 64-bit read. */
static __always_inline u64 vtap_split_info(const struct vtap_ring *r, u64 raw)
{
	if (vtap_split_le(r))
		return le64_to_cpu((__force __le64)raw);

	raw = be64_to_cpu((__force __be64)raw);
	return raw >> 32 | (raw & 0xffff0000) << 16 | raw << 48;
}

static __always_inline u64 vtap_split_addr(const struct vtap_ring *r, u64 raw)
{
	return __virtio64_to_cpu(vtap_split_le(r), (__force __virtio64)raw);
}

static __always_inline size_t vtap_split_avail_size(const struct vtap_ring *r)
{
	return offsetof(struct vring_avail, ring) + sizeof(__virtio16) * r->num;
}

/*
 * Copying: everything between begin and end is inline and calls nothing.
 */

/* One descriptor, in two reads; false if it cannot be read. */
static __always_inline bool vtap_split_get_desc(const struct vtap_ring *r, struct vtap_desc *dst,
						const struct vring_desc __user *src)
{
	u64 addr, info;

	vtap_guest_get(addr, (const u64 __force __user *)&src->addr, fault);
	vtap_guest_get(info, (const u64 __force __user *)&src->len, fault);
	dst->addr = vtap_split_addr(r, addr);
	dst->info = vtap_split_info(r, info);
	return true;
fault:
	return false;
}

/* Does the chain go on in its table? An indirect descriptor is its last one. */
static __always_inline bool vtap_split_goes_on(u64 info)
{
	return (info & (VTAP_INFO_NEXT | VTAP_INFO_INDIRECT)) == VTAP_INFO_NEXT;
}

/*
 * vtap_split_copy() - copy the next up to @max chains out of the ring
 *
 * One window for all: available index if needed, heads, descriptors. A chain
 * that cannot be copied is left out together with those behind it; its error
 * is returned if it is the first.
 */
static int vtap_split_copy(struct vtap_ring *r, u32 max, struct vtap_split_batch *b)
{
	const struct vring_desc __user *desc = r->desc;
	const u32 mask = r->num - 1;
	u32 slot = r->last_avail & mask;
	struct vtap_desc *copy = r->copy;
	int err = VHOST_TAP_RING_ERR_FAULT;
	u32 i = 0, k = 0, n, first;
	__virtio16 raw;

	b->nr = 0;
	b->unfinished = false;

	if (!vtap_guest_read_begin2(r->avail, vtap_split_avail_size(r),
				    desc, sizeof(*desc) * r->num))
		return VHOST_TAP_RING_ERR_FAULT;

	if (r->avail_idx == r->last_avail) {
		u16 idx;

		vtap_guest_get(raw, &r->avail->idx, out);
		idx = vtap_split_to_cpu16(r, raw);
		if (unlikely((u16)(idx - r->last_avail) > r->num)) {
			err = VHOST_TAP_RING_ERR_AVAIL_IDX;
			goto out;
		}
		r->avail_idx = idx;
	}
	n = (u16)(r->avail_idx - r->last_avail);
	if (n > max)
		n = max;
	if (!n) {
		err = 0;
		goto out;
	}

	/* A: an entry is read after the index that promised it */
	smp_rmb();

	while (i < n) {
		u32 end = i + min(n - i, r->num - slot);

		for (; i < end; i++, slot++) {
			vtap_guest_get(raw, &r->avail->ring[slot], heads_done);
			b->head[i] = vtap_split_to_cpu16(r, raw);
		}
		slot = 0;
	}
heads_done:
	n = i;

	for (i = 0; i < n; i++) {
		u32 idx = b->head[i];

		first = k;
		for (;;) {
			u64 info;

			if (unlikely(idx > mask)) {
				err = VHOST_TAP_RING_ERR_HEAD;
				goto stop;
			}
			if (unlikely(k == VTAP_RING_COPY)) {
				err = 0;
				b->unfinished = !i;
				goto stop;
			}
			/* & mask: not even speculatively outside */
			if (unlikely(!vtap_split_get_desc(r, &copy[k], &desc[idx & mask])))
				goto stop;
			info = copy[k++].info;
			if (likely(!vtap_split_goes_on(info)))
				break;
			if (unlikely(k - first > mask)) {
				err = VHOST_TAP_RING_ERR_LOOP;
				goto stop;
			}
			idx = info >> 48;
		}
	}
	first = k;
stop:
	b->nr = i;
	b->descs = first;
	if (b->unfinished) {
		b->nr = 1;
		b->descs = k;
	}
	if (b->nr)
		err = 0;
out:
	vtap_guest_read_end();
	return err;
}

/*
 * vtap_split_copy_on() - copy more of a chain whose descriptors lie in @table
 * @count: entries of @table
 * @idx: where to go on
 * @max: entries that @dst has room for, at least 1
 * @nr: set to how many were copied; the last of them may go on
 */
static int vtap_split_copy_on(const struct vtap_ring *r, const struct vring_desc __user *table,
			      u32 count, u32 idx, struct vtap_desc *dst, u32 max, u32 *nr)
{
	int err = VHOST_TAP_RING_ERR_FAULT;
	u32 k = 0;

	if (!vtap_guest_read_begin(table, sizeof(*table) * count))
		return err;
	do {
		if (unlikely(idx >= count)) {
			err = VHOST_TAP_RING_ERR_HEAD;
			goto out;
		}
		idx = array_index_nospec(idx, count);
		if (unlikely(!vtap_split_get_desc(r, &dst[k], &table[idx])))
			goto out;
		idx = dst[k].info >> 48;
	} while (vtap_split_goes_on(dst[k++].info) && k < max);
	*nr = k;
	err = 0;
out:
	vtap_guest_read_end();
	return err;
}

/*
 * Translating: no guest memory is read here.
 */

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
	reg = vtap_mem_find(mem, gpa);
	if (reg)
		r->last_region = reg - mem->region;
	return reg;
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

/*
 * vtap_split_add() - append the buffer of one descriptor to a chain
 * @len: length of the chain so far
 *
 * An empty buffer gives no segment, one that lies across regions several.
 */
static int vtap_split_add(struct vtap_ring *r, struct vtap_chain *c, const struct vtap_desc *d,
			  u64 *len)
{
	u32 left = d->info;
	u64 gpa = d->addr;

	if (!(d->info & VTAP_INFO_WRITE) != !r->writable)
		return VHOST_TAP_RING_ERR_DIRECTION;
	if (!left)
		return 0;
	if (gpa + (left - 1) < gpa)
		return VHOST_TAP_RING_ERR_ADDRESS;
	*len += left;
	if (*len > U32_MAX)
		return VHOST_TAP_RING_ERR_LENGTH;

	do {
		const struct vtap_region *reg = vtap_split_region(r, gpa);
		struct iovec *seg = &r->seg[c->seg + c->nsegs];
		u32 piece;

		if (!reg)
			return VHOST_TAP_RING_ERR_ADDRESS;
		if (c->seg + c->nsegs == r->max_segs)
			return c->seg ? VTAP_NO_ROOM : VHOST_TAP_RING_ERR_SEGMENTS;
		piece = vtap_split_piece(reg, gpa, left);
		seg->iov_base = vtap_split_uaddr(reg, gpa);
		seg->iov_len = piece;
		c->nsegs++;
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
		const struct vtap_region *reg = vtap_split_region(r, gpa + done);
		u32 piece;

		if (!reg)
			return VHOST_TAP_RING_ERR_ADDRESS;
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
 * vtap_split_add_table() - append the buffers of an indirect table to a chain
 * @ind: the descriptor that refers to it; its WRITE flag means nothing
 *
 * (VIRTIO 2.7.5.3)
 */
static int vtap_split_add_table(struct vtap_ring *r, struct vtap_chain *c,
				const struct vtap_desc *ind, u64 *len)
{
	const struct vring_desc __user *table = NULL;
	const struct vtap_region *reg;
	u32 bytes = ind->info;
	u64 gpa = ind->addr;
	u32 count = bytes / sizeof(*table);
	u32 idx = 0, seen = 0, nr, i;
	int err;

	if (!r->indirect || ind->info & VTAP_INFO_NEXT)
		return VHOST_TAP_RING_ERR_INDIRECT;
	if (!bytes || bytes % sizeof(*table) || count > VTAP_TABLE_MAX)
		return VHOST_TAP_RING_ERR_TABLE;
	if (gpa + (bytes - 1) < gpa)
		return VHOST_TAP_RING_ERR_ADDRESS;

	reg = vtap_split_region(r, gpa);
	if (!reg)
		return VHOST_TAP_RING_ERR_ADDRESS;
	if (vtap_split_piece(reg, gpa, bytes) == bytes) {
		table = vtap_split_uaddr(reg, gpa);
		if (!VTAP_GUEST_UNALIGNED && (unsigned long)table % sizeof(u64))
			table = NULL;
	}

	for (;;) {
		if (seen == count)
			return VHOST_TAP_RING_ERR_LOOP;
		if (table) {
			err = vtap_split_copy_on(r, table, count, idx, r->table,
						 min_t(u32, count - seen, VTAP_RING_TABLE), &nr);
		} else {
			nr = 1;
			err = idx < count ?
			      vtap_split_copy_entry(r, gpa + idx * sizeof(*table), r->table) :
			      VHOST_TAP_RING_ERR_HEAD;
		}
		if (err)
			return err;

		for (i = 0; i < nr; i++) {
			if (r->table[i].info & VTAP_INFO_INDIRECT)
				return VHOST_TAP_RING_ERR_INDIRECT;
			err = vtap_split_add(r, c, &r->table[i], len);
			if (err)
				return err;
		}
		if (!(r->table[nr - 1].info & VTAP_INFO_NEXT))
			return 0;
		seen += nr;
		idx = r->table[nr - 1].info >> 48;
	}
}

/*
 * vtap_split_build() - translate one chain of any kind, at leisure
 * @c: where it goes
 * @nr: how many of its descriptors lie at @d; the rest of an unfinished chain
 *	is copied here, over the whole of ring->copy[]
 */
static int vtap_split_build(struct vtap_ring *r, struct vtap_chain *c, const struct vtap_desc *d,
			    u32 nr)
{
	u32 slots = 0, i;
	u64 len = 0;
	int err;

	c->written = 0;
	c->seg = r->nr_segs;
	c->nsegs = 0;

	for (;;) {
		for (i = 0; i < nr; i++) {
			slots++;
			if (d[i].info & VTAP_INFO_INDIRECT)
				err = vtap_split_add_table(r, c, &d[i], &len);
			else
				err = vtap_split_add(r, c, &d[i], &len);
			if (err)
				return err;
		}
		if (!vtap_split_goes_on(d[nr - 1].info))
			break;
		if (slots == r->num)
			return VHOST_TAP_RING_ERR_LOOP;
		err = vtap_split_copy_on(r, r->desc, r->num, d[nr - 1].info >> 48, r->copy,
					 min_t(u32, r->num - slots, VTAP_RING_COPY), &nr);
		if (err)
			return err;
		d = r->copy;
	}

	c->len = len;
	c->slots = slots;
	r->nr_segs += c->nsegs;
	return 0;
}

/*
 * vtap_split_translate() - turn copied descriptors into chains and segments
 * @err: set to why it ended early, if it did
 *
 * The loop takes chains of direct descriptors that lie in the region hit last,
 * which is nearly all of them; others go through vtap_split_build() one by one.
 *
 * Return: chains appended.
 */
static u32 vtap_split_translate(struct vtap_ring *r, const struct vtap_split_batch *b, int *err)
{
	const u64 odd = VTAP_INFO_WRITE | VTAP_INFO_INDIRECT;
	const u64 dir = r->writable ? VTAP_INFO_WRITE : 0;
	const struct vtap_desc *d = r->copy;
	const struct vtap_desc *end = d + b->descs;
	struct vtap_chain *c = &r->chain[r->nr_chains];
	const struct vtap_region *reg;
	u32 i = 0;

	*err = 0;
	while (i < b->nr) {
		const struct vtap_desc *first = d;

		/* Room for all that is left, so that the loop need not look. */
		if (r->mem && r->last_region < r->mem->nr && !b->unfinished &&
		    end - d <= r->max_segs - r->nr_segs) {
			struct iovec *seg = &r->seg[r->nr_segs];
			u64 gpa, span, uaddr;

			reg = &r->mem->region[r->last_region];
			gpa = reg->gpa;
			span = reg->last - gpa;
			uaddr = reg->uaddr;

			for (; i < b->nr; i++, c++) {
				struct iovec *s = seg;
				u64 info, off, len = 0;

				first = d;
				do {
					info = d->info;
					off = d->addr - gpa;
					/* wrong, empty, or not all in this region */
					if (unlikely((info ^ dir) & odd || off > span ||
						     (u64)(u32)info - 1 > span - off))
						goto slow;
					s->iov_base = (void __user *)(unsigned long)(uaddr + off);
					s->iov_len = (u32)info;
					len += (u32)info;
					s++;
					d++;
				} while (info & VTAP_INFO_NEXT);
				if (unlikely(len > U32_MAX))
					goto slow;

				c->id = b->head[i];
				c->written = 0;
				c->seg = seg - r->seg;
				c->len = len;
				c->nsegs = s - seg;
				c->slots = d - first;
				seg = s;
			}
slow:
			r->nr_segs = seg - r->seg;
			if (i == b->nr)
				break;
		}

		c->id = b->head[i];
		d = first;
		while (d < end - 1 && vtap_split_goes_on(d->info))
			d++;
		d++;
		*err = vtap_split_build(r, c, first, d - first);
		if (*err)
			break;
		i++;
		c++;
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
