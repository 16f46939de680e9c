# SPDX-License-Identifier: Apache-2.0
"""superstep: agents, graphs and batches of rows on a native engine."""

from ._agents import Agent, Row, create_agent
from ._checkpointers import Checkpointer, memory_checkpointer, sqlite_checkpointer
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
from ._superstep import AgentResult, Runtime
from ._tools import Tool, tool
from ._types import (
    END,
    START,
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
    "Checkpointer",
    "Command",
    "CompiledGraph",
    "Graph",
    "GraphError",
    "Interrupt",
    "Interrupted",
    "Overwrite",
    "Result",
    "RetryPolicy",
    "Row",
    "RunError",
    "Runtime",
    "Send",
    "Snapshot",
    "Tool",
    "add_messages",
    "create_agent",
    "current_runtime",
    "emit",
    "engine",
    "interrupt",
    "memory_checkpointer",
    "sqlite_checkpointer",
    "stats",
    "tool",
    "__version__",
]
