// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unit tests of the IOTLB and of its messages: iotlb.c, iotlb_msg.c.
 *
 * Plan: lookup at every edge; what is refused (case 10); what takes the place of
 * what; invalidation (case 11); eviction (case 12); the end of the address space
 * (case 13); ranges across mappings; messages cut short (case 14), of the two
 * versions, and padding (case 6).
 */
#include <stdio.h>

#include "guest.h"
#include "tap.h"
#include "../../../drivers/vhost_tap/iotlb.h"
#include "../../../drivers/vhost_tap/iotlb_msg.h"

#define RO	VHOST_ACCESS_RO
#define WO	VHOST_ACCESS_WO
#define RW	VHOST_ACCESS_RW

static struct vhost_iotlb *tlb;

static void fresh(int limit)
{
	vtap_iotlb_free(tlb);
	vhost_iotlb_fail_at = 0;
	tlb = vtap_iotlb_alloc(limit);
}

/* where @iova stands for the owner, or the errno of a look at it */
static long long where(u64 iova, u32 access)
{
	struct vtap_span span;
	int ret = vtap_iotlb_find(tlb, iova, access, &span);

	if (ret)
		return ret;
	CHECK(iova - span.gpa < span.size);
	return iova + span.delta;
}

static void lookup(void)
{
	fresh(64);
	CHECK_EQ(where(0, RO), -EAGAIN);
	CHECK_EQ(vtap_iotlb_update(tlb, 0x1000, 0x1000, 0x70000, RW), 0);
	CHECK_EQ(vtap_iotlb_update(tlb, 0x2000, 1, 0x50000, RO), 0);
	CHECK_EQ(vtap_iotlb_update(tlb, 0, 0x1000, 0x90000, WO), 0);
	/* bits beyond those known mean nothing; 0 forbids */
	CHECK_EQ(vtap_iotlb_update(tlb, 0x8000, 0x1000, 0x90000, 0xfc), 0);
	CHECK_EQ(vtap_iotlb_update(tlb, 0x9000, 0x1000, 0x90000, 0xfd), 0);

	CHECK_EQ(where(0, WO), 0x90000);
	CHECK_EQ(where(0, RO), -EPERM);
	CHECK_EQ(where(0xfff, WO), 0x90fff);
	CHECK_EQ(where(0x1000, RO), 0x70000);
	CHECK_EQ(where(0x1000, WO), 0x70000);
	CHECK_EQ(where(0x1fff, WO), 0x70fff);
	CHECK_EQ(where(0x2000, RO), 0x50000);
	CHECK_EQ(where(0x2000, WO), -EPERM);
	CHECK_EQ(where(0x2001, RO), -EAGAIN);
	CHECK_EQ(where(0x8000, RO), -EPERM);
	CHECK_EQ(where(0x8000, WO), -EPERM);
	CHECK_EQ(where(0x9000, RO), 0x90000);
	CHECK_EQ(where(0x9000, WO), -EPERM);
	CHECK_EQ(where(~0ULL, RO), -EAGAIN);

	CHECK(!vtap_iotlb_alloc(0));
	CHECK(!vtap_iotlb_alloc(-1));
	vtap_iotlb_free(NULL);
}

static void case10_refused(void)
{
	const u64 limit = (1ULL << 47) - 4096;

	fresh(64);
	CHECK_EQ(vtap_iotlb_update(tlb, 0, 0, 0x1000, RW), -EFAULT);
	CHECK_EQ(vtap_iotlb_update(tlb, 0x1000, 0, 0x1000, RW), -EFAULT);
	CHECK_EQ(vtap_iotlb_update(tlb, ~0ULL, 2, 0x1000, RW), -EFAULT);
	CHECK_EQ(vtap_iotlb_update(tlb, 2, ~0ULL, 0x1000, RW), -EFAULT);
	CHECK_EQ(vtap_iotlb_update(tlb, 0, ~0ULL, 0, RW), -EFAULT);
	CHECK_EQ(vtap_iotlb_update(tlb, 0, 0x1000, limit - 0xfff, RO), -EFAULT);
	CHECK_EQ(vtap_iotlb_update(tlb, 0, 0x1000, limit - 0xfff, WO), -EFAULT);
	CHECK_EQ(vtap_iotlb_update(tlb, 0, 0x1000, ~0ULL - 0xffe, 0), -EFAULT);
	CHECK_EQ(tlb->nmaps, 0);
	CHECK_EQ(vtap_iotlb_update(tlb, 0, 0x1000, limit - 0x1000, RW), 0);
	/* what nobody may touch may be anywhere */
	CHECK_EQ(vtap_iotlb_update(tlb, 0x1000, 0x1000, ~0ULL - 0xfff, 0), 0);
	CHECK_EQ(tlb->nmaps, 2);
	CHECK_EQ(where(0xfff, RW), limit - 1);
}

