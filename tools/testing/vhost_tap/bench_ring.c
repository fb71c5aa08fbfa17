// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the ring code costs by itself, on the bare CPU: our own, or the kernel's
 * vringh for comparison (see bench_dev.h). Two ways:
 *
 *   one thread: driver and device in turn, the ring full each time. All of it is
 *   in the cache, and the time is that of the instructions.
 *
 *   two threads: a driver and a device on two CPUs, with event index, waiting
 *   (awake) for each other's kicks and signals. The ring's cache lines travel.
 *
 * Time is the device's, from looking for chains to the decision on the signal:
 * the median of all batches. With two threads also that of the whole, by the
 * wall clock, in which the driver has its share.
 *
 * usage: bench_ring [-s ours|vringh] [-k KIND] [-t 1|2] [-n DESCRIPTORS]
 *
 * Prints one JSON object a line; everything there is without arguments.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <linux/virtio_ring.h>

#include "bench_dev.h"

#define NUM	256
/* a driver publishes and kicks every so many chains, if that many are free */
#define BURST	32
/* seconds without a single chain after which a wake-up must have been lost */
#define STALL	60

/* Guest memory: rings, tables, buffers; a second region with buffers only. */
#define SIZE	0x400000
#define DESC	0
#define AVAIL	0x10000
#define USED	0x20000
#define TABLES	0x40000
#define BUFS	0x100000
#define GPA0	0x10000000ULL
#define GPA1	0x90000000ULL

static const struct kind {
	const char *name;
	unsigned int descs;	/* a chain */
	bool table;
	bool regions;		/* buffers alternate between two of them */
} kinds[] = {
	{ "direct-1", 1 },
	{ "direct-2", 2 },
	{ "indirect-8", 8, true },
	{ "regions-1", 1, false, true },
};

static const struct bench_dev *const devs[] = {
	&bench_ours,
#ifdef VRINGH
	&bench_vringh,
#endif
};

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

static struct {
	const struct kind *kind;
	const struct bench_dev *dev;
	struct vring_desc *desc;
	struct vring_avail *avail;
	struct vring_used *used;
	unsigned int slots;	/* that a chain takes in the ring */
	unsigned int room;	/* chains that fit */
	uint16_t avail_idx, used_idx, kicked;
	unsigned long want;	/* chains in all */
} drv;

/*
 * What each batch (two threads) or ring full (one) took: a median of these is
 * not troubled by what else the machine does.
 */
#define SAMPLES	(1U << 20)

static struct sample {
	float ns;		/* a descriptor */
	uint32_t chains;
} samples[SAMPLES];
static unsigned int nr_samples;
static uint64_t clock_started, clock_cost;
bool bench_timed;

static struct bench_setup setup;
static atomic_ulong kicks, calls, passes;
static atomic_bool failed;
static cpu_set_t allowed;

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/* What looking at the clock twice takes: not the ring's. */
static void clock_calibrate(void)
{
	uint64_t start, cost;
	int i;

	clock_cost = UINT64_MAX;
	for (i = 0; i < 10000; i++) {
		start = now();
		cost = now() - start;
		if (cost < clock_cost)
			clock_cost = cost;
	}
}

void bench_clock_start(void)
{
	clock_started = now();
}

void bench_clock_stop(unsigned int chains)
{
	uint64_t ns = now() - clock_started;

	ns = ns > clock_cost ? ns - clock_cost : 0;
	if (nr_samples < SAMPLES)
		samples[nr_samples++] = (struct sample){
			(float)ns / chains / drv.kind->descs, chains
		};
}

static int by_ns(const void *a, const void *b)
{
	const struct sample *x = a, *y = b;

	return (x->ns > y->ns) - (x->ns < y->ns);
}

/* Half of the descriptors took less. */
static double median_ns(void)
{
	uint64_t all = 0, sum = 0;
	unsigned int i;

	qsort(samples, nr_samples, sizeof(samples[0]), by_ns);
	for (i = 0; i < nr_samples; i++)
		all += samples[i].chains;
	for (i = 0; i < nr_samples && 2 * sum < all; i++)
		sum += samples[i].chains;
	return i ? samples[i - 1].ns : 0;
}

static void put_desc(struct vring_desc *d, uint64_t addr, uint32_t len, uint16_t flags,
		     uint16_t next)
{
	d->addr = addr;
	d->len = len;
	d->flags = flags;
	d->next = next;
}

static uint64_t buffer(unsigned int i)
{
	return (drv.kind->regions && i & 1 ? GPA1 : GPA0) + BUFS + i * 64;
}

/* The descriptors of the chain that begins with descriptor @head. */
static void put_chain(unsigned int head)
{
	const unsigned int n = drv.kind->descs;
	struct vring_desc *desc = &drv.desc[head];
	unsigned int base = head, i;

	if (drv.kind->table) {
		uint64_t table = TABLES + head * n * sizeof(*desc);

		put_desc(desc, GPA0 + table, n * sizeof(*desc), VRING_DESC_F_INDIRECT, 0);
		desc = (void *)(setup.hva[0] + table);
		base = 0;
	}
	for (i = 0; i < n; i++)
		put_desc(&desc[i], buffer(head * n + i), 64,
			 i == n - 1 ? 0 : VRING_DESC_F_NEXT, base + i + 1);
}

