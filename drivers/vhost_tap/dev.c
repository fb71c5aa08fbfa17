// SPDX-License-Identifier: GPL-2.0-only
/*
 * The device: open and release, its owner, its backends. Everything here runs
 * in a process that called the node, never on the worker, and takes the worker
 * off a queue before it changes what the worker looks at.
 */
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/virtio_net.h>
#include <linux/vmalloc.h>
#include <trace/events/vhost_tap.h>

#include "dev.h"

/*
 * The arrays that the two queues work in. They share most of it as long as there
 * is one worker, which runs them in turn: between two runs nothing is outstanding.
 * Only what RX holds lasts longer. Once there is a second worker they do not share.
 *
 * By far the most of a device, so it is there only while it has an owner, and
 * accounted to that. In single pages, ten of them: as a power of two it would be
 * sixteen.
 */
struct vtap_scratch {
	struct iovec seg[VTAP_MAX_SEGS];
	union {
		struct vtap_chain rx_chain[VTAP_MAX_SEGS];
		struct {
			struct vtap_chain tx_chain[VTAP_BATCH];
			struct xdp_buff xdp[VTAP_BATCH];
		};
	};
	struct vtap_ring_copy copy;
	void *held[VTAP_BATCH];
};

LIST_HEAD(vtap_dev_list);
/* protects vtap_dev_list; taken before any dev->lock */
DEFINE_MUTEX(vtap_dev_list_lock);

void vtap_dev_lock_vqs(struct vtap_dev *dev)
{
	u32 i;

	lockdep_assert_held(&dev->lock);
	for (i = 0; i < VTAP_VQ_MAX; i++)
		mutex_lock_nested(&dev->vq[i].lock, i);
}

void vtap_dev_unlock_vqs(struct vtap_dev *dev)
{
	u32 i;

	for (i = VTAP_VQ_MAX; i-- > 0;)
		mutex_unlock(&dev->vq[i].lock);
}

int vtap_dev_open(struct inode *inode, struct file *file)
{
	static u32 last_id;
	struct vtap_dev *dev;
	u32 i;

	dev = kzalloc(sizeof(*dev), GFP_KERNEL_ACCOUNT);
	if (!dev)
		return -ENOMEM;
	mutex_init(&dev->lock);
	vtap_iotlb_dev_init(dev);
	vtap_frag_init(&dev->frags, VTAP_FRAG_SMALL);
	vtap_frag_init(&dev->large_frags, VTAP_FRAG_LARGE);
	for (i = 0; i < VTAP_VQ_MAX; i++) {
		vtap_vq_init(&dev->vq[i], dev, i);
		vtap_vq_reset(&dev->vq[i]);
	}
	file->private_data = dev;

	mutex_lock(&vtap_dev_list_lock);
	dev->id = ++last_id;
	list_add_tail(&dev->list, &vtap_dev_list);
	mutex_unlock(&vtap_dev_list_lock);
	return 0;
}

static struct vtap_scratch *vtap_dev_new_scratch(void)
{
	/* On 64-bit hosts with pages of 4 KiB, as told above. */
	BUILD_BUG_ON(sizeof(struct vtap_scratch) > 10 * 4096);
	return __vmalloc(sizeof(struct vtap_scratch),
			 GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN);
}

/* Let TX work in @scratch, or in nothing. It does not run. */
static void vtap_dev_set_tx_scratch(struct vtap_dev *dev, struct vtap_scratch *scratch)
{
	struct vtap_vq *tx = &dev->vq[VTAP_VQ_TX];

	tx->xdp = scratch ? scratch->xdp : NULL;
	tx->ring.chain = scratch ? scratch->tx_chain : NULL;
	tx->ring.seg = scratch ? scratch->seg : NULL;
	tx->ring.copy = scratch ? &scratch->copy : NULL;
}

/*
 * Let the two queues work in @scratch, or in nothing. No queue runs: there is
 * no worker yet, or no more.
 */
static void vtap_dev_set_scratch(struct vtap_dev *dev, struct vtap_scratch *scratch)
{
	struct vtap_vq *rx = &dev->vq[VTAP_VQ_RX];

	vfree(dev->tx_scratch);
	dev->tx_scratch = NULL;
	vfree(dev->scratch);
	dev->scratch = scratch;
	rx->held = scratch ? scratch->held : NULL;
	rx->ring.chain = scratch ? scratch->rx_chain : NULL;
	rx->ring.seg = scratch ? scratch->seg : NULL;
	rx->ring.copy = scratch ? &scratch->copy : NULL;
	vtap_dev_set_tx_scratch(dev, scratch);
}

int vtap_dev_split(struct vtap_dev *dev)
{
	struct vtap_vq *tx = &dev->vq[VTAP_VQ_TX];

	lockdep_assert_held(&dev->lock);
	if (dev->tx_scratch)
		return 0;
	dev->tx_scratch = vtap_dev_new_scratch();
	if (!dev->tx_scratch)
		return -ENOMEM;
	/* TX may have a backend, but nothing is outstanding under its lock. */
	mutex_lock(&tx->lock);
	vtap_dev_set_tx_scratch(dev, dev->tx_scratch);
	mutex_unlock(&tx->lock);
	return 0;
}

