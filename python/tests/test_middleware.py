# SPDX-License-Identifier: Apache-2.0
"""Hooks of agents, Commands of tools, and error handlers and retries of graphs."""

import asyncio
import pickle
from typing import Any, TypedDict

import pytest

import superstep as ss

RULES = """scripted:
rules:
- {type: tool, text: 'after \\0'}
- {type: human, match: 'call (.*)', calls: [{name: act, args: {x: '\\1'}}]}
- {type: human, match: '.*', text: 'heard \\0'}
"""


def act(x: str) -> str:
    """Acts."""
    return x


def test_hooks_run_around_the_model_in_order() -> None:
    seen: list[str] = []

    def hook(name: str) -> Any:
        def run(state: Any) -> None:
            seen.append(f"{name}:{len(state['messages'])}")

        return run

    def middleware(name: str) -> ss.Middleware:
        hooks = {h: hook(f"{name}.{h}") for h in ("before_agent", "before_model", "after_model", "after_agent")}
        return ss.Middleware(name, **hooks)

    agent = ss.create_agent(RULES, [act], middleware=[middleware("a"), middleware("b")])
    assert agent.invoke("call 7").text == "after 7"
    assert seen == [
        "a.before_agent:1", "b.before_agent:1",
        "a.before_model:1", "b.before_model:1", "b.after_model:2", "a.after_model:2",
        "a.before_model:3", "b.before_model:3", "b.after_model:4", "a.after_model:4",
        "b.after_agent:4", "a.after_agent:4",
    ]  # fmt: skip
    assert "a.before_model" in agent.mermaid()


def test_hooks_add_and_replace_messages() -> None:
    def add(state: Any) -> dict[str, Any]:
        return {"messages": [{"role": "user", "content": "one more"}]}

    async def last_only(state: Any, runtime: ss.Runtime) -> dict[str, Any]:
        await asyncio.sleep(0)
        assert runtime.node == "trim.before_model"
        return {"llm_input_messages": [*state["messages"][:-1], {"role": "user", "content": "short"}]}

    agent = ss.create_agent(RULES, middleware=[ss.Middleware("add", before_agent=add)])
    result = agent.invoke("hi")
    assert [m["content"] for m in result.messages] == ["hi", "one more", "heard one more"]
    trimmed = ss.create_agent(RULES, middleware=[ss.Middleware("trim", before_model=last_only)])
    assert trimmed.invoke("a long text").text == "heard short"
    assert asyncio.run(trimmed.ainvoke("a long text")).text == "heard short"


def stop_early(state: Any) -> Any:
    return {"messages": [{"role": "ai", "content": "stopped"}], "jump_to": "end"}


def test_hooks_jump() -> None:
    guard = ss.Middleware("guard", before_model=stop_early, can_jump_to=["end"])
    agent = ss.create_agent(RULES, [act], middleware=[guard])
    assert agent.invoke("call 7").text == "stopped"
    copy = pickle.loads(pickle.dumps(agent))
    assert copy.invoke("call 7").text == "stopped"


@pytest.mark.parametrize(
    ("made", "text"),
    [(7, "a hook must return a dict"), ({"x": 1}, "the key 'x'"), ({"jump_to": "moon"}, "'moon' is not a jump"),
     ({"messages": [{"role": "?"}]}, "role")],
)  # fmt: skip
def test_wrong_results_of_hooks_fail(made: Any, text: str) -> None:
    agent = ss.create_agent(RULES, middleware=[ss.Middleware("m", before_model=lambda s: made)])
    with pytest.raises((TypeError, ValueError), match=text):
        agent.invoke("hi")


def test_hooks_raise_and_interrupt() -> None:
    def refuse(state: Any) -> None:
        raise PermissionError("no")

    def ask(state: Any) -> Any:
        return {"messages": [{"role": "user", "content": ss.interrupt("what?")}]}

    with pytest.raises(PermissionError, match="no"):
        ss.create_agent(RULES, middleware=[ss.Middleware("m", after_model=refuse)]).invoke("hi")
    agent = ss.create_agent(
        RULES, middleware=[ss.Middleware("m", before_agent=ask)], checkpointer=ss.memory_checkpointer()
    )
    paused = agent.invoke("hi", thread_id="t")
    assert [i.value for i in paused.interrupts] == ["what?"]
    assert agent.invoke(ss.Command(resume="that"), thread_id="t").text == "heard that"


def test_middleware_brings_tools() -> None:
    agent = ss.create_agent(RULES, middleware=[ss.Middleware("m", tools=[act])])
    assert agent.invoke("call 3").text == "after 3"


