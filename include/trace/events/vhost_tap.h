/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Tracepoints at every decision that the data path takes. Arguments are plain
 * integers: whoever traces needs to know neither rings nor sockets. While
 * switched off each of them is a jump over nothing.
 *
 * They are called outside user-access windows. stats.c instantiates them.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM vhost_tap

#if !defined(_TRACE_VHOST_TAP_H) || defined(TRACE_HEADER_MULTI_READ)
#define _TRACE_VHOST_TAP_H

#include <linux/tracepoint.h>
#include <linux/vhost_tap.h>

/* The names that the netlink family gives these, as its YNL spec spells them. */
#define vhost_tap_show_queues						\
	EM(0,				"rx")				\
	EMe(1,				"tx")

#define vhost_tap_show_drops						\
	EM(VHOST_TAP_DROP_SHORT,	"short")			\
	EM(VHOST_TAP_DROP_OFFLOAD,	"offload")			\
	EM(VHOST_TAP_DROP_TOO_BIG,	"too-big")			\
	EM(VHOST_TAP_DROP_SOCKET,	"socket")			\
	EMe(VHOST_TAP_DROP_NOMEM,	"nomem")

#define vhost_tap_show_ring_errs					\
	EM(VHOST_TAP_RING_ERR_NONE,	"none")				\
	EM(VHOST_TAP_RING_ERR_AVAIL_IDX, "avail-idx")			\
	EM(VHOST_TAP_RING_ERR_HEAD,	"head")				\
	EM(VHOST_TAP_RING_ERR_LOOP,	"loop")				\
	EM(VHOST_TAP_RING_ERR_INDIRECT,	"indirect")			\
	EM(VHOST_TAP_RING_ERR_TABLE,	"table")			\
	EM(VHOST_TAP_RING_ERR_DIRECTION, "direction")			\
	EM(VHOST_TAP_RING_ERR_ADDRESS,	"address")			\
	EM(VHOST_TAP_RING_ERR_SEGMENTS,	"segments")			\
	EM(VHOST_TAP_RING_ERR_LENGTH,	"length")			\
	EMe(VHOST_TAP_RING_ERR_FAULT,	"fault")

/* First pass: tell the values of the enums to user space's parsers. */
#undef EM
#undef EMe
#define EM(a, b)	TRACE_DEFINE_ENUM(a);
#define EMe(a, b)	TRACE_DEFINE_ENUM(a);

vhost_tap_show_drops
vhost_tap_show_ring_errs

/* Second pass: tables for __print_symbolic(). */
#undef EM
#undef EMe
#define EM(a, b)	{ a, b },
#define EMe(a, b)	{ a, b }

/* A frame was dropped; @len: its bytes without virtio-net header. */
TRACE_EVENT(vhost_tap_drop,
	TP_PROTO(u32 dev, u32 queue, u32 reason, u32 len),
	TP_ARGS(dev, queue, reason, len),
	TP_STRUCT__entry(
		__field(u32, dev)
		__field(u32, queue)
		__field(u32, reason)
		__field(u32, len)
	),
	TP_fast_assign(
		__entry->dev = dev;
		__entry->queue = queue;
		__entry->reason = reason;
		__entry->len = len;
	),
	TP_printk("dev=%u queue=%s reason=%s len=%u", __entry->dev,
		  __print_symbolic(__entry->queue, vhost_tap_show_queues),
		  __print_symbolic(__entry->reason, vhost_tap_show_drops),
		  __entry->len)
);

/* A ring is broken and its queue stops; @last_avail: the entry it stopped at. */
TRACE_EVENT(vhost_tap_ring_error,
	TP_PROTO(u32 dev, u32 queue, u32 reason, u32 last_avail),
	TP_ARGS(dev, queue, reason, last_avail),
	TP_STRUCT__entry(
		__field(u32, dev)
		__field(u32, queue)
		__field(u32, reason)
		__field(u32, last_avail)
	),
	TP_fast_assign(
		__entry->dev = dev;
		__entry->queue = queue;
		__entry->reason = reason;
		__entry->last_avail = last_avail;
	),
	TP_printk("dev=%u queue=%s reason=%s last_avail=%u", __entry->dev,
		  __print_symbolic(__entry->queue, vhost_tap_show_queues),
		  __print_symbolic(__entry->reason, vhost_tap_show_ring_errs),
		  __entry->last_avail)
);

/*
 * A frame of @len bytes (virtio-net header included) has to wait because only
 * @chains chains, too small for it, are available.
 */
TRACE_EVENT(vhost_tap_headcount_wait,
	TP_PROTO(u32 dev, u32 queue, u32 len, u32 chains),
	TP_ARGS(dev, queue, len, chains),
	TP_STRUCT__entry(
		__field(u32, dev)
		__field(u32, queue)
		__field(u32, len)
		__field(u32, chains)
	),
	TP_fast_assign(
		__entry->dev = dev;
		__entry->queue = queue;
		__entry->len = len;
		__entry->chains = chains;
	),
	TP_printk("dev=%u queue=%s len=%u chains=%u", __entry->dev,
		  __print_symbolic(__entry->queue, vhost_tap_show_queues),
		  __entry->len, __entry->chains)
);

