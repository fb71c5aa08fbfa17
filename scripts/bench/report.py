#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""What a benchmark run says: the table, the goals, bench.json, bench.svg.

usage: report.py --out DIR [--kernel SERIES] [--record DIR] RAW

RAW is what scripts/bench.sh wrote: a line of JSON a measurement. Judges nothing
but ratios of neighbouring measurements; a pair of which one half is missing
does not count. DIR may hold files {"goal": ID, "value": X} from other steps.
"""

import argparse
import json
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import plot  # noqa: E402

SIDES = ("intree", "ours")

# Fewer than one event in so many packets is as good as none: a ratio of two
# such counts would be noise.
FLOOR = 1 / 1000

# name: (title, unit, scale for people, better, floor)
FIGURES = {
    "pps": ("rate", "kpps", 1e-3, "more", 0),
    "bps": ("rate", "Gbit/s", 1e-9, "more", 0),
    "worker_ns": ("worker CPU a packet", "ns", 1, "less", 0),
    "lat_median": ("latency, median", "us", 1e-3, "less", 0),
    "lat_p99": ("latency, p99", "us", 1e-3, "less", 0),
    "kicks": ("kicks a 1000 packets", "", 1e3, "less", FLOOR),
    "signals": ("signals a 1000 packets", "", 1e3, "less", FLOOR),
    "wakeups": ("wake-ups a 1000 packets", "", 1e3, "less", FLOOR),
    "lost": ("lost a 1000 packets", "", 1e3, "less", FLOOR),
    "mem": ("memory a device", "KiB", 1 / 1024, "less", 0),
    "mem_busy": ("memory a device, after traffic", "KiB", 1 / 1024, "less", 0),
    "busy": ("worker busy", "%", 100, "", 0),
}


def figures(m):
    """What one measurement says, by name of the figure."""
    f = {}
    packets = m.get("packets", 0)
    seconds = m.get("seconds", 0)
    if packets > 0:
        # a paced or waiting load has no rate of its own
        if not m.get("paced"):
            name = "bps" if m["bytes"] / packets > 4096 else "pps"
            f[name] = m[name]
        for name, field in (("worker_ns", "worker_ns"), ("kicks", "kicks"),
                            ("signals", "signals"), ("lost", "lost"),
                            ("wakeups", "worker_wakeups")):
            if field in m:
                f[name] = m[field] / packets
        if seconds > 0 and "worker_ns" in m:
            f["busy"] = m["worker_ns"] / 1e9 / seconds
    for name, field in (("lat_median", "latency_ns_median"),
                        ("lat_p99", "latency_ns_p99"), ("mem", "mem_bytes"),
                        ("mem_busy", "mem_busy_bytes")):
        if field in m:
            f[name] = m[field]
    return f


def ratio(name, ours, intree):
    floor = FIGURES[name][4]
    if name in ("lost", "busy"):  # to be looked at, not to be divided
        return None
    if floor:
        ours, intree = max(ours, floor), max(intree, floor)
    return ours / intree if intree > 0 else None


def spread(values):
    return {"median": statistics.median(values), "min": min(values),
            "max": max(values), "n": len(values)}


def read(path):
    """{scenario: {pair: {side: measurement}}} and what could not run."""
    runs, skipped = {}, {}
    for line in open(path, encoding="utf-8"):
        line = line.strip()
        if not line:
            continue
        m = json.loads(line)
        if "skipped" in m:
            skipped[m["scenario"]] = m["skipped"]
            continue
        runs.setdefault(m["scenario"], {}).setdefault(m["pair"], {})[m["side"]] = m
    return runs, skipped


def summarize(runs):
    """{scenario: {figure: {intree, ours, ratio}}}, warm-ups left out."""
    result = {}
    for scenario, pairs in runs.items():
        whole = [p for n, p in sorted(pairs.items())
                 if n > 0 and all(s in p for s in SIDES)]
        values = {}
        for p in whole:
            both = {s: figures(p[s]) for s in SIDES}
            for name in FIGURES:
                if name in both["intree"] and name in both["ours"]:
                    values.setdefault(name, []).append(
                        (both["intree"][name], both["ours"][name]))
        result[scenario] = {}
        for name, v in values.items():
            ratios = [ratio(name, o, i) for i, o in v]
            ratios = [r for r in ratios if r is not None]
            result[scenario][name] = {
                "intree": spread([i for i, _ in v]),
                "ours": spread([o for _, o in v]),
                "ratio": spread(ratios) if ratios else None,
                "ratios": ratios,
            }
    return result


def step_values(out):
    values = {}
    for path in sorted(out.glob("*.json")):
        try:
            d = json.loads(path.read_text(encoding="utf-8"))
            values[d["goal"]] = float(d["value"])
        except (ValueError, KeyError, TypeError):
            continue
    return values


def goal_value(goal, summary, runs, values):
    """What was reached, and a word about where; None when not measured."""
    if goal.get("value"):
        return values.get(goal["id"]), ""
    figure = goal["figure"]
    if goal["scenario"] == "*":
        worst = None
        for scenario, f in summary.items():
            if figure not in f or not f[figure]["ratio"]:
                continue
            # what the pairs do not agree upon is no difference
            r = sorted(f[figure]["ratios"])[len(f[figure]["ratios"]) // 4]
            if worst is None or r > worst[0]:
                worst = (r, scenario)
        return worst or (None, "")
    if "of" in goal:
        a, b = (summary.get(goal[k], {}).get(figure) for k in ("scenario", "of"))
        if not a or not b:
            return None, ""
        kept = {s: a[s]["median"] / b[s]["median"] for s in SIDES}
        return (kept["ours"] / kept["intree"],
                f"ours keeps {kept['ours']:.2f}, in-tree {kept['intree']:.2f}")
    f = summary.get(goal["scenario"], {}).get(figure)
    if not f or not f["ratio"]:
        return None, ""
    return f["ratio"]["median"], ""


def judge(goals, summary, runs, values):
    for g in goals:
        v, where = goal_value(g, summary, runs, values)
        g["measured"] = v
        g["where"] = where
        g["met"] = v is not None and (v >= g["min"] if "min" in g else v <= g["max"])
    return goals


def number(v):
    if v == 0:
        return "0"
    return f"{v:.0f}" if v >= 100 else f"{v:.1f}" if v >= 10 else f"{v:.2f}"


def cells(name, f):
    """The figure's row: title, each side, the ratio."""
    title, unit, scale, _, _ = FIGURES[name]
    row = [title + (f", {unit}" if unit else "")]
    for side in SIDES:
        s = f[side]
        row.append(f"{number(s['median'] * scale)} "
                   f"({number(s['min'] * scale)}-{number(s['max'] * scale)})")
    r = f["ratio"]
    row.append(f"{r['median']:.2f} ({r['min']:.2f}-{r['max']:.2f})" if r else "-")
    return row


