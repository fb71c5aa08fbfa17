// SPDX-License-Identifier: GPL-2.0-only
/*
 * The IOTLB of a device. It changes under both queues' locks: no run uses a mapping
 * after the write() that took it away has returned. What a queue misses stands
 * in its one struct vtap_miss until it is answered, and nowhere else: whatever a
 * guest does, there are no more messages than queues.
 *
 * A message has these states:
 *
 *	NONE --the queue misses--> WAITS --read()--> READ
 *	  ^                          |                 |
 *	  '------ an update answers it, or the queue is stopped
 *
 * A queue that misses something else meanwhile, because its ring was moved or set up
 * anew, asks for that instead. The same again is not asked for twice. Lookup
 * and question, and update and answer, each happen under the queue's lock, so that
 * no answer falls between.
 */
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/vhost.h>

#include "dev.h"
#include "iotlb_msg.h"

void vtap_iotlb_dev_init(struct vtap_dev *dev)
{
	spin_lock_init(&dev->iotlb_lock);
	init_waitqueue_head(&dev->iotlb_wait);
}

static void vtap_iotlb_wake(struct vtap_dev *dev)
{
	wake_up_interruptible_poll(&dev->iotlb_wait, EPOLLIN | EPOLLRDNORM);
}

void vtap_iotlb_forget_miss(struct vtap_vq *vq)
{
	spin_lock(&vq->dev->iotlb_lock);
	vq->miss.state = VTAP_MISS_NONE;
	spin_unlock(&vq->dev->iotlb_lock);
}

int vtap_iotlb_dev_set(struct vtap_dev *dev, bool on)
{
	struct vtap_mem *window[VTAP_VQ_MAX] = { NULL };
	struct vhost_iotlb *tlb = NULL;
	bool moved = on != !!dev->iotlb;
	u32 i;

	lockdep_assert_held(&dev->lock);
	if (!on && !moved)
		return 0;
	if (on) {
		tlb = vtap_iotlb_alloc(vtap_max_iotlb_entries);
		if (!tlb)
			return -EFAULT;
		for (i = 0; i < VTAP_VQ_MAX; i++) {
			window[i] = kzalloc(struct_size(window[i], region, 1), GFP_KERNEL_ACCOUNT);
			if (!window[i])
				goto err_free;
		}
	}

	vtap_dev_lock_vqs(dev);
	swap(dev->iotlb, tlb);
	for (i = 0; i < VTAP_VQ_MAX; i++) {
		struct vtap_vq *vq = &dev->vq[i];

		swap(vq->ring.window, window[i]);
		vtap_vq_set_tables(vq);
		if (moved) {
			vtap_vq_forget_addr(vq);
			vtap_iotlb_forget_miss(vq);
		}
	}
	vtap_dev_unlock_vqs(dev);

	/* Whoever waits for messages learns that none will come. */
	if (!on)
		vtap_iotlb_wake(dev);
	vtap_iotlb_free(tlb);
	for (i = 0; i < VTAP_VQ_MAX; i++)
		kfree(window[i]);
	return 0;

err_free:
	vtap_iotlb_free(tlb);
	for (i = 0; i < VTAP_VQ_MAX; i++)
		kfree(window[i]);
	return -EFAULT;
}

void vtap_iotlb_miss(struct vtap_vq *vq)
{
	const struct vtap_ring *ring = &vq->ring;
	struct vtap_dev *dev = vq->dev;
	struct vtap_miss *miss = &vq->miss;
	bool asked;

	lockdep_assert_held(&vq->lock);
	spin_lock(&dev->iotlb_lock);
	asked = miss->state != VTAP_MISS_NONE && miss->iova == ring->miss_iova &&
		miss->access == ring->miss_access;
	if (!asked) {
		miss->state = VTAP_MISS_WAITS;
		miss->seq = dev->iotlb_seq++;
		miss->iova = ring->miss_iova;
		miss->access = ring->miss_access;
	}
	spin_unlock(&dev->iotlb_lock);
	if (!asked)
		vtap_iotlb_wake(dev);
}

bool vtap_iotlb_prepare(struct vtap_vq *vq)
{
	struct vtap_ring *ring = &vq->ring;
	int err;

	lockdep_assert_held(&vq->lock);
	if (ring->mapped)
		return true;
	/* Forgotten, and not set again yet. */
	if (!ring->desc_iova && !ring->avail_iova && !ring->used_iova)
		return false;
	err = vtap_ring_map(ring);
	if (err == -EAGAIN)
		vtap_iotlb_miss(vq);
	else if (err)
		vtap_vq_broken(vq);
	return !err;
}

/* The oldest message that waits: whose, or NULL. iotlb_lock held. */
static struct vtap_vq *vtap_iotlb_oldest(struct vtap_dev *dev)
{
	struct vtap_vq *oldest = NULL;
	u32 i;

