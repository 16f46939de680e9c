# SPDX-License-Identifier: Apache-2.0
"""Agents: a model that calls tools until it has an answer."""

from __future__ import annotations

import os
from typing import (
    TYPE_CHECKING,
    Any,
    Callable,
    Generator,
    Iterable,
    Mapping,
    Sequence,
    Union,
)

from . import _runs, _superstep
from ._functions import (
    checked_text,
    checked_texts,
    is_coroutine_function,
    is_missing,
    listed,
    type_text,
)
from ._middleware import Middleware, check_model, model_spec
from ._resources import Checkpointer, Store, check_resources, opened
from ._superstep import AgentResult
from ._tools import Tool, tool_of
from ._types import Command

if TYPE_CHECKING:
    from ._middleware import ModelFunction

Message = Mapping[str, Any]
Input = Union[str, Message, Sequence[Any], Command, None]


class Row:
    """The outcome of one row of map() or batch(): a value, also if the row has failed.

    ``index`` and ``row`` tell which row it is; ``status`` is "finished", "interrupted" or "failed",
    and ``error`` the exception of a failed row.
    """

    __slots__ = ("index", "row", "status", "error", "_result")

    def __init__(self, index: int, row: Any, outcome: AgentResult | Exception) -> None:
        self.index = index
        self.row = row
        self._result = None if isinstance(outcome, Exception) else outcome
        if isinstance(outcome, Exception):
            self.status: str = "failed"
            self.error: BaseException | None = outcome
        else:
            self.status = outcome.status
            self.error = outcome._take_error()

    @property
    def answer(self) -> str:
        """The text of the last answer of the model; empty if there is none."""
        return "" if self._result is None else self._result.text

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation."""
        return [] if self._result is None else self._result.messages

    @property
    def result(self) -> AgentResult | None:
        """The result of the run; None if the row could not be started."""
        return self._result

    def columns(self) -> dict[str, Any]:
        """Returns the outcome as columns: answer, status, error, messages (JSON), usage_*, counts."""
        of = self._result
        usage = of.usage if of is not None else {}
        return {
            "answer": self.answer,
            "status": self.status,
            "error": "" if self.error is None else f"{type(self.error).__name__}: {self.error}",
            "messages": "[]" if of is None else of.messages_json,
            "usage_input_tokens": usage.get("input_tokens", 0),
            "usage_output_tokens": usage.get("output_tokens", 0),
            "steps": 0 if of is None else of.steps,
            "model_calls": 0 if of is None else of.model_calls,
            "tool_calls": 0 if of is None else of.tool_calls,
        }

    def __repr__(self) -> str:
        return f"<superstep.Row {self.index} {self.status}>"


def messages_of(given: Any) -> list[Any]:
    """Returns the messages of an input: a text, a message, a list, or {"messages": ...}."""
    if isinstance(given, Mapping) and "messages" in given and "role" not in given:
        given = given["messages"]
    items = given if isinstance(given, (list, tuple)) and not _is_pair(given) else [given]
    return [_message(item) for item in items]


def _is_pair(given: Any) -> bool:
    return isinstance(given, tuple) and len(given) == 2 and all(isinstance(x, str) for x in given)


def _message(item: Any) -> Any:
    if isinstance(item, (str, dict)):
        return item
    if _is_pair(tuple(item) if isinstance(item, list) else item):
        return list(item)
    if isinstance(item, Mapping):
        return dict(item)
    if hasattr(item, "model_dump"):  # a message of LangChain
        if str(getattr(item, "type", "")).endswith("Chunk"):  # of a stream
            from langchain_core.messages import message_chunk_to_message

            item = message_chunk_to_message(item)
        return {k: v for k, v in item.model_dump().items() if v not in (None, [], {}, "")} | {
            "content": item.content
        }
    raise TypeError(f"a message must be a str, a dict or a pair, not {type_text(item)}")


def _input_of(given: Input) -> Any:
    if given is None:
        return None
    if isinstance(given, Command):
        if given.update is not None or given.goto:
            raise ValueError("an agent accepts Command(resume=...) only")
        return None if given.resume is None else (given.resume,)
    return messages_of(given)


class Agent(_runs.Compiled[Input, AgentResult]):
    """A compiled agent. Made by create_agent() or Agent.from_file().

    All methods take the options of a run as keywords: thread_id, run_id, recursion_limit, deadline
    (seconds), max_concurrency, tags, metadata, configurable, durability, checkpoint_id,
    interrupt_before, interrupt_after. An agent can be used by several threads, pickled, and used in
    a forked process: it consists of its recipe, and is built when it is first used.
    """

    def __init__(self, recipe: dict[str, Any], tools: Iterable[Callable[..., Any]] = ()) -> None:
        self._tools: list[Tool[..., Any]] = [tool_of(t) for t in tools]
        super().__init__(recipe)

    @classmethod
    def from_file(
        cls,
        path: "str | os.PathLike[str]",
        tools: Iterable[Callable[..., Any]] = (),
        *,
        set: Sequence[str] = (),
        middleware: Sequence[Middleware] = (),
        checkpointer: Checkpointer | None = None,
        store: Store | None = None,
    ) -> "Agent":
        """Builds the agent of an agent file, with Python tools in addition to those of the file.

        ``set`` replaces values of the file, e.g. ``["model.temperature=0"]``. ``middleware`` is
        outside of what the file describes; see create_agent(). Raises ValueError with all errors of
        the file and their lines.
        """
        name = os.path.abspath(os.fspath(path))
        with open(name, encoding="utf-8") as file:
            text = file.read()
        return cls._of_text(text, name, set, tools, middleware, checkpointer, store)

    @classmethod
    def from_text(
        cls,
        text: str,
        tools: Iterable[Callable[..., Any]] = (),
        *,
        set: Sequence[str] = (),
        middleware: Sequence[Middleware] = (),
        checkpointer: Checkpointer | None = None,
        store: Store | None = None,
    ) -> "Agent":
        """Builds an agent from the text of an agent file; see from_file()."""
        name = os.path.join(os.getcwd(), "agent.yaml")
        return cls._of_text(text, name, set, tools, middleware, checkpointer, store)

    @classmethod
    def _of_text(
        cls,
        text: str,
        name: str,
        overrides: Sequence[str],
        tools: Iterable[Callable[..., Any]],
        middleware: Sequence[Middleware],
        checkpointer: Checkpointer | None,
        store: Store | None,
    ) -> "Agent":
        _check_parts(middleware, checkpointer, store)
        recipe = {
            "text": checked_text(text, "the text of an agent file"),
            "name": name,
            "set": checked_texts(overrides, "set"),
            "middleware": list(middleware),
            "checkpointer": checkpointer,
            "store": store,
        }
        return cls(recipe, _all_tools(tools, middleware))

    def _build(self) -> Any:
        recipe = self._recipe
        threads, memory = opened(recipe["checkpointer"]), opened(recipe["store"])
        middleware = [m._spec() for m in recipe["middleware"]]
        if "text" in recipe:
            text, name = recipe["text"], recipe["name"]
            folder, overrides = os.path.dirname(name), recipe["set"]
            return _superstep.Agent(
                text, name, folder, overrides, self._tools, middleware, threads, memory
            )
        options = dict(recipe["options"])
        options["model"] = model_spec(options["model"])
        options["middleware"] = middleware
        return _superstep.Agent(options, self._tools, threads, memory)

    def __getstate__(self) -> dict[str, Any]:
        return {"recipe": self._recipe, "tools": self._tools}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._recipe = state["recipe"]
        self._tools = state["tools"]
        self._forget()

    def __repr__(self) -> str:
        name = self._recipe.get("name") or self._recipe.get("options", {}).get("name") or "agent"
        return f"<superstep.Agent {os.path.basename(name)}>"

    def _has_coroutines(self) -> bool:
        model = self._recipe.get("options", {}).get("model")
        return (
            (callable(model) and is_coroutine_function(model))
            or any(t.is_async for t in self._tools)
            or any(m._has_coroutines() for m in self._recipe["middleware"])
        )

    def _read_input(self, given: Input) -> Any:
        return _input_of(given)

    def _read_values(self, values: dict[str, Any]) -> dict[str, Any]:
        if "messages" in values:
            return {**values, "messages": messages_of(values["messages"])}
        return values

    def _is_end(self, item: Any) -> bool:
        return isinstance(item, AgentResult)

    def _read_end(self, item: AgentResult) -> tuple[AgentResult, BaseException | None]:
        return item, item._take_error() if item.status == "failed" else None

    def batch(
        self, inputs: Iterable[Input], *, concurrency: int = 256, **options: Any
    ) -> list[Row]:
        """Runs the agent for each input and returns the outcomes in the order of the inputs.

        A failure is a value: see Row.error.
        """
        rows = list(inputs)
        out: list[Row | None] = [None] * len(rows)
        for index, _, outcome in self._each(iter(rows), concurrency, _input_of, lambda _: options):
            out[index] = Row(index, rows[index], outcome)
        return [row for row in out if row is not None]

    async def abatch(
        self, inputs: Iterable[Input], *, concurrency: int = 256, **options: Any
    ) -> list[Row]:
        """Like batch(), for coroutines."""
        rows = list(inputs)
        outcomes = await self._aeach(rows, concurrency, _input_of, lambda _: options)
        return [Row(i, row, outcome) for i, (row, outcome) in enumerate(zip(rows, outcomes))]

    def map(
        self,
        rows: Iterable[Any],
        *,
        question: str | None = None,
        concurrency: int = 256,
        thread_id: Callable[[Any], str] | None = None,
        resume: bool = False,
        **options: Any,
    ) -> Generator[Row, None, None]:
        """Runs the agent for each row, and yields the outcomes as the rows end.

        A row is an input as of invoke(), or a dict of columns: the text of the column ``question`` is
        the input, or, without ``question``, the messages of the key ``input`` of the agent file are
        filled with the columns. Reads ``rows`` only as far as ``concurrency`` allows. ``thread_id``
        returns the thread of a row, for agents with a checkpointer. With ``resume``, a row whose thread
        exists continues it: a row that has ended before gives its result again, without a call of the
        model or of a tool.
        """
        each = self._each(
            iter(rows),
            concurrency,
            self._reader(question, thread_id if resume else None),
            _options_of(options, thread_id),
        )
        for index, row, outcome in each:
            yield Row(index, row, outcome)

    async def amap(
        self,
        rows: Iterable[Any],
        *,
        question: str | None = None,
        concurrency: int = 256,
        thread_id: Callable[[Any], str] | None = None,
        resume: bool = False,
        **options: Any,
    ) -> list[Row]:
        """Runs the agent for each row like map(), for coroutines; returns all outcomes in order."""
        rows = list(rows)
        outcomes = await self._aeach(
            rows,
            concurrency,
            self._reader(question, thread_id if resume else None),
            _options_of(options, thread_id),
        )
        return [Row(i, row, outcome) for i, (row, outcome) in enumerate(zip(rows, outcomes))]

    def _reader(
        self, question: str | None, resumed: Callable[[Any], str] | None
    ) -> Callable[[Any], Any]:
        """Returns the function that makes the input of a run from a row.

        ``resumed`` returns the thread of a row, if existing threads are resumed.
        """
        agent = self._native()

        def given(row: Any) -> Any:
            if resumed is not None and agent.has_thread(checked_text(resumed(row), "a thread_id")):
                return None
            if question is not None:
                value = row[question]
                if is_missing(value):
                    raise ValueError(f"the row has no value in the column '{question}'")
                return [str(value)]
            if isinstance(row, dict) and "messages" not in row and "role" not in row:
                filled = agent.messages_of_row(_columns_of(row))
                if filled is not None:
                    return filled
                if "type" not in row:
                    raise ValueError(
                        "the row is not a message: pass question= with the name of the column that "
                        "contains the text"
                    )
            return _input_of(row)

        return given


def _columns_of(row: dict[Any, Any]) -> dict[str, Any]:
    """Returns the columns of a row with values of JSON.

    Others become texts, because a column that the agent file does not use must not fail the row. NaN is
    a missing value.
    """
    plain = (str, int, list, tuple, dict)
    out: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(name, str) and (value is None or not is_missing(value)):
            is_finite = isinstance(value, float) and value - value == 0
            out[name] = value if value is None or is_finite or isinstance(value, plain) else str(value)
    return out


def _options_of(
    options: dict[str, Any], thread_id: Callable[[Any], str] | None
) -> Callable[[Any], dict[str, Any]]:
    """Returns the function that makes the options of a run from a row."""
    if thread_id is None:
        return lambda _: options
    return lambda row: {**options, "thread_id": thread_id(row)}


def create_agent(
    model: "str | ModelFunction",
    tools: Iterable[Callable[..., Any]] = (),
    *,
    prompt: str = "",
    name: str = "",
    response: "dict[str, Any] | None" = None,
    return_direct: Sequence[str] = (),
    middleware: Sequence[Middleware] = (),
    checkpointer: Checkpointer | None = None,
    store: Store | None = None,
    interrupt_before: Sequence[str] = (),
    interrupt_after: Sequence[str] = (),
) -> Agent:
    """Builds an agent that asks a model, runs the tools that its answer calls, and asks again.

    ``model`` is a text such as "openai:gpt-4o-mini", "anthropic:...", "ollama:..." or "scripted:...",
    or a function (also a coroutine function) of two lists, messages and tools, that returns a text or
    a message. ``tools`` are functions, with or without @tool. ``response`` is the JSON Schema of a
    structured response. ``middleware`` are functions that run around the model and the tools. ``store``
    is the long-term memory that tools find as ``runtime.store``. Raises GraphError or ValueError for
    options that are not valid.
    """
    check_model(model)
    if response is not None and not isinstance(response, Mapping):
        raise TypeError(f"response must be a dict with a JSON Schema, not {type_text(response)}")
    _check_parts(middleware, checkpointer, store)
    options = {
        "model": model,
        "prompt": checked_text(prompt, "prompt"),
        "name": checked_text(name, "name"),
        "response": response,
        "return_direct": checked_texts(return_direct, "return_direct"),
        "interrupt_before": checked_texts(interrupt_before, "interrupt_before"),
        "interrupt_after": checked_texts(interrupt_after, "interrupt_after"),
    }
    recipe = {
        "options": options,
        "middleware": list(middleware),
        "checkpointer": checkpointer,
        "store": store,
    }
    return Agent(recipe, _all_tools(tools, middleware))


def _check_parts(middleware: Any, checkpointer: Any, store: Any) -> None:
    """Raises TypeError for parts of an agent of a wrong type."""
    if not hasattr(middleware, "__iter__"):
        raise TypeError(f"middleware must be a list of Middleware, not {type_text(middleware)}")
    for item in middleware:
        if not isinstance(item, Middleware):
            raise TypeError(f"an item of middleware must be a Middleware, not {type_text(item)}")
    check_resources(checkpointer=checkpointer, store=store)


def _all_tools(
    tools: Iterable[Callable[..., Any]], middleware: Sequence[Middleware]
) -> list[Callable[..., Any]]:
    return [*listed(tools, "tools"), *(t for m in middleware for t in m.tools)]
