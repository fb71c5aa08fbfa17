/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The dirty log: a bitmap in the owner's memory, one bit for each 4 KiB page of
 * guest memory that the device has written. Owned by log.c, which is portable.
 */
#ifndef VTAP_LOG_H
#define VTAP_LOG_H

#include "guest.h"
#include "mem.h"

struct vtap_ring;

#define VTAP_LOG_PAGE		4096ULL
/* Bytes of guest memory that one byte of the bitmap stands for. */
#define VTAP_LOG_BYTE_SPAN	(VTAP_LOG_PAGE * 8)

#define VTAP_LOG_DATA		1	/* VHOST_F_LOG_ALL: buffers */
#define VTAP_LOG_USED		2	/* VHOST_VRING_F_LOG: the used ring */

/**
 * struct vtap_log - what of a virtqueue is logged, and where
 * @what: VTAP_LOG_*; 0 while nothing is, and then nobody looks further
 * @marked: something was, since the log's eventfd was signalled
 * @last_region: index of the region hit last
 * @bits: pages found, but not yet marked, in @word
 * @word: of the bitmap
 * @base: user address of the bitmap
 * @used_gpa: address that the used ring is logged under
 */
struct vtap_log {
	u8 what;
	bool marked;
	u32 last_region;
	u32 bits;
	u32 __user *word;
	u64 base;
	u64 used_gpa;
};

/* prototypes of log.c */

/**
 * vtap_log_access_ok() - does a piece of the bitmap lie in the owner's memory
 * @base: user address of the bitmap, as given by SET_LOG_BASE
 * @gpa: first guest-physical address whose writes would be logged
 * @len: bytes from there; 0 asks for nothing
 */
bool vtap_log_access_ok(u64 base, u64 gpa, u64 len);

/**
 * vtap_log_mem_ok() - and the pieces for all of guest memory
 * @base: user address of the bitmap
 * @mem: memory table
 */
bool vtap_log_mem_ok(u64 base, const struct vtap_mem *mem);

/**
 * vtap_log_pages() - what was written has these guest-physical addresses
 * @log: log
 * @gpa: first byte
 * @len: bytes; 0 marks nothing
 *
 * The marks are in the bitmap after vtap_log_flush() only.
 *
 * Return: 0, or -EFAULT if they cannot be made.
 */
int vtap_log_pages(struct vtap_log *log, u64 gpa, u64 len);

/**
 * vtap_log_user() - what was written stands there in the owner's memory
 * @log: log
 * @mem: memory table, which tells what the guest calls it: all names are marked
 * @uaddr: first byte
 * @len: bytes; 0 marks nothing
 *
 * The marks are in the bitmap after vtap_log_flush() only.
 *
 * Return: 0; -EFAULT if they cannot be made; -ENOENT if not all of it belongs
 * to guest memory (what does is marked).
 */
int vtap_log_user(struct vtap_log *log, const struct vtap_mem *mem, u64 uaddr, u64 len);

/**
 * vtap_log_flush() - make the marks that are due
 * @log: log
 *
 * What was written before is seen by who sees the mark.
 *
 * Return: 0 or -EFAULT.
 */
int vtap_log_flush(struct vtap_log *log);

/**
 * vtap_log_chains() - mark what was written into chains, if that is logged
 * @r: ring
 * @i: first of them, counted from the oldest outstanding one
 * @n: how many; of each as many bytes as chain->written says
 *
 * Return: 0 or -EFAULT.
 */
int vtap_log_chains(struct vtap_ring *r, u32 i, u32 n);

#endif /* VTAP_LOG_H */
