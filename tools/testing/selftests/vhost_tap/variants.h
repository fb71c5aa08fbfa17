/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The feature sets that the data-path tests run under, one FIXTURE_VARIANT
 * each, and the fixture that starts a guest in a network namespace of its own.
 * Included by one test file a program, after kselftest_harness.h.
 */
#ifndef VTAP_TEST_VARIANTS_H
#define VTAP_TEST_VARIANTS_H

#include "guest_driver.h"
#include "util.h"

/* before the tests fork; what goes wrong here they find when they call it */
static __attribute__((constructor)) void enter_netns(void)
{
	netns_private();
}

/* start a guest, or skip/fail in a way that says why */
#define START_GUEST(g, cfg)						\
	ASSERT_EQ(0, guest_start(g, cfg)) {				\
		TH_LOG("cannot start a guest on %s", node_path());	\
	}

/*
 * For a fixture whose set-up found out that there is nothing to test, and said why in
 * self->unable: the harness of 6.1 runs a test that its set-up has skipped.
 */
#define SKIP_IF_UNABLE()							\
do {										\
	if (self->unable)							\
		SKIP(return, "%s", self->unable);				\
} while (0)

/* a known shortcoming of in-tree vhost_net that CASES.md asks to do better */
#define SKIP_IN_TREE(why) do {						\
	if (!node_is_vhost_tap())					\
		SKIP(return, "in-tree vhost_net: " why);		\
} while (0)

#define ADD_FEATURE_VARIANTS(fixture)					\
FIXTURE_VARIANT_ADD(fixture, legacy)					\
{ .features = 0 };						\
FIXTURE_VARIANT_ADD(fixture, legacy_event)				\
{ .features = F_EVENT_IDX };				\
FIXTURE_VARIANT_ADD(fixture, legacy_mrg)				\
{ .features = F_MRG_RXBUF };				\
FIXTURE_VARIANT_ADD(fixture, legacy_indirect)				\
{ .features = F_INDIRECT, .indirect = true };		\
FIXTURE_VARIANT_ADD(fixture, legacy_notify_on_empty)			\
{ .features = F_NOTIFY_ON_EMPTY };			\
FIXTURE_VARIANT_ADD(fixture, modern)					\
{ .features = F_VERSION_1 };						\
FIXTURE_VARIANT_ADD(fixture, modern_event)				\
{ .features = F_VERSION_1 | F_EVENT_IDX };				\
FIXTURE_VARIANT_ADD(fixture, modern_mrg)				\
{ .features = F_VERSION_1 | F_MRG_RXBUF };				\
FIXTURE_VARIANT_ADD(fixture, modern_all)				\
{ .features = F_MODERN, .indirect = true }

#endif
