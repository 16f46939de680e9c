# SPDX-License-Identifier: Apache-2.0
"""The adapters for Ray, Spark and Dask, called as these frameworks call them."""

import asyncio
import pathlib
import pickle
from typing import Any

import pytest

import superstep as ss
import superstep.dask
import superstep.ray
import superstep.spark

AGENT = r"""
name: reporter
model: {provider: scripted, path: rules.yaml}
"""
RULES = r"""
rules:
  - {type: tool, text: 'It is \0.'}
  - {type: human, match: '(\d+) plus', calls: [{name: inc, args: {x: \1}}]}
"""


@ss.tool
def inc(x: int) -> int:
    """Adds one."""
    if x == 13:
        raise LookupError("unlucky")
    return x + 1


@pytest.fixture
def agent_file(tmp_path: pathlib.Path) -> str:
    (tmp_path / "rules.yaml").write_text(RULES)
    (tmp_path / "agent.yaml").write_text(AGENT)
    return str(tmp_path / "agent.yaml")


def test_ray_runs_blocks_concurrently(agent_file: str) -> None:
    worker = superstep.ray.Agent(agent_file, [inc], question="question")

    async def run(block: dict[str, list[Any]]) -> list[dict[str, Any]]:
        return [out async for out in worker(block)]

    async def main() -> None:
        blocks: list[dict[str, Any]] = [
            {"id": [i, i + 1], "question": [f"{i} plus 1", f"{i + 1} plus 1"]} for i in range(0, 40, 2)
        ]
        for block, made in zip(blocks, await asyncio.gather(*map(run, blocks))):
            (out,) = made
            assert out["id"] == block["id"] and out["status"] == ["finished"] * 2
            expected = [f"It is {i + 1}." for i in block["id"]]
            assert [a for a, i in zip(out["answer"], block["id"]) if i != 13] == [
                e for e, i in zip(expected, block["id"]) if i != 13
            ]

    asyncio.run(main())


def test_ray_failures_are_rows(agent_file: str) -> None:
    def model(messages: Any, tools: Any) -> str:
        if "bad" in messages[-1]["content"]:
            raise OSError("no answer")
        return "fine"

    worker = superstep.ray.Agent(ss.create_agent(model), question="q")

    async def main() -> dict[str, Any]:
        return [out async for out in worker({"q": ["good", "bad", "good"]})][0]

    out = asyncio.run(main())
    assert out["status"] == ["finished", "failed", "finished"]
    assert out["error"] == ["", "OSError: no answer", ""] and out["answer"] == ["fine", "", "fine"]


def test_repeated_rows_are_resumed(tmp_path: pathlib.Path) -> None:
    tool_calls: list[int] = []
    answers: list[str] = []

    def inc(x: int) -> int:
        """Adds one."""
        tool_calls.append(x)
        return x + 1

    def model(messages: Any, tools: Any) -> Any:
        last = messages[-1]
        if last.get("tool_call_id"):
            answers.append(last["content"])
            if last["content"] == "4" and answers.count("4") == 1:
                raise OSError("the process is lost")
            return f"It is {last['content']}."
        x = int(last["content"])
        return {"content": "", "tool_calls": [{"id": f"c{x}", "name": "inc", "args": {"x": x}}]}

    saved = ss.sqlite_checkpointer(tmp_path / "rows.db")
    worker = superstep.ray.Agent(
        ss.create_agent(model, [inc], checkpointer=saved), question="q", key="id", job="j"
    )

    async def run() -> list[str]:
        block = {"id": list(range(5)), "q": [str(i) for i in range(5)]}
        return [text async for out in worker(block) for text in out["answer"]]

    assert asyncio.run(run()) == ["It is 1.", "It is 2.", "It is 3.", "", "It is 5."]
    assert asyncio.run(run()) == [f"It is {i + 1}." for i in range(5)]
    assert sorted(tool_calls) == [0, 1, 2, 3, 4]  # the row that had failed went on after its tool
    assert sorted(answers) == ["1", "2", "3", "4", "4", "5"]


class Frame:
    """The part of a pandas.DataFrame that the adapter uses."""

    def __init__(self, columns: dict[str, list[Any]]) -> None:
        self.columns = columns

    def to_dict(self, kind: str) -> list[dict[str, Any]]:
        assert kind == "records"
        return [dict(zip(self.columns, row)) for row in zip(*self.columns.values())]

    def assign(self, **columns: list[Any]) -> "Frame":
        return Frame({**self.columns, **columns})


def test_spark_yields_each_block_once(agent_file: str) -> None:
    function = superstep.spark.map(agent_file, [inc], question="q", concurrency=4)
    blocks = [Frame({"id": [], "q": []})]
    for b in range(100, 130, 3):
        ids = range(b, b + 3)
        blocks.append(Frame({"id": list(ids), "q": [f"{i} plus 1" for i in ids]}))
    made = list(function(iter(blocks)))
    assert sorted(b.columns["id"] for b in made) == sorted(b.columns["id"] for b in blocks)
    for block in made:
        assert block.columns["answer"] == [f"It is {i + 1}." for i in block.columns["id"]]
        assert set(superstep.spark.schema("id long").split(", ")) >= {"id long", "answer string"}


def test_dask_functions_pickle(agent_file: str) -> None:
    class Client:
        def submit(self, function: Any, block: Any, pure: bool) -> Any:
            assert not pure
            return pickle.loads(pickle.dumps(function))(block)

    rows: list[dict[str, Any]] = [{"id": i, "q": f"{i} plus 1"} for i in range(100, 125)]
    blocks = superstep.dask.map(Client(), agent_file, rows, [inc], question="q", block_size=10)
    assert [len(b) for b in blocks] == [10, 10, 5]
    done = [row for block in blocks for row in block]
    assert [(r["id"], r["answer"]) for r in done] == [(r["id"], f"It is {r['id'] + 1}.") for r in rows]
