/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The netlink family as tables: attributes, their names in the YNL spec, and
 * how they are encoded. Every name that the tool prints or puts into JSON comes
 * from here. Owned by spec.c.
 */
#ifndef VHOST_TAP_SPEC_H
#define VHOST_TAP_SPEC_H

#include <stdbool.h>
#include <stdint.h>
#include <libmnl/libmnl.h>
#include <linux/vhost_tap.h>

enum attr_kind {
	ATTR_NONE,		/* a hole: no such attribute */
	ATTR_UINT,		/* u32, or YNL's uint of 4 or 8 bytes */
	ATTR_ENUM,		/* u32 with names */
	ATTR_STRING,
	ATTR_FLAG,
	ATTR_NEST,
	ATTR_LIST,		/* nest of ATTR_UINTs; its types are indices */
};

/* Names of the values 0 ... n - 1 of an enum. */
struct enum_names {
	unsigned int n;
	const char *const *name;
};

/**
 * struct attr_spec - one attribute
 * @name: as in the spec
 * @kind: how it is encoded
 * @values: ATTR_ENUM: names of its values
 * @nest: ATTR_NEST: what is in it
 */
struct attr_spec {
	const char *name;
	enum attr_kind kind;
	const struct enum_names *values;
	const struct attr_set *nest;
};

/**
 * struct attr_set - an attribute set
 * @max: highest attribute
 * @attr: by number; 0 is a hole
 */
struct attr_set {
	unsigned int max;
	const struct attr_spec *attr;
};

/* More than any set has; newer modules may know attributes that we do not. */
#define ATTR_SET_MAX	32

extern const struct attr_set spec_dev, spec_queue, spec_stats;
extern const struct attr_set spec_batches, spec_drops, spec_ring_errors;

/**
 * spec_parse() - sort the attributes of a message or nest by number
 * @set: what may be in it; others, and malformed ones, are left out
 * @tb: ATTR_SET_MAX + 1 pointers, NULL where there is none
 */
void spec_parse(const struct attr_set *set, const void *data, size_t len,
		const struct nlattr **tb);

/** spec_parse_nest() - the same for the inside of @nest, which may be NULL */
void spec_parse_nest(const struct attr_set *set, const struct nlattr *nest,
		     const struct nlattr **tb);

/** spec_uint() - value of an ATTR_UINT or ATTR_ENUM; 0 if @attr is NULL */
uint64_t spec_uint(const struct nlattr *attr);

/** spec_string() - value of an ATTR_STRING, "" if @attr is NULL */
const char *spec_string(const struct nlattr *attr);

/** spec_enum() - name of a value, NULL if it is not known */
const char *spec_enum(const struct enum_names *values, uint64_t value);

/** spec_attr_enum() - name of the value of attribute @type of @set, or "?" */
const char *spec_attr_enum(const struct attr_set *set, const struct nlattr **tb,
			   unsigned int type);

/** spec_feature() - lower-case name of a device feature bit, NULL if it has none */
const char *spec_feature(unsigned int bit);

#endif /* VHOST_TAP_SPEC_H */
