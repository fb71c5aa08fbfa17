// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long a frame takes: request and response with some outstanding, and a
 * light load of a frame every 100 us.
 *
 * The answer comes from XDP_TX on the tap: the worker that sends a request
 * finds the response in the tap's ring. So the time is that of kick, wake-up,
 * TX, RX and interrupt, and no other task has a part in it.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bench_load.h"
#include "util.h"

#define MAX_SAMPLES	1000000
#define LIGHT_NS	100000

static uint64_t *sample;
static size_t nsamples;

static void sample_add(uint64_t ns)
{
	if (nsamples < MAX_SAMPLES)
		sample[nsamples++] = ns;
}

static int samples_begin(void)
{
	nsamples = 0;
	sample = calloc(MAX_SAMPLES, sizeof(*sample));
	return sample ? 0 : -ENOMEM;
}

static void samples_end(struct bench *b)
{
	if (nsamples) {
		qsort(sample, nsamples, sizeof(*sample), cmp_u64);
		b->lat_median_ns = sample[nsamples / 2];
		b->lat_p99_ns = sample[nsamples * 99 / 100];
	}
	free(sample);
}

/* asleep until the interrupt that was asked for before the requests went out */
static int rr_wait(struct ring *r)
{
	if (fd_wait(r->call_fd, POLLIN, WATCHDOG_MS) != 1) {
		fprintf(stderr, "# no response\n");
		return -ETIMEDOUT;
	}
	r->n_calls += efd_drain(r->call_fd);
	return 0;
}

/* the responses come in the order of the requests */
static int rr_run(struct bench *b, struct tx_load *tx, struct rx_load *rx)
{
	static uint64_t sent_ns[BENCH_RING];
	struct ring *r = rx->g->q[VQ_RX].ring;
	uint64_t now, seen = 0;
	bool moved, pending;
	int err = 0;

	while (!err) {
		pending = ring_call_enable(r, 1);
		if (!bench_over(b, rx->frames))
			tx->limit = rx->frames + b->sc->arg;
		else if (rx->frames == tx->sent)
			break;
		now = now_ns();
		for (uint64_t i = tx->sent; i < tx->limit; i++)
			sent_ns[i % BENCH_RING] = now;
		err = tx_load_push(tx, &moved);
		if (!err && !pending)
			err = rr_wait(r);
		ring_call_disable(r);
		if (!err)
			err = rx_load_take(rx, &moved);
		now = now_ns();
		for (; seen < rx->frames; seen++)
			sample_add(now - sent_ns[seen % BENCH_RING]);
		if (!err)
			err = tx_load_reap(tx, &moved);
	}
	return err;
}

int bench_rr(struct bench *b)
{
	static struct guest g;
	struct guest_cfg cfg = {
		.features = F_MODERN,
		.num = { BENCH_RING, BENCH_RING },
		.buf = { 1536, b->sc->len + 12 },
		.mtu = 1500,
		.txqlen = 1000,
		.no_fill = true,
	};
	struct tx_load tx;
	struct rx_load rx = { .g = &g, .may_post = UINT64_MAX };
	int err;

	err = bench_guest(b, &g, &cfg);
	if (!err)
		err = net_xdp(g.tap.ifindex, XDP_TX);
	if (!err)
		err = bench_find_workers(b);
	if (!err)
		err = rx_load_post(&rx, UINT32_MAX);
	tx_load_start(&tx, &g, b->sc->len);
	if (!err)
		err = samples_begin();
	if (!err)
		err = bench_begin(b);
	thread_realtime();
	if (!err)
		err = rr_run(b, &tx, &rx);
	if (!err)
		err = bench_end(b, now_ns());
	samples_end(b);
	b->packets = rx.frames;
	b->bytes = rx.bytes;
	b->lost = (double)tx.sent - rx.frames;
	b->paced = true;
	guest_stop(&g);
	return err;
}

/* the delay is that until the device has used the frame */
static int light_run(struct bench *b, struct tx_load *tx)
{
	struct ring *r = tx->g->q[VQ_TX].ring;
	uint64_t next = now_ns(), t;
	bool moved;
	int err = 0;

	while (!err && !bench_over(b, tx->sent)) {
		t = now_ns();
		tx->limit = tx->sent + 1;
		err = tx_load_push(tx, &moved);
		while (!ring_used_pending(r) && now_ns() - t < 1000000000)
			;
		sample_add(now_ns() - t);
		if (!err)
			err = tx_load_reap(tx, &moved);
		next += LIGHT_NS;
		/* what was missed on a busy machine is not caught up with */
		if (now_ns() > next)
			next = now_ns();
		while (now_ns() < next)
			;
	}
	return err;
}

int bench_light(struct bench *b)
{
	static struct guest g;
	struct guest_cfg cfg = {
		.features = F_MODERN,
		.num = { 256, BENCH_RING },
		.buf = { 1536, b->sc->len + 12 },
		.mtu = 1500,
	};
	struct tx_load tx;
	int err;

	err = bench_guest(b, &g, &cfg);
	if (!err)
		err = bench_find_workers(b);
	tx_load_start(&tx, &g, b->sc->len);
	if (!err)
		err = samples_begin();
	if (!err)
		err = bench_begin(b);
	if (!err)
		err = light_run(b, &tx);
	if (!err)
		err = bench_end(b, now_ns());
	samples_end(b);
	b->packets = tx.done;
	b->bytes = (double)tx.done * b->sc->len;
	b->lost = tx.done - b->tap_rx;
	b->paced = true;
	guest_stop(&g);
	return err;
}
