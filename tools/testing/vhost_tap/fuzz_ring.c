// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fuzzing the split ring: an input is a ring and a list of what driver and device
 * do with it (fuzz_ring.h). guest.c watches every access, oracle.c knows what
 * each fetch must give; here stands what must hold of all else.
 */
#include "fuzz.h"
#include "fuzz_ring.h"
#include "oracle.h"

#define R	(&drv.r)

const char *const fuzz_name = "fuzz_ring";

/* What the device must know of itself. */
static struct {
	u32 id[VTAP_MAX_SEGS];		/* outstanding heads, oldest first */
	u32 written[VTAP_MAX_SEGS];
	u32 nr;
	u16 used;			/* used index */
	u32 since;			/* entries published since the last decision */
	bool decided;			/* there was one since start */
} model;

/* What writes the call that runs may do. */
static struct {
	bool entries, index, flags, event;
	u32 nr;				/* entries, from model.used on */
	bool index_written, flags_written;
} allowed;

/* Memory that changes under a call. */
static struct {
	enum { RACE_NONE, RACE_ALL, RACE_SAME, RACE_THERE, RACE_INDEX } kind;
	u32 countdown;
	u32 off;
	u16 value;
	bool strict;	/* what changes has been read, and is not referred to again */
} race;

static u64 take_gpa(struct input *in)
{
	u32 kind = take(in, 1);

	if (kind & 0x80 && drv.table->nr) {
		const struct vtap_region *reg = &drv.table->region[(kind & 7) % drv.table->nr];

		return (kind & 8 ? reg->last : reg->gpa) + (u64)(long long)(short)take(in, 2);
	}
	switch (kind & 3) {
	case 0:
		return gpa_of(DRV_BUF + take(in, 2));
	case 1:
		return gpa_of(take(in, 3));
	case 2:
		return gpa_of(take(in, 2) << 6);
	default:
		return take(in, 8);
	}
}

static u32 take_len(struct input *in)
{
	u32 kind = take(in, 1);

	return kind & 0x80 ? take(in, 4) : kind & 0x40 ? (kind & 0x3f) * 16 : kind;
}

static void take_table(struct input *in)
{
	u32 nr = take(in, 1), i;

	drv_table_clear();
	R->mem = nr == 255 ? NULL : drv.table;
	if (!R->mem)
		return;
	nr %= RING_MAX_REGIONS + 1;
	for (i = 0; i < nr; i++) {
		u32 kind = take(in, 1);
		u64 off = take(in, 3) % DRV_SIZE;
		u64 size = take(in, 3);

		if (size > DRV_SIZE - off)
			size = DRV_SIZE - off;
		drv_table_add(kind & 1 ? 0 - size : kind & 2 ? take(in, 8) : gpa_of(off),
			      size, off);
	}
	if (drv_table_done())
		drv_table_clear();
}

static void put16(u32 off, u16 v)
{
	memcpy(drv.mem + off % (DRV_SIZE - 1), &v, sizeof(v));
}

/* The driver's other thread. */
static void race_now(const void *p)
{
	if (!race.countdown || --race.countdown)
		return;
	switch (race.kind) {
	case RACE_SAME:
		put16((const u8 *)p - drv.mem, race.value);
		break;
	case RACE_THERE:
		put16(race.off, race.value);
		break;
	case RACE_INDEX:
		drv_set_avail_idx(race.value);
		break;
	default:
		break;
	}
}

/* What guest.scribble changed, to be changed back afterwards. */
static struct {
	u8 *p;
	size_t len;
} undo[1 << 16];

static u32 nr_undo;
static bool counting;

static void on_get(const void *src, size_t len)
{
	if (counting)
		oracle_read(src, len);
	if (guest.scribble) {
		undo[nr_undo].p = (u8 *)src;
		undo[nr_undo++].len = len;
		guest.scribble = nr_undo < sizeof(undo) / sizeof(undo[0]);
	}
	race_now(src);
}

static void check_entries(u32 n)
{
	u32 i;

	/* of more than the ring is long, the newest are left */
	for (i = n > R->num ? n - R->num : 0; i < n; i++) {
		MUST(drv_used_id(model.used + i) == model.id[i]);
		MUST(drv_used_len(model.used + i) == model.written[i]);
	}
}

static void on_put(const void *dst, size_t len)
{
	size_t off = (const u8 *)dst - (const u8 *)drv.used->ring;
	const u8 *event = (const u8 *)&drv.used->ring[R->num];

	if (dst == &drv.used->idx) {
		MUST(allowed.index && !allowed.index_written);
		allowed.index_written = true;
		if (race.kind == RACE_NONE)
			check_entries(allowed.nr);	/* I3 */
	} else if (dst == &drv.used->flags) {
		MUST(allowed.flags);
		allowed.flags_written = true;
	} else if (dst == event) {
		MUST(allowed.event && len == 2);
	} else {
		u16 slot = off / sizeof(struct vring_used_elem);

		MUST(allowed.entries && !allowed.index_written);
		MUST(off < sizeof(struct vring_used_elem) * R->num);
		MUST(((slot - model.used) & (R->num - 1)) < allowed.nr);
	}
	race_now(dst);
}

