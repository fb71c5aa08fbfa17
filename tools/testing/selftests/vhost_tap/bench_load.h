/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The guest's half of a load, one way each: sending what was written once,
 * taking what comes unread. They never wait; flow_run() does, for both.
 */
#ifndef VTAP_TEST_BENCH_LOAD_H
#define VTAP_TEST_BENCH_LOAD_H

#include "bench.h"

struct tx_load {
	struct guest *g;
	uint32_t len;		/* bytes a buffer, header included */
	uint64_t limit;		/* frames to send at most */
	uint64_t sent, done;
};

struct rx_load {
	struct guest *g;
	uint64_t may_post;	/* buffers still to be given to the device */
	uint64_t frames, bytes;
	unsigned int more;	/* buffers of the frame still to come */
};

/* every TX buffer holds this frame from now on */
void tx_load_fill(struct tx_load *l, struct guest *g,
		  const struct virtio_net_hdr *h, const void *frame,
		  uint32_t len);
/* queue what there is room for; *moved when that was anything */
int tx_load_push(struct tx_load *l, bool *moved);
int tx_load_reap(struct tx_load *l, bool *moved);
/* TX buffers all written with one frame of len bytes; GSO when it is large */
void tx_load_start(struct tx_load *l, struct guest *g, uint32_t len);

/* post up to n free buffers, no more than may be */
int rx_load_post(struct rx_load *l, unsigned int n);
/* take a batch and give its buffers back */
int rx_load_take(struct rx_load *l, bool *moved);

/*
 * Both at once until *done says so, asleep while nothing moves. Either may be
 * missing. -ETIMEDOUT when the device stands still.
 */
struct flow {
	struct tx_load *tx;
	struct rx_load *rx;
	unsigned int window;	/* frames sent and not received; 0: any */
	bool (*done)(struct flow *f, struct bench *b);
	uint64_t until;		/* for done(): frames to be received */
	int quiet_ms;		/* nothing for so long: it is over; 0: never */
	uint64_t last_ns;	/* when something moved last */
};

int flow_run(struct flow *f, struct bench *b);

#endif
