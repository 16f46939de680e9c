# SPDX-License-Identifier: Apache-2.0
"""What graphs are declared with: states, reducers, policies, paths of databases; and copies of graphs."""

import copy
import dataclasses
import functools
import operator
import os
import pathlib
import pickle
import sys
import types
from typing import Annotated, Any, Callable, TypedDict

import pydantic
import pytest
import typing_extensions

import superstep as ss


def run(state: Any, node: Callable[..., Any], given: dict[str, Any]) -> dict[str, Any]:
    return dict(ss.Graph(state).add("a", node).edge(ss.START, "a").compile().invoke(given))


@dataclasses.dataclass
class Plain:
    n: int = 5


class Model(pydantic.BaseModel):
    n: int = 5


@pytest.mark.parametrize("state", [Plain, Model, int])
def test_states_of_other_classes_are_rejected(state: Any) -> None:
    with pytest.raises(TypeError, match=f"must be a TypedDict class or a dict, not the class {state.__name__}"):
        ss.Graph(state)


class Extended(typing_extensions.TypedDict):
    n: Annotated[int, operator.add]


def test_typed_dicts_of_typing_extensions_are_accepted() -> None:
    assert run(Extended, lambda s: {"n": 2}, {"n": 1}) == {"n": 3}

    def take(x: Extended) -> str:
        return ""

    assert ss.tool(take).parameters["properties"]["x"]["required"] == ["n"]


class Several(TypedDict):
    n: Annotated[int, str.upper, operator.add, "the sum"]


def test_the_last_function_of_a_hint_is_the_reducer() -> None:
    assert run(Several, lambda s: {"n": 2}, {"n": 1}) == {"n": 3}


class Adder:
    def __call__(self, old: int, new: int) -> int:
        return old + new

    def add(self, old: int, new: int) -> int:
        return old + new


def optional(old: int = 0, new: int = 0, more: int = 0, *, scale: int = 1) -> int:
    return (old + new) * scale


@pytest.mark.parametrize(
    "reducer",
    [operator.add, Adder(), Adder().add, optional, lambda *both: sum(both), int.__add__, functools.partial(optional, more=1)],
)
def test_functions_of_two_arguments_are_reducers(reducer: Any) -> None:
    assert run({"n": reducer}, lambda s: {"n": 2}, {"n": 1})["n"] in (2, 3)


@pytest.mark.parametrize(
    "reducer, text",
    [
        (int, "reducer of 'n' must be a function, not the class int"),
        (lambda old: old, "reducer of 'n' must take two arguments"),
        (lambda old, new, more: old, "reducer of 'n' must take two arguments"),
        (lambda old, new, *, more: old, "reducer of 'n' must take two arguments"),
        (Adder.add, "reducer of 'n' must take two arguments"),
        (functools.partial(optional, 1, 2, 3), "reducer of 'n' must take two arguments"),
    ],
)
def test_other_functions_are_not_reducers(reducer: Any, text: str) -> None:
    with pytest.raises(TypeError, match=text):
        ss.Graph({"n": reducer})
    with pytest.raises(TypeError, match=text):
        ss.Graph(TypedDict("State", {"n": Annotated[int, reducer]}))  # type: ignore[operator]


def fail(state: Any) -> None:
    raise KeyError("x")


@pytest.mark.parametrize("given", [[KeyError], (KeyError, OSError), {KeyError}])
def test_retry_accepts_a_sequence_of_classes(given: Any) -> None:
    policy = ss.RetryPolicy(max_attempts=3, retry_on=given)
    assert policy.matches(KeyError()) and not policy.matches(ValueError())
    assert hash(policy) == hash(pickle.loads(pickle.dumps(policy)))


@pytest.mark.parametrize(
    "options, text",
    [
        ({"retry_on": "ValueError"}, "retry_on must be an exception class, .*, not a str"),
        ({"retry_on": [int]}, "retry_on must name exception classes, not <class 'int'>"),
        ({"retry_on": int}, "retry_on must name exception classes"),
        ({"retry_on": [KeyError()]}, "retry_on must name exception classes"),
        ({"max_attempts": 2**40}, "max_attempts must be at most 2147483647"),
        ({"backoff_factor": float("nan")}, "backoff_factor must be finite and at least 0, not nan"),
        ({"backoff_factor": -1}, "backoff_factor must be finite and at least 0, not -1"),
    ],
)
def test_invalid_retry_policies_are_rejected(options: dict[str, Any], text: str) -> None:
    with pytest.raises((TypeError, ValueError), match=text):
        ss.RetryPolicy(**options)


@pytest.mark.parametrize("make", [ss.sqlite_checkpointer, ss.sqlite_store, ss.sqlite_cache])
def test_texts_that_are_not_paths_are_rejected(make: Any) -> None:
    with pytest.raises(ValueError, match=r"use memory_(checkpointer|store|cache)\(\)"):
        make(":memory:")
    with pytest.raises(ValueError, match="'file:x.db' is a URI"):
        make("file:x.db")
    with pytest.raises(ValueError, match="the path is empty"):
        make("")


def test_paths_may_be_bytes(tmp_path: pathlib.Path) -> None:
    ss.sqlite_store(os.fsencode(tmp_path / "a.db")).put(("a",), "k", {"v": 1})  # type: ignore[arg-type]
    assert (tmp_path / "a.db").exists()


def skip(state: Any) -> None:
    return None


@pytest.mark.parametrize("copied", [copy.deepcopy, copy.copy, lambda g: pickle.loads(pickle.dumps(g))])
def test_copies_of_graphs_have_no_value_for_unwritten_keys(copied: Any) -> None:
    graph = ss.Graph({"n": None, "s": operator.add}).add("a", skip).edge(ss.START, "a")
    for app in (copied(graph).compile(), copied(graph.compile()), copied(copied(graph).compile())):
        assert app.invoke({}) == {}
        assert app.invoke({"s": "x"}) == {"s": "x"}


class Response:
    def __init__(self, status: int) -> None:
        self.status_code = status

    def __bool__(self) -> bool:  # as that of requests
        return self.status_code < 400


@pytest.mark.parametrize(
    "package, name, base, status, attempts",
    [
        ("httpx", "HTTPStatusError", Exception, 404, 1),
        ("httpx", "HTTPStatusError", Exception, 503, 3),
        ("requests", "HTTPError", OSError, 404, 1),
        ("requests", "HTTPError", OSError, 503, 3),
        ("requests", "HTTPError", OSError, 0, 3),
        ("another", "HTTPError", OSError, 503, 1),
    ],
)
def test_http_errors_of_servers_are_retried(
    monkeypatch: pytest.MonkeyPatch, package: str, name: str, base: type[Exception], status: int, attempts: int
) -> None:
    error = type(name, (base,), {"response": Response(status) if status else None})
    module = types.ModuleType(package)
    setattr(module, name, error)
    monkeypatch.setitem(sys.modules, package, module)
    calls: list[int] = []

    def call(state: Any) -> None:
        calls.append(1)
        raise error("failed")

    policy = ss.RetryPolicy(max_attempts=3, initial_interval=0.001, jitter=False)
    app = ss.Graph({"n": None}).add("a", call, retry=policy).edge(ss.START, "a").compile()
    with pytest.raises(error):
        app.invoke({"n": 1})
    assert len(calls) == attempts
