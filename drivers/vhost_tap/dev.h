/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The two main objects, device and virtqueue, and the prototypes of the files
 * that own them.
 *
 * Lock order:
 *	vtap_dev_list_lock -> dev->lock -> rx vq->lock -> tx vq->lock
 * dev->lock serializes ioctls. A virtqueue's lock is held by its handler for a
 * whole run, and by ioctls around each change of what a handler looks at.
 */
#ifndef VTAP_DEV_H
#define VTAP_DEV_H

#include <linux/eventfd.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/vhost.h>

#include "frag.h"
#include "ring.h"
#include "sock.h"
#include "stats.h"
#include "worker.h"

/* What a run may do before others get their turn (I6); as in-tree. */
#define VTAP_BUDGET_PACKETS	256
#define VTAP_BUDGET_BYTES	0x80000

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
 * @index: VTAP_VQ_RX or VTAP_VQ_TX
 * @sock: backend; NULL while stopped
 * @hlen: virtio-net header bytes that the guest sees: 10 or 12
 * @sock_hlen: of these, what the socket reads or writes: @hlen or 0
 * @mergeable: VIRTIO_NET_F_MRG_RXBUF
 * @busyloop_timeout: microseconds; 0 is off
 * @desc_addr, @avail_addr, @used_addr, @log_addr, @addr_flags: as set by SET_VRING_ADDR
 * @kick: the file that is polled; NULL for none
 * @kick_poll: queues the handler when the guest kicks
 * @sock_poll: queues the handler when the socket becomes ready
 * @call, @err: eventfds; NULL for none
 * @stats: counters
 * @wait_since: ktime_get_ns() when a headcount wait began; 0 outside one
 * @held: RX: frames dequeued from the socket and not consumed,
 *	held[held_head] ... held[held_tail - 1]
 * @xdp: TX: frames prepared for the next sendmsg; VTAP_BATCH of them
 */
struct vtap_vq {
	struct mutex lock;
	struct vtap_ring ring;
	struct vtap_dev *dev;
	u32 index;
	struct vtap_sock *sock;
	u16 hlen;
	u16 sock_hlen;
	bool mergeable;
	u32 busyloop_timeout;

	struct file *kick;
	struct vtap_poll kick_poll;
	struct vtap_poll sock_poll;
	struct eventfd_ctx *call;
	struct eventfd_ctx *err;

	struct vtap_stats stats;
	u64 wait_since;

	void **held;
	u32 held_head;
	u32 held_tail;
	struct xdp_buff *xdp;
};

/**
 * struct vtap_dev - one open file of the node
 * @lock: see above
 * @id: number in reports, unique while loaded
 * @list: place in vtap_dev_list
 * @mm: the owner's memory; NULL without an owner
 * @owner: tgid of the owner in the initial namespace, 0 without one
 * @worker: NULL without an owner
 * @mem: memory table; NULL until SET_MEM_TABLE
 * @features: acknowledged feature bits
 * @backend_features: acknowledged VHOST_BACKEND_F_* bits
 * @log_base: SET_LOG_BASE; kept for F_LOG_ALL
 * @log_call: SET_LOG_FD
 * @frags: TX buffers
 * @vq: the pair
 */
struct vtap_dev {
	struct mutex lock;
	u32 id;
	struct list_head list;
	struct mm_struct *mm;
	pid_t owner;
	struct vtap_worker *worker;
	struct vtap_mem *mem;
	u64 features;
	u64 backend_features;
	u64 log_base;
	struct eventfd_ctx *log_call;
	struct vtap_frag_pool frags;
	struct vtap_vq vq[VTAP_VQ_MAX];
};

/* All open devices, for netlink; owned by dev.c. */
extern struct list_head vtap_dev_list;
extern struct mutex vtap_dev_list_lock;

/* prototypes of dev.c */
int vtap_dev_open(struct inode *inode, struct file *file);
int vtap_dev_release(struct inode *inode, struct file *file);
/* These four: dev->lock held. Errors as in-tree vhost_net. */
int vtap_dev_check_owner(const struct vtap_dev *dev);
int vtap_dev_set_owner(struct vtap_dev *dev);
int vtap_dev_reset_owner(struct vtap_dev *dev);
int vtap_dev_set_backend(struct vtap_dev *dev, u32 index, int fd);

/* prototypes of uapi.c */
extern const struct file_operations vtap_fops;

/* prototypes of vq.c */
int vtap_vq_init(struct vtap_vq *vq, struct vtap_dev *dev, u32 index);
void vtap_vq_destroy(struct vtap_vq *vq);
/* The SET_VRING_* calls; dev->lock held, vq->lock taken inside. */
long vtap_vq_ioctl(struct vtap_dev *dev, unsigned int cmd, void __user *argp);

/**
 * vtap_vq_signal() - interrupt the guest if it asked for it
 * Decides for everything completed since the last call; counts what it did.
 * vq->lock held. A fault stops the queue.
 */
void vtap_vq_signal(struct vtap_vq *vq);

/**
 * vtap_vq_broken() - the ring reported -EPROTO: tell, count and trace why
 * The handler stops; vq->ring.err stays until the backend is attached anew.
 * vq->lock held.
 */
void vtap_vq_broken(struct vtap_vq *vq);

/**
 * vtap_vq_busy_poll() - watch both rings and the socket for busyloop_timeout
 * @vq: the queue whose handler found nothing to do; its lock is held
 * Return: true if there is something for @vq to look at again. Work found for
 * the other queue has been queued.
 */
bool vtap_vq_busy_poll(struct vtap_vq *vq);

/* prototypes of tx.c and rx.c: one run of a queue; they take vq->lock. */
void vtap_tx_run(struct vtap_vq *vq);
void vtap_rx_run(struct vtap_vq *vq);

/**
 * vtap_rx_return_held() - give held frames back to the socket (I5)
 * Before vq->sock changes; vq->lock held.
 */
void vtap_rx_return_held(struct vtap_vq *vq);

/* prototypes of netlink.c */
int vtap_netlink_init(void);
void vtap_netlink_exit(void);

#endif /* VTAP_DEV_H */
