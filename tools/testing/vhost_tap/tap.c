// SPDX-License-Identifier: GPL-2.0-only
/*
 * Test Anything Protocol: see tap.h.
 */
#include "tap.h"

int tap_failures;

int tap_run(const struct tap_test *tests, int nr, const char *only)
{
	int i, n = 0, failed = 0;

	for (i = 0; i < nr; i++)
		n += !only || strstr(tests[i].name, only);
	printf("TAP version 13\n1..%d\n", n);
	for (i = n = 0; i < nr; i++) {
		if (only && !strstr(tests[i].name, only))
			continue;
		fflush(stdout);
		tap_failures = 0;
		tests[i].fn();
		printf("%sok %d - %s\n", tap_failures ? "not " : "", ++n, tests[i].name);
		failed += !!tap_failures;
	}
	printf("# %d passed, %d failed, 0 skipped\n", n - failed, failed);
	return failed ? 1 : 0;
}
