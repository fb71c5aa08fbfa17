// SPDX-License-Identifier: GPL-2.0-only
/*
 * load - the traffic of make bench-guests and what became of it: TCP stream,
 * UDP stream, request/response and pktgen. Runs in the guests and on the host;
 * touches sockets, /proc/net/pktgen and nothing else.
 *
 *   load serve
 *   load tcp ADDRESS SECONDS
 *   load udp ADDRESS SECONDS SIZE
 *   load rr ADDRESS SECONDS OUTSTANDING
 *   load pktgen DEVICE MAC SECONDS SIZE
 *   load stat DEVICE
 *
 * A client tells the server over a TCP connection what is coming, and gets back
 * what arrived. It prints one line of JSON. A TCP stream's time is from its first
 * byte to its end at the receiver, the others' that of the sender.
 */
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PORT		7000
#define CHUNK		65536
#define SAMPLES		(1 << 18)
#define OUTSTANDING_MAX	64
#define UDP_QUIET_MS	500

/* What a client asks for, and what it gets back; in network order on the wire. */
struct ask {
	uint32_t what;
	uint32_t size;
};

struct answer {
	uint64_t count;
	uint64_t bytes;
	uint64_t ns;
	uint64_t reordered;
	uint64_t socket_drops;
};

enum { ASK_TCP = 1, ASK_UDP, ASK_RR };

static char buf[CHUNK];

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ull + t.tv_nsec;
}

static void die(const char *what)
{
	fprintf(stderr, "load: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void put_all(int fd, const void *p, size_t len)
{
	ssize_t n;

	while (len) {
		n = send(fd, p, len, MSG_NOSIGNAL);
		if (n <= 0)
			die("send");
		p = (const char *)p + n;
		len -= n;
	}
}

static void get_all(int fd, void *p, size_t len)
{
	ssize_t n;

	while (len) {
		n = recv(fd, p, len, 0);
		if (n < 0)
			die("recv");
		if (!n) {
			errno = ECONNRESET;
			die("recv");
		}
		p = (char *)p + n;
		len -= n;
	}
}

/* From or to network order; its fields are all 64 bits wide. */
static void swap_answer(struct answer *a)
{
	uint64_t *p = (uint64_t *)a;
	size_t i;

	for (i = 0; i < sizeof(*a) / sizeof(*p); i++)
		p[i] = htobe64(p[i]);
}

static void serve_tcp(int fd)
{
	struct answer a = { 0 };
	uint64_t first = 0;
	ssize_t n;

	while ((n = recv(fd, buf, sizeof(buf), 0)) > 0) {
		if (!first)
			first = now();
		a.bytes += n;
		a.count++;
	}
	a.ns = now() - first;
	swap_answer(&a);
	put_all(fd, &a, sizeof(a));
}

static void serve_rr(int fd)
{
	ssize_t n;

	while ((n = recv(fd, buf, sizeof(buf), 0)) > 0)
		put_all(fd, buf, n);
}

static uint64_t socket_drops(int fd)
{
	uint32_t info[SK_MEMINFO_VARS] = { 0 };
	socklen_t len = sizeof(info);

	if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, info, &len))
		return 0;
	return info[SK_MEMINFO_DROPS];
}

/*
 * The client says how many it sent when it has sent them all; a quiet moment
 * after that means that the rest is lost.
 */
static void serve_udp(int fd)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t len = sizeof(at);
	struct answer a = { 0 };
	uint32_t seq, next = 0;
	int udp, room = 8 << 20, ended = 0;
	struct pollfd p[2];
	ssize_t n;

	udp = socket(AF_INET, SOCK_DGRAM, 0);
	if (udp < 0 || bind(udp, (struct sockaddr *)&at, sizeof(at)) ||
	    getsockname(udp, (struct sockaddr *)&at, &len))
		die("udp socket");
	/* needs root; without it the default has to do */
	setsockopt(udp, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	put_all(fd, &at.sin_port, sizeof(at.sin_port));
	p[0] = (struct pollfd){ .fd = udp, .events = POLLIN };
	p[1] = (struct pollfd){ .fd = fd, .events = POLLIN };
	for (;;) {
		n = poll(p, ended ? 1 : 2, ended ? UDP_QUIET_MS : 30000);
		if (n <= 0)
			break;
		if (!ended && p[1].revents) {
			get_all(fd, &seq, sizeof(seq));
			ended = 1;
		}
		if (!p[0].revents)
			continue;
		while ((n = recv(udp, buf, sizeof(buf), MSG_DONTWAIT)) > 0) {
			a.count++;
			a.bytes += n;
			memcpy(&seq, buf, sizeof(seq));
			seq = ntohl(seq);
			if (seq < next)
				a.reordered++;
			else
				next = seq + 1;
		}
	}
	a.socket_drops = socket_drops(udp);
	swap_answer(&a);
	put_all(fd, &a, sizeof(a));
}

