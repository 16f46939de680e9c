# SPDX-License-Identifier: Apache-2.0
"""What the adapters for Ray, Spark and Dask have in common."""

from __future__ import annotations

import os
import sys
from typing import Any, Callable, Iterable, Mapping, TypedDict, Union

from . import _runs, _superstep
from ._agents import Agent, create_agent
from ._engine import engine
from ._functions import checked_count, is_missing, type_text
from ._superstep import RowBlock, RowWindow

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


def _plain(column: Any) -> list[Any]:
    """Returns a column of NumPy, pandas or Arrow as a list."""
    for name in ("to_pylist", "tolist"):
        convert = getattr(column, name, None)
        if convert is not None:
            made: list[Any] = convert()
            return made
    return list(column)


def _is_arrow(block: Any) -> bool:
    """Whether a block is a table or a record batch of Arrow."""
    arrow = sys.modules.get("pyarrow")
    return arrow is not None and isinstance(block, (arrow.Table, arrow.RecordBatch))


def _names_of(block: Any) -> list[str]:
    return list(block.schema.names if _is_arrow(block) else block)


def _column_of(block: Any, name: str) -> list[Any]:
    """Returns a column of a block. Rows without it have a KeyError instead."""
    if isinstance(block, list):
        return [row[name] if name in row else KeyError(name) for row in block]
    if name not in _names_of(block):
        raise ValueError(f"the rows have no column '{name}', but: {', '.join(_names_of(block))}")
    return _plain(block[name])


def _is_missing(value: Any) -> bool:
    """Whether a column has no value: None, NaN, or a KeyError of _column_of()."""
    return isinstance(value, KeyError) or is_missing(value)


def _rows_of(block: Any) -> list[dict[str, Any]]:
    """Returns the rows of a block."""
    if isinstance(block, list):
        return block
    names = _names_of(block)
    return [dict(zip(names, values)) for values in zip(*(_plain(block[name]) for name in names))]


def columns_of(names: Iterable[str] | None) -> dict[str, str]:
    """Returns columns with the names of their types in Spark. None means all columns."""
    if names is None:
        return COLUMNS
    if isinstance(names, str):
        raise TypeError(f"columns must be a list of names, such as ['{names}']")
    chosen = list(names)
    unknown = [name for name in chosen if name not in COLUMNS]
    if unknown:
        raise ValueError(f"unknown columns: {', '.join(unknown)}; the results have: {', '.join(COLUMNS)}")
    return {name: COLUMNS[name] for name in chosen}


def _lists_of(outcomes: RowBlock, columns: Mapping[str, str]) -> dict[str, list[Any]]:
    """Returns outcomes as lists of Python objects."""
    return {name: outcomes.column(name) for name in columns}


def _arrays_of(outcomes: RowBlock, columns: Mapping[str, str], arrow: Any) -> dict[str, Any]:
    """Returns outcomes as arrays of Arrow, which use the memory of the native module."""
    size = len(outcomes)
    made = {}
    for name, kind in columns.items():
        offsets, content = outcomes.buffers(name)
        if offsets is None:
            of, buffers = arrow.int64(), [None, arrow.py_buffer(content)]
        else:
            of = arrow.string() if len(offsets) == 4 * (size + 1) else arrow.large_string()
            buffers = [None, arrow.py_buffer(offsets), arrow.py_buffer(content)]
        made[name] = arrow.Array.from_buffers(of, size, buffers)
    return made


def _with_outcomes(block: Any, outcomes: RowBlock, columns: Mapping[str, str]) -> Any:
    """Returns a block with columns of the outcomes.

    A block is a table or a record batch of Arrow, a data frame of pandas, or a mapping from names to
    columns. Data frames get columns of Arrow, if it is there.
    """
    arrow, pandas = sys.modules.get("pyarrow"), sys.modules.get("pandas")
    if _is_arrow(block):
        made = dict(zip(_names_of(block), block.columns)) | _arrays_of(outcomes, columns, arrow)
        return type(block).from_arrays(list(made.values()), names=list(made))
    if pandas is None or not isinstance(block, pandas.DataFrame):
        return {**{name: block[name] for name in block}, **_lists_of(outcomes, columns)}
    if arrow is None:
        return block.assign(**_lists_of(outcomes, columns))
    wrap = pandas.arrays.ArrowExtensionArray
    arrays = _arrays_of(outcomes, columns, arrow)
    return block.assign(**{name: wrap(array) for name, array in arrays.items()})


