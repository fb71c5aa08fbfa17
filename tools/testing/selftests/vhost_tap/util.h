/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Small helpers every vhost_tap selftest needs: time and waiting, private
 * network namespaces, a look at what drives the node, slab counts, random
 * numbers that can be repeated. Touches nothing of vhost or of the rings.
 */
#ifndef VTAP_TEST_UTIL_H
#define VTAP_TEST_UTIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * How long a test waits for something that must happen. It only bounds a
 * failure; nothing passes because time went by. Generous, since the whole
 * suite runs under emulation on busy machines; $VTAP_WATCHDOG_MS says otherwise
 * where failures are what is waited for (scripts/mutants.sh).
 */
#define WATCHDOG_MS	watchdog_ms()
int watchdog_ms(void);

/*
 * How long a test of the harness may take, said with alarm(): longer on a slow
 * machine. The linker puts the first in alarm()'s place (Makefile).
 */
unsigned int __wrap_alarm(unsigned int s);
unsigned int __real_alarm(unsigned int s);

#define ARRAY_LEN(a)	(sizeof(a) / sizeof((a)[0]))

#ifndef READ_ONCE
#define READ_ONCE(x)		(*(volatile typeof(x) *)&(x))
#define WRITE_ONCE(x, v)	(*(volatile typeof(x) *)&(x) = (v))
#endif

uint64_t now_ns(void);
uint64_t cpu_ns(pid_t tid);

/* poll() for one descriptor: 1 ready, 0 time is up, -errno */
int fd_wait(int fd, short events, int timeout_ms);
/* read and reset an eventfd: its count, or 0 when it was not signalled */
uint64_t efd_drain(int fd);
void efd_signal(int fd);
/* wait for an eventfd and reset it: 0, or -ETIMEDOUT */
int efd_wait(int fd, int timeout_ms);

/*
 * Spin for a condition that has no descriptor to wait on, yielding the CPU.
 * Evaluates to false when the watchdog bites.
 */
#define wait_until(cond) ({						\
	uint64_t __end = now_ns() + WATCHDOG_MS * 1000000ULL;		\
	bool __ok;							\
	while (!(__ok = (cond)) && now_ns() < __end)			\
		cpu_yield();						\
	__ok || (cond);							\
})
void cpu_yield(void);

/*
 * A network namespace of the program's own, quiet (no IPv6 chatter). Called
 * again, or in a child, it does nothing.
 */
int netns_private(void);
/* the same, and a new one each time */
int netns_new(void);

/* the character device under test: $VHOST_TAP_NODE or /dev/vhost-net */
const char *node_path(void);
int node_open(int flags);
/* true when vhost_tap serves the node, false for in-tree vhost_net */
bool node_is_vhost_tap(void);
/* a number from a module parameter or another one-line file; -1 without it */
long file_read_long(const char *path);
int file_write(const char *path, const char *text);

/* objects in use in a slab cache as /proc/slabinfo has it; -1 if unknown */
long slab_active(const char *cache);
/* give back what the allocator and RCU hold for no one */
void slab_settle(void);

/* the kthread that serves process pid as owner ("vhost-<pid>"); 0: none */
pid_t worker_of(pid_t pid);
/* all of them, up to max: how many */
unsigned int workers_of(pid_t pid, pid_t *out, unsigned int max);
/* state letter out of /proc/<pid>/stat; 0 when the task is gone */
char task_state(pid_t pid);
int count_open_fds(void);

struct rng {
	uint64_t s;
};

uint64_t rng_next(struct rng *r);
/* a number in [0, n) */
static inline uint32_t rng_below(struct rng *r, uint32_t n)
{
	return n ? (uint32_t)(rng_next(r) % n) : 0;
}

#endif
