# SPDX-License-Identifier: Apache-2.0
"""What agents and graphs have in common: starting runs and waiting for their results."""

from __future__ import annotations

import weakref
from typing import (
    TYPE_CHECKING,
    Any,
    AsyncIterator,
    Awaitable,
    Callable,
    Generator,
    Generic,
    Iterator,
    Mapping,
    Sequence,
    TypeVar,
)

from . import _aio, _superstep
from ._functions import checked_text, checked_texts, type_text
from ._resources import BuiltOnUse
from ._types import Snapshot

if TYPE_CHECKING:
    import asyncio  # imported when it is first needed, because this takes tens of milliseconds

InputT = TypeVar("InputT")
ResultT = TypeVar("ResultT")
Start = Callable[[Any, int], Any]
#: Returns the input of a run for a row of map() or batch().
Reader = Callable[[Any], Any]
#: A number of checkpoints that no thread has.
_ALL = 2**31 - 1


class Compiled(BuiltOnUse, Generic[InputT, ResultT]):
    """A program that is ready to run: the base of Agent and CompiledGraph.

    It consists of its recipe, from which the native object is built.
    """

    def __init__(self, recipe: dict[str, Any]) -> None:
        self._recipe = recipe
        self._forget()
        self._native()  # reports faults now

    # Subclasses define _build() and these members.

    def _has_coroutines(self) -> bool:
        """Whether runs call coroutine functions."""
        raise NotImplementedError

    def _read_input(self, given: Any) -> Any:
        """Converts an input for the native object."""
        raise NotImplementedError

    def _is_end(self, item: Any) -> bool:
        """Whether an item that a run has delivered is its result, and not an event."""
        raise NotImplementedError

    def _read_end(self, item: Any) -> tuple[ResultT, BaseException | None]:
        """Returns the result of a run, and its exception if it has failed."""
        raise NotImplementedError

    def _read_values(self, values: dict[str, Any]) -> dict[str, Any]:
        """Converts the values of update_state() for the native object."""
        return values

    def _start(self, given: Any, options: Mapping[str, Any], modes: Sequence[str] = ()) -> Start:
        native = self._native()
        return lambda to, tag: native.start(given, options, to, tag, modes)

    def _finish(self, item: Any) -> ResultT:
        """Returns the result of a run, or raises the exception of a failed one."""
        result, error = self._read_end(item)
        if error is None:
            return result
        del item
        try:
            raise error
        finally:
            del error  # otherwise the frame and the traceback of the exception refer to each other

    def _check_thread(self) -> None:
        """Raises RuntimeError if the calling thread must not wait for a run.

        A coroutine function that waits for other coroutine functions of the same loop would wait forever.
        """
        if _aio.is_own_thread() and self._has_coroutines():
            raise RuntimeError(
                "this run calls coroutine functions, and a coroutine function cannot wait for it "
                "without blocking their event loop; use the asynchronous form, such as `await ainvoke()`"
            )

    def _in_loop(self, options: dict[str, Any], waiter: _aio.Waiter) -> dict[str, Any]:
        """Adds the event loop of the caller to the options of a run, if the run needs one."""
        if not self._has_coroutines():
            return options
        configurable = {**(options.get("configurable") or {}), "__superstep_loop": waiter.number}
        return {**options, "configurable": configurable}

    def invoke(self, input: InputT, **options: Any) -> ResultT:
        """Runs the program and returns its result. Raises the exception of a failed run.

        The input None resumes the thread; Command(resume=...) answers its interrupts. An interrupt is
        not a failure: the result's ``interrupts`` are not empty then.
        """
        self._check_thread()
        result = self._finish(wait(self._start(self._read_input(input), options)))
        _check_nested(result, options)
        return result

    async def ainvoke(self, input: InputT, **options: Any) -> ResultT:
        """Like invoke(), for coroutines. Coroutine functions run in the caller's event loop."""
        waiter = _aio.Waiter()
        start = self._start(self._read_input(input), self._in_loop(options, waiter))
        result = self._finish(await waiter.run(start))
        _check_nested(result, options)
        return result

    def stream(
        self, input: InputT, *, stream_mode: "str | Sequence[str]" = "updates", **options: Any
    ) -> Iterator[Any]:
        """Runs the program and yields its events.

        ``stream_mode`` is "updates", "values", "custom" or, for an agent, "messages", or a list of
        these; with a list, the events are pairs of mode and event. Raises the exception of a failed run
        at the end.
        """
        self._check_thread()
        modes, is_list = _modes_of(stream_mode)
        start = self._start(self._read_input(input), options, modes)
        for item in read_events(start, self._is_end):
            if self._is_end(item):
                self._finish(item)
            else:
                yield item if is_list else item[1]

    async def astream(
        self, input: InputT, *, stream_mode: "str | Sequence[str]" = "updates", **options: Any
    ) -> AsyncIterator[Any]:
        """Like stream(), for coroutines."""
        modes, is_list = _modes_of(stream_mode)
        options = self._in_loop(options, _aio.Waiter())
        start = self._start(self._read_input(input), options, modes)
        async for item in aread_events(start, self._is_end):
            if self._is_end(item):
                self._finish(item)
            else:
                yield item if is_list else item[1]

    def _each(
        self, rows: Iterator[Any], concurrency: int, read: Reader, options_of: Reader
    ) -> Generator[tuple[int, Any, Any], None, None]:
        """Runs the program for each row, and yields (index, row, result) as the runs end."""
        self._check_thread()
        native = self._native()

        def begin(row: Any, results: Any, index: int) -> Any:
            return native.start(read(row), options_of(row), results, index, ())

        return run_each(rows, concurrency, begin)

    async def _aeach(
        self, rows: Sequence[Any], concurrency: int, read: Reader, options_of: Reader
    ) -> list[Any]:
        """Runs the program for each row, and returns results or exceptions in order."""
        waiter = _aio.Waiter()

        async def one(row: Any) -> Any:
            return await waiter.run(self._start(read(row), self._in_loop(options_of(row), waiter)))

        return await arun_each(rows, concurrency, one)

    def get_state(self, thread_id: str, checkpoint_id: str = "") -> Snapshot:
        """Returns the state of a thread, at its newest or at another checkpoint."""
        options = {"thread_id": thread_id, "checkpoint_id": checkpoint_id or None}
        return Snapshot(*self._native().get_state(options))

    def get_state_history(self, thread_id: str, limit: "int | None" = None) -> list[Snapshot]:
        """Returns the states of a thread at all its checkpoints, or the newest ones, newest first."""
        if limit is None:
            limit = _ALL
        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 0:
            raise ValueError(f"limit must be an int of at least 0, not {limit!r}")
        found = self._native().get_state_history({"thread_id": thread_id}, limit)
        return [Snapshot(*one) for one in found]

    def update_state(
        self,
        thread_id: str,
        values: Mapping[str, Any] | None,
        *,
        as_node: str = "",
        checkpoint_id: str = "",
    ) -> str:
        """Writes to a thread as if a node had returned the values. Returns the new checkpoint's id.

        The values of an agent are a dict with ``messages``, which are added to the conversation, and
        ``structured_response``.
        """
        if values is not None and not isinstance(values, Mapping):
            raise TypeError(f"values must be a dict or None, not {type_text(values)}")
        options = {"thread_id": thread_id, "checkpoint_id": checkpoint_id or None}
        given = None if values is None else self._read_values(dict(values))
        name = checked_text(as_node, "as_node")
        made: str = self._native().update_state(options, given, name)
        return made

    def mermaid(self) -> str:
        """Returns the graph of the program as Mermaid text."""
        text: str = self._native().mermaid()
        return text


