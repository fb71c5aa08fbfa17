// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every ioctl of the node with right and wrong arguments: before there is an
 * owner, after, and while the queues run. The answers are those of in-tree
 * vhost_net, which this runs against as well; what a call refuses must leave
 * the old state in force, which traffic afterwards shows.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"
#include "variants.h"

#define NO_VQ	2	/* first index that is no queue */
#define BAD_PTR	((void *)0x10)

FIXTURE(uapi)
{
	struct vdev v;
	struct gmem m;
	struct ring r;
	int efd;
};

FIXTURE_SETUP(uapi)
{
	memset(&self->m, 0, sizeof(self->m));
	ASSERT_EQ(0, netns_private());
	ASSERT_EQ(0, vdev_open(&self->v)) {
		TH_LOG("cannot open %s", node_path());
	}
	ASSERT_EQ(0, gmem_add(&self->m, 0x100000, 1 << 20));
	ASSERT_EQ(0, ring_split_init(&self->r, &self->m, 16, 0, false));
	self->efd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	ASSERT_GE(self->efd, 0);
}

FIXTURE_TEARDOWN(uapi)
{
	vdev_close(&self->v);
	ring_free(&self->r);
	gmem_destroy(&self->m);
	close(self->efd);
}

static int state_ioctl(struct vdev *v, unsigned long req, unsigned int idx,
		       unsigned int num)
{
	struct vhost_vring_state s = { .index = idx, .num = num };

	return vhost_ioctl(v->fd, req, &s);
}

static int file_ioctl(struct vdev *v, unsigned long req, unsigned int idx,
		      int fd)
{
	struct vhost_vring_file f = { .index = idx, .fd = fd };

	return vhost_ioctl(v->fd, req, &f);
}

