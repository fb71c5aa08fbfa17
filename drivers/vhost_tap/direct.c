// SPDX-License-Identifier: GPL-2.0-only
/*
 * What has to be known, and done, so that a frame may go from a tun queue's
 * ring to the guest without passing the socket. Touches net devices and skbs;
 * knows nothing of rings and guests.
 *
 * Through the socket a frame of 64 bytes costs some 900 instructions more, half
 * of what the worker spends on it: a reference on the tun device and checks that
 * it is there, two walks over an iov_iter, and for each the checks of a copy
 * from anywhere to anywhere. What the socket does for such an skb is only this:
 *
 *  - a virtio-net header in front, of the size and byte order that somebody has
 *    set with TUNSETVNETHDRSZ and TUNSETVNETLE. The first frame goes through the
 *    socket, and shows that the size is what the guest expects (->sound). The
 *    byte order is the ring's, or the guest could not read it anyway.
 *  - a count in the device's statistics. skb->dev holds no reference, and a
 *    frame can be held for longer than its device lives. So that pointer is
 *    compared only; the one that is used was found in a list of devices, and
 *    the notifier below takes it away before the device goes.
 *
 * Frames that carry a VLAN tag beside them, are lists of skbs, or do not come
 * from the device that is known, go through the socket.
 */
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/rtnetlink.h>
#include <net/net_namespace.h>
#include <net/rtnetlink.h>

#include "compat/skb.h"
#include "direct.h"

static LIST_HEAD(vtap_direct_list);
/* protects vtap_direct_list, and writers of ->dev in it; innermost */
static DEFINE_SPINLOCK(vtap_direct_lock);

void vtap_direct_add(struct vtap_direct *d)
{
	spin_lock(&vtap_direct_lock);
	list_add(&d->list, &vtap_direct_list);
	spin_unlock(&vtap_direct_lock);
}

void vtap_direct_del(struct vtap_direct *d)
{
	spin_lock(&vtap_direct_lock);
	list_del(&d->list);
	spin_unlock(&vtap_direct_lock);
}

/* Only tun devices are known to keep their statistics where we count. */
static bool vtap_direct_is_tun(const struct net_device *dev)
{
	return dev->rtnl_link_ops && !strcmp(dev->rtnl_link_ops->kind, "tun");
}

/* The device at this address, if there is one. Under rcu_read_lock(). */
static struct net_device *vtap_direct_find(const void *addr)
{
	struct net_device *dev;
	struct net *net;

	for_each_net_rcu(net)
		for_each_netdev_rcu(net, dev)
			if (dev == addr)
				return dev;
	return NULL;
}

void vtap_direct_learn(struct vtap_direct *d, const struct sk_buff *skb)
{
	const void *addr = skb->dev;
	struct net_device *dev;

	if (addr == rcu_access_pointer(d->dev) || addr == d->alien)
		return;
	d->sound = false;

	/*
	 * Who finds a device here has said so before it is gone from the list for
	 * all, and the notifier is called after that: it takes the pointer away.
	 */
	rcu_read_lock();
	dev = vtap_direct_find(addr);
	if (dev && !vtap_direct_is_tun(dev))
		dev = NULL;
	spin_lock(&vtap_direct_lock);
	rcu_assign_pointer(d->dev, dev);
	spin_unlock(&vtap_direct_lock);
	rcu_read_unlock();
	d->alien = dev ? NULL : addr;
}

void vtap_direct_consume(struct vtap_direct *d, void **frames, u32 n, u32 bytes)
{
	struct net_device *dev;

	rcu_read_lock();
	dev = rcu_dereference(d->dev);
	if (likely(dev)) {
		preempt_disable();
		dev_sw_netstats_tx_add(dev, n, bytes);
		preempt_enable();
	}
	rcu_read_unlock();

	vtap_compat_consume_skbs((struct sk_buff **)frames, n);
}

/* A device goes away, or to another network namespace: forget it. */
static int vtap_direct_event(struct notifier_block *nb, unsigned long event, void *ptr)
{
	struct net_device *dev = netdev_notifier_info_to_dev(ptr);
	struct vtap_direct *d;

	if (event != NETDEV_UNREGISTER)
		return NOTIFY_DONE;
	spin_lock(&vtap_direct_lock);
	list_for_each_entry(d, &vtap_direct_list, list)
		if (rcu_access_pointer(d->dev) == dev)
			RCU_INIT_POINTER(d->dev, NULL);
	spin_unlock(&vtap_direct_lock);
	/* The core waits for readers before it frees the device. */
	return NOTIFY_DONE;
}

static struct notifier_block vtap_direct_nb = {
	.notifier_call = vtap_direct_event,
};

int vtap_direct_init(void)
{
	return register_netdevice_notifier(&vtap_direct_nb);
}

void vtap_direct_exit(void)
{
	unregister_netdevice_notifier(&vtap_direct_nb);
}
