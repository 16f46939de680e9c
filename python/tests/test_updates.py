# SPDX-License-Identifier: Apache-2.0
"""The events of the stream mode `updates`, which are those of LangGraph."""

import operator
from typing import Any

import pytest

import superstep as ss

LOG: Any = {"log": operator.add, "n": None}


def one_node(node: Any, **options: Any) -> ss.Graph:
    return ss.Graph(LOG).add("a", node, **options).edge(ss.START, "a")


@pytest.mark.parametrize("output", [None, {}, [], ss.Command(update={}), ss.Command()])
def test_updates_of_a_node_without_writes_are_none(output: Any) -> None:
    graph = one_node(lambda s: output).compile()
    assert list(graph.stream({"log": []})) == [{"a": None}]


def test_updates_of_a_subgraph_without_writes_are_none() -> None:
    child = ss.Graph({"x": None}).add("b", lambda s: None).edge(ss.START, "b").compile()
    graph = ss.Graph(LOG).add("sub", child).edge(ss.START, "sub").compile()
    assert list(graph.stream({"log": [1]}))[-1] == {"sub": None}


def test_updates_show_an_overwrite() -> None:
    graph = one_node(lambda s: {"log": ss.Overwrite(["z"]), "n": 1}).compile()
    assert list(graph.stream({"log": ["old"]})) == [{"a": {"log": ss.Overwrite(["z"]), "n": 1}}]
    twice = one_node(lambda s: [{"log": ss.Overwrite([1])}, {"log": [2]}]).compile()
    assert list(twice.stream({"log": []})) == [{"a": [{"log": ss.Overwrite([1])}, {"log": [2]}]}]


def test_updates_mark_outputs_of_a_cache() -> None:
    graph = one_node(lambda s: {"log": [s["n"]]}, cache=ss.CachePolicy()).compile(cache=ss.memory_cache())
    given = {"log": [], "n": 1}
    assert list(graph.stream(given)) == [{"a": {"log": [1]}}]
    assert list(graph.stream(given)) == [{"a": {"log": [1]}, "__metadata__": {"cached": True}}]


def test_updates_mark_outputs_of_an_earlier_attempt() -> None:
    failures = [ValueError("once")]

    def fail_once(state: Any) -> dict[str, Any]:
        if failures:
            raise failures.pop()
        return {"n": 1}

    graph = one_node(lambda s: {"log": ["a"]}).add("b", fail_once).edge(ss.START, "b")
    app = graph.compile(checkpointer=ss.memory_checkpointer())
    with pytest.raises(ValueError, match="once"):
        app.invoke({"log": []}, thread_id="1")
    events = list(app.stream(None, thread_id="1"))
    assert {"a": {"log": ["a"]}, "__metadata__": {"cached": True}} in events
    assert {"b": {"n": 1}} in events


def test_updates_of_agents_mark_outputs_of_an_earlier_attempt() -> None:
    failures = [KeyboardInterrupt()]

    def fail_once() -> str:
        if failures:
            raise failures.pop()
        return "done"

    def model(messages: Any, tools: Any) -> Any:
        if messages[-1]["type"] == "tool":
            return "end"
        calls: list[Any] = [{"name": name, "args": {}, "id": name} for name in ("works", "fails")]
        return {"content": "", "tool_calls": calls}

    tools = [ss.tool(name="works")(lambda: "yes"), ss.tool(name="fails")(fail_once)]
    agent = ss.create_agent(model, tools, checkpointer=ss.memory_checkpointer())
    with pytest.raises(KeyboardInterrupt):
        agent.invoke("x", thread_id="1")
    marks = [event.get("__metadata__") for event in agent.stream(None, thread_id="1")]
    assert marks == [{"cached": True}, None, None]


def test_updates_of_agents_without_writes_are_none() -> None:
    hook = ss.Middleware("quiet", before_model=lambda state: None)
    agent = ss.create_agent(lambda messages, tools: "hi", middleware=[hook])
    updates = [update for event in agent.stream("x") for update in event.values()]
    assert updates[0] is None and updates[1]["messages"]
