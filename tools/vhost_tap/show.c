// SPDX-License-Identifier: GPL-2.0-only
/*
 * vhost-tap show: devices and queues as they are now, for people or as JSON.
 * Only reads, and needs nothing but the netlink family (and /proc for the names
 * of owners).
 */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "genl.h"
#include "json.h"
#include "spec.h"
#include "vhost-tap.h"

const char show_help[] =
	"usage: vhost-tap show [-s] [--json] [DEV]\n"
	"\n"
	"Shows the open devices of the module vhost_tap and their virtqueues.\n"
	"DEV, the id of a device or the name of its interface, limits that to one.\n"
	"\n"
	"  -s, --statistics  counters of each queue as well\n"
	"  -j, --json        everything, counters included, as JSON\n"
	"  -h, --help        this text\n";

/* Lists of counters are wrapped before this column. */
#define WIDTH	78

struct show {
	bool stats;
	bool json;
	const char *dev;	/* DEV, or NULL */
	bool by_id;		/* DEV is an id: */
	uint32_t id;
	struct genl_reply devs;
	struct genl_reply queues;
	size_t shown;
};

/* Names come from other programs: nothing of them may steer the terminal. */
static void print_name(const char *s)
{
	for (; *s; s++)
		putchar(isprint((unsigned char)*s) ? *s : '?');
}

static void print_process(const char *what, uint64_t pid)
{
	char path[64], comm[64] = "";
	FILE *f;

	printf("  %s %" PRIu64, what, pid);
	snprintf(path, sizeof(path), "/proc/%" PRIu64 "/comm", pid);
	f = fopen(path, "re");
	if (!f)
		return;
	if (fgets(comm, sizeof(comm), f)) {
		comm[strcspn(comm, "\n")] = '\0';
		printf(" (");
		print_name(comm);
		printf(")");
	}
	fclose(f);
}

