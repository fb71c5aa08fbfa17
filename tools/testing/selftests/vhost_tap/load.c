// SPDX-License-Identifier: GPL-2.0-only
/*
 * A numbered flood in both directions; see load.h.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "load.h"
#include "util.h"

/*
 * Frames under way at most where none may be lost: what the host's socket
 * surely holds; and what the tap's ring of 500 takes when a detach puts held
 * frames back.
 */
static const uint64_t window[2] = { 256, 4096 };

/* a load begins at the next of these, so that what an earlier one left shows */
#define FIRST(nth)	((uint64_t)(nth) << 32)
#define SLICE_MS	100
#define LOSSY_MS	2
#define TICK	16

/* sizes vary, so that a mix-up of two frames shows as a wrong length too */
static uint32_t len_of(uint64_t seq)
{
	return 60 + seq * 37 % (LOAD_MAX_LEN - 60);
}

/* the one loads are counted by */
static unsigned int loads;

static bool over(const struct load *l)
{
	return READ_ONCE(l->abandoned);
}

/* wake all threads; those that wait for a ring as if it had broken */
static void end_all(struct load *l)
{
	unsigned int i;

	WRITE_ONCE(l->abandoned, true);
	for (i = 0; i < 2; i++) {
		efd_signal(l->g->dev.ring[i].err_fd);
		if (!l->way[i].on)
			continue;
		pthread_mutex_lock(&l->way[i].lock);
		pthread_cond_broadcast(&l->way[i].moved);
		pthread_mutex_unlock(&l->way[i].lock);
	}
}

static void fail(struct load *l, unsigned int queue, int err, const char *what)
{
	struct load_way *w = &l->way[queue];

	if (over(l))
		return;		/* a consequence, or nobody cares any more */
	fprintf(stderr, "# %s %s: %s (%llu sent, %llu arrived, next %llu)\n",
		queue == VQ_RX ? "RX" : "TX", what, strerror(-err),
		(unsigned long long)w->sent, (unsigned long long)w->got,
		(unsigned long long)w->next);
	WRITE_ONCE(w->err, err);
	end_all(l);
}

/* wait until a count moves, ms at most; the lock is held */
static bool wait_moved(struct load_way *w, unsigned int ms)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	ts.tv_sec += ms / 1000;
	ts.tv_nsec += ms % 1000 * 1000000L;
	if (ts.tv_nsec >= 1000000000) {
		ts.tv_nsec -= 1000000000;
		ts.tv_sec++;
	}
	return !pthread_cond_timedwait(&w->moved, &w->lock, &ts);
}

/*
 * Wait until the count is as high as wanted; whoever raises it then says so. False
 * when it stood still for a whole limit: slow is good enough. The lock is held.
 */
static bool wait_for(struct load *l, struct load_way *w, const uint64_t *count,
		     uint64_t wanted)
{
	uint64_t seen;

	while (*count < wanted && !over(l)) {
		seen = *count;
		if (!wait_moved(w, WATCHDOG_MS) && *count == seen)
			return false;
	}
	return true;
}

/* wait until one more may be under way: false when all is over */
static bool has_room(struct load *l, unsigned int queue)
{
	struct load_way *w = &l->way[queue];

	if (w->sent - (READ_ONCE(w->next) - w->first) >= window[queue]) {
		if (queue == VQ_TX)
			guest_tx_flush(l->g);
		pthread_mutex_lock(&w->lock);
		w->want_next = w->first + w->sent - window[queue] / 2;
		/* what was lost is not waited for long */
		while (w->next < w->want_next && !over(l))
			if (!wait_moved(w, w->lossy ? LOSSY_MS : WATCHDOG_MS) &&
			    w->lossy)
				break;
		w->want_next = UINT64_MAX;
		pthread_mutex_unlock(&w->lock);
	}
	return !over(l);
}

static void one_sent(struct load_way *w)
{
	pthread_mutex_lock(&w->lock);
	w->sent++;
	if (w->sent == w->want_sent)
		pthread_cond_broadcast(&w->moved);
	pthread_mutex_unlock(&w->lock);
}

