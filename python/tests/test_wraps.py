# SPDX-License-Identifier: Apache-2.0
"""Wrappers of model calls and tool calls."""

import asyncio
import gc
import pickle
import threading
import time
import weakref
from typing import Any, Callable

import pytest

import superstep as ss

RULES = """scripted:
rules:
- {type: tool, text: 'after \\0'}
- {type: human, match: 'call (.*)', calls: [{name: act, args: {x: '\\1'}}]}
- {type: human, match: '.*', text: 'heard \\0'}
"""
OTHER = "scripted:\ndefault: {text: 'other'}\n"


def act(x: str) -> str:
    """Acts."""
    if x == "fail":
        raise LookupError("no such thing")
    return x


def agent_of(*, tools: Any = (act,), model: Any = RULES, checkpointer: Any = None, **wraps: Any) -> ss.Agent:
    middleware = [ss.Middleware("m", **wraps)]
    return ss.create_agent(model, tools, middleware=middleware, checkpointer=checkpointer)


def run(agent: ss.Agent, text: str, is_async: bool = False) -> ss.AgentResult:
    return asyncio.run(agent.ainvoke(text)) if is_async else agent.invoke(text)


def in_both_forms(wrap: Callable[[Any, Callable[[Any], Any]], Any]) -> list[Any]:
    """Returns a wrapper that calls its handler at most once, as a function and as a coroutine function.

    ``wrap(request, handler)`` is a generator: it yields a request to pass to the handler, receives the
    answer, and returns the result.
    """

    def step(steps: Any, answer: Any) -> tuple[bool, Any]:
        try:
            return False, steps.send(answer)
        except StopIteration as end:
            return True, end.value

    def plain(request: Any, handler: Any) -> Any:
        steps = wrap(request, handler)
        has_ended, value = step(steps, None)
        while not has_ended:
            has_ended, value = step(steps, handler(value))
        return value

    async def coroutine(request: Any, handler: Any) -> Any:
        steps = wrap(request, handler)
        has_ended, value = step(steps, None)
        while not has_ended:
            await asyncio.sleep(0)
            has_ended, value = step(steps, await handler(value))
        return value

    return [plain, coroutine]


def pass_on(request: Any, handler: Any) -> Any:
    return (yield request)


def short_cut(request: Any, handler: Any) -> Any:
    return "short"
    yield  # makes this a generator


def change_messages(request: Any, handler: Any) -> Any:
    return (yield request.override(messages=[{"role": "user", "content": "changed"}]))


def append_in_place(request: Any, handler: Any) -> Any:
    request.messages.append({"role": "user", "content": "appended"})
    return (yield request)


def change_answer(request: Any, handler: Any) -> Any:
    answer = yield request
    return {**answer, "content": answer["content"].upper()}


def use_another_model(request: Any, handler: Any) -> Any:
    assert request.model == RULES
    return (yield request.override(model=OTHER))


def use_a_function(request: Any, handler: Any) -> Any:
    return (yield request.override(model=lambda messages, tools: f"{len(messages)} and {len(tools)}"))


def call_twice(request: Any, handler: Any) -> Any:
    first = yield request
    second = yield request.override(messages=["again"])
    return first["content"] + "; " + second["content"]


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("form", [0, 1])
@pytest.mark.parametrize(
    ("wrap", "text"),
    [(pass_on, "heard hi"), (short_cut, "short"), (change_messages, "heard changed"),
     (append_in_place, "heard appended"), (change_answer, "HEARD HI"), (use_another_model, "other"),
     (use_a_function, "1 and 1"), (call_twice, "heard hi; heard again")],
)  # fmt: skip
def test_model_wrapper_may(wrap: Any, text: str, form: int, is_async: bool) -> None:
    agent = agent_of(wrap_model_call=in_both_forms(wrap)[form])
    result = run(agent, "hi", is_async)
    assert result.text == text
    assert result.model_calls == 1 and len(result.messages) == 2


def pass_tool_on(request: Any, handler: Any) -> Any:
    answer = yield request
    assert answer["tool_call_id"] == request.tool_call["id"] and answer["name"] == "act"
    return answer


def change_arguments(request: Any, handler: Any) -> Any:
    return (yield request.override(tool_call={**request.tool_call, "args": {"x": "other"}}))