class Settings(TypedDict, total=False):
    """The parameters of all adapters.

    ``question`` is the column with the input; without it, the key ``input`` of the agent file is
    filled with the columns of a row. ``concurrency`` (default 256) limits the rows that run at the
    same time in one block; ``workers`` (default 1) is the number of threads of the engine;
    ``options`` are options of the runs. ``columns`` are the names of the columns that the results
    have (default all of COLUMNS).

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
    columns: Iterable[str]


class Runner:
    """Runs an agent over rows in a process of a framework. It can be pickled."""

    def __init__(
        self, agent: AgentSource, tools: Iterable[Callable[..., Any]], settings: Settings
    ) -> None:
        unknown = set(settings) - set(Settings.__annotations__)
        if unknown:
            raise TypeError(f"unknown parameters: {', '.join(sorted(unknown))}")
        self._agent = agent_of(agent, tools)
        self._workers = checked_count(settings.get("workers", 1), "workers")
        self._question = settings.get("question")
        self._concurrency = settings.get("concurrency", 256)
        _runs.check_concurrency(self._concurrency)
        options = settings.get("options", {})
        if not isinstance(options, Mapping):
            raise TypeError(f"options must be a dict, not {type_text(options)}")
        self._options = dict(options)
        self._key = settings.get("key")
        self._job = settings.get("job", "rows")
        self._columns = columns_of(settings.get("columns"))

    def start_engine(self) -> None:
        """Starts the engine of the process, unless it runs already."""
        try:
            engine(self._workers)
        except ValueError:  # the process uses the package for something else, too
            pass

    def open(self, results: _superstep.Results, reports_room: bool = False) -> RowWindow:
        """Returns a window over blocks of rows, whose outcomes are delivered to a queue."""
        self.start_engine()
        native = self._agent._native()
        made: RowWindow = native.open_rows(
            self._options, self._concurrency, results, reports_room, "messages" in self._columns
        )
        return made

    def add(self, window: RowWindow, block: Any, tag: int) -> None:
        """Starts the rows of a block as soon as the window has room."""
        inputs = self._inputs_of(block)
        threads = None if self._key is None else self._threads_of(block, self._key, inputs)
        window.add(inputs, threads, threads is not None, tag)

    def run(self, block: Any) -> RowBlock:
        """Runs the rows of a block, and returns their outcomes."""

        def start(results: _superstep.Results, tag: int) -> RowWindow:
            window = self.open(results)
            self.add(window, block, tag)
            return window

        outcomes: RowBlock = _runs.wait(start)
        return outcomes

    def with_outcomes(self, block: Any, outcomes: RowBlock) -> Any:
        """Returns a block with the columns of its outcomes."""
        return _with_outcomes(block, outcomes, self._columns)

    def lists_of(self, outcomes: RowBlock) -> dict[str, list[Any]]:
        """Returns the columns of outcomes as lists of Python objects."""
        return _lists_of(outcomes, self._columns)

    def _threads_of(self, block: Any, key: str, inputs: list[Any]) -> list[str]:
        """Returns the threads of the rows. Rows without a thread of their own get an exception as input."""
        threads: list[str] = []
        seen: set[str] = set()
        for index, value in enumerate(_column_of(block, key)):
            thread = f"{self._job}/{value}"
            if _is_missing(value):
                inputs[index] = ValueError(f"the row has no value in the column '{key}'")
                thread = f"{self._job}/{id(inputs)}-{index} has no key"  # never used
            elif thread in seen:
                inputs[index] = ValueError(f"the value {value!r} of the column '{key}' is not unique")
            seen.add(thread)
            threads.append(thread)
        return threads

    def _inputs_of(self, block: Any) -> list[Any]:
        """Returns the inputs of the rows. An exception is the failure of its row."""
        if self._question is not None:
            values = _column_of(block, self._question)
            empty = ValueError(f"the row has no value in the column '{self._question}'")
            return [
                v if isinstance(v, (str, KeyError)) else empty if _is_missing(v) else str(v)
                for v in values
            ]
        read = self._agent._reader(None, None)
        inputs: list[Any] = []
        for row in _rows_of(block):
            try:
                inputs.append(read(row))
            except Exception as error:
                inputs.append(error)
        return inputs
