/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The language of fuzz_ring's inputs, which fuzz_ring.c reads and record.c
 * writes. Numbers are big-endian.
 *
 *	input:	log2 of the ring's size; a byte of RING_*; operations
 *
 * An operation is a byte: its kind in the lower half, a modifier M (0 to 15) in
 * the upper one; then, by kind:
 *
 *	DESC	index (2) GPA LEN flags (2) next (2)	a descriptor
 *	DESC8	index (1) GPA LEN next (1)		the same, M is its flags
 *	ENTRY	offset (3) GPA LEN flags (2) next (2)	one anywhere in memory
 *	ENTRY8	offset (2) GPA LEN next (1)		one in the buffers' area, M its flags
 *	ADD	head (1; 2 if M & 1)			make it available
 *	BULK	first (2) number (1)			M & 3: that many single ones; one chain;
 *							one table; one of empty buffers. M & 4:
 *							16 times as many
 *	INDEX	value (2)				the available index
 *	FETCH	number (1; 2 if M & 1)
 *	COMPLETE, UNFETCH number (2)			of those outstanding; M & 1: all
 *	NOTIFY						M & 3: arm, disarm, should_signal, has_avail
 *	START	[used index (2)] [base (2)]		give back, start anew. M & 1: there is a
 *							used index; M & 2: a base; M & 4: the base
 *							is the available index
 *	FAIL	accesses (1; 2 if M & 1)		the access that fails; M & 2: and all
 *							later ones
 *	EVENT	[used event (2)] [flags (2)]		M & 1, M & 2: which are there
 *	RACE	[accesses (1) offset (3) value (2)]	in the next call of the device, M & 3:
 *							every byte read changes at once; those just
 *							read do; the two at offset do; the available
 *							index does
 *	TABLE	number (1) REGION...			another memory table; 255: none at all
 *
 *	GPA	a byte K: K & 128: from the edge of region K & 7 (K & 8: its last byte),
 *		distance (2). Else K & 3: in the buffers' area, offset (2); in all of
 *		memory, offset (3); as before, offset / 64 (2); anywhere (8)
 *	LEN	a byte K: K & 128: anything (4); K & 64: 16 * (K & 63); K
 *	REGION	a byte K, offset (3), size (3): K & 1: it ends at 2^64-1; K & 2: anywhere (8);
 *		else where the offset is
 */
#ifndef VTAP_FUZZ_RING_H
#define VTAP_FUZZ_RING_H

enum ring_op {
	OP_DESC, OP_DESC8, OP_ENTRY, OP_ENTRY8, OP_ADD, OP_BULK, OP_INDEX, OP_FETCH,
	OP_COMPLETE, OP_UNFETCH, OP_NOTIFY, OP_START, OP_FAIL, OP_EVENT, OP_RACE, OP_TABLE,
};

#define OP(kind, m)	((kind) | (m) << 4)

#define RING_EVENT_IDX	1
#define RING_INDIRECT	2
#define RING_ON_EMPTY	4
#define RING_BE		8
#define RING_WRITABLE	16

#define RING_MAX_REGIONS 16

#endif /* VTAP_FUZZ_RING_H */
