// SPDX-License-Identifier: GPL-2.0-only
/*
 * A virtio-net guest in one process; see guest_driver.h.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "guest_driver.h"
#include "util.h"

#define ROOM	(FRAME_MAX + 64)	/* any frame and its header */

/* guest memory starts above 0 and does not touch 4 GiB: no special numbers */
#define MEM_GPA	0x100000ULL

unsigned int framing_cut(const struct framing *f, uint64_t gpa, uint32_t hdr,
			 uint32_t len, bool write, struct ring_seg *out)
{
	unsigned int max = f->max_segs ? f->max_segs : RING_MAX_SEGS;
	uint32_t done = 0, n, left;
	unsigned int i = 0;

	while (done < len) {
		left = len - done;
		n = left;
		if (i + 1 < max) {
			if (f->hdr_seg && done < hdr) {
				n = hdr - done;
				if (n > f->hdr_seg)
					n = f->hdr_seg;
			} else if (f->seg && n > f->seg) {
				n = f->seg;
			}
			if (n > left)
				n = left;
		}
		out[i].gpa = gpa;
		out[i].len = n;
		out[i].write = write;
		i++;
		done += n;
		gpa += n + f->gap;
	}
	return i;
}

static unsigned int q_cut(const struct guest *g, const struct guest_q *q,
			  uint32_t slot, uint32_t len, bool write,
			  struct ring_seg *segs)
{
	return framing_cut(&q->framing, q->buf_gpa + (uint64_t)slot * q->stride,
			   g->hdr_len, len, write, segs);
}

static uint8_t *slot_hva(const struct guest_q *q, uint32_t slot)
{
	return q->buf_hva + (size_t)slot * q->stride;
}

static bool plain(const struct guest_q *q)
{
	return !q->framing.gap;
}

/* of the header, what struct virtio_net_hdr_mrg_rxbuf has */
static uint32_t min_hdr(const struct guest *g)
{
	const uint32_t mrg = sizeof(struct virtio_net_hdr_mrg_rxbuf);

	return g->hdr_len < mrg ? g->hdr_len : mrg;
}

/* copy between linear memory and a slot whose descriptors have gaps */
static void slot_copy(const struct guest *g, const struct guest_q *q,
		      uint32_t slot, uint32_t off, void *lin, uint32_t len,
		      bool to_slot)
{
	struct ring_seg segs[RING_MAX_SEGS];
	unsigned int i, n;
	uint8_t *p, *l = lin;
	uint32_t m;

	if (plain(q)) {
		p = slot_hva(q, slot) + off;
		if (to_slot)
			memcpy(p, lin, len);
		else
			memcpy(lin, p, len);
		return;
	}
	n = q_cut(g, q, slot, off + len, false, segs);
	for (i = 0; i < n && len; i++) {
		if (off >= segs[i].len) {
			off -= segs[i].len;
			continue;
		}
		m = segs[i].len - off;
		if (m > len)
			m = len;
		p = slot_hva(q, slot) + (segs[i].gpa - segs[0].gpa) + off;
		if (to_slot)
			memcpy(p, l, m);
		else
			memcpy(l, p, m);
		l += m;
		len -= m;
		off = 0;
	}
}