def _check_nested(result: Any, options: Mapping[str, Any]) -> None:
    """Raises if a node or tool has started an interrupted run whose interrupts cannot be answered."""
    if not result.interrupts or options.get("thread_id"):
        return
    if (_aio.current_call.get(None) or _superstep.current_call()) is not None:
        raise RuntimeError(
            "a node or tool has invoked a program that was interrupted, and its interrupts cannot be "
            "answered: add the graph as a node with Graph.add(), call interrupt() in the node or tool "
            "itself, or pass a thread_id and answer them there"
        )


def _modes_of(given: "str | Sequence[str]") -> tuple[list[str], bool]:
    return ([given], False) if isinstance(given, str) else (checked_texts(given, "stream_mode"), True)


def wait(start: Start) -> Any:
    """Starts a run and returns its result. Ctrl-C cancels the run."""
    results = _superstep.Results()
    run = start(results, 0)
    try:
        return results.take(-1.0)[0][1]
    except BaseException:
        run.cancel()
        raise


def check_concurrency(concurrency: Any) -> None:
    """Raises TypeError or ValueError for a value that is not a number of runs."""
    if isinstance(concurrency, bool) or not isinstance(concurrency, int):
        raise TypeError(f"concurrency must be an int, not {type_text(concurrency)}")
    if concurrency < 1:
        raise ValueError("concurrency must be at least 1")


