// SPDX-License-Identifier: GPL-2.0-only
/*
 * Everything that may change under a running device: backends, eventfds, the
 * memory table, the tap itself. A numbered flood runs in both directions
 * meanwhile, and its frames must arrive once and in order, or, where the
 * change itself takes frames away, at least never twice. What happens to
 * owners and their processes is in owner_test.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "env.h"
#include "load.h"
#include "variants.h"

FIXTURE(life)
{
	struct guest g;
	struct load l;
	bool loaded;
};

FIXTURE_SETUP(life)
{
	memset(&self->g, 0, sizeof(self->g));
	self->loaded = false;
	ASSERT_EQ(0, netns_private());
}

FIXTURE_TEARDOWN(life)
{
	if (self->loaded)
		load_abandon(&self->l);
	if (self->g.dev.fd > 0)
		guest_stop(&self->g);
}

/* as many rounds as a fast machine makes in this time, fewer on a slow one */
#define ROUNDS_NS	4000000000ULL

static bool one_more(unsigned int done, unsigned int most, uint64_t start)
{
	return done < most &&
	       (done < env_volume(most / 50) || now_ns() - start < ROUNDS_NS);
}

static const struct guest_cfg cfg = {
	.features = F_MODERN,
	.buf = { 2048, 2048 },
};

/* a load that must end before the guest does, whatever fails */
#define START_LOAD() do {						\
	ASSERT_EQ(0, load_start_both(&self->l, &self->g));		\
	self->loaded = true;						\
} while (0)

#define START_LOSSY_LOAD() do {						\
	memset(&self->l, 0, sizeof(self->l));				\
	self->l.way[VQ_RX].on = true;					\
	self->l.way[VQ_RX].lossy = true;				\
	self->l.way[VQ_TX].on = true;					\
	self->l.way[VQ_TX].lossy = true;				\
	ASSERT_EQ(0, load_start(&self->l, &self->g));			\
	self->loaded = true;						\
} while (0)

#define STOP_LOAD() do {						\
	self->loaded = false;						\
	ASSERT_EQ(0, load_stop(&self->l));				\
} while (0)

/* ------- backends ------- */

struct swapper {
	pthread_t thread;
	int from[3];
	int onto;
	int tx_sock;
	bool stop;
};

/* puts one file after the other onto a number, and sends something */
static void *swap_files(void *arg)
{
	struct swapper *s = arg;
	uint8_t frame[100];
	unsigned int i;

	frame_make(frame, 0, sizeof(frame));
	for (i = 0; !READ_ONCE(s->stop); i++) {
		if (dup2(s->from[i % ARRAY_LEN(s->from)], s->onto) < 0)
			return (void *)(long)errno;
		psock_send(s->tx_sock, NULL, frame, sizeof(frame));
	}
	return NULL;
}

/*
 * The file behind the number changes while SET_BACKEND resolves it: socket
 * and ring must be of the same one.
 */
TEST_F_TIMEOUT(life, case5_fd_replaced_meanwhile, 120)
{
	struct guest_cfg c = { .features = 0, .buf = { 2048, 2048 } };
	const unsigned int swaps = env_volume(10000);
	unsigned int i, ok = 0, refused = 0;
	struct swapper s = { };
	struct tap other;
	int p[2], r;
	void *ret;

	START_GUEST(&self->g, &c);
	ASSERT_EQ(0, tap_open(&other, NULL, 0, self->g.hdr_len));
	ASSERT_EQ(0, tap_set_up(&other, true));
	ASSERT_EQ(0, pipe(p));
	s.from[0] = self->g.tap.fd;
	s.from[1] = p[0];
	s.from[2] = other.fd;
	s.tx_sock = self->g.tx_sock;
	s.onto = dup(p[0]);
	ASSERT_GE(s.onto, 0);
	ASSERT_EQ(0, pthread_create(&s.thread, NULL, swap_files, &s));
	for (i = 0; i < swaps; i++) {
		r = vdev_set_backend(&self->g.dev, i & 1, s.onto);
		if (r)
			refused++;
		else
			ok++;
		if (r && r != -ENOTSOCK)
			break;
		guest_tx_blast(&self->g, 100, 4);
		guest_tx_flush(&self->g);
		if (guest_tx_reap(&self->g) < 0 ||
		    guest_rx_discard(&self->g, 16) < 0)
			break;
	}
	WRITE_ONCE(s.stop, true);
	pthread_join(s.thread, &ret);
	EXPECT_EQ(NULL, ret);
	EXPECT_EQ(swaps, i) {
		TH_LOG("SET_BACKEND answered %d", r);
	}
	EXPECT_GT(ok, 0);
	EXPECT_GT(refused, 0);

	/* and the device is as good as before */
	ASSERT_EQ(0, guest_detach(&self->g));
	ASSERT_EQ(0, guest_new_tap(&self->g));
	ASSERT_LE(0, guest_rx_discard(&self->g, UINT32_MAX));
	ASSERT_EQ(0, guest_attach(&self->g, self->g.tap.fd));
	EXPECT_EQ(0, load_check(&self->g));
}

