// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls and queues whose allocations and copies fail. Each call is made with its
 * first one failing, its second, and so on until there is none left to fail: every
 * time it must say so, leave in force what was in force, and lose nothing. Queues must
 * go on without a frame where the memory for it was missing, and without missing
 * one once there is memory again. Needs a kernel with fault injection; skips on others.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "counters.h"
#include "env.h"
#include "faults.h"
#include "load.h"
#include "nl.h"
#include "variants.h"

/* a call that still has something to fail after that many is never done */
#define MOST	1000

FIXTURE(fault)
{
	struct guest g;
	struct load l;
	bool loaded;
	const char *unable;
};

FIXTURE_SETUP(fault)
{
	int err = faults_init();

	memset(&self->g, 0, sizeof(self->g));
	self->loaded = false;
	self->unable = err ? "no fault injection in this kernel" : NULL;
	if (err)
		return;
	ASSERT_EQ(0, netns_private());
}

FIXTURE_TEARDOWN(fault)
{
	unsigned int k;

	for (k = 0; k < FAULT_KINDS; k++)
		faults_rate(k, 0);
	if (self->loaded)
		load_abandon(&self->l);
	if (self->g.dev.fd > 0)
		guest_stop(&self->g);
}

static const struct guest_cfg cfg = {
	.features = F_MODERN,
	.buf = { 2048, 2048 },
};

/* what a call may answer when memory or a copy was missing */
static bool says_so(int r)
{
	return r == -ENOMEM || r == -EFAULT || r == -ENFILE || r == -ENOBUFS;
}

/* ------- opening and owning ------- */

static int open_close(void *arg)
{
	int fd = node_open(O_RDWR);

	if (fd < 0)
		return fd;
	close(fd);
	return 0;
}

TEST_F_TIMEOUT(fault, open, 60)
{
	int fds = count_open_fds(), r;
	unsigned int n, failed = 0;
	bool hit = true;

	SKIP_IF_UNABLE();
	for (n = 1; hit && n < MOST; n++) {
		r = faults_nth(n, open_close, NULL, &hit);
		ASSERT_TRUE(!r || (hit && says_so(r))) {
			TH_LOG("fault %u: %s", n, strerror(-r));
		}
		failed += !!r;
	}
	EXPECT_FALSE(hit);
	EXPECT_LT(0, failed);
	EXPECT_EQ(fds, count_open_fds());
	EXPECT_EQ(0, open_close(NULL));
}

static int set_owner(void *arg)
{
	return vdev_set_owner(arg);
}

/* every way in which SET_OWNER can fail, and then it must work: 0, or what did not */
static int own_with_faults(int memfd, unsigned int *failed)
{
	bool hit = true;
	unsigned int n;
	struct vdev v;
	int r;

	if (mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0) == MAP_FAILED)
		return 1;
	for (n = 1; hit && n < MOST; n++) {
		if (vdev_open(&v))
			return 2;
		r = faults_nth(n, set_owner, &v, &hit);
		if (r && !(hit && says_so(r))) {
			fprintf(stderr, "# fault %u: %s\n", n, strerror(-r));
			return 3;
		}
		if (r) {
			(*failed)++;
			/* nobody owns it */
			if (vdev_set_base(&v, 0, 1) != -EPERM)
				return 4;
			if (!wait_until(!worker_of(getpid())))
				return 5;
			if (vdev_set_owner(&v))
				return 6;
		}
		if (!worker_of(getpid()))
			return 7;
		vdev_close(&v);
	}
	return hit ? 8 : *failed < 3 ? 9 : 0;
}

/*
 * A device whose SET_OWNER failed belongs to nobody and can be owned. And no user is
 * left of the memory of a process that has ended, which shows by a file of memory that
 * cannot be sealed as long as anybody could write to it.
 */
TEST_F_TIMEOUT(fault, set_owner, 120)
{
	int memfd = memfd_create("owner", MFD_ALLOW_SEALING | MFD_CLOEXEC), status;
	unsigned int failed = 0;
	pid_t pid;

	SKIP_IF_UNABLE();
	ASSERT_GE(memfd, 0);
	ASSERT_EQ(0, ftruncate(memfd, 4096));
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid)
		_exit(own_with_faults(memfd, &failed));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status) {
		TH_LOG("the owner failed at %d", WEXITSTATUS(status));
	}
	EXPECT_TRUE(wait_until(!fcntl(memfd, F_ADD_SEALS, F_SEAL_WRITE))) {
		TH_LOG("its memory is still in use");
	}
	close(memfd);
}

/* ------- calls on a device that has an owner ------- */

