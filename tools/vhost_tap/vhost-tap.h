/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the commands of the tool share: exit codes and messages.
 */
#ifndef VHOST_TAP_TOOL_H
#define VHOST_TAP_TOOL_H

/* Exit codes; the manual page has them too. */
enum {
	EXIT_OK,
	EXIT_FAILED,		/* an error of the system */
	EXIT_USAGE,		/* wrong command line */
	EXIT_NO_MODULE,		/* vhost_tap is not loaded */
	EXIT_NOT_PERMITTED,	/* CAP_NET_ADMIN is missing */
	EXIT_NO_DEVICE,		/* the named device does not exist */
};

/* Print "vhost-tap: ..." to standard error. */
void error(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* prototypes of show.c; argv[0] is the command's name. Return: an exit code. */
int cmd_show(int argc, char **argv);
extern const char show_help[];

#endif /* VHOST_TAP_TOOL_H */
