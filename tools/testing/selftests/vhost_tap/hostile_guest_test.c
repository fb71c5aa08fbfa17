// SPDX-License-Identifier: GPL-2.0-only
/*
 * A hostile guest beside an honest one. Round after round the first writes what a
 * number generator comes upon into both of its rings; a round is over when its
 * device has dealt with that. Each time
 *
 *  - the honest guest, which has a device, a worker and a tap of its own in the
 *    same process, gets all of its frames through, in order and intact;
 *  - nothing is written beside the memory of the hostile one;
 *  - a queue that has not reported an error has taken all that was available;
 *    one that has, has done so once, and as often as the module counted;
 *  - a queue that stopped, and now and then one that did not, is set right again,
 *    and an honest frame passes.
 *
 * $VTAP_ROUNDS are done instead of the usual number, with the numbers of seed
 * $VTAP_SEED. What a round writes depends on its number and the seed alone; what
 * it finds there, on those since the last multiple of EPOCH: to repeat a failure,
 * set $VTAP_SEED and $VTAP_FIRST to what it says.
 *
 * In-tree vhost_net is given the same where it is known to go on after that; there
 * only the host and the honest guest matter.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kselftest_harness.h"
#include "counters.h"
#include "env.h"
#include "hostile.h"
#include "traffic.h"
#include "variants.h"

#define EPOCH		64	/* rounds with the same rings and features */
#define RECOVER		16	/* after so many, also what is not broken starts anew */
#define SPOILS		200	/* things that another thread does in a round, at most */
#define BURST		4	/* honest frames a round, each way, at most */

/* what happens while the device is at work on a ring */
enum {
	REWRITE	= 1,	/* another thread writes into it */
	MEMORY	= 2,	/* another thread takes pages away */
	TABLES	= 4,	/* the memory table is exchanged */
	WHILE	= 8,	/* the same, by another thread, all the time */
};

/* ------- the honest guest ------- */

struct neighbour {
	struct guest g;
	struct frame_bufs b;
	uint64_t tx_seq, rx_seq;
	unsigned int burst;
	pthread_t thread;
	sem_t go, done;
	bool stop;
	int err;
};

static uint32_t len_of(uint64_t seq)
{
	return 60 + seq * 37 % 1400;
}

static int frames_pass(struct neighbour *n)
{
	unsigned int i;
	int err = 0;

	for (i = 0; !err && i < n->burst; i++) {
		frame_make(n->b.out, n->tx_seq + i, len_of(n->tx_seq + i));
		err = guest_tx_wait(&n->g, NULL, n->b.out, len_of(n->tx_seq + i));
	}
	guest_tx_flush(&n->g);
	for (i = 0; !err && i < n->burst; i++) {
		frame_make(n->b.out, n->rx_seq + i, len_of(n->rx_seq + i));
		err = psock_send(n->g.tx_sock, NULL, n->b.out, len_of(n->rx_seq + i));
	}
	for (i = 0; !err && i < n->burst; i++, n->tx_seq++)
		err = host_expect(&n->g, &n->b, n->tx_seq, len_of(n->tx_seq));
	for (i = 0; !err && i < n->burst; i++, n->rx_seq++)
		err = guest_expect(&n->g, &n->b, n->rx_seq, len_of(n->rx_seq));
	guest_rx_fill(&n->g);
	if (!err)
		err = guest_tx_reap(&n->g);
	return err < 0 ? err : 0;
}

static void *neighbour_lives(void *arg)
{
	struct neighbour *n = arg;

	for (;;) {
		sem_wait(&n->go);
		if (n->stop)
			return NULL;
		n->err = frames_pass(n);
		sem_post(&n->done);
	}
}

static int neighbour_start(struct neighbour *n)
{
	static const struct guest_cfg cfg = {
		.features = F_MODERN,
		.buf = { 2048, 2048 },
	};
	int err = guest_start(&n->g, &cfg);

	if (err)
		return err;
	n->tx_seq = 1;
	n->rx_seq = 1;
	sem_init(&n->go, 0, 0);
	sem_init(&n->done, 0, 0);
	/* the pattern of frames is made once, by one thread */
	frame_make(n->b.out, 0, 100);
	return -pthread_create(&n->thread, NULL, neighbour_lives, n);
}

static void neighbour_stop(struct neighbour *n)
{
	n->stop = true;
	sem_post(&n->go);
	pthread_join(n->thread, NULL);
	guest_stop(&n->g);
}

static void neighbour_go(struct neighbour *n, unsigned int burst)
{
	n->burst = burst;
	sem_post(&n->go);
}

/* it must have got through, whatever happens beside it */
static int neighbour_done(struct neighbour *n)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_sec += 4 * WATCHDOG_MS / 1000;
	while (sem_timedwait(&n->done, &ts)) {
		if (errno == EINTR)
			continue;
		fprintf(stderr, "# the honest guest stands still\n");
		return -ETIMEDOUT;
	}
	if (n->err)
		fprintf(stderr, "# the honest guest suffers: %s\n", strerror(-n->err));
	return n->err;
}

