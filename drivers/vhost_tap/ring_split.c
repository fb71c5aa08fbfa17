// SPDX-License-Identifier: GPL-2.0-only
/*
 * The split format of the ring contract in ring.h (VIRTIO 2.7). Portable: it
 * reaches the kernel through guest.h only, and compiles unmodified in
 * userspace (tools/testing/vhost_tap).
 *
 * Guest memory is hostile. Each value in it is copied once, then checked, then
 * used (I7): fetch copies the heads and descriptors of a whole batch in one
 * user-access window into arrays of ours, and looks at them only afterwards.
 *
 *
 * Memory ordering
 *
 * The driver runs on another CPU and shares four things with us: descriptors,
 * available ring, used ring, and the buffers. Barriers come in pairs; "driver"
 * names what the other side must have (VIRTIO 2.7.13, 2.7.14):
 *
 * A. Available entries. The driver writes buffers, descriptors and available
 *    entries, then [driver: write barrier], then the available index. We read
 *    the index, then [smp_rmb() in vtap_split_copy()], then entries and
 *    descriptors, and at last the buffers. One barrier in fetch serves for
 *    indices that arm and has_avail have read, too: it stands between them
 *    and the first entry that is read because of them. Our writes into
 *    receive buffers need nothing more: they depend on the index read.
 *
 * B. Used entries (I3). We write buffers (RX), used entries, then [smp_wmb()
 *    in vtap_ring_complete_split()], then the used index. The driver reads
 *    the index, then [driver: read barrier], then entries and buffers.
 *    A transmit buffer has been read by us instead, and the driver writes
 *    anew into it once it has seen the index. Reads are kept before that
 *    write by [smp_mb() at the top of complete] against [driver: the same read
 *    barrier, and that its writes depend on the entry]. It stands there, and
 *    not before the index, because up there no store to a cache line of the
 *    driver's has to be waited for.
 *
 * C. Asking for kicks (I4). We write used flags or the available event, then
 *    [smp_mb() in vtap_ring_arm_split()], then read the available index. The
 *    driver writes the available index, then [driver: full barrier], then
 *    reads flags or event. Whoever comes second sees what the other wrote:
 *    either we find the new entry, or the driver kicks.
 *
 * D. Signals (I4). We write the used index, then [smp_mb() in
 *    vtap_ring_should_signal_split()], then read available flags or the used
 *    event. The driver writes flags or event, then [driver: full barrier],
 *    then reads the used index. Either we signal, or the driver finds the
 *    entry.
 *
 * Disarming needs no barrier: a kick too many does no harm. The eventfd that
 * carries kick or signal orders what is before it against what is behind it.
 */
#include "guest.h"
#include "log.h"
#include "mem.h"
#include "ring.h"
#include "ring_split.h"

/* A used entry, id and length, for one 64-bit write. */
static __always_inline u64 vtap_split_used(const struct vtap_ring *r, const struct vtap_chain *c)
{
	if (vtap_split_le(r))
		return (__force u64)cpu_to_le64((u64)c->written << 32 | c->id);

	return (__force u64)cpu_to_be64((u64)c->id << 32 | c->written);
}

static __always_inline size_t vtap_split_used_size(const struct vtap_ring *r)
{
	return offsetof(struct vring_used, ring) + sizeof(struct vring_used_elem) * r->num;
}

/* The event fields stand behind the last entry of the ring. */
static __virtio16 __user *vtap_split_used_event(const struct vtap_ring *r)
{
	return (__virtio16 __user *)&r->avail->ring[r->num];
}

static __virtio16 __user *vtap_split_avail_event(const struct vtap_ring *r)
{
	return (__virtio16 __user *)&r->used->ring[r->num];
}

static int vtap_split_read16(const struct vtap_ring *r, const __virtio16 __user *src, u16 *dst)
{
	__virtio16 raw;

	if (!vtap_guest_read_begin(src, sizeof(*src)))
		return VHOST_TAP_RING_ERR_FAULT;
	vtap_guest_get(raw, src, fault);
	vtap_guest_read_end();
	*dst = vtap_split_to_cpu16(r, raw);
	return 0;
fault:
	vtap_guest_read_end();
	return VHOST_TAP_RING_ERR_FAULT;
}

