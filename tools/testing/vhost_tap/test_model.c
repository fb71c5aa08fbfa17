// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random operations on a split ring, against a model of what it must do.
 *
 * A driver makes random chains available, good ones and broken ones. The model
 * knows their buffers from the moment it made them up, and never reads rings;
 * what they translate to it works out anew, region by region, when they are
 * fetched. In between: other memory tables, accesses that fail, memory that
 * changes behind a read, full arrays, index wraps, stop and start.
 *
 * One seed is one ring and OPS operations. A failure tells its seed: run
 * "test_model SEED" to have that one alone. "test_model BASE COUNT" runs COUNT
 * seeds of each kind from BASE on.
 */
#include "model.h"

#define OPS		400

static void op_add(void)
{
	u32 n = 1 + rnd(one_in(4) ? 100 : 4);

	while (n--)
		add_chain();
	drv_set_avail_idx(m.base + nr_queued());
}

/* The ring stopped: give back, restart, and take the broken chain away if it was one. */
static void recover(bool skip)
{
	guest.fail_at = 0;
	vtap_ring_unfetch(R, vtap_ring_outstanding(R));
	CHECK_EQ(R->last_avail, m.base);
	m.fetched = 0;
	if (skip)
		R->last_avail = m.base + 1;
	CHECK_EQ(vtap_ring_start(R), 0);
	CHECK_EQ(R->last_used, m.used);
	CHECK_EQ(drv_used_flags(), 0);
	if (skip)
		release(queued(0));
	m.cached = m.base;
	m.published = false;
	m.signalled_valid = false;
}

/* An operation failed; was it the injected fault? */
static bool was_fault(int ret, unsigned long fail_at)
{
	if (ret != -EPROTO || R->err != VHOST_TAP_RING_ERR_FAULT)
		return false;
	CHECK(fail_at && guest.accesses >= fail_at);
	return true;
}

static unsigned long inject(void)
{
	if (!one_in(30))
		return 0;
	guest.fail_at = guest.accesses + 1 + rnd(one_in(2) ? 4 : 100);
	guest.fail_after = one_in(2);
	return guest.fail_at;
}

static void check_chain(const struct vtap_chain *got, const struct chain *c)
{
	static struct seg seg[VTAP_MAX_SEGS];
	u64 total;
	int n, i;

	n = translate(c, seg, &total);
	CHECK_EQ(c->defect, VHOST_TAP_RING_ERR_NONE);
	CHECK_EQ(got->id, c->head);
	CHECK_EQ(got->slots, c->slots);
	CHECK_EQ(got->len, total);
	CHECK_EQ(got->nsegs, n);
	CHECK_EQ(got->written, 0);
	CHECK(got->seg + got->nsegs <= VTAP_MAX_SEGS);
	for (i = 0; i < n && !tap_failures; i++) {
		const struct iovec *s = &R->seg[got->seg + i];

		CHECK_EQ((u64)(unsigned long)s->iov_base, seg[i].base);
		CHECK_EQ(s->iov_len, seg[i].len);
	}
}

static u8 *saved;

