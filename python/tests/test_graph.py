# SPDX-License-Identifier: Apache-2.0
"""Graphs: reducers, routers, Sends, commands, subgraphs, failures, coroutines."""

import asyncio
import gc
import itertools
import operator
import pathlib
import pickle
import sys
import threading
import time
import typing
import weakref
from typing import Annotated, Any, TypedDict

import pytest

import superstep as ss
from superstep import _aio


class State(TypedDict, total=False):
    n: Annotated[int, operator.add]
    log: Annotated[list[Any], operator.add]
    last: Any


def chain(*nodes: Any, **compile: Any) -> ss.CompiledGraph:
    """A graph that runs functions one after the other."""
    g = ss.Graph(State)
    names = [f"n{i}" for i in range(len(nodes))]
    for name, node in zip(names, nodes):
        g.add(name, node)
    return g.edge(ss.START, names[0]).sequence(*names).compile(**compile)


def add_one(state: Any) -> dict[str, Any]:
    return {"n": 1}


def test_chain_applies_updates() -> None:
    graph = chain(lambda s: {"n": 1, "log": ["a"]}, lambda s: {"log": [s["n"]], "last": s["log"]})
    result = graph.invoke({"n": 10})
    assert result == {"n": 11, "log": ["a", 11], "last": ["a"]}
    assert (result.status, result.steps, result.interrupts) == ("finished", 2, [])


def test_absent_keys_are_not_in_the_state() -> None:
    seen: list[Any] = []
    chain(lambda s: seen.append(dict(s))).invoke({})
    assert seen == [{"n": 0, "log": []}]


def test_initial_values_are_not_shared_by_runs() -> None:
    def node(state: Any) -> None:
        state["log"].append("x")

    graph = chain(node)
    assert graph.invoke({})["log"] == graph.invoke({})["log"] == []


def test_state_from_a_mapping() -> None:
    g = ss.Graph({"best": max, "other": None}).channel("sum", operator.add, 0)
    g.add("a", lambda s: {"best": 7, "sum": 2}).edge(ss.START, "a")
    assert g.compile().invoke({"best": 3, "sum": 1, "other": "o"}) == {"best": 7, "sum": 3, "other": "o"}


def test_parallel_writes_are_combined_in_task_order() -> None:
    g = ss.Graph(State)
    names = [f"n{i}" for i in range(8)]
    for name in names:
        g.add(name, lambda s, name=name: {"log": [name], "n": 1}).edge(ss.START, name)
    g.add("end", lambda s: {"last": list(s["log"])}).edge(names, "end")
    for _ in range(20):
        assert g.compile().invoke({}) == {"n": 8, "log": names, "last": names}


def test_two_writes_without_a_reducer_fail() -> None:
    g = ss.Graph(State)
    for name in "ab":
        g.add(name, lambda s: {"last": 1}).edge(ss.START, name)
    with pytest.raises(ss.RunError) as caught:
        g.compile().invoke({})
    assert caught.value.code == "channel_errc::invalid_update" and "'last'" in str(caught.value)


def test_overwrite_replaces() -> None:
    graph = chain(lambda s: {"log": ss.Overwrite(["new"]), "n": ss.Overwrite(5)})
    assert graph.invoke({"log": ["old"], "n": 1}) == {"log": ["new"], "n": 5}


def test_loop_with_router() -> None:
    g = ss.Graph(State).add("a", lambda s: {"n": 1, "log": [s["n"]]}).edge(ss.START, "a")
    g.branch("a", lambda s: "a" if s["n"] < 200 else ss.END)
    result = g.compile().invoke({}, recursion_limit=1000)
    assert result["n"] == 200 and result["log"] == list(range(200))


def test_router_sees_the_writes_of_its_node() -> None:
    g = ss.Graph(State).add("a", lambda s: {"n": 4}).edge(ss.START, "a")
    g.add("even", lambda s: {"last": "even"}).add("odd", lambda s: {"last": "odd"})
    g.branch("a", lambda s: s["n"] % 2 == 0, {True: "even", False: "odd"})
    assert g.compile().invoke({"n": 2})["last"] == "even"
    assert g.compile().invoke({"n": 1})["last"] == "odd"


