// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the module says of itself over generic netlink: each counter counts
 * what it says, each state is shown, dumps are whole whatever opens and closes
 * meanwhile, and a reader neither hangs nor needs less than CAP_NET_ADMIN.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "nl.h"
#include "variants.h"

#define STAT(q, s)	((q).stats[VHOST_TAP_A_STATS_##s])
#define DROP(q, r)	((q).drops[VHOST_TAP_A_DROPS_##r])
#define RING_ERROR(q, r) ((q).ring_errors[VHOST_TAP_A_RING_ERRORS_##r])

FIXTURE(netlink)
{
	struct guest g;
	struct nl_dev d;
	struct nl_queue rx, tx;
	uint8_t *out, *in;
};

FIXTURE_SETUP(netlink)
{
	if (!node_is_vhost_tap())
		SKIP(return, "in-tree vhost_net has no netlink family");
	memset(&self->g, 0, sizeof(self->g));
	self->out = malloc(FRAME_MAX);
	self->in = malloc(FRAME_MAX + 64);
	ASSERT_NE(NULL, self->out);
	ASSERT_NE(NULL, self->in);
	ASSERT_EQ(0, netns_private());
}

FIXTURE_TEARDOWN(netlink)
{
	if (self->g.dev.fd > 0)
		guest_stop(&self->g);
	free(self->out);
	free(self->in);
}

/* read device and queues of the test's guest anew */
static int look(FIXTURE_DATA(netlink) *s)
{
	int err = nl_dev_of(getpid(), &s->d);

	if (!err)
		err = nl_queue_get(s->d.id, VQ_RX, &s->rx);
	if (!err)
		err = nl_queue_get(s->d.id, VQ_TX, &s->tx);
	return err;
}

static uint64_t sum(const uint64_t *counter, unsigned int max)
{
	uint64_t n = 0;
	unsigned int i;

	for (i = 1; i <= max; i++)
		n += counter[i];
	return n;
}

struct newest {
	struct nl_dev d;
};

static bool take_newest(const struct nl_dev *d, void *arg)
{
	struct newest *n = arg;

	if (d->id > n->d.id)
		n->d = *d;
	return true;
}

/* an open device that nobody has set up is there, and empty */
TEST_F(netlink, fresh_device)
{
	struct newest n = {};
	struct nl_queue q;
	struct nl_dev d;
	unsigned int i;
	int fd;

	fd = node_open(O_RDWR);
	ASSERT_GE(fd, 0);
	ASSERT_EQ(0, nl_dev_dump(take_newest, &n));
	ASSERT_EQ(0, nl_dev_get(n.d.id, &d));
	EXPECT_EQ(n.d.id, d.id);
	EXPECT_STREQ(strrchr(node_path(), '/') + 1, d.node);
	EXPECT_FALSE(NL_HAS(&d, VHOST_TAP_A_DEV_OWNER_PID));
	EXPECT_FALSE(NL_HAS(&d, VHOST_TAP_A_DEV_WORKER_PID));
	EXPECT_FALSE(NL_HAS(&d, VHOST_TAP_A_DEV_WORKERS));
	EXPECT_FALSE(NL_HAS(&d, VHOST_TAP_A_DEV_MEM_REGIONS));
	EXPECT_FALSE(NL_HAS(&d, VHOST_TAP_A_DEV_BUSY));
	EXPECT_EQ(0, d.features);
	for (i = 0; i < 2; i++) {
		ASSERT_EQ(0, nl_queue_get(d.id, i, &q));
		EXPECT_EQ(i == VQ_RX ? VHOST_TAP_QUEUE_TYPE_RX : VHOST_TAP_QUEUE_TYPE_TX, q.type);
		EXPECT_EQ(VHOST_TAP_QUEUE_STATE_STOPPED, q.state);
		EXPECT_TRUE(NL_HAS(&q, VHOST_TAP_A_QUEUE_BACKEND));
		EXPECT_EQ(VHOST_TAP_BACKEND_NONE, q.backend);
		EXPECT_FALSE(NL_HAS(&q, VHOST_TAP_A_QUEUE_IFNAME));
		EXPECT_TRUE(NL_HAS(&q, VHOST_TAP_A_QUEUE_STATS));
		EXPECT_EQ(0, sum(q.stats, VHOST_TAP_A_STATS_MAX));
	}

	/* closed, it is gone */
	close(fd);
	EXPECT_EQ(-ENODEV, nl_dev_get(d.id, &d));
	EXPECT_EQ(-ENODEV, nl_queue_get(n.d.id, 0, &q));
}

