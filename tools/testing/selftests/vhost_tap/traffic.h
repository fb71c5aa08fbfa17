/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Checked traffic through a started guest: a frame or a range of sizes, one
 * way or the other, each looked at where it comes out.
 */
#ifndef VTAP_TEST_TRAFFIC_H
#define VTAP_TEST_TRAFFIC_H

#include "guest_driver.h"

/* buffers for frames; in has room for one that is too long */
struct frame_bufs {
	uint8_t out[FRAME_MAX + 64];
	uint8_t in[FRAME_MAX + 64];
};

/*
 * 0 when the next frame that the host (the guest) sees is number seq of len
 * bytes, intact; otherwise says what came instead, and -EBADMSG or -errno.
 */
int host_expect(struct guest *g, struct frame_bufs *b, uint64_t seq,
		uint32_t len);
int guest_expect(struct guest *g, struct frame_bufs *b, uint64_t seq,
		 uint32_t len);

/*
 * Frames of sizes from..to (inclusive) from guest to host, or from host to
 * guest, burst of them at a time. A burst must fit the tap's ring and, towards
 * the guest, the posted buffers. *seq is the next number, and moves on.
 */
int tx_sweep(struct guest *g, struct frame_bufs *b, uint32_t from, uint32_t to,
	     uint32_t step, unsigned int burst, uint64_t *seq);
int rx_sweep(struct guest *g, struct frame_bufs *b, uint32_t from, uint32_t to,
	     uint32_t step, unsigned int burst, uint64_t *seq);

#endif
