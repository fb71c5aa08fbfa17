// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unit tests of the split ring behind an IOTLB.
 *
 * Plan: addresses of the ring and in it; what misses, where, and what is kept
 * then (I2); what is forbidden; indirect tables; the mapping hit last, and that
 * nobody uses it after a change; the used ring in the dirty log.
 */
#include <sys/mman.h>

#include "ring_tests.h"
#include "../../../drivers/vhost_tap/log.h"

#define RO	VHOST_ACCESS_RO
#define WO	VHOST_ACCESS_WO
#define RW	VHOST_ACCESS_RW

#define RING_IOVA	0x500000000ULL
/* buffers have the addresses that they would have without an IOTLB */
#define TABLE(n)	BUF(0x80 + (n))

static struct vhost_iotlb *tlb;
static struct vtap_mem *window;

/* @len bytes at offset @off of guest memory, and whole pages around them */
static void map(u64 iova, u64 off, u64 len, u32 perm)
{
	CHECK_EQ(vtap_iotlb_update(tlb, iova, len, (unsigned long)drv.mem + off, perm), 0);
	vtap_ring_forget(R);
}

static void unmap(u64 iova, u64 len)
{
	vtap_iotlb_invalidate(tlb, iova, len);
	vtap_ring_forget(R);
}

static void map_buf(u32 n, u32 count, u32 perm)
{
	map(BUF(n), DRV_BUF + n * 0x1000ULL, count * 0x1000ULL, perm);
}

/* a ring with an IOTLB that is empty */
static void init(u32 num, bool writable, u64 features)
{
	drv_init(num, writable, features);
	vtap_iotlb_free(tlb);
	tlb = vtap_iotlb_alloc(256);
	if (!window)
		window = calloc(1, sizeof(*window) + sizeof(window->region[0]));
	window->nr = 0;
	R->tlb = tlb;
	R->window = window;
	R->mem = window;
	R->guest_mem = drv.table;
	R->desc_iova = RING_IOVA + DRV_DESC;
	R->avail_iova = RING_IOVA + DRV_AVAIL;
	R->used_iova = RING_IOVA + DRV_USED;
	vtap_ring_forget(R);
}

static void map_ring(void)
{
	map(RING_IOVA + DRV_DESC, DRV_DESC, 0x1000, RO);
	map(RING_IOVA + DRV_AVAIL, DRV_AVAIL, 0x1000, RO);
	map(RING_IOVA + DRV_USED, DRV_USED, 0x1000, WO);
}

static void ready(u32 num, bool writable, u64 features)
{
	init(num, writable, features);
	map_ring();
	CHECK_EQ(vtap_ring_start(R), 0);
	CHECK_EQ(vtap_ring_map(R), 0);
	CHECK(vtap_ring_ready(R));
}

static void check_miss(int ret, u64 iova, u32 access)
{
	CHECK_EQ(ret, -EAGAIN);
	CHECK_EQ(R->miss_iova, iova);
	CHECK_EQ(R->miss_access, access);
	CHECK_EQ(R->err, 0);
}

