// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fuzzing the messages of the node, and the IOTLB behind them: iotlb_msg.c and
 * iotlb.c, against a list of mappings in the order of their arrival. With a
 * kernel's source at hand (KSRC) the library below them is the kernel's own, and
 * otherwise vhost_iotlb.c. An input, numbers big-endian:
 *
 *	limit (1), 1 to 64; then operations: kind (1), K >> 3 an operand, and
 *
 *	0	NUMBER NUMBER NUMBER perm (1): map; version 2 if operand & 1
 *	1	NUMBER NUMBER: unmap, as above
 *	2	length (1) and as many bytes: whatever they are
 *	3	type (4) then as 0, with message type (1): cut off at every length
 *	4	NUMBER: look up, for operand & 3
 *	5	allocations (1): the one that fails, counted from 1; 0 for none
 *	6	limit (1): another table
 *	7	NUMBER: a miss, version 2 if operand & 1; read back
 *
 *	NUMBER	a byte K: K & 7: 0; 2^47 - 4096; 2^64 - 1; 2^63; a first or a last
 *		address that is mapped, number (1); the number before; the sum of
 *		the two numbers before. Then K >> 6: nothing; and a byte, signed;
 *		pages (1), signed; 8 bytes
 */
#include "fuzz.h"
#include "../../../drivers/vhost_tap/iotlb.h"
#include "../../../drivers/vhost_tap/iotlb_msg.h"

const char *const fuzz_name = "fuzz_msg";

#define LIMIT		((1ULL << 47) - 4096)
#define MAX_MAPS	64

/* What bytes 8 to 39 of a message are, and all that anybody looks at. */
#define MSG_BYTES	40
#define MSG_SIZE	72

typedef unsigned __int128 u128;

/* The addition that fails for want of memory. */
#ifdef VTAP_KERNEL_IOTLB
unsigned long vhost_iotlb_fail_at;
#endif

struct map {
	u64 start;
	u64 last;
	u64 addr;
	u32 perm;
};

static struct {
	u32 limit;
	u32 nr;
	struct map map[MAX_MAPS + 1];	/* the oldest first */
	unsigned long fail_at;
} model;

static struct vhost_iotlb *tlb;
static u64 before[2];	/* numbers taken last */

static u64 take_number(struct input *in)
{
	static const u64 edge[] = { 0, LIMIT, ~0ULL, 1ULL << 63 };
	u32 kind = take(in, 1);
	u64 v = 0;

	switch (kind & 7) {
	case 0 ... 3:
		v = edge[kind & 7];
		break;
	case 4:
	case 5:
		if (model.nr) {
			const struct map *map = &model.map[take(in, 1) % model.nr];

			v = kind & 1 ? map->last : map->start;
		}
		break;
	case 6:
		v = before[0];
		break;
	default:
		v = before[0] + before[1];
		break;
	}
	switch (kind >> 6) {
	case 1:
		v += (u64)(long long)(signed char)take(in, 1);
		break;
	case 2:
		v += (u64)(long long)(signed char)take(in, 1) << 12;
		break;
	case 3:
		v += take(in, 8);
		break;
	}
	before[1] = before[0];
	before[0] = v;
	return v;
}

static void fresh(u32 limit)
{
	vtap_iotlb_free(tlb);
	vhost_iotlb_fail_at = 0;
	model.limit = 1 + limit % MAX_MAPS;
	model.nr = 0;
	model.fail_at = 0;
	tlb = vtap_iotlb_alloc(model.limit);
	MUST(tlb && !tlb->nmaps);
	MUST(!vtap_iotlb_alloc(0) && !vtap_iotlb_alloc(-1));
}

/* The model */

static void forget(u32 i)
{
	model.nr--;
	memmove(&model.map[i], &model.map[i + 1], (model.nr - i) * sizeof(model.map[0]));
}

static bool add(u64 start, u64 last, u64 addr, u32 perm)
{
	/* The kernel's takes the oldest one's memory if it is full. */
#ifdef VTAP_KERNEL_IOTLB
	if (model.nr < model.limit && model.fail_at && !--model.fail_at)
#else
	if (model.fail_at && !--model.fail_at)
#endif
		return false;
	if (model.nr == model.limit)
		forget(0);
	model.map[model.nr++] = (struct map){ start, last, addr, perm };
	return true;
}

