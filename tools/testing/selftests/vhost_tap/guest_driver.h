/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A virtio-net guest in one process: memory, rings, buffers, a vhost device
 * and the tap behind it. Sends and receives frames under any framing of
 * descriptors, and has paths without copies or checks for load generators.
 */
#ifndef VTAP_TEST_GUEST_DRIVER_H
#define VTAP_TEST_GUEST_DRIVER_H

#include <linux/virtio_config.h>
#include <linux/virtio_net.h>
#include <linux/virtio_ring.h>

#include "gmem.h"
#include "ring.h"
#include "tap.h"
#include "vdev.h"

#define F_BIT(n)	(1ULL << (n))
#define F_NOTIFY_ON_EMPTY	F_BIT(VIRTIO_F_NOTIFY_ON_EMPTY)
#define F_INDIRECT	F_BIT(VIRTIO_RING_F_INDIRECT_DESC)
#define F_EVENT_IDX	F_BIT(VIRTIO_RING_F_EVENT_IDX)
#define F_IOMMU		F_BIT(VIRTIO_F_ACCESS_PLATFORM)
#define F_MRG_RXBUF	F_BIT(VIRTIO_NET_F_MRG_RXBUF)
#define F_VERSION_1	F_BIT(VIRTIO_F_VERSION_1)
/*
 * Bit 27 is ANY_LAYOUT to a guest, but to vhost it says that the device and not
 * the tap has the virtio-net header. vhost takes any layout without being told.
 */
#define F_VHOST_HDR	F_BIT(VHOST_NET_F_VIRTIO_NET_HDR)

/* what an ordinary Linux guest of today negotiates */
#define F_MODERN	(F_VERSION_1 | F_MRG_RXBUF | F_INDIRECT | F_EVENT_IDX)

/* how a buffer is cut into descriptors; all zero: a single one */
struct framing {
	uint32_t hdr_seg;	/* bytes a descriptor of header; 0: not cut off */
	uint32_t seg;		/* bytes a descriptor of frame; 0: all of it */
	uint32_t gap;		/* bytes of memory between two descriptors */
	uint32_t max_segs;	/* the last takes what is left; 0: RING_MAX_SEGS */
};

/* the header with what tells of UDP tunnels; the kernel's may not know it */
#define HDR_TUNNEL_LEN	24
#define HDR_REST_LEN	(HDR_TUNNEL_LEN - 12)
/* bits of the second word of features */
#define F_HIGH_GUEST_TUNNEL	F_BIT(65 - 64)
#define F_HIGH_HOST_TUNNEL	F_BIT(67 - 64)

struct guest_cfg {
	uint64_t features;
	uint64_t features_high;	/* from 64 on; not 0: the header has 24 bytes */
	unsigned int num[2];	/* ring sizes; 0: 256 */
	uint16_t base[2];
	uint32_t buf[2];	/* bytes a buffer, header included; 0: enough */
	unsigned int slots[2];	/* buffers; 0: as many as the ring has room for */
	bool indirect[2];	/* needs F_INDIRECT */
	struct framing framing[2];
	int tap_iff;
	int tap_hdr;		/* 0: as the features want it; -1: none */
	int mtu;		/* 0: TAP_MAX_MTU */
	int txqlen;		/* 0: the default of the kernel */
	bool vnet_psock;	/* packet sockets with virtio-net headers */
	int dev_fd;		/* use this open device; 0: open one */
	bool shared_mem;	/* guest memory that can be mapped twice */
	uint64_t iova_delta;	/* see struct gmem; with F_IOMMU */
	bool no_backend;	/* stop before SET_BACKEND and filling RX */
	bool no_fill;		/* leave the RX ring empty */
};

struct guest_q {
	struct ring *ring;
	struct framing framing;
	uint64_t buf_gpa;
	uint8_t *buf_hva;
	uint32_t buf;		/* bytes usable in each */
	uint32_t stride;
	unsigned int slots;
	uint32_t *free;		/* slots not with the device */
	unsigned int nfree;
	bool indirect;
	struct ring_table table;	/* slot 0's; others follow at a stride */
	uint32_t table_stride;
};

