/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The only door to guest memory, and the only header through which portable
 * code (ring_*.c, mem.c) sees the kernel. tools/testing/vhost_tap has another
 * guest.h that stands in for this one in userspace.
 *
 * One user-access window covers one stage of a batch: between
 * vtap_guest_{read,write}_begin() and _end() stands inline code that calls
 * nothing (objtool warns), with vtap_guest_get() and vtap_guest_put() for
 * fields. Ring addresses and memory regions were checked against the owner's
 * address space when they were set; begin checks its own range again.
 *
 * Memory barriers used with it: smp_rmb(), smp_wmb(), smp_mb(), by their kernel
 * names (the driver runs on another CPU, seen or not).
 */
#ifndef VTAP_GUEST_H
#define VTAP_GUEST_H

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/nospec.h>
#include <linux/overflow.h>
#include <linux/sort.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/uio.h>
#include <linux/virtio_byteorder.h>
#include <linux/virtio_config.h>
#include <linux/virtio_ring.h>
#include <linux/vhost_tap.h>

/* begin is false if the range leaves the owner's address space: no window then */
#define vtap_guest_read_begin(ptr, len)		user_read_access_begin(ptr, len)
/* One window over two ranges: every window costs a speculation barrier. */
#define vtap_guest_read_begin2(ptr1, len1, ptr2, len2) \
	(access_ok(ptr1, len1) && user_read_access_begin(ptr2, len2))
#define vtap_guest_read_end()			user_read_access_end()
#define vtap_guest_write_begin(ptr, len)	user_write_access_begin(ptr, len)
#define vtap_guest_write_end()			user_write_access_end()
#define vtap_guest_get(x, ptr, label)		unsafe_get_user(x, ptr, label)
#define vtap_guest_put(x, ptr, label)		unsafe_put_user(x, ptr, label)

#define vtap_guest_access_ok(ptr, len)		access_ok(ptr, len)

/* May a field be read or written at an address that is no multiple of its size */
#define VTAP_GUEST_UNALIGNED	IS_ENABLED(CONFIG_HAVE_EFFICIENT_UNALIGNED_ACCESS)

/**
 * vtap_guest_copy_in() - copy bytes out of guest memory; outside a window
 * @dst: ours
 * @src: the guest's
 * @len: bytes
 *
 * Return: 0 or -EFAULT, then @dst is undefined.
 */
static inline int vtap_guest_copy_in(void *dst, const void __user *src, size_t len)
{
	return copy_from_user(dst, src, len) ? -EFAULT : 0;
}

/**
 * vtap_guest_copy_out() - copy bytes into guest memory; outside a window
 * @dst: the guest's
 * @src: ours
 * @len: bytes
 *
 * Return: 0 or -EFAULT, then a part may have been written.
 */
static inline int vtap_guest_copy_out(void __user *dst, const void *src, size_t len)
{
	return copy_to_user(dst, src, len) ? -EFAULT : 0;
}

#endif /* VTAP_GUEST_H */
