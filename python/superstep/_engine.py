# SPDX-License-Identifier: Apache-2.0
"""The engine of this process, and what happens at a fork and at the end of the process."""

from __future__ import annotations

import atexit
import os
import sys
from types import CoroutineType

from . import _aio, _resources, _stored, _superstep
from ._functions import checked_count
from ._resources import Item, built, store_of
from ._types import Command, GraphError, Interrupt, Interrupted, Overwrite, RunError, Send

#: Seconds for which the end of the process waits for coroutines.
_EXIT_GRACE = 1.0


def engine(workers: int = 0) -> None:
    """Starts the engine of this process with a number of worker threads.

    Without a call, the engine starts with the first run and has one worker per core. Each process has
    one engine, which executes all runs. Raises ValueError if it runs already with another number.
    """
    _superstep.start_engine(checked_count(workers, "workers"))


def stats() -> dict[str, int]:
    """Returns the number of live runs and of threads for Python code (now, and at most)."""
    result: dict[str, int] = _superstep.stats()
    return result


def _stop() -> None:
    """Ends the engine before the interpreter ends."""
    if not _superstep.is_started():
        _superstep.stop()
        _superstep.forget_package()
        return
    live = _superstep.runs_to_lose()  # those that the program has cancelled need no report
    has_ended = _superstep.stop()
    has_ended = _aio.stop(_EXIT_GRACE) and has_ended
    if not live and has_ended:
        for compiled_or_resource in list(built):
            compiled_or_resource._forget()
        _superstep.forget_package()
        return
    if live:
        noun = "run" if live == 1 else "runs"
        text = f"cancels {live} {noun} that had not ended"
    else:
        text = "ends Python code of a cancelled run that had not returned"
    sys.stderr.write(f"superstep: the process exits and {text}\n")
    # Threads inside of Python code cannot outlive the interpreter, so it is not finalized. The exit
    # code shows that work was lost.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(130 if isinstance(getattr(sys, "last_value", None), KeyboardInterrupt) else 1)


_superstep.set_error_types(RunError, GraphError)
_superstep.set_types(
    {
        "interrupt": Interrupt,
        "send": Send,
        "command": Command,
        "overwrite": Overwrite,
        "store": store_of,
        "item": Item,
        "pack": _stored.pack,
        "pack_key": _stored.pack_key,
        "unpack": _stored.unpack,
        "coroutine": CoroutineType,
    }
)
_superstep.set_async_functions(_aio.submit, _aio.cancel, Interrupted, _aio.current_call)
atexit.register(_stop)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_aio.after_fork)
    os.register_at_fork(after_in_child=_resources.after_fork)
