// SPDX-License-Identifier: GPL-2.0-only
/*
 * Many devices at once: what they send together, and the memory each takes.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bench_load.h"
#include "util.h"

#define RING	256

/* kB of a line of /proc/meminfo */
static long long meminfo(const char *name)
{
	char line[128], key[64];
	long long kb, found = 0;
	FILE *f = fopen("/proc/meminfo", "r");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%63[^:]: %lld", key, &kb) == 2 &&
		    !strcmp(key, name))
			found = kb;
	if (f)
		fclose(f);
	return found;
}

/*
 * Memory that the kernel holds for itself: all that is not free, without what
 * belongs to programs and the page cache. Devices allocate without accounting
 * to a control group, and partly straight from the page allocator, so that
 * neither memory.stat nor the slabs tell all.
 */
static long long kernel_memory(void)
{
	static const char *const not_ours[] = {
		"MemFree", "AnonPages", "Cached", "Buffers", "PageTables",
	};
	long long kb = meminfo("MemTotal");
	unsigned int i;

	/* give back what lies ready for each CPU, and what RCU still holds */
	file_write("/proc/sys/vm/drop_caches", "3");
	usleep(100000);
	for (i = 0; i < ARRAY_LEN(not_ours); i++)
		kb -= meminfo(not_ours[i]);
	return kb * 1024;
}

static int all_wait(struct tx_load *tx, unsigned int n)
{
	struct pollfd p[BENCH_MAX_DEVS];
	unsigned int i;
	int r;

	for (i = 0; i < n; i++) {
		p[i].fd = tx[i].g->q[VQ_TX].ring->call_fd;
		p[i].events = POLLIN;
	}
	r = poll(p, n, WATCHDOG_MS);
	for (i = 0; i < n; i++)
		if (p[i].revents & POLLIN)
			tx[i].g->q[VQ_TX].ring->n_calls += efd_drain(p[i].fd);
	return r > 0 ? 0 : -ETIMEDOUT;
}

static int all_run(struct bench *b, struct tx_load *tx, unsigned int n)
{
	uint64_t done = 0;
	unsigned int i, left;
	bool moved;
	int err = 0;

	do {
		moved = false;
		left = 0;
		for (i = 0; i < n && !err; i++) {
			struct ring *r = tx[i].g->q[VQ_TX].ring;

			done -= tx[i].done;
			err = tx_load_reap(&tx[i], &moved);
			done += tx[i].done;
			if (!err && !bench_over(b, done))
				err = tx_load_push(&tx[i], &moved);
			if (r->outstanding)
				left++;
			if (r->outstanding &&
			    ring_call_enable(r, (r->outstanding + 1) / 2))
				moved = true;
		}
		if (!err && left && !moved)
			err = all_wait(tx, n);
	} while (!err && left);
	return err;
}

/* one after the other, as they are given to the device */
static int start_all(struct bench *b, struct guest *g, unsigned int n)
{
	struct guest_cfg cfg = {
		.features = F_MODERN,
		.num = { RING, RING },
		.buf = { 1536, b->sc->len + 12 },
		.mtu = 1500,
		.no_backend = true,
	};
	unsigned int i;
	int err = 0;

	for (i = 0; i < n && !err; i++)
		err = bench_guest(b, &g[i], &cfg);
	return err;
}

int bench_many(struct bench *b)
{
	static struct guest g[BENCH_MAX_DEVS];
	static struct tx_load tx[BENCH_MAX_DEVS];
	unsigned int i, n = b->sc->arg;
	struct tap spare[BENCH_MAX_DEVS];
	long long taps, before, after;
	int err = 0;

	/* what the taps alone take is no part of a device */
	taps = kernel_memory();
	for (i = 0; i < n; i++) {
		spare[i].fd = -1;
		if (!err)
			err = tap_open(&spare[i], NULL, 0, 12);
		if (!err)
			err = tap_set_up(&spare[i], true);
	}
	before = kernel_memory();
	taps = before - taps;
	if (!err)
		err = start_all(b, g, n);
	for (i = 0; i < n && !err; i++)
		err = guest_attach(&g[i], g[i].tap.fd);
	if (!err)
		err = bench_find_workers(b);
	if (!err)
		err = bench_settle(b);
	after = kernel_memory();
	b->mem_bytes = (double)(after - before - taps) / n;

	for (i = 0; i < n && !err; i++)
		tx_load_start(&tx[i], &g[i], b->sc->len);
	if (!err)
		err = bench_begin(b);
	thread_realtime();
	if (!err)
		err = all_run(b, tx, n);
	if (!err)
		err = bench_end(b, now_ns());
	/* ... and with what they keep for the next frames */
	b->mem_busy_bytes = (double)(kernel_memory() - before - taps) / n;
	for (i = 0; i < n; i++) {
		b->packets += tx[i].done;
		tap_close(&spare[i]);
		if (i < b->nguests)
			guest_stop(&g[i]);
	}
	b->bytes = b->packets * b->sc->len;
	b->lost = b->packets - b->tap_rx;
	return err;
}
