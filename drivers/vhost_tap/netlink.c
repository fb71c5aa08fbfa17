// SPDX-License-Identifier: GPL-2.0-only
/*
 * The generic netlink family "vhost_tap": devices, queues and counters for
 * whoever wants to look inside (Documentation/netlink/specs/vhost_tap.yaml).
 * It only reads devices, and touches no ring and no guest memory.
 *
 * A reader must disturb nobody. A device is first copied into a snapshot, under
 * vtap_dev_list_lock (it is not freed) and dev->lock (its worker, memory table
 * and backends are not), and put into messages after both are released. An
 * ioctl may hold dev->lock for as long as user space likes, when its argument
 * is on a page that takes its time to come: so the lock is tried, not waited
 * for, and after a while the device is reported without what the lock protects,
 * and marked busy. What the worker writes (counters, indices) is read without a
 * lock; queues run on meanwhile.
 *
 * A dump remembers the next device id, not a device: ids only grow, so whatever
 * opens and closes between two messages, each device that is there all the time
 * is reported exactly once.
 */
#include <linux/build_bug.h>
#include <linux/delay.h>
#include <linux/file.h>
#include <linux/if.h>
#include <linux/ktime.h>
#include <linux/slab.h>
#include <net/genetlink.h>

#include "dev.h"

/* How often a dump, in all, naps for a millisecond to get a busy device's lock. */
#define VTAP_NL_NAPS	100

/* A copy of a queue. */
struct vtap_nl_queue {
	struct file *file;	/* its backend, referenced; NULL for none */
	bool known;		/* file and backend were copied */
	u32 backend;
	u32 state;
	u32 error;
	u32 size;
	u32 last_avail;
	u32 last_used;
	u32 worker;
	u32 busyloop_timeout;
	u32 held;
	u64 waiting_ns;
	char ifname[IFNAMSIZ];
	struct vtap_stats stats;
};

/* A copy of a device. */
struct vtap_nl_dev {
	u32 id;
	bool busy;		/* dev->lock was not to be had */
	bool has_mem;
	u32 owner;
	u32 worker[VTAP_WORKERS_MAX];
	u64 features;
	u64 backend_features;
	u32 mem_regions;
	u64 mem_bytes;
	struct vtap_nl_queue queue[VTAP_VQ_MAX];
};

/**
 * struct vtap_nl_dump - where a dump stands
 * @next: least device id that is not reported yet
 * @last: greatest device id to report; both are wider than an id, so that
 *	@next can pass it
 * @queue: first queue of @next that is not reported yet
 * @naps: how many more naps may be taken
 * @snap: the device at hand
 */
struct vtap_nl_dump {
	u64 next;
	u64 last;
	u32 queue;
	u32 naps;
	struct vtap_nl_dev snap;
};

static struct genl_family vtap_nl_family;

/* Every request takes one attribute at most: the id of a device. */
#define VTAP_NL_MAXATTR	1

static const struct nla_policy vtap_nl_policy[VTAP_NL_MAXATTR + 1] = {
	[VHOST_TAP_A_DEV_ID] = { .type = NLA_U32 },
};

static_assert((int)VHOST_TAP_A_DEV_ID == VTAP_NL_MAXATTR);
static_assert((int)VHOST_TAP_A_QUEUE_DEV_ID == VTAP_NL_MAXATTR);

/* Counters and the attributes that carry them. */
struct vtap_nl_counter {
	u16 attr;
	u16 offset;
};

