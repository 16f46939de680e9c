# SPDX-License-Identifier: Apache-2.0
"""Graphs over dicts: nodes, reducers and routers are Python functions."""

from __future__ import annotations

import typing
from collections import abc
from typing import (
    Any,
    Callable,
    Generator,
    Iterable,
    Mapping,
    Sequence,
    Union,
)

from . import _aio, _runs, _superstep
from ._functions import (
    accepts_two,
    checked_seconds,
    checked_text,
    checked_texts,
    is_coroutine_function,
    parameters_of,
    type_text,
)
from ._hints import unqualified
from ._resources import Cache, Checkpointer, Store, check_resources, opened
from ._types import CachePolicy, Command, Interrupt, RetryPolicy

Reducer = Callable[[Any, Any], Any]
Node = Callable[..., Any]
Router = Callable[..., Any]
GraphInput = Union[Mapping[str, Any], Command, None]
State = dict[str, Any]


class _Missing:
    """The mark of a missing value. Copies, also those of other processes, are the object itself."""

    def __reduce__(self) -> str:
        return "_MISSING"


_MISSING: Any = _Missing()

#: The classes with whose values keys start whose hints are abstract.
_CONCRETE: dict[Any, Any] = {
    abc.Sequence: list,
    abc.MutableSequence: list,
    abc.Set: set,
    abc.MutableSet: set,
    abc.Mapping: dict,
    abc.MutableMapping: dict,
}


class Result(dict[str, Any]):
    """The state at the end of a run, a dict, and how the run ended.

    ``status`` is "finished", "interrupted" or "failed"; ``interrupts`` are the pending questions;
    ``error`` is the exception of a failed run, in results of batch(); ``steps`` is the number of
    super-steps.
    """

    __slots__ = ("status", "interrupts", "error", "steps")

    def __init__(
        self,
        state: Mapping[str, Any],
        status: str = "finished",
        interrupts: "list[Interrupt] | None" = None,
        error: BaseException | None = None,
        steps: int = 0,
    ) -> None:
        super().__init__(state)
        self.status = status
        self.interrupts: list[Interrupt] = interrupts or []
        self.error = error
        self.steps = steps


