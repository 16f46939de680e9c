# SPDX-License-Identifier: Apache-2.0
"""Rows, their agent, and the check of their answers, for the runs in real frameworks."""

from __future__ import annotations

import collections
import os
import pathlib
import signal
import tempfile
import threading
import time
from typing import Any, Callable, Mapping

import superstep as ss

SIZES = (5_000, 105_000)
#: How often compare() runs each job.
ROUNDS = int(os.environ.get("SUPERSTEP_ROUNDS", 3))
#: Runs a number of rows.
Job = Callable[[int], Any]

_FILES = {
    "agent.yaml": "name: adder\nmodel: {provider: scripted, path: rules.yaml}\n",
    "rules.yaml": r"""
rules:
  - {type: tool, text: 'It is \0.'}
  - {type: human, match: '(\d+) plus', calls: [{name: inc, args: {x: \1}}]}
""",
}


def agent_file() -> str:
    """Writes the files of the agent, which calls the tool `inc` once for each row."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="superstep-"))
    for name, text in _FILES.items():
        (folder / name).write_text(text)
    return str(folder / "agent.yaml")


def inc(x: int) -> int:
    """Adds one."""
    return x + 1


def question_of(i: int) -> str:
    """Returns the question of a row, of about 230 bytes."""
    return f"What is {i} plus 1? " + "x" * 200


def check(answers: dict[int, str], count: int) -> None:
    """Checks that each row has its answer."""
    assert len(answers) == count, (len(answers), count)
    wrong = [i for i in range(count) if answers[i] != f"It is {i + 1}."]
    assert not wrong, (wrong[0], answers[wrong[0]])


def cpu_time() -> float:
    """Returns the processor time, in seconds, of this process and of all that it has started.

    Processes that have ended count if their parents have waited for them.
    """
    ticks: dict[int, int] = {}
    children: dict[int, list[int]] = collections.defaultdict(list)
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:  # the process has ended
            continue
        process = int(path.parent.name)
        children[int(fields[1])].append(process)
        ticks[process] = sum(map(int, fields[11:15]))
    total, left = 0, [os.getpid()]
    while left:
        process = left.pop()
        total += ticks.get(process, 0)
        left += children[process]
    return total / os.sysconf("SC_CLK_TCK")


def compare(name: str, jobs: Mapping[str, Job], sizes: tuple[int, int] = SIZES) -> dict[str, float]:
    """Runs jobs of two sizes in turn, and returns the microseconds of processor time per additional row.

    These are the sums of all processes, so they depend little on what else the machine does. The
    elapsed times are printed, too. The minimum of all rounds counts. A ratio is that to the first job,
    which returns its input.
    """
    clocks = (cpu_time, time.monotonic)
    least = {(kind, size): [float("inf")] * len(clocks) for kind in jobs for size in sizes}
    for _ in range(ROUNDS):
        for kind, size in least:
            begin = [clock() for clock in clocks]
            jobs[kind](size)
            spent = [clock() - before for clock, before in zip(clocks, begin)]
            least[kind, size] = list(map(min, least[kind, size], spent))
    slopes: dict[str, list[float]] = {}
    for kind in jobs:
        few, many = least[kind, sizes[0]], least[kind, sizes[1]]
        slopes[kind] = [(b - a) / (sizes[1] - sizes[0]) * 1e6 for a, b in zip(few, many)]
        ratios = [a / b for a, b in zip(slopes[kind], next(iter(slopes.values())))]
        print(
            f"{name}, {kind}: {slopes[kind][0]:.1f} us of processor time a row, ratio {ratios[0]:.2f}; "
            f"elapsed: {slopes[kind][1]:.1f} us a row, ratio {ratios[1]:.2f}, "
            f"{few[1]:.1f} s for {sizes[0]} rows",
            flush=True,
        )
    return {kind: slope[0] for kind, slope in slopes.items()}


#: Rows of the jobs whose workers are killed, and the number of them in a block.
KILL_ROWS, KILL_BLOCK = 2_000, 100


class Notes:
    """A file to which the tools of all processes write their calls."""

    def __init__(self) -> None:
        self.path = tempfile.mktemp(prefix="superstep-notes-")

    def tool(self) -> Callable[..., Any]:
        """Returns a tool that notes its calls and takes a while."""
        path = self.path

        def inc(x: int) -> int:
            """Adds one."""
            file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            os.write(file, f"{os.getpid()} {x}\n".encode())
            os.close(file)
            time.sleep(0.02)
            return x + 1

        return inc

    def lines(self) -> list[tuple[int, int]]:
        """Returns the calls: process and row."""
        if not os.path.exists(self.path):
            return []
        with open(self.path) as file:
            return [(int(pid), int(x)) for pid, x in map(str.split, file)]

    def repeated(self) -> int:
        """Returns the number of calls that were made again."""
        return sum(n - 1 for n in collections.Counter(x for _, x in self.lines()).values())


#: How the jobs whose workers are killed keep their rows.
KEPT = ("without a checkpointer", "with a checkpointer", "with a checkpointer and a journaled tool")


def with_kill(
    name: str,
    job: Callable[[Any], dict[int, str]],
    kept: str,
    lose: "Callable[[Notes], None] | None" = None,
) -> None:
    """Runs a job while one of its workers is killed. ``kept`` is one of KEPT.

    Checks that each row has its answer once, and prints how many tool calls were repeated. A journaled
    tool must not be called twice; the model reads that the outcome of a call is unknown. ``job`` takes
    the arguments of an adapter. ``lose`` replaces the kill, for example by the loss of a machine.
    """
    notes = Notes()
    settings: dict[str, Any] = {"question": "question"}
    agent: Any = agent_file()
    is_journaled = kept == KEPT[2]
    tools = [ss.tool(effects="journaled")(notes.tool()) if is_journaled else notes.tool()]
    if kept != KEPT[0]:
        saved = ss.sqlite_checkpointer(tempfile.mktemp(prefix="superstep-", suffix=".db"))
        agent, tools = ss.Agent.from_file(agent, tools, checkpointer=saved), []
        settings |= {"key": "id", "job": f"{name}, {kept}"}
    killer = threading.Thread(target=_kill, args=(notes, lose))
    killer.start()
    begin = time.monotonic()
    answers = job({"agent": agent, "tools": tools, **settings})
    seconds = time.monotonic() - begin
    killer.join()
    unknown = [i for i, answer in answers.items() if "is not known" in answer] if is_journaled else []
    check(answers | {i: f"It is {i + 1}." for i in unknown}, KILL_ROWS)
    print(
        f"{name}, {kept}: {len(answers)} rows once after the loss of a worker, "
        f"{notes.repeated()} tool calls repeated, {len(unknown)} outcomes unknown, {seconds:.0f} s",
        flush=True,
    )
    # With a checkpointer, only calls that were running when their process died are repeated.
    repeated_max = {KEPT[0]: KILL_ROWS, KEPT[1]: 2 * KILL_BLOCK, KEPT[2]: 0}[kept]
    assert notes.repeated() <= repeated_max, notes.repeated()
    assert len(unknown) <= 2 * KILL_BLOCK, len(unknown)


def _kill(notes: Notes, lose: "Callable[[Notes], None] | None") -> None:
    while len(notes.lines()) < KILL_ROWS // 5:
        time.sleep(0.02)
    if lose is not None:
        lose(notes)
    else:
        os.kill(notes.lines()[-1][0], signal.SIGKILL)
