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
from typing import Any, Callable

import superstep as ss

SIZES = (5_000, 45_000)

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


def compare(name: str, plain: Callable[[int], Any], agent: Callable[[int], Any]) -> None:
    """Runs two jobs of two sizes in turn, and prints the microseconds per additional row of each.

    ``plain`` returns its input, ``agent`` runs an agent. The minimum of three rounds counts.
    """
    kinds = {"identity": plain, "agent": agent}
    least = {(kind, size): float("inf") for kind in kinds for size in SIZES}
    for _ in range(3):
        for kind, size in least:
            begin = time.monotonic()
            kinds[kind](size)
            least[kind, size] = min(least[kind, size], time.monotonic() - begin)
    slopes = {}
    for kind in kinds:
        slopes[kind] = (least[kind, SIZES[1]] - least[kind, SIZES[0]]) / (SIZES[1] - SIZES[0]) * 1e6
        print(f"{name}, {kind}: {slopes[kind]:.0f} us a row, {least[kind, SIZES[0]]:.1f} s for {SIZES[0]} rows")
    print(f"{name}: ratio {slopes['agent'] / slopes['identity']:.2f}", flush=True)


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


def with_kill(
    name: str,
    job: Callable[[Any], dict[int, str]],
    is_saved: bool,
    lose: "Callable[[Notes], None] | None" = None,
) -> None:
    """Runs a job while one of its workers is killed, with or without a checkpointer.

    Checks that each row has its answer once, and prints how many tool calls were repeated. ``job`` takes
    the arguments of an adapter. ``lose`` replaces the kill, for example by the loss of a machine.
    """
    notes = Notes()
    settings: dict[str, Any] = {"question": "question"}
    agent: Any = agent_file()
    tools = [notes.tool()]
    if is_saved:
        saved = ss.sqlite_checkpointer(tempfile.mktemp(prefix="superstep-", suffix=".db"))
        agent, tools = ss.Agent.from_file(agent, tools, checkpointer=saved), []
        settings |= {"key": "id", "job": name}
    killer = threading.Thread(target=_kill, args=(notes, lose))
    killer.start()
    begin = time.monotonic()
    answers = job({"agent": agent, "tools": tools, **settings})
    seconds = time.monotonic() - begin
    killer.join()
    check(answers, KILL_ROWS)
    kept = "with a checkpointer" if is_saved else "without a checkpointer"
    print(
        f"{name}, {kept}: {len(answers)} rows once after the loss of a worker, "
        f"{notes.repeated()} tool calls repeated, {seconds:.0f} s",
        flush=True,
    )
    if is_saved:  # at most the rows of one block per worker were in flight
        assert notes.repeated() <= 2 * KILL_BLOCK, notes.repeated()


def _kill(notes: Notes, lose: "Callable[[Notes], None] | None") -> None:
    while len(notes.lines()) < KILL_ROWS // 5:
        time.sleep(0.02)
    if lose is not None:
        lose(notes)
    else:
        os.kill(notes.lines()[-1][0], signal.SIGKILL)
