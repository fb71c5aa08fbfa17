// SPDX-License-Identifier: GPL-2.0-only
/*
 * Ring-neutral state of a virtqueue: what SET_VRING_* sets, its kick, call and
 * err eventfds, what wakes its handler, busy polling. What stands in the ring
 * is the ring's business, what stands in the socket the socket's.
 */
#include <linux/nospec.h>
#include <linux/overflow.h>
#include <linux/ratelimit.h>
#include <linux/sched/clock.h>
#include <linux/virtio_net.h>
#include <trace/events/vhost_tap.h>

#include "compat/eventfd.h"
#include "compat/virtio_net.h"
#include "dev.h"
#include "log.h"

/*
 * The longest busy poll, whatever timeout was set: who waits for vq->lock, a
 * closing process for instance, gets its turn then (I6).
 */
#define VTAP_BUSY_POLL_MAX_US	50000u

/*
 * What busy polling reads at every turn: the scheduler's clock, which is the
 * processor's own counter. ktime_get() costs an access to a device where that
 * counter is no clocksource: a quarter of the worker's time with an HPET. On
 * another processor the clock may lag behind; then the difference wraps, and
 * polling ends early.
 */
static u64 vtap_vq_clock(void)
{
	return local_clock();
}

/*
 * Answers. A request goes out through one queue and its answer comes in through
 * the other; in between the worker sleeps, and to wake it takes longer than many
 * answers do. So if the other queue's work came soon after a queue had run out of
 * its own, that queue watches for it the next time, up to idle_poll_us. It
 * stops as soon as an answer took longer, or it was the same queue that had
 * work again: a stream of frames in one direction is not worth watching for.
 * An idle device never is; nor is anything on a single processor, which is the one
 * that the answer has to come from. A queue that has a worker for itself has no
 * answers either: nobody else's work comes there.
 */
static void vtap_vq_answered(struct vtap_vq *vq)
{
	struct vtap_idle *last = vtap_worker_idle();
	struct vtap_vq *idle = last->vq;
	u64 limit;

	if (!idle)
		return;
	last->vq = NULL;
	limit = min(READ_ONCE(vtap_idle_poll_us), VTAP_BUSY_POLL_MAX_US) * NSEC_PER_USEC;
	if (idle != vq && num_online_cpus() > 1 &&
	    vtap_vq_clock() - last->since < limit)
		idle->answer_ns = limit;
	else
		idle->answer_ns = 0;
}

/* @vq has nothing to do. Return: how long to watch, in nanoseconds. */
static u64 vtap_vq_watch_ns(struct vtap_vq *vq, u64 now)
{
	/* What the worker has to do already is no answer. */
	if (!vtap_worker_has_work()) {
		struct vtap_idle *last = vtap_worker_idle();

		last->vq = vq;
		last->since = now;
	}
	if (vq->busyloop_timeout)
		return mul_u32_u32(min(vq->busyloop_timeout, VTAP_BUSY_POLL_MAX_US),
				   NSEC_PER_USEC);
	return vq->answer_ns;
}

static void vtap_vq_run(struct vtap_vq *vq)
{
	vtap_vq_answered(vq);
	if (vq->index == VTAP_VQ_RX)
		vtap_rx_run(vq);
	else
		vtap_tx_run(vq);
}

static void vtap_vq_kick_work(struct vtap_work *work)
{
	struct vtap_vq *vq = container_of(work, struct vtap_vq, kick_poll.work);

	vtap_stat_inc(&vq->stats.kicks);
	trace_vhost_tap_kick(vq->dev->id, vq->index);
	vtap_vq_run(vq);
}

static void vtap_vq_sock_work(struct vtap_work *work)
{
	struct vtap_vq *vq = container_of(work, struct vtap_vq, sock_poll.work);

	vtap_stat_inc(&vq->stats.socket_wakeups);
	vtap_vq_run(vq);
}

static void vtap_vq_again_work(struct vtap_work *work)
{
	vtap_vq_run(container_of(work, struct vtap_vq, again));
}

