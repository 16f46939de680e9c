# SPDX-License-Identifier: Apache-2.0
"""Checkpointers for LangGraph's own graphs, compared with LangGraph's InMemorySaver."""

import asyncio
import base64
import dataclasses
import json
import operator
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import uuid
from typing import Annotated, Any, Callable, TypedDict

import pytest

import superstep as ss

pytest.importorskip("langgraph")

from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import START, StateGraph
from langgraph.graph.message import MessagesState
from langgraph.types import Command, Send, interrupt
from savers import get, new_thread, put

from superstep.checkpoint._saver import Saver
from superstep.checkpoint.postgres import PostgresSaver


class State(MessagesState):
    n: Annotated[int, operator.add]
    items: Annotated[list[Any], operator.add]
    anything: Any


def build() -> "StateGraph[Any, Any, Any, Any]":
    """Returns a graph with messages, Sends, a failing task, interrupts and a subgraph."""
    failed: set[Any] = set()

    def talk(state: State) -> dict[str, Any]:
        k = len(state["messages"])
        return {
            "messages": [AIMessage(f"answer {k}", id=f"a{k}")],
            "n": 1,
            "anything": {"set": {k}, 2: b"\0"},
        }

    def work(state: Any) -> dict[str, Any]:
        if state["i"] == 1 and state["key"] not in failed:
            failed.add(state["key"])
            raise ValueError("first attempt")
        return {"items": [state["i"]]}

    def ask(state: State) -> dict[str, Any]:
        return {"items": [interrupt({"question": 1}), interrupt({"question": (2,)})]}

    inner = StateGraph(State)
    inner.add_node("confirm", lambda state: {"items": [("sub", interrupt("sure?"))]})
    inner.add_edge(START, "confirm")

    def spread(state: State) -> list[Any]:
        key = state["messages"][0].id
        return [Send("work", {"i": i, "key": key}) for i in range(3)] + ["ask"]

    graph = StateGraph(State)
    graph.add_node("talk", talk)
    graph.add_node("work", work)
    graph.add_node("ask", ask)
    graph.add_node("sub", inner.compile())
    graph.add_edge(START, "talk")
    graph.add_conditional_edges("talk", spread)
    graph.add_edge("ask", "sub")
    return graph


def shape(snapshot: Any, numbers: dict[str, int]) -> Any:
    """Returns a snapshot without the ids, which are different in each run."""

    def number(config: "RunnableConfig | None") -> Any:
        at = (config or {}).get("configurable", {}).get("checkpoint_id")
        return at and numbers.setdefault(at, len(numbers))

    tasks = [
        (
            task.name,
            task.path,
            repr(task.error),
            [i.value for i in task.interrupts],
            task.result,
            shape(task.state, numbers) if hasattr(task.state, "tasks") else task.state and task.state.keys(),
        )
        for task in snapshot.tasks
    ]
    metadata = {k: v for k, v in snapshot.metadata.items() if k != "parents"}
    versions = number(snapshot.config), number(snapshot.parent_config)
    return versions, snapshot.values, snapshot.next, metadata, tasks


def story(app: Any) -> list[Any]:
    """Runs a graph on a thread, and returns what a caller sees."""
    seen: list[Any] = []
    numbers: dict[str, int] = {}
    config = new_thread()
    config["max_concurrency"] = 1  # which tasks end before one fails would depend on time

    def look() -> None:
        seen.append(shape(app.get_state(config, subgraphs=True), numbers))

    first: Any = {"messages": [HumanMessage("hello", id=str(uuid.UUID(int=id(app))))], "items": [0.5]}
    with pytest.raises(ValueError, match="first attempt"):
        app.invoke(first, config)
    look()
    app.invoke(None, config)
    look()
    app.invoke(Command(resume="one"), config)
    look()
    app.invoke(Command(resume=["two"]), config)
    look()
    app.invoke(Command(resume=True), config)
    look()
    history = list(app.get_state_history(config))
    seen.append([shape(s, numbers) for s in history])
    seen.append(
        [shape(s, numbers) for s in app.get_state_history(config, filter={"source": "loop"}, limit=2)]
    )
    seen.append([shape(s, numbers) for s in app.get_state_history(config, before=history[1].config)])
    fork = app.update_state(history[-2].config, {"n": 10, "anything": None})
    seen.append(list(app.stream(None, fork, stream_mode="values"))[-1]["n"])
    look()
    seen.append(len(list(app.get_state_history(config))))
    for value in seen:
        hide_ids(value, app)
    return seen


