// SPDX-License-Identifier: GPL-2.0-only
/*
 * Host to guest. The guest takes frames as Linux' driver would: interrupts off
 * while there is work, buffers given back a batch at a time, contents unread.
 *
 * pktgen cannot outrun a worker from half of the only other CPU, and then its
 * own speed would be measured. So the frames are queued in the tap first, while
 * the guest has posted no buffer and the worker sleeps; the measurement begins
 * when it posts them, and is repeated until the time is up. The live variant
 * has pktgen run all the while, as in the wild.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "util.h"

#define REPOST	64	/* buffers between two looks at whether to kick */
#define QUIET_MS 50	/* so long nothing, after the end: there is no more */
#define QUEUED	32000	/* frames in the tap at once; it takes up to 32767 */

struct rx_count {
	uint64_t frames, bytes;
	uint64_t last_ns;
	uint64_t may_post;	/* buffers still to be given to the device */
	unsigned int more;	/* buffers of the frame still to come */
};

/* post up to n free buffers, no more than may be */
static int rx_post(struct guest *g, struct rx_count *c, unsigned int n)
{
	struct guest_q *q = &g->q[VQ_RX];
	struct ring_seg seg = { .len = q->buf, .write = true };

	while (n && q->nfree && c->may_post) {
		uint32_t slot = q->free[--q->nfree];

		seg.gpa = q->buf_gpa + (uint64_t)slot * q->stride;
		if (ring_add(q->ring, &seg, 1, NULL, slot))
			return -EPROTO;
		c->may_post--;
		n--;
	}
	ring_kick(q->ring);
	return 0;
}

/* take up to REPOST buffers and post them again: how many, or -errno */
static int rx_take(struct guest *g, struct rx_count *c)
{
	const struct virtio_net_hdr_mrg_rxbuf *h;
	struct guest_q *q = &g->q[VQ_RX];
	uint32_t slot, len;
	int i, r = 0;

	for (i = 0; i < REPOST; i++) {
		r = ring_get_used(q->ring, &slot, &len);
		if (r <= 0)
			break;
		c->bytes += len;
		if (c->more) {
			c->more--;
		} else {
			h = (void *)(q->buf_hva + (size_t)slot * q->stride);
			c->more = h->num_buffers - 1;
			c->bytes -= g->hdr_len;
			c->frames++;
		}
		q->free[q->nfree++] = slot;
	}
	if (r >= 0 && i)
		r = rx_post(g, c, i);
	return r < 0 ? r : i;
}

/* take until `until` frames are there, or until a live pktgen is done */
static int rx_load(struct bench *b, struct guest *g, struct rx_count *c,
		   uint64_t until)
{
	struct ring *ring = g->q[VQ_RX].ring;
	bool over = false;
	int r;

	ring_call_disable(ring);
	while (c->frames < until) {
		r = rx_take(g, c);
		if (r < 0)
			return r;
		if (r)
			c->last_ns = now_ns();
		if (until == UINT64_MAX && !over && bench_over(b, c->frames)) {
			over = true;
			r = net_pktgen_stop();
			if (r)
				return r;
		}
		if (c->frames >= until || ring_used_pending(ring) ||
		    ring_call_enable(ring, 1))
			continue;
		r = fd_wait(ring->call_fd, POLLIN,
			    over ? QUIET_MS : WATCHDOG_MS);
		if (r < 0)
			return r;
		if (!r && over)
			break;
		if (!r) {
			fprintf(stderr, "# %llu frames, then none any more\n",
				(unsigned long long)c->frames);
			return -ETIMEDOUT;
		}
		ring->n_calls += efd_drain(ring->call_fd);
		ring_call_disable(ring);
	}
	return 0;
}

static int rx_start(struct bench *b, struct guest *g, int txqlen)
{
	struct guest_cfg cfg = {
		.features = F_MODERN,
		.num = { BENCH_RING, 256 },
		.buf = { 1536, 1536 },
		.mtu = 1500,
		.txqlen = txqlen,
		.no_fill = true,
	};
	int err;

	err = bench_guest(b, g, &cfg);
	if (!err)
		err = net_pktgen_setup(g->tap.name, b->sc->len);
	if (!err)
		err = bench_find_workers(b);
	return err;
}

static void rx_result(struct bench *b, const struct rx_count *c)
{
	b->packets = c->frames;
	b->bytes = c->bytes;
	b->lost = b->tap_tx_dropped;
}

/* fill the tap's ring: how many frames it has taken, or -errno */
static int64_t queue_up(struct guest *g)
{
	struct tap_stats before, now;
	int err, err2;

	err = tap_get_stats(&g->tap, &before);
	if (!err)
		err = net_pktgen_start();
	if (err)
		return err;
	do {
		usleep(10000);
		err = tap_get_stats(&g->tap, &now);
	} while (!err && now.tx_dropped == before.tx_dropped);
	err2 = net_pktgen_stop();
	if (err || err2)
		return err ? err : err2;
	return net_pktgen_sent(g->tap.name);
}

int bench_rx(struct bench *b)
{
	static struct guest g;
	struct rx_count c = { };
	uint64_t n = QUEUED;
	int64_t got;
	int err;

	if (b->limit_frames && b->limit_frames < n)
		n = b->limit_frames;
	err = rx_start(b, &g, n);
	thread_realtime();
	while (!err && (b->limit_frames ? c.frames < b->limit_frames :
			b->seconds * 1e9 < b->limit_ns)) {
		got = queue_up(&g);
		err = got < 0 ? got : bench_begin(b);
		if (err)
			break;
		c.may_post = got;
		err = rx_post(&g, &c, got);
		if (!err)
			err = rx_load(b, &g, &c, c.frames + got);
		if (!err)
			err = bench_end(b, c.last_ns);
	}
	rx_result(b, &c);
	guest_stop(&g);
	return err;
}

int bench_rx_live(struct bench *b)
{
	static struct guest g;
	struct rx_count c = { .may_post = UINT64_MAX };
	int err;

	err = rx_start(b, &g, 1000);
	if (!err)
		err = rx_post(&g, &c, UINT32_MAX);
	if (!err)
		err = bench_begin(b);
	thread_realtime();
	if (!err)
		err = net_pktgen_start();
	if (!err)
		err = rx_load(b, &g, &c, UINT64_MAX);
	if (!err)
		err = bench_end(b, c.last_ns);
	rx_result(b, &c);
	net_pktgen_stop();
	guest_stop(&g);
	return err;
}