static int q_setup(struct guest *g, unsigned int idx)
{
	const struct guest_cfg *c = &g->cfg;
	struct guest_q *q = &g->q[idx];
	struct ring_seg segs[RING_MAX_SEGS];
	unsigned int i, nsegs;
	uint64_t gpa;

	q->ring = &g->dev.ring[idx];
	q->framing = c->framing[idx];
	q->indirect = c->indirect[idx];
	q->buf = c->buf[idx];
	if (!q->buf)
		q->buf = ROOM;
	nsegs = framing_cut(&q->framing, 0, g->hdr_len, q->buf, false, segs);
	q->stride = (q->buf + nsegs * q->framing.gap + 63) & ~63U;
	q->slots = c->slots[idx];
	if (!q->slots)
		q->slots = q->indirect ? c->num[idx] : c->num[idx] / nsegs;
	if (!q->slots)
		q->slots = 1;

	/* behind an IOMMU what is mapped for buffers is for nothing else */
	gpa = gmem_alloc(&g->mem, (uint64_t)q->slots * q->stride, c->iova_delta ? 4096 : 64);
	if (gpa == UINT64_MAX)
		return -ENOMEM;
	q->buf_gpa = gpa;
	q->buf_hva = gmem_hva(&g->mem, gpa);
	if (q->indirect) {
		q->table_stride = nsegs * sizeof(struct vring_desc);
		gpa = gmem_alloc(&g->mem, (uint64_t)q->slots * q->table_stride,
				 16);
		if (gpa == UINT64_MAX)
			return -ENOMEM;
		q->table.gpa = gpa;
		q->table.hva = gmem_hva(&g->mem, gpa);
	}
	q->free = calloc(q->slots, sizeof(*q->free));
	if (!q->free)
		return -ENOMEM;
	/* lowest slots are taken first: memory is touched sparingly */
	for (i = 0; i < q->slots; i++)
		q->free[i] = q->slots - 1 - i;
	q->nfree = q->slots;
	return 0;
}

/* run a step of the setup and say which one failed */
#define STEP(err, call) do {						\
	if (!(err)) {							\
		(err) = (call);						\
		if ((err) < 0)						\
			fprintf(stderr, "# %s: %s\n", #call,		\
				strerror(-(err)));			\
		else							\
			(err) = 0;					\
	}								\
} while (0)

int guest_rings_setup(struct guest *g, const struct guest_cfg *cfg)
{
	struct guest_cfg *c = &g->cfg;
	unsigned int i;
	int err = 0;

	*c = *cfg;
	g->hdr_len = c->features & (F_MRG_RXBUF | F_VERSION_1) ? 12 : 10;
	if (c->features_high)
		g->hdr_len = HDR_TUNNEL_LEN;
	for (i = 0; i < 2; i++)
		if (!c->num[i])
			c->num[i] = 256;

	/* address space costs nothing until it is touched */
	g->mem.iova_delta = c->iova_delta;
	if (c->shared_mem)
		STEP(err, gmem_add_shared(&g->mem, c->iova_delta + MEM_GPA, 1ULL << 30));
	else
		STEP(err, gmem_add(&g->mem, c->iova_delta + MEM_GPA, 1ULL << 30));
	STEP(err, gmem_add(&g->mem, c->iova_delta + (1ULL << 32), 8ULL << 30));
	if (c->features_high)
		STEP(err, vdev_set_features_array(&g->dev, c->features,
						  c->features_high));
	else
		STEP(err, vdev_set_features(&g->dev, c->features));
	STEP(err, vdev_set_owner(&g->dev));
	STEP(err, vdev_set_mem(&g->dev, &g->mem));
	for (i = 0; i < 2; i++)
		STEP(err, vdev_ring_setup(&g->dev, i, &g->mem, c->num[i],
					  c->base[i]));
	for (i = 0; i < 2; i++)
		STEP(err, q_setup(g, i));
	return err;
}

int guest_attach(struct guest *g, int fd)
{
	int err = vdev_set_backend(&g->dev, VQ_RX, fd);

	if (!err)
		err = vdev_set_backend(&g->dev, VQ_TX, fd);
	return err;
}

int guest_detach(struct guest *g)
{
	int err = vdev_set_backend(&g->dev, VQ_RX, -1);
	int err2 = vdev_set_backend(&g->dev, VQ_TX, -1);

	return err ? err : err2;
}

static int tap_setup(struct guest *g)
{
	struct guest_cfg *c = &g->cfg;
	int hdr = c->tap_hdr, err = 0;

	if (!hdr)
		hdr = c->features & F_VHOST_HDR ? -1 : (int)g->hdr_len;
	STEP(err, tap_open(&g->tap, NULL, c->tap_iff, hdr < 0 ? 0 : hdr));
	STEP(err, tap_set_mtu(&g->tap, c->mtu ? c->mtu : TAP_MAX_MTU));
	if (c->txqlen)
		STEP(err, tap_set_txqlen(&g->tap, c->txqlen));
	STEP(err, tap_set_up(&g->tap, true));
	if (err)
		return err;
	g->tx_sock = psock_sender(g->tap.ifindex, c->vnet_psock);
	STEP(err, g->tx_sock);
	g->rx_sock = psock_receiver(g->tap.ifindex, c->vnet_psock);
	STEP(err, g->rx_sock);
	return err;
}

