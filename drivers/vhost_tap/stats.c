// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counters that take more than an addition, and the one instance of the
 * tracepoints. Touches nothing but the counters it is handed.
 */
#include <linux/log2.h>
#include <linux/minmax.h>

#include "stats.h"

#define CREATE_TRACE_POINTS
#include <trace/events/vhost_tap.h>

void vtap_stats_batch(struct vtap_stats *stats, unsigned int n)
{
	/* Bucket i counts 2^i to 2^(i+1) - 1 frames; the last one all from 64 up. */
	unsigned int bucket = min_t(unsigned int, ilog2(n), VTAP_BATCH_BUCKETS - 1);

	vtap_stat_inc(&stats->batch[bucket]);
}