class Graph:
    """A graph whose state is a dict.

    ``state`` declares the keys: a TypedDict class whose hints may be ``Annotated[type, reducer]``, or
    a mapping from keys to reducers (None: the key holds the last value written). A reducer is a
    function of the old and the new value, such as operator.add. Of the functions of a hint, the last
    one is the reducer.

    A node is a function, or coroutine function, of the state. It returns a dict of the keys to
    write, a Command, a list of these, or None. Its optional parameter ``runtime`` receives a Runtime.
    """

    def __init__(self, state: "type[Any] | Mapping[str, Reducer | None]", *, name: str = "graph") -> None:
        self._name = checked_text(name, "the name of a graph")
        self._channels: list[tuple[str, Reducer | None, Any]] = []
        self._steps: list[tuple[str, tuple[Any, ...]]] = []
        if isinstance(state, Mapping):
            for key, reducer in state.items():
                # The first value of a key without a type is stored as it is written, but the reducer
                # add_messages converts messages.
                self.channel(key, reducer, [] if reducer is add_messages else _MISSING)
        elif not isinstance(state, type):
            raise TypeError(
                f"the state of a graph must be a TypedDict class or a dict, not {type_text(state)}"
            )
        elif not issubclass(state, dict):
            raise TypeError(
                f"the state of a graph must be a TypedDict class or a dict, not the class {state.__qualname__}"
            )
        else:
            for key, hint in typing.get_type_hints(state, include_extras=True).items():
                self._channel_of_hint(key, hint)

    def _channel_of_hint(self, key: str, hint: Any) -> None:
        reducer = None
        hint = unqualified(hint)
        if typing.get_origin(hint) is typing.Annotated:
            hint, *extras = typing.get_args(hint)
            # The last one, as in LangGraph. Texts and other descriptions may follow it.
            reducer = next((e for e in reversed(extras) if callable(e)), None)
            hint = unqualified(hint)
        initial = _MISSING if reducer is None else _initial_of(hint, reducer)
        self.channel(key, reducer, initial)

    def channel(self, name: str, reducer: Reducer | None = None, initial: Any = _MISSING) -> "Graph":
        """Adds a key of the state. Without an initial value it is absent until it is written."""
        checked_text(name, "a key of the state")
        if reducer is not None and not callable(reducer):
            raise TypeError(
                f"the reducer of '{name}' must be a function or None, not {type_text(reducer)}"
            )
        if isinstance(reducer, type):
            raise TypeError(f"the reducer of '{name}' must be a function, not the class {reducer.__name__}")
        if reducer is not None and not accepts_two(reducer):
            raise TypeError(f"the reducer of '{name}' must take two arguments: the old and the new value")
        self._channels.append((name, reducer, initial))
        return self

    def add(
        self,
        name: str,
        node: "Node | CompiledGraph",
        *,
        reads: Sequence[str] = (),
        retry: "RetryPolicy | Sequence[RetryPolicy]" = (),
        cache: CachePolicy | None = None,
        on_error: Node | None = None,
        timeout: float | None = None,
        defer: bool = False,
        destinations: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
    ) -> "Graph":
        """Adds a node: a function, or a compiled graph.

        ``reads`` limits the keys in its input; ``on_error`` is an error handler, see on_error();
        ``cache`` reuses outputs; ``timeout`` is in seconds; a node with ``defer`` waits
        until no other node is triggered; ``destinations`` are the nodes that its Commands may name,
        for drawings.
        """
        checked_text(name, "the name of a node")
        options: dict[str, Any] = {}
        if reads:
            options["reads"] = checked_texts(reads, f"reads of node '{name}'")
        if retry:
            options["retry"] = _retries(retry, name)
        if timeout is not None:
            options["timeout"] = checked_seconds(timeout, f"timeout of node '{name}'")
        if defer:
            options["defer"] = True
        if destinations:
            options["destinations"] = checked_texts(destinations, f"destinations of node '{name}'")
        if metadata is not None and not isinstance(metadata, Mapping):
            raise TypeError(f"metadata of node '{name}' must be a dict, not {type_text(metadata)}")
        if metadata:
            options["metadata"] = dict(metadata)
        if cache is not None:
            if not isinstance(cache, CachePolicy):
                raise TypeError(
                    f"cache of node '{name}' must be a CachePolicy, not {type_text(cache)}"
                )
            options["cache"] = cache
        if isinstance(node, CompiledGraph):
            if cache is not None:
                raise TypeError(f"node '{name}' is a graph; a CachePolicy needs a function")
            self._steps.append(("subgraph", (name, node, options)))
        elif callable(node):
            is_async, takes_runtime = _kind_of(node)
            self._steps.append(("node", (name, node, is_async, takes_runtime, options)))
        else:
            raise TypeError(f"node '{name}' must be a function or a graph, not {type_text(node)}")
        return self if on_error is None else self.on_error(on_error, name)

    def on_error(self, handler: Node, node: str = "") -> "Graph":
        """Adds the error handler of a node, or of all nodes that have none.

        When a node has failed and is not retried, its handler runs in the next super-step with the
        input of the node. It is a function like that of a node; ``runtime.error`` is the exception. If
        it raises an exception itself, the run fails.
        """
        checked_text(node, "the node of an error handler")
        if not callable(handler):
            raise TypeError(f"an error handler must be a function, not {type_text(handler)}")
        self._steps.append(("error_handler", (node, handler, *_kind_of(handler))))
        return self

    def edge(self, source: "str | Sequence[str]", target: str) -> "Graph":
        """Adds an edge. With a list of sources, the target runs when all of them have run."""
        sources = [source] if isinstance(source, str) else checked_texts(source, "the source of an edge")
        if not sources:
            raise ValueError("an edge needs at least one source; the list is empty")
        checked_text(target, "the target of an edge")
        self._steps.append(("edge", (sources, target)))
        return self

    def sequence(self, *nodes: str) -> "Graph":
        """Adds an edge from each node to the next one."""
        checked_texts(nodes, "a sequence")
        for source, target in zip(nodes, nodes[1:]):
            self.edge(source, target)
        return self

    def branch(
        self, source: str, route: Router, targets: "Mapping[Any, str] | Sequence[str]" = ()
    ) -> "Graph":
        """Adds a branch: when the source has run, a router chooses the next nodes.

        The router is a function, or coroutine function, of the state. It returns a node, a Send, or a
        list of these. Its optional parameter ``runtime`` receives the Runtime of the source.
        ``targets`` maps what it returns to nodes, or lists the possible nodes. A branch of START needs
        a plain function without ``runtime``.
        """
        if not callable(route):
            raise TypeError(f"the router of a branch must be a function, not {type_text(route)}")
        is_async, takes_runtime = _kind_of(route)
        checked_text(source, "the source of a branch")
        if source == "__start__" and is_async:
            raise TypeError("a branch of START needs a plain function, not a coroutine function")
        if source == "__start__" and takes_runtime:
            raise TypeError("the router of a branch of START has no runtime")
        labels = _labels(targets, f"of the branch of '{source}'")
        self._steps.append(("branch", (source, route, is_async, takes_runtime, labels)))
        return self

    def compile(
        self,
        *,
        checkpointer: Checkpointer | None = None,
        store: Store | None = None,
        cache: Cache | None = None,
        interrupt_before: Sequence[str] = (),
        interrupt_after: Sequence[str] = (),
    ) -> "CompiledGraph":
        """Checks the graph and returns it ready to run. Raises GraphError with all its faults.

        ``store`` is the long-term memory that nodes find as ``runtime.store``; ``cache`` keeps the
        outputs of nodes with a CachePolicy.
        """
        check_resources(checkpointer=checkpointer, store=store, cache=cache)
        options = {
            "name": self._name,
            "interrupt_before": checked_texts(interrupt_before, "interrupt_before"),
            "interrupt_after": checked_texts(interrupt_after, "interrupt_after"),
        }
        return CompiledGraph(
            {
                "channels": list(self._channels),
                "steps": list(self._steps),
                "options": options,
                "checkpointer": checkpointer,
                "store": store,
                "cache": cache,
            }
        )


