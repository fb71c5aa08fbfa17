// SPDX-License-Identifier: GPL-2.0-only
/*
 * Small helpers every vhost_tap selftest needs; see util.h.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "env.h"
#include "util.h"

int watchdog_ms(void)
{
	return env_number("VTAP_WATCHDOG_MS", 20000 * env_patience());
}

unsigned int __wrap_alarm(unsigned int s)
{
	return __real_alarm(s * env_patience());
}

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

uint64_t cpu_ns(pid_t tid)
{
	unsigned long long ns = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/schedstat", tid);
	f = fopen(path, "r");
	if (!f)
		return 0;
	if (fscanf(f, "%llu", &ns) != 1)
		ns = 0;
	fclose(f);
	return ns;
}

void cpu_yield(void)
{
	sched_yield();
}

int fd_wait(int fd, short events, int timeout_ms)
{
	uint64_t end = now_ns() + timeout_ms * 1000000ULL;
	struct pollfd p = { .fd = fd, .events = events };
	int64_t left;
	int r;

	for (;;) {
		left = (int64_t)(end - now_ns()) / 1000000;
		r = poll(&p, 1, left > 0 ? left : 0);
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -errno;
		return r > 0;
	}
}

uint64_t efd_drain(int fd)
{
	uint64_t n;

	if (fd_wait(fd, POLLIN, 0) != 1)
		return 0;
	if (read(fd, &n, sizeof(n)) != sizeof(n))
		return 0;
	return n;
}

void efd_signal(int fd)
{
	uint64_t one = 1;

	if (write(fd, &one, sizeof(one)) != sizeof(one))
		perror("eventfd write");
}

int efd_wait(int fd, int timeout_ms)
{
	int r = fd_wait(fd, POLLIN, timeout_ms);

	if (r < 0)
		return r;
	if (!r)
		return -ETIMEDOUT;
	efd_drain(fd);
	return 0;
}

int file_write(const char *path, const char *text)
{
	ssize_t n = strlen(text);
	int fd = open(path, O_WRONLY);
	int err = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, text, n) != n)
		err = -errno;
	close(fd);
	return err;
}

long file_read_long(const char *path)
{
	FILE *f = fopen(path, "r");
	long v;

	if (!f)
		return -1;
	if (fscanf(f, "%ld", &v) != 1)
		v = -1;
	fclose(f);
	return v;
}

int netns_new(void)
{
	if (unshare(CLONE_NEWNET))
		return -errno;
	/* absent when the kernel runs without IPv6, and then not needed */
	file_write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1");
	file_write("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1");
	return 0;
}

/* making and tearing down one for each test would be slow */
int netns_private(void)
{
	static bool done;
	int err;

	if (done)
		return 0;
	err = netns_new();
	done = !err;
	return err;
}

const char *node_path(void)
{
	const char *p = getenv("VHOST_TAP_NODE");

	return p && *p ? p : "/dev/vhost-net";
}

int node_open(int flags)
{
	int fd = open(node_path(), flags | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/*
 * Both modules may be loaded side by side, under two names. A misc device
 * links to no module, so go by names: ours answers under its parameter
 * "devname", and for the common name when in-tree vhost_net is not loaded.
 */
bool node_is_vhost_tap(void)
{
	const char *base = strrchr(node_path(), '/');
	char name[128] = "";
	FILE *f;

	base = base ? base + 1 : node_path();
	if (access("/sys/module/vhost_tap", F_OK))
		return false;
	f = fopen("/sys/module/vhost_tap/parameters/devname", "r");
	if (f) {
		if (fscanf(f, "%127s", name) == 1 && !strcmp(name, base)) {
			fclose(f);
			return true;
		}
		fclose(f);
	}
	return !strcmp(base, "vhost-net") &&
	       access("/sys/module/vhost_net", F_OK) != 0;
}

long slab_active(const char *cache)
{
	char line[512], name[64];
	long active, found = -1;
	FILE *f;

	f = fopen("/proc/slabinfo", "r");
	if (!f)
		return -1;
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%63s %ld", name, &active) == 2 &&
		    !strcmp(name, cache)) {
			found = active;
			break;
		}
	}
	fclose(f);
	return found;
}

void slab_settle(void)
{
	char path[128];

	/* shrinking a cache flushes its per-CPU slabs */
	snprintf(path, sizeof(path), "/sys/kernel/slab/%s/shrink",
		 "skbuff_head_cache");
	file_write(path, "1");
	snprintf(path, sizeof(path), "/sys/kernel/slab/%s/shrink",
		 "skbuff_small_head");
	file_write(path, "1");
}

unsigned int workers_of(pid_t pid, pid_t *out, unsigned int max)
{
	char want[32], path[300], comm[64];
	unsigned int found = 0;
	struct dirent *e;
	FILE *f;
	DIR *d;

	snprintf(want, sizeof(want), "vhost-%d", pid);
	d = opendir("/proc");
	if (!d)
		return 0;
	while (found < max && (e = readdir(d))) {
		pid_t p = atoi(e->d_name);
		struct dirent *t;
		DIR *td;

		if (p <= 0)
			continue;
		/* a vhost_task is a thread of its owner: look at threads too */
		snprintf(path, sizeof(path), "/proc/%d/task", p);
		td = opendir(path);
		if (!td)
			continue;
		while (found < max && (t = readdir(td))) {
			if (atoi(t->d_name) <= 0)
				continue;
			snprintf(path, sizeof(path), "/proc/%d/task/%d/comm",
				 p, atoi(t->d_name));
			f = fopen(path, "r");
			if (!f)
				continue;
			if (fscanf(f, "%63s", comm) == 1 && !strcmp(comm, want))
				out[found++] = atoi(t->d_name);
			fclose(f);
		}
		closedir(td);
	}
	closedir(d);
	return found;
}

pid_t worker_of(pid_t pid)
{
	pid_t found;

	return workers_of(pid, &found, 1) ? found : 0;
}

char task_state(pid_t pid)
{
	char path[64], buf[512], *p;
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "r");
	if (!f)
		return 0;
	n = fread(buf, 1, sizeof(buf) - 1, f);
	fclose(f);
	buf[n] = 0;
	p = strrchr(buf, ')');
	return p && p[1] ? p[2] : 0;
}

int count_open_fds(void)
{
	struct dirent *e;
	int n = 0;
	DIR *d;

	d = opendir("/proc/self/fd");
	if (!d)
		return -1;
	while ((e = readdir(d)))
		if (e->d_name[0] != '.')
			n++;
	closedir(d);
	return n;
}

/* splitmix64: small, and any seed is a good one */
uint64_t rng_next(struct rng *r)
{
	uint64_t z = (r->s += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}
