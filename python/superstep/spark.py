# SPDX-License-Identifier: Apache-2.0
"""An adapter for Spark: ``frame.mapInPandas(superstep.spark.map(...), superstep.spark.schema(...))``."""

from __future__ import annotations

import builtins
from typing import Any, Callable, Iterable, Iterator, Unpack

from . import _rows


def map(
    agent: _rows.AgentSource,
    tools: Iterable[Callable[..., Any]] = (),
    **settings: Unpack[_rows.Settings],
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """Returns a function for mapInPandas() that runs an agent over the rows of a partition.

    The parameters are those of superstep.ray.Agent. The agent of an agent file is read here, on the
    driver, so the workers need not have the file. At most ``concurrency`` rows of a partition run at
    the same time, also across the boundaries of its blocks.
    """
    runner = _rows.Runner(agent, tools, settings)
    return lambda blocks: _run_blocks(runner, blocks)


def schema(of: Any) -> str:
    """Returns the schema of the result for mapInPandas(): the columns of the input, then ours.

    ``of`` is the schema of the input, a StructType, or the same as a text such as "id long".
    """
    if isinstance(of, str):
        before = [of]
    else:
        before = [f"`{field.name}` {field.dataType.simpleString()}" for field in of.fields]
    return ", ".join(before + [f"{name} {kind}" for name, kind in _rows.COLUMNS.items()])


def _run_blocks(runner: _rows.Runner, blocks: Iterator[Any]) -> Iterator[Any]:
    """Runs the rows of all blocks in one window, and yields a block when its last row has ended."""
    open_blocks: dict[int, tuple[Any, list[Any]]] = {}

    def rows() -> Iterator[dict[str, Any]]:
        for number, block in enumerate(blocks):
            records = block.to_dict("records")
            open_blocks[number] = (block, [None] * len(records))
            places.extend((number, position) for position in range(len(records)))
            yield from records

    places: list[tuple[int, int]] = []
    for outcome in runner.map(rows()):
        number, position = places[outcome.index]
        block, outcomes = open_blocks[number]
        outcomes[position] = outcome
        if builtins.all(one is not None for one in outcomes):
            del open_blocks[number]
            yield block.assign(**_rows.columns_of(outcomes))
    for block, _ in open_blocks.values():  # blocks without rows
        yield block.assign(**_rows.columns_of([]))
