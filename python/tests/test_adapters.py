# SPDX-License-Identifier: Apache-2.0
"""The adapters for Ray, Spark and Dask, called as these frameworks call them."""

import asyncio
import pathlib
import pickle
import re
import threading
import time
from typing import Any

import pytest

import superstep as ss
import superstep.dask
import superstep.ray
import superstep.spark
from superstep import _rows

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

    async def main() -> Any:
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


def blocks_of(ids: range, size: int) -> list[dict[str, Any]]:
    """Returns blocks whose rows ask for the successors of numbers."""
    parts = [ids[i : i + size] for i in range(0, len(ids), size)]
    return [{"id": list(part), "q": [f"{i} plus 1" for i in part]} for part in parts]


def test_spark_yields_each_block_once(agent_file: str) -> None:
    function = superstep.spark.map(agent_file, [inc], question="q", concurrency=4)
    blocks = [{"id": [], "q": []}, *blocks_of(range(100, 130), 3)]
    made = list(function(iter(blocks)))
    assert sorted(b["id"] for b in made) == sorted(b["id"] for b in blocks)
    for block in made:
        assert block["answer"] == [f"It is {i + 1}." for i in block["id"]]
        assert set(superstep.spark.schema("id long").split(", ")) >= {"id long", "answer string"}


def test_spark_slow_row_delays_only_its_block() -> None:
    others_ended = threading.Event()

    async def model(messages: Any, tools: Any) -> str:
        while messages[-1]["content"] == "slow" and not others_ended.is_set():
            await asyncio.sleep(0.001)
        return "done"

    function = superstep.spark.map(ss.create_agent(model), question="q", concurrency=4)
    blocks = [{"q": ["fast", "slow"]}, *({"q": ["fast"] * 10} for _ in range(5))]
    first, *others = blocks
    made = []
    for block in function(iter(blocks)):
        made.append(block["q"])
        if len(made) == len(others):
            others_ended.set()
    assert made == [block["q"] for block in others] + [first["q"]]


def test_spark_cancels_rows_if_reading_stops() -> None:
    async def model(messages: Any, tools: Any) -> str:
        if messages[-1]["content"] == "slow":
            await asyncio.sleep(60)
        return "done"

    function = superstep.spark.map(ss.create_agent(model), question="q", concurrency=4)
    reading = function(iter([{"q": ["fast"]}, {"q": ["slow"] * 100}]))
    assert next(reading)["answer"] == ["done"]
    reading.close()  # type: ignore[attr-defined]
    deadline = time.monotonic() + 30
    while ss.stats()["live_runs"] and time.monotonic() < deadline:
        time.sleep(0.001)
    assert ss.stats()["live_runs"] == 0


def test_invalid_inputs_are_failed_rows() -> None:
    given: list[Any] = []

    def model(messages: Any, tools: Any) -> str:
        given.append(messages[-1]["content"])
        return "fine"

    runner = _rows.Runner(ss.create_agent(model), (), {})
    rows: list[dict[str, Any]] = [
        {"role": "user", "content": "a"},
        {"role": "nobody", "content": "b"},
        {"messages": [{"role": "user", "content": "c"}]},
        {"messages": [object()]},
    ]
    outcomes = runner.run(rows)
    assert outcomes.column("status") == ["finished", "failed", "finished", "failed"]
    errors = outcomes.column("error")
    assert errors[1].startswith("ValueError: messages") and errors[3].startswith("TypeError: ")
    assert sorted(given) == ["a", "c"]
    by_column = _rows.Runner(ss.create_agent(model), (), {"question": "q"})
    assert by_column.run([{"q": "d"}, {}]).column("error") == ["", "KeyError: 'q'"]
    with pytest.raises(ValueError, match="no column 'q', but: id"):
        by_column.run({"id": [1]})


