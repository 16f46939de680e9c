# SPDX-License-Identifier: Apache-2.0
"""What the package needs to know of a function.

The module ``inspect`` knows more, but importing it takes longer than the rest of the package. So it is
used only for objects that are not plain functions.
"""

from __future__ import annotations

from types import FunctionType, MethodType
from typing import Any, Callable

_COROUTINE = 0x80  # inspect.CO_COROUTINE


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