/* Before and after each call of the device. */

static unsigned long accesses;
static bool was_broken;

static void begin(void)
{
	accesses = guest.accesses;
	was_broken = R->err;
	memset(&allowed, 0, sizeof(allowed));
	guest.scribble = race.kind == RACE_ALL;
}

static bool failed(void)
{
	return guest.fail_at && guest.accesses >= guest.fail_at &&
	       (accesses < guest.fail_at || guest.fail_after);
}

static struct {
	u32 chains, done, segs;
} checked;

static void check_arrays(void)
{
	u32 c, s, segs = 0;

	checked.chains = R->nr_chains;
	checked.done = R->nr_done;
	checked.segs = R->nr_segs;
	MUST(R->nr_done <= R->nr_chains && R->nr_chains <= R->max_chains);
	MUST(R->nr_segs <= R->max_segs);
	for (c = 0; c < R->nr_chains; c++) {
		const struct vtap_chain *chain = &R->chain[c];
		u64 len = 0;

		MUST(chain->seg == segs);
		MUST(chain->id < R->num);
		MUST(chain->slots >= 1 && chain->slots <= R->num);
		for (s = 0; s < chain->nsegs; s++) {
			const struct iovec *iov = &R->seg[chain->seg + s];
			u64 off = (u64)(unsigned long)iov->iov_base - (u64)(unsigned long)drv.mem;

			MUST(iov->iov_len > 0);
			MUST(off < DRV_SIZE && iov->iov_len <= DRV_SIZE - off);
			len += iov->iov_len;
		}
		MUST(len == chain->len);
		segs += chain->nsegs;
	}
	MUST(segs == R->nr_segs);
	if (R->nr_chains == R->nr_done)
		MUST(!R->nr_chains && !R->nr_segs);
	for (c = 0; c < model.nr; c++)
		MUST(vtap_ring_chain(R, c)->id == model.id[c]);
}

static void end(int ret)
{
	guest.scribble = false;
	while (nr_undo) {
		nr_undo--;
		while (undo[nr_undo].len)
			undo[nr_undo].p[--undo[nr_undo].len] ^= 0xa5;
	}
	counting = false;
	race.kind = RACE_NONE;
	race.countdown = 0;
	MUST(ret == -EPROTO || ret >= 0);
	MUST((ret == -EPROTO) == (R->err != VHOST_TAP_RING_ERR_NONE));
	if (was_broken)
		MUST(ret == -EPROTO && guest.accesses == accesses);
	/* no spinning: two reads for every descriptor of a batch of the worst kind */
	MUST(guest.accesses - accesses < 2 * (VTAP_BATCH * 4096 + 70000));
	if (checked.chains != R->nr_chains || checked.done != R->nr_done ||
	    checked.segs != R->nr_segs)
		check_arrays();
	MUST(vtap_ring_outstanding(R) == model.nr);	/* I2 */
}

static void fetch(u32 n)
{
	u32 before = model.nr;
	u16 last = R->last_avail;
	bool exact;
	int ret, i;

	oracle_look(n);
	/* changing what is not read again must change nothing */
	if (race.kind == RACE_ALL)
		race.strict = !oracle.aliased;
	exact = race.kind == RACE_NONE || race.strict;
	counting = exact;
	begin();
	ret = vtap_ring_fetch(R, n);
	MUST(ret <= (int)n);
	MUST(vtap_ring_outstanding(R) == before + (ret > 0 ? ret : 0));
	MUST(R->last_avail == (u16)(last + (ret > 0 ? ret : 0)));
	for (i = 0; i < ret; i++)
		model.id[model.nr++] = vtap_ring_chain(R, before + i)->id;
	if (exact && !was_broken)
		oracle_check(ret, failed(), before);
	end(ret);
}

static void complete(u32 n)
{
	u16 idx = drv_used_idx();	/* what the driver may have written there itself */
	u32 i;
	int ret;

	for (i = 0; i < n; i++) {
		struct vtap_chain *c = vtap_ring_chain(R, i);

		model.written[i] = c->len ^ (i * 0x9e3779b9);
		c->written = model.written[i];
	}
	begin();
	allowed.entries = true;
	allowed.index = true;
	allowed.nr = n;
	ret = vtap_ring_complete(R, n);
	if (ret || !n) {
		/* nothing is published, nothing forgotten */
		MUST(!allowed.index_written);
		MUST(drv_used_idx() == idx || race.kind != RACE_NONE);
		MUST(!ret || was_broken || (failed() && R->err == VHOST_TAP_RING_ERR_FAULT));
		end(ret);
		return;
	}
	MUST(allowed.index_written);
	if (race.kind == RACE_NONE) {
		check_entries(n);
		MUST(drv_used_idx() == (u16)(model.used + n));
	}
	model.used += n;
	model.since += n;
	model.nr -= n;
	memmove(model.id, model.id + n, model.nr * sizeof(model.id[0]));
	MUST(R->last_used == model.used);
	end(ret);
}

