// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the hostile guest writes into its rings; see hostile.h. Nothing but stores
 * to its own memory, in its own view of it.
 */
#include <linux/virtio_ring.h>
#include <string.h>

#include "hostile.h"

/* where a length begins or ceases to mean something, to somebody */
static const uint32_t lens[] = {
	0, 1, 2, 9, 10, 11, 12, 13, 14, 15, 22, 23, 24, 25, 26, 27, 60, 64,
	255, 256, 257, 1500, 1514, 1526, 2048, 3584, 4095, 4096, 4097, 8192,
	32768, 65535, 65536, 65545, 65547, 65549, 65550, 65561, 65562,
	HOSTILE_SIZE - 1, HOSTILE_SIZE, HOSTILE_SIZE + 1, 2 * HOSTILE_SIZE,
	0x7fffffff, 0x80000000, 0xfffff000, 0xfffffff0, 0xffffffff,
};

/* and those of an indirect table */
static const uint32_t table_lens[] = {
	0, 1, 8, 15, 17, 24, 31, 33, 16 * 63, 16 * 64, 16 * 65, 16 * 128 + 8,
	16 * 1024, 16 * 1025, 16 * 65536, 16 * 65537, 0x80000000, 0xfffffff0,
	0xffffffff,
};

/* of chains: all of them, and the last of these, which are no more than odd */
#define KINDS	16
#define MILD	8

static bool one_in(struct rng *r, uint32_t n)
{
	return !rng_below(r, n);
}

static uint64_t ring_gpa(const struct hostile *h, unsigned int queue, struct rng *r)
{
	const struct hostile_q *q = &h->q[queue];
	uint64_t base = h->region[REGION_RINGS].gpa;

	switch (rng_below(r, 4)) {
	case 0:
		return base + q->desc_at + rng_below(r, q->num) * 16;
	case 1:
		return base + q->avail_at + rng_below(r, 4 + 2 * q->num);
	case 2:
		return base + q->used_at;
	default:
		return base + q->used_at + rng_below(r, 4 + 8 * q->num);
	}
}

static uint64_t pick_addr(const struct hostile *h, unsigned int queue, struct rng *r)
{
	const struct hostile_region *reg = &h->region[rng_below(r, HOSTILE_REGIONS)];

	switch (rng_below(r, 16)) {
	case 0:
		return reg->gpa;
	case 1:
		return reg->gpa - 1 - rng_below(r, 16);
	case 2:
		return reg->gpa + HOSTILE_SIZE - 1 - rng_below(r, 64);
	case 3:
		return reg->gpa + HOSTILE_SIZE;
	case 4:
		return ring_gpa(h, queue, r);
	case 5:
		return ring_gpa(h, !queue, r);
	case 6:
		return ~(uint64_t)rng_below(r, 5000);
	case 7:
		return rng_next(r);
	case 8:
		/* across two regions */
		return h->region[REGION_RINGS].gpa - rng_below(r, 4096);
	case 9:
		/* across two pages */
		return reg->gpa + (rng_below(r, 16) + 1) * 4096 - rng_below(r, 16);
	case 10:
		return reg->gpa + rng_below(r, HOSTILE_SIZE);
	default:
		return h->region[REGION_DATA].gpa + rng_below(r, HOSTILE_TABLE_AT);
	}
}

static uint32_t pick_len(struct rng *r)
{
	switch (rng_below(r, 8)) {
	case 0:
		return rng_next(r);
	case 1:
	case 2:
		return lens[rng_below(r, ARRAY_LEN(lens))];
	case 3:
		return rng_below(r, 16);
	default:
		return rng_below(r, 3000);
	}
}

static void put_desc(struct vring_desc *d, uint64_t addr, uint32_t len, uint16_t flags,
		     uint16_t next)
{
	/* the device may be reading it: no more than a field at a time */
	WRITE_ONCE(d->addr, addr);
	WRITE_ONCE(d->len, len);
	WRITE_ONCE(d->flags, flags);
	WRITE_ONCE(d->next, next);
}

static void honest_desc(const struct hostile *h, struct vring_desc *d, uint16_t flags,
			uint16_t next, struct rng *r)
{
	put_desc(d, h->region[REGION_DATA].gpa + rng_below(r, HOSTILE_TX_AT - 4096),
		 60 + rng_below(r, 2000), flags, next);
}

static void bad_desc(const struct hostile *h, unsigned int queue, struct vring_desc *d,
		     uint16_t flags, uint16_t next, struct rng *r)
{
	put_desc(d, pick_addr(h, queue, r), pick_len(r), flags, next);
}

static uint16_t direction(unsigned int queue)
{
	return queue == VQ_RX ? VRING_DESC_F_WRITE : 0;
}

