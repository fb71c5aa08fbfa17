// SPDX-License-Identifier: GPL-2.0-only
/*
 * The model that random operations are checked against: see model.h.
 */
#include "model.h"

struct model m;

static u64 rnd_state;

void rnd_seed(u64 seed)
{
	u32 i;

	rnd_state = seed * 0x9e3779b97f4a7c15ULL + 1;
	for (i = 0; i < 8; i++)
		rnd(2);
}

u32 rnd(u32 n)
{
	rnd_state ^= rnd_state << 13;
	rnd_state ^= rnd_state >> 7;
	rnd_state ^= rnd_state << 17;
	return (rnd_state >> 16) % n;
}

bool one_in(u32 n)
{
	return !rnd(n);
}

struct chain *queued(u32 i)
{
	return &m.queue[(m.q_head + i) % m.q_size];
}

u32 nr_queued(void)
{
	return m.q_tail - m.q_head;
}

/* Memory */

static const struct vtap_region *where(u64 gpa)
{
	const struct vtap_region *best = NULL;
	u32 i;

	for (i = 0; i < m.nr_regions; i++) {
		const struct vtap_region *reg = &m.region[i];

		if (gpa >= reg->gpa && gpa <= reg->last && (!best || reg->gpa < best->gpa))
			best = reg;
	}
	return best;
}

/* Bytes until where() may answer otherwise. */
static u64 until_change(const struct vtap_region *reg, u64 gpa)
{
	return reg->last - gpa + 1;
}

void new_table(void)
{
	u64 gpa, end;
	u32 i;

	m.nr_regions = 0;
	/* tables: cut anywhere, but all there */
	gpa = gpa_of(TABLES);
	end = gpa + TABLE_HEADS * TABLE_BYTES;
	while (gpa < end) {
		struct vtap_region *reg = &m.region[m.nr_regions];
		u64 len = end - gpa;

		if (m.nr_regions < 4 && one_in(2))
			len = 1 + rnd(len);
		reg->gpa = gpa;
		reg->last = gpa + len - 1;
		reg->uaddr = (u64)(unsigned long)drv.mem + gpa - DRV_GPA;
		gpa += len;
		m.nr_regions++;
	}
	/* buffers: some in a row, some with holes, some over another */
	gpa = one_in(8) ? 0ULL - 0x30000 : BUF_GPA + rnd(0x3000);
	while (m.nr_regions < 5 + rnd(MAX_REGIONS - 4)) {
		struct vtap_region *reg = &m.region[m.nr_regions];
		u64 len = one_in(4) ? 1 + rnd(64) : 1 + rnd(0x10000);

		if (gpa + len - 1 < gpa)
			len = 0 - gpa;
		reg->gpa = gpa;
		reg->last = gpa + len - 1;
		reg->uaddr = BUF_HOST + ((u64)rnd(0x10000) << 20) + rnd(0x10000);
		m.nr_regions++;
		gpa += len;
		if (!gpa)
			break;
		if (one_in(3))
			gpa += rnd(0x1000);
		else if (one_in(5))
			gpa -= rnd(len < 100 ? len : 100);
	}
	/* in no order */
	for (i = m.nr_regions - 1; i > 0; i--) {
		u32 j = rnd(i + 1);
		struct vtap_region tmp = m.region[i];

		m.region[i] = m.region[j];
		m.region[j] = tmp;
	}
	drv_table_clear();
	memcpy(drv.table->region, m.region, sizeof(m.region));
	drv.table->nr = m.nr_regions;
	CHECK_EQ(drv_table_done(), 0);
	if (one_in(2))
		R->last_region = 0;
}

static void random_buffer(u64 *gpa, u32 *len)
{
	const struct vtap_region *reg = &m.region[rnd(m.nr_regions)];
	u64 size = reg->last - reg->gpa + 1;
	u64 off = rnd(size);

	*gpa = reg->gpa + off;
	if (one_in(6))
		*len = 0;
	else if (one_in(12))
		*len = 1 + rnd(0x20000);	/* over the end, and more */
	else if (one_in(4))
		*len = size - off;		/* up to the last byte */
	else
		*len = 1 + rnd(size - off);
	if (one_in(60))
		*gpa = *gpa * 2654435761ULL;	/* nowhere */
	if (one_in(200))
		*len = 0xffffffff - rnd(16);
}

