// SPDX-License-Identifier: GPL-2.0-only
/*
 * What user space calls: copy in, check, hand on. The order of checks decides
 * the errno of a call that is wrong in two ways, and is that of the in-tree
 * module. Everything below one ioctl runs under dev->lock.
 */
#include <linux/compat.h>
#include <linux/fs.h>
#include <linux/overflow.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include <linux/virtio_net.h>

#include "compat/features.h"
#include "compat/virtio_net.h"
#include "dev.h"
#include "log.h"

/*
 * A bit is offered once it works, and where the kernel's own module offers it. In
 * order is how all chains are handed back, and a ring that is reset is one whose
 * backend is taken away: nothing else is to be done for these two.
 */
#define VTAP_FEATURES (BIT_ULL(VIRTIO_F_NOTIFY_ON_EMPTY) |	\
		       BIT_ULL(VIRTIO_RING_F_INDIRECT_DESC) |	\
		       BIT_ULL(VIRTIO_RING_F_EVENT_IDX) |	\
		       BIT_ULL(VHOST_F_LOG_ALL) |		\
		       BIT_ULL(VIRTIO_F_ANY_LAYOUT) |		\
		       BIT_ULL(VIRTIO_F_VERSION_1) |		\
		       BIT_ULL(VIRTIO_F_ACCESS_PLATFORM) |	\
		       BIT_ULL(VIRTIO_NET_F_MRG_RXBUF) |	\
		       BIT_ULL(VHOST_NET_F_VIRTIO_NET_HDR) |	\
		       VTAP_COMPAT_FEATURES)
/* The second word: bits 64 to 127. */
#define VTAP_FEATURES_HIGH	VTAP_COMPAT_TUNNEL_BITS
#define VTAP_FEATURES_U64S	2

#define VTAP_BACKEND_FEATURES BIT_ULL(VHOST_BACKEND_F_IOTLB_MSG_V2)

static long vtap_uapi_ack_features(struct vtap_dev *dev, u64 features, u64 high)
{
	if (features & ~VTAP_FEATURES || high & ~VTAP_FEATURES_HIGH)
		return -EOPNOTSUPP;
	if (features & BIT_ULL(VHOST_F_LOG_ALL) && !vtap_dev_log_ok(dev, dev->mem, dev->log_base))
		return -EFAULT;
	return vtap_dev_set_features(dev, features, high);
}

static long vtap_uapi_set_features(struct vtap_dev *dev, u64 __user *argp)
{
	u64 features;

	if (copy_from_user(&features, argp, sizeof(features)))
		return -EFAULT;
	return vtap_uapi_ack_features(dev, features, 0);
}

/* Words that a caller has beyond ours: where they begin, and bytes. 0 or -EFAULT. */
static long vtap_uapi_array_rest(u64 __user *array, u64 count, u64 __user **rest, size_t *bytes)
{
	size_t all;

	*rest = NULL;
	*bytes = 0;
	if (count <= VTAP_FEATURES_U64S)
		return 0;
	/* However many there are said to be, they have to be there. */
	if (count > SIZE_MAX || check_mul_overflow((size_t)count, sizeof(u64), &all) ||
	    !access_ok(array, all))
		return -EFAULT;
	*rest = array + VTAP_FEATURES_U64S;
	*bytes = all - VTAP_FEATURES_U64S * sizeof(u64);
	return 0;
}

/* As many words as the caller has room for; any beyond ours are zero. */
static long vtap_uapi_get_features_array(u64 __user *argp)
{
	const u64 features[VTAP_FEATURES_U64S] = { VTAP_FEATURES, VTAP_FEATURES_HIGH };
	u64 __user *rest;
	size_t bytes;
	u64 count;

	if (copy_from_user(&count, argp, sizeof(count)))
		return -EFAULT;
	if (copy_to_user(++argp, features,
			 min_t(u64, count, VTAP_FEATURES_U64S) * sizeof(u64)) ||
	    vtap_uapi_array_rest(argp, count, &rest, &bytes))
		return -EFAULT;
	return clear_user(rest, bytes) ? -EFAULT : 0;
}