int guest_new_tap(struct guest *g)
{
	struct guest n = { .cfg = g->cfg, .hdr_len = g->hdr_len,
			   .tx_sock = -1, .rx_sock = -1 };
	int err = tap_setup(&n);

	if (err) {
		tap_close(&n.tap);
	} else {
		/* the numbers stay: threads may be using them */
		dup2(n.tx_sock, g->tx_sock);
		dup2(n.rx_sock, g->rx_sock);
		tap_close(&g->tap);
		g->tap = n.tap;
	}
	if (n.tx_sock >= 0)
		close(n.tx_sock);
	if (n.rx_sock >= 0)
		close(n.rx_sock);
	return err;
}

int guest_start(struct guest *g, const struct guest_cfg *cfg)
{
	int err = 0;

	memset(g, 0, sizeof(*g));
	g->dev.fd = -1;
	g->tap.fd = -1;
	g->tx_sock = -1;
	g->rx_sock = -1;

	g->strict = node_is_vhost_tap();
	if (cfg->dev_fd)
		vdev_use(&g->dev, cfg->dev_fd);
	else
		STEP(err, vdev_open(&g->dev));
	STEP(err, guest_rings_setup(g, cfg));
	STEP(err, tap_setup(g));
	if (!err && !cfg->no_backend) {
		if (!cfg->no_fill)
			guest_rx_fill(g);
		STEP(err, guest_attach(g, g->tap.fd));
	}
	if (err)
		guest_stop(g);
	return err;
}

void guest_stop(struct guest *g)
{
	unsigned int i;

	vdev_close(&g->dev);
	if (g->tx_sock >= 0)
		close(g->tx_sock);
	if (g->rx_sock >= 0)
		close(g->rx_sock);
	g->tx_sock = -1;
	g->rx_sock = -1;
	tap_close(&g->tap);
	for (i = 0; i < 2; i++) {
		free(g->q[i].free);
		g->q[i].free = NULL;
	}
	gmem_destroy(&g->mem);
}

/* --- sending --- */

static int slot_add(struct guest *g, struct guest_q *q, uint32_t slot,
		    uint32_t len, bool write)
{
	struct ring_seg segs[RING_MAX_SEGS];
	struct ring_table t, *table = NULL;
	unsigned int n;

	n = q_cut(g, q, slot, len, write, segs);
	if (q->indirect) {
		t.gpa = q->table.gpa + (uint64_t)slot * q->table_stride;
		t.hva = (uint8_t *)q->table.hva + (size_t)slot * q->table_stride;
		table = &t;
	}
	return ring_add(q->ring, segs, n, table, slot) ? -EAGAIN : 0;
}

int guest_tx(struct guest *g, const struct virtio_net_hdr *h,
	     const void *frame, uint32_t len)
{
	struct virtio_net_hdr_mrg_rxbuf hdr = { };
	struct guest_q *q = &g->q[VQ_TX];
	uint32_t slot;
	int err;

	if (!q->nfree)
		return -EAGAIN;
	if (g->hdr_len + len > q->buf)
		return -EMSGSIZE;
	slot = q->free[q->nfree - 1];
	if (h)
		hdr.hdr = *h;
	slot_copy(g, q, slot, 0, &hdr, min_hdr(g), true);
	if (g->hdr_len > sizeof(hdr))
		slot_copy(g, q, slot, sizeof(hdr), g->tx_rest, HDR_REST_LEN, true);
	slot_copy(g, q, slot, g->hdr_len, (void *)frame, len, true);
	err = slot_add(g, q, slot, g->hdr_len + len, false);
	if (!err)
		q->nfree--;
	return err;
}

void guest_tx_flush(struct guest *g)
{
	ring_kick(g->q[VQ_TX].ring);
}

