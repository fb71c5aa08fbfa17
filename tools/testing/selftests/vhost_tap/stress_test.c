// SPDX-License-Identifier: GPL-2.0-only
/*
 * What only shows in numbers: wake-ups that are lost once in a hundred
 * thousand times, runs that never end, frames that go missing among a million;
 * and what busy polling and a slow egress do to all that.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "counters.h"
#include "env.h"
#include "load.h"
#include "variants.h"

FIXTURE(stress)
{
	struct guest g;
	struct load l;
	bool loaded;
};

FIXTURE_SETUP(stress)
{
	memset(&self->g, 0, sizeof(self->g));
	self->loaded = false;
	ASSERT_EQ(0, netns_private());
}

FIXTURE_TEARDOWN(stress)
{
	if (self->loaded)
		load_abandon(&self->l);
	if (self->g.dev.fd > 0)
		guest_stop(&self->g);
}

static const struct guest_cfg cfg = {
	.features = F_MODERN,
	.buf = { 2048, 2048 },
};

TEST_F_TIMEOUT(stress, million_frames_both_ways, 150)
{
	const uint64_t each = env_volume(500000);
	unsigned int i;

	START_GUEST(&self->g, &cfg);
	memset(&self->l, 0, sizeof(self->l));
	for (i = 0; i < 2; i++) {
		self->l.way[i].on = true;
		self->l.way[i].limit = each;
	}
	ASSERT_EQ(0, load_start(&self->l, &self->g));
	self->loaded = true;
	EXPECT_EQ(0, load_finish(&self->l));
	self->loaded = false;
	EXPECT_EQ(2 * each, self->l.way[0].got + self->l.way[1].got);
}

/* ------- budgets ------- */

#define STRIDE	1000	/* frames from one marker to the next */
#define MARKERS	20

/*
 * I6: frames that are dropped count, too. The tap's ring is full of frames
 * that no buffer of 64 bytes can take, every thousandth of them small enough
 * to arrive; these markers tell how far RX has come. A frame that the guest
 * sends must be done with before RX has gone through a few budgets (of 256),
 * however many wait. This is asked for in this order: markers first,
 * then TX; so no delay of ours makes a good device look bad.
 */
TEST_F_TIMEOUT(stress, case2_drops_count, 60)
{
	struct guest_cfg c = {
		.features = F_VERSION_1,
		.num = { 256, 256 },
		.buf = { 64, 2048 },
		.txqlen = STRIDE * MARKERS + 100,
		.no_backend = true,
	};
	struct ring *rx = &self->g.dev.ring[VQ_RX];
	struct ring *tx = &self->g.dev.ring[VQ_TX];
	unsigned int i, sent = 0;
	uint16_t since, seen;
	uint8_t frame[1500];

	START_GUEST(&self->g, &c);
	guest_rx_fill(&self->g);
	for (i = 1; i <= STRIDE * MARKERS; i++) {
		uint32_t len = i % STRIDE ? sizeof(frame) : 40;

		frame_make(frame, i, len);
		ASSERT_EQ(0, psock_send(self->g.tx_sock, NULL, frame, len));
	}
	ASSERT_EQ(0, guest_attach(&self->g, self->g.tap.fd));

	do {
		ASSERT_EQ(1, guest_tx_blast(&self->g, 100, 1));
		ring_publish(tx);
		ring_force_kick(tx);
		since = __atomic_load_n(&rx->used->idx, __ATOMIC_ACQUIRE);
		do {
			seen = __atomic_load_n(&rx->used->idx,
					       __ATOMIC_ACQUIRE);
			if (ring_used_pending(tx))
				break;
			ASSERT_LT(seen - since, 3) {
				TH_LOG("%u frames were looked at, TX waits",
				       STRIDE * (seen - since));
			}
		} while (1);
		ASSERT_EQ(1, guest_tx_reap(&self->g));
		sent++;
	} while (seen < MARKERS);
	TH_LOG("%u frames were sent meanwhile", sent);
	for (i = 1; i <= MARKERS; i++) {
		ASSERT_EQ(40, guest_rx(&self->g, NULL, frame, sizeof(frame),
				       0));
		ASSERT_TRUE(frame_check(frame, i * STRIDE, 40));
	}
	/* whoever slept through all of that still sees how often RX gave way */
	if (node_is_vhost_tap())
		EXPECT_TRUE(wait_counter(VQ_RX, Q_STAT(q, BUDGET_ENDS) >=
					 STRIDE * MARKERS / 256 - 2));
}

