// SPDX-License-Identifier: GPL-2.0-only
/*
 * Kicks and interrupts: sent when asked for, not sent when not, never lost.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "variants.h"
#include "counters.h"

FIXTURE(notify)
{
	struct guest g;
	uint8_t out[256], in[FRAME_MAX];
};

FIXTURE_VARIANT(notify)
{
	uint64_t features;
};

FIXTURE_VARIANT_ADD(notify, flags) { .features = F_VERSION_1 };
FIXTURE_VARIANT_ADD(notify, event_idx)
{ .features = F_VERSION_1 | F_EVENT_IDX };

FIXTURE_SETUP(notify)
{
	memset(&self->g, 0, sizeof(self->g));
	ASSERT_EQ(0, netns_private());
}

FIXTURE_TEARDOWN(notify)
{
	if (self->g.dev.fd > 0)
		guest_stop(&self->g);
}

static int tx_one(struct guest *g, uint8_t *out, uint64_t seq)
{
	int r;

	frame_make(out, seq, 100);
	r = guest_tx(g, NULL, out, 100);
	ring_publish(g->q[VQ_TX].ring);
	return r;
}

/* the device has used n chains and then done what it does after that */
static bool tx_settled(struct guest *g, uint16_t used_idx)
{
	/* a TX queue at rest asks to be kicked: that is its last act */
	return wait_until(READ_ONCE(g->q[VQ_TX].ring->used->idx) == used_idx) &&
	       wait_until(ring_split_kicks_on(g->q[VQ_TX].ring));
}

/*
 * A device that has just started knows no earlier used index to reckon from,
 * and may interrupt at its first publish whatever the driver asked for.
 */
static int first_publish(struct guest *g, uint8_t *out)
{
	struct ring *r = g->q[VQ_TX].ring;
	int err = tx_one(g, out, 0);

	if (err)
		return err;
	ring_force_kick(r);
	if (!tx_settled(g, 1))
		return -ETIMEDOUT;
	efd_drain(r->call_fd);
	err = guest_tx_reap(g);
	return err < 0 ? err : 0;
}

/* no interrupt while none is asked for; the next one that is asked for comes */
TEST_F(notify, interrupts_off_and_on)
{
	struct guest_cfg c = { .features = variant->features };
	uint64_t signals = 0;
	struct ring *r;
	unsigned int i;

	START_GUEST(&self->g, &c);
	r = self->g.q[VQ_TX].ring;
	ASSERT_EQ(0, first_publish(&self->g, self->out));
	if (node_is_vhost_tap())
		signals = Q_STAT(counters_of(VQ_TX), SIGNALS);
	ring_call_disable(r);
	for (i = 1; i <= 50; i++) {
		ASSERT_EQ(0, tx_one(&self->g, self->out, i));
		ring_force_kick(r);
		ASSERT_TRUE(tx_settled(&self->g, i + 1));
	}
	EXPECT_EQ(0, efd_drain(r->call_fd));
	if (node_is_vhost_tap()) {
		EXPECT_EQ(signals, Q_STAT(counters_of(VQ_TX), SIGNALS));
		EXPECT_TRUE(wait_counter(VQ_TX,
					 Q_STAT(q, SIGNALS_SUPPRESSED) > 0));
	}
	ASSERT_EQ(50, guest_tx_reap(&self->g));

	ASSERT_FALSE(ring_call_enable(r, 1));
	ASSERT_EQ(0, tx_one(&self->g, self->out, i));
	ring_force_kick(r);
	EXPECT_EQ(0, efd_wait(r->call_fd, WATCHDOG_MS));
	if (node_is_vhost_tap())
		EXPECT_TRUE(wait_counter(VQ_TX, Q_STAT(q, SIGNALS) ==
						signals + 1));
}

/* EVENT_IDX: not before the one that was named */
TEST_F(notify, interrupt_after_so_many)
{
	struct guest_cfg c = { .features = variant->features };
	struct ring *r;
	unsigned int i;

	if (!(variant->features & F_EVENT_IDX))
		return;
	START_GUEST(&self->g, &c);
	r = self->g.q[VQ_TX].ring;
	ASSERT_EQ(0, first_publish(&self->g, self->out));
	ASSERT_FALSE(ring_call_enable(r, 10));
	for (i = 1; i < 10; i++) {
		ASSERT_EQ(0, tx_one(&self->g, self->out, i));
		ring_force_kick(r);
		ASSERT_TRUE(tx_settled(&self->g, i + 1));
	}
	EXPECT_EQ(0, efd_drain(r->call_fd));
	ASSERT_EQ(0, tx_one(&self->g, self->out, i));
	ring_force_kick(r);
	EXPECT_EQ(0, efd_wait(r->call_fd, WATCHDOG_MS));
}

/* NOTIFY_ON_EMPTY: a ring run dry interrupts even those who asked for none */
TEST_F(notify, notify_on_empty)
{
	struct guest_cfg c = {
		.features = variant->features | F_NOTIFY_ON_EMPTY,
	};
	struct ring *r;

	START_GUEST(&self->g, &c);
	r = self->g.q[VQ_TX].ring;
	ring_call_disable(r);
	efd_drain(r->call_fd);
	ASSERT_EQ(0, tx_one(&self->g, self->out, 1));
	ring_force_kick(r);
	EXPECT_EQ(0, efd_wait(r->call_fd, WATCHDOG_MS));
}

