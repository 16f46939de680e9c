# SPDX-License-Identifier: Apache-2.0
"""States: the values with which keys start, and what runs keep of them."""

import collections
import gc
import operator
import pathlib
import weakref
from collections import abc
from typing import Annotated, Any, TypedDict

import pytest

import superstep as ss


class Bag:
    """A mutable value that can be added."""

    def __init__(self) -> None:
        self.items: list[Any] = []

    def __add__(self, other: Any) -> "Bag":
        made = Bag()
        made.items = [*self.items, *other]
        return made


class Required:
    def __init__(self, value: int) -> None:
        self.value = value


class State(TypedDict):
    messages: Annotated[abc.Sequence[Any], ss.add_messages]
    items: Annotated[abc.Sequence[Any], operator.add]
    pairs: Annotated[abc.MutableMapping[str, int], operator.or_]
    seen: Annotated[frozenset[int], operator.or_]
    names: Annotated[abc.Set[str], operator.or_]
    counts: Annotated["collections.Counter[str]", operator.add]
    queue: Annotated["collections.deque[int]", operator.add]
    all: Annotated[tuple[int, ...], operator.add]
    bag: Annotated[Bag, operator.add]
    required: Annotated[Required, operator.add]
    whatever: Annotated[Any, operator.add]
    either: Annotated["int | None", operator.add]


def one_node(state: Any, node: Any) -> ss.CompiledGraph:
    return ss.Graph(state).add("a", node).edge(ss.START, "a").compile()


def test_keys_with_a_reducer_start_with_the_empty_value_of_their_hint() -> None:
    seen: list[dict[str, Any]] = []
    graph = one_node(State, lambda s: seen.append(s))
    graph.invoke({"messages": ("user", "hi")})
    (state,) = seen
    assert isinstance(state.pop("bag"), Bag)
    assert state == {
        "messages": [{"role": "user", "content": "hi"}], "items": [], "pairs": {}, "seen": frozenset(),
        "names": set(), "counts": collections.Counter(), "queue": collections.deque(), "all": ()}
    assert graph.invoke({"counts": collections.Counter(a=2), "bag": [1]})["bag"].items == [1]


@pytest.mark.parametrize("key", ["counts", "queue", "bag"])
def test_initial_values_of_all_classes_are_not_shared(key: str) -> None:
    def change(state: Any) -> None:
        if key == "bag":
            state[key].extra = 1
        elif key == "queue":
            state[key].append(1)
        else:
            state[key]["a"] += 1

    graph = one_node(State, change)
    graph.invoke({})
    value = graph.invoke({})[key]
    assert not value.__dict__.get("extra") if key == "bag" else not value


def test_error_handlers_that_raise_leave_nothing_behind() -> None:
    alive: "weakref.WeakSet[Any]" = weakref.WeakSet()

    class Failure(Exception):
        def __init__(self) -> None:
            alive.add(self)

    def fail(state: Any) -> None:
        raise Failure

    def raises_it_again(state: Any, runtime: ss.Runtime) -> None:
        assert runtime.error is not None
        raise runtime.error

    def reads_it_elsewhere(state: Any) -> None:
        error = ss.current_runtime().error
        assert error is not None
        raise error

    for handler in (raises_it_again, reads_it_elsewhere):
        graph = ss.Graph({"v": None}).add("a", fail, on_error=handler).edge(ss.START, "a").compile()
        for _ in range(20):
            with pytest.raises(Failure):
                graph.invoke({"v": 1})
        one_node({"v": None}, lambda s: None).invoke({})  # drops what threads of the engine have left
        gc.collect()
        assert len(alive) <= 2


def test_updates_of_a_key_written_twice_are_a_list() -> None:
    graph = one_node(
        {"log": operator.add, "n": None},
        lambda s: [{"log": [1], "n": 1}, ss.Command(update={"log": [2]})],
    )
    events = list(graph.stream({"log": []}))
    assert events == [{"a": [{"log": [1]}, {"n": 1}, {"log": [2]}]}]
    once = one_node({"log": operator.add, "n": None}, lambda s: [{"log": [1]}, {"n": 2}])
    assert list(once.stream({"log": []})) == [{"a": {"log": [1], "n": 2}}]


@pytest.mark.parametrize("by", ["reducer", "graph", "router"])
def test_values_that_cannot_be_stored_are_named(by: str, tmp_path: pathlib.Path) -> None:
    if by == "reducer":
        g = ss.Graph({"n": lambda old, new: object()}).add("a", lambda s: {"n": 1}).add("b", lambda s: {"n": 2})
        g.edge(ss.START, "a").edge(ss.START, "b")
    else:
        g = ss.Graph({"n": None}).add("sub", one_node({"n": None}, lambda s: {"n": object()})).edge(ss.START, "sub")
        if by == "router":
            g.branch("sub", lambda s: ss.END, [ss.END])
    graph = g.compile(checkpointer=ss.sqlite_checkpointer(str(tmp_path / "threads.db")))
    with pytest.raises(Exception, match=r"state\['n'\].* object"):
        graph.invoke({"n": 1}, thread_id="1", durability="sync" if by == "reducer" else "exit")


def test_stream_modes_are_texts() -> None:
    wrong: Any
    for wrong in (None, 5, [5]):
        with pytest.raises(TypeError, match="stream_mode must be a list of str|an item of stream_mode must be a str"):
            list(one_node({"n": None}, lambda state: None).stream({}, stream_mode=wrong))


def test_names_of_keys_may_have_zeros() -> None:
    graph = one_node({"a": None, "a\0b": None}, lambda state: {"a": 1, "a\0b": 2})
    assert graph.invoke({}) == {"a": 1, "a\0b": 2}


def test_graphs_reject_the_stream_mode_of_agents() -> None:
    graph = one_node({"n": None}, lambda s: {"n": 1})
    for mode in ("messages", ["updates", "messages"]):
        with pytest.raises(ValueError, match="'messages' is for agents"):
            list(graph.stream({}, stream_mode=mode))


def test_nodes_pass_on_messages_of_agents() -> None:
    agent = ss.create_agent(lambda messages, tools: "hi")

    def ask(state: Any) -> None:
        for message, _ in agent.stream("x", stream_mode="messages"):
            ss.emit(message)

    events: list[Any] = list(one_node({"n": None}, ask).stream({}, stream_mode="custom"))
    assert events[-1]["content"] == "hi"


def test_results_of_agents_are_read_as_dicts() -> None:
    result = ss.create_agent(lambda messages, tools: "hi").invoke("x")
    assert (list(result), len(result), result.keys()) == (["messages"], 1, ["messages"])
    assert dict(result) == dict(result.items()) == {"messages": result.messages}
    assert result.values() == [result.messages]


def test_codes_of_errors_are_those_of_nested_runs() -> None:
    loop = ss.Graph({"n": None}).add("a", lambda s: None).edge(ss.START, "a").edge("a", "a").compile()
    outer = ss.Graph({"n": None}).add("loop", loop).edge(ss.START, "loop").compile()
    for graph, place in ((loop, ("", 6)), (outer, ("loop", 1))):
        with pytest.raises(ss.RunError, match="Recursion limit of 5") as caught:
            graph.invoke({}, recursion_limit=5)
        error = caught.value
        assert (error.code, (error.node, error.step)) == ("graph_errc::recursion_limit", place)
