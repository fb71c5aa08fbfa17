// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copying descriptors out of guest memory: the first stage of fetch on split
 * rings (VIRTIO 2.7.5, 2.7.6). Portable like ring_split.c, whose first lines
 * explain the barriers.
 *
 * What stands in a window is inline and calls nothing: loads, and checks of
 * the indices that the next load needs. All else is looked at afterwards, in
 * our copy (I7).
 */
#include "guest.h"
#include "ring.h"
#include "ring_split.h"

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

/*
 * In the window: the descriptors behind the first of each chain. Returns how
 * many chains are whole; *@err says why not all are.
 */
static __always_inline u32 vtap_split_copy_rest(struct vtap_ring *r, struct vtap_split_batch *b,
						u32 nr, int *err)
{
	const struct vring_desc __user *desc = r->desc;
	const u32 mask = r->num - 1;
	const struct vtap_desc *first = r->copy->first;
	struct vtap_desc *rest = r->copy->rest;
	u32 i, k = 0;

	for (i = 0; i < nr; i++) {
		u64 info = first[i].info;
		u32 limit;

		if (!vtap_info_goes_on(info))
			continue;
		b->rest = k;
		limit = min_t(u32, k + mask, VTAP_RING_REST);
		do {
			u32 idx = vtap_info_next(info);

			if (unlikely(idx > mask)) {
				*err = VHOST_TAP_RING_ERR_HEAD;
				return i;
			}
			if (unlikely(k == limit))
				goto full;
			if (unlikely(!vtap_split_get_desc(r, &rest[k], &desc[idx & mask]))) {
				*err = VHOST_TAP_RING_ERR_FAULT;
				return i;
			}
			info = rest[k++].info;
		} while (vtap_info_goes_on(info));
	}
	b->rest = k;
	return i;

full:
	if (k - b->rest == mask) {
		*err = VHOST_TAP_RING_ERR_LOOP;
		return i;
	}
	if (i)
		return i;
	b->rest = k;
	b->unfinished = true;
	return 1;
}

/*
 * vtap_split_copy() - copy the next up to @max chains out of the ring
 *
 * One window for all: available index if needed, heads, descriptors. A chain
 * that cannot be copied is left out together with those behind it; its error
 * is returned if it is the first.
 */
int vtap_split_copy(struct vtap_ring *r, u32 max, struct vtap_split_batch *b)
{
	const struct vring_desc __user *desc = r->desc;
	const __virtio16 __user *ring = r->avail->ring;
	const u32 mask = r->num - 1;
	struct vtap_chain *chain = &r->chain[r->nr_chains];
	struct vtap_desc *first = r->copy->first;
	u32 slot = r->last_avail & mask;
	u64 any = 0, all = ~0ULL;
	u32 heads = 0, i = 0, n;
	__virtio16 raw;
	int err = 0;

	b->nr = 0;
	b->rest = 0;
	b->plain = false;
	b->unfinished = false;

	if (!vtap_guest_read_begin2(r->avail, vtap_split_avail_size(r),
				    desc, sizeof(*desc) * r->num))
		return VHOST_TAP_RING_ERR_FAULT;

	if (r->avail_idx == r->last_avail) {
		u16 idx;

		vtap_guest_get(raw, &r->avail->idx, fault);
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
	if (!n)
		goto out;

	/* A: an entry is read after the index that promised it */
	smp_rmb();

	/*
	 * The first descriptor of each chain, no questions asked: what is odd
	 * about any of them shows afterwards. With the mask not even a
	 * speculative read leaves the table.
	 */
	while (i < n) {
		u32 end = i + min(n - i, r->num - slot);

		for (; i < end; i++, slot++) {
			struct vtap_desc d;
			u32 head;

			vtap_guest_get(raw, &ring[slot], fault);
			head = vtap_split_to_cpu16(r, raw);
			if (unlikely(!vtap_split_get_desc(r, &d, &desc[head & mask])))
				goto fault;
			first[i] = d;
			chain[i].id = head;
			heads |= head;
			any |= d.info;
			all &= d.info;
		}
		slot = 0;
	}
check:
	n = i;
	if (unlikely(heads > mask)) {
		for (n = 0; n < i && chain[n].id <= mask; n++)
			;
		if (!n)
			err = VHOST_TAP_RING_ERR_HEAD;
	}
	b->plain = !(any & (VTAP_INFO_NEXT | VTAP_INFO_INDIRECT)) &&
		   !((r->writable ? ~all : any) & VTAP_INFO_WRITE);
	if (any & VTAP_INFO_NEXT)
		n = vtap_split_copy_rest(r, b, n, &err);
	b->nr = n;
	if (n)
		err = 0;
out:
	vtap_guest_read_end();
	return err;

fault:
	if (!i)
		err = VHOST_TAP_RING_ERR_FAULT;
	goto check;
}

/*
 * vtap_split_copy_on() - copy more of a chain whose descriptors lie in @table
 * @count: entries of @table
 * @idx: where to go on
 * @max: entries that @dst has room for, at least 1
 * @nr: set to how many were copied; the last of them may go on
 */
int vtap_split_copy_on(const struct vtap_ring *r, const struct vring_desc __user *table, u32 count,
		       u32 idx, struct vtap_desc *dst, u32 max, u32 *nr)
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
		idx = vtap_info_next(dst[k].info);
	} while (vtap_info_goes_on(dst[k++].info) && k < max);
	*nr = k;
	err = 0;
out:
	vtap_guest_read_end();
	return err;
}

/*
 * vtap_split_copy_table() - copy a small indirect table, whole, into copy->table[]
 * @count: its entries, at least 1
 * @linear: set to whether they are one chain in the order of the table, of
 *	buffers of the right direction; nearly all tables are
 */
int vtap_split_copy_table(struct vtap_ring *r, const struct vring_desc __user *table, u32 count,
			  bool *linear)
{
	const u32 dir = r->writable ? VRING_DESC_F_WRITE : 0;
	/* flags and next of the first entry, then with next counted up */
	u32 want = 1 << 16 | dir | VRING_DESC_F_NEXT;
	struct vtap_desc *copy = r->copy->table;
	u32 odd = 0, upper = 0, i;

	if (!vtap_guest_read_begin(table, sizeof(*table) * count))
		return VHOST_TAP_RING_ERR_FAULT;
	for (i = 0; i < count; i++) {
		struct vtap_desc d;

		if (unlikely(!vtap_split_get_desc(r, &d, &table[i])))
			break;
		copy[i] = d;
		/* what was odd about the entry before, which is not the last one */
		odd |= upper;
		upper = (u32)(d.info >> 32) ^ want;
		want += 1 << 16;
	}
	vtap_guest_read_end();
	/* the last one differs in NEXT, and its next field means nothing */
	*linear = !odd && (u16)upper == VRING_DESC_F_NEXT;
	return i == count ? 0 : VHOST_TAP_RING_ERR_FAULT;
}
