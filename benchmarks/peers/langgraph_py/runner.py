# SPDX-License-Identifier: Apache-2.0
"""Runs a workload of superstep-bench with LangGraph for Python and prints the same line of JSON.

  runner.py WORKLOAD key=value …     with mode=sync|async where LangGraph has two engines

Exit code: 0 measured, 1 wrong result or parameter, 3 a workload that LangGraph cannot express.
"""

import time

LOADING = time.perf_counter(), time.process_time()

import json  # noqa: E402
import os  # noqa: E402
import resource  # noqa: E402
import sys  # noqa: E402
import warnings  # noqa: E402

for name in ("LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2"):
    os.environ[name] = "false"
warnings.filterwarnings("ignore")

from importlib.metadata import version as version_of  # noqa: E402


class Parameters:
    """The key=value words of the command line. done() rejects those that no reader asked for."""

    def __init__(self, words):
        self.given = dict(word.partition("=")[::2] for word in words)
        self.effective = {}

    def text(self, key, default):
        self.effective[key] = self.given.pop(key, default)
        return self.effective[key]

    def integer(self, key, default):
        self.effective[key] = int(self.given.pop(key, default))
        return self.effective[key]

    def is_async(self):
        return self.text("mode", "sync") == "async"

    def done(self):
        for key in ("mode", "workers"):  # not every workload has two engines; threads are not configurable
            self.given.pop(key, None)
        if self.given:
            sys.exit(f"unknown parameters {sorted(self.given)}")


class Report:
    """The members of the JSON line that depend on the workload."""

    def __init__(self, unit, units, checks=None):
        self.unit, self.units, self.checks, self.extra = unit, units, checks or {}, {}
        self.seconds = self.cpu = self.cpu_min = float("inf")

    def add(self, wall, cpu):
        self.cpu_min = min(self.cpu_min, cpu)
        if wall < self.seconds:
            self.seconds, self.cpu = wall, cpu

    def measure(self, repetitions, once):
        """Measures `once` several times and returns the last result."""
        for _ in range(repetitions):
            wall, cpu = time.perf_counter(), time.process_time()
            result = once()
            self.add(time.perf_counter() - wall, time.process_time() - cpu)
        return result


def expect(right, what):
    """Ends the program if a result is wrong: its time would be meaningless."""
    if not right:
        sys.exit(f"wrong result: {what}")


def start_up(p):
    """W12: a process that builds and runs a graph of one node once."""
    p.done()
    from graphs import make_chain

    wall, cpu = LOADING
    loaded = time.process_time()
    result = make_chain(1).invoke({"n": 0})
    expect(result["n"] == 1, result)
    r = Report("process", 1, {"n": 1})
    r.add(time.perf_counter() - wall, time.process_time() - cpu)
    r.extra = {"import_s": loaded - cpu, "rss_kb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss}
    return r


def find(name):
    """Returns the function of a workload. Imports only the modules that it needs."""
    if name == "W12":
        return start_up
    import agents
    import graphs
    import storage

    for module in (graphs, agents, storage):
        if name in module.WORKLOADS:
            return module.WORKLOADS[name]
    return None


def main():
    name, words = sys.argv[1], sys.argv[2:]
    workload = find(name)
    if workload is None:
        sys.exit(3)
    p = Parameters(words)
    r = workload(p)
    line = {
        "workload": name,
        "params": p.effective,
        "peer": "langgraph",
        "version": version_of("langgraph"),
        "seconds": r.seconds,
        "unit": r.unit,
        "units": r.units,
        "per_unit": r.seconds / r.units,
        "peak_rss_kb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
        "cpu_seconds": r.cpu,
        "cpu_seconds_min": r.cpu_min,
        **r.extra,
        "checks": r.checks,
    }
    print(json.dumps(line))


if __name__ == "__main__":
    sys.modules["runner"] = sys.modules["__main__"]
    main()
