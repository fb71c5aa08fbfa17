// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a split ring in guest memory means: see oracle.h. Nothing here is
 * clever: one descriptor at a time, regions one by one.
 */
#include "oracle.h"

#define R	(&drv.r)
#define ERR(x)	(1U << VHOST_TAP_RING_ERR_##x)

struct oracle oracle;

/* How often each byte of guest memory is referred to, and how often it was read. */
static struct {
	u32 epoch;
	u32 refs;
	u32 reads;
} byte[DRV_SIZE];

static u32 epoch;

/**
 * struct walk - one chain on the way
 * @errs: what is wrong with it
 * @full: it needs more segments than are left
 */
struct walk {
	struct oracle_chain c;
	u32 errs;
	bool full;
};

static u16 get16(__virtio16 v)
{
	return __virtio16_to_cpu(drv.le, v);
}

static void refer(const void *p, size_t len)
{
	size_t off = (const u8 *)p - drv.mem;
	size_t i;

	MUST(off < DRV_SIZE && len <= DRV_SIZE - off);
	for (i = off; i < off + len; i++) {
		if (byte[i].epoch != epoch) {
			byte[i].epoch = epoch;
			byte[i].refs = 0;
			byte[i].reads = 0;
		}
		if (byte[i].refs++)
			oracle.aliased = true;
	}
}

void oracle_read(const void *src, size_t len)
{
	size_t off = (const u8 *)src - drv.mem;
	size_t i;

	for (i = off; i < off + len; i++) {
		u32 refs = byte[i].epoch == epoch ? byte[i].refs : 0;

		if (byte[i].reads >= refs) {
			fprintf(stderr, "I7: offset %#zx is read %s\n", i,
				refs ? "again" : "without need");
			abort();
		}
		byte[i].reads++;
	}
}

const struct vtap_region *oracle_region(const struct vtap_mem *mem, u64 gpa)
{
	u32 i;

	for (i = 0; mem && i < mem->nr; i++)
		if (gpa >= mem->region[i].gpa && gpa <= mem->region[i].last)
			return &mem->region[i];
	return NULL;
}

static void buffer(struct walk *w, u64 gpa, u32 len, u16 flags)
{
	u64 left = len;

	if (!(flags & WRITE) != !R->writable)
		w->errs |= ERR(DIRECTION);
	if (!left)
		return;
	if (gpa + (left - 1) < gpa) {
		w->errs |= ERR(ADDRESS);
		return;
	}
	w->c.len += left;
	while (left) {
		const struct vtap_region *reg = oracle_region(R->mem, gpa);
		u64 piece = left;

		if (!reg) {
			w->errs |= ERR(ADDRESS);
			return;
		}
		if (piece - 1 > reg->last - gpa)
			piece = reg->last - gpa + 1;
		if (w->c.seg + w->c.nsegs < R->max_segs) {
			struct oracle_seg *seg = &oracle.seg[w->c.seg + w->c.nsegs++];

			seg->base = reg->uaddr + (gpa - reg->gpa);
			seg->len = piece;
		} else {
			w->full = true;
		}
		gpa += piece;
		left -= piece;
	}
}

/* Entry @idx of a table anywhere in guest memory. */
static bool table_entry(u64 gpa, u32 idx, struct vring_desc *d, bool count)
{
	u32 i;

	gpa += (u64)idx * sizeof(*d);
	for (i = 0; i < sizeof(*d); i++) {
		const struct vtap_region *reg = oracle_region(R->mem, gpa + i);
		const u8 *p;

		if (!reg)
			return false;
		p = (const u8 *)(unsigned long)(reg->uaddr + (gpa + i - reg->gpa));
		if (count)
			refer(p, 1);
		((u8 *)d)[i] = *p;
	}
	return true;
}

static void table(struct walk *w, u64 gpa, u32 bytes, u16 flags)
{
	const struct vtap_region *reg;
	u32 count = bytes / sizeof(struct vring_desc);
	u32 idx = 0, seen = 0, limit;
	bool whole;

	if (!R->indirect || flags & NEXT) {
		w->errs |= ERR(INDIRECT);
		return;
	}
	if (!bytes || bytes % sizeof(struct vring_desc) || count > 65536) {
		w->errs |= ERR(TABLE);
		return;
	}
	reg = oracle_region(R->mem, gpa);
	if (gpa + (bytes - 1) < gpa || !reg) {
		w->errs |= ERR(ADDRESS);
		return;
	}
	/* a small one is copied whole, others as far as they go */
	whole = count <= VTAP_RING_TABLE && bytes - 1 <= reg->last - gpa;
	if (whole)
		refer((void *)(unsigned long)(reg->uaddr + (gpa - reg->gpa)), bytes);
	limit = max_t(u32, R->num, VTAP_MAX_SEGS);
	for (;;) {
		struct vring_desc d;
		u16 f;

		if (idx >= count) {
			w->errs |= ERR(HEAD);
			return;
		}
		if (!table_entry(gpa, idx, &d, !whole)) {
			w->errs |= ERR(ADDRESS);
			return;
		}
		f = get16(d.flags);
		if (f & INDIRECT)
			w->errs |= ERR(INDIRECT);
		buffer(w, __virtio64_to_cpu(drv.le, d.addr), __virtio32_to_cpu(drv.le, d.len), f);
		if (!(f & NEXT))
			return;
		idx = get16(d.next);
		if (++seen == count)
			w->errs |= idx < count ? ERR(LOOP) : ERR(LOOP) | ERR(HEAD);
		else if (seen == limit)
			w->errs |= ERR(SEGMENTS);
		else
			continue;
		return;
	}
}

