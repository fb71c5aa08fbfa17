/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * JSON of whole attribute sets, under the names of the YNL spec. Owned by
 * json.c.
 */
#ifndef VHOST_TAP_JSON_H
#define VHOST_TAP_JSON_H

#include <stdio.h>

#include "spec.h"

/**
 * json_attrs() - print attributes as members of an object, without its braces
 * @out: where to
 * @set: what they are
 * @tb: from spec_parse()
 * @indent: of the members, in spaces
 * Absent attributes are left out; nests become objects, enums their names,
 * flags true. No comma follows the last one.
 */
void json_attrs(FILE *out, const struct attr_set *set, const struct nlattr **tb, int indent);

#endif /* VHOST_TAP_JSON_H */
