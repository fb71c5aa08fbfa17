// SPDX-License-Identifier: GPL-2.0-only
/*
 * Random calls; see hostile_calls.h. Whatever they answer is right, so that nobody
 * looks at it. Descriptors are ordinary small numbers, out of the way of those
 * that the process needs for itself.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <linux/vhost.h>
#include <linux/virtio_net.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "guest_driver.h"
#include "hostile_calls.h"
#include "nl.h"

#define FIRST_NUMBER	100
#define MEM_SIZE	(256U << 10)
#define PAGE		4096U
/* each queue has a quarter for its ring and a quarter for its buffers */
#define RING_AT(queue)	((queue) * MEM_SIZE / 4)
#define BUF_AT(queue)	(MEM_SIZE / 2 + (queue) * MEM_SIZE / 4)
#define MEM_GPA		0x10000ULL
#define NUM		64U

static void kick(int fd)
{
	uint64_t one = 1;

	/* whatever it is; an eventfd that is full says so */
	if (write(fd, &one, sizeof(one)) < 0)
		return;
}

static bool one_in(struct rng *r, uint32_t n)
{
	return !rng_below(r, n);
}

/* one more file to put under our numbers; nothing ever waits for it */
static int stow(struct calls *c, int fd)
{
	if (fd < 0 || c->nr_stash == CALLS_STASH)
		return -EMFILE;
	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	c->stash[c->nr_stash++] = fd;
	return 0;
}

int calls_init(struct calls *c, const int *taps, unsigned int n, const int *psock)
{
	int p[2], err = 0, number = FIRST_NUMBER;
	unsigned int i;

	memset(c, 0, sizeof(*c));
	for (i = 0; i < CALLS_DEVS; i++)
		c->dev[i] = number++;
	for (i = 0; i < CALLS_FILES; i++)
		c->file[i] = number++;
	for (i = 0; i < 2; i++)
		c->psock[i] = psock[i];
	for (i = 0; i < n; i++)
		err = err ?: stow(c, taps[i]);
	err = err ?: stow(c, psock[0]);
	for (i = 0; i < 6; i++)
		err = err ?: stow(c, eventfd(0, EFD_CLOEXEC));
	err = err ?: stow(c, open("/dev/null", O_RDWR | O_CLOEXEC));
	if (!err && pipe2(p, O_CLOEXEC))
		err = -errno;
	err = err ?: stow(c, p[0]);
	err = err ?: stow(c, p[1]);
	if (!err && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
			       c->unix_sock))
		err = -errno;
	err = err ?: stow(c, c->unix_sock[0]);
	c->memfd = memfd_create("calls", MFD_CLOEXEC);
	if (err || c->memfd < 0 || ftruncate(c->memfd, MEM_SIZE))
		return err ?: -errno;
	c->our = mmap(NULL, MEM_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, c->memfd, 0);
	c->mapped = mmap(NULL, MEM_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, c->memfd, 0);
	if (c->our == MAP_FAILED || c->mapped == MAP_FAILED)
		return -errno;
	/* from the first moment on there is something to call */
	for (i = 0; i < CALLS_FILES; i++)
		dup2(c->stash[i % c->nr_stash], c->file[i]);
	return 0;
}

/* ------- arguments ------- */

static int any_dev(const struct calls *c, struct rng *r)
{
	return one_in(r, 32) ? c->file[rng_below(r, CALLS_FILES)] :
			       c->dev[rng_below(r, CALLS_DEVS)];
}

static int any_file(const struct calls *c, struct rng *r)
{
	switch (rng_below(r, 12)) {
	case 0:
		return -1;
	case 1:
		return c->dev[rng_below(r, CALLS_DEVS)];
	case 2:
		return (int)rng_below(r, 2 * FIRST_NUMBER) - 10;
	default:
		return c->file[rng_below(r, CALLS_FILES)];
	}
}

