// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fuzzing the split ring: an input is a small ring, a memory table and a list
 * of operations of driver and device, each a byte with its arguments behind
 * it. guest.c watches every access; here stands what must hold whatever a
 * driver does.
 *
 * With libFuzzer (make fuzz), or as a program that runs the files it is given.
 */
#include <stdio.h>

#include "driver.h"

#define R	(&drv.r)

/* Tables and small buffers; the rings lie before it. */
#define AREA		DRV_BUF
#define AREA_SIZE	0x4000

struct input {
	const u8 *p;
	size_t left;
};

static u64 take(struct input *in, unsigned int bytes)
{
	u64 v = 0;

	while (bytes--) {
		v = v << 8 | (in->left ? *in->p : 0);
		if (in->left) {
			in->p++;
			in->left--;
		}
	}
	return v;
}

#define MUST(cond) do {								\
	if (!(cond)) {								\
		fprintf(stderr, "%s:%d: must hold: %s\n", __FILE__, __LINE__, #cond); \
		abort();							\
	}									\
} while (0)

/* An address near an edge of something, or anywhere. */
static u64 take_gpa(struct input *in)
{
	u64 kind = take(in, 1);
	u64 off = take(in, 2);

	if (kind & 0x80 && drv.table->nr) {
		const struct vtap_region *reg = &drv.table->region[(kind & 7) % drv.table->nr];

		off = (u64)(long long)(short)off;
		return (kind & 8 ? reg->last : reg->gpa) + off;
	}
	switch (kind & 3) {
	case 0:
	case 1:
		return gpa_of(AREA) + off % AREA_SIZE;
	case 2:
		return gpa_of(0) + (off << 6);
	default:
		return take(in, 8);
	}
}

static u32 take_len(struct input *in)
{
	u32 kind = take(in, 1);

	return kind & 0x80 ? take(in, 4) : kind & 0x40 ? (kind & 0x3f) * 16 : kind;
}

static void take_table(struct input *in)
{
	u32 nr = take(in, 1) % 8, i;

	drv_table_clear();
	/* the area in pieces, so that tables and buffers lie across regions */
	for (i = 0; i < nr; i++) {
		u64 off = take(in, 2) % AREA_SIZE;
		u64 size = take(in, 2);
		u64 flags = take(in, 1);

		if (size > AREA_SIZE - off)
			size = AREA_SIZE - off;
		if (flags & 1)
			drv_table_add(0 - size, size, AREA + off);	/* up to the last byte */
		else if (flags & 2)
			drv_table_add(take(in, 8), size, AREA + off);
		else
			drv_table_add(gpa_of(AREA) + off, size, AREA + off);
	}
	if (drv_table_done())
		drv_table_clear();
	for (i = 1; i < drv.table->nr; i++)
		MUST(drv.table->region[i].gpa > drv.table->region[i - 1].last);
}

static void check_chains(void)
{
	u32 c, s, segs = 0;

	MUST(R->nr_done <= R->nr_chains && R->nr_chains <= R->max_chains);
	MUST(R->nr_segs <= R->max_segs);
	for (c = 0; c < R->nr_chains; c++) {
		const struct vtap_chain *chain = &R->chain[c];
		u64 len = 0;

		MUST(chain->seg == segs);
		MUST(chain->id < R->num);
		MUST(chain->slots >= 1 && chain->slots <= R->num);
		for (s = 0; s < chain->nsegs; s++) {
			const struct iovec *iov = &R->seg[chain->seg + s];
			u64 off = (u64)(unsigned long)iov->iov_base -
				  (u64)(unsigned long)(drv.mem + AREA);

			MUST(iov->iov_len > 0);
			MUST(off < AREA_SIZE && iov->iov_len <= AREA_SIZE - off);
			len += iov->iov_len;
		}
		MUST(len == chain->len);
		segs += chain->nsegs;
	}
	MUST(segs == R->nr_segs);
	if (R->nr_chains == R->nr_done)
		MUST(!R->nr_chains && !R->nr_segs);
}

static void check_call(int ret, unsigned long accesses)
{
	MUST(ret == -EPROTO || ret >= 0);
	MUST((ret == -EPROTO) == (R->err != VHOST_TAP_RING_ERR_NONE));
	/* no spinning: two reads for every descriptor of a batch of the worst kind */
	MUST(guest.accesses - accesses < 2 * (VTAP_BATCH * 4096 + 70000));
	check_chains();
}

