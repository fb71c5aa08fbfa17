// SPDX-License-Identifier: GPL-2.0-only
/*
 * What stands behind a tap during a measurement: pktgen, an XDP program,
 * a bridge. Works
 * in the network namespace of this process.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bench.h"
#include "util.h"

/* --- netlink --- */

struct link_req {
	struct nlmsghdr n;
	struct ifinfomsg i;
	char attrs[256];
};

static void *attr_put(struct link_req *req, int type, const void *data,
		      size_t len)
{
	struct rtattr *a = (void *)((char *)req + NLMSG_ALIGN(req->n.nlmsg_len));

	a->rta_type = type;
	a->rta_len = RTA_LENGTH(len);
	if (len)
		memcpy(RTA_DATA(a), data, len);
	req->n.nlmsg_len = NLMSG_ALIGN(req->n.nlmsg_len) +
			   RTA_ALIGN(a->rta_len);
	return a;
}

static void attr_end(struct link_req *req, struct rtattr *nest)
{
	nest->rta_len = (char *)req + req->n.nlmsg_len - (char *)nest;
}

static int link_send(struct link_req *req)
{
	struct {
		struct nlmsghdr n;
		struct nlmsgerr e;
		char rest[512];
	} ack;
	int fd, err = 0;

	req->n.nlmsg_flags |= NLM_F_REQUEST | NLM_F_ACK;
	fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	if (fd < 0)
		return -errno;
	if (send(fd, req, req->n.nlmsg_len, 0) < 0 ||
	    recv(fd, &ack, sizeof(ack), 0) < 0)
		err = -errno;
	else if (ack.n.nlmsg_type == NLMSG_ERROR)
		err = ack.e.error;
	close(fd);
	return err;
}

/* --- XDP --- */

static int action_prog(int action)
{
	struct bpf_insn insn[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .imm = action },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr a = {
		.prog_type = BPF_PROG_TYPE_XDP,
		.insns = (uintptr_t)insn,
		.insn_cnt = ARRAY_LEN(insn),
		.license = (uintptr_t)"GPL",
	};
	int fd = syscall(__NR_bpf, BPF_PROG_LOAD, &a, sizeof(a));

	return fd < 0 ? -errno : fd;
}

int net_xdp(int ifindex, int action)
{
	struct link_req req = {
		.n.nlmsg_len = NLMSG_LENGTH(sizeof(req.i)),
		.n.nlmsg_type = RTM_SETLINK,
		.i.ifi_index = ifindex,
	};
	uint32_t flags = XDP_FLAGS_DRV_MODE;
	int fd = action_prog(action), err;
	void *nest;

	if (fd < 0)
		return fd;
	nest = attr_put(&req, IFLA_XDP | NLA_F_NESTED, NULL, 0);
	attr_put(&req, IFLA_XDP_FD, &fd, sizeof(fd));
	attr_put(&req, IFLA_XDP_FLAGS, &flags, sizeof(flags));
	attr_end(&req, nest);
	err = link_send(&req);
	close(fd);
	return err;
}

/* --- bridge --- */