/* an indirect table somewhere; entries of all kinds: its length in bytes */
static uint32_t put_table(const struct hostile *h, unsigned int queue, uint64_t *gpa,
			  unsigned int kinds, struct rng *r)
{
	uint32_t room = (HOSTILE_SIZE - HOSTILE_TABLE_AT) / 16 - 2, n, i;
	uint16_t dir = direction(queue), flags, next;
	struct vring_desc *t;
	uint32_t at;

	n = one_in(r, 32) ? 1 + rng_below(r, 1100) : 1 + rng_below(r, 12);
	at = HOSTILE_TABLE_AT + rng_below(r, room - n) * 16;
	if (one_in(r, 8))
		at += rng_below(r, 16);
	/* one that goes on in the next region; what stands there will do */
	if (one_in(r, 2 * kinds))
		at = HOSTILE_SIZE - rng_below(r, 16 * n);
	*gpa = h->region[REGION_DATA].gpa + at;
	t = (struct vring_desc *)(h->region[REGION_DATA].our + at);
	for (i = 0; i < n && at + 16 * (i + 1) <= HOSTILE_SIZE; i++) {
		flags = dir | (i + 1 < n ? VRING_DESC_F_NEXT : 0);
		next = i + 1;
		if (kinds == KINDS && one_in(r, 24))
			flags ^= 1 << rng_below(r, 3);
		if (one_in(r, 4 * kinds))
			next = rng_below(r, 2 * n);
		if (kinds == KINDS && one_in(r, 6))
			bad_desc(h, queue, &t[i], flags, next, r);
		else if (one_in(r, 6))
			put_desc(&t[i], *gpa, 0, flags, next);
		else
			honest_desc(h, &t[i], flags, next, r);
	}
	return 16 * n;
}

/*
 * One chain from descriptor d on: the first descriptor not used for it. If all KINDS
 * are wanted, most are no driver's; MILD ones get the device further.
 */
static unsigned int put_chain(const struct hostile *h, unsigned int queue, unsigned int d,
			      unsigned int kinds, struct rng *r)
{
	const struct hostile_q *q = &h->q[queue];
	struct vring_desc *desc = hostile_desc(h, queue);
	unsigned int mask = q->num - 1, n, i;
	uint16_t dir = direction(queue);
	uint64_t gpa;
	uint32_t len;

	switch (KINDS - 1 - rng_below(r, kinds)) {
	case 0:			/* loops */
		n = 1 + rng_below(r, q->num < 8 ? q->num : 8);
		for (i = 0; i < n; i++)
			honest_desc(h, &desc[(d + i) & mask], dir | VRING_DESC_F_NEXT,
				    (d + (i + 1) % n) & mask, r);
		return d + n;
	case 1:			/* anything */
		n = 1 + rng_below(r, 4);
		for (i = 0; i < n; i++)
			bad_desc(h, queue, &desc[(d + i) & mask], rng_next(r), rng_next(r), r);
		return d + n;
	case 8:			/* the ring itself */
		put_desc(&desc[d & mask], ring_gpa(h, one_in(r, 4) ? !queue : queue, r),
			 pick_len(r), dir, 0);
		return d + 1;
	case 3:			/* itself */
		put_desc(&desc[d & mask], h->region[REGION_RINGS].gpa + q->desc_at +
			 (d & mask) * 16, 16, dir | (one_in(r, 2) ? VRING_DESC_F_INDIRECT : 0),
			 d);
		return d + 1;
	case 2:			/* tables of all kinds */
	case 4:
	case 9:
		len = put_table(h, queue, &gpa, kinds, r);
		if (kinds == KINDS && one_in(r, 4))
			len = table_lens[rng_below(r, ARRAY_LEN(table_lens))];
		put_desc(&desc[d & mask], one_in(r, 2 * kinds) ? pick_addr(h, queue, r) : gpa,
			 len, VRING_DESC_F_INDIRECT |
			 (one_in(r, 64) ? VRING_DESC_F_NEXT : 0), d + 1);
		return d + 1;
	case 5:			/* the other direction */
		honest_desc(h, &desc[d & mask], dir ^ VRING_DESC_F_WRITE, 0, r);
		return d + 1;
	case 10:		/* as long as the ring, of next to nothing */
		n = one_in(r, 8) ? q->num : 1 + rng_below(r, q->num < 80 ? q->num : 80);
		len = rng_below(r, 3);
		for (i = 0; i < n; i++)
			put_desc(&desc[(d + i) & mask], h->region[REGION_DATA].gpa, len,
				 dir | (i + 1 < n ? VRING_DESC_F_NEXT : 0), (d + i + 1) & mask);
		return d + n;
	case 6:			/* all of it in one place */
	case 11:
		n = 1 + rng_below(r, 4);
		gpa = pick_addr(h, queue, r);
		len = pick_len(r);
		if (kinds != KINDS) {
			gpa = h->region[rng_below(r, HOSTILE_REGIONS)].gpa;
			len = rng_below(r, HOSTILE_SIZE / 2);
		}
		for (i = 0; i < n; i++)
			put_desc(&desc[(d + i) & mask], gpa, len,
				 dir | (i + 1 < n ? VRING_DESC_F_NEXT : 0), (d + i + 1) & mask);
		return d + n;
	case 12:		/* a header of odd pieces, then nothing or much */
		put_desc(&desc[d & mask], h->region[REGION_DATA].gpa + rng_below(r, 4096),
			 rng_below(r, 13), dir | VRING_DESC_F_NEXT, (d + 1) & mask);
		if (kinds == KINDS)
			bad_desc(h, queue, &desc[(d + 1) & mask], dir, 0, r);
		else
			honest_desc(h, &desc[(d + 1) & mask], dir, 0, r);
		return d + 2;
	case 7:
		bad_desc(h, queue, &desc[d & mask], dir, 0, r);
		return d + 1;
	default:		/* nothing is wrong with it */
		n = 1 + rng_below(r, 3);
		for (i = 0; i < n; i++)
			honest_desc(h, &desc[(d + i) & mask],
				    dir | (i + 1 < n ? VRING_DESC_F_NEXT : 0),
				    (d + i + 1) & mask, r);
		return d + n;
	}
}

