# SPDX-License-Identifier: Apache-2.0
"""Writes docs/performance.md and the table of numbers in README.md from benchmarks/results."""
import json
import re
import sys
import textwrap

import cases

OURS = "superstep"
TITLES = {cases.PYTHON: "LangGraph (Python)", cases.JS: "LangGraph.js", cases.EINO: "Eino (Go)",
          cases.RUST: "graph-flow (Rust)"}
LOW = 5  # leads below this factor are listed as unfavourable
NOISY = 0.5  # spreads above this share are marked
WIDTH = 120  # of a line of text

PAGE = """# Performance

This page compares the costs of superstep with those of other projects, and shows how the costs grow with the size of a
graph, the number of runs and the number of threads. [Repeat the measurement](#repeat-the-measurement) with one command.
`scripts/bench` writes this page and its plots; edit `scripts/bench.d/page.py` instead of the page.

## Machine and method

- Machine: {cores} cores of {processor}, {memory_gib} GiB of memory, Linux {kernel}, Debian 12; {date}. The load was
  {load_at_start:.1f} at the start and {load_at_end:.1f} at the end. Wall times depend on other programs, so all costs
  are CPU times.
- superstep is a release build with g++ 12 and its default options. A cost is the CPU time of the measured part in all
  threads, divided by its units. For W12 it is the CPU time of the whole process.
- Every measurement is a process of its own. The runners take turns: superstep, each peer, superstep again, and so on.
  A figure is the minimum of {rounds} rounds, each of which is the minimum of its repetitions. Other load only adds time,
  so minima are the most exact figures. "~" marks a figure whose rounds differ by more than {noisy:.0f} %.
- All runners do the same work with the same scripted model, and their check values are equal. Of the two engines of
  LangGraph for Python, the one with the lower cost counts. `-` marks a workload that a peer cannot express.
- Versions: {versions}.
{basics}

## Compared with other projects

Each cell of a peer shows its CPU time per unit, and how many times as much it is as that of superstep.

![How many times as much CPU time other projects need](performance/ratios.png)

{comparison}

The workloads are described by `superstep-bench --help` and in the sources of `benchmarks/`. `version=v1` runs all calls
of an answer in one task, `version=v2` in a task each, `new=1` is `create_agent()`.

### Unfavourable cases

{unfavourable}

Not equal in function:

- Eino passes values along edges. It has no state with reducers, no Sends, and no checkpoint per super-step, and its agent
  returns only the last message. In short bursts its garbage collector does not run, which the figures of W4 show.
- graph-flow passes a map of JSON values from task to task. It has no super-steps, no reducers, and no agent.
- LangGraph.js runs callbacks in the background by default, and then W10 loses tokens. The runner waits for them.
- NeoGraph, another C++ engine, is not in the table because it has no package. In an earlier measurement it started in
  2.4 ms of CPU time, which is less than superstep needs.

### What dominates the costs

The floor is what the work needs at least: its basic operations, at the basic costs of the same session. It leaves out
all bookkeeping of a graph, so the factor is the price of that bookkeeping.

{dominates}

## Growth with size

![CPU time per unit against the size of the workload](performance/sizes.png)

{sizes}

## Scaling with threads

![Throughput against the number of workers](performance/scaling.png)

{scaling}

The last number of a cell is how many cores the process used. A batch job also has threads that read its input and write
its results, so one worker can use more than one core. If several workers use fewer cores than there are, they wait for
each other or for these threads. These figures are rates of wall time, so the load of the machine affects them most: if
other programs use all cores, a second worker gets little more CPU time than one worker. The maximum of all rounds counts.

## Memory

![Memory per run](performance/memory.png)

{memory}

## Figures of superstep alone

{figures}

## Repeat the measurement

```
cmake --preset release && cmake --build --preset release --target superstep-bench chat_server
benchmarks/peers/install build/peers     # needs python3 with venv, npm, go and cargo; skips what is missing
scripts/bench                            # about fifteen minutes; --quick: one minute, without files
```

`benchmarks/results` contains the results as JSON. `benchmarks/acceptance.sh` measures the project's own requirements.
`scripts/instructions` counts instructions instead of time, and fails if a workload needs 3 % more than recorded.
"""


def time_text(seconds):
    us = seconds * 1e6
    if us >= 1e5:
        return f"{us / 1e3:.0f} ms"
    if us >= 1e3:
        return f"{us / 1e3:.1f} ms"
    if us < 0.1:
        return f"{us * 1e3:.0f} ns" if us >= 0.01 else f"{us * 1e3:.1f} ns"
    return f"{us:.0f} µs" if us >= 100 else f"{us:.1f} µs" if us >= 10 else f"{us:.2f} µs"


def ratio_text(ratio):
    return f"{ratio:.0f}" if ratio >= 20 else f"{ratio:.1f}"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "| " + " | ".join("---" for _ in head) + " |"]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def ratios(results):
    """Returns case, peer and ratio of all comparisons."""
    out = []
    for name, by_runner in results["comparisons"].items():
        ours = by_runner[OURS]["cpu_per_unit"]
        out += [(name, peer, one["cpu_per_unit"] / ours) for peer, one in by_runner.items() if peer != OURS]
    return out


def noise(one):
    return " ~" if one["spread"] > NOISY else ""


