/* SPDX-License-Identifier: GPL-2.0-only */
/* Since 6.5 the UAPI has calls for more than one worker a device. */
#ifndef VTAP_COMPAT_VHOST_H
#define VTAP_COMPAT_VHOST_H

#include <linux/vhost.h>

#ifdef VHOST_NEW_WORKER
#define VTAP_COMPAT_WORKERS
#endif

#endif /* VTAP_COMPAT_VHOST_H */