int guest_tx_reap(struct guest *g)
{
	struct guest_q *q = &g->q[VQ_TX];
	uint32_t slot, len;
	int r, n = 0;

	while ((r = ring_get_used(q->ring, &slot, &len)) > 0) {
		/* nothing is written into a buffer that was sent (2.7.8.2) */
		if (len)
			return -EPROTO;
		q->free[q->nfree++] = slot;
		n++;
	}
	return r < 0 ? r : n;
}

int guest_tx_sync(struct guest *g)
{
	struct ring *ring = g->q[VQ_TX].ring;
	int r;

	guest_tx_flush(g);
	while (ring->outstanding) {
		r = ring_wait_used(ring, WATCHDOG_MS);
		if (r)
			return r;
		r = guest_tx_reap(g);
		if (r < 0)
			return r;
	}
	return 0;
}

int guest_tx_wait(struct guest *g, const struct virtio_net_hdr *h,
		  const void *frame, uint32_t len)
{
	int r;

	while ((r = guest_tx(g, h, frame, len)) == -EAGAIN) {
		guest_tx_flush(g);
		r = ring_wait_used(g->q[VQ_TX].ring, WATCHDOG_MS);
		if (r)
			return r;
		r = guest_tx_reap(g);
		if (r < 0)
			return r;
	}
	return r;
}

unsigned int guest_tx_blast(struct guest *g, uint32_t len, unsigned int n)
{
	struct guest_q *q = &g->q[VQ_TX];
	unsigned int i;

	for (i = 0; i < n && q->nfree; i++) {
		if (slot_add(g, q, q->free[q->nfree - 1], len, false))
			break;
		q->nfree--;
	}
	return i;
}

/* --- receiving --- */

unsigned int guest_rx_post(struct guest *g, unsigned int n)
{
	struct guest_q *q = &g->q[VQ_RX];
	unsigned int i;

	for (i = 0; i < n && q->nfree; i++) {
		if (slot_add(g, q, q->free[q->nfree - 1], q->buf, true))
			break;
		q->nfree--;
	}
	ring_kick(q->ring);
	return i;
}

ssize_t guest_rx(struct guest *g, struct virtio_net_hdr_mrg_rxbuf *h,
		 void *frame, size_t cap, int timeout_ms)
{
	struct virtio_net_hdr_mrg_rxbuf hdr = { };
	struct guest_q *q = &g->q[VQ_RX];
	uint32_t slot, len, off = g->hdr_len;
	unsigned int i, bufs = 1;
	size_t got = 0;
	int r;

	r = ring_wait_used(q->ring, timeout_ms);
	if (r)
		return r == -ETIMEDOUT ? -EAGAIN : r;

	for (i = 0; i < bufs; i++) {
		/* all buffers of a frame become visible together (5.1.6.4) */
		r = ring_get_used(q->ring, &slot, &len);
		if (r <= 0)
			return -EPROTO;
		q->free[q->nfree++] = slot;
		if (len > q->buf || len < off)
			return -EPROTO;
		if (!i) {
			slot_copy(g, q, slot, 0, &hdr, min_hdr(g), false);
			if (g->hdr_len > sizeof(hdr))
				slot_copy(g, q, slot, sizeof(hdr), g->rx_rest,
					  HDR_REST_LEN, false);
			if (g->cfg.features & F_MRG_RXBUF)
				bufs = hdr.num_buffers;
			else if (g->cfg.features & F_VERSION_1 &&
				 g->strict && hdr.num_buffers != 1)
				return -EPROTO;
			if (!bufs || bufs > q->slots)
				return -EPROTO;
		}
		if (got + len - off > cap)
			return -EMSGSIZE;
		/* a buffer that is not the last one must be full */
		if (i + 1 < bufs && len != q->buf)
			return -EPROTO;
		slot_copy(g, q, slot, off, (uint8_t *)frame + got, len - off,
			  false);
		got += len - off;
		off = 0;
	}
	g->rx_buffers = bufs;
	if (h)
		*h = hdr;
	return got;
}

