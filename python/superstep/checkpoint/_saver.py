# SPDX-License-Identifier: Apache-2.0
"""LangGraph's interface of a checkpointer, on a checkpointer of this package.

Values are stored as the package stores those of its own graphs: as JSON, or as MessagePack in an object
``{"$msgpack": base64}``. The MessagePack is that of the saver's serializer. Rows are described in
docs/checkpoint-format.md.
"""

from __future__ import annotations

import asyncio
import binascii
import concurrent.futures
import functools
import threading
from typing import Any, AsyncIterator, Callable, Iterator, Sequence, TypeVar

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_serializable_checkpoint_metadata,
    writes_sort_key,
)
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from .. import _superstep
from .._resources import Checkpointer, built

SelfT = TypeVar("SelfT", bound="Saver")
T = TypeVar("T")

#: The number of threads whose newest checkpoint a saver keeps, to find out what has changed.
THREADS_MAX = 10_000
#: The number of checkpoints that list() reads at once.
PAGE = 100
#: The number of calls of coroutines that wait for the storage at the same time. They share commits.
CALLS_MAX = 64


class _Whole:
    """A value that is packed as it is, also if it has a JSON form."""

    def __init__(self, value: Any) -> None:
        self.value = value


class _Packed:
    """A value in its packed form."""

    def __init__(self, text: str) -> None:
        self.text = text


class _Opened:
    """The native threads of a checkpointer, and what the saver knows of them."""

    def __init__(self, checkpointer: Checkpointer) -> None:
        self._checkpointer: "Checkpointer | None" = checkpointer
        self._lock = threading.Lock()  # held while the database is opened
        self.order = threading.Lock()  # protects `newest` and `early`
        self._forget()

    def _forget(self) -> None:
        self._native: Any = None
        self._generation = -1
        self._pool: "concurrent.futures.ThreadPoolExecutor | None" = None
        #: by thread and namespace: the id, the versions of channels, and the native checkpoint
        self.newest: "dict[tuple[str, str], tuple[str, ChannelVersions, Any]]" = {}
        #: by thread and namespace: writes of checkpoints that were not put yet, as (id, record, waits)
        self.early: "dict[tuple[str, str], list[tuple[str, dict[str, Any], bool]]]" = {}

    def native(self) -> Any:
        if self._native is None or self._generation != _superstep.generation():
            with self._lock:
                self._open()
        return self._native

    def _open(self) -> None:
        if self._checkpointer is None:
            raise RuntimeError("the saver is closed")
        if self._native is None or self._generation != _superstep.generation():
            self._forget()
            self._native = _superstep.LangThreads(self._checkpointer._native())
            self._generation = _superstep.generation()
            built.add(self)

    async def run(self, function: Callable[..., T], *arguments: Any, **options: Any) -> T:
        """Calls a function on another thread."""
        if self._generation != _superstep.generation():
            await asyncio.to_thread(self.native)
        if self._pool is None:
            self._pool = concurrent.futures.ThreadPoolExecutor(CALLS_MAX, "superstep-saver")
        call = functools.partial(function, *arguments, **options)
        return await asyncio.get_running_loop().run_in_executor(self._pool, call)

    def remember(self, key: tuple[str, str], id: str, versions: ChannelVersions, point: Any) -> None:
        while len(self.newest) >= THREADS_MAX:
            self.newest.pop(next(iter(self.newest)), None)
        self.newest.pop(key, None)
        self.newest[key] = (id, dict(versions), point)

    def close(self) -> None:
        pool = self._pool
        self._forget()
        if pool is not None:
            pool.shutdown(wait=False)
        if self._checkpointer is not None:
            self._checkpointer._forget()
        self._checkpointer = None


def _is_stored_alone(channel: str) -> bool:
    """Whether a channel of the graph is a channel of the row; see src/lang_threads.cpp."""
    return not channel.startswith("__") and ":" not in channel