static void step(struct input *in)
{
	unsigned long accesses = guest.accesses;
	u32 op = take(in, 1);
	u32 a, n;
	u64 gpa;
	u16 used = drv_used_idx(), last = R->last_avail;
	bool was_broken = R->err;
	int ret;

	switch (op % 16) {
	case 0:
	case 1:
		a = take(in, 1) & (R->num - 1);
		gpa = take_gpa(in);
		n = take_len(in);
		drv_desc(a, gpa, n, op & 16 ? take(in, 2) : op >> 5, take(in, op & 16 ? 2 : 1));
		break;
	case 2:
	case 3:
		a = take(in, 2) % (AREA_SIZE - 16);
		gpa = take_gpa(in);
		n = take_len(in);
		drv_entry(gpa_of(AREA) + a, 0, gpa, n, op & 16 ? take(in, 2) : op >> 5,
			  take(in, op & 16 ? 2 : 1));
		break;
	case 4:
	case 5:
		drv_add(op & 16 ? take(in, 2) : take(in, 1) & (R->num - 1));
		break;
	case 6:
		drv_set_avail_idx(take(in, 2));
		break;
	case 7:
	case 8:
		n = take(in, op & 16 ? 2 : 1);
		a = vtap_ring_outstanding(R);
		ret = vtap_ring_fetch(R, n);
		check_call(ret, accesses);
		MUST(ret <= (int)n);
		MUST(vtap_ring_outstanding(R) == a + (ret > 0 ? ret : 0));
		MUST(R->last_avail == (u16)(last + (ret > 0 ? ret : 0)));
		MUST(!was_broken || guest.accesses == accesses);
		break;
	case 9:
		n = vtap_ring_outstanding(R) ? take(in, 1) % (vtap_ring_outstanding(R) + 1) : 0;
		ret = vtap_ring_complete(R, n);
		check_call(ret, accesses);
		/* whoever maps buffers over the used ring may find it changed; we do not */
		MUST(drv_used_idx() == (u16)(ret || !n ? used : R->last_used));
		break;
	case 10:
		n = vtap_ring_outstanding(R) ? take(in, 1) % (vtap_ring_outstanding(R) + 1) : 0;
		vtap_ring_unfetch(R, n);
		check_chains();
		MUST(R->last_avail == (u16)(last - n));
		break;
	case 11:
		ret = op & 16 ? vtap_ring_arm(R) : vtap_ring_disarm(R);
		check_call(ret, accesses);
		break;
	case 12:
		ret = op & 16 ? vtap_ring_should_signal(R) : vtap_ring_has_avail(R);
		check_call(ret, accesses);
		break;
	case 13:
		vtap_ring_unfetch(R, vtap_ring_outstanding(R));
		if (op & 16)
			R->last_avail = take(in, 2);
		if (op & 32)
			take_table(in);
		guest.fail_at = 0;
		MUST(!vtap_ring_start(R));
		check_chains();
		break;
	case 14:
		guest.fail_at = guest.accesses + take(in, 1);
		guest.fail_after = op & 16;
		break;
	default:
		drv_set_used_event(take(in, 2));
		drv_set_avail_flags(op >> 4);
		break;
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);
int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = { data, size };
	u32 num = 1 << take(&in, 1) % 8;
	u32 flags = take(&in, 1);
	u64 features = 0;
	u32 steps = 0;

	features |= flags & 1 ? F_EVENT_IDX : 0;
	features |= flags & 2 ? F_INDIRECT : 0;
	features |= flags & 4 ? F_ON_EMPTY : 0;
	if (flags & 8)
		drv_init_be(num, flags & 16, features);
	else
		drv_init(num, flags & 16, features);
	take_table(&in);
	while (in.left && steps++ < 2000)
		step(&in);
	return 0;
}

#ifndef FUZZER
static u8 data[1 << 20];

int main(int argc, char **argv)
{
	int i;

	for (i = 1; i < argc; i++) {
		FILE *f = fopen(argv[i], "rb");
		size_t n;

		if (!f) {
			perror(argv[i]);
			return 2;
		}
		n = fread(data, 1, sizeof(data), f);
		fclose(f);
		LLVMFuzzerTestOneInput(data, n);
	}
	printf("# %d inputs run\n", argc - 1);
	return 0;
}
#endif