/*
 * Something in the used ring was written: mark it in the dirty log, if it is to
 * be. It has an address of its own there, and those that the guest sees it at
 * besides.
 */
static noinline int vtap_split_log_used(struct vtap_ring *r, const void __user *first, size_t len)
{
	u64 gpa;
	int err;

	if (!(r->log.what & VTAP_LOG_USED))
		return 0;
	if (r->tlb) {
		/* The address of its own is none of the guest's memory then. */
		err = vtap_log_user(&r->log, r->guest_mem, (unsigned long)first, len);
		return vtap_log_flush(&r->log) || err ? VHOST_TAP_RING_ERR_FAULT : 0;
	}
	if (check_add_overflow(r->log.used_gpa, (u64)(first - (const void __user *)r->used), &gpa))
		return VHOST_TAP_RING_ERR_FAULT;
	err = vtap_log_pages(&r->log, gpa, len);
	if (!err && r->mem && r->mem->aliased &&
	    vtap_log_user(&r->log, r->mem, (unsigned long)first, len) == -EFAULT)
		err = -EFAULT;
	if (vtap_log_flush(&r->log) || err)
		return VHOST_TAP_RING_ERR_FAULT;
	return 0;
}

/* So were @n entries from @slot on, and perhaps the index. */
static noinline int vtap_split_log_entries(struct vtap_ring *r, u32 slot, u32 n)
{
	const struct vring_used_elem __user *ring = r->used->ring;
	u32 behind = min_t(u32, n, r->num - slot);
	int err;

	err = vtap_split_log_used(r, &ring[slot], behind * sizeof(*ring));
	if (!err && n > behind)
		err = vtap_split_log_used(r, ring, min_t(u32, n - behind, r->num) * sizeof(*ring));
	if (!err)
		err = vtap_split_log_used(r, &r->used->idx, sizeof(r->used->idx));
	return err;
}

static int vtap_split_put16(const struct vtap_ring *r, __virtio16 __user *dst, u16 v)
{
	if (!vtap_guest_write_begin(dst, sizeof(*dst)))
		return VHOST_TAP_RING_ERR_FAULT;
	vtap_guest_put(vtap_split_from_cpu16(r, v), dst, fault);
	vtap_guest_write_end();
	return 0;
fault:
	vtap_guest_write_end();
	return VHOST_TAP_RING_ERR_FAULT;
}

/* The same for a field of the used ring, with all that belongs to it. */
static int vtap_split_write16(struct vtap_ring *r, __virtio16 __user *dst, u16 v)
{
	int err = vtap_split_put16(r, dst, v);

	if (unlikely(r->log.what) && !err)
		err = vtap_split_log_used(r, dst, sizeof(*dst));
	return err;
}

