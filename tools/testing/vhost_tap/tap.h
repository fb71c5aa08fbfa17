/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Test Anything Protocol: a test is a function, CHECK() notes what it finds.
 */
#ifndef VTAP_TEST_TAP_H
#define VTAP_TEST_TAP_H

#include <stdio.h>
#include <string.h>

struct tap_test {
	const char *name;
	void (*fn)(void);
};

extern int tap_failures;	/* of the running test */

/* A failed check is told, and the test goes on. */
#define CHECK(cond) do {							\
	if (!(cond) && tap_failures++ < 10)					\
		printf("# %s:%d: not so: %s\n", __FILE__, __LINE__, #cond);	\
} while (0)

#define CHECK_EQ(a, b) do {							\
	long long a_ = (long long)(a), b_ = (long long)(b);			\
	if (a_ != b_ && tap_failures++ < 10)					\
		printf("# %s:%d: %s is %lld, and not %s, %lld\n", __FILE__,	\
		       __LINE__, #a, a_, #b, b_);				\
} while (0)

/* Runs the tests whose names contain @only (all if NULL); returns the exit status. */
int tap_run(const struct tap_test *tests, int nr, const char *only);

#endif /* VTAP_TEST_TAP_H */