def test_start_router_sees_the_input() -> None:
    g = ss.Graph(State).add("a", lambda s: {"last": "a"}).add("b", lambda s: {"last": "b"})
    g.branch(ss.START, lambda s: "b" if s["n"] else "a", ["a", "b"])
    assert g.compile().invoke({"n": 0})["last"] == "a"
    assert g.compile().invoke({"n": 3})["last"] == "b"
    saved = g.compile(checkpointer=ss.memory_checkpointer())
    assert saved.invoke({"n": 0}, thread_id="t")["last"] == "a"
    assert saved.invoke({"n": 2}, thread_id="t")["last"] == "b"


@pytest.mark.parametrize("made", ["nobody", 7, ss.Send("nobody", 1)])
def test_wrong_destination_fails(made: Any) -> None:
    g = ss.Graph(State).add("a", add_one).edge(ss.START, "a").branch("a", lambda s: made)
    with pytest.raises((ss.RunError, TypeError), match="nobody|a destination is an int"):
        g.compile().invoke({})


def test_sends_carry_any_object() -> None:
    class Thing:
        def __init__(self, i: int) -> None:
            self.i = i

    g = ss.Graph(State).add("work", lambda thing: {"log": [thing.i], "n": 1})
    g.branch(ss.START, lambda s: [ss.Send("work", Thing(i)) for i in range(100)], ["work"])
    assert g.compile().invoke({}) == {"n": 100, "log": list(range(100))}


def test_commands_update_and_choose() -> None:
    g = ss.Graph(State)
    g.add("a", lambda s: ss.Command(update={"n": 1}, goto=["b", ss.Send("c", 5)]))
    g.add("b", lambda s: {"log": ["b"]}).add("c", lambda x: [{"log": [x]}, {"n": x}])
    result = g.edge(ss.START, "a").compile().invoke({})
    assert result["n"] == 6 and sorted(result["log"], key=str) == [5, "b"]


def test_join_waits_for_all_sources() -> None:
    g = ss.Graph(State).add("a", add_one).add("b", add_one).add("b2", add_one)
    g.add("end", lambda s: {"last": s["n"]})
    g.edge(ss.START, "a").edge(ss.START, "b").edge("b", "b2").edge(["a", "b2"], "end")
    assert g.compile().invoke({})["last"] == 3


def test_subgraph_shares_keys() -> None:
    class Inner(TypedDict, total=False):
        last: str
        own: Annotated[list[int], operator.add]

    inner = ss.Graph(Inner).add("x", lambda s: {"own": [1], "last": s["last"] + "!"})
    child = inner.edge(ss.START, "x").compile()
    g = ss.Graph(State).add("child", child).add("after", lambda s: {"log": [s["last"]]})
    result = g.edge(ss.START, "child").edge("child", "after").compile().invoke({"last": "hi"})
    assert result == {"n": 0, "log": ["hi!"], "last": "hi!"}


def test_objects_without_json_form_are_values() -> None:
    marker = object()
    graph = chain(lambda s: {"last": marker}, lambda s: {"log": [s["last"] is marker]})
    result = graph.invoke({})
    assert result["last"] is marker and result["log"] == [True]


def test_values_are_released() -> None:
    class Big:
        pass

    made: list[Any] = []

    def node(state: Any) -> dict[str, Any]:
        big = Big()
        made.append(weakref.ref(big))
        return {"last": big}

    graph = chain(node, lambda s: {"last": None})
    for _ in range(50):
        graph.invoke({})
    graph.invoke({})
    gc.collect()
    assert sum(r() is not None for r in made) <= 2


