# SPDX-License-Identifier: Apache-2.0
"""Threads: interrupts, resuming, snapshots, edits, what can be saved."""

import operator
import pathlib
import signal
import threading
import types
from typing import Annotated, Any, TypedDict

import pytest

import superstep as ss


class State(TypedDict, total=False):
    n: Annotated[int, operator.add]
    log: Annotated[list[Any], operator.add]
    last: Any


@pytest.fixture(params=["memory", "sqlite"])
def saved(request: Any, tmp_path: pathlib.Path) -> ss.Checkpointer:
    if request.param == "memory":
        return ss.memory_checkpointer()
    return ss.sqlite_checkpointer(tmp_path / "threads.db")


def asking(checkpointer: ss.Checkpointer) -> ss.CompiledGraph:
    """A graph that asks twice in one node, and counts how often the node runs."""

    def ask(state: Any) -> dict[str, Any]:
        name = ss.interrupt("name?")
        age = ss.interrupt({"age of": name})
        return {"last": f"{name} is {age}", "log": ["asked"]}

    g = ss.Graph(State).add("a", lambda s: {"n": 1, "log": ["a"]}).add("ask", ask)
    g.add("z", lambda s: {"log": ["z"]})
    return g.edge(ss.START, "a").sequence("a", "ask", "z").compile(checkpointer=checkpointer)


def test_interrupts_and_resume(saved: ss.Checkpointer) -> None:
    graph = asking(saved)
    first = graph.invoke({"n": 5}, thread_id="t")
    assert first.status == "interrupted" and first == {"n": 6, "log": ["a"]}
    assert [i.value for i in first.interrupts] == ["name?"]
    second = graph.invoke(ss.Command(resume="Ada"), thread_id="t")
    assert [i.value for i in second.interrupts] == [{"age of": "Ada"}]
    by_id = {second.interrupts[0].id: 36}
    third = graph.invoke(ss.Command(resume=by_id), thread_id="t")
    assert third.status == "finished"
    assert third == {"n": 6, "log": ["a", "asked", "z"], "last": "Ada is 36"}


