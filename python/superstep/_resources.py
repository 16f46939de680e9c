# SPDX-License-Identifier: Apache-2.0
"""Where programs keep data: checkpointers for threads, stores for long-term memory, caches for outputs."""

from __future__ import annotations

import os
import threading
import weakref
from typing import Any, Callable, Mapping, Sequence, Union

from . import _superstep
from ._functions import (
    checked_count,
    checked_text,
    checked_texts,
    checked_ttl,
    has_utf8_form,
    is_coroutine_function,
    type_text,
)
from ._types import Values

Namespace = Union[Sequence[str], str]
Embed = Callable[[list[str]], list[list[float]]]


#: The objects that have native ones. They drop these when the process exits: a native object may keep a
#: value whose class refers to the program, which the garbage collector does not see.
built: "weakref.WeakSet[Any]" = weakref.WeakSet()

#: Held while a native object is made: threads that are the first to use an object share the native one.
_making = threading.RLock()


def after_fork() -> None:
    """Replaces the lock in a forked child: another thread of the parent may have held it."""
    global _making
    _making = threading.RLock()


class BuiltOnUse:
    """Has a native object, which is built when it is first used, and again in a forked process."""

    def _build(self) -> Any:
        """Builds the native object. Subclasses define this member."""
        raise NotImplementedError

    def _forget(self) -> None:
        self._built: Any = None
        self._generation = -1

    def _native(self) -> Any:
        if not self._is_built():
            with _making:
                if not self._is_built():
                    now = _superstep.generation()
                    self._built = self._build()
                    self._generation = now
                    built.add(self)
        return self._built

    def _is_built(self) -> bool:
        return self._built is not None and self._generation == _superstep.generation()


class _Resource(BuiltOnUse):
    """A native object that a function of the native module opens; ``make`` is its name."""

    def __init__(self, make: str, *arguments: Any) -> None:
        self._make = make
        self._arguments = arguments
        self._forget()

    def _build(self) -> Any:
        return getattr(_superstep, self._make)(*self._arguments)

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self._make, *self._arguments))

    def __repr__(self) -> str:
        path = repr(self._arguments[0]) if self._make.startswith(("sqlite", "postgres")) else ""
        return f"superstep.{self._make}({path})"


def opened(resource: "_Resource | None") -> Any:
    """Returns the native object of a resource; None if there is none."""
    return None if resource is None else resource._native()


def check_resources(**resources: Any) -> None:
    """Raises TypeError for an argument that is not of the class of its name, and not None."""
    classes = {"checkpointer": Checkpointer, "store": Store, "cache": Cache}
    for name, value in resources.items():
        of = classes[name]
        if value is not None and not isinstance(value, of):
            raise TypeError(
                f"{name} must be a superstep.{of.__name__}, such as memory_{name}(), or None, not "
                f"{type_text(value)}"
            )


class Checkpointer(_Resource):
    """Saves threads. Made by memory_checkpointer(), sqlite_checkpointer() and postgres_checkpointer().

    A forked process opens a database again; what was saved in memory stays in the parent.
    """

    def delete_thread(self, thread_id: str) -> None:
        """Deletes all checkpoints of a thread."""
        _superstep.delete_thread(self._native(), checked_text(thread_id, "thread_id"))


def memory_checkpointer() -> Checkpointer:
    """Returns a checkpointer that keeps threads in memory for as long as it lives.

    It keeps values as they are. A graph that has not saved them, for example the same graph compiled
    again, reads their stored form; see sqlite_checkpointer().
    """
    return Checkpointer("memory_checkpointer")


def sqlite_checkpointer(path: "str | os.PathLike[str]") -> Checkpointer:
    """Returns a checkpointer that saves threads in an SQLite database, which it creates if needed.

    Saved values must be plain values or of classes that storable() allows. If the environment
    variable SUPERSTEP_CHECKPOINT_KEY is set, the rows are encrypted with that key.
    """
    return Checkpointer("sqlite_checkpointer", _path_of(path, "checkpointer"))