/* The mapping that starts lowest of those that touch a range. */
static struct map *touching(u64 first, u64 last)
{
	struct map *best = NULL;
	u32 i;

	for (i = 0; i < model.nr; i++) {
		struct map *map = &model.map[i];

		if (map->start <= last && map->last >= first &&
		    (!best || map->start < best->start))
			best = map;
	}
	return best;
}

/* Does what follows from an update; 0 or the errno of the write. */
static int update(const struct vhost_iotlb_msg *msg)
{
	u64 first = msg->iova, last = first + msg->size - 1;
	u32 perm = msg->perm & 3;
	struct map *map;

	if (!msg->size || (u128)first + msg->size > (u128)1 << 64 ||
	    (u128)msg->uaddr + msg->size > (u128)1 << 64 ||
	    (perm && (u128)msg->uaddr + msg->size > LIMIT))
		return -EFAULT;
	while ((map = touching(first, last))) {
		const struct map old = *map;

		forget(map - model.map);
		if (old.start < first)
			add(old.start, first - 1, old.addr, old.perm);
		if (old.last > last)
			add(last + 1, old.last, old.addr + (last + 1 - old.start), old.perm);
	}
	return add(first, last, msg->uaddr, perm) ? 0 : -EFAULT;
}

static int invalidate(const struct vhost_iotlb_msg *msg)
{
	u64 last = msg->iova + msg->size - 1;
	struct map *map;

	if (msg->size && (u128)msg->iova + msg->size > (u128)1 << 64)
		last = ~0ULL;
	if (!msg->size) {
		if (msg->iova)
			return 0;
		last = ~0ULL;
	}
	while ((map = touching(msg->iova, last)))
		forget(map - model.map);
	return 0;
}

static int apply(const struct vhost_iotlb_msg *msg)
{
	switch (msg->type) {
	case VHOST_IOTLB_UPDATE:
		return update(msg);
	case VHOST_IOTLB_INVALIDATE:
		return invalidate(msg);
	default:
		return -EFAULT;
	}
}

/* The code */

static void look_up(u64 iova, u32 access)
{
	struct vtap_span span;
	int ret = vtap_iotlb_find(tlb, iova, access, &span);
	const struct map *map = touching(iova, iova);

	if (!map) {
		MUST(ret == -EAGAIN);
	} else if (!(map->perm & access)) {
		MUST(ret == -EPERM);
	} else {
		MUST(!ret);
		MUST(span.gpa == map->start);
		MUST(span.size == map->last - map->start + 1);
		MUST(span.gpa + span.delta == map->addr);
		MUST(span.perm == map->perm);
	}
}

static void compare(void)
{
	u32 i;
	int d;

	MUST(tlb->nmaps == model.nr && model.nr <= model.limit);
	for (i = 0; i < model.nr; i++) {
		for (d = -1; d <= 1; d++) {
			look_up(model.map[i].start + d, VHOST_ACCESS_RO);
			look_up(model.map[i].last + d, VHOST_ACCESS_WO);
		}
		/* all of what may be touched belongs to the owner */
		if (model.map[i].perm)
			MUST((u128)model.map[i].addr + (model.map[i].last - model.map[i].start) <
			     LIMIT);
	}
}

/* A write of @len bytes, as the node does it. */
static void write_msg(const u8 *bytes, size_t len, bool whole)
{
	struct vhost_iotlb_msg msg, want;
	u8 *exact = malloc(len ? len : 1);
	bool known = false;
	int type, ret;

	if (!exact)
		abort();
	memcpy(exact, bytes, len);
	ret = vtap_iotlb_msg_parse(exact, len, &msg);
	if (len >= MSG_BYTES) {
		memcpy(&type, exact, sizeof(type));
		memcpy(&want, exact + 8, sizeof(want));
		known = (type == VHOST_IOTLB_MSG || type == VHOST_IOTLB_MSG_V2) &&
			!(want.type == VHOST_IOTLB_UPDATE && !want.size);
	}
	free(exact);
	MUST(ret == (known ? MSG_SIZE : -EINVAL));
	if (ret < 0 || !whole)
		return;
	MUST(msg.iova == want.iova && msg.size == want.size && msg.uaddr == want.uaddr);
	MUST(msg.perm == want.perm && msg.type == want.type);
	MUST(vtap_iotlb_msg_apply(NULL, &msg) == -EFAULT);
	ret = vtap_iotlb_msg_apply(tlb, &msg);
	MUST(ret == apply(&msg));
	/* only asked of what was applied */
	if (!ret)
		MUST(vtap_iotlb_msg_answers(&msg, before[0]) ==
		     (msg.type == VHOST_IOTLB_UPDATE && before[0] >= msg.iova &&
		      before[0] - msg.iova < msg.size));
	compare();
}