def test_graph_in_a_cycle_is_collected() -> None:
    class Owner:
        graph: ss.CompiledGraph

        def node(self, state: Any) -> dict[str, Any]:
            return {"n": 1}

    owner = Owner()
    owner.graph = chain(owner.node)
    assert owner.graph.invoke({})["n"] == 1
    alive = weakref.ref(owner)
    del owner
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize(
    "update, kind, text",
    [
        (5, TypeError, "an update is an int"),
        ({"nope": 1}, ValueError, "has the key 'nope', but the state has only the keys 'n', 'log', 'last'"),
        ({3: 1}, TypeError, "a key of an update is an int"),
        (ss.Command(resume=1), ValueError, "must not return a Command with resume"),
    ],
)
def test_wrong_update_fails(update: Any, kind: type[Exception], text: str) -> None:
    with pytest.raises(kind, match=text):
        chain(lambda s: update).invoke({})


def test_exception_of_a_node_is_raised() -> None:
    class Own(Exception):
        pass

    def node(state: Any) -> None:
        raise Own("reason")

    with pytest.raises(Own, match="reason") as caught:
        chain(add_one, node).invoke({})
    assert caught.value.__notes__ == ["in node 'n1', super-step 2"]
    result = chain(add_one, node).batch([{}])[0]
    assert (result.status, result["n"]) == ("failed", 1) and isinstance(result.error, Own)


def test_exception_of_a_reducer_is_raised() -> None:
    def broken(old: Any, new: Any) -> Any:
        raise ZeroDivisionError("in reducer")

    g = ss.Graph({"x": broken}).add("a", lambda s: {"x": 2}).edge(ss.START, "a")
    with pytest.raises(ZeroDivisionError):
        g.compile().invoke({"x": 1})
    g.add("b", lambda s: {"x": 3}).edge(ss.START, "b")
    with pytest.raises(ZeroDivisionError):
        g.compile().invoke({"x": 1})


def test_faults_are_reported_together() -> None:
    g = ss.Graph(State).add("a", add_one).edge(ss.START, "b").edge("c", "a")
    with pytest.raises(ss.GraphError) as caught:
        g.compile()
    assert "unknown node `b`" in str(caught.value) and "unknown node 'c'" in str(caught.value)


def test_retry_repeats_transient_failures() -> None:
    calls: list[int] = []

    def node(state: Any, runtime: ss.Runtime) -> dict[str, Any]:
        calls.append(runtime.attempt)
        if runtime.attempt < 3:
            raise ConnectionError("again")
        return {"n": 1}

    policy = ss.RetryPolicy(initial_interval=0.001, jitter=False)
    g = ss.Graph(State).add("a", node, retry=policy).edge(ss.START, "a")
    assert g.compile().invoke({})["n"] == 1 and calls == [1, 2, 3]


def test_retry_does_not_repeat_wrong_values() -> None:
    calls: list[int] = []

    def node(state: Any) -> None:
        calls.append(1)
        raise ValueError("always")

    policy = ss.RetryPolicy(initial_interval=0.001, jitter=False)
    g = ss.Graph(State).add("a", node, retry=policy).edge(ss.START, "a")
    with pytest.raises(ValueError):
        g.compile().invoke({})
    assert len(calls) == 1


def test_runtime_describes_the_task() -> None:
    seen: list[Any] = []

    def node(state: Any, runtime: ss.Runtime) -> None:
        seen.append((runtime.node, runtime.step, runtime.run_id, runtime.configurable, runtime.metadata))

    chain(node).invoke({}, run_id="r", configurable={"k": 1}, metadata={"m": True})
    assert seen == [("n0", 1, "r", {"k": 1}, {"m": True})]


def test_runtime_ends_with_its_node() -> None:
    kept: list[ss.Runtime] = []

    def node(state: Any, runtime: ss.Runtime) -> None:
        kept.append(runtime)

    chain(node).invoke({})
    with pytest.raises(ValueError, match="has ended"):
        kept[0].interrupt("late")


