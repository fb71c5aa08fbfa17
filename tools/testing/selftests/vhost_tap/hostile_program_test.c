// SPDX-License-Identifier: GPL-2.0-only
/*
 * A program that means harm. Processes live one after the other; the threads of
 * each do random things to the same devices and descriptors (hostile_calls.c), and
 * so does a child that has inherited them, and is handed more of them. At any time
 * the one is killed, or both are. After that
 *
 *  - all of them are gone, and so are their workers: nothing is stuck;
 *  - nobody uses the module, or a tap, any more;
 *  - the kernel has no more memory in use than before;
 *  - a device opened now works.
 *
 * $VTAP_ROUNDS sequences of calls are made instead of the usual number, with the
 * numbers of seed $VTAP_SEED. How threads meet is left to chance.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <net/if.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "env.h"
#include "hostile_calls.h"
#include "load.h"
#include "variants.h"

#define THREADS		3
#define SEQUENCE	16	/* calls */
#define SEQUENCES	1500
#define LIFE		96	/* sequences of a process, about */
#define FRESH		16	/* lives between two looks at a fresh device */

/* what the processes have in common */
struct common {
	uint64_t sequences;
	pid_t child;
};

FIXTURE(program)
{
	struct common *common;
	struct tap tap[2];
	int psock[2];
	uint64_t seed;
	unsigned int sequences;
	long users;		/* of the module, before */
	int fds;
};

FIXTURE_VARIANT(program)
{
	bool child;		/* it has one */
	bool killed;		/* else its threads end by themselves */
};

FIXTURE_VARIANT_ADD(program, killed) { .killed = true };
FIXTURE_VARIANT_ADD(program, killed_shared) { .killed = true, .child = true };
FIXTURE_VARIANT_ADD(program, ends_shared) { .child = true };

static const char *refcnt_file(void)
{
	return node_is_vhost_tap() ? "/sys/module/vhost_tap/refcnt" :
				     "/sys/module/vhost_net/refcnt";
}

FIXTURE_SETUP(program)
{
	unsigned int i;

	memset(self, 0, sizeof(*self));
	ASSERT_EQ(0, netns_private());
	self->seed = env_number("VTAP_SEED", 1);
	self->sequences = env_number("VTAP_ROUNDS", env_volume(SEQUENCES));
	self->fds = count_open_fds();
	self->users = file_read_long(refcnt_file());
	ASSERT_LE(0, self->users);
	self->common = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			    -1, 0);
	ASSERT_NE(MAP_FAILED, self->common);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, tap_open(&self->tap[i], NULL, 0, 12));
		ASSERT_EQ(0, tap_set_up(&self->tap[i], true));
		self->psock[i] = psock_sender(self->tap[i].ifindex, false);
		ASSERT_LE(0, self->psock[i]);
	}
	/* children of children that were killed are ours to wait for */
	ASSERT_EQ(0, prctl(PR_SET_CHILD_SUBREAPER, 1));
}

FIXTURE_TEARDOWN(program)
{
	munmap(self->common, 4096);
}

/* ------- the program ------- */

struct actor {
	struct calls *calls;
	struct common *common;
	struct rng rng;
	unsigned int left;	/* sequences; 0: until somebody ends it */
	pthread_t thread;
};

