# SPDX-License-Identifier: Apache-2.0
"""Middleware: functions that run around the parts of an agent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Awaitable, Callable, Iterable, Mapping, Self, Sequence, Union

from . import _aio, _superstep
from ._functions import (
    checked_text,
    checked_texts,
    is_coroutine_function,
    listed,
    parameters_of,
    type_text,
)
from ._superstep import Runtime
from ._types import Command, Interrupted

if TYPE_CHECKING:  # making these types takes longer than the rest of the module
    Hook = Callable[..., Any]
    ModelFunction = Callable[[list[dict[str, Any]], list[dict[str, Any]]], Any]
    #: An answer of a model: a message, or its text.
    ModelAnswer = Union[dict[str, Any], str]
    #: The answer to a tool call: a tool message, its text, or what else a tool may return.
    ToolAnswer = Union[dict[str, Any], str, Command, list[Any]]
    ModelHandler = Callable[["ModelRequest"], dict[str, Any]]
    AsyncModelHandler = Callable[["ModelRequest"], Awaitable[dict[str, Any]]]
    ToolHandler = Callable[["ToolRequest"], Any]
    AsyncToolHandler = Callable[["ToolRequest"], Awaitable[Any]]
    WrapModelCall = Union[
        Callable[["ModelRequest", ModelHandler], ModelAnswer],
        Callable[["ModelRequest", AsyncModelHandler], Awaitable[ModelAnswer]],
    ]
    WrapToolCall = Union[
        Callable[["ToolRequest", ToolHandler], ToolAnswer],
        Callable[["ToolRequest", AsyncToolHandler], Awaitable[ToolAnswer]],
    ]


class _Model:
    """A model whose answers a Python function computes."""

    def __init__(self, function: ModelFunction) -> None:
        self.function = function
        self.is_async = is_coroutine_function(function)
        self.name = getattr(function, "__qualname__", type(function).__name__)


def check_model(model: Any) -> None:
    """Raises TypeError for a value that is neither the text of a model nor a function."""
    if not isinstance(model, str) and not callable(model):
        raise TypeError(
            'model must be a str such as "openai:gpt-4o-mini", or a function of messages and tools, not '
            f"{type_text(model)}"
        )


def model_spec(model: "str | ModelFunction | None") -> Any:
    """Returns a model in the form that the native module reads."""
    return _Model(model) if callable(model) else model


class _Request:
    """What a wrapper receives: the members of a call, some of them replaced."""

    __slots__ = ("_call", "_members")

    def __init__(self, call: Any, members: dict[str, Any]) -> None:
        self._call = call
        self._members = members  # those that were read, which may have been changed, or replaced

    def _get(self, name: str) -> Any:
        if name not in self._members:
            self._members[name] = getattr(self._call, name)
        return self._members[name]

    def _override(self, changes: dict[str, Any]) -> Self:
        return type(self)(self._call, {**self._members, **changes})

    def _changes(self) -> dict[str, Any]:
        """Returns the members for the native call."""
        return self._members

    @property
    def state(self) -> dict[str, Any]:
        """The state of the agent, a dict with ``messages``. Changes have no effect."""
        state: dict[str, Any] = self._call.state or {}
        return state

    @property
    def runtime(self) -> Runtime:
        """What the wrapper can do with the run."""
        runtime: Runtime = self._call.runtime
        return runtime


class ModelRequest(_Request):
    """A call of a model, as a function ``wrap_model_call`` receives it; see Middleware."""

    __slots__ = ()

    @property
    def model(self) -> "str | ModelFunction | None":
        """The model: a text or a function, as of create_agent(); None if an agent file describes it."""
        model: str | ModelFunction | None = self._get("model")
        return model

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages that the model reads, without the system prompt."""
        messages: list[dict[str, Any]] = self._get("messages")
        return messages

    @property
    def system_prompt(self) -> str:
        """The text of the system prompt; empty if there is none."""
        prompt: str = self._get("system_prompt")
        return prompt

    @property
    def tools(self) -> list[Any]:
        """The tools that are offered to the model: dicts with name, description and parameters."""
        tools: list[Any] = self._get("tools")
        return tools

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters that override those of the model, such as ``temperature`` and ``tool_choice``."""
        parameters: dict[str, Any] = self._get("parameters")
        return parameters

    @property
    def turn(self) -> int:
        """Number of the model's call in the run, from 0."""
        turn: int = self._call.turn
        return turn

    def override(
        self,
        *,
        model: "str | ModelFunction | None" = None,
        messages: "Sequence[Any] | None" = None,
        system_prompt: "str | None" = None,
        tools: "Sequence[str | Mapping[str, Any]] | None" = None,
        parameters: "Mapping[str, Any] | None" = None,
    ) -> "ModelRequest":
        """Returns a copy with other members.

        ``tools`` selects from the tools of the request, by name or as dicts. ``model`` is built once
        per agent and text. It does not share the limits of an agent file.
        """
        if model is not None:
            check_model(model)
        given = {
            "model": model,
            "messages": None if messages is None else list(messages),
            "system_prompt": system_prompt,
            "tools": None if tools is None else list(tools),
            "parameters": None if parameters is None else dict(parameters),
        }
        return self._override({k: v for k, v in given.items() if v is not None})

    def _changes(self) -> dict[str, Any]:
        out = dict(self._members)
        if "model" in out:
            # The model of the call was only read, unless it differs.
            if out["model"] == self._call.model:
                del out["model"]
            else:
                out["model"] = model_spec(out["model"])
        return out


