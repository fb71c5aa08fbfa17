/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A program that means harm, or is merely out of its mind: random calls on
 * devices, and random files put under the numbers that these calls name. Valid ones
 * are mixed in, whole setups included, so that rings run while it happens. What a
 * process owns is in struct calls; its threads share that without any lock.
 */
#ifndef VTAP_TEST_HOSTILE_CALLS_H
#define VTAP_TEST_HOSTILE_CALLS_H

#include <stdint.h>

#include "util.h"

#define CALLS_DEVS	3	/* numbers under which a device may stand */
#define CALLS_FILES	12	/* numbers under which anything may stand */
#define CALLS_STASH	16	/* files to put there */

struct calls {
	int dev[CALLS_DEVS];
	int file[CALLS_FILES];
	int stash[CALLS_STASH];
	unsigned int nr_stash;
	int psock[2];		/* towards the taps */
	int unix_sock[2];	/* a descriptor sent on one comes out of the other */
	uint8_t *our, *mapped;	/* memory, ours and as a device is told of it */
	int memfd;
};

/* taps and packet sockets come from the caller: making them takes long */
int calls_init(struct calls *c, const int *taps, unsigned int n, const int *psock);
/* do one thing */
void calls_random(struct calls *c, struct rng *r);

#endif
