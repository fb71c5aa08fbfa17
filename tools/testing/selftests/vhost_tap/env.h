/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Numbers that whoever starts a test may set in its environment, for those tests
 * whose volume is a matter of patience. Touches nothing else.
 */
#ifndef VTAP_TEST_ENV_H
#define VTAP_TEST_ENV_H

#include <stdint.h>
#include <stdlib.h>

static inline uint64_t env_number(const char *name, uint64_t otherwise)
{
	const char *s = getenv(name);

	return s && *s ? strtoull(s, NULL, 0) : otherwise;
}

/* how much of mere volume takes as long on a machine $VTAP_SLOW times as slow */
static inline uint64_t env_volume(uint64_t n)
{
	uint64_t slow = env_number("VTAP_SLOW", 1);

	return slow > 1 ? n / slow : n;
}

/*
 * How many times as long a test waits there: for each thing that must happen, and
 * for the whole of a test, whose volume shrinks already.
 */
static inline unsigned int env_patience(void)
{
	uint64_t slow = env_number("VTAP_SLOW", 1);

	return slow < 1 ? 1 : slow > 4 ? 4 : slow;
}

#endif
