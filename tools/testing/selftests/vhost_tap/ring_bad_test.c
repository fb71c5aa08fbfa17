// SPDX-License-Identifier: GPL-2.0-only
/*
 * Broken rings. Whatever a driver writes, the queue that it wrote it for
 * stops with its err eventfd signalled and the reason counted; nothing is
 * read or written outside, the worker does not spin, the other queue and
 * other devices go on, and a stop and restart recovers the broken one.
 */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "variants.h"
#include "counters.h"

#define NUM	64
#define UNMAPPED_GPA	0xdead00000000ULL

struct bad {
	struct guest g;
	struct ring *r;
	uint8_t out[2048], in[FRAME_MAX];
	uint64_t seq;
};

FIXTURE(bad)
{
	struct bad b;
};

FIXTURE_VARIANT(bad)
{
	unsigned int queue;
	bool event_idx;
};

FIXTURE_VARIANT_ADD(bad, tx) { .queue = VQ_TX };
FIXTURE_VARIANT_ADD(bad, rx) { .queue = VQ_RX };
FIXTURE_VARIANT_ADD(bad, tx_event) { .queue = VQ_TX, .event_idx = true };
FIXTURE_VARIANT_ADD(bad, rx_event) { .queue = VQ_RX, .event_idx = true };

static int bad_start(struct bad *b, unsigned int queue, bool event_idx)
{
	struct guest_cfg c = {
		.features = F_VERSION_1 | F_MRG_RXBUF | F_INDIRECT |
			    (event_idx ? F_EVENT_IDX : 0),
		.num = { NUM, NUM },
		.buf = { 2048, 2048 },
		/* leave descriptors that a test may write what it likes to */
		.slots = { NUM / 2, NUM / 2 },
		.no_fill = queue == VQ_RX,
	};
	int err = guest_start(&b->g, &c);

	b->r = &b->g.dev.ring[queue];
	b->seq = 0;
	return err;
}

FIXTURE_SETUP(bad)
{
	memset(&self->b, 0, sizeof(self->b));
	ASSERT_EQ(0, netns_private());
	ASSERT_EQ(0, bad_start(&self->b, variant->queue, variant->event_idx));
}

FIXTURE_TEARDOWN(bad)
{
	if (self->b.g.dev.fd > 0)
		guest_stop(&self->b.g);
}

static int tx_works(struct bad *b)
{
	ssize_t n;
	int r;

	b->seq++;
	frame_make(b->out, b->seq, 500);
	r = guest_tx_wait(&b->g, NULL, b->out, 500);
	if (!r)
		r = guest_tx_sync(&b->g);
	if (r)
		return r;
	do	/* what went out before the ring was found broken comes first */
		n = psock_recv(b->g.rx_sock, NULL, b->in, sizeof(b->in),
			       WATCHDOG_MS);
	while (n > 0 && (!frame_is_ours(b->in, n) ||
			 frame_seq(b->in) < b->seq));
	if (n != 500 || !frame_check(b->in, b->seq, 500))
		return n < 0 ? n : -EBADMSG;
	return 0;
}

static int rx_works(struct bad *b)
{
	ssize_t n;
	int r;

	b->seq++;
	frame_make(b->out, b->seq, 500);
	guest_rx_fill(&b->g);
	r = psock_send(b->g.tx_sock, NULL, b->out, 500);
	if (r)
		return r;
	do	/* what was sent to provoke the error may come first */
		n = guest_rx(&b->g, NULL, b->in, sizeof(b->in), WATCHDOG_MS);
	while (n >= FRAME_MIN && frame_seq(b->in) < b->seq);
	if (n != 500 || !frame_check(b->in, b->seq, 500))
		return n < 0 ? n : -EBADMSG;
	return 0;
}

static int queue_works(struct bad *b, unsigned int queue)
{
	return queue == VQ_TX ? tx_works(b) : rx_works(b);
}