/*
 * Take the backend away from a queue. Under vq->lock no handler of this queue
 * runs, and none will do anything after it; what it has held goes back to the
 * socket first (I5). Nobody looks at the socket without that lock, the other
 * queue's busy polling included, or without dev->lock.
 */
static struct vtap_sock *vtap_dev_detach(struct vtap_vq *vq)
{
	struct vtap_sock *sock;
	u64 before;

	mutex_lock(&vq->lock);
	sock = vq->sock;
	if (sock) {
		before = vq->stats.held_returned;
		vtap_poll_stop(&vq->sock_poll);
		if (vq->index == VTAP_VQ_RX)
			vtap_rx_return_held(vq);
		vq->sock = NULL;
		trace_vhost_tap_detach(vq->dev->id, vq->index, vq->ring.last_avail,
				       vq->stats.held_returned - before);
	}
	/* Also if an attempt to attach one had missed something. */
	vtap_iotlb_forget_miss(vq);
	mutex_unlock(&vq->lock);
	return sock;
}

/*
 * Back to a device without an owner. Ends the workers before anything that it
 * could look at goes away.
 */
static void vtap_dev_stop(struct vtap_dev *dev)
{
	struct vtap_sock *sock[VTAP_VQ_MAX];
	struct vtap_vq *vq;
	u32 i;

	lockdep_assert_held(&dev->lock);

	for (i = 0; i < VTAP_VQ_MAX; i++)
		sock[i] = vtap_dev_detach(&dev->vq[i]);
	for (i = 0; i < VTAP_VQ_MAX; i++) {
		vq = &dev->vq[i];
		mutex_lock(&vq->lock);
		vtap_poll_stop(&vq->kick_poll);
		mutex_unlock(&vq->lock);
		vtap_vq_cancel_retry(vq);
	}
	/* Nothing queues any more, and the last runs find no backend. */
	vtap_worker_destroy_all(dev);
	for (i = 0; i < VTAP_VQ_MAX; i++)
		vtap_sock_put(sock[i]);

	vtap_dev_set_scratch(dev, NULL);
	vtap_frag_destroy(&dev->frags);
	vtap_frag_destroy(&dev->large_frags);
	kvfree(dev->mem);
	dev->mem = NULL;
	vtap_iotlb_dev_set(dev, false);
	dev->features = 0;
	dev->features_high = 0;
	dev->backend_features = 0;
	dev->log_base = 0;
	if (dev->log_call)
		eventfd_ctx_put(dev->log_call);
	dev->log_call = NULL;
	for (i = 0; i < VTAP_VQ_MAX; i++)
		vtap_vq_reset(&dev->vq[i]);

	if (dev->mm)
		mmput(dev->mm);
	dev->mm = NULL;
	dev->owner = 0;
}

int vtap_dev_release(struct inode *inode, struct file *file)
{
	struct vtap_dev *dev = file->private_data;

	mutex_lock(&vtap_dev_list_lock);
	list_del(&dev->list);
	mutex_unlock(&vtap_dev_list_lock);

	mutex_lock(&dev->lock);
	vtap_dev_stop(dev);
	mutex_unlock(&dev->lock);

	mutex_destroy(&dev->lock);
	kfree(dev);
	return 0;
}

int vtap_dev_check_owner(const struct vtap_dev *dev)
{
	lockdep_assert_held(&dev->lock);
	return dev->mm == current->mm ? 0 : -EPERM;
}

int vtap_dev_set_owner(struct vtap_dev *dev)
{
	struct vtap_scratch *scratch;
	int err;
	u32 i;

	lockdep_assert_held(&dev->lock);

	if (dev->mm)
		return -EBUSY;

	dev->mm = get_task_mm(current);
	if (!dev->mm)
		return -EPERM;
	dev->owner = task_tgid_nr(current);

	scratch = vtap_dev_new_scratch();
	if (!scratch) {
		err = -ENOMEM;
		goto err_mm;
	}
	vtap_dev_set_scratch(dev, scratch);

	/* The first one, and so with id 0. */
	err = vtap_worker_create(dev);
	if (err < 0)
		goto err_scratch;
	for (i = 0; i < VTAP_VQ_MAX; i++)
		vtap_worker_attach(&dev->vq[i], err);
	return 0;

err_scratch:
	vtap_dev_set_scratch(dev, NULL);
err_mm:
	mmput(dev->mm);
	dev->mm = NULL;
	dev->owner = 0;
	return err;
}

int vtap_dev_reset_owner(struct vtap_dev *dev)
{
	struct vtap_mem *mem;
	int err;

	err = vtap_dev_check_owner(dev);
	if (err)
		return err;
	/*
	 * As in-tree, the next owner begins with an empty table, not with none:
	 * it may attach a backend without setting one.
	 */
	mem = kvzalloc(struct_size(mem, region, 0), GFP_KERNEL_ACCOUNT);
	if (!mem)
		return -ENOMEM;
	vtap_dev_stop(dev);
	vtap_dev_set_mem(dev, mem);
	return 0;
}