static void vtap_vq_retry_work(struct work_struct *work)
{
	struct vtap_vq *vq = container_of(work, struct vtap_vq, retry.work);

	vtap_worker_queue(vq, &vq->again);
}

void vtap_vq_init(struct vtap_vq *vq, struct vtap_dev *dev, u32 index)
{
	mutex_init(&vq->lock);
	vq->dev = dev;
	vq->index = index;
	vtap_poll_init(&vq->kick_poll, vtap_vq_kick_work, EPOLLIN, vq);
	vtap_poll_init(&vq->sock_poll, vtap_vq_sock_work,
		       index == VTAP_VQ_RX ? EPOLLIN : EPOLLOUT, vq);
	vtap_work_init(&vq->again, vtap_vq_again_work);
	INIT_DELAYED_WORK(&vq->retry, vtap_vq_retry_work);
	vtap_ring_init(&vq->ring, index == VTAP_VQ_RX, NULL,
		       index == VTAP_VQ_RX ? VTAP_MAX_SEGS : VTAP_BATCH, NULL, NULL);
}

/* Native until VHOST_SET_VRING_ENDIAN says otherwise. */
static bool vtap_vq_host_be(void)
{
	return !virtio_legacy_is_little_endian();
}

void vtap_vq_set_tables(struct vtap_vq *vq)
{
	struct vtap_ring *r = &vq->ring;

	lockdep_assert_held(&vq->lock);
	r->tlb = vq->dev->iotlb;
	r->mem = r->tlb ? r->window : vq->dev->mem;
	r->guest_mem = vq->dev->mem;
	r->last_region = 0;
	vtap_ring_forget(r);
}

void vtap_vq_forget_addr(struct vtap_vq *vq)
{
	struct vtap_ring *r = &vq->ring;

	lockdep_assert_held(&vq->lock);
	r->desc = NULL;
	r->avail = NULL;
	r->used = NULL;
	r->desc_iova = 0;
	r->avail_iova = 0;
	r->used_iova = 0;
	r->mapped = false;
}

void vtap_vq_set_features(struct vtap_vq *vq)
{
	u64 features = vq->dev->features;

	lockdep_assert_held(&vq->lock);
	vtap_ring_set_features(&vq->ring, features);
	vq->ring.log.what &= ~VTAP_LOG_DATA;
	if (features & BIT_ULL(VHOST_F_LOG_ALL))
		vq->ring.log.what |= VTAP_LOG_DATA;
	vq->ring.le = features & BIT_ULL(VIRTIO_F_VERSION_1) || !vq->user_be;
	vq->mergeable = features & BIT_ULL(VIRTIO_NET_F_MRG_RXBUF);
	vq->hlen = features & (BIT_ULL(VIRTIO_NET_F_MRG_RXBUF) | BIT_ULL(VIRTIO_F_VERSION_1)) ?
		   sizeof(struct virtio_net_hdr_mrg_rxbuf) : sizeof(struct virtio_net_hdr);
	vq->tunnel = vq->dev->features_high & VTAP_COMPAT_TUNNEL_BITS;
	if (vq->tunnel)
		vq->hlen = VTAP_COMPAT_TUNNEL_HLEN;
	vq->sock_hlen = features & BIT_ULL(VHOST_NET_F_VIRTIO_NET_HDR) ? 0 : vq->hlen;
	vq->direct = vq->sock_hlen && !vq->tunnel;
}

