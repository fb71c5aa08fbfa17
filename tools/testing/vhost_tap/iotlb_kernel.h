/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stands in front of the kernel's drivers/vhost/iotlb.c, linux/vhost_iotlb.h and
 * the trees and lists below them, where fuzz_msg builds them in userspace,
 * unmodified, from a kernel's source. Headers that they include are either the
 * source's own copies for userspace (tools/include) or empty files made by the
 * Makefile; what those would have brought is here.
 */
#ifndef VTAP_IOTLB_KERNEL_H
#define VTAP_IOTLB_KERNEL_H

#include "guest.h"

#define VTAP_KERNEL_IOTLB	1

#define EXPORT_SYMBOL(name)	struct iotlb_kernel_unused
#define EXPORT_SYMBOL_GPL(name)	struct iotlb_kernel_unused
#define MODULE_VERSION(text)	struct iotlb_kernel_unused
#define MODULE_DESCRIPTION(text) struct iotlb_kernel_unused
#define MODULE_AUTHOR(name)	struct iotlb_kernel_unused
#define MODULE_LICENSE(name)	struct iotlb_kernel_unused

#define READ_ONCE(x)		(*(const volatile typeof(x) *)&(x))
#define WRITE_ONCE(x, v)	(*(volatile typeof(x) *)&(x) = (v))
#define container_of(p, type, member) \
	((type *)((char *)(p) - offsetof(type, member)))

struct list_head {
	struct list_head *next, *prev;
};

struct hlist_node {
	struct hlist_node *next, **pprev;
};

struct hlist_head {
	struct hlist_node *first;
};

/* memory; a table comes always, a mapping as the fuzzer likes */
typedef int gfp_t;
#define GFP_KERNEL		0
#define GFP_ATOMIC		1

extern unsigned long vhost_iotlb_fail_at;

static inline void *kmalloc(size_t size, gfp_t gfp)
{
	void *p;

	if (gfp == GFP_ATOMIC && vhost_iotlb_fail_at && !--vhost_iotlb_fail_at)
		return NULL;
	p = malloc(size);
	if (!p)
		abort();
	return p;
}

static inline void *kzalloc(size_t size, gfp_t gfp)
{
	void *p = kmalloc(size, gfp);

	return p ? memset(p, 0, size) : NULL;
}

#define kfree(p)		free(p)

#endif /* VTAP_IOTLB_KERNEL_H */
