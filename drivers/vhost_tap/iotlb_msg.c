// SPDX-License-Identifier: GPL-2.0-only
/*
 * Messages of the node: bytes to meaning, meaning to what changes, misses to
 * bytes. Portable: touches nothing but guest.h and the IOTLB. How they come and
 * go is iotlb_dev.c's business.
 */
#include <linux/vhost.h>

#include "guest.h"
#include "iotlb.h"
#include "iotlb_msg.h"

/* In both versions the message stands here, and 4 bytes that mean nothing before it. */
#define VTAP_MSG_AT	8

int vtap_iotlb_msg_parse(const void *buf, size_t len, struct vhost_iotlb_msg *msg)
{
	int type;

	_Static_assert(offsetof(struct vhost_msg, iotlb) == VTAP_MSG_AT, "version 1");
	_Static_assert(offsetof(struct vhost_msg_v2, iotlb) == VTAP_MSG_AT, "version 2");

	if (len < VTAP_MSG_AT + sizeof(*msg))
		return -EINVAL;
	memcpy(&type, buf, sizeof(type));
	if (type != VHOST_IOTLB_MSG && type != VHOST_IOTLB_MSG_V2)
		return -EINVAL;
	memcpy(msg, buf + VTAP_MSG_AT, sizeof(*msg));
	if (msg->type == VHOST_IOTLB_UPDATE && !msg->size)
		return -EINVAL;
	return type == VHOST_IOTLB_MSG ? sizeof(struct vhost_msg) : sizeof(struct vhost_msg_v2);
}

int vtap_iotlb_msg_apply(struct vhost_iotlb *tlb, const struct vhost_iotlb_msg *msg)
{
	if (!tlb)
		return -EFAULT;
	switch (msg->type) {
	case VHOST_IOTLB_UPDATE:
		return vtap_iotlb_update(tlb, msg->iova, msg->size, msg->uaddr, msg->perm);
	case VHOST_IOTLB_INVALIDATE:
		vtap_iotlb_invalidate(tlb, msg->iova, msg->size);
		return 0;
	default:
		/* batches, too: in-tree vhost_net has none */
		return -EFAULT;
	}
}

bool vtap_iotlb_msg_answers(const struct vhost_iotlb_msg *msg, u64 iova)
{
	return msg->type == VHOST_IOTLB_UPDATE && iova >= msg->iova &&
	       iova - msg->iova < msg->size;
}

void vtap_iotlb_msg_miss(union vtap_iotlb_wire *wire, bool v2, u64 iova, u32 access)
{
	struct vhost_iotlb_msg *msg;

	/* What is not a field, too: no byte of ours is for the reader. */
	memset(wire, 0, sizeof(*wire));
	if (v2) {
		wire->v2.type = VHOST_IOTLB_MSG_V2;
		msg = &wire->v2.iotlb;
	} else {
		wire->v1.type = VHOST_IOTLB_MSG;
		msg = &wire->v1.iotlb;
	}
	msg->type = VHOST_IOTLB_MISS;
	msg->iova = iova;
	msg->perm = access;
}
