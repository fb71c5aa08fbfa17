/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The two main objects, device and virtqueue, and the prototypes of the files
 * that own them.
 *
 * Lock order:
 *	vtap_dev_list_lock -> dev->lock -> rx vq->lock -> tx vq->lock -> dev->iotlb_lock
 * dev->lock serializes ioctls and write(). A virtqueue's lock is held by its handler for a
 * whole run, and by ioctls around each change of what a handler looks at. read()
 * takes dev->iotlb_lock alone.
 */
#ifndef VTAP_DEV_H
#define VTAP_DEV_H

#include <linux/eventfd.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/vhost.h>
#include <linux/workqueue.h>

#include "frag.h"
#include "iotlb_dev.h"
#include "ring.h"
#include "sock.h"
#include "stats.h"
#include "worker.h"

/* What a run may do before others get their turn (I6); as in-tree. */
#define VTAP_BUDGET_PACKETS	256
#define VTAP_BUDGET_BYTES	0x80000
/*
 * A chain of empty descriptors is work without bytes: this many descriptors,
 * as a shift, count as one more packet. Honest chains stay below it.
 */
#define VTAP_BUDGET_DESC_SHIFT	7

enum {
	VTAP_VQ_RX,		/* host to guest; virtqueue 0 */
	VTAP_VQ_TX,
	VTAP_VQ_MAX,
};

/**
 * struct vtap_vq - one virtqueue
 * @lock: see above
 * @ring: its memory and position
 * @dev: device
 * @worker: who runs its handler, one of dev->worker[]; changed under dev->lock.
 *	NULL without an owner
 * @index: VTAP_VQ_RX or VTAP_VQ_TX
 * @sock: backend; NULL while stopped
 * @hlen: virtio-net header bytes that the guest sees: 10, 12, or 24 with what
 *	tells of UDP tunnels
 * @sock_hlen: of these, what the socket reads or writes: @hlen or 0
 * @tunnel: the header is the one that tells of UDP tunnels
 * @direct: RX: the header is one that we can make as the socket would
 * @mergeable: VIRTIO_NET_F_MRG_RXBUF
 * @busyloop_timeout: microseconds; 0 is off
 * @answer_ns: how long to watch without having been told so; 0 unless the other
 *	queue had something to do soon after this one had nothing more
 * @user_be: SET_VRING_ENDIAN: a legacy driver's ring is big-endian
 * @kick: the file that is polled; NULL for none
 * @kick_poll: queues the handler when the guest kicks
 * @sock_poll: queues the handler when the socket becomes ready
 * @again: queues the handler for more of the same: its budget ended, a backend
 *	came, the other queue's busy poll found work for it
 * @retry: queues @again after a while, when nothing else would
 * @retries: times in a row that TX found no memory to send
 * @call, @err: eventfds; NULL for none
 * @call_due: something was published while @call was NULL
 * @stopped: the ring broke, and that has been told
 * @miss: what it waits for to be mapped; under dev->iotlb_lock
 * @stats: counters
 * @wait_since: ktime_get_ns() when a headcount wait began; 0 outside one
 * @held: RX: frames dequeued from the socket and not consumed,
 *	held[held_head] ... held[held_tail - 1]
 * @xdp: TX: frames prepared for the next sendmsg; VTAP_BATCH of them
 */
struct vtap_vq {
	struct mutex lock;	/* a whole run, and changes of what it looks at */
	struct vtap_ring ring;
	struct vtap_dev *dev;
	struct vtap_worker __rcu *worker;
	u32 index;
	struct vtap_sock *sock;
	u16 hlen;
	u16 sock_hlen;
	bool tunnel;
	bool direct;
	bool mergeable;
	bool user_be;
	u32 busyloop_timeout;
	u32 answer_ns;

	struct file *kick;
	struct vtap_poll kick_poll;
	struct vtap_poll sock_poll;
	struct vtap_work again;
	struct delayed_work retry;
	u32 retries;
	struct eventfd_ctx *call;
	struct eventfd_ctx *err;
	bool call_due;
	bool stopped;
	struct vtap_miss miss;

	struct vtap_stats stats;
	u64 wait_since;

	void **held;
	u32 held_head;
	u32 held_tail;
	struct xdp_buff *xdp;
};

struct vtap_scratch;

