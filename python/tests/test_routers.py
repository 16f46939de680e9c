# SPDX-License-Identifier: Apache-2.0
"""Routers: when they are called, and what they see."""

import asyncio
import contextvars
from typing import Any, Callable

import pytest

import superstep as ss

Node = Callable[[Any], Any]


def plain_review(state: Any) -> dict[str, Any]:
    return {"decision": ss.interrupt({"check": state["text"]})}


async def async_review(state: Any) -> dict[str, Any]:
    await asyncio.sleep(0)
    return plain_review(state)


def command_review(state: Any) -> Any:
    return ss.Command(update=plain_review(state))


def review_graph(node: Node, router: Node) -> ss.Graph:
    return (
        ss.Graph({"text": None, "decision": None})
        .add("review", node)
        .add("publish", lambda s: {"text": s["text"] + "!"})
        .edge(ss.START, "review")
        .branch("review", router, ["publish", ss.END])
    )


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("node", [plain_review, async_review, command_review])
def test_routers_of_interrupted_nodes_are_not_called(node: Node, is_async: bool) -> None:
    seen: list[Any] = []

    def route(state: Any) -> str:
        seen.append(dict(state))
        return "publish" if state["decision"] == "yes" else ss.END

    async def aroute(state: Any) -> str:
        return route(state)

    graph = review_graph(node, aroute if is_async else route).compile(checkpointer=ss.memory_checkpointer())
    paused = graph.invoke({"text": "draft"}, thread_id="1")
    assert (paused.status, [i.value for i in paused.interrupts]) == ("interrupted", [{"check": "draft"}])
    assert seen == [] and graph.get_state("1").next == ["review"]
    assert graph.invoke(ss.Command(resume="yes"), thread_id="1")["text"] == "draft!"
    assert seen == [{"text": "draft", "decision": "yes"}]


@pytest.mark.parametrize("is_async", [False, True])
def test_routers_may_interrupt(is_async: bool) -> None:
    def route(state: Any) -> Any:
        return ss.interrupt("where?")

    async def aroute(state: Any) -> Any:
        return route(state)

    graph = review_graph(lambda s: {"decision": "?"}, aroute if is_async else route).compile(
        checkpointer=ss.memory_checkpointer()
    )
    paused = graph.invoke({"text": "draft"}, thread_id="1")
    assert [i.value for i in paused.interrupts] == ["where?"]
    assert graph.invoke(ss.Command(resume="publish"), thread_id="1") == {"text": "draft!", "decision": "?"}


def test_interrupt_and_emit_accept_none() -> None:
    def node(state: Any) -> dict[str, Any]:
        ss.emit(None)
        return {"n": ss.interrupt(None)}

    graph = ss.Graph({"n": None}).add("a", node).edge(ss.START, "a")
    compiled = graph.compile(checkpointer=ss.memory_checkpointer())
    assert list(compiled.stream({}, stream_mode="custom", thread_id="1")) == [None]
    assert [i.value for i in compiled.get_state("1").interrupts] == [None]
    assert compiled.invoke(ss.Command(resume=3), thread_id="1")["n"] == 3


def keep(state: Any) -> None:
    return None


def nested_graph(router: Node) -> ss.Graph:
    """A graph whose router is behind a node that is a graph."""
    inner = ss.Graph({"n": None}).add("x", lambda s: {"n": s["n"] + 1}).edge(ss.START, "x").compile()
    return (
        ss.Graph({"n": None, "last": None})
        .add("sub", inner)
        .add("b", lambda s: {"last": "b"})
        .edge(ss.START, "sub")
        .branch("sub", router, ["b", ss.END])
    )


def test_routers_behind_a_graph_are_called_as_others() -> None:
    async def aroute(state: Any) -> str:
        await asyncio.sleep(0)
        return "b" if state["n"] == 2 else ss.END

    def with_runtime(state: Any, runtime: ss.Runtime) -> str:
        return "b" if (state["n"], runtime.node) == (2, "sub") else ss.END

    async def fails(state: Any) -> str:
        raise LookupError("no way")

    routers: list[Any] = [aroute, with_runtime]
    for router in routers:
        graph = nested_graph(router).compile()
        assert graph.invoke({"n": 1}) == {"n": 2, "last": "b"}
        assert graph.invoke({"n": 5}) == {"n": 6}
    with pytest.raises(LookupError, match="no way"):
        nested_graph(fails).compile().invoke({"n": 1})


def test_edits_reject_routers_that_are_coroutine_functions() -> None:
    async def aroute(state: Any) -> str:
        return "b"

    graph = nested_graph(aroute).compile(checkpointer=ss.memory_checkpointer())
    assert graph.invoke({"n": 1}, thread_id="1")["last"] == "b"
    with pytest.raises(ValueError, match="the router is a coroutine function, which only runs can call"):
        graph.update_state("1", {"n": 2}, as_node="sub")


user: contextvars.ContextVar[str] = contextvars.ContextVar("user", default="nobody")


@pytest.mark.parametrize("saved", [False, True])
def test_routers_see_the_context_variables_of_the_caller(saved: bool) -> None:
    seen: list[str] = []

    def route(state: Any) -> list[str]:
        seen.append(user.get())
        return ["b"]

    checkpointer = ss.memory_checkpointer() if saved else None
    token = user.set("ada")
    try:
        nested_graph(route).compile(checkpointer=checkpointer).invoke({"n": 1}, thread_id="1" if saved else None)
        start = ss.Graph({"n": None}).add("b", keep).branch(ss.START, route, ["b"])
        start.compile(checkpointer=checkpointer).invoke({"n": 1}, thread_id="2" if saved else None)
    finally:
        user.reset(token)
    assert seen == ["ada", "ada"]