def test_coroutine_nodes_and_routers() -> None:
    async def node(state: Any) -> dict[str, Any]:
        await asyncio.sleep(0)
        return {"n": 1, "log": [asyncio.get_running_loop()]}

    async def route(state: Any) -> str:
        await asyncio.sleep(0)
        return "a" if state["n"] < 3 else ss.END

    g = ss.Graph(State).add("a", node).edge(ss.START, "a").branch("a", route)
    graph = g.compile()

    async def main() -> None:
        result = await graph.ainvoke({})
        assert result["n"] == 3 and set(result["log"]) == {asyncio.get_running_loop()}
        results = await graph.abatch([{"n": i} for i in range(5)])
        assert [r["n"] for r in results] == [3, 3, 3, 4, 5]

    asyncio.run(main())
    assert graph.invoke({})["n"] == 3


def test_coroutine_nodes_overlap() -> None:
    started = 0
    all_started = asyncio.Event()

    async def node(x: Any) -> dict[str, Any]:
        nonlocal started
        started += 1
        if started == 50:
            all_started.set()
        await asyncio.wait_for(all_started.wait(), 30)
        return {"n": 1}

    g = ss.Graph(State).add("a", node)
    g.branch(ss.START, lambda s: [ss.Send("a", i) for i in range(50)], ["a"])
    assert asyncio.run(g.compile().ainvoke({}))["n"] == 50


def test_async_start_router_is_rejected() -> None:
    async def route(state: Any) -> str:
        return "a"

    with pytest.raises(TypeError, match="branch of START"):
        ss.Graph(State).add("a", add_one).branch(ss.START, route)


def test_streams() -> None:
    def node(state: Any) -> dict[str, Any]:
        ss.emit({"at": state["n"]})
        return {"n": 1}

    graph = chain(node, add_one)
    assert list(graph.stream({})) == [{"n0": {"n": 1}}, {"n1": {"n": 1}}]
    assert [v["n"] for v in graph.stream({"n": 0}, stream_mode="values")] == [0, 1, 2]
    events = list(graph.stream({}, stream_mode=["updates", "custom"]))
    assert events[0] == ("custom", {"at": 0}) and len(events) == 3


def test_unread_stream_pauses_and_cancels() -> None:
    g = ss.Graph(State).add("a", add_one).edge(ss.START, "a").branch("a", lambda s: "a")
    stream = g.compile().stream({}, recursion_limit=1_000_000)
    assert [next(stream) for _ in range(3)] == [{"a": {"n": 1}}] * 3
    stream.close()  # type: ignore[attr-defined]
    for _ in range(200):
        if ss.stats()["live_runs"] == 0:
            break
        asyncio.run(asyncio.sleep(0.01))
    assert ss.stats()["live_runs"] == 0


def test_thousands_of_events_are_read() -> None:
    g = ss.Graph(State).add("a", add_one).edge(ss.START, "a")
    g.branch("a", lambda s: "a" if s["n"] < 5_000 else ss.END)
    assert sum(1 for _ in g.compile().stream({}, recursion_limit=10_000)) == 5_000


def test_async_stream() -> None:
    async def main() -> list[Any]:
        return [e async for e in chain(add_one, add_one).astream({})]

    assert asyncio.run(main()) == [{"n0": {"n": 1}}, {"n1": {"n": 1}}]


def test_many_concurrent_ainvokes() -> None:
    graph = chain(add_one, add_one)

    async def main() -> None:
        results = await asyncio.gather(*(graph.ainvoke({"n": i}) for i in range(500)))
        assert [r["n"] for r in results] == [i + 2 for i in range(500)]

    asyncio.run(main())


def test_compiled_graph_pickles() -> None:
    g = ss.Graph({"n": operator.add}).add("a", add_one).edge(ss.START, "a")
    copy = pickle.loads(pickle.dumps(g.compile()))
    assert copy.invoke({"n": 1}) == {"n": 2}


def test_add_messages_replaces_by_id() -> None:
    old = ss.add_messages([], [{"role": "user", "content": "a", "id": "1"}, "b"])
    new = ss.add_messages(old, {"role": "user", "content": "c", "id": "1"})
    assert [m["content"] for m in new] == ["c", "b"]