struct refill {
	struct guest *g;
	pthread_t thread;
	bool stop;
	int err;
};

static void *refill_tx(void *arg)
{
	struct refill *r = arg;

	while (!READ_ONCE(r->stop) && !r->err) {
		if (guest_tx_blast(r->g, 100, 64))
			guest_tx_flush(r->g);
		if (guest_tx_reap(r->g) < 0)
			r->err = -EPROTO;
	}
	return NULL;
}

/*
 * And the other way round: TX always has more to do, RX has its turn. The ring
 * alone holds more than RX may have to wait for, also when the thread that
 * refills it gets no processor.
 */
TEST_F_TIMEOUT(stress, case2_tx_refilled, 60)
{
	static const struct guest_cfg c = {
		.features = F_MODERN,
		.num = { 256, 8192 },
		.buf = { 2048, 128 },
	};
	struct refill refill = { .g = &self->g };
	struct ring *rx = &self->g.dev.ring[VQ_RX];
	struct ring *tx = &self->g.dev.ring[VQ_TX];
	uint8_t in[2048], out[100];
	const unsigned int rounds = env_volume(3000);
	uint16_t since = 0, now = 0;
	unsigned int i;

	START_GUEST(&self->g, &c);
	ASSERT_EQ(0, pthread_create(&refill.thread, NULL, refill_tx, &refill));
	for (i = 0; i < rounds; i++) {
		frame_make(out, i, sizeof(out));
		if (psock_send(self->g.tx_sock, NULL, out, sizeof(out)))
			break;
		since = __atomic_load_n(&tx->used->idx, __ATOMIC_ACQUIRE);
		do
			now = __atomic_load_n(&tx->used->idx, __ATOMIC_ACQUIRE);
		while (!ring_used_pending(rx) && (uint16_t)(now - since) < 4096);
		if (!ring_used_pending(rx) ||
		    guest_rx(&self->g, NULL, in, sizeof(in), 0) != sizeof(out))
			break;
		guest_rx_fill(&self->g);
	}
	WRITE_ONCE(refill.stop, true);
	pthread_join(refill.thread, NULL);
	EXPECT_EQ(0, refill.err);
	EXPECT_EQ(rounds, i) {
		TH_LOG("%u frames were sent, RX waits", (uint16_t)(now - since));
	}
	/* and nobody has to wait for such a device to end */
	guest_tx_blast(&self->g, 100, 256);
	guest_tx_flush(&self->g);
	guest_stop(&self->g);
}

/* ------- wake-ups ------- */

struct race {
	struct guest *g;
	struct rng rng;
	uint64_t end;
};

static void spin(unsigned int n)
{
	while (n--)
		__asm__ volatile("" ::: "memory");
}

/*
 * Wait until the device has used all, without asking for anything: -ETIMEDOUT
 * when it sleeps although there is work, because a kick was lost.
 */
static int all_used(struct ring *r)
{
	unsigned int i;

	for (i = 0; i < 100000; i++)
		if (__atomic_load_n(&r->used->idx, __ATOMIC_ACQUIRE) ==
		    r->avail_idx)
			return 0;
	return wait_until(__atomic_load_n(&r->used->idx, __ATOMIC_ACQUIRE) ==
			  r->avail_idx) ? 0 : -ETIMEDOUT;
}

/*
 * I4: buffers are published just when the device, having run out of them,
 * asks for kicks again. One of both must see the other. Kicks only as asked
 * for; n buffers altogether.
 */
static int tx_race(struct race *t, unsigned int n)
{
	struct ring *r = t->g->q[VQ_TX].ring;
	unsigned int sent = 0, k, burst;
	int err = 0;

	while (sent < n && !err && (sent < env_volume(n / 50) || now_ns() < t->end)) {
		burst = 1 + rng_below(&t->rng, 3);
		for (k = 0; k < burst; k++) {
			sent += guest_tx_blast(t->g, 100, 1);
			ring_kick(r);
			/* into the time in which it looks, arms, looks again */
			spin(rng_below(&t->rng, 400));
		}
		if (rng_below(&t->rng, 4))
			err = all_used(r);
		if (!err && guest_tx_reap(t->g) < 0)
			err = -EPROTO;
	}
	if (err)
		fprintf(stderr, "# after %u buffers: %s, avail %u used %u\n",
			sent, strerror(-err), r->avail_idx, r->used->idx);
	return err;
}

