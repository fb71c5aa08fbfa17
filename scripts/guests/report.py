#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""report.py - turns the measurements of make bench-guests into a table and JSON.

usage: report.py JOB.json RESULTS OUT.json

Compares pair by pair: each round measured every backend once, next to each
other. Prints the table to standard output and, as its last line, the summary.
"""
import json
import statistics
import sys

# What is summed over the rounds and shown beside the rate.
COUNTS = ("retransmits", "lost", "sent", "tap_drops", "bridge_drops", "module_drops",
          "guest_drops", "frames")


def spread(values):
    if not values:
        return None
    return {"median": statistics.median(values), "min": min(values), "max": max(values)}


def number(x):
    if x is None:
        return "-"
    if x >= 1000:
        return f"{x:,.0f}"
    return f"{x:.1f}" if x >= 10 else f"{x:.2f}"


def per_frame(line):
    """Worker nanoseconds a frame; QEMU's own backend has no worker."""
    if line["backend"] == "qemu" or not line["frames"]:
        return None
    return line["worker_ns"] / line["frames"]


def pairs(ours, theirs, figure):
    """Ratios of the rounds in which both were measured."""
    out = []
    for turn in sorted(set(ours) & set(theirs)):
        a, b = figure(ours[turn]), figure(theirs[turn])
        if a is not None and b:
            out.append(a / b)
    return out


def side(rounds):
    lines = list(rounds.values())
    out = {"rounds": len(lines), "rate": spread([x["rate"] for x in lines])}
    for key in COUNTS:
        if any(key in x for x in lines):
            out[key] = sum(x.get(key, 0) for x in lines)
    out["worker_ns_per_frame"] = spread([p for p in map(per_frame, lines) if p is not None])
    total = sum(x["worker_ns"] + x["qemu_ns"] for x in lines)
    frames = sum(x["frames"] for x in lines)
    out["host_ns_per_frame"] = total / frames if frames else None
    for key in ("median_ns", "p99_ns"):
        if any(key in x for x in lines):
            out[key] = statistics.median(x[key] for x in lines)
    return out


def compare(scenario, lines, backends):
    by = {b: {} for b in backends}
    failures = []
    for x in lines:
        if x["scenario"] != scenario["name"]:
            continue
        if "failed" in x:
            failures.append(f"round {x['round']}, {x['backend']}: {x['failed']}")
        else:
            by[x["backend"]][x["round"]] = x
    out = dict(scenario, failures=failures,
               backends={b: side(by[b]) for b in backends if by[b]}, ratios={})
    base = by.get("in-tree", {})
    for b in backends:
        if b == "in-tree":
            continue
        out["ratios"][b] = {
            "rate": spread(pairs(by[b], base, lambda x: x["rate"])),
            "worker_ns_per_frame": spread(pairs(by[b], base, per_frame)),
            "p99": spread(pairs(by[b], base, lambda x: x.get("p99_ns"))),
        }
    return out


def row(cells):
    widths = (29, 8, 11, 17, 19, 8, 14, 8, 8, 9, 15)
    print(" ".join(f"{c:<{w}}" if i < 2 else f"{c:>{w}}"
                   for i, (c, w) in enumerate(zip(cells, widths))).rstrip())


def table(found):
    row(("scenario", "backend", "median", "min..max", "to in-tree", "retrans",
         "lost", "tap", "module", "wrk ns/f", "p50/p99 us"))
    for s in found:
        for i, (name, b) in enumerate(s["backends"].items()):
            rate, ratio = b["rate"], (s["ratios"].get(name) or {}).get("rate")
            lost = "-"
            if b.get("sent"):
                lost = f"{b['lost']} {100 * b['lost'] / b['sent']:.1f}%"
            cpu = b["worker_ns_per_frame"]
            row((f"{s['name']} ({s['unit']})" if not i else "", name,
                 number(rate["median"]), f"{number(rate['min'])}..{number(rate['max'])}",
                 f"{ratio['median']:.2f} [{ratio['min']:.2f}..{ratio['max']:.2f}]"
                 if ratio else "",
                 b["retransmits"], lost, b["tap_drops"],
                 b["module_drops"] if name == "ours" else "-",
                 number(cpu["median"]) if cpu else "-",
                 f"{b['median_ns'] / 1e3:.0f}/{b['p99_ns'] / 1e3:.0f}"
                 if "p99_ns" in b else "-"))
        for f in s["failures"]:
            print(f"  FAILED {f}")


def main():
    with open(sys.argv[1], encoding="utf-8") as f:
        job = json.load(f)
    with open(sys.argv[2], encoding="utf-8") as f:
        lines = [json.loads(x) for x in f]
    found = [compare(s, lines, job["backends"]) for s in job["scenarios"]]
    found = [s for s in found if s["backends"] or s["failures"]]
    with open(sys.argv[3], "w", encoding="utf-8") as f:
        json.dump({"host": job["host"], "kernel": job["kernel"], "accel": job["accel"],
                   "seconds": job["seconds"], "rounds": job["rounds"],
                   "scenarios": found, "measurements": lines}, f, indent=1)
        f.write("\n")
    table(found)
    summary(job, found)


def summary(job, found):
    def ratios(what):
        return [s["ratios"]["ours"][what]["median"] for s in found
                if s["ratios"].get("ours", {}).get(what)]

    def total(backend, key):
        return sum(s["backends"].get(backend, {}).get(key, 0) for s in found)

    words = [f"{len(found)} scenarios, {job['rounds']} rounds on {job['host']}"]
    if ratios("rate"):
        rate = spread(ratios("rate"))
        words.append(f"rate ours/in-tree {rate['median']:.2f} "
                     f"({rate['min']:.2f} to {rate['max']:.2f})")
    if ratios("worker_ns_per_frame"):
        cpu = spread(ratios("worker_ns_per_frame"))
        words.append(f"worker CPU a frame {cpu['median']:.2f} "
                     f"({cpu['min']:.2f} to {cpu['max']:.2f})")
    if {"ours", "in-tree"} <= set(job["backends"]):
        words.append(f"retransmits {total('ours', 'retransmits')} to "
                     f"{total('in-tree', 'retransmits')}")
    failures = sum(len(s["failures"]) for s in found)
    if failures:
        words.append(f"{failures} measurements failed")
    print("bench-guests: " + ", ".join(words))


if __name__ == "__main__":
    main()
