// SPDX-License-Identifier: GPL-2.0-only
/*
 * Devices with more than one worker: what the calls about workers answer,
 * queues that are served side by side, that move from one worker to another
 * under load, workers that are freed, and what becomes of all that when the
 * owner does.
 *
 * The answers are those of the kernel's vhost core. In-tree vhost_net has no such
 * calls; vhost_scsi has, and the tests of fixture `calls` run on its node, too.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "counters.h"
#include "load.h"
#include "variants.h"

#define BAD_PTR	((void *)0x10)
#define NO_ID	12345
#define NO_VQ	1000

/* before there is an owner; with one the calls are as old as the kernel's UAPI */
static bool have_calls(void)
{
	struct vdev v;
	int r;

	if (vdev_open(&v))
		return false;
	r = vdev_get_worker(&v, 0);
	vdev_close(&v);
	return r == -EINVAL;
}

#define NEED_CALLS() do {						\
	if (!have_calls())						\
		SKIP(return, "no calls about workers here");		\
} while (0)

/* ------- the calls ------- */

FIXTURE(calls)
{
	struct vdev v;
};

FIXTURE_SETUP(calls)
{
	ASSERT_EQ(0, vdev_open(&self->v));
}

FIXTURE_TEARDOWN(calls)
{
	vdev_close(&self->v);
}

TEST_F(calls, without_an_owner)
{
	struct vdev *v = &self->v;

	NEED_CALLS();
	EXPECT_EQ(-EINVAL, vdev_new_worker(v));
	EXPECT_EQ(-EINVAL, vdev_free_worker(v, 0));
	EXPECT_EQ(-EINVAL, vdev_attach_worker(v, 0, 0));
	EXPECT_EQ(-EINVAL, vdev_get_worker(v, NO_VQ));
	EXPECT_EQ(-EINVAL, vhost_ioctl(v->fd, VHOST_NEW_WORKER, BAD_PTR));
	/* and once more after there was one */
	ASSERT_EQ(0, vdev_set_owner(v));
	EXPECT_LE(0, vdev_get_worker(v, 0));
	if (node_is_vhost_tap()) {
		ASSERT_EQ(0, vdev_reset_owner(v));
		EXPECT_EQ(-EINVAL, vdev_get_worker(v, 0));
		EXPECT_EQ(-EINVAL, vdev_new_worker(v));
	}
}

