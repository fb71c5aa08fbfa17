// SPDX-License-Identifier: GPL-2.0-only
/*
 * JSON output, driven by the tables of spec.c alone: an attribute that is added
 * there is in the JSON too.
 */
#include <inttypes.h>

#include "json.h"

static void json_string(FILE *out, const char *s)
{
	const unsigned char *c = (const unsigned char *)s;

	putc('"', out);
	for (; *c; c++) {
		if (*c == '"' || *c == '\\')
			fprintf(out, "\\%c", *c);
		else if (*c < 0x20 || *c >= 0x7f)
			/* Names of interfaces are bytes, maybe no UTF-8: Latin-1. */
			fprintf(out, "\\u%04x", *c);
		else
			putc(*c, out);
	}
	putc('"', out);
}

static void json_list(FILE *out, const struct nlattr *list)
{
	const struct nlattr *attr;
	const char *sep = "";

	putc('[', out);
	mnl_attr_for_each_nested(attr, list) {
		fprintf(out, "%s%" PRIu64, sep, spec_uint(attr));
		sep = ", ";
	}
	putc(']', out);
}

static void json_value(FILE *out, const struct attr_spec *spec, const struct nlattr *attr,
		       int indent)
{
	const struct nlattr *tb[ATTR_SET_MAX + 1];
	const char *name;

	switch (spec->kind) {
	case ATTR_ENUM:
		name = spec_enum(spec->values, spec_uint(attr));
		if (name) {
			json_string(out, name);
			break;
		}
		/* A newer module's value: the number says more than nothing. */
		/* fall through */
	case ATTR_UINT:
		fprintf(out, "%" PRIu64, spec_uint(attr));
		break;
	case ATTR_STRING:
		json_string(out, spec_string(attr));
		break;
	case ATTR_FLAG:
		fputs("true", out);
		break;
	case ATTR_NEST:
		spec_parse_nest(spec->nest, attr, tb);
		fputs("{\n", out);
		json_attrs(out, spec->nest, tb, indent + 2);
		fprintf(out, "\n%*s}", indent, "");
		break;
	case ATTR_LIST:
		json_list(out, attr);
		break;
	case ATTR_NONE:
		fputs("null", out);
		break;
	}
}

void json_attrs(FILE *out, const struct attr_set *set, const struct nlattr **tb, int indent)
{
	const char *sep = "";
	unsigned int i;

	for (i = 1; i <= set->max; i++) {
		if (!tb[i])
			continue;
		fprintf(out, "%s%*s", sep, indent, "");
		json_string(out, set->attr[i].name);
		fputs(": ", out);
		json_value(out, &set->attr[i], tb[i], indent);
		sep = ",\n";
	}
}