/* @limit: descriptors of the ring itself to look at; @tables: look at tables, too. */
static void chain(struct walk *w, u32 head, u32 limit, bool tables)
{
	u32 idx = head;

	w->c.id = head;
	if (head >= R->num) {
		w->errs |= ERR(HEAD);
		/* read all the same, somewhere in the ring, and not used */
		refer(&drv.desc[head & (R->num - 1)], sizeof(struct vring_desc));
		return;
	}
	for (;;) {
		const struct vring_desc *d = &drv.desc[idx];
		u64 gpa = __virtio64_to_cpu(drv.le, d->addr);
		u32 len = __virtio32_to_cpu(drv.le, d->len);
		u16 f = get16(d->flags);

		refer(d, sizeof(*d));
		w->c.slots++;
		if (f & INDIRECT) {
			if (tables)
				table(w, gpa, len, f);
			break;
		}
		buffer(w, gpa, len, f);
		if (!(f & NEXT))
			break;
		idx = get16(d->next);
		if (w->c.slots == limit)
			w->errs |= ERR(LOOP);
		if (idx >= R->num)
			w->errs |= ERR(HEAD);
		if (w->c.slots == limit || idx >= R->num)
			break;
	}
	if (w->c.len > U32_MAX)
		w->errs |= ERR(LENGTH);
}

void oracle_look(u32 max)
{
	struct oracle *o = &oracle;
	u16 idx = R->avail_idx;
	u32 avail, i;

	epoch++;
	o->bad_index = false;
	o->nr = 0;
	o->plain = true;
	o->errs = 0;
	o->waits = false;
	o->aliased = false;
	o->nr_segs = R->nr_segs;
	o->max = min_t(u32, max, R->max_chains - R->nr_chains);
	if (R->err || !o->max)
		return;
	if (idx == R->last_avail) {
		refer(&drv.avail->idx, sizeof(drv.avail->idx));
		idx = get16(drv.avail->idx);
		if ((u16)(idx - R->last_avail) > R->num) {
			o->bad_index = true;
			return;
		}
	}
	avail = min_t(u32, o->max, (u16)(idx - R->last_avail));
	for (i = 0; i < avail; i++) {
		const __virtio16 *entry = &drv.avail->ring[(u16)(R->last_avail + i) & (R->num - 1)];
		struct walk w = { .c.seg = o->nr_segs };

		refer(entry, sizeof(*entry));
		chain(&w, get16(*entry), R->num, true);
		if (w.full && !w.c.seg)
			w.errs |= ERR(SEGMENTS);
		if (w.errs || w.full) {
			o->errs = w.errs;
			o->waits = w.full && w.c.seg;
			break;
		}
		if (w.c.slots > 1)
			o->plain = false;
		o->chain[o->nr++] = w.c;
		o->nr_segs += w.c.nsegs;
	}
	/* those behind are copied, up to a batch, and not looked at */
	for (i++; i < avail && i < o->nr + VTAP_BATCH; i++) {
		const __virtio16 *entry = &drv.avail->ring[(u16)(R->last_avail + i) & (R->num - 1)];
		struct walk w = { .c.seg = R->max_segs };

		refer(entry, sizeof(*entry));
		chain(&w, get16(*entry), min_t(u32, R->num, VTAP_RING_REST + 1), false);
	}
}

static void check_chains(u32 nr, u32 outstanding)
{
	u32 i, s;

	for (i = 0; i < nr; i++) {
		const struct oracle_chain *want = &oracle.chain[i];
		const struct vtap_chain *got = vtap_ring_chain(R, outstanding + i);

		MUST(got->id == want->id);
		MUST(got->len == want->len);
		MUST(got->written == 0);
		MUST(got->slots == want->slots);
		MUST(got->seg == want->seg);
		MUST(got->nsegs == want->nsegs);
		for (s = want->seg; s < want->seg + want->nsegs; s++) {
			MUST((u64)(unsigned long)R->seg[s].iov_base == oracle.seg[s].base);
			MUST(R->seg[s].iov_len == oracle.seg[s].len);
		}
	}
}

void oracle_check(int ret, bool failed, u32 outstanding)
{
	const struct oracle *o = &oracle;

	if (ret == -EPROTO) {
		if (failed && R->err == VHOST_TAP_RING_ERR_FAULT)
			return;
		MUST(!o->nr);
		if (o->bad_index)
			MUST(R->err == VHOST_TAP_RING_ERR_AVAIL_IDX);
		else
			MUST(o->errs & (1U << R->err));
		return;
	}
	MUST(!R->err);
	MUST(!o->bad_index);
	MUST(ret <= (int)o->nr);
	if (!ret && !failed)
		MUST(!o->nr && (!o->errs || o->waits));
	if (o->plain && !failed)
		MUST(ret == (int)o->nr);
	check_chains(ret, outstanding);
}
