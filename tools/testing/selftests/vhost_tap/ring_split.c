// SPDX-License-Identifier: GPL-2.0-only
/*
 * Split virtqueue, driver's side (virtio 1.2, 2.7). Works on ring memory and
 * its own account of it; knows nothing of frames or of vhost.
 *
 * Barriers. Publishing releases avail->idx, so that the device never reads an
 * entry or a descriptor older than the index (2.7.13.3.1). Before looking at
 * the device's wish for kicks, and after telling our wish for interrupts, a
 * full barrier stands between the store and the load: the device does the
 * same the other way round, and one of us sees the other (2.7.13.4.1,
 * 2.7.14). used->idx is read with acquire before any used entry.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ring.h"
#include "util.h"

static uint16_t *used_event(const struct ring *r)
{
	return &r->avail->ring[r->num];
}

static uint16_t *avail_event(const struct ring *r)
{
	return (uint16_t *)&r->used->ring[r->num];
}

static void fill_desc(struct vring_desc *d, const struct ring_seg *s,
		      bool more, uint16_t next)
{
	d->addr = s->gpa;
	d->len = s->len;
	d->flags = (s->write ? VRING_DESC_F_WRITE : 0) |
		   (more ? VRING_DESC_F_NEXT : 0);
	d->next = next;
}

static int split_add(struct ring *r, const struct ring_seg *segs,
		     unsigned int n, const struct ring_table *table,
		     uint32_t token)
{
	unsigned int i, need = table ? 1 : n;
	uint16_t head = r->free_head, d = head;

	if (!n || need > r->nfree)
		return -ENOSPC;

	if (table) {
		struct vring_desc *t = table->hva;

		for (i = 0; i < n; i++)
			fill_desc(&t[i], &segs[i], i + 1 < n, i + 1);
		r->desc[d].addr = table->gpa;
		r->desc[d].len = n * sizeof(*t);
		r->desc[d].flags = VRING_DESC_F_INDIRECT;
		r->desc[d].next = 0;
		d = r->next_free[d];
	} else {
		for (i = 0; i < n; i++) {
			uint16_t next = r->next_free[d];

			fill_desc(&r->desc[d], &segs[i], i + 1 < n, next);
			d = next;
		}
	}
	r->free_head = d;
	r->nfree -= need;
	r->chain[head].token = token;
	r->chain[head].ndesc = need;
	r->avail->ring[r->avail_idx & (r->num - 1)] = head;
	r->avail_idx++;
	r->outstanding++;
	r->n_added++;
	return 0;
}

void ring_split_push_raw(struct ring *r, uint16_t head)
{
	r->avail->ring[r->avail_idx & (r->num - 1)] = head;
	r->avail_idx++;
}

static void split_publish(struct ring *r)
{
	if (r->published == r->avail_idx)
		return;
	__atomic_store_n(&r->avail->idx, r->avail_idx, __ATOMIC_RELEASE);
	r->published = r->avail_idx;
}

static bool split_kick_wanted(struct ring *r)
{
	uint16_t old = r->kicked, new = r->published;

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	r->kicked = new;
	if (new == old)
		return false;
	if (r->event_idx)
		return vring_need_event(READ_ONCE(*avail_event(r)), new, old);
	return !(READ_ONCE(r->used->flags) & VRING_USED_F_NO_NOTIFY);
}

bool ring_split_kicks_on(const struct ring *r)
{
	if (r->event_idx)
		return READ_ONCE(*avail_event(r)) == r->published;
	return !(READ_ONCE(r->used->flags) & VRING_USED_F_NO_NOTIFY);
}

static bool split_used_pending(const struct ring *r)
{
	return __atomic_load_n(&r->used->idx, __ATOMIC_ACQUIRE) != r->last_used;
}

static int split_get_used(struct ring *r, uint32_t *token, uint32_t *len)
{
	uint16_t idx = __atomic_load_n(&r->used->idx, __ATOMIC_ACQUIRE);
	struct vring_used_elem *e;
	uint16_t i, n, last;
	uint32_t id;

	if (idx == r->last_used)
		return 0;
	if ((uint16_t)(idx - r->last_used) > r->outstanding)
		return -EPROTO;
	e = &r->used->ring[r->last_used & (r->num - 1)];
	id = READ_ONCE(e->id);
	if (id >= r->num || !r->chain[id].ndesc)
		return -EPROTO;
	*len = READ_ONCE(e->len);
	*token = r->chain[id].token;

	n = r->chain[id].ndesc;
	r->chain[id].ndesc = 0;
	/* the links are ours, not those a device could have written */
	for (i = 1, last = id; i < n; i++)
		last = r->next_free[last];
	r->next_free[last] = r->free_head;
	r->free_head = id;
	r->nfree += n;
	r->last_used++;
	r->outstanding--;
	r->n_used++;
	return 1;
}