HEAD = ("scenario", "figure", "in-tree", "vhost_tap", "ratio")


def rows(summary):
    for scenario, f in summary.items():
        first = scenario
        for name in FIGURES:
            if name in f:
                yield [first] + cells(name, f[name])
                first = ""


def table(summary):
    all_rows = [list(HEAD)] + list(rows(summary))
    width = [max(len(r[i]) for r in all_rows) for i in range(len(HEAD))]
    lines = []
    for r in all_rows:
        if r[0] and r[0] != HEAD[0]:
            lines.append("")
        lines.append("  ".join(c.ljust(w) for c, w in zip(r, width)).rstrip())
    return "\n".join(lines)


def idle_workers(summary):
    """Scenarios whose worker should have been the slowest, and was not."""
    for scenario, f in summary.items():
        if scenario.endswith("_live") or not ("pps" in f or "bps" in f):
            continue
        for side in SIDES:
            if f.get("busy") and f["busy"][side]["median"] < 0.85:
                yield (f"{scenario}: the worker of {side} had to wait for its load "
                       f"(busy {100 * f['busy'][side]['median']:.0f} %)")


def limit(g):
    return f">= {g['min']}" if "min" in g else f"<= {g['max']}"


def goal_word(g):
    if g["measured"] is None:
        return "not measured"
    return "met" if g["met"] else "not met"


