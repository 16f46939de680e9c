# SPDX-License-Identifier: Apache-2.0
"""The arguments of tools: converts JSON values to the types of the parameters."""

from __future__ import annotations

import enum
import types
import typing
from typing import Any, Callable, Collection

from ._hints import adapter_of, is_typed_dict, parts_of

Converter = Callable[[Any], Any]

#: Classes whose values are texts in JSON, by module and name: the format in a JSON Schema, and the
#: function that reads a text. Their modules are imported by those who use them.
TEXTS: dict[tuple[str, str], tuple[str, str]] = {
    ("datetime", "datetime"): ("date-time", "fromisoformat"),
    ("datetime", "date"): ("date", "fromisoformat"),
    ("datetime", "time"): ("time", "fromisoformat"),
    ("uuid", "UUID"): ("uuid", ""),
    ("decimal", "Decimal"): ("", ""),
    ("pathlib", "Path"): ("", ""),
}


def text_format(hint: Any) -> "tuple[str, str] | None":
    """Returns the entry of TEXTS for a class; None for others."""
    if not isinstance(hint, type):
        return None
    module = hint.__module__
    return TEXTS.get(("pathlib" if module.startswith("pathlib.") else module, hint.__name__))


def converters_of(hints: dict[str, Any]) -> dict[str, Converter]:
    """Returns the converters of the parameters that need one."""
    found = ((name, converter_of(hint)) for name, hint in hints.items() if name != "return")
    return {name: convert for name, convert in found if convert is not None}


def converter_of(hint: Any) -> "Converter | None":
    """Returns the function that makes a value of a type from its JSON value.

    None if the JSON value is used as it is. The function raises ValueError, TypeError or
    ArithmeticError (Decimal) for a value that it cannot convert.
    """
    hint, origin, arguments = parts_of(hint)
    if origin is typing.Annotated:
        adapter = adapter_of(hint, arguments)
        return converter_of(arguments[0]) if adapter is None else adapter.validate_python
    if origin is typing.Literal:
        return _of_literal(arguments)
    if origin in (typing.Union, types.UnionType):
        return _of_union(hint, arguments)
    if origin in (list, set, frozenset, tuple) or hint in (set, frozenset, tuple):
        return _of_sequence(origin or hint, arguments)
    if origin is dict:
        return _of_dict(arguments) if len(arguments) == 2 else None
    if isinstance(hint, type):
        return _of_class(hint)
    return None


def _of_literal(values: tuple[Any, ...]) -> "Converter | None":
    members = {value.value: value for value in values if isinstance(value, enum.Enum)}
    if not members:
        return None
    plain = [value for value in values if not isinstance(value, enum.Enum)]

    def convert(given: Any) -> Any:
        if given in plain:
            return given
        if given not in members:
            raise ValueError(f"not one of {[*plain, *members]}: {given!r}")
        return members[given]

    return convert


def _names_model(hint: Any) -> bool:
    """Whether a hint contains a model of pydantic."""
    return hasattr(hint, "model_validate") or any(map(_names_model, typing.get_args(hint)))


def _of_union(hint: Any, types_of: tuple[Any, ...]) -> "Converter | None":
    if any(map(_names_model, types_of)):
        from pydantic import TypeAdapter
        from pydantic.errors import PydanticSchemaGenerationError

        try:  # it finds the model that fits best, not the first one that accepts the value
            validate: Converter = TypeAdapter(hint).validate_python
            return validate
        except PydanticSchemaGenerationError:  # of a class that pydantic does not know
            pass
    converters = [converter_of(t) for t in types_of if t is not type(None)]
    if not any(converters):
        return None
    unchanged = {t for t in types_of if t in (str, int, float, bool, type(None))}

    def convert(given: Any) -> Any:
        if type(given) in unchanged:
            return given
        failure: Exception | None = None
        for item in converters:
            if item is None:
                continue
            try:
                return item(given)
            except (ValueError, TypeError, ArithmeticError) as error:
                failure = failure or error
        if None in converters or failure is None:  # one of the types is that of the JSON value
            return given
        raise failure

    return convert