static uint32_t any_u32(struct rng *r)
{
	static const uint32_t edge[] = {
		0, 1, 2, 3, 63, 64, 256, 1024, 32768, 32769, 65535, 65536,
		0x7fffffff, 0x80000000, 0xffffffff,
	};

	return one_in(r, 4) ? rng_next(r) : edge[rng_below(r, ARRAY_LEN(edge))];
}

static uint64_t any_u64(const struct calls *c, struct rng *r)
{
	switch (rng_below(r, 8)) {
	case 0:
		return rng_next(r);
	case 1:
		return any_u32(r);
	case 2:
		return ~0ULL - rng_below(r, 8192);
	case 3:
		/* where the kernel is, or close to it */
		return 0x7ffffffff000ULL - rng_below(r, 3) * PAGE + rng_below(r, 64);
	case 4:
		return 0xffff800000000000ULL + rng_below(r, PAGE);
	default:
		return (uintptr_t)c->mapped + rng_below(r, MEM_SIZE + PAGE);
	}
}

static uint32_t any_index(struct rng *r)
{
	return one_in(r, 16) ? any_u32(r) : rng_below(r, 2);
}

/* ------- devices ------- */

static void state_call(struct calls *c, struct rng *r, int fd, unsigned long req)
{
	struct vhost_vring_state s = { .index = any_index(r), .num = any_u32(r) };

	if (req == VHOST_SET_VRING_NUM && rng_below(r, 4))
		s.num = NUM;
	if (req == VHOST_SET_VRING_BUSYLOOP_TIMEOUT)
		s.num = rng_below(r, 200);
	ioctl(fd, req, &s);
}

static void addr_call(struct calls *c, struct rng *r, int fd, unsigned int queue, bool good)
{
	uint64_t base = (uintptr_t)c->mapped + RING_AT(queue);
	struct vhost_vring_addr a = {
		.index = queue,
		.desc_user_addr = base,
		.avail_user_addr = base + 32768,
		.used_user_addr = base + 49152,
	};

	if (!good) {
		a.index = any_index(r);
		a.flags = one_in(r, 4) ? any_u32(r) : rng_below(r, 2);
		if (one_in(r, 2))
			a.desc_user_addr = any_u64(c, r);
		if (one_in(r, 2))
			a.avail_user_addr = any_u64(c, r) & ~1ULL;
		if (one_in(r, 2))
			a.used_user_addr = any_u64(c, r) & ~3ULL;
		a.log_guest_addr = any_u64(c, r) & ~3ULL;
	}
	ioctl(fd, VHOST_SET_VRING_ADDR, &a);
}

static void mem_call(struct calls *c, struct rng *r, int fd, bool good)
{
	struct {
		struct vhost_memory head;
		struct vhost_memory_region region[70];
	} t = { };
	unsigned int i;

	t.head.nregions = good ? 1 : rng_below(r, 4);
	if (!good && one_in(r, 8))
		t.head.nregions = one_in(r, 2) ? any_u32(r) : 60 + rng_below(r, 10);
	if (!good && one_in(r, 16))
		t.head.padding = any_u32(r);
	for (i = 0; i < ARRAY_LEN(t.region); i++) {
		t.region[i].guest_phys_addr = any_u64(c, r);
		t.region[i].memory_size = one_in(r, 2) ? any_u64(c, r) : any_u32(r);
		t.region[i].userspace_addr = any_u64(c, r);
	}
	if (good || one_in(r, 2)) {
		t.region[0].guest_phys_addr = MEM_GPA;
		t.region[0].memory_size = MEM_SIZE;
		t.region[0].userspace_addr = (uintptr_t)c->mapped;
	}
	ioctl(fd, VHOST_SET_MEM_TABLE, &t);
}

static void file_call(struct calls *c, struct rng *r, int fd, unsigned long req)
{
	struct vhost_vring_file f = { .index = any_index(r), .fd = any_file(c, r) };

	ioctl(fd, req, &f);
}