/* ------- who spoils the memory of the hostile one meanwhile ------- */

struct spoiler {
	struct hostile *h;
	unsigned int what;
	struct rng rng;
	pthread_t thread;
	sem_t go, done;
	bool on, stop;
	int err;
};

static void *spoiler_spoils(void *arg)
{
	struct spoiler *s = arg;
	unsigned int i;

	for (;;) {
		sem_wait(&s->go);
		if (s->stop)
			return NULL;
		/* as long as the device is at it; others want a CPU, too */
		for (i = 0; READ_ONCE(s->on) && !s->err && i < SPOILS; i++) {
			if (s->what & REWRITE)
				hostile_rewrite(s->h, &s->rng);
			if (s->what & MEMORY && !(i % 32))
				s->err = hostile_spoil_page(s->h, &s->rng);
			if (s->what & TABLES && s->what & WHILE && !(i % 32))
				hostile_swap_table(s->h, &s->rng);
			if (!(i % 16))
				cpu_yield();
		}
		sem_post(&s->done);
	}
}

static int spoiler_start(struct spoiler *s, struct hostile *h)
{
	s->h = h;
	sem_init(&s->go, 0, 0);
	sem_init(&s->done, 0, 0);
	return -pthread_create(&s->thread, NULL, spoiler_spoils, s);
}

static void spoiler_stop(struct spoiler *s)
{
	s->stop = true;
	sem_post(&s->go);
	pthread_join(s->thread, NULL);
}

static void spoiler_go(struct spoiler *s, unsigned int what)
{
	s->what = what;
	s->rng.s = rng_next(&s->h->rng);
	WRITE_ONCE(s->on, true);
	sem_post(&s->go);
}

static int spoiler_halt(struct spoiler *s)
{
	WRITE_ONCE(s->on, false);
	sem_wait(&s->done);
	if (s->err)
		fprintf(stderr, "# spoiling memory: %s\n", strerror(-s->err));
	return s->err;
}

/* ------- rounds ------- */

FIXTURE(hostile)
{
	struct neighbour n;
	struct hostile h;
	struct spoiler s;
	uint64_t seed, first, rounds, round;
	unsigned int what;
	unsigned int stopped;	/* times that a queue stopped */
};

FIXTURE_VARIANT(hostile)
{
	unsigned int what, rounds;
	bool in_tree;		/* known to go on after it */
};

/* taking pages away takes a while */
FIXTURE_VARIANT_ADD(hostile, ring_contents) { .rounds = 800, .in_tree = true };
FIXTURE_VARIANT_ADD(hostile, rewritten_in_flight)
{ .what = REWRITE, .rounds = 800, .in_tree = true };
FIXTURE_VARIANT_ADD(hostile, memory_taken_away) { .what = MEMORY, .rounds = 300 };
FIXTURE_VARIANT_ADD(hostile, tables_swapped) { .what = TABLES, .rounds = 800 };
FIXTURE_VARIANT_ADD(hostile, all_at_once)
{ .what = REWRITE | MEMORY | TABLES | WHILE, .rounds = 200 };

FIXTURE_SETUP(hostile)
{
	memset(self, 0, sizeof(*self));
	ASSERT_EQ(0, netns_private());
	self->seed = env_number("VTAP_SEED", 1);
	self->first = env_number("VTAP_FIRST", 0) / EPOCH * EPOCH;
	self->rounds = env_number("VTAP_ROUNDS", env_volume(variant->rounds));
	ASSERT_EQ(0, neighbour_start(&self->n));
	/* the newer of the two: counters_of() is about it */
	ASSERT_EQ(0, hostile_start(&self->h));
	ASSERT_EQ(0, spoiler_start(&self->s, &self->h));
}

FIXTURE_TEARDOWN(hostile)
{
	if (self->s.thread)
		spoiler_stop(&self->s);
	hostile_stop(&self->h);
	if (self->n.thread)
		neighbour_stop(&self->n);
}

/* has each error that the module counts been signalled, and none else */
static int errors_agree(struct hostile *h)
{
	uint64_t counted = 0;
	unsigned int i, k;

	if (!h->strict)
		return 0;
	for (i = 0; i < 2; i++) {
		const struct queue_counters *q = counters_of(i);

		for (k = 0; k <= VHOST_TAP_A_RING_ERRORS_MAX; k++)
			counted += q->ring_errors[k];
	}
	if (counted == h->errors)
		return 0;
	fprintf(stderr, "# %" PRIu64 " errors counted, %" PRIu64 " signalled\n", counted,
		h->errors);
	return -EPROTO;
}

/* both queues stopped and started, seen from outside */
static int epoch_begins(struct hostile *h)
{
	int err = hostile_detach(h, VQ_RX);

	if (!err)
		err = hostile_detach(h, VQ_TX);
	if (!err)
		err = errors_agree(h);
	return err ? err : hostile_reshape(h);
}