/* make the device look at the ring that has just been spoiled */
static void provoke(struct bad *b, unsigned int queue)
{
	ring_publish(b->r);
	ring_force_kick(b->r);
	if (queue == VQ_RX) {
		frame_make(b->out, 0, 500);
		psock_send(b->g.tx_sock, NULL, b->out, 500);
	}
}

/* the ring as a driver resets it: stop, fresh ring, base 0, start */
static int restart(struct bad *b, unsigned int queue)
{
	struct guest_q *q = &b->g.q[queue];
	unsigned int i;
	int err;

	err = vdev_set_backend(&b->g.dev, queue, -1);
	if (err)
		return err;
	ring_split_reset(b->r, 0);
	memset(b->r->desc, 0, NUM * sizeof(*b->r->desc));
	for (i = 0; i < q->slots; i++)
		q->free[i] = i;
	q->nfree = q->slots;
	efd_drain(b->r->err_fd);
	err = vdev_ring_tell(&b->g.dev, queue);
	if (!err)
		err = vdev_set_backend(&b->g.dev, queue, b->g.tap.fd);
	return err;
}

/*
 * After provoke(): the error comes, once; the worker goes to sleep; the
 * other queue works; a restart heals. reason: VHOST_TAP_A_RING_ERRORS_*.
 */
static void check_stopped(struct __test_metadata *_metadata, struct bad *b,
			  unsigned int queue, unsigned int reason)
{
	uint16_t used = READ_ONCE(b->r->used->idx);

	ASSERT_EQ(0, efd_wait(b->r->err_fd, WATCHDOG_MS)) {
		TH_LOG("no error was signalled");
	}
	EXPECT_EQ(used, READ_ONCE(b->r->used->idx));
	if (node_is_vhost_tap()) {
		EXPECT_TRUE(wait_counter(queue, q->ring_errors[reason] == 1)) {
			TH_LOG("reason %u was not counted", reason);
		}
		EXPECT_EQ(VHOST_TAP_QUEUE_STATE_BROKEN,
			  counters_of(queue)->state);
		/* a kick does not wake what is broken */
		ring_force_kick(b->r);
	}
	EXPECT_EQ(0, queue_works(b, !queue));
	if (node_is_vhost_tap())
		EXPECT_EQ(1, counters_of(queue)->ring_errors[reason]);
	ASSERT_EQ(0, restart(b, queue));
	EXPECT_EQ(0, queue_works(b, queue));
	EXPECT_EQ(0, queue_works(b, !queue));
}