static long vtap_uapi_set_features_array(struct vtap_dev *dev, u64 __user *argp)
{
	u64 features[VTAP_FEATURES_U64S] = {};
	u64 __user *rest;
	size_t bytes, n;
	u64 count;
	int zero;

	if (copy_from_user(&count, argp, sizeof(count)))
		return -EFAULT;
	if (copy_from_user(features, ++argp,
			   min_t(u64, count, VTAP_FEATURES_U64S) * sizeof(u64)) ||
	    vtap_uapi_array_rest(argp, count, &rest, &bytes))
		return -EFAULT;
	/* No bit beyond ours is known; it may take a while to see that none is set. */
	for (; bytes; bytes -= n, rest += n / sizeof(u64)) {
		n = min_t(size_t, bytes, PAGE_SIZE);
		zero = check_zeroed_user(rest, n);
		if (zero < 0)
			return zero;
		if (!zero)
			return -EOPNOTSUPP;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	return vtap_uapi_ack_features(dev, features[0], features[1]);
}

static long vtap_uapi_set_backend_features(struct vtap_dev *dev, u64 __user *argp)
{
	u64 features;

	if (copy_from_user(&features, argp, sizeof(features)))
		return -EFAULT;
	if (features & ~VTAP_BACKEND_FEATURES)
		return -EOPNOTSUPP;
	dev->backend_features = features;
	return 0;
}

static long vtap_uapi_tell_features(u64 features, u64 __user *argp)
{
	return copy_to_user(argp, &features, sizeof(features)) ? -EFAULT : 0;
}

static long vtap_uapi_set_backend(struct vtap_dev *dev, void __user *argp)
{
	struct vhost_vring_file arg;

	if (copy_from_user(&arg, argp, sizeof(arg)))
		return -EFAULT;
	return vtap_dev_set_backend(dev, arg.index, arg.fd);
}

static int vtap_uapi_get_region(struct vtap_region *region,
				const struct vhost_memory_region __user *from)
{
	struct vhost_memory_region r;

	if (copy_from_user(&r, from, sizeof(r)))
		return -EFAULT;
	region->gpa = r.guest_phys_addr;
	region->last = r.guest_phys_addr + r.memory_size - 1;
	region->uaddr = r.userspace_addr;
	return 0;
}

static long vtap_uapi_set_mem_table(struct vtap_dev *dev, struct vhost_memory __user *from)
{
	struct vhost_memory head;
	struct vtap_mem *mem;
	int err;
	u32 i;

	if (copy_from_user(&head, from, offsetof(struct vhost_memory, regions)))
		return -EFAULT;
	if (head.padding)
		return -EOPNOTSUPP;
	if (head.nregions > vtap_max_mem_regions)
		return -E2BIG;

	mem = kvzalloc(struct_size(mem, region, head.nregions), GFP_KERNEL_ACCOUNT);
	if (!mem)
		return -ENOMEM;
	mem->nr = head.nregions;
	for (i = 0; i < mem->nr; i++) {
		err = vtap_uapi_get_region(&mem->region[i], &from->regions[i]);
		if (err)
			goto err_free;
	}
	err = vtap_mem_check_sort(mem);
	if (err)
		goto err_free;
	if (dev->features & BIT_ULL(VHOST_F_LOG_ALL) &&
	    !vtap_dev_log_ok(dev, mem, dev->log_base)) {
		err = -EFAULT;
		goto err_free;
	}

	vtap_dev_set_mem(dev, mem);
	return 0;

err_free:
	kvfree(mem);
	return err;
}

static long vtap_uapi_set_log_base(struct vtap_dev *dev, u64 __user *argp)
{
	bool ok = true;
	u64 base;
	u32 i;

	if (copy_from_user(&base, argp, sizeof(base)))
		return -EFAULT;
	if ((unsigned long)base != base)
		return -EFAULT;

	/* A stopped queue is checked when it starts. */
	vtap_dev_lock_vqs(dev);
	for (i = 0; i < VTAP_VQ_MAX; i++)
		if (dev->vq[i].sock && !vtap_vq_access_ok(&dev->vq[i], base))
			ok = false;
	if (ok) {
		dev->log_base = base;
		for (i = 0; i < VTAP_VQ_MAX; i++)
			dev->vq[i].ring.log.base = base;
	}
	vtap_dev_unlock_vqs(dev);
	return ok ? 0 : -EFAULT;
}

static long vtap_uapi_set_log_fd(struct vtap_dev *dev, int __user *argp)
{
	struct eventfd_ctx *ctx = NULL;
	int fd;

	if (get_user(fd, argp))
		return -EFAULT;
	if (fd != VHOST_FILE_UNBIND) {
		ctx = eventfd_ctx_fdget(fd);
		if (IS_ERR(ctx))
			return PTR_ERR(ctx);
	}
	vtap_dev_lock_vqs(dev);
	swap(dev->log_call, ctx);
	vtap_dev_unlock_vqs(dev);
	if (ctx)
		eventfd_ctx_put(ctx);
	return 0;
}

/* The calls that only the owner may make. */
static long vtap_uapi_owner_ioctl(struct vtap_dev *dev, unsigned int cmd, void __user *argp)
{
	long r = vtap_dev_check_owner(dev);

	if (r)
		return r;
	switch (cmd) {
	case VHOST_SET_MEM_TABLE:
		return vtap_uapi_set_mem_table(dev, argp);
	case VHOST_SET_LOG_BASE:
		return vtap_uapi_set_log_base(dev, argp);
	case VHOST_SET_LOG_FD:
		return vtap_uapi_set_log_fd(dev, argp);
	default:
		return vtap_vq_ioctl(dev, cmd, argp);
	}
}

static long vtap_uapi_ioctl(struct file *file, unsigned int cmd, unsigned long arg)
{
	struct vtap_dev *dev = file->private_data;
	void __user *argp = (void __user *)arg;
	long r;

	mutex_lock(&dev->lock);
	switch (cmd) {
	case VHOST_GET_FEATURES:
		r = vtap_uapi_tell_features(VTAP_FEATURES, argp);
		break;
	case VHOST_SET_FEATURES:
		r = vtap_uapi_set_features(dev, argp);
		break;
	case VHOST_GET_FEATURES_ARRAY:
		r = VTAP_COMPAT_HAS_ARRAY ? vtap_uapi_get_features_array(argp) :
		    vtap_uapi_owner_ioctl(dev, cmd, argp);
		break;
	case VHOST_SET_FEATURES_ARRAY:
		r = VTAP_COMPAT_HAS_ARRAY ? vtap_uapi_set_features_array(dev, argp) :
		    vtap_uapi_owner_ioctl(dev, cmd, argp);
		break;
	case VHOST_GET_BACKEND_FEATURES:
		r = vtap_uapi_tell_features(VTAP_BACKEND_FEATURES, argp);
		break;
	case VHOST_SET_BACKEND_FEATURES:
		r = vtap_uapi_set_backend_features(dev, argp);
		break;
	case VHOST_SET_OWNER:
		r = vtap_dev_set_owner(dev);
		break;
	case VHOST_RESET_OWNER:
		r = vtap_dev_reset_owner(dev);
		break;
	case VHOST_NET_SET_BACKEND:
		r = vtap_uapi_set_backend(dev, argp);
		break;
	default:
		r = vtap_worker_ioctl(dev, cmd, argp);
		if (r == -ENOIOCTLCMD)
			r = vtap_uapi_owner_ioctl(dev, cmd, argp);
	}
	mutex_unlock(&dev->lock);
	return r;
}

/* Reading and writing the node is for IOTLB messages; without dev->lock. */
static ssize_t vtap_uapi_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
	struct file *file = iocb->ki_filp;

	return vtap_iotlb_read(file->private_data, to, file->f_flags & O_NONBLOCK);
}

static ssize_t vtap_uapi_write_iter(struct kiocb *iocb, struct iov_iter *from)
{
	return vtap_iotlb_write(iocb->ki_filp->private_data, from);
}

static __poll_t vtap_uapi_poll(struct file *file, poll_table *wait)
{
	return vtap_iotlb_poll(file->private_data, file, wait);
}

const struct file_operations vtap_fops = {
	.owner		= THIS_MODULE,
	.open		= vtap_dev_open,
	.release	= vtap_dev_release,
	.unlocked_ioctl	= vtap_uapi_ioctl,
	.compat_ioctl	= compat_ptr_ioctl,
	.read_iter	= vtap_uapi_read_iter,
	.write_iter	= vtap_uapi_write_iter,
	.poll		= vtap_uapi_poll,
	.llseek		= noop_llseek,
};
