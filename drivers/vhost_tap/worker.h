/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The worker kthreads of a device and the two ways to wake one: queueing work,
 * and polling a file (kick eventfd or socket). Owned by worker.c.
 */
#ifndef VTAP_WORKER_H
#define VTAP_WORKER_H

#include <linux/file.h>
#include <linux/llist.h>
#include <linux/poll.h>
#include <linux/wait.h>

struct vtap_dev;
struct vtap_vq;
struct vtap_worker;
struct vtap_work;

typedef void (*vtap_work_fn)(struct vtap_work *work);

/* Workers of one device; more than one a queue are of use while queues move only. */
#define VTAP_WORKERS_MAX	8

/**
 * struct vtap_work - something the worker does; queued at most once at a time
 * @node: place in the worker's list
 * @flags: VTAP_WORK_QUEUED
 * @fn: runs on the worker, on the owner's mm; work queued from the moment it
 *	is called makes it run once more
 */
struct vtap_work {
	struct llist_node node;
	unsigned long flags;
	vtap_work_fn fn;
};

/**
 * struct vtap_poll - wakes the worker when a file becomes ready
 * @table: hooks @wait into the file's waitqueue
 * @wait: entry there
 * @wqh: that waitqueue; NULL while not polling
 * @work: what gets queued
 * @vq: on whose worker; before SET_OWNER there is none, and nothing happens
 * @mask: EPOLLIN or EPOLLOUT
 */
struct vtap_poll {
	poll_table table;
	wait_queue_entry_t wait;
	wait_queue_head_t *wqh;
	struct vtap_work work;
	struct vtap_vq *vq;
	__poll_t mask;
};

/**
 * struct vtap_idle - what a worker last ran out of work with; its own
 * @vq: the queue that found nothing to do; NULL if something came since
 * @since: the scheduler's clock at that time
 */
struct vtap_idle {
	struct vtap_vq *vq;
	u64 since;
};

/* prototypes of worker.c */

/**
 * vtap_worker_create() - start "vhost-<pid>" on the owner's mm, in current's cgroups
 * @dev: device; its owner is current
 * dev->lock held. Nothing is left behind on error. No queue is the worker's yet.
 * Return: the worker's id, that is, its place in dev->worker[]; -ENOMEM if all
 * are taken, or -errno.
 */
int vtap_worker_create(struct vtap_dev *dev);

/**
 * vtap_worker_destroy() - run what is queued, end the kthread, free it
 * @dev: device; dev->lock held
 * @id: an existing worker, of no queue (vtap_worker_attach())
 */
void vtap_worker_destroy(struct vtap_dev *dev, u32 id);

/**
 * vtap_worker_destroy_all() - end all workers of a device, whoever they serve
 * @dev: device; dev->lock held
 * Nothing may queue work any more: polls are stopped, backends detached.
 */
void vtap_worker_destroy_all(struct vtap_dev *dev);

/**
 * vtap_worker_attach() - have a queue served by a worker, whatever served it before
 * @vq: queue; dev->lock held, vq->lock not
 * @id: an existing worker of its device
 * May be called under traffic. Once it has returned the queue runs on that
 * worker alone, and all that was queued before has run.
 */
void vtap_worker_attach(struct vtap_vq *vq, u32 id);

/** vtap_worker_id() - the id of the worker of a queue, -1 for none; dev->lock held */
int vtap_worker_id(const struct vtap_vq *vq);

/** vtap_worker_in_use() - does worker @id serve a queue; dev->lock held */
bool vtap_worker_in_use(const struct vtap_dev *dev, u32 id);

/**
 * vtap_worker_queue() - have @work run on the worker of a queue; from any context
 * @vq: queue; if it has no worker, nothing happens
 * @work: belongs to that queue
 */
void vtap_worker_queue(struct vtap_vq *vq, struct vtap_work *work);

/**
 * vtap_worker_flush() - wait until all work queued before has run
 * @dev: device
 * May sleep; must not hold a virtqueue's mutex.
 */
void vtap_worker_flush(struct vtap_dev *dev);

/*
 * For work that is running: about the worker that it runs on, which need not be
 * that of its queue any more.
 */

/** vtap_worker_has_work() - should the running work item hurry up; for busy polling */
bool vtap_worker_has_work(void);

/** vtap_worker_idle() - what this worker last ran out of work with */
struct vtap_idle *vtap_worker_idle(void);

/** vtap_worker_serves() - is @vq one of this worker's; the answer may be old */
bool vtap_worker_serves(const struct vtap_vq *vq);

void vtap_work_init(struct vtap_work *work, vtap_work_fn fn);

void vtap_poll_init(struct vtap_poll *poll, vtap_work_fn fn, __poll_t mask,
		    struct vtap_vq *vq);

/**
 * vtap_poll_start() - begin to watch @file; queues the work if it is ready already
 * @poll: set up by vtap_poll_init()
 * @file: what to watch
 * The owner keeps @file alive until vtap_poll_stop(). Idempotent.
 * Return: 0, or -EINVAL if the file reports EPOLLERR.
 */
int vtap_poll_start(struct vtap_poll *poll, struct file *file);

/** vtap_poll_stop() - stop watching; work queued before may still run. Idempotent. */
void vtap_poll_stop(struct vtap_poll *poll);

/** vtap_worker_pid() - thread id of worker @id, 0 without one; for reports */
pid_t vtap_worker_pid(struct vtap_dev *dev, u32 id);

#endif /* VTAP_WORKER_H */
