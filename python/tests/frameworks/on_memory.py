# SPDX-License-Identifier: Apache-2.0
"""Makes ten million calls of Python functions, and checks that the memory of the process does not grow."""

from __future__ import annotations

import asyncio
import gc
import os
import statistics
from typing import Any, Callable

import superstep as ss

#: Calls of the whole run, and the rounds in which they are made. Memory is read after each round.
CALLS = int(os.environ.get("SUPERSTEP_CALLS", 10_000_000))
ROUNDS = 20
#: Rounds after which the memory should not grow any more, and the bytes per call by which it may. Before,
#: the pools of all threads grow to their sizes.
WARM_ROUNDS = 10
GROWTH_MAX = 0.5

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


def resident() -> int:
    """Returns the resident memory of the process in bytes."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def rows(tool: Callable[[str], Any]) -> Callable[[int], None]:
    """Returns a function that runs an agent with a tool over a number of rows."""
    agent = ss.create_agent(RULES, [ss.tool(name="act")(tool)])

    def run(count: int) -> None:
        answers = sum(row.status == "finished" for row in agent.map(map(str, range(count))))
        assert answers == count

    return run


def sends(count: int) -> None:
    def work(x: int) -> dict[str, Any]:
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


def main() -> None:
    ss.engine(1)
    sizes = []
    for number in range(ROUNDS):
        for run, part in KINDS:
            run(int(CALLS / ROUNDS * part))
        gc.collect()
        sizes.append(resident())
        print(f"{(number + 1) * CALLS // ROUNDS} calls: {sizes[-1] / 1e6:.1f} MB", flush=True)
    # The median, because a busy machine makes the pools of threads grow late, in a few steps. A leak would
    # grow in each round.
    warm = sizes[WARM_ROUNDS - 1 :]
    growth = statistics.median(b - a for a, b in zip(warm, warm[1:])) / (CALLS / ROUNDS)
    print(f"growth in a round after the first {WARM_ROUNDS}: {growth:.3f} bytes a call (median)")
    assert growth < GROWTH_MAX


if __name__ == "__main__":
    main()
