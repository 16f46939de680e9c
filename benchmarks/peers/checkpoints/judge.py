# SPDX-License-Identifier: Apache-2.0
"""Compares superstep-bench and threads.py alternately on one disk, and checks the requirements.

    python judge.py SUPERSTEP_BENCH [FOLDER]

Each program is measured three times; the minimum of CPU time and of wall time counts. The speed of the
disk is measured like a super-step writes: two pages with their headers are appended, then fdatasync. This
speed changes within seconds. Figures that depend on it are therefore measured nine times, each between two
measurements of the disk, and the median of the nine ratios counts.
Exit code: 0 if all requirements are met, else 1.
"""
import json
import os
import statistics
import subprocess
import sys
import time

bench, *rest = sys.argv[1:]
folder = rest[0] if rest else "."
peer = os.path.join(os.path.dirname(os.path.abspath(__file__)), "threads.py")
rounds = 3
steps = 1000
failed = False


def run(command, *parameters):
    done = subprocess.run([*command, *parameters, "dir=" + folder], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{command}: {done.stderr}")
    return json.loads(done.stdout)


def ours(*parameters):
    return run([bench], *parameters)


def theirs(*parameters):
    return run([sys.executable, peer], *parameters)


def fdatasync_seconds(count=300):
    path = os.path.join(folder, f"disk-{os.getpid()}")
    frames = os.urandom(2 * (4096 + 24))
    file = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
    begin = time.monotonic()
    for _ in range(count):
        os.write(file, frames)
        os.fdatasync(file)
    seconds = (time.monotonic() - begin) / count
    os.close(file)
    os.remove(path)
    return seconds


def judge(what, found, bound, is_least=False):
    global failed
    is_kept = found >= bound if is_least else found <= bound
    failed = failed or not is_kept
    sign = ">=" if is_least else "<="
    print(f"{what:58} {found:10.4f}  {sign} {bound:<9.4f} {'PASS' if is_kept else 'FAIL'}")


def least(runs, what):
    return min(r[what] / r["units"] for r in runs)


def disk_ratios(count):
    before = fdatasync_seconds()
    for _ in range(count):
        r = ours("W8loop", f"S={steps}", "dur=sync", "reps=1")
        after = fdatasync_seconds()
        yield r["seconds"] / r["units"] / ((before + after) / 2)
        before = after


def judge_loop():
    mine = {"sync": [], "async": []}
    their = {"sync": [], "async": []}
    for _ in range(rounds):
        for when in mine:
            mine[when].append(ours("W8loop", f"S={steps}", f"dur={when}", "reps=1"))
            their[when].append(theirs("W8loop", f"S={steps}", f"dur={when}"))
    for when in mine:
        a, b = (least(x[when], "cpu_seconds") for x in (mine, their))
        print(f"W8loop {when}: CPU {a * 1e6:.1f} us per super-step, theirs {b * 1e6:.1f} us")
        judge(f"W8loop {when}: CPU, share of theirs", a / b, 1 / 15)
    judge("W8loop sync: wall, times fdatasync", statistics.median(disk_ratios(9)), 1.3)
    judge("W8loop async: wall, share of theirs",
          least(mine["async"], "seconds") / least(their["async"], "seconds"), 1 / 20)


def judge_runs():
    for runs, count in ((1, 1000), (100, 100), (1000, 50)):
        before = fdatasync_seconds()
        r = ours("W8loop", f"S={count}", f"runs={runs}", "dur=sync", "reps=1")
        disk = min(before, fdatasync_seconds())
        each = r["rows"] / r["transactions"]
        print(f"{runs} runs: {r['units'] / r['seconds']:.0f} durable super-steps per second, "
              f"{1 / disk:.0f} fdatasync a second")
        judge(f"{runs} runs: transactions a super-step", 1 / each, 1)
        if runs == 1000:
            judge("1000 runs: super-steps a transaction", each, 50, is_least=True)


def judge_chat():
    a, b = ours("W8chat", "H=300"), theirs("W8chat", "H=300")
    judge("W8chat, 300 turns: their file, times ours", b["bytes"] / a["bytes"], 100, is_least=True)
    for turns in (100, 1000, 5000):
        r = ours("W8chat", f"H={turns}")
        judge(f"W8chat, {turns} turns: bytes, times JSON, less 64 KB",
              (r["bytes"] - 65536) / r["json_bytes"], 2.5)
        old, young = (r[w + "_cpu_ms"] for w in ("old", "young"))
        judge(f"W8chat, {turns} turns: CPU of the last, times the first", old / young, 1.3)
        judge("  the same without the model's reading of messages",
              (old - r["old_model_ms"]) / (young - r["young_model_ms"]), 1.3)


judge_loop()
judge_runs()
judge_chat()
sys.exit(1 if failed else 0)