TEST_F_TIMEOUT(stress, case21_rearm_race, 120)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		struct race t = {
			.g = &self->g,
			.rng.s = i,
			.end = now_ns() + 9000000000ULL,
		};
		struct guest_cfg c = cfg;

		c.features &= i ? ~0ULL : ~F_EVENT_IDX;
		START_GUEST(&self->g, &c);
		/* nobody reads what the guest sends */
		close(self->g.rx_sock);
		self->g.rx_sock = -1;
		ASSERT_EQ(0, tx_race(&t, 500000));
		guest_stop(&self->g);
	}
}

/* the same for a guest that is short of receive buffers (headcount waits) */
TEST_F_TIMEOUT(stress, case21_rearm_race_rx, 120)
{
	uint64_t end = now_ns() + 8000000000ULL;
	struct guest_cfg c = cfg;
	struct rng rng = { };
	unsigned int i, k, n;
	uint64_t next = 0, sent = 0;
	uint8_t frame[2048];

	c.no_fill = true;
	START_GUEST(&self->g, &c);
	for (i = 0; i < 200000 && (i < env_volume(4000) || now_ns() < end); i++) {
		while (sent - next < 100) {
			frame_make(frame, sent, 100);
			ASSERT_EQ(0, psock_send(self->g.tx_sock, NULL, frame,
						100));
			sent++;
		}
		n = 1 + rng_below(&rng, 3);
		for (k = 0; k < n; k++) {
			ASSERT_EQ(1, guest_rx_post(&self->g, 1));
			spin(rng_below(&rng, 400));
		}
		ASSERT_EQ(0, all_used(self->g.q[VQ_RX].ring)) {
			TH_LOG("asleep after %llu frames",
			       (unsigned long long)next);
		}
		for (k = 0; k < n; k++) {
			ASSERT_EQ(100, guest_rx(&self->g, NULL, frame,
						sizeof(frame), 0));
			ASSERT_TRUE(frame_check(frame, next, 100));
			next++;
		}
	}
}

/*
 * The other half: interrupts. Only as asked for, and one must come for the
 * first buffer that is used after the last look.
 */
TEST_F_TIMEOUT(stress, case21_no_interrupt_lost, 120)
{
	uint64_t end = now_ns() + 5000000000ULL;
	struct ring *r = &self->g.dev.ring[VQ_TX];
	struct rng rng = { };
	unsigned int i;

	START_GUEST(&self->g, &cfg);
	close(self->g.rx_sock);
	self->g.rx_sock = -1;
	for (i = 0; i < 100000 && (i < env_volume(2000) || now_ns() < end); i++) {
		guest_tx_blast(&self->g, 100, 1 + rng_below(&rng, 3));
		ring_kick(r);
		spin(rng_below(&rng, 400));
		while (r->outstanding) {
			if (!ring_call_enable(r, 1))
				ASSERT_EQ(0, efd_wait(r->call_fd, WATCHDOG_MS)) {
					TH_LOG("avail %u used %u, seen %u",
					       r->avail_idx, r->used->idx,
					       r->last_used);
				}
			ASSERT_LE(0, guest_tx_reap(&self->g));
		}
	}
}

/* ------- busy polling ------- */

/* a page of the guest's that is gone until somebody brings it */
struct lost_page {
	int uffd;
	void *page;
	uint8_t copy[4096];
};

static int lost_init(struct lost_page *p, void *page)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = {
		.range = { .start = (uintptr_t)page, .len = 4096 },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};

	p->page = page;
	p->uffd = syscall(__NR_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (p->uffd < 0)
		return -errno;
	if (ioctl(p->uffd, UFFDIO_API, &api) ||
	    ioctl(p->uffd, UFFDIO_REGISTER, &reg))
		return -errno;
	return 0;
}

static int lost_lose(struct lost_page *p)
{
	memcpy(p->copy, p->page, sizeof(p->copy));
	return madvise(p->page, 4096, MADV_DONTNEED) ? -errno : 0;
}

