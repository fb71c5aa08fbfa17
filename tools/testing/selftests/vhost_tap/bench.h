/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vhost_bench: one load on one device, measured, told in a line of JSON. It
 * judges nothing: comparing two devices is the caller's business.
 *
 *   bench.c          the scenarios by name, the line of JSON
 *   bench_measure.c  workers, what they used up, the counts of rings and taps
 *   bench_net.c      pktgen, XDP, bridges
 *   bench_tx.c bench_rx.c   loads one way
 *
 * The load runs on CPU 0 and the device's worker on CPU 1, whosever it is. A
 * measurement goes from an idle device to an idle device, so that the worker's
 * time belongs to the counted packets and to nothing else.
 */
#ifndef VTAP_TEST_BENCH_H
#define VTAP_TEST_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "guest_driver.h"

#define BENCH_RING	1024
#define BENCH_MAX_DEVS	64
#define CPU_LOAD	0
#define CPU_WORKER	1

struct bench;

struct scenario {
	const char *name;
	const char *what;
	int (*run)(struct bench *b);
	uint32_t len;		/* bytes a frame, without virtio-net header */
	unsigned int arg;	/* whatever the scenario makes of it */
};

/* where rings, taps and workers stood */
struct bench_counts {
	uint64_t worker_ns;
	uint64_t wakeups;
	uint64_t kicks;
	uint64_t signals;
	uint64_t tap_rx, tap_tx, tap_rx_dropped, tap_tx_dropped;
};

struct bench {
	const struct scenario *sc;
	/* run for that long or for that many frames, whichever is set */
	uint64_t limit_ns;
	uint64_t limit_frames;

	/* the devices measured */
	struct guest *guest[BENCH_MAX_DEVS];
	unsigned int nguests;
	pid_t worker[2 * BENCH_MAX_DEVS];
	unsigned int nworkers;

	struct bench_counts before;
	uint64_t start_ns;

	/* the result; what is negative is not printed */
	double packets, bytes, seconds;
	double worker_ns, wakeups, kicks, signals, lost;
	double tap_rx, tap_tx, tap_rx_dropped, tap_tx_dropped;
	double lat_median_ns, lat_p99_ns;
	double mem_bytes;
	const char *why_not;	/* the scenario cannot run here, and why */
};

/* --- bench_measure.c --- */

void pin_thread(pid_t tid, int cpu);
/* reapers go before what else runs on their CPU; they sleep a lot */
void thread_realtime(void);
/* start a guest that is measured; and find, pin its worker */
int bench_guest(struct bench *b, struct guest *g, const struct guest_cfg *cfg);
int bench_find_workers(struct bench *b);
/* wait until all workers sleep and stay asleep */
int bench_settle(struct bench *b);
/* from here on everything counts */
int bench_begin(struct bench *b);
/* ... until end_ns; settles, and adds to all but packets, bytes and latency */
int bench_end(struct bench *b, uint64_t end_ns);
/* is the time up, or are that many frames done? */
bool bench_over(const struct bench *b, uint64_t frames);
int cmp_u64(const void *a, const void *b);

/* --- bench_net.c --- */

/* drop everything that comes out of the tap, in its driver */
int net_xdp_drop(int ifindex);
/*
 * Frames of len bytes from pktgen into an interface, from the load's CPU, on
 * and on. net_pktgen_start() returns at once.
 */
int net_pktgen_setup(const char *ifname, uint32_t len);
int net_pktgen_start(void);
int net_pktgen_stop(void);
/* frames the interface took in the last run, or -errno */
int64_t net_pktgen_sent(const char *ifname);

/* --- scenarios --- */

#define BENCH_ARG_XDP	1

int bench_tx(struct bench *b);
int bench_rx(struct bench *b);
int bench_rx_live(struct bench *b);

#endif
