/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stands in for drivers/vhost_tap/guest.h where the portable ring code is built
 * in userspace: the Makefile puts it in front of every file, and its include
 * guard keeps the kernel's one out.
 *
 * Guest memory is what guest_map() was told. Every access through this door
 * must lie in it and inside the open window: anything else is a bug of the code
 * under test and aborts. Tests can make any access fail, see addresses that are
 * read twice, change memory behind a read, and count windows.
 *
 * With VTAP_GUEST_FAST (benchmarks) the door is open: plain loads and stores.
 */
#ifndef VTAP_GUEST_H
#define VTAP_GUEST_H

#include <endian.h>
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include <linux/types.h>
#include <linux/virtio_config.h>
#include <linux/virtio_ring.h>

/* The few words of the kernel's that portable code uses. */

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;

#define __user
#define __force
#ifndef __always_inline
#define __always_inline	inline __attribute__((__always_inline__))
#endif
#define noinline	__attribute__((__noinline__))
#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)

#define U32_MAX		((u32)~0U)
#define check_add_overflow(a, b, d)	__builtin_add_overflow(a, b, d)

#define min_t(type, a, b) ({ type a_ = (a); type b_ = (b); a_ < b_ ? a_ : b_; })
#define max_t(type, a, b) ({ type a_ = (a); type b_ = (b); a_ > b_ ? a_ : b_; })
#define min(a, b)	min_t(typeof(a), a, b)
#define max(a, b)	max_t(typeof(a), a, b)

#define smp_rmb()	__atomic_thread_fence(__ATOMIC_ACQUIRE)
#define smp_wmb()	__atomic_thread_fence(__ATOMIC_RELEASE)
#define smp_mb()	__atomic_thread_fence(__ATOMIC_SEQ_CST)

/* A configuration symbol is 0 or 1 here. */
#define IS_ENABLED(option)	(option)
#ifndef CONFIG_VHOST_CROSS_ENDIAN_LEGACY
#define CONFIG_VHOST_CROSS_ENDIAN_LEGACY	0
#endif

#define le64_to_cpu(x)	le64toh(x)
#define be64_to_cpu(x)	be64toh(x)
#define cpu_to_le64(x)	htole64(x)
#define cpu_to_be64(x)	htobe64(x)
#define __le64		u64
#define __be64		u64

static inline bool virtio_legacy_is_little_endian(void)
{
	return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
}

static inline u16 __virtio16_to_cpu(bool le, __virtio16 v)
{
	return le ? le16toh(v) : be16toh(v);
}

static inline u32 __virtio32_to_cpu(bool le, __virtio32 v)
{
	return le ? le32toh(v) : be32toh(v);
}

static inline u64 __virtio64_to_cpu(bool le, __virtio64 v)
{
	return le ? le64toh(v) : be64toh(v);
}

static inline __virtio16 __cpu_to_virtio16(bool le, u16 v)
{
	return le ? htole16(v) : htobe16(v);
}

static inline __virtio32 __cpu_to_virtio32(bool le, u32 v)
{
	return le ? htole32(v) : htobe32(v);
}

static inline __virtio64 __cpu_to_virtio64(bool le, u64 v)
{
	return le ? htole64(v) : htobe64(v);
}

static inline unsigned long array_index_nospec(unsigned long index, unsigned long size)
{
	(void)size;
	return index;
}

static inline void sort(void *base, size_t num, size_t size,
			int (*cmp)(const void *, const void *), void *swap)
{
	(void)swap;
	if (num)
		qsort(base, num, size, cmp);
}

#include <linux/vhost_tap.h>

/* The door. */

#define VTAP_GUEST_UNALIGNED	1

static inline bool vtap_guest_access_ok(const void *ptr, unsigned long len)
{
	const unsigned long limit = (1UL << 47) - 4096;

	return len <= limit && (unsigned long)ptr <= limit - len;
}

#ifdef VTAP_GUEST_FAST

#define vtap_guest_read_begin(ptr, len)		((void)(ptr), (void)(len), true)
#define vtap_guest_read_begin2(p1, l1, p2, l2)	((void)(p1), (void)(p2), true)
#define vtap_guest_read_end()			do { } while (0)
#define vtap_guest_write_begin(ptr, len)	((void)(ptr), (void)(len), true)
#define vtap_guest_write_end()			do { } while (0)