TEST_F(calls, somebody_else)
{
	struct vdev *v = &self->v;
	int status;
	pid_t pid;

	NEED_CALLS();
	ASSERT_EQ(0, vdev_set_owner(v));
	pid = fork();
	if (!pid)
		_exit(vdev_new_worker(v) != -EPERM ||
		      vdev_free_worker(v, 0) != -EPERM ||
		      vdev_attach_worker(v, 0, 0) != -EPERM ||
		      vdev_get_worker(v, 0) != -EPERM);
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

TEST_F(calls, wrong_arguments)
{
	struct vdev *v = &self->v;
	int first;

	NEED_CALLS();
	ASSERT_EQ(0, vdev_set_owner(v));
	first = vdev_get_worker(v, 0);
	EXPECT_EQ(first, vdev_get_worker(v, 1));
	EXPECT_EQ(-ENOBUFS, vdev_get_worker(v, NO_VQ));
	EXPECT_EQ(-ENOBUFS, vdev_attach_worker(v, NO_VQ, first));
	EXPECT_EQ(-ENOBUFS, vdev_attach_worker(v, NO_VQ, NO_ID));
	EXPECT_EQ(-ENODEV, vdev_attach_worker(v, 0, NO_ID));
	EXPECT_EQ(-ENODEV, vdev_attach_worker(v, 0, -1));
	EXPECT_EQ(-ENODEV, vdev_attach_worker(v, 0, first + 1));
	EXPECT_EQ(-ENODEV, vdev_free_worker(v, NO_ID));
	EXPECT_EQ(-ENODEV, vdev_free_worker(v, -1));
	EXPECT_EQ(-EFAULT, vhost_ioctl(v->fd, VHOST_FREE_WORKER, BAD_PTR));
	EXPECT_EQ(-EFAULT, vhost_ioctl(v->fd, VHOST_ATTACH_VRING_WORKER,
				       BAD_PTR));
	EXPECT_EQ(-EFAULT, vhost_ioctl(v->fd, VHOST_GET_VRING_WORKER, BAD_PTR));
	EXPECT_EQ(-EFAULT, vhost_ioctl(v->fd, VHOST_NEW_WORKER, BAD_PTR));
	EXPECT_EQ(first, vdev_get_worker(v, 0));
	/* nobody can free one that nobody knows of */
	if (node_is_vhost_tap())
		EXPECT_EQ(-ENODEV, vdev_free_worker(v, first + 1));
}

TEST_F(calls, life_of_a_worker)
{
	struct vdev *v = &self->v;
	int first, a, b;

	NEED_CALLS();
	ASSERT_EQ(0, vdev_set_owner(v));
	first = vdev_get_worker(v, 0);
	a = vdev_new_worker(v);
	b = vdev_new_worker(v);
	ASSERT_LE(0, a);
	ASSERT_LE(0, b);
	EXPECT_NE(first, a);
	EXPECT_NE(first, b);
	EXPECT_NE(a, b);
	/* new ones serve nobody */
	EXPECT_EQ(first, vdev_get_worker(v, 0));
	EXPECT_EQ(first, vdev_get_worker(v, 1));
	EXPECT_EQ(-EBUSY, vdev_free_worker(v, first));
	EXPECT_EQ(0, vdev_free_worker(v, b));
	EXPECT_EQ(-ENODEV, vdev_free_worker(v, b));
	EXPECT_EQ(-ENODEV, vdev_attach_worker(v, 0, b));

	EXPECT_EQ(0, vdev_attach_worker(v, 0, a));
	EXPECT_EQ(a, vdev_get_worker(v, 0));
	EXPECT_EQ(first, vdev_get_worker(v, 1));
	EXPECT_EQ(-EBUSY, vdev_free_worker(v, a));
	/* where it is already */
	EXPECT_EQ(0, vdev_attach_worker(v, 0, a));
	EXPECT_EQ(-EBUSY, vdev_free_worker(v, a));
	EXPECT_EQ(0, vdev_attach_worker(v, 0, first));
	EXPECT_EQ(0, vdev_free_worker(v, a));
	EXPECT_EQ(first, vdev_get_worker(v, 0));
}

/* the one that came with the owner is no better than others */
TEST_F(calls, first_worker_freed)
{
	struct vdev *v = &self->v;
	unsigned int i;
	int first, a;

	NEED_CALLS();
	if (!node_is_vhost_tap())
		SKIP(return, "it may have more queues than two");
	ASSERT_EQ(0, vdev_set_owner(v));
	first = vdev_get_worker(v, 0);
	a = vdev_new_worker(v);
	ASSERT_LE(0, a);
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(-EBUSY, vdev_free_worker(v, first));
		EXPECT_EQ(0, vdev_attach_worker(v, i, a));
	}
	EXPECT_EQ(0, vdev_free_worker(v, first));
	EXPECT_EQ(-ENODEV, vdev_attach_worker(v, 0, first));
	EXPECT_EQ(a, vdev_get_worker(v, 0));
	EXPECT_EQ(a, vdev_get_worker(v, 1));
}

/* threads of the kernel count against no limit of their owner: there is another */
TEST_F(calls, not_without_end)
{
	pid_t pids[64];
	unsigned int n;
	int r = 0;

	NEED_CALLS();
	if (!node_is_vhost_tap())
		SKIP(return, "its workers count as the owner's threads");
	ASSERT_EQ(0, vdev_set_owner(&self->v));
	for (n = 1; n < 60 && r >= 0; n++)
		r = vdev_new_worker(&self->v);
	EXPECT_EQ(-ENOMEM, r);
	EXPECT_EQ(n - 1, workers_of(getpid(), pids, 64));
	EXPECT_EQ(0, vdev_free_worker(&self->v, 1));
	EXPECT_EQ(1, vdev_new_worker(&self->v));
	/* and all go with the owner */
	EXPECT_EQ(0, vdev_reset_owner(&self->v));
	EXPECT_TRUE(wait_until(!worker_of(getpid())));
}

/* ------- traffic ------- */

FIXTURE(worker)
{
	struct guest g;
	struct load l;
	bool loaded;
};

