// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel's vringh as bench_ring's device: see bench_dev.h. It is used as
 * its callers in the kernel use it, with two differences in its favour: used
 * entries are written for a whole batch at once, and the arrays for segments
 * never grow.
 */
#include <linux/vringh.h>
#include "bench_dev.h"

#define MAX_SEGS	64

static struct vringh vrh;
static struct bench_setup setup;
static struct vringh_iov riov;
static struct iovec iov[MAX_SEGS];

/* Which part of guest memory holds @addr? */
static bool vringh_range(struct vringh *v, u64 addr, struct vringh_range *r)
{
	unsigned int i;

	(void)v;
	for (i = 0; i < setup.nr_regions; i++) {
		if (addr - setup.gpa[i] < setup.size[i]) {
			r->start = setup.gpa[i];
			r->end_incl = setup.gpa[i] + setup.size[i] - 1;
			r->offset = (unsigned long)setup.hva[i] - setup.gpa[i];
			return true;
		}
	}
	return false;
}

static int vringh_start(const struct bench_setup *s)
{
	const u64 features = 1ULL << VIRTIO_F_VERSION_1 | 1ULL << VIRTIO_RING_F_EVENT_IDX |
			     1ULL << VIRTIO_RING_F_INDIRECT_DESC;

	setup = *s;
	vringh_iov_init(&riov, iov, MAX_SEGS);
	return vringh_init_user(&vrh, features, s->num, true, s->desc, s->avail, s->used);
}

static long vringh_run(uint64_t *bytes, unsigned long *signals)
{
	struct vring_used_elem used[BENCH_BATCH];
	long total = 0;
	int err;

	vringh_notify_disable_user(&vrh);
	for (;;) {
		unsigned int n, i;
		u16 head;

		bench_batch_begin();
		for (n = 0; n < BENCH_BATCH; n++) {
			err = vringh_getdesc_user(&vrh, &riov, NULL, vringh_range, &head);
			if (err < 0)
				return -1;
			if (!err)
				break;
			for (i = 0; i < riov.used; i++)
				*bytes += riov.iov[i].iov_len;
			used[n].id = cpu_to_vringh32(&vrh, head);
			used[n].len = 0;
		}
		if (!n) {
			if (vringh_notify_enable_user(&vrh))
				return total;
			vringh_notify_disable_user(&vrh);
			continue;
		}
		if (vringh_complete_multi_user(&vrh, used, n))
			return -1;
		err = vringh_need_notify_user(&vrh);
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

const struct bench_dev bench_vringh = {
	.name = "vringh",
	.start = vringh_start,
	.run = vringh_run,
};