/* one ioctl, ready to be made; how to see that it has not happened; how to undo it */
struct change {
	const char *what;
	unsigned long req;
	void *arg;
	int (*not_done)(struct guest *g);
	int (*undo)(struct guest *g);
	bool for_good;		/* done once, it cannot be done again */
	int fd;			/* of the device */
};

static int do_change(void *arg)
{
	struct change *c = arg;

	return vhost_ioctl(c->fd, c->req, c->arg);
}

/* 0 when all is as it must be */
static int with_faults(struct guest *g, struct change *c)
{
	unsigned int n, failed = 0;
	bool hit = true;
	int r, err = 0;

	c->fd = g->dev.fd;
	for (n = 1; hit && !err && n < MOST; n++) {
		r = faults_nth(n, do_change, c, &hit);
		if (r && !(hit && says_so(r))) {
			fprintf(stderr, "# %s: fault %u: %s\n", c->what, n, strerror(-r));
			return r;
		}
		failed += !!r;
		if (r)
			err = c->not_done(g);
		else if (c->undo)
			err = c->undo(g);
		if (err)
			fprintf(stderr, "# %s: after fault %u, which it %s: %s\n", c->what, n,
				r ? "told" : "survived", strerror(-err));
		if (!r && c->for_good)
			hit = false;
	}
	if (!err && (hit || !failed)) {
		fprintf(stderr, "# %s: %u of %u faults told\n", c->what, failed, n - 1);
		err = -EDOM;
	}
	return err;
}

#define WITH_FAULTS(s, change)	ASSERT_EQ(0, with_faults(&(s)->g, change))

static int old_table(struct guest *g)
{
	return vdev_set_mem(&g->dev, &g->mem);
}

/* the new one knows no place where this guest has anything */
TEST_F_TIMEOUT(fault, set_mem_table, 60)
{
	struct vhost_memory *t = calloc(1, sizeof(*t) + 3 * sizeof(t->regions[0]));
	struct change c = {
		.what = "SET_MEM_TABLE",
		.req = VHOST_SET_MEM_TABLE,
		.arg = t,
		.not_done = load_check,
		.undo = old_table,
	};
	unsigned int i;

	SKIP_IF_UNABLE();
	ASSERT_NE(NULL, t);
	t->nregions = 3;
	for (i = 0; i < t->nregions; i++) {
		t->regions[i].guest_phys_addr = (1ULL << 40) + (i << 20);
		t->regions[i].memory_size = 1 << 20;
		t->regions[i].userspace_addr = 1 << 30;
	}
	START_GUEST(&self->g, &cfg);
	WITH_FAULTS(self, &c);
	EXPECT_EQ(0, load_check(&self->g));
	free(t);
}

static int old_features(struct guest *g)
{
	return vdev_set_features(&g->dev, g->cfg.features);
}

static int old_kick(struct guest *g)
{
	return vdev_set_kick(&g->dev, VQ_TX, g->q[VQ_TX].ring->kick_fd);
}

static int old_call(struct guest *g)
{
	return vdev_set_call(&g->dev, VQ_RX, g->q[VQ_RX].ring->call_fd);
}

static int old_err(struct guest *g)
{
	return vdev_set_err(&g->dev, VQ_RX, g->q[VQ_RX].ring->err_fd);
}

static int no_busyloop(struct guest *g)
{
	return vdev_set_busyloop(&g->dev, VQ_TX, 0);
}

static int old_addr(struct guest *g)
{
	return vdev_set_addr(&g->dev, VQ_RX, g->q[VQ_RX].ring);
}

static int old_backend(struct guest *g)
{
	int r = vdev_set_backend(&g->dev, VQ_RX, g->tap.fd);

	return r ? r : load_check(g);
}

