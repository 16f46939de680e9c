# SPDX-License-Identifier: Apache-2.0
"""Threads of LangGraph that several savers, threads or processes use."""

import asyncio
import os
import time
import uuid
import warnings
from typing import Any, TypedDict

import pytest

import superstep as ss

pytest.importorskip("langgraph")

from langgraph.checkpoint.base import empty_checkpoint
from langgraph.graph import START, StateGraph
from langgraph.graph.message import MessagesState
from langgraph.types import Command, interrupt
from savers import get, new_thread, put

from superstep.checkpoint.postgres import PostgresSaver


def test_put_writes_finds_checkpoints_of_other_savers(saver: PostgresSaver, url: str) -> None:
    first = put(saver, new_thread(), {"i": 0})
    with PostgresSaver.from_conn_string(url) as other:
        second = put(other, first, {"i": 1})
        saver.put_writes(second, [("__interrupt__", "?")], "task")
        assert get(other, second).pending_writes == [("task", "__interrupt__", "?")]


def test_two_processes_answer_the_interrupts_of_one_node(url: str) -> None:
    def ask(state: MessagesState) -> dict[str, Any]:
        return {"messages": [f"{interrupt('first')} {interrupt('second')}"]}

    config = new_thread()
    with PostgresSaver.from_conn_string(url) as one, PostgresSaver.from_conn_string(url) as other:
        graph: StateGraph[Any, Any, Any, Any] = StateGraph(MessagesState)
        graph.add_node("ask", ask)
        graph.add_edge(START, "ask")
        here, there = graph.compile(checkpointer=one), graph.compile(checkpointer=other)
        here.invoke({"messages": []}, config)
        there.invoke(Command(resume="a"), config)
        ended = here.invoke(Command(resume="b"), config)
    assert [message.content for message in ended["messages"]] == ["a b"]


def test_conflicting_runs_are_errors(saver: PostgresSaver, url: str) -> None:
    config = put(saver, new_thread(), {"i": 0})
    with PostgresSaver(url) as other:
        get(other, config)
        put(other, config, {"i": 1})
        late = empty_checkpoint()
        with pytest.raises(ss.RunError, match="another run"):
            saver.put(
                {"configurable": {"checkpoint_ns": "", **config["configurable"]}}, late, {"step": 1}, {}
            )
        thread = new_thread(thread_id=config["configurable"]["thread_id"])
        assert get(saver, thread).checkpoint["channel_values"] == {"i": 1}
        assert get(saver, put(saver, get(saver, thread).config, {"i": 2})).checkpoint["channel_values"] == {
            "i": 2
        }


def test_thread_of_another_program_is_an_error(saver: PostgresSaver, url: str) -> None:
    class Plain(TypedDict, total=False):
        n: int

    graph = ss.Graph(Plain).add("a", lambda s: {"n": 1}).edge(ss.START, "a")
    thread = str(uuid.uuid4())
    graph.compile(checkpointer=ss.postgres_checkpointer(url)).invoke({}, thread_id=thread)
    with pytest.raises(ValueError, match="not saved by LangGraph"):
        saver.get_tuple(new_thread(thread_id=thread))


def test_first_calls_of_many_threads_open_one_connection(url: str) -> None:
    opened = []
    with PostgresSaver(url) as saver:
        make = saver._opened._checkpointer._native  # type: ignore[union-attr]

        def open_slowly() -> Any:
            opened.append(1)
            time.sleep(0.05)
            return make()

        saver._opened._checkpointer._native = open_slowly  # type: ignore

        async def read_all() -> None:
            await asyncio.gather(*(saver.aget_tuple(new_thread()) for _ in range(50)))

        asyncio.run(read_all())
    assert opened == [1]


def test_forked_process_opens_the_database_again(url: str) -> None:
    with PostgresSaver(url) as saver:
        config = asyncio.run(
            saver.aput(put(saver, new_thread(), {"i": 1}), empty_checkpoint(), {"step": 2}, {})
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # threads and fork
            child = os.fork()
        if child == 0:
            found = asyncio.run(saver.aget_tuple(config))
            os._exit(0 if found and found.metadata["step"] == 2 else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert get(saver, put(saver, config, {"i": 3})).checkpoint["channel_values"] == {"i": 3}


def test_closed_saver_cannot_be_used(url: str) -> None:
    with PostgresSaver(url) as saver:
        config = put(saver, new_thread(), {"i": 1})
    with pytest.raises(RuntimeError, match="closed"):
        saver.get_tuple(config)