/* what ioctls have set is what is reported */
TEST_F(netlink, device_with_guest)
{
	struct guest_cfg c = {
		.features = F_MODERN,
		.num = { 512, 128 },
		.base = { 7, 65530 },
	};

	START_GUEST(&self->g, &c);
	ASSERT_EQ(0, vdev_set_busyloop(&self->g.dev, VQ_TX, 5));
	ASSERT_EQ(0, look(self));
	EXPECT_EQ(getpid(), self->d.owner_pid);
	EXPECT_EQ(worker_of(getpid()), self->d.worker_pid);
	EXPECT_EQ(1, self->d.nworkers);
	EXPECT_EQ(self->d.worker_pid, self->d.worker[0]);
	EXPECT_EQ(self->d.worker_pid, self->rx.worker_pid);
	EXPECT_EQ(self->d.worker_pid, self->tx.worker_pid);
	EXPECT_EQ(F_MODERN, self->d.features);
	EXPECT_EQ(self->g.mem.nr, self->d.mem_regions);
	EXPECT_EQ(9ULL << 30, self->d.mem_bytes);
	EXPECT_EQ(512, self->rx.size);
	EXPECT_EQ(128, self->tx.size);
	EXPECT_EQ(7, self->rx.last_used);
	EXPECT_EQ(65530, self->tx.last_avail);
	EXPECT_EQ(65530, self->tx.last_used);
	EXPECT_EQ(0, self->rx.busyloop_timeout);
	EXPECT_EQ(5, self->tx.busyloop_timeout);
	EXPECT_EQ(VHOST_TAP_QUEUE_STATE_RUNNING, self->rx.state);
	EXPECT_EQ(VHOST_TAP_QUEUE_STATE_RUNNING, self->tx.state);
	EXPECT_EQ(VHOST_TAP_BACKEND_TAP, self->rx.backend);
	EXPECT_STREQ(self->g.tap.name, self->rx.ifname);
	EXPECT_STREQ(self->g.tap.name, self->tx.ifname);

	ASSERT_EQ(0, guest_detach(&self->g));
	ASSERT_EQ(0, look(self));
	EXPECT_EQ(VHOST_TAP_QUEUE_STATE_STOPPED, self->rx.state);
	EXPECT_EQ(VHOST_TAP_BACKEND_NONE, self->rx.backend);

	/* a packet socket tells its interface too */
	ASSERT_EQ(0, guest_attach(&self->g, self->g.rx_sock));
	ASSERT_EQ(0, look(self));
	EXPECT_EQ(VHOST_TAP_BACKEND_PACKET, self->tx.backend);
	EXPECT_STREQ(self->g.tap.name, self->tx.ifname);
	ASSERT_EQ(0, guest_detach(&self->g));

	ASSERT_EQ(0, vdev_reset_owner(&self->g.dev));
	EXPECT_EQ(-ENODEV, nl_dev_of(getpid(), &self->d));
}

/* all workers of a device are there, each queue with its own */
TEST_F(netlink, several_workers)
{
	struct guest_cfg c = { .features = F_MODERN };
	struct vdev *v = &self->g.dev;
	uint32_t first;

	START_GUEST(&self->g, &c);
	if (vdev_get_worker(v, VQ_RX) < 0)
		SKIP(return, "no calls about workers here");
	ASSERT_EQ(0, look(self));
	first = self->d.worker_pid;
	ASSERT_EQ(1, vdev_new_worker(v));
	ASSERT_EQ(2, vdev_new_worker(v));
	ASSERT_EQ(0, vdev_attach_worker(v, VQ_TX, 2));
	ASSERT_EQ(0, look(self));
	ASSERT_EQ(3, self->d.nworkers);
	EXPECT_EQ(first, self->d.worker[0]);
	EXPECT_EQ(first, self->rx.worker_pid);
	EXPECT_EQ(self->d.worker[2], self->tx.worker_pid);
	EXPECT_NE(self->d.worker[1], self->d.worker[2]);

	ASSERT_EQ(0, vdev_free_worker(v, 1));
	ASSERT_EQ(0, vdev_attach_worker(v, VQ_RX, 2));
	ASSERT_EQ(0, vdev_free_worker(v, 0));
	ASSERT_EQ(0, look(self));
	ASSERT_EQ(1, self->d.nworkers);
	EXPECT_EQ(self->d.worker[0], self->d.worker_pid);
	EXPECT_EQ(self->d.worker[0], self->rx.worker_pid);
	EXPECT_EQ(self->d.worker[0], self->tx.worker_pid);
}

