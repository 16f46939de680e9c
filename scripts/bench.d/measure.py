# SPDX-License-Identifier: Apache-2.0
"""Runs the workloads of scripts/bench and stores their reports."""
import collections
import contextlib
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import time

import cases

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "soak.d"))
import postgres_server  # noqa: E402

OURS = "superstep"
UNSUPPORTED = 3


class Runner:
    """Runs one workload per process with superstep or a peer."""

    def __init__(self, given, folder, url, database):
        self.folder, self.url, self.database, self.faults = folder, url, database, []
        self.commands = {OURS: str(given.program)}
        for peer in cases.PEERS:
            command = given.peers / peer / "run"
            if os.access(command, os.X_OK):
                self.commands[peer] = str(command)

    def report(self, name, words):
        """Returns the report of a run with the CPU time of the whole process, or None if it cannot be had."""
        words = words.split()
        if words[0] in ("W8loop", "W8chat", "batch", "floor"):
            words.append(f"dir={self.folder}")
        if "saver=postgres" in words:
            if not self.database:
                return None
            words.append(f"url={self.database}")
        if words[0] in ("W13", "http"):
            if not self.url:
                return None
            words.append(f"url={self.url}")
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
            wall = time.monotonic()
            child = subprocess.Popen([self.commands[name], *words], stdout=out, stderr=errors)
            _, status, used = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            wall = time.monotonic() - wall
            out.seek(0)
            errors.seek(0)
            if child.returncode == UNSUPPORTED:
                return None
            if child.returncode != 0:
                text = errors.read().decode(errors="replace").strip()[-500:]
                self.faults.append(f"{name} {' '.join(words)}: exit code {child.returncode}: {text}")
                return None
            report = json.loads(out.read())
        report["process_cpu_seconds"] = used.ru_utime + used.ru_stime
        report["process_seconds"] = wall
        report["process_rss_kb"] = used.ru_maxrss
        return report


def cost_of(report):
    """Returns the CPU seconds per unit; of the whole process if starting it is what is measured."""
    if report["workload"] == "W12":
        return report["process_cpu_seconds"]
    return report["cpu_seconds_min"] / report["units"]


class Figure:
    """The reports of one runner for one case: minima, spread, and the last report."""

    def __init__(self):
        self.costs, self.reports = [], []

    def add(self, report):
        self.costs.append(cost_of(report))
        self.reports.append(report)

    def to_json(self):
        best = self.reports[self.costs.index(min(self.costs))]
        members = ("rss_per_run_kb", "bytes_per_turn", "last_ms", "first_ms", "last_us", "cpu_per_run_ms", "runs_per_s",
                   "put_us", "get_us", "search_us", "speedup")
        return {
            "version": best["version"],
            "params": best["params"],
            "unit": best["unit"],
            "units": best["units"],
            "cpu_per_unit": min(self.costs),
            "spread": max(self.costs) / min(self.costs) - 1,
            "wall_per_unit": min(r["seconds"] / r["units"] for r in self.reports),
            "process_cpu_seconds": min(r["process_cpu_seconds"] for r in self.reports),
            "peak_rss_kb": min(r["process_rss_kb"] for r in self.reports),
            "rounds": len(self.reports),
            "checks": best["checks"],
            **{key: best[key] for key in members if key in best},
        }


def words_of(case, name, mode):
    more = case.ours if name == OURS else case.special.get(name, case.theirs)
    if name == cases.PYTHON:
        more += f" mode={mode}"
    return f"{case.name} {more}"


def compare(runner, chosen, rounds, quick):
    """Measures all cases in turn. Returns the figures by case and runner."""
    figures = collections.defaultdict(lambda: collections.defaultdict(Figure))
    for number in range(rounds):
        for case in chosen:
            modes = case.modes if not quick else case.modes[:1]
            turn = [(OURS, "")]
            for peer in case.peers:
                if peer in runner.commands:
                    turn += [(peer, mode) for mode in (modes if peer == cases.PYTHON else [""])]
            for name, mode in turn:
                report = runner.report(name, words_of(case, name, mode))
                if report is not None:
                    figures[case.name][f"{name} {mode}".strip()].add(report)
            print_case(number, case, figures[case.name])
    return figures


def print_case(number, case, by_runner):
    line = f"{number + 1}  {case.name:<32}"
    ours = by_runner[OURS].costs
    for name, figure in by_runner.items():
        if figure.costs:
            line += f"  {name} {min(figure.costs) * 1e6:.2f} us"
            if name != OURS and ours:
                line += f" ({min(figure.costs) / min(ours):.1f}x)"
    print(line, flush=True)


def differing_checks(figures):
    """Returns a text for every check value that differs between runners of the same case."""
    out = []
    for name, by_runner in figures.items():
        seen = {}
        for runner, figure in by_runner.items():
            for report in figure.reports:
                for key, value in report["checks"].items():
                    first = seen.setdefault(key, (runner, value))
                    if first[1] != value:
                        out.append(f"{name}: {key} is {value} with {runner}, and {first[1]} with {first[0]}")
    return sorted(set(out))


