# SPDX-License-Identifier: Apache-2.0
"""Tools: Python functions that a model can call."""

from __future__ import annotations

import enum
import functools
import types
import typing
from typing import Any, Callable, Generic, Literal, ParamSpec, TypeVar, overload

from ._arguments import converters_of, converting, text_format
from ._functions import is_coroutine_function, type_text
from ._hints import adapter_of, is_field, is_typed_dict, parts_of

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
        hints: dict[str, Any] | None = None,
    ) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.name = name
        self.description = description
        self.parameters = parameters
        self.is_async = is_coroutine_function(function)
        self.takes_runtime = takes_runtime
        self._hints = _hints_of(function) if hints is None else hints
        converters, defaults = converters_of(self._hints), _defaults_of(function)
        bound = _bound_of(function)
        #: What a call of the model calls, with JSON values.
        self._callable = function
        if converters or defaults or bound:
            self._callable = converting(function, converters, defaults, bound)
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
        # The hints are part of the copy, because cloudpickle copies only the names that the code of a
        # function uses: names in hints that are texts are unknown in the other process.
        parts = (self.name, self.description, self.parameters, self.takes_runtime, self.effects)
        return (Tool, (self.function, *parts, self._hints))


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
        raise TypeError(f"a tool must be a function, not {type_text(function)}")
    import inspect

    code = _code_of(function)
    text, arguments = _split_docstring(inspect.getdoc(code) or inspect.getdoc(function) or "")
    named = name or (code.__name__ if code.__name__ not in ("__call__", "<lambda>") else "")
    if not named:
        raise ValueError("a tool of a lambda or of an object without __name__ needs a name: tool(name=...)")
    if effects not in (None, "idempotent", "journaled"):
        raise ValueError(f"tool {named}: effects must be 'idempotent' or 'journaled', not {effects!r}")
    parameters, takes_runtime = _parameters_of(function, arguments)
    return Tool(function, named, description or text, parameters, takes_runtime, effects)


def _parameters_of(
    function: Callable[..., Any], descriptions: dict[str, str]
) -> tuple[dict[str, Any], bool]:
    hints = _hints_of(function)
    properties: dict[str, Any] = {}
    required: list[str] = []
    definitions: dict[str, Any] = {}  # that references in the schemas name
    parameters = _given_by_model(function)
    for name, parameter in parameters.items():
        if parameter.kind is parameter.POSITIONAL_ONLY:
            raise TypeError(
                f"tool {_code_of(function).__qualname__}: parameter '{name}' must accept a keyword argument"
            )
        if name == "runtime":
            continue
        schema = schema_of(hints.get(name, Any))
        if name in descriptions and "description" not in schema:
            schema = {**schema, "description": descriptions[name]}
        default = parameter.default
        if is_field(default):
            is_required = default.is_required()
            default = default.default  # that of a factory is not shown
        else:
            is_required = default is parameter.empty
        if is_required:
            required.append(name)
        elif _is_json(default):
            schema = {**schema, "default": default}
        properties[name] = _lift_definitions(schema, definitions)
    out: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        out["required"] = required
    if definitions:
        out["$defs"] = definitions
    return out, "runtime" in parameters


def _bound_of(function: Callable[..., Any]) -> set[str]:
    """Returns the names of the parameters that a ``partial`` has bound by keyword."""
    return set(function.keywords) if isinstance(function, functools.partial) else set()


def _given_by_model(function: Callable[..., Any]) -> dict[str, Any]:
    """Returns the named parameters of a function that no ``partial`` has bound, with ``runtime``."""
    import inspect

    bound = _bound_of(function)
    return {
        name: parameter
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) and name not in bound
    }


def _defaults_of(function: Callable[..., Any]) -> dict[str, Callable[[], Any]]:
    """Returns what makes the values of parameters whose default is a Field of pydantic."""
    found = {n: p.default for n, p in _given_by_model(function).items() if is_field(p.default)}
    return {
        name: functools.partial(field.get_default, call_default_factory=True)
        for name, field in found.items()
        if not field.is_required()
    }


def _is_json(default: Any) -> bool:
    if isinstance(default, float):
        return default - default == 0  # JSON has no infinity and no NaN
    return isinstance(default, (str, int, bool)) and not isinstance(default, enum.Enum)


def _lift_definitions(schema: Any, into: dict[str, Any]) -> Any:
    """Returns a schema without the definitions of its parts, and adds these to ``into``.

    References such as "#/$defs/Line" start at the root of the whole schema, so the definitions belong
    there. Different definitions of the same name get a number.
    """
    if isinstance(schema, list):
        return [_lift_definitions(part, into) for part in schema]
    if not isinstance(schema, dict):
        return schema
    own = schema.get("$defs", {})
    renamed: dict[str, str] = {}
    for name, definition in own.items():
        number, chosen = 1, name
        while chosen in into and into[chosen] != definition:
            number += 1
            chosen = f"{name}_{number}"
        into[chosen] = definition
        renamed[f"#/$defs/{name}"] = f"#/$defs/{chosen}"
    if any(old != new for old, new in renamed.items()):
        for new in renamed.values():
            name = new.removeprefix("#/$defs/")
            into[name] = _with_references(into[name], renamed)
        schema = _with_references(schema, renamed)
    return {
        name: part if name == "enum" else _lift_definitions(part, into)
        for name, part in schema.items()
        if name != "$defs"
    }


