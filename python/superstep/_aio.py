# SPDX-License-Identifier: Apache-2.0
"""Event loops: runs coroutine functions of nodes and tools, and delivers results to async callers."""

from __future__ import annotations

import contextvars
import itertools
import threading
import weakref
from collections import deque
from typing import TYPE_CHECKING, Any, Awaitable, Callable

from . import _superstep

if TYPE_CHECKING:
    import asyncio  # imported when it is first needed, because this takes tens of milliseconds

#: The call of a coroutine function that the current task executes.
current_call: contextvars.ContextVar[Any] = contextvars.ContextVar("superstep_call")

#: The member of an event loop that contains its _Loop.
_MEMBER = "_superstep_loop"
_numbers = itertools.count(1)
_loops: weakref.WeakValueDictionary[int, "_Loop"] = weakref.WeakValueDictionary()
_own: "_Loop | None" = None
_own_thread: "threading.Thread | None" = None
_lock = threading.Lock()


class _Handle:
    """A coroutine on its way to a loop, and then its task.

    A run has it, so it keeps neither alive: a loop with a task that waits for the run can be deleted.
    """

    __slots__ = ("loop", "task", "cancelled")

    def __init__(self, loop: "_Loop") -> None:
        self.loop = weakref.ref(loop)
        self.task: weakref.ref[asyncio.Task[Any]] | None = None
        self.cancelled = False


class _Loop:
    """An event loop with the work that other threads have passed to it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.number = next(_numbers)
        self._reference = weakref.ref(loop)
        self.work: deque[Callable[[], None]] = deque()
        self.is_woken = False  # whether _drain() is scheduled, or runs and will see new work
        self.tasks: set[asyncio.Task[Any]] = set()
        self.results: Any = None  # the queue of this loop's callers
        self.arrived: deque[tuple[int, Any]] = deque()  # taken from the queue
        self.futures: dict[int, asyncio.Future[Any]] = {}
        self.tags = itertools.count()

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The event loop. Its users keep it alive."""
        loop = self._reference()
        if loop is None:
            raise RuntimeError("the event loop of a run was deleted")
        return loop

    def is_closed(self) -> bool:
        """Whether the loop accepts no more work."""
        loop = self._reference()
        return loop is None or loop.is_closed()

    def post(self, work: Callable[[], None]) -> bool:
        """Calls a function in the loop. One wake-up serves all functions that arrive meanwhile.

        Returns False if the loop was closed, perhaps meanwhile. The exception is not raised: its
        traceback would keep the loop alive.
        """
        self.work.append(work)
        if not self.is_woken:
            self.is_woken = True
            try:
                self.loop.call_soon_threadsafe(self._drain)
            except RuntimeError:
                self.is_woken = False
                self.work.clear()
                return False
        return True

    def _drain(self) -> None:
        # Another thread may add work after the last look at the list and before the flag is reset, so
        # the list is looked at once more. Two calls of this function at once do no harm.
        while True:
            while self.work:
                work = self.work.popleft()
                try:
                    work()
                except Exception as error:
                    self.loop.call_exception_handler(
                        {"message": "superstep: a callback failed", "exception": error}
                    )
            self.is_woken = False
            if not self.work:
                return


def _loop_of(loop: asyncio.AbstractEventLoop) -> _Loop:
    # A member of the loop, and not an entry of a table: its futures refer to the loop, so the loop
    # would never be deleted.
    found: _Loop | None = getattr(loop, _MEMBER, None)
    if found is None:
        found = _Loop(loop)
        setattr(loop, _MEMBER, found)
        _loops[found.number] = found
    return found


def _own_loop() -> _Loop:
    """Returns the package's own loop, for runs whose caller has none."""
    import asyncio

    global _own, _own_thread
    with _lock:
        if _own is None or _own.is_closed():
            loop = asyncio.new_event_loop()
            _own_thread = threading.Thread(
                target=_run_own_loop, args=(loop,), name="superstep-loop", daemon=True
            )
            _own = _loop_of(loop)
            _own_thread.start()
        return _own


def is_own_thread() -> bool:
    """Whether the calling thread is that of the package's own loop."""
    return threading.current_thread() is _own_thread


def _run_own_loop(loop: asyncio.AbstractEventLoop) -> None:
    """Runs a loop until it is stopped, and ends its tasks."""
    import asyncio

    async def end() -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await loop.shutdown_asyncgens()

    try:
        loop.run_forever()
        loop.run_until_complete(end())
    finally:
        loop.close()


def stop(seconds: float) -> bool:
    """Ends the package's own loop, when the process ends. Returns whether its coroutines have ended."""
    global _own, _own_thread
    with _lock:
        own, thread = _own, _own_thread
        # Its queue has a function of this module, which the garbage collector does not see.
        _own = _own_thread = None
    if own is None or thread is None:
        return True
    try:
        own.loop.call_soon_threadsafe(own.loop.stop)
    except RuntimeError:  # the loop was closed or deleted
        pass
    thread.join(seconds)
    return not thread.is_alive()