FIXTURE_SETUP(worker)
{
	memset(&self->g, 0, sizeof(self->g));
	self->loaded = false;
	ASSERT_EQ(0, netns_private());
}

FIXTURE_TEARDOWN(worker)
{
	if (self->loaded)
		load_abandon(&self->l);
	if (self->g.dev.fd > 0)
		guest_stop(&self->g);
}

static const struct guest_cfg cfg = {
	.features = F_MODERN,
	.buf = { 2048, 2048 },
};

/* a worker more; its thread, which is none of those before */
static int new_worker(struct guest *g, pid_t *tid)
{
	pid_t before[16], after[16];
	unsigned int n = workers_of(getpid(), before, 16), m, i, k;
	int id = vdev_new_worker(&g->dev);

	m = workers_of(getpid(), after, 16);
	*tid = 0;
	for (i = 0; i < m; i++) {
		for (k = 0; k < n && before[k] != after[i]; k++)
			;
		if (k == n)
			*tid = after[i];
	}
	return id;
}

TEST_F_TIMEOUT(worker, a_worker_each, 60)
{
	struct vdev *v = &self->g.dev;
	uint64_t rx, tx;
	pid_t first, second;

	NEED_CALLS();
	START_GUEST(&self->g, &cfg);
	first = worker_of(getpid());
	ASSERT_EQ(1, new_worker(&self->g, &second));
	ASSERT_NE(0, second);
	ASSERT_EQ(0, vdev_attach_worker(v, VQ_TX, 1));
	ASSERT_EQ(0, load_start_both(&self->l, &self->g));
	self->loaded = true;
	ASSERT_EQ(0, load_wait(&self->l, 1000));
	rx = cpu_ns(first);
	tx = cpu_ns(second);
	ASSERT_EQ(0, load_wait(&self->l, 20000));
	/* both have their part of it */
	EXPECT_LT(rx, cpu_ns(first));
	EXPECT_LT(tx, cpu_ns(second));
	EXPECT_EQ(0, load_stop(&self->l));
	self->loaded = false;

	/* frames in one direction are no work of the other one's worker */
	tx = cpu_ns(second);
	memset(&self->l, 0, sizeof(self->l));
	self->l.way[VQ_RX].on = true;
	self->l.way[VQ_RX].limit = 5000;
	ASSERT_EQ(0, load_start(&self->l, &self->g));
	self->loaded = true;
	EXPECT_EQ(0, load_finish(&self->l));
	self->loaded = false;
	EXPECT_EQ(tx, cpu_ns(second));
}

/* nothing is lost, doubled or late, whichever way it moves, and with what */
static void move_around(struct __test_metadata *_metadata, struct guest *g,
			struct load *l, unsigned int moves)
{
	struct rng rng = { .s = 7 };
	int id[3] = { 0 };
	unsigned int i;

	for (i = 1; i < 3; i++) {
		id[i] = vdev_new_worker(&g->dev);
		ASSERT_LE(0, id[i]);
	}
	for (i = 0; i < moves; i++) {
		ASSERT_EQ(0, vdev_attach_worker(&g->dev, rng_below(&rng, 2),
						id[rng_below(&rng, 3)]));
		if (!(i % 8))
			ASSERT_EQ(0, load_wait(l, 50));
	}
}

TEST_F_TIMEOUT(worker, moved_under_load, 90)
{
	NEED_CALLS();
	START_GUEST(&self->g, &cfg);
	ASSERT_EQ(0, load_start_both(&self->l, &self->g));
	self->loaded = true;
	move_around(_metadata, &self->g, &self->l, 400);
	EXPECT_EQ(0, load_stop(&self->l));
	self->loaded = false;
	EXPECT_EQ(0, load_check(&self->g));
}

/* the same while both watch their rings: nobody watches what is not theirs */
TEST_F_TIMEOUT(worker, moved_while_polling, 90)
{
	unsigned int i;

	NEED_CALLS();
	START_GUEST(&self->g, &cfg);
	for (i = 0; i < 2; i++)
		ASSERT_EQ(0, vdev_set_busyloop(&self->g.dev, i, 200));
	ASSERT_EQ(0, load_start_both(&self->l, &self->g));
	self->loaded = true;
	move_around(_metadata, &self->g, &self->l, 200);
	EXPECT_EQ(0, load_stop(&self->l));
	self->loaded = false;
}