def test_graph_is_drawn() -> None:
    assert "n0" in chain(add_one).mermaid()


def test_keys_with_qualifiers_keep_their_reducer() -> None:
    class State(typing.TypedDict):
        a: typing.NotRequired[typing.Annotated[list[str], operator.add]]
        b: typing.Annotated[typing.Required[list[str]], operator.add]

    graph = ss.Graph(State)
    graph.add("n", lambda state: {"a": ["n"], "b": ["n"]})
    app = graph.edge(ss.START, "n").compile()
    assert app.invoke({"a": ["in"], "b": ["in"]}) == {"a": ["in", "n"], "b": ["in", "n"]}
    assert app.invoke({"b": ["in"]}) == {"a": ["n"], "b": ["in", "n"]}


def test_exit_in_a_coroutine_is_raised_by_the_run() -> None:
    async def leave(state: dict[str, Any]) -> dict[str, Any]:
        sys.exit(4)

    async def wait(state: dict[str, Any]) -> dict[str, Any]:
        await asyncio.sleep(0.2)
        return {"n": 1}

    def app_of(body: Any) -> ss.CompiledGraph:
        return ss.Graph({"n": None}).add("n", body).edge(ss.START, "n").compile()

    other = threading.Thread(target=app_of(wait).invoke, args=({"n": 0},), daemon=True)
    other.start()
    with pytest.raises(SystemExit) as raised:
        app_of(leave).invoke({"n": 0})
    assert raised.value.code == 4
    other.join(30)
    assert not other.is_alive()
    assert app_of(wait).invoke({"n": 0}) == {"n": 1}


def test_work_of_many_threads_reaches_the_loop() -> None:
    loop = asyncio.new_event_loop()
    runner = threading.Thread(target=loop.run_forever, daemon=True)
    runner.start()
    target = _aio._Loop(loop)
    each, threads = 20_000, 4
    left = itertools.count(each * threads - 1, -1)
    done = threading.Event()

    def work() -> None:
        if next(left) == 0:
            done.set()

    def post() -> None:
        for i in range(each):
            target.post(work)
            if i % 3 == 0:
                time.sleep(0)  # the loop empties its list meanwhile

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        posting = [threading.Thread(target=post) for _ in range(threads)]
        for thread in posting:
            thread.start()
        for thread in posting:
            thread.join()
        assert done.wait(30)
    finally:
        sys.setswitchinterval(interval)
    loop.call_soon_threadsafe(loop.stop)
    runner.join()
    loop.close()


def test_batch_with_no_concurrency_is_refused() -> None:
    app = ss.Graph({"n": None}).add("n", lambda state: {"n": 1}).edge(ss.START, "n").compile()
    with pytest.raises(ValueError, match="concurrency must be at least 1"):
        asyncio.run(app.abatch([{"n": 0}], concurrency=0))
    wrong: Any
    for wrong in ("8", 1.5, None, True):
        with pytest.raises(TypeError, match="concurrency must be an int, not "):
            app.batch([{"n": 0}], concurrency=wrong)


text: Any = "5"


@pytest.mark.parametrize(
    "make, error",
    [
        (lambda: ss.RetryPolicy(max_attempts=0), "max_attempts must be an int of at least 1, not 0"),
        (lambda: ss.RetryPolicy(initial_interval=text), "initial_interval must be a number of seconds, not a str"),
        (lambda: ss.RetryPolicy(backoff_factor=text), "backoff_factor must be a number, not a str"),
        (lambda: ss.CachePolicy(ttl=float("nan")), "ttl must be more than 0"),
        (lambda: ss.memory_store(ttl=0), "ttl must be more than 0"),
        (lambda: ss.memory_store().put(("a",), "b", {}, ttl=float("inf")), "ttl must be more than 0"),
        (lambda: ss.Graph({"a": None}).add("n", str, timeout=text), "timeout of node 'n' must be a number"),
    ],
)
def test_numbers_are_checked(make: Any, error: str) -> None:
    with pytest.raises((TypeError, ValueError), match=error):
        make()