class Saver(BaseCheckpointSaver[Any]):
    """A checkpointer of LangGraph on one of this package.

    put() returns when the checkpoint is durable. put_writes() returns earlier, except for interrupts,
    errors and resume values: the writes become durable within 10 ms, or with the next checkpoint. Both
    are visible to the same saver at once.

    The default serializer reads only the classes that LangGraph declares safe, for example messages.
    Pass ``serde=JsonPlusSerializer(allowed_msgpack_modules=[…])`` for classes of the program.
    """

    def __init__(self, checkpointer: Checkpointer, *, serde: "SerializerProtocol | None" = None) -> None:
        super().__init__(serde=serde or JsonPlusSerializer(allowed_msgpack_modules=None))
        self._opened = _Opened(checkpointer)

    def setup(self) -> None:
        """Opens the database, which creates the tables. Other functions do so as well."""
        self._opened.native()

    def __enter__(self: SelfT) -> SelfT:
        return self

    def __exit__(self, *_: Any) -> None:
        self._opened.close()

    async def __aenter__(self: SelfT) -> SelfT:
        return self

    async def __aexit__(self, *_: Any) -> None:
        await asyncio.to_thread(self._opened.close)

    def _pack(self, value: Any, where: str) -> str:
        if isinstance(value, _Packed):
            return value.text
        if isinstance(value, _Whole):
            value = value.value
        kind, data = self.serde.dumps_typed(value)
        if kind == "pickle":
            raise TypeError(f"{where} is a {type(value).__qualname__}, which only pickle can store")
        text = binascii.b2a_base64(data, newline=False).decode()
        return text if kind == "msgpack" else f"{kind}:{text}"

    def _unpack(self, text: str) -> Any:
        kind, colon, data = text.rpartition(":")
        if kind == "pickle":
            raise ValueError("the packed value is a pickle, which is never read")
        return self.serde.loads_typed(
            (kind if colon else "msgpack", binascii.a2b_base64(data, strict_mode=True))
        )

    def _wrapper(self) -> Callable[[Any], Any]:
        """Returns what prepares values: other serializers, which may encrypt, get each value whole."""
        return (lambda value: value) if type(self.serde) is JsonPlusSerializer else _Whole

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        conf = config["configurable"]
        key = str(conf["thread_id"]), conf.get("checkpoint_ns", "")
        parent = conf.get("checkpoint_id") or ""
        known = self._opened.newest.get(key)
        if known is not None and known[0] != parent:
            known = None
        versions = checkpoint["channel_versions"]
        if "$msgpack" in versions:
            raise ValueError("no channel may have the name '$msgpack', which marks packed values")
        unchanged = {k: None for k, v in versions.items() if known and known[1].get(k) == v}
        wrap = self._wrapper()
        rest: "dict[str, Any]" = {
            k: v
            for k, v in checkpoint.items()
            if k not in ("channel_values", "channel_versions", "versions_seen")
        }
        values: "dict[str, Any]" = {}
        for name, value in checkpoint["channel_values"].items():
            if _is_stored_alone(name):
                values[name] = value if name in unchanged else wrap(value)
            else:
                rest.setdefault("channel_values", {})[name] = wrap(value)
        values["__checkpoint__"] = rest
        values["__channel_versions__"] = versions
        values["__versions_seen__"] = checkpoint["versions_seen"]
        about = {
            "id": checkpoint["id"],
            "parent": parent,
            "source": metadata.get("source", "loop"),
            "step": metadata.get("step", -1),
            "metadata": get_serializable_checkpoint_metadata(config, metadata),
        }
        point = self._opened.native().put(
            *key, about, values, unchanged, known[2] if known else None, self._pack
        )
        with self._opened.order:
            self._opened.remember(key, checkpoint["id"], versions, point)
            early = self._opened.early.pop(key, [])
            if later := [one for one in early if one[0] > checkpoint["id"]]:
                self._opened.early[key] = later
        for id, record, waits in early:
            if id <= checkpoint["id"]:
                self._put_record(key, id, record, waits)
        return _config_of(*key, checkpoint["id"])

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        conf = config["configurable"]
        key = str(conf["thread_id"]), conf.get("checkpoint_ns", "")
        id = conf["checkpoint_id"]
        wrap = self._wrapper()
        record: "dict[str, Any]" = {"task": task_id, "path": task_path}
        record["writes"] = [[channel, wrap(value)] for channel, value in writes]
        waits = any(channel in WRITES_IDX_MAP for channel, _ in writes)
        # With durability="async", a task may end before its checkpoint is put, by another thread.
        with self._opened.order:
            known = self._opened.newest.get(key)
            is_new = known is None or known[0] < id
            # Another saver may have put the checkpoint.
            if is_new and self._opened.native().load(*key, id, self._unpack) is None:
                record["writes"] = [[c, _Packed(self._pack(v, "a write"))] for c, v in record["writes"]]
                self._opened.early.setdefault(key, []).append((id, record, waits))
                return
        self._put_record(key, id, record, waits)

    def _put_record(self, key: tuple[str, str], id: str, record: "dict[str, Any]", waits: bool) -> None:
        known = self._opened.newest.get(key)
        point = known[2] if known is not None and known[0] == id else None
        self._opened.native().put_writes(*key, id, record, point, waits, self._pack)

    def get_tuple(self, config: RunnableConfig) -> "CheckpointTuple | None":
        conf = config["configurable"]
        key = str(conf["thread_id"]), conf.get("checkpoint_ns", "")
        id = conf.get("checkpoint_id") or ""
        found = self._opened.native().load(*key, id, self._unpack)
        made = None if found is None else self._tuple_of(key, found)
        # Another thread may have put a newer checkpoint meanwhile, so `newest` never becomes older.
        with self._opened.order:
            known = self._opened.newest.get(key)
            if made is None and not id and known is None:
                self._opened.remember(key, "", {}, None)
            elif made is not None and (known is None or known[0] < found[1]):
                self._opened.remember(key, found[1], made.checkpoint["channel_versions"], found[0])
        return made

    def list(
        self,
        config: "RunnableConfig | None",
        *,
        filter: "dict[str, Any] | None" = None,
        before: "RunnableConfig | None" = None,
        limit: "int | None" = None,
    ) -> Iterator[CheckpointTuple]:
        conf = config["configurable"] if config else {}
        id = conf.get("checkpoint_id")
        end = before["configurable"].get("checkpoint_id", "") if before else ""
        if id:  # this one, if it is selected
            one = self.get_tuple({"configurable": conf})
            wanted = (filter or {}).items()
            if one and (not end or id < end) and all(one.metadata.get(k) == v for k, v in wanted):
                yield from [one][: 1 if limit is None else limit]
            return
        native = self._opened.native()
        rest = limit
        for thread in [str(conf["thread_id"])] if conf else self._threads():
            ns = conf.get("checkpoint_ns")
            for key in [(thread, name) for name in ([ns] if ns is not None else native.namespaces(thread))]:
                at = end
                while rest is None or rest > 0:
                    size = PAGE if rest is None else min(PAGE, rest)
                    page = native.list(*key, at, size, filter or {}, self._pack, self._unpack)
                    yield from (self._tuple_of(key, found) for found in page)
                    rest = None if rest is None else rest - len(page)
                    if len(page) < size:
                        break
                    at = page[-1][1]

    def _threads(self) -> Iterator[str]:
        after = ""
        while page := self._opened.native().threads(after, PAGE):
            yield from page
            after = page[-1]

    def _tuple_of(self, key: tuple[str, str], found: "tuple[Any, ...]") -> CheckpointTuple:
        _, id, parent, metadata, values, records = found
        checkpoint = values.pop("__checkpoint__", None)
        if checkpoint is None:
            raise ValueError(f"thread '{key[0]}' was not saved by LangGraph; run it with superstep's graph")
        checkpoint["channel_versions"] = values.pop("__channel_versions__", {})
        checkpoint["versions_seen"] = values.pop("__versions_seen__", {})
        checkpoint["channel_values"] = {**values, **checkpoint.get("channel_values", {})}
        writes: "dict[tuple[str, int], tuple[str, str, Any]]" = {}
        for record in records:
            for i, (channel, value) in enumerate(record["writes"]):
                at = record["task"], WRITES_IDX_MAP.get(channel, i)
                if at[1] < 0 or at not in writes:
                    writes[at] = record["path"], channel, value
        order = sorted(writes, key=lambda at: writes_sort_key(writes[at][0], *at))
        return CheckpointTuple(
            _config_of(*key, id),
            checkpoint,
            metadata,
            _config_of(*key, parent) if parent else None,
            [(at[0], *writes[at][1:]) for at in order],
        )

    def delete_thread(self, thread_id: str) -> None:
        self._opened.native().delete_thread(str(thread_id))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        self._opened.native().delete_runs([*run_ids])

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        self._opened.native().copy_thread(str(source_thread_id), str(target_thread_id))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        if strategy not in ("keep_latest", "delete"):
            raise ValueError(f"strategy must be 'keep_latest' or 'delete', not {strategy!r}")
        for thread_id in map(str, thread_ids):
            if strategy == "delete":
                self.delete_thread(thread_id)
                continue
            self._opened.native().prune(thread_id)  # keeps what the values of DeltaChannels need

    async def aget_tuple(self, config: RunnableConfig) -> "CheckpointTuple | None":
        return await self._opened.run(self.get_tuple, config)

    async def alist(
        self,
        config: "RunnableConfig | None",
        *,
        filter: "dict[str, Any] | None" = None,
        before: "RunnableConfig | None" = None,
        limit: "int | None" = None,
    ) -> AsyncIterator[CheckpointTuple]:
        found = self.list(config, filter=filter, before=before, limit=limit)
        while (one := await self._opened.run(next, found, None)) is not None:
            yield one

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        return await self._opened.run(self.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        await self._opened.run(self.put_writes, config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        await self._opened.run(self.delete_thread, thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        await self._opened.run(self.delete_for_runs, run_ids)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        await self._opened.run(self.copy_thread, source_thread_id, target_thread_id)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        await self._opened.run(self.prune, thread_ids, strategy=strategy)

    def get_next_version(self, current: Any, channel: None) -> Any:
        """Returns a number; for a text, which another saver has made, the next text in its order."""
        if isinstance(current, str):
            return f"{int(current.split('.')[0]) + 1:032}.{0:016}"
        return 1 if current is None else current + 1


def _config_of(thread_id: str, ns: str, id: str) -> RunnableConfig:
    return {"configurable": {"thread_id": thread_id, "checkpoint_ns": ns, "checkpoint_id": id}}
