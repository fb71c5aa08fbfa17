#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What scripts/bench-ring.sh measured, as a table and as JSON.

usage: ring.py RUNS KERNEL-VERSION OUT.json

RUNS holds one object a line, as bench_ring prints them; the nth run of ours is
compared with the nth of vringh. The goal is about the kinds in GOAL, the device
alone; the worst of them counts.
"""
import json
import sys
from statistics import median

GOAL = ("direct-1", "direct-2", "indirect-8")
LIMIT = 0.5


def main():
    runs_name, version, out_name = sys.argv[1:]
    runs = {}
    with open(runs_name, encoding="ascii") as file:
        for line in file:
            run = json.loads(line)
            key = run["kind"], run["threads"], run["side"]
            runs.setdefault(key, []).append(run)

    rows = []
    for kind, threads, side in runs:
        if side != "ours":
            continue
        sides = {s: runs[kind, threads, s] for s in ("ours", "vringh")}
        pairs = list(zip(sides["ours"], sides["vringh"]))
        row = {"kind": kind, "threads": threads}
        for name in ("ns", "wall_ns"):
            if name not in pairs[0][0]:
                continue
            for s, values in sides.items():
                row[s + "_" + name] = median(v[name] for v in values)
            ratios = [a[name] / b[name] for a, b in pairs]
            row[name + "_ratio"] = round(median(ratios), 4)
            row[name + "_ratios"] = [round(r, 4) for r in ratios]
        rows.append(row)

    print(f"nanoseconds a descriptor, beside vringh of linux {version}")
    print(f"{'chain':<12}{'threads':>8}{'ours':>9}{'vringh':>9}{'ratio':>8}"
          f"  {'lowest':>6} {'highest':>7}   {'both threads together':<20}")
    for row in sorted(rows, key=lambda r: r["threads"]):
        ratios = row["ns_ratios"]
        print(f"{row['kind']:<12}{row['threads']:>8}{row['ours_ns']:>9.2f}"
              f"{row['vringh_ns']:>9.2f}{row['ns_ratio']:>8.3f}"
              f"  {min(ratios):>6.3f} {max(ratios):>7.3f}", end="")
        if "wall_ns_ratio" in row:
            print(f"   {row['ours_wall_ns']:7.1f} {row['vringh_wall_ns']:7.1f}"
                  f" {row['wall_ns_ratio']:6.3f}", end="")
        print()

    def worst(threads):
        return max((r["ns_ratio"] for r in rows
                    if r["threads"] == threads and r["kind"] in GOAL), default=None)

    value = worst(1)
    result = {"goal": "ring_vringh_ratio", "value": value, "limit": LIMIT,
              "met": value <= LIMIT, "value_two_threads": worst(2),
              "kernel": version, "pairs": len(runs[GOAL[0], 1, "ours"]),
              "figures": rows}
    with open(out_name, "w", encoding="ascii") as file:
        json.dump(result, file, indent="\t")
        file.write("\n")
    two = "" if worst(2) is None else f", {worst(2):.3f} with two threads"
    print(f"bench-ring: ours/vringh {value:.3f} of a descriptor's time{two} (goal: {LIMIT}): "
          f"{'met' if value <= LIMIT else 'not met'}")


main()
