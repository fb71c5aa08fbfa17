// SPDX-License-Identifier: GPL-2.0-only
/*
 * Who owns a device, and what becomes of it: owners that are killed under
 * load, that hand the device on, that live in a cgroup; several devices side
 * by side; taps that move between network namespaces.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "load.h"
#include "variants.h"

/* have the skbs that were in use come home? a few stay in per-CPU slabs */
static bool skbs_back(long before, long *after)
{
	slab_settle();
	*after = slab_active("skbuff_head_cache");
	return *after < before + 1500;
}

FIXTURE(owner)
{
	struct guest g;
};

FIXTURE_SETUP(owner)
{
	memset(&self->g, 0, sizeof(self->g));
	ASSERT_EQ(0, netns_private());
}

FIXTURE_TEARDOWN(owner)
{
	if (self->g.dev.fd > 0)
		guest_stop(&self->g);
}

static const struct guest_cfg cfg = {
	.features = F_MODERN,
	.buf = { 2048, 2048 },
};

/* ------- killed ------- */

/* a process that owns fd (0: a device of its own) and floods until it dies */
static pid_t owner_fork(int fd)
{
	static struct guest g;
	struct guest_cfg c = cfg;
	struct load l;
	int p[2], ok = 0;
	pid_t pid;

	if (pipe(p))
		return -errno;
	pid = fork();
	if (!pid) {
		c.dev_fd = fd;
		if (guest_start(&g, &c) || load_start_both(&l, &g) ||
		    load_wait(&l, 200))
			_exit(1);
		if (write(p[1], "", 1) != 1)
			_exit(1);
		load_wait(&l, 1U << 31);
		_exit(1);
	}
	close(p[1]);
	/* the other end is gone without a word if the child has failed */
	if (read(p[0], &ok, 1) != 1)
		ok = -1;
	close(p[0]);
	return ok < 0 ? -ECHILD : pid;
}

static int kill_wait(pid_t pid)
{
	int status;

	if (kill(pid, SIGKILL) || waitpid(pid, &status, 0) != pid)
		return -errno;
	return WIFSIGNALED(status) ? 0 : -ECHILD;
}

/* all of it is gone, also out of the kernel */
TEST_F_TIMEOUT(owner, killed_under_load, 120)
{
	long before = slab_active("skbuff_head_cache"), after = 0;
	unsigned int i;
	pid_t pid;

	for (i = 0; i < 15; i++) {
		pid = owner_fork(0);
		ASSERT_GT(pid, 0);
		ASSERT_NE(0, worker_of(pid));
		ASSERT_EQ(0, kill_wait(pid));
		ASSERT_TRUE(wait_until(!worker_of(pid)));
	}
	/* its memory, too: hundreds of frames were under way each time */
	EXPECT_TRUE(wait_until(skbs_back(before, &after))) {
		TH_LOG("skbuff_head_cache: %ld before, %ld after", before,
		       after);
	}
	ASSERT_EQ(0, guest_start(&self->g, &cfg));
	EXPECT_EQ(0, load_check(&self->g));
}

/* somebody else has the descriptor: nothing hangs, nothing is theirs to do */
TEST_F_TIMEOUT(owner, case16_owner_killed_fd_shared, 120)
{
	struct vdev *v = &self->g.dev;
	unsigned int i, q;
	pid_t pid, worker;

	for (i = 0; i < 15; i++) {
		ASSERT_EQ(0, vdev_open(v));
		pid = owner_fork(v->fd);
		ASSERT_GT(pid, 0);
		worker = worker_of(pid);
		ASSERT_NE(0, worker);
		ASSERT_EQ(0, kill_wait(pid));
		for (q = 0; q < 2; q++) {
			EXPECT_EQ(-EPERM, vdev_set_backend(v, q, -1));
			EXPECT_EQ(-EPERM, vdev_set_kick(v, q, -1));
		}
		EXPECT_EQ(-EBUSY, vdev_set_owner(v));
		/* it may still be at work, on memory that nobody else has */
		EXPECT_NE('D', task_state(worker));
		vdev_close(v);
		ASSERT_TRUE(wait_until(!task_state(worker)));
	}
	ASSERT_EQ(0, guest_start(&self->g, &cfg));
	EXPECT_EQ(0, load_check(&self->g));
}