TEST_F(uapi, case53_owner)
{
	struct vdev *v = &self->v;
	int fd, status;
	pid_t pid;

	/* nothing to reset, then one owner, then no second */
	EXPECT_EQ(-EPERM, vdev_reset_owner(v));
	EXPECT_EQ(0, vdev_set_owner(v));
	EXPECT_EQ(-EBUSY, vdev_set_owner(v));

	/* another process may hold the descriptor but does not own it */
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid) {
		if (vdev_set_mem(v, &self->m) != -EPERM)
			_exit(1);
		if (vdev_set_num(v, 0, 16) != -EPERM)
			_exit(2);
		if (vdev_set_backend(v, 0, -1) != -EPERM)
			_exit(3);
		if (vdev_reset_owner(v) != -EPERM)
			_exit(4);
		if (vdev_set_owner(v) != -EBUSY)
			_exit(5);
		_exit(0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status) {
		TH_LOG("child failed at %d", WEXITSTATUS(status));
	}

	/* given up by one, taken by another, who then is the owner */
	EXPECT_EQ(0, vdev_reset_owner(v));
	EXPECT_EQ(-EPERM, vdev_set_mem(v, &self->m));
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid) {
		if (vdev_set_owner(v))
			_exit(1);
		if (vdev_set_mem(v, &self->m))
			_exit(2);
		_exit(0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
	EXPECT_EQ(-EPERM, vdev_set_mem(v, &self->m));
	EXPECT_EQ(-EBUSY, vdev_set_owner(v));

	/* many devices, one process */
	fd = node_open(O_RDWR);
	ASSERT_GE(fd, 0);
	EXPECT_EQ(0, vhost_ioctl(fd, VHOST_SET_OWNER, NULL));
	close(fd);
}

/* all that needs an owner says so, whatever else is wrong with it */
TEST_F(uapi, before_owner)
{
	static const unsigned long reqs[] = {
		VHOST_SET_MEM_TABLE, VHOST_SET_LOG_BASE, VHOST_SET_LOG_FD,
		VHOST_SET_VRING_NUM, VHOST_SET_VRING_ADDR, VHOST_SET_VRING_BASE,
		VHOST_GET_VRING_BASE, VHOST_SET_VRING_KICK,
		VHOST_SET_VRING_CALL, VHOST_SET_VRING_ERR,
		VHOST_SET_VRING_ENDIAN, VHOST_GET_VRING_ENDIAN,
		VHOST_SET_VRING_BUSYLOOP_TIMEOUT,
		VHOST_GET_VRING_BUSYLOOP_TIMEOUT, VHOST_RESET_OWNER,
	};
	char zero[256] = { };
	unsigned int i;

	for (i = 0; i < ARRAY_LEN(reqs); i++) {
		EXPECT_EQ(-EPERM, vhost_ioctl(self->v.fd, reqs[i], zero)) {
			TH_LOG("request %#lx", reqs[i]);
		}
	}
	EXPECT_EQ(-EPERM, vdev_set_backend(&self->v, 0, -1));
	EXPECT_EQ(-EPERM, vdev_set_backend(&self->v, NO_VQ, -1));
}

TEST_F(uapi, case58_features)
{
	uint64_t must = F_INDIRECT | F_EVENT_IDX | F_MRG_RXBUF | F_VERSION_1 |
			F_VHOST_HDR | F_NOTIFY_ON_EMPTY | F_BIT(VHOST_F_LOG_ALL);
	uint64_t f = 0, b = 0, all;
	unsigned int i;

	ASSERT_EQ(0, vdev_get_features(&self->v, &f));
	EXPECT_EQ(must, f & must);
	/* bits are the device's to offer: no ordinary net device feature */
	EXPECT_EQ(0, f & (F_BIT(VIRTIO_NET_F_MAC) | F_BIT(VIRTIO_NET_F_CSUM)));

	for (i = 0; i < 64; i++) {
		/* wants an IOTLB, which has tests of its own */
		if (i == VIRTIO_F_ACCESS_PLATFORM)
			continue;
		EXPECT_EQ(f & F_BIT(i) ? 0 : -EOPNOTSUPP,
			  vdev_set_features(&self->v, F_BIT(i))) {
			TH_LOG("bit %u", i);
		}
	}
	all = f & ~F_BIT(VIRTIO_F_ACCESS_PLATFORM);
	EXPECT_EQ(0, vdev_set_features(&self->v, all));
	EXPECT_EQ(0, vdev_set_features(&self->v, 0));
	EXPECT_EQ(-EOPNOTSUPP, vdev_set_features(&self->v, ~0ULL));

	ASSERT_EQ(0, vhost_ioctl(self->v.fd, VHOST_GET_BACKEND_FEATURES, &b));
	for (i = 0; i < 64; i++) {
		uint64_t one = F_BIT(i);

		EXPECT_EQ(b & one ? 0 : -EOPNOTSUPP,
			  vhost_ioctl(self->v.fd, VHOST_SET_BACKEND_FEATURES,
				      &one)) {
			TH_LOG("backend bit %u", i);
		}
	}

	EXPECT_EQ(-EFAULT, vhost_ioctl(self->v.fd, VHOST_GET_FEATURES, BAD_PTR));
	EXPECT_EQ(-EFAULT, vhost_ioctl(self->v.fd, VHOST_SET_FEATURES, BAD_PTR));
	EXPECT_EQ(-EFAULT, vhost_ioctl(self->v.fd, VHOST_GET_BACKEND_FEATURES,
				       BAD_PTR));
	EXPECT_EQ(-EFAULT, vhost_ioctl(self->v.fd, VHOST_SET_BACKEND_FEATURES,
				       BAD_PTR));
}

TEST_F(uapi, case10_mem_table)
{
	struct vhost_memory *t = calloc(1, sizeof(*t) +
					1024 * sizeof(t->regions[0]));
	struct vdev *v = &self->v;
	unsigned int i;
	long max;
	void *p;

	ASSERT_NE(NULL, t);
	ASSERT_EQ(0, vdev_set_owner(v));
	EXPECT_EQ(0, vdev_set_mem(v, &self->m));
	EXPECT_EQ(0, vdev_set_mem(v, &self->m));
	EXPECT_EQ(-EFAULT, vhost_ioctl(v->fd, VHOST_SET_MEM_TABLE, BAD_PTR));

	/* no region at all is a table too */
	EXPECT_EQ(0, vhost_ioctl(v->fd, VHOST_SET_MEM_TABLE, t));

	t->nregions = 1;
	t->regions[0].guest_phys_addr = 0x1000;
	t->regions[0].memory_size = 0x1000;
	t->regions[0].userspace_addr = (uintptr_t)self->m.region[0].hva;
	EXPECT_EQ(0, vhost_ioctl(v->fd, VHOST_SET_MEM_TABLE, t));
	t->padding = 1;
	EXPECT_EQ(-EOPNOTSUPP, vhost_ioctl(v->fd, VHOST_SET_MEM_TABLE, t));
	t->padding = 0;

	/* a region that wraps, or one without a byte */
	t->regions[0].guest_phys_addr = 0ULL - 0x1000;
	t->regions[0].memory_size = 0x2000;
	EXPECT_EQ(-EFAULT, vhost_ioctl(v->fd, VHOST_SET_MEM_TABLE, t));
	t->regions[0].guest_phys_addr = 0x1000;
	t->regions[0].memory_size = 0;
	EXPECT_EQ(-EFAULT, vhost_ioctl(v->fd, VHOST_SET_MEM_TABLE, t));
	t->regions[0].memory_size = 0x1000;

	/* case 47: the limit is where QEMU looks for it, and it is kept */
	max = file_read_long("/sys/module/vhost/parameters/max_mem_regions");
	EXPECT_GT(max, 0);
	if (max > 0 && max < 1024) {
		for (i = 0; i <= max; i++) {
			t->regions[i] = t->regions[0];
			t->regions[i].guest_phys_addr = 0x1000 * (i + 1);
		}
		t->nregions = max;
		EXPECT_EQ(0, vhost_ioctl(v->fd, VHOST_SET_MEM_TABLE, t));
		t->nregions = max + 1;
		EXPECT_EQ(-E2BIG, vhost_ioctl(v->fd, VHOST_SET_MEM_TABLE, t));
	}
	t->nregions = ~0U;
	EXPECT_EQ(-E2BIG, vhost_ioctl(v->fd, VHOST_SET_MEM_TABLE, t));

	/* the table's end lies where nothing is mapped */
	p = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT_NE(MAP_FAILED, p);
	munmap((char *)p + 4096, 4096);
	t->nregions = 2;
	memcpy((char *)p + 4096 - 40, t, 40);
	EXPECT_EQ(-EFAULT, vhost_ioctl(v->fd, VHOST_SET_MEM_TABLE,
				       (char *)p + 4096 - 40));
	munmap(p, 4096);
	free(t);
}

TEST_F(uapi, vring_num)
{
	static const struct { unsigned int num; int want; } t[] = {
		{ 0, -EINVAL }, { 1, 0 }, { 2, 0 }, { 3, -EINVAL }, { 256, 0 },
		{ 1000, -EINVAL }, { 32768, 0 }, { 65535, -EINVAL },
		{ 65536, -EINVAL }, { ~0U, -EINVAL }, { 1U << 31, -EINVAL },
	};
	unsigned int i;

	ASSERT_EQ(0, vdev_set_owner(&self->v));
	for (i = 0; i < ARRAY_LEN(t); i++) {
		EXPECT_EQ(t[i].want, vdev_set_num(&self->v, i & 1, t[i].num)) {
			TH_LOG("num %u", t[i].num);
		}
	}
	EXPECT_EQ(-ENOBUFS, vdev_set_num(&self->v, NO_VQ, 256));
	EXPECT_EQ(-ENOBUFS, vdev_set_num(&self->v, ~0U, 256));
	EXPECT_EQ(-EFAULT, vhost_ioctl(self->v.fd, VHOST_SET_VRING_NUM,
				       BAD_PTR));
}

TEST_F(uapi, vring_base)
{
	ASSERT_EQ(0, vdev_set_owner(&self->v));
	EXPECT_EQ(0, vdev_get_base(&self->v, VQ_RX));
	EXPECT_EQ(0, vdev_set_base(&self->v, VQ_RX, 0xffff));
	EXPECT_EQ(0xffff, vdev_get_base(&self->v, VQ_RX));
	EXPECT_EQ(0, vdev_get_base(&self->v, VQ_TX));
	EXPECT_EQ(-EINVAL, vdev_set_base(&self->v, VQ_RX, 0x10000));
	EXPECT_EQ(-EINVAL, vdev_set_base(&self->v, VQ_RX, ~0U));
	EXPECT_EQ(0xffff, vdev_get_base(&self->v, VQ_RX));
	EXPECT_EQ(-ENOBUFS, vdev_set_base(&self->v, NO_VQ, 0));
	EXPECT_EQ(-ENOBUFS, vdev_get_base(&self->v, NO_VQ));
	EXPECT_EQ(-EFAULT, vhost_ioctl(self->v.fd, VHOST_SET_VRING_BASE,
				       BAD_PTR));
	EXPECT_EQ(-EFAULT, vhost_ioctl(self->v.fd, VHOST_GET_VRING_BASE,
				       BAD_PTR));
}

TEST_F(uapi, vring_addr)
{
	struct vhost_vring_addr a = {
		.desc_user_addr = (uintptr_t)self->r.desc,
		.avail_user_addr = (uintptr_t)self->r.avail,
		.used_user_addr = (uintptr_t)self->r.used,
	};
	struct vhost_vring_addr b;
	int fd = self->v.fd;

	ASSERT_EQ(0, vdev_set_owner(&self->v));
	EXPECT_EQ(0, vhost_ioctl(fd, VHOST_SET_VRING_ADDR, &a));
	b = a;
	b.flags = 2;
	EXPECT_EQ(-EOPNOTSUPP, vhost_ioctl(fd, VHOST_SET_VRING_ADDR, &b));
	b = a;
	b.avail_user_addr |= 1;
	EXPECT_EQ(-EINVAL, vhost_ioctl(fd, VHOST_SET_VRING_ADDR, &b));
	b = a;
	b.used_user_addr |= 2;
	EXPECT_EQ(-EINVAL, vhost_ioctl(fd, VHOST_SET_VRING_ADDR, &b));
	b = a;
	b.log_guest_addr = 1;
	EXPECT_EQ(-EINVAL, vhost_ioctl(fd, VHOST_SET_VRING_ADDR, &b));
	/* descriptors may stand anywhere, and nothing is checked before use */
	b = a;
	b.desc_user_addr = 3;
	EXPECT_EQ(0, vhost_ioctl(fd, VHOST_SET_VRING_ADDR, &b));
	b.index = NO_VQ;
	EXPECT_EQ(-ENOBUFS, vhost_ioctl(fd, VHOST_SET_VRING_ADDR, &b));
	EXPECT_EQ(-EFAULT, vhost_ioctl(fd, VHOST_SET_VRING_ADDR, BAD_PTR));
}

TEST_F(uapi, eventfds)
{
	static const unsigned long reqs[] = {
		VHOST_SET_VRING_KICK, VHOST_SET_VRING_CALL, VHOST_SET_VRING_ERR
	};
	struct vdev *v = &self->v;
	int null = open("/dev/null", O_RDWR), p[2], fds, one;
	unsigned int i;

	ASSERT_EQ(0, pipe(p));
	ASSERT_EQ(0, vdev_set_owner(v));
	fds = count_open_fds();
	for (i = 0; i < ARRAY_LEN(reqs); i++) {
		EXPECT_EQ(0, file_ioctl(v, reqs[i], 0, self->efd));
		EXPECT_EQ(0, file_ioctl(v, reqs[i], 0, self->efd));
		EXPECT_EQ(0, file_ioctl(v, reqs[i], 0, -1));
		EXPECT_EQ(0, file_ioctl(v, reqs[i], 0, -1));
		EXPECT_EQ(-EBADF, file_ioctl(v, reqs[i], 0, 9999));
		EXPECT_EQ(-EBADF, file_ioctl(v, reqs[i], 0, -2));
		EXPECT_EQ(-EINVAL, file_ioctl(v, reqs[i], 0, null));
		EXPECT_EQ(-EINVAL, file_ioctl(v, reqs[i], 0, p[0]));
		EXPECT_EQ(-ENOBUFS, file_ioctl(v, reqs[i], NO_VQ, self->efd));
		EXPECT_EQ(-EFAULT, vhost_ioctl(v->fd, reqs[i], BAD_PTR));
	}
	EXPECT_EQ(0, vhost_ioctl(v->fd, VHOST_SET_LOG_FD, &self->efd));
	one = -1;
	EXPECT_EQ(0, vhost_ioctl(v->fd, VHOST_SET_LOG_FD, &one));
	EXPECT_EQ(-EINVAL, vhost_ioctl(v->fd, VHOST_SET_LOG_FD, &null));
	EXPECT_EQ(-EFAULT, vhost_ioctl(v->fd, VHOST_SET_LOG_FD, BAD_PTR));
	EXPECT_EQ(fds, count_open_fds());
	close(null);
	close(p[0]);
	close(p[1]);
}

TEST_F(uapi, log_base)
{
	uint64_t base = (uintptr_t)self->m.region[0].hva;

	ASSERT_EQ(0, vdev_set_owner(&self->v));
	/* looked at when a ring that logs is started, not before */
	EXPECT_EQ(0, vhost_ioctl(self->v.fd, VHOST_SET_LOG_BASE, &base));
	base = 1ULL << 63;
	EXPECT_EQ(0, vhost_ioctl(self->v.fd, VHOST_SET_LOG_BASE, &base));
	EXPECT_EQ(-EFAULT, vhost_ioctl(self->v.fd, VHOST_SET_LOG_BASE,
				       BAD_PTR));
}

TEST_F(uapi, busyloop_timeout)
{
	struct vhost_vring_state s = { .index = VQ_TX };

	ASSERT_EQ(0, vdev_set_owner(&self->v));
	EXPECT_EQ(0, vdev_set_busyloop(&self->v, VQ_TX, 50));
	EXPECT_EQ(0, vhost_ioctl(self->v.fd, VHOST_GET_VRING_BUSYLOOP_TIMEOUT,
				 &s));
	EXPECT_EQ(50, s.num);
	EXPECT_EQ(-ENOBUFS, vdev_set_busyloop(&self->v, NO_VQ, 50));
	EXPECT_EQ(-EFAULT, vhost_ioctl(self->v.fd,
				       VHOST_SET_VRING_BUSYLOOP_TIMEOUT,
				       BAD_PTR));
	EXPECT_EQ(-EFAULT, vhost_ioctl(self->v.fd,
				       VHOST_GET_VRING_BUSYLOOP_TIMEOUT,
				       BAD_PTR));
}

/* without CONFIG_VHOST_CROSS_ENDIAN_LEGACY there are no such ioctls */
TEST_F(uapi, case59_endian)
{
	int r;

	ASSERT_EQ(0, vdev_set_owner(&self->v));
	r = state_ioctl(&self->v, VHOST_SET_VRING_ENDIAN, 0,
			VHOST_VRING_LITTLE_ENDIAN);
	if (r == -ENOTTY) {
		EXPECT_EQ(-ENOTTY, state_ioctl(&self->v, VHOST_GET_VRING_ENDIAN,
					       0, 0));
		return;
	}
	EXPECT_EQ(0, r);
	EXPECT_EQ(-EINVAL, state_ioctl(&self->v, VHOST_SET_VRING_ENDIAN, 0, 7));
	EXPECT_EQ(-ENOBUFS, state_ioctl(&self->v, VHOST_SET_VRING_ENDIAN, NO_VQ,
					0));
}

/* a running guest: what is refused must leave it running */
FIXTURE(live)
{
	struct guest g;
	uint8_t out[128], in[FRAME_MAX];
	uint64_t seq;
};

FIXTURE_SETUP(live)
{
	struct guest_cfg c = { .features = F_MODERN, .buf = { 2048, 2048 } };

	self->seq = 0;
	memset(&self->g, 0, sizeof(self->g));
	ASSERT_EQ(0, netns_private());
	START_GUEST(&self->g, &c);
}

FIXTURE_TEARDOWN(live)
{
	if (self->g.dev.fd > 0)
		guest_stop(&self->g);
}

/* a frame each way */
static int alive(FIXTURE_DATA(live) *s)
{
	int r;

	s->seq++;
	frame_make(s->out, s->seq, sizeof(s->out));
	r = guest_tx_wait(&s->g, NULL, s->out, sizeof(s->out));
	if (!r)
		r = guest_tx_sync(&s->g);
	if (r)
		return r;
	if (psock_recv(s->g.rx_sock, NULL, s->in, sizeof(s->in), WATCHDOG_MS) !=
	    sizeof(s->out) || !frame_check(s->in, s->seq, sizeof(s->out)))
		return -EBADMSG;

	r = psock_send(s->g.tx_sock, NULL, s->out, sizeof(s->out));
	if (r)
		return r;
	if (guest_rx(&s->g, NULL, s->in, sizeof(s->in), WATCHDOG_MS) !=
	    sizeof(s->out) || !frame_check(s->in, s->seq, sizeof(s->out)))
		return -EBADMSG;
	guest_rx_fill(&s->g);
	return 0;
}

TEST_F(live, case4_wrong_backends)
{
	struct vdev *v = &self->g.dev;
	int sv[2], p[2], fds[7], i, efd, want;
	char c;

	efd = eventfd(0, EFD_CLOEXEC);
	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_STREAM, 0, sv));
	ASSERT_EQ(0, pipe(p));
	fds[0] = sv[0];
	fds[1] = p[1];
	fds[2] = socket(AF_INET, SOCK_RAW, 1);
	fds[3] = socket(AF_PACKET, SOCK_DGRAM, 0);
	fds[4] = efd;
	fds[5] = 9999;
	fds[6] = open("/dev/net/tun", O_RDWR);	/* attached to no device */
	for (i = 0; i < 7; i++) {
		ASSERT_GE(fds[i], 0);
		/* a tun file without a device is one, but cannot be polled */
		want = i == 6 ? -EINVAL : -ENOTSOCK;
		EXPECT_EQ(want, vdev_set_backend(v, VQ_TX, fds[i])) {
			TH_LOG("descriptor %d", i);
		}
		EXPECT_EQ(want, vdev_set_backend(v, VQ_RX, fds[i])) {
			TH_LOG("descriptor %d", i);
		}
		ASSERT_EQ(0, alive(self));
	}
	/* the reference was dropped: the other end sees the last close */
	close(sv[0]);
	close(p[1]);
	EXPECT_EQ(0, read(sv[1], &c, 1));
	EXPECT_EQ(0, read(p[0], &c, 1));
	EXPECT_EQ(-ENOBUFS, vdev_set_backend(v, NO_VQ, self->g.tap.fd));
	EXPECT_EQ(-EFAULT, vhost_ioctl(v->fd, VHOST_NET_SET_BACKEND, BAD_PTR));
	/* the same one again is no change */
	EXPECT_EQ(0, guest_attach(&self->g, self->g.tap.fd));
	EXPECT_EQ(0, alive(self));
}