/*
 * From one tap to another and back, with and without a pause between. What
 * was held goes back to the tap that it came from (I5), so that not a frame
 * of its flood is missed once the device returns to it.
 */
TEST_F_TIMEOUT(life, backend_swapped_under_load, 120)
{
	struct tap other;
	uint64_t start = now_ns();
	unsigned int i;
	int all;

	START_GUEST(&self->g, &cfg);
	ASSERT_EQ(0, tap_open(&other, NULL, 0, self->g.hdr_len));
	ASSERT_EQ(0, tap_set_up(&other, true));
	/* what the guest sends may come out of either */
	all = psock_receiver(0, false);
	ASSERT_GE(all, 0);
	ASSERT_GE(dup2(all, self->g.rx_sock), 0);
	close(all);

	START_LOAD();
	for (i = 0; one_more(i, 500, start); i++) {
		if (i & 1)
			ASSERT_EQ(0, guest_detach(&self->g));

		ASSERT_EQ(0, guest_attach(&self->g, other.fd));
		if (i & 2)
			ASSERT_EQ(0, guest_detach(&self->g));
		ASSERT_EQ(0, guest_attach(&self->g, self->g.tap.fd));
		ASSERT_EQ(0, load_wait(&self->l, i & 31));
	}
	STOP_LOAD();
	tap_close(&other);
}

/* stop, read both bases, and go on with the same rings on another device */
static int migrate(struct guest *g)
{
	int base[2], err, i;

	err = guest_detach(g);
	if (err)
		return err;
	for (i = 0; i < 2; i++) {
		base[i] = vdev_get_base(&g->dev, i);
		if (base[i] < 0)
			return base[i];
		/* all that was taken is used, and nothing else is */
		if (base[i] != READ_ONCE(g->q[i].ring->used->idx)) {
			fprintf(stderr, "# queue %d: base %d, used index %d\n",
				i, base[i], g->q[i].ring->used->idx);
			return -EPROTO;
		}
	}
	close(g->dev.fd);
	g->dev.fd = node_open(O_RDWR);
	if (g->dev.fd < 0)
		return g->dev.fd;
	err = vdev_set_features(&g->dev, g->cfg.features);
	if (!err)
		err = vdev_set_owner(&g->dev);
	if (!err)
		err = vdev_set_mem(&g->dev, &g->mem);
	for (i = 0; !err && i < 2; i++) {
		err = vdev_ring_tell(&g->dev, i);
		if (!err)
			err = vdev_set_base(&g->dev, i, base[i]);
	}
	return err ? err : guest_attach(g, g->tap.fd);
}

TEST_F_TIMEOUT(life, case45_resume_elsewhere, 120)
{
	uint64_t start = now_ns();
	unsigned int i;

	START_GUEST(&self->g, &cfg);
	START_LOAD();
	for (i = 0; one_more(i, 1000, start); i++) {
		ASSERT_EQ(0, migrate(&self->g));
		/* now and then before anything has gone through */
		if (i % 4)
			ASSERT_EQ(0, load_wait(&self->l, 1 + i % 70));
	}
	STOP_LOAD();
}

