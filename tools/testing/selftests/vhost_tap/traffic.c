// SPDX-License-Identifier: GPL-2.0-only
/*
 * Checked traffic through a started guest; see traffic.h.
 */
#include <errno.h>
#include <stdio.h>

#include "traffic.h"
#include "util.h"

static int verdict(struct frame_bufs *b, ssize_t n, uint64_t seq, uint32_t len)
{
	if (n == (ssize_t)len && frame_check(b->in, seq, len))
		return 0;
	fprintf(stderr, "# frame %llu of %u bytes: got %zd, number %llu\n",
		(unsigned long long)seq, len, n,
		n >= FRAME_MIN ? (unsigned long long)frame_seq(b->in) : 0ULL);
	return n < 0 ? n : -EBADMSG;
}

int host_expect(struct guest *g, struct frame_bufs *b, uint64_t seq,
		uint32_t len)
{
	return verdict(b, psock_recv(g->rx_sock, NULL, b->in, sizeof(b->in),
				     WATCHDOG_MS), seq, len);
}

int guest_expect(struct guest *g, struct frame_bufs *b, uint64_t seq,
		 uint32_t len)
{
	struct virtio_net_hdr_mrg_rxbuf h = { };
	int err;

	err = verdict(b, guest_rx(g, &h, b->in, sizeof(b->in), WATCHDOG_MS),
		      seq, len);
	if (!err && (h.hdr.flags || h.hdr.gso_type)) {
		fprintf(stderr, "# frame %llu: flags %#x, gso_type %#x\n",
			(unsigned long long)seq, h.hdr.flags, h.hdr.gso_type);
		err = -EBADMSG;
	}
	return err;
}

int tx_sweep(struct guest *g, struct frame_bufs *b, uint32_t from, uint32_t to,
	     uint32_t step, unsigned int burst, uint64_t *seq)
{
	uint32_t len = from, n, i, first;
	int err;

	while (len <= to) {
		first = len;
		for (n = 0; n < burst && len <= to; n++, len += step) {
			frame_make(b->out, *seq + n, len);
			err = guest_tx_wait(g, NULL, b->out, len);
			if (err)
				return err;
		}
		err = guest_tx_sync(g);
		for (i = 0; !err && i < n; i++)
			err = host_expect(g, b, *seq + i, first + i * step);
		if (err)
			return err;
		*seq += n;
	}
	return 0;
}

int rx_sweep(struct guest *g, struct frame_bufs *b, uint32_t from, uint32_t to,
	     uint32_t step, unsigned int burst, uint64_t *seq)
{
	uint32_t len = from, n, i, first;
	int err;

	while (len <= to) {
		first = len;
		for (n = 0; n < burst && len <= to; n++, len += step) {
			frame_make(b->out, *seq + n, len);
			err = psock_send(g->tx_sock, NULL, b->out, len);
			if (err)
				return err;
		}
		for (i = 0; i < n; i++) {
			err = guest_expect(g, b, *seq + i, first + i * step);
			if (err)
				return err;
			guest_rx_fill(g);
		}
		*seq += n;
	}
	return 0;
}