def change_arguments_in_place(request: Any, handler: Any) -> Any:
    request.tool_call["args"]["x"] = "other"
    return (yield request)


def change_content(request: Any, handler: Any) -> Any:
    return (yield request)["content"] * 2


def answer_with_message(request: Any, handler: Any) -> Any:
    return {"role": "tool", "content": "made", "status": "error"}
    yield


def answer_with_value(request: Any, handler: Any) -> Any:
    return {"x": 1}
    yield


def answer_with_command(request: Any, handler: Any) -> Any:
    answer = {"role": "tool", "content": "told", "tool_call_id": request.tool_call["id"]}
    return ss.Command(update={"messages": [answer]})
    yield


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("form", [0, 1])
@pytest.mark.parametrize(
    ("wrap", "content"),
    [(pass_tool_on, "7"), (short_cut, "short"), (change_arguments, "other"), (change_arguments_in_place, "other"),
     (change_content, "77"), (answer_with_message, "made"), (answer_with_value, '{"x": 1}'),
     (answer_with_command, "told")],
)  # fmt: skip
def test_tool_wrapper_may(wrap: Any, content: str, form: int, is_async: bool) -> None:
    agent = agent_of(wrap_tool_call=in_both_forms(wrap)[form])
    result = run(agent, "call 7", is_async)
    call, answer = result.messages[1]["tool_calls"][0], result.messages[2]
    assert answer["type"] == "tool" and answer["tool_call_id"] == call["id"] and answer["name"] == "act"
    assert answer["content"].replace('":1', '": 1') == content
    assert result.text == "after " + answer["content"] and result.tool_calls == 1
    assert (answer.get("status") == "error") == (wrap is answer_with_message)


def test_first_wrapper_is_outermost() -> None:
    seen: list[str] = []

    def middleware(name: str, is_async: bool) -> ss.Middleware:
        def model(request: Any, handler: Any) -> Any:
            seen.append(f"{name} before model")
            answer = handler(request)
            seen.append(f"{name} after model")
            return answer

        def tool(request: Any, handler: Any) -> Any:
            seen.append(f"{name} before tool")
            answer = handler(request)
            seen.append(f"{name} after tool")
            return answer

        async def async_tool(request: Any, handler: Any) -> Any:
            seen.append(f"{name} before tool")
            answer = await handler(request)
            seen.append(f"{name} after tool")
            return answer

        return ss.Middleware(name, wrap_model_call=model, wrap_tool_call=async_tool if is_async else tool)

    middlewares = [middleware("a", False), middleware("b", True), middleware("c", False)]
    result = ss.create_agent(RULES, [act], middleware=middlewares).invoke("call 7")
    assert result.text == "after 7"
    model = [f"{n} {when} model" for when, names in (("before", "abc"), ("after", "cba")) for n in names]
    assert seen == [*model, *(s.replace("model", "tool") for s in model), *model]


def test_inner_wrapper_sees_the_changes_of_the_outer() -> None:
    def outer(request: ss.ModelRequest, handler: Any) -> Any:
        return handler(request.override(model=OTHER, system_prompt="outer", parameters={"temperature": 0.5}))

    def inner(request: ss.ModelRequest, handler: Any) -> Any:
        return f"{request.model == OTHER} {request.system_prompt} {request.parameters} {request.turn}"

    layers = [ss.Middleware("o", wrap_model_call=outer), ss.Middleware("i", wrap_model_call=inner)]
    agent = ss.create_agent(RULES, prompt="own", middleware=layers)
    assert agent.invoke("hi").text == "True outer {'temperature': 0.5} 0"


def test_requests_describe_the_call() -> None:
    def model(request: ss.ModelRequest, handler: Any) -> Any:
        assert request.system_prompt == "Be kind." and request.model == RULES
        assert [t["name"] for t in request.tools] == ["act"]
        assert request.state["messages"][0]["content"] == "call 7"
        assert request.runtime.configurable == {"user": "bob"} and request.runtime.node == "model"
        return handler(request)

    def tool(request: ss.ToolRequest, handler: Any) -> Any:
        assert request.tool is not None and request.tool["description"] == "Acts."
        assert request.runtime.tool_call_id == request.tool_call["id"]
        assert request.state["messages"][-1]["tool_calls"] and request.tool_call["args"] == {"x": "7"}
        return handler(request)

    agent = ss.create_agent(
        RULES, [act], prompt="Be kind.", middleware=[ss.Middleware("m", wrap_model_call=model, wrap_tool_call=tool)]
    )
    result = agent.invoke("call 7", configurable={"user": "bob"})
    assert result.text == "after 7"


