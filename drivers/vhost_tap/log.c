// SPDX-License-Identifier: GPL-2.0-only
/*
 * The dirty log, for live migration. Portable: touches nothing but guest.h.
 *
 * Who migrates a guest takes marks out of the bitmap, each word with one exchange,
 * copies the pages that were marked, and begins again; at last it stops the
 * queues and does that once more. So a page may be marked too often, but must
 * be after the last write to it, and before the call returns that stops the
 * queue. In detail:
 *
 *  - Written first, then marked, never the other way round: a mark that is
 *    taken before the write is lost, and the copy is old. Between the two stands
 *    [smp_wmb() in vtap_log_flush()]; its partner is the exchange, a full
 *    barrier, between which and the copy nothing else stands.
 *
 *  - Buffers are marked before they are published. They need not be, for that
 *    order would show only to a guest that goes on from a copy which was taken
 *    while the queues ran, and none does. But if marking fails, the queue stops
 *    as for any other fault, and nothing is published that was not logged.
 *
 *  - The used ring is marked after each step: index and entries behind the
 *    index, flags and available event behind themselves. If that fails, what is
 *    published stays published, and the queue stops.
 *
 *  - All of that happens in one run, with the virtqueue's mutex held, which stopping
 *    takes as well. So does switching on: the first run after VHOST_SET_FEATURES
 *    or VHOST_SET_VRING_ADDR logs all that it writes, and no run before it has
 *    left something to be written.
 *
 *  - What was written into a buffer that is not published in the end (a frame
 *    that its socket failed to deliver) is marked, too: it has changed.
 *
 * Segments are known by user address, not by what the guest called them. The
 * memory table is searched the other way round for that. So it does not matter
 * whether an address went through an IOTLB, and memory that the guest sees in
 * several places is marked in all of them.
 *
 * Marks that fall into one word of the bitmap, 32 pages, are made together. The
 * word is changed in place, atomically; its page need not be pinned for that.
 */
#include "guest.h"
#include "log.h"
#include "mem.h"
#include "ring.h"

#define VTAP_LOG_WORD_BITS	32

bool vtap_log_access_ok(u64 base, u64 gpa, u64 len)
{
	u64 first, last, end;

	if (!len)
		return true;
	if (check_add_overflow(gpa, len - 1, &last))
		return false;
	first = gpa / VTAP_LOG_BYTE_SPAN;
	last /= VTAP_LOG_BYTE_SPAN;
	if (check_add_overflow(base, last, &end) || end > ULONG_MAX)
		return false;
	return vtap_guest_access_ok((void __user *)(unsigned long)(base + first),
				    last - first + 1);
}

bool vtap_log_mem_ok(u64 base, const struct vtap_mem *mem)
{
	const struct vtap_region *reg = mem->region;
	u32 i;

	for (i = 0; i < mem->nr; i++, reg++)
		if (!vtap_log_access_ok(base, reg->gpa, reg->last - reg->gpa + 1))
			return false;
	return true;
}

int vtap_log_flush(struct vtap_log *log)
{
	u32 bits = log->bits;

	if (!bits)
		return 0;
	log->bits = 0;
	/* Written, then marked; as explained above. */
	smp_wmb();
	if (vtap_guest_set_bits(log->word, bits))
		return -EFAULT;
	log->marked = true;
	return 0;
}

/* Have @bits set in @word, together with others there. */
static int vtap_log_add(struct vtap_log *log, u32 __user *word, u32 bits)
{
	int err = 0;

	if (word != log->word) {
		err = vtap_log_flush(log);
		log->word = word;
	}
	log->bits |= bits;
	return err;
}

/*
 * The bitmap consists of bytes at @base if the host is little-endian, and of longs
 * of the host's order anyway: bit @page of them is bit *@bit of this word.
 */