/* frames, bytes, kicks, signals and batches */
TEST_F(netlink, traffic)
{
	struct guest_cfg c = { .features = F_MODERN };
	uint64_t bytes = 0, seq;
	uint32_t len;

	START_GUEST(&self->g, &c);
	for (seq = 0; seq < 300; seq++) {
		len = 60 + seq;
		bytes += len;
		frame_make(self->out, seq, len);
		ASSERT_EQ(0, guest_tx_wait(&self->g, NULL, self->out, len));
		if (seq % 10 == 9)
			ASSERT_EQ(0, guest_tx_sync(&self->g));
	}
	ASSERT_EQ(0, guest_tx_sync(&self->g));
	for (seq = 0; seq < 200; seq++) {
		frame_make(self->out, seq, 1000);
		ASSERT_EQ(0, psock_send(self->g.tx_sock, NULL, self->out, 1000));
		ASSERT_EQ(1000, guest_rx(&self->g, NULL, self->in, FRAME_MAX, WATCHDOG_MS));
		guest_rx_fill(&self->g);
	}
	/* the worker counts after it publishes */
	ASSERT_TRUE(wait_until(!look(self) && STAT(self->tx, PACKETS) == 300 &&
			       STAT(self->rx, PACKETS) == 200)) {
		TH_LOG("tx %llu of 300, rx %llu of 200",
		       (unsigned long long)STAT(self->tx, PACKETS),
		       (unsigned long long)STAT(self->rx, PACKETS));
	}
	EXPECT_EQ(bytes, STAT(self->tx, BYTES));
	EXPECT_EQ(200 * 1000, STAT(self->rx, BYTES));
	EXPECT_GE(STAT(self->tx, KICKS), 1);
	EXPECT_LE(STAT(self->tx, KICKS), self->g.q[VQ_TX].ring->n_kicks);
	EXPECT_GE(STAT(self->rx, SOCKET_WAKEUPS), 1);
	/* a signal or a decision against it for each publish, at the least */
	EXPECT_GE(STAT(self->rx, SIGNALS) + STAT(self->rx, SIGNALS_SUPPRESSED), 1);
	EXPECT_GE(STAT(self->tx, SIGNALS) + STAT(self->tx, SIGNALS_SUPPRESSED), 1);
	EXPECT_GE(sum(self->tx.batches, VHOST_TAP_A_BATCHES_MAX), 300 / 64);
	EXPECT_LE(sum(self->tx.batches, VHOST_TAP_A_BATCHES_MAX), 300);
	EXPECT_GE(sum(self->rx.batches, VHOST_TAP_A_BATCHES_MAX), 1);
	EXPECT_LE(sum(self->rx.batches, VHOST_TAP_A_BATCHES_MAX), 200);
	EXPECT_EQ(0, sum(self->tx.drops, VHOST_TAP_A_DROPS_MAX));
	EXPECT_EQ(0, sum(self->rx.drops, VHOST_TAP_A_DROPS_MAX));
	EXPECT_EQ(0, sum(self->tx.ring_errors, VHOST_TAP_A_RING_ERRORS_MAX));
	EXPECT_EQ(0, sum(self->rx.ring_errors, VHOST_TAP_A_RING_ERRORS_MAX));
	EXPECT_EQ((uint16_t)self->g.q[VQ_TX].ring->last_used, self->tx.last_used);
}