def test_tools_of_a_request_are_selected() -> None:
    def count(messages: Any, tools: Any) -> str:
        return " ".join(t["name"] + ":" + t["description"] for t in tools)

    def other() -> str:
        """Other."""
        return ""

    def select(request: Any, handler: Any) -> Any:
        return handler(request.override(tools=["other", {**request.tools[0], "description": "New."}]))

    agent = agent_of(tools=[act, other], model=count, wrap_model_call=select)
    assert agent.invoke("hi").text == "other:Other. act:New."

    def unknown(request: Any, handler: Any) -> Any:
        return handler(request.override(tools=["moon"]))

    with pytest.raises(ValueError, match="'moon' is not a tool of the request"):
        agent_of(wrap_model_call=unknown).invoke("hi")


@pytest.mark.parametrize("is_async", [False, True])
def test_model_wrapper_retries_and_falls_back(is_async: bool) -> None:
    attempts: list[int] = []

    def fails(messages: Any, tools: Any) -> str:
        attempts.append(len(attempts))
        raise ConnectionError(f"attempt {len(attempts)}")

    def fall_back(request: Any, handler: Any) -> Any:
        for _ in range(3):
            try:
                return handler(request)
            except ConnectionError as error:
                assert str(error) == f"attempt {len(attempts)}"
        return handler(request.override(model=OTHER))

    async def fall_back_later(request: Any, handler: Any) -> Any:
        for _ in range(3):
            try:
                return await handler(request)
            except ConnectionError as error:
                assert str(error) == f"attempt {len(attempts)}"
        return await handler(request.override(model=OTHER))

    agent = agent_of(model=fails, wrap_model_call=fall_back_later if is_async else fall_back)
    assert run(agent, "hi", is_async).text == "other"
    assert len(attempts) == 3


@pytest.mark.parametrize("is_async", [False, True])
def test_tool_wrapper_retries(is_async: bool) -> None:
    attempts: list[str] = []

    def flaky(x: str) -> str:
        """Acts."""
        attempts.append(x)
        if len(attempts) < 3:
            raise OSError("busy")
        return x

    def retry(request: Any, handler: Any) -> Any:
        while True:
            try:
                return handler(request)
            except OSError:
                pass

    async def retry_later(request: Any, handler: Any) -> Any:
        while True:
            try:
                return await handler(request)
            except OSError:
                pass

    tools = [ss.tool(name="act")(flaky)]
    agent = agent_of(tools=tools, wrap_tool_call=retry_later if is_async else retry)
    assert run(agent, "call 7", is_async).text == "after 7"
    assert attempts == ["7"] * 3


def test_exceptions_pass_through_wrappers() -> None:
    failure = KeyError("model")

    def fails(messages: Any, tools: Any) -> str:
        raise failure

    layers = [ss.Middleware(n, wrap_model_call=lambda request, handler: handler(request)) for n in "ab"]
    with pytest.raises(KeyError) as caught:
        ss.create_agent(fails, middleware=layers).invoke("hi")
    assert caught.value is failure

    def raise_own(request: Any, handler: Any) -> Any:
        raise PermissionError("not allowed")

    with pytest.raises(PermissionError, match="not allowed"):
        agent_of(wrap_model_call=raise_own).invoke("hi")


def test_errors_of_native_models_reach_wrappers() -> None:
    seen: list[BaseException] = []

    def note(request: Any, handler: Any) -> Any:
        try:
            return handler(request)
        except Exception as error:
            seen.append(error)
            raise

    model = "scripted:\nrules:\n- {type: human, match: 'hi', text: 'yes'}\n"
    agent = agent_of(model=model, wrap_model_call=note)
    assert agent.invoke("hi").text == "yes"
    with pytest.raises(ss.RunError, match="no rule of the script") as caught:
        agent.invoke("bye")
    (error,) = seen
    assert isinstance(error, ss.RunError) and error.code == "model_errc::bad_answer"
    # The error is that of an agent without the wrapper.
    with pytest.raises(ss.RunError) as bare:
        ss.create_agent(model).invoke("bye")
    assert (str(bare.value), bare.value.code) == (str(caught.value), caught.value.code)


