/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The ring contract: what tx.c, rx.c and vq.c know of a virtqueue's memory,
 * whatever its format. ring_split.c (and later ring_packed.c) keep it; both
 * are portable and reach the kernel through guest.h only.
 *
 * A ring holds the chains it has fetched in its own two arrays, in fetch order:
 *
 *	chain[]:  0 ... nr_done ........... nr_chains ........ max_chains
 *	          completed | outstanding  | room for the next fetch
 *
 * fetch appends, unfetch takes the newest away, complete moves nr_done. Once
 * nothing is outstanding, both arrays start again from 0. Between two runs of
 * a handler nothing is outstanding: what was fetched has been completed or
 * given back (I2), so a base index, a memory table or a backend can change.
 *
 * All calls need the virtqueue's mutex, and all but vtap_ring_init() and
 * vtap_ring_set_features() must run on the owner's mm.
 */
#ifndef VTAP_RING_H
#define VTAP_RING_H

#include "guest.h"
#include "iotlb.h"
#include "log.h"
#include "mem.h"

/* Longest chain, as in-tree: UIO_MAXIOV. */
#define VTAP_MAX_SEGS	1024
/* A batch: packets sent with one sendmsg or dequeued from a tap at once. */
#define VTAP_BATCH	64
/* Descriptors behind the first of their chains, and of a table, that fetch copies at once. */
#define VTAP_RING_REST	64
#define VTAP_RING_TABLE	64	/* a power of two */

/**
 * struct vtap_chain - one descriptor chain, checked and translated
 * @id: what the used ring calls it (split: head; packed: buffer id)
 * @written: bytes written into it; 0 after fetch, set by the caller before it
 *	is completed. (@id and @written lie as in a used entry: one load.)
 * @seg: index of its first segment in ring->seg[]
 * @len: bytes of all segments
 * @nsegs: number of segments; 0 if all of its descriptors are empty
 * @slots: descriptors it takes in the ring itself (an indirect table takes 1)
 */
struct vtap_chain {
	u32 id;
	u32 written;
	u32 seg;
	u32 len;
	u16 nsegs;
	u16 slots;
};

/**
 * struct vtap_desc - our copy of a descriptor, in the host's byte order
 * @addr: guest-physical address
 * @info: length in bits 0-31, flags in 32-47, next in 48-63
 */
struct vtap_desc {
	u64 addr;
	u64 info;
};

/**
 * struct vtap_ring_copy - descriptors between being copied and being used (I7)
 * @first: the first one of each chain of a batch
 * @rest: those behind it, chain by chain
 * @table: entries of an indirect table
 *
 * Means nothing between two calls.
 */
struct vtap_ring_copy {
	struct vtap_desc first[VTAP_BATCH];
	struct vtap_desc rest[VTAP_RING_REST];
	struct vtap_desc table[VTAP_RING_TABLE];
};

/**
 * struct vtap_ring - one virtqueue's memory and where we stand in it
 */
struct vtap_ring {
	/* where things are: set while the queue has no backend */
	const struct vtap_mem *mem;	/* swapped under the vq mutex */
	struct vring_desc __user *desc;
	struct vring_avail __user *avail;
	struct vring_used __user *used;
	u32 num;			/* entries; a power of two, up to 32768 */
	bool writable;			/* chains are written by us (RX) */
	bool event_idx;			/* VIRTIO_F_EVENT_IDX */
	bool indirect;			/* VIRTIO_F_INDIRECT_DESC */
	bool notify_on_empty;		/* VIRTIO_F_NOTIFY_ON_EMPTY */
	bool le;			/* ring fields are little-endian; vq.c decides */

	struct vtap_log log;		/* set under the vq mutex, at any time */

	/*
	 * With an IOTLB the addresses of a ring, and those in it, go through that.
	 * @mem is a table of one then, @window: the mapping that a buffer was in
	 * last, with the access that buffers of this ring need. What these four and
	 * desc, avail and used say is void (vtap_ring_forget()) when the IOTLB
	 * has changed.
	 */
	struct vhost_iotlb *tlb;	/* NULL for none; under the vq mutex */
	const struct vtap_mem *guest_mem;	/* then: the memory table, for the log */
	struct vtap_mem *window;
	struct vtap_region table;	/* a table was in it last; @uaddr 0: void */
	bool mapped;			/* desc, avail and used are addresses of the owner's */
	bool missed;			/* the last lookup: @miss_iova is not mapped */
	u64 miss_iova;
	u32 miss_access;
	u64 desc_iova, avail_iova, used_iova;