def goal_number(g):
    if g["measured"] is None:
        return "-"
    return f"{g['measured']:.2f}" + (f" ({g['where']})" if g["where"] else "")


def goal_lines(goals):
    return "\n".join(f"{goal_word(g):12}  {g['what']:52}  {limit(g):9}  {goal_number(g)}"
                     for g in goals)


def rst(summary, goals, skipped, about):
    """Two tables in reStructuredText, for Documentation/."""
    def list_table(title, head, body, widths):
        out = [f".. list-table:: {title}", "   :header-rows: 1",
               f"   :widths: {widths}", ""]
        for row in [head] + body:
            for i, c in enumerate(row):
                out.append(f"   {'*' if i == 0 else ' '} - {c}".rstrip())
        return out + [""]

    lines = [".. SPDX-License-Identifier: GPL-2.0-only",
             ".. Written by scripts/bench.sh --record; do not edit.", "", about, ""]
    lines += list_table("Goals", ["goal", "wanted", "measured", ""],
                        [[g["what"], limit(g), goal_number(g), goal_word(g)]
                         for g in goals], "50 12 28 12")
    lines += list_table("Figures: median (least-most) of the pairs",
                        list(HEAD), list(rows(summary)), "14 26 22 22 20")
    for s, why in skipped.items():
        lines.append(f"{s} was not measured: {why}.")
    return "\n".join(lines).rstrip() + "\n"


def main():
    ap = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    ap.add_argument("--out", required=True, type=pathlib.Path)
    ap.add_argument("--kernel", default="")
    ap.add_argument("--record", type=pathlib.Path)
    ap.add_argument("raw", type=pathlib.Path)
    a = ap.parse_args()

    runs, skipped = read(a.raw)
    summary = summarize(runs)
    here = pathlib.Path(__file__).parent
    goals = json.loads((here / "goals.json").read_text(encoding="utf-8"))["goals"]
    judge(goals, summary, runs, step_values(a.out))
    pairs = max((len([n for n in p if n > 0]) for p in runs.values()), default=0)
    about = f"Kernel {a.kernel}, {pairs} pairs a scenario." if a.kernel else ""

    everything = {"kernel": a.kernel, "pairs": pairs, "summary": summary,
                  "goals": goals, "skipped": skipped,
                  "raw": [m for p in runs.values() for s in p.values()
                          for m in s.values()]}
    text = json.dumps(everything, indent=1) + "\n"
    svg = plot.ratios(summary, goals, FIGURES)
    doc = rst(summary, goals, skipped, about)
    (a.out / "bench.json").write_text(text, encoding="utf-8")
    (a.out / "bench.svg").write_text(svg, encoding="utf-8")
    (a.out / "bench.rst").write_text(doc, encoding="utf-8")
    if a.record:
        compact = dict(everything)
        del compact["raw"]
        for name, what in (("json", json.dumps(compact, indent=1) + "\n"),
                           ("svg", svg), ("txt", doc)):
            path = a.record / f"vhost_tap-bench.{name}"
            path.write_text(what, encoding="utf-8")

    print(table(summary))
    for s, why in skipped.items():
        print(f"\n{s}: not measured: {why}")
    waits = list(idle_workers(summary))
    if waits:
        print("\nThe machine was not quiet, or the load not fast enough:")
        print("\n".join("  " + w for w in waits))
    print()
    print(goal_lines(goals))
    print()
    print(f"bench: {sum(g['met'] for g in goals)} of {len(goals)} goals met")


main()