static void op_fetch(void)
{
	static struct seg seg[VTAP_MAX_SEGS];
	u32 max = one_in(4) ? VTAP_BATCH : one_in(8) ? rnd(1000) : rnd(10);
	u32 before = vtap_ring_outstanding(R);
	u32 segs_before = R->nr_segs, chains_before = R->nr_chains;
	bool scribble = one_in(50), exempt;
	unsigned long fail_at = inject();
	u16 known = m.cached - m.base - m.fetched;
	u32 avail, segs, i;
	int n, need;
	u64 total;

	/*
	 * I7; but a chain that loops is read in circles, and for a head outside
	 * of the table some descriptor inside is read and thrown away.
	 */
	for (i = 0, exempt = false; i <= max && m.fetched + i < nr_queued(); i++)
		exempt |= queued(m.fetched + i)->defect == VHOST_TAP_RING_ERR_LOOP ||
			  queued(m.fetched + i)->defect == VHOST_TAP_RING_ERR_HEAD;
	scribble &= !exempt;
	if (scribble) {
		memcpy(saved, drv.mem, DRV_BUF + TABLE_HEADS * TABLE_BYTES);
		guest.scribble = true;
	}
	guest_track();
	n = vtap_ring_fetch(R, max);
	CHECK(exempt || !guest.read_twice);
	guest.track = false;
	guest.scribble = false;
	guest.fail_at = 0;
	if (scribble)
		memcpy(drv.mem, saved, DRV_BUF + TABLE_HEADS * TABLE_BYTES);

	if (was_fault(n, fail_at)) {
		CHECK_EQ(vtap_ring_outstanding(R), before);
		recover(false);
		return;
	}
	/* was the index looked at? */
	if (max && R->max_chains > chains_before && !known)
		m.cached = m.base + nr_queued();
	avail = (u16)(m.cached - m.base - m.fetched);
	if (n == -EPROTO) {
		struct chain *c = queued(m.fetched);

		CHECK(avail > 0);
		if (!avail)
			return;
		CHECK_EQ(vtap_ring_outstanding(R), before);
		need = translate(c, seg, &total);
		CHECK(R->err == c->defect || (need < 0 && R->err == (u32)-need) ||
		      (need < 0 && R->err == VHOST_TAP_RING_ERR_LENGTH && total > U32_MAX) ||
		      (c->defect == VHOST_TAP_RING_ERR_LOOP &&
		       (R->err == VHOST_TAP_RING_ERR_SEGMENTS ||
			R->err == VHOST_TAP_RING_ERR_LENGTH)));
		/* give back the good ones, and come to this one again alone */
		recover(!m.fetched);
		return;
	}
	CHECK(n >= 0 && n <= (int)max && n <= (int)avail);
	if (n < 0 || n > (int)avail)
		return;
	CHECK_EQ(vtap_ring_outstanding(R), before + n);
	for (i = 0; i < (u32)n; i++)
		check_chain(vtap_ring_chain(R, before + i), queued(m.fetched + i));
	m.fetched += n;
	for (i = 0, segs = 0; i < R->nr_chains; i++)
		segs += R->chain[i].nsegs;
	CHECK_EQ(R->nr_segs, segs);
	if (!n && max && avail && chains_before < R->max_chains && !fail_at) {
		/* no room for its segments, or there were not if it is a bad one */
		need = translate(queued(m.fetched), seg, &total);
		CHECK(segs_before > 0);
		CHECK(need < 0 || segs_before + need > VTAP_MAX_SEGS ||
		      queued(m.fetched)->defect == VHOST_TAP_RING_ERR_LOOP);
	}
}

static void op_unfetch(void)
{
	u32 n = rnd(vtap_ring_outstanding(R) + 1);

	vtap_ring_unfetch(R, n);
	m.fetched -= n;
	CHECK_EQ(vtap_ring_outstanding(R), m.fetched);
}

static void op_complete(void)
{
	u32 n = one_in(2) ? m.fetched : rnd(m.fetched + 1);
	unsigned long fail_at;
	u32 written[VTAP_MAX_SEGS], i;
	u16 old = m.used;
	int ret;

	for (i = 0; i < n; i++) {
		written[i] = rnd(0x10000) * rnd(0x10000);
		vtap_ring_chain(R, i)->written = written[i];
	}
	fail_at = inject();
	ret = vtap_ring_complete(R, n);
	guest.fail_at = 0;
	CHECK_EQ(drv_used_idx(), (u16)(old + (ret ? 0 : n)));
	if (was_fault(ret, fail_at)) {
		recover(false);
		return;
	}
	CHECK_EQ(ret, 0);
	for (i = 0; i < n; i++) {
		CHECK_EQ(drv_used_id(old + i), queued(0)->head);
		CHECK_EQ(drv_used_len(old + i), written[i]);
		release(queued(0));
	}
	m.fetched -= n;
	m.used += n;
	if (n)
		m.published = true;
	if ((u16)(m.used - m.signalled) < n)
		m.signalled_valid = false;
	CHECK_EQ(vtap_ring_outstanding(R), m.fetched);
}