def test_columns_equal_buffers_and_rows(agent_file: str) -> None:
    texts = ["100 plus 1", "13 plus 1", "über \U0001f600", ""]
    agent = ss.Agent.from_file(agent_file, [inc])
    runner = _rows.Runner(agent, (), {"question": "q"})
    outcomes = runner.run({"q": texts})
    columns = runner.lists_of(outcomes)
    expected = [row.columns() for row in agent.batch(texts)]
    found = [dict(zip(columns, values)) for values in zip(*columns.values())]
    for row in [*expected, *found]:  # each run generates ids of its own
        row["messages"] = re.sub(r'"id":"[0-9A-Za-z]+-(\d+-\d+)"', r'"id":"\1"', str(row["messages"]))
    assert found == expected
    for name, values in columns.items():
        offsets, content = outcomes.buffers(name)
        if offsets is None:
            assert memoryview(content).cast("q").tolist() == values
            continue
        ends = memoryview(offsets).cast("i").tolist()
        assert ends[0] == 0 and len(ends) == len(values) + 1
        parts = [content[begin:end].decode() for begin, end in zip(ends, ends[1:])]
        assert parts == values


def test_arrow_blocks_get_arrow_columns(agent_file: str) -> None:
    arrow = pytest.importorskip("pyarrow")
    worker = superstep.ray.Agent(agent_file, [inc], question="q")

    async def run(block: Any) -> Any:
        return [out async for out in worker(block)][0]

    for make in (arrow.table, arrow.record_batch):
        out = asyncio.run(run(make({"id": [100, 101], "q": ["100 plus 1", "101 plus 1"]})))
        out.validate(full=True)
        assert out.column("answer").to_pylist() == ["It is 101.", "It is 102."]
        assert out.schema.names == ["id", "q", *_rows.COLUMNS]


def test_results_have_chosen_columns(agent_file: str) -> None:
    chosen = ["tool_calls", "answer"]
    function = superstep.spark.map(agent_file, [inc], question="q", columns=chosen)
    (block,) = function(iter([{"id": [100], "q": ["100 plus 1"]}]))
    assert block == {"id": [100], "q": ["100 plus 1"], "tool_calls": [1], "answer": ["It is 101."]}
    assert superstep.spark.schema("id long", chosen) == "id long, tool_calls long, answer string"
    with pytest.raises(ValueError, match="unknown columns: cost; the results have: answer, status"):
        superstep.spark.map(agent_file, [inc], columns=["answer", "cost"])
    with pytest.raises(TypeError, match="must be a list of names"):
        superstep.spark.schema("id long", "answer")


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


def test_rows_without_key_or_question_fail() -> None:
    asked: list[str] = []

    def model(messages: list[dict[str, Any]], tools: Any) -> str:
        asked.append(messages[-1]["content"])
        return "re: " + asked[-1]

    agent = ss.create_agent(model, checkpointer=ss.memory_checkpointer())
    nan = float("nan")
    rows = [{"id": 1, "q": "a"}, {"q": "b"}, {"id": None, "q": "c"}, {"id": nan, "q": "d"}, {"id": 1, "q": "e"},
            {"id": 2, "q": None}, {"id": 3, "q": nan}, {"id": 4, "q": 5}]
    runner = _rows.Runner(agent, [], {"question": "q", "key": "id"})
    errors = runner.run(rows).column("error")
    assert sorted(asked) == ["5", "a"]
    assert [bool(e) for e in errors] == [False, True, True, True, True, True, True, False]
    assert "no value in the column 'id'" in errors[1] and "is not unique" in errors[4]
    assert "no value in the column 'q'" in errors[5]
    assert runner.run(rows[1:3]).column("status") == ["failed", "failed"] and len(asked) == 2


@pytest.mark.parametrize(
    "settings, text",
    [
        ({"concurrency": "5"}, "concurrency must be an int, not a str"),
        ({"concurrency": 0}, "concurrency must be at least 1"),
        ({"workers": 1.5}, "workers must be an int, not a float"),
        ({"workers": -1}, "workers must be at least 0"),
        ({"options": 5}, "options must be a dict, not an int"),
    ],
)
def test_wrong_settings_are_refused_before_the_job(agent_file: str, settings: Any, text: str) -> None:
    with pytest.raises((TypeError, ValueError), match=text):
        superstep.ray.Agent(agent_file, tools=[inc], question="question", **settings)
    with pytest.raises((TypeError, ValueError), match=text):
        superstep.spark.map(agent_file, tools=[inc], question="question", **settings)