def _with_references(schema: Any, renamed: dict[str, str]) -> Any:
    if isinstance(schema, list):
        return [_with_references(part, renamed) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        name: renamed.get(part, part) if name == "$ref" and isinstance(part, str)
        else _with_references(part, renamed)
        for name, part in schema.items()
    }


def _code_of(function: Any) -> Any:
    """Returns the function whose documentation and hints describe a callable object."""
    while isinstance(function, functools.partial):
        function = function.func
    if hasattr(function, "__name__"):
        return function
    return type(function).__call__


def _hints_of(function: Callable[..., Any]) -> dict[str, Any]:
    """Returns the hints of the parameters that a model gives.

    Each is resolved alone: a hint that only type checkers can resolve, such as that of ``runtime``,
    must not remove the others. Raises TypeError for a parameter whose hint cannot be resolved.
    """
    code = _code_of(function)
    scope: Any = code
    while hasattr(scope, "__wrapped__"):
        scope = scope.__wrapped__
    scope = getattr(scope, "__globals__", {})
    written = _annotations_of(code)
    hints: dict[str, Any] = {}
    for name, parameter in _given_by_model(function).items():
        if name == "runtime":
            continue
        if name not in written:
            if is_field(parameter.default):
                hints[name] = typing.Annotated[Any, parameter.default]
            continue

        def probe() -> None: ...

        probe.__annotations__ = {name: written[name]}
        try:
            hints.update(typing.get_type_hints(probe, scope, include_extras=True))
        except (NameError, AttributeError, SyntaxError) as error:
            raise TypeError(
                f"tool {code.__qualname__}: the type of parameter '{name}', {written[name]!r}, is not "
                f"known when the program runs: {error}; define or import it at the top of the module"
            ) from None
        if is_field(parameter.default):
            hints[name] = typing.Annotated[hints[name], parameter.default]
    return hints


def _annotations_of(code: Any) -> dict[str, Any]:
    """Returns the hints as they are written: some may be texts."""
    try:
        return dict(getattr(code, "__annotations__", {}))
    except NameError:  # since Python 3.14 a hint that is not a text is evaluated when it is read
        import importlib

        library: Any = importlib.import_module("annotationlib")
        return dict(library.get_annotations(code, format=library.Format.FORWARDREF))


def schema_of(hint: Any, within: tuple[Any, ...] = ()) -> dict[str, Any]:
    """Returns the JSON Schema of a type hint; of a type without one, a schema that accepts all.

    ``within`` are the classes that the hint is part of.
    """
    hint, origin, arguments = parts_of(hint)
    if origin is typing.Annotated:  # perhaps with an object that has no hash
        return _schema_of_annotated(hint, arguments, within)
    if hint in _SIMPLE:
        return dict(_SIMPLE[hint])
    if origin is typing.Literal:
        return {"enum": [a.value if isinstance(a, enum.Enum) else a for a in arguments]}
    if origin in (typing.Union, types.UnionType):
        return {"anyOf": [schema_of(a, within) for a in arguments]}
    if origin in (list, set, frozenset, tuple) or hint in (list, set, frozenset, tuple):
        items = [a for a in arguments if a is not Ellipsis]
        return {"type": "array", **({"items": schema_of(items[0], within)} if len(items) == 1 else {})}
    if origin is dict or hint is dict:
        values = schema_of(arguments[1], within) if len(arguments) == 2 else {}
        return {"type": "object", **({"additionalProperties": values} if values else {})}
    if isinstance(hint, type):
        return _schema_of_class(hint, within)
    return {}


def _schema_of_annotated(
    hint: Any, arguments: tuple[Any, ...], within: tuple[Any, ...]
) -> dict[str, Any]:
    adapter = adapter_of(hint, arguments)
    if adapter is not None:
        described: dict[str, Any] = adapter.json_schema()
        return described
    schema = schema_of(arguments[0], within)
    for extra in arguments[1:]:  # a text, or a Field of pydantic
        text = extra if isinstance(extra, str) else getattr(extra, "description", None)
        if isinstance(text, str):
            return {**schema, "description": text}
    return schema


def _schema_of_class(hint: Any, within: tuple[Any, ...]) -> dict[str, Any]:
    if issubclass(hint, enum.Enum):
        return {"enum": [member.value for member in hint]}
    if hasattr(hint, "model_json_schema"):  # pydantic
        schema: dict[str, Any] = hint.model_json_schema()
        return schema
    text = text_format(hint)
    if text is not None:
        return {"type": "string", **({"format": text[0]} if text[0] else {})}
    is_typed = is_typed_dict(hint)
    if hint in within or not (is_typed or hasattr(hint, "__dataclass_fields__")):
        return {"type": "object"} if hint in within else {}
    hints = typing.get_type_hints(hint, include_extras=True)
    if is_typed:
        required = sorted(getattr(hint, "__required_keys__", hints))
    else:
        from dataclasses import MISSING, fields

        parameters = [f for f in fields(hint) if f.init]
        hints = {f.name: hints[f.name] for f in parameters}
        required = [f.name for f in parameters if f.default is f.default_factory is MISSING]
    return {
        "type": "object",
        "properties": {name: schema_of(of, (*within, hint)) for name, of in hints.items()},
        **({"required": required} if required else {}),
    }


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
