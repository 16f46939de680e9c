# SPDX-License-Identifier: Apache-2.0
"""Context variables: nodes, tools and models see those of the caller, and do not change those of others."""

import asyncio
from contextvars import ContextVar
from typing import Any

import pytest

import superstep as ss

user: ContextVar[str] = ContextVar("user", default="nobody")


def graph_of(*nodes: Any) -> ss.CompiledGraph:
    g = ss.Graph({"seen": lambda old, new: [*(old or []), *new]})
    before = ss.START
    for number, node in enumerate(nodes):
        g.add(f"n{number}", node)
        g.edge(before, f"n{number}")
        before = f"n{number}"
    return g.compile()


def report(state: Any) -> dict[str, Any]:
    return {"seen": [user.get()]}


async def report_later(state: Any) -> dict[str, Any]:
    await asyncio.sleep(0)
    return {"seen": [user.get()]}


def change(state: Any) -> dict[str, Any]:
    user.set("changed by a node")
    return {}


async def change_later(state: Any) -> dict[str, Any]:
    user.set("changed by a coroutine")
    await asyncio.sleep(0)
    return {}


def test_variables_do_not_outlive_a_node() -> None:
    graph = graph_of(change, change_later, report, report_later)
    for _ in range(50):
        assert graph.invoke({})["seen"] == ["nobody", "nobody"]
    assert user.get() == "nobody"


def test_nodes_see_variables_of_the_caller() -> None:
    graph = graph_of(report, change, change_later, report_later)
    token = user.set("ann")
    try:
        assert graph.invoke({})["seen"] == ["ann", "ann"]
        assert list(graph.stream({})) and user.get() == "ann"
    finally:
        user.reset(token)
    assert graph.invoke({})["seen"] == ["nobody", "nobody"]


def test_tasks_of_one_loop_have_their_own_variables() -> None:
    graph = graph_of(report, report_later)

    async def one(name: str) -> list[str]:
        user.set(name)
        seen: list[str] = (await graph.ainvoke({}))["seen"]
        return seen

    async def main() -> list[list[str]]:
        return await asyncio.gather(*(one(f"u{i}") for i in range(100)))

    assert asyncio.run(main()) == [[f"u{i}"] * 2 for i in range(100)]


@pytest.mark.parametrize("how", ["invoke", "ainvoke", "batch", "map"])
def test_tools_see_variables_of_the_caller(script: str, how: str) -> None:
    @ss.tool
    def weather(city: str) -> str:
        """Current weather in a city."""
        return f"{city} for {user.get()}"

    agent = ss.create_agent(script, [weather])
    token = user.set("bob")
    try:
        if how == "invoke":
            answer = agent.invoke("in Rome").text
        elif how == "ainvoke":
            answer = asyncio.run(agent.ainvoke("in Rome")).text
        elif how == "batch":
            answer = agent.batch(["in Rome"])[0].answer
        else:
            answer = next(iter(agent.map([{"q": "in Rome"}], question="q"))).answer
    finally:
        user.reset(token)
    assert answer == "Rome for bob"


def test_nested_run_sees_variables_of_its_node_and_has_its_own_runtime() -> None:
    def inner(state: Any) -> dict[str, Any]:
        return {"seen": [user.get(), ss.current_runtime().node]}

    nested = graph_of(inner)

    async def outer(state: Any) -> dict[str, Any]:
        user.set("outer")
        found = await nested.ainvoke({})
        return {"seen": [*found["seen"], ss.current_runtime().node]}

    assert graph_of(change, outer).invoke({})["seen"] == ["outer", "n0", "n1"]


@pytest.mark.parametrize("is_async", [False, True])
def test_models_see_variables_of_the_caller_and_run_in_its_loop(is_async: bool) -> None:
    seen: list[Any] = []

    def model(messages: list[Any], tools: list[Any]) -> str:
        seen.append(user.get())
        return "done"

    async def model_later(messages: list[Any], tools: list[Any]) -> str:
        seen.append(asyncio.get_running_loop())
        return model(messages, tools)

    agent = ss.create_agent(model_later if is_async else model)

    async def main() -> None:
        user.set("eve")
        assert (await agent.ainvoke("hello")).text == "done"
        assert seen == ([asyncio.get_running_loop(), "eve"] if is_async else ["eve"])

    asyncio.run(main())
