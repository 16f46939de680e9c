# SPDX-License-Identifier: Apache-2.0
"""What agents and graphs have in common: starting runs and waiting for their results."""

from __future__ import annotations

from typing import Any, AsyncIterator, Awaitable, Callable, Generator, Iterator, Mapping, Sequence

from . import _aio, _superstep

Start = Callable[[Any, int], Any]


def wait(start: Start) -> Any:
    """Starts a run and returns its result. Ctrl-C cancels the run."""
    results = _superstep.Results()
    run = start(results, 0)
    try:
        return results.take(-1.0)[0][1]
    except BaseException:
        run.cancel()
        raise


def run_each(
    inputs: Iterator[Any], concurrency: int, begin: Callable[[Any, Any, int], Any]
) -> Generator[tuple[int, Any, Any], None, None]:
    """Starts a run for each input, at most ``concurrency`` at once, and yields what ends.

    Yields (index, input, result) in the order in which the runs end. ``begin(input, results, index)``
    starts a run; an Exception that it raises is yielded in place of the result. Runs are cancelled if
    the caller stops reading.
    """
    if concurrency < 1:
        raise ValueError("concurrency must be at least 1")
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
                for ended, result in results.take(-1.0):
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

    loop = asyncio.get_running_loop()
    arrived = asyncio.Event()
    results = _superstep.Results()

    def notify() -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(arrived.set)

    results.set_notify(notify)
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


async def arun_each(
    inputs: Sequence[Any], concurrency: int, run_one: Callable[[Any], Awaitable[Any]]
) -> list[Any]:
    """Awaits a run for each input, at most ``concurrency`` at once. Returns results or exceptions."""
    import asyncio

    places = asyncio.Semaphore(concurrency)

    async def bounded(item: Any) -> Any:
        async with places:
            return await run_one(item)

    return list(await asyncio.gather(*map(bounded, inputs), return_exceptions=True))


def loop_options(options: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Adds the event loop of the caller to the options of a run."""
    out = dict(options)
    out["configurable"] = {**(out.get("configurable") or {}), "__superstep_loop": number}
    return out


def waiter() -> _aio.Waiter:
    """Returns the object that delivers results to the running event loop."""
    return _aio.Waiter()
