// SPDX-License-Identifier: GPL-2.0-only
/*
 * The kernel's fault injection, as tests need it; see faults.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "faults.h"
#include "util.h"

#define DEBUGFS	"/sys/kernel/debug/"
#define LEAKS	DEBUGFS "kmemleak"

static const char * const kind_dir[FAULT_KINDS] = {
	[FAULT_SLAB] = DEBUGFS "failslab",
	[FAULT_PAGE] = DEBUGFS "fail_page_alloc",
	[FAULT_COPY] = DEBUGFS "fail_usercopy",
};

static int attr(enum fault_kind kind, const char *name, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", kind_dir[kind], name);
	return file_write(path, value);
}

int faults_init(void)
{
	unsigned int k;
	int err = access("/proc/thread-self/fail-nth", W_OK) ? -errno : 0;

	for (k = 0; k < FAULT_KINDS && !err; k++) {
		err = attr(k, "probability", "0");
		if (!err)
			err = attr(k, "task-filter", "Y");
		if (!err)
			err = attr(k, "times", "-1");
		if (!err)
			err = attr(k, "interval", "1");
		/* else each fault would be a backtrace in the log */
		if (!err)
			err = attr(k, "verbose", "0");
	}
	/* those fail as well that could wait for memory: most of ours */
	if (!err)
		err = attr(FAULT_SLAB, "ignore-gfp-wait", "N");
	if (!err)
		err = attr(FAULT_PAGE, "ignore-gfp-wait", "N");
	if (!err)
		err = attr(FAULT_PAGE, "ignore-gfp-highmem", "N");
	if (!err)
		err = attr(FAULT_PAGE, "min-order", "0");
	return err;
}

int faults_nth(unsigned int n, int (*fn)(void *arg), void *arg, bool *hit)
{
	int fd = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC), r;
	char text[16];
	ssize_t got;

	*hit = false;
	if (fd < 0)
		return -errno;
	snprintf(text, sizeof(text), "%u", n);
	if (pwrite(fd, text, strlen(text), 0) < 0) {
		close(fd);
		return -errno;
	}
	r = fn(arg);
	/* what is left of n; reading and writing it are copies, too, and may fail */
	memset(text, 0, sizeof(text));
	got = pread(fd, text, sizeof(text) - 1, 0);
	*hit = got > 0 && !atoi(text);
	while (pwrite(fd, "0", 1, 0) < 0 && errno == EFAULT)
		;
	close(fd);
	return r;
}

int faults_rate(enum fault_kind kind, unsigned int percent)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", percent);
	return attr(kind, "probability", text);
}

int faults_mark(pid_t tid, bool marked)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/make-it-fail", tid);
	return file_write(path, marked ? "1" : "0");
}

int leaks_found(void)
{
	char line[512];
	int found = 0;
	FILE *f;

	if (access(LEAKS, W_OK))
		return -errno;
	/* what is younger than five seconds is not reported yet */
	sleep(6);
	if (file_write(LEAKS, "scan") || file_write(LEAKS, "scan"))
		return -EIO;
	f = fopen(LEAKS, "r");
	if (!f)
		return -errno;
	while (fgets(line, sizeof(line), f)) {
		found += !strncmp(line, "unreferenced object", 19);
		if (found <= 3)
			fprintf(stderr, "# %s", line);
	}
	fclose(f);
	return found;
}
