# SPDX-License-Identifier: Apache-2.0
"""Calls that end or begin in an unusual way: exceptions for the program, signals, runs inside of runs."""

import asyncio
import subprocess
from typing import Any, Callable

import pytest

import superstep as ss

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def calling_model(messages: Any, tools: Any) -> Any:
    if messages[-1]["type"] == "tool":
        return "the tool said: " + messages[-1]["content"]
    return {"content": "", "tool_calls": [{"name": "t", "args": {}, "id": "1"}]}


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("failure", [SystemExit(3), KeyboardInterrupt(), asyncio.CancelledError(), GeneratorExit()])
def test_exceptions_for_the_program_end_the_run(failure: BaseException, is_async: bool) -> None:
    def plain() -> str:
        raise failure

    async def later() -> str:
        raise failure

    tool: Any = ss.tool(name="t")(later if is_async else plain)
    with pytest.raises(type(failure)):
        ss.create_agent(calling_model, [tool]).invoke("x")

    def wrap(request: Any, handler: Any) -> Any:
        raise failure

    wrapped = ss.create_agent(calling_model, [tool], middleware=[ss.Middleware("w", wrap_tool_call=wrap)])
    with pytest.raises(type(failure)):
        wrapped.invoke("x")


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("failure", [SystemExit(3), KeyboardInterrupt(), GeneratorExit(), BaseException("b")])
def test_exceptions_for_the_program_are_not_handled(failure: BaseException, is_async: bool) -> None:
    calls: list[str] = []

    def plain(state: Any) -> None:
        calls.append("node")
        raise failure

    async def later(state: Any) -> None:
        plain(state)

    def handle(state: Any) -> dict[str, Any]:
        calls.append("handler")
        return {"x": "handled"}

    retry = ss.RetryPolicy(initial_interval=0, jitter=False, retry_on=lambda e: True)
    node = later if is_async else plain
    inner = ss.Graph({"x": None}).add("n", node, retry=retry, on_error=handle).edge(ss.START, "n").compile()
    outer = ss.Graph({"x": None}).add("g", inner, retry=retry, on_error=handle).edge(ss.START, "g").compile()
    for graph in (inner, outer):
        calls.clear()
        with pytest.raises(type(failure)):
            graph.invoke({})
        assert calls == ["node"]


def test_handler_of_a_node_that_cancels_itself_runs() -> None:
    async def node(state: Any) -> None:
        raise asyncio.CancelledError

    graph = ss.Graph({"x": None}).add("n", node, on_error=lambda s: {"x": "handled"}).edge(ss.START, "n")
    assert graph.compile().invoke({}) == {"x": "handled"}


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")
def test_results_without_a_useful_text_are_errors() -> None:
    async def later() -> str:
        return "later"

    async def nested() -> Any:
        return later()

    def items() -> Any:
        yield "a"

    async def async_items() -> Any:
        yield "a"

    async def forgets(request: Any, handler: Any) -> Any:
        return handler(request)

    def answer_of(tool: Any, *middleware: ss.Middleware) -> str:
        return ss.create_agent(calling_model, [ss.tool(name="t")(tool)], middleware=middleware).invoke("x").text

    class ToolMessage:
        tool_call_id = "1"

    assert "result of tool 't' is a coroutine; await it" in answer_of(nested)
    assert "result of tool 't' is a ToolMessage; return its content, or a dict" in answer_of(ToolMessage)
    assert "is a coroutine; await it" in answer_of(later, ss.Middleware("w", wrap_tool_call=forgets))
    for tool, kind in ((items, "a generator"), (async_items, "an async_generator"), (lambda: map(str, []), "a map")):
        assert f"result of tool 't' is {kind}; return a list or a text" in answer_of(tool)


def test_other_exceptions_of_tools_are_answers() -> None:
    @ss.tool(name="t")
    def fails() -> str:
        raise MemoryError("too large")

    assert "too large" in ss.create_agent(calling_model, [fails]).invoke("x").text


def fail(state: Any) -> None:
    raise ValueError("the node failed")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # that of retry_on
