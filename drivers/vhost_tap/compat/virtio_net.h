/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Segmentation of UDP came with 6.2; older stacks refuse such a frame. That of
 * what is in a UDP tunnel came with 6.17, with a longer header.
 */
#ifndef VTAP_COMPAT_VIRTIO_NET_H
#define VTAP_COMPAT_VIRTIO_NET_H

#include <linux/if_ether.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/udp.h>
#include <linux/virtio_net.h>

static inline bool vtap_compat_is_gso_udp_l4(u8 gso_type)
{
#ifdef VIRTIO_NET_HDR_GSO_UDP_L4
	return gso_type == VIRTIO_NET_HDR_GSO_UDP_L4;
#else
	return false;
#endif
}

#ifdef VTAP_HAVE_UDP_TUNNEL
/* Of the second word of feature bits, which are 64 and more. */
#define VTAP_COMPAT_TUNNEL_BITS	(BIT_ULL(VIRTIO_NET_F_GUEST_UDP_TUNNEL_GSO - 64) |	\
				 BIT_ULL(VIRTIO_NET_F_HOST_UDP_TUNNEL_GSO - 64))
#define VTAP_COMPAT_TUNNEL_HLEN	sizeof(struct virtio_net_hdr_v1_hash_tunnel)
#define VTAP_COMPAT_TUNNEL_GSO	VIRTIO_NET_HDR_GSO_UDP_TUNNEL
#else
#define VTAP_COMPAT_TUNNEL_BITS	0ULL
#define VTAP_COMPAT_TUNNEL_HLEN	sizeof(struct virtio_net_hdr_mrg_rxbuf)
#define VTAP_COMPAT_TUNNEL_GSO	0
#endif

/*
 * Does the header of a frame in a tunnel describe one: an outer IP and UDP header,
 * an inner IP header, what is to be segmented and checksummed, in that order?
 * @hdr: VTAP_COMPAT_TUNNEL_HLEN bytes in our memory. @le: the ring's byte order.
 */
static inline bool vtap_compat_tunnel_ok(const struct virtio_net_hdr *hdr, bool le)
{
#ifdef VTAP_HAVE_UDP_TUNNEL
	const struct virtio_net_hdr_v1_hash_tunnel *tunnel = (const void *)hdr;
	u8 outer = hdr->gso_type & VIRTIO_NET_HDR_GSO_UDP_TUNNEL;
	u8 inner = hdr->gso_type & ~(VIRTIO_NET_HDR_GSO_UDP_TUNNEL | VIRTIO_NET_HDR_GSO_ECN);
	u32 outer_udp = le16_to_cpu(tunnel->outer_th_offset);
	u32 inner_ip = le16_to_cpu(tunnel->inner_nh_offset);
	u32 outer_ip_len, inner_ip_len;

	if (outer == VIRTIO_NET_HDR_GSO_UDP_TUNNEL || inner == VIRTIO_NET_HDR_GSO_UDP ||
	    !(hdr->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM))
		return false;
	outer_ip_len = outer == VIRTIO_NET_HDR_GSO_UDP_TUNNEL_IPV6 ?
		       sizeof(struct ipv6hdr) : sizeof(struct iphdr);
	inner_ip_len = inner == VIRTIO_NET_HDR_GSO_TCPV6 ?
		       sizeof(struct ipv6hdr) : sizeof(struct iphdr);
	return outer_udp >= ETH_HLEN + outer_ip_len &&
	       inner_ip >= outer_udp + sizeof(struct udphdr) &&
	       __virtio16_to_cpu(le, hdr->csum_start) >= inner_ip + inner_ip_len;
#else
	return false;
#endif
}

#endif /* VTAP_COMPAT_VIRTIO_NET_H */