static void replaced(void)
{
	fresh(64);
	CHECK_EQ(vtap_iotlb_update(tlb, 0x1000, 0x4000, 0x70000, RW), 0);
	CHECK_EQ(vtap_iotlb_update(tlb, 0x2000, 0x1000, 0x50000, RO), 0);
	CHECK_EQ(tlb->nmaps, 3);
	CHECK_EQ(where(0x1fff, WO), 0x70fff);
	CHECK_EQ(where(0x2000, RO), 0x50000);
	CHECK_EQ(where(0x2fff, RO), 0x50fff);
	CHECK_EQ(where(0x2fff, WO), -EPERM);
	CHECK_EQ(where(0x3000, WO), 0x72000);
	CHECK_EQ(where(0x4fff, WO), 0x73fff);
	/* across all three */
	CHECK_EQ(vtap_iotlb_update(tlb, 0x1800, 0x3000, 0x10000, RW), 0);
	CHECK_EQ(tlb->nmaps, 3);
	CHECK_EQ(where(0x17ff, WO), 0x707ff);
	CHECK_EQ(where(0x1800, WO), 0x10000);
	CHECK_EQ(where(0x47ff, WO), 0x12fff);
	CHECK_EQ(where(0x4800, WO), 0x73800);
	/* the same again */
	CHECK_EQ(vtap_iotlb_update(tlb, 0x1800, 0x3000, 0x20000, RW), 0);
	CHECK_EQ(tlb->nmaps, 3);
	CHECK_EQ(where(0x1800, WO), 0x20000);
}

static void no_memory(void)
{
	u32 at;

	for (at = 1; at <= 3; at++) {
		fresh(64);
		CHECK_EQ(vtap_iotlb_update(tlb, 0x1000, 0x3000, 0x70000, RW), 0);
		vhost_iotlb_fail_at = at;
		CHECK_EQ(vtap_iotlb_update(tlb, 0x2000, 0x1000, 0x50000, RW),
			 at == 3 ? -EFAULT : 0);
		/* what is lost misses; nothing is wrong */
		CHECK_EQ(where(0x1000, RO), at == 1 ? -EAGAIN : 0x70000);
		CHECK_EQ(where(0x2000, RO), at == 3 ? -EAGAIN : 0x50000);
		CHECK_EQ(where(0x3000, RO), at == 2 ? -EAGAIN : 0x72000);
	}
}

static void case11_invalidate(void)
{
	u64 i;

	fresh(64);
	for (i = 0; i < 8; i++)
		CHECK_EQ(vtap_iotlb_update(tlb, i << 12, 0x1000, 0x100000 + (i << 12), RW), 0);
	/* nothing, but at address 0 everything */
	vtap_iotlb_invalidate(tlb, 0x1000, 0);
	vtap_iotlb_invalidate(tlb, ~0ULL, 0);
	CHECK_EQ(tlb->nmaps, 8);
	/* those that the range touches, and no other */
	vtap_iotlb_invalidate(tlb, 0x1fff, 2);
	CHECK_EQ(tlb->nmaps, 6);
	CHECK_EQ(where(0xfff, RO), 0x100fff);
	CHECK_EQ(where(0x1000, RO), -EAGAIN);
	CHECK_EQ(where(0x2fff, RO), -EAGAIN);
	CHECK_EQ(where(0x3000, RO), 0x103000);
	/* one that wraps ends at the end */
	vtap_iotlb_invalidate(tlb, 0x7000, ~0ULL);
	CHECK_EQ(tlb->nmaps, 5);
	CHECK_EQ(where(0, RO), 0x100000);
	vtap_iotlb_invalidate(tlb, 0, 0);
	CHECK_EQ(tlb->nmaps, 0);
}

