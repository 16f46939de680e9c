# SPDX-License-Identifier: Apache-2.0
"""What the adapters for Ray, Spark and Dask have in common."""

from __future__ import annotations

import os
from typing import Any, Callable, Generator, Iterable, Mapping, Sequence, TypedDict, Union

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


def columns_of(outcomes: Sequence[Row]) -> dict[str, list[Any]]:
    """Returns outcomes as columns."""
    made = [outcome.columns() for outcome in outcomes]
    return {name: [columns[name] for columns in made] for name in COLUMNS}


class Settings(TypedDict, total=False):
    """The parameters of all adapters.

    ``question`` is the column with the input; without it, the key ``input`` of the agent file is
    filled with the columns of a row. ``concurrency`` (default 256) limits the rows that run at the
    same time in one block; ``workers`` (default 1) is the number of threads of the engine;
    ``options`` are options of the runs.

    With ``key``, the name of a column with unique values, each row has a thread of its own: ``job``
    and the value. The agent must have a checkpointer that all processes can open. If the framework
    repeats a block, rows that have ended give their results again, and others are resumed.
    """

    question: str | None
    key: str
    job: str
    concurrency: int
    workers: int
    options: Mapping[str, Any]


class Runner:
    """Runs an agent over rows in a process of a framework. It can be pickled."""

    def __init__(
        self, agent: AgentSource, tools: Iterable[Callable[..., Any]], settings: Settings
    ) -> None:
        unknown = set(settings) - set(Settings.__annotations__)
        if unknown:
            raise TypeError(f"unknown parameters: {', '.join(sorted(unknown))}")
        self._agent = agent_of(agent, tools)
        self._workers = settings.get("workers", 1)
        self._options: dict[str, Any] = {
            "question": settings.get("question"),
            "concurrency": settings.get("concurrency", 256),
            **settings.get("options", {}),
        }
        self._key = settings.get("key")
        self._job = settings.get("job", "rows")

    def _options_of_call(self) -> dict[str, Any]:
        if self._key is None:
            return self._options
        key, job = self._key, self._job
        return {**self._options, "thread_id": lambda row: f"{job}/{row[key]}", "resume": True}

    def start_engine(self) -> None:
        """Starts the engine of the process, unless it runs already."""
        try:
            engine(self._workers)
        except ValueError:  # the process uses the package for something else, too
            pass

    def map(self, rows: Iterable[dict[str, Any]]) -> Generator[Row, None, None]:
        """Runs the rows, and yields the outcomes as they end."""
        self.start_engine()
        return self._agent.map(iter(rows), **self._options_of_call())

    def run(self, rows: Sequence[dict[str, Any]]) -> list[Row]:
        """Runs the rows, and returns the outcomes in their order."""
        return sorted(self.map(rows), key=lambda outcome: outcome.index)