int vtap_dev_set_features(struct vtap_dev *dev, u64 features, u64 high)
{
	int err;
	u32 i;

	err = vtap_iotlb_dev_set(dev, features & BIT_ULL(VIRTIO_F_ACCESS_PLATFORM));
	if (err)
		return err;
	vtap_dev_lock_vqs(dev);
	dev->features = features;
	dev->features_high = high;
	for (i = 0; i < VTAP_VQ_MAX; i++)
		vtap_vq_set_features(&dev->vq[i]);
	vtap_dev_unlock_vqs(dev);
	return 0;
}

void vtap_dev_set_mem(struct vtap_dev *dev, struct vtap_mem *mem)
{
	struct vtap_mem *old = dev->mem;
	u32 i;

	/*
	 * Between runs no chain is outstanding, so nothing points into the old
	 * table once both locks were held.
	 */
	vtap_dev_lock_vqs(dev);
	dev->mem = mem;
	for (i = 0; i < VTAP_VQ_MAX; i++)
		vtap_vq_set_tables(&dev->vq[i]);
	vtap_dev_unlock_vqs(dev);
	kvfree(old);
}

bool vtap_dev_log_ok(const struct vtap_dev *dev, const struct vtap_mem *mem, u64 log_base)
{
	lockdep_assert_held(&dev->lock);
	/* A stopped queue is checked when it starts. */
	return (!dev->vq[VTAP_VQ_RX].sock && !dev->vq[VTAP_VQ_TX].sock) ||
	       vtap_log_mem_ok(log_base, mem);
}

/* Would this socket wake us? A tap without a device cannot (EPOLLERR). */
static int vtap_dev_watch(struct vtap_vq *vq, struct vtap_sock *sock)
{
	/* TX is watched only after the socket said -EAGAIN. */
	if (vq->index == VTAP_VQ_TX)
		return vfs_poll(sock->file, NULL) & EPOLLERR ? -EINVAL : 0;
	return vtap_poll_start(&vq->sock_poll, sock->file);
}

static int vtap_dev_attach(struct vtap_vq *vq, struct vtap_sock *sock)
{
	enum vhost_tap_ring_err ring_err = vq->ring.err;
	struct vtap_sock *old = vq->sock;
	u64 before = vq->stats.held_returned;
	int err;

	lockdep_assert_held(&vq->lock);

	vtap_poll_stop(&vq->sock_poll);
	if (old && vq->index == VTAP_VQ_RX)
		vtap_rx_return_held(vq);

	err = vtap_ring_start(&vq->ring);
	if (!err)
		err = vtap_dev_watch(vq, sock);
	if (err) {
		/* The old one goes on, if it did; its next run watches it again. */
		vq->ring.err = ring_err;
		if (err == -EAGAIN) {
			/* Once it is mapped, the next attempt will do. As in-tree. */
			vtap_iotlb_miss(vq);
			err = -EFAULT;
		}
		if (old)
			vtap_worker_queue(vq, &vq->again);
		return err;
	}
	if (old)
		trace_vhost_tap_detach(vq->dev->id, vq->index, vq->ring.last_avail,
				       vq->stats.held_returned - before);
	vq->sock = sock;
	vq->stopped = false;
	vtap_vq_log_signal(vq);
	trace_vhost_tap_attach(vq->dev->id, vq->index, vq->ring.last_avail, 0);

	/* Whatever the guest kicked for before there was a backend (I4). */
	vtap_worker_queue(vq, &vq->again);
	return 0;
}

int vtap_dev_set_backend(struct vtap_dev *dev, u32 index, int fd)
{
	struct vtap_sock *sock = NULL, *old;
	struct vtap_vq *vq;
	bool ok;
	int err;

	err = vtap_dev_check_owner(dev);
	if (err)
		return err;
	if (index >= VTAP_VQ_MAX)
		return -ENOBUFS;
	vq = &dev->vq[array_index_nospec(index, VTAP_VQ_MAX)];

	/* As in-tree also asked of a queue that is about to stop. */
	mutex_lock(&vq->lock);
	ok = vtap_vq_access_ok(vq, dev->log_base);
	mutex_unlock(&vq->lock);
	if (!ok)
		return -EFAULT;

	if (fd == -1) {
		old = vtap_dev_detach(vq);
		goto out_flush;
	}
	sock = vtap_sock_get(fd);
	if (IS_ERR(sock))
		return PTR_ERR(sock);

	mutex_lock(&vq->lock);
	old = vq->sock;
	if (old && old->sock == sock->sock) {
		/* Nothing to change, but maybe the tap is back from a detach. */
		vtap_worker_queue(vq, &vq->again);
		old = sock;
	} else {
		err = vtap_dev_attach(vq, sock);
		if (err)
			old = sock;
	}
	mutex_unlock(&vq->lock);

out_flush:
	if (old)
		vtap_worker_flush(dev);
	vtap_sock_put(old);
	return err;
}