void vtap_vq_reset(struct vtap_vq *vq)
{
	struct vtap_ring *r = &vq->ring;

	mutex_lock(&vq->lock);
	vtap_vq_set_tables(vq);
	vtap_vq_forget_addr(vq);
	r->num = 1;
	r->last_avail = 0;
	r->avail_idx = 0;
	r->last_used = 0;
	r->signalled_used = 0;
	r->signalled_valid = false;
	r->armed = false;
	r->err = VHOST_TAP_RING_ERR_NONE;
	memset(&r->log, 0, sizeof(r->log));
	vq->user_be = vtap_vq_host_be();
	vq->busyloop_timeout = 0;
	vq->answer_ns = 0;
	vq->call_due = false;
	vq->stopped = false;
	vq->wait_since = 0;
	vq->retries = 0;
	vtap_vq_set_features(vq);

	if (vq->kick)
		fput(vq->kick);
	vq->kick = NULL;
	if (vq->call)
		eventfd_ctx_put(vq->call);
	vq->call = NULL;
	if (vq->err)
		eventfd_ctx_put(vq->err);
	vq->err = NULL;
	mutex_unlock(&vq->lock);
}

/* May the used ring of @num entries, at @log_addr, be marked in the log? */
static bool vtap_vq_log_ok(const struct vtap_vq *vq, bool log_used, u64 log_addr, u64 log_base)
{
	size_t len = struct_size_t(struct vring_used, ring, vq->ring.num);

	if (vq->ring.event_idx)
		len += sizeof(__virtio16);
	return !log_used || vtap_log_access_ok(log_base, log_addr, len);
}

bool vtap_vq_access_ok(const struct vtap_vq *vq, u64 log_base)
{
	const struct vtap_ring *r = &vq->ring;
	const struct vtap_mem *mem = vq->dev->mem;

	lockdep_assert_held(&vq->lock);
	/* The table itself was checked when it was set. */
	if (!mem || (r->log.what & VTAP_LOG_DATA && !vtap_log_mem_ok(log_base, mem)))
		return false;
	/* What an IOTLB makes of the ring's addresses shows when they go through it. */
	if (r->tlb)
		return true;
	return vtap_vq_log_ok(vq, r->log.what & VTAP_LOG_USED, r->log.used_gpa, log_base) &&
	       vtap_ring_access_ok(r, r->num, r->desc, r->avail, r->used);
}

static long vtap_vq_set_num(struct vtap_vq *vq, void __user *argp)
{
	struct vhost_vring_state state;

	if (vq->sock)
		return -EBUSY;
	if (copy_from_user(&state, argp, sizeof(state)))
		return -EFAULT;
	if (!state.num || state.num > 0xffff || (state.num & (state.num - 1)))
		return -EINVAL;
	vq->ring.num = state.num;
	vq->ring.mapped = false;
	return 0;
}

static long vtap_vq_set_addr(struct vtap_vq *vq, void __user *argp)
{
	struct vtap_ring *r = &vq->ring;
	struct vhost_vring_addr addr;
	void __user *desc, *avail, *used;
	bool log_used;

	if (copy_from_user(&addr, argp, sizeof(addr)))
		return -EFAULT;
	if (addr.flags & ~BIT(VHOST_VRING_F_LOG))
		return -EOPNOTSUPP;
	log_used = addr.flags & BIT(VHOST_VRING_F_LOG);

	desc = (void __user *)(unsigned long)addr.desc_user_addr;
	avail = (void __user *)(unsigned long)addr.avail_user_addr;
	used = (void __user *)(unsigned long)addr.used_user_addr;
	/* On 32-bit hosts a part of the number may be lost. */
	if ((unsigned long)desc != addr.desc_user_addr ||
	    (unsigned long)avail != addr.avail_user_addr ||
	    (unsigned long)used != addr.used_user_addr)
		return -EFAULT;
	if (!IS_ALIGNED(addr.avail_user_addr, VRING_AVAIL_ALIGN_SIZE) ||
	    !IS_ALIGNED(addr.used_user_addr, VRING_USED_ALIGN_SIZE) ||
	    !IS_ALIGNED(addr.log_guest_addr, VRING_USED_ALIGN_SIZE))
		return -EINVAL;
	/* A stopped queue is checked when it starts: its size may still change. */
	if (vq->sock && !r->tlb &&
	    (!vtap_ring_access_ok(r, r->num, desc, avail, used) ||
	     !vtap_vq_log_ok(vq, log_used, addr.log_guest_addr, vq->dev->log_base)))
		return -EINVAL;

	if (r->tlb) {
		r->desc_iova = addr.desc_user_addr;
		r->avail_iova = addr.avail_user_addr;
		r->used_iova = addr.used_user_addr;
		r->mapped = false;
		/* Should it wait for the old ones to be mapped: no longer. */
		vtap_worker_queue(vq, &vq->again);
	} else {
		r->desc = desc;
		r->avail = avail;
		r->used = used;
	}
	/* The cached index promised entries of the old place. */
	r->avail_idx = r->last_avail;
	r->log.what &= ~VTAP_LOG_USED;
	if (log_used)
		r->log.what |= VTAP_LOG_USED;
	r->log.used_gpa = addr.log_guest_addr;
	return 0;
}

