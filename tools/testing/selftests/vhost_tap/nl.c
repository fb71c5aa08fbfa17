// SPDX-License-Identifier: GPL-2.0-only
/*
 * A client of the module's netlink family; see nl.h.
 */
#include <errno.h>
#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "nl.h"
#include "util.h"

#define NL_BUF		32768

size_t nl_recv_size;

struct nl_req {
	struct nlmsghdr nlh;
	struct genlmsghdr genl;
	char attrs[256];
};

static const struct nlattr *attr_next(const struct nlattr *a)
{
	return (const void *)((const char *)a + NLA_ALIGN(a->nla_len));
}

#define for_each_attr(a, start, len)					\
	for (a = (const struct nlattr *)(start);			\
	     (const char *)a + NLA_HDRLEN <= (const char *)(start) + (len) && \
	     a->nla_len >= NLA_HDRLEN &&				\
	     (const char *)a + a->nla_len <= (const char *)(start) + (len); \
	     a = attr_next(a))

static const void *attr_data(const struct nlattr *a)
{
	return (const char *)a + NLA_HDRLEN;
}

static unsigned int attr_len(const struct nlattr *a)
{
	return a->nla_len - NLA_HDRLEN;
}

static unsigned int attr_type(const struct nlattr *a)
{
	return a->nla_type & NLA_TYPE_MASK;
}

static uint64_t attr_uint(const struct nlattr *a)
{
	uint64_t v64;
	uint32_t v32;
	uint16_t v16;

	switch (attr_len(a)) {
	case 8:
		memcpy(&v64, attr_data(a), 8);
		return v64;
	case 4:
		memcpy(&v32, attr_data(a), 4);
		return v32;
	case 2:
		memcpy(&v16, attr_data(a), 2);
		return v16;
	default:
		return 0;
	}
}

static void attr_put(struct nl_req *req, uint16_t type, const void *data, size_t len)
{
	struct nlattr *a = (void *)((char *)req + NLMSG_ALIGN(req->nlh.nlmsg_len));

	a->nla_type = type;
	a->nla_len = NLA_HDRLEN + len;
	memcpy((char *)a + NLA_HDRLEN, data, len);
	req->nlh.nlmsg_len = NLMSG_ALIGN(req->nlh.nlmsg_len) + NLA_ALIGN(a->nla_len);
}

static void req_init(struct nl_req *req, uint16_t family, uint16_t flags, uint8_t cmd)
{
	memset(req, 0, sizeof(*req));
	req->nlh.nlmsg_len = NLMSG_LENGTH(GENL_HDRLEN);
	req->nlh.nlmsg_type = family;
	req->nlh.nlmsg_flags = NLM_F_REQUEST | flags;
	req->nlh.nlmsg_seq = 1;
	req->genl.cmd = cmd;
	req->genl.version = 1;
}

typedef bool (*msg_fn)(const void *attrs, size_t len, void *arg);

/* Send, and call fn with the attributes of each message until the last one. */
static int transact(int fd, struct nl_req *req, msg_fn fn, void *arg)
{
	size_t size = nl_recv_size ? nl_recv_size : NL_BUF;
	struct nlmsghdr *nlh;
	int err = 0;
	ssize_t n;
	char *buf;

	if (send(fd, req, req->nlh.nlmsg_len, 0) < 0)
		return -errno;
	buf = malloc(NL_BUF);
	if (!buf)
		return -ENOMEM;
	for (;;) {
		n = recv(fd, buf, size, MSG_TRUNC);
		if (n < 0 || (size_t)n > size) {
			err = n < 0 ? -errno : -EMSGSIZE;
			goto out;
		}
		for (nlh = (void *)buf; NLMSG_OK(nlh, n); nlh = NLMSG_NEXT(nlh, n)) {
			/* DONE carries an errno too, or nothing */
			if (nlh->nlmsg_type == NLMSG_ERROR || nlh->nlmsg_type == NLMSG_DONE) {
				err = *(int *)NLMSG_DATA(nlh);
				goto out;
			}
			if (!fn((char *)NLMSG_DATA(nlh) + GENL_HDRLEN,
				nlh->nlmsg_len - NLMSG_LENGTH(GENL_HDRLEN), arg))
				goto out;
		}
	}
out:
	free(buf);
	return err;
}

static bool take_family(const void *attrs, size_t len, void *arg)
{
	const struct nlattr *a;

	for_each_attr(a, attrs, len) {
		if (attr_type(a) == CTRL_ATTR_FAMILY_ID)
			*(uint16_t *)arg = attr_uint(a);
	}
	return true;
}

