/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A numbered flood in both directions beside which a test does its mischief:
 *
 *   guest thread --> TX ring --> tap --> packet socket --> host thread
 *   host thread --> packet socket --> tap --> RX ring --> guest thread
 *
 * Each frame must arrive once, in order and intact; a lossy direction may miss
 * some, never double or reorder them.
 */
#ifndef VTAP_TEST_LOAD_H
#define VTAP_TEST_LOAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "guest_driver.h"

#define LOAD_MAX_LEN	1460	/* longest frame of a load */

struct load_way {
	pthread_mutex_t lock;	/* of the counts */
	pthread_cond_t moved;
	uint64_t want_sent, want_got, want_next;	/* by who waits */
	bool on;
	bool lossy;
	uint64_t limit;		/* frames to send; 0: until load_stop() */
	uint64_t first;		/* number of the first one */
	uint64_t sent;
	uint64_t got;
	uint64_t next;		/* lowest number that may still arrive */
	uint64_t last;		/* number of the last one, once it is known */
	bool done;
	int err;
	pthread_t sender, receiver;
};

struct load {
	struct guest *g;
	struct load_way way[2];		/* by queue */
	/*
	 * Called by the guest's thread of a queue every few frames; alone that
	 * thread touches the queue's ring and eventfds.
	 */
	void (*tick)(struct load *l, unsigned int queue);
	bool stop;
	bool abandoned;
};

/*
 * Start what way[].on asks for; the caller zeroes the rest. Between start and
 * stop the rings and sockets of g belong to the load.
 */
int load_start(struct load *l, struct guest *g);
/* the usual one: both ways, nothing may be lost */
int load_start_both(struct load *l, struct guest *g);
/* wait until n more frames have arrived each way: 0, or what went wrong */
int load_wait(struct load *l, unsigned int n);
/* wait until n more have been sent, arrived or not */
int load_wait_sent(struct load *l, unsigned int queue, unsigned int n);
/* stop sending, wait until all have arrived: 0, or what went wrong */
int load_stop(struct load *l);
/* the same after way[].limit frames */
int load_finish(struct load *l);
/* send a few frames each way: 0 when both directions work */
int load_check(struct guest *g);
/* end the threads whatever is under way; the rings are left as they are */
void load_abandon(struct load *l);

#endif