class ToolRequest(_Request):
    """A tool call, as a function ``wrap_tool_call`` receives it; see Middleware."""

    __slots__ = ()

    @property
    def tool_call(self) -> dict[str, Any]:
        """The call: a dict with name, args and id."""
        call: dict[str, Any] = self._get("tool_call")
        return call

    @property
    def tool(self) -> "dict[str, Any] | None":
        """The tool: a dict with name, description and parameters. None if no tool has the name."""
        tool: dict[str, Any] | None = self._call.tool
        return tool

    def override(self, *, tool_call: Mapping[str, Any]) -> "ToolRequest":
        """Returns a copy with another call. The id of the call must stay the same."""
        return self._override({"tool_call": dict(tool_call)})


class _Wrap:
    """A wrapper as the native module calls it, with the native call."""

    def __init__(self, function: Callable[..., Any], request: type[_Request]) -> None:
        self.function = function
        self.request = request
        self.is_async = is_coroutine_function(function)

    def __call__(self, call: Any) -> Any:
        def begin(request: _Request, notify: "Callable[[], object] | None") -> Any:
            if not isinstance(request, self.request):
                raise TypeError(
                    f"a handler takes a {self.request.__name__}, not a {type(request).__name__}"
                )
            return call.ask(request._changes(), notify)

        def handler(request: _Request) -> Any:
            asked = begin(request, None)
            asked.wait()
            return asked.take()

        async def async_handler(request: _Request) -> Any:
            asked = await _aio.until_notified(lambda notify: begin(request, notify), call.cancel)
            try:
                return asked.take()
            except Interrupted:  # the run has ended; tasks of the wrapper end like those of its loop
                import asyncio

                raise asyncio.CancelledError from None

        return self.function(self.request(call, {}), async_handler if self.is_async else handler)


class Middleware:
    """Functions that run around the parts of an agent; see create_agent(). Each may be a coroutine
    function.

    ``before_agent``, ``before_model``, ``after_model`` and ``after_agent`` take the state, a dict with
    ``messages``, and an optional parameter ``runtime``. They return None, or a dict with these keys:
    ``messages``, which are added to the conversation; ``llm_input_messages``, which the model reads
    instead of the conversation; ``jump_to``, one of ``can_jump_to``: "model", "tools" or "end". Each is
    a node of the graph, named after the middleware, for example ``trim.before_model``. Functions
    before the model run in the order of the middleware, those after it in reverse order.

    ``wrap_model_call(request, handler)`` runs around each call of the model. ``handler(request)`` makes
    the call and returns the answer, a message as a dict, or raises its exception. The function returns
    an answer: a message, or a text. ``wrap_tool_call(request, handler)`` does the same for each tool
    call; an answer is a tool message, a text, or what else a tool may return. A coroutine function
    awaits the handler. The handler may be called any number of times. Of several middlewares, the
    first is outermost.
    """

    def __init__(
        self,
        name: str,
        *,
        before_agent: Hook | None = None,
        before_model: Hook | None = None,
        after_model: Hook | None = None,
        after_agent: Hook | None = None,
        wrap_model_call: WrapModelCall | None = None,
        wrap_tool_call: WrapToolCall | None = None,
        tools: Iterable[Callable[..., Any]] = (),
        can_jump_to: Sequence[str] = (),
    ) -> None:
        hooks = {
            "before_agent": before_agent,
            "before_model": before_model,
            "after_model": after_model,
            "after_agent": after_agent,
        }
        wraps: dict[str, Callable[..., Any] | None] = {
            "wrap_model_call": wrap_model_call,
            "wrap_tool_call": wrap_tool_call,
        }
        self.name = checked_text(name, "the name of a middleware")
        for kind, function in {**hooks, **wraps}.items():
            if function is not None and not callable(function):
                raise TypeError(
                    f"{kind} of middleware '{name}' must be a function, not {type_text(function)}"
                )
        self.hooks: dict[str, Hook] = {k: hook for k, hook in hooks.items() if hook is not None}
        self.wraps: dict[str, Callable[..., Any]] = {
            k: wrap for k, wrap in wraps.items() if wrap is not None
        }
        self.tools = listed(tools, f"tools of middleware '{name}'")
        self.can_jump_to = checked_texts(can_jump_to, f"can_jump_to of middleware '{name}'")

    def _spec(self) -> tuple[Any, ...]:
        functions: dict[str, tuple[Any, bool, bool]] = {
            name: (f, is_coroutine_function(f), "runtime" in parameters_of(f))
            for name, f in self.hooks.items()
        }
        for name, f in self.wraps.items():
            request = ModelRequest if name == "wrap_model_call" else ToolRequest
            wrap = _Wrap(f, request)
            functions[name] = (wrap, wrap.is_async, False)
        return self.name, functions, self.can_jump_to

    def _has_coroutines(self) -> bool:
        return any(map(is_coroutine_function, (*self.hooks.values(), *self.wraps.values())))

    def __repr__(self) -> str:
        return f"<superstep.Middleware {self.name}>"
