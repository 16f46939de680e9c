# SPDX-License-Identifier: Apache-2.0
"""An adapter for Ray Data: ``dataset.map_batches(superstep.ray.Agent, ...)``."""

from __future__ import annotations

from typing import Any, AsyncIterator, Callable, Iterable, Mapping

from . import _rows


class Agent:
    """A class for map_batches() that runs an agent over the rows of each block.

    A worker process makes one agent. It works on several blocks at once, so a slow row delays only
    its own block. The result of a block has the columns of its rows, and those of Row.columns().

    ``agent`` is an agent, an agent file or the name of a model. ``question`` is the column with the
    input; without it, the key ``input`` of the agent file is filled with the columns of a row.
    ``concurrency`` limits the rows that run at the same time in one block; ``workers`` is the number
    of threads of the engine.
    """

    def __init__(
        self,
        agent: _rows.AgentSource,
        tools: Iterable[Callable[..., Any]] = (),
        *,
        question: str | None = None,
        concurrency: int = 256,
        workers: int = 1,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        _rows.start_engine(workers)
        self._agent = _rows.agent_of(agent, tools)
        self._question = question
        self._concurrency = concurrency
        self._options = dict(options or {})

    async def __call__(self, block: Mapping[str, Any]) -> AsyncIterator[dict[str, Any]]:
        """Runs the rows of a block, a mapping of columns, and yields the block with the results."""
        rows = _rows.rows_of(block)
        outcomes = await self._agent.amap(
            rows, question=self._question, concurrency=self._concurrency, **self._options
        )
        yield {**{name: block[name] for name in block}, **_rows.columns_of(outcomes)}