static void case12_oldest_goes(void)
{
	u64 i;

	fresh(3);
	for (i = 0; i < 100; i++) {
		CHECK_EQ(vtap_iotlb_update(tlb, i << 12, 0x1000, 0x100000 + (i << 12), RW), 0);
		CHECK(tlb->nmaps <= 3);
		CHECK_EQ(where(i << 12, RO), 0x100000 + (i << 12));
		if (i > 2)
			CHECK_EQ(where((i - 3) << 12, RO), -EAGAIN);
	}
	CHECK_EQ(tlb->nmaps, 3);
	CHECK_EQ(where(97 << 12, RO), 0x100000 + (97 << 12));
}

static void case13_last_byte(void)
{
	fresh(64);
	CHECK_EQ(vtap_iotlb_update(tlb, ~0ULL - 0xfff, 0x1000, 0x7000, RW), 0);
	CHECK_EQ(where(~0ULL, WO), 0x7fff);
	CHECK_EQ(where(~0ULL - 0xfff, WO), 0x7000);
	CHECK_EQ(where(~0ULL - 0x1000, WO), -EAGAIN);
	CHECK_EQ(where(0, WO), -EAGAIN);
	/* its last byte replaced, and gone */
	CHECK_EQ(vtap_iotlb_update(tlb, ~0ULL, 1, 0x9000, RO), 0);
	CHECK_EQ(where(~0ULL, RO), 0x9000);
	CHECK_EQ(where(~0ULL - 1, WO), 0x7ffe);
	vtap_iotlb_invalidate(tlb, ~0ULL, 1);
	CHECK_EQ(where(~0ULL, RO), -EAGAIN);
	CHECK_EQ(where(~0ULL - 1, WO), 0x7ffe);
}

static int range(u64 iova, u64 len, u32 access, u64 *uaddr, u64 *end)
{
	int ret;

	*end = iova;
	*uaddr = 0;
	ret = vtap_iotlb_find_range(tlb, end, len, access, uaddr);
	return ret;
}

static void ranges(void)
{
	u64 uaddr, end;

	fresh(64);
	CHECK_EQ(vtap_iotlb_update(tlb, 0x1000, 0x1000, 0x71000, RW), 0);
	CHECK_EQ(vtap_iotlb_update(tlb, 0x2000, 0x1000, 0x72000, RW), 0);
	CHECK_EQ(vtap_iotlb_update(tlb, 0x3000, 0x1000, 0x73000, RO), 0);
	CHECK_EQ(vtap_iotlb_update(tlb, 0x4000, 0x1000, 0x84000, RW), 0);
	CHECK_EQ(vtap_iotlb_update(tlb, ~0ULL - 0xfff, 0x1000, 0x7000, RW), 0);

	CHECK_EQ(range(0x1ff0, 0x10, WO, &uaddr, &end), 0);
	CHECK_EQ(uaddr, 0x71ff0);
	CHECK_EQ(range(0x1ff0, 0x11, WO, &uaddr, &end), 0);
	CHECK_EQ(uaddr, 0x71ff0);
	CHECK_EQ(range(0x1000, 0x3000, RO, &uaddr, &end), 0);
	CHECK_EQ(uaddr, 0x71000);
	CHECK_EQ(range(0x1000, 0x2001, WO, &uaddr, &end), -EPERM);
	/* not in one piece */
	CHECK_EQ(range(0x1000, 0x3001, RO, &uaddr, &end), -EFAULT);
	CHECK_EQ(range(0x4000, 0x1001, RO, &uaddr, &end), -EAGAIN);
	CHECK_EQ(end, 0x5000);
	CHECK_EQ(range(0x800, 0x1000, RO, &uaddr, &end), -EAGAIN);
	CHECK_EQ(end, 0x800);
	CHECK_EQ(range(~0ULL, 1, RO, &uaddr, &end), 0);
	CHECK_EQ(uaddr, 0x7fff);
	CHECK_EQ(range(~0ULL, 2, RO, &uaddr, &end), -EFAULT);
}

static void put(u8 *bytes, int type, const struct vhost_iotlb_msg *msg)
{
	memset(bytes, 0xee, 72);
	memcpy(bytes, &type, sizeof(type));
	memcpy(bytes + 8, msg, sizeof(*msg));
}