def answer_to(runtime: ss.Runtime, text: str) -> dict[str, Any]:
    return {"role": "tool", "content": text, "tool_call_id": runtime.tool_call_id}


def test_tools_return_commands() -> None:
    def act(x: str, runtime: ss.Runtime) -> ss.Command:
        """Acts."""
        note = {"role": "user", "content": "call again" if x == "twice" else "noted"}
        return ss.Command(update={"messages": [answer_to(runtime, x), note]})

    result = ss.create_agent(RULES, [act]).invoke("call once")
    assert [m["content"] for m in result.messages] == ["call once", "", "once", "noted", "heard noted"]


def test_tools_end_the_run_by_commands() -> None:
    async def act(x: str, runtime: ss.Runtime) -> Any:
        """Acts."""
        return ss.Command(update={"messages": [answer_to(runtime, x)]}, goto=ss.END)

    result = ss.create_agent(RULES, [act]).invoke("call it")
    # The edge from the tools to the model is taken as well, as in LangGraph.
    assert [m["content"] for m in result.messages][:3] == ["call it", "", "it"]


def test_tools_return_lists_of_commands() -> None:
    def act(x: str, runtime: ss.Runtime) -> Any:
        """Acts."""
        return [ss.Command(update={"structured_response": {"x": x}}), answer_to(runtime, x)]

    result = ss.create_agent(RULES, [act]).invoke("call it")
    assert result.text == "after it" and result.structured_response == {"x": "it"}


def test_command_without_an_answer_is_an_error() -> None:
    def act(x: str) -> Any:
        """Acts."""
        return ss.Command(update={"messages": [{"role": "user", "content": "?"}]})

    result = ss.create_agent(RULES, [act]).invoke("call it")  # the model reads the error
    assert "tool" in result.text.lower() and "message" in result.text.lower(), result.messages


class State(TypedDict, total=False):
    n: int
    log: list[str]


def fail(state: Any) -> Any:
    raise LookupError(f"no {state['n']}")


def graph_of(**options: Any) -> ss.Graph:
    return ss.Graph(State).add("a", fail, **options).edge(ss.START, "a")


def test_error_handler_replaces_a_failed_node() -> None:
    def handle(state: Any, runtime: ss.Runtime) -> dict[str, Any]:
        return {"log": [f"{type(runtime.error).__name__}: {runtime.error} in {runtime.node}"]}

    result = graph_of(on_error=handle).compile().invoke({"n": 3})
    assert result["log"] == ["LookupError: no 3 in __error_handler__a"]


def test_default_error_handler_and_goto() -> None:
    async def handle(state: Any, runtime: ss.Runtime) -> Any:
        assert isinstance(runtime.error, LookupError)
        return ss.Command(update={"log": ["handled"]}, goto="after")

    g = graph_of().add("after", lambda s: {"log": [*s["log"], "after"]}).on_error(handle)
    assert g.compile().invoke({"n": 1})["log"] == ["handled", "after"]
    assert asyncio.run(g.compile().ainvoke({"n": 1}))["log"] == ["handled", "after"]


def test_failing_error_handler_fails_the_run() -> None:
    def handle(state: Any, runtime: ss.Runtime) -> Any:
        raise KeyError("worse") from runtime.error

    with pytest.raises(KeyError, match="worse") as caught:
        graph_of(on_error=handle).compile().invoke({"n": 1})
    assert isinstance(caught.value.__cause__, LookupError)


def test_two_error_handlers_are_a_fault() -> None:
    g = graph_of(on_error=lambda s: None).on_error(lambda s: None, "a")
    with pytest.raises(ss.GraphError, match="already has an error handler"):
        g.compile()


@pytest.mark.parametrize(
    ("retry_on", "attempts"),
    [(LookupError, 3), ((KeyError, LookupError), 3), (lambda e: "no" in str(e), 3), (OSError, 1), (None, 1)],
)
def test_retry_on_selects_exceptions(retry_on: Any, attempts: int) -> None:
    seen: list[int] = []

    def node(state: Any, runtime: ss.Runtime) -> Any:
        seen.append(runtime.attempt)
        raise LookupError("no")

    policy = ss.RetryPolicy(initial_interval=0.001, jitter=False, retry_on=retry_on)
    with pytest.raises(LookupError):
        ss.Graph(State).add("a", node, retry=policy).edge(ss.START, "a").compile().invoke({})
    assert seen == list(range(1, attempts + 1))