def hide_ids(value: Any, app: Any) -> None:
    """Replaces the id of the first message, which names the graph."""
    if isinstance(value, HumanMessage):
        value.id = "first"
    for part in (
        value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    ):
        hide_ids(part, app)


def test_graph_behaves_as_with_langgraphs_saver(saver: PostgresSaver) -> None:
    expected = story(build().compile(checkpointer=InMemorySaver()))
    assert story(build().compile(checkpointer=saver)) == expected


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_async_runs_of_many_threads_are_saved(saver: PostgresSaver, url: str, durability: Any) -> None:
    app: Any = build().compile(checkpointer=saver)
    configs = [new_thread() for _ in range(20)]

    async def run(config: RunnableConfig) -> None:
        key = config["configurable"]["thread_id"]
        first: Any = {"messages": [HumanMessage("hello", id=key)], "items": []}
        with pytest.raises(ValueError, match="first attempt"):
            await app.ainvoke(first, config, durability=durability)
        await app.ainvoke(None, config, durability=durability)

    async def run_all() -> None:
        await asyncio.gather(*(run(config) for config in configs))

    asyncio.run(run_all())
    with PostgresSaver(url) as other:
        again: Any = build().compile(checkpointer=other)
        for config in configs:
            state = again.get_state(config)
            assert state.next == ("ask",) and state.interrupts[0].value == {"question": 1}
            assert state.values["anything"] == {"set": {1}, 2: b"\0"}


KILLED = """
import os, sys
from typing import Any, TypedDict
from langgraph.graph import START, StateGraph
from langgraph.types import interrupt
from superstep.checkpoint.postgres import PostgresSaver

class State(TypedDict, total=False):
    n: Any

graph = StateGraph(State)
graph.add_node("count", lambda state: {"n": {state["n"]}})
graph.add_node("ask", lambda state: {"n": interrupt("go on?")})
graph.add_edge(START, "count")
graph.add_edge("count", "ask")
app = graph.compile(checkpointer=PostgresSaver(sys.argv[1]))
app.invoke({"n": 7}, {"configurable": {"thread_id": sys.argv[2]}})
os.kill(os.getpid(), 9)
"""


def test_interrupt_is_durable_when_the_run_returns(saver: PostgresSaver, url: str) -> None:
    config = new_thread()
    command = [sys.executable, "-c", KILLED, url, config["configurable"]["thread_id"]]
    assert subprocess.run(command, timeout=60).returncode == -signal.SIGKILL
    found = get(saver, config)
    assert found.checkpoint["channel_values"]["n"] == {7}
    assert [(channel, value[0].value) for _, channel, value in found.pending_writes or []] == [
        ("__interrupt__", "go on?")
    ]


def test_writes_are_those_of_langgraphs_saver(saver: PostgresSaver) -> None:
    def write(to: BaseCheckpointSaver[Any]) -> Any:
        config = put(to, new_thread(), {})
        to.put_writes(config, [("a", 1), ("a", 2)], "t2", "z")
        to.put_writes(config, [("a", 3), ("branch:to:x", None)], "t1", "z")
        to.put_writes(config, [("a", 4), ("a", 5), ("a", 6)], "t2", "z")  # 6 is new
        to.put_writes(config, [("__error__", "old"), ("__interrupt__", (1, 2))], "t3", "b")
        to.put_writes(config, [("__error__", "new")], "t3", "b")
        to.put_writes(config, [("c", {"x": {1}})], "t9")
        before = get(to, config).pending_writes
        after = get(to, put(to, config, {})).pending_writes
        return before, after, get(to, config).pending_writes

    assert write(saver) == write(InMemorySaver())


