// SPDX-License-Identifier: GPL-2.0-only
/*
 * The dirty log as a VMM uses it; see dirty.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dirty.h"
#include "util.h"

int dirty_setup(struct dirty *t)
{
	memset(t, 0, sizeof(*t));
	t->bitmap = mmap(NULL, LOG_SIZE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	t->want = calloc(1, LOG_SIZE);
	t->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (t->bitmap == MAP_FAILED || !t->want || t->fd < 0)
		return -ENOMEM;
	return netns_private();
}

void dirty_teardown(struct dirty *t)
{
	if (t->loaded)
		load_abandon(&t->l);
	if (t->g.dev.fd > 0)
		guest_stop(&t->g);
	free(t->want);
	free(t->before);
	munmap(t->bitmap, LOG_SIZE);
	close(t->fd);
}

/* ------- the VMM's calls ------- */

uint64_t dirty_used_gpa(const struct ring *r)
{
	return r->desc_gpa + ((uint8_t *)r->used - (uint8_t *)r->desc);
}

int dirty_set_addr(struct guest *g, unsigned int idx, bool log, uint64_t gpa)
{
	struct ring *r = &g->dev.ring[idx];
	struct vhost_vring_addr a = {
		.index = idx,
		.flags = log ? 1 << VHOST_VRING_F_LOG : 0,
		.log_guest_addr = gpa,
	};

	vdev_ring_addr(&g->dev, r, &a);
	return vhost_ioctl(g->dev.fd, VHOST_SET_VRING_ADDR, &a);
}

int dirty_set_base(struct guest *g, const void *p)
{
	uint64_t base = (uintptr_t)p;

	return vhost_ioctl(g->dev.fd, VHOST_SET_LOG_BASE, &base);
}

int dirty_switch(struct guest *g, bool on)
{
	unsigned int i;
	int err;

	err = vdev_set_features(&g->dev, g->cfg.features | (on ? F_LOG : 0));
	for (i = 0; i < 2 && !err; i++)
		err = dirty_set_addr(g, i, on, dirty_used_gpa(&g->dev.ring[i]));
	return err;
}

/* ------- what is marked, and what should be ------- */

bool dirty_marked(const uint8_t *bitmap, uint64_t page)
{
	return bitmap[page / 8] >> page % 8 & 1;
}

void dirty_want(struct dirty *t, uint64_t gpa, uint64_t len)
{
	uint64_t page;

	gpa -= t->g.mem.iova_delta;
	for (page = gpa / PAGE; len && page <= (gpa + len - 1) / PAGE; page++)
		t->want[page / 8] |= 1 << page % 8;
}

static void set_area(struct dirty_area *a, struct guest *g, uint64_t gpa, size_t len)
{
	a->gpa = gpa;
	a->hva = gmem_hva(&g->mem, gpa);
	a->len = len;
}

static size_t used_size(const struct ring *r)
{
	return 4 + r->num * 8ULL + (r->event_idx ? 2 : 0);
}

int dirty_start(struct dirty *t, const struct guest_cfg *cfg)
{
	struct guest_cfg c = *cfg;
	struct guest *g = &t->g;
	unsigned int i;
	int err;

	c.no_backend = true;
	err = guest_start(g, &c);
	if (err)
		return err;
	for (i = 0; i < 2; i++)
		set_area(&t->area[i], g, dirty_used_gpa(&g->dev.ring[i]),
			 used_size(&g->dev.ring[i]));
	set_area(&t->area[2], g, g->q[VQ_RX].buf_gpa,
		 (size_t)g->q[VQ_RX].slots * g->q[VQ_RX].stride);
	t->len = g->mem.region[0].used;
	t->before = malloc(t->len);
	if (!t->before)
		return -ENOMEM;
	err = dirty_set_base(g, t->bitmap);
	return err ? err : vhost_ioctl(g->dev.fd, VHOST_SET_LOG_FD, &t->fd);
}

void dirty_snapshot(struct dirty *t)
{
	memset(t->want, 0, LOG_SIZE);
	memset(t->bitmap, 0, LOG_SIZE);
	/* first the marks, then the pages: what is marked from now on is copied again */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	memcpy(t->before, t->g.mem.region[0].hva, t->len);
}

bool dirty_changed(struct dirty *t, uint64_t page)
{
	const struct gmem_region *r = &t->g.mem.region[0];
	unsigned int i;

	for (i = 0; i < 3; i++) {
		const struct dirty_area *a = &t->area[i];
		uint64_t from = a->gpa, to = a->gpa + a->len;

		if (from < page * PAGE)
			from = page * PAGE;
		if (to > (page + 1) * PAGE)
			to = (page + 1) * PAGE;
		if (from < to && memcmp(t->before + (from - r->gpa),
					r->hva + (from - r->gpa), to - from))
			return true;
	}
	return false;
}

static bool in_used_ring(struct dirty *t, uint64_t page)
{
	unsigned int i;

	for (i = 0; i < 2; i++)
		if (page >= t->area[i].gpa / PAGE &&
		    page <= (t->area[i].gpa + t->area[i].len - 1) / PAGE)
			return true;
	return false;
}

unsigned int dirty_wrong_pages(struct dirty *t, bool fields)
{
	unsigned int wrong = 0;
	/* pages of the bitmap are guest-physical; all else here is as the driver knows it */
	uint64_t shift = t->g.mem.iova_delta / PAGE;
	uint64_t page;

	for (page = 0; page < LOG_PAGES; page++) {
		bool m = dirty_marked(t->bitmap, page), w = dirty_marked(t->want, page);
		const char *why = NULL;

		if (!m && page + shift < (t->g.mem.region[0].gpa + t->len) / PAGE + 1 &&
		    dirty_changed(t, page + shift))
			why = "has changed and is not marked";
		else if (w && !m)
			why = "was written and is not marked";
		else if (m && !w && !(fields && in_used_ring(t, page + shift)))
			why = "is marked and was not written";
		if (why && wrong++ < 10)
			fprintf(stderr, "# page %#llx %s\n",
				(unsigned long long)page, why);
	}
	return wrong;
}

int dirty_take(struct dirty *t, unsigned int n)
{
	struct guest_q *q = &t->g.q[VQ_RX];
	uint32_t slot, len;
	unsigned int i;
	int r;

	for (i = 0; i < n; i++) {
		r = ring_wait_used(q->ring, WATCHDOG_MS);
		if (!r)
			r = ring_get_used(q->ring, &slot, &len);
		if (r <= 0)
			return r ? r : -EPROTO;
		dirty_want(t, q->buf_gpa + (uint64_t)slot * q->stride, len);
		q->free[q->nfree++] = slot;
	}
	return 0;
}
