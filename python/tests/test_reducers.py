# SPDX-License-Identifier: Apache-2.0
"""Reducers that raise exceptions: the run fails, and no node is retried or handled for it."""

import operator
import pathlib
from typing import Annotated, Any, TypedDict

import pytest

import superstep as ss

RETRY = ss.RetryPolicy(max_attempts=3, initial_interval=0.001, jitter=False)


class Broken(ConnectionError):
    """An exception that a retry policy retries by default."""


def raising(old: list[Any], new: list[Any]) -> list[Any]:
    if "bad" in new:
        raise Broken("the reducer failed")
    return old + new


class State(TypedDict):
    log: Annotated[list[Any], operator.add]
    value: Annotated[list[Any], raising]


def handle(state: Any) -> dict[str, Any]:
    return {"log": ["handled"]}


def graph_of(calls: list[str], shape: str, options: dict[str, Any]) -> ss.Graph:
    def write(state: Any) -> dict[str, Any]:
        calls.append("a")
        return {"value": ["bad"]}

    def read(state: Any) -> dict[str, Any]:
        calls.append("b")
        return {"log": ["read"]}

    graph = ss.Graph(State).add("a", write, **options).edge(ss.START, "a")
    if shape == "branch":
        graph.branch("a", lambda s: ss.END)
    if shape == "parallel":  # the reducer is called when `b` reads the state
        graph.add("c", lambda s: {"log": ["c"]}).edge(ss.START, "c")
        graph.add("b", read, **options).edge(["a", "c"], "b")
    return graph


@pytest.mark.parametrize("shape", ["sole", "branch", "parallel"])
@pytest.mark.parametrize("options", [{}, {"retry": RETRY}, {"on_error": handle}])
def test_exception_of_a_reducer_ends_the_run(shape: str, options: dict[str, Any]) -> None:
    calls: list[str] = []
    graph = graph_of(calls, shape, options).compile()
    with pytest.raises(Broken, match="the reducer failed") as raised:
        graph.invoke({"log": []})
    assert calls == ["a"]
    assert raised.value.__notes__[0] == "in the reducer of 'value'"
    (result,) = graph.batch([{"log": []}])
    assert result.status == "failed" and isinstance(result.error, Broken)


def test_exception_of_a_reducer_of_a_subgraph_is_one_of_its_node() -> None:
    calls: list[str] = []
    child = graph_of(calls, "sole", {}).compile()
    retried = ss.Graph(State).add("sub", child, retry=RETRY).edge(ss.START, "sub").compile()
    with pytest.raises(Broken):
        retried.invoke({"log": []})
    assert calls == ["a"] * 3
    handled = ss.Graph(State).add("sub", child, on_error=handle).edge(ss.START, "sub").compile()
    assert handled.invoke({"log": []})["log"] == ["handled"]


@pytest.mark.parametrize("shape", ["sole", "parallel"])
def test_exception_of_a_reducer_reaches_readers_of_a_stream(shape: str) -> None:
    graph = graph_of([], shape, {"retry": RETRY}).compile()
    with pytest.raises(Broken, match="the reducer failed"):
        list(graph.stream({"log": []}, stream_mode="values"))


def test_exception_of_a_reducer_leaves_the_saved_state(tmp_path: pathlib.Path) -> None:
    graph = graph_of([], "sole", {"on_error": handle})
    saved = graph.compile(checkpointer=ss.sqlite_checkpointer(tmp_path / "threads.db"))
    with pytest.raises(Broken, match="the reducer failed"):
        saved.invoke({"log": []}, thread_id="1")
    state = saved.get_state("1")
    assert (state.values, state.next) == ({"log": [], "value": []}, ["a"])


def test_notes_of_an_exception_do_not_accumulate() -> None:
    error = ValueError("always the same object")

    def fail(state: Any) -> None:
        raise error

    graph = ss.Graph({"v": None}).add("a", fail).edge(ss.START, "a").compile()
    for _ in range(3):
        with pytest.raises(ValueError):
            graph.invoke({"v": 1})
    assert error.__notes__ == ["in node 'a', super-step 1"]
