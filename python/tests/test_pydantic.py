# SPDX-License-Identifier: Apache-2.0
"""Models of pydantic: as stored values and as parameters of tools."""

import pathlib
import types
from typing import Any, Optional

import pytest

pytest.importorskip("pydantic")

import pydantic

import superstep as ss


class Address(pydantic.BaseModel):
    street: str = pydantic.Field(alias="Street")
    city: str


@ss.storable
class Person(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid")
    name: str = pydantic.Field(alias="fullName")
    born: int
    password: str = pydantic.Field(default="", exclude=True)
    home: Optional[Address] = None

    @pydantic.computed_field  # type: ignore[prop-decorator]
    @property
    def initial(self) -> str:
        return self.name[0]


@ss.storable
class Open(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="allow")
    n: int


@ss.storable
class Names(pydantic.RootModel[list[str]]):
    pass


VALUES = [
    Person(fullName="Ann", born=1990, password="secret", home=Address(Street="Main", city="Rome")),
    Open(n=1, more=[2, 3]),  # type: ignore[call-arg]
    Names(["a", "b"]),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda v: type(v).__name__)
def test_models_are_restored_with_all_fields(value: Any, tmp_path: pathlib.Path) -> None:
    g = ss.Graph({"value": None, "n": None})
    g.add("write", lambda state: {"value": value})
    g.add("ask", lambda state: {"n": ss.interrupt("go on?")})
    g.edge(ss.START, "write").edge("write", "ask")
    database = str(tmp_path / "threads.db")
    first = g.compile(checkpointer=ss.sqlite_checkpointer(database))
    assert first.invoke({}, thread_id="1").interrupts
    again = g.compile(checkpointer=ss.sqlite_checkpointer(database))
    result = again.invoke(ss.Command(resume=5), thread_id="1")
    assert result == {"value": value, "n": 5}
    assert getattr(result["value"], "password", "secret") == "secret"


class Line(pydantic.BaseModel):
    item: str
    count: int


class Order(pydantic.BaseModel):
    lines: list[Line]


def line_of_another_shop() -> Any:
    class Line(pydantic.BaseModel):
        price: float

    class Invoice(pydantic.BaseModel):
        lines: list[Line]

    return Invoice


def called_with(tool: Any, args: dict[str, Any]) -> str:
    """Calls a tool as a model does, and returns the text of its message."""

    def model(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Any:
        if messages[-1]["type"] == "tool":
            return messages[-1]["content"]
        return {"content": "", "tool_calls": [{"name": tools[0]["name"], "args": args, "id": "1"}]}

    return ss.create_agent(model, [tool]).invoke("go").text


def test_nested_models_are_parameters() -> None:
    def buy(what: Order, then: Optional[Order] = None, paid: Any = None) -> str:
        """Orders."""
        return "done"

    buy.__annotations__["paid"] = types.GenericAlias(list, line_of_another_shop()) | None
    order = ss.tool(name="order")(buy)
    assert set(order.parameters["$defs"]) == {"Line", "Line_2"}
    line = {"item": "tea", "count": 2}
    valid = {"what": {"lines": [line]}, "then": {"lines": [line]}, "paid": [{"lines": [{"price": 1.5}]}]}
    assert called_with(order, valid) == "done"
    wrongs: list[dict[str, Any]] = [{"what": {"lines": [{}]}}, valid | {"then": {"lines": [{"price": 1}]}},
                                    valid | {"paid": [{"lines": [line]}]}]
    for wrong in wrongs:
        assert called_with(order, wrong) != "done"


def test_field_as_default_of_a_parameter() -> None:
    def book(
        city: str = pydantic.Field(description="The city."),
        nights: int = pydantic.Field(2, ge=1, description="Number of nights."),
        extras: list[str] = pydantic.Field(default_factory=list),
        note: Any = pydantic.Field(None),
    ) -> Any:
        """Books a room."""
        return [city, nights, extras, note]

    parameters = ss.tool(book).parameters
    assert parameters["required"] == ["city"]
    assert parameters["properties"]["city"] == {"type": "string", "description": "The city."}
    nights = parameters["properties"]["nights"]
    assert (nights["minimum"], nights["default"]) == (1, 2)
    answers = [called_with(book, {"city": "Rome"}) for _ in range(2)]
    assert answers == ['["Rome", 2, [], null]'] * 2
    assert "nights" in called_with(book, {"city": "Rome", "nights": 0})
    assert "city: Field required" in called_with(book, {})