def postgres_checkpointer(url: str) -> Checkpointer:
    """Returns a checkpointer that saves threads in a PostgreSQL database, for many machines.

    ``url`` has the form ``postgresql://host/database`` and contains no password: use a password file
    or PGPASSWORD. Everything else is as described for sqlite_checkpointer().
    """
    return Checkpointer("postgres_checkpointer", checked_text(url, "url"))


class Item(Values):
    """An item of a Store: ``value`` is a dict; ``score`` is its similarity to the text of a search."""

    __slots__ = ("namespace", "key", "value", "score")

    def __init__(
        self, namespace: tuple[str, ...], key: str, value: dict[str, Any], score: "float | None" = None
    ) -> None:
        self.namespace = namespace
        self.key = key
        self.value = value
        self.score = score


class Store(_Resource):
    """Long-term memory that all threads share. Made by memory_store(), sqlite_store() and postgres_store().

    Nodes and tools find it as ``runtime.store``. An item has a namespace, a tuple of labels, and a
    key; its value is a dict with a JSON form. A put() takes effect at once: it is not part of the
    state, and remains if the node fails. All methods may be called by any thread.
    """

    def get(self, namespace: Namespace, key: str) -> "Item | None":
        """Returns an item; None if it does not exist or has expired."""
        found: Item | None = self._native().get(_labels(namespace), checked_text(key, "key"))
        return found

    def put(
        self,
        namespace: Namespace,
        key: str,
        value: Mapping[str, Any],
        *,
        index: "Sequence[str] | bool | None" = None,
        ttl: "float | None" = None,
    ) -> None:
        """Adds or replaces an item.

        ``index`` names the fields that are indexed for similarity, instead of those of the store;
        False indexes none. ``ttl`` is the lifetime in seconds.
        """
        labels, key = _labels(namespace), checked_text(key, "key")
        if not isinstance(value, Mapping):
            raise TypeError(f"value must be a dict, not {type_text(value)}")
        if index is None or isinstance(index, bool):
            fields: "list[str] | None" = [] if index is False else None
        else:
            fields = checked_texts(index, "index")
        self._native().put(labels, key, dict(value), fields, checked_ttl(ttl))

    def delete(self, namespace: Namespace, key: str) -> None:
        """Deletes an item, if it exists."""
        self._native().delete(_labels(namespace), checked_text(key, "key"))

    def search(
        self,
        namespace_prefix: Namespace = (),
        *,
        query: "str | None" = None,
        filter: "Mapping[str, Any] | None" = None,
        limit: int = 10,
        offset: int = 0,
    ) -> list[Item]:
        """Returns the items in and below a namespace whose fields match a filter.

        With a ``query`` and a store that has an embedding, the most similar items come first. A filter
        compares fields with values, or by $eq, $ne, $gt, $gte, $lt and $lte.
        """
        if filter is not None and not isinstance(filter, Mapping):
            raise TypeError(f"filter must be a dict, not {type_text(filter)}")
        found: list[Item] = self._native().search(
            _labels(namespace_prefix),
            checked_text("" if query is None else query, "query"),
            None if filter is None else dict(filter),
            checked_count(limit, "limit"),
            checked_count(offset, "offset"),
        )
        return found

    def list_namespaces(
        self,
        *,
        prefix: Namespace = (),
        suffix: Namespace = (),
        max_depth: "int | None" = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[tuple[str, ...]]:
        """Returns the namespaces that start with ``prefix`` and end with ``suffix``.

        Longer namespaces are cut to ``max_depth`` labels, at least 1, and listed once.
        """
        if max_depth is not None and checked_count(max_depth, "max_depth") == 0:
            raise ValueError("max_depth must be at least 1, not 0")
        found = self._native().list_namespaces(
            _labels(prefix),
            _labels(suffix),
            max_depth,
            checked_count(limit, "limit"),
            checked_count(offset, "offset"),
        )
        return [tuple(labels) for labels in found]


def _labels(namespace: Namespace) -> list[str]:
    return [namespace] if isinstance(namespace, str) else checked_texts(namespace, "namespace")


def _indexing(embed: Any, fields: Any) -> tuple[Any, list[str]]:
    """Returns the function and the fields of an index. Raises TypeError for values of another type."""
    if embed is not None and not callable(embed):
        raise TypeError(f"embed must be a function of a list of texts, not {type_text(embed)}")
    if embed is not None and is_coroutine_function(embed):
        raise TypeError("embed must be a plain function, not a coroutine function")
    return embed, checked_texts(fields, "fields")


def _path_of(path: "str | os.PathLike[str]", kind: str) -> str:
    """Returns the absolute path of a database. Raises ValueError for a text that is not a path."""
    text = os.fsdecode(path)
    if not text:
        raise ValueError(f"sqlite_{kind}: the path is empty")
    if text == ":memory:":
        raise ValueError(f"sqlite_{kind}: ':memory:' is not a path; use memory_{kind}()")
    if "\0" in text:
        raise ValueError(f"sqlite_{kind}: {text!r} contains a zero character")
    if not has_utf8_form(text):
        raise ValueError(f"sqlite_{kind}: {text!r} is not UTF-8")
    if text.startswith("file:"):
        raise ValueError(f"sqlite_{kind}: {text!r} is a URI; pass the path of the database")
    return os.path.abspath(text)


def memory_store(
    *, embed: "Embed | None" = None, fields: Sequence[str] = ("$",), ttl: "float | None" = None
) -> Store:
    """Returns a store in memory.

    ``embed`` maps a list of texts to vectors, which makes search() by similarity possible; ``fields``
    are the paths of the fields that are indexed; ``ttl`` is the lifetime of items in seconds.
    """
    return Store("memory_store", *_indexing(embed, fields), checked_ttl(ttl))


def sqlite_store(
    path: "str | os.PathLike[str]",
    *,
    embed: "Embed | None" = None,
    fields: Sequence[str] = ("$",),
    ttl: "float | None" = None,
) -> Store:
    """Returns a store in an SQLite database, which may be that of a checkpointer; see memory_store()."""
    return Store("sqlite_store", _path_of(path, "store"), *_indexing(embed, fields), checked_ttl(ttl))


def postgres_store(
    url: str,
    *,
    embed: "Embed | None" = None,
    fields: Sequence[str] = ("$",),
    ttl: "float | None" = None,
) -> Store:
    """Returns a store in a PostgreSQL database; see memory_store() and postgres_checkpointer()."""
    return Store("postgres_store", checked_text(url, "url"), *_indexing(embed, fields), checked_ttl(ttl))


def store_of(native: Any) -> Store:
    """Returns the Store of a native one."""
    made = Store("memory_store")
    made._built = native
    made._generation = _superstep.generation()
    return made


class Cache(_Resource):
    """Keeps outputs of nodes with a CachePolicy.

    Made by memory_cache(), sqlite_cache() and postgres_cache().
    """

    def clear(self) -> None:
        """Deletes all outputs."""
        self._native().clear()


def memory_cache(entries_max: int = 100_000) -> Cache:
    """Returns a cache in memory; beyond ``entries_max`` it drops the oldest outputs."""
    return Cache("memory_cache", checked_count(entries_max, "entries_max"))


def sqlite_cache(path: "str | os.PathLike[str]", *, entries_max: int = 100_000) -> Cache:
    """Returns a cache in an SQLite database, which may be that of a checkpointer.

    Cached values must be storable, as with sqlite_checkpointer().
    """
    return Cache("sqlite_cache", _path_of(path, "cache"), checked_count(entries_max, "entries_max"))


def postgres_cache(url: str, *, entries_max: int = 100_000) -> Cache:
    """Returns a cache in a PostgreSQL database; see sqlite_cache() and postgres_checkpointer()."""
    return Cache("postgres_cache", checked_text(url, "url"), checked_count(entries_max, "entries_max"))