#define vtap_guest_get(x, ptr, label) do {					\
	if (0)									\
		goto label;							\
	(x) = *(const volatile typeof(*(ptr)) *)(ptr);				\
} while (0)

/* used entries of 8 bytes stand at multiples of 4 */
#define vtap_guest_put(x, ptr, label) do {					\
	typedef typeof(*(ptr)) put_t_ __attribute__((__aligned__(1), __may_alias__)); \
	if (0)									\
		goto label;							\
	*(volatile put_t_ *)(ptr) = (x);					\
} while (0)

static inline int vtap_guest_copy_in(void *dst, const void *src, size_t len)
{
	memcpy(dst, src, len);
	return 0;
}

static inline int vtap_guest_copy_out(void *dst, const void *src, size_t len)
{
	memcpy(dst, src, len);
	return 0;
}

static inline int vtap_guest_set_bits(u32 *word, u32 bits)
{
	__atomic_fetch_or(word, bits, __ATOMIC_RELAXED);
	return 0;
}

#else /* !VTAP_GUEST_FAST */

#define vtap_guest_read_begin(ptr, len)		guest_begin(GUEST_READ, ptr, len, NULL, 0)
#define vtap_guest_read_begin2(p1, l1, p2, l2)	guest_begin(GUEST_READ, p1, l1, p2, l2)
#define vtap_guest_read_end()			guest_end(GUEST_READ)
#define vtap_guest_write_begin(ptr, len)	guest_begin(GUEST_WRITE, ptr, len, NULL, 0)
#define vtap_guest_write_end()			guest_end(GUEST_WRITE)

#define vtap_guest_get(x, ptr, label) do {					\
	typeof(*(ptr) + 0) v_;							\
	typeof(x) x_;								\
	_Static_assert(sizeof(x_) == sizeof(*(ptr)), "a field is read whole");	\
	(void)v_;								\
	if (guest_get(&x_, ptr, sizeof(x_)))					\
		goto label;							\
	(x) = x_;								\
} while (0)

#define vtap_guest_put(x, ptr, label) do {					\
	typeof(x) x_ = (x);							\
	_Static_assert(sizeof(x_) == sizeof(*(ptr)), "a field is written whole"); \
	if (guest_put(&x_, ptr, sizeof(x_)))					\
		goto label;							\
} while (0)

#define vtap_guest_copy_in(dst, src, len)	guest_copy_in(dst, src, len)
#define vtap_guest_copy_out(dst, src, len)	guest_copy_out(dst, src, len)
#define vtap_guest_set_bits(word, bits)		guest_set_bits(word, bits)

#endif /* VTAP_GUEST_FAST */

/* What the code under test calls; guest.c. */

enum guest_access { GUEST_NONE, GUEST_READ, GUEST_WRITE };

bool guest_begin(enum guest_access what, const void *p1, size_t l1, const void *p2, size_t l2);
void guest_end(enum guest_access what);
int guest_get(void *dst, const void *src, size_t len);
int guest_put(const void *src, void *dst, size_t len);
int guest_copy_in(void *dst, const void *src, size_t len);
int guest_copy_out(void *dst, const void *src, size_t len);
int guest_set_bits(u32 *word, u32 bits);

/* What tests call. */

#define GUEST_MAX_MAPS	8

/**
 * struct guest - the state behind the door
 * @fail_at: the access that fails, counted from 1 on @accesses; 0 for none
 * @fail_after: all later ones fail, too
 * @accesses: reads and writes so far, failed ones included
 * @windows: windows opened so far
 * @track: look for bytes that are read twice
 * @read_twice: how many were, while @track was set
 * @scribble: every byte read is changed in guest memory at once
 * @on_get: called after each read
 * @on_put: called before each write
 * @on_bits: called before bits are set in a word
 */
struct guest {
	unsigned long fail_at;
	bool fail_after;
	unsigned long accesses;
	unsigned long windows;
	bool track;
	unsigned long read_twice;
	bool scribble;
	void (*on_get)(const void *src, size_t len);
	void (*on_put)(const void *dst, size_t len);
	void (*on_bits)(const u32 *word, u32 bits);
};

extern struct guest guest;

/* Forget all memory, all counts, all tricks. */
void guest_reset(void);
/* @ok false: mapped by nobody, accesses fail as on an unmapped page. */
void guest_map(void *base, size_t len, bool ok);
/* Begin to look for bytes read twice from here on. */
void guest_track(void);

#endif /* VTAP_GUEST_H */