static void ring_addresses(void)
{
	init(16, false, F_EVENT_IDX);
	CHECK(!vtap_ring_ready(R));
	check_miss(vtap_ring_start(R), RING_IOVA + DRV_USED, WO);
	map(RING_IOVA + DRV_USED, DRV_USED, 4, WO);
	CHECK_EQ(vtap_ring_start(R), 0);
	/* one after the other, and all of each */
	check_miss(vtap_ring_map(R), RING_IOVA + DRV_DESC, RO);
	map(RING_IOVA + DRV_DESC, DRV_DESC, 255, RO);
	check_miss(vtap_ring_map(R), RING_IOVA + DRV_DESC + 255, RO);
	map(RING_IOVA + DRV_DESC, DRV_DESC, 256, RO);
	check_miss(vtap_ring_map(R), RING_IOVA + DRV_AVAIL, RO);
	map(RING_IOVA + DRV_AVAIL, DRV_AVAIL, 4 + 32, RO);
	/* event fields belong to it */
	check_miss(vtap_ring_map(R), RING_IOVA + DRV_AVAIL + 36, RO);
	map(RING_IOVA + DRV_AVAIL, DRV_AVAIL, 4 + 32 + 2, RO);
	check_miss(vtap_ring_map(R), RING_IOVA + DRV_USED + 4, WO);
	map(RING_IOVA + DRV_USED, DRV_USED, 4 + 128 + 2, WO);
	CHECK_EQ(vtap_ring_map(R), 0);
	CHECK(vtap_ring_ready(R));
	CHECK(R->desc == drv.desc && R->avail == drv.avail && R->used == drv.used);

	/* elsewhere afterwards */
	map(RING_IOVA + DRV_DESC, DRV_DESC + 0x1000, 256, RO);
	CHECK(!vtap_ring_ready(R));
	CHECK_EQ(vtap_ring_map(R), 0);
	CHECK(R->desc == drv.desc + 256);

	/* forbidden, or in two pieces: broken */
	map(RING_IOVA + DRV_USED, DRV_USED, 200, RO);
	CHECK_EQ(vtap_ring_map(R), -EPROTO);
	CHECK_EQ(R->err, VHOST_TAP_RING_ERR_ADDRESS);
	CHECK_EQ(vtap_ring_start(R), -EFAULT);
	map_ring();
	CHECK_EQ(vtap_ring_start(R), 0);
	CHECK_EQ(vtap_ring_map(R), 0);
	map(RING_IOVA + DRV_DESC + 128, DRV_DESC, 128, RO);
	CHECK_EQ(vtap_ring_map(R), -EPROTO);
	CHECK_EQ(R->err, VHOST_TAP_RING_ERR_ADDRESS);
}

static void buffers(void)
{
	u32 i;

	ready(16, false, 0);
	map_buf(0, 2, RO);
	map_buf(3, 2, RO);
	CHECK_EQ(vtap_ring_map(R), 0);
	/* 0, 1 and 3 are mapped, the one between them is not */
	add_singles(0, 4);
	CHECK_EQ(vtap_ring_fetch(R, 64), 2);
	for (i = 0; i < 2; i++)
		CHECK(drv_seg(i, 0)->iov_base == drv.mem + DRV_BUF + i * 0x1000);
	check_miss(vtap_ring_fetch(R, 64), BUF(2), RO);
	check_miss(vtap_ring_fetch(R, 64), BUF(2), RO);
	CHECK_EQ(vtap_ring_outstanding(R), 2);
	CHECK_EQ(vtap_ring_complete(R, 2), 0);
	CHECK_EQ(drv_used_idx(), 2);

	map(BUF(2), DRV_BUF + 0x80000, 0x1000, RO);
	CHECK_EQ(vtap_ring_map(R), 0);
	CHECK_EQ(vtap_ring_fetch(R, 64), 2);
	CHECK(drv_seg(0, 0)->iov_base == drv.mem + DRV_BUF + 0x80000);
	CHECK(drv_seg(1, 0)->iov_base == drv.mem + DRV_BUF + 0x3000);
	vtap_ring_unfetch(R, 2);

	/* what was hit last is not known any more */
	map(BUF(2), DRV_BUF + 0x90000, 0x1000, RO);
	CHECK_EQ(vtap_ring_map(R), 0);
	CHECK_EQ(vtap_ring_fetch(R, 1), 1);
	CHECK(drv_seg(0, 0)->iov_base == drv.mem + DRV_BUF + 0x90000);
	vtap_ring_unfetch(R, 1);
	unmap(BUF(2), 1);
	CHECK_EQ(vtap_ring_map(R), 0);
	check_miss(vtap_ring_fetch(R, 1), BUF(2), RO);
	unmap(0, 0);
	CHECK(!vtap_ring_ready(R));
	check_miss(vtap_ring_map(R), RING_IOVA + DRV_DESC, RO);
}