TEST_F(live, refused_while_running)
{
	struct {
		struct vhost_memory t;
		struct vhost_memory_region r;
	} bad_mem = {
		.t.nregions = 1,
		.r = { .guest_phys_addr = 0x1000, .memory_size = 0x1000 },
	};
	struct vdev *v = &self->g.dev;
	struct ring bad = v->ring[VQ_TX];
	struct vhost_vring_addr a = { .index = VQ_TX };
	unsigned int i;

	for (i = 0; i < 2; i++) {
		EXPECT_EQ(-EBUSY, vdev_set_num(v, i, 128));
		EXPECT_EQ(-EBUSY, vdev_set_num(v, i, 3));
		EXPECT_EQ(-EBUSY, vdev_set_base(v, i, 0));
		EXPECT_EQ(-EBUSY, vdev_set_base(v, i, ~0U));
	}
	/* addresses are checked at once now */
	a.desc_user_addr = 1ULL << 63;
	a.avail_user_addr = (uintptr_t)bad.avail;
	a.used_user_addr = (uintptr_t)bad.used;
	EXPECT_EQ(-EINVAL, vhost_ioctl(v->fd, VHOST_SET_VRING_ADDR, &a));
	EXPECT_EQ(-EBUSY, vdev_set_owner(v));
	EXPECT_EQ(-EOPNOTSUPP, vdev_set_features(v, ~0ULL));
	EXPECT_EQ(-EBADF, vdev_set_kick(v, VQ_TX, 9999));
	EXPECT_EQ(-EBADF, vdev_set_call(v, VQ_TX, 9999));
	EXPECT_EQ(-EBADF, vdev_set_err(v, VQ_TX, 9999));
	EXPECT_EQ(-EFAULT, vhost_ioctl(v->fd, VHOST_SET_MEM_TABLE, BAD_PTR));
	/* memory at addresses that no process has */
	bad_mem.r.userspace_addr = 1ULL << 63;
	EXPECT_EQ(-EFAULT, vhost_ioctl(v->fd, VHOST_SET_MEM_TABLE, &bad_mem));
	bad_mem.r.userspace_addr = 0ULL - 0x800;
	EXPECT_EQ(-EFAULT, vhost_ioctl(v->fd, VHOST_SET_MEM_TABLE, &bad_mem));
	EXPECT_EQ(0, alive(self));
	/* the same addresses, the same table: no harm */
	EXPECT_EQ(0, vdev_set_addr(v, VQ_TX, &v->ring[VQ_TX]));
	EXPECT_EQ(0, vdev_set_mem(v, &self->g.mem));
	EXPECT_EQ(0, alive(self));
}

