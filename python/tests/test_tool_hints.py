# SPDX-License-Identifier: Apache-2.0
"""Hints of tools that are texts, because their module imports `annotations` from `__future__`."""

from __future__ import annotations

import datetime
import pickle
from typing import TYPE_CHECKING, Any

import pytest

import superstep as ss

if TYPE_CHECKING:
    from superstep import Runtime


def book(day: datetime.date, seats: int, runtime: Runtime) -> Runtime:
    """Books seats."""
    raise ValueError(f"{day!r} {seats}")


def test_unknown_hint_of_runtime_keeps_the_other_types() -> None:
    tool = ss.tool(book)
    assert tool.takes_runtime
    assert tool.parameters["properties"] == {
        "day": {"type": "string", "format": "date"},
        "seats": {"type": "integer"},
    }

    def model(messages: list[dict[str, Any]], tools: Any) -> Any:
        if messages[-1]["type"] == "tool":
            return messages[-1]["content"]
        return {"tool_calls": [{"name": "book", "args": {"day": "2026-01-02", "seats": 2}, "id": "1"}]}

    assert "datetime.date(2026, 1, 2) 2" in ss.create_agent(model, [tool]).invoke("go").text


def test_unknown_hint_of_an_argument_is_an_error() -> None:
    class Order:
        pass

    def order(what: Order, seats: int) -> str:
        return ""

    with pytest.raises(TypeError, match="tool .*order: the type of parameter 'what', 'Order', is not known"):
        ss.tool(order)


def test_copies_of_tools_have_the_resolved_hints() -> None:
    copied = pickle.loads(pickle.dumps(ss.tool(name="reserve")(book)))
    assert copied._hints == {"day": datetime.date, "seats": int}
    assert copied.__reduce__()[1][-1] == copied._hints