/* a buffer of several mappings, and one that ends where none is */
static void across(void)
{
	ready(16, true, 0);
	map(BUF(0), DRV_BUF + 0x10000, 0x1000, WO);
	map(BUF(1), DRV_BUF + 0x30000, 0x1000, RW);
	CHECK_EQ(vtap_ring_map(R), 0);
	drv_desc(0, BUF(0) + 0x800, 0x1000, WRITE, 0);
	drv_add(0);
	drv_desc(1, BUF(1) + 0xfff, 2, WRITE, 0);
	drv_add(1);
	CHECK_EQ(vtap_ring_fetch(R, 8), 1);
	CHECK_EQ(vtap_ring_chain(R, 0)->nsegs, 2);
	CHECK(drv_seg(0, 0)->iov_base == drv.mem + DRV_BUF + 0x10800);
	CHECK_EQ(drv_seg(0, 0)->iov_len, 0x800);
	CHECK(drv_seg(0, 1)->iov_base == drv.mem + DRV_BUF + 0x30000);
	CHECK_EQ(R->nr_segs, 2);
	check_miss(vtap_ring_fetch(R, 8), BUF(2), WO);
	CHECK_EQ(R->nr_segs, 2);
	vtap_ring_unfetch(R, 1);

	/* a chain of two, the second one unmapped: none of it is fetched */
	ready(16, true, 0);
	map_buf(0, 1, WO);
	CHECK_EQ(vtap_ring_map(R), 0);
	drv_desc(0, BUF(0), 100, WRITE | NEXT, 1);
	drv_desc(1, BUF(9), 100, WRITE, 0);
	drv_add(0);
	check_miss(vtap_ring_fetch(R, 8), BUF(9), WO);
	CHECK_EQ(R->nr_segs, 0);
	CHECK_EQ(R->last_avail, 0);
	map_buf(9, 1, WO);
	CHECK_EQ(vtap_ring_map(R), 0);
	CHECK_EQ(vtap_ring_fetch(R, 8), 1);
	CHECK_EQ(vtap_ring_chain(R, 0)->nsegs, 2);
}

static void permissions(void)
{
	int w;

	for (w = 0; w < 2; w++) {
		ready(16, w, 0);
		map_buf(0, 1, w ? WO : RO);
		map_buf(1, 1, w ? RO : WO);
		CHECK_EQ(vtap_ring_map(R), 0);
		add_singles(0, 2);
		CHECK_EQ(vtap_ring_fetch(R, 8), 1);
		CHECK_EQ(vtap_ring_complete(R, 1), 0);
		CHECK_EQ(vtap_ring_fetch(R, 8), -EPROTO);
		CHECK_EQ(R->err, VHOST_TAP_RING_ERR_ADDRESS);
	}
}

/* a table is read, whatever its buffers are for */
static void tables(void)
{
	int w;

	for (w = 0; w < 2; w++) {
		u16 dir = w ? WRITE : 0;
		u32 i;

		ready(16, w, F_INDIRECT);
		for (i = 0; i < 3; i++)
			drv_entry(TABLE(0), i, BUF(i), 100, dir | (i < 2 ? NEXT : 0), i + 1);
		drv_desc(0, TABLE(0), 48, INDIRECT, 0);
		drv_add(0);
		check_miss(vtap_ring_fetch(R, 8), TABLE(0), RO);
		map(TABLE(0), DRV_BUF + 0x80000, 0x1000, RO);
		CHECK_EQ(vtap_ring_map(R), 0);
		check_miss(vtap_ring_fetch(R, 8), BUF(0), w ? WO : RO);
		map_buf(0, 2, w ? WO : RO);
		CHECK_EQ(vtap_ring_map(R), 0);
		check_miss(vtap_ring_fetch(R, 8), BUF(2), w ? WO : RO);
		map_buf(2, 1, RW);
		CHECK_EQ(vtap_ring_map(R), 0);
		CHECK_EQ(vtap_ring_fetch(R, 8), 1);
		CHECK_EQ(vtap_ring_chain(R, 0)->nsegs, 3);
		vtap_ring_unfetch(R, 1);
		/* twice the same table, from the mapping that is known */
		CHECK_EQ(vtap_ring_fetch(R, 8), 1);
		vtap_ring_unfetch(R, 1);

		/* by next fields, one mapping an entry */
		map(TABLE(0), DRV_BUF + 0x80000, 24, RO);
		map(TABLE(0) + 24, DRV_BUF + 0x80000 + 24, 0x1000 - 24, RO);
		CHECK_EQ(vtap_ring_map(R), 0);
		CHECK_EQ(vtap_ring_fetch(R, 8), 1);
		CHECK_EQ(vtap_ring_chain(R, 0)->nsegs, 3);
		vtap_ring_unfetch(R, 1);
		unmap(TABLE(0) + 24, 1);
		CHECK_EQ(vtap_ring_map(R), 0);
		check_miss(vtap_ring_fetch(R, 8), TABLE(0) + 24, RO);

		map(TABLE(0), DRV_BUF + 0x80000, 0x1000, WO);
		CHECK_EQ(vtap_ring_map(R), 0);
		CHECK_EQ(vtap_ring_fetch(R, 8), -EPROTO);
		CHECK_EQ(R->err, VHOST_TAP_RING_ERR_ADDRESS);
	}
}

