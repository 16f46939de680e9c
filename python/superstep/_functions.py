# SPDX-License-Identifier: Apache-2.0
"""What the package needs to know of a function, and checks of numbers.

The module ``inspect`` knows more, but importing it takes longer than the rest of the package. So it is
used only for objects that are not plain functions.
"""

from __future__ import annotations

from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, Callable

_COROUTINE = 0x80  # inspect.CO_COROUTINE
_VARARGS = 0x04  # inspect.CO_VARARGS


def is_coroutine_function(function: Callable[..., Any]) -> bool:
    """Whether calling an object gives a coroutine."""
    if isinstance(function, MethodType):
        function = function.__func__
    if isinstance(function, FunctionType):
        return bool(function.__code__.co_flags & _COROUTINE)
    import inspect

    call = getattr(function, "__call__", None)
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


def parameters_of(function: Callable[..., Any]) -> "set[str]":
    """Returns the names of the parameters of an object; empty if they are not known."""
    if isinstance(function, MethodType):
        function = function.__func__
    if isinstance(function, FunctionType) and not hasattr(function, "__wrapped__"):
        code = function.__code__
        return set(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    import inspect

    try:
        return set(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # a function without a signature, such as operator.itemgetter()
        return set()


def accepts_two(function: Any) -> bool:
    """Whether an object can be called with two arguments; True if its parameters are not known."""
    bound = 0
    if isinstance(function, MethodType):
        function, bound = function.__func__, 1
    if isinstance(function, FunctionType):
        code, count = function.__code__, 2 + bound
        is_long_enough = code.co_argcount >= count or bool(code.co_flags & _VARARGS)
        needed = code.co_argcount - len(function.__defaults__ or ())
        needs_names = code.co_kwonlyargcount > len(function.__kwdefaults__ or ())
        return is_long_enough and needed <= count and not needs_names
    if isinstance(function, BuiltinFunctionType):
        return True
    import inspect

    try:
        inspect.signature(function).bind(None, None)
    except ValueError:  # not known
        return True
    except TypeError:
        return False
    return True


def type_text(value: Any) -> str:
    """Returns the type of a value for an error text: "an int", "a list", or "None"."""
    if value is None:
        return "None"
    return with_article(type(value).__name__)


def with_article(noun: str) -> str:
    """Returns a noun with "a" or "an"."""
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"


def is_missing(value: Any) -> bool:
    """Whether a column has no value: None or NaN."""
    return value is None or (isinstance(value, float) and value != value)


def has_utf8_form(text: str) -> bool:
    """Whether UTF-8 can represent a text. It cannot represent lone surrogates."""
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


def checked_text(value: Any, name: str) -> str:
    """Returns a str. Raises TypeError or ValueError for another value, with the name of the argument."""
    if not isinstance(value, str):
        raise TypeError(f"{name} must be a str, not {type_text(value)}")
    if not has_utf8_form(value):
        raise ValueError(f"{name} contains a lone surrogate, which UTF-8 cannot represent")
    return value


def listed(values: Any, name: str, kind: str = "a list") -> "list[Any]":
    """Returns the items of an iterable. Raises TypeError for a text and for other values."""
    if isinstance(values, (str, bytes)) or not hasattr(values, "__iter__"):
        raise TypeError(f"{name} must be {kind}, not {type_text(values)}")
    return list(values)


def checked_texts(values: Any, name: str) -> "list[str]":
    """Returns the items of a list or another sequence of str. Raises TypeError for another value."""
    return [checked_text(value, f"an item of {name}") for value in listed(values, name, "a list of str")]


def checked_count(value: Any, name: str) -> int:
    """Returns an int of at least 0. Raises TypeError or ValueError for another value."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be an int, not {type_text(value)}")
    if not 0 <= value < 2**63:
        raise ValueError(f"{name} must be at least 0 and less than 2**63, not {value}")
    return value


SECONDS_MAX = 100 * 366 * 24 * 3600


def checked_seconds(value: Any, name: str, is_zero_valid: bool = False) -> float:
    """Returns a number of seconds, at most a hundred years. Raises TypeError or ValueError for others."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} must be a number of seconds, not {type_text(value)}")
    if not (0 <= value <= SECONDS_MAX) or (value == 0 and not is_zero_valid):
        least = "at least 0" if is_zero_valid else "more than 0"
        raise ValueError(f"{name} must be {least} and at most {SECONDS_MAX} seconds, not {value}")
    return value


def checked_ttl(seconds: "float | None") -> "float | None":
    """Returns a lifetime, or None for an unlimited one. Raises what checked_seconds() raises."""
    return None if seconds is None else checked_seconds(seconds, "ttl")
