# SPDX-License-Identifier: Apache-2.0
"""What the adapters for Ray, Spark and Dask have in common."""

from __future__ import annotations

import os
from typing import Any, Callable, Iterable, Mapping, Sequence, Union

from ._agents import Agent, Row, create_agent
from ._engine import engine

AgentSource = Union[Agent, str, "os.PathLike[str]"]

#: The columns that an adapter adds to a row, with the names of their types in Spark.
COLUMNS: dict[str, str] = {
    "answer": "string",
    "status": "string",
    "error": "string",
    "messages": "string",
    "usage_input_tokens": "long",
    "usage_output_tokens": "long",
    "steps": "long",
    "model_calls": "long",
    "tool_calls": "long",
}


def start_engine(workers: int) -> None:
    """Starts the engine of a worker process, unless it runs already."""
    try:
        engine(workers)
    except ValueError:  # the process uses the package for something else, too
        pass


def agent_of(source: AgentSource, tools: Iterable[Callable[..., Any]]) -> Agent:
    """Returns the agent that an adapter was given: an object, an agent file, or a model."""
    if isinstance(source, Agent):
        return source
    path = os.fspath(source)
    if path.endswith((".yaml", ".yml")):
        return Agent.from_file(path, tools=tools)
    return create_agent(path, tools)


def plain(value: Any) -> Any:
    """Returns a value of NumPy or Arrow as an object of Python."""
    for name in ("tolist", "as_py"):
        convert = getattr(value, name, None)
        if convert is not None:
            return convert()
    return value


def rows_of(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns the rows of a block of columns."""
    names = list(columns)
    lists = [plain(columns[name]) for name in names]
    return [dict(zip(names, values)) for values in zip(*lists)]


def input_of(row: Mapping[str, Any], question: str | None) -> Any:
    """Returns the input of a run for a row of columns."""
    return [str(row[question])] if question is not None else dict(row)


def columns_of(outcomes: Sequence[Row]) -> dict[str, list[Any]]:
    """Returns outcomes as columns."""
    made = [outcome.columns() for outcome in outcomes]
    return {name: [columns[name] for columns in made] for name in COLUMNS}


def run_block(
    agent: Agent,
    rows: Iterable[dict[str, Any]],
    question: str | None,
    concurrency: int,
    options: Mapping[str, Any],
) -> list[Row]:
    """Runs an agent over the rows of a block, and returns the outcomes in the order of the rows."""
    outcomes = list(agent.map(rows, question=question, concurrency=concurrency, **options))
    outcomes.sort(key=lambda outcome: outcome.index)
    return outcomes
