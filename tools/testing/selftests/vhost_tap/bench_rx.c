// SPDX-License-Identifier: GPL-2.0-only
/*
 * Host to guest. The guest takes frames as Linux' driver would: interrupts off
 * while there is work, buffers given back a batch at a time, contents unread.
 *
 * pktgen cannot outrun a worker from half of the only other CPU, and then its
 * own speed would be measured. So the frames are queued in the tap first, while
 * the guest has posted no buffer and the worker sleeps; the measurement begins
 * when it posts them, and is repeated until the time is up. The live variants
 * have pktgen run all the while, as in the wild.
 */
#include <time.h>

#include "bench_load.h"
#include "util.h"

#define QUIET_MS 50	/* so long nothing, after the end: there is no more */
#define QUEUED	32000	/* frames in the tap at once; it takes up to 32767 */
#define QUEUED_GSO 400
#define RX_BUF_GSO 4096	/* Linux' largest mergeable buffer */

/* the slow guest: so many buffers at such intervals */
#define SLOW_BUFS	4
#define SLOW_NS		1000000
#define SLOW_ARRIVAL_NS	100000

static int rx_start(struct bench *b, struct rx_load *l, int txqlen)
{
	static struct guest g;
	bool gso = b->sc->len > 4096;
	struct guest_cfg cfg = {
		.features = F_MODERN,
		.num = { BENCH_RING, 256 },
		.buf = { gso ? RX_BUF_GSO : 1536, 1536 },
		.mtu = gso ? TAP_MAX_MTU : 1500,
		.txqlen = txqlen,
		.vnet_psock = gso,
		.no_fill = true,
	};
	int err;

	l->g = &g;
	err = bench_guest(b, &g, &cfg);
	if (!err && gso)
		err = tap_set_offload(&g.tap, TAP_OFFLOADS);
	if (!err && !gso)
		err = net_pktgen_setup(g.tap.name, b->sc->len);
	if (!err)
		err = bench_find_workers(b);
	thread_realtime();
	return err;
}

static void rx_result(struct bench *b, struct rx_load *l)
{
	b->packets = l->frames;
	b->bytes = l->bytes;
	b->lost = b->tap_tx_dropped;
	guest_stop(l->g);
}

/* queue GSO frames, which pktgen cannot make: how many, or -errno */
static int64_t queue_gso(struct guest *g, uint32_t len, unsigned int n)
{
	static uint8_t frame[FRAME_MAX];
	struct virtio_net_hdr h;
	unsigned int i;
	int err;

	tcp_frame_make(frame, 0, len, &h);
	for (i = 0; i < n; i++) {
		err = psock_send(g->tx_sock, &h, frame, len);
		if (err)
			return err;
	}
	return n;
}

static bool rx_all(struct flow *f, struct bench *b)
{
	return f->rx->frames >= f->until;
}

int bench_rx(struct bench *b)
{
	bool gso = b->sc->len > 4096;
	uint64_t n = gso ? QUEUED_GSO : QUEUED;
	struct rx_load rx = { };
	struct flow f = { .rx = &rx, .done = rx_all };
	int64_t got;
	int err;

	if (b->limit_frames && b->limit_frames < n)
		n = b->limit_frames;
	err = rx_start(b, &rx, gso ? 2 * n : n);
	while (!err && (b->limit_frames ? rx.frames < b->limit_frames :
			b->seconds * 1e9 < b->limit_ns)) {
		got = gso ? queue_gso(rx.g, b->sc->len, n) :
			    net_pktgen_fill(&rx.g->tap);
		err = got < 0 ? got : bench_begin(b);
		if (err)
			break;
		rx.may_post = gso ? got * ((b->sc->len + 12 + RX_BUF_GSO - 1) /
					   RX_BUF_GSO) : got;
		f.until = rx.frames + got;
		ring_call_disable(rx.g->q[VQ_RX].ring);
		err = rx_load_post(&rx, UINT32_MAX);
		if (!err)
			err = flow_run(&f, b);
		if (!err)
			err = bench_end(b, f.last_ns);
	}
	rx_result(b, &rx);
	return err;
}

static bool live_over(struct flow *f, struct bench *b)
{
	if (!f->quiet_ms && bench_over(b, f->rx->frames)) {
		net_pktgen_stop();
		f->quiet_ms = QUIET_MS;
	}
	return false;
}

int bench_rx_live(struct bench *b)
{
	struct rx_load rx = { .may_post = UINT64_MAX };
	struct flow f = { .rx = &rx, .done = live_over };
	int err;

	err = rx_start(b, &rx, 1000);
	if (!err)
		err = rx_load_post(&rx, UINT32_MAX);
	if (!err)
		err = bench_begin(b);
	if (!err)
		err = net_pktgen_start();
	if (!err)
		err = flow_run(&f, b);
	if (!err)
		err = bench_end(b, f.last_ns);
	net_pktgen_stop();
	rx_result(b, &rx);
	return err;
}

/*
 * Frames arrive faster than the guest gives buffers: the ring is empty nearly
 * always, the tap full. What the worker burns over that is pure loss.
 */
int bench_rx_slow(struct bench *b)
{
	struct rx_load rx = { };
	struct timespec ts;
	bool moved;
	int err;

	err = rx_start(b, &rx, 1000);
	if (!err)
		err = net_pktgen_delay(rx.g->tap.name, SLOW_ARRIVAL_NS);
	if (!err)
		err = bench_begin(b);
	if (!err)
		err = net_pktgen_start();
	clock_gettime(CLOCK_MONOTONIC, &ts);
	while (!err && !bench_over(b, rx.frames)) {
		ts.tv_nsec += SLOW_NS;
		if (ts.tv_nsec >= 1000000000) {
			ts.tv_nsec -= 1000000000;
			ts.tv_sec++;
		}
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
		err = rx_load_take(&rx, &moved);
		rx.may_post = SLOW_BUFS;
		if (!err)
			err = rx_load_post(&rx, SLOW_BUFS);
	}
	net_pktgen_stop();
	if (!err)
		err = bench_end(b, now_ns());
	if (!err)
		err = rx_load_take(&rx, &moved);
	rx_result(b, &rx);
	b->lost = 0;		/* by design: nobody could take them */
	b->paced = true;
	return err;
}