static int setup_ring(const struct bench_dev *dev, const struct kind *k)
{
	static char *mem[BENCH_REGIONS];
	unsigned int i;

	for (i = 0; i < BENCH_REGIONS; i++) {
		if (!mem[i])
			mem[i] = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (mem[i] == MAP_FAILED)
			return -1;
		memset(mem[i], 0, BUFS);
	}
	memset(&drv, 0, sizeof(drv));
	drv.kind = k;
	drv.dev = dev;
	drv.desc = (void *)(mem[0] + DESC);
	drv.avail = (void *)(mem[0] + AVAIL);
	drv.used = (void *)(mem[0] + USED);
	drv.slots = k->table ? 1 : k->descs;
	drv.room = NUM / drv.slots;
	nr_samples = 0;
	setup = (struct bench_setup){
		.desc = drv.desc, .avail = drv.avail, .used = drv.used, .num = NUM,
		.nr_regions = k->regions ? 2 : 1,
		.gpa = { GPA0, GPA1 }, .size = { SIZE, SIZE }, .hva = { mem[0], mem[1] },
	};
	return dev->start(&setup);
}

/* The driver's side. */

static uint16_t *used_event(void)
{
	return &drv.avail->ring[NUM];
}

static uint16_t avail_event(void)
{
	return *(volatile uint16_t *)&drv.used->ring[NUM];
}

static uint16_t used_now(void)
{
	return __atomic_load_n(&drv.used->idx, __ATOMIC_ACQUIRE);
}

static void add(unsigned int n)
{
	while (n--) {
		unsigned int head = drv.avail_idx % drv.room * drv.slots;

		put_chain(head);
		drv.avail->ring[drv.avail_idx & (NUM - 1)] = head;
		drv.avail_idx++;
	}
}

static void publish(void)
{
	__atomic_store_n(&drv.avail->idx, drv.avail_idx, __ATOMIC_RELEASE);
}

/* Does the device want a kick for what was published since last time? */
static bool kick_wanted(void)
{
	uint16_t old = drv.kicked;

	drv.kicked = drv.avail_idx;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return vring_need_event(avail_event(), drv.avail_idx, old);
}

/* Take used entries back, each in its turn. */
static int reap(void)
{
	uint16_t idx = used_now();

	for (; drv.used_idx != idx; drv.used_idx++) {
		if (drv.used->ring[drv.used_idx & (NUM - 1)].id !=
		    drv.used_idx % drv.room * drv.slots)
			return -1;
	}
	return 0;
}

void bench_signal(void)
{
	atomic_fetch_add(&calls, 1);
}

/* Wait, not asleep, until somebody has counted up, or gave up. */
static bool wait_for(atomic_ulong *count, unsigned long seen)
{
	unsigned long spins = 0;

	while (atomic_load_explicit(count, memory_order_acquire) == seen) {
		if (atomic_load_explicit(&failed, memory_order_relaxed))
			return false;
		/* somebody else may have been given our partner's CPU */
		if (!(++spins % 4096))
			sched_yield();
		__builtin_ia32_pause();
	}
	return true;
}

static void print(unsigned int threads, double wall_ns, unsigned long signals)
{
	printf("{\"side\": \"%s\", \"kind\": \"%s\", \"threads\": %u, \"ns\": %.3f",
	       drv.dev->name, drv.kind->name, threads, median_ns());
	if (threads > 1)
		printf(", \"wall_ns\": %.3f, \"chains_a_kick\": %.1f, \"chains_a_signal\": %.1f",
		       wall_ns, (double)drv.want / (atomic_load(&kicks) + 1),
		       (double)drv.want / (signals + 1));
	printf("}\n");
	fflush(stdout);
}

/* One thread. */

/* Not inlined: callgrind counts what is called from here. */
static __attribute__((__noinline__)) long device(uint64_t *bytes, unsigned long *signals)
{
	return drv.dev->run(bytes, signals);
}

static int one_thread(unsigned long descs)
{
	unsigned long signals = 0, done = 0;
	uint64_t bytes = 0;

	bench_timed = false;
	drv.want = descs / drv.kind->descs;
	while (done < drv.want) {
		long n;

		/* an interrupt once the ring is nearly empty */
		*used_event() = drv.used_idx + drv.room * 3 / 4;
		add(drv.room);
		publish();
		bench_clock_start();
		n = device(&bytes, &signals);
		bench_clock_stop(drv.room);
		if (n != (long)drv.room || reap())
			return -1;
		done += n;
	}
	if (bytes != (uint64_t)done * drv.kind->descs * 64)
		return -1;
	print(1, 0, signals);
	return 0;
}

/* Two threads. */

