# SPDX-License-Identifier: Apache-2.0
"""Runs `superstep-bench W4` and react.py alternately and checks the ratios.

  react_judge.py SUPERSTEP_BENCH REACT_PY
"""

import json
import subprocess
import sys

V2_MAX = 1.5  # maximum cost of a call in v2 divided by its cost in v1
PEER_MIN = 50  # minimum CPU time of LangGraph divided by that of superstep
ROUNDS = 5  # all cases are measured in each round, so a slow phase of the machine affects all
PEER_ROUNDS = 2
FORMS = ("plain", "react")  # create_react_agent() with chat_state, and with messages_state
OURS_CALLS = 20000  # per measurement, because the CPU clock is too coarse for one small run

bench, peer = sys.argv[1:3]


def ask(*command):
    answer = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    return json.loads(answer.stdout)


class Case:
    def __init__(self, calls, rounds):
        self.calls, self.rounds = calls, rounds
        self.least = {}  # (peer, version) → microseconds per call
        self.checks = set()

    def _note(self, key, report):
        cost = report["cpu_seconds_min"] / report["units"] * 1e6
        self.least[key] = min(cost, self.least.get(key, cost))
        self.checks.add(json.dumps(report["checks"], sort_keys=True))

    def _parameters(self, version):
        return f"C={self.calls}", f"T={self.rounds}", f"version={version}"

    def ask_ours(self):
        more = (f"runs={max(1, OURS_CALLS // (self.calls * self.rounds))}", "reps=9")
        for form in FORMS:
            for version in ("v1", "v2"):
                report = ask(bench, "W4", *self._parameters(version), f"agent={form}", *more)
                self._note((form, version), report)

    def ask_peer(self):
        for version in ("v1", "v2"):
            for mode in ("sync", "async"):  # the cheaper of LangGraph's two engines counts
                reps = 3 if self.calls * self.rounds < 1000 else 1
                more = (f"mode={mode}", f"reps={reps}")
                report = ask(sys.executable, peer, *self._parameters(version), *more)
                self._note(("peer", version), report)


cases = [Case(calls, rounds) for calls in (1, 8, 64) for rounds in (3, 10, 100)]
for turn in range(ROUNDS):
    for case in cases:
        case.ask_ours()
        if turn < PEER_ROUNDS:
            case.ask_peer()
        known = ", ".join(f"{who} {v} {cost:.2f}" for (who, v), cost in case.least.items())
        about = f"turn {turn + 1} C={case.calls} T={case.rounds}"
        print(f"{about}: {known}", file=sys.stderr, flush=True)

failed = False


def verdict(passed):
    global failed
    failed = failed or not passed
    return "PASS" if passed else "FAIL"


print("CPU microseconds per tool call")
print("agent    C    T      v1      v2  v2/v1       LangGraph v1   times           v2   times")
for form in FORMS:
    for case in cases:
        v1, v2 = case.least[form, "v1"], case.least[form, "v2"]
        line = f"{form} {case.calls:4} {case.rounds:4} {v1:7.2f} {v2:7.2f}  {v2 / v1:5.2f} "
        line += verdict(v2 <= V2_MAX * v1)
        for version, ours in (("v1", v1), ("v2", v2)):
            theirs = case.least["peer", version]
            line += f" {theirs:13.1f} {theirs / ours:6.0f} {verdict(theirs >= PEER_MIN * ours)}"
        print(line)
print("equal messages in all of them:", verdict(all(len(case.checks) == 1 for case in cases)))
sys.exit(1 if failed else 0)
