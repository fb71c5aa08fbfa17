// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a load cost the device: its workers' CPU time and wake-ups, kicks,
 * signals, what the taps counted. Knows nothing of single scenarios.
 */
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "counters.h"
#include "util.h"

void pin_thread(pid_t tid, int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(tid, sizeof(set), &set))
		fprintf(stderr, "# cannot pin %d to CPU %d: %s\n", tid, cpu,
			strerror(errno));
}

void thread_realtime(void)
{
	struct sched_param p = { .sched_priority = 1 };

	if (sched_setscheduler(0, SCHED_FIFO, &p))
		fprintf(stderr, "# no real-time priority: %s\n",
			strerror(errno));
}

int bench_guest(struct bench *b, struct guest *g, const struct guest_cfg *cfg)
{
	int err = guest_start(g, cfg);

	if (err)
		return err;
	/* no one listens: a listener would cost the worker a copy a frame */
	close(g->rx_sock);
	g->rx_sock = -1;
	b->guest[b->nguests++] = g;
	return 0;
}

static bool comm_is(const char *path, const char *want)
{
	char comm[64] = "";
	FILE *f = fopen(path, "r");
	bool is;

	if (!f)
		return false;
	is = fscanf(f, "%63s", comm) == 1 && !strcmp(comm, want);
	fclose(f);
	return is;
}

static void scan_tasks(struct bench *b, const char *dir, const char *want)
{
	char path[300];
	struct dirent *e;
	DIR *d = opendir(dir);
	pid_t tid;

	while (d && (e = readdir(d))) {
		tid = atoi(e->d_name);
		snprintf(path, sizeof(path), "%s/%d/comm", dir, tid);
		if (tid > 0 && b->nworkers < ARRAY_LEN(b->worker) &&
		    comm_is(path, want))
			b->worker[b->nworkers++] = tid;
	}
	if (d)
		closedir(d);
}

/* kthreads of their own, or threads of this process (vhost_task) */
int bench_find_workers(struct bench *b)
{
	char want[32];
	unsigned int i;

	b->nworkers = 0;
	snprintf(want, sizeof(want), "vhost-%d", getpid());
	scan_tasks(b, "/proc/self/task", want);
	scan_tasks(b, "/proc", want);
	for (i = 0; i < b->nworkers; i++)
		pin_thread(b->worker[i], CPU_WORKER);
	if (b->nworkers)
		return 0;
	fprintf(stderr, "# no task is named %s\n", want);
	return -ESRCH;
}

static uint64_t switches(pid_t tid)
{
	unsigned long long n = 0;
	char path[64], line[256];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	f = fopen(path, "r");
	if (!f)
		return 0;
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "voluntary_ctxt_switches: %llu", &n) == 1)
			break;
	fclose(f);
	return n;
}

static int count(const struct bench *b, struct bench_counts *c)
{
	struct tap_stats st;
	unsigned int i, q;
	int err;

	memset(c, 0, sizeof(*c));
	for (i = 0; i < b->nworkers; i++) {
		c->worker_ns += cpu_ns(b->worker[i]);
		c->wakeups += switches(b->worker[i]);
	}
	for (i = 0; i < b->nguests; i++) {
		for (q = 0; q < 2; q++) {
			struct ring *r = &b->guest[i]->dev.ring[q];

			r->n_calls += efd_drain(r->call_fd);
			c->kicks += r->n_kicks;
			c->signals += r->n_calls;
		}
		err = tap_get_stats(&b->guest[i]->tap, &st);
		if (err)
			return err;
		c->tap_rx += st.rx_packets;
		c->tap_tx += st.tx_packets;
		c->tap_rx_dropped += st.rx_dropped;
		c->tap_tx_dropped += st.tx_dropped;
	}
	return 0;
}

int bench_settle(struct bench *b)
{
	unsigned int i, quiet = 0;
	uint64_t end = now_ns() + WATCHDOG_MS * 1000000ULL;

	while (quiet < 3) {
		for (i = 0; i < b->nworkers; i++)
			if (task_state(b->worker[i]) != 'S')
				break;
		quiet = i == b->nworkers ? quiet + 1 : 0;
		if (now_ns() > end)
			return -ETIMEDOUT;
		usleep(1000);
	}
	return 0;
}

int bench_begin(struct bench *b)
{
	int err = bench_settle(b);

	if (!err)
		err = count(b, &b->before);
	b->start_ns = now_ns();
	return err;
}

/* what the module says has passed; a second witness where there is one device */
static void ask_module(struct bench *b)
{
	struct dev_counters c;

	if (!node_is_vhost_tap() || b->nguests != 1 ||
	    counters_read(getpid(), &c))
		return;
	b->module_packets = Q_STAT(&c.q[VQ_RX], PACKETS) +
			    Q_STAT(&c.q[VQ_TX], PACKETS);
}

int bench_end(struct bench *b, uint64_t end_ns)
{
	struct bench_counts now;
	int err;

	b->seconds += (end_ns - b->start_ns) / 1e9;
	err = bench_settle(b);
	if (!err)
		err = count(b, &now);
	if (err)
		return err;
	b->worker_ns += now.worker_ns - b->before.worker_ns;
	b->wakeups += now.wakeups - b->before.wakeups;
	b->kicks += now.kicks - b->before.kicks;
	b->signals += now.signals - b->before.signals;
	b->tap_rx += now.tap_rx - b->before.tap_rx;
	b->tap_tx += now.tap_tx - b->before.tap_tx;
	b->tap_rx_dropped += now.tap_rx_dropped - b->before.tap_rx_dropped;
	b->tap_tx_dropped += now.tap_tx_dropped - b->before.tap_tx_dropped;
	ask_module(b);
	return 0;
}

bool bench_over(const struct bench *b, uint64_t frames)
{
	if (b->limit_frames)
		return frames >= b->limit_frames;
	return b->seconds * 1e9 + now_ns() - b->start_ns >= b->limit_ns;
}

int cmp_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}
