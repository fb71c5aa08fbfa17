# SPDX-License-Identifier: GPL-2.0-only
"""The plot of a benchmark run: for each scenario the ratio of its rate (or
latency, or memory) and of the worker's CPU time, as an SVG that reads well on
light and dark ground. Knows nothing of how the figures came about."""

import html
import math

ROW = 22
LEFT = 250
RIGHT = 620
TOP = 58

STYLE = """
  .ground { fill: #ffffff } .text { fill: #1f2328 } .dim { fill: #59636e }
  .axis { stroke: #d1d9e0 } .one { stroke: #59636e; stroke-dasharray: 3 3 }
  .good { fill: #1a7f37; stroke: #1a7f37 } .bad { fill: #cf222e; stroke: #cf222e }
  .goal { stroke: #8250df; stroke-width: 2.5 }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #0d1117 } .text { fill: #e6edf3 } .dim { fill: #9198a1 }
    .axis { stroke: #3d444d } .one { stroke: #9198a1 }
    .good { fill: #3fb950; stroke: #3fb950 } .bad { fill: #f85149; stroke: #f85149 }
    .goal { stroke: #ab7df8 }
  }
  text { font: 12px sans-serif }
"""


def rows_of(summary, figures):
    """(scenario, figure, ratio) to be drawn: the main figure, then CPU."""
    for scenario, f in summary.items():
        names = [n for n in ("pps", "bps", "lat_median", "lat_p99", "mem") if n in f]
        if "worker_ns" in f:
            names.append("worker_ns")
        for n in names:
            if f[n]["ratio"]:
                yield scenario, n, f[n]["ratio"]


def ratios(summary, goals, figures):
    rows = list(rows_of(summary, figures))
    low = min([0.5] + [r["min"] for _, _, r in rows])
    high = max([2.0] + [r["max"] for _, _, r in rows])
    low, high = max(low, 0.05) / 1.05, min(high, 20) * 1.05

    def x(v):
        v = min(max(v, low), high)
        return LEFT + (math.log(v) - math.log(low)) / (
            math.log(high) - math.log(low)) * (RIGHT - LEFT)

    wanted = {(g.get("scenario"), g.get("figure")): g.get("min", g.get("max"))
              for g in goals if "of" not in g}
    height = TOP + ROW * len(rows) + 40
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="720" height="{height}" '
           f'viewBox="0 0 720 {height}" role="img">',
           "<title>vhost_tap beside in-tree vhost_net, ratios</title>",
           f"<style>{STYLE}</style>",
           f'<rect class="ground" width="720" height="{height}"/>',
           '<text class="text" x="16" y="22" style="font-weight:600">'
           "vhost_tap / in-tree vhost_net: median of the pairs, least to most</text>",
           '<text class="dim" x="16" y="40">green: better than in-tree; '
           "violet: the goal; logarithmic</text>"]
    for tick in (0.1, 0.2, 0.33, 0.5, 0.67, 1, 1.5, 2, 3, 5, 10):
        if low <= tick <= high:
            kind = "one" if tick == 1 else "axis"
            out.append(f'<line class="{kind}" x1="{x(tick):.1f}" y1="{TOP - 4}" '
                       f'x2="{x(tick):.1f}" y2="{height - 30}"/>')
            out.append(f'<text class="dim" x="{x(tick):.1f}" y="{height - 14}" '
                       f'text-anchor="middle">{tick:g}</text>')
    last = None
    for i, (scenario, name, r) in enumerate(rows):
        y = TOP + ROW * i + ROW / 2
        title, _, _, better, _ = figures[name]
        good = r["median"] >= 1 if better == "more" else r["median"] <= 1
        kind = "good" if good else "bad"
        if scenario != last:
            out.append(f'<text class="text" x="16" y="{y + 4:.1f}">'
                       f"{html.escape(scenario)}</text>")
            last = scenario
        out.append(f'<text class="dim" x="{LEFT - 12}" y="{y + 4:.1f}" '
                   f'text-anchor="end">{html.escape(title)}</text>')
        out.append(f'<line class="{kind}" stroke-width="2" x1="{x(r["min"]):.1f}" '
                   f'y1="{y:.1f}" x2="{x(r["max"]):.1f}" y2="{y:.1f}"/>')
        out.append(f'<circle class="{kind}" cx="{x(r["median"]):.1f}" cy="{y:.1f}" r="4"/>')
        goal = wanted.get((scenario, name))
        if goal:
            out.append(f'<line class="goal" x1="{x(goal):.1f}" y1="{y - 8:.1f}" '
                       f'x2="{x(goal):.1f}" y2="{y + 8:.1f}"/>')
        out.append(f'<text class="text" x="{RIGHT + 14}" y="{y + 4:.1f}">'
                   f'{r["median"]:.2f}</text>')
    out.append("</svg>")
    return "\n".join(out) + "\n"