/* ------- handed on ------- */

/* own fd, pass traffic, and give it up under a load: exit status */
static int own_for_a_while(struct guest *g, int fd)
{
	struct guest_cfg c = cfg;
	struct load l;

	c.dev_fd = fd;
	if (guest_start(g, &c))
		return 1;
	if (load_check(g))
		return 2;
	if (load_start_both(&l, g) || load_wait(&l, 100))
		return 3;
	if (vdev_reset_owner(&g->dev))
		return 4;
	load_abandon(&l);
	if (vdev_set_backend(&g->dev, VQ_RX, g->tap.fd) != -EPERM)
		return 5;
	return 0;
}

static uint64_t mem_hash(const struct guest *g)
{
	const struct gmem_region *r = &g->mem.region[0];
	const uint64_t *p = (const uint64_t *)r->hva;
	uint64_t h = 0, i;

	for (i = 0; i < r->used / 8; i++)
		h = (h ^ p[i]) * 0x100000001b3ULL;
	return h;
}

/*
 * RESET_OWNER in the middle of traffic; then a process with a memory of its
 * own is the owner. That of the first is left alone from then on.
 */
TEST_F_TIMEOUT(owner, case53_handed_on_under_traffic, 120)
{
	int fd = node_open(O_RDWR), keep, status;
	unsigned int round;
	uint64_t hash;
	pid_t pid;

	ASSERT_GE(fd, 0);
	for (round = 0; round < 8; round++) {
		/* guest_stop() closes one */
		keep = dup(fd);
		ASSERT_EQ(0, own_for_a_while(&self->g, keep));
		hash = mem_hash(&self->g);
		pid = fork();
		ASSERT_GE(pid, 0);
		if (!pid) {
			static struct guest mine;

			_exit(own_for_a_while(&mine, fd));
		}
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		EXPECT_EQ(0, status) {
			TH_LOG("the next owner failed at %d",
			       WEXITSTATUS(status));
		}
		EXPECT_EQ(hash, mem_hash(&self->g));
		EXPECT_EQ(0, worker_of(getpid()));
		guest_stop(&self->g);
	}
	close(fd);
}

/* ------- cgroups ------- */

#define CG_ROOT	"/sys/fs/cgroup"
#define CG	CG_ROOT "/vhost_tap_test"

static int cgroup_of(pid_t pid, char *out, size_t cap)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return -errno;
	n = read(fd, out, cap - 1);
	close(fd);
	out[n > 0 ? n : 0] = 0;
	return n > 0 ? 0 : -EIO;
}

/* in the child: 0, or what failed */
static int own_in_cgroup(struct guest *g, bool cpuset)
{
	char mine[512], its[512];
	pid_t worker;
	cpu_set_t set;

	if (file_write(CG "/cgroup.procs", "0"))
		return 1;
	if (guest_start(g, &cfg) || load_check(g))
		return 2;
	worker = worker_of(getpid());
	if (!worker)
		return 3;
	if (cgroup_of(getpid(), mine, sizeof(mine)) ||
	    cgroup_of(worker, its, sizeof(its)))
		return 4;
	if (!strstr(its, "/vhost_tap_test") || strcmp(mine, its))
		return 5;
	if (cpuset) {
		CPU_ZERO(&set);
		if (sched_getaffinity(worker, sizeof(set), &set))
			return 6;
		if (CPU_COUNT(&set) != 1 || !CPU_ISSET(1, &set))
			return 7;
	}
	/* an owner that moves on does not strand it: it still works */
	if (file_write(CG_ROOT "/cgroup.procs", "0") || load_check(g))
		return 8;
	guest_stop(g);
	return 0;
}