/**
 * struct vtap_dev - one open file of the node
 * @lock: see above
 * @id: number in reports, unique while loaded
 * @list: place in vtap_dev_list
 * @mm: the owner's memory; NULL without an owner
 * @owner: tgid of the owner in the initial namespace, 0 without one
 * @worker: by id; NULL where there is none, as everywhere without an owner
 * @mem: memory table; NULL until SET_MEM_TABLE
 * @iotlb: with VIRTIO_F_ACCESS_PLATFORM; changed, and its mappings, with both
 *	vq->lock held
 * @iotlb_lock: protects vq->miss and @iotlb_seq; innermost
 * @iotlb_seq: number of the next miss
 * @iotlb_wait: where read() and poll() wait for one
 * @features: acknowledged feature bits
 * @features_high: and those from 64 on
 * @backend_features: acknowledged VHOST_BACKEND_F_* bits
 * @log_base: SET_LOG_BASE
 * @log_call: SET_LOG_FD: eventfd, changed with both vq->lock held
 * @scratch: the arrays that both queues work in; NULL without an owner
 * @tx_scratch: those of TX, once the queues may have a worker each; else NULL
 * @frags: TX buffers
 * @large_frags: those for frames that do not fit a page
 * @vq: the pair
 */
struct vtap_dev {
	struct mutex lock;	/* one ioctl at a time */
	u32 id;
	struct list_head list;
	struct mm_struct *mm;
	pid_t owner;
	struct vtap_worker *worker[VTAP_WORKERS_MAX];
	struct vtap_mem *mem;
	struct vhost_iotlb *iotlb;
	spinlock_t iotlb_lock;	/* what the queues miss */
	u64 iotlb_seq;
	wait_queue_head_t iotlb_wait;
	u64 features;
	u64 features_high;
	u64 backend_features;
	u64 log_base;
	struct eventfd_ctx *log_call;
	struct vtap_scratch *scratch;
	struct vtap_scratch *tx_scratch;
	struct vtap_frag_pool frags;
	struct vtap_frag_pool large_frags;
	struct vtap_vq vq[VTAP_VQ_MAX];
};

/* owned by main.c */
extern unsigned short vtap_max_mem_regions;
extern int vtap_max_iotlb_entries;
extern unsigned int vtap_idle_poll_us;
extern char *vtap_devname;

/* All open devices in the order of their ids, for netlink; owned by dev.c. */
extern struct list_head vtap_dev_list;
extern struct mutex vtap_dev_list_lock;

/* prototypes of dev.c */

/** vtap_dev_open() - file_operations.open: a device without an owner */
int vtap_dev_open(struct inode *inode, struct file *file);

/** vtap_dev_release() - file_operations.release: stop and free everything */
int vtap_dev_release(struct inode *inode, struct file *file);

/**
 * vtap_dev_check_owner() - may current do this; dev->lock held
 * @dev: device
 * Return: 0, or -EPERM for anybody but the owner (also while there is none).
 */
int vtap_dev_check_owner(const struct vtap_dev *dev);

/**
 * vtap_dev_set_owner() - VHOST_SET_OWNER; dev->lock held
 * @dev: device
 * Return: 0, -EBUSY, or what hindered the worker; nothing is left behind then.
 */
int vtap_dev_set_owner(struct vtap_dev *dev);

/**
 * vtap_dev_reset_owner() - VHOST_RESET_OWNER; dev->lock held
 * @dev: device
 * Return: 0, -EPERM or -ENOMEM (then nothing has changed).
 */
int vtap_dev_reset_owner(struct vtap_dev *dev);

/**
 * vtap_dev_split() - let the queues work at the same time; dev->lock held
 * @dev: device with an owner
 * Before a second worker is there. Stays in force until the owner is gone.
 * Return: 0 or -ENOMEM.
 */
int vtap_dev_split(struct vtap_dev *dev);

/**
 * vtap_dev_set_backend() - VHOST_NET_SET_BACKEND; dev->lock held
 * @dev: device
 * @index: virtqueue
 * @fd: tap, tun queue or packet socket; -1 detaches
 * Return: 0; -EPERM, -ENOBUFS, -EFAULT, -ENOTSOCK, -EINVAL as in-tree, and the
 * old backend keeps running then.
 */
int vtap_dev_set_backend(struct vtap_dev *dev, u32 index, int fd);

/**
 * vtap_dev_set_features() - take over acknowledged bits; dev->lock held
 * @dev: device
 * @features: bits that are all offered
 * @high: and those from 64 on
 * Return: 0 or -EFAULT; then nothing has changed.
 */
int vtap_dev_set_features(struct vtap_dev *dev, u64 features, u64 high);

/**
 * vtap_dev_set_mem() - switch both queues to another table at once; dev->lock held
 * @dev: device
 * @mem: checked and sorted; the device owns it from now on. The old one is freed.
 */
void vtap_dev_set_mem(struct vtap_dev *dev, struct vtap_mem *mem);

/**
 * vtap_dev_log_ok() - could the running queues log writes to all of guest memory
 * @dev: device; dev->lock held
 * @mem: memory table that would be in force
 * @log_base: SET_LOG_BASE that would be
 */
bool vtap_dev_log_ok(const struct vtap_dev *dev, const struct vtap_mem *mem, u64 log_base);

/** vtap_dev_lock_vqs() - take both vq->lock, in order */
void vtap_dev_lock_vqs(struct vtap_dev *dev);

