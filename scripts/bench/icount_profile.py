#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Instructions a packet by function, from what run-icount has sampled.

usage: icount_profile.py [--lines] [--top N] --module KO FOLDER

FOLDER holds runs.json, kallsyms, and for each scenario and side a perf.data.
Samples stand at equal distances of instructions (perf's own included): their
share, times the instructions a packet of a run without perf. Where interrupts
are off no sample is taken; it falls on the function that turns them on again.
"""
import argparse
import bisect
import collections
import json
import os
import subprocess

TREE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
# Who does what for the worker besides the modules themselves.
COPY = ("copy", "rep_movs", "memcpy", "memset", "clear_page", "__check_object_size",
        "check_stack_object", "__virt_addr_valid", "memmove")


def read_symbols(name):
    symbols = []
    with open(name, encoding="ascii") as file:
        for line in file:
            word = line.split()
            if word[1] in "tTwW" and not word[2].startswith("__pfx_"):
                module = word[3].strip("[]") if len(word) > 3 else "kernel"
                symbols.append((int(word[0], 16), word[2], module))
    symbols.sort()
    return symbols


def read_samples(name, find):
    """Addresses at which the worker was, and how often. perf knows no name of a
    kernel thread that was born later: it is the one that is most in vhost."""
    out = subprocess.run(["perf", "script", "-i", name, "-F", "tid,ip"],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                         check=True, encoding="utf-8", errors="replace").stdout
    threads = collections.defaultdict(collections.Counter)
    for line in out.splitlines():
        word = line.split()
        if len(word) == 2:
            threads[word[0]][int(word[1], 16)] += 1
    return max(threads.values(), key=lambda ips: sum(
        n for ip, n in ips.items() if find(ip)[1].startswith("vhost")))


def finder(symbols):
    starts = [s[0] for s in symbols]

    def find(ip):
        i = bisect.bisect_right(starts, ip) - 1
        return symbols[i][1:] if i >= 0 else ("?", "?")
    return find


def by_function(samples, find):
    result = collections.Counter()
    for ip, n in samples.items():
        result[find(ip)] += n
    return result


def part(symbol, module):
    if module.startswith("vhost"):
        return "vhost"
    if module in ("tun", "tap"):
        return "tun"
    if any(word in symbol for word in COPY):
        return "copy"
    return "rest"


def by_line(samples, module, text):
    base = int(text, 16)
    found = {ip: n for ip, n in samples.items() if 0 <= ip - base < 0x100000}
    ask = "\n".join(hex(ip - base) for ip in found)
    out = subprocess.run(["addr2line", "-s", "-j", ".text", "-e", module], input=ask,
                         stdout=subprocess.PIPE, check=True, encoding="ascii").stdout
    lines = collections.Counter()
    for n, where in zip(found.values(), out.splitlines()):
        lines[where.split(" ")[0]] += n
    return lines


def source_line(where):
    name, _, number = where.partition(":")
    for folder in ("drivers/vhost_tap", "include/uapi/linux"):
        path = os.path.join(TREE, folder, name)
        if os.path.exists(path) and number.isdigit():
            with open(path, encoding="utf-8") as file:
                return (file.readlines() + [""] * 9999)[int(number) - 1].strip()
    return ""


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--lines", action="store_true")
    args.add_argument("--top", type=int, default=30)
    args.add_argument("--module")
    args.add_argument("folder")
    args = args.parse_args()
    os.chdir(args.folder)
    find = finder(read_symbols("kallsyms"))
    total = {}
    with open("runs.json", encoding="ascii") as file:
        for line in file:
            run = json.loads(line)
            key = run["scenario"], run["side"]
            value = run["worker_ns"] / run["packets"]
            total[key] = min(value, total.get(key, value))

    for scenario in dict.fromkeys(key[0] for key in total):
        sides = {}
        for side in ("intree", "ours"):
            name = f"{scenario}.{side}.data"
            if not os.path.exists(name):
                continue
            samples = read_samples(name, find)
            functions = by_function(samples, find)
            scale = total[scenario, side] / max(1, sum(functions.values()))
            sides[side] = samples, functions, scale
            parts = collections.Counter()
            for (symbol, module), n in functions.items():
                parts[part(symbol, module)] += n * scale
            print(f"\n{scenario} {side}: {total[scenario, side]:.0f} instructions a packet"
                  f" ({sum(functions.values())} samples): " +
                  ", ".join(f"{p} {n:.0f}" for p, n in parts.most_common()))
            for (symbol, module), n in functions.most_common(args.top):
                print(f"{n * scale:8.1f} {100 * n * scale / total[scenario, side]:5.1f}%"
                      f"  {symbol} [{module}]")
        if args.lines and "ours" in sides:
            samples, _, scale = sides["ours"]
            with open("vhost_tap.text", encoding="ascii") as file:
                lines = by_line(samples, args.module, file.read())
            print(f"\n{scenario} ours, by source line")
            for where, n in lines.most_common(2 * args.top):
                print(f"{n * scale:8.1f}  {where:<28} {source_line(where)[:80]}")


main()