static void op_signal(void)
{
	unsigned long fail_at = inject();
	int ret = vtap_ring_should_signal(R);
	int want;

	guest.fail_at = 0;
	if (was_fault(ret, fail_at)) {
		recover(false);
		return;
	}
	if (!m.published) {
		want = 0;
	} else if (m.on_empty && m.cached == (u16)(m.base + m.fetched)) {
		want = 1;
	} else if (!m.event_idx) {
		want = !(m.avail_flags & VRING_AVAIL_F_NO_INTERRUPT);
	} else if (!m.signalled_valid) {
		want = 1;
	} else {
		u16 i;

		/* was the entry that the driver named among those published? */
		want = 0;
		for (i = m.signalled; i != m.used; i++)
			want |= i == m.used_event;
	}
	CHECK_EQ(ret, want);
	if (m.published) {
		m.published = false;
		m.signalled = m.used;
		m.signalled_valid = true;
	}
	if (one_in(2)) {
		m.used_event = one_in(2) ? m.used + rnd(8) : rnd(65536);
		m.avail_flags = rnd(2) ? VRING_AVAIL_F_NO_INTERRUPT : 0;
		drv_set_used_event(m.used_event);
		drv_set_avail_flags(m.avail_flags);
	}
}

static void op_arm(void)
{
	bool arm = one_in(2);
	unsigned long fail_at = inject();
	int ret = arm ? vtap_ring_arm(R) : vtap_ring_disarm(R);

	guest.fail_at = 0;
	if (was_fault(ret, fail_at)) {
		recover(false);
		return;
	}
	if (arm) {
		m.cached = m.base + nr_queued();
		CHECK_EQ(ret, nr_queued() > m.fetched);
		if (m.event_idx)
			CHECK_EQ(drv_avail_event(), (u16)(m.base + m.fetched));
	} else {
		CHECK_EQ(ret, 0);
	}
	CHECK_EQ(R->armed, arm);
	CHECK_EQ(drv_used_flags(), m.event_idx || arm ? 0 : VRING_USED_F_NO_NOTIFY);
}

static void op_look(void)
{
	int ret = vtap_ring_has_avail(R);

	if (m.cached == (u16)(m.base + m.fetched))
		m.cached = m.base + nr_queued();
	CHECK_EQ(ret, m.cached != (u16)(m.base + m.fetched));
}

/* An index that jumped is told, and nothing else happens. */
static void op_jump(void)
{
	u16 ahead = nr_queued() - m.fetched;
	u32 jump = m.num + 1 + rnd(65536 - m.num - 1);
	int ret;

	if (m.cached != (u16)(m.base + m.fetched))
		return;
	drv_set_avail_idx(m.base + m.fetched + jump);
	ret = one_in(3) ? vtap_ring_arm(R) : one_in(2) ? vtap_ring_has_avail(R) :
	      R->max_chains > R->nr_chains ? vtap_ring_fetch(R, 1) : vtap_ring_has_avail(R);
	CHECK_EQ(ret, -EPROTO);
	CHECK_EQ(R->err, VHOST_TAP_RING_ERR_AVAIL_IDX);
	drv_set_avail_idx(m.base + m.fetched + ahead);
	recover(false);
}

static void op_restart(void)
{
	recover(false);
	if (one_in(2)) {
		/* another memory table, while nothing is outstanding */
		new_table();
	}
}

