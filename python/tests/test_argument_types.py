# SPDX-License-Identifier: Apache-2.0
"""Arguments of wrong types: the errors name the argument, the expected and the given type."""

import pathlib
from typing import Any, Callable

import pytest

import superstep as ss

wrong: Any = 3


def answer(messages: Any, tools: Any) -> str:
    return "hi"


def graph() -> ss.Graph:
    return ss.Graph({"x": None})


def node(state: Any) -> dict[str, Any]:
    return {"x": 1}


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: ss.create_agent(None), "model must be a str such as .*, or a function .*, not None"),  # type: ignore[arg-type]
        (lambda: ss.create_agent(wrong), "model must be a str .* not an int"),
        (lambda: ss.create_agent(answer, prompt=wrong), "prompt must be a str, not an int"),
        (lambda: ss.create_agent(answer, name=wrong), "name must be a str, not an int"),
        (lambda: ss.create_agent(answer, [wrong]), "a tool must be a function, not an int"),
        (lambda: ss.create_agent(answer, wrong), "tools must be a list, not an int"),
        (lambda: ss.create_agent(answer, response=wrong), "response must be a dict .*, not an int"),
        (lambda: ss.create_agent(answer, return_direct=wrong), "return_direct must be a list of str, not an int"),
        (lambda: ss.create_agent(answer, return_direct=[wrong]), "item of return_direct must be a str, not an int"),
        (lambda: ss.create_agent(answer, interrupt_before="x"), "interrupt_before must be a list of str, not a str"),
        (lambda: ss.create_agent(answer, middleware=wrong), "middleware must be a list of Middleware, not an int"),
        (lambda: ss.create_agent(answer, middleware=[wrong]), "must be a Middleware, not an int"),
        (lambda: ss.create_agent(answer, checkpointer=wrong), "checkpointer must be a superstep.Checkpointer"),
        (lambda: ss.create_agent(answer, store=wrong), "store must be a superstep.Store, .* not an int"),
        (lambda: ss.Agent.from_text(wrong), "text of an agent file must be a str, not an int"),
        (lambda: ss.Agent.from_text("model: x", set=wrong), "set must be a list of str, not an int"),
    ],
)
def test_agents_name_the_wrong_argument(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(TypeError, match=text):
        call()


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: ss.Graph(wrong), "state of a graph must be a TypedDict class or a dict, not an int"),
        (lambda: ss.Graph({"x": None}, name=wrong), "name of a graph must be a str, not an int"),
        (lambda: ss.Graph({wrong: None}), "key of the state must be a str, not an int"),
        (lambda: ss.Graph({"x": wrong}), "reducer of 'x' must be a function or None, not an int"),
        (lambda: graph().add(wrong, node), "name of a node must be a str, not an int"),
        (lambda: graph().add("a", node, reads=wrong), "reads of node 'a' must be a list of str"),
        (lambda: graph().add("a", node, retry=wrong), "retry of node 'a' must be a RetryPolicy .* not an int"),
        (lambda: graph().add("a", node, retry=[wrong]), "retry of node 'a' must be .* not an int"),
        (lambda: graph().add("a", node, destinations=[wrong]), "destinations of node 'a' must be a str"),
        (lambda: graph().add("a", node, metadata=wrong), "metadata of node 'a' must be a dict, not an int"),
        (lambda: graph().add("a", node, cache=wrong), "cache of node 'a' must be a CachePolicy, not an int"),
        (lambda: graph().edge(ss.START, wrong), "target of an edge must be a str, not an int"),
        (lambda: graph().edge(wrong, "a"), "source of an edge must be a list of str, not an int"),
        (lambda: graph().edge([wrong], "a"), "item of the source of an edge must be a str, not an int"),
        (lambda: graph().sequence(["a", "b"]), "item of a sequence must be a str, not a list"),  # type: ignore[arg-type]
        (lambda: graph().add("a", node, on_error=wrong), "error handler must be a function, not an int"),
        (lambda: graph().on_error(node, wrong), "node of an error handler must be a str, not an int"),
        (lambda: ss.CachePolicy(key=wrong), "key must be a function of the input, not an int"),
        (lambda: graph().branch(wrong, node), "source of a branch must be a str, not an int"),
        (lambda: graph().branch("a", wrong), "router of a branch must be a function, not an int"),
        (lambda: graph().branch("a", node, {1: "b"}), r"label of the branch of 'a' must be .* not an int \(1\)"),
        (lambda: graph().branch("a", node, [wrong]), "item of the targets of the branch of 'a' must be a str"),
        (lambda: graph().branch("a", node, {"x": wrong}), "node of the label 'x' .* must be a str, not an int"),
        (lambda: graph().compile(cache=wrong), "cache must be a superstep.Cache, .* not an int"),
        (lambda: graph().compile(interrupt_after=wrong), "interrupt_after must be a list of str, not an int"),
    ],
)
def test_graphs_name_the_wrong_argument(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(TypeError, match=text):
        call()


def test_edges_need_a_source() -> None:
    with pytest.raises(ValueError, match="at least one source"):
        graph().edge([], "a")


def test_runs_name_the_unknown_option() -> None:
    app = graph().add("a", node).edge(ss.START, "a").compile()
    with pytest.raises(TypeError, match="a run has no option 'subgraphs'$"):
        list(app.stream({}, subgraphs=True))
    with pytest.raises(TypeError, match="no option 'config'; pass its members, such as thread_id, as keywords"):
        app.invoke({}, config={})


def test_states_name_the_wrong_argument() -> None:
    app = graph().add("a", node).edge(ss.START, "a").compile(checkpointer=ss.memory_checkpointer())
    with pytest.raises(ValueError, match="limit must be an int of at least 0, not 'x'"):
        app.get_state_history("t", limit="x")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="values must be a dict or None, not an int"):
        app.update_state("t", wrong)
    with pytest.raises(TypeError, match="as_node must be a str, not an int"):
        app.update_state("t", {}, as_node=wrong)


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda s: s.put(("a", wrong), "k", {}), "item of namespace must be a str, not an int"),
        (lambda s: s.put(("a",), wrong, {}), "key must be a str, not an int"),
        (lambda s: s.put(("a",), "k", wrong), "value must be a dict, not an int"),
        (lambda s: s.put(("a",), "k", {}, index="text"), "index must be a list of str, not a str"),
        (lambda s: s.get(("a",), wrong), "key must be a str, not an int"),
        (lambda s: s.delete(("a",), wrong), "key must be a str, not an int"),
        (lambda s: s.search(wrong), "namespace must be a list of str, not an int"),
        (lambda s: s.search((), query=wrong), "query must be a str, not an int"),
        (lambda s: s.search((), filter=wrong), "filter must be a dict, not an int"),
        (lambda s: s.search((), limit=None), "limit must be an int, not None"),
        (lambda s: s.search((), limit=-1), "limit must be at least 0 .*, not -1"),
        (lambda s: s.list_namespaces(max_depth="1"), "max_depth must be an int, not a str"),
        (lambda s: s.list_namespaces(max_depth=0), "max_depth must be at least 1, not 0"),
        (lambda s: s.get(("\ud800",), "k"), "an item of namespace contains a lone surrogate"),
        (lambda s: s.put(("a",), "\ud800", {}), "key contains a lone surrogate"),
        (lambda s: s.put(("a",), "k", {"v": ["\ud800"]}), r"\['v'\]\[0\] contains a lone surrogate"),
        (lambda s: ss.memory_store(fields="text"), "fields must be a list of str, not a str"),
        (lambda s: ss.memory_store(embed=wrong), "embed must be a function of a list of texts, not an int"),
    ],
)
def test_stores_name_the_wrong_argument(call: Callable[[Any], Any], text: str) -> None:
    with pytest.raises((TypeError, ValueError), match=text):
        call(ss.memory_store())