/* hash of what the device could write to */
static uint64_t mem_hash(const struct guest *g)
{
	const struct gmem_region *r = &g->mem.region[0];
	const uint64_t *p = (const uint64_t *)r->hva;
	uint64_t h = 0, i;

	for (i = 0; i < r->used / 8; i++)
		h = (h ^ p[i]) * 0x100000001b3ULL;
	return h;
}

/* a guest that boots anew: an empty ring that begins at 0 */
static int ring_reboot(struct guest *g, unsigned int queue)
{
	struct guest_q *q = &g->q[queue];
	unsigned int i;

	ring_split_reset(q->ring, 0);
	for (i = 0; i < q->slots; i++)
		q->free[i] = i;
	q->nfree = q->slots;
	return vdev_ring_tell(&g->dev, queue);
}

static void flood(struct guest *g, unsigned int n)
{
	uint8_t frame[1000];

	while (n--) {
		frame_make(frame, n, sizeof(frame));
		/* more than the tap takes */
		psock_send(g->tx_sock, NULL, frame, sizeof(frame));
	}
}

/*
 * I5: once SET_BACKEND(-1) has returned, in the middle of a flood, the memory
 * is the guest's alone.
 */
TEST_F_TIMEOUT(life, case57_no_write_after_detach, 120)
{
	struct guest_q *q = &self->g.q[VQ_RX];
	struct guest_cfg c = {
		.features = F_MODERN,
		.num = { 1024, 256 },
		.buf = { 2048, 2048 },
		.no_backend = true,
	};
	unsigned int round, want;
	uint8_t in[FRAME_MAX];
	uint64_t hash;

	START_GUEST(&self->g, &c);
	flood(&self->g, 600);
	for (round = 0; round < env_volume(100); round++) {
		ASSERT_EQ(0, ring_reboot(&self->g, VQ_RX));
		guest_rx_fill(&self->g);
		ASSERT_EQ(0, vdev_set_backend(&self->g.dev, VQ_RX,
					      self->g.tap.fd));
		want = 1 + round;
		ASSERT_TRUE(wait_until(READ_ONCE(q->ring->used->idx) >= want));
		ASSERT_EQ(0, vdev_set_backend(&self->g.dev, VQ_RX, -1));
		hash = mem_hash(&self->g);
		flood(&self->g, 400);
		ASSERT_EQ(hash, mem_hash(&self->g));
		ASSERT_EQ(READ_ONCE(q->ring->used->idx),
			  vdev_get_base(&self->g.dev, VQ_RX));
		while (ring_used_pending(q->ring)) {
			ASSERT_EQ(1000, guest_rx(&self->g, NULL, in,
						 sizeof(in), 0));
			ASSERT_TRUE(frame_check(in, frame_seq(in), 1000));
		}
	}
}

/* ------- the tap ------- */

TEST_F_TIMEOUT(life, case29_txqueuelen, 120)
{
	uint64_t start = now_ns();
	unsigned int i;

	START_GUEST(&self->g, &cfg);
	memset(&self->l, 0, sizeof(self->l));
	self->l.way[VQ_RX].on = true;
	self->l.way[VQ_RX].lossy = true;
	self->l.way[VQ_TX].on = true;
	ASSERT_EQ(0, load_start(&self->l, &self->g));
	self->loaded = true;
	for (i = 0; one_more(i, 1000, start); i++) {
		ASSERT_EQ(0, tap_set_txqlen(&self->g.tap, i & 1 ? 5000 : 10));
		if (!(i % 16))
			ASSERT_EQ(0, load_wait(&self->l, 20));
	}
	STOP_LOAD();
	/* nothing is lost once the length stays as it is */
	EXPECT_EQ(0, load_check(&self->g));
}

/* all that is with the device comes back */
static int tx_all_back(struct guest *g)
{
	int r = 0;

	while (!r && g->q[VQ_TX].ring->outstanding) {
		r = ring_wait_used(g->q[VQ_TX].ring, WATCHDOG_MS);
		if (!r)
			r = guest_tx_reap(g);
		r = r > 0 ? 0 : r;
	}
	return r;
}

