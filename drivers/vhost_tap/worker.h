/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The worker kthread of a device and the two ways to wake it: queueing work,
 * and polling a file (kick eventfd or socket). Owned by worker.c.
 */
#ifndef VTAP_WORKER_H
#define VTAP_WORKER_H

#include <linux/file.h>
#include <linux/llist.h>
#include <linux/poll.h>
#include <linux/wait.h>

struct vtap_dev;
struct vtap_worker;
struct vtap_work;

typedef void (*vtap_work_fn)(struct vtap_work *work);

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
 * @dev: on whose worker; before SET_OWNER there is none, and nothing happens
 * @mask: EPOLLIN or EPOLLOUT
 */
struct vtap_poll {
	poll_table table;
	wait_queue_entry_t wait;
	wait_queue_head_t *wqh;
	struct vtap_work work;
	struct vtap_dev *dev;
	__poll_t mask;
};

/* prototypes of worker.c */

/**
 * vtap_worker_create() - start "vhost-<pid>" on current's mm and in its cgroups
 * @dev: device; its owner is current
 * Called with dev->lock held, from SET_OWNER. Nothing is left behind on error.
 * Return: 0 or -errno; dev->worker is set on success.
 */
int vtap_worker_create(struct vtap_dev *dev);

/**
 * vtap_worker_destroy() - run what is queued, end the kthread, free it
 * @dev: device
 * Nothing may queue work any more (polls are stopped). NULL-safe.
 */
void vtap_worker_destroy(struct vtap_dev *dev);

/** vtap_worker_queue() - have @work run; from any context. No-op without a worker. */
void vtap_worker_queue(struct vtap_dev *dev, struct vtap_work *work);

/**
 * vtap_worker_flush() - wait until all work queued before has run
 * @dev: device
 * May sleep; must not hold a virtqueue's mutex.
 */
void vtap_worker_flush(struct vtap_dev *dev);

/** vtap_worker_has_work() - should the running work item hurry up; for busy polling */
bool vtap_worker_has_work(struct vtap_dev *dev);

void vtap_work_init(struct vtap_work *work, vtap_work_fn fn);

void vtap_poll_init(struct vtap_poll *poll, vtap_work_fn fn, __poll_t mask,
		    struct vtap_dev *dev);

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

/** vtap_worker_pid() - thread id of the worker, 0 without one; for reports */
pid_t vtap_worker_pid(struct vtap_dev *dev);

#endif /* VTAP_WORKER_H */
