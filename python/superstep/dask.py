# SPDX-License-Identifier: Apache-2.0
"""An adapter for Dask: ``superstep.dask.map(client, "agent.yaml", rows, ...)``."""

from __future__ import annotations

import itertools
from typing import Any, Callable, Iterable, Iterator, Mapping

from . import _rows


def map(
    client: Any,
    agent: _rows.AgentSource,
    rows: Iterable[Mapping[str, Any]],
    tools: Iterable[Callable[..., Any]] = (),
    *,
    question: str | None = None,
    block_size: int = 1_000,
    concurrency: int = 256,
    workers: int = 1,
    options: Mapping[str, Any] | None = None,
) -> list[Any]:
    """Runs an agent over rows on the workers of a distributed.Client.

    Returns one future for each block of ``block_size`` rows. Its result is a list of dicts: the
    columns of a row, and those of Row.columns(). The other parameters are those of
    superstep.ray.Agent. The agent of an agent file is read here, so the workers need not have it.
    """
    made = _rows.agent_of(agent, tools)
    run = _Block(made, question, concurrency, workers, dict(options or {}))
    # Not pure: the same rows may have other answers.
    return [client.submit(run, block, pure=False) for block in _blocks(rows, block_size)]


def _blocks(rows: Iterable[Mapping[str, Any]], size: int) -> Iterator[list[dict[str, Any]]]:
    if size < 1:
        raise ValueError("block_size must be at least 1")
    left = iter(rows)
    while block := [dict(row) for row in itertools.islice(left, size)]:
        yield block


class _Block:
    """A function that runs the rows of a block."""

    def __init__(
        self,
        agent: Any,
        question: str | None,
        concurrency: int,
        workers: int,
        options: dict[str, Any],
    ) -> None:
        self._agent = agent
        self._question = question
        self._concurrency = concurrency
        self._workers = workers
        self._options = options

    def __call__(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        _rows.start_engine(self._workers)
        outcomes = _rows.run_block(
            self._agent, rows, self._question, self._concurrency, self._options
        )
        return [{**row, **outcome.columns()} for row, outcome in zip(rows, outcomes)]
