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
#include <linux/mutex.h>
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

#include <asm/futex.h>

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
 * User Mode Linux has no windows, and walks its page tables for each field.
 */
#define VTAP_GUEST_SMALL	(VTAP_GUEST_UNALIGNED && !IS_ENABLED(CONFIG_UML) ? 256 : 0)

/*
 * Copy few bytes inside a read window, each of them once (I7). False on a
 * fault; the window is still to be closed.
 */
static __always_inline bool vtap_guest_get_bytes(u8 *dst, const u8 __user *src, size_t len)
{
	for (; len >= 4 * sizeof(u64); dst += 32, src += 32, len -= 32) {
		vtap_guest_get(*(u64 *)dst, (const u64 __user *)src, fault);
		vtap_guest_get(*(u64 *)(dst + 8), (const u64 __user *)(src + 8), fault);
		vtap_guest_get(*(u64 *)(dst + 16), (const u64 __user *)(src + 16), fault);
		vtap_guest_get(*(u64 *)(dst + 24), (const u64 __user *)(src + 24), fault);
	}
	for (; len >= sizeof(u64); dst += 8, src += 8, len -= 8)
		vtap_guest_get(*(u64 *)dst, (const u64 __user *)src, fault);
	for (; len >= sizeof(u16); dst += 2, src += 2, len -= 2)
		vtap_guest_get(*(u16 *)dst, (const u16 __user *)src, fault);
	for (; len; dst++, src++, len--)
		vtap_guest_get(*dst, src, fault);
	return true;
fault:
	return false;
}

/* The counterpart in a write window. */
static __always_inline bool vtap_guest_put_bytes(u8 __user *dst, const u8 *src, size_t len)
{
	for (; len >= 4 * sizeof(u64); dst += 32, src += 32, len -= 32) {
		vtap_guest_put(*(const u64 *)src, (u64 __user *)dst, fault);
		vtap_guest_put(*(const u64 *)(src + 8), (u64 __user *)(dst + 8), fault);
		vtap_guest_put(*(const u64 *)(src + 16), (u64 __user *)(dst + 16), fault);
		vtap_guest_put(*(const u64 *)(src + 24), (u64 __user *)(dst + 24), fault);
	}
	for (; len >= sizeof(u64); dst += 8, src += 8, len -= 8)
		vtap_guest_put(*(const u64 *)src, (u64 __user *)dst, fault);
	for (; len >= sizeof(u16); dst += 2, src += 2, len -= 2)
		vtap_guest_put(*(const u16 *)src, (u16 __user *)dst, fault);
	for (; len; dst++, src++, len--)
		vtap_guest_put(*src, dst, fault);
	return true;
fault:
	return false;
}

/**
 * vtap_guest_set_bits() - set bits of a word in place, atomically; outside a window
 * @word: the owner's, aligned
 * @bits: to be set, in the host's byte order
 *
 * What futexes use for that: the page is brought in like for any other access,
 * and made writable, but not pinned.
 *
 * Return: 0 or -EFAULT.
 */
static inline int vtap_guest_set_bits(u32 __user *word, u32 bits)
{
	int old;

	return arch_futex_atomic_op_inuser(FUTEX_OP_OR, bits, &old, word) ? -EFAULT : 0;
}

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