	/* where we stand */
	u16 last_avail;			/* next entry to fetch */
	u16 avail_idx;			/* the driver's index as last read */
	u16 last_used;			/* next used entry to write */
	u16 signalled_used;		/* last_used at the last decision to signal */
	u16 used_flags;			/* used->flags as last written */
	bool signalled_valid;		/* signalled_used means something */
	bool published;			/* since the last decision to signal */
	bool armed;			/* kicks were asked for */
	enum vhost_tap_ring_err err;	/* why it is broken; sticky until start */
	u32 last_region;		/* index of the region hit last */

	/* what is fetched */
	u32 nr_chains, nr_done, max_chains;
	u32 nr_segs, max_segs;
	struct vtap_chain *chain;
	struct iovec *seg;
	struct vtap_ring_copy *copy;
};

/*
 * prototypes of ring_split.c. Outside the ring files nobody calls these: the
 * calls below choose the format.
 */
int vtap_ring_start_split(struct vtap_ring *r);
int vtap_ring_complete_split(struct vtap_ring *r, u32 n);
int vtap_ring_arm_split(struct vtap_ring *r);
int vtap_ring_disarm_split(struct vtap_ring *r);
int vtap_ring_should_signal_split(struct vtap_ring *r);
int vtap_ring_has_avail_split(struct vtap_ring *r);
bool vtap_ring_access_ok_split(const struct vtap_ring *r, u32 num, const void __user *desc,
			       const void __user *avail, const void __user *used);

int vtap_ring_map_split(struct vtap_ring *r);

/* prototypes of ring_split_fetch.c */
int vtap_ring_fetch_split(struct vtap_ring *r, u32 max);

/**
 * vtap_ring_init() - a ring that knows no memory yet
 * @r: zeroed ring
 * @writable: true for a receive queue
 * @chain: array of @max_chains, owned by the caller, lives as long as @r
 * @max_chains: VTAP_BATCH for TX; VTAP_MAX_SEGS for RX, whose frames can take
 *	that many chains
 * @seg: array of VTAP_MAX_SEGS
 * @copy: for fetch to work in; like the arrays
 */
static inline void vtap_ring_init(struct vtap_ring *r, bool writable, struct vtap_chain *chain,
				  u32 max_chains, struct iovec *seg, struct vtap_ring_copy *copy)
{
	r->writable = writable;
	r->chain = chain;
	r->max_chains = max_chains;
	r->seg = seg;
	r->copy = copy;
	r->max_segs = VTAP_MAX_SEGS;
	r->num = 1;
	r->le = virtio_legacy_is_little_endian();
}

/**
 * vtap_ring_set_features() - take over the negotiated bits that shape a ring
 * @r: ring; takes effect at once (as in-tree, also while running)
 * @features: all acknowledged feature bits
 */
static inline void vtap_ring_set_features(struct vtap_ring *r, u64 features)
{
	bool event_idx = features & (1ULL << VIRTIO_RING_F_EVENT_IDX);

	if (event_idx != r->event_idx)
		r->signalled_valid = false;
	r->event_idx = event_idx;
	r->indirect = features & (1ULL << VIRTIO_RING_F_INDIRECT_DESC);
	r->notify_on_empty = features & (1ULL << VIRTIO_F_NOTIFY_ON_EMPTY);
}

/**
 * vtap_ring_access_ok() - do the three parts lie in the owner's address space
 * @r: ring whose features are set
 * @num: entries, as given by SET_VRING_NUM
 * @desc: descriptor table, as given by SET_VRING_ADDR
 * @avail: available ring
 * @used: used ring
 */
static inline bool vtap_ring_access_ok(const struct vtap_ring *r, u32 num,
				       const void __user *desc, const void __user *avail,
				       const void __user *used)
{
	return vtap_ring_access_ok_split(r, num, desc, avail, used);
}

/* The memory table, for who looks for what the guest calls something. */
static inline const struct vtap_mem *vtap_ring_guest_mem(const struct vtap_ring *r)
{
	return unlikely(r->tlb) ? r->guest_mem : r->mem;
}

/**
 * vtap_ring_forget() - the IOTLB has changed, or the ring's addresses in it
 * @r: ring with nothing outstanding
 */
static inline void vtap_ring_forget(struct vtap_ring *r)
{
	r->mapped = false;
	r->table.uaddr = 0;
	if (r->window)
		r->window->nr = 0;
}

/**
 * vtap_ring_ready() - can the calls below be used
 * @r: ring that was started
 * False if its addresses have to go through the IOTLB first: vtap_ring_map().
 */
static inline bool vtap_ring_ready(const struct vtap_ring *r)
{
	return likely(!r->tlb) || r->mapped;
}

/**
 * vtap_ring_map() - find the three parts of the ring in the IOTLB
 * @r: ring with one, that is not ready
 * Return: 0; -EAGAIN if r->miss_iova has to be mapped before; -EPROTO.
 */
