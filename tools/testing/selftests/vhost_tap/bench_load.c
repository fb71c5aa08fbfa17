// SPDX-License-Identifier: GPL-2.0-only
/*
 * The guest's half of a load; see bench_load.h.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "bench_load.h"
#include "util.h"

#define BATCH	64	/* buffers between two looks at whether to kick */
#define GSO_MSS	1448
#define GSO_FROM 4096	/* longer frames want segmentation */

void tx_load_fill(struct tx_load *l, struct guest *g,
		  const struct virtio_net_hdr *h, const void *frame,
		  uint32_t len)
{
	struct guest_q *q = &g->q[VQ_TX];
	unsigned int i;

	memset(l, 0, sizeof(*l));
	l->g = g;
	l->len = g->hdr_len + len;
	l->limit = UINT64_MAX;
	for (i = 0; i < q->slots; i++) {
		uint8_t *p = q->buf_hva + (size_t)i * q->stride;

		memset(p, 0, g->hdr_len);
		memcpy(p, h, sizeof(*h));
		memcpy(p + g->hdr_len, frame, len);
	}
	ring_call_disable(q->ring);
}

void tx_load_start(struct tx_load *l, struct guest *g, uint32_t len)
{
	static uint8_t frame[FRAME_MAX];
	struct virtio_net_hdr h = { };

	if (len < GSO_FROM) {
		frame_make(frame, 0, len);
	} else {
		tcp_frame_make(frame, 0, len, &h);
		h.gso_size = GSO_MSS;
	}
	tx_load_fill(l, g, &h, frame, len);
}

int tx_load_push(struct tx_load *l, bool *moved)
{
	struct guest_q *q = &l->g->q[VQ_TX];
	unsigned int n;

	while (q->nfree && l->sent < l->limit) {
		n = l->limit - l->sent < BATCH ? l->limit - l->sent : BATCH;
		n = guest_tx_blast(l->g, l->len, n);
		if (!n)
			break;
		l->sent += n;
		guest_tx_flush(l->g);
		*moved = true;
	}
	return 0;
}

int tx_load_reap(struct tx_load *l, bool *moved)
{
	int r = guest_tx_reap(l->g);

	if (r <= 0)
		return r;
	l->done += r;
	*moved = true;
	return 0;
}

int rx_load_post(struct rx_load *l, unsigned int n)
{
	struct guest_q *q = &l->g->q[VQ_RX];
	struct ring_seg seg = { .len = q->buf, .write = true };

	while (n && q->nfree && l->may_post) {
		uint32_t slot = q->free[--q->nfree];

		seg.gpa = q->buf_gpa + (uint64_t)slot * q->stride;
		if (ring_add(q->ring, &seg, 1, NULL, slot))
			return -EPROTO;
		l->may_post--;
		n--;
	}
	ring_kick(q->ring);
	return 0;
}

int rx_load_take(struct rx_load *l, bool *moved)
{
	const struct virtio_net_hdr_mrg_rxbuf *h;
	struct guest_q *q = &l->g->q[VQ_RX];
	uint32_t slot, len;
	int i, r = 0;

	for (i = 0; i < BATCH; i++) {
		r = ring_get_used(q->ring, &slot, &len);
		if (r <= 0)
			break;
		l->bytes += len;
		if (l->more) {
			l->more--;
		} else {
			h = (void *)(q->buf_hva + (size_t)slot * q->stride);
			l->more = h->num_buffers - 1;
			l->bytes -= l->g->hdr_len;
			l->frames++;
		}
		q->free[q->nfree++] = slot;
	}
	if (!i)
		return r;
	*moved = true;
	return r < 0 ? r : rx_load_post(l, i);
}

/* true when used chains are there after all */
static bool flow_arm(struct flow *f)
{
	struct ring *r;
	bool pending = false;
	unsigned int n;

	if (f->rx)
		pending |= ring_call_enable(f->rx->g->q[VQ_RX].ring, 1);
	if (f->tx) {
		r = f->tx->g->q[VQ_TX].ring;
		/* half a ring at a time; all of it when no more is to be sent */
		n = f->tx->sent < f->tx->limit ? r->outstanding / 2 :
						 r->outstanding;
		pending |= r->outstanding && ring_call_enable(r, n ? n : 1);
	}
	return pending;
}

static int flow_wait(struct flow *f)
{
	struct ring *r[2] = { };
	struct pollfd p[2];
	unsigned int i, n = 0;
	int got;

	if (f->rx)
		r[n++] = f->rx->g->q[VQ_RX].ring;
	if (f->tx)
		r[n++] = f->tx->g->q[VQ_TX].ring;
	for (i = 0; i < n; i++) {
		p[i].fd = r[i]->call_fd;
		p[i].events = POLLIN;
	}
	got = poll(p, n, f->quiet_ms ? f->quiet_ms : WATCHDOG_MS);
	for (i = 0; i < n; i++) {
		if (p[i].revents & POLLIN)
			r[i]->n_calls += efd_drain(r[i]->call_fd);
		ring_call_disable(r[i]);
	}
	return got < 0 ? -errno : got;
}

int flow_run(struct flow *f, struct bench *b)
{
	struct tx_load *tx = f->tx;
	struct rx_load *rx = f->rx;
	bool moved;
	int r;

	f->last_ns = now_ns();
	while (!f->done(f, b)) {
		moved = false;
		r = rx ? rx_load_take(rx, &moved) : 0;
		if (!r && tx)
			r = tx_load_reap(tx, &moved);
		if (!r && tx) {
			uint64_t limit = tx->limit;

			if (f->window && rx->frames + f->window < limit)
				tx->limit = rx->frames + f->window;
			r = tx_load_push(tx, &moved);
			tx->limit = limit;
		}
		if (r < 0)
			return r;
		if (moved) {
			f->last_ns = now_ns();
			continue;
		}
		if (flow_arm(f))
			continue;
		r = flow_wait(f);
		if (r < 0)
			return r;
		if (!r && f->quiet_ms)
			return 0;
		if (!r) {
			fprintf(stderr, "# the device stands still: sent %lld, done %lld, received %lld\n",
				tx ? (long long)tx->sent : -1,
				tx ? (long long)tx->done : -1,
				rx ? (long long)rx->frames : -1);
			return -ETIMEDOUT;
		}
	}
	return 0;
}
