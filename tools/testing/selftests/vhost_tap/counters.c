// SPDX-License-Identifier: GPL-2.0-only
/*
 * Reader of vhost_tap's counters; see counters.h.
 */
#include <errno.h>
#include <libmnl/libmnl.h>
#include <linux/genetlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "counters.h"

struct reader {
	struct mnl_socket *nl;
	uint16_t family;
	pid_t owner;
	struct dev_counters *c;
};

/* a YNL "uint" is as wide as it needs to be */
static uint64_t attr_uint(const struct nlattr *a)
{
	return mnl_attr_get_payload_len(a) == 4 ? mnl_attr_get_u32(a) :
						  mnl_attr_get_u64(a);
}

static void nest_read(const struct nlattr *nest, uint64_t *v, unsigned int max)
{
	const struct nlattr *a;
	unsigned int t;

	mnl_attr_for_each_nested(a, nest) {
		t = mnl_attr_get_type(a);
		if (t <= max && mnl_attr_get_payload_len(a) <= 8)
			v[t] = attr_uint(a);
	}
}

static int family_cb(const struct nlmsghdr *nlh, void *data)
{
	struct reader *r = data;
	const struct nlattr *a;

	mnl_attr_for_each(a, nlh, sizeof(struct genlmsghdr))
		if (mnl_attr_get_type(a) == CTRL_ATTR_FAMILY_ID)
			r->family = mnl_attr_get_u16(a);
	return MNL_CB_OK;
}

static int dev_cb(const struct nlmsghdr *nlh, void *data)
{
	uint32_t id = 0, owner = 0, worker = 0;
	struct reader *r = data;
	const struct nlattr *a;

	mnl_attr_for_each(a, nlh, sizeof(struct genlmsghdr)) {
		switch (mnl_attr_get_type(a)) {
		case VHOST_TAP_A_DEV_ID:
			id = mnl_attr_get_u32(a);
			break;
		case VHOST_TAP_A_DEV_OWNER_PID:
			owner = mnl_attr_get_u32(a);
			break;
		case VHOST_TAP_A_DEV_WORKER_PID:
			worker = mnl_attr_get_u32(a);
			break;
		}
	}
	if (owner != (uint32_t)r->owner)
		return MNL_CB_OK;
	/* ids only grow: the last one is the newest */
	r->c->devices++;
	r->c->id = id;
	r->c->worker_pid = worker;
	return MNL_CB_OK;
}

static int queue_cb(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *a, *b, *stats = NULL;
	struct queue_counters q = { };
	uint32_t id = 0, index = 0;
	struct reader *r = data;

	mnl_attr_for_each(a, nlh, sizeof(struct genlmsghdr)) {
		switch (mnl_attr_get_type(a)) {
		case VHOST_TAP_A_QUEUE_DEV_ID:
			id = mnl_attr_get_u32(a);
			break;
		case VHOST_TAP_A_QUEUE_INDEX:
			index = mnl_attr_get_u32(a);
			break;
		case VHOST_TAP_A_QUEUE_STATE:
			q.state = mnl_attr_get_u32(a);
			break;
		case VHOST_TAP_A_QUEUE_ERROR:
			q.error = mnl_attr_get_u32(a);
			break;
		case VHOST_TAP_A_QUEUE_HELD:
			q.held = mnl_attr_get_u32(a);
			break;
		case VHOST_TAP_A_QUEUE_STATS:
			stats = a;
			break;
		}
	}
	if (id != r->c->id || index > 1)
		return MNL_CB_OK;
	if (stats) {
		nest_read(stats, q.stat, VHOST_TAP_A_STATS_MAX);
		mnl_attr_for_each_nested(b, stats) {
			switch (mnl_attr_get_type(b)) {
			case VHOST_TAP_A_STATS_BATCHES:
				nest_read(b, q.batches,
					  VHOST_TAP_A_BATCHES_MAX);
				break;
			case VHOST_TAP_A_STATS_DROPS:
				nest_read(b, q.drops, VHOST_TAP_A_DROPS_MAX);
				break;
			case VHOST_TAP_A_STATS_RING_ERRORS:
				nest_read(b, q.ring_errors,
					  VHOST_TAP_A_RING_ERRORS_MAX);
				break;
			}
		}
	}
	r->c->q[index] = q;
	return MNL_CB_OK;
}

static int request(struct reader *r, uint16_t type, int flags, uint8_t cmd,
		   const char *family, mnl_cb_t cb)
{
	static char buf[32768];
	struct genlmsghdr *g;
	struct nlmsghdr *nlh;
	ssize_t n;
	int ret;

	nlh = mnl_nlmsg_put_header(buf);
	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST | flags;
	nlh->nlmsg_seq = 1;
	g = mnl_nlmsg_put_extra_header(nlh, sizeof(*g));
	g->cmd = cmd;
	g->version = 1;
	if (family)
		mnl_attr_put_strz(nlh, CTRL_ATTR_FAMILY_NAME, family);
	if (mnl_socket_sendto(r->nl, nlh, nlh->nlmsg_len) < 0)
		return -errno;
	do {
		n = mnl_socket_recvfrom(r->nl, buf, sizeof(buf));
		if (n < 0)
			return -errno;
		ret = mnl_cb_run(buf, n, 1, mnl_socket_get_portid(r->nl), cb,
				 r);
	} while (ret > 0);
	return ret < 0 ? -errno : 0;
}

int counters_read(pid_t owner, struct dev_counters *c)
{
	struct reader r = { .owner = owner, .c = c };
	int err;

	memset(c, 0, sizeof(*c));
	r.nl = mnl_socket_open(NETLINK_GENERIC);
	if (!r.nl)
		return -errno;
	err = mnl_socket_bind(r.nl, 0, MNL_SOCKET_AUTOPID) ? -errno : 0;
	if (!err)
		err = request(&r, GENL_ID_CTRL, NLM_F_ACK, CTRL_CMD_GETFAMILY,
			      VHOST_TAP_FAMILY_NAME, family_cb);
	if (!err && !r.family)
		err = -EOPNOTSUPP;
	if (!err)
		err = request(&r, r.family, NLM_F_DUMP, VHOST_TAP_CMD_DEV_GET,
			      NULL, dev_cb);
	if (!err && !c->devices)
		err = -ENOENT;
	if (!err)
		err = request(&r, r.family, NLM_F_DUMP, VHOST_TAP_CMD_QUEUE_GET,
			      NULL, queue_cb);
	mnl_socket_close(r.nl);
	return err;
}

const struct queue_counters *counters_of(unsigned int queue)
{
	static struct dev_counters c;
	int err = counters_read(getpid(), &c);

	if (err) {
		fprintf(stderr, "# no counters of process %d: %s\n", getpid(),
			strerror(-err));
		abort();
	}
	return &c.q[queue];
}