def comparison(results):
    rows = []
    for name, by_runner in results["comparisons"].items():
        ours = by_runner[OURS]
        row = [f"`{name}`", ours["unit"], time_text(ours["cpu_per_unit"]) + noise(ours)]
        for peer in cases.PEERS:
            one = by_runner.get(peer)
            if one is None:
                row.append("-")
                continue
            ratio = one["cpu_per_unit"] / ours["cpu_per_unit"]
            row.append(f"{time_text(one['cpu_per_unit'])}, {ratio_text(ratio)}×{noise(one)}")
        rows.append(row)
    return table(["workload", "unit", "superstep", *TITLES.values()], rows)


def unfavourable(results):
    low = sorted((r, n, p) for n, p, r in ratios(results) if r < LOW)
    if not low:
        return f"In all comparisons, the peers need at least {LOW} times as much CPU time."
    text = f"The lead is below a factor of {LOW}, or there is none, in these comparisons:\n"
    for ratio, name, peer in low:
        verb = "needs" if ratio >= 1 else "needs only"
        text += f"\n- `{name}`: {TITLES[peer]} {verb} {ratio:.2f} times as much CPU time as superstep."
    return text


def floor_of(case, floor):
    """Returns the least cost of a unit in seconds, and its basic operations."""
    us, words = 0, []
    for name, count in case.floor.items():
        member, factor, one, more = cases.OPERATIONS[name]
        us += count * floor[member] * factor
        words.append(f"{count} {one if count == 1 else more}")
    return us / 1e6, ", ".join(words)


def dominates(results):
    rows = []
    for case in cases.CASES:
        if case.name not in results["comparisons"]:
            continue
        cost = results["comparisons"][case.name][OURS]["cpu_per_unit"]
        least, operations = floor_of(case, results["floor"])
        rows.append([f"`{case.name}`", case.note, f"{operations}: {time_text(least)}", f"{cost / least:.1f}×"])
    return table(["workload", "dominated by", "floor", "superstep: times the floor"], rows)


def basics(floor):
    costs = {one: floor[member] * factor / 1e6 for member, factor, one, _ in cases.OPERATIONS.values()}
    costs["wall time of a sync of the disk"] = floor["fdatasync_us"] / 1e6
    text = ", ".join(f"{name} {time_text(cost)}" for name, cost in costs.items())
    return textwrap.fill(f"- Basic costs in the same session: {text}.", WIDTH, subsequent_indent="  ")


def sizes(results):
    out = []
    for series in results["sizes"]:
        lines = series["lines"]
        all_sizes = sorted({int(s) for line in lines.values() for s in line})
        rows = []
        for name, line in lines.items():
            values = [line.get(str(s)) for s in all_sizes]
            rows.append([TITLES.get(name, name), *(time_text(v) if v else "-" for v in values)])
        out.append(f"{series['title']}, {series['unit']}:\n\n" + table(["", *(f"{s:,}" for s in all_sizes)], rows))
    return "\n\n".join(out)


def scaling(results):
    rows = []
    for series in results["scaling"]:
        one = series["rates"]["1"]
        rows.append([series["title"],
                     *(f"{rate:,.0f} per second" + (f", {rate / one:.2f}×" if n != "1" else "") +
                       f"; {series['cores'][n]:.2f} cores" for n, rate in series["rates"].items())])
    workers = sorted(int(n) for n in results["scaling"][0]["rates"])
    return table(["", *(f"{n} worker{'s' if n > 1 else ''}" for n in workers)], rows)


def memory(results):
    name = next(n for n in results["comparisons"] if n.startswith("W7"))
    rows = [[TITLES.get(peer, peer), f"{one['rss_per_run_kb']:.1f} kB", f"{one['peak_rss_kb'] / 1024:.0f} MB"]
            for peer, one in results["comparisons"][name].items() if "rss_per_run_kb" in one]
    return f"Runs of `{name}` that are in flight at the same time:\n\n" + table(
        ["", "memory per run", "peak of the process"], rows)


def figure_rows(results):
    def text(one):
        value = one["value"]
        digits = 0 if value >= 100 else 1 if value >= 10 else 2
        return f"{value:.{digits}f} {one['unit']}"

    return [[one["label"], text(one)] for one in results["figures"]]


def write_readme(root, results):
    path = root / "README.md"
    text = path.read_text()
    rows = table(["what", "cost"], figure_rows(results))
    new, count = re.subn(r"(<!-- figures of scripts/bench -->\n).*?(\n<!-- end of figures -->)",
                         lambda m: m[1] + rows + m[2], text, flags=re.DOTALL)
    if count == 1:
        path.write_text(new)


def write(root):
    folder = root / "benchmarks/results"
    results = {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}
    missing = {"comparisons", "figures", "floor", "machine", "scaling", "sizes"} - set(results)
    if missing:
        sys.exit(f"{folder} has no {', '.join(sorted(missing))}: run scripts/bench to its end")
    versions = {}
    for by_runner in results["comparisons"].values():
        versions |= {peer: one["version"] for peer, one in by_runner.items()}
    text = PAGE.format(
        **results["machine"],
        noisy=NOISY * 100,
        versions=", ".join(f"{TITLES.get(peer, peer)} {version}" for peer, version in versions.items()),
        basics=basics(results["floor"]),
        comparison=comparison(results), unfavourable=unfavourable(results), dominates=dominates(results),
        sizes=sizes(results), scaling=scaling(results), memory=memory(results),
        figures=table(["what", "cost", "`superstep-bench`"],
                      [[*row, f"`{one['words']}`"] for row, one in zip(figure_rows(results), results["figures"])]))
    (root / "docs/performance.md").write_text(text)
    write_readme(root, results)
    print("wrote docs/performance.md")