def _initial_of(hint: Any, reducer: Reducer) -> Any:
    """Returns the value with which a key with a reducer starts, as BinaryOperatorAggregate of LangGraph:
    what the class of the hint returns without arguments, if it can be called so."""
    if reducer is add_messages:
        return []
    origin = typing.get_origin(hint) or hint
    if not isinstance(origin, type) or origin is object:
        return _MISSING
    try:
        return _CONCRETE.get(origin, origin)()
    except Exception:  # of the class: it needs arguments
        return _MISSING


def _retries(given: Any, node: str) -> list[RetryPolicy]:
    """Returns the policies of a node. Raises TypeError for another value."""
    policies = list(given) if isinstance(given, (list, tuple)) else [given]
    for policy in policies:
        if not isinstance(policy, RetryPolicy):
            raise TypeError(
                f"retry of node '{node}' must be a RetryPolicy or a list of these, not "
                f"{type_text(policy)}"
            )
    return policies


def _labels(targets: Any, where: str) -> dict[Any, str]:
    """Returns what a router may return, with the nodes. Raises TypeError for another value."""
    if isinstance(targets, Mapping):
        labels = dict(targets)
    else:
        labels = {t: t for t in checked_texts(targets, f"the targets {where}")}
    for label, node in labels.items():
        if not isinstance(label, (str, bool)):
            raise TypeError(
                f"a label {where} must be a str or a bool, not {type_text(label)} ({label!r})"
            )
        checked_text(node, f"the node of the label {label!r} {where}")
    return labels


def _kind_of(function: Callable[..., Any]) -> tuple[bool, bool]:
    """Returns whether a function is a coroutine function, and whether it takes the runtime."""
    return is_coroutine_function(function), "runtime" in parameters_of(function)


