// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the ring code costs by itself: one thread, driver and device in turn,
 * batches of 64 chains. Time is that of fetch, complete and should_signal
 * alone. Arguments: KIND [BATCHES [CHAINS A BATCH]] (for callgrind).
 */
#include <stdio.h>
#include <time.h>

#include "driver.h"

#define NUM	256

static const struct {
	const char *name;
	u32 descs;
	bool table;
	bool regions;	/* buffers alternate between two of them */
} kinds[] = {
	{ "direct-1", 1 },
	{ "direct-2", 2 },
	{ "indirect-8", 8, true },
	{ "regions-1", 1, false, true },
};

static unsigned long long now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static u64 buffer(u32 kind, u32 i)
{
	if (kinds[kind].regions && i & 1)
		return gpa_of(DRV_SIZE) + 0x1000 + i * 64;
	return gpa_of(DRV_BUF) + i * 64;
}

static void fill(u32 kind)
{
	const u32 n = kinds[kind].descs;
	u32 i, j;

	for (i = 0; i < NUM; i++) {
		if (kinds[kind].table) {
			u64 table = gpa_of(DRV_BUF + 0x100000 + i * n * 16);

			drv_desc(i, table, n * 16, INDIRECT, 0);
			for (j = 0; j < n; j++)
				drv_entry(table, j, buffer(kind, i * n + j), 64,
					  j == n - 1 ? 0 : NEXT, j + 1);
		} else {
			drv_desc(i, buffer(kind, i), 64, i % n == n - 1 ? 0 : NEXT, i + 1);
		}
	}
}

/* Not inlined: callgrind counts what is called from here. */
static __attribute__((__noinline__)) int device(void)
{
	int n = vtap_ring_fetch(&drv.r, VTAP_BATCH);

	if (n <= 0 || vtap_ring_complete(&drv.r, n))
		return -1;
	return vtap_ring_should_signal(&drv.r) < 0 ? -1 : n;
}

static int run(u32 kind, u32 batches, u32 size)
{
	const u32 slots = kinds[kind].table ? 1 : kinds[kind].descs;
	unsigned long long start, ns = 0;
	u32 head = 0, b, i;

	drv_init(NUM, false, F_EVENT_IDX | F_INDIRECT);
	drv_table_add(gpa_of(DRV_SIZE), 0x100000, 0);
	if (drv_table_done())
		return 1;
	fill(kind);
	drv_set_used_event(0x8000);
	for (b = 0; b < batches; b++) {
		for (i = 0; i < size; i++) {
			drv_add(head);
			head = (head + slots) % NUM;
		}
		start = now();
		if (device() != (int)size) {
			fprintf(stderr, "%s: the ring failed\n", kinds[kind].name);
			return 1;
		}
		ns += now() - start;
	}
	printf("%-12s %7.2f ns a chain, %6.2f ns a descriptor\n", kinds[kind].name,
	       (double)ns / batches / size, (double)ns / batches / size / kinds[kind].descs);
	return 0;
}

int main(int argc, char **argv)
{
	u32 batches = argc > 2 ? strtoul(argv[2], NULL, 0) : 200000;
	u32 size = argc > 3 ? strtoul(argv[3], NULL, 0) : VTAP_BATCH;
	u32 kind;

	if (!size || size > VTAP_BATCH)
		return 2;
	for (kind = 0; kind < sizeof(kinds) / sizeof(kinds[0]); kind++)
		if (argc < 2 || !strcmp(argv[1], kinds[kind].name))
			if (run(kind, batches, size))
				return 1;
	return 0;
}
