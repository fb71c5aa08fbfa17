// SPDX-License-Identifier: GPL-2.0-only
/*
 * The worker: one kthread a device, on the owner's mm and in its cgroups, and
 * the two things that wake it: queued work and polled files. It knows nothing
 * of rings and sockets.
 *
 * Who queues and who runs meet in two places:
 *
 *  - work->flags. The queuer writes its data, then sets VTAP_WORK_QUEUED with a
 *    fully ordered operation (A). The worker clears the bit with another one
 *    (B) and calls the work after that. If A finds the bit set, B is still to
 *    come and the work will see the data; if not, the work is queued once more.
 *
 *  - the sleep. The queuer adds to the list, then wakes the task (C). The
 *    worker sets its state, then looks at the list (D). wake_up_process() and
 *    set_current_state() hold the full barriers of C and D, so that one of
 *    both sees what the other did. kthread_stop() pairs with D likewise.
 */
#include <linux/cgroup.h>
#include <linux/completion.h>
#include <linux/kthread.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#include "dev.h"

#define VTAP_WORK_QUEUED	0

/**
 * struct vtap_worker - the kthread and what it has to do
 * @task: the kthread
 * @mm: the owner's memory; the device keeps it alive
 * @incoming: queued work, newest first
 * @todo: work already taken off @incoming, in order, still to be called;
 *	the kthread's own
 */
struct vtap_worker {
	struct task_struct *task;
	struct mm_struct *mm;
	struct llist_head incoming;
	struct llist_node *todo;
};

/* Work that somebody waits for. */
struct vtap_errand {
	struct vtap_work work;
	struct completion done;
	struct task_struct *owner;
	int err;
};

static void vtap_worker_run(struct vtap_worker *worker)
{
	struct vtap_work *work;

	worker->todo = llist_reverse_order(llist_del_all(&worker->incoming));
	while (worker->todo) {
		work = llist_entry(worker->todo, struct vtap_work, node);
		/* Before the bit is cleared: then the node is anybody's. */
		worker->todo = work->node.next;
		/* B: fully ordered; pairs with A in vtap_worker_queue(). */
		test_and_clear_bit(VTAP_WORK_QUEUED, &work->flags);
		work->fn(work);
		cond_resched();
	}
}

static int vtap_worker_thread(void *data)
{
	struct vtap_worker *worker = data;

	kthread_use_mm(worker->mm);
	for (;;) {
		/* D: pairs with C in vtap_worker_queue() and kthread_stop(). */
		set_current_state(TASK_INTERRUPTIBLE);
		if (!llist_empty(&worker->incoming)) {
			__set_current_state(TASK_RUNNING);
			vtap_worker_run(worker);
			continue;
		}
		if (kthread_should_stop())
			break;
		schedule();
	}
	__set_current_state(TASK_RUNNING);
	kthread_unuse_mm(worker->mm);
	return 0;
}

static void vtap_worker_add(struct vtap_worker *worker, struct vtap_work *work)
{
	/* A: fully ordered; pairs with B in vtap_worker_run(). */
	if (test_and_set_bit(VTAP_WORK_QUEUED, &work->flags))
		return;
	/* C: pairs with D. If the list was not empty, who added first wakes. */
	if (llist_add(&work->node, &worker->incoming))
		wake_up_process(worker->task);
}

static void vtap_worker_send(struct vtap_worker *worker, struct vtap_errand *errand,
			     vtap_work_fn fn)
{
	vtap_work_init(&errand->work, fn);
	init_completion(&errand->done);
	vtap_worker_add(worker, &errand->work);
	wait_for_completion(&errand->done);
}

static void vtap_worker_join_cgroups(struct vtap_work *work)
{
	struct vtap_errand *errand = container_of(work, struct vtap_errand, work);

	errand->err = cgroup_attach_task_all(errand->owner, current);
	complete(&errand->done);
}

static void vtap_worker_flushed(struct vtap_work *work)
{
	complete(&container_of(work, struct vtap_errand, work)->done);
}