/* To the nth of the CPUs that we may run on; if there are so many. */
static void pin(unsigned int nth)
{
	cpu_set_t one;
	int cpu;

	for (cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (CPU_ISSET(cpu, &allowed) && !nth--) {
			CPU_ZERO(&one);
			CPU_SET(cpu, &one);
			pthread_setaffinity_np(pthread_self(), sizeof(one), &one);
			return;
		}
	}
}

static void *driver(void *arg)
{
	unsigned long added = 0, seen = 0, calls_seen;
	uint16_t want;

	(void)arg;
	pin(0);
	while (seen < drv.want) {
		uint16_t before = drv.used_idx;
		unsigned int n;

		if (reap())
			goto fail;
		seen += (uint16_t)(drv.used_idx - before);

		n = drv.room - (uint16_t)(drv.avail_idx - drv.used_idx);
		if (n > BURST)
			n = BURST;
		if (n > drv.want - added)
			n = drv.want - added;
		if (n) {
			add(n);
			publish();
			added += n;
			if (kick_wanted())
				atomic_fetch_add(&kicks, 1);
			continue;
		}
		/* Full, or all is sent: wait for three quarters of what is out. */
		calls_seen = atomic_load(&calls);
		want = (uint16_t)(drv.avail_idx - drv.used_idx) * 3 / 4;
		if (!want)
			want = 1;
		__atomic_store_n(used_event(), drv.used_idx + want - 1, __ATOMIC_RELEASE);
		__atomic_thread_fence(__ATOMIC_SEQ_CST);
		if (seen < drv.want && (uint16_t)(used_now() - drv.used_idx) < want &&
		    !wait_for(&calls, calls_seen))
			goto fail;
	}
	return NULL;
fail:
	atomic_store(&failed, true);
	return (void *)-1L;
}

static void *watchdog(void *arg)
{
	unsigned long seen = 0;
	int still = 0;

	(void)arg;
	while (still < STALL) {
		sleep(1);
		still = atomic_load(&passes) == seen ? still + 1 : 0;
		seen = atomic_load(&passes);
	}
	fprintf(stderr, "bench_ring: nothing moves any more\n");
	atomic_store(&failed, true);
	return NULL;
}

static int two_threads(unsigned long descs)
{
	unsigned long done = 0, signals = 0, seen;
	uint64_t bytes = 0, begin;
	pthread_t thread, dog;
	void *err;

	drv.want = descs / drv.kind->descs;
	atomic_store(&kicks, 0);
	atomic_store(&calls, 0);
	bench_timed = true;
	pin(1);
	begin = now();
	if (pthread_create(&dog, NULL, watchdog, NULL) ||
	    pthread_create(&thread, NULL, driver, NULL))
		return -1;
	while (done < drv.want) {
		long n;

		/* Armed, and found empty after that: what comes brings a kick. */
		seen = atomic_load(&kicks);
		n = device(&bytes, &signals);
		if (n < 0) {
			atomic_store(&failed, true);
			break;
		}
		done += n;
		atomic_fetch_add_explicit(&passes, 1, memory_order_relaxed);
		if (done < drv.want && !wait_for(&kicks, seen))
			break;
	}
	pthread_join(thread, &err);
	begin = now() - begin;
	pthread_cancel(dog);
	pthread_join(dog, NULL);
	if (err || done != drv.want || bytes != (uint64_t)done * drv.kind->descs * 64)
		return -1;
	print(2, (double)begin / done / drv.kind->descs, signals);
	return 0;
}

static int usage(void)
{
	fprintf(stderr, "usage: bench_ring [-s ours|vringh] [-k KIND] [-t 1|2] [-n DESCRIPTORS]\n");
	return 2;
}

int main(int argc, char **argv)
{
	const char *side = NULL, *kind = NULL;
	unsigned long descs = 20000000;
	unsigned int threads = 0, ran = 0, d, k, t;
	int c;

	while ((c = getopt(argc, argv, "s:k:t:n:")) != -1) {
		switch (c) {
		case 's':
			side = optarg;
			break;
		case 'k':
			kind = optarg;
			break;
		case 't':
			threads = strtoul(optarg, NULL, 0);
			break;
		case 'n':
			descs = strtoul(optarg, NULL, 0);
			break;
		default:
			return usage();
		}
	}
	if (optind != argc || !descs)
		return usage();
	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		return 1;
	clock_calibrate();
	for (k = 0; k < ARRAY_SIZE(kinds); k++) {
		if (kind && strcmp(kind, kinds[k].name))
			continue;
		for (d = 0; d < ARRAY_SIZE(devs); d++) {
			if (side && strcmp(side, devs[d]->name))
				continue;
			for (t = 1; t <= 2; t++) {
				if (threads && threads != t)
					continue;
				if (setup_ring(devs[d], &kinds[k]) ||
				    (t == 1 ? one_thread(descs) : two_threads(descs))) {
					fprintf(stderr, "bench_ring: %s, %s: the ring failed\n",
						devs[d]->name, kinds[k].name);
					return 1;
				}
				ran++;
			}
		}
	}
	return ran ? 0 : usage();
}
