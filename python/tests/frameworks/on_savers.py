# SPDX-License-Identifier: Apache-2.0
"""Runs LangGraph's tests of checkpointers on PostgresSaver, and compares its costs with LangGraph's."""

from __future__ import annotations

import asyncio
import pathlib
import sys
import tempfile
import time
from typing import Any, AsyncIterator, Callable

import psycopg
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres import PostgresSaver as TheirSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver as TheirAsyncSaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import MessagesState
from psycopg_pool import AsyncConnectionPool

from superstep.checkpoint.postgres import PostgresSaver

sys.path.append(str(pathlib.Path(__file__).parents[3] / "scripts" / "soak.d"))
from postgres_server import PostgresServer

STEPS = 300
TURNS = 200
RUNS = 64
MANY_STEPS = 20
ROUNDS = 5

#: The bytes of all rows of a thread.
OUR_BYTES = """select sum(length(row)) from superstep_threads.points p
    join superstep_threads.threads t on t.no = p.thread where t.thread = %s"""
THEIR_BYTES = """select (select sum(length(blob)) from checkpoint_blobs where thread_id = %s)
    + (select sum(length(checkpoint::text) + length(metadata::text)) from checkpoints where thread_id = %s)
    + (select sum(length(blob)) from checkpoint_writes where thread_id = %s)"""


class Count(MessagesState):
    n: int


def loop(steps: int = STEPS) -> Any:
    """A graph that counts to a number."""
    graph = StateGraph(Count)
    graph.add_node("step", lambda state: {"n": state["n"] + 1})
    graph.add_edge(START, "step")
    graph.add_conditional_edges("step", lambda state: "step" if state["n"] < steps else "__end__")
    return graph


def chat() -> Any:
    graph = StateGraph(MessagesState)
    graph.add_node("reply", lambda state: {"messages": [AIMessage("An answer of some words.")]})
    graph.add_edge(START, "reply")
    return graph


threads = iter(range(1_000_000))


def config() -> Any:
    return {"configurable": {"thread_id": f"thread {next(threads)}"}, "recursion_limit": STEPS + 10}


def run_loop(saver: Any, durability: str) -> float:
    """Returns the CPU time of this process for a super-step in microseconds."""
    app = loop().compile(checkpointer=saver)
    begin = time.process_time()
    options = {"durability": durability} if saver else {}
    assert app.invoke({"n": 0}, config(), **options)["n"] == STEPS
    return (time.process_time() - begin) / STEPS * 1e6


class Recorder(InMemorySaver):
    """Records the calls that a graph makes, with the versions of another saver."""

    def __init__(self, saver: Any) -> None:
        super().__init__()
        self.get_next_version = saver.get_next_version  # type: ignore[method-assign]
        self.calls: list[tuple[str, Any]] = []

    def put(self, *arguments: Any) -> Any:
        self.calls.append(("put", arguments))
        return super().put(*arguments)

    def put_writes(self, *arguments: Any) -> None:
        self.calls.append(("put_writes", arguments))
        super().put_writes(*arguments)


def run_alone(saver: Any) -> float:
    """Returns the CPU time of this process for the saver's calls of a super-step in microseconds."""
    recorder = Recorder(saver)
    loop().compile(checkpointer=recorder).invoke({"n": 0}, config(), durability="sync")
    begin = time.process_time()
    for name, arguments in recorder.calls:
        getattr(saver, name)(*arguments)
    return (time.process_time() - begin) / STEPS * 1e6


def run_chat(saver: Any) -> tuple[float, str]:
    """Returns the CPU time of a turn in microseconds, and the thread."""
    app, at = chat().compile(checkpointer=saver), config()
    begin = time.process_time()
    for i in range(TURNS):
        app.invoke({"messages": [HumanMessage(f"Question {i}, which also has some words.")]}, at)
    assert len(app.get_state(at).values["messages"]) == 2 * TURNS
    return (time.process_time() - begin) / TURNS * 1e6, at["configurable"]["thread_id"]


def least(calls: "dict[str, Callable[[], float]]") -> dict[str, float]:
    """Returns the minimum of several rounds, in which the calls are made in turn."""
    rounds = [{name: call() for name, call in calls.items()} for _ in range(ROUNDS)]
    return {name: min(r[name] for r in rounds) for name in calls}


