// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unit tests of the dirty log: log.c.
 *
 * Plan: which pieces of the bitmap lie in the owner's memory (case 44).
 */
#include "guest.h"
#include "tap.h"
#include "../../../drivers/vhost_tap/log.h"

#define LIMIT	((1ULL << 47) - 4096)
#define SPAN	VTAP_LOG_BYTE_SPAN

static void case44_limits(void)
{
	/* nothing is asked for */
	CHECK(vtap_log_access_ok(0, 0, 0));
	CHECK(vtap_log_access_ok(~0ULL, ~0ULL, 0));

	/* the byte of the last address that is asked for */
	CHECK(vtap_log_access_ok(LIMIT - 1, 0, 1));
	CHECK(vtap_log_access_ok(LIMIT - 1, 0, SPAN));
	CHECK(!vtap_log_access_ok(LIMIT - 1, 0, SPAN + 1));
	CHECK(!vtap_log_access_ok(LIMIT - 1, SPAN - 1, 2));
	CHECK(!vtap_log_access_ok(LIMIT - 1, SPAN, 1));
	CHECK(!vtap_log_access_ok(LIMIT, 0, 1));
	CHECK(vtap_log_access_ok(LIMIT - 2, SPAN, SPAN));

	/* the last address there is, and one more */
	CHECK(vtap_log_access_ok(0, ~0ULL, 1) == (~0ULL / SPAN < LIMIT));
	CHECK(!vtap_log_access_ok(0x1000, ~0ULL, 2));
	CHECK(!vtap_log_access_ok(0x1000, 1, ~0ULL));
	CHECK(!vtap_log_access_ok(0x1000, 1ULL << 63, 1ULL << 63 | 1));

	/* a bitmap that wraps, or begins beyond */
	CHECK(!vtap_log_access_ok(~0ULL, 0, SPAN + 1));
	CHECK(!vtap_log_access_ok(~0ULL, SPAN, 1));
	CHECK(!vtap_log_access_ok(~0ULL - 1, 0, 1));
}

static const struct tap_test tests[] = {
	{ "case44_limits", case44_limits },
};

int main(int argc, char **argv)
{
	return tap_run(tests, sizeof(tests) / sizeof(tests[0]), argc > 1 ? argv[1] : NULL);
}