class CompiledGraph(_runs.Compiled[GraphInput, Result]):
    """A graph that is ready to run. Made by Graph.compile().

    All methods take the options of a run as keywords: thread_id, run_id, recursion_limit, deadline
    (seconds), max_concurrency, tags, metadata, configurable, durability, checkpoint_id,
    interrupt_before, interrupt_after.
    """

    def _build(self) -> Any:
        recipe = self._recipe
        graph = _superstep.Graph(
            opened(recipe["checkpointer"]), opened(recipe["store"]), opened(recipe["cache"])
        )
        for name, reducer, initial in recipe["channels"]:
            has_initial = initial is not _MISSING
            graph.channel(name, reducer, initial if has_initial else None, has_initial)
        for kind, arguments in recipe["steps"]:
            if kind == "subgraph":
                name, child, options = arguments
                arguments = (name, child._native(), options)
            getattr(graph, kind)(*arguments)
        graph.compile(recipe["options"])
        return graph

    def __getstate__(self) -> dict[str, Any]:
        return self._recipe

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._recipe = state
        self._forget()

    def _has_coroutines(self) -> bool:
        return any(
            arguments[1]._has_coroutines()
            if kind == "subgraph"
            else kind in ("node", "branch", "error_handler") and arguments[2]
            for kind, arguments in self._recipe["steps"]
        )

    def _read_input(self, given: GraphInput) -> Any:
        return _input_of(given)

    def _is_end(self, item: Any) -> bool:
        return len(item) == 5

    def _read_end(self, item: Any) -> tuple[Result, BaseException | None]:
        result = _result(item)
        error, result.error = result.error, None
        return result, error

    def batch(
        self, inputs: Iterable[Any], *, concurrency: int = 256, **options: Any
    ) -> list[Result]:
        """Runs the graph for each input, and returns the results in the order of the inputs.

        A failure is a value: see Result.error.
        """
        given = list(inputs)
        out: list[Result] = [Result({}) for _ in given]
        for index, _, result in self.map(given, concurrency=concurrency, **options):
            out[index] = result
        return out

    async def abatch(
        self, inputs: Iterable[Any], *, concurrency: int = 256, **options: Any
    ) -> list[Result]:
        """Like batch(), for coroutines."""
        given = list(inputs)
        outcomes = await self._aeach(given, concurrency, _input_of, lambda _: options)
        return [_result(outcome) for outcome in outcomes]

    def map(
        self, inputs: Iterable[Any], *, concurrency: int = 256, **options: Any
    ) -> Generator[tuple[int, Any, Result], None, None]:
        """Runs the graph for each input, and yields (index, input, result) as the runs end."""
        each = self._each(iter(inputs), concurrency, _input_of, lambda _: options)
        for index, item, outcome in each:
            yield index, item, _result(outcome)


def _input_of(given: Any) -> Any:
    if given is None or isinstance(given, (dict, Command)):
        return given
    if isinstance(given, Mapping):
        return dict(given)
    raise TypeError(f"the input of a graph must be a dict or a Command, not {type_text(given)}")


def _result(outcome: Any) -> Result:
    if isinstance(outcome, BaseException):
        return Result({}, "failed", [], outcome)
    status, state, interrupts, error, steps = outcome
    return Result(state, status, interrupts, error, steps)


def interrupt(value: Any) -> Any:
    """Stops the run until its caller resumes the thread, and returns the resume value.

    Both values must have a JSON form: None, bool, int, float, str, list and dict; a tuple becomes a list.
    Called by a node or tool. Without a resume value it does not return: it raises Interrupted, which
    must not be caught. When the thread is resumed, the node runs again from its beginning. Only runs
    with a checkpointer can be resumed.
    """
    return current_runtime().interrupt(value)


def emit(event: Any) -> None:
    """Sends an event, a value with a JSON form, to the readers of stream_mode "custom".

    Called by a node, tool or hook. A model cannot send events.
    """
    current_runtime().emit(event)


def current_runtime() -> "_superstep.Runtime":
    """Returns the Runtime of the node or tool that is running. Raises RuntimeError elsewhere."""
    call = _aio.current_call.get(None) or _superstep.current_call()
    if call is None:
        raise RuntimeError("this function can be called only by a node or tool that superstep runs")
    return call


def add_messages(old: Any, new: Any) -> list[Any]:
    """A reducer for lists of messages: appends, and replaces messages that have the same ``id``.

    A message of type "remove", such as LangChain's RemoveMessage, deletes the message with its ``id``;
    the id "__remove_all__" deletes all messages before it. Raises ValueError for an unknown id.
    """
    from ._agents import messages_of

    merged: list[Any] = list(old or [])
    items: list[Any] = []
    for message in messages_of(new):
        item = {"role": "user", "content": message} if isinstance(message, str) else message
        if isinstance(item, list):
            item = {"role": item[0], "content": item[1]}
        if item.get("id") == "__remove_all__" and _removes(item):
            merged, items = [], []
        else:
            items.append(item)
    places = {_id_of(m): i for i, m in enumerate(merged) if _id_of(m)}
    removed: set[int] = set()
    for item in items:
        name = item.get("id")
        at = places.get(name)
        if _removes(item):
            if at is None:
                raise ValueError(f"no message with the id {name!r} can be removed")
            removed.add(at)
        elif at is not None:
            merged[at] = item
            removed.discard(at)
        else:
            if name:
                places[name] = len(merged)
            merged.append(item)
    return [message for i, message in enumerate(merged) if i not in removed]


def _removes(message: Any) -> bool:
    return "remove" in (message.get("type"), message.get("role"))


def _id_of(message: Any) -> Any:
    return message.get("id") if isinstance(message, Mapping) else getattr(message, "id", None)