#define VTAP_NL_COUNTER(a, member) \
	{ VHOST_TAP_A_STATS_##a, offsetof(struct vtap_stats, member) }

static const struct vtap_nl_counter vtap_nl_counters[] = {
	VTAP_NL_COUNTER(PACKETS, packets),
	VTAP_NL_COUNTER(BYTES, bytes),
	VTAP_NL_COUNTER(KICKS, kicks),
	VTAP_NL_COUNTER(SOCKET_WAKEUPS, socket_wakeups),
	VTAP_NL_COUNTER(SIGNALS, signals),
	VTAP_NL_COUNTER(SIGNALS_SUPPRESSED, signals_suppressed),
	VTAP_NL_COUNTER(BUDGET_ENDS, budget_ends),
	VTAP_NL_COUNTER(HEADCOUNT_WAITS, headcount_waits),
	VTAP_NL_COUNTER(HEADCOUNT_WAIT_NS, headcount_wait_ns),
	VTAP_NL_COUNTER(BUSYPOLL_HITS, busypoll_hits),
	VTAP_NL_COUNTER(EAGAIN, eagain),
	VTAP_NL_COUNTER(HELD_RETURNED, held_returned),
};

/* The first device from id @min on, or NULL; vtap_dev_list_lock held. */
static struct vtap_dev *vtap_nl_find(u32 min)
{
	struct vtap_dev *dev;

	/* The list is in the order of ids. */
	list_for_each_entry(dev, &vtap_dev_list, list) {
		if (dev->id >= min)
			return dev;
	}
	return NULL;
}

static void vtap_nl_copy_stats(struct vtap_stats *to, const struct vtap_stats *from)
{
	const u64 *src = (const u64 *)from;
	u64 *dst = (u64 *)to;
	size_t i;

	BUILD_BUG_ON(sizeof(*from) % sizeof(*src));
	for (i = 0; i < sizeof(*from) / sizeof(*src); i++)
		dst[i] = READ_ONCE(src[i]);
}

/* What needs no lock: single values, each of them good for itself. */
static void vtap_nl_copy_queue(struct vtap_nl_queue *q, const struct vtap_vq *vq)
{
	u32 head = READ_ONCE(vq->held_head);
	u32 tail = READ_ONCE(vq->held_tail);
	u64 since = READ_ONCE(vq->wait_since);
	u64 now = ktime_get_ns();

	memset(q, 0, sizeof(*q));
	if (!READ_ONCE(vq->sock)) {
		q->state = VHOST_TAP_QUEUE_STATE_STOPPED;
	} else if (READ_ONCE(vq->stopped)) {
		q->state = VHOST_TAP_QUEUE_STATE_BROKEN;
		q->error = READ_ONCE(vq->ring.err);
	} else {
		q->state = VHOST_TAP_QUEUE_STATE_RUNNING;
	}
	q->size = READ_ONCE(vq->ring.num);
	q->last_avail = READ_ONCE(vq->ring.last_avail);
	q->last_used = READ_ONCE(vq->ring.last_used);
	q->busyloop_timeout = READ_ONCE(vq->busyloop_timeout);
	q->held = tail > head ? tail - head : 0;
	q->waiting_ns = since && now > since ? now - since : 0;
	vtap_nl_copy_stats(&q->stats, &vq->stats);
}

/* What changes under dev->lock only. */
static void vtap_nl_copy_locked(struct vtap_nl_dev *snap, struct vtap_dev *dev)
{
	const struct vtap_mem *mem = dev->mem;
	u32 i;

	lockdep_assert_held(&dev->lock);
	for (i = 0; i < VTAP_WORKERS_MAX; i++)
		snap->worker[i] = vtap_worker_pid(dev, i);
	snap->has_mem = mem;
	for (i = 0; mem && i < mem->nr; i++)
		snap->mem_bytes += mem->region[i].last - mem->region[i].gpa + 1;
	snap->mem_regions = i;

	for (i = 0; i < VTAP_VQ_MAX; i++) {
		struct vtap_nl_queue *q = &snap->queue[i];
		struct vtap_sock *sock = dev->vq[i].sock;
		int id = vtap_worker_id(&dev->vq[i]);

		q->known = true;
		if (id >= 0)
			q->worker = snap->worker[id];
		if (!sock)
			continue;
		q->backend = sock->ring ? VHOST_TAP_BACKEND_TAP : VHOST_TAP_BACKEND_PACKET;
		q->file = get_file(sock->file);
	}
}

/*
 * Copy the first device from id @min on.
 * Return: 0, with references in snap->queue[].file; -ENODEV if there is none.
 */
static int vtap_nl_snap(struct vtap_nl_dev *snap, u32 min, u32 *naps)
{
	struct vtap_dev *dev;
	bool locked;
	u32 i;

	for (;;) {
		mutex_lock(&vtap_dev_list_lock);
		dev = vtap_nl_find(min);
		if (!dev) {
			mutex_unlock(&vtap_dev_list_lock);
			return -ENODEV;
		}
		locked = mutex_trylock(&dev->lock);
		if (locked || !*naps || signal_pending(current))
			break;
		mutex_unlock(&vtap_dev_list_lock);
		--*naps;
		usleep_range(500, 1000);
	}

	memset(snap, 0, sizeof(*snap));
	snap->id = dev->id;
	snap->busy = !locked;
	snap->owner = READ_ONCE(dev->owner);
	snap->features = READ_ONCE(dev->features);
	snap->backend_features = READ_ONCE(dev->backend_features);
	for (i = 0; i < VTAP_VQ_MAX; i++)
		vtap_nl_copy_queue(&snap->queue[i], &dev->vq[i]);
	if (locked) {
		vtap_nl_copy_locked(snap, dev);
		mutex_unlock(&dev->lock);
	}
	mutex_unlock(&vtap_dev_list_lock);
	return 0;
}

/*
 * Release the backends of a snapshot, after asking for their names if @ask.
 * That takes the rtnl lock, and so comes when no lock of ours is held.
 */
static void vtap_nl_snap_finish(struct vtap_nl_dev *snap, bool ask)
{
	struct file *last = NULL;
	u32 i;

	for (i = 0; i < VTAP_VQ_MAX; i++) {
		struct vtap_nl_queue *q = &snap->queue[i];

		if (!q->file)
			continue;
		if (ask && q->file == last)
			memcpy(q->ifname, snap->queue[i - 1].ifname, sizeof(q->ifname));
		else if (ask)
			vtap_sock_ifname(q->file, q->ifname);
		last = q->file;
	}
	for (i = 0; i < VTAP_VQ_MAX; i++) {
		if (snap->queue[i].file)
			fput(snap->queue[i].file);
		snap->queue[i].file = NULL;
	}
}

/* The type "uint" of YNL: four bytes if they will do, else eight. */
static int vtap_nl_put_uint(struct sk_buff *skb, int attr, u64 value)
{
	u32 small = value;

	if (small == value)
		return nla_put_u32(skb, attr, small);
	return nla_put(skb, attr, sizeof(value), &value);
}

/* A nest of @n counters, in attributes 1 ... @n. */
static int vtap_nl_put_counters(struct sk_buff *skb, int attr, const u64 *counter, int n)
{
	struct nlattr *nest = nla_nest_start(skb, attr);
	int i;

	if (!nest)
		return -EMSGSIZE;
	for (i = 0; i < n; i++) {
		if (vtap_nl_put_uint(skb, i + 1, counter[i]))
			return -EMSGSIZE;
	}
	nla_nest_end(skb, nest);
	return 0;
}

static int vtap_nl_put_stats(struct sk_buff *skb, const struct vtap_stats *stats)
{
	struct nlattr *nest = nla_nest_start(skb, VHOST_TAP_A_QUEUE_STATS);
	size_t i;

	/* Attributes of a reason follow its enum; see the spec. */
	BUILD_BUG_ON(VHOST_TAP_A_BATCHES_MAX != VTAP_BATCH_BUCKETS);
	BUILD_BUG_ON(VHOST_TAP_A_DROPS_MAX - 1 != (int)VHOST_TAP_DROP_MAX);
	BUILD_BUG_ON(VHOST_TAP_A_DROPS_NOMEM - 1 != (int)VHOST_TAP_DROP_NOMEM);
	BUILD_BUG_ON(VHOST_TAP_A_RING_ERRORS_MAX != (int)VHOST_TAP_RING_ERR_MAX);
	BUILD_BUG_ON(VHOST_TAP_A_RING_ERRORS_FAULT != (int)VHOST_TAP_RING_ERR_FAULT);

	if (!nest)
		return -EMSGSIZE;
	for (i = 0; i < ARRAY_SIZE(vtap_nl_counters); i++) {
		const struct vtap_nl_counter *c = &vtap_nl_counters[i];

		if (vtap_nl_put_uint(skb, c->attr, *(const u64 *)((const char *)stats + c->offset)))
			return -EMSGSIZE;
	}
	if (vtap_nl_put_counters(skb, VHOST_TAP_A_STATS_BATCHES, stats->batch,
				 VTAP_BATCH_BUCKETS) ||
	    vtap_nl_put_counters(skb, VHOST_TAP_A_STATS_DROPS, stats->drops,
				 VHOST_TAP_A_DROPS_MAX) ||
	    vtap_nl_put_counters(skb, VHOST_TAP_A_STATS_RING_ERRORS, stats->ring_errors + 1,
				 VHOST_TAP_A_RING_ERRORS_MAX))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int vtap_nl_put_queue(struct sk_buff *skb, const struct vtap_nl_dev *snap, u32 index)
{
	const struct vtap_nl_queue *q = &snap->queue[index];
	u32 type = index == VTAP_VQ_RX ? VHOST_TAP_QUEUE_TYPE_RX : VHOST_TAP_QUEUE_TYPE_TX;

	if (nla_put_u32(skb, VHOST_TAP_A_QUEUE_DEV_ID, snap->id) ||
	    nla_put_u32(skb, VHOST_TAP_A_QUEUE_INDEX, index) ||
	    nla_put_u32(skb, VHOST_TAP_A_QUEUE_TYPE, type) ||
	    nla_put_u32(skb, VHOST_TAP_A_QUEUE_STATE, q->state) ||
	    (q->state == VHOST_TAP_QUEUE_STATE_BROKEN &&
	     nla_put_u32(skb, VHOST_TAP_A_QUEUE_ERROR, q->error)) ||
	    nla_put_u32(skb, VHOST_TAP_A_QUEUE_SIZE, q->size) ||
	    nla_put_u32(skb, VHOST_TAP_A_QUEUE_LAST_AVAIL, q->last_avail) ||
	    nla_put_u32(skb, VHOST_TAP_A_QUEUE_LAST_USED, q->last_used) ||
	    nla_put_u32(skb, VHOST_TAP_A_QUEUE_BUSYLOOP_TIMEOUT, q->busyloop_timeout) ||
	    nla_put_u32(skb, VHOST_TAP_A_QUEUE_HELD, q->held) ||
	    (q->waiting_ns &&
	     vtap_nl_put_uint(skb, VHOST_TAP_A_QUEUE_WAITING_NS, q->waiting_ns)) ||
	    (q->known && nla_put_u32(skb, VHOST_TAP_A_QUEUE_BACKEND, q->backend)) ||
	    (q->ifname[0] && nla_put_string(skb, VHOST_TAP_A_QUEUE_IFNAME, q->ifname)) ||
	    vtap_nl_put_stats(skb, &q->stats) ||
	    (q->worker && nla_put_u32(skb, VHOST_TAP_A_QUEUE_WORKER_PID, q->worker)) ||
	    (snap->busy && nla_put_flag(skb, VHOST_TAP_A_QUEUE_BUSY)))
		return -EMSGSIZE;
	return 0;
}

/* All workers by id, and the first of them once more for who knows of one only. */
static int vtap_nl_put_workers(struct sk_buff *skb, const u32 *worker)
{
	struct nlattr *nest;
	u32 i, first;

	for (first = 0; first < VTAP_WORKERS_MAX && !worker[first]; first++)
		;
	if (first == VTAP_WORKERS_MAX)
		return 0;
	if (nla_put_u32(skb, VHOST_TAP_A_DEV_WORKER_PID, worker[first]))
		return -EMSGSIZE;
	nest = nla_nest_start(skb, VHOST_TAP_A_DEV_WORKERS);
	if (!nest)
		return -EMSGSIZE;
	for (i = first; i < VTAP_WORKERS_MAX; i++)
		if (worker[i] && nla_put_u32(skb, i + 1, worker[i]))
			return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int vtap_nl_put_dev(struct sk_buff *skb, const struct vtap_nl_dev *snap)
{
	if (nla_put_u32(skb, VHOST_TAP_A_DEV_ID, snap->id) ||
	    nla_put_string(skb, VHOST_TAP_A_DEV_NODE, vtap_devname) ||
	    (snap->owner && nla_put_u32(skb, VHOST_TAP_A_DEV_OWNER_PID, snap->owner)) ||
	    vtap_nl_put_workers(skb, snap->worker) ||
	    vtap_nl_put_uint(skb, VHOST_TAP_A_DEV_FEATURES, snap->features) ||
	    vtap_nl_put_uint(skb, VHOST_TAP_A_DEV_BACKEND_FEATURES, snap->backend_features) ||
	    (snap->has_mem &&
	     (nla_put_u32(skb, VHOST_TAP_A_DEV_MEM_REGIONS, snap->mem_regions) ||
	      vtap_nl_put_uint(skb, VHOST_TAP_A_DEV_MEM_BYTES, snap->mem_bytes))) ||
	    (snap->busy && nla_put_flag(skb, VHOST_TAP_A_DEV_BUSY)))
		return -EMSGSIZE;
	return 0;
}

/* A whole message of a dump, or none of it. */
static int vtap_nl_dump_one(struct sk_buff *skb, struct netlink_callback *cb, u8 cmd,
			    const struct vtap_nl_dev *snap, u32 queue)
{
	void *hdr = genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
				&vtap_nl_family, NLM_F_MULTI, cmd);
	int err;

	if (!hdr)
		return -EMSGSIZE;
	if (cmd == VHOST_TAP_CMD_DEV_GET)
		err = vtap_nl_put_dev(skb, snap);
	else
		err = vtap_nl_put_queue(skb, snap, queue);
	if (err)
		genlmsg_cancel(skb, hdr);
	else
		genlmsg_end(skb, hdr);
	return err;
}

static struct vtap_nl_dump *vtap_nl_dump_ctx(struct netlink_callback *cb)
{
	return *(struct vtap_nl_dump **)cb->ctx;
}

/* A dump of all devices, or of the one that attribute @attr names, if it may. */
static int vtap_nl_dump_begin(struct netlink_callback *cb, int attr)
{
	struct nlattr *tb[VTAP_NL_MAXATTR + 1];
	struct vtap_nl_dump *dump;
	struct vtap_dev *dev;
	bool there;
	int err;

	err = genlmsg_parse(cb->nlh, &vtap_nl_family, tb, VTAP_NL_MAXATTR, vtap_nl_policy,
			    cb->extack);
	if (err)
		return err;
	if (tb[VTAP_NL_MAXATTR] && !attr) {
		NL_SET_ERR_MSG_ATTR(cb->extack, tb[VTAP_NL_MAXATTR],
				    "a dump reports all devices");
		return -EINVAL;
	}

	dump = kzalloc(sizeof(*dump), GFP_KERNEL);
	if (!dump)
		return -ENOMEM;
	dump->naps = VTAP_NL_NAPS;
	dump->last = U32_MAX;
	if (attr && tb[attr]) {
		dump->next = nla_get_u32(tb[attr]);
		dump->last = dump->next;
		mutex_lock(&vtap_dev_list_lock);
		dev = vtap_nl_find(dump->next);
		there = dev && dev->id == dump->next;
		mutex_unlock(&vtap_dev_list_lock);
		if (!there) {
			kfree(dump);
			NL_SET_ERR_MSG_ATTR(cb->extack, tb[attr], "no such device");
			return -ENODEV;
		}
	}
	*(struct vtap_nl_dump **)cb->ctx = dump;
	return 0;
}

static int vtap_nl_dev_get_start(struct netlink_callback *cb)
{
	return vtap_nl_dump_begin(cb, 0);
}

static int vtap_nl_queue_get_start(struct netlink_callback *cb)
{
	return vtap_nl_dump_begin(cb, VHOST_TAP_A_QUEUE_DEV_ID);
}

static int vtap_nl_dump_done(struct netlink_callback *cb)
{
	kfree(vtap_nl_dump_ctx(cb));
	return 0;
}

/* Is there more to report? Then it is in dump->snap. */
static bool vtap_nl_dump_next(struct vtap_nl_dump *dump, bool names)
{
	struct vtap_nl_dev *snap = &dump->snap;

	if (dump->next > dump->last || vtap_nl_snap(snap, dump->next, &dump->naps))
		return false;
	vtap_nl_snap_finish(snap, names && snap->id <= dump->last);
	if (snap->id != dump->next)
		dump->queue = 0;
	dump->next = snap->id;
	return dump->next <= dump->last;
}

static int vtap_nl_dev_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct vtap_nl_dump *dump = vtap_nl_dump_ctx(cb);

	while (vtap_nl_dump_next(dump, false)) {
		if (vtap_nl_dump_one(skb, cb, VHOST_TAP_CMD_DEV_GET, &dump->snap, 0))
			break;
		dump->next++;
	}
	return skb->len;
}

static int vtap_nl_queue_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	struct vtap_nl_dump *dump = vtap_nl_dump_ctx(cb);

	while (vtap_nl_dump_next(dump, true)) {
		for (; dump->queue < VTAP_VQ_MAX; dump->queue++) {
			if (vtap_nl_dump_one(skb, cb, VHOST_TAP_CMD_QUEUE_GET, &dump->snap,
					     dump->queue))
				return skb->len;
		}
		dump->queue = 0;
		dump->next++;
	}
	return skb->len;
}

