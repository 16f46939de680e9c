#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every workload of superstep-bench at a tiny size. Checks the members of its report and the values
that prove that the work was done; other runners of the same workloads must report the same values.

  workloads_test.py PATH_OF_superstep-bench [PATH_OF_chat_server]

Without the server, the workloads over HTTP are not run.
"""
import json
import os
import subprocess
import sys
import tempfile

COMMON = ["workload", "params", "peer", "version", "seconds", "unit", "units", "per_unit",
          "peak_rss_kb", "cpu_seconds", "cpu_seconds_min", "checks"]

# Workload and parameters; expected checks; members besides the common ones.
CASES = [
    ("floor reps=1", {}, "call_ns hop_ns alloc_ns share_ns copy_ns fdatasync_us sync_cpu_us loopback_us process_us"),
    ("W1 K=10", {"n": 10}, ""),
    ("W1m K=10", {"messages": 1}, ""),
    ("W2 N=100", {"total": 4950}, ""),
    ("W3 S=10", {"n": 10}, ""),
    ("W4 C=1 T=3", {"messages": 8, "digest": "bf72f90a142063dd"}, ""),
    ("W4 C=8 T=10 version=v1", {"messages": 92, "digest": "fe917210e258c7cf"}, ""),
    ("W4 C=8 T=3 agent=react", {"messages": 29, "digest": "badd5a91773f06db"}, ""),
    ("W4 C=64 T=3 new=1", {"messages": 197, "digest": "b1d21eb6671224a4"}, ""),
    ("W4 C=1 T=10 pay=1", {"messages": 22, "digest": "dc4b1aef63dfdde2"}, ""),
    ("W5 size=25x300", {"messages": 595, "passes": 6}, ""),
    ("W5 size=15x600", {"messages": 1873, "passes": 7}, ""),
    ("W5 size=9x1200", {"messages": 1873, "passes": 7}, ""),
    ("W5k M=30 S=10", {"sum": 300}, ""),
    ("W6 N=10", {"jokes": 10, "digest": "152665eccc51b2cf"}, ""),
    ("W7 R=20", {"messages": 160, "dones": 20}, "cpu_per_1000 rss_per_run_kb"),
    ("W7 R=20 lat=1 conc=5", {"messages": 160, "dones": 20}, "cpu_per_1000"),
    ("W8loop S=10 saver=sqlite", {"n": 10, "checkpoints": 12}, "transactions rows"),
    ("W8loop S=10 saver=mem", {"n": 10, "checkpoints": 12}, ""),
    ("W8loop S=10 saver=sqlite dur=exit", {"n": 10, "checkpoints": 1}, "transactions rows"),
    ("W8loop S=10 saver=none", {"n": 10, "checkpoints": 0}, ""),
    ("W8chat H=20 saver=mem", {"messages": 80}, "first_ms last_ms json_bytes"),
    ("W8chat H=20 keep=1", {"messages": 80}, "first_ms last_ms json_bytes bytes bytes_per_turn file"),
    ("W8resume file=", {"messages": 80}, "read_ms turn_ms"),
    ("W9 iters=20000", {"digest": "286f2444023324d0"}, "speedup threads_speedup"),
    ("W10 R=5", {"tokens": 1000, "chars": 6450}, "cpu_per_token_us"),
    ("W11 N=1000", {"sum": 499500, "found": 1}, "put_us get_us search_us"),
    ("W11 N=200 vec=1", {"own_first": 100}, "put_us get_us search_us"),
    ("W12", {"n": 1}, "import_s rss_kb"),
    ("chain3 runs=10", {"n": 3}, ""),
    ("chain3 runs=10 fresh=1", {"n": 3}, ""),
    ("fan5 runs=10", {"total": 5}, ""),
    ("append S=20", {"messages": 20}, "last_us"),
    ("send-state N=10 M=20", {"total": 45}, "send_cpu_us"),
    ("wide-step N=100", {"total": 4950}, ""),
    ("wide-step N=all reps=1", {"total": 4999950000}, "a_us b_ns worst_deviation cpu_us"),
    ("runs ms=50", {"n": 3}, "runs_per_s runs_per_cpu_s"),
    ("mixed R=4 heavy_us=100 light_us=10", {}, "of_threads of_ideal"),
    ("batch R=10", {"ok": 10, "tool_calls": 30}, "rows_per_s cpu_us_per_row"),
    ("early C=2 gap=1 lat=2 reps=1", None, ""),
    ("idle N=10", {"parked": 10}, "bytes_per_run"),
    ("actor-nodes N=10", None, ""),
    ("cancel N=10", {"answered": 20}, "marked_us unwound_us"),
    ("http R=10 conc=2", {"answered": 10}, "requests_per_s cpu_us_per_request"),
    ("W13 R=4 conc=2", {"messages": 32}, "runs_per_s cpu_per_run_ms"),
    ("W13 R=4 conc=2 stream=1", {"messages": 32}, "runs_per_s cpu_per_run_ms"),
]
NEED_A_FOLDER = ("floor", "W8loop", "W8chat", "batch")
NEED_A_SERVER = ("http", "W13")


class Server:
    """The model server of the workloads over HTTP."""

    def __init__(self, program):
        self.process = subprocess.Popen([program, "--scripted", "--daemon"], stdout=subprocess.PIPE, text=True)
        self.url = f"http://127.0.0.1:{self.process.stdout.readline().strip()}/v1"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def report_of(program, words):
    """Returns the report of one run, or a text that describes why there is none."""
    ended = subprocess.run([program, *words], capture_output=True, text=True, timeout=120, check=False)
    if ended.returncode != 0:
        return f"exit code {ended.returncode}: {ended.stderr.strip()}"
    lines = ended.stdout.splitlines()
    return json.loads(lines[0]) if len(lines) == 1 else f"{len(lines)} lines instead of one"


def faults_of(report, name, checks, members):
    """Returns what is wrong with a report."""
    if isinstance(report, str):
        return [report]
    found = [f"no member {key}" for key in COMMON + members.split() if key not in report]
    if report.get("workload") != name:
        found.append(f"the workload is {report.get('workload')}")
    if checks is not None and report.get("checks") != checks:
        found.append(f"checks are {report.get('checks')}, not {checks}")
    if abs(report["per_unit"] * report["units"] - report["seconds"]) > 1e-6 * report["seconds"]:
        found.append("per_unit is not seconds / units")
    return found


def unlisted_workloads(program):
    """Returns the workloads of the help text that no case covers."""
    text = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
    listed = text.split("Workloads:\n")[1].split("\n\n")[0].splitlines()
    names = {line.split()[0] for line in listed if line.startswith("  ") and not line.startswith("   ")}
    return sorted(names - {words.split()[0] for words, _, _ in CASES})


def run_cases(program, url, folder):
    failed = 0
    kept = ""
    for text, checks, members in CASES:
        words = text.split()
        if words[0] in NEED_A_SERVER:
            if not url:
                continue
            words.append(f"url={url}")
        if words[0] in NEED_A_FOLDER:
            words.append(f"dir={folder}")
        if words[0] == "W8resume":
            words = ["W8resume", f"file={kept}"]
        report = report_of(program, words)
        faults = faults_of(report, words[0], checks, members)
        if not faults and "file" in report:
            kept = report["file"]
        for fault in faults:
            print(f"{text}: {fault}")
        failed += 1 if faults else 0
    return failed


def main():
    program = sys.argv[1]
    server = sys.argv[2] if len(sys.argv) > 2 else ""
    missing = unlisted_workloads(program)
    for name in missing:
        print(f"{name}: no case of this test runs this workload")
    unknown = subprocess.run([program, "W99"], capture_output=True, check=False)
    if unknown.returncode != 3 or unknown.stdout:
        print("an unknown workload must end with code 3 and without output")
        missing.append("W99")
    with tempfile.TemporaryDirectory() as folder:
        if server and os.access(server, os.X_OK):
            with Server(server) as running:
                failed = run_cases(program, running.url, folder)
        else:
            failed = run_cases(program, "", folder)
    print(f"{len(CASES)} workloads, {failed + len(missing)} failed")
    sys.exit(1 if failed or missing else 0)


main()