static int serve(void)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET,
		.sin_port = htons(PORT),
	};
	int s, fd, one = 1;
	struct ask ask;

	signal(SIGCHLD, SIG_IGN);
	s = socket(AF_INET, SOCK_STREAM, 0);
	setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (s < 0 || bind(s, (struct sockaddr *)&at, sizeof(at)) || listen(s, 16))
		die("listen");
	for (;;) {
		fd = accept(s, NULL, NULL);
		if (fd < 0)
			continue;
		if (fork()) {
			close(fd);
			continue;
		}
		close(s);
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		get_all(fd, &ask, sizeof(ask));
		switch (ntohl(ask.what)) {
		case ASK_TCP:
			serve_tcp(fd);
			break;
		case ASK_UDP:
			serve_udp(fd);
			break;
		case ASK_RR:
			serve_rr(fd);
			break;
		}
		exit(0);
	}
}

/* ask: connect to the server, which may be about to start, and ask. */
static int ask(const char *addr, int what, int size)
{
	struct ask a = { .what = htonl(what), .size = htonl(size) };
	struct sockaddr_in to = {
		.sin_family = AF_INET,
		.sin_port = htons(PORT),
	};
	int fd, one = 1, tries;

	if (inet_pton(AF_INET, addr, &to.sin_addr) != 1) {
		errno = EINVAL;
		die(addr);
	}
	for (tries = 0;; tries++) {
		fd = socket(AF_INET, SOCK_STREAM, 0);
		if (!connect(fd, (struct sockaddr *)&to, sizeof(to)))
			break;
		if (tries == 10)
			die("connect");
		close(fd);
		usleep(300000);
	}
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	put_all(fd, &a, sizeof(a));
	return fd;
}

static unsigned int retransmits(int fd)
{
	struct tcp_info info = { 0 };
	socklen_t len = sizeof(info);

	getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len);
	return info.tcpi_total_retrans;
}

static int do_tcp(const char *addr, double seconds)
{
	int fd = ask(addr, ASK_TCP, 0);
	uint64_t end = now() + seconds * 1e9;
	struct answer a;

	do
		put_all(fd, buf, sizeof(buf));
	while (now() < end);
	shutdown(fd, SHUT_WR);
	get_all(fd, &a, sizeof(a));
	swap_answer(&a);
	printf("{\"bytes\": %llu, \"ns\": %llu, \"retransmits\": %u}\n",
	       (unsigned long long)a.bytes, (unsigned long long)a.ns,
	       retransmits(fd));
	return 0;
}

