# SPDX-License-Identifier: Apache-2.0
"""The threads for Python code: nodes that use the CPU, nodes that wait, and both."""

import threading
from typing import Any, Callable

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


def measure(run_python: Any, count: int, body: str) -> tuple[float, float, int]:
    done = run_python(program(count, body))
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
    body = "counter.append(i)\n    while len(counter) < 3: pass"
    done = run_python("counter = []\n" + program(3, body))
    assert done.stderr == "" and done.returncode == 0


def test_idle_threads_end(run_python: Any) -> None:
    done = run_python(
        program(32, "time.sleep(0.1)")
        + """
for _ in range(100):
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