@pytest.mark.parametrize("form", [0, 1])
def test_failures_of_tools_become_answers_outside(form: int) -> None:
    agent = agent_of(wrap_tool_call=in_both_forms(pass_on)[form])
    result = agent.invoke("call fail")
    answer = result.messages[2]
    assert "no such thing" in answer["content"] and answer["status"] == "error"


@pytest.mark.parametrize(
    ("made", "text"),
    [(7, "must be a str or a message"), ({"role": "user", "content": "x"}, "type ai"), (None, "message")],
)
def test_wrong_answers_of_model_wrappers_fail(made: Any, text: str) -> None:
    with pytest.raises((TypeError, ValueError)):
        agent_of(wrap_model_call=lambda request, handler: made).invoke("hi")


def test_answer_to_another_tool_call_is_an_error() -> None:
    wrong = {"role": "tool", "content": "x", "tool_call_id": "other"}
    result = agent_of(wrap_tool_call=lambda request, handler: wrong).invoke("call 7")
    assert "has the tool_call_id 'other'" in result.messages[2]["content"]
    assert result.messages[2]["tool_call_id"] == result.messages[1]["tool_calls"][0]["id"]

    def rename(request: Any, handler: Any) -> Any:
        return handler(request.override(tool_call={**request.tool_call, "id": "other"}))

    result = agent_of(wrap_tool_call=rename).invoke("call 7")
    assert "the id of a tool call cannot be changed" in result.messages[2]["content"]


def test_commands_of_tools_pass_through_wrappers() -> None:
    def tell(x: str, runtime: ss.Runtime) -> ss.Command:
        """Tells."""
        answer = {"role": "tool", "content": x, "tool_call_id": runtime.tool_call_id}
        return ss.Command(update={"messages": [answer, {"role": "user", "content": "and on"}]})

    seen: list[Any] = []

    def look(request: Any, handler: Any) -> Any:
        seen.append(handler(request))
        return seen[-1]

    result = agent_of(tools=[ss.tool(name="act")(tell)], wrap_tool_call=look).invoke("call 7")
    assert isinstance(seen[0], ss.Command) and result.text == "heard and on"


@pytest.mark.parametrize("form", [0, 1])
@pytest.mark.parametrize("where", ["wrapper", "tool"])
def test_interrupts_in_and_below_wrappers(where: str, form: int) -> None:
    seen: list[str] = []

    def review(request: Any, handler: Any) -> Any:
        seen.append("wrapper")
        if where == "wrapper" and ss.interrupt("run it?") != "yes":
            return "refused"
        answer = yield request
        seen.append("answer")
        return answer

    def asking(x: str) -> str:
        """Acts."""
        return str(ss.interrupt("run it?")) if where == "tool" else x

    agent = agent_of(
        tools=[ss.tool(name="act")(asking)], wrap_tool_call=in_both_forms(review)[form],
        checkpointer=ss.memory_checkpointer(),
    )  # fmt: skip
    paused = agent.invoke("call 7", thread_id="t")
    assert [i.value for i in paused.interrupts] == ["run it?"] and seen == ["wrapper"]
    done = agent.invoke(ss.Command(resume="yes"), thread_id="t")
    assert done.text == ("after 7" if where == "wrapper" else "after yes")
    assert seen == ["wrapper", "wrapper", "answer"]


def test_coroutine_wrapper_limits_the_time_of_a_call() -> None:
    cancelled = threading.Event()

    async def slow(messages: Any, tools: Any) -> str:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return "late"

    async def limit(request: Any, handler: Any) -> Any:
        try:
            return await asyncio.wait_for(handler(request), 0.05)
        except asyncio.TimeoutError:
            return "too late"

    agent = agent_of(model=slow, wrap_model_call=limit)
    start = time.monotonic()
    assert agent.invoke("hi").text == "too late"
    assert asyncio.run(agent.ainvoke("hi")).text == "too late"
    assert time.monotonic() - start < 30 and cancelled.wait(10)