/* what may be changed while frames pass, under the eyes of traffic */
TEST_F_TIMEOUT(fault, running_queue, 120)
{
	uint64_t features = 0, offered, log_base = 4096;
	struct vhost_vring_file kick = { .index = VQ_TX }, call = { .index = VQ_RX };
	struct vhost_vring_file err = { .index = VQ_RX }, backend = { .index = VQ_RX };
	struct vhost_vring_state loop = { .index = VQ_TX, .num = 10 };
	struct vhost_vring_state base = { .index = VQ_TX };
	struct vhost_vring_addr addr = { .index = VQ_RX };
	int efd;
	struct change change[] = {
		{ "SET_FEATURES", VHOST_SET_FEATURES, &features, load_check, old_features },
		{ "GET_FEATURES", VHOST_GET_FEATURES, &offered, load_check },
		{ "SET_VRING_KICK", VHOST_SET_VRING_KICK, &kick, load_check, old_kick },
		{ "SET_VRING_CALL", VHOST_SET_VRING_CALL, &call, load_check, old_call },
		{ "SET_VRING_ERR", VHOST_SET_VRING_ERR, &err, load_check, old_err },
		{ "SET_VRING_ADDR", VHOST_SET_VRING_ADDR, &addr, load_check, old_addr },
		{ "GET_VRING_BASE", VHOST_GET_VRING_BASE, &base, load_check },
		{ "SET_VRING_BUSYLOOP_TIMEOUT", VHOST_SET_VRING_BUSYLOOP_TIMEOUT, &loop,
		  load_check, no_busyloop },
		{ "SET_BACKEND", VHOST_NET_SET_BACKEND, &backend, load_check, old_backend },
		{ "SET_BACKEND, the same", VHOST_NET_SET_BACKEND, &backend, load_check },
		{ "SET_LOG_BASE", VHOST_SET_LOG_BASE, &log_base, load_check },
	};
	struct tap other;
	unsigned int i;

	SKIP_IF_UNABLE();
	START_GUEST(&self->g, &cfg);
	efd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	ASSERT_GE(efd, 0);
	ASSERT_EQ(0, tap_open(&other, NULL, 0, self->g.hdr_len));
	ASSERT_EQ(0, tap_set_up(&other, true));
	kick.fd = efd;
	call.fd = efd;
	err.fd = efd;
	/* a ring that is another queue's */
	addr.desc_user_addr = (uintptr_t)self->g.q[VQ_TX].ring->desc;
	addr.avail_user_addr = (uintptr_t)self->g.q[VQ_TX].ring->avail;
	addr.used_user_addr = (uintptr_t)self->g.q[VQ_TX].ring->used;
	for (i = 0; i < ARRAY_LEN(change); i++) {
		backend.fd = strcmp(change[i].what, "SET_BACKEND") ? self->g.tap.fd : other.fd;
		WITH_FAULTS(self, &change[i]);
	}
	EXPECT_EQ(0, load_check(&self->g));
	/* nor is a file kept by a call that failed */
	tap_close(&other);
	EXPECT_TRUE(wait_until(!if_nametoindex(other.name)));
	close(efd);
}

/* it still has the base, the size and the ring that it had */
static int still_works(struct guest *g)
{
	int err;

	if (vdev_get_base(&g->dev, VQ_RX) != g->q[VQ_RX].ring->last_used)
		return -ECHRNG;
	err = guest_attach(g, g->tap.fd);
	if (!err)
		err = load_check(g);
	return err ? err : guest_detach(g);
}

/* only a queue that is stopped lets its base be set */
static int still_stopped(struct guest *g)
{
	return vdev_set_base(&g->dev, VQ_RX, g->q[VQ_RX].ring->last_used);
}

static int stop_again(struct guest *g)
{
	return guest_detach(g);
}

static int all_again(struct guest *g)
{
	return vdev_ring_tell(&g->dev, VQ_RX);
}

TEST_F_TIMEOUT(fault, stopped_queue, 120)
{
	struct vhost_vring_state num = { .index = VQ_RX, .num = 1024 };
	struct vhost_vring_state base = { .index = VQ_RX, .num = 7777 };
	struct vhost_vring_addr addr = { .index = VQ_RX };
	struct vhost_vring_file backend = { .index = VQ_RX };
	struct change change[] = {
		{ "SET_VRING_NUM", VHOST_SET_VRING_NUM, &num, still_works, all_again },
		{ "SET_VRING_BASE", VHOST_SET_VRING_BASE, &base, still_works, all_again },
		{ "SET_VRING_ADDR", VHOST_SET_VRING_ADDR, &addr, still_works, all_again },
		{ "SET_BACKEND", VHOST_NET_SET_BACKEND, &backend, still_stopped, stop_again },
	};
	unsigned int i;

	SKIP_IF_UNABLE();
	START_GUEST(&self->g, &cfg);
	ASSERT_EQ(0, load_check(&self->g));
	ASSERT_EQ(0, guest_detach(&self->g));
	backend.fd = self->g.tap.fd;
	for (i = 0; i < ARRAY_LEN(change); i++)
		WITH_FAULTS(self, &change[i]);
	EXPECT_EQ(0, still_works(&self->g));
}

/* RESET_OWNER that failed: the old owner goes on as if nothing had been */
TEST_F_TIMEOUT(fault, reset_owner, 60)
{
	struct change c = {
		.what = "RESET_OWNER",
		.req = VHOST_RESET_OWNER,
		.not_done = load_check,
		.for_good = true,
	};

	SKIP_IF_UNABLE();
	START_GUEST(&self->g, &cfg);
	WITH_FAULTS(self, &c);
	EXPECT_EQ(-EPERM, vdev_set_backend(&self->g.dev, VQ_RX, self->g.tap.fd));
	EXPECT_EQ(0, vdev_set_owner(&self->g.dev));
}

