# SPDX-License-Identifier: Apache-2.0
"""An adapter for Spark: ``frame.mapInPandas(superstep.spark.map(...), superstep.spark.schema(...))``."""

from __future__ import annotations

import itertools
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
    open_blocks: dict[int, _Block] = {}
    places: dict[int, tuple[int, int]] = {}  # of the rows that run, by their index
    count = itertools.count()

    def rows() -> Iterator[dict[str, Any]]:
        for number, block in enumerate(blocks):
            records = block.to_dict("records")
            open_blocks[number] = _Block(block, len(records))
            for position, record in enumerate(records):
                places[next(count)] = (number, position)
                yield record

    for outcome in runner.map(rows()):
        number, position = places.pop(outcome.index)
        if open_blocks[number].put(position, outcome):
            yield open_blocks.pop(number).result()
    for block in open_blocks.values():  # blocks without rows
        yield block.result()


class _Block:
    """A block whose rows run, with the outcomes so far."""

    def __init__(self, frame: Any, size: int) -> None:
        self._frame = frame
        self._outcomes: list[Any] = [None] * size
        self._missing = size

    def put(self, position: int, outcome: Any) -> bool:
        """Stores the outcome of a row. Returns whether it was the last one."""
        self._outcomes[position] = outcome
        self._missing -= 1
        return self._missing == 0

    def result(self) -> Any:
        """Returns the block with the columns of the outcomes."""
        return self._frame.assign(**_rows.columns_of(self._outcomes))