struct guest {
	struct guest_cfg cfg;
	struct gmem mem;
	struct vdev dev;
	struct guest_q q[2];
	struct tap tap;
	int tx_sock;		/* the host sends here, the guest receives */
	int rx_sock;		/* the host receives here what the guest sent */
	uint32_t hdr_len;
	/* bytes 12 to 23 of a header: that guest_tx() sends, that guest_rx() got */
	uint8_t tx_rest[HDR_REST_LEN], rx_rest[HDR_REST_LEN];
	/*
	 * num_buffers is 1 to a modern driver without MRG_RXBUF (5.1.6.4.1);
	 * in-tree vhost_net leaves it 0 there before 6.14.
	 */
	bool strict;
	unsigned int rx_buffers;	/* that the last guest_rx() took */
};

/* all return 0 or -errno unless they say otherwise */
int guest_start(struct guest *g, const struct guest_cfg *cfg);
void guest_stop(struct guest *g);
/* memory and buffers and rings alone, on a device that is already open */
int guest_rings_setup(struct guest *g, const struct guest_cfg *cfg);
int guest_attach(struct guest *g, int fd);
/* another tap and sockets in place of the old; the backend stays what it is */
int guest_new_tap(struct guest *g);
int guest_detach(struct guest *g);

/* cut len bytes at gpa, the first hdr of them header: number of segments */
unsigned int framing_cut(const struct framing *f, uint64_t gpa, uint32_t hdr,
			 uint32_t len, bool write, struct ring_seg *out);

/* queue a frame; not yet published. -EAGAIN: no free slot or descriptors */
int guest_tx(struct guest *g, const struct virtio_net_hdr *h,
	     const void *frame, uint32_t len);
/* publish, kick if asked */
void guest_tx_flush(struct guest *g);
/* take back what the device has used: number, or -EPROTO */
int guest_tx_reap(struct guest *g);
/* flush, then wait for all */
int guest_tx_sync(struct guest *g);
/* guest_tx() that waits for a slot when there is none */
int guest_tx_wait(struct guest *g, const struct virtio_net_hdr *h,
		  const void *frame, uint32_t len);
/* re-send n slots as they are, len bytes each with header: how many went */
unsigned int guest_tx_blast(struct guest *g, uint32_t len, unsigned int n);

/* post up to n free buffers (UINT32_MAX: all): how many */
unsigned int guest_rx_post(struct guest *g, unsigned int n);

static inline unsigned int guest_rx_fill(struct guest *g)
{
	return guest_rx_post(g, UINT32_MAX);
}

/*
 * Take one frame: its length, -EAGAIN after timeout_ms, -EPROTO when the
 * device broke a rule, -EIO when the err eventfd fired. Does not re-post.
 */
ssize_t guest_rx(struct guest *g, struct virtio_net_hdr_mrg_rxbuf *h,
		 void *frame, size_t cap, int timeout_ms);
/* drop and re-post up to n frames' buffers unseen: how many, or -errno */
int guest_rx_discard(struct guest *g, unsigned int n);

/*
 * Test frames: the sequence number sits in the source address, so that even
 * 14 bytes carry it; the payload depends on number and position.
 */
void frame_make(void *buf, uint64_t seq, uint32_t len);
uint64_t frame_seq(const void *buf);
bool frame_is_ours(const void *buf, uint32_t len);
/* true when frame seq has exactly this content */
bool frame_check(const void *buf, uint64_t seq, uint32_t len);
/* a TCP/IPv4 frame that wants checksum and segmentation, and its header */
void tcp_frame_make(void *buf, uint64_t seq, uint32_t len,
		    struct virtio_net_hdr *h);
/* Internet checksum of len bytes, as it goes into a packet */
uint16_t csum_fold(const uint8_t *p, uint32_t len);

#endif
