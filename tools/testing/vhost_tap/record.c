// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes down what the unit tests do, in the languages of the fuzzers: that is
 * what their corpus starts from. Linked into the tests with -Wl,--wrap for each
 * __wrap_ function below; "make corpus" does. Each ring that a test sets up, and
 * each memory table it makes, becomes a file in the folder RECORD.
 */
#include <stdio.h>

#include "fuzz_ring.h"
#include "ring_tests.h"
#include "../../../drivers/vhost_tap/log.h"

/* What is longer is cut: no use to a fuzzer. */
#define REC_MAX	1500
#define MAX_FILES	2000

static struct {
	u8 buf[REC_MAX];
	size_t len;
	bool active, full;
	const char *prefix;
} rec;

static u32 nr_files;
static u32 depth;		/* calls made by calls */

/* The ring as the last operation left it. */
static struct {
	u16 avail, last_avail;
	u32 outstanding;
	unsigned long fail_at;
	bool scribble;
} known;

static void put(u64 v, u32 bytes)
{
	if (rec.len + bytes > REC_MAX)
		rec.full = true;
	while (bytes-- && !rec.full)
		rec.buf[rec.len++] = v >> (8 * bytes);
}

static void flush(void)
{
	const char *dir = getenv("RECORD");
	char path[512];
	FILE *f;

	if (!rec.active || !dir || nr_files >= MAX_FILES)
		return;
	snprintf(path, sizeof(path), "%s/%s-%s-%u", dir, rec.prefix, program_invocation_short_name,
		 nr_files++);
	f = fopen(path, "wb");
	if (!f || fwrite(rec.buf, 1, rec.len, f) != rec.len || fclose(f)) {
		perror(path);
		exit(2);
	}
	rec.active = false;
}

__attribute__((__destructor__)) static void last(void)
{
	flush();
}

static void begin(const char *prefix)
{
	flush();
	rec.len = 0;
	rec.full = false;
	rec.active = true;
	rec.prefix = prefix;
}

/* Of an operation that did not fit whole, nothing is kept. */
static bool op(u32 kind, u32 m)
{
	if (depth || !rec.active || rec.full)
		return false;
	put(OP(kind, m), 1);
	return true;
}

static void put_gpa(u64 gpa)
{
	u64 off = gpa - DRV_GPA;

	if (off >= DRV_SIZE) {
		put(3, 1);
		put(gpa, 8);
	} else if (off >= DRV_BUF && off - DRV_BUF <= 0xffff) {
		put(0, 1);
		put(off - DRV_BUF, 2);
	} else {
		put(1, 1);
		put(off, 3);
	}
}

static void put_len(u32 len)
{
	if (len < 64) {
		put(len, 1);
	} else if (!(len % 16) && len < 16 * 64) {
		put(0x40 | len / 16, 1);
	} else {
		put(0x80, 1);
		put(len, 4);
	}
}

/* What tests do without a call of a function that can be wrapped. */
static void catch_up(void)
{
	u32 now = vtap_ring_outstanding(R);

	if (depth)
		return;
	if (now < known.outstanding && op(OP_UNFETCH, 0))
		put(known.outstanding - now, 2);
	known.outstanding = now;
	if (guest.fail_at > guest.accesses && guest.fail_at != known.fail_at) {
		if (op(OP_FAIL, 1 | (guest.fail_after ? 2 : 0)))
			put(guest.fail_at - guest.accesses, 2);
	} else if (!guest.fail_at && known.fail_at) {
		if (op(OP_FAIL, 0))
			put(0, 1);
	}
	known.fail_at = guest.fail_at;
	if (guest.scribble)
		op(OP_RACE, 0);
}

static void settle(void)
{
	known.outstanding = vtap_ring_outstanding(R);
	known.last_avail = R->last_avail;
}

#define WRAP(ret, name, args)	\
	ret __real_##name args;	\
	ret __wrap_##name args;	\
	ret __wrap_##name args

static void new_ring(u32 num, bool writable, u64 features, bool be)
{
	begin("ring");
	put(__builtin_ctz(num), 1);
	put((features & F_EVENT_IDX ? RING_EVENT_IDX : 0) |
	    (features & F_INDIRECT ? RING_INDIRECT : 0) |
	    (features & F_ON_EMPTY ? RING_ON_EMPTY : 0) |
	    (be ? RING_BE : 0) | (writable ? RING_WRITABLE : 0), 1);
	memset(&known, 0, sizeof(known));
}

WRAP(void, drv_init, (u32 num, bool writable, u64 features))
{
	depth++;
	__real_drv_init(num, writable, features);
	depth--;
	new_ring(num, writable, features, false);
}

WRAP(void, drv_init_be, (u32 num, bool writable, u64 features))
{
	depth++;
	__real_drv_init_be(num, writable, features);
	depth--;
	new_ring(num, writable, features, true);
}