/* a ring that cannot be reached is refused when the backend is set */
TEST_F(live, backend_wants_a_ring)
{
	struct vhost_vring_addr a = { .index = VQ_TX };
	struct vdev *v = &self->g.dev;

	ASSERT_EQ(0, guest_detach(&self->g));
	a.desc_user_addr = 1ULL << 63;
	EXPECT_EQ(0, vhost_ioctl(v->fd, VHOST_SET_VRING_ADDR, &a));
	EXPECT_EQ(-EFAULT, vdev_set_backend(v, VQ_TX, self->g.tap.fd));
	/* an unmapped used ring shows when its flags are first written */
	a.desc_user_addr = (uintptr_t)v->ring[VQ_TX].desc;
	a.avail_user_addr = (uintptr_t)v->ring[VQ_TX].avail;
	a.used_user_addr = 0x1000;
	EXPECT_EQ(0, vhost_ioctl(v->fd, VHOST_SET_VRING_ADDR, &a));
	EXPECT_EQ(-EFAULT, vdev_set_backend(v, VQ_TX, self->g.tap.fd));

	ASSERT_EQ(0, vdev_ring_tell(v, VQ_TX));
	ASSERT_EQ(0, guest_attach(&self->g, self->g.tap.fd));
	EXPECT_EQ(0, alive(self));
}

