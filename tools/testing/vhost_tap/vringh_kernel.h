/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stands in front of the kernel's vringh.c and linux/vringh.h where bench_ring
 * builds them in userspace, unmodified, from a kernel's source. The headers
 * that they include are empty files made by the Makefile; what those would have
 * brought is here, as cheap as guest.h with VTAP_GUEST_FAST is to our own ring
 * code: user access is plain loads and stores, barriers are the same.
 */
#ifndef VTAP_VRINGH_KERNEL_H
#define VTAP_VRINGH_KERNEL_H

#include "guest.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/types.h>

/* what is compiled in */
#define IS_REACHABLE(option)	0
#define EXPORT_SYMBOL(name)	struct vringh_kernel_unused
#define EXPORT_SYMBOL_GPL(name)	struct vringh_kernel_unused
#define MODULE_LICENSE(name)	struct vringh_kernel_unused
#define MODULE_DESCRIPTION(text) struct vringh_kernel_unused
#define __printf(a, b)		__attribute__((__format__(printf, a, b)))
#define __cold			__attribute__((__cold__))

#define BUG_ON(x)		do { if (unlikely(x)) abort(); } while (0)
#define WARN_ON(x)		({ bool w_ = (x); if (unlikely(w_)) abort(); w_; })
#define BUILD_BUG_ON(x)		_Static_assert(!(x), #x)

/* messages: a benchmark has nothing to complain about */
#define KERN_NOTICE		""
#define printk(...)		fprintf(stderr, __VA_ARGS__)
#define vprintk(fmt, ap)	vfprintf(stderr, fmt, ap)
#define DEFINE_RATELIMIT_STATE(name, interval, burst) int name = 1
#define __ratelimit(state)	(*(state))

/* memory; bench_vringh.c gives it arrays that never grow */
typedef int gfp_t;
typedef int spinlock_t;
#define GFP_KERNEL		0
#define GFP_ATOMIC		0
#define kmalloc_array(n, size, gfp)	((void)(gfp), calloc(n, size))
#define krealloc_array(p, n, size, gfp)	((void)(gfp), realloc(p, (n) * (size)))
#define kfree(p)		free(p)
#define spin_lock(lock)		((void)(lock))
#define spin_unlock(lock)	((void)(lock))

struct kvec {
	void *iov_base;
	size_t iov_len;
};

/* user access */
#define READ_ONCE(x)		(*(const volatile typeof(x) *)&(x))
#define WRITE_ONCE(x, v)	(*(volatile typeof(x) *)&(x) = (v))
#define get_user(x, ptr)	({ (x) = READ_ONCE(*(ptr)); 0; })
#define put_user(x, ptr)	({ WRITE_ONCE(*(ptr), x); 0; })
#define copy_to_user(to, from, n)	(memcpy(to, from, n), 0)

/* A descriptor: each half is read once, as by guest.h. */
static __always_inline int copy_from_user(void *to, const void *from, size_t n)
{
	u64 half;
	size_t i;

	for (i = 0; i < n; i += sizeof(half)) {
		half = *(const volatile u64 *)(from + i);
		memcpy(to + i, &half, sizeof(half));
	}
	return 0;
}

/* weak barriers: an SMP guest */
#define virtio_mb(weak)		((void)(weak), smp_mb())
#define virtio_rmb(weak)	((void)(weak), smp_rmb())
#define virtio_wmb(weak)	((void)(weak), smp_wmb())

#endif /* VTAP_VRINGH_KERNEL_H */
