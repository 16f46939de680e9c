# SPDX-License-Identifier: Apache-2.0
"""The native module. Programs use the package instead."""

from typing import Any, Callable, Iterator, Sequence

from ._resources import Item, Store
from ._types import Interrupt

class Runtime:
    """What a node or tool can do with the run that it belongs to. Valid until it has ended."""

    def interrupt(self, question: Any) -> Any:
        """Stops the run until it is resumed; see superstep.interrupt()."""
    def emit(self, event: Any) -> None:
        """Sends an event to the readers of stream_mode "custom"."""
    @property
    def node(self) -> str:
        """Name of the node."""
    @property
    def step(self) -> int:
        """Number of the super-step."""
    @property
    def remaining_steps(self) -> int:
        """Number of super-steps that the recursion limit still allows, this one included."""
    @property
    def attempt(self) -> int:
        """Number of the attempt, from 1; see RetryPolicy."""
    @property
    def is_cancelled(self) -> bool:
        """Whether the result is no longer needed. Long computations should poll it."""
    @property
    def thread_id(self) -> str:
        """The thread of the run; empty if there is none."""
    @property
    def run_id(self) -> str:
        """The id that the caller gave the run."""
    @property
    def configurable(self) -> dict[str, Any]:
        """The caller's option ``configurable``."""
    @property
    def metadata(self) -> dict[str, Any]:
        """The caller's option ``metadata``."""
    @property
    def store(self) -> Store | None:
        """The long-term memory of the run; None if there is none."""
    @property
    def error(self) -> BaseException | None:
        """In an error handler, the exception of the node; see Graph.on_error()."""
    @property
    def state(self) -> dict[str, Any] | None:
        """In a tool, the state of the agent."""
    @property
    def tool_call_id(self) -> str:
        """In a tool, the id of the call."""
    @property
    def idempotency_key(self) -> str:
        """In a tool, a key that is the same if the call is repeated, and different for other calls."""
    def _complete(self, result: Any, failure: BaseException | None) -> None: ...

