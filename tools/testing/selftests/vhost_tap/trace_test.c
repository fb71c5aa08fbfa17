// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tracepoints: each of those that the documentation names is hit where it
 * says, and tells the truth. Read through an instance of tracefs of our own.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "nl.h"
#include "variants.h"

#define TRACEFS	"/sys/kernel/tracing"

FIXTURE(trace)
{
	struct guest g;
	struct nl_dev d;
	uint8_t *frame;
	char dir[80];
};

static int trace_write(FIXTURE_DATA(trace) *s, const char *name, const char *text)
{
	char path[160];

	snprintf(path, sizeof(path), "%s/%s", s->dir, name);
	return file_write(path, text);
}

FIXTURE_SETUP(trace)
{
	if (!node_is_vhost_tap())
		SKIP(return, "in-tree vhost_net has no tracepoints");
	if (access(TRACEFS "/instances", F_OK))
		SKIP(return, "no tracefs at " TRACEFS);
	memset(&self->g, 0, sizeof(self->g));
	self->frame = malloc(FRAME_MAX);
	ASSERT_NE(NULL, self->frame);
	snprintf(self->dir, sizeof(self->dir), TRACEFS "/instances/vhost_tap.%d", getpid());
	ASSERT_EQ(0, mkdir(self->dir, 0700));
	ASSERT_EQ(0, trace_write(self, "events/vhost_tap/enable", "1"));
	ASSERT_EQ(0, netns_private());
}

FIXTURE_TEARDOWN(trace)
{
	if (self->g.dev.fd > 0)
		guest_stop(&self->g);
	trace_write(self, "events/vhost_tap/enable", "0");
	rmdir(self->dir);
	free(self->frame);
}

/* has an event been traced whose text begins with this? */
static bool traced(FIXTURE_DATA(trace) *s, const char *event, const char *text)
{
	char path[160], line[512], want[256];
	bool found = false;
	FILE *f;

	snprintf(want, sizeof(want), "%s: dev=%u %s", event, s->d.id, text);
	snprintf(path, sizeof(path), "%s/trace", s->dir);
	f = fopen(path, "r");
	while (f && !found && fgets(line, sizeof(line), f))
		found = strstr(line, want);
	if (f)
		fclose(f);
	return found;
}

static void show(FIXTURE_DATA(trace) *s)
{
	char path[160], line[512];
	FILE *f;

	snprintf(path, sizeof(path), "%s/trace", s->dir);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		fprintf(stderr, "# %s", line);
	if (f)
		fclose(f);
}

#define EXPECT_TRACED(event, text)					\
	EXPECT_TRUE(wait_until(traced(self, "vhost_tap_" event, text))) { \
		TH_LOG("no event %s with %s", event, text);		\
		show(self);						\
	}

TEST_F(trace, attach_and_detach)
{
	struct guest_cfg c = { .features = F_MODERN, .base = { 3, 9 }, .no_fill = true };

	START_GUEST(&self->g, &c);
	ASSERT_EQ(0, nl_dev_of(getpid(), &self->d));
	EXPECT_TRACED("attach", "queue=rx base=3 held=0");
	EXPECT_TRACED("attach", "queue=tx base=9 held=0");
	frame_make(self->frame, 0, 100);
	ASSERT_EQ(0, psock_send(self->g.tx_sock, NULL, self->frame, 100));
	EXPECT_TRACED("headcount_wait", "queue=rx len=");
	ASSERT_EQ(0, guest_detach(&self->g));
	EXPECT_TRACED("headcount_resume", "queue=rx waited_ns=");
	EXPECT_TRACED("detach", "queue=rx base=3 held=1");
	EXPECT_TRACED("detach", "queue=tx base=9 held=0");
}

TEST_F(trace, headcount)
{
	struct guest_cfg c = { .features = F_MODERN, .no_fill = true };
	char text[64];

	START_GUEST(&self->g, &c);
	ASSERT_EQ(0, nl_dev_of(getpid(), &self->d));
	frame_make(self->frame, 0, 100);
	ASSERT_EQ(0, psock_send(self->g.tx_sock, NULL, self->frame, 100));
	snprintf(text, sizeof(text), "queue=rx len=%u chains=0", 100 + self->g.hdr_len);
	EXPECT_TRACED("headcount_wait", text);
	EXPECT_FALSE(traced(self, "vhost_tap_headcount_resume", "queue=rx"));
	guest_rx_fill(&self->g);
	ASSERT_EQ(100, guest_rx(&self->g, NULL, self->frame, FRAME_MAX, WATCHDOG_MS));
	EXPECT_TRACED("headcount_resume", "queue=rx waited_ns=");
}

TEST_F(trace, drop)
{
	struct guest_cfg c = { .features = F_MODERN };

	START_GUEST(&self->g, &c);
	ASSERT_EQ(0, nl_dev_of(getpid(), &self->d));
	frame_make(self->frame, 0, 100);
	ASSERT_EQ(0, guest_tx_wait(&self->g, NULL, self->frame, 5));
	ASSERT_EQ(0, guest_tx_sync(&self->g));
	EXPECT_TRACED("drop", "queue=tx reason=short len=5");
}

TEST_F(trace, ring_error)
{
	struct guest_cfg c = { .features = F_VERSION_1, .base = { 0, 5 } };
	struct ring *r;

	START_GUEST(&self->g, &c);
	ASSERT_EQ(0, nl_dev_of(getpid(), &self->d));
	r = self->g.q[VQ_TX].ring;
	ring_split_push_raw(r, 0xffff);
	ring_publish(r);
	ring_force_kick(r);
	ASSERT_EQ(0, efd_wait(r->err_fd, WATCHDOG_MS));
	EXPECT_TRACED("ring_error", "queue=tx reason=head last_avail=5");
}

TEST_HARNESS_MAIN
