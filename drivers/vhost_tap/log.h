/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The dirty log: a bitmap in the owner's memory, one bit for each 4 KiB page of
 * guest memory that the device has written. So far it is only checked, since
 * VHOST_F_LOG_ALL is not offered. Owned by log.c, which is portable.
 */
#ifndef VTAP_LOG_H
#define VTAP_LOG_H

#include "guest.h"

/* Bytes of guest memory that one byte of the bitmap stands for. */
#define VTAP_LOG_BYTE_SPAN	(4096ULL * 8)

/* prototypes of log.c */

/**
 * vtap_log_access_ok() - does a piece of the bitmap lie in the owner's memory
 * @base: user address of the bitmap, as given by SET_LOG_BASE
 * @gpa: first guest-physical address whose writes would be logged
 * @len: bytes from there; 0 asks for nothing
 */
bool vtap_log_access_ok(u64 base, u64 gpa, u64 len);

#endif /* VTAP_LOG_H */
