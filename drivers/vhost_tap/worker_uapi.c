// SPDX-License-Identifier: GPL-2.0-only
/*
 * The calls that make, free and hand out workers. Runs in the owner, under
 * dev->lock; knows nothing of how a worker works. Errors are those that the
 * kernel's vhost gives to devices whose workers can be more than one.
 */
#include <linux/nospec.h>
#include <linux/uaccess.h>

#include "compat/vhost.h"
#include "dev.h"

#ifdef VTAP_COMPAT_WORKERS

/* Is there such a worker? Return: its id, safe as an index; -ENODEV. */
static int vtap_worker_find(const struct vtap_dev *dev, u32 id)
{
	if (id >= VTAP_WORKERS_MAX)
		return -ENODEV;
	id = array_index_nospec(id, VTAP_WORKERS_MAX);
	return dev->worker[id] ? id : -ENODEV;
}

static long vtap_worker_new(struct vtap_dev *dev, void __user *argp)
{
	struct vhost_worker_state state = {};
	int id, err;

	err = vtap_dev_split(dev);
	if (err)
		return err;
	id = vtap_worker_create(dev);
	/* Whatever the reason, as in-tree. */
	if (id < 0)
		return -ENOMEM;
	state.worker_id = id;
	if (copy_to_user(argp, &state, sizeof(state))) {
		/* Nobody knows of it. */
		vtap_worker_destroy(dev, id);
		return -EFAULT;
	}
	return 0;
}

static long vtap_worker_free(struct vtap_dev *dev, void __user *argp)
{
	struct vhost_worker_state state;
	int id;

	if (copy_from_user(&state, argp, sizeof(state)))
		return -EFAULT;
	id = vtap_worker_find(dev, state.worker_id);
	if (id < 0)
		return id;
	/* Also the first one may go, once it has nothing to do. */
	if (vtap_worker_in_use(dev, id))
		return -EBUSY;
	vtap_worker_destroy(dev, id);
	return 0;
}

/* The two calls that name a queue. */
static long vtap_worker_vring(struct vtap_dev *dev, unsigned int cmd, void __user *argp)
{
	struct vhost_vring_worker arg;
	struct vtap_vq *vq;
	u32 index;
	int id;

	if (get_user(index, (u32 __user *)argp))
		return -EFAULT;
	if (index >= VTAP_VQ_MAX)
		return -ENOBUFS;
	vq = &dev->vq[array_index_nospec(index, VTAP_VQ_MAX)];

	if (cmd == VHOST_GET_VRING_WORKER) {
		arg.index = index;
		arg.worker_id = vtap_worker_id(vq);
		return copy_to_user(argp, &arg, sizeof(arg)) ? -EFAULT : 0;
	}

	/* The index was read above; only the rest counts here. */
	if (copy_from_user(&arg, argp, sizeof(arg)))
		return -EFAULT;
	id = vtap_worker_find(dev, arg.worker_id);
	if (id < 0)
		return id;
	vtap_worker_attach(vq, id);
	return 0;
}

long vtap_worker_ioctl(struct vtap_dev *dev, unsigned int cmd, void __user *argp)
{
	long err;

	switch (cmd) {
	case VHOST_NEW_WORKER:
	case VHOST_FREE_WORKER:
	case VHOST_ATTACH_VRING_WORKER:
	case VHOST_GET_VRING_WORKER:
		break;
	default:
		return -ENOIOCTLCMD;
	}
	/* Without an owner these calls are wrong, not forbidden. */
	if (!dev->mm)
		return -EINVAL;
	err = vtap_dev_check_owner(dev);
	if (err)
		return err;

	switch (cmd) {
	case VHOST_NEW_WORKER:
		return vtap_worker_new(dev, argp);
	case VHOST_FREE_WORKER:
		return vtap_worker_free(dev, argp);
	default:
		return vtap_worker_vring(dev, cmd, argp);
	}
}

#else /* no such calls in this kernel's UAPI */

long vtap_worker_ioctl(struct vtap_dev *dev, unsigned int cmd, void __user *argp)
{
	return -ENOIOCTLCMD;
}

#endif
