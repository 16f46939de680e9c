# SPDX-License-Identifier: Apache-2.0
"""Agents: runs, batches, streams, threads, agent files."""

import asyncio
import datetime
import decimal
import pathlib
import pickle
import threading
from typing import Any

import pytest

import superstep as ss


@ss.tool
def weather(city: str) -> str:
    """Current weather in a city."""
    return f"It is sunny in {city}."


def test_agent_answers_with_a_tool(script: str) -> None:
    agent = ss.create_agent(script, [weather], prompt="Answer in one sentence.")
    result = agent.invoke("What is the weather in Rome?")
    assert result.text == "It is sunny in Rome."
    assert dict(result) == {"messages": result.messages}
    assert "messages" in result and "structured_response" not in result
    assert (result.get("structured_response"), result.get("answer", 0)) == (None, 0)
    with pytest.raises(KeyError, match="structured_response"):
        result["structured_response"]
    assert [m["type"] for m in result.messages] == ["human", "ai", "tool", "ai"]
    assert (result.status, result.model_calls, result.tool_calls) == ("finished", 2, 1)
    assert result.interrupts == []
    assert repr(result) == "<superstep.AgentResult finished, 4 messages, text='It is sunny in Rome.'>"


def test_repr_of_result_shortens_its_text() -> None:
    result = ss.create_agent(lambda m, t: "long {} " * 100).invoke("hi")
    assert len(repr(result)) < 130
    assert repr(result).endswith("long {} long…'>")


@pytest.mark.parametrize(
    "given",
    [
        "in Rome",
        {"role": "user", "content": "in Rome"},
        ("user", "in Rome"),
        [("system", "Be brief."), ("user", "in Rome")],
        {"messages": [{"role": "user", "content": "in Rome"}]},
        {"messages": [("user", "in Rome")]},
    ],
)
def test_input_has_many_forms(script: str, given: Any) -> None:
    assert ss.create_agent(script, [weather]).invoke(given).text == "It is sunny in Rome."