/* case 54: whoever called SET_OWNER counts, not who opened the node */
TEST_F(uapi, case54_passed_descriptor)
{
	int sv[2], status;
	pid_t pid;

	ASSERT_EQ(0, socketpair(AF_UNIX, SOCK_DGRAM, 0, sv));
	pid = fork();
	ASSERT_GE(pid, 0);
	if (!pid) {
		struct gmem m = { };
		struct vdev v = { };

		/* the child gets the device with the fork, drops root, owns */
		if (setgid(65534) || setuid(65534))
			_exit(1);
		v.fd = self->v.fd;
		if (vdev_set_owner(&v))
			_exit(2);
		if (gmem_add(&m, 0x100000, 1 << 20) < 0 ||
		    vdev_set_mem(&v, &m))
			_exit(3);
		if (vdev_ring_setup(&v, VQ_TX, &m, 16, 0))
			_exit(4);
		_exit(0);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status) {
		TH_LOG("child failed at %d", WEXITSTATUS(status));
	}
	EXPECT_EQ(-EPERM, vdev_set_num(&self->v, VQ_TX, 16));
	close(sv[0]);
	close(sv[1]);
}

/* nothing to read without an IOTLB; a message of no kind is refused */
TEST_F(uapi, chardev)
{
	char buf[256] = { };
	int fd, r;

	fd = node_open(O_RDWR | O_NONBLOCK);
	ASSERT_GE(fd, 0);
	r = read(fd, buf, sizeof(buf)) < 0 ? -errno : 0;
	EXPECT_TRUE(r == -EAGAIN || r == -EINVAL) {
		TH_LOG("read: %d", r);
	}
	r = write(fd, buf, sizeof(buf)) < 0 ? -errno : 0;
	EXPECT_EQ(-EINVAL, r);
	r = write(fd, buf, 1) < 0 ? -errno : 0;
	EXPECT_EQ(-EINVAL, r);
	EXPECT_EQ(0, fd_wait(fd, POLLIN, 0));
	close(fd);
}

TEST_F(uapi, unknown_requests)
{
	char buf[256] = { };

	EXPECT_EQ(-EPERM, vhost_ioctl(self->v.fd, _IO(0xaf, 0xfe), buf));
	ASSERT_EQ(0, vdev_set_owner(&self->v));
	EXPECT_EQ(-ENOTTY, vhost_ioctl(self->v.fd, _IO(0xaf, 0xfe), buf));
	EXPECT_EQ(-ENOTTY, vhost_ioctl(self->v.fd, TIOCGWINSZ, buf));
	EXPECT_EQ(-ENOTTY, vhost_ioctl(self->v.fd, 0, buf));
}

TEST_HARNESS_MAIN