static u32 __user *vtap_log_word(u64 base, u64 page, u32 *bit)
{
	u64 addr = base + page / 8;
	u64 start = addr & ~(u64)(sizeof(long) - 1);
	u32 nr = (addr - start) * 8 + page % 8;
	u32 word = nr / VTAP_LOG_WORD_BITS;

	if (!virtio_legacy_is_little_endian())
		word ^= sizeof(long) / sizeof(u32) - 1;
	*bit = nr % VTAP_LOG_WORD_BITS;
	return (u32 __user *)(unsigned long)start + word;
}

int vtap_log_pages(struct vtap_log *log, u64 gpa, u64 len)
{
	u64 page = gpa / VTAP_LOG_PAGE;
	u64 last;

	if (!len)
		return 0;
	if (check_add_overflow(gpa, len - 1, &last) || !vtap_log_access_ok(log->base, gpa, len))
		return -EFAULT;
	last /= VTAP_LOG_PAGE;
	while (page <= last) {
		u32 __user *word;
		u32 bit, n;

		word = vtap_log_word(log->base, page, &bit);
		n = min_t(u64, last - page + 1, VTAP_LOG_WORD_BITS - bit);
		if (vtap_log_add(log, word, U32_MAX >> (VTAP_LOG_WORD_BITS - n) << bit))
			return -EFAULT;
		page += n;
	}
	return 0;
}

static bool vtap_log_holds(const struct vtap_region *reg, u64 first, u64 last)
{
	return first >= reg->uaddr && last - reg->uaddr <= reg->last - reg->gpa;
}

/* All regions; most often one holds all of it. */
static int vtap_log_search(struct vtap_log *log, const struct vtap_mem *mem, u64 first, u64 last)
{
	const struct vtap_region *reg;
	bool whole = false;
	u64 next;
	u32 i;

	for (i = 0; i < mem->nr; i++) {
		u64 from, to;

		reg = &mem->region[i];
		from = max(first, reg->uaddr);
		to = min(last, reg->uaddr + (reg->last - reg->gpa));
		if (from > to)
			continue;
		if (vtap_log_pages(log, reg->gpa + (from - reg->uaddr), to - from + 1))
			return -EFAULT;
		if (from == first && to == last) {
			whole = true;
			log->last_region = i;
		}
	}

	/* Or several together, without a gap? */
	while (!whole) {
		next = first;
		for (i = 0; i < mem->nr; i++) {
			reg = &mem->region[i];
			if (vtap_log_holds(reg, next, next))
				next = reg->uaddr + (reg->last - reg->gpa) + 1;
		}
		if (next == first)
			return -ENOENT;
		first = next;
		whole = first > last;
	}
	return 0;
}

int vtap_log_user(struct vtap_log *log, const struct vtap_mem *mem, u64 uaddr, u64 len)
{
	const struct vtap_region *reg;
	u64 last;

	if (!len)
		return 0;
	if (!mem || check_add_overflow(uaddr, len - 1, &last))
		return -ENOENT;
	if (likely(!mem->aliased && log->last_region < mem->nr)) {
		reg = &mem->region[log->last_region];
		if (likely(vtap_log_holds(reg, uaddr, last)))
			return vtap_log_pages(log, reg->gpa + (uaddr - reg->uaddr), len);
	}
	return vtap_log_search(log, mem, uaddr, last);
}

int vtap_log_chains(struct vtap_ring *r, u32 i, u32 n)
{
	const struct vtap_chain *chain = vtap_ring_chain(r, i);
	const struct iovec *seg;
	int err = 0;

	if (!r->writable || !(r->log.what & VTAP_LOG_DATA))
		return 0;
	for (; n; n--, chain++) {
		u32 left = chain->written;

		for (seg = &r->seg[chain->seg]; left && !err; seg++) {
			u32 len = min_t(size_t, left, seg->iov_len);

			err = vtap_log_user(&r->log, vtap_ring_guest_mem(r),
					    (unsigned long)seg->iov_base, len);
			left -= len;
		}
	}
	if (vtap_log_flush(&r->log))
		err = -EFAULT;
	return err ? -EFAULT : 0;
}
