// SPDX-License-Identifier: GPL-2.0-only
/*
 * The workers of a device: kthreads on the owner's mm and in its cgroups, one as
 * long as nobody asks for more, and the two things that wake them: queued work
 * and polled files. A queue has one worker at a time, a worker any number of
 * queues. It knows nothing of rings and sockets.
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
 *
 * A queue moves under traffic: vq->worker is read under RCU by whoever queues.
 * Who moves it changes the pointer, waits for those who may still have read the
 * old one, and then flushes the old worker. Work that was queued there runs
 * there, and is found queued by those who come meanwhile: nothing is lost, and
 * the two workers meet at vq->lock. What such a run queues again goes to the
 * new one. No work is left then, nor comes, at a worker that serves no queue, so
 * that it can be freed.
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
 * @idle: the kthread's own, too
 */
struct vtap_worker {
	struct task_struct *task;
	struct mm_struct *mm;
	struct llist_head incoming;
	struct llist_node *todo;
	struct vtap_idle idle;
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
	/* The queue may be leaving this worker. */
	vtap_worker_idle()->vq = NULL;
	complete(&container_of(work, struct vtap_errand, work)->done);
}

int vtap_worker_create(struct vtap_dev *dev)
{
	struct vtap_errand join = { .owner = current };
	struct vtap_worker *worker;
	int err;
	u32 id;

	lockdep_assert_held(&dev->lock);

	for (id = 0; id < VTAP_WORKERS_MAX && dev->worker[id]; id++)
		;
	if (id == VTAP_WORKERS_MAX)
		return -ENOMEM;

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

	dev->worker[id] = worker;
	return id;

err_stop:
	kthread_stop(worker->task);
err_free:
	kfree(worker);
	return err;
}

void vtap_worker_destroy(struct vtap_dev *dev, u32 id)
{
	struct vtap_worker *worker = dev->worker[id];

	lockdep_assert_held(&dev->lock);
	/* The thread looks at its list before it looks at this. */
	kthread_stop(worker->task);
	dev->worker[id] = NULL;
	kfree(worker);
}

void vtap_worker_destroy_all(struct vtap_dev *dev)
{
	u32 i;

	for (i = 0; i < VTAP_VQ_MAX; i++)
		rcu_assign_pointer(dev->vq[i].worker, NULL);
	for (i = 0; i < VTAP_WORKERS_MAX; i++)
		if (dev->worker[i])
			vtap_worker_destroy(dev, i);
}

static void vtap_worker_flush_one(struct vtap_worker *worker)
{
	struct vtap_errand flush = {};

	vtap_worker_send(worker, &flush, vtap_worker_flushed);
}

/* The worker of a queue; dev->lock held. */
static struct vtap_worker *vtap_worker_of(const struct vtap_vq *vq)
{
	return rcu_dereference_protected(vq->worker, lockdep_is_held(&vq->dev->lock));
}

void vtap_worker_attach(struct vtap_vq *vq, u32 id)
{
	struct vtap_worker *worker = vq->dev->worker[id];
	struct vtap_worker *old = vtap_worker_of(vq);

	if (old == worker)
		return;
	rcu_assign_pointer(vq->worker, worker);
	if (!old)
		return;
	/* Nobody adds to the old one after this... */
	synchronize_rcu();
	/* ...and what was added before has run after that. */
	vtap_worker_flush_one(old);
}

int vtap_worker_id(const struct vtap_vq *vq)
{
	const struct vtap_worker *worker = vtap_worker_of(vq);
	u32 id;

	for (id = 0; worker && id < VTAP_WORKERS_MAX; id++)
		if (vq->dev->worker[id] == worker)
			return id;
	return -1;
}

bool vtap_worker_in_use(const struct vtap_dev *dev, u32 id)
{
	u32 i;

	for (i = 0; i < VTAP_VQ_MAX; i++)
		if (vtap_worker_of(&dev->vq[i]) == dev->worker[id])
			return true;
	return false;
}

void vtap_worker_queue(struct vtap_vq *vq, struct vtap_work *work)
{
	struct vtap_worker *worker;

	/* Pairs with vtap_worker_attach(). */
	rcu_read_lock();
	worker = rcu_dereference(vq->worker);
	if (worker)
		vtap_worker_add(worker, work);
	rcu_read_unlock();
}

void vtap_worker_flush(struct vtap_dev *dev)
{
	u32 i;

	lockdep_assert_held(&dev->lock);
	for (i = 0; i < VTAP_WORKERS_MAX; i++)
		if (dev->worker[i])
			vtap_worker_flush_one(dev->worker[i]);
}

/* The worker that we run on. */
static struct vtap_worker *vtap_worker_self(void)
{
	return kthread_data(current);
}

bool vtap_worker_has_work(void)
{
	const struct vtap_worker *worker = vtap_worker_self();

	return worker->todo || !llist_empty(&worker->incoming);
}

struct vtap_idle *vtap_worker_idle(void)
{
	return &vtap_worker_self()->idle;
}

bool vtap_worker_serves(const struct vtap_vq *vq)
{
	return rcu_access_pointer(vq->worker) == vtap_worker_self();
}

pid_t vtap_worker_pid(struct vtap_dev *dev, u32 id)
{
	lockdep_assert_held(&dev->lock);
	return dev->worker[id] ? task_pid_nr(dev->worker[id]->task) : 0;
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
		vtap_worker_queue(poll->vq, &poll->work);
	return 0;
}

void vtap_poll_init(struct vtap_poll *poll, vtap_work_fn fn, __poll_t mask,
		    struct vtap_vq *vq)
{
	init_waitqueue_func_entry(&poll->wait, vtap_poll_wake);
	init_poll_funcptr(&poll->table, vtap_poll_hook);
	vtap_work_init(&poll->work, fn);
	poll->wqh = NULL;
	poll->mask = mask;
	poll->vq = vq;
}

int vtap_poll_start(struct vtap_poll *poll, struct file *file)
{
	__poll_t ready;

	if (poll->wqh)
		return 0;
	ready = vfs_poll(file, &poll->table);
	if (ready & poll->mask)
		vtap_worker_queue(poll->vq, &poll->work);
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
