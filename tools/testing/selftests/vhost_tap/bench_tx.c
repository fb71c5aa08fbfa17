// SPDX-License-Identifier: GPL-2.0-only
/*
 * Guest to host as fast as the device goes. Completions are taken back half a
 * ring at a time, so that the load costs little beside the worker and the
 * worker never waits for it. What is behind the tap: its stack, which drops; an
 * XDP program, which drops; or a bridge with a second tap whose ring is full.
 */
#include <errno.h>
#include <stdio.h>

#include "bench_load.h"

#define TX_SEG	32768	/* Linux' page fragments, which GSO frames lie in */
#define TX_SLOTS_GSO 128

static bool tx_over(struct flow *f, struct bench *b)
{
	struct tx_load *tx = f->tx;

	if (tx->limit == UINT64_MAX && bench_over(b, tx->done))
		tx->limit = tx->sent;
	return tx->done >= tx->limit;
}

static int tx_behind(struct bench *b, struct guest *g, struct tap *second)
{
	int err;

	if (b->sc->arg == BENCH_XDP)
		return net_xdp(g->tap.ifindex, XDP_DROP);
	if (b->sc->arg != BENCH_BRIDGE)
		return 0;
	err = tap_open(second, NULL, 0, g->hdr_len);
	if (!err)
		err = tap_set_mtu(second, TAP_MAX_MTU);
	if (!err)
		err = tap_set_offload(second, TAP_OFFLOADS);
	if (!err)
		err = tap_set_up(second, true);
	if (!err)
		err = net_bridge(&g->tap, second);
	return err;
}

int bench_tx(struct bench *b)
{
	static struct guest g;
	bool gso = b->sc->len > 4096;
	struct guest_cfg cfg = {
		.features = F_MODERN,
		.num = { 256, BENCH_RING },
		.buf = { 1536, b->sc->len + 12 },
		.slots = { 0, gso ? TX_SLOTS_GSO : 0 },
		.framing = { { }, { .seg = TX_SEG } },
		.indirect = { false, gso },
		.mtu = gso ? TAP_MAX_MTU : 1500,
	};
	struct tap second = { .fd = -1 };
	struct tx_load tx;
	struct flow f = { .tx = &tx, .done = tx_over };
	int err;

	err = bench_guest(b, &g, &cfg);
	if (err)
		return err;
	tx_load_start(&tx, &g, b->sc->len);
	if (b->limit_frames)
		tx.limit = b->limit_frames;
	err = tx_behind(b, &g, &second);
	if (!err)
		err = bench_find_workers(b);
	if (!err)
		err = bench_begin(b);
	thread_realtime();
	if (!err)
		err = flow_run(&f, b);
	if (!err)
		err = bench_end(b, f.last_ns);
	b->packets = tx.done;
	b->bytes = (double)tx.done * b->sc->len;
	/* what reached the tap: its stack, or the program on it */
	b->lost = tx.done - (b->sc->arg == BENCH_XDP ? b->tap_rx_dropped :
			     b->tap_rx);
	guest_stop(&g);
	tap_close(&second);
	return err;
}