static int nl_open(uint16_t *family)
{
	struct nl_req req;
	int fd, err;

	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	if (fd < 0)
		return -errno;
	*family = 0;
	req_init(&req, GENL_ID_CTRL, NLM_F_ACK, CTRL_CMD_GETFAMILY);
	attr_put(&req, CTRL_ATTR_FAMILY_NAME, VHOST_TAP_FAMILY_NAME,
		 sizeof(VHOST_TAP_FAMILY_NAME));
	err = transact(fd, &req, take_family, family);
	if (!err && !*family)
		err = -ENOENT;
	if (!err)
		return fd;
	close(fd);
	return err;
}

static int request(uint8_t cmd, uint16_t flags, const uint32_t *attrs, unsigned int n,
		   msg_fn fn, void *arg)
{
	struct nl_req req;
	uint16_t family;
	unsigned int i;
	int fd, err;

	fd = nl_open(&family);
	if (fd < 0)
		return fd;
	req_init(&req, family, flags, cmd);
	for (i = 0; i < n; i++)
		attr_put(&req, i + 1, &attrs[i], sizeof(attrs[i]));
	err = transact(fd, &req, fn, arg);
	close(fd);
	return err;
}

static void take_string(char *to, size_t size, const struct nlattr *a)
{
	size_t len = strnlen(attr_data(a), attr_len(a));

	if (len >= size)
		len = size - 1;
	memcpy(to, attr_data(a), len);
	to[len] = '\0';
}

static void take_workers(struct nl_dev *d, const struct nlattr *list)
{
	const struct nlattr *a;

	for_each_attr(a, attr_data(list), attr_len(list)) {
		if (d->nworkers < ARRAY_LEN(d->worker))
			d->worker[d->nworkers++] = attr_uint(a);
	}
}

static void parse_dev(const void *attrs, size_t len, struct nl_dev *d)
{
	const struct nlattr *a;

	memset(d, 0, sizeof(*d));
	for_each_attr(a, attrs, len) {
		d->has |= 1U << attr_type(a);
		switch (attr_type(a)) {
		case VHOST_TAP_A_DEV_ID:
			d->id = attr_uint(a);
			break;
		case VHOST_TAP_A_DEV_NODE:
			take_string(d->node, sizeof(d->node), a);
			break;
		case VHOST_TAP_A_DEV_OWNER_PID:
			d->owner_pid = attr_uint(a);
			break;
		case VHOST_TAP_A_DEV_WORKER_PID:
			d->worker_pid = attr_uint(a);
			break;
		case VHOST_TAP_A_DEV_FEATURES:
			d->features = attr_uint(a);
			break;
		case VHOST_TAP_A_DEV_BACKEND_FEATURES:
			d->backend_features = attr_uint(a);
			break;
		case VHOST_TAP_A_DEV_MEM_REGIONS:
			d->mem_regions = attr_uint(a);
			break;
		case VHOST_TAP_A_DEV_MEM_BYTES:
			d->mem_bytes = attr_uint(a);
			break;
		case VHOST_TAP_A_DEV_WORKERS:
			take_workers(d, a);
			break;
		}
	}
}

static void parse_counters(const struct nlattr *nest, uint64_t *to, unsigned int max)
{
	const struct nlattr *a;

	for_each_attr(a, attr_data(nest), attr_len(nest)) {
		if (attr_type(a) <= max)
			to[attr_type(a)] = attr_uint(a);
	}
}

static void parse_stats(const struct nlattr *nest, struct nl_queue *q)
{
	const struct nlattr *a;

	for_each_attr(a, attr_data(nest), attr_len(nest)) {
		switch (attr_type(a)) {
		case VHOST_TAP_A_STATS_BATCHES:
			parse_counters(a, q->batches, VHOST_TAP_A_BATCHES_MAX);
			break;
		case VHOST_TAP_A_STATS_DROPS:
			parse_counters(a, q->drops, VHOST_TAP_A_DROPS_MAX);
			break;
		case VHOST_TAP_A_STATS_RING_ERRORS:
			parse_counters(a, q->ring_errors, VHOST_TAP_A_RING_ERRORS_MAX);
			break;
		default:
			if (attr_type(a) <= VHOST_TAP_A_STATS_MAX)
				q->stats[attr_type(a)] = attr_uint(a);
		}
	}
}