static void setup(bool writable, bool be)
{
	static const u32 nums[] = { 1, 2, 4, 8, 16, 64, 256, 512, 1024, 32768 };
	u64 features = 0;

	m.num = nums[rnd(10)];
	m.writable = writable;
	m.event_idx = one_in(2);
	m.indirect = !one_in(8);
	m.on_empty = one_in(4);
	features |= m.event_idx ? F_EVENT_IDX : 0;
	features |= m.indirect ? F_INDIRECT : 0;
	features |= m.on_empty ? F_ON_EMPTY : 0;
	if (be)
		drv_init_be(m.num, writable, features);
	else
		drv_init(m.num, writable, features);

	m.q_size = m.num < 2048 ? m.num : 2048;
	m.queue = malloc(m.q_size * sizeof(*m.queue));
	m.busy = calloc(1, m.num);
	if (!m.queue || !m.busy)
		abort();
	m.q_head = 0;
	m.q_tail = 0;
	m.fetched = 0;
	m.unused = m.num;
	m.base = one_in(2) ? 65536 - rnd(100) : rnd(65536);
	m.cached = m.base;
	m.used = one_in(2) ? 65536 - rnd(100) : rnd(65536);
	m.published = false;
	m.signalled_valid = false;
	m.signalled = 0;
	m.used_event = 0;
	m.avail_flags = 0;
	drv.used->idx = __cpu_to_virtio16(drv.le, m.used);
	R->last_avail = m.base;
	drv_set_avail_idx(m.base);
	CHECK_EQ(vtap_ring_start(R), 0);
	new_table();
}

static void run(u64 seed, bool writable, bool be)
{
	u32 i;

	rnd_seed(seed);
	setup(writable, be);
	for (i = 0; i < OPS && !tap_failures; i++) {
		switch (rnd(16)) {
		case 0 ... 4:
			op_add();
			break;
		case 5 ... 7:
			op_fetch();
			break;
		case 8 ... 9:
			op_complete();
			break;
		case 10:
			op_unfetch();
			break;
		case 11:
			op_signal();
			break;
		case 12:
			op_arm();
			break;
		case 13:
			op_look();
			break;
		case 14:
			if (one_in(6))
				op_jump();
			break;
		default:
			if (one_in(4))
				op_restart();
			break;
		}
	}
	free(m.queue);
	free(m.busy);
	if (tap_failures)
		printf("# seed %llu, %s, %s, operation %u\n", (unsigned long long)seed,
		       writable ? "RX" : "TX", be ? "big-endian" : "little-endian", i - 1);
}

static u64 seed_base = 1;
static u32 seed_count = 1500;

static void run_all(bool writable, bool be, u32 part)
{
	u32 i;

	for (i = 0; i < (seed_count + part - 1) / part && !tap_failures; i++)
		run(seed_base + i, writable, be);
}

static void model_tx(void)
{
	run_all(false, false, 1);
}

static void model_rx(void)
{
	run_all(true, false, 1);
}

static void model_tx_big_endian(void)
{
	run_all(false, true, 4);
}

static void model_rx_big_endian(void)
{
	run_all(true, true, 4);
}

static const struct tap_test tests[] = {
	{ "model_tx", model_tx },
	{ "model_rx", model_rx },
	{ "model_tx_big_endian", model_tx_big_endian },
	{ "model_rx_big_endian", model_rx_big_endian },
};

int main(int argc, char **argv)
{
	int ret;

	if (argc > 1) {
		seed_base = strtoull(argv[1], NULL, 0);
		seed_count = argc > 2 ? strtoul(argv[2], NULL, 0) : 1;
	}
	saved = malloc(DRV_BUF + TABLE_HEADS * TABLE_BYTES);
	if (!saved)
		return 2;
	printf("# seeds %llu to %llu\n", (unsigned long long)seed_base,
	       (unsigned long long)seed_base + seed_count - 1);
	ret = tap_run(tests, sizeof(tests) / sizeof(tests[0]), NULL);
	free(saved);
	return ret;
}
