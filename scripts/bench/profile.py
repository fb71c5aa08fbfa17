#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Where a worker's time goes: perf's samples into shares and a list of symbols.

usage: profile.py SAMPLES KALLSYMS TEXT [GOAL-ID GOAL-FILE]

SAMPLES is `perf script -F comm,ip` of the CPU that the workers are pinned to.
perf does not learn the name of a task that got it on another CPU: a worker may
go by that of its parent.
KALLSYMS is the kernel's /proc/kallsyms of that time. TEXT gets the shares and
the 25 first symbols. GOAL-FILE gets the module's own share.
"""

import bisect
import collections
import json
import pathlib
import re
import sys

WORKER = re.compile(r"^(vhost-|vhost_bench$|kthreadd$|:\d+$)")
KERNEL = 1 << 63
OWN = ("vhost_tap", "vhost_net", "vhost", "vhost_iotlb")
COPY = re.compile(r"^(rep_movs|_?copy_(to|from)|_?copy_user|__?memcpy|memcpy|"
                  r"copy_page|csum_partial_copy|_copy_)")
CLEAR = re.compile(r"^(clear_page|_?_?memset|rep_stos|clear_user)")


def room(sym, dso):
    if dso in OWN:
        return "module"
    if COPY.match(sym):
        return "copying"
    if CLEAR.match(sym):
        return "clearing"
    if dso in ("tun", "tap"):
        return "tun"
    return "rest of the kernel"


def symbols_of(path):
    """Sorted addresses, and (symbol, module) for each."""
    syms = []
    for line in open(path, encoding="utf-8"):
        f = line.split()
        if f[1] in "tTwW":
            syms.append((int(f[0], 16), f[2],
                         f[3].strip("[]") if len(f) > 3 else "kernel"))
    syms.sort()
    return [s[0] for s in syms], [s[1:] for s in syms]


def main():
    where, names = symbols_of(sys.argv[2])
    symbols, rooms = collections.Counter(), collections.Counter()
    for line in open(sys.argv[1], encoding="utf-8", errors="replace"):
        f = line.split()
        if len(f) != 2 or not WORKER.match(f[0]) or int(f[1], 16) < KERNEL:
            continue
        i = bisect.bisect_right(where, int(f[1], 16)) - 1
        sym, dso = names[i] if i >= 0 else ("?", "?")
        symbols[sym, dso] += 1
        rooms[room(sym, dso)] += 1
    total = sum(rooms.values())
    if not total:
        sys.exit(f"profile: no sample of a worker in {sys.argv[1]}")
    shares = ", ".join(f"{name} {100 * n / total:.1f} %"
                       for name, n in rooms.most_common())
    lines = [f"{total} samples: {shares}", ""]
    for (sym, dso), n in symbols.most_common(25):
        lines.append(f"{100 * n / total:6.2f} %  {sym}  {dso}")
    pathlib.Path(sys.argv[3]).write_text("\n".join(lines) + "\n", encoding="utf-8")
    if len(sys.argv) > 5:
        pathlib.Path(sys.argv[5]).write_text(
            json.dumps({"goal": sys.argv[4], "value": rooms["module"] / total}) + "\n",
            encoding="utf-8")
    print(shares)


main()
