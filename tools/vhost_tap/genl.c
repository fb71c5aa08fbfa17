// SPDX-License-Identifier: GPL-2.0-only
/*
 * Generic netlink on libmnl: find the family, send a request, collect the
 * answer. Knows nothing of what the attributes mean.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <linux/genetlink.h>
#include <linux/vhost_tap.h>

#include "genl.h"
#include "vhost-tap.h"

/* The most that the kernel puts into one part of a dump, if the reader takes it. */
#define GENL_BUF	32768

static int genl_get_family(const struct nlmsghdr *nlh, void *data)
{
	const struct nlattr *attr;
	uint16_t *family = data;

	mnl_attr_for_each(attr, nlh, sizeof(struct genlmsghdr)) {
		if (mnl_attr_get_type(attr) == CTRL_ATTR_FAMILY_ID &&
		    mnl_attr_validate(attr, MNL_TYPE_U16) >= 0)
			*family = mnl_attr_get_u16(attr);
	}
	return MNL_CB_OK;
}

/* Send the request in @buf and run @cb on each message of the answer. */
static int genl_transact(struct genl *g, char *buf, mnl_cb_t cb, void *data)
{
	unsigned int port = mnl_socket_get_portid(g->sock);
	ssize_t len;
	int ret;

	if (mnl_socket_sendto(g->sock, buf, ((struct nlmsghdr *)buf)->nlmsg_len) < 0)
		return -errno;
	do {
		len = mnl_socket_recvfrom(g->sock, buf, GENL_BUF);
		if (len < 0)
			return -errno;
		ret = mnl_cb_run(buf, len, g->seq, port, cb, data);
	} while (ret > MNL_CB_STOP);
	return ret < 0 ? -errno : 0;
}

static struct nlmsghdr *genl_header(struct genl *g, char *buf, uint16_t family, uint16_t flags,
				    uint8_t cmd, uint8_t version)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct genlmsghdr *genl;

	nlh->nlmsg_type = family;
	nlh->nlmsg_flags = NLM_F_REQUEST | flags;
	nlh->nlmsg_seq = ++g->seq;
	genl = mnl_nlmsg_put_extra_header(nlh, sizeof(*genl));
	genl->cmd = cmd;
	genl->version = version;
	return nlh;
}

static int genl_find_family(struct genl *g)
{
	char buf[GENL_BUF];
	struct nlmsghdr *nlh;

	nlh = genl_header(g, buf, GENL_ID_CTRL, NLM_F_ACK, CTRL_CMD_GETFAMILY, 1);
	mnl_attr_put_strz(nlh, CTRL_ATTR_FAMILY_NAME, VHOST_TAP_FAMILY_NAME);
	return genl_transact(g, buf, genl_get_family, &g->family);
}

int genl_open(struct genl *g)
{
	int err;

	memset(g, 0, sizeof(*g));
	g->sock = mnl_socket_open(NETLINK_GENERIC);
	if (!g->sock) {
		error("cannot open a netlink socket: %s", strerror(errno));
		return EXIT_FAILED;
	}
	if (mnl_socket_bind(g->sock, 0, MNL_SOCKET_AUTOPID) < 0)
		err = -errno;
	else
		err = genl_find_family(g);
	if (!err && g->family)
		return EXIT_OK;

	genl_close(g);
	if (!err || err == -ENOENT) {
		error("the module vhost_tap is not loaded; as root, load it: modprobe vhost_tap");
		return EXIT_NO_MODULE;
	}
	error("cannot ask the kernel for its netlink families: %s", strerror(-err));
	return EXIT_FAILED;
}

void genl_close(struct genl *g)
{
	if (g->sock)
		mnl_socket_close(g->sock);
	g->sock = NULL;
}

static int genl_collect(const struct nlmsghdr *nlh, void *data)
{
	size_t len = mnl_nlmsg_get_payload_len(nlh);
	struct genl_reply *reply = data;
	struct genl_msg *msg;

	if (len < sizeof(struct genlmsghdr))
		return MNL_CB_OK;
	len -= sizeof(struct genlmsghdr);
	/* Room doubles: a host has many devices. */
	if (!(reply->n & (reply->n - 1))) {
		size_t room = reply->n ? 2 * reply->n : 1;

		msg = realloc(reply->msg, room * sizeof(*msg));
		if (!msg)
			return MNL_CB_ERROR;
		reply->msg = msg;
	}
	msg = &reply->msg[reply->n];
	msg->len = len;
	msg->data = malloc(len + 1);
	if (!msg->data)
		return MNL_CB_ERROR;
	memcpy(msg->data, mnl_nlmsg_get_payload_offset(nlh, sizeof(struct genlmsghdr)), len);
	reply->n++;
	return MNL_CB_OK;
}

int genl_request(struct genl *g, uint8_t cmd, int dump, uint16_t id_attr, uint32_t id,
		 struct genl_reply *reply)
{
	char buf[GENL_BUF];
	struct nlmsghdr *nlh;
	int err;

	memset(reply, 0, sizeof(*reply));
	nlh = genl_header(g, buf, g->family, dump ? NLM_F_DUMP : NLM_F_ACK, cmd,
			  VHOST_TAP_FAMILY_VERSION);
	if (id_attr)
		mnl_attr_put_u32(nlh, id_attr, id);
	err = genl_transact(g, buf, genl_collect, reply);
	if (err)
		genl_reply_free(reply);
	return err;
}

void genl_reply_free(struct genl_reply *reply)
{
	size_t i;

	for (i = 0; i < reply->n; i++)
		free(reply->msg[i].data);
	free(reply->msg);
	memset(reply, 0, sizeof(*reply));
}

int genl_explain(int err)
{
	switch (err) {
	case -EPERM:
		error("not permitted: it takes CAP_NET_ADMIN; run it as root, say with sudo");
		return EXIT_NOT_PERMITTED;
	case -ENOENT:
	case -EOPNOTSUPP:
		/* Unloaded since we asked for the family, or replaced by another version. */
		error("the module vhost_tap does not answer: %s", strerror(-err));
		return EXIT_NO_MODULE;
	default:
		error("cannot read from the module vhost_tap: %s", strerror(-err));
		return EXIT_FAILED;
	}
}