/* is the frame about to be sent the last one? Says so before it goes. */
static bool is_last(struct load *l, struct load_way *w)
{
	if (!READ_ONCE(l->stop) && !(w->limit && w->sent + 1 >= w->limit))
		return false;
	if (w->last == UINT64_MAX)
		__atomic_store_n(&w->last, w->first + w->sent,
				 __ATOMIC_RELEASE);
	/* lossy: go on until one has arrived that was sent after the stop */
	return !w->lossy || READ_ONCE(w->done);
}

/* 1: this was the last, 0: more to come, -ENOMSG: not of this load, or -errno */
static int arrived(struct load_way *w, const uint8_t *frame, ssize_t len)
{
	uint64_t seq;

	if (!frame_is_ours(frame, len))
		return -ENOMSG;
	seq = frame_seq(frame);
	if (seq < w->first)
		return -ENOMSG;
	if (w->lossy ? seq < w->next : seq != w->next) {
		fprintf(stderr, "# wanted number %llu, got %llu\n",
			(unsigned long long)w->next, (unsigned long long)seq);
		return -EILSEQ;
	}
	if (len != len_of(seq) || !frame_check(frame, seq, len))
		return -EBADMSG;
	pthread_mutex_lock(&w->lock);
	w->next = seq + 1;
	w->got++;
	if (w->next >= w->want_next || w->got == w->want_got)
		pthread_cond_broadcast(&w->moved);
	pthread_mutex_unlock(&w->lock);
	return seq >= __atomic_load_n(&w->last, __ATOMIC_ACQUIRE);
}

static void *guest_sends(void *arg)
{
	struct load *l = arg;
	struct load_way *w = &l->way[VQ_TX];
	uint8_t frame[LOAD_MAX_LEN];
	bool last = false;
	uint64_t seq;
	int err = 0;

	while (!last && has_room(l, VQ_TX)) {
		last = is_last(l, w);
		seq = w->first + w->sent;
		frame_make(frame, seq, len_of(seq));
		err = guest_tx_wait(l->g, NULL, frame, len_of(seq));
		if (err)
			break;
		one_sent(w);
		/* bursts of all lengths */
		if (!(w->sent * 7 % 24 & 3))
			guest_tx_flush(l->g);
		if (l->tick && !(w->sent % TICK))
			l->tick(l, VQ_TX);
	}
	if (!err && !over(l))
		err = guest_tx_sync(l->g);
	if (err)
		fail(l, VQ_TX, err, "to send");
	return NULL;
}

static void *host_receives(void *arg)
{
	struct load *l = arg;
	struct load_way *w = &l->way[VQ_TX];
	uint8_t frame[FRAME_MAX];
	unsigned int idle = 0;
	ssize_t n;
	int r = 0;

	while (r <= 0 && !over(l)) {
		n = psock_recv(l->g->rx_sock, NULL, frame, sizeof(frame),
			       SLICE_MS);
		/* a socket tells once that its interface went down */
		if (n == -ENETDOWN && w->lossy)
			continue;
		if (!n) {
			if (++idle < WATCHDOG_MS / SLICE_MS)
				continue;
			n = -ETIMEDOUT;
		}
		r = n < 0 ? n : arrived(w, frame, n);
		if (r == -ENOMSG)
			continue;
		idle = 0;
		if (r < 0) {
			fail(l, VQ_TX, r, "at the host");
			break;
		}
	}
	WRITE_ONCE(w->done, true);
	return NULL;
}

static void *host_sends(void *arg)
{
	struct load *l = arg;
	struct load_way *w = &l->way[VQ_RX];
	uint8_t frame[LOAD_MAX_LEN];
	bool last = false;
	uint64_t seq;
	int err;

	while (!last && has_room(l, VQ_RX)) {
		last = is_last(l, w);
		seq = w->first + w->sent;
		frame_make(frame, seq, len_of(seq));
		do {
			err = psock_send(l->g->tx_sock, NULL, frame,
					 len_of(seq));
			/* not taken, so not lost: full, or no tap there now */
			if (err)
				cpu_yield();
		} while ((err == -ENOBUFS || err == -ENETDOWN ||
			  err == -ENXIO || err == -ENODEV) && !over(l));
		if (err) {
			fail(l, VQ_RX, err, "to send");
			break;
		}
		one_sent(w);
	}
	return NULL;
}