WRAP(int, drv_table_done, (void))
{
	u32 nr = min_t(u32, drv.table->nr, RING_MAX_REGIONS), i;
	int ret;

	catch_up();
	if (op(OP_TABLE, 0)) {
		put(nr, 1);
		for (i = 0; i < nr; i++) {
			const struct vtap_region *reg = &drv.table->region[i];
			u64 size = reg->last - reg->gpa + 1;
			u64 off = reg->uaddr - (u64)(unsigned long)drv.mem;

			if (off >= DRV_SIZE)
				off = (reg->uaddr ^ reg->uaddr >> 16) % DRV_SIZE;
			put(reg->last == ~0ULL ? 1 : reg->gpa == gpa_of(off) ? 0 : 2, 1);
			put(off, 3);
			put(size < DRV_SIZE ? size : DRV_SIZE, 3);
			if (reg->last != ~0ULL && reg->gpa != gpa_of(off))
				put(reg->gpa, 8);
		}
	}
	depth++;
	ret = __real_drv_table_done();
	depth--;
	return ret;
}

WRAP(void, drv_desc, (u32 i, u64 gpa, u32 len, u16 flags, u16 next))
{
	bool small = i < 256 && flags < 16 && next < 256;

	if (op(small ? OP_DESC8 : OP_DESC, small ? flags : 0)) {
		put(i, small ? 1 : 2);
		put_gpa(gpa);
		put_len(len);
		if (!small)
			put(flags, 2);
		put(next, small ? 1 : 2);
	}
	__real_drv_desc(i, gpa, len, flags, next);
}

WRAP(void, drv_entry, (u64 table, u32 i, u64 gpa, u32 len, u16 flags, u16 next))
{
	u64 off = table - DRV_GPA + 16 * i;
	bool small = off >= DRV_BUF && off - DRV_BUF <= 0xffff && flags < 16 && next < 256;

	if (op(small ? OP_ENTRY8 : OP_ENTRY, small ? flags : 0)) {
		put(small ? off - DRV_BUF : off, small ? 2 : 3);
		put_gpa(gpa);
		put_len(len);
		if (!small)
			put(flags, 2);
		put(next, small ? 1 : 2);
	}
	__real_drv_entry(table, i, gpa, len, flags, next);
}

static void add(u16 head)
{
	if (op(OP_ADD, head > 255))
		put(head, head > 255 ? 2 : 1);
	known.avail++;
}

WRAP(void, drv_add, (u16 head))
{
	add(head);
	__real_drv_add(head);
}

WRAP(void, drv_set_avail_idx, (u16 idx))
{
	u32 n = (u16)(idx - known.avail);

	/* entries that were written without drv_add() */
	if (!depth && n <= 64 && n <= R->num) {
		while (n--)
			add(__virtio16_to_cpu(drv.le, drv.avail->ring[known.avail & (R->num - 1)]));
	} else if (op(OP_INDEX, 0)) {
		put(idx, 2);
	}
	known.avail = idx;
	__real_drv_set_avail_idx(idx);
}

WRAP(void, add_singles, (u32 first, u32 n))
{
	u32 left = n, i = first;

	while (left) {
		u32 k = min_t(u32, left, 255);

		if (op(OP_BULK, 0)) {
			put(i, 2);
			put(k, 1);
		}
		i += k;
		left -= k;
	}
	depth++;
	__real_add_singles(first, n);
	depth--;
	known.avail += n;
}

WRAP(void, drv_set_used_event, (u16 v))
{
	if (op(OP_EVENT, 1))
		put(v, 2);
	__real_drv_set_used_event(v);
}

WRAP(void, drv_set_avail_flags, (u16 v))
{
	if (op(OP_EVENT, 2))
		put(v, 2);
	__real_drv_set_avail_flags(v);
}

WRAP(int, vtap_ring_fetch_split, (struct vtap_ring *r, u32 max))
{
	int ret;

	catch_up();
	if (op(OP_FETCH, max > 255))
		put(max, max > 255 ? 2 : 1);
	ret = __real_vtap_ring_fetch_split(r, max);
	settle();
	return ret;
}

WRAP(int, vtap_ring_complete_split, (struct vtap_ring *r, u32 n))
{
	int ret;

	catch_up();
	if (op(OP_COMPLETE, 0))
		put(n, 2);
	ret = __real_vtap_ring_complete_split(r, n);
	settle();
	return ret;
}

