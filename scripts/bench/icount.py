#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Instructions that scripts/bench-icount.sh has counted, against the record.

usage: icount.py table  RUNS RING VERSION RECORD OUT.json
       icount.py check  RUNS RING VERSION RECORD OUT.json
       icount.py check-some … (what was not measured is not missed)
       icount.py record RUNS RING VERSION RECORD SERIES FRAMES

RUNS holds vhost_bench's lines of JSON (worker_ns are instructions), RING lines
"SIDE KIND TENTHS" of the userspace ring. VERSION names kernel and compiler. Each
figure of ours has a peer (in-tree vhost_net, vringh) that was counted beside it.

A figure fails when it is more than LIMIT above the record: as it is if kernel
and compiler are the record's; else as a ratio to its peer, for then both have
moved. `check` prints TAP, and says so too when the record is out of date.
"""
import json
import sys

LIMIT = 1.05
WAYS = (("packets", "intree", "in-tree"), ("ring", "vringh", "vringh"))


def read(runs_name, ring_name):
    """Per way and figure the lowest of each side: what no interrupt came upon."""
    figures = {"packets": {}, "ring": {}}

    def put(way, name, side, value):
        sides = figures[way].setdefault(name, {})
        sides[side] = round(min(value, sides.get(side, value)), 1)

    with open(runs_name, encoding="ascii") as file:
        for line in file:
            run = json.loads(line)
            if run.get("packets"):
                put("packets", run["scenario"], run["side"], run["worker_ns"] / run["packets"])
    with open(ring_name, encoding="ascii") as file:
        for line in file:
            side, kind, tenths = line.split()
            put("ring", kind, side, int(tenths) / 10)
    return figures


def growth(now, old, peer, same):
    """How far above the record a figure of ours is: 1.0 is at it."""
    if same or not now.get(peer) or not old.get(peer):
        return now["ours"] / old["ours"]
    return (now["ours"] / now[peer]) / (old["ours"] / old[peer])


def compare(figures, record, version):
    same = record.get("measured_with") == version
    for way, peer, peer_name in WAYS:
        for name, now in figures[way].items():
            if "ours" not in now:
                continue
            old = record.get(way, {}).get(name)
            yield (way, name, now["ours"], now.get(peer), peer_name, old,
                   growth(now, old, peer, same) if old else None)


def table(figures, record, version):
    print(f"{'':<14}{'ours':>9}{'peer':>10}{'ratio':>8}{'record':>9}{'change':>9}")
    for way, name, ours, peer, _, old, grown in compare(figures, record, version):
        ratio = f"{ours / peer:.3f}" if peer else "-"
        change = f"{100 * (grown - 1):+.1f} %" if grown else "-"
        print(f"{name:<14}{ours:>9.1f}{peer or 0:>10.1f}{ratio:>8}"
              f"{old['ours'] if old else 0:>9.1f}{change:>9}"
              f"  {'instructions a packet' if way == 'packets' else 'a chain, userspace'}")


def check(figures, record, version, some):
    bad = n = 0
    same = record.get("measured_with") == version
    if not same:
        print(f"# the record is of {record.get('measured_with')}, this is {version}: "
              "ratios to the peers are compared")
    found = {(row[0], row[1]): row for row in compare(figures, record, version)}
    want = [(way, name) for way, _, _ in WAYS for name in record.get(way, {})
            if not some or (way, name) in found]
    print(f"1..{len(want)}")
    for key in want:
        n += 1
        if key not in found:
            bad += 1
            print(f"not ok {n} - {key[1]}: was not measured")
            continue
        _, name, ours, peer, peer_name, old, grown = found[key]
        ok = grown <= LIMIT
        bad += not ok
        beside = f", {peer_name} {peer:.0f}" if peer else ""
        print(f"{'ok' if ok else 'not ok'} {n} - {name}: {ours:.1f} instructions"
              f"{beside}; record {old['ours']:.1f}: {100 * (grown - 1):+.1f} %")
        if grown < 2 - LIMIT:
            print(f"# {name} has become better: renew the record (make bench-icount RECORD=1)")
    return bad


def main():
    mode, runs, ring, version, record_name = sys.argv[1:6]
    figures = read(runs, ring)
    if mode == "record":
        record = {"what": "instructions a packet of the worker under QEMU's -icount, and "
                          "instructions a chain of the ring code in userspace; see "
                          "scripts/bench-icount.sh",
                  "kernel": sys.argv[6], "measured_with": version,
                  "frames": int(sys.argv[7])}
        record.update(figures)
        with open(record_name, "w", encoding="ascii") as file:
            json.dump(record, file, indent="\t")
            file.write("\n")
        print(f"bench-icount: recorded {sum(len(figures[way]) for way, _, _ in WAYS)} figures")
        return 0

    try:
        with open(record_name, encoding="ascii") as file:
            record = json.load(file)
    except FileNotFoundError:
        record = {}
    rows = list(compare(figures, record, version))
    above = [row for row in rows if row[6] and row[6] > LIMIT]
    with open(sys.argv[6], "w", encoding="ascii") as file:
        json.dump({"measured_with": version, **figures,
                   "growth": {row[1]: round(row[6], 4) for row in rows if row[6]}},
                  file, indent="\t")
        file.write("\n")
    if mode.startswith("check"):
        return 1 if check(figures, record, version, mode == "check-some") else 0
    table(figures, record, version)
    known = sum(1 for row in rows if row[6])
    print(f"bench-icount: {len(above)} of {known} figures more than "
          f"{100 * LIMIT - 100:.0f} % above the record"
          + (": " + ", ".join(row[1] for row in above) if above else ""))
    return 1 if above else 0


sys.exit(main())