int vtap_ring_complete_split(struct vtap_ring *r, u32 n)
{
	const struct vtap_chain *c = &r->chain[r->nr_done];
	const struct vtap_chain *end = c + n;
	u32 slot = r->last_used & (r->num - 1);
	u16 new = r->last_used + n;
	const u32 first = slot;

	if (unlikely(r->err))
		return -EPROTO;
	if (!n)
		return 0;
	if (unlikely(r->log.what) && vtap_log_chains(r, 0, n))
		return vtap_split_broken(r, VHOST_TAP_RING_ERR_FAULT);

	if (!r->writable) {
		/* B: buffers have been read before the driver gets them back */
		smp_mb();
	}

	if (!vtap_guest_write_begin(r->used, vtap_split_used_size(r)))
		return vtap_split_broken(r, VHOST_TAP_RING_ERR_FAULT);
	while (c != end) {
		struct vring_used_elem __user *used = &r->used->ring[slot];
		const struct vtap_chain *stop = c + min_t(u32, end - c, r->num - slot);

		for (; c != stop; c++, used++) {
			if (VTAP_GUEST_UNALIGNED) {
				vtap_guest_put(vtap_split_used(r, c), (u64 __user *)used, fault);
			} else {
				vtap_guest_put(__cpu_to_virtio32(vtap_split_le(r), c->id),
					       &used->id, fault);
				vtap_guest_put(__cpu_to_virtio32(vtap_split_le(r), c->written),
					       &used->len, fault);
			}
		}
		slot = 0;
	}

	/* B, I3: published means written */
	smp_wmb();
	vtap_guest_put(vtap_split_from_cpu16(r, new), &r->used->idx, fault);
	vtap_guest_write_end();

	/*
	 * So many since the last signal that the index passed where it was:
	 * the comparison with the event index says nothing any more.
	 */
	if (unlikely((u16)(new - r->signalled_used) < n))
		r->signalled_valid = false;
	r->last_used = new;
	r->published = true;

	/* I2: completed once, and gone */
	r->nr_done += n;
	if (r->nr_done == r->nr_chains) {
		r->nr_done = 0;
		r->nr_chains = 0;
		r->nr_segs = 0;
	}
	if (unlikely(r->log.what))
		r->err = vtap_split_log_entries(r, first, n);
	return 0;
fault:
	vtap_guest_write_end();
	/* Some entries may have been written. */
	if (r->log.what)
		vtap_split_log_entries(r, first, n);
	return vtap_split_broken(r, VHOST_TAP_RING_ERR_FAULT);
}

/* Read the available index and check it. */
static int vtap_split_look(struct vtap_ring *r)
{
	u16 idx;
	int err;

	err = vtap_split_read16(r, &r->avail->idx, &idx);
	if (unlikely(err))
		return vtap_split_broken(r, err);
	if (unlikely((u16)(idx - r->last_avail) > r->num))
		return vtap_split_broken(r, VHOST_TAP_RING_ERR_AVAIL_IDX);
	r->avail_idx = idx;
	return idx != r->last_avail;
}

int vtap_ring_has_avail_split(struct vtap_ring *r)
{
	if (unlikely(r->err))
		return -EPROTO;
	if (r->avail_idx != r->last_avail)
		return 1;
	return vtap_split_look(r);
}

/* used->flags is in a cache line that the driver reads: written on change only. */
static int vtap_split_set_flags(struct vtap_ring *r, u16 flags)
{
	int err;

	if (r->used_flags == flags)
		return 0;
	err = vtap_split_write16(r, &r->used->flags, flags);
	if (!err)
		r->used_flags = flags;
	return err;
}

int vtap_ring_arm_split(struct vtap_ring *r)
{
	int err;

	if (unlikely(r->err))
		return -EPROTO;

	if (r->event_idx)
		err = vtap_split_write16(r, vtap_split_avail_event(r), r->last_avail);
	else
		err = vtap_split_set_flags(r, 0);
	if (unlikely(err))
		return vtap_split_broken(r, err);
	r->armed = true;

	/* C, I4: asked first, then looked */
	smp_mb();
	return vtap_split_look(r);
}

/* With an event index nothing is to do: the driver passes it and stays silent. */
int vtap_ring_disarm_split(struct vtap_ring *r)
{
	int err;

	if (unlikely(r->err))
		return -EPROTO;

	r->armed = false;
	if (r->event_idx)
		return 0;
	err = vtap_split_set_flags(r, VRING_USED_F_NO_NOTIFY);
	if (unlikely(err))
		return vtap_split_broken(r, err);
	return 0;
}

int vtap_ring_should_signal_split(struct vtap_ring *r)
{
	u16 old = r->signalled_used;
	bool valid = r->signalled_valid;
	u16 v;
	int err;

	if (unlikely(r->err))
		return -EPROTO;
	if (!r->published)
		return 0;
	r->published = false;
	r->signalled_used = r->last_used;
	r->signalled_valid = true;

	/* D, I4: published first, then asked */
	smp_mb();

	if (r->notify_on_empty && r->avail_idx == r->last_avail)
		return 1;
	if (r->event_idx && !valid)
		return 1;

	err = vtap_split_read16(r, r->event_idx ? vtap_split_used_event(r) : &r->avail->flags, &v);
	if (unlikely(err))
		return vtap_split_broken(r, err);
	if (r->event_idx)
		return vring_need_event(v, r->last_used, old);
	return !(v & VRING_AVAIL_F_NO_INTERRUPT);
}