static int vtap_nl_dev_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	u32 naps = VTAP_NL_NAPS;
	struct vtap_nl_dev *snap;
	struct sk_buff *reply;
	void *hdr;
	int err;
	u32 id;

	if (GENL_REQ_ATTR_CHECK(info, VHOST_TAP_A_DEV_ID))
		return -EINVAL;
	id = nla_get_u32(info->attrs[VHOST_TAP_A_DEV_ID]);

	snap = kzalloc(sizeof(*snap), GFP_KERNEL);
	if (!snap)
		return -ENOMEM;
	err = vtap_nl_snap(snap, id, &naps);
	if (!err) {
		vtap_nl_snap_finish(snap, false);
		if (snap->id != id)
			err = -ENODEV;
	}
	if (err) {
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[VHOST_TAP_A_DEV_ID],
				    "no such device");
		goto out;
	}

	err = -ENOMEM;
	reply = genlmsg_new(NLMSG_GOODSIZE, GFP_KERNEL);
	if (!reply)
		goto out;
	hdr = genlmsg_put_reply(reply, info, &vtap_nl_family, 0, VHOST_TAP_CMD_DEV_GET);
	if (!hdr || vtap_nl_put_dev(reply, snap)) {
		nlmsg_free(reply);
		err = -EMSGSIZE;
		goto out;
	}
	genlmsg_end(reply, hdr);
	err = genlmsg_reply(reply, info);
