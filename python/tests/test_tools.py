# SPDX-License-Identifier: Apache-2.0
"""Tools: schemas from signatures and docstrings, results, failures."""

import dataclasses
import datetime
import decimal
import enum
import functools
import pickle
import uuid
from typing import (
    Annotated, Any, Dict, Iterable, Literal, Mapping, NewType, NotRequired, Optional, Sequence, TypedDict, Union,
)

import pydantic
import pytest

import superstep as ss


class Unit(enum.Enum):
    METRIC = "metric"
    IMPERIAL = "imperial"


class Place(TypedDict):
    city: str
    zip: int


@ss.tool
def importable(word: str) -> str:
    """Looks a word up."""
    return word.upper()


def test_schema_comes_from_hints_and_docstring() -> None:
    @ss.tool
    def forecast(city: str, days: int = 3, hourly: Optional[bool] = None) -> str:
        """Forecasts the weather.

        Two lines.

        Args:
            city: Name of the city,
                without the country.
            days (int): Number of days.

        Returns:
            A text.
        """
        return ""

    assert forecast.name == "forecast"
    assert forecast.description == "Forecasts the weather.\n\nTwo lines."
    assert forecast.parameters == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "Name of the city, without the country."},
            "days": {"type": "integer", "description": "Number of days.", "default": 3},
            "hourly": {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
        },
        "required": ["city"],
    }


@pytest.mark.parametrize(
    "hint, schema",
    [
        (str, {"type": "string"}),
        (float, {"type": "number"}),
        (list[int], {"type": "array", "items": {"type": "integer"}}),
        (tuple[str, ...], {"type": "array", "items": {"type": "string"}}),
        (dict[str, int], {"type": "object", "additionalProperties": {"type": "integer"}}),
        (int | None, {"anyOf": [{"type": "integer"}, {"type": "null"}]}),
        (Literal["a", "b"], {"enum": ["a", "b"]}),
        (Unit, {"enum": ["metric", "imperial"]}),
        (Annotated[str, "a city"], {"type": "string", "description": "a city"}),
        (
            Place,
            {
                "type": "object",
                "properties": {"city": {"type": "string"}, "zip": {"type": "integer"}},
                "required": ["city", "zip"],
            },
        ),
        (Any, {}),
        (bytes, {}),
    ],
)
def test_hint_has_schema(hint: Any, schema: dict[str, Any]) -> None:
    def f(x):  # type: ignore[no-untyped-def]
        return x

    f.__annotations__["x"] = hint
    assert ss.tool(f).parameters["properties"]["x"] == schema


def test_decorator_takes_name_and_description() -> None:
    @ss.tool(name="other", description="Does it.")
    def f(x: int) -> int:
        return x + 1

    assert (f.name, f.description) == ("other", "Does it.")
    assert f(2) == 3


def test_positional_parameters_are_rejected() -> None:
    with pytest.raises(TypeError, match="parameter 'x' must accept a keyword"):

        @ss.tool
        def f(x: int, /) -> int:
            return x


def test_runtime_is_not_part_of_the_schema(script: str) -> None:
    seen: list[Any] = []

    @ss.tool
    def weather(city: str, runtime: ss.Runtime) -> str:
        seen.append((runtime.node, runtime.tool_call_id, runtime.thread_id, len((runtime.state or {})["messages"])))
        return city

    assert list(weather.parameters["properties"]) == ["city"]
    assert ss.create_agent(script, [weather]).invoke("in Rome").text == "Rome"
    assert seen == [("tools", "call_0_0", "", 2)]


@pytest.mark.parametrize(
    "result, text",
    [
        ("plain", "plain"),
        (7, "7"),
        ({"a": [1, None]}, '{"a": [1, null]}'),
        (None, "null"),
        (Unit.METRIC, "Unit.METRIC"),
    ],
)
def test_result_becomes_text(script: str, result: Any, text: str) -> None:
    @ss.tool
    def weather(city: str) -> Any:
        return result

    answer = ss.create_agent(script, [weather]).invoke("in Rome")
    assert answer.messages[2]["content"] == text


def test_model_reads_the_failure_of_a_tool(script: str) -> None:
    @ss.tool
    def weather(city: str) -> str:
        raise LookupError(f"no such city: {city}")

    answer = ss.create_agent(script, [weather]).invoke("in Rome")
    assert answer.messages[2]["status"] == "error"
    assert "no such city: Rome" in answer.messages[2]["content"]


def test_plain_function_is_a_tool(script: str) -> None:
    def weather(city: str) -> str:
        "Current weather."
        return "rain in " + city

    assert ss.create_agent(script, [weather]).invoke("in Rome").text == "rain in Rome"