int vtap_worker_create(struct vtap_dev *dev)
{
	struct vtap_errand join = { .owner = current };
	struct vtap_worker *worker;
	int err;

	lockdep_assert_held(&dev->lock);

	worker = kzalloc(sizeof(*worker), GFP_KERNEL_ACCOUNT);
	if (!worker)
		return -ENOMEM;
	init_llist_head(&worker->incoming);
	worker->mm = dev->mm;
	worker->task = kthread_create(vtap_worker_thread, worker, "vhost-%d",
				      dev->owner);
	if (IS_ERR(worker->task)) {
		err = PTR_ERR(worker->task);
		goto err_free;
	}
	wake_up_process(worker->task);

	/*
	 * The thread moves itself: newer kernels give a kthread its default CPU
	 * mask when it first runs, which would undo a cpuset set from here.
	 */
	vtap_worker_send(worker, &join, vtap_worker_join_cgroups);
	err = join.err;
	if (err)
		goto err_stop;

	/* Nobody queues before; pairs with vtap_worker_queue(). */
	smp_store_release(&dev->worker, worker);
	return 0;

err_stop:
	kthread_stop(worker->task);
err_free:
	kfree(worker);
	return err;
}

void vtap_worker_destroy(struct vtap_dev *dev)
{
	struct vtap_worker *worker = dev->worker;

	lockdep_assert_held(&dev->lock);
	if (!worker)
		return;
	/* The thread looks at its list before it looks at this. */
	kthread_stop(worker->task);
	WRITE_ONCE(dev->worker, NULL);
	kfree(worker);
}

void vtap_worker_queue(struct vtap_dev *dev, struct vtap_work *work)
{
	/* Pairs with vtap_worker_create(). */
	struct vtap_worker *worker = smp_load_acquire(&dev->worker);

	if (worker)
		vtap_worker_add(worker, work);
}

void vtap_worker_flush(struct vtap_dev *dev)
{
	struct vtap_errand flush = {};

	lockdep_assert_held(&dev->lock);
	if (dev->worker)
		vtap_worker_send(dev->worker, &flush, vtap_worker_flushed);
}

bool vtap_worker_has_work(struct vtap_dev *dev)
{
	const struct vtap_worker *worker = dev->worker;

	return worker->todo || !llist_empty(&worker->incoming);
}

pid_t vtap_worker_pid(struct vtap_dev *dev)
{
	lockdep_assert_held(&dev->lock);
	return dev->worker ? task_pid_nr(dev->worker->task) : 0;
}

void vtap_work_init(struct vtap_work *work, vtap_work_fn fn)
{
	work->flags = 0;
	work->fn = fn;
}

/* The polled file calls this when it is asked where to wait. */
static void vtap_poll_hook(struct file *file, wait_queue_head_t *wqh, poll_table *table)
{
	struct vtap_poll *poll = container_of(table, struct vtap_poll, table);

	/* One entry waits in one place; no backend has a second. */
	if (poll->wqh)
		return;
	poll->wqh = wqh;
	add_wait_queue(wqh, &poll->wait);
}

static int vtap_poll_wake(wait_queue_entry_t *wait, unsigned int mode, int sync, void *key)
{
	struct vtap_poll *poll = container_of(wait, struct vtap_poll, wait);

	if (key_to_poll(key) & poll->mask)
		vtap_worker_queue(poll->dev, &poll->work);
	return 0;
}

void vtap_poll_init(struct vtap_poll *poll, vtap_work_fn fn, __poll_t mask,
		    struct vtap_dev *dev)
{
	init_waitqueue_func_entry(&poll->wait, vtap_poll_wake);
	init_poll_funcptr(&poll->table, vtap_poll_hook);
	vtap_work_init(&poll->work, fn);
	poll->wqh = NULL;
	poll->mask = mask;
	poll->dev = dev;
}

int vtap_poll_start(struct vtap_poll *poll, struct file *file)
{
	__poll_t ready;

	if (poll->wqh)
		return 0;
	ready = vfs_poll(file, &poll->table);
	if (ready & poll->mask)
		vtap_worker_queue(poll->dev, &poll->work);
	if (ready & EPOLLERR) {
		vtap_poll_stop(poll);
		return -EINVAL;
	}
	return 0;
}

void vtap_poll_stop(struct vtap_poll *poll)
{
	if (!poll->wqh)
		return;
	/* Takes the waitqueue's lock: no wake-up is under way after this. */
	remove_wait_queue(poll->wqh, &poll->wait);
	poll->wqh = NULL;
}