def run_each(
    inputs: Iterator[Any], concurrency: int, begin: Callable[[Any, Any, int], Any]
) -> Generator[tuple[int, Any, Any], None, None]:
    """Starts a run for each input, at most ``concurrency`` at once, and yields what ends.

    Yields (index, input, result) in the order in which the runs end. ``begin(input, results, index)``
    starts a run; an Exception that it raises is yielded in place of the result. Runs are cancelled if
    the caller stops reading.
    """
    check_concurrency(concurrency)
    results = _superstep.Results()
    live: dict[int, tuple[Any, Any]] = {}
    index = 0
    has_more = True
    try:
        while has_more or live:
            while has_more and len(live) < concurrency:
                try:
                    item = next(inputs)
                except StopIteration:
                    has_more = False
                    break
                try:
                    live[index] = (item, begin(item, results, index))
                except Exception as error:
                    yield index, item, error
                index += 1
            if live:
                for ended, result in results.take(-1.0, len(live)):
                    yield ended, live.pop(ended)[0], result
    finally:
        for _, run in live.values():
            run.cancel()


def read_events(start: Start, is_end: Callable[[Any], bool]) -> Iterator[Any]:
    """Yields the events of a run, and last its result. Stopping to read cancels the run."""
    results = _superstep.Results()
    run = start(results, 0)
    has_ended = False
    try:
        while not has_ended:
            for _, item in results.take(-1.0):
                has_ended = is_end(item)
                yield item
    finally:
        if not has_ended:
            run.cancel()


async def aread_events(start: Start, is_end: Callable[[Any], bool]) -> AsyncIterator[Any]:
    """Yields the events of a run to a coroutine, and last its result."""
    import asyncio

    arrived = asyncio.Event()
    results = _superstep.Results()
    results.set_notify(_notify_of(asyncio.get_running_loop(), arrived))
    run = start(results, 0)
    has_ended = False
    try:
        while not has_ended:
            await arrived.wait()
            arrived.clear()
            for _, item in results.take(0.0):
                has_ended = is_end(item)
                yield item
    finally:
        if not has_ended:
            run.cancel()


def _notify_of(loop: asyncio.AbstractEventLoop, arrived: asyncio.Event) -> Callable[[], None]:
    """Returns a function that sets an event in a loop. It keeps neither alive: a run has the function."""
    loop_reference, event_reference = weakref.ref(loop), weakref.ref(arrived)

    def notify() -> None:
        loop, arrived = loop_reference(), event_reference()
        if loop is not None and arrived is not None and not loop.is_closed():
            loop.call_soon_threadsafe(arrived.set)

    return notify


async def arun_each(
    inputs: Sequence[Any], concurrency: int, run_one: Callable[[Any], Awaitable[Any]]
) -> list[Any]:
    """Awaits a run for each input, at most ``concurrency`` at once. Returns results or exceptions."""
    import asyncio

    check_concurrency(concurrency)
    places = asyncio.Semaphore(concurrency)

    async def bounded(item: Any) -> Any:
        async with places:
            return await run_one(item)

    return list(await asyncio.gather(*map(bounded, inputs), return_exceptions=True))
