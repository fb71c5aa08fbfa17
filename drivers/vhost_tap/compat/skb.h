/* SPDX-License-Identifier: GPL-2.0-only */
/* Since 6.3 consumed skbs can be told from dropped ones when many are freed at once. */
#ifndef VTAP_COMPAT_SKB_H
#define VTAP_COMPAT_SKB_H

#include <linux/skbuff.h>

/* Free @n skbs, at least one, that have reached their end as they should. */
static inline void vtap_compat_consume_skbs(struct sk_buff **skbs, u32 n)
{
#ifdef VTAP_HAVE_SKB_CONSUMED
	u32 i;

	for (i = 0; i + 1 < n; i++)
		skbs[i]->next = skbs[i + 1];
	skbs[i]->next = NULL;
	kfree_skb_list_reason(skbs[0], SKB_CONSUMED);
#else
	while (n--)
		consume_skb(*skbs++);
#endif
}

#endif /* VTAP_COMPAT_SKB_H */
