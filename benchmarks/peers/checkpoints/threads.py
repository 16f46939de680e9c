# SPDX-License-Identifier: Apache-2.0
"""Runs W8loop and W8chat with LangGraph and its SQLite saver. Prints JSON like superstep-bench.

    python threads.py W8loop S=1000 dur=sync|async [dir=.]
    python threads.py W8chat H=300 dur=sync|async [dir=.]

Needs langgraph and langgraph-checkpoint-sqlite.
"""
import json
import os
import sys
import time
from typing import TypedDict

from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.language_models import BaseChatModel
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph


class Count(TypedDict):
    n: int


def make_loop(steps, saver):
    def count(state):
        return {"n": state["n"] + 1}

    graph = StateGraph(Count)
    graph.add_node("a", count)
    graph.add_node("b", count)
    graph.add_edge(START, "a")
    graph.add_conditional_edges("a", lambda s: "b" if s["n"] < steps else END, ["b", END])
    graph.add_conditional_edges("b", lambda s: "a" if s["n"] < steps else END, ["a", END])
    return graph.compile(checkpointer=saver)


class Scripted(BaseChatModel):
    """A model that calls the tool once per human message, and then answers with a text."""

    @property
    def _llm_type(self):
        return "scripted"

    def bind_tools(self, tools, **kwargs):
        return self

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        humans = answers = results = 0
        for m in messages:
            if m.type == "human":
                humans += 1
                answers = 0
            elif m.type == "ai":
                answers += 1
            elif m.type == "tool":
                results += 1
        if answers >= 1:
            out = AIMessage(content=f"done {humans} {results}")
        else:
            query = f"q{humans}-{answers}-0"
            call = {"name": "echo", "args": {"query": query}, "id": f"call_{humans}_{answers}_0"}
            out = AIMessage(content="", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=out)])


@tool
def echo(query: str) -> str:
    """Repeats the query."""
    return f"result for {query}"


def make_agent(saver):
    from langgraph.prebuilt import create_react_agent

    return create_react_agent(Scripted(), [echo], version="v2", checkpointer=saver)


def bytes_of(path):
    return sum(os.path.getsize(path + end) for end in ("", "-wal") if os.path.exists(path + end))


def loop(graph, config, steps, when):
    out = graph.invoke({"n": 0}, config, durability=when)
    assert out["n"] == steps, out
    return steps, {"n": steps}


def chat(graph, config, turns, when):
    for k in range(1, turns + 1):
        text = f"hi {k} ".ljust(200, "x")
        out = graph.invoke({"messages": [HumanMessage(text)]}, config, durability=when)
    assert len(out["messages"]) == 4 * turns
    return turns, {"messages": 4 * turns}


def main():
    workload, *rest = sys.argv[1:]
    given = dict(p.split("=", 1) for p in rest)
    if workload not in ("W8loop", "W8chat"):
        sys.exit(3)
    path = os.path.join(given.get("dir", "."), f"peer-{os.getpid()}.db")
    is_loop = workload == "W8loop"
    units = int(given.get("S", 1000) if is_loop else given.get("H", 300))
    when = given.get("dur", "async")
    with SqliteSaver.from_conn_string(path) as saver:
        graph = make_loop(units, saver) if is_loop else make_agent(saver)
        run = loop if is_loop else chat
        limit = 10_000_000
        if is_loop:
            warm = make_loop(2, saver)
            loop(warm, {"configurable": {"thread_id": "warm"}}, 2, when)
            saver.delete_thread("warm")
        else:
            chat(graph, {"configurable": {"thread_id": "warm"}}, 1, when)
            saver.delete_thread("warm")
        config = {"configurable": {"thread_id": "t"}, "recursion_limit": limit}
        wall, cpu = time.monotonic(), time.process_time()
        count, checks = run(graph, config, units, when)
        seconds, cpu = time.monotonic() - wall, time.process_time() - cpu
    size = bytes_of(path)
    for end in ("", "-wal", "-shm"):
        if os.path.exists(path + end):
            os.remove(path + end)
    print(json.dumps({"workload": workload, "params": {**given}, "peer": "langgraph",
                      "seconds": seconds, "units": count, "per_unit": seconds / count,
                      "cpu_seconds": cpu, "bytes": size, "checks": checks}))


if __name__ == "__main__":
    main()
