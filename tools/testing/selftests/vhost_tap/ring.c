// SPDX-License-Identifier: GPL-2.0-only
/*
 * What both ring formats share on the driver's side: kicks and waiting.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>

#include "ring.h"
#include "util.h"

void ring_force_kick(struct ring *r)
{
	r->n_kicks++;
	efd_signal(r->kick_fd);
}

bool ring_kick(struct ring *r)
{
	ring_publish(r);
	if (!r->ops->kick_wanted(r))
		return false;
	ring_force_kick(r);
	return true;
}

int ring_wait_used(struct ring *r, int timeout_ms)
{
	uint64_t end = now_ns() + timeout_ms * 1000000ULL;
	struct pollfd p[2] = {
		{ .fd = r->call_fd, .events = POLLIN },
		{ .fd = r->err_fd, .events = POLLIN },
	};
	int64_t left;

	while (!ring_used_pending(r)) {
		if (ring_call_enable(r, 1))
			break;
		left = (int64_t)(end - now_ns()) / 1000000;
		if (left <= 0)
			return -ETIMEDOUT;
		if (poll(p, 2, left) < 0 && errno != EINTR)
			return -errno;
		if (p[0].revents & POLLIN)
			r->n_calls += efd_drain(r->call_fd);
		if (p[1].revents & POLLIN) {
			efd_drain(r->err_fd);
			return -EIO;
		}
	}
	return 0;
}

int ring_drain(struct ring *r, unsigned int n, int timeout_ms)
{
	uint32_t token, len;
	int err;

	while (r->outstanding > n) {
		err = ring_wait_used(r, timeout_ms);
		if (err)
			return err;
		do {
			err = ring_get_used(r, &token, &len);
		} while (err > 0 && r->outstanding > n);
		if (err < 0)
			return err;
	}
	return 0;
}

void ring_free(struct ring *r)
{
	free(r->next_free);
	free(r->chain);
	r->next_free = NULL;
	r->chain = NULL;
}
