#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compare all places that repeat names of the netlink spec with the spec.

usage: scripts/check-names.py     (from the top of the tree)

The UAPI header is generated from the spec, but nothing stops a hand from
editing it; tracepoints, the tool's tables and the documentation are written by
hand. Prints one line for each difference and exits with 1 if there is any.

The spec is read line by line, in the layout that it has: no YAML module needed.
"""
import re
import sys

SPEC = 'Documentation/netlink/specs/vhost_tap.yaml'
UAPI = 'include/uapi/linux/vhost_tap.h'
TRACE = 'include/trace/events/vhost_tap.h'
TOOL = 'tools/vhost_tap/spec.c'
DOC = 'Documentation/networking/vhost_tap-observability.rst'

# How the tool's tables say what the spec calls a type.
KINDS = {'u32': 'UINT', 'uint': 'UINT', 'string': 'STRING', 'flag': 'FLAG', 'nest': 'NEST',
         'indexed-array': 'LIST'}

wrong = []


def differ(path, text):
    wrong.append(f'{path}: {text}')


def constant(*words):
    return '_'.join(('vhost_tap',) + words).replace('-', '_').upper()


def read_spec():
    """Return (enums, sets, ops): names of each, members in order, with types."""
    parts = {'definitions': {}, 'attribute-sets': {}, 'operations': {}}
    part = None
    members = member = None
    for line in open(SPEC):
        if m := re.match(r'([a-z-]+):', line):
            part = parts.get(m[1])
        elif part is None:
            continue
        elif m := re.match(r'(?: {4}| {6})name: (\S+)$', line):
            members = part.setdefault(m[1], {})
        elif m := re.match(r' {8}name: (\S+)$', line):
            member = members.setdefault(m[1], {})
        elif m := re.match(r' {8}(type|enum): (\S+)$', line):
            member[m[1]] = m[2]
    return parts['definitions'], parts['attribute-sets'], list(parts['operations'])


def check_uapi(enums, sets, ops):
    """Constants must be there, in the spec's order, and no others."""
    text = re.sub(r'/\*.*?\*/', '', open(UAPI).read(), flags=re.S)
    blocks = [[c for c in re.findall(r'\b(VHOST_TAP_\w+)(?: = \d+)?,', body)]
              for body in re.findall(r'enum[^{]*\{(.*?)\}', text, flags=re.S)]
    want = [[constant(name, e) for e in entries] for name, entries in enums.items()]
    want += [[constant('a', name, a) for a in attrs] for name, attrs in sets.items()]
    want += [[constant('cmd', op) for op in ops]]
    for w in want:
        if w not in blocks:
            differ(UAPI, f'no enum of exactly {w[0]} ... {w[-1]} in this order')
    if len(blocks) != len(want):
        differ(UAPI, f'{len(blocks)} enums, the spec has {len(want)}')


def check_trace(enums):
    """Tracepoints print the spec's names of reasons."""
    have = dict(re.findall(r'EMe?\((VHOST_TAP_\w+),\s*"([^"]*)"\)', open(TRACE).read()))
    want = {constant(name, e): e for name in ('drop', 'ring-err') for e in enums[name]}
    for key in sorted(want.keys() | have.keys()):
        if want.get(key) != have.get(key):
            differ(TRACE, f'{key} is {have.get(key)!r}, the spec says {want.get(key)!r}')


def check_tool(enums, sets):
    """The tool's tables: each attribute with its name and kind, each enum value."""
    text = open(TOOL).read()
    ring_errors = re.findall(r'\bX\((\w+),\s*"([^"]*)"\)', text)
    have = {c: (kind, name) for c, kind, name in
            re.findall(r'\[(VHOST_TAP_A_\w+)\] = (\w+)\("([^"]*)"', text)}
    have.update({f'VHOST_TAP_A_RING_ERRORS_{c}': ('UINT', n) for c, n in ring_errors})
    want = {}
    for name, attrs in sets.items():
        for attr, keys in attrs.items():
            kind = 'ENUM' if 'enum' in keys else KINDS[keys['type']]
            want[constant('a', name, attr)] = (kind, attr)
    for key in sorted(want.keys() | have.keys()):
        if want.get(key) != have.get(key):
            differ(TOOL, f'{key} is {have.get(key)}, the spec says {want.get(key)}')

    have = dict(re.findall(r'\[(VHOST_TAP_(?!A_)\w+)\] = "([^"]*)"', text))
    have.update({f'VHOST_TAP_RING_ERR_{c}': n for c, n in ring_errors})
    want = {constant(name, e): e for name, entries in enums.items() if name != 'drop'
            for e in entries}
    for key in sorted(want.keys() | have.keys()):
        if want.get(key) != have.get(key):
            differ(TOOL, f'{key} is {have.get(key)!r}, the spec says {want.get(key)!r}')


def check_doc(sets):
    """Each counter, reason and tracepoint is explained."""
    text = open(DOC).read()
    for name in ('stats', 'drops', 'ring-errors'):
        for attr in sets[name]:
            if not re.search(rf'^``{attr}``', text, flags=re.M):
                differ(DOC, f'{name}: {attr} is not explained')
    for event in re.findall(r'(?:TRACE|DEFINE)_EVENT\((?:\w+, )?(vhost_tap_\w+),',
                            open(TRACE).read()):
        if not re.search(rf'^``{event}``', text, flags=re.M):
            differ(DOC, f'tracepoint {event} is not explained')


def main():
    enums, sets, ops = read_spec()
    check_uapi(enums, sets, ops)
    check_trace(enums)
    check_tool(enums, sets)
    check_doc(sets)
    print(*wrong, sep='\n', end='\n' if wrong else '')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
