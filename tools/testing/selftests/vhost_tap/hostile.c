// SPDX-License-Identifier: GPL-2.0-only
/*
 * The hostile guest's device, memory and tap, and how it is set right again; see
 * hostile.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <linux/vhost.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "guest_driver.h"
#include "hostile.h"

#define PAGE	4096U
#define FRAME	100U		/* bytes of an honest frame */

static const uint64_t shapes[] = {
	0,
	F_EVENT_IDX,
	F_INDIRECT | F_NOTIFY_ON_EMPTY,
	F_MRG_RXBUF | F_INDIRECT,
	F_VERSION_1 | F_INDIRECT,
	F_VERSION_1 | F_EVENT_IDX | F_INDIRECT,
	F_VERSION_1 | F_MRG_RXBUF,
	F_MODERN,
};

static const unsigned int nums[] = { 1, 2, 4, 8, 16, 64, 128, 256, 256, HOSTILE_MAX_NUM };

static int said(int err, const char *what)
{
	if (err < 0)
		fprintf(stderr, "# hostile guest: %s: %s\n", what, strerror(-err));
	return err;
}

/* ------- memory ------- */

static void canary_fill(uint8_t *p)
{
	unsigned int i;

	for (i = 0; i < PAGE; i++)
		p[i] = 0xc5 ^ i;
}

int hostile_canaries(const struct hostile *h)
{
	static uint8_t want[PAGE];
	unsigned int i;

	if (!want[0])
		canary_fill(want);
	for (i = 0; i < HOSTILE_REGIONS; i++) {
		const uint8_t *dev = h->region[i].dev;

		if (memcmp(dev - PAGE, want, PAGE) ||
		    memcmp(dev + HOSTILE_SIZE, want, PAGE))
			return said(-EOVERFLOW, "written outside of its memory");
	}
	return 0;
}

static void *map_region(struct hostile *h, unsigned int i, void *at, int flags)
{
	return mmap(at, HOSTILE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | flags, h->memfd,
		    (off_t)i * HOSTILE_SIZE);
}