int translate(const struct chain *c, struct seg *seg, u64 *total)
{
	int n = 0;
	u32 i;

	*total = 0;
	for (i = 0; i < c->nr; i++) {
		u64 gpa = c->buf[i].gpa;
		u64 left = c->buf[i].len;

		if (left && gpa + left - 1 < gpa)
			return -VHOST_TAP_RING_ERR_ADDRESS;
		*total += left;
		while (left) {
			const struct vtap_region *reg = where(gpa);
			u64 piece;

			if (!reg)
				return -VHOST_TAP_RING_ERR_ADDRESS;
			piece = until_change(reg, gpa);
			if (piece > left)
				piece = left;
			if (n == VTAP_MAX_SEGS)
				return -VHOST_TAP_RING_ERR_SEGMENTS;
			seg[n].base = reg->uaddr + gpa - reg->gpa;
			seg[n].len = piece;
			n++;
			gpa += piece;
			left -= piece;
		}
	}
	return *total > U32_MAX ? -VHOST_TAP_RING_ERR_LENGTH : n;
}

/* The driver */

static u16 take_desc(struct chain *c)
{
	u16 i;

	do
		i = rnd(m.num);
	while (m.busy[i]);
	m.busy[i] = 1;
	m.unused--;
	c->own[c->nr_own++] = i;
	return i;
}

void release(struct chain *c)
{
	u32 i;

	for (i = 0; i < c->nr_own; i++)
		m.busy[c->own[i]] = 0;
	m.unused += c->nr_own;
	m.base++;
	m.q_head++;
}

/* Entries of the chain's table for buffers @from on, in the order of @place[]. */
static void fill_table(struct chain *c, u32 from, u32 entries, bool linear)
{
	u16 dir = m.writable ? WRITE : 0;
	u16 place[TABLE_MAX];
	u32 n = c->nr - from, i, j;

	for (i = 0; i < entries; i++)
		place[i] = i;
	/* entry 0 is first always */
	for (i = entries - 1; !linear && i > 1; i--) {
		u16 tmp = place[i];

		j = 1 + rnd(i);
		place[i] = place[j];
		place[j] = tmp;
	}
	for (i = 0; i < n; i++)
		drv_entry(c->table, place[i], c->buf[from + i].gpa, c->buf[from + i].len,
			  dir | (i == n - 1 ? 0 : NEXT), i == n - 1 ? rnd(65536) : place[i + 1]);
	/* defects: in the entry of a buffer picked at random */
	i = rnd(n);
	switch (c->defect) {
	case VHOST_TAP_RING_ERR_INDIRECT:
		drv_entry(c->table, place[i], c->buf[from + i].gpa, 16, INDIRECT, 0);
		break;
	case VHOST_TAP_RING_ERR_DIRECTION:
		drv_entry(c->table, place[i], c->buf[from + i].gpa, c->buf[from + i].len,
			  dir ^ WRITE, 0);
		break;
	case VHOST_TAP_RING_ERR_HEAD:
		drv_entry(c->table, place[i], c->buf[from + i].gpa, c->buf[from + i].len,
			  dir | NEXT, entries + rnd(65536 - entries));
		break;
	case VHOST_TAP_RING_ERR_LOOP:
		drv_entry(c->table, place[i], c->buf[from + i].gpa, c->buf[from + i].len,
			  dir | NEXT, place[rnd(i + 1)]);
		break;
	default:
		break;
	}
}