/** vtap_dev_unlock_vqs() - and release them */
void vtap_dev_unlock_vqs(struct vtap_dev *dev);

/* prototypes of uapi.c */
extern const struct file_operations vtap_fops;

/* prototypes of worker_uapi.c */

/**
 * vtap_worker_ioctl() - the calls about workers; dev->lock held
 * @dev: device
 * @cmd: VHOST_{NEW,FREE}_WORKER, VHOST_{ATTACH,GET}_VRING_WORKER
 * @argp: its argument
 * Return: what the call answers; -ENOIOCTLCMD if it is another one.
 */
long vtap_worker_ioctl(struct vtap_dev *dev, unsigned int cmd, void __user *argp);

/* prototypes of vq.c */

/** vtap_vq_init() - once per open; the ring follows with vtap_vq_reset() */
void vtap_vq_init(struct vtap_vq *vq, struct vtap_dev *dev, u32 index);

/**
 * vtap_vq_reset() - forget all that ioctls have set, and drop its eventfds
 * @vq: virtqueue
 * No backend, kick_poll stopped, worker flushed; dev->scratch allocated or NULL.
 */
void vtap_vq_reset(struct vtap_vq *vq);

/** vtap_vq_set_tables() - take over dev->mem and dev->iotlb; vq->lock held */
void vtap_vq_set_tables(struct vtap_vq *vq);

/** vtap_vq_forget_addr() - as if VHOST_SET_VRING_ADDR had not been called; vq->lock held */
void vtap_vq_forget_addr(struct vtap_vq *vq);

/** vtap_vq_set_features() - take over dev->features; vq->lock held */
void vtap_vq_set_features(struct vtap_vq *vq);

/**
 * vtap_vq_access_ok() - could the queue run as it is set up; vq->lock held
 * @vq: virtqueue
 * @log_base: SET_LOG_BASE that would be in force
 */
bool vtap_vq_access_ok(const struct vtap_vq *vq, u64 log_base);

/** vtap_vq_ioctl() - the SET_VRING_* and GET_VRING_* calls; dev->lock held */
long vtap_vq_ioctl(struct vtap_dev *dev, unsigned int cmd, void __user *argp);

/**
 * vtap_vq_retry() - have the handler run again soon, but not at once
 * @vq: virtqueue
 * For what no poll and no kick announces: memory, a tap that has no device for
 * now. vq->lock held, with a backend.
 */
void vtap_vq_retry(struct vtap_vq *vq);

/**
 * vtap_vq_watch_sock() - run the handler once the socket is ready
 * @vq: virtqueue
 * Sees what is ready already; retries a socket that cannot be polled. vq->lock
 * held, with a backend.
 */
void vtap_vq_watch_sock(struct vtap_vq *vq);

/** vtap_vq_cancel_retry() - end that; without a backend it does not begin again */
void vtap_vq_cancel_retry(struct vtap_vq *vq);

/**
 * vtap_vq_signal() - interrupt the guest if it asked for it
 * @vq: virtqueue
 * Decides for everything completed since the last call; counts what it did.
 * vq->lock held. A fault stops the queue.
 */
void vtap_vq_signal(struct vtap_vq *vq);

/** vtap_vq_log_tell() - signal the dirty log's eventfd; see vtap_vq_log_signal() */
void vtap_vq_log_tell(struct vtap_vq *vq);

/** vtap_vq_log_signal() - do that if pages were marked since; vq->lock held */
static inline void vtap_vq_log_signal(struct vtap_vq *vq)
{
	if (unlikely(vq->ring.log.marked))
		vtap_vq_log_tell(vq);
}

/**
 * vtap_vq_broken() - the ring reported -EPROTO: tell, count and trace why
 * @vq: virtqueue
 * The handler stops; vq->ring.err stays until the backend is attached anew.
 * vq->lock held.
 */
void vtap_vq_broken(struct vtap_vq *vq);

/**
 * vtap_vq_busy_poll() - watch both rings and the socket for a while
 * @vq: the queue whose handler found nothing to do; its lock is held
 *
 * For busyloop_timeout if that is set; else for as long as an answer usually takes
 * (vq.c), if that is short.
 *
 * Return: true if there is something for @vq to look at again. Work found for
 * the other queue has been queued.
 */
bool vtap_vq_busy_poll(struct vtap_vq *vq);

/* prototypes of tx.c and rx.c: one run of a queue; they take vq->lock. */
void vtap_tx_run(struct vtap_vq *vq);
void vtap_rx_run(struct vtap_vq *vq);

/**
 * vtap_rx_return_held() - give held frames back to the socket (I5)
 * @vq: virtqueue
 * Before vq->sock changes; vq->lock held.
 */
void vtap_rx_return_held(struct vtap_vq *vq);

/* prototypes of netlink.c */
int vtap_netlink_init(void);
void vtap_netlink_exit(void);

#endif /* VTAP_DEV_H */
