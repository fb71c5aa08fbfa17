/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vhost_bench: one load on one device, measured, told in a line of JSON. It
 * judges nothing: comparing two devices is the caller's business.
 *
 *   bench.c          the scenarios by name, the line of JSON
 *   bench_measure.c  workers, what they used up, the counts of rings and taps
 *   bench_net.c      pktgen, XDP, bridges
 *   bench_load.c     the guest's half of a load
 *   bench_tx.c bench_rx.c bench_pair.c bench_lat.c bench_many.c   scenarios
 *
 * The load runs on CPU 0 and the device's worker on CPU 1, whosever it is. A
 * measurement goes from an idle device to an idle device, so that the worker's
 * time belongs to the counted packets and to nothing else.
 */
#ifndef VTAP_TEST_BENCH_H
#define VTAP_TEST_BENCH_H

#include <linux/bpf.h>
#include <linux/if_tun.h>
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
	double module_packets;	/* ours alone: what it has counted itself */
	double lat_median_ns, lat_p99_ns;
	double mem_bytes, mem_busy_bytes;
	bool paced;		/* the rate was the load's choice */
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

/* everything that comes out of the tap meets XDP_DROP, XDP_TX, in its driver */
int net_xdp(int ifindex, int action);
/* a bridge with two taps as its ports */
int net_bridge(const struct tap *a, const struct tap *b);
/*
 * Frames of len bytes from pktgen into an interface, from the load's CPU, on
 * and on. net_pktgen_start() returns at once.
 */
int net_pktgen_setup(const char *ifname, uint32_t len);
int net_pktgen_delay(const char *ifname, unsigned int ns);
int net_pktgen_start(void);
int net_pktgen_stop(void);
/* run it until the tap's ring is full: frames that the tap took, or -errno */
int64_t net_pktgen_fill(const struct tap *tap);

/* --- scenarios --- */

/* what is behind the tap, in bench_tx() */
#define BENCH_XDP	1
#define BENCH_BRIDGE	2

#define TAP_OFFLOADS	(TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6)

int bench_tx(struct bench *b);
int bench_rx(struct bench *b);
int bench_rx_live(struct bench *b);
int bench_rx_slow(struct bench *b);
int bench_both(struct bench *b);
int bench_g2g(struct bench *b);
int bench_rr(struct bench *b);
int bench_light(struct bench *b);
int bench_many(struct bench *b);

#endif