/*
 * The dust has settled. The guest's last word is the index that stands in memory,
 * whoever has written it: if TX has not taken all up to there, it has stopped. (RX
 * may be waiting for frames.)
 */
static int tx_is_done(struct hostile *h)
{
	struct vhost_vring_state s = { .index = VQ_TX };
	uint64_t end = now_ns() + WATCHDOG_MS * 1000000ULL;
	int err;

	for (;;) {
		err = vhost_ioctl(h->fd, VHOST_GET_VRING_BASE, &s);
		if (!err)
			err = hostile_look(h, VQ_TX);
		if (err || !h->q[VQ_TX].running ||
		    s.num == READ_ONCE(hostile_avail(h, VQ_TX)->idx))
			return err;
		if (now_ns() > end) {
			fprintf(stderr, "# TX stays at %u of %u without a word\n", s.num,
				READ_ONCE(hostile_avail(h, VQ_TX)->idx));
			return -ETIMEDOUT;
		}
		err = hostile_sync(h, VQ_TX);
		if (err)
			return err;
	}
}

static int strike(FIXTURE_DATA(hostile) *self)
{
	struct hostile *h = &self->h;
	unsigned int i, thread = self->what & (REWRITE | MEMORY | WHILE);
	int err = 0;

	if (thread)
		spoiler_go(&self->s, self->what);
	for (i = 0; i < 2; i++) {
		hostile_strike(h, i);
		hostile_kick(h, i);
	}
	hostile_inject(h, rng_below(&h->rng, 4));
	if (self->what & TABLES && !rng_below(&h->rng, 2))
		hostile_swap_table(h, &h->rng);
	for (i = rng_below(&h->rng, 8); i > 4; i--) {
		hostile_rewrite(h, &h->rng);
		hostile_kick(h, rng_below(&h->rng, 2));
	}
	if (thread) {
		/* until the device has had a look, with it going on */
		err = hostile_sync(h, VQ_TX);
		if (spoiler_halt(&self->s))
			err = self->s.err;
	}
	for (i = 0; i < 2 && !err; i++)
		err = hostile_sync(h, i);
	return err;
}

static int one_round(FIXTURE_DATA(hostile) *self)
{
	struct hostile *h = &self->h;
	unsigned int i;
	int err = 0;

	h->rng.s = self->seed * 0x9e3779b97f4a7c15ULL + self->round;
	rng_next(&h->rng);
	if (self->round % EPOCH == 0)
		err = epoch_begins(h);
	for (i = 0; i < 2 && !err; i++)
		if (!h->q[i].running || !h->strict || self->round % RECOVER == i)
			err = hostile_recover(h, i);
	if (!err)
		err = strike(self);
	for (i = 0; i < 2 && !err; i++)
		err = hostile_look(h, i);
	if (!err && h->strict)
		err = tx_is_done(h);
	for (i = 0; i < 2; i++)
		self->stopped += !h->q[i].running;
	if (!err && self->round % 8 == 0)
		err = hostile_canaries(h);
	return err;
}

static int rounds(FIXTURE_DATA(hostile) *self, unsigned int what)
{
	uint64_t start = now_ns();
	int err = 0;

	self->what = what;
	for (self->round = self->first;
	     !err && self->round < self->first + self->rounds; self->round++) {
		neighbour_go(&self->n, 1 + self->round % BURST);
		err = one_round(self);
		if (neighbour_done(&self->n) && !err)
			err = self->n.err ? self->n.err : -ETIMEDOUT;
	}
	if (err) {
		fprintf(stderr, "# failed: VTAP_SEED=%" PRIu64 " VTAP_FIRST=%" PRIu64
			" (round %" PRIu64 "): %s\n", self->seed,
			(self->round - 1) / EPOCH * EPOCH, self->round - 1, strerror(-err));
		return err;
	}
	/* all of it is seen from outside once more */
	err = epoch_begins(&self->h);
	if (!err)
		err = hostile_canaries(&self->h);
	fprintf(stderr, "# %" PRIu64 " rounds of seed %" PRIu64 " from %" PRIu64
		", a queue stopped %u times, %" PRIu64 " honest frames each way, %" PRIu64
		" rounds/s\n", self->rounds, self->seed, self->first, self->stopped,
		self->n.tx_seq - 1, self->rounds * UINT64_C(1000000000) / (now_ns() - start + 1));
	return err;
}

TEST_F_TIMEOUT(hostile, rounds, 3600)
{
	if (!variant->in_tree)
		SKIP_IN_TREE("retries a copy that cannot succeed for ever");
	ASSERT_EQ(0, rounds(self, variant->what));
	/* what the generator writes must be worth it: some stops, some does not */
	EXPECT_GT(self->stopped, self->rounds / 16);
	EXPECT_LT(self->stopped, self->rounds * 2);
}

TEST_HARNESS_MAIN