static void features_call(struct calls *c, struct rng *r, int fd, unsigned long req)
{
	uint64_t f = rng_next(r) & (F_MODERN | F_NOTIFY_ON_EMPTY | F_VHOST_HDR);

	if (one_in(r, 8))
		f = any_u64(c, r);
	ioctl(fd, req, &f);
}

/* any call with an argument that makes some sense, or none */
static void any_call(struct calls *c, struct rng *r)
{
	static const unsigned long reqs[] = {
		VHOST_GET_FEATURES, VHOST_SET_FEATURES, VHOST_SET_OWNER,
		VHOST_RESET_OWNER, VHOST_SET_MEM_TABLE, VHOST_SET_LOG_BASE,
		VHOST_SET_LOG_FD, VHOST_SET_VRING_NUM, VHOST_SET_VRING_ADDR,
		VHOST_SET_VRING_BASE, VHOST_GET_VRING_BASE,
		VHOST_SET_VRING_ENDIAN, VHOST_GET_VRING_ENDIAN,
		VHOST_SET_VRING_KICK, VHOST_SET_VRING_CALL, VHOST_SET_VRING_ERR,
		VHOST_SET_VRING_BUSYLOOP_TIMEOUT,
		VHOST_GET_VRING_BUSYLOOP_TIMEOUT, VHOST_SET_BACKEND_FEATURES,
		VHOST_GET_BACKEND_FEATURES, VHOST_NET_SET_BACKEND,
		/* the one that most depends on */
		VHOST_NET_SET_BACKEND, VHOST_NET_SET_BACKEND,
		VHOST_SET_VRING_KICK, VHOST_SET_VRING_CALL,
	};
	unsigned long req = reqs[rng_below(r, ARRAY_LEN(reqs))];
	int fd = any_dev(c, r), file;
	uint64_t v;

	if (one_in(r, 32)) {
		ioctl(fd, one_in(r, 2) ? req : rng_next(r), any_u64(c, r));
		return;
	}
	switch (req) {
	case VHOST_SET_OWNER:
	case VHOST_RESET_OWNER:
		/* not so often that nothing else ever happens */
		if (one_in(r, 4))
			ioctl(fd, req, 0);
		break;
	case VHOST_SET_FEATURES:
	case VHOST_SET_BACKEND_FEATURES:
		features_call(c, r, fd, req);
		break;
	case VHOST_SET_MEM_TABLE:
		mem_call(c, r, fd, one_in(r, 2));
		break;
	case VHOST_SET_VRING_ADDR:
		addr_call(c, r, fd, rng_below(r, 2), one_in(r, 2));
		break;
	case VHOST_SET_VRING_KICK:
	case VHOST_SET_VRING_CALL:
	case VHOST_SET_VRING_ERR:
	case VHOST_NET_SET_BACKEND:
		file_call(c, r, fd, req);
		break;
	case VHOST_SET_LOG_BASE:
	case VHOST_GET_FEATURES:
	case VHOST_GET_BACKEND_FEATURES:
		v = any_u64(c, r);
		ioctl(fd, req, &v);
		break;
	case VHOST_SET_LOG_FD:
		file = any_file(c, r);
		ioctl(fd, req, &file);
		break;
	default:
		state_call(c, r, fd, req);
	}
}