/* the last byte of the address space can be used; nothing goes beyond (case 13) */
static void case13_last_byte(void)
{
	ready(16, false, 0);
	map(~0ULL - 0xfff, DRV_BUF, 0x1000, RO);
	map(0, DRV_BUF, 0x1000, RO);
	CHECK_EQ(vtap_ring_map(R), 0);
	drv_desc(0, ~0ULL - 9, 10, 0, 0);
	drv_add(0);
	CHECK_EQ(vtap_ring_fetch(R, 8), 1);
	CHECK(drv_seg(0, 0)->iov_base == drv.mem + DRV_BUF + 0xff6);
	CHECK_EQ(vtap_ring_complete(R, 1), 0);
	drv_desc(1, ~0ULL - 9, 11, 0, 0);
	drv_add(1);
	CHECK_EQ(vtap_ring_fetch(R, 8), -EPROTO);
	CHECK_EQ(R->err, VHOST_TAP_RING_ERR_ADDRESS);
}

/* by what the guest calls it, not by the address that it was written under */
static void logged(void)
{
	static u8 *bitmap;
	u64 page;
	u32 i, n = 0;

	if (!bitmap)
		bitmap = mmap(NULL, 0x4000, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(bitmap, 0, 0x4000);
	ready(16, true, 0);
	guest_map(bitmap, 0x4000, true);
	R->log.base = (unsigned long)bitmap;
	R->log.used_gpa = RING_IOVA + DRV_USED;
	R->log.what = VTAP_LOG_DATA | VTAP_LOG_USED;
	map(0x700000, DRV_BUF + 0x5000, 0x1000, WO);
	CHECK_EQ(vtap_ring_map(R), 0);
	drv_desc(0, 0x700800, 100, WRITE, 0);
	drv_add(0);
	CHECK_EQ(vtap_ring_fetch(R, 8), 1);
	vtap_ring_chain(R, 0)->written = 100;
	CHECK_EQ(vtap_ring_complete(R, 1), 0);
	CHECK_EQ(R->err, 0);
	page = BUF(5) / 4096;
	CHECK(bitmap[page / 8] >> page % 8 & 1);
	page = gpa_of(DRV_USED) / 4096;
	CHECK(bitmap[page / 8] >> page % 8 & 1);
	for (i = 0; i < 0x4000; i++)
		n += __builtin_popcount(bitmap[i]);
	CHECK_EQ(n, 2);

	/* a used ring in memory that is not the guest's cannot be logged */
	drv_table_clear();
	drv_table_add(BUF(0), 0x100000, DRV_BUF);
	CHECK_EQ(drv_table_done(), 0);
	CHECK_EQ(vtap_ring_start(R), 0);
	CHECK_EQ(R->err, VHOST_TAP_RING_ERR_FAULT);
}

static const struct tap_test tests[] = {
	{ "ring_addresses", ring_addresses },
	{ "buffers", buffers },
	{ "across", across },
	{ "permissions", permissions },
	{ "tables", tables },
	{ "case13_last_byte", case13_last_byte },
	{ "logged", logged },
};

int main(int argc, char **argv)
{
	int ret = tap_run(tests, sizeof(tests) / sizeof(tests[0]), argc > 1 ? argv[1] : NULL);

	vtap_iotlb_free(tlb);
	free(window);
	return ret;
}
