# SPDX-License-Identifier: Apache-2.0
"""Draws the plots of docs/performance.md from benchmarks/results, as PNG and SVG.

  plots.py ROOT     needs matplotlib
"""
import json
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

OURS = "superstep"
COLOURS = {OURS: "#1b6ca8", "langgraph": "#d1495b", "langgraph.js": "#edae49", "eino": "#3d9970", "graph-flow": "#8d6a9f"}
MARKS = {OURS: "o", "langgraph": "s", "langgraph.js": "^", "eino": "D", "graph-flow": "v"}


def save(figure, folder, name):
    figure.tight_layout()
    for kind in ("png", "svg"):
        metadata = {"Date": None} if kind == "svg" else None
        figure.savefig(folder / f"{name}.{kind}", dpi=110, metadata=metadata)
    plt.close(figure)


def style(axes):
    axes.grid(True, which="major", color="#dddddd", linewidth=0.7)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def ratios(results, folder):
    rows = list(results["comparisons"].items())[::-1]
    figure, axes = plt.subplots(figsize=(8.5, 0.3 * len(rows) + 1.4))
    for peer in list(COLOURS)[1:]:
        points = [(one[peer]["cpu_per_unit"] / one[OURS]["cpu_per_unit"], i)
                  for i, (_, one) in enumerate(rows) if peer in one]
        if points:
            axes.scatter(*zip(*points), label=peer, color=COLOURS[peer], marker=MARKS[peer], s=42, zorder=3)
    axes.axvline(1, color=COLOURS[OURS], linewidth=1.6)
    axes.text(1.04, len(rows) - 0.45, "superstep", color=COLOURS[OURS], fontsize=9)
    axes.set_xscale("log")
    axes.set_yticks(range(len(rows)), [name for name, _ in rows], fontsize=8)
    axes.set_ylim(-0.6, len(rows) - 0.1)
    axes.set_xlabel("CPU time per unit, as a multiple of superstep's (logarithmic; right: more than superstep)")
    style(axes)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=4, fontsize=8, frameon=False)
    save(figure, folder, "ratios")


def sizes(results, folder):
    figure, all_axes = plt.subplots(1, len(results["sizes"]), figsize=(9.5, 3.8))
    for axes, series in zip(all_axes, results["sizes"]):
        for name, line in series["lines"].items():
            points = sorted((int(size), cost * 1e6) for size, cost in line.items() if cost)
            axes.plot(*zip(*points), label=name, color=COLOURS[name], marker=MARKS[name])
        axes.set(xscale="log", yscale="log", xlabel=series["title"], ylabel=f"{series['unit']}, µs")
        style(axes)
    all_axes[0].legend(fontsize=8)
    save(figure, folder, "sizes")


def scaling(results, folder):
    figure, axes = plt.subplots(figsize=(5.5, 3.8))
    most = 1
    for series, mark in zip(results["scaling"], "os^"):
        rates = sorted((int(n), rate) for n, rate in series["rates"].items())
        axes.plot([n for n, _ in rates], [rate / rates[0][1] for _, rate in rates], marker=mark, label=series["title"])
        most = max(most, rates[-1][0])
    axes.plot([1, most], [1, most], color="#999999", linestyle="--", label="ideal")
    axes.set(xlabel="workers", ylabel="rate / rate with one worker", xticks=range(1, most + 1))
    style(axes)
    axes.legend(fontsize=8)
    save(figure, folder, "scaling")


def memory(results, folder):
    name = next(n for n in results["comparisons"] if n.startswith("W7"))
    bars = [(peer, one["rss_per_run_kb"]) for peer, one in results["comparisons"][name].items() if "rss_per_run_kb" in one]
    figure, axes = plt.subplots(figsize=(5.5, 3.2))
    drawn = axes.bar([b[0] for b in bars], [b[1] for b in bars], color=[COLOURS[b[0]] for b in bars], width=0.6)
    axes.bar_label(drawn, fmt="%.0f", fontsize=8)
    axes.set(ylabel="kB per run in flight", title=name)
    axes.title.set_fontsize(9)
    style(axes)
    save(figure, folder, "memory")


def main():
    root = pathlib.Path(sys.argv[1])
    results = {p.stem: json.loads(p.read_text()) for p in (root / "benchmarks/results").glob("*.json")}
    folder = root / "docs/performance"
    folder.mkdir(exist_ok=True)
    plt.rcParams["svg.hashsalt"] = "superstep"
    for draw in (ratios, sizes, scaling, memory):
        draw(results, folder)


main()