static void parse_queue(const void *attrs, size_t len, struct nl_queue *q)
{
	const struct nlattr *a;

	memset(q, 0, sizeof(*q));
	for_each_attr(a, attrs, len) {
		q->has |= 1U << attr_type(a);
		switch (attr_type(a)) {
		case VHOST_TAP_A_QUEUE_DEV_ID:
			q->dev_id = attr_uint(a);
			break;
		case VHOST_TAP_A_QUEUE_INDEX:
			q->index = attr_uint(a);
			break;
		case VHOST_TAP_A_QUEUE_TYPE:
			q->type = attr_uint(a);
			break;
		case VHOST_TAP_A_QUEUE_STATE:
			q->state = attr_uint(a);
			break;
		case VHOST_TAP_A_QUEUE_ERROR:
			q->error = attr_uint(a);
			break;
		case VHOST_TAP_A_QUEUE_SIZE:
			q->size = attr_uint(a);
			break;
		case VHOST_TAP_A_QUEUE_LAST_AVAIL:
			q->last_avail = attr_uint(a);
			break;
		case VHOST_TAP_A_QUEUE_LAST_USED:
			q->last_used = attr_uint(a);
			break;
		case VHOST_TAP_A_QUEUE_BUSYLOOP_TIMEOUT:
			q->busyloop_timeout = attr_uint(a);
			break;
		case VHOST_TAP_A_QUEUE_HELD:
			q->held = attr_uint(a);
			break;
		case VHOST_TAP_A_QUEUE_WAITING_NS:
			q->waiting_ns = attr_uint(a);
			break;
		case VHOST_TAP_A_QUEUE_WORKER_PID:
			q->worker_pid = attr_uint(a);
			break;
		case VHOST_TAP_A_QUEUE_BACKEND:
			q->backend = attr_uint(a);
			break;
		case VHOST_TAP_A_QUEUE_IFNAME:
			take_string(q->ifname, sizeof(q->ifname), a);
			break;
		case VHOST_TAP_A_QUEUE_STATS:
			parse_stats(a, q);
			break;
		}
	}
}

struct dev_call {
	bool (*fn)(const struct nl_dev *d, void *arg);
	void *arg;
};

static bool call_dev(const void *attrs, size_t len, void *arg)
{
	struct dev_call *c = arg;
	struct nl_dev d;

	parse_dev(attrs, len, &d);
	return c->fn(&d, c->arg);
}

int nl_dev_dump(bool (*fn)(const struct nl_dev *d, void *arg), void *arg)
{
	struct dev_call c = { fn, arg };

	return request(VHOST_TAP_CMD_DEV_GET, NLM_F_DUMP, NULL, 0, call_dev, &c);
}

struct queue_call {
	bool (*fn)(const struct nl_queue *q, void *arg);
	void *arg;
};

static bool call_queue(const void *attrs, size_t len, void *arg)
{
	struct queue_call *c = arg;
	struct nl_queue q;

	parse_queue(attrs, len, &q);
	return c->fn(&q, c->arg);
}

int nl_queue_dump(uint64_t dev_id, bool (*fn)(const struct nl_queue *q, void *arg),
		  void *arg)
{
	struct queue_call c = { fn, arg };
	uint32_t id = dev_id;

	return request(VHOST_TAP_CMD_QUEUE_GET, NLM_F_DUMP, &id, dev_id == NL_ALL ? 0 : 1,
		       call_queue, &c);
}

static bool take_dev(const void *attrs, size_t len, void *arg)
{
	parse_dev(attrs, len, arg);
	return true;
}

int nl_dev_get(uint64_t id, struct nl_dev *d)
{
	uint32_t attr = id;

	memset(d, 0, sizeof(*d));
	return request(VHOST_TAP_CMD_DEV_GET, NLM_F_ACK, &attr, id == NL_ALL ? 0 : 1,
		       take_dev, d);
}

static bool match_queue(const struct nl_queue *q, void *arg)
{
	struct nl_queue *want = arg;

	if (q->index == want->index)
		*want = *q;
	return true;
}

int nl_queue_get(uint32_t dev_id, uint32_t index, struct nl_queue *q)
{
	int err;

	memset(q, 0, sizeof(*q));
	q->index = index;
	err = nl_queue_dump(dev_id, match_queue, q);
	return err ? err : q->has ? 0 : -ENODEV;
}

struct owned {
	pid_t pid;
	unsigned int n;
	struct nl_dev *d;
};

static bool match_owner(const struct nl_dev *d, void *arg)
{
	struct owned *o = arg;

	if (d->owner_pid != (uint32_t)o->pid)
		return true;
	if (!o->n++)
		*o->d = *d;
	return true;
}

int nl_dev_of(pid_t pid, struct nl_dev *d)
{
	struct owned o = { pid, 0, d };
	int err = nl_dev_dump(match_owner, &o);

	if (!err && !o.n)
		err = -ENODEV;
	return err ? err : o.n > 1 ? -EEXIST : 0;
}

static bool ignore(const void *attrs, size_t len, void *arg)
{
	return true;
}

int nl_raw(uint8_t cmd, uint16_t flags, const uint32_t *attrs, unsigned int n)
{
	return request(cmd, flags | (flags & NLM_F_DUMP ? 0 : NLM_F_ACK), attrs, n, ignore,
		       NULL);
}
