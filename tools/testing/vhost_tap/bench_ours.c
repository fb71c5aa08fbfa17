// SPDX-License-Identifier: GPL-2.0-only
/*
 * Our ring code as bench_ring's device: see bench_dev.h.
 */
#include "guest.h"
#include "../../../drivers/vhost_tap/ring.h"
#include "bench_dev.h"

static struct vtap_ring ring;
static struct vtap_mem *table;

static int ours_start(const struct bench_setup *s)
{
	static struct vtap_chain chain[BENCH_BATCH];
	static struct iovec seg[VTAP_MAX_SEGS];
	static struct vtap_ring_copy copy;
	struct vtap_ring *r = &ring;
	unsigned int i;

	if (!table)
		table = calloc(1, sizeof(*table) + BENCH_REGIONS * sizeof(table->region[0]));
	if (!table)
		return -1;
	for (i = 0; i < s->nr_regions; i++) {
		table->region[i].gpa = s->gpa[i];
		table->region[i].last = s->gpa[i] + s->size[i] - 1;
		table->region[i].uaddr = (unsigned long)s->hva[i];
	}
	table->nr = s->nr_regions;
	if (vtap_mem_check_sort(table))
		return -1;
	memset(r, 0, sizeof(*r));
	vtap_ring_init(r, false, chain, BENCH_BATCH, seg, &copy);
	vtap_ring_set_features(r, 1ULL << VIRTIO_RING_F_EVENT_IDX |
				  1ULL << VIRTIO_RING_F_INDIRECT_DESC);
	r->le = true;
	r->mem = table;
	r->desc = s->desc;
	r->avail = s->avail;
	r->used = s->used;
	r->num = s->num;
	return vtap_ring_start(r);
}

static long ours_run(uint64_t *bytes, unsigned long *signals)
{
	struct vtap_ring *r = &ring;
	long total = 0;
	int n, err;

	if (vtap_ring_disarm(r))
		return -1;
	for (;;) {
		u32 i, s;

		bench_batch_begin();
		n = vtap_ring_fetch(r, BENCH_BATCH);
		if (n < 0)
			return -1;
		if (!n) {
			err = vtap_ring_arm(r);
			if (err <= 0)
				return err ? -1 : total;
			if (vtap_ring_disarm(r))
				return -1;
			continue;
		}
		for (i = 0; i < n; i++) {
			const struct vtap_chain *c = vtap_ring_chain(r, i);

			for (s = 0; s < c->nsegs; s++)
				*bytes += r->seg[c->seg + s].iov_len;
		}
		if (vtap_ring_complete(r, n))
			return -1;
		err = vtap_ring_should_signal(r);
		if (err < 0)
			return -1;
		bench_batch_end(n);
		if (err) {
			(*signals)++;
			bench_signal();
		}
		total += n;
	}
}

const struct bench_dev bench_ours = {
	.name = "ours",
	.start = ours_start,
	.run = ours_run,
};