static void case14_messages(void)
{
	struct vhost_iotlb_msg msg, up = {
		.iova = 0x1000, .size = 0x1000, .uaddr = 0x70000, .perm = RW,
		.type = VHOST_IOTLB_UPDATE,
	};
	const int types[] = { VHOST_IOTLB_MSG, VHOST_IOTLB_MSG_V2 };
	u8 bytes[72];
	u32 i, len;

	fresh(64);
	for (i = 0; i < 2; i++) {
		put(bytes, types[i], &up);
		for (len = 0; len <= 72; len++)
			CHECK_EQ(vtap_iotlb_msg_parse(bytes, len, &msg), len < 40 ? -EINVAL : 72);
		CHECK(!memcmp(&msg, &up, sizeof(up)));
	}
	put(bytes, 0, &up);
	CHECK_EQ(vtap_iotlb_msg_parse(bytes, 72, &msg), -EINVAL);
	put(bytes, 3, &up);
	CHECK_EQ(vtap_iotlb_msg_parse(bytes, 72, &msg), -EINVAL);
	msg = up;
	msg.size = 0;
	put(bytes, 1, &msg);
	CHECK_EQ(vtap_iotlb_msg_parse(bytes, 72, &msg), -EINVAL);

	CHECK_EQ(vtap_iotlb_msg_apply(NULL, &up), -EFAULT);
	CHECK_EQ(vtap_iotlb_msg_apply(tlb, &up), 0);
	CHECK_EQ(where(0x1fff, WO), 0x70fff);
	CHECK(!vtap_iotlb_msg_answers(&up, 0xfff));
	CHECK(vtap_iotlb_msg_answers(&up, 0x1000));
	CHECK(vtap_iotlb_msg_answers(&up, 0x1fff));
	CHECK(!vtap_iotlb_msg_answers(&up, 0x2000));
	for (i = 0; i < 256; i++) {
		if (i == VHOST_IOTLB_UPDATE || i == VHOST_IOTLB_INVALIDATE)
			continue;
		msg = up;
		msg.type = i;
		CHECK_EQ(vtap_iotlb_msg_apply(tlb, &msg), -EFAULT);
		CHECK(!vtap_iotlb_msg_answers(&msg, 0x1000));
	}
	CHECK_EQ(tlb->nmaps, 1);
	msg = up;
	msg.type = VHOST_IOTLB_INVALIDATE;
	CHECK_EQ(vtap_iotlb_msg_apply(tlb, &msg), 0);
	CHECK(!vtap_iotlb_msg_answers(&msg, 0x1000));
	CHECK_EQ(where(0x1000, RO), -EAGAIN);
}

static void case6_padding(void)
{
	const struct vhost_iotlb_msg miss = {
		.iova = 0x123456789, .perm = WO, .type = VHOST_IOTLB_MISS,
	};
	union vtap_iotlb_wire wire;
	u8 want[72];
	int v2, type;

	for (v2 = 0; v2 < 2; v2++) {
		type = v2 ? VHOST_IOTLB_MSG_V2 : VHOST_IOTLB_MSG;
		memset(want, 0, sizeof(want));
		memcpy(want, &type, sizeof(type));
		memcpy(want + 8, &miss, sizeof(miss));
		memset(&wire, 0xcc, sizeof(wire));
		vtap_iotlb_msg_miss(&wire, v2, 0x123456789, WO);
		CHECK_EQ(sizeof(wire), 72);
		CHECK(!memcmp(&wire, want, sizeof(want)));
	}
}

static const struct tap_test tests[] = {
	{ "lookup", lookup },
	{ "case10_refused", case10_refused },
	{ "replaced", replaced },
	{ "no_memory", no_memory },
	{ "case11_invalidate", case11_invalidate },
	{ "case12_oldest_goes", case12_oldest_goes },
	{ "case13_last_byte", case13_last_byte },
	{ "ranges", ranges },
	{ "case14_messages", case14_messages },
	{ "case6_padding", case6_padding },
};

int main(int argc, char **argv)
{
	int ret = tap_run(tests, sizeof(tests) / sizeof(tests[0]), argc > 1 ? argv[1] : NULL);

	vtap_iotlb_free(tlb);
	return ret;
}