def test_writes_may_precede_their_checkpoint(saver: PostgresSaver) -> None:
    def write(to: BaseCheckpointSaver[Any], config: RunnableConfig) -> Any:
        checkpoints = [empty_checkpoint(), empty_checkpoint()]
        value = {"x": [1]}
        made: list[RunnableConfig] = []
        for checkpoint in checkpoints:
            made.append({"configurable": {**config["configurable"], "checkpoint_id": checkpoint["id"]}})
            to.put_writes(made[-1], [("a", value), ("__interrupt__", (1,))], "t1")
        value["x"].append(2)
        for parent, checkpoint in zip([config, made[0]], checkpoints):
            to.put(parent, checkpoint, {"step": 2}, {})
        first, second = (get(to, at).pending_writes for at in made)
        assert first == second
        return second

    for to in (saver, InMemorySaver()):
        thread = new_thread(checkpoint_ns="")
        assert to.get_tuple(thread) is None
        expected = [("t1", "__interrupt__", [1]), ("t1", "a", {"x": [1]})]
        assert write(to, thread) == expected
        assert write(to, get(to, thread).config) == expected


def test_writes_are_kept_while_the_thread_is_read(saver: PostgresSaver) -> None:
    class Late:
        """Lets a thread put a checkpoint while another one reads the thread."""

        def __init__(self, native: Any) -> None:
            self.native = native
            self.made: list[RunnableConfig] = []

        def load(self, *arguments: Any) -> Any:
            found = self.native.load(*arguments)
            if not self.made:
                self.made.append(put(saver, config, {"i": 1}))
            return found

        def __getattr__(self, name: str) -> Any:
            return getattr(self.native, name)

    for config in (new_thread(), put(saver, new_thread(), {"i": 0})):
        late = Late(saver._opened.native())
        saver._opened._native = late
        thread = config["configurable"]["thread_id"]
        saver.get_tuple(new_thread(thread_id=thread))
        saver.put_writes(late.made[0], [("__interrupt__", 1)], "task")
        saver._opened._native = late.native
        assert get(saver, late.made[0]).pending_writes == [("task", "__interrupt__", 1)]