class AgentResult:
    """The result of a run of an agent.

    Like a dict, it has the keys "messages" and, if the agent has given one, "structured_response".
    """

    index: int
    @property
    def status(self) -> str:
        """How the run ended: "finished", "interrupted" or "failed"."""
    @property
    def text(self) -> str:
        """The text of the last message, if it is an answer of the model; otherwise empty."""
    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation."""
    @property
    def messages_json(self) -> str:
        """The conversation as JSON text."""
    @property
    def structured_response(self) -> Any:
        """The structured response; None if the agent has none."""
    @property
    def usage(self) -> dict[str, int]:
        """Sums of input_tokens, output_tokens and total_tokens."""
    @property
    def interrupts(self) -> list[Interrupt]:
        """The pending questions of an interrupted run."""
    @property
    def model_calls(self) -> int:
        """Number of answers of the model."""
    @property
    def tool_calls(self) -> int:
        """Number of answered tool calls."""
    @property
    def steps(self) -> int:
        """Number of super-steps."""
    def _take_error(self) -> BaseException | None: ...
    def __getitem__(self, key: str) -> Any: ...
    def __contains__(self, key: str) -> bool: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[str]: ...
    def keys(self) -> list[str]: ...
    def values(self) -> list[Any]: ...
    def items(self) -> list[tuple[str, Any]]: ...
    def get(self, key: str, default: Any = None) -> Any: ...

class HandlerCall:
    def wait(self) -> None: ...
    def take(self) -> Any: ...

class ModelCall:
    state: dict[str, Any] | None
    runtime: Runtime
    model: Any
    messages: list[dict[str, Any]]
    system_prompt: str
    tools: list[dict[str, Any]]
    parameters: dict[str, Any]
    turn: int
    def ask(self, changes: dict[str, Any], notify: Callable[[], object] | None) -> HandlerCall: ...
    def cancel(self, call: HandlerCall) -> None: ...

class ToolCall:
    state: dict[str, Any] | None
    runtime: Runtime
    tool_call: dict[str, Any]
    tool: dict[str, Any] | None
    def ask(self, changes: dict[str, Any], notify: Callable[[], object] | None) -> HandlerCall: ...
    def cancel(self, call: HandlerCall) -> None: ...

class Run:
    def cancel(self) -> None: ...
    def drain(self) -> None: ...

class Results:
    def __init__(self) -> None: ...
    def take(self, seconds: float, runs: int = 1) -> list[tuple[int, Any]]: ...
    def set_notify(self, notify: Callable[[], None]) -> None: ...

class RowBlock:
    def __len__(self) -> int: ...
    def column(self, name: str) -> list[Any]: ...
    def buffers(self, name: str) -> tuple[bytes | None, bytes]: ...

class RowWindow:
    def add(
        self, inputs: list[Any], thread_ids: list[str] | None, resumes: bool, tag: int
    ) -> None: ...
    def waiting(self) -> int: ...
    def cancel(self) -> None: ...

class Checkpointer: ...

class StoreHandle:
    def get(self, namespace: list[str], key: str) -> Item | None: ...
    def put(
        self,
        namespace: list[str],
        key: str,
        value: dict[str, Any],
        index: list[str] | None,
        ttl: float | None,
    ) -> None: ...
    def delete(self, namespace: list[str], key: str) -> None: ...
    def search(
        self,
        prefix: list[str],
        query: str,
        filter: dict[str, Any] | None,
        limit: int,
        offset: int,
    ) -> list[Item]: ...
    def list_namespaces(
        self,
        prefix: list[str],
        suffix: list[str],
        depth_max: int | None,
        limit: int,
        offset: int,
    ) -> list[list[str]]: ...

class CacheHandle:
    def clear(self) -> None: ...

class Agent:
    def __init__(self, *args: Any) -> None: ...
    def start(
        self, input: Any, options: dict[str, Any], to: Results, tag: int, modes: Sequence[str]
    ) -> Run: ...
    def open_rows(
        self,
        options: dict[str, Any],
        concurrency: int,
        to: Results,
        reports_room: bool,
        stores_messages: bool,
    ) -> RowWindow: ...
    def has_thread(self, thread_id: str) -> bool: ...
    def get_state(self, options: dict[str, Any]) -> tuple[Any, ...]: ...
    def get_state_history(self, options: dict[str, Any], limit: int) -> list[tuple[Any, ...]]: ...
    def update_state(
        self, options: dict[str, Any], values: dict[str, Any] | None, as_node: str
    ) -> str: ...
    def messages_of_row(self, row: dict[str, Any]) -> list[dict[str, Any]] | None: ...
    def mermaid(self) -> str: ...

class Graph:
    def __init__(
        self,
        checkpointer: Checkpointer | None,
        store: StoreHandle | None,
        cache: CacheHandle | None,
    ) -> None: ...
    def channel(self, name: str, reducer: Any, initial: Any, has_initial: bool) -> None: ...
    def node(
        self,
        name: str,
        function: Any,
        is_async: bool,
        takes_runtime: bool,
        options: dict[str, Any],
    ) -> None: ...
    def error_handler(
        self, node: str, function: Any, is_async: bool, takes_runtime: bool
    ) -> None: ...
    def subgraph(self, name: str, graph: Graph, options: dict[str, Any]) -> None: ...
    def edge(self, sources: list[str], target: str) -> None: ...
    def branch(
        self, source: str, route: Any, is_async: bool, takes_runtime: bool, labels: dict[Any, str]
    ) -> None: ...
    def compile(self, options: dict[str, Any]) -> None: ...
    def start(
        self, input: Any, options: dict[str, Any], to: Results, tag: int, modes: Sequence[str]
    ) -> Run: ...
    def get_state(self, options: dict[str, Any]) -> tuple[Any, ...]: ...
    def get_state_history(self, options: dict[str, Any], limit: int) -> list[tuple[Any, ...]]: ...
    def update_state(self, options: dict[str, Any], values: Any, as_node: str) -> str: ...
    def mermaid(self) -> str: ...

def current_call() -> Runtime | None: ...
def set_async_functions(submit: Any, cancel: Any, interrupted: type, call: Any) -> None: ...
def set_error_types(run_error: type, graph_error: type) -> None: ...
def set_types(types: dict[str, Any]) -> None: ...
def forget_package() -> None: ...
def memory_checkpointer() -> Checkpointer: ...
def sqlite_checkpointer(path: str) -> Checkpointer: ...
def memory_store(embed: Any, fields: list[str], ttl: float | None) -> StoreHandle: ...
def sqlite_store(path: str, embed: Any, fields: list[str], ttl: float | None) -> StoreHandle: ...
def memory_cache(entries_max: int) -> CacheHandle: ...
def sqlite_cache(path: str, entries_max: int) -> CacheHandle: ...
def postgres_checkpointer(url: str) -> Checkpointer: ...
def postgres_store(url: str, embed: Any, fields: list[str], ttl: float | None) -> StoreHandle: ...
def postgres_cache(url: str, entries_max: int) -> CacheHandle: ...
def delete_thread(checkpointer: Checkpointer, thread_id: str) -> None: ...
def start_engine(workers: int) -> None: ...
def is_started() -> bool: ...
def generation() -> int: ...
def stop() -> bool: ...
def runs_to_lose() -> int: ...
def stats() -> dict[str, int]: ...
def run_program(arguments: Sequence[str]) -> int: ...

class LangPoint: ...

class LangThreads:
    """Threads of LangGraph in a checkpointer; see checkpoint/_saver.py."""

    def __init__(self, checkpointer: Checkpointer) -> None: ...
    def put(
        self,
        thread: str,
        ns: str,
        about: dict[str, Any],
        values: dict[str, Any],
        unchanged: dict[str, None],
        parent: LangPoint | None,
        pack: Callable[[Any, str], str],
    ) -> LangPoint: ...
    def put_writes(
        self,
        thread: str,
        ns: str,
        id: str,
        record: dict[str, Any],
        point: LangPoint | None,
        waits: bool,
        pack: Callable[[Any, str], str],
    ) -> None: ...
    def load(self, thread: str, ns: str, id: str, unpack: Callable[[str], Any]) -> tuple[Any, ...] | None: ...
    def namespaces(self, thread: str) -> list[str]: ...
    def threads(self, after: str, limit: int) -> list[str]: ...
    def delete_thread(self, thread: str) -> None: ...
    def delete_runs(self, run_ids: list[str]) -> None: ...
    def copy_thread(self, source: str, target: str) -> None: ...
    def prune(self, thread: str) -> None: ...
    def list(
        self,
        thread: str,
        ns: str,
        before: str,
        limit: int,
        metadata: dict[str, Any],
        pack: Callable[[Any, str], str],
        unpack: Callable[[str], Any],
    ) -> list[tuple[Any, ...]]: ...