static void *act(void *arg)
{
	struct actor *a = arg;
	unsigned int i, n;

	for (n = 0; !a->left || n < a->left; n++) {
		for (i = 0; i < SEQUENCE; i++)
			calls_random(a->calls, &a->rng);
		__atomic_add_fetch(&a->common->sequences, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* the process: never returns */
static void live(FIXTURE_DATA(program) *self, const FIXTURE_VARIANT(program) *variant,
		 uint64_t number)
{
	int taps[2] = { self->tap[0].fd, self->tap[1].fd };
	struct actor a[THREADS] = { };
	struct calls c;
	unsigned int i;
	pid_t pid = 0;

	/* a stray signal is one more way to die */
	setpgid(0, 0);
	if (calls_init(&c, taps, 2, self->psock))
		_exit(1);
	if (variant->child) {
		pid = fork();
		if (pid < 0)
			_exit(1);
		if (!pid) {
			a[0].common = self->common;
			a[0].calls = &c;
			a[0].rng.s = (self->seed << 32) + number * 8 + THREADS;
			WRITE_ONCE(self->common->child, getpid());
			act(&a[0]);
		}
	}
	for (i = 0; i < THREADS; i++) {
		a[i].common = self->common;
		a[i].calls = &c;
		a[i].rng.s = (self->seed << 32) + number * 8 + i;
		a[i].left = variant->killed ? 0 : LIFE / THREADS;
		if (pthread_create(&a[i].thread, NULL, act, &a[i]))
			_exit(1);
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(a[i].thread, NULL);
	/* its files are closed by its end, whatever is under way */
	_exit(0);
}

static void tell_stuck(void)
{
	char path[300], line[256];
	struct dirent *e;
	DIR *d = opendir("/proc");
	FILE *f;

	while (d && (e = readdir(d))) {
		pid_t pid = atoi(e->d_name);

		if (pid <= 0 || task_state(pid) != 'D')
			continue;
		fprintf(stderr, "# task %d is in state D:\n", pid);
		snprintf(path, sizeof(path), "/proc/%d/stack", pid);
		f = fopen(path, "r");
		while (f && fgets(line, sizeof(line), f))
			fprintf(stderr, "#   %s", line);
		if (f)
			fclose(f);
	}
	if (d)
		closedir(d);
}

/* has all that lived ended? What state it was in when it did not is told. */
static int all_gone(int *died)
{
	uint64_t end = now_ns() + 3 * WATCHDOG_MS * 1000000ULL;
	int status;
	pid_t pid;

	for (;;) {
		pid = waitpid(-1, &status, WNOHANG);
		if (pid < 0)
			return errno == ECHILD ? 0 : -errno;
		if (pid > 0) {
			if (WIFEXITED(status) && WEXITSTATUS(status))
				*died = WEXITSTATUS(status);
			if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
				*died = 128 + WTERMSIG(status);
			continue;
		}
		if (now_ns() > end) {
			tell_stuck();
			return -ETIMEDOUT;
		}
		cpu_yield();
	}
}

static int one_life(FIXTURE_DATA(program) *self, const FIXTURE_VARIANT(program) *variant,
		    uint64_t number)
{
	struct rng r = { .s = self->seed + number };
	uint64_t want;
	int died = 0, err;
	pid_t pid;

	WRITE_ONCE(self->common->child, 0);
	pid = fork();
	if (pid < 0)
		return -errno;
	if (!pid)
		live(self, variant, number);

	if (variant->killed) {
		want = READ_ONCE(self->common->sequences) + rng_below(&r, 2 * LIFE);
		if (!wait_until(READ_ONCE(self->common->sequences) >= want)) {
			fprintf(stderr, "# life %" PRIu64 " stands still\n", number);
			tell_stuck();
			return -ETIMEDOUT;
		}
		kill(pid, SIGKILL);
	} else if (waitpid(pid, &died, 0) != pid || died) {
		fprintf(stderr, "# a process ended with status %#x\n", died);
		return -ECHILD;
	}
	if (variant->child) {
		/* the owner is dead, or dying; this one still has its devices */
		if (!wait_until(READ_ONCE(self->common->child)))
			return -ECHILD;
		want = READ_ONCE(self->common->sequences) + rng_below(&r, LIFE);
		if (!wait_until(READ_ONCE(self->common->sequences) >= want)) {
			fprintf(stderr, "# the child of life %" PRIu64 " stands still\n", number);
			tell_stuck();
			return -ETIMEDOUT;
		}
		kill(self->common->child, SIGKILL);
	}
	err = all_gone(&died);
	if (!err && died) {
		fprintf(stderr, "# a process ended with status %d\n", died);
		err = -ECHILD;
	}
	return err;
}

/* ------- what is left of it ------- */

/* tasks whose names are those of workers */
static int workers(void)
{
	char path[300], comm[32];
	DIR *d = opendir("/proc");
	struct dirent *e;
	int n = 0;
	FILE *f;

	while (d && (e = readdir(d))) {
		if (atoi(e->d_name) <= 0)
			continue;
		snprintf(path, sizeof(path), "/proc/%s/comm", e->d_name);
		f = fopen(path, "r");
		if (!f)
			continue;
		n += fscanf(f, "%31s", comm) == 1 && !strncmp(comm, "vhost-", 6);
		fclose(f);
	}
	if (d)
		closedir(d);
	return n;
}

/* kilobytes that the kernel has for itself */
static long kernel_kb(void)
{
	static const char *const what[] = {
		"SUnreclaim:", "VmallocUsed:", "KernelStack:", "PageTables:", "Percpu:",
	};
	char line[128], name[64];
	FILE *f;
	long kb, sum = 0;
	unsigned int i;

	slab_settle();
	f = fopen("/proc/meminfo", "r");
	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%63s %ld", name, &kb) != 2)
			continue;
		for (i = 0; i < ARRAY_LEN(what); i++)
			if (!strcmp(name, what[i]))
				sum += kb;
	}
	if (f)
		fclose(f);
	return sum;
}

static int fresh_works(void)
{
	struct guest_cfg cfg = { .features = F_MODERN, .buf = { 2048, 2048 } };
	struct guest g;
	int err = guest_start(&g, &cfg);

	if (!err) {
		err = load_check(&g);
		guest_stop(&g);
	}
	return err;
}

TEST_F_TIMEOUT(program, random_calls, 3600)
{
	uint64_t life = 0, half = self->sequences / 2;
	long before = 0, after, grown;
	unsigned int i;

	while (self->common->sequences < self->sequences) {
		ASSERT_EQ(0, one_life(self, variant, life)) {
			TH_LOG("VTAP_SEED=%llu, life %llu",
			       (unsigned long long)self->seed, (unsigned long long)life);
		}
		if (!(++life % FRESH))
			ASSERT_EQ(0, fresh_works());

		if (!before && self->common->sequences >= half)
			before = kernel_kb();
	}
	TH_LOG("%llu sequences, %llu lives", (unsigned long long)self->common->sequences,
	       (unsigned long long)life);
	ASSERT_EQ(0, fresh_works());
	EXPECT_TRUE(wait_until(!workers())) {
		TH_LOG("%d workers are left", workers());
	}
	/* files are closed a little after who had them is gone */
	EXPECT_TRUE(wait_until(file_read_long(refcnt_file()) == self->users)) {
		TH_LOG("%ld users of the module, %ld before",
		       file_read_long(refcnt_file()), self->users);
	}
	/*
	 * What every sequence loses, be it one small object of many, adds up to more
	 * than this in thousands of them. What a kernel holds back and frees late
	 * does not. (Where kmemleak is, it is asked by others; and KASAN holds back
	 * much more.)
	 */
	if (access("/sys/kernel/debug/kmemleak", F_OK)) {
		EXPECT_TRUE(wait_until((after = kernel_kb()) - before < 4096)) {
			grown = after - before;
			TH_LOG("%ld KiB more than halfway", grown);
		}
	}
	for (i = 0; i < 2; i++) {
		close(self->psock[i]);
		tap_close(&self->tap[i]);
		EXPECT_TRUE(wait_until(!if_nametoindex(self->tap[i].name))) {
			TH_LOG("%s has a user left", self->tap[i].name);
		}
	}
	EXPECT_EQ(self->fds, count_open_fds());
}

TEST_HARNESS_MAIN
