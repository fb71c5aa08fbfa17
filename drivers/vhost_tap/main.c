// SPDX-License-Identifier: GPL-2.0-only
/*
 * Load and unload: parameters and the misc device. Nothing else lives here.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/miscdevice.h>
#include <linux/module.h>

#include "dev.h"

#define VTAP_NODE "vhost-net"

char *vtap_devname = VTAP_NODE;
module_param_named(devname, vtap_devname, charp, 0444);
MODULE_PARM_DESC(devname, "Name of the node in /dev; another one than " VTAP_NODE
		 " gets a minor of its own, beside the in-tree module");

unsigned short vtap_max_mem_regions = 64;
module_param_named(max_mem_regions, vtap_max_mem_regions, ushort, 0444);
MODULE_PARM_DESC(max_mem_regions, "Most regions a memory table may have (default: 64)");

unsigned int vtap_idle_poll_us = 200;
module_param_named(idle_poll_us, vtap_idle_poll_us, uint, 0644);
MODULE_PARM_DESC(idle_poll_us, "Longest that a worker watches for the answer to what it has passed on before it sleeps, while answers come sooner than that; 0: never (default: 200)");

int vtap_max_iotlb_entries = 2048;
module_param_named(max_iotlb_entries, vtap_max_iotlb_entries, int, 0444);
MODULE_PARM_DESC(max_iotlb_entries, "Most mappings an IOTLB may have; of more, the oldest goes (default: 2048)");

/* What follows is taken so that options lines of the in-tree modules still load. */
static int experimental_zcopytx;
module_param(experimental_zcopytx, int, 0444);
MODULE_PARM_DESC(experimental_zcopytx, "Zero-copy TX; no effect yet, frames are copied");

static struct miscdevice vtap_misc = {
	.fops = &vtap_fops,
};

static int __init vtap_init(void)
{
	int err;

	/*
	 * The usual name keeps the usual minor even if it was asked for: taken
	 * twice, a minor is an error, but a name is a splat from sysfs.
	 */
	if (!vtap_devname || !*vtap_devname)
		vtap_devname = VTAP_NODE;
	vtap_misc.name = vtap_devname;
	vtap_misc.minor = strcmp(vtap_devname, VTAP_NODE) ?
			  MISC_DYNAMIC_MINOR : VHOST_NET_MINOR;

	err = vtap_direct_init();
	if (err)
		goto err_direct;
	err = vtap_netlink_init();
	if (err)
		goto err_netlink;

	err = misc_register(&vtap_misc);
	if (err == -EBUSY && vtap_misc.minor == VHOST_NET_MINOR) {
		pr_err("/dev/%s (misc minor %d) is held by another module, probably vhost_net: rmmod it, or load with devname=NAME\n",
		       vtap_misc.name, vtap_misc.minor);
		goto err_misc;
	}
	if (err) {
		pr_err("cannot make /dev/%s: error %d\n", vtap_misc.name, err);
		goto err_misc;
	}
	return 0;

err_misc:
	vtap_netlink_exit();
err_netlink:
	vtap_direct_exit();
err_direct:
	return err;
}
module_init(vtap_init);

static void __exit vtap_exit(void)
{
	misc_deregister(&vtap_misc);
	vtap_netlink_exit();
	vtap_direct_exit();
}
module_exit(vtap_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Host side of virtio-net on a tap, in place of vhost_net");
MODULE_ALIAS_MISCDEV(VHOST_NET_MINOR);
MODULE_ALIAS("devname:" VTAP_NODE);
/* QEMU and DPDK read their memory slot limit from that module's parameters. */
MODULE_SOFTDEP("pre: vhost");
