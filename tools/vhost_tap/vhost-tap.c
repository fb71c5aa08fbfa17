// SPDX-License-Identifier: GPL-2.0-only
/*
 * vhost-tap: looks inside the kernel module vhost_tap. This file knows the
 * commands and nothing of what they do: a new one is a row in the table.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "vhost-tap.h"

#define VERSION	"0.1"

static const struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *help;
} commands[] = {
	{ "show", cmd_show, "devices, queues and, with -s, their counters" },
};

#define NR_COMMANDS	(sizeof(commands) / sizeof(commands[0]))

void error(const char *fmt, ...)
{
	va_list args;

	fputs("vhost-tap: ", stderr);
	va_start(args, fmt);
	vfprintf(stderr, fmt, args);
	va_end(args);
	fputc('\n', stderr);
}

static void print_help(FILE *out)
{
	size_t i;

	fputs("usage: vhost-tap COMMAND [OPTION...]\n"
	      "       vhost-tap --help | --version\n"
	      "\n"
	      "Looks inside the kernel module vhost_tap. Commands:\n", out);
	for (i = 0; i < NR_COMMANDS; i++)
		fprintf(out, "  %-8s %s\n", commands[i].name, commands[i].help);
	fputs("\n'vhost-tap COMMAND --help' tells more, and so does vhost-tap(8).\n", out);
}

static int run(int argc, char **argv)
{
	size_t i;

	if (argc < 2) {
		print_help(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		print_help(stdout);
		return EXIT_OK;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts("vhost-tap " VERSION);
		return EXIT_OK;
	}
	for (i = 0; i < NR_COMMANDS; i++) {
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].run(argc - 1, argv + 1);
	}
	error("unknown command '%s'; see 'vhost-tap --help'", argv[1]);
	return EXIT_USAGE;
}

int main(int argc, char **argv)
{
	int ret = run(argc, argv);

	/* Half an answer, on a full disk, must not look like a whole one. */
	if ((fflush(stdout) || ferror(stdout)) && ret == EXIT_OK) {
		error("cannot write the answer: %s", strerror(errno));
		ret = EXIT_FAILED;
	}
	return ret;
}