static long vtap_vq_set_base(struct vtap_vq *vq, void __user *argp)
{
	struct vtap_ring *r = &vq->ring;
	struct vhost_vring_state state;

	if (vq->sock)
		return -EBUSY;
	if (copy_from_user(&state, argp, sizeof(state)))
		return -EFAULT;
	if (state.num > 0xffff)
		return -EINVAL;
	r->last_avail = state.num;
	r->avail_idx = state.num;
	return 0;
}

/* Answer one of the GET_VRING_* calls. */
static long vtap_vq_tell(const struct vtap_vq *vq, u32 num, void __user *argp)
{
	struct vhost_vring_state state = { .index = vq->index, .num = num };

	return copy_to_user(argp, &state, sizeof(state)) ? -EFAULT : 0;
}

static long vtap_vq_set_busyloop(struct vtap_vq *vq, void __user *argp)
{
	struct vhost_vring_state state;

	if (copy_from_user(&state, argp, sizeof(state)))
		return -EFAULT;
	vq->busyloop_timeout = state.num;
	return 0;
}

static long vtap_vq_set_endian(struct vtap_vq *vq, void __user *argp)
{
	struct vhost_vring_state state;

	if (vq->sock)
		return -EBUSY;
	if (copy_from_user(&state, argp, sizeof(state)))
		return -EFAULT;
	if (state.num != VHOST_VRING_LITTLE_ENDIAN && state.num != VHOST_VRING_BIG_ENDIAN)
		return -EINVAL;
	vq->user_be = state.num == VHOST_VRING_BIG_ENDIAN;
	vtap_vq_set_features(vq);
	return 0;
}

static long vtap_vq_set_kick(struct vtap_vq *vq, void __user *argp, bool *flush)
{
	struct file *file = NULL, *old = vq->kick;
	struct vhost_vring_file arg;
	long err;

	if (copy_from_user(&arg, argp, sizeof(arg)))
		return -EFAULT;
	if (arg.fd != VHOST_FILE_UNBIND) {
		file = eventfd_fget(arg.fd);
		if (IS_ERR(file))
			return PTR_ERR(file);
	}
	if (file == old) {
		if (file)
			fput(file);
		return 0;
	}

	vtap_poll_stop(&vq->kick_poll);
	if (file) {
		/* Sees a kick that was signalled before. */
		err = vtap_poll_start(&vq->kick_poll, file);
		if (err) {
			if (old)
				vtap_poll_start(&vq->kick_poll, old);
			fput(file);
			return err;
		}
	}
	vq->kick = file;
	/* For kicks that went to a file that nobody was watching just then. */
	vtap_worker_queue(vq, &vq->again);
	if (old) {
		fput(old);
		*flush = true;
	}
	return 0;
}

/* Replace an eventfd that we signal. */
static long vtap_vq_set_eventfd(struct eventfd_ctx **where, void __user *argp)
{
	struct eventfd_ctx *ctx = NULL;
	struct vhost_vring_file arg;

	if (copy_from_user(&arg, argp, sizeof(arg)))
		return -EFAULT;
	if (arg.fd != VHOST_FILE_UNBIND) {
		ctx = eventfd_ctx_fdget(arg.fd);
		if (IS_ERR(ctx))
			return PTR_ERR(ctx);
	}
	swap(*where, ctx);
	if (ctx)
		eventfd_ctx_put(ctx);
	return 0;
}

