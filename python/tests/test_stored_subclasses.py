# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of subclasses of plain values, and cache keys of sets."""

import collections
import math
import pathlib
from typing import Any

import pytest

import superstep as ss


class Float(float):
    pass


class Text(str):
    def __str__(self) -> str:
        return "another text"


@pytest.mark.parametrize(
    "value, stored",
    [
        (collections.Counter({1: 1}), {1: 1}),
        (collections.defaultdict(list, {1: [2]}), {1: [2]}),
        (collections.OrderedDict(a=1), {"a": 1}),
        ((collections.OrderedDict(a=1),), ({"a": 1},)),
        ((Float(1.5), Text("x")), (1.5, "x")),
        ({1: Text("x")}, {1: "x"}),
        (Text("x"), "x"),
        (Float("inf"), math.inf),
    ],
)
def test_subclasses_are_stored_as_plain_values(tmp_path: pathlib.Path, value: Any, stored: Any) -> None:
    graph = ss.Graph({"v": None}).add("a", lambda s: {"v": value}).edge(ss.START, "a")
    graph.compile(checkpointer=ss.sqlite_checkpointer(tmp_path / "a.db")).invoke({}, thread_id="1")
    app = graph.compile(checkpointer=ss.sqlite_checkpointer(tmp_path / "a.db"))
    restored = app.get_state("1").values["v"]
    assert restored == stored and type(restored) is type(stored)
    if isinstance(stored, tuple):
        assert [type(item) for item in restored] == [type(item) for item in stored]


def test_equal_sets_have_the_same_cache_key() -> None:
    calls: list[Any] = []

    def count(state: dict[str, Any]) -> dict[str, Any]:
        calls.append(state["x"])
        return {"size": len(state["x"])}

    graph = ss.Graph({"x": None, "size": None}).add("a", count, cache=ss.CachePolicy()).edge(ss.START, "a")
    app = graph.compile(cache=ss.memory_cache())
    for given in ({8, 0}, {0, 8}, {8, 0, 16} - {16}):
        assert app.invoke({"x": given})["size"] == 2
    assert len(calls) == 1