def test_writes_of_forgotten_threads_are_kept(saver: PostgresSaver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("superstep.checkpoint._saver.THREADS_MAX", 1)
    first, _ = put(saver, new_thread(), {}), put(saver, new_thread(), {})
    saver.put_writes(first, [("a", 1)], "task")
    assert get(saver, first).pending_writes == [("task", "a", 1)]
    checkpoint = empty_checkpoint()
    second: RunnableConfig = {"configurable": {**first["configurable"], "checkpoint_id": checkpoint["id"]}}
    put(saver, new_thread(), {})
    saver.put_writes(second, [("a", 2)], "task")
    assert saver.put(first, checkpoint, {"step": 2}, {}) == second
    assert get(saver, second).pending_writes == [("task", "a", 2)]


def test_list_selects_as_langgraphs_saver(saver: PostgresSaver) -> None:
    def listed(to: BaseCheckpointSaver[Any]) -> Any:
        config = new_thread()
        thread = config["configurable"]["thread_id"]
        ids = []
        for i in range(230):  # several pages
            config = put(to, config, {"i": i}, step=i, kind="odd" if i % 2 else "even")
            ids.append(config["configurable"]["checkpoint_id"])
        put(to, new_thread(thread_id=thread, checkpoint_ns="sub:1"), {"i": -1})
        root = new_thread(thread_id=thread, checkpoint_ns="")
        before: RunnableConfig = {"configurable": {"checkpoint_id": ids[7]}}
        options: list[Any] = [
            {},
            {"limit": 0},
            {"limit": 150},
            {"before": before},
            {"filter": {"kind": "odd"}, "limit": 3},
            {"filter": {"kind": "odd", "step": 4}},
            {"filter": {"source": "loop"}, "before": before, "limit": 2},
        ]
        out = [[c.checkpoint["channel_values"] for c in to.list(root, **o)] for o in options]
        out.append([c.checkpoint["channel_values"] for c in to.list(config)])
        out.append([c.checkpoint["channel_values"] for c in to.list(config, before=before)])
        out.append([c.checkpoint["channel_values"] for c in to.list(new_thread(thread_id=thread), limit=231)])
        assert {c.config["configurable"]["thread_id"] for c in to.list(None)} >= {thread}
        return out

    assert listed(saver) == listed(InMemorySaver())


def test_threads_are_deleted_copied_and_pruned(saver: PostgresSaver) -> None:
    config = new_thread()
    thread, copied = config["configurable"]["thread_id"], str(uuid.uuid4())
    for i in range(5):
        config = put(saver, config, {"i": i}, run_id=f"{thread}-{i % 2}")
    saver.copy_thread(thread, copied)
    saver.delete_thread(thread)
    assert saver.get_tuple(config) is None and not list(saver.list(new_thread(thread_id=thread)))
    steps = [c.checkpoint["channel_values"]["i"] for c in saver.list(new_thread(thread_id=copied))]
    assert steps == [4, 3, 2, 1, 0]
    saver.delete_for_runs([f"{thread}-1"])
    assert len(list(saver.list(new_thread(thread_id=copied)))) == 3
    saver.prune([copied])
    assert get(saver, new_thread(thread_id=copied)).checkpoint["channel_values"] == {"i": 4}
    assert len(list(saver.list(new_thread(thread_id=copied)))) == 1
    assert get(saver, put(saver, new_thread(thread_id=thread), {"i": 9})).checkpoint["channel_values"] == {
        "i": 9
    }


def test_prune_keeps_the_values_of_delta_channels(saver: PostgresSaver) -> None:
    config = new_thread()
    thread = config["configurable"]["thread_id"]
    for i in range(6):
        since = {"items": [i - 2, i - 2]} if i > 2 else {}  # the checkpoint 2 has the whole value
        config = put(saver, config, {"i": i}, run_id=f"{thread}-{i // 2}", counters_since_delta_snapshot=since)
    with pytest.raises(RuntimeError, match="DeltaChannel"):
        saver.delete_for_runs([f"{thread}-1"])
    assert len(list(saver.list(new_thread(thread_id=thread)))) == 6
    saver.prune([thread])
    left = [one.checkpoint["channel_values"]["i"] for one in saver.list(new_thread(thread_id=thread))]
    assert left == [5, 4, 3, 2]


def test_name_of_packed_values_is_no_channel(saver: PostgresSaver) -> None:
    with pytest.raises(ValueError, match="no channel may have the name '\\$msgpack'"):
        put(saver, new_thread(), {"$msgpack": 1})


def test_prune_checks_its_strategy(saver: PostgresSaver) -> None:
    config = new_thread()
    thread = config["configurable"]["thread_id"]
    for i in range(3):
        config = put(saver, config, {"i": i})
    with pytest.raises(ValueError, match="strategy must be"):
        saver.prune([thread], strategy="keep_lates")
    assert len(list(saver.list(new_thread(thread_id=thread)))) == 3
    saver.prune([thread], strategy="delete")
    assert saver.get_tuple(config) is None


@dataclasses.dataclass
class Cart:
    items: list[str]


class Hostile:
    def __reduce__(self) -> Any:
        return print, ("unpickled",)


def test_only_allowed_classes_are_read(saver: PostgresSaver, url: str) -> None:
    config = put(saver, new_thread(), {"cart": Cart(["apple"]), "pair": (1, {2})})
    values = get(saver, config).checkpoint["channel_values"]
    assert values == {"cart": {"items": ["apple"]}, "pair": [1, {2}]}  # LangGraph stores tuples as lists
    with PostgresSaver(url, serde=JsonPlusSerializer(allowed_msgpack_modules=[Cart])) as other:
        assert get(other, config).checkpoint["channel_values"]["cart"] == Cart(["apple"])


@pytest.mark.parametrize("fallback", [False, True])
def test_nothing_is_pickled(url: str, fallback: bool) -> None:
    saver = PostgresSaver(url, serde=JsonPlusSerializer(pickle_fallback=fallback))
    with pytest.raises(TypeError, match="Hostile"):
        put(saver, new_thread(), {"x": [Hostile()]})
    stored = pickle.dumps(Hostile())
    text = "pickle:" + base64.b64encode(stored).decode()
    with pytest.raises(ValueError, match="never read"):
        saver._unpack(text)


def threads_command(*arguments: str) -> str:
    """Returns the output of the program `superstep threads`."""
    program = "import sys; from superstep._command import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "threads", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


class Reversing:
    """A serializer whose bytes are not readable, as those of one that encrypts."""

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        kind, data = JsonPlusSerializer().dumps_typed(obj)
        return kind + "+reversed", data[::-1]

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        return JsonPlusSerializer().loads_typed((data[0].removesuffix("+reversed"), data[1][::-1]))


def test_other_serializers_get_each_value_whole(url: str, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.db"
    with Saver(ss.sqlite_checkpointer(path), serde=Reversing()) as saver:
        config = put(saver, new_thread(thread_id="t"), {"text": "confidential", "branch:to:x": None})
        saver.put_writes(config, [("text", "confidential")], "task")
        found = get(saver, config)
        assert found.checkpoint["channel_values"] == {"text": "confidential", "branch:to:x": None}
        assert found.pending_writes == [("task", "text", "confidential")]
    text = threads_command("export", str(path), "t")
    assert "msgpack+reversed:" in text and "confidential" not in text


def test_rows_of_a_chat_grow_with_its_messages(saver: PostgresSaver, url: str) -> None:
    class Chat(MessagesState):
        pass

    def reply(state: Chat) -> dict[str, Any]:
        return {"messages": [AIMessage(f"answer {len(state['messages'])}")]}

    graph = StateGraph(Chat)
    graph.add_node("reply", reply)
    graph.add_edge(START, "reply")
    app: Any = graph.compile(checkpointer=saver)

    def size_after(turns: int) -> int:
        config = new_thread()
        for i in range(turns):
            app.invoke({"messages": [HumanMessage(f"question {i}")]}, config)
        lines = threads_command("list", url).splitlines()
        [found] = [t for t in map(json.loads, lines) if t["thread"] == config["configurable"]["thread_id"]]
        return int(found["bytes"])

    assert size_after(80) < 3 * size_after(40)


def copy_threads(source: BaseCheckpointSaver[Any], target: BaseCheckpointSaver[Any]) -> None:
    """The example of docs/python.md."""
    for found in reversed(list(source.list(None))):
        at: Any = found.parent_config or {
            "configurable": {**found.config["configurable"], "checkpoint_id": None}
        }
        versions = found.checkpoint["channel_versions"]
        config = target.put(at, found.checkpoint, found.metadata, versions)
        writes = found.pending_writes or []
        for task in dict.fromkeys(task for task, _, _ in writes):
            target.put_writes(config, [(channel, value) for t, channel, value in writes if t == task], task)


def test_threads_of_other_savers_can_be_copied(saver: PostgresSaver) -> None:
    memory = InMemorySaver()
    graph = build()
    app: Any = graph.compile(checkpointer=memory)
    config = new_thread()
    config["max_concurrency"] = 1
    first = {"messages": [HumanMessage("hello", id=str(uuid.uuid4()))], "items": []}
    with pytest.raises(ValueError, match="first attempt"):
        app.invoke(first, config)
    app.invoke(None, config)
    copy_threads(memory, saver)
    again: Any = graph.compile(checkpointer=saver)
    assert [s.values for s in again.get_state_history(config)] == [
        s.values for s in app.get_state_history(config)
    ]
    for answer in ("one", "two", True):
        results = [a.invoke(Command(resume=answer), config) for a in (again, app)]
        asked = [[i.value for i in result.pop("__interrupt__", [])] for result in results]
        assert results[0] == results[1] and asked[0] == asked[1]


def test_versions_of_other_savers_are_continued(saver: PostgresSaver) -> None:
    theirs = InMemorySaver().get_next_version(None, None)
    ours = saver.get_next_version(theirs, None)
    assert ours > theirs and InMemorySaver().get_next_version(ours, None) > ours
    assert [saver.get_next_version(v, None) for v in (None, 1)] == [1, 2]


def test_package_does_not_import_langgraph(
    run_python: Callable[..., "subprocess.CompletedProcess[str]"],
) -> None:
    done = run_python(
        "import superstep, superstep.checkpoint, sys; print([m for m in sys.modules if 'lang' in m])"
    )
    assert done.stdout.strip() == "[]"
