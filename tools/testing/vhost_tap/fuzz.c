// SPDX-License-Identifier: GPL-2.0-only
/*
 * How a fuzzer's inputs reach it: from libFuzzer, or, without it, from files.
 *
 *	fuzz_X FILE...		run inputs; of a FILE.txt, each that it lists
 *	fuzz_X -x DIR FILE.txt	unpack a list into files
 *	fuzz_X -p FILE...	print files as lines of a list
 *
 * A list has one input a line, "NAME: BYTES" in hexadecimal; # begins a comment.
 */
#include <signal.h>
#include <unistd.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);
int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct input in = { data, size };

	fuzz_one(&in);
	return 0;
}

#ifndef FUZZER

#define INPUT_MAX	(1 << 20)

static u8 data[INPUT_MAX];
static char current[256];	/* the input that runs */
static u32 nr_run;

const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "abort_on_error=1";
}

const char *__ubsan_default_options(void);
const char *__ubsan_default_options(void)
{
	return "abort_on_error=1:print_stacktrace=1";
}

static void died(int sig)
{
	char line[sizeof(current) + 64];
	int n;

	n = snprintf(line, sizeof(line), "\nnot ok 1 - %s: input %s\n", fuzz_name, current);
	if (write(STDOUT_FILENO, line, n) < 0)
		_exit(2);
	signal(sig, SIG_DFL);
	raise(sig);
}

static void run(const char *name, const u8 *p, size_t size)
{
	u8 *exact = malloc(size ? size : 1);

	if (!exact)
		exit(2);
	snprintf(current, sizeof(current), "%s", name);
	/* of the very size, so that reading behind its end is seen */
	memcpy(exact, p, size);
	LLVMFuzzerTestOneInput(exact, size);
	free(exact);
	nr_run++;
}

static void unpack(const char *dir, const char *name, const u8 *p, size_t size)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "wb");
	if (!f || fwrite(p, 1, size, f) != size || fclose(f)) {
		perror(path);
		exit(2);
	}
}

static size_t load(const char *path)
{
	FILE *f = fopen(path, "rb");
	size_t n;

	if (!f) {
		perror(path);
		exit(2);
	}
	n = fread(data, 1, sizeof(data), f);
	fclose(f);
	return n;
}

static void pack(const char *path)
{
	const char *name = strrchr(path, '/');
	size_t n = load(path), i;

	printf("%s: ", name ? name + 1 : path);
	for (i = 0; i < n; i++)
		printf("%02x", data[i]);
	printf("\n");
}

/* Each line of a list is run, or written to a file in @dir. */
static void list(const char *path, const char *dir)
{
	static char line[2 * INPUT_MAX + 512];
	FILE *f = fopen(path, "r");
	u32 nr = 0;

	if (!f) {
		perror(path);
		exit(2);
	}
	while (fgets(line, sizeof(line), f)) {
		char *hex = strstr(line, ": ");
		unsigned int byte;
		size_t n = 0;
		int used;

		nr++;
		if (line[0] == '#' || line[0] == '\n')
			continue;
		if (!hex) {
			fprintf(stderr, "%s:%u: no \"NAME: BYTES\"\n", path, nr);
			exit(2);
		}
		*hex = 0;
		for (hex += 2; sscanf(hex, "%2x%n", &byte, &used) == 1; hex += used)
			data[n++] = byte;
		if (dir)
			unpack(dir, line, data, n);
		else
			run(line, data, n);
	}
	fclose(f);
}

int main(int argc, char **argv)
{
	const char *dir = NULL;
	bool packs = false;
	int i = 1;

	if (argc > 3 && !strcmp(argv[1], "-x")) {
		dir = argv[2];
		i = 3;
	} else if (argc > 1 && !strcmp(argv[1], "-p")) {
		packs = true;
		i = 2;
	} else {
		signal(SIGABRT, died);
		printf("TAP version 13\n1..1\n");
		fflush(stdout);
	}
	for (; i < argc; i++) {
		size_t len = strlen(argv[i]);

		if (packs)
			pack(argv[i]);
		else if (len > 4 && !strcmp(argv[i] + len - 4, ".txt"))
			list(argv[i], dir);
		else
			run(argv[i], data, load(argv[i]));
	}
	if (!dir && !packs)
		printf("ok 1 - %s: %u inputs\n", fuzz_name, nr_run);
	return 0;
}

#endif /* !FUZZER */