/*
 * One worker polls for as long as it may, over and over; the queue of the other
 * one does not wait for that.
 */
TEST_F_TIMEOUT(worker, polling_delays_nobody_else, 60)
{
	struct vdev *v = &self->g.dev;
	struct frame_bufs {
		uint8_t out[100], in[2048];
	} b;
	unsigned int i;

	NEED_CALLS();
	START_GUEST(&self->g, &cfg);
	ASSERT_EQ(1, vdev_new_worker(v));
	ASSERT_EQ(0, vdev_attach_worker(v, VQ_RX, 1));
	ASSERT_EQ(0, vdev_set_busyloop(v, VQ_TX, 1000000));
	for (i = 0; i < 200; i++) {
		frame_make(b.out, i, sizeof(b.out));
		ASSERT_EQ(0, guest_tx(&self->g, NULL, b.out, sizeof(b.out)));
		ASSERT_EQ(0, guest_tx_sync(&self->g));
		ASSERT_EQ(0, psock_send(self->g.tx_sock, NULL, b.out,
					sizeof(b.out)));
		ASSERT_EQ(sizeof(b.out), guest_rx(&self->g, NULL, b.in,
						  sizeof(b.in), WATCHDOG_MS));
		guest_rx_fill(&self->g);
	}
}

/* made, used and freed under load, the first one among them */
TEST_F_TIMEOUT(worker, freed_under_load, 90)
{
	struct vdev *v = &self->g.dev;
	unsigned int i, q;
	int old = 0, id;

	NEED_CALLS();
	START_GUEST(&self->g, &cfg);
	ASSERT_EQ(0, load_start_both(&self->l, &self->g));
	self->loaded = true;
	for (i = 0; i < 60; i++) {
		id = vdev_new_worker(v);
		ASSERT_LE(0, id);
		for (q = 0; q < 2; q++) {
			EXPECT_EQ(-EBUSY, vdev_free_worker(v, old));
			ASSERT_EQ(0, vdev_attach_worker(v, q, id));
		}
		ASSERT_EQ(0, vdev_free_worker(v, old));
		ASSERT_EQ(0, load_wait(&self->l, 50));
		old = id;
	}
	EXPECT_EQ(0, load_stop(&self->l));
	self->loaded = false;
}

/*
 * A queue at rest moves: all that can wake it finds the new worker. The old one is
 * gone by then, so nobody else can answer.
 */
TEST_F_TIMEOUT(worker, woken_where_it_is, 60)
{
	struct vdev *v = &self->g.dev;
	unsigned int i, q;
	int old = 0, id;

	NEED_CALLS();
	START_GUEST(&self->g, &cfg);
	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, load_check(&self->g));
		id = vdev_new_worker(v);
		ASSERT_LE(0, id);
		for (q = 0; q < 2; q++)
			ASSERT_EQ(0, vdev_attach_worker(v, q, id));
		ASSERT_EQ(0, vdev_free_worker(v, old));
		old = id;
	}
	ASSERT_EQ(0, load_check(&self->g));
	/* a backend that comes and goes, as well */
	ASSERT_EQ(0, guest_detach(&self->g));
	ASSERT_EQ(0, guest_attach(&self->g, self->g.tap.fd));
	EXPECT_EQ(0, load_check(&self->g));
}

/* with queues that have not started yet, and that stop */
TEST_F_TIMEOUT(worker, moved_without_backend, 60)
{
	struct guest_cfg c = cfg;
	struct vdev *v = &self->g.dev;

	NEED_CALLS();
	c.no_backend = true;
	START_GUEST(&self->g, &c);
	ASSERT_EQ(1, vdev_new_worker(v));
	ASSERT_EQ(0, vdev_attach_worker(v, VQ_RX, 1));
	guest_rx_fill(&self->g);
	ASSERT_EQ(0, guest_attach(&self->g, self->g.tap.fd));
	EXPECT_EQ(0, load_check(&self->g));
	ASSERT_EQ(0, guest_detach(&self->g));
	ASSERT_EQ(0, vdev_attach_worker(v, VQ_RX, 0));
	ASSERT_EQ(0, vdev_attach_worker(v, VQ_TX, 1));
	ASSERT_EQ(0, guest_attach(&self->g, self->g.tap.fd));
	EXPECT_EQ(0, load_check(&self->g));
}

