# SPDX-License-Identifier: Apache-2.0
"""Tools with effects: calls that are repeated, or not, after the death of their process."""

import pathlib
import pickle
import subprocess
from typing import Any, Callable

import pytest

import superstep as ss

Run = Callable[..., "subprocess.CompletedProcess[str]"]

PROGRAM = """
import os, superstep as ss

@ss.tool(effects={effects!r})
def act(x: str, runtime: ss.Runtime) -> str:
    "Acts."
    with open("calls", "a") as calls:
        print(runtime.idempotency_key, file=calls)
    if {dies}:
        os._exit(9)
    return x

def model(messages, tools):
    last = messages[-1]
    if last["type"] == "tool":
        if {dies_later}:
            os._exit(9)
        return f"answer: {{last['content']}}"
    return {{"content": "", "tool_calls": [{{"id": "c", "name": "act", "args": {{"x": "done"}}}}]}}

agent = ss.create_agent(model, [act], checkpointer=ss.sqlite_checkpointer("threads.db"))
print(agent.invoke({given!r}, thread_id="t", durability="sync").text)
"""


@pytest.mark.parametrize("effects, count", [(None, 2), ("idempotent", 2), ("journaled", 1)])
def test_call_of_a_process_that_died(
    run_python: Run, tmp_path: pathlib.Path, effects: "str | None", count: int
) -> None:
    def run(dies: bool, given: "str | None") -> "subprocess.CompletedProcess[str]":
        program = PROGRAM.format(effects=effects, dies=dies, dies_later=False, given=given)
        return run_python(program, cwd=tmp_path)

    assert run(True, "go").returncode == 9
    resumed = run(False, None)
    assert resumed.returncode == 0, resumed.stderr
    keys = (tmp_path / "calls").read_text().split()
    assert len(keys) == count and len(set(keys)) == 1 and len(keys[0]) == 32
    assert ("is not known" if effects == "journaled" else "answer: done\n") in resumed.stdout


@pytest.mark.parametrize("effects", ["idempotent", "journaled"])
def test_finished_call_is_not_repeated(
    run_python: Run, tmp_path: pathlib.Path, effects: str
) -> None:
    def run(dies: bool, given: "str | None") -> "subprocess.CompletedProcess[str]":
        program = PROGRAM.format(effects=effects, dies=False, dies_later=dies, given=given)
        return run_python(program, cwd=tmp_path)

    assert run(True, "go").returncode == 9
    assert run(False, None).stdout == "answer: done\n"
    assert len((tmp_path / "calls").read_text().split()) == 1


def test_calls_have_different_keys() -> None:
    keys: list[str] = []

    def note(runtime: ss.Runtime) -> str:
        """Notes its key."""
        keys.append(runtime.idempotency_key)
        return "noted"

    def model(messages: Any, tools: Any) -> Any:
        if messages[-1]["type"] == "tool":
            return "done"
        return {"content": "", "tool_calls": [{"id": i, "name": "note", "args": {}} for i in "ab"]}

    ss.create_agent(model, [note]).invoke("go", run_id="r")
    assert len(set(keys)) == 2


def test_effects_are_part_of_a_pickled_tool() -> None:
    made = ss.Tool(len, "length", "", {"type": "object"}, False, "journaled")
    assert pickle.loads(pickle.dumps(made)).effects == "journaled"


def test_unknown_effects_are_refused() -> None:
    with pytest.raises(ValueError, match="effects must be 'idempotent' or 'journaled', not 'none'"):
        ss.tool(name="t", effects="none")(lambda: "")  # type: ignore[call-overload]