/* Does it lie among the newest @n entries? */
static bool passed(u16 event, u32 n)
{
	return n > 0xffff || (u16)(model.used - 1 - event) < n;
}

static void should_signal(void)
{
	u32 since = model.since;
	int ret, want;
	u16 v;

	if (R->notify_on_empty && R->avail_idx == R->last_avail) {
		want = 1;
	} else if (R->event_idx) {
		v = __virtio16_to_cpu(drv.le, drv.avail->ring[R->num]);
		want = !model.decided || passed(v, since);
	} else {
		v = __virtio16_to_cpu(drv.le, drv.avail->flags);
		want = !(v & VRING_AVAIL_F_NO_INTERRUPT);
	}
	begin();
	ret = vtap_ring_should_signal(R);
	if (!was_broken) {
		if (since) {
			model.decided = true;
			model.since = 0;
		}
		if (ret == -EPROTO)
			MUST(failed() && R->err == VHOST_TAP_RING_ERR_FAULT);
		else if (race.kind == RACE_NONE)
			MUST(ret == (since ? want : 0));
	}
	end(ret);
}

/* An index was looked at: did @ret say what there was? */
static void check_look(int ret, bool looked)
{
	u16 ahead = __virtio16_to_cpu(drv.le, drv.avail->idx) - R->last_avail;

	if (ret == -EPROTO && failed() && R->err == VHOST_TAP_RING_ERR_FAULT)
		return;
	if (race.kind != RACE_NONE)
		return;
	if (!looked)
		MUST(ret == 1);
	else if (ahead > R->num)
		MUST(ret == -EPROTO && R->err == VHOST_TAP_RING_ERR_AVAIL_IDX);
	else
		MUST(ret == !!ahead);
}

static void notify(u32 what)
{
	bool looked = R->avail_idx == R->last_avail;
	int ret;

	if (what == 2) {
		should_signal();
		return;
	}
	begin();
	allowed.flags = !R->event_idx;
	allowed.event = R->event_idx;
	if (what == 0) {
		ret = vtap_ring_arm(R);
		if (!was_broken) {
			check_look(ret, true);
			if (ret >= 0 && race.kind == RACE_NONE)
				MUST(R->event_idx ? drv_avail_event() == R->last_avail :
						    R->used_flags == 0);
		}
	} else if (what == 1) {
		ret = vtap_ring_disarm(R);
		MUST(ret <= 0);
		if (!was_broken && ret)
			MUST(failed() && R->err == VHOST_TAP_RING_ERR_FAULT);
		if (!ret && !R->event_idx && race.kind == RACE_NONE)
			MUST(R->used_flags == VRING_USED_F_NO_NOTIFY);
	} else {
		ret = vtap_ring_has_avail(R);
		if (!was_broken)
			check_look(ret, looked);
	}
	/* not written if the driver is believed to know */
	if (allowed.flags_written && race.kind == RACE_NONE && !failed())
		MUST(drv_used_flags() == R->used_flags);
	end(ret);
}

static void unfetch(u32 n)
{
	u16 last = R->last_avail;

	vtap_ring_unfetch(R, n);
	model.nr -= n;
	check_arrays();
	MUST(R->last_avail == (u16)(last - n));
}

static void start(struct input *in, u32 m)
{
	u16 last;

	unfetch(model.nr);
	if (m & 1)
		drv.used->idx = __cpu_to_virtio16(drv.le, take(in, 2));
	if (m & 2)
		R->last_avail = take(in, 2);
	if (m & 4)
		R->last_avail = drv.avail_idx;
	last = R->last_avail;
	begin();
	allowed.flags = true;
	allowed.event = R->event_idx;
	race.kind = RACE_NONE;
	race.countdown = 0;
	if (vtap_ring_start(R)) {
		MUST(failed());
		guest.fail_at = 0;
		MUST(!vtap_ring_start(R));
	}
	was_broken = false;
	end(0);
	MUST(R->last_avail == last);
	MUST(R->last_used == drv_used_idx());
	MUST(!drv_used_flags());
	if (R->event_idx)
		MUST(drv_avail_event() == last);
	model.used = R->last_used;
	model.since = 0;
	model.decided = false;
}

