# SPDX-License-Identifier: Apache-2.0
"""Measures what docs/python.md promises about threads, tools and Ctrl-C, each in processes of its own."""

from __future__ import annotations

import signal
import statistics
import subprocess
import sys
import time

ROUNDS = 7

NODES = """
import time, superstep as ss
ss.engine(1)
def burn(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end: pass
counter = []
def wait_actively(count):
    counter.append(1)
    while len(counter) < count: pass
def work(i): BODY
graph = ss.Graph({"n": None}).add("work", work)
graph.branch(ss.START, lambda s: [ss.Send("work", i) for i in range(COUNT)], ["work"])
app = graph.compile()
cpu, wall = time.process_time(), time.monotonic()
app.invoke({"n": 0})
print(time.process_time() - cpu, time.monotonic() - wall, ss.stats()["python_threads_max"])
"""

#: Name, number of nodes, what they do, and the largest CPU time, elapsed time and number of threads.
NODE_CASES = [
    ("200 nodes that use the CPU for 2 ms", 200, "burn(0.002)", 1.1 * 0.4, None, 8),
    ("64 nodes that sleep for 50 ms", 64, "time.sleep(0.05)", None, 0.08, 64),
    ("50 nodes of each kind", 100, "burn(0.002) if i % 2 else time.sleep(0.05)", None, None, 64),
    ("6 nodes that wait actively for each other", 6, "wait_actively(6)", None, None, 64),
]

TOOLS = r"""
import pathlib, tempfile, time, superstep as ss
ss.engine(1)
def add(expression: str) -> str:
    return "3"
folder = pathlib.Path(tempfile.mkdtemp(prefix="superstep-"))
(folder / "rules.yaml").write_text('''
rules:
  - {type: tool, text: 'It is \\0.'}
  - {type: human, match: '.*', calls: [{name: calculator, args: {expression: '1 + 2'}}]}
''')
(folder / "python.yaml").write_text("name: a\nmodel: {provider: scripted, path: rules.yaml}\n")
(folder / "native.yaml").write_text((folder / "python.yaml").read_text() + "tools: [calculator]\n")
agents = [
    ss.Agent.from_file(str(folder / "native.yaml")),
    ss.Agent.from_file(str(folder / "python.yaml"), [ss.tool(name="calculator")(add)]),
]
least = [[float("inf")] * 2 for _ in agents]
for _ in range(ROUNDS):
    for agent, best in zip(agents, least):
        begin = time.process_time()
        assert sum(row.answer == "It is 3." for row in agent.map(["x"] * 10_000)) == 10_000
        middle = time.process_time()
        for _ in range(1_000):
            assert agent.invoke("x").text == "It is 3."
        spent = [(middle - begin) / 10_000, (time.process_time() - middle) / 1_000]
        best[:] = map(min, best, spent)
print(*((b - a) * 1e6 for a, b in zip(*least)))
"""

INTERRUPTED = """
import superstep as ss, time
def slow(state):
    print("started", flush=True)
    BODY
app = ss.Graph({"n": None}).add("a", slow).edge(ss.START, "a").compile()
try:
    app.invoke({"n": 1})
except KeyboardInterrupt:
    print("interrupted", flush=True)
    raise
"""


def numbers(program: str) -> list[float]:
    """Runs a program, and returns the numbers that it prints."""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return list(map(float, done.stdout.split()))


def interrupt(body: str) -> float:
    """Returns the seconds from Ctrl-C to the exception, while a node executes the code."""
    command = [sys.executable, "-c", INTERRUPTED.replace("BODY", body)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as child:
        assert child.stdout is not None and child.stdout.readline() == "started\n"
        time.sleep(0.1)  # until the main thread waits
        begin = time.monotonic()
        child.send_signal(signal.SIGINT)
        assert child.stdout.readline() == "interrupted\n"
        seconds = time.monotonic() - begin
    assert child.returncode == 130, child.returncode
    return seconds


def main() -> None:
    failed = []

    def check(name: str, value: float, most: "float | None") -> None:
        if most is not None and value > most:
            failed.append(f"{name}: {value:.4g}, more than {most:.4g}")

    for name, count, body, cpu_max, wall_max, threads_max in NODE_CASES:
        program = NODES.replace("COUNT", str(count)).replace("BODY", body)
        cpu, wall, threads = zip(*(numbers(program) for _ in range(ROUNDS)))
        print(
            f"{name}: {min(cpu) * 1e3:.0f} ms of CPU time, {min(wall) * 1e3:.0f} ms elapsed (minima), "
            f"at most {max(threads):.0f} threads",
            flush=True,
        )
        check(f"{name}, CPU time", min(cpu), cpu_max)
        check(f"{name}, elapsed time", min(wall), wall_max)
        check(f"{name}, threads", statistics.median(threads), threads_max)
    row, alone = numbers(TOOLS.replace("ROUNDS", str(ROUNDS)))
    print(f"a Python tool costs {row:.1f} us more than a native one in a row, {alone:.1f} us in a single run", flush=True)
    check("a Python tool in a single run", alone, 25.0)
    for body in ("time.sleep(30)", "while True: pass"):
        seconds = sorted(interrupt(body) for _ in range(ROUNDS))
        print(
            f"Ctrl-C during `{body}`: {statistics.median(seconds) * 1e3:.0f} ms (median), "
            f"{seconds[-1] * 1e3:.0f} ms (most)",
            flush=True,
        )
        check(f"Ctrl-C during `{body}`", statistics.median(seconds), 0.1)
    if failed:
        sys.exit("\n".join(failed))


if __name__ == "__main__":
    main()