/* all that a VMM does until a ring runs; the files are what they are just now */
static void set_up(struct calls *c, struct rng *r)
{
	int fd = c->dev[rng_below(r, CALLS_DEVS)];
	uint64_t features = F_MODERN;
	unsigned int i, n = c->nr_stash;
	struct vhost_vring_file f;
	struct vhost_vring_state s;

	ioctl(fd, VHOST_SET_OWNER, 0);
	ioctl(fd, VHOST_SET_FEATURES, &features);
	mem_call(c, r, fd, true);
	for (i = 0; i < 2; i++) {
		s = (struct vhost_vring_state) { .index = i, .num = NUM };
		ioctl(fd, VHOST_SET_VRING_NUM, &s);
		s.num = ((struct vring_used *)(c->our + RING_AT(i) + 49152))->idx;
		ioctl(fd, VHOST_SET_VRING_BASE, &s);
		addr_call(c, r, fd, i, true);
		f = (struct vhost_vring_file) { .index = i, .fd = c->stash[3 + i] };
		ioctl(fd, VHOST_SET_VRING_KICK, &f);
		f.fd = c->stash[5 + i];
		ioctl(fd, VHOST_SET_VRING_CALL, &f);
		ioctl(fd, VHOST_SET_VRING_ERR, &f);
		/* mostly the taps, which come first */
		f.fd = c->stash[rng_below(r, one_in(r, 8) ? n : 3)];
		ioctl(fd, VHOST_NET_SET_BACKEND, &f);
	}
}

/* something in the rings: mostly good, and never the same for long */
static void fill_rings(struct calls *c, struct rng *r)
{
	unsigned int queue = rng_below(r, 2), i;
	uint8_t *ring = c->our + RING_AT(queue);
	struct vring_desc *desc = (struct vring_desc *)ring;
	struct vring_avail *avail = (struct vring_avail *)(ring + 32768);
	uint16_t dir = queue == VQ_RX ? VRING_DESC_F_WRITE : 0;

	for (i = 0; i < NUM; i++) {
		desc[i].addr = MEM_GPA + BUF_AT(queue) + i * 1024;
		desc[i].len = queue == VQ_RX ? 1024 : 12 + rng_below(r, 1000);
		desc[i].flags = one_in(r, 256) ? rng_next(r) : dir;
		desc[i].next = rng_below(r, NUM);
		avail->ring[i] = one_in(r, 512) ? rng_next(r) : i;
	}
	avail->flags = 0;
	avail->idx = one_in(r, 64) ? rng_next(r) :
		     READ_ONCE(((struct vring_used *)(ring + 49152))->idx) + rng_below(r, NUM);
}

static void change_memory(struct calls *c, struct rng *r)
{
	uint32_t at = rng_below(r, MEM_SIZE / PAGE) * PAGE;

	switch (rng_below(r, 4)) {
	case 0:
		mprotect(c->mapped + at, PAGE, rng_below(r, 2) ? PROT_READ : PROT_NONE);
		break;
	case 1:
		/* never a hole that something else may come to lie in */
		mmap(c->mapped + at, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		     -1, 0);
		break;
	default:
		mmap(c->mapped, MEM_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		     c->memfd, 0);
	}
}

/* ------- files ------- */

static void open_dev(struct calls *c, struct rng *r)
{
	int fd = node_open(O_RDWR | O_NONBLOCK);

	if (fd < 0)
		return;
	/* what stands there is closed, maybe in the middle of a call */
	dup2(fd, c->dev[rng_below(r, CALLS_DEVS)]);
	close(fd);
}

static void replace_file(struct calls *c, struct rng *r)
{
	int onto = c->file[rng_below(r, CALLS_FILES)];

	switch (rng_below(r, 8)) {
	case 0:
		close(onto);
		break;
	case 1:
		dup2(c->dev[rng_below(r, CALLS_DEVS)], onto);
		break;
	case 2:
		if (one_in(r, 4))
			close(c->dev[rng_below(r, CALLS_DEVS)]);
		break;
	default:
		dup2(c->stash[rng_below(r, c->nr_stash)], onto);
	}
}

