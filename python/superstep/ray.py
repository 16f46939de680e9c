# SPDX-License-Identifier: Apache-2.0
"""An adapter for Ray Data: ``dataset.map_batches(superstep.ray.Agent, ...)``."""

from __future__ import annotations

import sys
from typing import Any, AsyncIterator, Callable, Iterable, Mapping, Unpack

from . import _rows


class Agent:
    """A class for map_batches() that runs an agent over the rows of each block.

    A worker process makes one agent. It works on several blocks at once, so a slow row delays only
    its own block. The result of a block has the columns of its rows, and those of Row.columns().

    ``agent`` is an agent, an agent file or the name of a model. The settings are ``question``, the
    column with the input (without it, the key ``input`` of the agent file is filled with the columns
    of a row), ``concurrency``, the number of rows that run at the same time in one block (256),
    ``workers``, the number of threads of the engine (1), ``options`` of the runs, ``columns``, the
    names of the columns that the results have (all), and ``key`` and ``job``, for rows that must not
    run twice: with a checkpointer, each row has the thread of the job and of the value in the column
    ``key``, and a repeated row is resumed.
    """

    def __init__(
        self,
        agent: _rows.AgentSource,
        tools: Iterable[Callable[..., Any]] = (),
        **settings: Unpack[_rows.Settings],
    ) -> None:
        self._runner = _rows.Runner(agent, tools, settings)
        self._runner.start_engine()

    async def __call__(self, block: Any) -> AsyncIterator[Any]:
        """Runs the rows of a block, and yields the block with the results.

        A block is a mapping of columns, a table of Arrow or a data frame, as ``batch_format`` says.
        """
        import asyncio

        yield await asyncio.get_running_loop().run_in_executor(None, self._run, block)

    def _run(self, block: Any) -> Any:
        outcomes = self._runner.run(block)
        return self._runner.with_outcomes(_table_of(block), outcomes)


def _table_of(block: Any) -> Any:
    """Returns the table that Ray would make of a mapping of columns; the block if there is none.

    The results are columns of Arrow already, so Ray need not convert them.
    """
    blocks = sys.modules.get("ray.data.block")
    if blocks is None or not isinstance(block, Mapping):
        return block
    made = blocks.BlockAccessor.batch_to_block(block)
    return made if isinstance(made, sys.modules["pyarrow"].Table) else block
