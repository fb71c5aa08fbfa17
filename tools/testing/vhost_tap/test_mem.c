// SPDX-License-Identifier: GPL-2.0-only
/*
 * Unit tests of the memory table: mem.c.
 *
 * Plan: lookup at every edge; what is refused (case 10); the end of the
 * address space (case 13); many regions (part of case 47); overlaps.
 */
#include <stdio.h>

#include "guest.h"
#include "tap.h"
#include "../../../drivers/vhost_tap/mem.h"

static struct vtap_mem *mem;

static void clear(void)
{
	if (!mem)
		mem = calloc(1, sizeof(*mem) + 1024 * sizeof(mem->region[0]));
	mem->nr = 0;
}

/* As the caller of vtap_mem_check_sort() fills it in: no check at all. */
static void add(u64 gpa, u64 size, u64 uaddr)
{
	struct vtap_region *reg = &mem->region[mem->nr++];

	reg->gpa = gpa;
	reg->last = gpa + size - 1;
	reg->uaddr = uaddr;
	reg->order = 99;
}

/* Where @gpa lies for the owner; 0 for nowhere. */
static u64 where(u64 gpa)
{
	const struct vtap_region *reg = vtap_mem_find(mem, gpa);

	return reg ? reg->uaddr + (gpa - reg->gpa) : 0;
}

static void lookup(void)
{
	clear();
	CHECK(!vtap_mem_find(NULL, 0));
	CHECK(!vtap_mem_find(mem, 0));
	CHECK_EQ(vtap_mem_check_sort(mem), 0);
	CHECK(!vtap_mem_find(mem, 0));

	add(0x100000, 0x1000, 0x30000);
	add(0, 0xa0000, 0x10000000);
	add(0x100000000, 0x80000000, 0x7f0000000000);
	add(0x101000, 1, 0x50000);
	CHECK_EQ(vtap_mem_check_sort(mem), 0);
	CHECK_EQ(mem->nr, 4);
	CHECK_EQ(where(0), 0x10000000);
	CHECK_EQ(where(0x9ffff), 0x1009ffff);
	CHECK_EQ(where(0xa0000), 0);
	CHECK_EQ(where(0xfffff), 0);
	CHECK_EQ(where(0x100000), 0x30000);
	CHECK_EQ(where(0x100fff), 0x30fff);
	CHECK_EQ(where(0x101000), 0x50000);
	CHECK_EQ(where(0x101001), 0);
	CHECK_EQ(where(0xffffffff), 0);
	CHECK_EQ(where(0x100000000), 0x7f0000000000);
	CHECK_EQ(where(0x17fffffff), 0x7f007fffffff);
	CHECK_EQ(where(0x180000000), 0);
	CHECK_EQ(where(~0ULL), 0);
}

static int one(u64 gpa, u64 size, u64 uaddr)
{
	clear();
	add(0x1000, 0x1000, 0x1000);
	add(gpa, size, uaddr);
	return vtap_mem_check_sort(mem);
}

/* Empty and wrapping regions (case 10), and those outside of the address space. */
static void case10_refused(void)
{
	const u64 limit = (1ULL << 47) - 4096;

	CHECK_EQ(one(0, 0, 0), -EFAULT);
	CHECK_EQ(one(0, 0, 0x1000), -EFAULT);
	CHECK_EQ(one(1, 0, 0x1000), -EFAULT);
	CHECK_EQ(one(0x5000, 0, 0x1000), -EFAULT);
	CHECK_EQ(one(~0ULL, 0, 0x1000), -EFAULT);
	CHECK_EQ(one(~0ULL, 2, 0x1000), -EFAULT);
	CHECK_EQ(one(~0ULL - 0xfff, 0x1001, 0x1000), -EFAULT);
	CHECK_EQ(one(2, ~0ULL, 0), -EFAULT);
	CHECK_EQ(one(0, ~0ULL, 0), -EFAULT);
	CHECK_EQ(one(1, ~0ULL, 0), -EFAULT);
	CHECK_EQ(one(0, limit, 0), 0);
	CHECK_EQ(one(0, limit + 1, 0), -EFAULT);
	CHECK_EQ(one(0, limit, 1), -EFAULT);
	CHECK_EQ(one(0, 0x1000, limit - 0x1000), 0);
	CHECK_EQ(one(0, 0x1000, limit - 0xfff), -EFAULT);
	CHECK_EQ(one(0, 0x1000, ~0ULL - 0xfff), -EFAULT);
	CHECK_EQ(one(0, 0x1000, ~0ULL), -EFAULT);
}

