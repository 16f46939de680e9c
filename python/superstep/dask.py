# SPDX-License-Identifier: Apache-2.0
"""An adapter for Dask: ``superstep.dask.map(client, "agent.yaml", rows, ...)``."""

from __future__ import annotations

import itertools
from typing import Any, Callable, Iterable, Iterator, Mapping, Unpack

from . import _rows


def map(
    client: Any,
    agent: _rows.AgentSource,
    rows: Iterable[Mapping[str, Any]],
    tools: Iterable[Callable[..., Any]] = (),
    *,
    block_size: int = 1_000,
    **settings: Unpack[_rows.Settings],
) -> list[Any]:
    """Runs an agent over rows on the workers of a distributed.Client.

    Returns one future for each block of ``block_size`` rows. Its result is a list of dicts: the
    columns of a row, and those of Row.columns(). The other parameters are those of
    superstep.ray.Agent. The agent of an agent file is read here, so the workers need not have it.
    """
    run = _Block(_rows.Runner(agent, tools, settings))
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

    def __init__(self, runner: _rows.Runner) -> None:
        self._runner = runner

    def __call__(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        columns = self._runner.lists_of(self._runner.run(rows))
        return [
            {**row, **dict(zip(columns, values))}
            for row, values in zip(rows, zip(*columns.values()))
        ]