static int do_udp(const char *addr, double seconds, int size)
{
	int fd = ask(addr, ASK_UDP, size), udp;
	struct sockaddr_in to = { .sin_family = AF_INET };
	uint32_t seq, sent = 0;
	uint64_t start, end;
	struct answer a;

	if (size < (int)sizeof(seq) || size > CHUNK)
		size = 1400;
	inet_pton(AF_INET, addr, &to.sin_addr);
	get_all(fd, &to.sin_port, sizeof(to.sin_port));
	udp = socket(AF_INET, SOCK_DGRAM, 0);
	if (udp < 0 || connect(udp, (struct sockaddr *)&to, sizeof(to)))
		die("udp socket");
	start = now();
	end = start + seconds * 1e9;
	do {
		seq = htonl(sent);
		memcpy(buf, &seq, sizeof(seq));
		if (send(udp, buf, size, 0) == size)
			sent++;
		else if (errno != ENOBUFS)
			die("udp send");
	} while (now() < end);
	start = now() - start;
	seq = htonl(sent);
	put_all(fd, &seq, sizeof(seq));
	get_all(fd, &a, sizeof(a));
	swap_answer(&a);
	printf("{\"sent\": %u, \"received\": %llu, \"bytes\": %llu, \"ns\": %llu, \"reordered\": %llu, \"socket_drops\": %llu}\n",
	       sent, (unsigned long long)a.count, (unsigned long long)a.bytes,
	       (unsigned long long)start, (unsigned long long)a.reordered,
	       (unsigned long long)a.socket_drops);
	return 0;
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* Requests of one byte; each answer lets the next one go. */
static int do_rr(const char *addr, double seconds, int outstanding)
{
	static uint64_t sent[OUTSTANDING_MAX];
	static uint32_t took[SAMPLES];
	unsigned long long n = 0, head = 0, kept;
	uint64_t start, end, t;
	int fd, got, i;

	if (outstanding < 1 || outstanding > OUTSTANDING_MAX)
		outstanding = 1;
	fd = ask(addr, ASK_RR, 0);
	start = now();
	end = start + seconds * 1e9;
	for (i = 0; i < outstanding; i++) {
		sent[head++ % outstanding] = now();
		put_all(fd, buf, 1);
	}
	do {
		got = recv(fd, buf, sizeof(buf), 0);
		if (got <= 0)
			die("recv");
		t = now();
		for (i = 0; i < got; i++) {
			took[n % SAMPLES] = t - sent[n % outstanding];
			n++;
			sent[head++ % outstanding] = t;
		}
		put_all(fd, buf, got);
	} while (t < end);
	kept = n < SAMPLES ? n : SAMPLES;
	qsort(took, kept, sizeof(*took), by_value);
	printf("{\"transactions\": %llu, \"ns\": %llu, \"median_ns\": %u, \"p99_ns\": %u, \"retransmits\": %u}\n",
	       n, (unsigned long long)(t - start), took[kept / 2],
	       took[kept * 99 / 100], retransmits(fd));
	return 0;
}

static void tell(const char *file, const char *format, ...)
{
	char path[128], text[128];
	va_list args;
	int fd, n;

	va_start(args, format);
	n = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	snprintf(path, sizeof(path), "/proc/net/pktgen/%s", file);
	fd = open(path, O_WRONLY);
	if (fd < 0 || write(fd, text, n) != n) {
		fprintf(stderr, "load: %s < %s: %s\n", path, text, strerror(errno));
		exit(1);
	}
	close(fd);
}

/* A number behind a word of pktgen's account of a device. */
static unsigned long long field(const char *text, const char *word)
{
	const char *p = strstr(text, word);

	return p ? strtoull(p + strlen(word), NULL, 10) : 0;
}

/* To an address that nobody has, so that the receiver drops it early. */
static int do_pktgen(const char *dev, const char *mac, double seconds, int size)
{
	uint64_t start;
	int fd, n;
	pid_t pid;

	tell("kpktgend_0", "rem_device_all\n");
	tell("kpktgend_0", "add_device %s\n", dev);
	tell(dev, "count 0\n");
	tell(dev, "clone_skb 0\n");
	tell(dev, "pkt_size %d\n", size);
	tell(dev, "delay 0\n");
	tell(dev, "dst 198.18.0.1\n");
	tell(dev, "dst_mac %s\n", mac);
	start = now();
	pid = fork();
	if (!pid) {
		tell("pgctrl", "start\n");
		_exit(0);
	}
	usleep(seconds * 1e6);
	tell("pgctrl", "stop\n");
	waitpid(pid, NULL, 0);
	start = now() - start;
	snprintf(buf, sizeof(buf), "/proc/net/pktgen/%s", dev);
	fd = open(buf, O_RDONLY);
	n = fd < 0 ? -1 : read(fd, buf, sizeof(buf) - 1);
	if (n < 0)
		die("pktgen");
	buf[n] = 0;
	printf("{\"sent\": %llu, \"errors\": %llu, \"ns\": %llu}\n",
	       field(buf, "pkts-sofar: "), field(buf, "errors: "),
	       (unsigned long long)start);
	tell("kpktgend_0", "rem_device_all\n");
	return 0;
}

static unsigned long long number_in(const char *path)
{
	unsigned long long n = 0;
	FILE *f = fopen(path, "r");

	if (f && fscanf(f, "%llu", &n) != 1)
		n = 0;
	if (f)
		fclose(f);
	return n;
}

/* Segments that TCP sent again: of two "Tcp:" lines the second has the numbers. */
static unsigned long long tcp_retransmits(void)
{
	static char names[1024], values[1024];
	char *n, *v, *save_n, *save_v;
	FILE *f = fopen("/proc/net/snmp", "r");

	while (f && fgets(names, sizeof(names), f)) {
		if (strncmp(names, "Tcp:", 4) || !fgets(values, sizeof(values), f))
			continue;
		fclose(f);
		n = strtok_r(names, " ", &save_n);
		v = strtok_r(values, " ", &save_v);
		while (n && v && strcmp(n, "RetransSegs")) {
			n = strtok_r(NULL, " ", &save_n);
			v = strtok_r(NULL, " ", &save_v);
		}
		return v ? strtoull(v, NULL, 10) : 0;
	}
	if (f)
		fclose(f);
	return 0;
}

/* The counters that host.py compares before and after. */
static int do_stat(const char *dev)
{
	static const char * const names[] = {
		"rx_packets", "tx_packets", "rx_dropped", "tx_dropped",
	};
	char path[128];
	size_t i;

	printf("{\"retransmits\": %llu", tcp_retransmits());
	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "/sys/class/net/%s/statistics/%s",
			 dev, names[i]);
		printf(", \"%s\": %llu", names[i], number_in(path));
	}
	puts("}");
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "serve"))
		return serve();
	if (argc == 4 && !strcmp(argv[1], "tcp"))
		return do_tcp(argv[2], atof(argv[3]));
	if (argc == 5 && !strcmp(argv[1], "udp"))
		return do_udp(argv[2], atof(argv[3]), atoi(argv[4]));
	if (argc == 5 && !strcmp(argv[1], "rr"))
		return do_rr(argv[2], atof(argv[3]), atoi(argv[4]));
	if (argc == 6 && !strcmp(argv[1], "pktgen"))
		return do_pktgen(argv[2], argv[3], atof(argv[4]), atoi(argv[5]));
	if (argc == 3 && !strcmp(argv[1], "stat"))
		return do_stat(argv[2]);
	fprintf(stderr, "usage: load serve | tcp ADDRESS SECONDS | udp ADDRESS SECONDS SIZE |\n"
		"       rr ADDRESS SECONDS OUTSTANDING | pktgen DEVICE MAC SECONDS SIZE | stat DEVICE\n");
	return 2;
}