/* ------- asking for counters ------- */

static bool count_queue(const struct nl_queue *q, void *arg)
{
	(*(unsigned int *)arg)++;
	return true;
}

static int dump_queues(void *arg)
{
	unsigned int n = 0;
	int r = nl_queue_dump(NL_ALL, count_queue, &n);

	/* all or an error, never a part that looks like all */
	return r ? r : n == 2 ? 0 : -EBADMSG;
}

static int get_device(void *arg)
{
	struct nl_dev d;

	return nl_dev_get(*(uint64_t *)arg, &d);
}

TEST_F_TIMEOUT(fault, netlink, 120)
{
	static int (*const ask[])(void *) = { dump_queues, get_device };
	unsigned int i, n, failed;
	struct nl_dev d;
	uint64_t id;
	bool hit;
	int r;

	SKIP_IF_UNABLE();
	if (!node_is_vhost_tap())
		SKIP(return, "in-tree vhost_net has no netlink family");
	START_GUEST(&self->g, &cfg);
	ASSERT_EQ(0, nl_dev_of(getpid(), &d));
	id = d.id;
	for (i = 0; i < ARRAY_LEN(ask); i++) {
		hit = true;
		failed = 0;
		for (n = 1; hit && n < MOST; n++) {
			r = faults_nth(n, ask[i], &id, &hit);
			ASSERT_TRUE(!r || (hit && says_so(r))) {
				TH_LOG("request %u, fault %u: %s", i, n, strerror(-r));
			}
			failed += !!r;
		}
		EXPECT_FALSE(hit);
		EXPECT_LT(0, failed);
		EXPECT_EQ(0, ask[i](&id));
	}
	EXPECT_EQ(0, load_check(&self->g));
}

/* ------- running queues ------- */

/* what the worker writes to is there already: else a fault there is the guest's */
static void touch(struct guest *g)
{
	unsigned int i;

	for (i = 0; i < 2; i++)
		memset(g->q[i].buf_hva, 0, (size_t)g->q[i].slots * g->q[i].stride);
}

/* the worker, whose allocations and copies are to fail */
static int mark_worker(void)
{
	pid_t worker = worker_of(getpid());

	return worker ? faults_mark(worker, true) : -ESRCH;
}

/*
 * Not a byte of memory from the first frame on: TX tries again, and drops what it has
 * tried for long. Of the rest nothing is lost, once there is memory.
 */
TEST_F_TIMEOUT(fault, tx_without_memory, 60)
{
	uint8_t frame[FRAME_MAX];
	uint64_t drops, k;

	SKIP_IF_UNABLE();
	SKIP_IN_TREE("a frame without memory stops the queue until the next kick");
	START_GUEST(&self->g, &cfg);
	touch(&self->g);
	ASSERT_EQ(0, mark_worker());
	ASSERT_EQ(0, faults_rate(FAULT_PAGE, 100));
	ASSERT_EQ(0, faults_rate(FAULT_SLAB, 100));
	for (k = 0; k < 20; k++) {
		frame_make(frame, k, 100);
		ASSERT_EQ(0, guest_tx(&self->g, NULL, frame, 100));
	}
	guest_tx_flush(&self->g);
	ASSERT_TRUE(wait_counter(VQ_TX, Q_DROP(q, NOMEM) > 0));
	ASSERT_EQ(0, faults_rate(FAULT_PAGE, 0));
	ASSERT_EQ(0, faults_rate(FAULT_SLAB, 0));
	ASSERT_EQ(0, guest_tx_sync(&self->g)) {
		TH_LOG("%u heads were lost", self->g.q[VQ_TX].ring->outstanding);
	}
	ASSERT_TRUE(wait_counter(VQ_TX, Q_DROP(q, NOMEM) + Q_STAT(q, PACKETS) == 20));
	drops = Q_DROP(counters_of(VQ_TX), NOMEM);
	for (k = drops; k < 20; k++) {
		ASSERT_EQ(100, psock_recv(self->g.rx_sock, NULL, frame, sizeof(frame),
					  WATCHDOG_MS));
		ASSERT_TRUE(frame_check(frame, k, 100));
	}
	EXPECT_EQ(0, load_check(&self->g));
}

/*
 * The worker finds no memory now and then: frames may go missing, heads may not, and
 * nothing comes twice or late. With memory all is well again.
 */
