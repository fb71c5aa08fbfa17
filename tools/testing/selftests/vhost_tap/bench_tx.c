// SPDX-License-Identifier: GPL-2.0-only
/*
 * Guest to host as fast as the device goes: the ring is kept full with frames
 * that were written once. Completions are taken back half a ring at a time, so
 * that the load costs little beside the worker and the worker never waits.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "util.h"

#define PUBLISH	32	/* frames between two looks at whether to kick */

/* sleep until `after` chains are used; wakes up once at most */
static int wait_used(struct ring *r, unsigned int after)
{
	if (ring_call_enable(r, after))
		return 0;
	if (fd_wait(r->call_fd, POLLIN, WATCHDOG_MS) != 1) {
		fprintf(stderr, "# the device stands still, %u chains used\n",
			ring_used_pending(r));
		return -ETIMEDOUT;
	}
	r->n_calls += efd_drain(r->call_fd);
	return 0;
}

/* every buffer of the ring holds the same frame from now on */
static void fill_slots(struct guest *g, const void *hdr, const void *frame,
		       uint32_t len)
{
	struct guest_q *q = &g->q[VQ_TX];
	unsigned int i;

	for (i = 0; i < q->slots; i++) {
		uint8_t *p = q->buf_hva + (size_t)i * q->stride;

		memset(p, 0, g->hdr_len);
		memcpy(p, hdr, sizeof(struct virtio_net_hdr));
		memcpy(p + g->hdr_len, frame, len);
	}
}

static int tx_load(struct bench *b, struct guest *g, uint64_t *done)
{
	struct guest_q *q = &g->q[VQ_TX];
	uint32_t len = g->hdr_len + b->sc->len;
	bool over = false;
	int r;

	ring_call_disable(q->ring);
	while (!over || q->ring->outstanding) {
		while (!over && q->nfree) {
			if (!guest_tx_blast(g, len, PUBLISH))
				break;
			guest_tx_flush(g);
			over = bench_over(b, *done + q->ring->outstanding);
		}
		r = wait_used(q->ring, over ? q->ring->outstanding :
			      q->ring->outstanding / 2);
		if (r)
			return r;
		r = guest_tx_reap(g);
		if (r < 0)
			return r;
		*done += r;
		over = over || bench_over(b, *done);
	}
	return 0;
}

int bench_tx(struct bench *b)
{
	static struct guest g;
	static uint8_t frame[FRAME_MAX];
	struct virtio_net_hdr h = { };
	struct guest_cfg cfg = {
		.features = F_MODERN,
		.num = { 256, BENCH_RING },
		.buf = { 1536, b->sc->len + 12 },
		.mtu = 1500,
	};
	uint64_t done = 0;
	int err;

	err = bench_guest(b, &g, &cfg);
	if (err)
		return err;
	frame_make(frame, 0, b->sc->len);
	fill_slots(&g, &h, frame, b->sc->len);
	if (b->sc->arg & BENCH_ARG_XDP)
		err = net_xdp_drop(g.tap.ifindex);
	if (!err)
		err = bench_find_workers(b);
	if (!err)
		err = bench_begin(b);
	thread_realtime();
	if (!err)
		err = tx_load(b, &g, &done);
	if (!err)
		err = bench_end(b, now_ns());
	b->packets = done;
	/* what reached the tap: its stack, or the program on it */
	b->lost = done - (b->sc->arg & BENCH_ARG_XDP ? b->tap_rx_dropped :
			  b->tap_rx);
	b->bytes = (double)done * b->sc->len;
	guest_stop(&g);
	return err;
}
