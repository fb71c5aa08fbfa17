/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The device's side of a split ring, as bench_ring drives it: ours
 * (bench_ours.c) or the kernel's vringh (bench_vringh.c). No kernel and no ring
 * header is included here, for those two need different ones.
 */
#ifndef VTAP_BENCH_DEV_H
#define VTAP_BENCH_DEV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Chains that are fetched before they are completed, as tx.c and rx.c do it. */
#define BENCH_BATCH	64
#define BENCH_REGIONS	2

/**
 * struct bench_setup - a ring with event index, and where buffers may lie
 * @gpa: where the driver sees each region
 * @size: of each region
 * @hva: where we see it
 */
struct bench_setup {
	void *desc, *avail, *used;
	unsigned int num;
	unsigned int nr_regions;
	uint64_t gpa[BENCH_REGIONS], size[BENCH_REGIONS];
	char *hva[BENCH_REGIONS];
};

/**
 * struct bench_dev - one implementation
 * @start: a fresh ring, kicks asked for
 * @run: what a worker does on a kick: no kicks please, then batch by batch
 *	fetch, look at each segment, complete, decide on the signal, until the
 *	ring is empty and kicks are asked for again. Adds the segments' bytes to
 *	*bytes and the signals to *signals. Returns the number of chains, or -1.
 */
struct bench_dev {
	const char *name;
	int (*start)(const struct bench_setup *s);
	long (*run)(uint64_t *bytes, unsigned long *signals);
};

extern const struct bench_dev bench_ours;
extern const struct bench_dev bench_vringh;

/*
 * Called by run(): for each signal; and around each batch, whose time ends once
 * the signal is decided and counts if there was a chain in it.
 */
void bench_signal(void);
void bench_clock_start(void);
void bench_clock_stop(unsigned int chains);

/* are batches timed one by one */
extern bool bench_timed;

static inline void bench_batch_begin(void)
{
	if (bench_timed)
		bench_clock_start();
}

static inline void bench_batch_end(unsigned int chains)
{
	if (bench_timed)
		bench_clock_stop(chains);
}

#endif /* VTAP_BENCH_DEV_H */