#define CHECK_STOPPED(reason)						\
	check_stopped(_metadata, &self->b, variant->queue,		\
		      VHOST_TAP_A_RING_ERRORS_##reason)

/* descriptor d: a good buffer for this queue */
static void good_desc(struct bad *b, unsigned int queue, unsigned int d)
{
	b->r->desc[d].addr = b->g.q[queue].buf_gpa + d * 2048;
	b->r->desc[d].len = 1024;
	b->r->desc[d].flags = queue == VQ_RX ? VRING_DESC_F_WRITE : 0;
	b->r->desc[d].next = 0;
}

TEST_F(bad, case15_avail_jump)
{
	self->b.r->avail_idx += NUM + 1;
	provoke(&self->b, variant->queue);
	CHECK_STOPPED(AVAIL_IDX);
}

TEST_F(bad, case15_avail_back)
{
	ASSERT_EQ(0, queue_works(&self->b, variant->queue));
	ASSERT_EQ(0, restart(&self->b, variant->queue));
	self->b.r->avail_idx -= 1;
	provoke(&self->b, variant->queue);
	CHECK_STOPPED(AVAIL_IDX);
}

TEST_F(bad, case15_head_out_of_range)
{
	ring_split_push_raw(self->b.r, NUM);
	provoke(&self->b, variant->queue);
	CHECK_STOPPED(HEAD);
}

TEST_F(bad, case15_next_out_of_range)
{
	good_desc(&self->b, variant->queue, 3);
	self->b.r->desc[3].flags |= VRING_DESC_F_NEXT;
	self->b.r->desc[3].next = 0xffff;
	ring_split_push_raw(self->b.r, 3);
	provoke(&self->b, variant->queue);
	CHECK_STOPPED(HEAD);
}

TEST_F(bad, case15_self_loop)
{
	good_desc(&self->b, variant->queue, 3);
	self->b.r->desc[3].flags |= VRING_DESC_F_NEXT;
	self->b.r->desc[3].next = 3;
	ring_split_push_raw(self->b.r, 3);
	provoke(&self->b, variant->queue);
	CHECK_STOPPED(LOOP);
}

TEST_F(bad, case15_long_loop)
{
	unsigned int i;

	for (i = 0; i < NUM; i++) {
		good_desc(&self->b, variant->queue, i);
		self->b.r->desc[i].addr = self->b.g.q[variant->queue].buf_gpa;
		self->b.r->desc[i].flags |= VRING_DESC_F_NEXT;
		self->b.r->desc[i].next = (i + 1) % NUM;
	}
	ring_split_push_raw(self->b.r, 0);
	provoke(&self->b, variant->queue);
	CHECK_STOPPED(LOOP);
}

/* an indirect table at the end of the buffers, n entries, as descriptor 3 */
static struct vring_desc *table_at(struct bad *b, unsigned int queue,
				   uint32_t bytes)
{
	uint64_t gpa = b->g.q[queue].buf_gpa + (NUM / 2 - 1) * 2048;

	b->r->desc[3].addr = gpa;
	b->r->desc[3].len = bytes;
	b->r->desc[3].flags = VRING_DESC_F_INDIRECT;
	b->r->desc[3].next = 0;
	ring_split_push_raw(b->r, 3);
	return gmem_hva(&b->g.mem, gpa);
}

static void good_entry(struct bad *b, unsigned int queue, struct vring_desc *t)
{
	good_desc(b, queue, 5);
	*t = b->r->desc[5];
}

TEST_F(bad, case15_indirect_in_indirect)
{
	struct vring_desc *t = table_at(&self->b, variant->queue, 32);

	good_entry(&self->b, variant->queue, &t[0]);
	t[0].flags |= VRING_DESC_F_NEXT;
	t[0].next = 1;
	t[1] = self->b.r->desc[3];
	provoke(&self->b, variant->queue);
	CHECK_STOPPED(INDIRECT);
}

TEST_F(bad, case15_indirect_with_next)
{
	struct vring_desc *t = table_at(&self->b, variant->queue, 16);

	good_entry(&self->b, variant->queue, &t[0]);
	self->b.r->desc[3].flags |= VRING_DESC_F_NEXT;
	self->b.r->desc[3].next = 5;
	if (!node_is_vhost_tap())
		SKIP(return, "in-tree vhost_net: takes INDIRECT | NEXT");
	provoke(&self->b, variant->queue);
	CHECK_STOPPED(INDIRECT);
}

TEST_F(bad, case15_table_of_no_length)
{
	table_at(&self->b, variant->queue, 0);
	provoke(&self->b, variant->queue);
	CHECK_STOPPED(TABLE);
}

TEST_F(bad, case15_table_of_odd_length)
{
	struct vring_desc *t = table_at(&self->b, variant->queue, 24);

	good_entry(&self->b, variant->queue, &t[0]);
	provoke(&self->b, variant->queue);
	CHECK_STOPPED(TABLE);
}

TEST_F(bad, case15_table_too_long)
{
	table_at(&self->b, variant->queue, 16 * 70000);
	provoke(&self->b, variant->queue);
	CHECK_STOPPED(TABLE);
}

TEST_F(bad, case15_table_loop)
{
	struct vring_desc *t = table_at(&self->b, variant->queue, 32);

	good_entry(&self->b, variant->queue, &t[0]);
	good_entry(&self->b, variant->queue, &t[1]);
	t[0].flags |= VRING_DESC_F_NEXT;
	t[0].next = 1;
	t[1].flags |= VRING_DESC_F_NEXT;
	t[1].next = 0;
	provoke(&self->b, variant->queue);
	CHECK_STOPPED(LOOP);
}

TEST_F(bad, case15_table_next_out_of_range)
{
	struct vring_desc *t = table_at(&self->b, variant->queue, 32);

	good_entry(&self->b, variant->queue, &t[0]);
	t[0].flags |= VRING_DESC_F_NEXT;
	t[0].next = 2;
	if (!node_is_vhost_tap())
		SKIP(return, "in-tree vhost_net: reads a table in sequence");
	provoke(&self->b, variant->queue);
	CHECK_STOPPED(HEAD);
}

TEST_F(bad, wrong_direction)
{
	good_desc(&self->b, !variant->queue, 3);
	self->b.r->desc[3].addr = self->b.g.q[variant->queue].buf_gpa;
	ring_split_push_raw(self->b.r, 3);
	provoke(&self->b, variant->queue);
	CHECK_STOPPED(DIRECTION);
}

TEST_F(bad, address_outside_memory)
{
	good_desc(&self->b, variant->queue, 3);
	self->b.r->desc[3].addr = UNMAPPED_GPA;
	ring_split_push_raw(self->b.r, 3);
	provoke(&self->b, variant->queue);
	CHECK_STOPPED(ADDRESS);
}

TEST_F(bad, address_leaves_memory)
{
	good_desc(&self->b, variant->queue, 3);
	self->b.r->desc[3].addr = self->b.g.mem.region[1].gpa +
				  self->b.g.mem.region[1].size - 512;
	ring_split_push_raw(self->b.r, 3);
	provoke(&self->b, variant->queue);
	CHECK_STOPPED(ADDRESS);
}

TEST_F(bad, address_wraps)
{
	good_desc(&self->b, variant->queue, 3);
	self->b.r->desc[3].addr = ~0ULL - 100;
	ring_split_push_raw(self->b.r, 3);
	provoke(&self->b, variant->queue);
	CHECK_STOPPED(ADDRESS);
}

TEST_F(bad, table_outside_memory)
{
	table_at(&self->b, variant->queue, 32);
	self->b.r->desc[3].addr = UNMAPPED_GPA;
	provoke(&self->b, variant->queue);
	CHECK_STOPPED(ADDRESS);
}

/* inside the table, but the process has taken the page away */
TEST_F(bad, case17_buffer_unmapped)
{
	void *page;

	good_desc(&self->b, variant->queue, 3);
	self->b.r->desc[3].addr = (self->b.g.mem.region[0].gpa +
				   self->b.g.mem.region[0].size - 8192) & ~4095;
	page = gmem_hva(&self->b.g.mem, self->b.r->desc[3].addr);
	ASSERT_EQ(0, mprotect(page, 4096, PROT_NONE));
	ring_split_push_raw(self->b.r, 3);
	if (!node_is_vhost_tap())
		SKIP(return, "in-tree vhost_net: retries the copy for ever");
	provoke(&self->b, variant->queue);
	CHECK_STOPPED(FAULT);
}

#define GOOD	5

/*
 * The same behind GOOD frames of the same batch: these get through, and are all
 * that is said to be used.
 */
static void fault_in_batch(struct __test_metadata *_metadata, struct bad *b,
			   unsigned int queue, uint32_t len)
{
	uint64_t gpa = (b->g.mem.region[0].gpa + b->g.mem.region[0].size -
			8192) & ~4095;
	uint8_t *frame[GOOD];
	uint64_t one = 1;
	unsigned int i;
	ssize_t n;

	b->seq = 100;
	for (i = 0; i < GOOD; i++) {
		good_desc(b, queue, i);
		frame[i] = (uint8_t *)gmem_hva(&b->g.mem, b->r->desc[i].addr) +
			   b->g.hdr_len;
		memset(frame[i] - b->g.hdr_len, 0, b->g.hdr_len + len);
		if (queue == VQ_TX) {
			b->r->desc[i].len = b->g.hdr_len + len;
			frame_make(frame[i], i, len);
		}
		ring_split_push_raw(b->r, i);
	}
	good_desc(b, queue, GOOD);
	b->r->desc[GOOD].addr = gpa;
	b->r->desc[GOOD].len = b->g.hdr_len + len;
	ASSERT_EQ(0, mprotect(gmem_hva(&b->g.mem, gpa), 4096, PROT_NONE));
	ring_split_push_raw(b->r, GOOD);
	for (i = 0; queue == VQ_RX && i < GOOD + 3; i++) {
		frame_make(b->out, i, len);
		ASSERT_EQ(0, psock_send(b->g.tx_sock, NULL, b->out, len));
	}
	ring_publish(b->r);
	ring_force_kick(b->r);

	for (i = 0; queue == VQ_TX && i < GOOD; i++) {
		do
			n = psock_recv(b->g.rx_sock, NULL, b->in,
				       sizeof(b->in), WATCHDOG_MS);
		while (n > 0 && !frame_is_ours(b->in, n));
		ASSERT_EQ(len, n);
		ASSERT_TRUE(frame_check(b->in, i, len));
	}
	ASSERT_EQ(0, efd_wait(b->r->err_fd, WATCHDOG_MS));
	EXPECT_EQ(GOOD, READ_ONCE(b->r->used->idx));
	for (i = 0; i < GOOD; i++)
		EXPECT_TRUE(frame_check(frame[i], i, len));
	/* seen, and put back for who looks next */
	ASSERT_EQ(sizeof(one), write(b->r->err_fd, &one, sizeof(one)));
	check_stopped(_metadata, b, queue, VHOST_TAP_A_RING_ERRORS_FAULT);
}

TEST_F(bad, case17_in_a_batch_small)
{
	SKIP_IN_TREE("retries the copy for ever");
	fault_in_batch(_metadata, &self->b, variant->queue, 100);
}

TEST_F(bad, case17_in_a_batch_large)
{
	SKIP_IN_TREE("retries the copy for ever");
	fault_in_batch(_metadata, &self->b, variant->queue, 1000);
}

/*
 * A head out of range behind GOOD ones, all made available at once. TX sends what is
 * good. RX may stop with fewer frames in the ring; but those are said to be used, and
 * all others come once it has been started again (I2).
 */
TEST_F(bad, good_before_bad)
{
	struct bad *b = &self->b;
	uint8_t *frame[GOOD];
	unsigned int i, used;
	ssize_t n;

	SKIP_IN_TREE("forgets frames that it has taken off the tap");
	for (i = 0; i < GOOD; i++) {
		good_desc(b, variant->queue, i);
		frame[i] = (uint8_t *)gmem_hva(&b->g.mem, b->r->desc[i].addr) +
			   b->g.hdr_len;
		memset(frame[i] - b->g.hdr_len, 0, b->g.hdr_len + 100);
		if (variant->queue == VQ_TX) {
			b->r->desc[i].len = b->g.hdr_len + 100;
			frame_make(frame[i], i, 100);
		}
		ring_split_push_raw(b->r, i);
	}
	ring_split_push_raw(b->r, NUM);
	for (i = 0; variant->queue == VQ_RX && i < GOOD + 1; i++) {
		frame_make(b->out, i, 100);
		ASSERT_EQ(0, psock_send(b->g.tx_sock, NULL, b->out, 100));
	}
	ring_publish(b->r);
	ring_force_kick(b->r);
	ASSERT_EQ(1, fd_wait(b->r->err_fd, POLLIN, WATCHDOG_MS));
	used = READ_ONCE(b->r->used->idx);
	ASSERT_LE(used, GOOD);
	if (variant->queue == VQ_TX)
		EXPECT_EQ(GOOD, used);
	for (i = 0; i < used; i++)
		EXPECT_TRUE(frame_check(frame[i], i, 100));

	if (variant->queue == VQ_RX) {
		ASSERT_EQ(0, restart(b, VQ_RX));
		guest_rx_fill(&b->g);
		for (i = used; i < GOOD + 1; i++) {
			n = guest_rx(&b->g, NULL, b->in, sizeof(b->in), WATCHDOG_MS);
			ASSERT_EQ(100, n);
			ASSERT_TRUE(frame_check(b->in, i, 100)) {
				TH_LOG("%u were used, then came number %llu", used,
				       (unsigned long long)frame_seq(b->in));
			}
		}
		return;
	}
	b->seq = 100;
	CHECK_STOPPED(HEAD);
}

/* used entries cannot be written: their index must never cover them */
TEST_F(bad, case17_used_ring_unmapped)
{
	uint8_t *used = (uint8_t *)self->b.r->used;
	struct bad *b = &self->b;

	ASSERT_EQ(0, queue_works(b, variant->queue));
	if (!node_is_vhost_tap())
		SKIP(return, "in-tree vhost_net: no error is signalled");
	ASSERT_EQ(0, mprotect(used, 4096, PROT_READ));
	good_desc(b, variant->queue, b->r->free_head);
	ring_split_push_raw(b->r, b->r->free_head);
	provoke(b, variant->queue);
	EXPECT_EQ(0, efd_wait(b->r->err_fd, WATCHDOG_MS));
	ASSERT_EQ(0, mprotect(used, 4096, PROT_READ | PROT_WRITE));
	EXPECT_EQ(b->r->last_used, b->r->used->idx);
	EXPECT_EQ(0, queue_works(b, !variant->queue));
	ASSERT_EQ(0, restart(b, variant->queue));
	EXPECT_EQ(0, queue_works(b, variant->queue));
}

TEST_F(bad, case17_avail_ring_unmapped)
{
	uint8_t *avail = (uint8_t *)self->b.r->avail;
	struct bad *b = &self->b;

	ASSERT_EQ(0, queue_works(b, variant->queue));
	ASSERT_EQ(0, mprotect(avail, 4096, PROT_NONE));
	ring_force_kick(b->r);
	if (variant->queue == VQ_RX) {
		frame_make(b->out, 0, 500);
		ASSERT_EQ(0, psock_send(b->g.tx_sock, NULL, b->out, 500));
	}
	EXPECT_EQ(0, efd_wait(b->r->err_fd, WATCHDOG_MS));
	ASSERT_EQ(0, mprotect(avail, 4096, PROT_READ | PROT_WRITE));
	EXPECT_EQ(0, queue_works(b, !variant->queue));
	ASSERT_EQ(0, restart(b, variant->queue));
	EXPECT_EQ(0, queue_works(b, variant->queue));
}

/*
 * What busy polling finds broken is told like anything else. TX: RX, idle after
 * a frame, watches the TX ring as well. RX: it watches its own.
 */
TEST_F(bad, found_by_busy_polling)
{
	struct bad *b = &self->b;

	ASSERT_EQ(0, vdev_set_busyloop(&b->g.dev, VQ_RX, 50000));
	if (variant->queue == VQ_RX) {
		ASSERT_EQ(1, guest_rx_post(&b->g, 1));
		frame_make(b->out, 0, 500);
		ASSERT_EQ(0, psock_send(b->g.tx_sock, NULL, b->out, 500));
		ASSERT_EQ(500, guest_rx(&b->g, NULL, b->in, sizeof(b->in), WATCHDOG_MS));
	} else {
		ASSERT_EQ(0, rx_works(b));
	}
	b->r->avail_idx += NUM + 1;
	ring_publish(b->r);
	/* long enough to be found, well within the time that is watched */
	usleep(10000);
	provoke(b, variant->queue);
	CHECK_STOPPED(AVAIL_IDX);
}

TEST_HARNESS_MAIN
