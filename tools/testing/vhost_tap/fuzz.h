/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the fuzzers share: an input is a string of bytes that is taken from the
 * front; past its end everything is 0.
 *
 * Built with FUZZER, libFuzzer calls fuzz_one(). Without, fuzz.c brings a main()
 * that runs inputs again, and packs and unpacks the lists they are kept in.
 */
#ifndef VTAP_FUZZ_H
#define VTAP_FUZZ_H

#include <stdio.h>

#include "guest.h"

struct input {
	const u8 *p;
	size_t left;
};

static inline u64 take(struct input *in, unsigned int bytes)
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

/* What does not hold is a bug: of the code under test, or of the fuzzer. */
#define MUST(cond) do {								\
	if (!(cond)) {								\
		fprintf(stderr, "%s:%d: must hold: %s\n", __FILE__, __LINE__, #cond); \
		abort();							\
	}									\
} while (0)

/* Each fuzzer's own. */
extern const char *const fuzz_name;
void fuzz_one(struct input *in);

#endif /* VTAP_FUZZ_H */
