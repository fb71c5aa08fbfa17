// SPDX-License-Identifier: GPL-2.0-only
/*
 * Tables of the netlink family, after Documentation/netlink/specs/vhost_tap.yaml,
 * and the decoding of attributes by them. Touches nothing but memory.
 */
#include <string.h>
#include <linux/vhost_types.h>
#include <linux/virtio_config.h>
#include <linux/virtio_net.h>
#include <linux/virtio_ring.h>

#include "spec.h"

#define ENUM_NAMES(names)	{ sizeof(names) / sizeof((names)[0]), names }

#define ATTR_SET(var, max)						\
	const struct attr_set var = { max, var##_attr };		\
	_Static_assert((max) <= ATTR_SET_MAX, "raise ATTR_SET_MAX")

#define UINT(n)		{ .name = n, .kind = ATTR_UINT }
#define STRING(n)	{ .name = n, .kind = ATTR_STRING }
#define FLAG(n)		{ .name = n, .kind = ATTR_FLAG }
#define ENUM(n, v)	{ .name = n, .kind = ATTR_ENUM, .values = &(v) }
#define LIST(n)		{ .name = n, .kind = ATTR_LIST }
#define NEST(n, s)	{ .name = n, .kind = ATTR_NEST, .nest = &(s) }

static const char *const queue_type_names[] = {
	[VHOST_TAP_QUEUE_TYPE_RX] = "rx",
	[VHOST_TAP_QUEUE_TYPE_TX] = "tx",
};

static const struct enum_names queue_type = ENUM_NAMES(queue_type_names);

static const char *const queue_state_names[] = {
	[VHOST_TAP_QUEUE_STATE_STOPPED] = "stopped",
	[VHOST_TAP_QUEUE_STATE_RUNNING] = "running",
	[VHOST_TAP_QUEUE_STATE_BROKEN] = "broken",
};

static const struct enum_names queue_state = ENUM_NAMES(queue_state_names);

static const char *const backend_names[] = {
	[VHOST_TAP_BACKEND_NONE] = "none",
	[VHOST_TAP_BACKEND_TAP] = "tap",
	[VHOST_TAP_BACKEND_PACKET] = "packet",
};

static const struct enum_names backend = ENUM_NAMES(backend_names);

/* Ring errors are values of a queue's "error" and counters by the same names. */
#define RING_ERRORS(X)				\
	X(AVAIL_IDX,	"avail-idx")		\
	X(HEAD,		"head")			\
	X(LOOP,		"loop")			\
	X(INDIRECT,	"indirect")		\
	X(TABLE,	"table")		\
	X(DIRECTION,	"direction")		\
	X(ADDRESS,	"address")		\
	X(SEGMENTS,	"segments")		\
	X(LENGTH,	"length")		\
	X(FAULT,	"fault")

#define RING_ERROR_VALUE(c, n)			\
	[VHOST_TAP_RING_ERR_##c] = n,
#define RING_ERROR_ATTR(c, n)			\
	[VHOST_TAP_A_RING_ERRORS_##c] = UINT(n),

static const char *const ring_err_names[] = {
	[VHOST_TAP_RING_ERR_NONE] = "none",
	RING_ERRORS(RING_ERROR_VALUE)
};

static const struct enum_names ring_err = ENUM_NAMES(ring_err_names);

static const struct attr_spec spec_ring_errors_attr[] = {
	RING_ERRORS(RING_ERROR_ATTR)
};
ATTR_SET(spec_ring_errors, VHOST_TAP_A_RING_ERRORS_MAX);

static const struct attr_spec spec_batches_attr[] = {
	[VHOST_TAP_A_BATCHES_FROM_1] = UINT("from-1"),
	[VHOST_TAP_A_BATCHES_FROM_2] = UINT("from-2"),
	[VHOST_TAP_A_BATCHES_FROM_4] = UINT("from-4"),
	[VHOST_TAP_A_BATCHES_FROM_8] = UINT("from-8"),
	[VHOST_TAP_A_BATCHES_FROM_16] = UINT("from-16"),
	[VHOST_TAP_A_BATCHES_FROM_32] = UINT("from-32"),
	[VHOST_TAP_A_BATCHES_FROM_64] = UINT("from-64"),
};
ATTR_SET(spec_batches, VHOST_TAP_A_BATCHES_MAX);

static const struct attr_spec spec_drops_attr[] = {
	[VHOST_TAP_A_DROPS_SHORT] = UINT("short"),
	[VHOST_TAP_A_DROPS_OFFLOAD] = UINT("offload"),
	[VHOST_TAP_A_DROPS_TOO_BIG] = UINT("too-big"),
	[VHOST_TAP_A_DROPS_SOCKET] = UINT("socket"),
	[VHOST_TAP_A_DROPS_NOMEM] = UINT("nomem"),
};
ATTR_SET(spec_drops, VHOST_TAP_A_DROPS_MAX);

static const struct attr_spec spec_stats_attr[] = {
	[VHOST_TAP_A_STATS_PACKETS] = UINT("packets"),
	[VHOST_TAP_A_STATS_BYTES] = UINT("bytes"),
	[VHOST_TAP_A_STATS_KICKS] = UINT("kicks"),
	[VHOST_TAP_A_STATS_SOCKET_WAKEUPS] = UINT("socket-wakeups"),
	[VHOST_TAP_A_STATS_SIGNALS] = UINT("signals"),
	[VHOST_TAP_A_STATS_SIGNALS_SUPPRESSED] = UINT("signals-suppressed"),
	[VHOST_TAP_A_STATS_BUDGET_ENDS] = UINT("budget-ends"),
	[VHOST_TAP_A_STATS_HEADCOUNT_WAITS] = UINT("headcount-waits"),
	[VHOST_TAP_A_STATS_HEADCOUNT_WAIT_NS] = UINT("headcount-wait-ns"),
	[VHOST_TAP_A_STATS_BUSYPOLL_HITS] = UINT("busypoll-hits"),
	[VHOST_TAP_A_STATS_EAGAIN] = UINT("eagain"),
	[VHOST_TAP_A_STATS_HELD_RETURNED] = UINT("held-returned"),
	[VHOST_TAP_A_STATS_BATCHES] = NEST("batches", spec_batches),
	[VHOST_TAP_A_STATS_DROPS] = NEST("drops", spec_drops),
	[VHOST_TAP_A_STATS_RING_ERRORS] = NEST("ring-errors", spec_ring_errors),
};
ATTR_SET(spec_stats, VHOST_TAP_A_STATS_MAX);

static const struct attr_spec spec_queue_attr[] = {
	[VHOST_TAP_A_QUEUE_DEV_ID] = UINT("dev-id"),
	[VHOST_TAP_A_QUEUE_INDEX] = UINT("index"),
	[VHOST_TAP_A_QUEUE_TYPE] = ENUM("type", queue_type),
	[VHOST_TAP_A_QUEUE_STATE] = ENUM("state", queue_state),
	[VHOST_TAP_A_QUEUE_ERROR] = ENUM("error", ring_err),
	[VHOST_TAP_A_QUEUE_SIZE] = UINT("size"),
	[VHOST_TAP_A_QUEUE_LAST_AVAIL] = UINT("last-avail"),
	[VHOST_TAP_A_QUEUE_LAST_USED] = UINT("last-used"),
	[VHOST_TAP_A_QUEUE_BUSYLOOP_TIMEOUT] = UINT("busyloop-timeout"),
	[VHOST_TAP_A_QUEUE_HELD] = UINT("held"),
	[VHOST_TAP_A_QUEUE_WAITING_NS] = UINT("waiting-ns"),
	[VHOST_TAP_A_QUEUE_BACKEND] = ENUM("backend", backend),
	[VHOST_TAP_A_QUEUE_IFNAME] = STRING("ifname"),
	[VHOST_TAP_A_QUEUE_STATS] = NEST("stats", spec_stats),
	[VHOST_TAP_A_QUEUE_BUSY] = FLAG("busy"),
	[VHOST_TAP_A_QUEUE_WORKER_PID] = UINT("worker-pid"),
};
ATTR_SET(spec_queue, VHOST_TAP_A_QUEUE_MAX);

static const struct attr_spec spec_dev_attr[] = {
	[VHOST_TAP_A_DEV_ID] = UINT("id"),
	[VHOST_TAP_A_DEV_NODE] = STRING("node"),
	[VHOST_TAP_A_DEV_OWNER_PID] = UINT("owner-pid"),
	[VHOST_TAP_A_DEV_WORKER_PID] = UINT("worker-pid"),
	[VHOST_TAP_A_DEV_FEATURES] = UINT("features"),
	[VHOST_TAP_A_DEV_BACKEND_FEATURES] = UINT("backend-features"),
	[VHOST_TAP_A_DEV_MEM_REGIONS] = UINT("mem-regions"),
	[VHOST_TAP_A_DEV_MEM_BYTES] = UINT("mem-bytes"),
	[VHOST_TAP_A_DEV_BUSY] = FLAG("busy"),
	[VHOST_TAP_A_DEV_WORKERS] = LIST("workers"),
};
ATTR_SET(spec_dev, VHOST_TAP_A_DEV_MAX);

/* Is @attr encoded as @kind says? What is not is treated as absent. */
static bool spec_valid(enum attr_kind kind, const struct nlattr *attr)
{
	uint16_t len = mnl_attr_get_payload_len(attr);

	switch (kind) {
	case ATTR_UINT:
		return len == sizeof(uint32_t) || len == sizeof(uint64_t);
	case ATTR_ENUM:
		return len == sizeof(uint32_t);
	case ATTR_STRING:
		return len && memchr(mnl_attr_get_payload(attr), 0, len);
	case ATTR_FLAG:
	case ATTR_NEST:
	case ATTR_LIST:
		return true;
	case ATTR_NONE:
		break;
	}
	return false;
}

void spec_parse(const struct attr_set *set, const void *data, size_t len,
		const struct nlattr **tb)
{
	const struct nlattr *attr;

	memset(tb, 0, (ATTR_SET_MAX + 1) * sizeof(*tb));
	mnl_attr_for_each_payload(data, len) {
		unsigned int type = mnl_attr_get_type(attr);

		if (type <= set->max && spec_valid(set->attr[type].kind, attr))
			tb[type] = attr;
	}
}

void spec_parse_nest(const struct attr_set *set, const struct nlattr *nest,
		     const struct nlattr **tb)
{
	if (nest)
		spec_parse(set, mnl_attr_get_payload(nest), mnl_attr_get_payload_len(nest), tb);
	else
		memset(tb, 0, (ATTR_SET_MAX + 1) * sizeof(*tb));
}

uint64_t spec_uint(const struct nlattr *attr)
{
	uint64_t value;

	if (!attr)
		return 0;
	if (mnl_attr_get_payload_len(attr) == sizeof(uint32_t))
		return mnl_attr_get_u32(attr);
	/* Eight bytes that stand on a boundary of four. */
	memcpy(&value, mnl_attr_get_payload(attr), sizeof(value));
	return value;
}

const char *spec_string(const struct nlattr *attr)
{
	return attr ? mnl_attr_get_str(attr) : "";
}

const char *spec_enum(const struct enum_names *values, uint64_t value)
{
	return value < values->n ? values->name[value] : NULL;
}

const char *spec_attr_enum(const struct attr_set *set, const struct nlattr **tb,
			   unsigned int type)
{
	const char *name = NULL;

	if (tb[type])
		name = spec_enum(set->attr[type].values, spec_uint(tb[type]));
	return name ? name : "?";
}

static const struct {
	unsigned int bit;
	const char *name;
} features[] = {
	{ VIRTIO_NET_F_MRG_RXBUF, "mrg_rxbuf" },
	{ VIRTIO_F_NOTIFY_ON_EMPTY, "notify_on_empty" },
	{ VHOST_F_LOG_ALL, "log_all" },
	/* The same bit as ANY_LAYOUT, which a device with VERSION_1 implies. */
	{ VHOST_NET_F_VIRTIO_NET_HDR, "virtio_net_hdr" },
	{ VIRTIO_RING_F_INDIRECT_DESC, "indirect_desc" },
	{ VIRTIO_RING_F_EVENT_IDX, "event_idx" },
	{ VIRTIO_F_VERSION_1, "version_1" },
	{ VIRTIO_F_ACCESS_PLATFORM, "access_platform" },
	{ VIRTIO_F_RING_PACKED, "ring_packed" },
	{ VIRTIO_F_IN_ORDER, "in_order" },
	{ VIRTIO_F_ORDER_PLATFORM, "order_platform" },
	{ VIRTIO_F_RING_RESET, "ring_reset" },
};

const char *spec_feature(unsigned int bit)
{
	size_t i;

	for (i = 0; i < sizeof(features) / sizeof(features[0]); i++) {
		if (features[i].bit == bit)
			return features[i].name;
	}
	return NULL;
}