TEST_F_TIMEOUT(owner, case52_worker_in_cgroup, 120)
{
	bool cpuset;
	int status;
	pid_t pid;

	if (access(CG_ROOT "/cgroup.procs", W_OK))
		SKIP(return, "no cgroup2 at " CG_ROOT);
	if (mkdir(CG, 0755))
		SKIP(return, "cannot make " CG);
	/* needs two processors and nobody who has taken the controller */
	cpuset = !file_write(CG_ROOT "/cgroup.subtree_control", "+cpuset") &&
		 !file_write(CG "/cpuset.cpus", "1");
	pid = fork();
	if (!pid)
		_exit(own_in_cgroup(&self->g, cpuset));
	EXPECT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status) {
		TH_LOG("the owner failed at %d", WEXITSTATUS(status));
	}
	/* empty again: the worker has left, too */
	EXPECT_TRUE(wait_until(!rmdir(CG))) {
		TH_LOG("rmdir: %s", strerror(errno));
	}
	if (!cpuset)
		TH_LOG("without a cpuset");
}

/* ------- side by side ------- */

#define DEVICES	4

TEST_F_TIMEOUT(owner, case56_independent_devices, 120)
{
	struct guest *g = calloc(DEVICES, sizeof(*g));
	struct guest_cfg c = cfg;
	unsigned int i, k;

	ASSERT_NE(NULL, g);
	for (i = 0; i < DEVICES; i++) {
		/* one of them idle without a backend, one with a broken ring */
		c.no_backend = i == 1;
		ASSERT_EQ(0, guest_start(&g[i], &c));
	}
	ring_split_push_raw(g[2].q[VQ_TX].ring, 0xffff);
	ring_publish(g[2].q[VQ_TX].ring);
	ring_force_kick(g[2].q[VQ_TX].ring);
	ASSERT_EQ(0, efd_wait(g[2].q[VQ_TX].ring->err_fd, WATCHDOG_MS));

	for (k = 0; k < 5; k++) {
		EXPECT_EQ(0, load_check(&g[0]));
		EXPECT_EQ(0, load_check(&g[3]));
	}
	/* closing one, or starting one, leaves the others alone */
	guest_stop(&g[2]);
	EXPECT_EQ(0, load_check(&g[0]));
	guest_rx_fill(&g[1]);
	ASSERT_EQ(0, guest_attach(&g[1], g[1].tap.fd));
	EXPECT_EQ(0, load_check(&g[1]));
	guest_stop(&g[0]);
	EXPECT_EQ(0, load_check(&g[1]));
	EXPECT_EQ(0, load_check(&g[3]));
	guest_stop(&g[1]);
	guest_stop(&g[3]);
	free(g);
}

/* sockets for a tap that has come into this namespace, where it begins down */
static int tap_arrived(struct guest *g)
{
	int tx, rx, err;

	g->tap.ifindex = if_nametoindex(g->tap.name);
	if (!g->tap.ifindex)
		return -ENODEV;
	err = tap_set_up(&g->tap, true);
	if (err)
		return err;
	tx = psock_sender(g->tap.ifindex, false);
	rx = psock_receiver(g->tap.ifindex, false);
	if (tx < 0 || rx < 0)
		return -EIO;
	close(g->tx_sock);
	close(g->rx_sock);
	g->tx_sock = tx;
	g->rx_sock = rx;
	return 0;
}

TEST_F_TIMEOUT(owner, case56_tap_changes_netns, 120)
{
	int ns[2];
	unsigned int i;

	ns[0] = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	ASSERT_GE(ns[0], 0);
	ASSERT_EQ(0, guest_start(&self->g, &cfg));
	ASSERT_EQ(0, netns_new());
	ns[1] = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	ASSERT_GE(ns[1], 0);

	for (i = 0; i < 6; i++) {
		/* from where it is to the other */
		ASSERT_EQ(0, setns(ns[i & 1], CLONE_NEWNET));
		ASSERT_EQ(0, load_check(&self->g));
		ASSERT_EQ(0, tap_set_netns(&self->g.tap, ns[!(i & 1)]));
		ASSERT_EQ(0, setns(ns[!(i & 1)], CLONE_NEWNET));
		ASSERT_EQ(0, tap_arrived(&self->g));
		ASSERT_EQ(0, load_check(&self->g));
	}
	close(ns[0]);
	close(ns[1]);
}

TEST_HARNESS_MAIN
