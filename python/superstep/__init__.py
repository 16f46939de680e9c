# SPDX-License-Identifier: Apache-2.0
"""superstep: agents, graphs and batches of rows on a native engine."""

import os as _os
import sys as _sys

# The functions of the shared libraries are bound when they are first called: most never are, and
# binding them all takes a tenth of the import.
_flags = _sys.getdlopenflags()
_sys.setdlopenflags(_os.RTLD_LAZY)
try:
    from . import _superstep
finally:
    _sys.setdlopenflags(_flags)

from ._agents import Agent, Row, create_agent
from ._engine import engine, stats
from ._graph import (
    CompiledGraph,
    Graph,
    Result,
    add_messages,
    current_runtime,
    emit,
    interrupt,
)
from ._middleware import Middleware, ModelRequest, ToolRequest
from ._resources import (
    Cache,
    Checkpointer,
    Item,
    Store,
    memory_cache,
    memory_checkpointer,
    memory_store,
    postgres_cache,
    postgres_checkpointer,
    postgres_store,
    sqlite_cache,
    sqlite_checkpointer,
    sqlite_store,
)
from ._stored import storable
from ._superstep import AgentResult, Runtime
from ._tools import Tool, tool
from ._types import (
    END,
    START,
    CachePolicy,
    Command,
    GraphError,
    Interrupt,
    Interrupted,
    Overwrite,
    RetryPolicy,
    RunError,
    Send,
    Snapshot,
)
from ._version import __version__

__all__ = [
    "END",
    "START",
    "Agent",
    "AgentResult",
    "Cache",
    "CachePolicy",
    "Checkpointer",
    "Command",
    "CompiledGraph",
    "Graph",
    "GraphError",
    "Interrupt",
    "Interrupted",
    "Item",
    "Middleware",
    "ModelRequest",
    "Overwrite",
    "Result",
    "RetryPolicy",
    "Row",
    "RunError",
    "Runtime",
    "Send",
    "Snapshot",
    "Store",
    "Tool",
    "ToolRequest",
    "add_messages",
    "create_agent",
    "current_runtime",
    "emit",
    "engine",
    "interrupt",
    "memory_cache",
    "memory_checkpointer",
    "memory_store",
    "postgres_cache",
    "postgres_checkpointer",
    "postgres_store",
    "sqlite_cache",
    "sqlite_checkpointer",
    "sqlite_store",
    "stats",
    "storable",
    "tool",
    "__version__",
]