/* give a descriptor away, or take one that somebody else has given */
static void pass_file(struct calls *c, struct rng *r)
{
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(sizeof(int))];
	} u = { };
	char byte = 0;
	struct iovec iov = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr m = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &u,
		.msg_controllen = sizeof(u),
	};
	int fd;

	if (one_in(r, 2)) {
		fd = any_file(c, r);
		if (fd < FIRST_NUMBER)
			return;
		u.h.cmsg_level = SOL_SOCKET;
		u.h.cmsg_type = SCM_RIGHTS;
		u.h.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&u.h), &fd, sizeof(fd));
		sendmsg(c->unix_sock[0], &m, MSG_DONTWAIT);
		return;
	}
	if (recvmsg(c->unix_sock[1], &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != 1 ||
	    u.h.cmsg_type != SCM_RIGHTS || u.h.cmsg_len != CMSG_LEN(sizeof(int)))
		return;
	memcpy(&fd, CMSG_DATA(&u.h), sizeof(fd));
	if (one_in(r, 2))
		dup2(fd, c->dev[rng_below(r, CALLS_DEVS)]);
	else
		dup2(fd, c->file[rng_below(r, CALLS_FILES)]);
	close(fd);
}

static bool count_dev(const struct nl_dev *d, void *arg)
{
	return true;
}

static bool count_queue(const struct nl_queue *q, void *arg)
{
	return true;
}

/* read, write, poll and look */
static void use_file(struct calls *c, struct rng *r)
{
	int fd = any_file(c, r);
	char buf[128] = { };
	struct pollfd p = { .fd = fd, .events = POLLIN | POLLOUT };
	void *m;
	unsigned int i;
	int v;

	/* not the standard ones: somebody reads along there */
	if (fd < FIRST_NUMBER)
		return;
	switch (rng_below(r, 10)) {
	case 0:
		if (read(fd, buf, rng_below(r, sizeof(buf))) < 0)
			break;
		break;
	case 1:
		for (i = 0; i < sizeof(buf); i += 8)
			buf[i] = rng_below(r, 4);
		if (write(fd, buf, rng_below(r, sizeof(buf))) < 0)
			break;
		break;
	case 2:
		poll(&p, 1, 0);
		break;
	case 3:
		m = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
		if (m != MAP_FAILED)
			munmap(m, PAGE);
		break;
	case 4:
		v = one_in(r, 2) ? 4096 : 0x7fffffff;
		ioctl(c->stash[rng_below(r, 2)], TUNSETSNDBUF, &v);
		break;
	case 5:
		v = one_in(r, 2) ? 12 : 10 + rng_below(r, 10);
		ioctl(c->stash[rng_below(r, 2)], TUNSETVNETHDRSZ, &v);
		break;
	case 6:
		nl_dev_dump(count_dev, NULL);
		break;
	case 7:
		nl_queue_dump(one_in(r, 2) ? NL_ALL : rng_below(r, 1000), count_queue, NULL);
		break;
	default:
		/* a kick, if it is one */
		kick(fd);
	}
}

static void send_frames(struct calls *c, struct rng *r)
{
	uint8_t frame[1000] = { };
	unsigned int n = 1 + rng_below(r, 8);

	frame_make(frame, 0, FRAME_MIN);
	while (n--)
		send(c->psock[rng_below(r, 2)], frame, FRAME_MIN + rng_below(r, 900),
		     MSG_DONTWAIT);
}

void calls_random(struct calls *c, struct rng *r)
{
	switch (rng_below(r, 24)) {
	case 0:
		open_dev(c, r);
		break;
	case 1:
	case 2:
		set_up(c, r);
		break;
	case 3:
	case 4:
		replace_file(c, r);
		break;
	case 5:
		pass_file(c, r);
		break;
	case 6:
		change_memory(c, r);
		break;
	case 7:
	case 8:
		fill_rings(c, r);
		break;
	case 9:
	case 10:
		send_frames(c, r);
		break;
	case 11:
		/* one that is watched */
		kick(c->stash[3 + rng_below(r, 2)]);
		break;
	case 12:
	case 13:
	case 14:
		use_file(c, r);
		break;
	default:
		any_call(c, r);
	}
}