def test_code_for_which_the_engine_waits_must_not_run_graphs() -> None:
    inner = ss.Graph({"n": None}).add("a", lambda s: None).edge(ss.START, "a").compile()
    errors: list[str] = []

    def invoke_inside(given: Any) -> Any:
        try:
            inner.invoke({"n": 1})
        except RuntimeError as error:
            errors.append(str(error))
            raise
        return True

    policy = ss.RetryPolicy(max_attempts=2, initial_interval=0.001, retry_on=invoke_inside)
    graph = ss.Graph({"n": None}).add("a", fail, retry=policy).edge(ss.START, "a").compile()
    with pytest.raises(ValueError, match="the node failed"):
        graph.invoke({"n": 1})
    cached = ss.Graph({"n": None}).add("a", lambda s: None, cache=ss.CachePolicy(key=invoke_inside))
    with pytest.raises(RuntimeError, match="must not wait for a run"):
        cached.edge(ss.START, "a").compile(cache=ss.memory_cache()).invoke({"n": 1})
    assert errors == [
        "the retry_on of a RetryPolicy must not wait for a run, because the engine waits for it",
        "the key of a CachePolicy must not wait for a run, because the engine waits for it",
    ]


@pytest.mark.parametrize("use", ["stream", "map", "rows"])
def test_exit_after_reading_part_of_a_run_is_normal(run_python: Run, tmp_path: Any, use: str) -> None:
    done = run_python(
        f"""
        import atexit, superstep as ss, time
        atexit.register(print, "an older handler")
        g = ss.Graph({{"n": None}}).add("a", lambda s: {{"n": 1}}).add("b", lambda s: time.sleep(0.3))
        graph = g.edge(ss.START, "a").edge("a", "b").compile()
        @ss.tool(name="t")
        def slow() -> str:
            time.sleep(0.3)
            return "x"
        calls = []
        def model(messages, tools):
            calls.append(1)
            if len(calls) < 2:
                return "done"
            return {{"content": "", "tool_calls": [{{"name": "t", "args": {{}}, "id": "1"}}]}}
        agent = ss.create_agent(model, [slow])
        log = open({str(tmp_path / "log")!r}, "w")
        log.write("result")
        if {use!r} == "stream":
            for event in graph.stream({{"n": 0}}):
                break
        elif {use!r} == "map":
            for row in graph.map([{{"n": 0}}, {{"n": 1}}], concurrency=2):
                break
        else:
            for row in agent.map(["a", "b", "c"], concurrency=2):
                break
        """
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "an older handler\n", "")
    assert (tmp_path / "log").read_text() == "result"


def test_results_survive_an_exception_of_a_signal_handler(run_python: Run) -> None:
    done = run_python(
        """
        import asyncio, os, signal, sys, threading, time, superstep as ss
        class Alarm(Exception): pass
        armed = False
        def handle(*_):
            global armed
            if armed and sys._getframe(1).f_code.co_name == "deliver":
                armed = False
                raise Alarm
        signal.signal(signal.SIGUSR1, handle)
        graph = ss.Graph({"n": None}).add("a", lambda s: {"n": 2}).edge(ss.START, "a").compile()
        ended = threading.Event()
        def pester():
            while not ended.is_set():
                os.kill(os.getpid(), signal.SIGUSR1)
                time.sleep(0.00005)
        async def main():
            global armed
            asyncio.get_running_loop().set_exception_handler(lambda *_: None)
            await graph.ainvoke({"n": 1})
            threading.Thread(target=pester, daemon=True).start()
            end = time.monotonic() + 5
            for _ in range(20):
                armed = True
                while armed and time.monotonic() < end:
                    runs = [asyncio.ensure_future(graph.ainvoke({"n": 1})) for _ in range(5)]
                    _, pending = await asyncio.wait(runs, timeout=10)
                    assert not pending, f"{len(pending)} results are lost"
            ended.set()
        asyncio.run(main())
        """
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_models_have_no_services_of_a_run() -> None:
    def emits(messages: Any, tools: Any) -> str:
        ss.emit("token")
        return "x"

    with pytest.raises(ValueError, match="a model, and a tool outside of an agent, have no interrupt"):
        ss.create_agent(emits).invoke("x")
    agent = ss.create_agent(lambda messages, tools: "[" + ss.current_runtime().thread_id + "]")
    assert agent.invoke("x", thread_id="7").text == "[7]"