out:
	kfree(snap);
	return err;
}

static const struct genl_ops vtap_nl_ops[] = {
	{
		.cmd = VHOST_TAP_CMD_DEV_GET,
		.doit = vtap_nl_dev_get_doit,
		.start = vtap_nl_dev_get_start,
		.dumpit = vtap_nl_dev_get_dumpit,
		.done = vtap_nl_dump_done,
		.policy = vtap_nl_policy,
		.maxattr = VTAP_NL_MAXATTR,
		.flags = GENL_ADMIN_PERM,
	},
	{
		.cmd = VHOST_TAP_CMD_QUEUE_GET,
		.start = vtap_nl_queue_get_start,
		.dumpit = vtap_nl_queue_get_dumpit,
		.done = vtap_nl_dump_done,
		.policy = vtap_nl_policy,
		.maxattr = VTAP_NL_MAXATTR,
		.flags = GENL_ADMIN_PERM,
	},
};

/*
 * Devices belong to no network namespace; whoever may administer the host sees
 * them from each. Operations do their own locking.
 */
static struct genl_family vtap_nl_family __ro_after_init = {
	.name = VHOST_TAP_FAMILY_NAME,
	.version = VHOST_TAP_FAMILY_VERSION,
	.netnsok = true,
	.parallel_ops = true,
	.module = THIS_MODULE,
	.ops = vtap_nl_ops,
	.n_ops = ARRAY_SIZE(vtap_nl_ops),
};

/**
 * vtap_netlink_init() - register the family
 * Return: 0 or -errno.
 */
int __init vtap_netlink_init(void)
{
	return genl_register_family(&vtap_nl_family);
}

/** vtap_netlink_exit() - unregister it; waits for dumps under way */
void vtap_netlink_exit(void)
{
	genl_unregister_family(&vtap_nl_family);
}
