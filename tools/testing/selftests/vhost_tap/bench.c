// SPDX-License-Identifier: GPL-2.0-only
/*
 * vhost_bench - run one load on one device and print what it cost, as a line
 * of JSON; see bench.h.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "util.h"

#define GSO_LEN	(54 + 45 * 1448)	/* most whole segments in 64 KiB */

static const struct scenario scenarios[] = {
	{ "tx64_up", "64 B frames into a tap whose stack drops them",
	  bench_tx, 64 },
	{ "tx256_up", "256 B frames", bench_tx, 256 },
	{ "tx1514_up", "1514 B frames", bench_tx, 1514 },
	{ "txgso_up", "64 KiB frames to be segmented", bench_tx, GSO_LEN },
	{ "tx64_xdp", "64 B frames, dropped by XDP on the tap",
	  bench_tx, 64, BENCH_XDP },
	{ "tx256_xdp", "256 B frames", bench_tx, 256, BENCH_XDP },
	{ "tx1514_xdp", "1514 B frames", bench_tx, 1514, BENCH_XDP },
	{ "tx64_bridge", "64 B frames through a bridge to a tap that is full",
	  bench_tx, 64, BENCH_BRIDGE },
	{ "tx1514_bridge", "1514 B frames", bench_tx, 1514, BENCH_BRIDGE },
	{ "txgso_bridge", "64 KiB frames", bench_tx, GSO_LEN, BENCH_BRIDGE },
	{ "rx64", "64 B frames that pktgen has queued in the tap", bench_rx, 64 },
	{ "rx256", "256 B frames", bench_rx, 256 },
	{ "rx1514", "1514 B frames", bench_rx, 1514 },
	{ "rxgso", "64 KiB frames, from a packet socket", bench_rx, GSO_LEN },
	{ "rx64_live", "64 B frames while pktgen runs beside the guest",
	  bench_rx_live, 64 },
	{ "rx1514_live", "1514 B frames", bench_rx_live, 1514 },
	{ "rx64_slow", "a guest that gives too few buffers", bench_rx_slow, 64 },
	{ "g2g64", "64 B frames from one guest to another over a bridge",
	  bench_g2g, 64 },
	{ "g2g1514", "1514 B frames", bench_g2g, 1514 },
	{ "g2ggso", "64 KiB frames", bench_g2g, GSO_LEN },
	{ "both64", "64 B frames, both directions at once", bench_both, 64 },
	{ "rr1", "request and response, 1 outstanding", bench_rr, 64, 1 },
	{ "rr16", "request and response, 16 outstanding", bench_rr, 64, 16 },
	{ "light", "a 64 B frame to the host every 100 us", bench_light, 64 },
	{ "dev1", "64 B frames to the host, 1 device", bench_many, 64, 1 },
	{ "dev4", "4 devices", bench_many, 64, 4 },
	{ "dev16", "16 devices", bench_many, 64, 16 },
	{ "dev64", "64 devices", bench_many, 64, 64 },
};

static void usage(FILE *f)
{
	fputs("usage: vhost_bench [--node PATH] --scenario NAME [--seconds S | --frames N]\n"
	      "       vhost_bench --list\n", f);
}

static void list(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(scenarios); i++)
		printf("%-14s %s\n", scenarios[i].name, scenarios[i].what);
}

static const struct scenario *find(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(scenarios); i++)
		if (!strcmp(scenarios[i].name, name))
			return &scenarios[i];
	return NULL;
}

static void field(const char *name, double v)
{
	if (v >= 0)
		printf(", \"%s\": %.*f", name, v < 100 ? 6 : 0, v);
}

static void print(const struct bench *b)
{
	printf("{\"scenario\": \"%s\", \"node\": \"%s\", \"ours\": %s",
	       b->sc->name, node_path(),
	       node_is_vhost_tap() ? "true" : "false");
	if (b->why_not) {
		printf(", \"skipped\": \"%s\"}\n", b->why_not);
		return;
	}
	field("seconds", b->seconds);
	field("packets", b->packets);
	field("bytes", b->bytes);
	if (b->packets >= 0 && b->seconds > 0) {
		field("pps", b->packets / b->seconds);
		field("bps", b->bytes * 8 / b->seconds);
	}
	field("lost", b->lost);
	field("module_packets", b->module_packets);
	field("worker_ns", b->worker_ns);
	field("worker_wakeups", b->wakeups);
	field("kicks", b->kicks);
	field("signals", b->signals);
	field("latency_ns_median", b->lat_median_ns);
	field("latency_ns_p99", b->lat_p99_ns);
	field("mem_bytes", b->mem_bytes);
	field("mem_busy_bytes", b->mem_busy_bytes);
	if (b->paced)
		printf(", \"paced\": true");
	printf("}\n");
}

int main(int argc, char **argv)
{
	static const struct option opts[] = {
		{ "node", required_argument, NULL, 'n' },
		{ "scenario", required_argument, NULL, 's' },
		{ "seconds", required_argument, NULL, 't' },
		{ "frames", required_argument, NULL, 'f' },
		{ "list", no_argument, NULL, 'l' },
		{ "help", no_argument, NULL, 'h' },
		{ },
	};
	static struct bench b = {
		.limit_ns = 1000000000,
		.module_packets = -1, .lat_median_ns = -1, .lat_p99_ns = -1,
		.mem_bytes = -1, .mem_busy_bytes = -1,
	};
	int c, err;

	while ((c = getopt_long(argc, argv, "", opts, NULL)) >= 0) {
		switch (c) {
		case 'n':
			setenv("VHOST_TAP_NODE", optarg, 1);
			break;
		case 's':
			b.sc = find(optarg);
			if (!b.sc) {
				fprintf(stderr, "no scenario %s; try --list\n",
					optarg);
				return 2;
			}
			break;
		case 't':
			b.limit_ns = atof(optarg) * 1e9;
			break;
		case 'f':
			b.limit_frames = strtoull(optarg, NULL, 0);
			break;
		case 'l':
			list();
			return 0;
		case 'h':
			usage(stdout);
			return 0;
		default:
			usage(stderr);
			return 2;
		}
	}
	if (!b.sc || optind < argc) {
		usage(stderr);
		return 2;
	}
	err = netns_private();
	pin_thread(0, CPU_LOAD);
	if (!err)
		err = b.sc->run(&b);
	if (err && !b.why_not) {
		fprintf(stderr, "%s on %s: %s\n", b.sc->name, node_path(),
			strerror(-err));
		return 1;
	}
	print(&b);
	return 0;
}
