/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's fault injection, as tests need it: allocations and copies from and
 * to user memory that fail when they are told to. Needs a kernel with
 * CONFIG_FAILSLAB, CONFIG_FAIL_PAGE_ALLOC and CONFIG_FAULT_INJECTION_USERCOPY, and
 * debugfs. Touches nothing of vhost.
 */
#ifndef VTAP_TEST_FAULTS_H
#define VTAP_TEST_FAULTS_H

#include <stdbool.h>
#include <sys/types.h>

enum fault_kind {
	FAULT_SLAB,
	FAULT_PAGE,
	FAULT_COPY,
	FAULT_KINDS,
};

/* make it ready, and quiet: 0, or -errno where the kernel has none of it */
int faults_init(void);

/*
 * Call fn(arg) with the n-th of its allocations and copies failing, counted from 1.
 * Returns what fn did; *hit says whether there were that many.
 */
int faults_nth(unsigned int n, int (*fn)(void *arg), void *arg, bool *hit);

/* from now on, this many of a hundred fail in each thread that is marked so */
int faults_rate(enum fault_kind kind, unsigned int percent);
int faults_mark(pid_t tid, bool marked);

/* how much memory nobody points to; shows some. -errno without kmemleak. Takes seconds. */
int leaks_found(void);

#endif