static void *guest_receives(void *arg)
{
	struct load *l = arg;
	struct load_way *w = &l->way[VQ_RX];
	struct virtio_net_hdr_mrg_rxbuf h;
	uint8_t frame[FRAME_MAX];
	ssize_t n;
	int r = 0;

	while (r <= 0 && !over(l)) {
		n = guest_rx(l->g, &h, frame, sizeof(frame), WATCHDOG_MS);
		r = n < 0 ? n : arrived(w, frame, n);
		if (r >= 0 && (h.hdr.flags || h.hdr.gso_type))
			r = -EBADMSG;
		if (r < 0 && r != -ENOMSG) {
			fail(l, VQ_RX, r, "in the guest");
			break;
		}
		if (r || w->got % 3)
			guest_rx_fill(l->g);
		if (!r && l->tick && !(w->got % TICK))
			l->tick(l, VQ_RX);
	}
	guest_rx_fill(l->g);
	WRITE_ONCE(w->done, true);
	return NULL;
}

int load_start(struct load *l, struct guest *g)
{
	static void *(*const sender[2])(void *) = { host_sends, guest_sends };
	static void *(*const receiver[2])(void *) = { guest_receives,
						      host_receives };
	uint8_t first[FRAME_MIN];
	unsigned int i;

	l->g = g;
	l->stop = false;
	l->abandoned = false;
	loads++;
	/* what frames are made from is not made by two threads at once */
	frame_make(first, 0, FRAME_MIN);
	for (i = 0; i < 2; i++) {
		struct load_way *w = &l->way[i];

		if (!w->on)
			continue;
		w->sent = 0;
		w->got = 0;
		w->first = FIRST(loads);
		w->next = w->first;
		w->last = UINT64_MAX;
		w->done = false;
		w->err = 0;
		w->want_next = UINT64_MAX;
		w->want_got = UINT64_MAX;
		w->want_sent = UINT64_MAX;
		pthread_mutex_init(&w->lock, NULL);
		pthread_cond_init(&w->moved, NULL);
		if (pthread_create(&w->receiver, NULL, receiver[i], l) ||
		    pthread_create(&w->sender, NULL, sender[i], l))
			return -EAGAIN;
	}
	return 0;
}

int load_start_both(struct load *l, struct guest *g)
{
	memset(l, 0, sizeof(*l));
	l->way[VQ_RX].on = true;
	l->way[VQ_TX].on = true;
	return load_start(l, g);
}

static int wait_count(struct load *l, unsigned int queue, uint64_t *count,
		      uint64_t *want, unsigned int n)
{
	struct load_way *w = &l->way[queue];
	bool moved;

	pthread_mutex_lock(&w->lock);
	*want = *count + n;
	moved = wait_for(l, w, count, *want);
	*want = UINT64_MAX;
	pthread_mutex_unlock(&w->lock);
	if (!moved)
		fail(l, queue, -ETIMEDOUT, "stands still");
	if (w->err)
		return w->err;
	return over(l) ? -ECANCELED : 0;
}

int load_wait(struct load *l, unsigned int n)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < 2 && !err; i++)
		if (l->way[i].on)
			err = wait_count(l, i, &l->way[i].got,
					 &l->way[i].want_got, n);
	return err;
}

int load_wait_sent(struct load *l, unsigned int queue, unsigned int n)
{
	return wait_count(l, queue, &l->way[queue].sent,
			  &l->way[queue].want_sent, n);
}

static void join_all(struct load *l)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		if (!l->way[i].on)
			continue;
		pthread_join(l->way[i].sender, NULL);
		pthread_join(l->way[i].receiver, NULL);
	}
	for (i = 0; l->abandoned && i < 2; i++)
		efd_drain(l->g->dev.ring[i].err_fd);
}

int load_stop(struct load *l)
{
	WRITE_ONCE(l->stop, true);
	return load_finish(l);
}

int load_finish(struct load *l)
{
	unsigned int i;
	int err = 0;

	join_all(l);
	for (i = 0; i < 2 && !err; i++)
		err = l->way[i].on ? l->way[i].err : 0;
	return err;
}

void load_abandon(struct load *l)
{
	end_all(l);
	join_all(l);
}

int load_check(struct guest *g)
{
	struct load l = { .way = { { .on = true, .limit = 50 },
				   { .on = true, .limit = 50 } } };
	int err = load_start(&l, g);

	return err ? err : load_finish(&l);
}
