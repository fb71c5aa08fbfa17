/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Asking the generic netlink family. Owned by genl.c.
 */
#ifndef VHOST_TAP_GENL_H
#define VHOST_TAP_GENL_H

#include <stddef.h>
#include <stdint.h>
#include <libmnl/libmnl.h>

/**
 * struct genl - a connection
 * @sock: netlink socket
 * @family: number of the family
 * @seq: of the last request
 */
struct genl {
	struct mnl_socket *sock;
	uint16_t family;
	uint32_t seq;
};

/* Attributes of one message of an answer. */
struct genl_msg {
	size_t len;
	void *data;
};

/* An answer. */
struct genl_reply {
	size_t n;
	struct genl_msg *msg;
};

/**
 * genl_open() - connect to the module
 * Return: EXIT_OK, or another exit code, and the reason has been told.
 */
int genl_open(struct genl *g);
void genl_close(struct genl *g);

/**
 * genl_request() - send a request and wait for all of the answer
 * @cmd: VHOST_TAP_CMD_*
 * @dump: ask for a dump
 * @id_attr: attribute that takes @id; 0 for none
 * @reply: the answer; genl_reply_free() it on success
 * Return: 0 or -errno.
 */
int genl_request(struct genl *g, uint8_t cmd, int dump, uint16_t id_attr, uint32_t id,
		 struct genl_reply *reply);
void genl_reply_free(struct genl_reply *reply);

/** genl_explain() - tell why a request failed; Return: the exit code for it */
int genl_explain(int err);

#endif /* VHOST_TAP_GENL_H */