void add_chain(void)
{
	static const enum vhost_tap_ring_err defects[] = {
		VHOST_TAP_RING_ERR_HEAD, VHOST_TAP_RING_ERR_LOOP, VHOST_TAP_RING_ERR_INDIRECT,
		VHOST_TAP_RING_ERR_TABLE, VHOST_TAP_RING_ERR_DIRECTION,
	};
	u16 dir = m.writable ? WRITE : 0;
	struct chain *c = &m.queue[m.q_tail % m.q_size];
	u32 direct, table = 0, entries = 0, want, i;
	bool bad_in_table;

	if (nr_queued() == m.q_size || !m.unused)
		return;
	memset(c, 0, sizeof(*c));

	/* how many descriptors, of what kind */
	want = one_in(2) ? 1 : one_in(10) ? 1 + rnd(240) : 1 + rnd(8);
	direct = want < m.unused ? want : m.unused;
	if (m.num <= TABLE_HEADS && one_in(3)) {
		table = 1 + rnd(one_in(8) ? TABLE_MAX : 10);
		direct = one_in(3) ? rnd(direct) : 0;	/* and one for the table */
		if (direct + table > MAX_BUFS)
			direct = MAX_BUFS - table;
		entries = table + (one_in(3) ? rnd(TABLE_MAX + 1 - table) : 0);
	}
	if (one_in(25))
		c->defect = defects[rnd(5)];
	if (table && !m.indirect)
		c->defect = VHOST_TAP_RING_ERR_INDIRECT;
	if (!table && c->defect == VHOST_TAP_RING_ERR_TABLE)
		c->defect = VHOST_TAP_RING_ERR_NONE;
	bad_in_table = table && (!direct || one_in(2));

	for (i = 0; i < direct + table; i++)
		random_buffer(&c->buf[i].gpa, &c->buf[i].len);
	c->nr = direct + table;
	c->slots = direct + !!table;
	for (i = 0; i < c->slots; i++)
		take_desc(c);
	c->head = c->own[0];

	for (i = 0; i < direct; i++) {
		u16 next = i + 1 < c->slots ? c->own[i + 1] : rnd(65536);

		drv_desc(c->own[i], c->buf[i].gpa, c->buf[i].len,
			 dir | (i + 1 < c->slots ? NEXT : 0), next);
	}
	if (table) {
		/* its place is that of its descriptor */
		u16 d = c->own[direct];

		c->table = gpa_of(TABLES + d * TABLE_BYTES) + rnd(TABLE_BYTES - 16 * TABLE_MAX + 1);
		c->table_len = entries * 16;
		fill_table(c, direct, entries, one_in(2) || entries < 3);
		drv_desc(d, c->table, c->table_len, INDIRECT | (one_in(2) ? WRITE : 0),
			 rnd(65536));
		if (c->defect == VHOST_TAP_RING_ERR_TABLE)
			drv_desc(d, c->table, one_in(3) ? 0 : c->table_len + 1 + rnd(15), INDIRECT,
				 0);
		if (c->defect == VHOST_TAP_RING_ERR_INDIRECT && one_in(2))
			drv_desc(d, c->table, c->table_len, INDIRECT | NEXT, c->head);
	}
	/* defects in the ring itself */
	i = direct ? rnd(direct) : 0;
	if (direct && !bad_in_table) {
		u64 gpa = c->buf[i].gpa;
		u32 len = c->buf[i].len;

		switch (c->defect) {
		case VHOST_TAP_RING_ERR_HEAD:
			drv_desc(c->own[i], gpa, len, dir | NEXT, m.num + rnd(65536 - m.num));
			break;
		case VHOST_TAP_RING_ERR_LOOP:
			drv_desc(c->own[i], gpa, len, dir | NEXT, c->own[rnd(i + 1)]);
			break;
		case VHOST_TAP_RING_ERR_DIRECTION:
			drv_desc(c->own[i], gpa, len, (dir ^ WRITE) |
				 (i + 1 < c->slots ? NEXT : 0),
				 i + 1 < c->slots ? c->own[i + 1] : 0);
			break;
		case VHOST_TAP_RING_ERR_INDIRECT:
			if (!table)
				drv_desc(c->own[i], gpa, 16, dir | INDIRECT | NEXT, c->head);
			break;
		default:
			break;
		}
	}
	drv.avail->ring[(u16)(m.base + nr_queued()) & (m.num - 1)] =
		__cpu_to_virtio16(drv.le, c->defect == VHOST_TAP_RING_ERR_HEAD && one_in(2) ?
				  m.num + rnd(65536 - m.num) : c->head);
	m.q_tail++;
}