/* counters stay when the backend changes; a frame too short is one drop */
TEST_F(netlink, drops)
{
	struct guest_cfg c = { .features = F_MODERN, .num = { 4, 256 }, .buf = { 1500, 0 } };
	struct virtio_net_hdr bad = { .gso_type = 0x55, .gso_size = 10 };

	START_GUEST(&self->g, &c);
	frame_make(self->out, 0, 60000);
	ASSERT_EQ(0, guest_tx_wait(&self->g, NULL, self->out, 5));
	ASSERT_EQ(0, guest_tx_wait(&self->g, NULL, self->out, 13));
	ASSERT_EQ(0, guest_tx_sync(&self->g));
	ASSERT_TRUE(wait_until(!look(self) && DROP(self->tx, SHORT) == 2));
	ASSERT_EQ(0, guest_tx_wait(&self->g, &bad, self->out, 100));
	ASSERT_EQ(0, guest_tx_sync(&self->g));
	ASSERT_TRUE(wait_until(!look(self) &&
			       DROP(self->tx, OFFLOAD) + DROP(self->tx, SOCKET) == 1));
	EXPECT_EQ(0, STAT(self->tx, PACKETS));

	ASSERT_EQ(0, psock_send(self->g.tx_sock, NULL, self->out, 60000));
	ASSERT_TRUE(wait_until(!look(self) && DROP(self->rx, TOO_BIG) == 1));
	EXPECT_EQ(1, sum(self->rx.drops, VHOST_TAP_A_DROPS_MAX));

	ASSERT_EQ(0, guest_detach(&self->g));
	ASSERT_EQ(0, guest_attach(&self->g, self->g.tap.fd));
	ASSERT_EQ(0, look(self));
	EXPECT_EQ(2, DROP(self->tx, SHORT));
	EXPECT_EQ(1, DROP(self->rx, TOO_BIG));
}

/* a broken ring is shown as such, with its reason, until it is started anew */
TEST_F(netlink, ring_error)
{
	struct guest_cfg c = { .features = F_VERSION_1 };
	struct ring *r;

	START_GUEST(&self->g, &c);
	r = self->g.q[VQ_TX].ring;
	ring_split_push_raw(r, 0xffff);
	ring_publish(r);
	ring_force_kick(r);
	ASSERT_EQ(0, efd_wait(r->err_fd, WATCHDOG_MS));
	ASSERT_TRUE(wait_until(!look(self) &&
			       self->tx.state == VHOST_TAP_QUEUE_STATE_BROKEN));
	EXPECT_EQ(VHOST_TAP_RING_ERR_HEAD, self->tx.error);
	EXPECT_EQ(1, RING_ERROR(self->tx, HEAD));
	EXPECT_EQ(1, sum(self->tx.ring_errors, VHOST_TAP_A_RING_ERRORS_MAX));
	EXPECT_EQ(VHOST_TAP_QUEUE_STATE_RUNNING, self->rx.state);
	EXPECT_FALSE(NL_HAS(&self->rx, VHOST_TAP_A_QUEUE_ERROR));

	ASSERT_EQ(0, guest_detach(&self->g));
	ASSERT_EQ(0, look(self));
	EXPECT_EQ(VHOST_TAP_QUEUE_STATE_STOPPED, self->tx.state);
	EXPECT_FALSE(NL_HAS(&self->tx, VHOST_TAP_A_QUEUE_ERROR));
	ring_split_reset(r, r->avail_idx);
	ASSERT_EQ(0, vdev_set_base(&self->g.dev, VQ_TX, r->avail_idx));
	ASSERT_EQ(0, guest_attach(&self->g, self->g.tap.fd));
	ASSERT_EQ(0, look(self));
	EXPECT_EQ(VHOST_TAP_QUEUE_STATE_RUNNING, self->tx.state);
	EXPECT_EQ(1, RING_ERROR(self->tx, HEAD));
}

