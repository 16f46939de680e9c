# SPDX-License-Identifier: Apache-2.0
"""What the package needs to know of type hints."""

from __future__ import annotations

import collections.abc
import typing
from typing import Any

#: The qualifiers of a TypedDict's keys, which are outside or inside Annotated.
_QUALIFIERS = tuple(
    getattr(typing, name)
    for name in ("Required", "NotRequired", "ReadOnly")
    if hasattr(typing, name)
)


def unqualified(hint: Any) -> Any:
    """Returns the hint of a key without its qualifiers."""
    while typing.get_origin(hint) in _QUALIFIERS:
        (hint,) = typing.get_args(hint)
    return hint


#: The classes whose objects stand for the abstract ones.
_CONCRETE = {
    collections.abc.Iterable: list,
    collections.abc.Collection: list,
    collections.abc.Sequence: list,
    collections.abc.MutableSequence: list,
    collections.abc.Set: set,
    collections.abc.MutableSet: set,
    collections.abc.Mapping: dict,
    collections.abc.MutableMapping: dict,
}


def parts_of(hint: Any) -> "tuple[Any, Any, tuple[Any, ...]]":
    """Returns a hint without qualifiers and aliases, its origin and its arguments.

    The origin of an abstract class, such as Sequence, is the concrete one.
    """
    while True:
        hint = unqualified(hint)
        if isinstance(hint, typing.NewType):
            hint = hint.__supertype__
        elif type(hint).__name__ == "TypeAliasType":  # since Python 3.12
            hint = hint.__value__
        else:
            break
    origin = typing.get_origin(hint)
    concrete = _CONCRETE.get(origin or hint, origin) if _has_hash(hint) else origin
    return hint, concrete, typing.get_args(hint)


def _has_hash(hint: Any) -> bool:  # Annotated may contain an object without one
    try:
        hash(hint)
    except TypeError:
        return False
    return True


def adapter_of(hint: Any, arguments: "tuple[Any, ...]") -> Any:
    """Returns pydantic's TypeAdapter of Annotated with its constraints or validators; None of others."""
    for extra in arguments[1:]:
        package = type(extra).__module__.partition(".")[0]
        is_field = hasattr(extra, "metadata") and hasattr(extra, "description")
        if package == "annotated_types" or package == "pydantic" and (not is_field or extra.metadata):
            from pydantic import TypeAdapter
            from pydantic.errors import PydanticSchemaGenerationError

            try:
                return TypeAdapter(hint)
            except PydanticSchemaGenerationError:  # of a class that pydantic does not know
                return None
    return None


def is_field(value: Any) -> bool:
    """Whether a value is a Field of pydantic."""
    return type(value).__module__ == "pydantic.fields" and hasattr(value, "is_required")


def is_typed_dict(hint: Any) -> bool:
    """Whether a hint is a TypedDict class, also one of ``typing_extensions``."""
    return isinstance(hint, type) and issubclass(hint, dict) and hasattr(hint, "__total__")
