// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reader of vhost_tap's counters, on nl.c; see counters.h.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "counters.h"
#include "nl.h"

struct search {
	pid_t owner;
	struct dev_counters *c;
};

static bool take_dev(const struct nl_dev *d, void *arg)
{
	struct search *s = arg;

	if (d->owner_pid != (uint32_t)s->owner)
		return true;
	/* ids only grow: the last one is the newest */
	s->c->devices++;
	s->c->id = d->id;
	s->c->worker_pid = d->worker_pid;
	return true;
}

static bool take_queue(const struct nl_queue *from, void *arg)
{
	struct dev_counters *c = arg;
	struct queue_counters *to;

	if (from->index > 1)
		return true;
	to = &c->q[from->index];
	to->state = from->state;
	to->error = from->error;
	to->held = from->held;
	memcpy(to->stat, from->stats, sizeof(to->stat));
	memcpy(to->batches, from->batches, sizeof(to->batches));
	memcpy(to->drops, from->drops, sizeof(to->drops));
	memcpy(to->ring_errors, from->ring_errors, sizeof(to->ring_errors));
	return true;
}

int counters_read(pid_t owner, struct dev_counters *c)
{
	struct search s = { .owner = owner, .c = c };
	int err;

	memset(c, 0, sizeof(*c));
	err = nl_dev_dump(take_dev, &s);
	if (err)
		return err == -ENOENT ? -EOPNOTSUPP : err;
	if (!c->devices)
		return -ENOENT;
	return nl_queue_dump(c->id, take_queue, c);
}

const struct queue_counters *counters_of(unsigned int queue)
{
	static struct dev_counters c;
	int err = counters_read(getpid(), &c);

	if (err) {
		fprintf(stderr, "# no counters of process %d: %s\n", getpid(),
			strerror(-err));
		abort();
	}
	return &c.q[queue];
}
