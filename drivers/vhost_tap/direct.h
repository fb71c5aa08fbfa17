/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Frames that need no socket: skbs that go to the guest as they are, behind a
 * header of ours. Owned by direct.c; sock.c tells which frames these are, rx.c
 * copies them.
 */
#ifndef VTAP_DIRECT_H
#define VTAP_DIRECT_H

#include <linux/if_vlan.h>
#include <linux/list.h>
#include <linux/netdevice.h>

/**
 * struct vtap_direct - what a backend's direct way knows
 * @list: place in the list that the netdev notifier walks
 * @dev: the tun device whose frames may go directly, and in whose statistics
 *	they are counted; NULL until known, and again once it is going away
 * @alien: a device that was looked at and is none; for comparison only
 * @sound: a frame has gone through the socket and had the header that the
 *	guest expects
 */
struct vtap_direct {
	struct list_head list;
	struct net_device __rcu *dev;
	const void *alien;
	bool sound;
};

/* prototypes of direct.c */

/** vtap_direct_add() - a backend is there; what it sends goes through the socket at first */
void vtap_direct_add(struct vtap_direct *d);

/** vtap_direct_del() - it goes away; nobody looks at @d any more */
void vtap_direct_del(struct vtap_direct *d);

/**
 * vtap_direct_learn() - see whether frames like this one may go directly
 * @d: of the backend that it was dequeued from
 * @skb: a frame, about to be consumed through the socket
 */
void vtap_direct_learn(struct vtap_direct *d, const struct sk_buff *skb);

/**
 * vtap_direct_skb() - may this frame go directly
 * @d: of the backend that it was dequeued from
 * @skb: the frame
 * Its bytes are in its head and in page fragments then.
 */
static inline bool vtap_direct_skb(const struct vtap_direct *d, const struct sk_buff *skb)
{
	if (skb_is_nonlinear(skb) && (IS_ENABLED(CONFIG_HIGHMEM) || skb_has_frag_list(skb)))
		return false;
	return skb->dev == rcu_access_pointer(d->dev) && !skb_vlan_tag_present(skb);
}

/**
 * vtap_direct_consume() - count and free frames that have been copied
 * @d: of the backend that they were dequeued from
 * @frames: the skbs
 * @n: how many, at least one
 * @bytes: in all of them
 */
void vtap_direct_consume(struct vtap_direct *d, void **frames, u32 n, u32 bytes);

int vtap_direct_init(void);
void vtap_direct_exit(void);

#endif /* VTAP_DIRECT_H */