def test_stores_search_without_a_query() -> None:
    store = ss.memory_store()
    store.put(("a",), "k", {"v": 1})
    assert [item.key for item in store.search("a", query=None)] == ["k"]


def test_resources_name_the_wrong_argument(tmp_path: pathlib.Path) -> None:
    async def embed(texts: list[str]) -> list[list[float]]:
        return []

    coroutine_function: Any = embed
    number: Any = 1.5
    for make, text in (
        (lambda: ss.postgres_checkpointer(wrong), "url must be a str, not an int"),
        (lambda: ss.postgres_store(wrong), "url must be a str, not an int"),
        (lambda: ss.postgres_cache(wrong), "url must be a str, not an int"),
        (lambda: ss.memory_cache(number), "entries_max must be an int, not a float"),
        (lambda: ss.memory_cache(-1), "entries_max must be at least 0"),
        (lambda: ss.engine(number), "workers must be an int, not a float"),
        (lambda: ss.engine(-1), "workers must be at least 0"),
        (lambda: ss.memory_store(embed=coroutine_function), "embed must be a plain function"),
        (lambda: ss.sqlite_store(tmp_path / "a\0b"), "contains a zero character"),
        (lambda: ss.sqlite_store(tmp_path / "\udcff"), r"sqlite_store: '.*\\udcff' is not UTF-8"),
    ):
        with pytest.raises((TypeError, ValueError), match=text):
            make()


