/* SPDX-License-Identifier: GPL-2.0-only */
/* Until 6.8 eventfd_signal() was told how much to add, and everybody said 1. */
#ifndef VTAP_COMPAT_EVENTFD_H
#define VTAP_COMPAT_EVENTFD_H

#include <linux/eventfd.h>

#ifndef VTAP_HAVE_EVENTFD_SIGNAL_ONE
static inline void vtap_compat_eventfd_signal(struct eventfd_ctx *ctx)
{
	eventfd_signal(ctx, 1);
}

#define eventfd_signal vtap_compat_eventfd_signal
#endif

#endif /* VTAP_COMPAT_EVENTFD_H */
