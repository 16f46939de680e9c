# SPDX-License-Identifier: Apache-2.0
"""Values and errors that programs and graphs exchange."""

from __future__ import annotations

from typing import Any, Callable, Sequence, Union

from ._functions import checked_seconds, checked_ttl, type_text

RetryOn = Union[type[BaseException], Sequence[type[BaseException]], Callable[[BaseException], bool]]
#: The most attempts that a RetryPolicy may have: what the engine counts.
_ATTEMPTS_MAX = 2**31 - 1
START = "__start__"
END = "__end__"


class RunError(RuntimeError):
    """A run failed for a reason other than an exception of a node.

    ``code`` is the name of the reason, for example ``graph_errc::recursion_limit``, also if it is that
    of a subgraph; ``node`` and ``step`` state where the run failed.
    """

    def __init__(self, text: str, code: str = "", node: str = "", step: int = 0) -> None:
        super().__init__(text)
        self.code = code
        self.node = node
        self.step = step

    def __reduce__(self) -> tuple[Any, ...]:
        return (RunError, (str(self), self.code, self.node, self.step))


class GraphError(ValueError):
    """A graph or an agent has faults. The text lists all of them."""


class Interrupted(BaseException):
    """Ends a node that waits for a resume value. Raised by interrupt(); do not catch it."""


class Values:
    """A base for small classes of values, which compare by their parts.

    Not dataclasses: importing the module ``dataclasses`` takes longer than the rest of the package.
    """

    __slots__: tuple[str, ...] = ()

    def _parts(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self.__slots__)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return isinstance(other, Values) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self._parts())

    def __repr__(self) -> str:
        parts = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__slots__)
        return f"{type(self).__name__}({parts})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), self._parts())


class Interrupt(Values):
    """A pending question of a run: ``id`` identifies it, ``value`` is what interrupt() was given."""

    __slots__ = ("id", "value")

    def __init__(self, id: str, value: Any) -> None:
        self.id = id
        self.value = value


class Send(Values):
    """Activates a node with an input of its own instead of the state."""

    __slots__ = ("node", "arg")

    def __init__(self, node: str, arg: Any) -> None:
        self.node = node
        self.arg = arg


class Command(Values):
    """Updates the state and chooses the next nodes, or resumes a run.

    A node returns ``Command(update=..., goto=...)``. A caller passes ``Command(resume=value)`` to
    invoke() to answer the pending interrupt, or ``Command(resume={id: value, ...})`` to answer
    several.
    """

    __slots__ = ("update", "goto", "resume")

    def __init__(
        self,
        update: Any = None,
        goto: "str | Send | Sequence[str | Send]" = (),
        resume: Any = None,
    ) -> None:
        self.update = update
        self.goto = goto
        self.resume = resume


class Overwrite(Values):
    """Replaces the value of a key without calling its reducer."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class RetryPolicy(Values):
    """Repeats a failed node. Intervals are in seconds; jitter adds a random time below one second.

    Exceptions that the same input would cause again, such as ValueError, are retried only with
    ``retry_all``. ``retry_on`` replaces this rule: an exception class, a list or tuple of classes, or
    a function of the exception that returns whether it is retried.
    """

    __slots__ = (
        "max_attempts",
        "initial_interval",
        "backoff_factor",
        "max_interval",
        "jitter",
        "retry_all",
        "retry_on",
    )

    def __init__(
        self,
        max_attempts: int = 3,
        initial_interval: float = 0.5,
        backoff_factor: float = 2.0,
        max_interval: float = 128.0,
        jitter: bool = True,
        retry_all: bool = False,
        retry_on: "RetryOn | None" = None,
    ) -> None:
        if isinstance(max_attempts, bool) or not isinstance(max_attempts, int) or max_attempts < 1:
            raise ValueError(f"max_attempts must be an int of at least 1, not {max_attempts!r}")
        if max_attempts > _ATTEMPTS_MAX:
            raise ValueError(f"max_attempts must be at most {_ATTEMPTS_MAX}, not {max_attempts}")
        if isinstance(backoff_factor, bool) or not isinstance(backoff_factor, (int, float)):
            raise TypeError(f"backoff_factor must be a number, not {type_text(backoff_factor)}")
        if not 0 <= backoff_factor < float("inf"):
            raise ValueError(f"backoff_factor must be finite and at least 0, not {backoff_factor}")
        self.max_attempts = max_attempts
        self.initial_interval = checked_seconds(initial_interval, "initial_interval", True)
        self.backoff_factor = backoff_factor
        self.max_interval = checked_seconds(max_interval, "max_interval", True)
        self.jitter = jitter
        self.retry_all = retry_all
        self.retry_on = _checked_retry_on(retry_on)

    def matches(self, error: BaseException) -> bool:
        """Whether ``retry_on`` accepts an exception."""
        if isinstance(self.retry_on, (type, tuple)):
            return isinstance(error, self.retry_on)
        return callable(self.retry_on) and bool(self.retry_on(error))


def _checked_retry_on(given: Any) -> "RetryOn | None":
    """Returns a class, a tuple of classes, a function or None. Raises TypeError for another value."""
    is_sequence = isinstance(given, (list, tuple, set, frozenset))
    for item in given if is_sequence else (given,) if isinstance(given, type) else ():
        if not (isinstance(item, type) and issubclass(item, BaseException)):
            raise TypeError(f"retry_on must name exception classes, not {item!r}")
    if is_sequence:
        return tuple(given)
    if given is not None and not callable(given):
        raise TypeError(
            "retry_on must be an exception class, a list of classes or a function, not "
            f"{type_text(given)}"
        )
    function: RetryOn | None = given
    return function


class CachePolicy(Values):
    """Reuses the output of a node for an equal input. Applies if the graph has a cache.

    ``key`` is a function of the input that returns a str or bytes. Without it, the key is the stored
    form of the input, so its values must be storable. ``ttl`` is the lifetime in seconds.
    """

    __slots__ = ("key", "ttl")

    def __init__(
        self, key: "Callable[[Any], str | bytes] | None" = None, ttl: float | None = None
    ) -> None:
        if key is not None and not callable(key):
            raise TypeError(f"key must be a function of the input, not {type_text(key)}")
        self.key = key
        self.ttl = checked_ttl(ttl)


class Snapshot(Values):
    """The state of a thread at a checkpoint; ``next`` names the nodes that have not run yet."""

    __slots__ = ("values", "next", "interrupts", "checkpoint_id")

    def __init__(
        self,
        values: dict[str, Any],
        next: list[str],
        interrupts: list[Interrupt],
        checkpoint_id: str,
    ) -> None:
        self.values = values
        self.next = next
        self.interrupts = interrupts
        self.checkpoint_id = checkpoint_id
