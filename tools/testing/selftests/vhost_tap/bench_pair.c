// SPDX-License-Identifier: GPL-2.0-only
/*
 * Both directions of one device at once, and one guest to another over a
 * bridge.
 */
#include <errno.h>
#include <stdio.h>

#include "bench_load.h"
#include "util.h"

#define EACH	20000	/* frames each way in a round */
#define WINDOW	512	/* fits every ring on the way: nothing is dropped */
#define WINDOW_GSO 32
#define RX_BUF_GSO 4096

static bool both_done(struct flow *f, struct bench *b)
{
	return f->rx->frames >= f->until && f->tx->done >= f->tx->limit;
}

/*
 * As much each way as the other, and the time until all is done: who of the two
 * the worker prefers does not change the result.
 */
int bench_both(struct bench *b)
{
	static struct guest g;
	struct guest_cfg cfg = {
		.features = F_MODERN,
		.num = { BENCH_RING, BENCH_RING },
		.buf = { 1536, b->sc->len + 12 },
		.mtu = 1500,
		.txqlen = EACH,
		.no_fill = true,
	};
	struct tx_load tx;
	struct rx_load rx = { .g = &g };
	struct flow f = { .tx = &tx, .rx = &rx, .done = both_done };
	int64_t got;
	int err;

	if (b->limit_frames && b->limit_frames < EACH)
		cfg.txqlen = b->limit_frames;
	err = bench_guest(b, &g, &cfg);
	if (!err)
		err = net_pktgen_setup(g.tap.name, b->sc->len);
	if (!err)
		err = bench_find_workers(b);
	thread_realtime();
	if (!err)
		tx_load_start(&tx, &g, b->sc->len);
	while (!err && (b->limit_frames ? rx.frames < b->limit_frames :
			b->seconds * 1e9 < b->limit_ns)) {
		got = net_pktgen_fill(&g.tap);
		err = got < 0 ? got : bench_begin(b);
		if (err)
			break;
		rx.may_post = got;
		f.until = rx.frames + got;
		tx.limit = tx.done + got;
		ring_call_disable(g.q[VQ_RX].ring);
		err = rx_load_post(&rx, UINT32_MAX);
		if (!err)
			err = flow_run(&f, b);
		if (!err)
			err = bench_end(b, f.last_ns);
	}
	b->packets = rx.frames + tx.done;
	b->bytes = rx.bytes + (double)tx.done * b->sc->len;
	b->lost = b->tap_tx_dropped + (double)tx.done - b->tap_rx;
	guest_stop(&g);
	return err;
}

static bool g2g_done(struct flow *f, struct bench *b)
{
	if (f->tx->limit == UINT64_MAX && bench_over(b, f->rx->frames))
		f->tx->limit = f->tx->sent;
	return f->rx->frames >= f->tx->limit && f->tx->done >= f->tx->limit;
}

/* the sender waits for the receiver, as TCP would: nothing is dropped */
int bench_g2g(struct bench *b)
{
	static struct guest from, to;
	bool gso = b->sc->len > 4096;
	struct guest_cfg cfg = {
		.features = F_MODERN,
		.num = { BENCH_RING, BENCH_RING },
		.buf = { gso ? RX_BUF_GSO : 1536, b->sc->len + 12 },
		.slots = { 0, gso ? 64 : 0 },
		.framing = { { }, { .seg = 32768 } },
		.indirect = { false, gso },
		.mtu = gso ? TAP_MAX_MTU : 1500,
		.txqlen = 1000,
	};
	struct tx_load tx;
	struct rx_load rx = { .g = &to, .may_post = UINT64_MAX };
	struct flow f = {
		.tx = &tx, .rx = &rx, .done = g2g_done,
		.window = gso ? WINDOW_GSO : WINDOW,
	};
	int err;

	err = bench_guest(b, &from, &cfg);
	if (err)
		return err;
	cfg.no_fill = true;
	cfg.slots[VQ_TX] = 1;
	err = bench_guest(b, &to, &cfg);
	if (!err)
		err = tap_set_offload(&to.tap, TAP_OFFLOADS);
	if (!err)
		err = net_bridge(&from.tap, &to.tap);
	if (!err)
		err = bench_find_workers(b);
	if (!err)
		err = rx_load_post(&rx, UINT32_MAX);
	tx_load_start(&tx, &from, b->sc->len);
	if (b->limit_frames)
		tx.limit = b->limit_frames;
	ring_call_disable(to.q[VQ_RX].ring);
	if (!err)
		err = bench_begin(b);
	thread_realtime();
	if (!err)
		err = flow_run(&f, b);
	if (!err)
		err = bench_end(b, f.last_ns);
	b->packets = rx.frames;
	b->bytes = rx.bytes;
	b->lost = (double)tx.done - rx.frames;
	guest_stop(&from);
	guest_stop(&to);
	return err;
}
