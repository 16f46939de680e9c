# SPDX-License-Identifier: Apache-2.0
"""Tools: Python functions that a model can call."""

from __future__ import annotations

import enum
import functools
import types
import typing
from typing import Any, Callable, Generic, Literal, ParamSpec, TypeVar, overload

from ._functions import is_coroutine_function

P = ParamSpec("P")
R = TypeVar("R")
#: What happens to a call that had not finished when its process died; None repeats it.
Effects = Literal["idempotent", "journaled"]

_SIMPLE: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    Any: {},
    object: {},
}


class Tool(Generic[P, R]):
    """A function with a JSON Schema of its parameters. Made by tool(). Calls work as before."""

    def __init__(
        self,
        function: Callable[P, R],
        name: str,
        description: str,
        parameters: dict[str, Any],
        takes_runtime: bool,
        effects: Effects | None = None,
    ) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.name = name
        self.description = description
        self.parameters = parameters
        self.is_async = is_coroutine_function(function)
        self.takes_runtime = takes_runtime
        self.effects = effects

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<superstep.Tool {self.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        # The decorated name in the function's module is this object, so the function itself cannot
        # be found by its name.
        if _is_importable(self.function, self):
            return (_import_tool, (self.function.__module__, self.function.__qualname__))
        parts = (self.name, self.description, self.parameters, self.takes_runtime, self.effects)
        return (Tool, (self.function, *parts))


def _is_importable(function: Callable[..., Any], tool: Any) -> bool:
    try:
        return _import_tool(function.__module__, function.__qualname__) is tool
    except (ImportError, AttributeError, KeyError):
        return False


def _import_tool(module: str, name: str) -> Any:
    if module == "__main__":
        # Another process has another __main__; cloudpickle copies such functions instead.
        raise ImportError("functions of __main__ cannot be imported by name")
    import importlib

    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


@overload
def tool(function: Callable[P, R], /) -> Tool[P, R]: ...
@overload
def tool(
    *, name: str | None = None, description: str | None = None, effects: Effects | None = None
) -> Callable[[Callable[P, R]], Tool[P, R]]: ...
def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    effects: Effects | None = None,
) -> Any:
    """Makes a tool of a function or coroutine function.

    The schema of its parameters comes from the type hints, their descriptions from the section
    ``Args:`` of the docstring, and the description of the tool from the rest of the docstring. A
    parameter ``runtime`` is not part of the schema; it receives the Runtime of the call.

    ``effects`` protects a tool with an effect outside of the process, for agents with a checkpointer.
    The result of a call is recorded, so that a resumed run does not repeat a call that has finished.
    If the process died during a call, "idempotent" repeats it with the same runtime.idempotency_key,
    and "journaled" does not repeat it: the model reads that the outcome is unknown.
    """
    if function is None:
        return lambda f: tool_of(f, name, description, effects)
    return tool_of(function, name, description, effects)


def tool_of(
    function: Callable[..., Any],
    name: str | None = None,
    description: str | None = None,
    effects: Effects | None = None,
) -> Tool[..., Any]:
    """Returns a function as a tool, and a tool unchanged."""
    if isinstance(function, Tool):
        return function
    if not callable(function):
        raise TypeError(f"a tool must be a function, not a {type(function).__name__}")
    import inspect

    text, arguments = _split_docstring(inspect.getdoc(function) or "")
    named = name or getattr(function, "__name__", "")
    if not named:
        raise ValueError("a tool of an object without __name__ needs a name: tool(name=...)")
    if effects not in (None, "idempotent", "journaled"):
        raise ValueError(f"tool {named}: effects must be 'idempotent' or 'journaled', not {effects!r}")
    parameters, takes_runtime = _parameters_of(function, arguments)
    return Tool(function, named, description or text, parameters, takes_runtime, effects)


def _parameters_of(
    function: Callable[..., Any], descriptions: dict[str, str]
) -> tuple[dict[str, Any], bool]:
    import inspect

    signature = inspect.signature(function)
    hints = _hints_of(function)
    properties: dict[str, Any] = {}
    required: list[str] = []
    takes_runtime = False
    for name, parameter in signature.parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise TypeError(
                f"tool {function.__qualname__}: parameter '{name}' must accept a keyword argument"
            )
        if name == "runtime":
            takes_runtime = True
            continue
        schema = schema_of(hints.get(name, Any))
        if name in descriptions and "description" not in schema:
            schema = {**schema, "description": descriptions[name]}
        if parameter.default is parameter.empty:
            required.append(name)
        elif isinstance(parameter.default, (str, int, float, bool)):
            schema = {**schema, "default": parameter.default}
        properties[name] = schema
    out: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        out["required"] = required
    return out, takes_runtime


def _hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function, include_extras=True)
    except NameError:  # a hint names a type that exists only for type checkers
        return dict(getattr(function, "__annotations__", {}))


def schema_of(hint: Any) -> dict[str, Any]:
    """Returns the JSON Schema of a type hint; of a type without one, a schema that accepts all."""
    if hint in _SIMPLE:
        return dict(_SIMPLE[hint])
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Annotated:
        text = next((a for a in arguments[1:] if isinstance(a, str)), None)
        schema = schema_of(arguments[0])
        return {**schema, "description": text} if text else schema
    if origin is typing.Literal:
        return {"enum": list(arguments)}
    if origin in (typing.Union, types.UnionType):
        return {"anyOf": [schema_of(a) for a in arguments]}
    if origin in (list, set, frozenset, tuple) or hint in (list, set, frozenset, tuple):
        items = [a for a in arguments if a is not Ellipsis]
        return {"type": "array", **({"items": schema_of(items[0])} if len(items) == 1 else {})}
    if origin is dict or hint is dict:
        values = schema_of(arguments[1]) if len(arguments) == 2 else {}
        return {"type": "object", **({"additionalProperties": values} if values else {})}
    if isinstance(hint, type):
        return _schema_of_class(hint)
    return {}


def _schema_of_class(hint: type) -> dict[str, Any]:
    if issubclass(hint, enum.Enum):
        return {"enum": [member.value for member in hint]}
    if hasattr(hint, "model_json_schema"):  # pydantic
        schema: dict[str, Any] = hint.model_json_schema()
        return schema
    if typing.is_typeddict(hint):
        hints = typing.get_type_hints(hint, include_extras=True)
        required = sorted(getattr(hint, "__required_keys__", hints))
        return {
            "type": "object",
            "properties": {name: schema_of(of) for name, of in hints.items()},
            **({"required": required} if required else {}),
        }
    return {}


def _split_docstring(text: str) -> tuple[str, dict[str, str]]:
    """Splits a docstring in Google style into its text and the descriptions of the parameters."""
    import re

    parts = re.split(r"^\s*(?:Args|Arguments|Parameters):\s*$", text, maxsplit=1, flags=re.MULTILINE)
    if len(parts) == 1:
        return text.strip(), {}
    descriptions: dict[str, str] = {}
    name = ""
    for line in parts[1].splitlines():
        if line.strip() and not line[0].isspace():
            break  # the next section
        found = re.match(r"^\s+(\w+)(?:\s*\([^)]*\))?:\s*(.*)$", line)
        if found:
            name = found[1]
            descriptions[name] = found[2].strip()
        elif name and line.strip():
            descriptions[name] += " " + line.strip()
    return parts[0].strip(), descriptions