int net_bridge(const struct tap *a, const struct tap *b)
{
	struct link_req req = {
		.n.nlmsg_len = NLMSG_LENGTH(sizeof(req.i)),
		.n.nlmsg_type = RTM_NEWLINK,
		.n.nlmsg_flags = NLM_F_CREATE | NLM_F_EXCL,
	};
	const struct tap *port[2] = { a, b };
	struct tap bridge = { .fd = -1, .name = "benchbr" };
	void *info, *data;
	uint32_t master;
	uint8_t no = 0;
	unsigned int i;
	int err;

	attr_put(&req, IFLA_IFNAME, bridge.name, strlen(bridge.name) + 1);
	info = attr_put(&req, IFLA_LINKINFO, NULL, 0);
	attr_put(&req, IFLA_INFO_KIND, "bridge", 6);
	/* with snooping it would send reports of its own */
	data = attr_put(&req, IFLA_INFO_DATA, NULL, 0);
	attr_put(&req, IFLA_BR_MCAST_SNOOPING, &no, sizeof(no));
	attr_end(&req, data);
	attr_end(&req, info);
	err = link_send(&req);
	if (!err)
		err = tap_set_up(&bridge, true);
	master = if_nametoindex(bridge.name);
	for (i = 0; i < 2 && !err; i++) {
		struct link_req set = {
			.n.nlmsg_len = NLMSG_LENGTH(sizeof(set.i)),
			.n.nlmsg_type = RTM_SETLINK,
			.i.ifi_index = port[i]->ifindex,
		};

		attr_put(&set, IFLA_MASTER, &master, sizeof(master));
		err = link_send(&set);
	}
	if (err)
		fprintf(stderr, "# bridge: %s\n", strerror(-err));
	return err;
}

/* --- pktgen --- */

#define PG	"/proc/net/pktgen/"

static pthread_t pg_thread;
static bool pg_running;

static int pg_write(const char *file, const char *line)
{
	char path[128];
	int err;

	snprintf(path, sizeof(path), PG "%s", file);
	err = file_write(path, line);
	if (err)
		fprintf(stderr, "# pktgen: %s: %s: %s\n", file, line,
			strerror(-err));
	return err;
}

int net_pktgen_setup(const char *ifname, uint32_t len)
{
	char line[64];
	int err;

	err = pg_write("pgctrl", "reset\n");
	snprintf(line, sizeof(line), "add_device %s\n", ifname);
	if (!err)
		err = pg_write("kpktgend_0", line);
	if (!err)
		err = pg_write(ifname, "count 0\n");
	snprintf(line, sizeof(line), "pkt_size %u\n", len);
	if (!err)
		err = pg_write(ifname, line);
	/*
	 * A tap may not be sent the same buffer twice (no IFF_TX_SKB_SHARING):
	 * pktgen refuses clone_skb and burst there.
	 */
	if (!err)
		err = pg_write(ifname, "dst_mac 02:00:00:00:00:01\n");
	if (!err)
		err = pg_write(ifname, "dst 198.51.100.1\n");
	return err;
}

/* the write lasts until pktgen is stopped */
static void *pg_start(void *arg)
{
	pg_write("pgctrl", "start\n");
	return NULL;
}

int net_pktgen_start(void)
{
	if (pthread_create(&pg_thread, NULL, pg_start, NULL))
		return -EAGAIN;
	pg_running = true;
	return 0;
}

int net_pktgen_delay(const char *ifname, unsigned int ns)
{
	char line[64];

	snprintf(line, sizeof(line), "delay %u\n", ns);
	return pg_write(ifname, line);
}

/* frames the interface took in the last run, or -errno */
static int64_t pktgen_sent(const char *ifname)
{
	unsigned long long n = 0;
	char path[128], line[256];
	int err = -ENOENT;
	FILE *f;

	snprintf(path, sizeof(path), PG "%s", ifname);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, " pkts-sofar: %llu", &n) == 1)
			err = 0;
	if (f)
		fclose(f);
	return err ? err : (int64_t)n;
}

int net_pktgen_stop(void)
{
	int err;

	if (!pg_running)
		return 0;
	err = pg_write("pgctrl", "stop\n");
	pthread_join(pg_thread, NULL);
	pg_running = false;
	return err;
}

int64_t net_pktgen_fill(const struct tap *tap)
{
	struct tap_stats before, now;
	int err, err2;

	err = tap_get_stats(tap, &before);
	if (!err)
		err = net_pktgen_start();
	if (err)
		return err;
	do {
		usleep(10000);
		err = tap_get_stats(tap, &now);
	} while (!err && now.tx_dropped == before.tx_dropped);
	err2 = net_pktgen_stop();
	if (err || err2)
		return err ? err : err2;
	return pktgen_sent(tap->name);
}
