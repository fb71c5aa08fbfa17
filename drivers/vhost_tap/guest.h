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
#include <linux/kasan-checks.h>
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

/*
 * Addresses in a region of the memory table need no check before a copy: the
 * region was checked when it was set, and the ring code has found each of them in
 * it. This keeps the processor from speculating that it had. Every read window
 * does, too.
 */
#define vtap_guest_nospec()			barrier_nospec()

/*
 * Up to this many bytes are copied field by field inside a window that others
 * share. A copy of its own opens a window of its own, and costs about as much
 * as these do, whatever its length (64 bytes: 40 instructions instead of 240).
 */
#define VTAP_GUEST_SMALL	(VTAP_GUEST_UNALIGNED ? 256 : 0)

/* One step of the two below: @op moves @type from @s to @d. */
#define vtap_guest_step(op, type, d, s, len, label) \
do { \
	op(type, d, s, label); \
	(d) += sizeof(type); \
	(s) += sizeof(type); \
	(len) -= sizeof(type); \
} while (0)

#define vtap_guest_steps(op, d, s, len, label) \
do { \
	while ((len) >= 4 * sizeof(u64)) { \
		vtap_guest_step(op, u64, d, s, len, label); \
		vtap_guest_step(op, u64, d, s, len, label); \
		vtap_guest_step(op, u64, d, s, len, label); \
		vtap_guest_step(op, u64, d, s, len, label); \
	} \
	while ((len) >= sizeof(u64)) \
		vtap_guest_step(op, u64, d, s, len, label); \
	if ((len) >= sizeof(u32)) \
		vtap_guest_step(op, u32, d, s, len, label); \
	if ((len) >= sizeof(u16)) \
		vtap_guest_step(op, u16, d, s, len, label); \
	if (len) \
		vtap_guest_step(op, u8, d, s, len, label); \
} while (0)

#define vtap_guest_step_get(type, d, s, label) \
do { \
	type _v; \
	vtap_guest_get(_v, (const type __user *)(s), label); \
	*(type *)(d) = _v; \
} while (0)

#define vtap_guest_step_put(type, d, s, label) \
	vtap_guest_put(*(const type *)(s), (type __user *)(d), label)

/* Copy few bytes inside a read window; each is read once (I7). */
#define vtap_guest_get_bytes(dst, src, len, label) \
do { \
	u8 *_d = (dst); \
	const u8 __user *_s = (src); \
	size_t _len = (len); \
	vtap_guest_steps(vtap_guest_step_get, _d, _s, _len, label); \
} while (0)

/* Copy few bytes inside a write window. */
#define vtap_guest_put_bytes(dst, src, len, label) \
do { \
	u8 __user *_d = (dst); \
	const u8 *_s = (src); \
	size_t _len = (len); \
	vtap_guest_steps(vtap_guest_step_put, _d, _s, _len, label); \
} while (0)

/**
 * vtap_guest_read() - copy bytes out of a region; outside a window
 * @dst: ours, with room for them beyond doubt
 * @src: the guest's, in a region of the memory table
 * @len: bytes
 *
 * Without the checks of a copy from anywhere to anywhere, which take longer
 * than a short frame itself; vtap_guest_nospec() or a read window must stand
 * between the translation of @src and this.
 *
 * Return: 0 or -EFAULT, then @dst is undefined.
 */
static inline int vtap_guest_read(void *dst, const void __user *src, size_t len)
{
	kasan_check_write(dst, len);
	return raw_copy_from_user(dst, src, len) ? -EFAULT : 0;
}

/**
 * vtap_guest_write() - copy bytes into a region; outside a window
 * @dst: the guest's, in a region of the memory table
 * @src: ours, that many bytes beyond doubt
 * @len: bytes
 *
 * The counterpart of vtap_guest_read().
 *
 * Return: 0 or -EFAULT, then a part may have been written.
 */
static inline int vtap_guest_write(void __user *dst, const void *src, size_t len)
{
	kasan_check_read(src, len);
	return raw_copy_to_user(dst, src, len) ? -EFAULT : 0;
}

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
