# SPDX-License-Identifier: Apache-2.0
"""An adapter for Spark: ``frame.mapInArrow(superstep.spark.map(...), superstep.spark.schema(...))``."""

from __future__ import annotations

from typing import Any, Callable, Iterable, Iterator, Unpack

from . import _rows, _superstep


def map(
    agent: _rows.AgentSource,
    tools: Iterable[Callable[..., Any]] = (),
    **settings: Unpack[_rows.Settings],
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Returns a function for mapInArrow() or mapInPandas(), which runs an agent over a partition.

    The parameters are those of superstep.ray.Agent. The agent of an agent file is read here, on the
    driver, so the workers need not have the file. At most ``concurrency`` rows of a partition run at
    the same time, also across the boundaries of its blocks.
    """
    runner = _rows.Runner(agent, tools, settings)
    return lambda blocks: _run_blocks(runner, blocks)


def schema(of: Any, columns: Iterable[str] | None = None) -> str:
    """Returns the schema of the result: the columns of the input, then ours.

    ``of`` is the schema of the input, a StructType, or the same as a text such as "id long".
    ``columns`` are those of map(); the default is all.
    """
    if isinstance(of, str):
        before = [of]
    else:
        before = [f"`{field.name}` {field.dataType.simpleString()}" for field in of.fields]
    return ", ".join(before + [f"{name} {kind}" for name, kind in _rows.columns_of(columns).items()])


def _run_blocks(runner: _rows.Runner, blocks: Iterator[Any]) -> Iterator[Any]:
    """Runs the rows of all blocks in one window, and yields a block when its last row has ended."""
    results = _superstep.Results()
    window = runner.open(results, reports_room=True)
    open_blocks: dict[int, Any] = {}

    def ended(seconds: float) -> Iterator[Any]:
        for number, outcomes in results.take(seconds):
            if number >= 0:
                yield runner.with_outcomes(open_blocks.pop(number), outcomes)

    try:
        for number, block in enumerate(blocks):
            open_blocks[number] = block
            runner.add(window, block, number)
            yield from ended(0.0)
            while window.waiting():
                yield from ended(-1.0)
        while open_blocks:
            yield from ended(-1.0)
    finally:
        window.cancel()