static void bulk(u32 kind, u32 first, u32 n)
{
	u16 dir = R->writable ? WRITE : 0;
	u32 mask = R->num - 1, i;

	if (kind == 0) {
		for (i = first; i < first + n; i++) {
			drv_desc(i & mask, gpa_of(DRV_BUF + (u64)(i % 256) * 0x1000),
				 100 + i % 1000, dir, 0x7777);
			drv_add(i & mask);
		}
		return;
	}
	for (i = 0; i < n; i++) {
		u64 gpa = gpa_of(DRV_BUF + 0x10000 + i);
		u32 len = kind == 3 ? 0 : 1 + (i & 7);
		u16 flags = dir | (i == n - 1 ? 0 : NEXT);

		if (kind == 1)
			drv_desc((first + i) & mask, gpa, len, flags, (first + i + 1) & mask);
		else
			drv_entry(gpa_of(DRV_BUF), i, gpa, len, flags, i + 1);
	}
	if (kind != 1)
		drv_desc(first & mask, gpa_of(DRV_BUF), n * 16, INDIRECT, 0);
	drv_add(first & mask);
}

static u32 take_some(struct input *in, u32 m)
{
	return m & 1 ? model.nr : take(in, 2) % (model.nr + 1);
}

static void take_race(struct input *in, u32 m)
{
	memset(&race, 0, sizeof(race));
	race.kind = RACE_ALL + (m & 3);
	if (race.kind == RACE_ALL)
		return;
	race.countdown = take(in, 1) + 1;
	race.off = take(in, 3);
	race.value = take(in, 2);
}

static void step(struct input *in)
{
	u32 op = take(in, 1);
	u32 m = op >> 4;
	u32 a, n;
	u64 gpa;

	switch (op & 15) {
	case OP_DESC:
	case OP_ENTRY:
		a = take(in, (op & 15) == OP_DESC ? 2 : 3);
		gpa = take_gpa(in);
		n = take_len(in);
		op = (op & 15) == OP_ENTRY;
		m = take(in, 2);
		if (op)
			drv_entry(gpa_of(a % (DRV_SIZE - 15)), 0, gpa, n, m, take(in, 2));
		else
			drv_desc(a & (R->num - 1), gpa, n, m, take(in, 2));
		break;
	case OP_DESC8:
		a = take(in, 1) & (R->num - 1);
		gpa = take_gpa(in);
		n = take_len(in);
		drv_desc(a, gpa, n, m, take(in, 1));
		break;
	case OP_ENTRY8:
		a = take(in, 2);
		gpa = take_gpa(in);
		n = take_len(in);
		drv_entry(gpa_of(DRV_BUF + a), 0, gpa, n, m, take(in, 1));
		break;
	case OP_ADD:
		drv_add(take(in, m & 1 ? 2 : 1));
		break;
	case OP_BULK:
		a = take(in, 2);
		n = take(in, 1);
		bulk(m & 3, a, n << (m & 4));
		break;
	case OP_INDEX:
		drv_set_avail_idx(take(in, 2));
		break;
	case OP_FETCH:
		fetch(take(in, m & 1 ? 2 : 1));
		break;
	case OP_COMPLETE:
		complete(take_some(in, m));
		break;
	case OP_UNFETCH:
		unfetch(take_some(in, m));
		break;
	case OP_NOTIFY:
		notify(m & 3);
		break;
	case OP_START:
		start(in, m);
		break;
	case OP_FAIL:
		guest.fail_at = guest.accesses + take(in, m & 1 ? 2 : 1);
		guest.fail_after = m & 2;
		break;
	case OP_EVENT:
		if (m & 1)
			drv_set_used_event(take(in, 2));
		if (m & 2)
			drv_set_avail_flags(take(in, 2));
		break;
	case OP_RACE:
		take_race(in, m);
		break;
	case OP_TABLE:
		unfetch(model.nr);
		take_table(in);
		break;
	}
}

void fuzz_one(struct input *in)
{
	u32 num = 1 << (take(in, 1) & 15);
	u32 flags = take(in, 1);
	u64 features = 0;
	u32 steps = 0;

	features |= flags & RING_EVENT_IDX ? F_EVENT_IDX : 0;
	features |= flags & RING_INDIRECT ? F_INDIRECT : 0;
	features |= flags & RING_ON_EMPTY ? F_ON_EMPTY : 0;
	if (flags & RING_BE)
		drv_init_be(num, flags & RING_WRITABLE, features);
	else
		drv_init(num, flags & RING_WRITABLE, features);
	memset(&model, 0, sizeof(model));
	memset(&race, 0, sizeof(race));
	memset(&checked, 0, sizeof(checked));
	counting = false;
	guest.on_get = on_get;
	guest.on_put = on_put;
	while (in->left && steps++ < 2000)
		step(in);
}