static long vtap_vq_set_call(struct vtap_vq *vq, void __user *argp)
{
	long err = vtap_vq_set_eventfd(&vq->call, argp);

	if (!err && vq->call && vq->call_due) {
		vq->call_due = false;
		eventfd_signal(vq->call);
	}
	return err;
}

long vtap_vq_ioctl(struct vtap_dev *dev, unsigned int cmd, void __user *argp)
{
	struct vtap_vq *vq;
	bool flush = false;
	u32 index;
	long r;

	lockdep_assert_held(&dev->lock);
	/* Each of the structures begins with the index. */
	if (get_user(index, (u32 __user *)argp))
		return -EFAULT;
	if (index >= VTAP_VQ_MAX)
		return -ENOBUFS;
	vq = &dev->vq[array_index_nospec(index, VTAP_VQ_MAX)];

	mutex_lock(&vq->lock);
	switch (cmd) {
	case VHOST_SET_VRING_NUM:
		r = vtap_vq_set_num(vq, argp);
		break;
	case VHOST_SET_VRING_ADDR:
		r = vtap_vq_set_addr(vq, argp);
		break;
	case VHOST_SET_VRING_BASE:
		r = vtap_vq_set_base(vq, argp);
		break;
	case VHOST_GET_VRING_BASE:
		r = vtap_vq_tell(vq, vq->ring.last_avail, argp);
		break;
	case VHOST_SET_VRING_KICK:
		r = vtap_vq_set_kick(vq, argp, &flush);
		break;
	case VHOST_SET_VRING_CALL:
		r = vtap_vq_set_call(vq, argp);
		break;
	case VHOST_SET_VRING_ERR:
		r = vtap_vq_set_eventfd(&vq->err, argp);
		break;
	case VHOST_SET_VRING_BUSYLOOP_TIMEOUT:
		r = vtap_vq_set_busyloop(vq, argp);
		break;
	case VHOST_GET_VRING_BUSYLOOP_TIMEOUT:
		r = vtap_vq_tell(vq, vq->busyloop_timeout, argp);
		break;
	case VHOST_SET_VRING_ENDIAN:
		r = IS_ENABLED(CONFIG_VHOST_CROSS_ENDIAN_LEGACY) ?
		    vtap_vq_set_endian(vq, argp) : -ENOIOCTLCMD;
		break;
	case VHOST_GET_VRING_ENDIAN:
		r = IS_ENABLED(CONFIG_VHOST_CROSS_ENDIAN_LEGACY) ?
		    vtap_vq_tell(vq, vq->user_be, argp) : -ENOIOCTLCMD;
		break;
	default:
		r = -ENOIOCTLCMD;
	}
	mutex_unlock(&vq->lock);

	/* Who replaced a kick may count on the last one having been answered. */
	if (flush)
		vtap_worker_flush(dev);
	return r;
}

void vtap_vq_retry(struct vtap_vq *vq)
{
	lockdep_assert_held(&vq->lock);
	schedule_delayed_work(&vq->retry, vq->index == VTAP_VQ_RX ? HZ / 10 : 1);
}

void vtap_vq_watch_sock(struct vtap_vq *vq)
{
	lockdep_assert_held(&vq->lock);
	if (!vtap_poll_start(&vq->sock_poll, vq->sock->file))
		return;
	vtap_sock_clear_error(vq->sock);
	/* A queue taken off its tap cannot be polled, but may come back. */
	if (vtap_poll_start(&vq->sock_poll, vq->sock->file))
		vtap_vq_retry(vq);
}

void vtap_vq_cancel_retry(struct vtap_vq *vq)
{
	cancel_delayed_work_sync(&vq->retry);
}