@pytest.mark.parametrize(
    "call, text",
    [
        (lambda: ss.Middleware(wrong), "name of a middleware must be a str, not an int"),
        (lambda: ss.Middleware("m", before_model=wrong), "before_model of middleware 'm' must be a function, not an int"),
        (lambda: ss.Middleware("m", wrap_tool_call=wrong), "wrap_tool_call of middleware 'm' must be a function"),
        (lambda: ss.Middleware("m", tools=wrong), "tools of middleware 'm' must be a list, not an int"),
        (lambda: ss.Middleware("m", can_jump_to="end"), "can_jump_to of middleware 'm' must be a list of str, not a str"),
    ],
)
def test_middleware_names_the_wrong_argument(call: Callable[[], Any], text: str) -> None:
    with pytest.raises(TypeError, match=text):
        call()


def test_errors_name_the_options_of_the_package() -> None:
    graph = ss.Graph({"n": None}).add("a", lambda s: None).edge(ss.START, "a").edge("a", "a")
    app, saved = graph.compile(), graph.compile(checkpointer=ss.memory_checkpointer())

    def tool() -> str:
        return ""

    def with_hook(**hooks: Any) -> Any:
        return ss.create_agent(lambda m, t: "x", middleware=[ss.Middleware("m", **hooks)]).invoke("x")

    no_checkpointer = "set the argument checkpointer of compile"
    calls: list[tuple[Any, str]] = [
        (lambda: app.invoke({"n": 1}, recursion_limit=2), r"Raise recursion_limit, or check"),
        (lambda: saved.invoke({"n": 1}), "set thread_id"),
        (lambda: app.get_state("1"), no_checkpointer),
        (lambda: app.update_state("1", {"n": 1}), no_checkpointer),
        (lambda: app.invoke(ss.Command(resume=1)), no_checkpointer),
        (lambda: ss.create_agent(lambda m, t: "x").get_state("1"), no_checkpointer),
        (lambda: ss.create_agent(answer, [tool, tool]), "^tools: two tools have the name 'tool'"),
        (lambda: ss.create_agent(answer, response={"type": "x"}), "^response: not a JSON Schema"),
        (lambda: with_hook(before_model=lambda s: {"jump_to": "end"}), "add it to can_jump_to of the middleware"),
        (lambda: with_hook(wrap_model_call=lambda r, h: h(r.override(model=wrong))), "model must be a str .* not an int"),
    ]
    for call, text in calls:
        with pytest.raises(Exception, match=text) as raised:
            call()
        assert "::" not in str(raised.value)
