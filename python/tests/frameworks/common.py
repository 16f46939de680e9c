# SPDX-License-Identifier: Apache-2.0
"""Rows, their agent, and the check of their answers, for the runs in real frameworks."""

from __future__ import annotations

import pathlib
import tempfile
import time
from typing import Any, Callable

SIZES = (5_000, 25_000)

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


def slope(name: str, run: Callable[[int], Any]) -> float:
    """Runs a job of two sizes, and returns and prints the microseconds per additional row."""
    times = []
    for size in SIZES:
        begin = time.monotonic()
        run(size)
        times.append(time.monotonic() - begin)
    per_row = (times[1] - times[0]) / (SIZES[1] - SIZES[0]) * 1e6
    print(f"{name}: {per_row:.0f} us a row, {times[0]:.1f} s for {SIZES[0]} rows", flush=True)
    return per_row
