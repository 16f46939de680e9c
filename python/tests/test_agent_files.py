# SPDX-License-Identifier: Apache-2.0
"""Agents of agent files with middleware."""

import pathlib
import pickle
from typing import Any, Callable

import pytest

import superstep as ss


def act(x: str) -> str:
    """Acts."""
    if x == "fail":
        raise LookupError("no such thing")
    return x


def module_wrap(request: Any, handler: Any) -> Any:
    return handler(request)["content"] + "!"


FILE = """name: helper
model: {provider: scripted, path: rules.yaml}
prompt: Be kind.
tools:
- calculator
"""
FILE_RULES = """rules:
- {type: tool, text: 'after \\0'}
- {type: human, match: 'call (.*)', calls: [{name: act, args: {x: '\\1'}}]}
- {type: human, match: 'sum', calls: [{name: calculator, args: {expression: '6*7'}}]}
- {type: human, match: '.*', text: 'heard \\0'}
"""


@pytest.fixture
def agent_file(tmp_path: pathlib.Path) -> pathlib.Path:
    """An agent file with a tool of its own; its model also calls the tool `act`."""
    (tmp_path / "rules.yaml").write_text(FILE_RULES)
    (tmp_path / "agent.yaml").write_text(FILE)
    return tmp_path / "agent.yaml"


def test_agent_of_a_file_runs_middleware(agent_file: pathlib.Path) -> None:
    seen: list[str] = []

    def note(name: str) -> Callable[[Any], None]:
        return lambda state: seen.append(f"{name}:{len(state['messages'])}")

    def model(request: ss.ModelRequest, handler: Any) -> Any:
        assert request.model is None and request.system_prompt == "Be kind."
        seen.append(f"model:{[t['name'] for t in request.tools]}")
        return handler(request)

    def tool(request: ss.ToolRequest, handler: Any) -> Any:
        answer = handler(request)
        return answer["content"] + "!"

    hooks: Any = {h: note(h) for h in ("before_agent", "before_model", "after_agent")}
    middleware = ss.Middleware("m", wrap_model_call=model, wrap_tool_call=tool, tools=[act], **hooks)
    agent = ss.Agent.from_file(agent_file, middleware=[middleware], checkpointer=ss.memory_checkpointer())
    assert agent.invoke("sum", thread_id="a").text == "after 42!"
    assert agent.invoke("call 7", thread_id="b").text == "after 7!"
    turn = ["before_model:{}", "model:['calculator', 'act']"]
    run = ["before_agent:1", *(t.format(1) for t in turn), *(t.format(3) for t in turn), "after_agent:4"]
    assert seen == run * 2


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_failures_of_tools_of_a_file_reach_wrappers(agent_file: pathlib.Path, version: str) -> None:
    seen: list[str] = []

    def tool(request: ss.ToolRequest, handler: Any) -> Any:
        try:
            return handler(request)
        except LookupError as error:
            seen.append(str(error))
            return "nothing"

    agent = ss.Agent.from_file(
        agent_file, [act], set=[f"version={version}"], middleware=[ss.Middleware("m", wrap_tool_call=tool)]
    )
    assert agent.invoke("call fail").text == "after nothing" and seen == ["no such thing"]


def test_middleware_of_a_file_is_pickled_and_checked(agent_file: pathlib.Path) -> None:
    middleware = ss.Middleware("m", wrap_model_call=module_wrap)
    agent = ss.Agent.from_file(agent_file, middleware=[middleware])
    assert pickle.loads(pickle.dumps(agent)).invoke("hi").text == "heard hi!"
    with pytest.raises(ss.GraphError, match="'m'"):
        ss.Agent.from_file(agent_file, middleware=[middleware, middleware])