def test_importable_tool_pickles_by_name() -> None:
    assert pickle.loads(pickle.dumps(importable)) is importable


def test_result_whose_text_is_not_unicode_is_an_error() -> None:
    class Answer:
        def __init__(self, text: str) -> None:
            self.text = text

        def __str__(self) -> str:
            return self.text

    def answers(text: str) -> str:
        def look() -> object:
            """Looks."""
            return Answer(text)

        def model(messages: list[Any], tools: list[Any]) -> Any:
            if len(messages) > 1:
                return "done"
            return {"role": "ai", "tool_calls": [{"name": "look", "args": {}, "id": "1"}]}

        result = ss.create_agent(model, [look]).invoke("x")
        return str(result["messages"][2]["content"])

    assert answers("a\0b") == "a\0b"
    assert "the result of tool 'look' contains a lone surrogate" in answers("\udcff")


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


@dataclasses.dataclass
class Part:
    name: str
    color: Color
    parts: "list[Part]" = dataclasses.field(default_factory=list)


def called_with(tool: Any, args: dict[str, Any]) -> str:
    """Calls a tool as a model does, and returns the text of its message."""

    def model(messages: list[dict[str, Any]], tools: Any) -> Any:
        if messages[-1]["type"] == "tool":
            return messages[-1]["content"]
        return {"content": "", "tool_calls": [{"name": tool.name, "args": args, "id": "1"}]}

    return ss.create_agent(model, [tool]).invoke("go").text


def test_arguments_have_the_types_of_the_parameters() -> None:
    seen: dict[str, Any] = {}

    @ss.tool
    def build(
        part: Part,
        colors: set[Color],
        day: "datetime.date | None" = None,
        size: tuple[int, Color] = (0, Color.RED),
        limits: "dict[str, decimal.Decimal] | str" = "none",
    ) -> str:
        """Builds."""
        seen.update(part=part, colors=colors, day=day, size=size, limits=limits)
        return "built"

    inner = {"name": "wheel", "color": "blue"}
    answer = called_with(build, {
        "part": {"name": "car", "color": "red", "parts": [inner]},
        "colors": ["red", "red", "blue"],
        "day": "2026-02-03",
        "size": [4, "blue"],
        "limits": {"kg": "1.50"},
    })
    assert answer == "built"
    assert seen == {
        "part": Part("car", Color.RED, [Part("wheel", Color.BLUE)]),
        "colors": {Color.RED, Color.BLUE},
        "day": datetime.date(2026, 2, 3),
        "size": (4, Color.BLUE),
        "limits": {"kg": decimal.Decimal("1.50")},
    }
    assert called_with(build, {"part": inner, "colors": [], "limits": "none"}) == "built"
    assert seen["day"] is None and seen["limits"] == "none"
    wrong = called_with(build, {"part": inner, "colors": [], "day": "tomorrow"})
    assert "day: String should be a valid date" in wrong

    @ss.tool
    def pay(price: decimal.Decimal) -> str:
        """Pays."""
        return f"{price:.2f}"

    assert called_with(pay, {"price": "1.5"}) == "1.50"
    assert "argument 'price'" in called_with(pay, {"price": "much"})
    schema = build.parameters["properties"]
    assert schema["part"]["required"] == ["name", "color"]
    assert schema["day"]["anyOf"][0] == {"type": "string", "format": "date"}


def test_objects_and_partial_functions_are_tools() -> None:
    def pay(account: str, amount: int) -> str:
        """Pays."""
        return f"{amount} from {account}"

    part = ss.tool(functools.partial(pay, account="12"))
    assert (part.name, part.description) == ("pay", "Pays.")
    assert list(part.parameters["properties"]) == ["amount"]
    assert called_with(part, {"amount": 3}) == "3 from 12"

    class Counter:
        """Counts."""

        def __call__(self, by: int) -> str:
            return str(by + 1)

    counter = ss.tool(name="count")(Counter())
    assert counter.description == "Counts."
    assert counter.parameters["properties"] == {"by": {"type": "integer"}}
    assert called_with(counter, {"by": 1}) == "2"
    with pytest.raises(ValueError, match="needs a name"):
        ss.tool(Counter())
    with pytest.raises(ValueError, match="needs a name"):
        ss.tool(lambda: "")


