// SPDX-License-Identifier: GPL-2.0-only
/*
 * burst - a numbered burst of UDP datagrams and its counterpart, for the demo.
 *
 *   burst send ADDRESS PORT COUNT SIZE
 *   burst recv PORT COUNT SIZE SECONDS
 *
 * Every datagram carries its number and bytes derived from it. The receiver
 * ends after COUNT datagrams or SECONDS without one, and prints a line
 * "received=N of=COUNT damaged=N reordered=N".
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define SIZE_MAX_UDP	65507

static unsigned char buf[SIZE_MAX_UDP + 1], want[SIZE_MAX_UDP + 1];

static void fill(unsigned char *p, unsigned int n, size_t size)
{
	size_t i;

	for (i = 0; i < size; i++)
		p[i] = n * 31 + i * 7;
	n = htonl(n);
	memcpy(p, &n, sizeof(n));
}

static int fail(const char *what)
{
	fprintf(stderr, "burst: %s: %s\n", what, strerror(errno));
	return 1;
}

static int do_send(const char *addr, int port, unsigned int count, size_t size)
{
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
	};
	unsigned int i;
	int fd;

	if (inet_pton(AF_INET, addr, &to.sin_addr) != 1) {
		errno = EINVAL;
		return fail(addr);
	}
	fd = socket(AF_INET, SOCK_DGRAM, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)))
		return fail("socket");
	for (i = 0; i < count; i++) {
		fill(buf, i, size);
		if (send(fd, buf, size, 0) != (ssize_t)size)
			return fail("send");
	}
	printf("sent=%u\n", count);
	return 0;
}

static int do_recv(int port, unsigned int count, size_t size, int seconds)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET,
		.sin_port = htons(port),
	};
	unsigned int got = 0, damaged = 0, reordered = 0, n, last = 0;
	int fd, room = 64 << 20;
	struct pollfd pfd;
	ssize_t len;

	fd = socket(AF_INET, SOCK_DGRAM, 0);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)))
		return fail("socket");
	/* needs root; without it the default has to do */
	setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	pfd = (struct pollfd){ .fd = fd, .events = POLLIN };
	while (got < count && poll(&pfd, 1, seconds * 1000) > 0) {
		len = recv(fd, buf, sizeof(buf), 0);
		if (len < 0)
			return fail("recv");
		got++;
		if (len < (ssize_t)sizeof(n)) {
			damaged++;
			continue;
		}
		memcpy(&n, buf, sizeof(n));
		n = ntohl(n);
		fill(want, n, size);
		if (len != (ssize_t)size || n >= count || memcmp(buf, want, size))
			damaged++;
		else if (got > 1 && n <= last)
			reordered++;
		last = n;
	}
	printf("received=%u of=%u damaged=%u reordered=%u\n",
	       got, count, damaged, reordered);
	return got == count && !damaged ? 0 : 1;
}

int main(int argc, char **argv)
{
	if (argc == 6 && !strcmp(argv[1], "send"))
		return do_send(argv[2], atoi(argv[3]), atoi(argv[4]),
			       atoi(argv[5]));
	if (argc == 6 && !strcmp(argv[1], "recv"))
		return do_recv(atoi(argv[2]), atoi(argv[3]), atoi(argv[4]),
			       atoi(argv[5]));
	fprintf(stderr, "usage: burst send ADDRESS PORT COUNT SIZE\n"
		"       burst recv PORT COUNT SIZE SECONDS\n");
	return 2;
}