#define WRAP_NOTIFY(name, m)					\
WRAP(int, vtap_ring_##name##_split, (struct vtap_ring *r))	\
{								\
	catch_up();						\
	op(OP_NOTIFY, m);					\
	return __real_vtap_ring_##name##_split(r);		\
}

WRAP_NOTIFY(arm, 0)
WRAP_NOTIFY(disarm, 1)
WRAP_NOTIFY(should_signal, 2)
WRAP_NOTIFY(has_avail, 3)

WRAP(int, vtap_ring_start_split, (struct vtap_ring *r))
{
	u32 m = 0;
	int ret;

	if (!depth) {
		catch_up();
		if (drv_used_idx() != r->last_used)
			m |= 1;
		if (r->last_avail != known.last_avail)
			m |= 2;
		if (op(OP_START, m)) {
			if (m & 1)
				put(drv_used_idx(), 2);
			if (m & 2)
				put(r->last_avail, 2);
		}
	}
	ret = __real_vtap_ring_start_split(r);
	settle();
	return ret;
}

/* For fuzz_mem: the numbers as they are; several tables in a file, until it is full. */

static bool numbers(u32 kind)
{
	if (depth || (rec.active && strcmp(rec.prefix, "mem")))
		return false;
	if (!rec.active || (kind != 1 && rec.len > REC_MAX / 3)) {
		begin("mem");
		put(0, 1);
	}
	if (rec.len > REC_MAX / 2)
		return false;
	put(kind, 1);
	return true;
}

static void put_number(u64 v)
{
	put(0xc0, 1);
	put(v, 8);
}

WRAP(int, vtap_mem_check_sort, (struct vtap_mem *mem))
{
	u32 i;

	if (mem->nr <= 64 && numbers(0)) {
		put(mem->nr, 1);
		for (i = 0; i < mem->nr; i++) {
			put_number(mem->region[i].gpa);
			put_number(mem->region[i].last - mem->region[i].gpa + 1);
			put_number(mem->region[i].uaddr);
		}
	}
	return __real_vtap_mem_check_sort(mem);
}

WRAP(const struct vtap_region *, vtap_mem_find, (const struct vtap_mem *mem, u64 gpa))
{
	if (mem && rec.active && numbers(1))
		put_number(gpa);
	return __real_vtap_mem_find(mem, gpa);
}

WRAP(bool, vtap_log_access_ok, (u64 base, u64 gpa, u64 len))
{
	if (numbers(4)) {
		put_number(base);
		put_number(gpa);
		put_number(len);
	}
	return __real_vtap_log_access_ok(base, gpa, len);
}

/* For fuzz_msg: a table is an input. */
#if __has_include("../../../drivers/vhost_tap/iotlb_msg.h")
#include "../../../drivers/vhost_tap/iotlb_msg.h"

static bool message(u32 kind)
{
	return !depth && rec.active && !strcmp(rec.prefix, "msg") && op(kind, 0);
}

WRAP(struct vhost_iotlb *, vtap_iotlb_alloc, (int limit))
{
	if (limit > 0) {
		begin("msg");
		put((limit < 64 ? limit : 64) - 1, 1);
	}
	return __real_vtap_iotlb_alloc(limit);
}

WRAP(int, vtap_iotlb_update, (struct vhost_iotlb *tlb, u64 iova, u64 size, u64 uaddr, u32 perm))
{
	if (message(0)) {
		put_number(iova);
		put_number(size);
		put_number(uaddr);
		put(perm, 1);
	}
	return __real_vtap_iotlb_update(tlb, iova, size, uaddr, perm);
}

WRAP(void, vtap_iotlb_invalidate, (struct vhost_iotlb *tlb, u64 iova, u64 size))
{
	if (message(1)) {
		put_number(iova);
		put_number(size);
	}
	__real_vtap_iotlb_invalidate(tlb, iova, size);
}

WRAP(int, vtap_iotlb_find, (struct vhost_iotlb *tlb, u64 iova, u32 access, struct vtap_span *span))
{
	if (message(4 | (access == VHOST_ACCESS_WO ? 16 : 0)))
		put_number(iova);
	return __real_vtap_iotlb_find(tlb, iova, access, span);
}

WRAP(int, vtap_iotlb_msg_parse, (const void *buf, size_t len, struct vhost_iotlb_msg *msg))
{
	size_t i;

	if (len < 256 && message(2)) {
		put(len, 1);
		for (i = 0; i < len; i++)
			put(((const u8 *)buf)[i], 1);
	}
	return __real_vtap_iotlb_msg_parse(buf, len, msg);
}

WRAP(int, vtap_iotlb_msg_apply, (struct vhost_iotlb *tlb, const struct vhost_iotlb_msg *msg))
{
	int ret;

	/* parsed, and written down, already */
	depth++;
	ret = __real_vtap_iotlb_msg_apply(tlb, msg);
	depth--;
	return ret;
}

WRAP(void, vtap_iotlb_msg_miss, (union vtap_iotlb_wire *wire, bool v2, u64 iova, u32 access))
{
	if (message(7 | (v2 ? 8 : 0) | access << 4))
		put_number(iova);
	__real_vtap_iotlb_msg_miss(wire, v2, iova, access);
}
#endif
