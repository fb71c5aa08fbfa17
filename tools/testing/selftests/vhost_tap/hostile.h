/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A guest that means harm, on a device and a tap of its own: it writes into
 * its rings whatever a number generator comes upon, has frames sent to it, and
 * is then set right again like a guest that reboots. Owns its memory, of which
 * it sees more than the device does: what is done to the mapping that the device
 * uses does not hinder it.
 *
 *	region   guest-physical       around it, in the process
 *	0 DATA   0 ...                a page of canaries on either side, and
 *	1 RINGS  behind DATA          behind these a page that cannot be touched
 *	2 TOP    ... 2^64 - 1
 */
#ifndef VTAP_TEST_HOSTILE_H
#define VTAP_TEST_HOSTILE_H

#include <stdbool.h>
#include <stdint.h>

#include "tap.h"
#include "util.h"
#include "vdev.h"

#define HOSTILE_REGIONS	3
#define HOSTILE_SIZE	(128U << 10)	/* bytes of each region */
#define HOSTILE_RX_BUF	4096U		/* an honest receive buffer */
#define HOSTILE_RX_BUFS	8U		/* they are the first of DATA */
#define HOSTILE_TX_AT	(56U << 10)	/* the honest frame, in DATA */
#define HOSTILE_TABLE_AT (64U << 10)	/* from here to the end, in DATA: tables */
#define HOSTILE_MAX_NUM	1024U

enum { REGION_DATA, REGION_RINGS, REGION_TOP };

struct hostile_region {
	uint64_t gpa;
	uint8_t *dev;		/* as the device has it */
	uint8_t *our;		/* the same memory, always there */
};

struct hostile_q {
	unsigned int num;
	uint32_t desc_at, avail_at, used_at;	/* in RINGS */
	uint16_t idx;		/* available index as last written by us */
	uint16_t seen;		/* used index up to which honest work was seen */
	int kick[2], call, err;	/* eventfds; the kick changes */
	unsigned int kick_nr;
	bool running;		/* attached, and no error since */
	unsigned int errors;	/* signalled since it was attached */
};

struct hostile {
	int fd;
	uint64_t features;
	uint32_t hdr_len;
	bool strict;		/* ours: errors are counted, and said once */
	struct tap tap;
	int tx_sock, rx_sock;	/* as in struct guest */
	struct hostile_region region[HOSTILE_REGIONS];
	int memfd;
	struct hostile_q q[2];
	struct rng rng;
	uint64_t seq;		/* number of the honest frame sent last */
	bool maps_changed;	/* the device's mapping is not what it was */
	bool table_changed;
	uint64_t errors;	/* signalled, all told */
};

/* all return 0 or -errno unless they say otherwise, and say what went wrong */
int hostile_start(struct hostile *h);
void hostile_stop(struct hostile *h);
/* other features, other rings: both queues stopped, then attached as new */
int hostile_reshape(struct hostile *h);
/* stop a queue, set it right, start it: an honest frame passes */
int hostile_recover(struct hostile *h, unsigned int queue);
/* stop a queue; errors that came late are seen */
int hostile_detach(struct hostile *h, unsigned int queue);
/* have the worker run the queue, and wait until it has */
int hostile_sync(struct hostile *h, unsigned int queue);
/* has the device reported an error since the last look */
int hostile_look(struct hostile *h, unsigned int queue);
void hostile_kick(struct hostile *h, unsigned int queue);
/* to the guest: n frames of all sizes */
void hostile_inject(struct hostile *h, unsigned int n);
/* has anything been written beside the regions */
int hostile_canaries(const struct hostile *h);

/* the mapping and the table as they were */
int hostile_restore(struct hostile *h);
/* another table, good or bad, for the memory there is */
int hostile_swap_table(struct hostile *h, struct rng *rng);
/* take the access to a page away, or the page itself */
int hostile_spoil_page(struct hostile *h, struct rng *rng);

/* write chains of all kinds, and an index that covers them, or more, or less */
void hostile_strike(struct hostile *h, unsigned int queue);
/* write something somewhere into a ring that may be in use */
void hostile_rewrite(struct hostile *h, struct rng *rng);

static inline struct vring_desc *hostile_desc(const struct hostile *h, unsigned int queue)
{
	return (struct vring_desc *)(h->region[REGION_RINGS].our + h->q[queue].desc_at);
}

static inline struct vring_avail *hostile_avail(const struct hostile *h, unsigned int queue)
{
	return (struct vring_avail *)(h->region[REGION_RINGS].our + h->q[queue].avail_at);
}

static inline struct vring_used *hostile_used(const struct hostile *h, unsigned int queue)
{
	return (struct vring_used *)(h->region[REGION_RINGS].our + h->q[queue].used_at);
}

#endif
