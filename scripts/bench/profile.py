#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Where a worker's time goes: perf's samples into shares and a list of symbols.

usage: profile.py SAMPLES TEXT [GOAL-ID GOAL-FILE]

SAMPLES is `perf script -F comm,ip,sym,dso` of the workers' CPU. TEXT gets the
shares and the 25 first symbols. GOAL-FILE gets the module's own share.
"""

import collections
import json
import pathlib
import re
import sys

LINE = re.compile(r"^\s*(\S+)\s+(?:[0-9a-f]+\s+)?(.*?)\s+\(([^()]*)\)\s*$")
OWN = ("vhost_tap", "vhost_net", "vhost", "vhost_iotlb")
COPY = re.compile(r"^(rep_movs|_?copy_(to|from)|_?copy_user|__?memcpy|memcpy|"
                  r"copy_page|csum_partial_copy|_copy_)")
CLEAR = re.compile(r"^(clear_page|_?_?memset|rep_stos|clear_user)")


def room(sym, dso):
    module = dso.strip("[]")
    if module in OWN:
        return "module"
    if COPY.match(sym):
        return "copying"
    if CLEAR.match(sym):
        return "clearing"
    if module in ("tun", "tap"):
        return "tun"
    return "rest of the kernel"


def main():
    symbols, rooms = collections.Counter(), collections.Counter()
    for line in open(sys.argv[1], encoding="utf-8", errors="replace"):
        m = LINE.match(line)
        if not m or not m.group(1).startswith("vhost-"):
            continue
        sym, dso = re.sub(r"\+0x[0-9a-f]+$", "", m.group(2)), m.group(3)
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
    pathlib.Path(sys.argv[2]).write_text("\n".join(lines) + "\n", encoding="utf-8")
    if len(sys.argv) > 4:
        pathlib.Path(sys.argv[4]).write_text(
            json.dumps({"goal": sys.argv[3], "value": rooms["module"] / total}) + "\n",
            encoding="utf-8")
    print(shares)


main()