bool vtap_ring_access_ok_split(const struct vtap_ring *r, u32 num, const void __user *desc,
			       const void __user *avail, const void __user *used)
{
	size_t event = r->event_idx ? sizeof(__virtio16) : 0;

	return vtap_guest_access_ok(desc, sizeof(struct vring_desc) * num) &&
	       vtap_guest_access_ok(avail, offsetof(struct vring_avail, ring) +
				    sizeof(__virtio16) * num + event) &&
	       vtap_guest_access_ok(used, offsetof(struct vring_used, ring) +
				    sizeof(struct vring_used_elem) * num + event);
}

/* Where @len bytes of the ring stand for the owner: 0, -EAGAIN, -EPROTO. */
static int vtap_split_map(struct vtap_ring *r, u64 iova, size_t len, u32 access,
			  void __user **where)
{
	u64 uaddr = 0;
	int err;

	err = vtap_iotlb_find_range(r->tlb, &iova, len, access, &uaddr);
	if (err == -EAGAIN) {
		r->miss_iova = iova;
		r->miss_access = access;
		return err;
	}
	if (err)
		return vtap_split_broken(r, VHOST_TAP_RING_ERR_ADDRESS);
	*where = (void __user *)(unsigned long)uaddr;
	return 0;
}

int vtap_ring_map_split(struct vtap_ring *r)
{
	size_t event = r->event_idx ? sizeof(__virtio16) : 0;
	void __user *desc, *avail, *used;
	int err;

	err = vtap_split_map(r, r->desc_iova, sizeof(*r->desc) * r->num, VHOST_ACCESS_RO, &desc);
	if (!err)
		err = vtap_split_map(r, r->avail_iova, offsetof(struct vring_avail, ring) +
				     sizeof(__virtio16) * r->num + event, VHOST_ACCESS_RO, &avail);
	if (!err)
		err = vtap_split_map(r, r->used_iova, vtap_split_used_size(r) + event,
				     VHOST_ACCESS_WO, &used);
	if (err)
		return err;
	r->desc = desc;
	r->avail = avail;
	r->used = used;
	r->mapped = true;
	return 0;
}

/* Enough of the used ring to start with. */
static int vtap_split_map_start(struct vtap_ring *r)
{
	void __user *used;
	int err;

	r->mapped = false;
	err = vtap_split_map(r, r->used_iova, offsetof(struct vring_used, ring),
			     VHOST_ACCESS_WO, &used);
	if (err)
		return err == -EAGAIN ? err : -EFAULT;
	r->used = used;
	return 0;
}

int vtap_ring_start_split(struct vtap_ring *r)
{
	bool event = r->event_idx && !r->tlb;
	int err;

	if (r->tlb) {
		err = vtap_split_map_start(r);
		if (err)
			return err;
	}
	r->err = VHOST_TAP_RING_ERR_NONE;
	r->nr_chains = 0;
	r->nr_done = 0;
	r->nr_segs = 0;
	r->avail_idx = r->last_avail;
	r->signalled_valid = false;
	r->published = false;
	r->armed = true;

	if (vtap_split_put16(r, &r->used->flags, 0))
		return -EFAULT;
	r->used_flags = 0;
	if (event && vtap_split_put16(r, vtap_split_avail_event(r), r->last_avail))
		return -EFAULT;
	if (vtap_split_read16(r, &r->used->idx, &r->last_used))
		return -EFAULT;
	if (r->log.what) {
		r->err = vtap_split_log_used(r, &r->used->flags, sizeof(r->used->flags));
		if (!r->err && event)
			r->err = vtap_split_log_used(r, vtap_split_avail_event(r),
						     sizeof(__virtio16));
	}
	return 0;
}
