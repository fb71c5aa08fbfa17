// SPDX-License-Identifier: GPL-2.0-only
/*
 * The dirty log. Portable: touches nothing but guest.h.
 */
#include "log.h"

bool vtap_log_access_ok(u64 base, u64 gpa, u64 len)
{
	u64 first, last, end;

	if (!len)
		return true;
	if (check_add_overflow(gpa, len - 1, &last))
		return false;
	first = gpa / VTAP_LOG_BYTE_SPAN;
	last /= VTAP_LOG_BYTE_SPAN;
	if (check_add_overflow(base, last, &end) || end > ULONG_MAX)
		return false;
	return vtap_guest_access_ok((void __user *)(unsigned long)(base + first),
				    last - first + 1);
}