TEST_F_TIMEOUT(fault, worker_without_memory, 120)
{
	static const enum fault_kind kind[] = { FAULT_SLAB, FAULT_PAGE };
	static const unsigned int percent[] = { 5, 50, 100 };
	unsigned int i, k, q;

	SKIP_IF_UNABLE();
	START_GUEST(&self->g, &cfg);
	touch(&self->g);
	ASSERT_EQ(0, load_check(&self->g));
	ASSERT_EQ(0, mark_worker());

	memset(&self->l, 0, sizeof(self->l));
	for (q = 0; q < 2; q++) {
		self->l.way[q].on = true;
		self->l.way[q].lossy = true;
	}
	ASSERT_EQ(0, load_start(&self->l, &self->g));
	self->loaded = true;
	for (i = 0; i < ARRAY_LEN(kind); i++) {
		for (k = 0; k < ARRAY_LEN(percent); k++) {
			ASSERT_EQ(0, faults_rate(kind[i], percent[k]));
			for (q = 0; q < 2; q++)
				ASSERT_EQ(0, load_wait_sent(&self->l, q, env_volume(4000)));
			ASSERT_EQ(0, faults_rate(kind[i], 0));
			ASSERT_EQ(0, load_wait(&self->l, 10));
		}
	}
	self->loaded = false;
	ASSERT_EQ(0, load_stop(&self->l));
	TH_LOG("%llu of %llu frames came out, %llu of %llu went in",
	       (unsigned long long)self->l.way[VQ_TX].got,
	       (unsigned long long)self->l.way[VQ_TX].sent,
	       (unsigned long long)self->l.way[VQ_RX].got,
	       (unsigned long long)self->l.way[VQ_RX].sent);
	/* every head has come back */
	EXPECT_EQ(0, guest_tx_sync(&self->g));
	EXPECT_EQ(0, self->g.q[VQ_TX].ring->outstanding);
	EXPECT_EQ(0, load_check(&self->g));
}

/* a guest that boots anew, on rings that begin at 0 */
static int reboot(struct guest *g)
{
	unsigned int i, k;
	int err = guest_detach(g);

	for (k = 0; !err && k < 2; k++) {
		struct guest_q *q = &g->q[k];

		ring_split_reset(q->ring, 0);
		for (i = 0; i < q->slots; i++)
			q->free[i] = i;
		q->nfree = q->slots;
		err = vdev_ring_tell(&g->dev, k);
		efd_drain(q->ring->err_fd);
	}
	if (err)
		return err;
	guest_rx_fill(g);
	err = guest_new_tap(g);
	return err ? err : guest_attach(g, g->tap.fd);
}

/*
 * The worker cannot copy: as where the guest's memory is gone, that queue stops and
 * says so, without using what it has not copied. A restart heals it. The copies that
 * can be made to fail are those of the socket, which sends what the module has no
 * buffer for, as a device that has not sent yet when there is no page.
 */
TEST_F_TIMEOUT(fault, tx_cannot_copy, 60)
{
	struct guest_q *q = &self->g.q[VQ_TX];
	uint8_t frame[100];
	unsigned int round;

	SKIP_IF_UNABLE();
	SKIP_IN_TREE("it drops the frame");
	for (round = 0; round < 3; round++) {
		START_GUEST(&self->g, &cfg);
		touch(&self->g);
		ASSERT_EQ(0, mark_worker());
		ASSERT_EQ(0, faults_rate(FAULT_PAGE, 100));
		ASSERT_EQ(0, faults_rate(FAULT_COPY, 100));
		frame_make(frame, round, sizeof(frame));
		ASSERT_EQ(0, guest_tx(&self->g, NULL, frame, sizeof(frame)));
		guest_tx_flush(&self->g);
		ASSERT_EQ(0, efd_wait(q->ring->err_fd, WATCHDOG_MS));
		ASSERT_EQ(0, faults_rate(FAULT_PAGE, 0));
		ASSERT_EQ(0, faults_rate(FAULT_COPY, 0));
		EXPECT_EQ(0, READ_ONCE(q->ring->used->idx));
		ASSERT_EQ(0, reboot(&self->g));
		EXPECT_EQ(0, load_check(&self->g));
		guest_stop(&self->g);
	}
}

/* ------- leaks ------- */

/* what all of that has lost, and whatever ran before it: tests run in this order */
TEST_F_TIMEOUT(fault, nothing_leaked, 120)
{
	int found = leaks_found();

	SKIP_IF_UNABLE();
	if (found == -ENOENT)
		SKIP(return, "no kmemleak in this kernel");
	EXPECT_EQ(0, found);
}

TEST_HARNESS_MAIN
