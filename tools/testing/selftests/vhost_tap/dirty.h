/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A guest whose VMM logs what the device writes: the calls that switch the log
 * on and off, snapshots of guest memory, and a look at which pages are marked,
 * and which should be.
 */
#ifndef VTAP_TEST_DIRTY_H
#define VTAP_TEST_DIRTY_H

#include "guest_driver.h"
#include "load.h"

#define PAGE		4096
#define F_LOG		F_BIT(VHOST_F_LOG_ALL)
/* bytes of bitmap for the guest driver's memory, which ends at 12 GiB, and for aliases */
#define LOG_SIZE	0x100000
#define LOG_PAGES	(LOG_SIZE * 8ULL)

/* where the device may write */
struct dirty_area {
	uint64_t gpa;
	uint8_t *hva;
	size_t len;
};

struct dirty {
	struct guest g;
	struct load l;
	bool loaded;
	uint8_t *bitmap, *want, *before;
	size_t len;		/* bytes of guest memory in use */
	struct dirty_area area[3];	/* used rings, receive buffers */
	int fd;
};

/* a bitmap and an eventfd; 0 or -errno */
int dirty_setup(struct dirty *t);
void dirty_teardown(struct dirty *t);
/* a guest with a log that is not in use yet, and no backend */
int dirty_start(struct dirty *t, const struct guest_cfg *cfg);

uint64_t dirty_used_gpa(const struct ring *r);
/* VHOST_SET_VRING_ADDR: is the used ring logged, and under which address */
int dirty_set_addr(struct guest *g, unsigned int idx, bool log, uint64_t gpa);
int dirty_set_base(struct guest *g, const void *p);
/* as QEMU does it, running or not: features, then rings */
int dirty_switch(struct guest *g, bool on);

bool dirty_marked(const uint8_t *bitmap, uint64_t page);
/* these bytes were written */
void dirty_want(struct dirty *t, uint64_t gpa, uint64_t len);
/* remember guest memory, forget all marks */
void dirty_snapshot(struct dirty *t);
/* have bytes on this page changed that the device may write? */
bool dirty_changed(struct dirty *t, uint64_t page);
/*
 * Since the snapshot: what has changed is marked; so is what was written, as
 * want[] has it; and nothing else, except for fields of the used rings if
 * fields is true: they may be written without being changed. The number of
 * pages that are wrong.
 */
unsigned int dirty_wrong_pages(struct dirty *t, bool fields);
/* take frames that have arrived, n buffers at least, and note where they stand */
int dirty_take(struct dirty *t, unsigned int n);

#endif