static inline int vtap_ring_map(struct vtap_ring *r)
{
	return vtap_ring_map_split(r);
}

/**
 * vtap_ring_start() - begin or resume at last_avail when a backend is attached
 * @r: ring with nothing outstanding
 *
 * Asks for kicks (used flags, and available event when negotiated), reads the
 * used index, forgets a former error. Look for available chains afterwards
 * (queue the handler): kicks given before are not seen. A ring that stopped
 * on a broken entry goes on behind it only if the base was moved.
 *
 * With an IOTLB, the first bytes of the used ring must be mapped; the rest, and
 * the wish for kicks by event, follow when the ring is made ready.
 *
 * Return: 0 or -EFAULT; -EAGAIN if r->miss_iova has to be mapped before. Should the
 * dirty log be at fault only, it is 0 and r->err is set: the first run tells.
 */
static inline int vtap_ring_start(struct vtap_ring *r)
{
	return vtap_ring_start_split(r);
}

/**
 * vtap_ring_fetch() - take up to @max more available chains
 * @r: ring
 * @max: more than this is never fetched; less if the arrays are full
 *
 * Reads the available index only if the cached one promises nothing. A broken
 * chain behind good ones ends the batch; the next call meets it first.
 * (VIRTIO 2.7.13, 2.7.5)
 *
 * Return: chains appended; 0 if none are available, or no room is left for
 * the next one (nr_chains != 0 then tells which: nothing outstanding means
 * none available); -EAGAIN if r->miss_iova has to be mapped in the IOTLB before;
 * -EPROTO if the ring is broken, with the reason in r->err.
 */
static inline int vtap_ring_fetch(struct vtap_ring *r, u32 max)
{
	return vtap_ring_fetch_split(r, max);
}

/**
 * vtap_ring_unfetch() - give the newest @n outstanding chains back
 * @r: ring, broken ones included
 * @n: not more than vtap_ring_outstanding()
 */
static inline void vtap_ring_unfetch(struct vtap_ring *r, u32 n)
{
	r->nr_chains -= n;
	r->last_avail -= n;
	if (r->nr_chains == r->nr_done) {
		r->nr_chains = 0;
		r->nr_done = 0;
		r->nr_segs = 0;
	} else if (n) {
		r->nr_segs = r->chain[r->nr_chains].seg;
	}
}

/**
 * vtap_ring_complete() - hand the oldest @n outstanding chains back, in order
 * @r: ring
 * @n: not more than vtap_ring_outstanding()
 *
 * Writes their used entries (id and chain->written), then publishes all of
 * them in one step (I3). (VIRTIO 2.7.8) What was written is marked in the dirty
 * log if that is on: buffers before, the used ring after that.
 *
 * Return: 0, or -EPROTO (r->err set): nothing of them was published then. Should
 * marking the used ring fail, r->err is set and it is 0: they are handed back.
 */
static inline int vtap_ring_complete(struct vtap_ring *r, u32 n)
{
	return vtap_ring_complete_split(r, n);
}

/**
 * vtap_ring_arm() - ask the driver for kicks, then look once more (I4)
 * @r: ring
 *
 * Return: 1 if chains are available meanwhile (the caller disarms and goes
 * on), 0 if armed and empty, -EPROTO.
 */
static inline int vtap_ring_arm(struct vtap_ring *r)
{
	return vtap_ring_arm_split(r);
}

/**
 * vtap_ring_disarm() - tell the driver that kicks are not needed
 * @r: ring
 *
 * Return: 0 or -EPROTO.
 */
static inline int vtap_ring_disarm(struct vtap_ring *r)
{
	return vtap_ring_disarm_split(r);
}

/**
 * vtap_ring_should_signal() - did the driver ask for an interrupt
 * @r: ring
 *
 * Decides for everything published since the last call; 0 if that is nothing.
 * (VIRTIO 2.7.7, 2.7.10)
 *
 * Return: 1, 0, or -EPROTO.
 */
static inline int vtap_ring_should_signal(struct vtap_ring *r)
{
	return vtap_ring_should_signal_split(r);
}

/**
 * vtap_ring_has_avail() - is there a chain to fetch; for busy polling
 * @r: ring
 *
 * Return: 1, 0, or -EPROTO.
 */
static inline int vtap_ring_has_avail(struct vtap_ring *r)
{
	return vtap_ring_has_avail_split(r);
}

/* Chains fetched and neither completed nor given back. */
static inline u32 vtap_ring_outstanding(const struct vtap_ring *r)
{
	return r->nr_chains - r->nr_done;
}

/* The @i-th outstanding chain, oldest first. */
static inline struct vtap_chain *vtap_ring_chain(const struct vtap_ring *r, u32 i)
{
	return &r->chain[r->nr_done + i];
}

#endif /* VTAP_RING_H */
