# SPDX-License-Identifier: Apache-2.0
"""Makes ten million calls of Python functions, and checks that the memory of the process does not grow.

The environment variable SUPERSTEP_CALLS sets the number of calls, which is at least a million. Before them,
the program makes two million calls in which the pools of the threads grow to their sizes, and a million
with a leak of its own, which the check must find.

What counts is the memory that is allocated and not freed. The resident memory of a process is less exact: it
grows by megabytes when its threads are busy together for the first time.
"""

from __future__ import annotations

import asyncio
import ctypes
import dataclasses
import gc
import os
import re
import statistics
import sys
from typing import Any, Callable

import superstep as ss

#: The least number of calls. In short rounds, what the threads keep for later calls would count.
CALLS_MIN = 1_000_000
#: Calls before the first round, and the number of rounds.
WARM_CALLS = 2_000_000
ROUNDS = 10
#: Largest growth in the median round: bytes of malloc() per call, and in addition per round, and objects of
#: Python per call. The bytes vary with the number of calls that happen to run at the same time.
BYTES_MAX = 0.5
BYTES_ROUND_MAX = 100_000
OBJECTS_MAX = 0.01
#: Largest growth of the resident memory in all rounds, in bytes.
RESIDENT_MAX = 32 << 20
#: The leak that must be found: for this number of calls, one object of Python and these bytes of malloc().
LEAK_EVERY = 16
LEAK_BYTES = 32

RULES = r"""scripted:
rules:
- {type: tool, text: 'after \0'}
- {type: human, match: '.*', calls: [{name: act, args: {x: '\0'}}]}
"""


def act(x: str) -> str:
    """Acts."""
    return x


async def wait(x: str) -> str:
    """Acts later."""
    await asyncio.sleep(0)
    return x


def fail(x: str) -> str:
    """Fails."""
    raise LookupError(x)


libc = ctypes.CDLL(None)
libc.malloc.restype = libc.open_memstream.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.malloc_info.argtypes = [ctypes.c_int, ctypes.c_void_p]
libc.open_memstream.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
libc.fclose.argtypes = libc.free.argtypes = [ctypes.c_void_p]

#: The addresses that the leak has kept; None without a leak.
leaked: list[int] | None = None


@dataclasses.dataclass
class Memory:
    """The memory of the process: bytes of malloc() in use, objects of Python, and resident bytes."""

    bytes: int
    objects: int
    resident: int


def memory() -> Memory:
    """Returns the memory of the process, after garbage was collected."""
    gc.collect()
    with open("/proc/self/statm") as file:
        resident = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return Memory(allocated_bytes(), sys.getallocatedblocks(), resident)


def allocated_bytes() -> int:
    """Returns the bytes of malloc() in use, of all threads, from the report of glibc."""
    text, size = ctypes.c_void_p(), ctypes.c_size_t()
    stream = libc.open_memstream(ctypes.byref(text), ctypes.byref(size))
    libc.malloc_info(0, stream)
    libc.fclose(stream)
    report = ctypes.string_at(text, size.value).decode()
    libc.free(text)
    totals = report[report.rindex("</heap>") :]

    def total(pattern: str) -> int:
        found = re.search(pattern + r' size="(\d+)"', totals)
        assert found is not None, totals
        return int(found[1])

    free = total(r'total type="fast" count="\d+"') + total(r'total type="rest" count="\d+"')
    return total('system type="current"') - free + total(r'total type="mmap" count="\d+"')


def rows(tool: Callable[[str], Any]) -> Callable[[int], None]:
    """Returns a function that runs an agent with a tool over a number of rows."""
    agent = ss.create_agent(RULES, [ss.tool(name="act")(tool)])

    def run(count: int) -> None:
        answers = sum(row.status == "finished" for row in agent.map(map(str, range(count))))
        assert answers == count

    return run