int guest_rx_discard(struct guest *g, unsigned int n)
{
	struct guest_q *q = &g->q[VQ_RX];
	uint32_t slot, len;
	unsigned int i;
	int r = 0;

	for (i = 0; i < n; i++) {
		r = ring_get_used(q->ring, &slot, &len);
		if (r <= 0)
			break;
		if (slot_add(g, q, slot, q->buf, true))
			q->free[q->nfree++] = slot;
	}
	if (i)
		ring_kick(q->ring);
	return r < 0 ? r : (int)i;
}

/* --- frames --- */

#define PATTERN_LEN	(FRAME_MAX + 8192)

static const uint8_t *pattern(void)
{
	static uint8_t *p;
	struct rng r = { .s = 1 };
	uint8_t *n;
	size_t i;

	if (p)
		return p;
	n = malloc(PATTERN_LEN);
	if (!n)
		abort();
	for (i = 0; i < PATTERN_LEN; i++)
		n[i] = rng_next(&r);
	p = n;
	return p;
}

void frame_make(void *buf, uint64_t seq, uint32_t len)
{
	static const uint8_t dst[6] = { 0x02, 'v', 't', 'a', 'p', 0x01 };
	uint16_t proto = htons(TEST_ETHERTYPE);
	uint8_t *b = buf;
	int i;

	memcpy(b, dst, 6);
	b[6] = 0x02;
	for (i = 0; i < 5; i++)
		b[7 + i] = seq >> (8 * i);
	memcpy(b + 12, &proto, 2);
	memcpy(b + FRAME_MIN, pattern() + seq % 8191, len - FRAME_MIN);
}

#define TCP_MSS	1400
#define TCP_L2L3L4	(14 + 20 + 20)

uint16_t csum_fold(const uint8_t *p, uint32_t len)
{
	uint32_t sum = 0, i;

	for (i = 0; i + 1 < len; i += 2)
		sum += p[i] << 8 | p[i + 1];
	if (len & 1)
		sum += p[len - 1] << 8;
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return ~sum;
}

void tcp_frame_make(void *buf, uint64_t seq, uint32_t len,
		    struct virtio_net_hdr *h)
{
	uint8_t *b = buf;
	uint16_t sum;

	frame_make(buf, seq, len);
	memset(b + 12, 0, TCP_L2L3L4 - 12);
	b[12] = 0x08;			/* IPv4 */
	b[14] = 0x45;
	b[16] = (len - 14) >> 8;
	b[17] = len - 14;
	b[22] = 64;			/* time to live */
	b[23] = 6;			/* TCP */
	memcpy(b + 26, "\xc6\x33\x64\x01\xc6\x33\x64\x02", 8);
	sum = csum_fold(b + 14, 20);
	b[24] = sum >> 8;
	b[25] = sum;
	b[46] = 0x50;			/* data offset */
	b[47] = 0x10;			/* ACK */
	/* the pseudo header's sum is the stack's business, not ours */

	memset(h, 0, sizeof(*h));
	h->flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
	h->csum_start = 34;
	h->csum_offset = 16;
	h->hdr_len = TCP_L2L3L4;
	if (len > TCP_L2L3L4 + TCP_MSS) {
		h->gso_type = VIRTIO_NET_HDR_GSO_TCPV4;
		h->gso_size = TCP_MSS;
	}
}

uint64_t frame_seq(const void *buf)
{
	const uint8_t *b = buf;
	uint64_t seq = 0;
	int i;

	for (i = 0; i < 5; i++)
		seq |= (uint64_t)b[7 + i] << (8 * i);
	return seq;
}

bool frame_is_ours(const void *buf, uint32_t len)
{
	uint16_t proto = htons(TEST_ETHERTYPE);

	return len >= FRAME_MIN && !memcmp((const char *)buf + 12, &proto, 2);
}

bool frame_check(const void *buf, uint64_t seq, uint32_t len)
{
	return frame_is_ours(buf, len) && frame_seq(buf) == seq &&
	       !memcmp((const char *)buf + FRAME_MIN, pattern() + seq % 8191,
		       len - FRAME_MIN);
}