/* wait until the device has missed it: 1 when it has, 0 when time is up */
static int lost_missed(struct lost_page *p, int timeout_ms)
{
	struct uffd_msg msg;
	int r = fd_wait(p->uffd, POLLIN, timeout_ms);

	if (r == 1 && read(p->uffd, &msg, sizeof(msg)) != sizeof(msg))
		return -EIO;
	return r;
}

static int lost_bring(struct lost_page *p)
{
	struct uffdio_copy copy = {
		.dst = (uintptr_t)p->page,
		.src = (uintptr_t)p->copy,
		.len = 4096,
	};

	return ioctl(p->uffd, UFFDIO_COPY, &copy) ? -errno : 0;
}

/*
 * The worker spins on the available ring when its page goes. It may sleep
 * until the page is there again, and must not complain or give up the ring.
 */
TEST_F_TIMEOUT(stress, case18_page_missing, 90)
{
	struct lost_page p[2];
	unsigned int i, k, polled = 0;
	uint8_t frame[100];
	int r;

	START_GUEST(&self->g, &cfg);
	for (k = 0; k < 2; k++) {
		r = lost_init(&p[k], self->g.q[k].ring->avail);
		if (r)
			SKIP(return, "no userfaultfd: %s", strerror(-r));
		ASSERT_EQ(0, vdev_set_busyloop(&self->g.dev, k, 20000));
	}
	for (i = 0; i < 40; i++) {
		struct lost_page *lost = &p[i & 1];

		ASSERT_EQ(0, load_check(&self->g));
		/* it polls now, or soon, or has just ended */
		guest_tx_blast(&self->g, 100, 1);
		guest_tx_flush(&self->g);
		ASSERT_EQ(0, lost_lose(lost));
		r = lost_missed(lost, 50);
		if (!r) {
			/* nothing made it look: that will */
			frame_make(frame, 0, sizeof(frame));
			ASSERT_EQ(0, psock_send(self->g.tx_sock, NULL, frame,
						sizeof(frame)));
			ring_force_kick(self->g.q[i & 1].ring);
			r = lost_missed(lost, WATCHDOG_MS);
		} else {
			polled++;
		}
		ASSERT_EQ(1, r);
		ASSERT_EQ(0, lost_bring(lost));
		while (self->g.q[VQ_TX].ring->outstanding) {
			ASSERT_EQ(0, ring_wait_used(self->g.q[VQ_TX].ring,
						    WATCHDOG_MS));
			ASSERT_LE(0, guest_tx_reap(&self->g));
		}
	}
	EXPECT_EQ(0, load_check(&self->g));
	TH_LOG("%u of %u times while it was looking anyway", polled, i);
	for (k = 0; k < 2; k++)
		close(p[k].uffd);
}

/*
 * A packet socket as backend, with busy polling: the tap's file is the wire.
 * Idle, it costs nothing; after that not a frame is missed.
 */