/* a wait for headcount shows while it lasts and is counted when it ends */
TEST_F(netlink, headcount_wait)
{
	struct guest_cfg c = { .features = F_MODERN, .no_fill = true };
	unsigned int i;

	START_GUEST(&self->g, &c);
	for (i = 0; i < 5; i++) {
		frame_make(self->out, i, 100);
		ASSERT_EQ(0, psock_send(self->g.tx_sock, NULL, self->out, 100));
	}
	ASSERT_TRUE(wait_until(!look(self) &&
			       NL_HAS(&self->rx, VHOST_TAP_A_QUEUE_WAITING_NS)));
	EXPECT_GE(self->rx.held, 1);
	EXPECT_EQ(VHOST_TAP_QUEUE_STATE_RUNNING, self->rx.state);
	EXPECT_EQ(1, STAT(self->rx, HEADCOUNT_WAITS));
	EXPECT_EQ(0, STAT(self->rx, HEADCOUNT_WAIT_NS));

	guest_rx_fill(&self->g);
	for (i = 0; i < 5; i++)
		ASSERT_EQ(100, guest_rx(&self->g, NULL, self->in, FRAME_MAX, WATCHDOG_MS));
	ASSERT_TRUE(wait_until(!look(self) &&
			       !NL_HAS(&self->rx, VHOST_TAP_A_QUEUE_WAITING_NS) &&
			       !self->rx.held));
	EXPECT_EQ(1, STAT(self->rx, HEADCOUNT_WAITS));
	EXPECT_GE(STAT(self->rx, HEADCOUNT_WAIT_NS), 1);
	EXPECT_EQ(5, STAT(self->rx, PACKETS));
}

/* I5 in numbers: what was held at detach has been given back */
TEST_F(netlink, held_returned)
{
	struct guest_cfg c = { .features = F_MODERN, .no_fill = true };
	unsigned int i;

	START_GUEST(&self->g, &c);
	for (i = 0; i < 5; i++) {
		frame_make(self->out, i, 100);
		ASSERT_EQ(0, psock_send(self->g.tx_sock, NULL, self->out, 100));
	}
	ASSERT_TRUE(wait_until(!look(self) && self->rx.held));
	ASSERT_EQ(0, guest_detach(&self->g));
	ASSERT_EQ(0, look(self));
	EXPECT_EQ(0, self->rx.held);
	EXPECT_FALSE(NL_HAS(&self->rx, VHOST_TAP_A_QUEUE_WAITING_NS));
	EXPECT_GE(STAT(self->rx, HELD_RETURNED), 1);
	EXPECT_LE(STAT(self->rx, HELD_RETURNED), 5);
}

/* wrong requests get an errno, and nothing else happens */
TEST_F(netlink, wrong_requests)
{
	const uint32_t none = UINT32_MAX, two[2] = { 1, 1 };
	struct nl_dev d;
	struct nl_queue q;

	EXPECT_EQ(-EINVAL, nl_dev_get(NL_ALL, &d));
	EXPECT_EQ(-ENODEV, nl_dev_get(none, &d));
	EXPECT_EQ(-ENODEV, nl_dev_get(0, &d));
	EXPECT_EQ(-ENODEV, nl_queue_get(none, 0, &q));
	EXPECT_EQ(-EINVAL, nl_raw(VHOST_TAP_CMD_DEV_GET, NLM_F_DUMP, &none, 1));
	EXPECT_EQ(-EINVAL, nl_raw(VHOST_TAP_CMD_QUEUE_GET, NLM_F_DUMP, two, 2));
	EXPECT_EQ(-EOPNOTSUPP, nl_raw(VHOST_TAP_CMD_QUEUE_GET, 0, &none, 1));
	EXPECT_EQ(-EOPNOTSUPP, nl_raw(VHOST_TAP_CMD_MAX + 1, 0, NULL, 0));
	EXPECT_EQ(-EOPNOTSUPP, nl_raw(0, 0, NULL, 0));
}

/* without CAP_NET_ADMIN in the initial user namespace nothing is told */
TEST_F(netlink, not_permitted)
{
	const uint32_t id = 1;

	ASSERT_EQ(0, setresgid(65534, 65534, 65534));
	ASSERT_EQ(0, setresuid(65534, 65534, 65534));
	EXPECT_EQ(-EPERM, nl_raw(VHOST_TAP_CMD_DEV_GET, 0, &id, 1));
	EXPECT_EQ(-EPERM, nl_raw(VHOST_TAP_CMD_DEV_GET, NLM_F_DUMP, NULL, 0));
	EXPECT_EQ(-EPERM, nl_raw(VHOST_TAP_CMD_QUEUE_GET, NLM_F_DUMP, NULL, 0));
	EXPECT_EQ(-EPERM, nl_raw(VHOST_TAP_CMD_QUEUE_GET, NLM_F_DUMP, &id, 1));
}