static int mem_setup(struct hostile *h)
{
	const size_t gap = 2 * PAGE;
	uint8_t *p;
	unsigned int i;

	h->memfd = memfd_create("hostile", MFD_CLOEXEC);
	if (h->memfd < 0 || ftruncate(h->memfd, HOSTILE_REGIONS * HOSTILE_SIZE))
		return -errno;
	for (i = 0; i < HOSTILE_REGIONS; i++) {
		struct hostile_region *r = &h->region[i];

		r->our = map_region(h, i, NULL, 0);
		/* never touched: what is beside it stays apart from all else */
		p = mmap(NULL, HOSTILE_SIZE + 2 * gap, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (r->our == MAP_FAILED || p == MAP_FAILED)
			return -errno;
		r->dev = p + gap;
		if (mprotect(r->dev - PAGE, HOSTILE_SIZE + 2 * PAGE, PROT_READ | PROT_WRITE))
			return -errno;
		canary_fill(r->dev - PAGE);
		canary_fill(r->dev + HOSTILE_SIZE);
		if (map_region(h, i, r->dev, MAP_FIXED) == MAP_FAILED)
			return -errno;
	}
	h->region[REGION_DATA].gpa = 0;
	h->region[REGION_RINGS].gpa = HOSTILE_SIZE;
	h->region[REGION_TOP].gpa = -(uint64_t)HOSTILE_SIZE;
	return 0;
}

struct table {
	struct vhost_memory head;
	struct vhost_memory_region region[8];
};

static void table_add(struct table *t, uint64_t gpa, uint64_t size, const void *at)
{
	struct vhost_memory_region *r = &t->region[t->head.nregions++];

	r->guest_phys_addr = gpa;
	r->memory_size = size;
	r->userspace_addr = (uintptr_t)at;
}

int hostile_swap_table(struct hostile *h, struct rng *rng)
{
	const struct hostile_region *r = h->region;
	uint32_t cut = 1 + rng_below(rng, HOSTILE_SIZE - 1);
	struct table t = { };
	unsigned int i;

	switch (rng_below(rng, 8)) {
	case 0:			/* nothing at all */
		break;
	case 1:			/* one of them */
		i = rng_below(rng, HOSTILE_REGIONS);
		table_add(&t, r[i].gpa, HOSTILE_SIZE, r[i].dev);
		break;
	case 2:			/* exchanged */
		table_add(&t, r[0].gpa, HOSTILE_SIZE, r[1].dev);
		table_add(&t, r[1].gpa, HOSTILE_SIZE, r[0].dev);
		break;
	case 3:			/* in pieces, and a hole of one byte */
		for (i = 0; i < HOSTILE_REGIONS; i++) {
			table_add(&t, r[i].gpa, cut, r[i].dev);
			if (cut + 1 < HOSTILE_SIZE)
				table_add(&t, r[i].gpa + cut + 1, HOSTILE_SIZE - cut - 1,
					  r[i].dev + cut + 1);
		}
		break;
	case 4:			/* overlapping */
		table_add(&t, r[0].gpa, HOSTILE_SIZE, r[0].dev);
		table_add(&t, r[0].gpa + cut, HOSTILE_SIZE, r[1].dev);
		break;
	case 5:			/* refused: the old one stays */
		table_add(&t, r[0].gpa, 0, r[0].dev);
		break;
	case 6:			/* of odd places and lengths */
		table_add(&t, r[0].gpa + (cut & 7), HOSTILE_SIZE - cut, r[0].dev);
		table_add(&t, r[1].gpa, cut, r[1].dev + HOSTILE_SIZE - cut);
		break;
	default:		/* as it should be */
		for (i = 0; i < HOSTILE_REGIONS; i++)
			table_add(&t, r[i].gpa, HOSTILE_SIZE, r[i].dev);
	}
	WRITE_ONCE(h->table_changed, true);
	return vhost_ioctl(h->fd, VHOST_SET_MEM_TABLE, &t);
}

static int true_table(struct hostile *h)
{
	struct table t = { };
	unsigned int i;

	for (i = 0; i < HOSTILE_REGIONS; i++)
		table_add(&t, h->region[i].gpa, HOSTILE_SIZE, h->region[i].dev);
	return said(vhost_ioctl(h->fd, VHOST_SET_MEM_TABLE, &t), "SET_MEM_TABLE");
}

int hostile_spoil_page(struct hostile *h, struct rng *rng)
{
	/* the rings most of all: they take few of the pages */
	unsigned int i = rng_below(rng, 2) ? REGION_RINGS : rng_below(rng, HOSTILE_REGIONS);
	uint32_t at = rng_below(rng, HOSTILE_SIZE / PAGE) * PAGE;
	uint8_t *page = h->region[i].dev + at;
	void *p;

	WRITE_ONCE(h->maps_changed, true);
	switch (rng_below(rng, 6)) {
	case 0:
		return mprotect(page, PAGE, PROT_NONE) ? -errno : 0;
	case 1:
		return mprotect(page, PAGE, PROT_READ) ? -errno : 0;
	case 2:
		/* gone for a moment */
		if (munmap(page, PAGE))
			return -errno;
		p = mmap(page, PAGE, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_FIXED_NOREPLACE, h->memfd,
			 (off_t)i * HOSTILE_SIZE + at);
		return p == page ? 0 : -errno;
	case 3:
		/* not there, but to be had */
		return madvise(page, PAGE, MADV_DONTNEED) ? -errno : 0;
	default:
		return mprotect(page, PAGE, PROT_READ | PROT_WRITE) ? -errno : 0;
	}
}

int hostile_restore(struct hostile *h)
{
	unsigned int i;
	int err = 0;

	if (h->maps_changed) {
		for (i = 0; i < HOSTILE_REGIONS; i++)
			if (map_region(h, i, h->region[i].dev, MAP_FIXED) == MAP_FAILED)
				return said(-errno, "mmap");
		h->maps_changed = false;
	}
	if (h->table_changed) {
		err = true_table(h);
		h->table_changed = false;
	}
	return err;
}

/* ------- the device ------- */

static int set_state(struct hostile *h, unsigned long req, unsigned int queue, unsigned int num)
{
	struct vhost_vring_state s = { .index = queue, .num = num };

	return vhost_ioctl(h->fd, req, &s);
}

static int set_file(struct hostile *h, unsigned long req, unsigned int queue, int fd)
{
	struct vhost_vring_file f = { .index = queue, .fd = fd };

	return vhost_ioctl(h->fd, req, &f);
}

void hostile_kick(struct hostile *h, unsigned int queue)
{
	struct hostile_q *q = &h->q[queue];

	efd_signal(q->kick[q->kick_nr]);
}

/* a new kick eventfd makes it look, and whoever replaces one waits for the worker */
int hostile_sync(struct hostile *h, unsigned int queue)
{
	struct hostile_q *q = &h->q[queue];

	q->kick_nr ^= 1;
	return said(set_file(h, VHOST_SET_VRING_KICK, queue, q->kick[q->kick_nr]),
		    "SET_VRING_KICK");
}

int hostile_look(struct hostile *h, unsigned int queue)
{
	struct hostile_q *q = &h->q[queue];
	uint64_t n = efd_drain(q->err);

	if (!n)
		return 0;
	q->running = false;
	q->errors += n;
	h->errors += n;
	if (h->strict && q->errors > 1)
		return said(-EPROTO, "an error is signalled twice");
	return 0;
}

int hostile_detach(struct hostile *h, unsigned int queue)
{
	int err = said(set_file(h, VHOST_NET_SET_BACKEND, queue, -1), "SET_BACKEND(-1)");

	if (!err)
		err = hostile_look(h, queue);
	h->q[queue].running = false;
	return err;
}

static int attach(struct hostile *h, unsigned int queue, uint16_t base)
{
	struct hostile_q *q = &h->q[queue];
	struct vring_avail *avail = hostile_avail(h, queue);
	struct vring_used *used = hostile_used(h, queue);
	const uint8_t *at = h->region[REGION_RINGS].dev;
	struct vhost_vring_addr a = {
		.index = queue,
		.desc_user_addr = (uintptr_t)at + q->desc_at,
		.avail_user_addr = (uintptr_t)at + q->avail_at,
		.used_user_addr = (uintptr_t)at + q->used_at,
	};
	int err;

	avail->flags = 0;
	avail->idx = base;
	avail->ring[q->num] = base;
	used->idx = base;
	q->idx = base;
	q->seen = base;
	q->errors = 0;
	efd_drain(q->call);
	err = said(set_state(h, VHOST_SET_VRING_NUM, queue, q->num), "SET_VRING_NUM");
	if (!err)
		err = said(set_state(h, VHOST_SET_VRING_BASE, queue, base), "SET_VRING_BASE");
	if (!err)
		err = said(vhost_ioctl(h->fd, VHOST_SET_VRING_ADDR, &a), "SET_VRING_ADDR");
	if (!err)
		err = said(set_file(h, VHOST_NET_SET_BACKEND, queue, h->tap.fd), "SET_BACKEND");
	q->running = !err;
	return err;
}

/* ------- honest frames ------- */

/* wait until the device has used more than what was seen */
static int wait_used(struct hostile *h, unsigned int queue)
{
	struct hostile_q *q = &h->q[queue];
	struct vring_used *used = hostile_used(h, queue);
	struct pollfd p[2] = {
		{ .fd = q->call, .events = POLLIN },
		{ .fd = q->err, .events = POLLIN },
	};
	uint64_t end = now_ns() + WATCHDOG_MS * 1000000ULL;

	/* ask for the next one to be signalled */
	WRITE_ONCE(hostile_avail(h, queue)->ring[q->num], q->seen);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	while (__atomic_load_n(&used->idx, __ATOMIC_ACQUIRE) == q->seen) {
		if (now_ns() > end)
			return said(-ETIMEDOUT, queue == VQ_RX ?
				    "an honest frame does not arrive" :
				    "an honest frame does not come back");
		if (poll(p, 2, 1000) > 0 && p[1].revents & POLLIN)
			return said(-EIO, "an honest frame is called an error");
		efd_drain(q->call);
	}
	return 0;
}

static int good_tx(struct hostile *h)
{
	struct hostile_q *q = &h->q[VQ_TX];
	struct hostile_region *r = &h->region[REGION_DATA];
	uint8_t *buf = r->our + HOSTILE_TX_AT;
	static uint8_t in[FRAME_MAX + 64];
	ssize_t n;
	int err;

	memset(buf, 0, h->hdr_len);
	frame_make(buf + h->hdr_len, ++h->seq, FRAME);
	hostile_desc(h, VQ_TX)[0] = (struct vring_desc) {
		.addr = r->gpa + HOSTILE_TX_AT,
		.len = h->hdr_len + FRAME,
	};
	hostile_avail(h, VQ_TX)->ring[q->idx & (q->num - 1)] = 0;
	__atomic_store_n(&hostile_avail(h, VQ_TX)->idx, ++q->idx, __ATOMIC_RELEASE);
	hostile_kick(h, VQ_TX);
	/* behind whatever else the guest has sent */
	do {
		n = psock_recv(h->rx_sock, NULL, in, sizeof(in), WATCHDOG_MS);
		if (n <= 0)
			return said(n ? n : -ETIMEDOUT, "an honest frame does not get out");
	} while (n != FRAME || !frame_check(in, h->seq, FRAME));
	err = wait_used(h, VQ_TX);
	q->seen++;
	if (!err && READ_ONCE(hostile_used(h, VQ_TX)->idx) != q->seen)
		err = said(-EPROTO, "more is used than was available");
	return err;
}

static void post_rx(struct hostile *h, unsigned int slot)
{
	struct hostile_q *q = &h->q[VQ_RX];

	hostile_desc(h, VQ_RX)[slot] = (struct vring_desc) {
		.addr = h->region[REGION_DATA].gpa + slot * HOSTILE_RX_BUF,
		.len = HOSTILE_RX_BUF,
		.flags = VRING_DESC_F_WRITE,
	};
	hostile_avail(h, VQ_RX)->ring[q->idx & (q->num - 1)] = slot;
	__atomic_store_n(&hostile_avail(h, VQ_RX)->idx, ++q->idx, __ATOMIC_RELEASE);
}

static int good_rx(struct hostile *h)
{
	struct hostile_q *q = &h->q[VQ_RX];
	struct vring_used *used = hostile_used(h, VQ_RX);
	unsigned int n = q->num < HOSTILE_RX_BUFS ? q->num : HOSTILE_RX_BUFS, i;
	uint8_t frame[FRAME], *in;
	bool found = false;
	int err;

	for (i = 0; i < n; i++)
		post_rx(h, i);
	hostile_kick(h, VQ_RX);
	frame_make(frame, ++h->seq, FRAME);
	/* the ring of the tap may be full of what came before */
	wait_until(({
		err = psock_send(h->tx_sock, NULL, frame, FRAME);
		err != -ENOBUFS;
	}));
	if (err)
		return said(err, "cannot send to the guest");
	while (!found) {
		err = wait_used(h, VQ_RX);
		if (err)
			return err;
		while (q->seen != __atomic_load_n(&used->idx, __ATOMIC_ACQUIRE)) {
			struct vring_used_elem *e = &used->ring[q->seen & (q->num - 1)];
			uint32_t id = READ_ONCE(e->id);

			if (id >= n)
				return said(-EPROTO, "used what was not available");
			in = h->region[REGION_DATA].our + id * HOSTILE_RX_BUF + h->hdr_len;
			if (READ_ONCE(e->len) == h->hdr_len + FRAME &&
			    frame_check(in, h->seq, FRAME))
				found = true;
			q->seen++;
			post_rx(h, id);
		}
		hostile_kick(h, VQ_RX);
	}
	return 0;
}

void hostile_inject(struct hostile *h, unsigned int n)
{
	static uint8_t frame[9000];
	uint32_t len;

	while (n--) {
		/* in-tree, one that the ring can never hold blocks it for ever */
		len = !h->strict ? FRAME_MIN + rng_below(&h->rng, 1000) :
		      rng_below(&h->rng, 4) ? FRAME_MIN + rng_below(&h->rng, 1500) :
		      FRAME_MIN + rng_below(&h->rng, 8900);
		frame_make(frame, 0, len);
		/* where the ring is full it is lost, as it may be */
		psock_send(h->tx_sock, NULL, frame, len);
	}
}

int hostile_recover(struct hostile *h, unsigned int queue)
{
	int err = hostile_detach(h, queue);

	if (!err)
		err = hostile_restore(h);
	if (!err)
		err = attach(h, queue, rng_next(&h->rng));
	if (!err)
		err = queue == VQ_TX ? good_tx(h) : good_rx(h);
	return err;
}

/* ------- start, stop, change ------- */

/* the rings in RINGS, TX in its first half; each part where it may be */
static void place_ring(struct hostile *h, unsigned int queue)
{
	struct hostile_q *q = &h->q[queue];
	uint32_t at = queue * HOSTILE_SIZE / 2;
	struct rng *r = &h->rng;

	q->num = nums[rng_below(r, ARRAY_LEN(nums))];
	q->desc_at = at + rng_below(r, 256) * 16;
	at = q->desc_at + q->num * 16;
	q->avail_at = at + rng_below(r, 2048) * 2;
	at = q->avail_at + 6 + q->num * 2;
	q->used_at = ((at + 3) & ~3U) + rng_below(r, 2048) * 4;
}

int hostile_reshape(struct hostile *h)
{
	int err, i, hdr;

	for (i = 0; i < 2; i++) {
		err = hostile_detach(h, i);
		if (err)
			return err;
	}
	err = hostile_restore(h);
	if (err)
		return err;
	h->features = shapes[rng_below(&h->rng, ARRAY_LEN(shapes))];
	hdr = h->features & (F_MRG_RXBUF | F_VERSION_1) ? 12 : 10;
	h->hdr_len = hdr;
	err = said(vhost_ioctl(h->fd, VHOST_SET_FEATURES, &h->features), "SET_FEATURES");
	if (!err && ioctl(h->tap.fd, TUNSETVNETHDRSZ, &hdr) < 0)
		err = said(-errno, "TUNSETVNETHDRSZ");
	for (i = 0; i < 2 && !err; i++) {
		place_ring(h, i);
		err = attach(h, i, rng_next(&h->rng));
	}
	if (!err)
		err = good_tx(h);
	return err ? err : good_rx(h);
}

static int queue_setup(struct hostile *h, unsigned int queue)
{
	struct hostile_q *q = &h->q[queue];
	int i, err;

	for (i = 0; i < 2; i++)
		q->kick[i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	q->call = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	q->err = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (q->kick[0] < 0 || q->kick[1] < 0 || q->call < 0 || q->err < 0)
		return said(-errno, "eventfd");
	place_ring(h, queue);
	err = set_file(h, VHOST_SET_VRING_KICK, queue, q->kick[0]);
	if (!err)
		err = set_file(h, VHOST_SET_VRING_CALL, queue, q->call);
	if (!err)
		err = set_file(h, VHOST_SET_VRING_ERR, queue, q->err);
	return said(err, "eventfds");
}

int hostile_start(struct hostile *h)
{
	int i, err;

	memset(h, 0, sizeof(*h));
	h->tap.fd = -1;
	h->tx_sock = -1;
	h->rx_sock = -1;
	h->memfd = -1;
	for (i = 0; i < 2; i++) {
		h->q[i].kick[0] = -1;
		h->q[i].kick[1] = -1;
		h->q[i].call = -1;
		h->q[i].err = -1;
	}
	h->strict = node_is_vhost_tap();
	h->fd = node_open(O_RDWR);
	if (h->fd < 0)
		return said(h->fd, node_path());
	err = said(mem_setup(h), "memory");
	if (!err)
		err = said(tap_open(&h->tap, NULL, 0, 10), "tap");
	if (!err)
		err = said(tap_set_mtu(&h->tap, 9000), "mtu");
	if (!err)
		err = said(tap_set_up(&h->tap, true), "up");
	if (err)
		return err;
	h->tx_sock = psock_sender(h->tap.ifindex, false);
	h->rx_sock = psock_receiver(h->tap.ifindex, false);
	if (h->tx_sock < 0 || h->rx_sock < 0)
		return said(-EIO, "packet sockets");
	err = said(vhost_ioctl(h->fd, VHOST_SET_OWNER, NULL), "SET_OWNER");
	if (!err)
		err = true_table(h);
	for (i = 0; i < 2 && !err; i++)
		err = queue_setup(h, i);
	return err;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

void hostile_stop(struct hostile *h)
{
	unsigned int i;

	close_fd(&h->fd);
	for (i = 0; i < 2; i++) {
		close_fd(&h->q[i].kick[0]);
		close_fd(&h->q[i].kick[1]);
		close_fd(&h->q[i].call);
		close_fd(&h->q[i].err);
	}
	close_fd(&h->tx_sock);
	close_fd(&h->rx_sock);
	tap_close(&h->tap);
	for (i = 0; i < HOSTILE_REGIONS; i++) {
		if (!h->region[i].dev)
			continue;
		munmap(h->region[i].our, HOSTILE_SIZE);
		munmap(h->region[i].dev - 2 * PAGE, HOSTILE_SIZE + 4 * PAGE);
	}
	close_fd(&h->memfd);
}