def test_another_object_resumes_a_saved_thread(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "threads.db"
    asking(ss.sqlite_checkpointer(path)).invoke({}, thread_id="t")
    graph = asking(ss.sqlite_checkpointer(path))
    graph.invoke(ss.Command(resume="Ada"), thread_id="t")
    assert graph.invoke(ss.Command(resume=36), thread_id="t")["last"] == "Ada is 36"


@pytest.mark.parametrize("is_coroutine", [False, True])
def test_interrupt_of_an_invoked_graph_is_not_lost(saved: ss.Checkpointer, is_coroutine: bool) -> None:
    def asking_graph(checkpointer: ss.Checkpointer | None) -> ss.CompiledGraph:
        g = ss.Graph(State).add("ask", lambda s: {"last": ss.interrupt("name?")})
        return g.edge(ss.START, "ask").compile(checkpointer=checkpointer)

    def graph_that_invokes(inner: ss.CompiledGraph, **options: Any) -> ss.CompiledGraph:
        def plain(state: Any) -> dict[str, Any]:
            return {"log": [i.value for i in inner.invoke({}, **options).interrupts]}

        async def in_loop(state: Any) -> dict[str, Any]:
            return {"log": [i.value for i in (await inner.ainvoke({}, **options)).interrupts]}

        node: Any = in_loop if is_coroutine else plain
        return ss.Graph(State).add("o", node).edge(ss.START, "o").compile()

    with pytest.raises(RuntimeError, match="cannot be answered"):
        graph_that_invokes(asking_graph(None)).invoke({})
    kept = asking_graph(saved)  # the node can answer the interrupt of a thread
    assert graph_that_invokes(kept, thread_id="inner").invoke({})["log"] == ["name?"]
    assert kept.invoke(ss.Command(resume="Ada"), thread_id="inner")["last"] == "Ada"


def test_parallel_interrupts_are_answered_by_id(saved: ss.Checkpointer) -> None:
    g = ss.Graph(State).add("ask", lambda i: {"log": [ss.interrupt(i)]})
    g.branch(ss.START, lambda s: [ss.Send("ask", i) for i in range(3)], ["ask"])
    graph = g.compile(checkpointer=saved)
    asked = graph.invoke({}, thread_id="t").interrupts
    assert sorted(i.value for i in asked) == [0, 1, 2]
    done = graph.invoke(ss.Command(resume={i.id: i.value * 10 for i in asked}), thread_id="t")
    assert done["log"] == [0, 10, 20]


def test_breakpoints(saved: ss.Checkpointer) -> None:
    g = ss.Graph(State).add("a", lambda s: {"n": 1}).add("b", lambda s: {"n": 10})
    g.edge(ss.START, "a").edge("a", "b")
    graph = g.compile(checkpointer=saved, interrupt_before=["b"])
    assert graph.invoke({}, thread_id="t") == {"n": 1, "log": []}
    assert graph.get_state("t").next == ["b"]
    assert graph.invoke(None, thread_id="t")["n"] == 11


def test_state_history_and_edit(saved: ss.Checkpointer) -> None:
    g = ss.Graph(State).add("a", lambda s: {"n": 1}).add("b", lambda s: {"n": 10})
    graph = g.edge(ss.START, "a").edge("a", "b").compile(checkpointer=saved)
    graph.invoke({"n": 100}, thread_id="t")
    assert graph.get_state("t").values["n"] == 111
    history = graph.get_state_history("t")
    assert [s.values["n"] for s in history][:3] == [111, 101, 100]
    after_a = next(s for s in history if s.next == ["b"])
    assert graph.get_state("t", after_a.checkpoint_id).values["n"] == 101
    graph.update_state("t", {"n": 5}, as_node="a")
    assert graph.get_state("t").values["n"] == 116 and graph.get_state("t").next == ["b"]
    assert graph.invoke(None, thread_id="t")["n"] == 126
    again = graph.invoke(None, thread_id="t", checkpoint_id=after_a.checkpoint_id)
    assert again["n"] == 111


def test_state_history_contains_all_checkpoints(saved: ss.Checkpointer) -> None:
    g = ss.Graph(State).add("a", lambda s: {"n": 1}).edge(ss.START, "a")
    graph = g.branch("a", lambda s: "a" if s["n"] < 150 else ss.END).compile(checkpointer=saved)
    graph.invoke({}, thread_id="t", recursion_limit=1000)
    assert [s.values["n"] for s in graph.get_state_history("t")][:151] == list(range(150, -1, -1))
    assert [s.values["n"] for s in graph.get_state_history("t", limit=2)] == [150, 149]


def test_edit_calls_routers(saved: ss.Checkpointer) -> None:
    g = ss.Graph(State).add("a", lambda s: {"n": 1}).add("b", lambda s: {"n": 10})
    g.edge(ss.START, "a").branch("a", lambda s: "b" if s["n"] > 5 else ss.END, ["b", ss.END])
    graph = g.compile(checkpointer=saved)
    graph.invoke({}, thread_id="t")
    graph.update_state("t", {"n": 7}, as_node="a")
    assert graph.get_state("t").next == ["b"]


def test_parallel_reducers_are_saved(saved: ss.Checkpointer) -> None:
    g = ss.Graph(State)
    for i in range(5):
        g.add(f"n{i}", lambda s, i=i: {"log": [i], "n": i}).edge(ss.START, f"n{i}")
    graph = g.compile(checkpointer=saved)
    graph.invoke({}, thread_id="t")
    assert graph.invoke({}, thread_id="t")["log"] == [0, 1, 2, 3, 4] * 2
    assert graph.get_state("t").values["n"] == 20


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_durability(tmp_path: pathlib.Path, durability: str) -> None:
    graph = asking(ss.sqlite_checkpointer(tmp_path / "threads.db"))
    graph.invoke({}, thread_id="t", durability=durability)
    assert graph.get_state("t").next == ["ask"]


@pytest.mark.parametrize(
    "value, text",
    [
        (object(), r"state\['last'\]: an object cannot be stored"),
        ({"a": [0, object()]}, r"state\['last'\]\['a'\]\[1\]: an object cannot be stored"),
        ({1: {object}}, r"state\['last'\]: a type cannot be stored"),
        (types.SimpleNamespace(), r"state\['last'\]: a types.SimpleNamespace cannot be stored"),
        ("\ud800", r"state\['last'\] contains a lone surrogate, which UTF-8 cannot represent"),
        ({"a": ["\ud800"]}, r"state\['last'\]\['a'\]\[0\] contains a lone surrogate"),
        ({"\ud800": 1}, r"state\['last'\]\['.ud800'\] contains a lone surrogate"),
        (("\ud800",), r"state\['last'\]: a str contains a lone surrogate"),
    ],
)
def test_value_that_cannot_be_saved_is_named(tmp_path: pathlib.Path, value: Any, text: str) -> None:
    g = ss.Graph(State).add("a", lambda s: {"last": value}).edge(ss.START, "a")
    with pytest.raises((TypeError, ValueError), match=text):
        g.compile(checkpointer=ss.sqlite_checkpointer(tmp_path / "t.db")).invoke({}, thread_id="t")
    with pytest.raises((TypeError, ValueError), match=text):
        g.compile(checkpointer=ss.sqlite_checkpointer(tmp_path / "t.db")).invoke(
            {"last": value}, thread_id="t"
        )


def test_memory_keeps_any_object() -> None:
    marker = object()
    g = ss.Graph(State).add("a", lambda s: {"last": marker}).edge(ss.START, "a")
    graph = g.compile(checkpointer=ss.memory_checkpointer())
    graph.invoke({}, thread_id="t")
    assert graph.get_state("t").values["last"] is marker


def test_missing_thread_id_is_an_error(saved: ss.Checkpointer) -> None:
    with pytest.raises(ss.RunError, match="thread_id"):
        asking(saved).invoke({})


def test_states_without_thread_id_are_errors() -> None:
    checkpointer = ss.memory_checkpointer()
    agent = ss.create_agent(lambda messages, tools: "yes", checkpointer=checkpointer)
    programs: list[Any] = [asking(checkpointer), agent]
    missing: Any
    for program in programs:
        for missing in (None, ""):
            for call in (program.get_state, program.get_state_history, lambda t: program.update_state(t, {})):
                with pytest.raises(ss.RunError, match="set thread_id$"):
                    call(missing)
    missing = None
    with pytest.raises(TypeError, match="thread_id must be a str, not None"):
        checkpointer.delete_thread(missing)
    (row,) = agent.map(["x"], thread_id=lambda row: missing, resume=True)
    assert str(row.error) == "a thread_id must be a str, not None"


def test_deleted_thread_starts_again(saved: ss.Checkpointer) -> None:
    graph = asking(saved)
    graph.invoke({"n": 1}, thread_id="t")
    saved.delete_thread("t")
    assert graph.get_state("t").values == {}


def test_command_as_input_updates_and_goes(saved: ss.Checkpointer) -> None:
    g = ss.Graph(State).add("a", lambda s: {"log": ["a"]}).add("b", lambda s: {"log": ["b"]})
    graph = g.edge(ss.START, "a").branch("a", lambda s: ss.END, ["b", ss.END]).compile(
        checkpointer=saved
    )
    graph.invoke({}, thread_id="t")
    assert graph.invoke(ss.Command(update={"n": 3}, goto="b"), thread_id="t") == {
        "n": 3,
        "log": ["a", "b"],
    }


def test_checkpoints_are_never_pickled(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "threads.db"
    asking(ss.sqlite_checkpointer(path)).invoke({"last": "secret-text"}, thread_id="t")
    content = b"".join(p.read_bytes() for p in tmp_path.iterdir())
    assert b"secret-text" in content and b"\x80\x04\x95" not in content


def test_agent_has_states_like_a_graph() -> None:
    def model(messages: list[dict[str, Any]], tools: Any) -> str:
        return f"{len(messages)} messages"

    agent = ss.create_agent(model, checkpointer=ss.memory_checkpointer())
    agent.invoke("hi", thread_id="1")
    state = agent.get_state("1")
    assert [m["content"] for m in state.values["messages"]] == ["hi", "1 messages"]
    assert (state.next, state.interrupts) == ([], [])
    made = agent.update_state("1", {"messages": "and now?"}, as_node=ss.START)
    assert agent.get_state("1").checkpoint_id == made
    assert agent.get_state("1").next == ["model"]
    assert agent.get_state("1", state.checkpoint_id) == state
    assert agent.invoke(None, thread_id="1").text == "3 messages"
    history = agent.get_state_history("1")
    assert [len(one.values.get("messages", [])) for one in history][:3] == [4, 3, 2]
    assert len(agent.get_state_history("1", limit=2)) == 2
    assert agent.get_state("2").values == {}
    with pytest.raises(ValueError, match="the state of an agent has no key 'x'"):
        agent.update_state("1", {"x": 1})


def test_agent_state_has_structured_response() -> None:
    agent = ss.create_agent(lambda m, t: "hi", checkpointer=ss.memory_checkpointer())
    agent.update_state("1", {"messages": ["hi"], "structured_response": {"a": 1}}, as_node=ss.START)
    assert agent.get_state("1").values["structured_response"] == {"a": 1}


def test_signal_ends_wait_of_edit(saved: ss.Checkpointer) -> None:
    class Alarm(Exception):
        pass

    def handle(*_: Any) -> None:
        raise Alarm

    started, released = threading.Event(), threading.Event()

    def work(state: Any) -> dict[str, Any]:
        started.set()
        released.wait(30)
        return {"n": 1}

    graph = ss.Graph(State).add("a", work).edge(ss.START, "a").compile(checkpointer=saved)
    run = threading.Thread(target=lambda: graph.invoke({}, thread_id="t"))
    run.start()
    started.wait(30)
    earlier = signal.signal(signal.SIGALRM, handle)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(Alarm):
            graph.update_state("t", {"n": 5}, as_node="a")
        assert run.is_alive()  # the edit did not wait for it
    finally:
        signal.signal(signal.SIGALRM, earlier)
        released.set()
    graph.update_state("t", {"n": 5}, as_node="a")  # waits for the end of the run
    run.join()
    assert graph.get_state("t").values["n"] == 6
