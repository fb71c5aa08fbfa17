/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The messages that the node is written and read for: what they say, and what
 * they do to an IOTLB. Owned by iotlb_msg.c, which is portable.
 */
#ifndef VTAP_IOTLB_MSG_H
#define VTAP_IOTLB_MSG_H

#include <linux/vhost.h>

#include "guest.h"
#include "iotlb.h"

/**
 * union vtap_iotlb_wire - a message as it is written and read
 * @type: VHOST_IOTLB_MSG or VHOST_IOTLB_MSG_V2
 * @v1: then it is this
 * @v2: or this
 */
union vtap_iotlb_wire {
	int type;
	struct vhost_msg v1;
	struct vhost_msg_v2 v2;
};

/* prototypes of iotlb_msg.c */

/**
 * vtap_iotlb_msg_parse() - understand what was written
 * @buf: the bytes
 * @len: how many
 * @msg: set to the message
 *
 * What stands behind the fields need not be there, as in-tree.
 *
 * Return: bytes of a whole message of this version (as write() answers, as in-tree),
 * or -EINVAL for one that is cut off, of no known version, or maps nothing.
 */
int vtap_iotlb_msg_parse(const void *buf, size_t len, struct vhost_iotlb_msg *msg);

/**
 * vtap_iotlb_msg_apply() - do what it says
 * @tlb: table; NULL while there is none
 * @msg: message
 * Return: 0 or -EFAULT, for an update as vtap_iotlb_update() has it.
 */
int vtap_iotlb_msg_apply(struct vhost_iotlb *tlb, const struct vhost_iotlb_msg *msg);

/**
 * vtap_iotlb_msg_answers() - is this what somebody waits for
 * @msg: a message that was applied
 * @iova: an address that was missed
 */
bool vtap_iotlb_msg_answers(const struct vhost_iotlb_msg *msg, u64 iova);

/**
 * vtap_iotlb_msg_miss() - write down that an address was missed
 * @wire: filled in, each byte of it
 * @v2: in which version
 * @iova: address
 * @access: VHOST_ACCESS_* that was wanted
 */
void vtap_iotlb_msg_miss(union vtap_iotlb_wire *wire, bool v2, u64 iova, u32 access);

#endif /* VTAP_IOTLB_MSG_H */