void vtap_vq_signal(struct vtap_vq *vq)
{
	int r;

	lockdep_assert_held(&vq->lock);
	vtap_vq_log_signal(vq);
	if (!vq->call) {
		vq->call_due = true;
		/* For what marking the used ring has met. */
		if (unlikely(vq->ring.err))
			vtap_vq_broken(vq);
		return;
	}
	r = vtap_ring_should_signal(&vq->ring);
	if (r < 0) {
		vtap_vq_broken(vq);
		return;
	}
	trace_vhost_tap_signal(vq->dev->id, vq->index, r);
	if (r) {
		eventfd_signal(vq->call);
		vtap_stat_inc(&vq->stats.signals);
	} else {
		vtap_stat_inc(&vq->stats.signals_suppressed);
	}
}

void vtap_vq_log_tell(struct vtap_vq *vq)
{
	struct eventfd_ctx *call = vq->dev->log_call;

	lockdep_assert_held(&vq->lock);
	vq->ring.log.marked = false;
	if (call)
		eventfd_signal(call);
}

void vtap_vq_broken(struct vtap_vq *vq)
{
	u32 reason = vq->ring.err;

	lockdep_assert_held(&vq->lock);
	/* Neither frames nor kicks bring it back. */
	vtap_poll_stop(&vq->sock_poll);
	if (vq->stopped)
		return;
	vq->stopped = true;

	if (reason < __VHOST_TAP_RING_ERR_MAX)
		vtap_stat_inc(&vq->stats.ring_errors[reason]);
	trace_vhost_tap_ring_error(vq->dev->id, vq->index, reason, vq->ring.last_avail);
	pr_debug_ratelimited("vhost_tap: device %u queue %u stopped at %u: ring error %u\n",
			     vq->dev->id, vq->index, vq->ring.last_avail, reason);
	if (vq->err)
		eventfd_signal(vq->err);
}

/* Is there something to do? A broken ring counts: its handler has to notice. */
static bool vtap_vq_ready(struct vtap_vq *vq)
{
	if (vq->index == VTAP_VQ_RX && vq->held_head == vq->held_tail &&
	    !vtap_sock_has_frames(vq->sock))
		return false;
	return vtap_ring_has_avail(&vq->ring) != 0;
}

bool vtap_vq_busy_poll(struct vtap_vq *vq)
{
	struct vtap_vq *other = &vq->dev->vq[vq->index == VTAP_VQ_RX];
	bool ours = false, theirs = false, rearm = false, watched;
	u64 now = vtap_vq_clock();
	u64 watch;

	lockdep_assert_held(&vq->lock);
	watch = vtap_vq_watch_ns(vq, now);
	if (!watch)
		return false;
	/*
	 * A queue that another worker serves is not ours to watch. Otherwise: against
	 * the lock order if we are TX; who holds it has work anyway.
	 */
	if (!vtap_worker_serves(other))
		other = NULL;
	else if (!mutex_trylock(&other->lock))
		return false;

	/* While we watch the other ring, its driver need not kick. */
	watched = other && other->sock && !other->stopped && vtap_ring_ready(&other->ring);
	if (watched) {
		rearm = other->ring.armed;
		if (rearm && vtap_ring_disarm(&other->ring))
			theirs = true;
	}

	while (!theirs) {
		ours = vtap_vq_ready(vq);
		if (ours)
			break;
		theirs = watched && !other->stopped && vtap_vq_ready(other);
		if (theirs || vtap_worker_has_work() || need_resched() ||
		    vtap_vq_clock() - now >= watch)
			break;
		cpu_relax();
	}

	/*
	 * Asking for kicks again looks once more (I4). A ring that is not empty
	 * stays without kicks: its handler, now queued, does not need them.
	 */
	if (rearm && !theirs && vtap_ring_arm(&other->ring)) {
		vtap_ring_disarm(&other->ring);
		theirs = true;
	}
	if (theirs)
		vtap_worker_queue(other, &other->again);
	if (other) {
		vtap_vq_log_signal(other);
		mutex_unlock(&other->lock);
	}

	if (ours) {
		vtap_worker_idle()->vq = NULL;
		vtap_stat_inc(&vq->stats.busypoll_hits);
	}
	return ours;
}
