# SPDX-License-Identifier: Apache-2.0
"""The threads for Python code: nodes that use the CPU, nodes that wait, and both."""

import gc
import sys
import threading
import time
from typing import Any, Callable

import pytest

import superstep as ss


def fan_out(count: int, body: Callable[[Any], None]) -> ss.CompiledGraph:
    g = ss.Graph({"n": None}).add("work", body)
    g.branch(ss.START, lambda s: [ss.Send("work", i) for i in range(count)], ["work"])
    return g.compile()


def program(count: int, body: str) -> str:
    """A program that runs a fan-out and prints CPU time, wall time and the number of threads."""
    return f"""
import time, superstep as ss
def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end: pass
def work(i):
    {body}
g = ss.Graph({{"n": None}}).add("work", work)
g.branch(ss.START, lambda s: [ss.Send("work", i) for i in range({count})], ["work"])
graph = g.compile()
cpu, wall = time.process_time(), time.monotonic()
graph.invoke({{"n": 0}})
cpu, wall = time.process_time() - cpu, time.monotonic() - wall
print(cpu, wall, ss.stats()["python_threads_max"])
"""


def measure(run_python: Any, count: int, body: str, before: str = "") -> tuple[float, float, int]:
    done = run_python(f"{before}\n{program(count, body)}")
    assert done.stderr == ""
    cpu, wall, threads = done.stdout.split()
    return float(cpu), float(wall), int(threads)


def test_burning_nodes_use_few_threads(run_python: Any) -> None:
    cpu, _, threads = measure(run_python, 200, "burn(0.002)")
    assert cpu < 0.4 * 1.5  # 1.1 on an idle machine
    assert threads <= 8


def test_waiting_nodes_overlap(run_python: Any) -> None:
    _, wall, threads = measure(run_python, 64, "time.sleep(0.2)")
    assert wall < 64 * 0.2 / 4
    assert 8 <= threads <= 64


def test_mixed_nodes_overlap(run_python: Any) -> None:
    _, wall, threads = measure(run_python, 100, "burn(0.001) if i % 2 else time.sleep(0.1)")
    assert wall < 50 * 0.1
    assert threads <= 64


def test_more_waiting_nodes_than_threads(run_python: Any) -> None:
    _, _, threads = measure(run_python, 200, "time.sleep(0.02)")
    assert threads <= 64


def test_nodes_that_wait_for_each_other_end(run_python: Any) -> None:
    body = "counter.append(i)\n    while len(counter) < 4: time.sleep(0.001)"
    done = run_python("counter = []\n" + program(4, body))
    assert done.stderr == "" and done.returncode == 0


def test_nodes_that_spin_for_each_other_end(run_python: Any) -> None:
    body = "counter.append(i)\n    while len(counter) < 6: pass"
    cpu, _, threads = measure(run_python, 6, body, before="counter = []")
    assert cpu < 2.0  # 0.2 s on an idle machine
    assert threads == 6


def test_quick_nodes_run_in_threads_of_the_engine() -> None:
    """If the system interrupts a node for long, further nodes need a thread of the package once."""
    graph = fan_out(20, lambda x: None)
    for _ in range(50):
        graph.invoke({"n": 0})
        if ss.stats()["python_threads"] == 0:
            return
        time.sleep(0.1)
    raise AssertionError("threads of the package were used")


def test_idle_threads_end(run_python: Any) -> None:
    done = run_python(
        program(32, "time.sleep(0.1)")
        + """
for _ in range(600):
    if ss.stats()["python_threads"] == 0: break
    time.sleep(0.1)
print(ss.stats()["python_threads"])
graph.invoke({"n": 0})
"""
    )
    assert done.stderr == "" and done.stdout.splitlines()[1] == "0"


def test_other_runs_continue_while_a_node_waits() -> None:
    release = threading.Event()

    def wait(x: Any) -> None:
        release.wait(30)

    def nothing(x: Any) -> None:
        pass

    slow, quick = fan_out(1, wait), fan_out(3, nothing)
    waiting = threading.Thread(target=lambda: slow.invoke({"n": 0}))
    waiting.start()
    for _ in range(50):
        quick.invoke({"n": 0})
    release.set()
    waiting.join()


RULES = """scripted:
rules:
- {type: tool, text: 'after \\0'}
- {type: human, match: '.*', calls: [{name: act, args: {x: '\\0'}}]}
"""


def test_nested_runs_leave_threads_for_their_tools() -> None:
    """More tools wait for runs of their own than the pool has threads."""

    def inner_act(x: str) -> str:
        """Acts."""
        time.sleep(0.05)
        return x

    inner = ss.create_agent(RULES, [ss.tool(name="act")(inner_act)])

    def outer_act(x: str) -> str:
        """Acts."""
        return inner.invoke(x).text

    outer = ss.create_agent(RULES, [ss.tool(name="act")(outer_act)])
    rows = outer.batch([str(i) for i in range(150)], concurrency=150)
    assert [row.answer for row in rows] == [f"after after {i}" for i in range(150)]


# The functions of 150 runs occupy all threads of the pool while the runs that they wait for need one.
WAITS = {
    "event loop": "asyncio.run(inner.ainvoke({'n': n}))",
    "thread": "with_thread(n)",
    "executor": "executor.submit(inner.invoke, {'n': n}).result()",
    "lock": "with_lock(n)",
}


@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS.keys())
def test_functions_that_wait_for_other_runs_end(run_python: Any, wait: str) -> None:
    done = run_python(f"""
import asyncio, threading
from concurrent.futures import ThreadPoolExecutor
import superstep as ss
def graph(body):
    return ss.Graph({{"n": None}}).add("work", body).edge(ss.START, "work").compile()
inner = graph(lambda s: {{"n": s["n"] + 1}})
lock, executor = threading.Lock(), ThreadPoolExecutor(2)
def with_lock(n):
    with lock:
        return inner.invoke({{"n": n}})
def with_thread(n):
    found = []
    thread = threading.Thread(target=lambda: found.append(inner.invoke({{"n": n}})))
    thread.start()
    thread.join()
    return found[0]
def outer(s):
    n = s["n"]
    return {{"n": {wait}["n"]}}
results = graph(outer).batch([{{"n": i}} for i in range(150)], concurrency=150)
assert [r["n"] for r in results] == list(range(1, 151))
""")
    assert done.stderr == "" and done.returncode == 0


def plain_wrap(request: Any, handler: Any) -> Any:
    return handler(request)


async def coroutine_wrap(request: Any, handler: Any) -> Any:
    return await handler(request)


@pytest.mark.parametrize("wrap", [None, plain_wrap, coroutine_wrap])
def test_rows_leave_no_objects(wrap: Any) -> None:
    def act(x: str) -> str:
        """Acts."""
        return x

    layers = [ss.Middleware("m", wrap_model_call=wrap, wrap_tool_call=wrap)] if wrap else []
    agent = ss.create_agent(RULES, [act], middleware=layers)

    def run(count: int) -> int:
        """Returns the number of live blocks of memory of Python after some rows."""
        for row in agent.map((str(i) for i in range(count)), concurrency=32):
            assert row.answer == f"after {row.row}"
        gc.collect()
        return sys.getallocatedblocks()

    before = run(1000)
    assert run(5000) - before < 1000  # an object that each row leaves would give 5,000