/* ids as a dump gives them: each more than the last one */
struct order {
	uint32_t last;		/* id */
	uint32_t queue;		/* queue that comes next */
	uint32_t from, to;	/* ids to count */
	unsigned int n;
	bool wrong;
};

static bool count_dev(const struct nl_dev *d, void *arg)
{
	struct order *o = arg;

	o->wrong |= d->id <= o->last;
	o->last = d->id;
	o->n += d->id >= o->from && d->id <= o->to;
	return true;
}

static bool count_queue(const struct nl_queue *q, void *arg)
{
	struct order *o = arg;

	if (q->index != o->queue)
		o->wrong = true;
	if (q->index == 0)
		o->wrong |= q->dev_id <= o->last;
	else
		o->wrong |= q->dev_id != o->last;
	o->last = q->dev_id;
	o->queue = !q->index;
	o->n += q->dev_id >= o->from && q->dev_id <= o->to;
	return true;
}

#define MANY	1000

/* a dump of very many devices has each of them once, in however many parts */
TEST_F_TIMEOUT(netlink, many_devices, 60)
{
	static const size_t sizes[] = { 4096, 8192, 32768 };
	struct rlimit lim = { MANY + 100, MANY + 100 };
	struct newest first = {};
	struct order o;
	unsigned int i;
	int fd;

	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &lim));
	for (i = 0; i < MANY; i++) {
		fd = node_open(O_RDWR);
		ASSERT_GE(fd, 0);
		if (!i)
			ASSERT_EQ(0, nl_dev_dump(take_newest, &first));
	}
	for (i = 0; i < ARRAY_LEN(sizes); i++) {
		nl_recv_size = sizes[i];
		o = (struct order){ .from = first.d.id, .to = UINT32_MAX };
		ASSERT_EQ(0, nl_dev_dump(count_dev, &o));
		EXPECT_EQ(MANY, o.n);
		EXPECT_FALSE(o.wrong);
		o = (struct order){ .from = first.d.id, .to = UINT32_MAX };
		ASSERT_EQ(0, nl_queue_dump(NL_ALL, count_queue, &o));
		EXPECT_EQ(2 * MANY, o.n);
		EXPECT_FALSE(o.wrong);
		EXPECT_EQ(0, o.queue);
	}
}

static volatile bool stop;

static void *open_close(void *arg)
{
	int fd[3];
	unsigned int i;

	while (!stop) {
		for (i = 0; i < ARRAY_LEN(fd); i++)
			fd[i] = node_open(O_RDWR);
		for (i = 0; i < ARRAY_LEN(fd); i++)
			if (fd[i] >= 0)
				close(fd[i]);
	}
	return NULL;
}

#define STEADY	40

/* devices come and go; those that stay are in each dump, once */
TEST_F_TIMEOUT(netlink, dump_while_opening, 60)
{
	struct newest first = {}, last = {};
	pthread_t thread[2];
	unsigned int i, round;
	struct order o;
	int fd;

	for (i = 0; i < STEADY; i++) {
		fd = node_open(O_RDWR);
		ASSERT_GE(fd, 0);
		if (!i)
			ASSERT_EQ(0, nl_dev_dump(take_newest, &first));
	}
	ASSERT_EQ(0, nl_dev_dump(take_newest, &last));
	stop = false;
	for (i = 0; i < ARRAY_LEN(thread); i++)
		ASSERT_EQ(0, pthread_create(&thread[i], NULL, open_close, NULL));
	nl_recv_size = 4096;
	for (round = 0; round < 200; round++) {
		o = (struct order){ .from = first.d.id, .to = last.d.id };
		ASSERT_EQ(0, nl_dev_dump(count_dev, &o));
		ASSERT_EQ(STEADY, o.n);
		ASSERT_FALSE(o.wrong);
		o = (struct order){ .from = first.d.id, .to = last.d.id };
		ASSERT_EQ(0, nl_queue_dump(NL_ALL, count_queue, &o));
		ASSERT_EQ(2 * STEADY, o.n);
		/* a device that closes half-way through leaves no second queue */
		if (o.queue)
			TH_LOG("a dump ended behind a first queue");
	}
	stop = true;
	for (i = 0; i < ARRAY_LEN(thread); i++)
		pthread_join(thread[i], NULL);
}