/* publish n frames of which the device knows nothing: kicks do not reach it */
static int queue_unkicked(struct guest *g, unsigned int n)
{
	uint8_t frame[100];
	unsigned int i;
	int r = vdev_set_kick(&g->dev, VQ_TX, -1);

	for (i = 0; !r && i < n; i++) {
		frame_make(frame, i, sizeof(frame));
		r = guest_tx(g, NULL, frame, sizeof(frame));
	}
	ring_publish(g->q[VQ_TX].ring);
	return r;
}

/* and now let it look at them */
static int kick_again(struct guest *g)
{
	struct ring *r = g->q[VQ_TX].ring;
	int err = vdev_set_kick(&g->dev, VQ_TX, r->kick_fd);

	ring_force_kick(r);
	return err;
}

/*
 * I2: the tap goes away while frames wait in the ring. Where they cannot be
 * sent, their descriptors are given back all the same; and when the queue is
 * attached again, or another tap has come, all goes on. (A queue that is only
 * taken off its tap still sends; one whose tap was deleted cannot.)
 */
TEST_F_TIMEOUT(life, case30_detached_queue, 120)
{
	struct guest_cfg c = cfg;
	uint8_t frame[100];
	unsigned int i;

	SKIP_IN_TREE("an error on sending stops the queue");
	c.tap_iff = IFF_MULTI_QUEUE;
	START_GUEST(&self->g, &c);
	for (i = 0; i < 12; i++) {
		ASSERT_EQ(0, load_check(&self->g));
		ASSERT_EQ(0, queue_unkicked(&self->g, 64));
		frame_make(frame, i, sizeof(frame));
		ASSERT_EQ(0, psock_send(self->g.tx_sock, NULL, frame,
					sizeof(frame)));
		ASSERT_EQ(0, i & 1 ? tap_queue_attach(self->g.tap.fd, false) :
				     tap_delete(&self->g.tap));
		ASSERT_EQ(0, kick_again(&self->g));
		ASSERT_EQ(0, tx_all_back(&self->g)) {
			TH_LOG("%u heads were lost",
			       self->g.q[VQ_TX].ring->outstanding);
		}
		if (i & 1) {
			ASSERT_EQ(0, tap_queue_attach(self->g.tap.fd, true));
			continue;
		}
		ASSERT_EQ(0, guest_new_tap(&self->g));
		ASSERT_EQ(0, guest_attach(&self->g, self->g.tap.fd));
	}
	EXPECT_EQ(0, load_check(&self->g));
}

TEST_F_TIMEOUT(life, case30_detached_under_load, 120)
{
	struct guest_cfg c = cfg;
	unsigned int i;

	c.tap_iff = IFF_MULTI_QUEUE;
	START_GUEST(&self->g, &c);
	START_LOSSY_LOAD();
	for (i = 0; i < env_volume(50); i++) {
		ASSERT_EQ(0, load_wait(&self->l, 50));
		ASSERT_EQ(0, tap_queue_attach(self->g.tap.fd, false));
		ASSERT_EQ(0, load_wait_sent(&self->l, VQ_TX, 600));
		ASSERT_EQ(0, tap_queue_attach(self->g.tap.fd, true));
	}
	STOP_LOAD();
	EXPECT_EQ(0, load_check(&self->g));
}

TEST_F_TIMEOUT(life, case30_link_deleted_under_load, 120)
{
	unsigned int i;

	SKIP_IN_TREE("an error on sending stops the queue");
	START_GUEST(&self->g, &cfg);
	/*
	 * Bypassing the qdisc divides by the number of queues of a device
	 * that has none left (packet_pick_tx_queue()).
	 */
	ASSERT_EQ(0, psock_use_qdisc(self->g.tx_sock));
	START_LOSSY_LOAD();
	for (i = 0; i < env_volume(30); i++) {
		ASSERT_EQ(0, load_wait(&self->l, 50));
		ASSERT_EQ(0, tap_delete(&self->g.tap));
		ASSERT_EQ(0, load_wait_sent(&self->l, VQ_TX, 600));
		ASSERT_EQ(0, guest_new_tap(&self->g));
		ASSERT_EQ(0, psock_use_qdisc(self->g.tx_sock));
		ASSERT_EQ(0, guest_attach(&self->g, self->g.tap.fd));
	}
	STOP_LOAD();
	EXPECT_EQ(0, load_check(&self->g));
}

