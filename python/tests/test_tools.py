# SPDX-License-Identifier: Apache-2.0
"""Tools: schemas from signatures and docstrings, results, failures."""

import enum
import pickle
from typing import Annotated, Any, Literal, Optional, TypedDict

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
    assert answers("\udcff").startswith("Error: UnicodeEncodeError")