struct stuck {
	int fd;
	void *arg;
	int ret;
};

static void *stuck_ioctl(void *p)
{
	struct stuck *s = p;

	s->ret = vhost_ioctl(s->fd, VHOST_SET_FEATURES, s->arg);
	return NULL;
}

struct busy {
	uint32_t id;
	bool seen, busy;
	unsigned int others, others_busy;
};

static bool take_busy(const struct nl_dev *d, void *arg)
{
	struct busy *b = arg;

	if (d->id == b->id) {
		b->seen = true;
		b->busy = NL_HAS(d, VHOST_TAP_A_DEV_BUSY);
	} else {
		b->others++;
		b->others_busy += NL_HAS(d, VHOST_TAP_A_DEV_BUSY);
	}
	return true;
}

/*
 * An ioctl hangs in the fault of its argument, for which nobody provides a
 * page. Readers get along without its device's lock, and so do opens.
 */
TEST_F(netlink, stuck_ioctl)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register reg = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	struct uffdio_zeropage zero = {};
	long page = sysconf(_SC_PAGESIZE);
	struct newest n = {};
	struct busy b = {};
	struct nl_queue q;
	struct nl_dev d;
	struct stuck s;
	pthread_t thread;
	uint64_t begin;
	int uffd, fd;

	s.fd = node_open(O_RDWR);
	ASSERT_GE(s.fd, 0);
	ASSERT_EQ(0, nl_dev_dump(take_newest, &n));
	s.arg = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, s.arg);
	uffd = syscall(__NR_userfaultfd, O_CLOEXEC | O_NONBLOCK);
	if (uffd < 0)
		SKIP(return, "no userfaultfd");
	ASSERT_EQ(0, ioctl(uffd, UFFDIO_API, &api));
	reg.range.start = (unsigned long)s.arg;
	reg.range.len = page;
	ASSERT_EQ(0, ioctl(uffd, UFFDIO_REGISTER, &reg));
	ASSERT_EQ(0, pthread_create(&thread, NULL, stuck_ioctl, &s));
	ASSERT_EQ(1, fd_wait(uffd, POLLIN, WATCHDOG_MS));

	fd = node_open(O_RDWR);
	ASSERT_GE(fd, 0);
	b.id = n.d.id;
	begin = now_ns();
	EXPECT_EQ(0, nl_dev_dump(take_busy, &b));
	EXPECT_TRUE(b.seen);
	EXPECT_TRUE(b.busy);
	EXPECT_GE(b.others, 1);
	EXPECT_EQ(0, b.others_busy);
	EXPECT_EQ(0, nl_dev_get(b.id, &d));
	EXPECT_TRUE(NL_HAS(&d, VHOST_TAP_A_DEV_BUSY));
	EXPECT_EQ(0, nl_queue_get(b.id, VQ_TX, &q));
	EXPECT_TRUE(NL_HAS(&q, VHOST_TAP_A_QUEUE_BUSY));
	EXPECT_FALSE(NL_HAS(&q, VHOST_TAP_A_QUEUE_BACKEND));
	EXPECT_TRUE(NL_HAS(&q, VHOST_TAP_A_QUEUE_STATS));
	EXPECT_LE(now_ns() - begin, WATCHDOG_MS * 1000000ULL);
	close(fd);

	zero.range = reg.range;
	ASSERT_EQ(0, ioctl(uffd, UFFDIO_ZEROPAGE, &zero));
	pthread_join(thread, NULL);
	EXPECT_EQ(0, s.ret);
	EXPECT_EQ(0, nl_dev_get(b.id, &d));
	EXPECT_FALSE(NL_HAS(&d, VHOST_TAP_A_DEV_BUSY));
	close(s.fd);
	close(uffd);
}

TEST_HARNESS_MAIN