	for (i = 0; i < VTAP_VQ_MAX; i++) {
		struct vtap_vq *vq = &dev->vq[i];

		if (vq->miss.state == VTAP_MISS_WAITS &&
		    (!oldest || vq->miss.seq < oldest->miss.seq))
			oldest = vq;
	}
	return oldest;
}

/* Take it, and a copy of it. */
static struct vtap_vq *vtap_iotlb_take(struct vtap_dev *dev, struct vtap_miss *miss)
{
	struct vtap_vq *vq;

	spin_lock(&dev->iotlb_lock);
	vq = vtap_iotlb_oldest(dev);
	if (vq) {
		vq->miss.state = VTAP_MISS_READ;
		*miss = vq->miss;
	}
	spin_unlock(&dev->iotlb_lock);
	return vq;
}

/* It could not be delivered: the next reader has it. */
static void vtap_iotlb_put_back(struct vtap_vq *vq, const struct vtap_miss *miss)
{
	struct vtap_dev *dev = vq->dev;

	spin_lock(&dev->iotlb_lock);
	if (vq->miss.state == VTAP_MISS_READ && vq->miss.seq == miss->seq)
		vq->miss.state = VTAP_MISS_WAITS;
	spin_unlock(&dev->iotlb_lock);
	vtap_iotlb_wake(dev);
}

/*
 * Nothing is held while this waits: neither dev->lock, which who answers a miss takes,
 * nor a queue's.
 */
ssize_t vtap_iotlb_read(struct vtap_dev *dev, struct iov_iter *to, bool nonblock)
{
	union vtap_iotlb_wire wire;
	struct vtap_miss miss;
	struct vtap_vq *vq;
	DEFINE_WAIT(wait);
	ssize_t ret = 0;

	if (iov_iter_count(to) < sizeof(wire))
		return 0;
	for (;;) {
		if (!nonblock)
			prepare_to_wait(&dev->iotlb_wait, &wait, TASK_INTERRUPTIBLE);
		vq = vtap_iotlb_take(dev, &miss);
		if (vq)
			break;
		if (nonblock)
			ret = -EAGAIN;
		else if (signal_pending(current))
			ret = -ERESTARTSYS;
		else if (!READ_ONCE(dev->iotlb))
			ret = -EBADFD;
		if (ret)
			break;
		schedule();
	}
	if (!nonblock)
		finish_wait(&dev->iotlb_wait, &wait);
	if (!vq)
		return ret;

	vtap_iotlb_msg_miss(&wire, READ_ONCE(dev->backend_features) &
			    BIT_ULL(VHOST_BACKEND_F_IOTLB_MSG_V2), miss.iova, miss.access);
	if (copy_to_iter(&wire, sizeof(wire), to) == sizeof(wire))
		return sizeof(wire);
	vtap_iotlb_put_back(vq, &miss);
	return -EFAULT;
}

/* @msg was applied: who waited for it runs again. */
static void vtap_iotlb_answer(struct vtap_vq *vq, const struct vhost_iotlb_msg *msg)
{
	struct vtap_dev *dev = vq->dev;
	bool answered;

	spin_lock(&dev->iotlb_lock);
	answered = vq->miss.state != VTAP_MISS_NONE &&
		   vtap_iotlb_msg_answers(msg, vq->miss.iova);
	if (answered)
		vq->miss.state = VTAP_MISS_NONE;
	spin_unlock(&dev->iotlb_lock);
	if (answered)
		vtap_worker_queue(vq, &vq->again);
}

ssize_t vtap_iotlb_write(struct vtap_dev *dev, struct iov_iter *from)
{
	struct vhost_iotlb_msg msg;
	union vtap_iotlb_wire wire;
	size_t len;
	int ret, err;
	u32 i;

	/* Not all of it need be there. */
	len = copy_from_iter(&wire, min(sizeof(wire), iov_iter_count(from)), from);
	ret = vtap_iotlb_msg_parse(&wire, len, &msg);
	if (ret < 0)
		return ret;

	mutex_lock(&dev->lock);
	vtap_dev_lock_vqs(dev);
	err = vtap_iotlb_msg_apply(dev->iotlb, &msg);
	for (i = 0; i < VTAP_VQ_MAX; i++) {
		/* Refused or not: an update that fails may have taken something away. */
		vtap_ring_forget(&dev->vq[i].ring);
		if (!err)
			vtap_iotlb_answer(&dev->vq[i], &msg);
	}
	vtap_dev_unlock_vqs(dev);
	mutex_unlock(&dev->lock);
	return err ?: ret;
}

__poll_t vtap_iotlb_poll(struct vtap_dev *dev, struct file *file, poll_table *wait)
{
	struct vtap_vq *vq;

	poll_wait(file, &dev->iotlb_wait, wait);
	spin_lock(&dev->iotlb_lock);
	vq = vtap_iotlb_oldest(dev);
	spin_unlock(&dev->iotlb_lock);
	return vq ? EPOLLIN | EPOLLRDNORM : 0;
}