static void print_size(uint64_t bytes)
{
	static const char *const unit[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double value = bytes;
	unsigned int i = 0;

	for (; value >= 1024 && i < 6; i++)
		value /= 1024;
	printf("%.*f %s", value == (uint64_t)value ? 0 : 1, value, unit[i]);
}

static void print_time(uint64_t ns)
{
	if (ns < 1000)
		printf("%" PRIu64 " ns", ns);
	else if (ns < 1000000)
		printf("%.1f us", ns / 1e3);
	else if (ns < 1000000000)
		printf("%.1f ms", ns / 1e6);
	else
		printf("%.1f s", ns / 1e9);
}

static void print_features(uint64_t features)
{
	unsigned int bit;

	printf("  features 0x%" PRIx64, features);
	for (bit = 0; bit < 64; bit++) {
		const char *name = spec_feature(bit);

		if (!(features >> bit & 1))
			continue;
		if (name)
			printf(" %s", name);
		else
			printf(" bit%u", bit);
	}
	printf("\n");
}

/* The counters of a set, wrapped; or, with a title, those of a nest that moved. */
static void print_counters(const char *title, const struct attr_set *set,
			   const struct nlattr **tb)
{
	int column = 0, shown = 0;
	unsigned int i;

	if (title)
		column = printf("      %s", title);
	for (i = 1; i <= set->max; i++) {
		char item[64];
		int len;

		if (!tb[i] || set->attr[i].kind != ATTR_UINT || (title && !spec_uint(tb[i])))
			continue;
		len = snprintf(item, sizeof(item), "%s %" PRIu64, set->attr[i].name,
			       spec_uint(tb[i]));
		if (column && column + 2 + len > WIDTH) {
			printf("\n");
			column = 0;
		}
		column += printf("%s%s", column ? "  " : title ? "        " : "      ", item);
		shown++;
	}
	printf("%s\n", title && !shown ? "  none" : "");
}

static void print_stats(const struct nlattr *nest)
{
	const struct nlattr *tb[ATTR_SET_MAX + 1], *inner[ATTR_SET_MAX + 1];
	unsigned int i;

	spec_parse_nest(&spec_stats, nest, tb);
	print_counters(NULL, &spec_stats, tb);
	for (i = 1; i <= spec_stats.max; i++) {
		const struct attr_spec *spec = &spec_stats.attr[i];

		if (!tb[i] || spec->kind != ATTR_NEST)
			continue;
		spec_parse_nest(spec->nest, tb[i], inner);
		print_counters(spec->name, spec->nest, inner);
	}
}

static void print_queue(const struct show *show, const struct nlattr **tb)
{
	const char *ifname = spec_string(tb[VHOST_TAP_A_QUEUE_IFNAME]);
	uint64_t n;

	printf("  %s  %s", spec_attr_enum(&spec_queue, tb, VHOST_TAP_A_QUEUE_TYPE),
	       spec_attr_enum(&spec_queue, tb, VHOST_TAP_A_QUEUE_STATE));
	if (tb[VHOST_TAP_A_QUEUE_ERROR])
		printf(" (%s)", spec_attr_enum(&spec_queue, tb, VHOST_TAP_A_QUEUE_ERROR));
	if (*ifname) {
		printf("  ");
		print_name(ifname);
	} else if (spec_uint(tb[VHOST_TAP_A_QUEUE_BACKEND]) != VHOST_TAP_BACKEND_NONE) {
		printf("  %s", spec_attr_enum(&spec_queue, tb, VHOST_TAP_A_QUEUE_BACKEND));
	}
	printf("  size %" PRIu64 "  avail %" PRIu64 "  used %" PRIu64,
	       spec_uint(tb[VHOST_TAP_A_QUEUE_SIZE]),
	       spec_uint(tb[VHOST_TAP_A_QUEUE_LAST_AVAIL]),
	       spec_uint(tb[VHOST_TAP_A_QUEUE_LAST_USED]));
	n = spec_uint(tb[VHOST_TAP_A_QUEUE_BUSYLOOP_TIMEOUT]);
	if (n)
		printf("  busyloop %" PRIu64 " us", n);
	n = spec_uint(tb[VHOST_TAP_A_QUEUE_HELD]);
	if (n)
		printf("  held %" PRIu64, n);
	if (tb[VHOST_TAP_A_QUEUE_WAITING_NS]) {
		printf("  waiting for buffers ");
		print_time(spec_uint(tb[VHOST_TAP_A_QUEUE_WAITING_NS]));
	}
	printf("\n");
	if (show->stats)
		print_stats(tb[VHOST_TAP_A_QUEUE_STATS]);
}

static void print_workers(const struct nlattr **tb)
{
	const struct nlattr *list = tb[VHOST_TAP_A_DEV_WORKERS], *attr;

	if (!tb[VHOST_TAP_A_DEV_WORKER_PID])
		return;
	printf("  worker");
	if (!list) {
		/* a module that knows of one only */
		printf(" %" PRIu64, spec_uint(tb[VHOST_TAP_A_DEV_WORKER_PID]));
		return;
	}
	mnl_attr_for_each_nested(attr, list)
		printf(" %" PRIu64, spec_uint(attr));
}

static void print_dev(const struct nlattr **tb)
{
	printf("device %" PRIu64 "  /dev/", spec_uint(tb[VHOST_TAP_A_DEV_ID]));
	print_name(spec_string(tb[VHOST_TAP_A_DEV_NODE]));
	if (tb[VHOST_TAP_A_DEV_OWNER_PID])
		print_process("owner", spec_uint(tb[VHOST_TAP_A_DEV_OWNER_PID]));
	else
		printf("  no owner");
	print_workers(tb);
	if (tb[VHOST_TAP_A_DEV_MEM_REGIONS]) {
		uint64_t n = spec_uint(tb[VHOST_TAP_A_DEV_MEM_REGIONS]);

		printf("  memory ");
		print_size(spec_uint(tb[VHOST_TAP_A_DEV_MEM_BYTES]));
		printf(" in %" PRIu64 " region%s", n, n == 1 ? "" : "s");
	}
	if (tb[VHOST_TAP_A_DEV_BUSY])
		printf("  (busy: an ioctl does not end, not all is known)");
	printf("\n");
	print_features(spec_uint(tb[VHOST_TAP_A_DEV_FEATURES]));
}

/* Queue message @i; its device's id, or more than any id behind the last one. */
static uint64_t show_queue(const struct show *show, size_t i, const struct nlattr **tb)
{
	if (i == show->queues.n)
		return UINT64_MAX;
	spec_parse(&spec_queue, show->queues.msg[i].data, show->queues.msg[i].len, tb);
	return spec_uint(tb[VHOST_TAP_A_QUEUE_DEV_ID]);
}

/* Is the device of queues @from ... @to - 1 one of those that were asked for? */
static bool show_wanted(const struct show *show, size_t from, size_t to)
{
	const struct nlattr *tb[ATTR_SET_MAX + 1];

	if (!show->dev || show->by_id)
		return true;
	for (; from < to; from++) {
		show_queue(show, from, tb);
		if (!strcmp(spec_string(tb[VHOST_TAP_A_QUEUE_IFNAME]), show->dev))
			return true;
	}
	return false;
}

static void show_one(struct show *show, const struct nlattr **dev, size_t from, size_t to)
{
	const struct nlattr *tb[ATTR_SET_MAX + 1];
	size_t i;

	if (show->json) {
		printf("%s  {\n", show->shown ? ",\n" : "");
		json_attrs(stdout, &spec_dev, dev, 4);
		printf(",\n    \"queues\": [");
	} else {
		print_dev(dev);
	}
	for (i = from; i < to; i++) {
		show_queue(show, i, tb);
		if (!show->json) {
			print_queue(show, tb);
			continue;
		}
		printf("%s\n      {\n", i == from ? "" : ",");
		json_attrs(stdout, &spec_queue, tb, 8);
		printf("\n      }");
	}
	if (show->json)
		printf("\n    ]\n  }");
	show->shown++;
}

/*
 * Both dumps are in the order of ids. What opened or closed between them is in
 * one of them only, and left out.
 */
static void show_all(struct show *show)
{
	const struct nlattr *dev[ATTR_SET_MAX + 1], *tb[ATTR_SET_MAX + 1];
	size_t d, from = 0, to;

	if (show->json)
		printf("[\n");
	for (d = 0; d < show->devs.n; d++) {
		uint64_t id;

		spec_parse(&spec_dev, show->devs.msg[d].data, show->devs.msg[d].len, dev);
		id = spec_uint(dev[VHOST_TAP_A_DEV_ID]);
		while (show_queue(show, from, tb) < id)
			from++;
		for (to = from; show_queue(show, to, tb) == id;)
			to++;
		if (to > from && show_wanted(show, from, to))
			show_one(show, dev, from, to);
		from = to;
	}
	if (show->json)
		printf("%s]\n", show->shown ? "\n" : "");
	else if (!show->shown && !show->dev)
		printf("no device is open\n");
}

static int show_no_device(const struct show *show)
{
	if (show->by_id)
		error("there is no device %s; 'vhost-tap show' lists them", show->dev);
	else
		error("no device has an interface '%s'; 'vhost-tap show' lists them", show->dev);
	return EXIT_NO_DEVICE;
}

static int show_run(struct show *show)
{
	struct genl g;
	int err, ret;

	ret = genl_open(&g);
	if (ret != EXIT_OK)
		return ret;
	if (show->by_id)
		err = genl_request(&g, VHOST_TAP_CMD_DEV_GET, 0, VHOST_TAP_A_DEV_ID, show->id,
				   &show->devs);
	else
		err = genl_request(&g, VHOST_TAP_CMD_DEV_GET, 1, 0, 0, &show->devs);
	if (!err)
		err = genl_request(&g, VHOST_TAP_CMD_QUEUE_GET, 1,
				   show->by_id ? VHOST_TAP_A_QUEUE_DEV_ID : 0, show->id,
				   &show->queues);
	genl_close(&g);

	if (!err)
		show_all(show);
	else if (err != -ENODEV)
		ret = genl_explain(err);
	if (!ret && show->dev && !show->shown)
		ret = show_no_device(show);
	genl_reply_free(&show->devs);
	genl_reply_free(&show->queues);
	return ret;
}

int cmd_show(int argc, char **argv)
{
	static const struct option options[] = {
		{ "statistics", no_argument, NULL, 's' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{}
	};
	struct show show = {};
	char *end;
	int opt;

	argv[0] = (char *)"vhost-tap show";	/* for the messages of getopt */
	while ((opt = getopt_long(argc, argv, "sjh", options, NULL)) != -1) {
		switch (opt) {
		case 's':
			show.stats = true;
			break;
		case 'j':
			show.json = true;
			break;
		case 'h':
			fputs(show_help, stdout);
			return EXIT_OK;
		default:
			fputs(show_help, stderr);
			return EXIT_USAGE;
		}
	}
	if (argc - optind > 1) {
		error("show takes one device at most, not %d", argc - optind);
		return EXIT_USAGE;
	}
	if (optind < argc) {
		unsigned long long id;

		show.dev = argv[optind];
		errno = 0;
		id = strtoull(show.dev, &end, 10);
		show.by_id = isdigit((unsigned char)*show.dev) && !*end;
		show.id = id;
		/* No id is that large. */
		if (show.by_id && (errno || id > UINT32_MAX))
			return show_no_device(&show);
	}
	return show_run(&show);
}