/* a tap that is down takes frames and drops them; up again, all goes on */
TEST_F_TIMEOUT(life, case31_tap_down, 120)
{
	unsigned int n, sent = 0;
	uint8_t in[2048];

	START_GUEST(&self->g, &cfg);
	ASSERT_EQ(0, load_check(&self->g));
	ASSERT_EQ(0, tap_set_up(&self->g.tap, false));
	while (sent < env_volume(100000)) {
		n = guest_tx_blast(&self->g, 100, 64);
		guest_tx_flush(&self->g);
		sent += n;
		if (!n)
			ASSERT_EQ(0, ring_wait_used(self->g.q[VQ_TX].ring,
						    WATCHDOG_MS));
		ASSERT_LE(0, guest_tx_reap(&self->g));
	}
	ASSERT_EQ(0, tx_all_back(&self->g));
	/* the sockets tell once that it was down */
	EXPECT_EQ(-ENETDOWN, psock_recv(self->g.rx_sock, NULL, in, sizeof(in),
					0));
	EXPECT_EQ(0, psock_recv(self->g.rx_sock, NULL, in, sizeof(in), 0));
	ASSERT_EQ(0, tap_set_up(&self->g.tap, true));
	EXPECT_EQ(0, load_check(&self->g));
}

/* ------- memory and eventfds ------- */

#define PIECES	60

/*
 * The table that memory has, with the first region (which holds all that is
 * in use) at hva and in n pieces of an odd size: buffers and indirect tables
 * then lie across regions.
 */
static void table_of(const struct guest *g, uint8_t *hva, unsigned int n,
		     struct gmem *out)
{
	const struct gmem_region *r = &g->mem.region[0];
	uint64_t step = (r->used / n) | 1, at = 0;

	memset(out, 0, sizeof(*out));
	while (out->nr + 1 < n) {
		gmem_add_hva(out, r->gpa + at, step, hva + at);
		at += step;
	}
	gmem_add_hva(out, r->gpa + at, r->size - at, hva + at);
	gmem_add_hva(out, g->mem.region[1].gpa, g->mem.region[1].size,
		     g->mem.region[1].hva);
}

/*
 * Another table each time, and the memory of the old one unmapped as soon as
 * the call returns: whatever still went there would break the ring. The rings
 * themselves lie where they were told to be.
 */
TEST_F_TIMEOUT(life, case48_mem_table_swapped, 120)
{
	struct guest_cfg c = {
		.features = F_MODERN,
		.num = { 64, 64 },
		.buf = { 2048, 2048 },
		.indirect = { true, true },
		.shared_mem = true,
	};
	struct gmem_region *r = &self->g.mem.region[0];
	uint8_t *now, *old = NULL;
	struct gmem *m;
	uint64_t start = now_ns();
	unsigned int i;

	START_GUEST(&self->g, &c);
	m = malloc(sizeof(*m));
	ASSERT_NE(NULL, m);
	START_LOAD();
	for (i = 0; one_more(i, 10000, start); i++) {
		now = mremap(r->hva, 0, r->size, MREMAP_MAYMOVE);
		ASSERT_NE(MAP_FAILED, now);
		table_of(&self->g, now, i & 1 ? 1 : PIECES, m);
		ASSERT_EQ(0, vdev_set_mem(&self->g.dev, m));
		if (old)
			munmap(old, r->size);
		old = now;
		if (!(i % 64))
			ASSERT_EQ(0, load_wait(&self->l, 1));
	}
	STOP_LOAD();
	free(m);
}