static void case13_last_byte(void)
{
	CHECK_EQ(one(~0ULL - 0xfff, 0x1000, 0x7000), 0);
	CHECK_EQ(where(~0ULL), 0x7fff);
	CHECK_EQ(where(~0ULL - 0xfff), 0x7000);
	CHECK_EQ(where(~0ULL - 0x1000), 0);
	CHECK_EQ(one(~0ULL, 1, 0x7000), 0);
	CHECK_EQ(where(~0ULL), 0x7000);
}

static void case47_many(void)
{
	u32 i;

	/* as many DIMMs as there can be, in no order, with holes */
	clear();
	for (i = 0; i < 509; i++) {
		u64 k = (i * 211) % 509;

		add(k << 30, 1 << 29, 0x1000 + (k << 31));
	}
	CHECK_EQ(vtap_mem_check_sort(mem), 0);
	CHECK_EQ(mem->nr, 509);
	for (i = 0; i < 509; i++) {
		u64 k = i;

		CHECK_EQ(where(k << 30), 0x1000 + (k << 31));
		CHECK_EQ(where((k << 30) + (1 << 29) - 1), 0x1000 + (k << 31) + (1 << 29) - 1);
		CHECK_EQ(where((k << 30) + (1 << 29)), 0);
	}
}

/* The answer that overlapping regions shall give: lowest start, then first come. */
static u64 reference(const struct vtap_region *reg, u32 nr, u64 gpa)
{
	const struct vtap_region *best = NULL;
	u32 i;

	for (i = 0; i < nr; i++)
		if (gpa >= reg[i].gpa && gpa <= reg[i].last && (!best || reg[i].gpa < best->gpa))
			best = &reg[i];
	return best ? best->uaddr + (gpa - best->gpa) : 0;
}

static void overlaps(void)
{
	struct vtap_region saved[16];
	u32 round, i, nr;
	u64 gpa;

	srand(1);
	for (round = 0; round < 20000; round++) {
		clear();
		nr = 1 + rand() % 16;
		for (i = 0; i < nr; i++) {
			u64 start = rand() % 60;

			if (round & 1)
				start -= 30;	/* on both sides of 2^64 */
			else
				start += 1;
			add(start, 1 + rand() % (round & 1 && start > 60 ? 0 - start : 30),
			    0x10000 * (i + 1));
		}
		memcpy(saved, mem->region, nr * sizeof(saved[0]));
		CHECK_EQ(vtap_mem_check_sort(mem), 0);
		CHECK(mem->nr <= nr);
		for (i = 1; i < mem->nr; i++)
			CHECK(mem->region[i].gpa > mem->region[i - 1].last);
		for (gpa = (u64)-40; gpa != 100; gpa++)
			CHECK_EQ(where(gpa), reference(saved, nr, gpa));
		if (tap_failures)
			break;
	}
}

static const struct tap_test tests[] = {
	{ "lookup", lookup },
	{ "case10_refused", case10_refused },
	{ "case13_last_byte", case13_last_byte },
	{ "case47_many", case47_many },
	{ "overlaps", overlaps },
};

int main(int argc, char **argv)
{
	int ret = tap_run(tests, sizeof(tests) / sizeof(tests[0]), argc > 1 ? argv[1] : NULL);

	free(mem);
	return ret;
}