def sends(count: int) -> None:
    def work(x: int) -> dict[str, Any]:
        if leaked is not None and x % LEAK_EVERY == 0:
            leaked.append(libc.malloc(LEAK_BYTES))
        return {"n": x}

    graph = ss.Graph({"n": max}).add("work", work)
    graph.branch(ss.START, lambda s: [ss.Send("work", i) for i in range(1_000)], ["work"])
    app = graph.compile()
    for _ in range(count // 1_000):
        assert app.invoke({"n": 0})["n"] == 999


def loop(count: int) -> None:
    graph = ss.Graph({"n": None}).add("step", lambda s: {"n": s["n"] + 1}).edge(ss.START, "step")
    graph.branch("step", lambda s: "step" if s["n"] < 1_000 else ss.END, ["step", ss.END])
    app = graph.compile()
    for _ in range(count // 1_000):
        assert app.invoke({"n": 0}, recursion_limit=1_010)["n"] == 1_000


def cancelled(count: int) -> None:
    """Calls whose runs are cancelled while coroutines wait."""

    async def step(state: Any) -> dict[str, Any]:
        await asyncio.sleep(0.001)
        return {}

    app = ss.Graph({"n": None}).add("step", step).edge(ss.START, "step").compile()

    async def one() -> None:
        try:
            await asyncio.wait_for(app.ainvoke({"n": 0}), 0.001)
        except asyncio.TimeoutError:
            pass

    async def main() -> None:
        for _ in range(count // 100):
            await asyncio.gather(*(one() for _ in range(100)))

    asyncio.run(main())


def events(count: int) -> None:
    app = ss.Graph({"n": None}).add("step", lambda s: {"n": 1}).edge(ss.START, "step").compile()
    for _ in range(count):
        assert len(list(app.stream({"n": 0}))) == 1


#: The kinds of calls, with their parts of all calls.
KINDS: list[tuple[Callable[[int], None], float]] = [
    (sends, 0.85),
    (loop, 0.05),
    (rows(act), 0.07),
    (rows(fail), 0.01),
    (rows(wait), 0.01),
    (events, 0.005),
    (cancelled, 0.005),
]


def make_calls(count: float) -> None:
    for run, part in KINDS:
        run(int(count * part))


def growth(calls: int) -> set[str]:
    """Makes calls in rounds, and returns what grows too much: bytes, objects, resident."""
    a_round = calls / ROUNDS
    seen = [memory()]
    for number in range(1, ROUNDS + 1):
        make_calls(a_round)
        now = memory()
        seen.append(now)
        print(
            f"{int(number * a_round)} calls: {now.bytes / 1e6:.2f} MB of malloc(), {now.objects} objects of Python, "
            f"{now.resident / 1e6:.1f} MB resident",
            flush=True,
        )
    pairs = list(zip(seen, seen[1:]))
    found = {
        "bytes": statistics.median(after.bytes - before.bytes for before, after in pairs) / a_round,
        "objects": statistics.median(after.objects - before.objects for before, after in pairs) / a_round,
        "resident": float(seen[-1].resident - seen[0].resident),
    }
    most = {"bytes": BYTES_MAX + BYTES_ROUND_MAX / a_round, "objects": OBJECTS_MAX, "resident": RESIDENT_MAX}
    print(
        f"growth in the median round: {found['bytes']:.3f} bytes of malloc() a call (at most {most['bytes']:.3f}), "
        f"{found['objects']:.4f} objects a call (at most {OBJECTS_MAX}); resident in all rounds: "
        f"{found['resident'] / 1e6:.1f} MB (at most {RESIDENT_MAX / 1e6:.1f})",
        flush=True,
    )
    return {name for name in found if found[name] > most[name]}


def main() -> None:
    global leaked
    calls = int(os.environ.get("SUPERSTEP_CALLS", 10 * CALLS_MIN))
    if calls < CALLS_MIN:
        sys.exit(
            f"SUPERSTEP_CALLS={calls}: must be at least {CALLS_MIN}, because the growth in a short round "
            "depends on what the threads keep for later calls"
        )
    ss.engine(1)
    make_calls(WARM_CALLS)
    print(f"with a leak of an object and of {LEAK_BYTES} bytes for each {LEAK_EVERY} calls:", flush=True)
    leaked = []
    if not growth(CALLS_MIN) >= {"bytes", "objects"}:
        sys.exit("the check does not find the leak")
    for address in leaked:
        libc.free(address)
    leaked = None
    print("without a leak:", flush=True)
    if growing := growth(calls):
        sys.exit(f"the memory grows: {', '.join(sorted(growing))}")


if __name__ == "__main__":
    main()
