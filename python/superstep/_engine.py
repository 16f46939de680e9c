# SPDX-License-Identifier: Apache-2.0
"""The engine of this process, and what happens at a fork and at the end of the process."""

from __future__ import annotations

import atexit
import os
import sys
from typing import Any

from . import _aio, _superstep
from ._types import Command, GraphError, Interrupt, Interrupted, Overwrite, RunError, Send


def engine(workers: int = 0) -> None:
    """Starts the engine of this process with a number of worker threads.

    Without a call, the engine starts with the first run and has one worker per core. Each process has
    one engine, which executes all runs. Raises ValueError if it runs already with another number.
    """
    if workers < 0:
        raise ValueError("workers must not be negative")
    _superstep.start_engine(workers)


def stats() -> dict[str, int]:
    """Returns the number of live runs and of threads for Python code (now, and at most)."""
    result: dict[str, int] = _superstep.stats()
    return result


def _stop() -> None:
    """Ends the engine before the interpreter ends."""
    if not _superstep.is_started():
        _superstep.forget_package()
        return
    live = _superstep.stats()["live_runs"]
    if live:
        noun = "run" if live == 1 else "runs"
        sys.stderr.write(f"superstep: the process exits and cancels {live} {noun} that had not ended\n")
    has_ended = _superstep.stop()
    if live or not has_ended:
        # Threads that are inside of Python code cannot outlive the interpreter, and the exit code
        # must show that work was lost.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(_exit_code or 1)
    _superstep.forget_package()


_exit_code = 0
_except_hook = sys.excepthook


def _note_interrupt(kind: type[BaseException], value: BaseException, trace: Any) -> None:
    global _exit_code
    if issubclass(kind, KeyboardInterrupt):
        _exit_code = 130
    _except_hook(kind, value, trace)


_superstep.set_error_types(RunError, GraphError)
_superstep.set_types(Interrupt, Send, Command, Overwrite)
_superstep.set_async_functions(_aio.submit, _aio.cancel, Interrupted)
sys.excepthook = _note_interrupt
atexit.register(_stop)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_aio.after_fork)