def submit(number: int, coroutine: Any, call: Any) -> _Handle:
    """Schedules a coroutine in a loop, with the context of the caller; 0 is the package's own loop."""
    of_caller = _loops.get(number) if number else None
    loop: _Loop = _own_loop() if of_caller is None or of_caller.is_closed() else of_caller
    handle = _Handle(loop)
    context = contextvars.copy_context()
    context.run(current_call.set, call)

    def begin() -> None:
        if handle.cancelled:
            coroutine.close()
            return
        task = loop.loop.create_task(_run(coroutine), context=context)
        # If the loop is deleted before the task has ended, its run was cancelled, which is not an error.
        task._log_destroy_pending = False  # type: ignore[attr-defined]
        handle.task = weakref.ref(task)
        loop.tasks.add(task)
        task.add_done_callback(lambda t: _end(loop, t, call, coroutine))

    if not loop.post(begin):
        loop = _own_loop()
        handle.loop = weakref.ref(loop)
        loop.post(begin)
    return handle


class _Exit:
    """The exception of a coroutine that asyncio would raise in the thread of the loop, and end it."""

    def __init__(self, failure: BaseException) -> None:
        self.failure = failure


async def _run(awaitable: Awaitable[Any]) -> Any:
    try:
        return await awaitable
    except (SystemExit, KeyboardInterrupt) as failure:
        return _Exit(failure)


def _end(loop: _Loop, task: asyncio.Task[Any], call: Any, coroutine: Any) -> None:
    import asyncio

    loop.tasks.discard(task)
    if task.cancelled():
        coroutine.close()  # which has not started if the task was cancelled at once
        call._complete(None, asyncio.CancelledError("the task was cancelled"))
        return
    failure = task.exception()
    result = None if failure is not None else task.result()
    if isinstance(result, _Exit):
        failure = result.failure
        result = None
    call._complete(result, failure)


def cancel(handle: _Handle) -> None:
    """Cancels a coroutine whose result is no longer needed."""

    def stop() -> None:
        handle.cancelled = True
        task = handle.task() if handle.task is not None else None
        if task is not None:
            task.cancel()

    loop = handle.loop()
    if loop is not None and not loop.is_closed():
        loop.post(stop)


class Waiter:
    """Starts runs whose results are delivered to futures of the running loop."""

    __slots__ = ("_loop",)

    def __init__(self) -> None:
        import asyncio

        loop = _loop_of(asyncio.get_running_loop())
        if loop.results is None:
            loop.results = _superstep.Results()
            reference = weakref.ref(loop)  # the queue must not keep the loop alive

            def deliver() -> None:
                of = reference()
                if of is None:
                    return
                try:
                    of.arrived.extend(of.results.take(0.0))
                    while of.arrived:
                        tag, result = of.arrived[0]
                        future = of.futures.get(tag)
                        if future is not None and not future.done():
                            future.set_result(result)
                        of.arrived.popleft()
                except BaseException:  # of the handler of a signal; the other results are still due
                    of.loop.call_soon(deliver)
                    raise

            def notify() -> None:
                of = reference()
                if of is not None and not of.is_closed():
                    of.loop.call_soon_threadsafe(deliver)

            loop.results.set_notify(notify)
        self._loop = loop

    @property
    def number(self) -> int:
        """The number by which runs find this loop."""
        return self._loop.number

    async def run(self, start: Callable[[Any, int], Any]) -> Any:
        """Awaits the result of a run. Cancelling the task cancels the run.

        ``start`` takes the queue and the tag of the result, and returns the handle of the run.
        """
        loop = self._loop
        tag = next(loop.tags)
        future = loop.loop.create_future()
        loop.futures[tag] = future
        handle = None
        try:
            handle = start(loop.results, tag)
            return await future
        except BaseException:
            if handle is not None:
                handle.cancel()
            raise
        finally:
            del loop.futures[tag]


async def until_notified(
    begin: Callable[[Callable[[], object]], Any], stop: Callable[[Any], None]
) -> Any:
    """Starts an operation that another thread ends, and awaits its end.

    ``begin`` starts it; the argument is to be called at the end. It returns the operation, which is
    returned. ``stop`` cancels the operation if the task is cancelled.
    """
    import asyncio

    loop = _loop_of(asyncio.get_running_loop())
    ended = loop.loop.create_future()

    def end() -> None:
        if not ended.done():
            ended.set_result(None)

    operation = begin(lambda: loop.post(end))
    try:
        await ended
    except BaseException:
        stop(operation)
        raise
    return operation


def after_fork() -> None:
    """Forgets the loops of the parent process, whose threads do not exist in the child."""
    global _lock, _own, _own_thread
    _lock = threading.Lock()  # another thread of the parent may have held it
    _own = _own_thread = None
    for loop in list(_loops.values()):
        loop.results = None
        loop.arrived.clear()
        loop.futures = {}