static void split_call_disable(struct ring *r)
{
	r->call_on = false;
	if (r->event_idx)
		/* half the index space behind: not reached for long */
		WRITE_ONCE(*used_event(r), (uint16_t)(r->last_used - 0x8000));
	else
		WRITE_ONCE(r->avail->flags, VRING_AVAIL_F_NO_INTERRUPT);
}

static bool split_call_enable(struct ring *r, unsigned int after)
{
	r->call_on = true;
	if (r->event_idx)
		WRITE_ONCE(*used_event(r),
			   (uint16_t)(r->last_used + after - 1));
	else
		WRITE_ONCE(r->avail->flags, 0);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return (uint16_t)(__atomic_load_n(&r->used->idx, __ATOMIC_ACQUIRE) -
			  r->last_used) >= after;
}

static const struct ring_ops split_ops = {
	.add		= split_add,
	.publish	= split_publish,
	.kick_wanted	= split_kick_wanted,
	.used_pending	= split_used_pending,
	.get_used	= split_get_used,
	.call_disable	= split_call_disable,
	.call_enable	= split_call_enable,
};

void ring_split_reset(struct ring *r, uint16_t base)
{
	unsigned int i;

	for (i = 0; i < r->num; i++) {
		r->next_free[i] = i + 1;
		r->chain[i].ndesc = 0;
	}
	r->free_head = 0;
	r->nfree = r->num;
	r->outstanding = 0;
	r->avail_idx = base;
	r->published = base;
	r->kicked = base;
	r->last_used = base;
	r->avail->flags = 0;
	r->avail->idx = base;
	r->used->flags = 0;
	r->used->idx = base;
	*used_event(r) = base;
	*avail_event(r) = base;
	r->call_on = true;
}

int ring_split_init(struct ring *r, struct gmem *m, unsigned int num,
		    uint16_t base, bool event_idx)
{
	uint64_t d, a, u;

	memset(r, 0, sizeof(*r));
	r->kick_fd = -1;
	r->call_fd = -1;
	r->err_fd = -1;
	r->ops = &split_ops;
	r->num = num;
	r->event_idx = event_idx;

	d = gmem_alloc(m, num * sizeof(struct vring_desc), 4096);
	a = gmem_alloc(m, sizeof(uint16_t) * (3 + num), 4096);
	u = gmem_alloc(m, sizeof(uint16_t) * 3 +
		       sizeof(struct vring_used_elem) * num, 4096);
	if (d == UINT64_MAX || a == UINT64_MAX || u == UINT64_MAX)
		return -ENOMEM;
	r->desc_gpa = d;
	r->desc = gmem_hva(m, d);
	r->avail = gmem_hva(m, a);
	r->used = gmem_hva(m, u);
	r->next_free = calloc(num, sizeof(*r->next_free));
	r->chain = calloc(num, sizeof(*r->chain));
	if (!r->next_free || !r->chain)
		return -ENOMEM;
	ring_split_reset(r, base);
	return 0;
}