async def run_many(saver: Any) -> tuple[float, float]:
    """Returns the super-steps per second of RUNS concurrent runs, and the CPU time of one in microseconds."""
    app = loop(MANY_STEPS).compile(checkpointer=saver)

    async def run() -> None:
        assert (await app.ainvoke({"n": 0}, config(), durability="sync"))["n"] == MANY_STEPS

    await run()
    begin, cpu = time.monotonic(), time.process_time()
    await asyncio.gather(*(run() for _ in range(RUNS)))
    steps = RUNS * MANY_STEPS
    return steps / (time.monotonic() - begin), (time.process_time() - cpu) / steps * 1e6


async def compare_many(url: str) -> None:
    """Compares concurrent runs. LangGraph's saver has as many connections as are useful here."""
    options = {"autocommit": True, "prepare_threshold": 0, "row_factory": psycopg.rows.dict_row}
    async with (
        AsyncConnectionPool(url, min_size=8, max_size=8, kwargs=options) as pool,
        PostgresSaver(url) as ours,
    ):
        theirs = TheirAsyncSaver(pool)
        found = [(await run_many(theirs), await run_many(ours)) for _ in range(ROUNDS)]
    for i, name in enumerate(("LangGraph", "superstep")):
        rate, cost = max(f[i][0] for f in found), min(f[i][1] for f in found)
        print(f"{RUNS} concurrent runs: {rate:.0f} super-steps per second, {cost:.0f} us each, {name}")


def check_conformance(url: str) -> None:
    @checkpointer_test(name="superstep.PostgresSaver")
    async def make() -> AsyncIterator[PostgresSaver]:
        async with PostgresSaver.from_conn_string(url) as saver:
            yield saver

    report = asyncio.run(validate(make))
    for name, result in report.results.items():
        print(f"conformance {name}: {result.tests_passed} passed, {result.tests_failed} failed")
        assert result.passed, result.failures


def compare(url: str) -> None:
    connection = psycopg.connect(url, autocommit=True, prepare_threshold=0, row_factory=psycopg.rows.dict_row)
    theirs = TheirSaver(connection)
    theirs.setup()
    with PostgresSaver(url) as ours:
        alone = least({"theirs": lambda: run_alone(theirs), "ours": lambda: run_alone(ours)})
        print(
            f"calls of a super-step: {alone['theirs']:.0f} us LangGraph, {alone['ours']:.0f} us superstep, "
            f"factor {alone['theirs'] / alone['ours']:.1f}"
        )
        assert alone["ours"] < alone["theirs"]
        for durability in ("sync", "async"):
            found = least(
                {
                    "none": lambda: run_loop(None, durability),
                    "theirs": lambda: run_loop(theirs, durability),
                    "ours": lambda: run_loop(ours, durability),
                }
            )
            costs = [found[name] - found["none"] for name in ("theirs", "ours")]
            print(
                f"super-step, {durability}: {found['none']:.0f} us without a saver, + {costs[0]:.0f} us LangGraph, "
                f"+ {costs[1]:.0f} us superstep, factor {costs[0] / costs[1]:.1f}"
            )
        (their_cost, a), (our_cost, b) = run_chat(theirs), run_chat(ours)
        their_bytes = list(connection.execute(THEIR_BYTES, (a, a, a)).fetchone().values())[0]
        our_bytes = list(connection.execute(OUR_BYTES, (b,)).fetchone().values())[0]
        print(
            f"chat of {TURNS} turns: {their_cost:.0f} us and {their_bytes / TURNS:.0f} bytes a turn LangGraph, "
            f"{our_cost:.0f} us and {our_bytes / TURNS:.0f} bytes superstep"
        )
        assert our_bytes < their_bytes


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="superstep-") as folder:
        pathlib.Path(folder).chmod(0o755)
        server = PostgresServer(folder + "/server")
        try:
            check_conformance(server.url())
            compare(server.url())
            asyncio.run(compare_many(server.url()))
        finally:
            server.stop()


if __name__ == "__main__":
    main()