/* The wait is over after @waited_ns nanoseconds: chains came, or a detach. */
TRACE_EVENT(vhost_tap_headcount_resume,
	TP_PROTO(u32 dev, u32 queue, u64 waited_ns),
	TP_ARGS(dev, queue, waited_ns),
	TP_STRUCT__entry(
		__field(u64, waited_ns)
		__field(u32, dev)
		__field(u32, queue)
	),
	TP_fast_assign(
		__entry->waited_ns = waited_ns;
		__entry->dev = dev;
		__entry->queue = queue;
	),
	TP_printk("dev=%u queue=%s waited_ns=%llu", __entry->dev,
		  __print_symbolic(__entry->queue, vhost_tap_show_queues),
		  __entry->waited_ns)
);

/*
 * A backend comes (attach) or goes (detach). @base: the next available entry;
 * @held: frames given back to the socket that is leaving (0 at attach).
 */
DECLARE_EVENT_CLASS(vhost_tap_backend,
	TP_PROTO(u32 dev, u32 queue, u32 base, u32 held),
	TP_ARGS(dev, queue, base, held),
	TP_STRUCT__entry(
		__field(u32, dev)
		__field(u32, queue)
		__field(u32, base)
		__field(u32, held)
	),
	TP_fast_assign(
		__entry->dev = dev;
		__entry->queue = queue;
		__entry->base = base;
		__entry->held = held;
	),
	TP_printk("dev=%u queue=%s base=%u held=%u", __entry->dev,
		  __print_symbolic(__entry->queue, vhost_tap_show_queues),
		  __entry->base, __entry->held)
);

DEFINE_EVENT(vhost_tap_backend, vhost_tap_attach,
	TP_PROTO(u32 dev, u32 queue, u32 base, u32 held),
	TP_ARGS(dev, queue, base, held)
);

DEFINE_EVENT(vhost_tap_backend, vhost_tap_detach,
	TP_PROTO(u32 dev, u32 queue, u32 base, u32 held),
	TP_ARGS(dev, queue, base, held)
);

/* The guest kicked and the handler begins a run. */
TRACE_EVENT(vhost_tap_kick,
	TP_PROTO(u32 dev, u32 queue),
	TP_ARGS(dev, queue),
	TP_STRUCT__entry(
		__field(u32, dev)
		__field(u32, queue)
	),
	TP_fast_assign(
		__entry->dev = dev;
		__entry->queue = queue;
	),
	TP_printk("dev=%u queue=%s", __entry->dev,
		  __print_symbolic(__entry->queue, vhost_tap_show_queues))
);

/*
 * @chains chains were taken off the ring (fetch) or handed back to the driver
 * (publish); @index: where the device stands in the ring after that.
 */
DECLARE_EVENT_CLASS(vhost_tap_chains,
	TP_PROTO(u32 dev, u32 queue, u32 chains, u32 index),
	TP_ARGS(dev, queue, chains, index),
	TP_STRUCT__entry(
		__field(u32, dev)
		__field(u32, queue)
		__field(u32, chains)
		__field(u32, index)
	),
	TP_fast_assign(
		__entry->dev = dev;
		__entry->queue = queue;
		__entry->chains = chains;
		__entry->index = index;
	),
	TP_printk("dev=%u queue=%s chains=%u index=%u", __entry->dev,
		  __print_symbolic(__entry->queue, vhost_tap_show_queues),
		  __entry->chains, __entry->index)
);

DEFINE_EVENT(vhost_tap_chains, vhost_tap_fetch,
	TP_PROTO(u32 dev, u32 queue, u32 chains, u32 index),
	TP_ARGS(dev, queue, chains, index)
);

DEFINE_EVENT(vhost_tap_chains, vhost_tap_publish,
	TP_PROTO(u32 dev, u32 queue, u32 chains, u32 index),
	TP_ARGS(dev, queue, chains, index)
);

/* The guest was interrupted (@sent), or wanted no interrupt (!@sent). */
TRACE_EVENT(vhost_tap_signal,
	TP_PROTO(u32 dev, u32 queue, bool sent),
	TP_ARGS(dev, queue, sent),
	TP_STRUCT__entry(
		__field(u32, dev)
		__field(u32, queue)
		__field(bool, sent)
	),
	TP_fast_assign(
		__entry->dev = dev;
		__entry->queue = queue;
		__entry->sent = sent;
	),
	TP_printk("dev=%u queue=%s sent=%d", __entry->dev,
		  __print_symbolic(__entry->queue, vhost_tap_show_queues),
		  __entry->sent)
);

#undef EM
#undef EMe

#endif /* _TRACE_VHOST_TAP_H */

/* This part is read again and again, so it stands outside the guard. */
#include <trace/define_trace.h>
