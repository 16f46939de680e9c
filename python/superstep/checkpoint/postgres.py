# SPDX-License-Identifier: Apache-2.0
"""A checkpointer for LangGraph that saves threads in PostgreSQL. Needs the package langgraph."""

from __future__ import annotations

from langgraph.checkpoint.serde.base import SerializerProtocol

from .._resources import postgres_checkpointer
from ._saver import Saver


class PostgresSaver(Saver):
    """Saves LangGraph's threads in a PostgreSQL database: ``builder.compile(checkpointer=saver)``.

    ``url`` and the tables are those of superstep.postgres_checkpointer(). Opening the database creates
    the tables. A saver serves any number of graphs, threads and event loops. It is closed by ``with`` or
    ``async with``, or when it is garbage.
    """

    def __init__(self, url: str, *, serde: "SerializerProtocol | None" = None) -> None:
        super().__init__(postgres_checkpointer(url), serde=serde)

    @classmethod
    def from_conn_string(
        cls, conn_string: str, *, serde: "SerializerProtocol | None" = None
    ) -> "PostgresSaver":
        """Returns a saver, for use in ``with`` or ``async with``."""
        return cls(conn_string, serde=serde)