def best_modes(figures):
    """Returns the figures as JSON. Of LangGraph's two engines, the one with the lower cost counts."""
    out = {}
    for name, by_runner in figures.items():
        out[name] = {}
        for runner, figure in by_runner.items():
            if not figure.reports:
                continue
            key, _, mode = runner.partition(" ")
            one = figure.to_json()
            if mode:
                one["mode"] = mode
            if key not in out[name] or one["cpu_per_unit"] < out[name][key]["cpu_per_unit"]:
                out[name][key] = one
    return out


def least(runner, name, words, rounds, value):
    found = [value(r) for r in (runner.report(name, words) for _ in range(rounds)) if r is not None]
    return min(found) if found else None


def sizes_of(runner, rounds):
    out = []
    for title, words, unit, by_runner in cases.SIZES:
        lines = {}
        for name, sizes in by_runner.items():
            if name not in runner.commands:
                continue
            lines[name] = {}
            for size in sizes:
                more = ""
                if title.startswith("Messages") and name == OURS:
                    more = f" runs={max(1, 2000 // size)}"
                lines[name][size] = least(runner, name, words.format(size) + more, rounds, cost_of)
        out.append({"title": title, "unit": unit, "lines": lines})
        print("   series:", title, flush=True)
    return out


def scaling_of(runner, rounds):
    workers = [n for n in (1, 2, 3, 4, 8, 16) if n <= (os.cpu_count() or 1)]
    out = []
    for title, words, member in cases.SCALING:
        def rate(report, member=member):
            return report["units"] / report["seconds"] if member == "calls_per_s" else report[member]

        best = {}  # reports by number of workers
        for _ in range(rounds):  # alternates, so that a slow phase of the machine affects all alike
            for n in workers:
                report = runner.report(OURS, f"{words} workers={n}")
                if report is not None and (n not in best or rate(report) > rate(best[n])):
                    best[n] = report
        out.append({"title": title, "rates": {n: rate(report) for n, report in best.items()},
                    "cores": {n: report["cpu_seconds"] / report["seconds"] for n, report in best.items()}})
        print("   series:", title, flush=True)
    return out


def own_figures(runner, rounds):
    out = []
    for label, words, member, factor, unit in cases.FIGURES:
        def value(report, member=member):
            return cost_of(report) if member == "unit" else report[member]

        found = least(runner, OURS, words, rounds, value)
        if found is not None:
            out.append({"label": label, "words": words, "value": found * factor, "unit": unit})
    return out


def machine():
    model = "unknown processor"
    with contextlib.suppress(OSError), open("/proc/cpuinfo") as lines:
        names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
        model = names[0] if names else model
    with open("/proc/meminfo") as lines:
        memory = int(next(lines).split()[1]) // 2**20
    return {"processor": model, "cores": os.cpu_count(), "memory_gib": memory, "kernel": platform.release().split("-")[0],
            "load_at_start": os.getloadavg()[0], "date": time.strftime("%Y-%m-%d")}


@contextlib.contextmanager
def model_server(program):
    """Runs the model server. Yields its URL, or an empty text if there is none."""
    if not os.access(program, os.X_OK):
        print(f"no model server at {program}: the workloads over HTTP are left out", file=sys.stderr)
        yield ""
        return
    server = subprocess.Popen([program, "--scripted", "--latency-ms", "20", "--daemon"], stdout=subprocess.PIPE,
                              text=True)
    try:
        yield f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
    finally:
        server.kill()
        server.wait()


@contextlib.contextmanager
def database_server():
    """Runs a PostgreSQL server. Yields its URL, or an empty text if it is not installed."""
    if not list(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb")):
        print("no PostgreSQL: the workloads with a database server are left out", file=sys.stderr)
        yield ""
        return
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)  # the server may run as another user
        server = postgres_server.PostgresServer(pathlib.Path(folder) / "database")
        try:
            yield server.url()
        finally:
            server.stop()


def store(root, name, content):
    target = root / "benchmarks/results"
    target.mkdir(parents=True, exist_ok=True)
    (target / f"{name}.json").write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def run(root, given):
    """Measures, and writes the results of each part when it has ended. Returns what went wrong."""
    about = machine()
    chosen = [c for c in cases.CASES if given.only in c.name and (c.quick or not given.quick)]
    rounds = about["rounds"] = 1 if given.quick else given.rounds
    needs_database = any("saver=postgres" in c.params.split() for c in chosen)
    with (tempfile.TemporaryDirectory() as folder, model_server(given.server) as url,
          database_server() if needs_database else contextlib.nullcontext("") as database):
        runner = Runner(given, folder, url, database)
        figures = compare(runner, chosen, rounds, given.quick)
        faults = differing_checks(figures)
        if given.quick or given.only or faults:
            return runner.faults + faults
        store(root, "comparisons", best_modes(figures))
        floor = runner.report(OURS, "floor")
        store(root, "floor", {key: value for key, value in floor.items() if key.endswith(("_ns", "_us"))})
        store(root, "figures", own_figures(runner, rounds))
        store(root, "scaling", scaling_of(runner, 3 * rounds))
        store(root, "sizes", sizes_of(runner, max(1, rounds - 1)))
        about["load_at_end"] = os.getloadavg()[0]
        store(root, "machine", about)
        return runner.faults
