# SPDX-License-Identifier: Apache-2.0
"""What the package needs to know of type hints."""

from __future__ import annotations

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


def is_typed_dict(hint: Any) -> bool:
    """Whether a hint is a TypedDict class, also one of ``typing_extensions``."""
    return isinstance(hint, type) and issubclass(hint, dict) and hasattr(hint, "__total__")