def test_coroutine_wrapper_makes_calls_concurrently() -> None:
    both = asyncio.Event()
    running: list[int] = []

    async def model(messages: Any, tools: Any) -> str:
        running.append(1)
        if len(running) == 2:
            both.set()
        await asyncio.wait_for(both.wait(), 10)
        return str(messages[0]["content"])

    async def race(request: Any, handler: Any) -> Any:
        answers = await asyncio.gather(*(handler(request.override(messages=[text])) for text in "ab"))
        return "+".join(a["content"] for a in answers)

    agent = agent_of(model=model, wrap_model_call=race)
    assert asyncio.run(agent.ainvoke("hi")).text == "a+b"


def test_cancelled_run_ends_waiting_wrappers() -> None:
    ended: list[str] = []

    def wrap(request: Any, handler: Any) -> Any:
        try:
            return handler(request)
        except BaseException as error:
            ended.append(type(error).__name__)
            raise

    async def slow(messages: Any, tools: Any) -> str:
        await asyncio.sleep(60)
        return ""

    agent = agent_of(model=slow, wrap_model_call=wrap)
    with pytest.raises(ss.RunError, match="deadline"):
        agent.invoke("hi", deadline=0.1)
    for _ in range(6_000):
        if ended:
            break
        time.sleep(0.01)
    assert ended == ["Interrupted"]


def test_many_waiting_wrappers_leave_threads_for_tools() -> None:
    """More wrappers wait than the pool has threads, and each needs a thread for its tool."""

    def slow(x: str) -> str:
        """Acts."""
        time.sleep(0.05)
        return x

    agent = agent_of(
        tools=[ss.tool(name="act")(slow)], wrap_model_call=lambda r, h: h(r), wrap_tool_call=lambda r, h: h(r)
    )
    rows = agent.batch([f"call {i}" for i in range(300)], concurrency=300)
    assert [row.answer for row in rows] == [f"after {i}" for i in range(300)]


def test_handler_cannot_be_used_later() -> None:
    kept: list[Any] = []

    def keep(request: Any, handler: Any) -> Any:
        kept.append((request, handler))
        return handler(request)

    agent = agent_of(wrap_model_call=keep)
    agent.invoke("hi")
    request, handler = kept.pop()
    with pytest.raises(ValueError, match="has returned"):
        handler(request)
    with pytest.raises(TypeError, match="a handler takes a ModelRequest"):
        handler(7)


def module_wrap(request: Any, handler: Any) -> Any:
    return handler(request)["content"] + "!"


def test_agents_with_wrappers_pickle_and_are_collected() -> None:
    agent = agent_of(wrap_model_call=module_wrap)
    assert pickle.loads(pickle.dumps(agent)).invoke("hi").text == "heard hi!"

    class Wrap:
        agent: Any = None

        def __call__(self, request: Any, handler: Any) -> Any:
            return handler(request)

    wrap = Wrap()
    wrap.agent = agent_of(wrap_model_call=wrap, wrap_tool_call=wrap)
    wrap.agent.invoke("call 7")
    found = weakref.ref(wrap)
    del wrap
    for _ in range(3_000):
        gc.collect()
        if found() is None:
            break
        time.sleep(0.01)
    assert found() is None


def test_exit_ends_waiting_wrappers(run_python: Any) -> None:
    done = run_python(
        """
        import atexit, threading, time
        import superstep as ss

        exiting = threading.Event()

        def slow(messages, tools):
            exiting.wait()
            time.sleep(0.2)
            return "late"

        agent = ss.create_agent(slow, middleware=[ss.Middleware("m", wrap_model_call=lambda r, h: h(r))])
        def run():
            try:
                agent.invoke("hi")
            except ss.RunError:
                pass  # the run was cancelled

        threading.Thread(target=run, daemon=True).start()
        while not ss.stats()["python_threads"] > 1:
            time.sleep(0.01)
        atexit.register(exiting.set)  # called just before the package cancels its runs
        """
    )
    assert done.returncode == 1 and done.stderr.count("\n") == 1, done.stderr
    assert "cancels 1 run" in done.stderr