def test_model_cannot_replace_bound_arguments() -> None:
    def pay(account: str, amount: int = 1) -> str:
        return f"{amount} from {account}"

    def pay_more(account: str, **more: Any) -> str:
        return f"{more} from {account}"

    async def pay_later(account: str) -> str:
        return f"from {account}"

    for function in (pay, pay_more, pay_later):
        for bound in (functools.partial(function, account="12"), functools.partial(function, "12")):
            assert "from 12" in called_with(ss.tool(bound), {})
            answer = called_with(ss.tool(bound), {"account": "34"})
            assert answer.startswith("Error: TypeError") and "argument 'account'" in answer


class Tree(TypedDict):
    children: "list[Tree]"


def test_schema_of_unusual_hints() -> None:
    def grow(tree: Tree, text: Annotated[str, {"any": "object"}], share: float = float("nan")) -> str:
        return ""

    properties = ss.tool(grow).parameters["properties"]
    assert properties["tree"]["properties"]["children"]["items"] == {"type": "object"}
    assert properties["text"] == {"type": "string"} and properties["share"] == {"type": "number"}


class Card(pydantic.BaseModel):
    note: str = ""


class Bank(pydantic.BaseModel):
    iban: str


class Trip(TypedDict):
    day: datetime.date
    back: NotRequired[datetime.date]


Number = NewType("Number", int)
DAY = datetime.date(2026, 1, 2)
AN_ID = uuid.UUID(int=7)


@pytest.mark.parametrize(
    "hint, schema, given, value",
    [
        (Dict, {"type": "object"}, {"a": 1}, {"a": 1}),
        (Union[str, datetime.date], None, "2026-01-02", "2026-01-02"),
        (Union[int, datetime.date], None, "2026-01-02", DAY),
        (Union[int, float], None, 5, 5),
        (Union[Card, Bank], None, {"iban": "DE1"}, Bank(iban="DE1")),
        (Union[list[Card], list[Bank]], None, [{"iban": "DE1"}], [Bank(iban="DE1")]),
        (dict[int, str], None, {"1": "a"}, {1: "a"}),
        (dict[uuid.UUID, datetime.date], None, {str(AN_ID): "2026-01-02"}, {AN_ID: DAY}),
        (Sequence[datetime.date], {"type": "array", "items": {"type": "string", "format": "date"}}, ["2026-01-02"], [DAY]),
        (Iterable[int], {"type": "array", "items": {"type": "integer"}}, [1], [1]),
        (Mapping[str, float], {"type": "object", "additionalProperties": {"type": "number"}}, {"a": 1}, {"a": 1.0}),
        (Number, {"type": "integer"}, 1, 1),
        (Literal[Color.RED, "none"], {"enum": ["red", "none"]}, "red", Color.RED),
        (Literal[Color.RED, "none"], {"enum": ["red", "none"]}, "none", "none"),
        (Trip, None, {"day": "2026-01-02", "back": "2026-01-02"}, {"day": DAY, "back": DAY}),
        (float, {"type": "number"}, 5, 5.0),
        (int, {"type": "integer"}, 5.0, 5),
        (Optional[int], None, 5.0, 5),
        (Optional[list[float]], None, [5], [5.0]),
        (Annotated[int, pydantic.Field(ge=1, le=5)], {"type": "integer", "minimum": 1, "maximum": 5}, 5, 5),
        (Annotated[str, pydantic.AfterValidator(str.upper), "a text"], {"type": "string"}, "a", "A"),
    ],
)  # fmt: skip
def test_values_have_the_types_of_the_hints(hint: Any, schema: Any, given: Any, value: Any) -> None:
    seen: list[Any] = []

    def take(x: Any) -> str:
        seen.append(x)
        return "taken"

    take.__annotations__ = {"x": hint}
    made = ss.tool(take)
    if schema is not None:
        assert made.parameters["properties"]["x"] == schema
    assert called_with(made, {"x": given}) == "taken"
    assert seen == [value] and type(seen[0]) is type(value)


def test_limits_of_pydantic_fields_are_checked() -> None:
    @ss.tool
    def rate(stars: Annotated[int, pydantic.Field(ge=1, le=5)], note: "Annotated[str, pydantic.Field(max_length=3)] | None" = None) -> str:
        return "rated"

    assert "less than or equal to 5" in called_with(rate, {"stars": 100})
    assert "note" in called_with(rate, {"stars": 1, "note": "long"})
    assert called_with(rate, {"stars": 1, "note": "abc"}) == "rated"


def test_type_of_runtime_does_not_matter() -> None:
    @dataclasses.dataclass
    class ToolRuntime:
        x: int

    def take(x: int, runtime: ToolRuntime) -> str:
        return type(runtime).__name__

    assert called_with(ss.tool(take), {"x": 1}) == "Runtime"