TEST_F_TIMEOUT(stress, case25_packet_socket_polled, 60)
{
	struct guest_cfg c = {
		.features = F_VHOST_HDR,
		.buf = { 2048, 2048 },
		.tap_hdr = -1,
		.no_backend = true,
		.mtu = 1500,
	};
	unsigned int i, k, n, round;
	uint8_t out[1000], in[2048];
	uint64_t seq, cpu, ns;
	pid_t worker;
	int fd;

	for (round = 0; round < 2; round++) {
		/* the header is the device's, or passed on to the socket */
		c.features = round ? 0 : F_VHOST_HDR;
		START_GUEST(&self->g, &c);
		fd = psock_receiver(self->g.tap.ifindex, round);
		ASSERT_GE(fd, 0);
		for (k = 0; k < 2; k++)
			ASSERT_EQ(0, vdev_set_busyloop(&self->g.dev, k, 100));
		guest_rx_fill(&self->g);
		ASSERT_EQ(0, guest_attach(&self->g, fd));

		seq = 0;
		worker = worker_of(getpid());
		ASSERT_NE(0, worker);
		for (i = 0; i < 40; i++) {
			if (!(i % 20)) {
				cpu = cpu_ns(worker);
				ns = now_ns();
				EXPECT_EQ(0, fd_wait(self->g.q[0].ring->call_fd,
						     POLLIN, 300) < 0);
				EXPECT_LT(cpu_ns(worker) - cpu,
					  (now_ns() - ns) / 2);
			}
			n = 1 + i * 7 % 100;
			for (k = 0; k < n; k++) {
				frame_make(out, seq + k, sizeof(out));
				ASSERT_EQ(sizeof(out),
					  write(self->g.tap.fd, out,
						sizeof(out)));
			}
			for (k = 0; k < n; k++, seq++) {
				ASSERT_EQ(sizeof(out),
					  guest_rx(&self->g, NULL, in,
						   sizeof(in), WATCHDOG_MS));
				ASSERT_TRUE(frame_check(in, seq, sizeof(out)));
				guest_rx_fill(&self->g);
			}
			for (k = 0; k < n; k++) {
				frame_make(out, k, sizeof(out));
				ASSERT_EQ(0, guest_tx_wait(&self->g, NULL, out,
							   sizeof(out)));
			}
			ASSERT_EQ(0, guest_tx_sync(&self->g));
			for (k = 0; k < n; k++) {
				ASSERT_EQ(1, fd_wait(self->g.tap.fd, POLLIN,
						     WATCHDOG_MS));
				ASSERT_EQ(sizeof(out),
					  read(self->g.tap.fd, in, sizeof(in)));
				ASSERT_TRUE(frame_check(in, k, sizeof(out)));
			}
		}
		close(fd);
		guest_stop(&self->g);
	}
}

/* ------- a slow egress ------- */

static const char * const slow_egress[] = {
	"ip link add name v0 type veth peer name v1",
	"ip link add name br0 type bridge",
	"ip link set dev v0 up",
	"ip link set dev v1 up",
	"ip link set dev br0 up",
	"ip link set dev v0 master br0",
	"tc qdisc add dev v0 root tbf rate 10mbit burst 8k limit 200k",
};

/*
 *   guest -> tap (send buffer of 4 KB) -> bridge -> v0 (10 Mbit/s) -> v1
 *
 * A frame is charged to the tap until it has left v0's queue, which has room
 * for much less than is sent. So TX has to wait for the socket to become
 * writable, asleep, and nothing may be lost, pass another, or get stuck.
 * Frames are looked at as they leave v0: v1 receives on whatever processor
 * that happens, and so may get two of them the wrong way round.
 */
TEST_F_TIMEOUT(stress, case32_small_sndbuf, 90)
{
	char cmd[128];
	uint64_t cpu, ns;
	unsigned int i;
	pid_t worker;
	int fd, zero = 0;

	START_GUEST(&self->g, &cfg);
	for (i = 0; i < ARRAY_LEN(slow_egress); i++) {
		snprintf(cmd, sizeof(cmd), "%s 2>&1", slow_egress[i]);
		if (system(cmd))
			SKIP(return, "cannot: %s", slow_egress[i]);
	}
	snprintf(cmd, sizeof(cmd), "ip link set dev %s master br0",
		 self->g.tap.name);
	ASSERT_EQ(0, system(cmd));
	fd = psock_receiver(if_nametoindex("v0"), false);
	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, setsockopt(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, &zero,
				sizeof(zero)));
	ASSERT_GE(dup2(fd, self->g.rx_sock), 0);
	close(fd);
	ASSERT_EQ(0, tap_set_sndbuf(&self->g.tap, 4096));

	worker = worker_of(getpid());
	ASSERT_NE(0, worker);
	cpu = cpu_ns(worker);
	ns = now_ns();
	/* the egress is idle between the rounds */
	for (i = 0; i < 3; i++) {
		memset(&self->l, 0, sizeof(self->l));
		self->l.way[VQ_TX].on = true;
		self->l.way[VQ_TX].limit = 1500;
		ASSERT_EQ(0, load_start(&self->l, &self->g));
		self->loaded = true;
		ASSERT_EQ(0, load_finish(&self->l));
		self->loaded = false;
	}
	EXPECT_LT(cpu_ns(worker) - cpu, (now_ns() - ns) / 4 * 3) {
		TH_LOG("the worker spins");
	}
	/* it has waited, and not only been slow */
	if (node_is_vhost_tap())
		EXPECT_LT(0, counters_of(VQ_TX)->stat[VHOST_TAP_A_STATS_EAGAIN]);
}

TEST_HARNESS_MAIN