/* a buffer in a hole of the new table: a ring error, and a way back */
TEST_F_TIMEOUT(life, case48_hole, 120)
{
	struct ring *r = self->g.dev.ring;
	struct gmem *m;
	unsigned int queue;
	uint64_t at;

	START_GUEST(&self->g, &cfg);
	ASSERT_EQ(0, load_check(&self->g));
	m = malloc(sizeof(*m));
	ASSERT_NE(NULL, m);
	for (queue = 0; queue < 2; queue++) {
		/* the hole begins with the second half of the buffers */
		at = self->g.q[queue].buf_gpa + self->g.q[queue].stride / 2 -
		     self->g.mem.region[0].gpa;
		memset(m, 0, sizeof(*m));
		gmem_add_hva(m, self->g.mem.region[0].gpa, at,
			     self->g.mem.region[0].hva);
		ASSERT_EQ(0, vdev_set_mem(&self->g.dev, m));
		if (queue == VQ_RX)
			flood(&self->g, 1);
		guest_tx_blast(&self->g, 1500, queue);
		guest_tx_flush(&self->g);
		EXPECT_EQ(0, efd_wait(r[queue].err_fd, WATCHDOG_MS));

		ASSERT_EQ(0, vdev_set_mem(&self->g.dev, &self->g.mem));
		ASSERT_EQ(0, guest_detach(&self->g));
		ASSERT_EQ(0, ring_reboot(&self->g, VQ_RX));
		ASSERT_EQ(0, ring_reboot(&self->g, VQ_TX));
		guest_rx_fill(&self->g);
		ASSERT_EQ(0, guest_new_tap(&self->g));
		ASSERT_EQ(0, guest_attach(&self->g, self->g.tap.fd));
		efd_drain(r[queue].err_fd);
		EXPECT_EQ(0, load_check(&self->g));
	}
	free(m);
}

/* the thread that kicks and waits gets itself other eventfds all the time */
static void swap_eventfds(struct load *l, unsigned int queue)
{
	struct ring *r = l->g->q[queue].ring;
	int kick = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int call = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int err;

	/* what it has just published is kicked through a file not yet known */
	close(r->kick_fd);
	r->kick_fd = kick;
	ring_kick(r);
	err = vdev_set_kick(&l->g->dev, queue, kick);
	if (!err && l->way[queue].got & 16)
		err = vdev_set_call(&l->g->dev, queue, -1);
	if (!err)
		err = vdev_set_call(&l->g->dev, queue, call);
	close(r->call_fd);
	r->call_fd = call;
	if (err) {
		fprintf(stderr, "# eventfds of queue %u: %s\n", queue,
			strerror(-err));
		l->way[queue].err = err;
	}
}

TEST_F_TIMEOUT(life, case60_eventfds_replaced, 120)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		struct guest_cfg c = cfg;

		c.features &= i ? ~0ULL : ~F_EVENT_IDX;
		START_GUEST(&self->g, &c);
		memset(&self->l, 0, sizeof(self->l));
		self->l.tick = swap_eventfds;
		self->l.way[VQ_RX].on = true;
		self->l.way[VQ_TX].on = true;
		ASSERT_EQ(0, load_start(&self->l, &self->g));
		self->loaded = true;
		ASSERT_EQ(0, load_wait(&self->l, env_volume(20000)));
		STOP_LOAD();
		guest_stop(&self->g);
	}
}

/* a kick from before the device knew the eventfd counts */
TEST_F_TIMEOUT(life, case60_kicked_before, 120)
{
	struct ring *r = &self->g.dev.ring[VQ_TX];
	int fd;

	START_GUEST(&self->g, &cfg);
	ASSERT_EQ(0, load_check(&self->g));
	/* without an eventfd nothing wakes the queue */
	ASSERT_EQ(0, queue_unkicked(&self->g, 64));
	fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
	ASSERT_GE(fd, 0);
	close(r->kick_fd);
	r->kick_fd = fd;
	ASSERT_EQ(0, vdev_set_kick(&self->g.dev, VQ_TX, fd));
	EXPECT_EQ(0, tx_all_back(&self->g));
	/* nor is a signal sent without one, and yet none is missed */
	ASSERT_EQ(0, vdev_set_call(&self->g.dev, VQ_TX, -1));
	ASSERT_EQ(0, queue_unkicked(&self->g, 64));
	ASSERT_EQ(0, kick_again(&self->g));
	ASSERT_TRUE(wait_until(READ_ONCE(r->used->idx) == r->avail_idx));
	ASSERT_EQ(0, vdev_set_call(&self->g.dev, VQ_TX, r->call_fd));
	EXPECT_EQ(64, guest_tx_reap(&self->g));
	EXPECT_EQ(0, load_check(&self->g));
}

TEST_HARNESS_MAIN