def _of_dict(arguments: tuple[Any, ...]) -> "Converter | None":
    of_key, of_value = _of_key(arguments[0]), converter_of(arguments[1])
    if of_key is None and of_value is None:
        return None

    def convert(given: Any) -> Any:
        return {
            key if of_key is None else of_key(key): value if of_value is None else of_value(value)
            for key, value in _dict(given).items()
        }

    return convert


def _of_key(hint: Any) -> "Converter | None":
    """Returns the converter of the keys of a dict, which are texts in JSON."""
    hint, _, _ = parts_of(hint)
    return hint if hint in (int, float) else converter_of(hint)


def _of_sequence(made: Any, arguments: tuple[Any, ...]) -> "Converter | None":
    is_fixed = made is tuple and arguments and arguments[-1] is not Ellipsis
    if is_fixed:
        items = [converter_of(a) for a in arguments]
        return lambda given: tuple(
            v if item is None else item(v) for item, v in zip(items, _list(given), strict=True)
        )
    item = converter_of(arguments[0]) if arguments else None
    if item is None:
        return None if made is list else lambda given: made(_list(given))
    return lambda given: made(map(item, _list(given)))


def _list(given: Any) -> Any:
    if not isinstance(given, list):
        raise TypeError(f"not a list: {given!r}")
    return given


def _dict(given: Any) -> Any:
    if not isinstance(given, dict):
        raise TypeError(f"not an object: {given!r}")
    return given


def _float(given: Any) -> float:
    if isinstance(given, bool) or not isinstance(given, (int, float)):
        raise TypeError(f"not a number: {given!r}")
    return float(given)


def _int(given: Any) -> int:
    if isinstance(given, bool) or not isinstance(given, (int, float)):
        raise TypeError(f"not an integer: {given!r}")
    if isinstance(given, float) and not given.is_integer():
        raise ValueError(f"not an integer: {given!r}")
    return int(given)


def _of_class(hint: Any) -> "Converter | None":
    if hint is int:
        return _int  # JSON does not distinguish 5 and 5.0
    if hint is float:
        return _float
    if hasattr(hint, "model_validate"):  # pydantic
        validate: Converter = hint.model_validate
        return validate
    if issubclass(hint, enum.Enum):
        of_value: Converter = hint
        return of_value
    if hasattr(hint, "__dataclass_fields__"):
        return _of_fields(hint, lambda fields: hint(**fields))
    if is_typed_dict(hint):
        return _of_fields(hint, dict)
    form = text_format(hint)
    if form is None:
        return None
    read: Converter = getattr(hint, form[1]) if form[1] else hint

    def convert(given: Any) -> Any:
        if not isinstance(given, str):
            raise TypeError(f"not a text: {given!r}")
        return read(given)

    return convert


def _of_fields(hint: Any, make: Callable[[dict[str, Any]], Any]) -> Converter:
    fields: dict[str, Converter] | None = None  # found when needed: the class may contain itself

    def convert(given: Any) -> Any:
        nonlocal fields
        if fields is None:
            fields = converters_of(typing.get_type_hints(hint, include_extras=True))
        return make({n: fields[n](v) if n in fields else v for n, v in _dict(given).items()})

    return convert


def converting(
    function: Callable[..., Any],
    converters: dict[str, Converter],
    defaults: dict[str, Callable[[], Any]],
    bound: Collection[str],
) -> Callable[..., Any]:
    """Returns a function that converts its arguments and calls another.

    ``defaults`` makes the values of arguments that are missing. ``bound`` are the arguments that the
    program has chosen: a call that names one raises TypeError.
    """

    def call(**given: Any) -> Any:
        for name in bound:
            if name in given:
                raise TypeError(f"unexpected argument '{name}'")
        for name, convert in converters.items():
            if name in given:
                try:
                    given[name] = convert(given[name])
                except (ValueError, TypeError, ArithmeticError) as error:
                    raise ValueError(f"argument '{name}': {error}") from error
        for name, make in defaults.items():
            if name not in given:
                given[name] = make()
        return function(**given)

    return call