static void put_msg(u8 *bytes, int type, const struct vhost_iotlb_msg *msg)
{
	memset(bytes, 0xee, MSG_SIZE);
	memcpy(bytes, &type, sizeof(type));
	memcpy(bytes + 8, msg, sizeof(*msg));
}

static void take_msg(struct input *in, struct vhost_iotlb_msg *msg)
{
	memset(msg, 0, sizeof(*msg));
	msg->iova = take_number(in);
	msg->size = take_number(in);
}

static void miss(u64 iova, u32 operand)
{
	union vtap_iotlb_wire wire;
	bool v2 = operand & 1;
	u32 access = 1 + (operand >> 1) % 3;
	struct vhost_iotlb_msg msg, zero;
	u8 bytes[sizeof(wire)], want[sizeof(wire)] = { 0 };
	int type = v2 ? VHOST_IOTLB_MSG_V2 : VHOST_IOTLB_MSG;

	memset(&wire, 0xcc, sizeof(wire));
	vtap_iotlb_msg_miss(&wire, v2, iova, access);
	/* each byte is known, those between fields, too (case 6) */
	memset(&zero, 0, sizeof(zero));
	zero.iova = iova;
	zero.perm = access;
	zero.type = VHOST_IOTLB_MISS;
	memcpy(want, &type, sizeof(type));
	memcpy(want + 8, &zero, sizeof(zero));
	memcpy(bytes, &wire, sizeof(wire));
	MUST(sizeof(wire) == MSG_SIZE);
	MUST(!memcmp(bytes, want, sizeof(want)));
	MUST(vtap_iotlb_msg_parse(bytes, sizeof(bytes), &msg) == MSG_SIZE);
	MUST(vtap_iotlb_msg_apply(tlb, &msg) == -EFAULT);
	compare();
}

static void step(struct input *in)
{
	u32 kind = take(in, 1), operand = kind >> 3;
	int type = operand & 1 ? VHOST_IOTLB_MSG_V2 : VHOST_IOTLB_MSG;
	struct vhost_iotlb_msg msg;
	u8 bytes[256];
	u32 len, i;

	switch (kind & 7) {
	case 0:
		take_msg(in, &msg);
		msg.uaddr = take_number(in);
		msg.perm = take(in, 1);
		msg.type = VHOST_IOTLB_UPDATE;
		put_msg(bytes, type, &msg);
		write_msg(bytes, operand & 2 ? MSG_BYTES : MSG_SIZE, true);
		break;
	case 1:
		take_msg(in, &msg);
		msg.type = VHOST_IOTLB_INVALIDATE;
		put_msg(bytes, type, &msg);
		write_msg(bytes, MSG_SIZE, true);
		break;
	case 2:
		len = take(in, 1);
		for (i = 0; i < len; i++)
			bytes[i] = take(in, 1);
		write_msg(bytes, len, true);
		break;
	case 3:
		type = take(in, 4);
		take_msg(in, &msg);
		msg.uaddr = take_number(in);
		msg.perm = take(in, 1);
		msg.type = take(in, 1);
		put_msg(bytes, type, &msg);
		for (len = 0; len <= MSG_SIZE; len++)
			write_msg(bytes, len, len == MSG_SIZE);
		break;
	case 4:
		look_up(take_number(in), operand & 2 ? VHOST_ACCESS_WO : VHOST_ACCESS_RO);
		break;
	case 5:
		vhost_iotlb_fail_at = take(in, 1);
		model.fail_at = vhost_iotlb_fail_at;
		break;
	case 6:
		fresh(take(in, 1));
		break;
	case 7:
		miss(take_number(in), operand);
		break;
	}
}

void fuzz_one(struct input *in)
{
	u32 steps = 0;

	memset(before, 0, sizeof(before));
	fresh(take(in, 1));
	while (in->left && steps++ < 1000)
		step(in);
	vtap_iotlb_free(tlb);
	tlb = NULL;
}
