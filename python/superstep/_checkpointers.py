# SPDX-License-Identifier: Apache-2.0
"""Checkpointers: where the threads of graphs and agents are saved."""

from __future__ import annotations

import os
from typing import Any

from . import _superstep


class Checkpointer:
    """Saves threads. Made by memory_checkpointer() and sqlite_checkpointer().

    A forked process opens a database again; what was saved in memory stays in the parent.
    """

    def __init__(self, path: str | None) -> None:
        self._path = path
        self._native: Any = None
        self._generation = -1

    def _open(self) -> Any:
        now = _superstep.generation()
        if self._native is None or self._generation != now:
            self._native = (
                _superstep.memory_checkpointer()
                if self._path is None
                else _superstep.sqlite_checkpointer(self._path)
            )
            self._generation = now
        return self._native

    def delete_thread(self, thread_id: str) -> None:
        """Deletes all checkpoints of a thread."""
        _superstep.delete_thread(self._open(), thread_id)

    def __reduce__(self) -> tuple[Any, ...]:
        return (Checkpointer, (self._path,))

    def __repr__(self) -> str:
        if self._path is None:
            return "superstep.memory_checkpointer()"
        return f"superstep.sqlite_checkpointer({self._path!r})"


def memory_checkpointer() -> Checkpointer:
    """Returns a checkpointer that keeps threads in memory, as they are, for as long as it lives."""
    return Checkpointer(None)


def sqlite_checkpointer(path: "str | os.PathLike[str]") -> Checkpointer:
    """Returns a checkpointer that saves threads in an SQLite database, which it creates if needed.

    Saved values must have a JSON form. If the environment variable SUPERSTEP_CHECKPOINT_KEY is set,
    the rows are encrypted with that key.
    """
    return Checkpointer(os.path.abspath(os.fspath(path)))