def test_add_messages_starts_with_no_messages_and_replaces_equal_ids() -> None:
    g = ss.Graph({"messages": ss.add_messages})
    g.add("first", lambda state: {"messages": "hi"})
    g.add("second", lambda state: {"messages": [
        {"id": "1", "role": "ai", "content": "a"}, {"id": "1", "role": "ai", "content": "b"}]})
    g.edge(ss.START, "first").edge("first", "second")
    assert g.compile().invoke({})["messages"] == [
        {"role": "user", "content": "hi"}, {"id": "1", "role": "ai", "content": "b"}]


def test_values_event_of_an_interrupt_contains_it_and_the_state() -> None:
    g = ss.Graph({"n": None})
    g.add("ask", lambda state: {"n": ss.interrupt("go on?")})
    g.edge(ss.START, "ask")
    graph = g.compile(checkpointer=ss.memory_checkpointer())
    *_, last = graph.stream({"n": 1}, stream_mode="values", thread_id="1")
    assert last == {"n": 1, "__interrupt__": graph.get_state("1").interrupts}


def test_blocking_call_of_coroutines_in_a_coroutine_is_an_error() -> None:
    async def later(state: Any) -> dict[str, Any]:
        await asyncio.sleep(0)
        return {"n": 1}

    inner = one_node(later)

    async def blocks(state: Any) -> dict[str, Any]:
        return dict(inner.invoke({}))

    def may_block(state: Any) -> dict[str, Any]:
        return dict(inner.invoke({}))

    with pytest.raises(RuntimeError, match="await ainvoke"):
        one_node(blocks).invoke({})
    assert one_node(may_block).invoke({})["n"] == 1


def one_node(node: Any) -> ss.CompiledGraph:
    g = ss.Graph({"n": None})
    g.add("n", node)
    g.edge(ss.START, "n")
    return g.compile()


@pytest.mark.parametrize("saved", [False, True])
def test_send_to_a_graph_node_is_its_input(saved: bool, tmp_path: pathlib.Path) -> None:
    inner = ss.Graph({"n": None, "total": operator.add})
    inner.add("square", lambda state: {"total": state["n"] ** 2})
    inner.edge(ss.START, "square")
    g = ss.Graph(Totals)
    g.add("each", inner.compile())
    g.branch(ss.START, lambda state: [ss.Send("each", {"n": n, "total": 0}) for n in range(1, 4)])
    threads = ss.sqlite_checkpointer(str(tmp_path / "threads.db")) if saved else None
    graph = g.compile(checkpointer=threads)
    assert graph.invoke({}, **({"thread_id": "1"} if saved else {}))["total"] == 1 + 4 + 9
    g = ss.Graph(Totals)
    g.add("each", inner.compile())
    g.branch(ss.START, lambda state: ss.Send("each", {"missing": 1}))
    with pytest.raises(Exception, match="missing"):
        g.compile().invoke({})


class Totals(TypedDict):
    total: Annotated[int, operator.add]


def test_router_may_take_the_runtime() -> None:
    def route(state: Any, runtime: ss.Runtime) -> str:
        return str(runtime.configurable["next"])

    g = ss.Graph(State)
    g.add("a", lambda state: {"n": 1}).add("b", lambda state: {"n": 10}).add("c", lambda state: {"n": 100})
    g.edge(ss.START, "a").branch("a", route, ["b", "c"])
    assert g.compile().invoke({}, configurable={"next": "c"})["n"] == 101
    with pytest.raises(TypeError, match="no runtime"):
        ss.Graph(State).add("a", str).branch(ss.START, route)
    graph = g.compile(checkpointer=ss.memory_checkpointer())
    graph.invoke({}, thread_id="1", configurable={"next": "b"})
    with pytest.raises(ValueError, match="parameter `runtime`"):
        graph.update_state("1", {"n": 1}, as_node="a")
