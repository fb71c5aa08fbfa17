// SPDX-License-Identifier: GPL-2.0-only
/*
 * What user space calls: copy in, check, hand on. The order of checks decides
 * the errno of a call that is wrong in two ways, and is that of the in-tree
 * module. Everything below one ioctl runs under dev->lock.
 */
#include <linux/compat.h>
#include <linux/fs.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include <linux/virtio_net.h>

#include "dev.h"
#include "log.h"

/* A bit is offered once it works. */
#define VTAP_FEATURES (BIT_ULL(VIRTIO_F_NOTIFY_ON_EMPTY) |	\
		       BIT_ULL(VIRTIO_RING_F_INDIRECT_DESC) |	\
		       BIT_ULL(VIRTIO_RING_F_EVENT_IDX) |	\
		       BIT_ULL(VHOST_F_LOG_ALL) |		\
		       BIT_ULL(VIRTIO_F_ANY_LAYOUT) |		\
		       BIT_ULL(VIRTIO_F_VERSION_1) |		\
		       BIT_ULL(VIRTIO_NET_F_MRG_RXBUF) |	\
		       BIT_ULL(VHOST_NET_F_VIRTIO_NET_HDR))

/* None: IOTLB messages come with VIRTIO_F_ACCESS_PLATFORM. */
#define VTAP_BACKEND_FEATURES 0ULL

static long vtap_uapi_set_features(struct vtap_dev *dev, u64 __user *argp)
{
	u64 features;

	if (copy_from_user(&features, argp, sizeof(features)))
		return -EFAULT;
	if (features & ~VTAP_FEATURES)
		return -EOPNOTSUPP;
	if (features & BIT_ULL(VHOST_F_LOG_ALL) && !vtap_dev_log_ok(dev, dev->mem, dev->log_base))
		return -EFAULT;
	vtap_dev_set_features(dev, features);
	return 0;
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

/*
 * Reading and writing the node is for IOTLB messages. Without an IOTLB there is
 * never one to read, and none that is written can be obeyed; the answers are
 * those of an in-tree device in that state.
 */
static ssize_t vtap_uapi_read_iter(struct kiocb *iocb, struct iov_iter *to)
{
	if (iov_iter_count(to) < sizeof(struct vhost_msg))
		return 0;
	if (iocb->ki_filp->f_flags & O_NONBLOCK)
		return -EAGAIN;
	return -EBADFD;
}

static ssize_t vtap_uapi_write_iter(struct kiocb *iocb, struct iov_iter *from)
{
	struct vhost_iotlb_msg iotlb;
	int type;

	/* Four bytes follow the type in both versions; neither means them here. */
	BUILD_BUG_ON(offsetof(struct vhost_msg, iotlb) != 8);
	BUILD_BUG_ON(offsetof(struct vhost_msg_v2, iotlb) != 8);

	if (!copy_from_iter_full(&type, sizeof(type), from))
		return -EINVAL;
	if (type != VHOST_IOTLB_MSG && type != VHOST_IOTLB_MSG_V2)
		return -EINVAL;
	iov_iter_advance(from, sizeof(u32));
	if (!copy_from_iter_full(&iotlb, sizeof(iotlb), from))
		return -EINVAL;
	if (iotlb.type == VHOST_IOTLB_UPDATE && !iotlb.size)
		return -EINVAL;
	return -EFAULT;
}

static __poll_t vtap_uapi_poll(struct file *file, poll_table *wait)
{
	return 0;
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