def test_batch_keeps_order_and_failures_are_values() -> None:
    def model(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> str:
        if messages[-1]["content"] == "bad":
            raise ValueError("no answer")
        return f"re: {messages[-1]['content']}"

    inputs: list[Any] = ["a", "bad", "c", 5]
    rows = ss.create_agent(model).batch(inputs, concurrency=2)
    assert [r.answer for r in rows] == ["re: a", "", "re: c", ""]
    assert [r.status for r in rows] == ["finished", "failed", "finished", "failed"]
    assert isinstance(rows[1].error, ValueError) and str(rows[1].error) == "no answer"
    assert isinstance(rows[3].error, TypeError)


def test_map_reads_only_what_it_needs(script: str) -> None:
    read = 0

    def rows() -> Any:
        nonlocal read
        for i in range(1_000):
            read += 1
            yield {"question": f"in City{i}", "id": i}

    agent = ss.create_agent(script, [weather])
    outcomes = agent.map(rows(), question="question", concurrency=8)
    first = next(outcomes)
    assert first.answer == f"It is sunny in City{first.row['id']}."
    assert read <= 16
    outcomes.close()


def test_map_yields_every_row_once(script: str) -> None:
    agent = ss.create_agent(script, [weather])
    rows = [{"question": f"in City{i}"} for i in range(300)]
    outcomes = list(agent.map(rows, question="question", concurrency=64))
    assert sorted(o.index for o in outcomes) == list(range(300))
    assert all(o.answer == f"It is sunny in City{o.index}." for o in outcomes)
    columns = outcomes[0].columns()
    assert columns["status"] == "finished" and columns["tool_calls"] == 1 and columns["error"] == ""


def test_amap_reads_any_iterable(script: str) -> None:
    agent = ss.create_agent(script, [weather])
    rows = ({"question": f"in City{i}"} for i in range(20))
    outcomes = asyncio.run(agent.amap(rows, question="question"))
    assert [o.answer for o in outcomes] == [f"It is sunny in City{i}." for i in range(20)]
    assert outcomes[3].row == {"question": "in City3"}


def test_map_yields_a_row_while_all_others_wait() -> None:
    others = threading.Event()

    def model(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> str:
        if messages[-1]["content"] != "0":
            assert others.wait(30)
        return "done"

    outcomes = ss.create_agent(model).map(map(str, range(40)), concurrency=40)
    assert next(outcomes).index == 0
    others.set()
    assert sorted(o.index for o in outcomes if o.answer == "done") == list(range(1, 40))


def test_exception_of_the_model_is_raised_with_its_place() -> None:
    def model(messages: Any, tools: Any) -> str:
        raise OSError("unplugged")

    with pytest.raises(OSError, match="unplugged") as caught:
        ss.create_agent(model).invoke("hi")
    assert any("node 'model', super-step 1" in note for note in caught.value.__notes__)


def test_recursion_limit_is_a_run_error(script: str) -> None:
    with pytest.raises(ss.RunError) as caught:
        ss.create_agent(script, [weather]).invoke("in Rome", recursion_limit=2)
    assert caught.value.code == "graph_errc::recursion_limit"


@pytest.mark.parametrize(
    "options, text",
    [
        ({"threadid": "1"}, "no option 'threadid'"),
        ({"recursion_limit": 0}, "recursion_limit must be an int of at least 1 and at most 4294967295, not 0"),
        ({"recursion_limit": True}, "recursion_limit must be an int .*, not True"),
        ({"recursion_limit": 1 << 40}, "recursion_limit must be an int .*, not 1099511627776"),
        ({"max_concurrency": "5"}, "max_concurrency must be an int .*, not '5'"),
        ({"deadline": -1}, "deadline must be a number of seconds, more than 0"),
        ({"deadline": 0}, "deadline must be a number of seconds, more than 0"),
        ({"deadline": "soon"}, "deadline must be a number of seconds, not a str"),
        ({"durability": "later"}, "durability must be"),
    ],
)
def test_wrong_option_is_an_error(script: str, options: dict[str, Any], text: str) -> None:
    with pytest.raises((TypeError, ValueError), match=text):
        ss.create_agent(script).invoke("hi", **options)


def test_wrong_model_is_an_error() -> None:
    with pytest.raises(ValueError, match="model: "):
        ss.create_agent("nobody:model-1")


def test_coroutine_tools_run_in_the_callers_loop(script: str) -> None:
    loops: list[Any] = []

    @ss.tool
    async def weather(city: str) -> str:
        loops.append(asyncio.get_running_loop())
        await asyncio.sleep(0)
        return "fog in " + city

    agent = ss.create_agent(script, [weather])

    async def main() -> None:
        assert (await agent.ainvoke("in Rome")).text == "fog in Rome"
        assert loops == [asyncio.get_running_loop()]
        rows = await agent.abatch(["in Rome", "in Oslo"])
        assert [r.answer for r in rows] == ["fog in Rome", "fog in Oslo"]
        assert set(loops) == {asyncio.get_running_loop()}
        events = [e async for e in agent.astream("in Rome")]
        assert [next(iter(e)) for e in events] == ["model", "tools", "model"]

    asyncio.run(main())
    assert agent.invoke("in Bonn").text == "fog in Bonn"  # in a loop of the package


def test_coroutine_model_answers() -> None:
    async def model(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> dict[str, Any]:
        await asyncio.sleep(0)
        return {"content": f"{len(messages)} messages"}

    assert ss.create_agent(model, prompt="Count.").invoke("hi").text == "2 messages"


def test_model_calls_tools() -> None:
    def model(messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Any:
        assert [t["name"] for t in tools] == ["weather"]
        if messages[-1]["type"] == "tool":
            return messages[-1]["content"]
        return {"content": "", "tool_calls": [{"name": "weather", "args": {"city": "Rome"}, "id": "1"}]}

    assert ss.create_agent(model, [weather]).invoke("hi").text == "It is sunny in Rome."


def test_cancelling_a_task_cancels_the_run(script: str) -> None:
    started = asyncio.Event()
    cancelled = asyncio.Event()

    @ss.tool
    async def weather(city: str) -> str:
        started.set()
        try:
            await asyncio.sleep(3600)
        finally:
            cancelled.set()
        return ""

    async def main() -> None:
        task = asyncio.ensure_future(ss.create_agent(script, [weather]).ainvoke("in Rome"))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(cancelled.wait(), 10)

    asyncio.run(main())


def test_streams_values_messages_and_custom_events(script: str) -> None:
    @ss.tool
    def weather(city: str) -> str:
        ss.emit({"asked": city})
        return city

    agent = ss.create_agent(script, [weather])
    modes = ["values", "messages", "custom"]
    events = list(agent.stream("in Rome", stream_mode=modes))
    assert ("custom", {"asked": "Rome"}) in events
    values = [e for mode, e in events if mode == "values"]
    assert [len(v["messages"]) for v in values] == [1, 2, 3, 4]
    pieces = [e for mode, e in events if mode == "messages"]
    assert pieces and all(about["node"] in ("model", "tools") for _, about in pieces)


def test_failed_stream_raises_at_its_end() -> None:
    def model(messages: Any, tools: Any) -> str:
        raise KeyError("x")

    with pytest.raises(KeyError):
        list(ss.create_agent(model).stream("hi"))


def test_thread_remembers(script: str, tmp_path: pathlib.Path) -> None:
    saved = ss.sqlite_checkpointer(tmp_path / "threads.db")
    agent = ss.create_agent(script, [weather], checkpointer=saved)
    agent.invoke("in Rome", thread_id="1")
    again = ss.create_agent(script, [weather], checkpointer=saved)
    assert len(again.invoke("in Oslo", thread_id="1").messages) == 8
    assert len(again.invoke("in Oslo", thread_id="2").messages) == 4


def test_tool_asks_and_thread_resumes(script: str) -> None:
    @ss.tool
    def weather(city: str) -> str:
        answer = ss.interrupt({"ask about": city})
        return f"{answer} in {city}"

    agent = ss.create_agent(script, [weather], checkpointer=ss.memory_checkpointer())
    asked = agent.invoke("in Rome", thread_id="1")
    assert asked.status == "interrupted"
    assert [i.value for i in asked.interrupts] == [{"ask about": "Rome"}]
    assert agent.invoke(ss.Command(resume="hail"), thread_id="1").text == "hail in Rome"


def test_interrupt_without_a_run_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="only by a node or tool"):
        ss.interrupt("?")


AGENT_FILE = r"""
name: reporter
model: {provider: scripted, path: rules.yaml}
prompt: Be brief.
tools: [calculator]
input: {messages: [{role: user, content: "What is the weather in {{city}}?"}]}
"""
RULES = r"""
rules:
  - {type: tool, text: '\0'}
  - {type: human, match: 'in (\w+)', calls: [{name: weather, args: {city: '\1'}}]}
"""


@pytest.fixture
def agent_file(tmp_path: pathlib.Path) -> pathlib.Path:
    (tmp_path / "rules.yaml").write_text(RULES)
    (tmp_path / "agent.yaml").write_text(AGENT_FILE)
    return tmp_path / "agent.yaml"


def test_agent_file_with_python_tools(agent_file: pathlib.Path) -> None:
    agent = ss.Agent.from_file(agent_file, tools=[weather])
    assert agent.invoke("in Rome").text == "It is sunny in Rome."
    rows = list(agent.map([{"city": "Oslo"}, {"town": "Bonn"}]))
    assert {r.index: r.status for r in rows} == {0: "finished", 1: "failed"}
    assert [r.answer for r in rows if r.index == 0] == ["It is sunny in Oslo."]


def test_errors_of_an_agent_file_name_lines(tmp_path: pathlib.Path) -> None:
    (tmp_path / "agent.yaml").write_text("name: x\nmodel: {provider: nobody}\nprompt: [1]\n")
    with pytest.raises(ValueError) as caught:
        ss.Agent.from_file(tmp_path / "agent.yaml")
    assert "agent.yaml:2: " in str(caught.value) and "agent.yaml:3: " in str(caught.value)


def test_result_pickles() -> None:
    def model(messages: list[Any], tools: list[Any]) -> dict[str, Any]:
        usage = {"prompt_tokens": 3, "completion_tokens": 4}
        return {"role": "assistant", "content": "hé", "usage": usage}

    result = ss.create_agent(model).invoke("hi")
    copy = pickle.loads(pickle.dumps(result))
    assert copy.messages == result.messages and copy.text == "hé" and copy.status == "finished"
    assert (copy.usage, copy.steps, copy.model_calls) == (result.usage, result.steps, 1)
    assert copy.index == result.index and list(copy) == ["messages"]
    damaged: Any
    for damaged in ((), (5,), (b"",), (b"{}", b"{}")):
        with pytest.raises(ValueError, match="not a pickled AgentResult"):
            ss.AgentResult.__new__(ss.AgentResult).__setstate__(damaged)  # type: ignore[attr-defined]


def test_interrupted_result_pickles() -> None:
    def ask(text: str) -> str:
        "Asks."
        return str(ss.interrupt({"q": text}))

    def model(messages: list[Any], tools: list[Any]) -> dict[str, Any]:
        call = {"id": "1", "name": "ask", "args": {"text": "?"}}
        return {"role": "assistant", "content": "", "tool_calls": [call]}

    agent = ss.create_agent(model, [ask], checkpointer=ss.memory_checkpointer())
    result = agent.invoke("hi", thread_id="1")
    copy = pickle.loads(pickle.dumps(result))
    assert copy.status == "interrupted" and copy.interrupts == result.interrupts
    assert copy.interrupts[0].value == {"q": "?"}


def test_agent_pickles_as_its_recipe(agent_file: pathlib.Path) -> None:
    agent = ss.Agent.from_file(agent_file, tools=[weather])
    copy = pickle.loads(pickle.dumps(agent))
    assert copy.invoke("in Rome").text == "It is sunny in Rome."


@pytest.mark.parametrize("value", [None, float("nan")])
def test_rows_without_a_question_fail(value: Any) -> None:
    asked: list[str] = []

    def model(messages: list[dict[str, Any]], tools: Any) -> str:
        asked.append(messages[-1]["content"])
        return "ok"

    rows = sorted(ss.create_agent(model).map([{"q": value}, {"q": 5}], question="q"), key=lambda r: r.index)
    assert [row.status for row in rows] == ["failed", "finished"] and asked == ["5"]
    assert str(rows[0].error) == "the row has no value in the column 'q'"


def test_error_of_row_with_columns_names_the_option_question() -> None:
    agent = ss.create_agent(lambda messages, tools: messages[-1]["content"])
    message = {"type": "human", "content": "Hi!"}
    rows = sorted(agent.map([{"text": "Hi!"}, message, {"messages": [message]}]), key=lambda r: r.index)
    assert "pass question= with the name of the column" in str(rows[0].error)
    assert [row.answer for row in rows[1:]] == ["Hi!", "Hi!"]


ABOUT = """version: v1
model: {provider: scripted, path: model.yaml}
input: {messages: [{role: user, content: "About {{city}}"}]}
"""


def test_columns_of_rows_may_have_any_type(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.yaml").write_text("default: {text: ok}\n")
    agent = ss.Agent.from_text(ABOUT)
    day = datetime.date(2026, 1, 2)
    unused = {"when": day, "share": float("nan"), "price": decimal.Decimal("1.5"), "most": float("inf"), 5: 1}
    rows = sorted(agent.map([{"city": "Rome", **unused}, {"city": day}, {"city": float("nan")}]), key=lambda r: r.index)
    assert [row.status for row in rows] == ["finished", "finished", "failed"]
    assert [row.messages[0]["content"] for row in rows[:2]] == ["About Rome", "About 2026-01-02"]
    assert "city" in str(rows[2].error)
