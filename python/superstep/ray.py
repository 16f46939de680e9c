# SPDX-License-Identifier: Apache-2.0
"""An adapter for Ray Data: ``dataset.map_batches(superstep.ray.Agent, ...)``."""

from __future__ import annotations

from typing import Any, AsyncIterator, Callable, Iterable, Mapping, Unpack

from . import _rows


class Agent:
    """A class for map_batches() that runs an agent over the rows of each block.

    A worker process makes one agent. It works on several blocks at once, so a slow row delays only
    its own block. The result of a block has the columns of its rows, and those of Row.columns().

    ``agent`` is an agent, an agent file or the name of a model. The settings are ``question``, the
    column with the input (without it, the key ``input`` of the agent file is filled with the columns
    of a row), ``concurrency``, the number of rows that run at the same time in one block (256),
    ``workers``, the number of threads of the engine (1), ``options`` of the runs, and ``key`` and
    ``job``, for rows that must not run twice: with a checkpointer, each row has the thread of the job
    and of the value in the column ``key``, and a repeated row is resumed.
    """

    def __init__(
        self,
        agent: _rows.AgentSource,
        tools: Iterable[Callable[..., Any]] = (),
        **settings: Unpack[_rows.Settings],
    ) -> None:
        self._runner = _rows.Runner(agent, tools, settings)
        self._runner.start_engine()

    async def __call__(self, block: Mapping[str, Any]) -> AsyncIterator[dict[str, Any]]:
        """Runs the rows of a block, a mapping of columns, and yields the block with the results."""
        import asyncio

        # A thread that waits for a whole block costs less than a future of the loop for each row.
        loop = asyncio.get_running_loop()
        outcomes = await loop.run_in_executor(None, self._runner.run, _rows.rows_of(block))
        yield {**{name: block[name] for name in block}, **_rows.columns_of(outcomes)}