/* without a kick nothing need happen, and with one all of it does */
TEST_F(notify, one_kick_for_many)
{
	struct guest_cfg c = { .features = variant->features };
	struct ring *r;
	unsigned int i;

	START_GUEST(&self->g, &c);
	r = self->g.q[VQ_TX].ring;
	for (i = 0; i < 200; i++)
		ASSERT_EQ(0, tx_one(&self->g, self->out, i));
	ring_force_kick(r);
	ASSERT_EQ(0, guest_tx_sync(&self->g));
	for (i = 0; i < 200; i++) {
		ASSERT_EQ(100, psock_recv(self->g.rx_sock, NULL, self->in,
					  FRAME_MAX, WATCHDOG_MS));
		ASSERT_TRUE(frame_check(self->in, i, 100));
	}
	/* I4 and section 4: a batch signals at most once */
	if (node_is_vhost_tap())
		EXPECT_LE(Q_STAT(counters_of(VQ_TX), SIGNALS), 200 / 64 + 4);
}

/* case 60: what was kicked before the backend came is seen when it comes */
TEST_F(notify, case60_kicked_before_attach)
{
	struct guest_cfg c = {
		.features = variant->features,
		.no_backend = true,
	};
	struct ring *r;

	START_GUEST(&self->g, &c);
	guest_rx_fill(&self->g);
	r = self->g.q[VQ_TX].ring;
	ASSERT_EQ(0, tx_one(&self->g, self->out, 1));
	ring_force_kick(r);
	ASSERT_EQ(0, guest_attach(&self->g, self->g.tap.fd));
	ASSERT_EQ(0, guest_tx_sync(&self->g));
	ASSERT_EQ(100, psock_recv(self->g.rx_sock, NULL, self->in, FRAME_MAX,
				  WATCHDOG_MS));
}

/* case 60: an eventfd that is already signalled when it becomes the kick */
TEST_F(notify, case60_kick_replaced)
{
	struct guest_cfg c = { .features = variant->features };
	struct ring *r;
	unsigned int i;
	int efd;

	START_GUEST(&self->g, &c);
	r = self->g.q[VQ_TX].ring;
	for (i = 0; i < 50; i++) {
		efd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
		ASSERT_GE(efd, 0);
		ASSERT_EQ(0, tx_one(&self->g, self->out, i));
		ASSERT_EQ(0, vdev_set_kick(&self->g.dev, VQ_TX, efd));
		close(r->kick_fd);
		r->kick_fd = efd;
		/* no other kick: it is the eventfd's count that tells */
		while (r->outstanding) {
			ASSERT_EQ(0, ring_wait_used(r, WATCHDOG_MS));
			ASSERT_GE(guest_tx_reap(&self->g), 0);
		}
	}
}

/* case 60: without a call eventfd the work is done all the same */
TEST_F(notify, case60_no_call)
{
	struct guest_cfg c = { .features = variant->features };
	struct ring *r;

	START_GUEST(&self->g, &c);
	r = self->g.q[VQ_TX].ring;
	ASSERT_EQ(0, vdev_set_call(&self->g.dev, VQ_TX, -1));
	ASSERT_EQ(0, tx_one(&self->g, self->out, 1));
	ring_force_kick(r);
	ASSERT_TRUE(wait_until(ring_used_pending(r)));
	ASSERT_EQ(1, guest_tx_reap(&self->g));
	/* given one again, it is used again */
	ASSERT_EQ(0, vdev_set_call(&self->g.dev, VQ_TX, r->call_fd));
	efd_drain(r->call_fd);
	ASSERT_EQ(0, tx_one(&self->g, self->out, 2));
	ring_call_enable(r, 1);
	ring_force_kick(r);
	EXPECT_EQ(0, efd_wait(r->call_fd, WATCHDOG_MS));
}

/* the number that the kernel knows an eventfd by; the lowest that is free */
static int eventfd_id(int efd)
{
	char path[64], line[128];
	int id = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", efd);
	f = fopen(path, "r");
	while (f && id < 0 && fgets(line, sizeof(line), f))
		if (sscanf(line, "eventfd-id: %d", &id) != 1)
			id = -1;
	if (f)
		fclose(f);
	return id;
}

/*
 * Whatever is told about an eventfd, and however often, once it is replaced nobody
 * has it any more: numbers are free again.
 */
TEST_F(notify, eventfds_not_kept)
{
	static int (*const set[])(struct vdev *v, unsigned int idx, int fd) = {
		vdev_set_kick, vdev_set_call, vdev_set_err,
	};
	struct guest_cfg c = { .features = variant->features };
	unsigned int i, k, queue;
	int efd, id, first = -1;

	START_GUEST(&self->g, &c);
	for (i = 0; i < 60; i++) {
		efd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		ASSERT_GE(efd, 0);
		id = eventfd_id(efd);
		ASSERT_GE(id, 0);
		if (first < 0)
			first = id;
		/* two are in use at a time; somebody else may have one, too */
		ASSERT_LE(id, first + 8) {
			TH_LOG("eventfd %u has number %d, the first had %d", i, id, first);
		}
		for (k = 0; k < ARRAY_LEN(set); k++) {
			for (queue = 0; queue < 2; queue++) {
				/* the same once more, and what is none */
				ASSERT_EQ(0, set[k](&self->g.dev, queue, efd));
				ASSERT_EQ(0, set[k](&self->g.dev, queue, efd));
				ASSERT_NE(0, set[k](&self->g.dev, queue, self->g.tap.fd));
			}
		}
		close(efd);
	}
}

TEST_HARNESS_MAIN