/* frames and headers are read from here, and tables where none were written */
static void put_noise(const struct hostile *h, struct rng *r)
{
	uint8_t *p = h->region[REGION_DATA].our + rng_below(r, HOSTILE_SIZE - 512);
	unsigned int i;

	for (i = 0; i < 64; i++)
		p[i * 8 % 512] = rng_next(r);
	/* a header with offloads that could be meant */
	p[0] = rng_below(r, 4);
	p[1] = rng_below(r, 8);
}

static uint16_t jump(const struct hostile_q *q, unsigned int n, unsigned int kinds,
		     struct rng *r)
{
	switch (rng_below(r, kinds == KINDS ? 24 : 256)) {
	case 0:
		return q->num + 1;
	case 1:
		return -1 - rng_below(r, 3);
	case 2:
		return rng_next(r);
	case 3:
		return 0x8000;
	case 4:
		return q->num;
	case 5:
		return rng_below(r, q->num + 1);
	default:
		return n;
	}
}

void hostile_strike(struct hostile *h, unsigned int queue)
{
	struct hostile_q *q = &h->q[queue];
	struct vring_avail *avail = hostile_avail(h, queue);
	unsigned int n, i, d, head, kinds;
	struct rng *r = &h->rng;

	kinds = one_in(r, 4) ? KINDS : MILD;
	put_noise(h, r);
	n = one_in(r, 16) ? q->num : 1 + rng_below(r, 6);
	if (n > q->num)
		n = q->num;
	if (n > 96)
		n = 96;
	d = rng_below(r, q->num);
	for (i = 0; i < n; i++) {
		head = one_in(r, 16 * kinds) ? rng_next(r) : d & (q->num - 1);
		WRITE_ONCE(avail->ring[(q->idx + i) & (q->num - 1)], head);
		d = put_chain(h, queue, d, kinds, r);
	}
	if (one_in(r, 4))
		WRITE_ONCE(avail->flags, rng_next(r));
	if (one_in(r, 4))
		WRITE_ONCE(avail->ring[q->num], rng_next(r));
	q->idx += jump(q, n, kinds, r);
	__atomic_store_n(&avail->idx, q->idx, __ATOMIC_RELEASE);
}

void hostile_rewrite(struct hostile *h, struct rng *r)
{
	unsigned int queue = rng_below(r, 2), i;
	struct hostile_q *q = &h->q[queue];
	struct vring_desc *d = &hostile_desc(h, queue)[rng_below(r, q->num)];
	struct vring_avail *avail = hostile_avail(h, queue);

	switch (rng_below(r, 12)) {
	case 0:
		WRITE_ONCE(d->addr, pick_addr(h, queue, r));
		break;
	case 1:
		WRITE_ONCE(d->len, pick_len(r));
		break;
	case 2:
		WRITE_ONCE(d->flags, rng_below(r, 8));
		break;
	case 3:
		WRITE_ONCE(d->next, rng_below(r, q->num + 1));
		break;
	case 4:
		WRITE_ONCE(avail->ring[rng_below(r, q->num)], rng_below(r, q->num + 1));
		break;
	case 5:
		/* there and back again */
		WRITE_ONCE(avail->idx, q->idx + rng_below(r, 2 * q->num + 2));
		WRITE_ONCE(avail->idx, q->idx);
		break;
	case 6:
		WRITE_ONCE(avail->flags, rng_below(r, 2));
		WRITE_ONCE(avail->ring[q->num], rng_next(r));
		break;
	case 7:
		i = rng_below(r, HOSTILE_SIZE - HOSTILE_TABLE_AT - 8);
		WRITE_ONCE(*(uint32_t *)(h->region[REGION_DATA].our +
					 HOSTILE_TABLE_AT + (i & ~3U)), rng_next(r));
		break;
	case 8:
		WRITE_ONCE(hostile_used(h, queue)->idx, rng_next(r));
		break;
	case 9:
		put_noise(h, r);
		break;
	default:
		honest_desc(h, d, direction(queue), 0, r);
	}
}