/* ------- owners ------- */

TEST_F_TIMEOUT(worker, next_owner_begins_anew, 60)
{
	struct vdev *v = &self->g.dev;
	pid_t pids[8];

	NEED_CALLS();
	START_GUEST(&self->g, &cfg);
	ASSERT_EQ(1, vdev_new_worker(v));
	ASSERT_EQ(0, vdev_attach_worker(v, VQ_TX, 1));
	ASSERT_EQ(0, load_start_both(&self->l, &self->g));
	self->loaded = true;
	ASSERT_EQ(0, load_wait(&self->l, 500));
	ASSERT_EQ(0, vdev_reset_owner(v));
	load_abandon(&self->l);
	self->loaded = false;
	EXPECT_TRUE(wait_until(!worker_of(getpid())));
	ASSERT_EQ(0, vdev_set_owner(v));
	EXPECT_EQ(0, vdev_get_worker(v, VQ_RX));
	EXPECT_EQ(0, vdev_get_worker(v, VQ_TX));
	EXPECT_EQ(-ENODEV, vdev_free_worker(v, 1));
	EXPECT_EQ(1, workers_of(getpid(), pids, 8));
}

TEST_F_TIMEOUT(worker, owner_killed, 90)
{
	unsigned int i;
	pid_t pid, pids[8];
	int p[2], status;
	char ok;

	NEED_CALLS();
	for (i = 0; i < 8; i++) {
		ASSERT_EQ(0, pipe(p));
		pid = fork();
		if (!pid) {
			static struct guest g;
			struct load l;

			if (guest_start(&g, &cfg) ||
			    vdev_new_worker(&g.dev) != 1 ||
			    vdev_new_worker(&g.dev) != 2 ||
			    vdev_attach_worker(&g.dev, VQ_TX, 1) ||
			    load_start_both(&l, &g) || load_wait(&l, 200) ||
			    write(p[1], "", 1) != 1)
				_exit(1);
			load_wait(&l, 1U << 31);
			_exit(1);
		}
		close(p[1]);
		ASSERT_EQ(1, read(p[0], &ok, 1));
		close(p[0]);
		EXPECT_EQ(3, workers_of(pid, pids, 8));
		ASSERT_EQ(0, kill(pid, SIGKILL));
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		ASSERT_TRUE(wait_until(!worker_of(pid)));
	}
}

#define CG_ROOT	"/sys/fs/cgroup"
#define CG	CG_ROOT "/vhost_tap_worker"

/* does it live in the group of that name? */
static bool in_cgroup(pid_t tid, const char *name)
{
	char path[64], text[512] = "";
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", tid);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return false;
	if (read(fd, text, sizeof(text) - 1) < 0)
		text[0] = 0;
	close(fd);
	return strstr(text, name);
}

/* in the child: 0, or what failed */
static int new_worker_in_cgroup(struct guest *g)
{
	pid_t first, second;

	if (guest_start(g, &cfg))
		return 1;
	first = worker_of(getpid());
	if (file_write(CG "/cgroup.procs", "0"))
		return 2;
	if (new_worker(g, &second) != 1 || !second)
		return 3;
	if (in_cgroup(first, "/vhost_tap_worker"))
		return 4;
	if (!in_cgroup(second, "/vhost_tap_worker"))
		return 5;
	if (vdev_attach_worker(&g->dev, VQ_RX, 1) || load_check(g))
		return 6;
	guest_stop(g);
	return 0;
}

/* it joins the group that its owner is in by then */
TEST_F_TIMEOUT(worker, new_worker_in_cgroup, 60)
{
	int status;
	pid_t pid;

	NEED_CALLS();
	if (access(CG_ROOT "/cgroup.procs", W_OK))
		SKIP(return, "no cgroup2 at " CG_ROOT);
	if (mkdir(CG, 0755))
		SKIP(return, "cannot make " CG);
	pid = fork();
	if (!pid)
		_exit(new_worker_in_cgroup(&self->g));
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status) {
		TH_LOG("the owner failed at %d", WEXITSTATUS(status));
	}
	EXPECT_TRUE(wait_until(!rmdir(CG)));
}

TEST_HARNESS_MAIN
