# SPDX-License-Identifier: Apache-2.0
"""Compares the CPU time of the package with that of LangGraph: the quick starts of docs/python.md and single costs.

Both run in this process, one after the other in each round; the minimum of all rounds counts. The models are
fakes: for LangGraph Python classes, for superstep scripted ones or Python functions.
"""

from __future__ import annotations

import contextlib
import io
import operator
import os
import pathlib
import re
import sqlite3
import tempfile
import time
from typing import Annotated, Any, Callable, Literal, TypedDict

for variable in ("LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2"):
    os.environ[variable] = "false"

from langchain.agents import create_agent  # noqa: E402
from langgraph.checkpoint.memory import InMemorySaver  # noqa: E402
from langgraph.checkpoint.sqlite import SqliteSaver  # noqa: E402
from langgraph.graph import START, StateGraph  # noqa: E402
from langgraph.types import Command, Send, interrupt  # noqa: E402

import superstep as ss  # noqa: E402
from fake_model import FakeModel  # noqa: E402

ROUNDS = int(os.environ.get("ROUNDS", "5"))
Run = Callable[[], None]


SCRIPT = r"""scripted:
rules:
- {type: tool, text: '\0'}
- {type: human, match: 'weather in (\w+)', calls: [{name: get_weather, args: {city: '\1'}}]}
default: {text: 'I see.'}
"""


def python_model(messages: list[dict[str, Any]], tools: Any) -> Any:
    last = messages[-1]
    if last["type"] == "tool":
        return last["content"]
    if "weather in " in last["content"]:
        return {"content": "", "tool_calls": [{"id": "1", "name": "get_weather", "args": {"city": "Paris"}}]}
    return "I see."


def get_weather(city: str) -> str:
    """Get weather for a given city."""
    return f"It's always sunny in {city}!"


QUESTION = {"messages": [{"role": "user", "content": "what is the weather in Paris"}]}
SUNNY = "It's always sunny in Paris!"
PROMPT = "You are a helpful assistant"


def agents() -> dict[str, Run]:
    theirs = create_agent(FakeModel(), tools=[get_weather], system_prompt=PROMPT)
    ours = ss.create_agent(SCRIPT, [get_weather], prompt=PROMPT)
    python = ss.create_agent(python_model, [get_weather], prompt=PROMPT)

    def run_theirs() -> None:
        assert theirs.invoke(QUESTION)["messages"][-1].content == SUNNY

    def run_ours() -> None:
        assert ours.invoke(QUESTION)["messages"][-1]["content"] == SUNNY

    def run_python() -> None:
        assert python.invoke(QUESTION)["messages"][-1]["content"] == SUNNY

    return {"langgraph": run_theirs, "superstep": run_ours, "superstep, Python model": run_python}


class Drafts(TypedDict):
    topic: str
    drafts: Annotated[list[str], operator.add]


def write(state: Drafts) -> dict[str, Any]:
    return {"drafts": [f"Draft {len(state['drafts']) + 1} about {state['topic']}"]}


def decide(state: Drafts) -> Literal["write", "__end__"]:
    return "write" if len(state["drafts"]) < 3 else "__end__"


def router() -> dict[str, Run]:
    builder = StateGraph(Drafts)
    builder.add_node("write", write)
    builder.add_edge(START, "write")
    builder.add_conditional_edges("write", decide)
    theirs = builder.compile()
    ours = ss.Graph(Drafts).add("write", write).edge(ss.START, "write").branch("write", decide).compile()

    def run(app: Any) -> Run:
        def once() -> None:
            assert len(app.invoke({"topic": "cats", "drafts": []})["drafts"]) == 3

        return once

    return {"langgraph": run(theirs), "superstep": run(ours)}


def conversation() -> dict[str, Run]:
    folder = tempfile.mkdtemp(prefix="superstep-")
    saver = SqliteSaver(sqlite3.connect(os.path.join(folder, "theirs.db"), check_same_thread=False))
    theirs = create_agent(FakeModel(), tools=[], checkpointer=saver)
    ours = ss.create_agent(SCRIPT, checkpointer=ss.sqlite_checkpointer(os.path.join(folder, "ours.db")))
    numbers = iter(range(1_000_000))

    def run_theirs() -> None:
        config: Any = {"configurable": {"thread_id": str(next(numbers))}}
        for text in ("Hi, my name is Bob.", "What is my name?"):
            result = theirs.invoke({"messages": [{"role": "user", "content": text}]}, config)
        assert len(result["messages"]) == 4

    def run_ours() -> None:
        thread = str(next(numbers))
        for text in ("Hi, my name is Bob.", "What is my name?"):
            result = ours.invoke(text, thread_id=thread)
        assert len(result.messages) == 4

    return {"langgraph": run_theirs, "superstep": run_ours}


class Text(TypedDict):
    text: str


def human() -> dict[str, Run]:
    def review_theirs(state: Text) -> dict[str, Any]:
        return {"text": interrupt({"please check": state["text"]})}

    def review_ours(state: Text) -> dict[str, Any]:
        return {"text": ss.interrupt({"please check": state["text"]})}

    builder = StateGraph(Text)
    builder.add_node("review", review_theirs)
    builder.add_edge(START, "review")
    theirs = builder.compile(checkpointer=InMemorySaver())
    graph = ss.Graph(Text).add("review", review_ours).edge(ss.START, "review")
    ours = graph.compile(checkpointer=ss.memory_checkpointer())
    numbers = iter(range(1_000_000))

    def run_theirs() -> None:
        config: Any = {"configurable": {"thread_id": str(next(numbers))}}
        assert theirs.invoke({"text": "draft"}, config)["__interrupt__"]
        assert theirs.invoke(Command(resume="final"), config)["text"] == "final"

    def run_ours() -> None:
        thread = str(next(numbers))
        assert ours.invoke({"text": "draft"}, thread_id=thread).interrupts
        assert ours.invoke(ss.Command(resume="final"), thread_id=thread)["text"] == "final"

    return {"langgraph": run_theirs, "superstep": run_ours}


class Jokes(TypedDict):
    subjects: list[str]
    jokes: Annotated[list[str], operator.add]


def sends(subjects: list[str]) -> dict[str, Run]:
    def joke(subject: str) -> dict[str, Any]:
        return {"jokes": [f"A joke about {subject}"]}

    builder = StateGraph(Jokes)
    builder.add_node("joke", joke)
    builder.add_conditional_edges(START, lambda s: [Send("joke", x) for x in s["subjects"]], ["joke"])
    theirs = builder.compile()
    graph = ss.Graph(Jokes).add("joke", joke)
    graph.branch(ss.START, lambda s: [ss.Send("joke", x) for x in s["subjects"]], ["joke"])
    ours = graph.compile()

    def run(app: Any) -> Run:
        def once() -> None:
            assert len(app.invoke({"subjects": subjects, "jokes": []})["jokes"]) == len(subjects)

        return once

    return {"langgraph": run(theirs), "superstep": run(ours)}


class Count(TypedDict):
    n: int


def loop(length: int) -> dict[str, Run]:
    def step(state: Count) -> dict[str, Any]:
        return {"n": state["n"] + 1}

    def route(state: Count) -> Literal["step", "__end__"]:
        return "step" if state["n"] < length else "__end__"

    builder = StateGraph(Count)
    builder.add_node("step", step)
    builder.add_edge(START, "step")
    builder.add_conditional_edges("step", route)
    theirs = builder.compile()
    ours = ss.Graph(Count).add("step", step).edge(ss.START, "step").branch("step", route).compile()

    def run_theirs() -> None:
        assert theirs.invoke({"n": 0}, {"recursion_limit": length + 10})["n"] == length

    def run_ours() -> None:
        assert ours.invoke({"n": 0}, recursion_limit=length + 10)["n"] == length

    return {"langgraph": run_theirs, "superstep": run_ours}


def rows(count: int) -> dict[str, Run]:
    """Rows of an agent with two calls of the model and one of a Python tool."""
    theirs = create_agent(FakeModel(), tools=[get_weather])
    ours = ss.create_agent(SCRIPT, [get_weather])
    given = ["what is the weather in Paris"] * count

    def run_theirs() -> None:
        for text in given:
            result = theirs.invoke({"messages": [{"role": "user", "content": text}]})
            assert result["messages"][-1].content == SUNNY

    def run_ours() -> None:
        assert sum(row.answer == SUNNY for row in ours.map(given)) == count

    return {"langgraph": run_theirs, "superstep": run_ours}


#: Name, runs by kind, units in a run, and the repetitions in a round: of LangGraph and of superstep.
Case = tuple[str, dict[str, Run], int, int, int]


def cases() -> list[Case]:
    return [
        ("an agent with a tool", agents(), 1, 50, 1_000),
        ("a graph with a router", router(), 1, 100, 2_000),
        ("a conversation with memory (two turns)", conversation(), 1, 20, 300),
        ("a human in the loop (two calls)", human(), 1, 50, 1_000),
        ("map and reduce", sends(["cats", "dogs"]), 1, 100, 2_000),
        ("super-step of a loop", loop(1_000), 1_000, 1, 10),
        ("Send of 1,000", sends(["cats"] * 1_000), 1_000, 1, 10),
        ("row of an agent with a Python tool", rows(200), 200, 1, 10),
    ]


def measure(case: Case) -> dict[str, float]:
    """Returns the microseconds of CPU time of a unit, by kind."""
    _, runs, units, theirs, ours = case
    least = {kind: float("inf") for kind in runs}
    for run in runs.values():
        run()
    for _ in range(ROUNDS):
        for kind, run in runs.items():
            count = theirs if kind == "langgraph" else ours
            begin = time.process_time()
            for _ in range(count):
                run()
            least[kind] = min(least[kind], (time.process_time() - begin) / count / units * 1e6)
    return least


def check_examples() -> None:
    """Runs LangGraph's versions of the quick starts in docs/python.md, and checks what they print."""
    expected = [
        SUNNY,
        "['Draft 1 about cats', 'Draft 2 about cats', 'Draft 3 about cats']",
        "4 I see.",
        "{'please check': 'draft'}\nfinal",
        "['A joke about cats', 'A joke about dogs']",
    ]
    page = (pathlib.Path(__file__).parents[3] / "docs" / "python.md").read_text(encoding="utf-8")
    form = r"The same with LangGraph</summary>.*?```python\n(.*?)```"
    printed = []
    os.chdir(tempfile.mkdtemp(prefix="superstep-"))
    for code in re.findall(form, page, flags=re.DOTALL):
        code = code.replace('"openai:gpt-4o-mini"', "FakeModel()")
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(code, "example", "exec", dont_inherit=True), {"FakeModel": FakeModel})
        printed.append(out.getvalue().strip())
    assert printed == expected, printed


def main() -> None:
    check_examples()
    ss.engine(1)
    for case in cases():
        cost = measure(case)
        ratio = cost["langgraph"] / cost["superstep"]
        shown = ", ".join(f"{kind} {microseconds:.1f} us" for kind, microseconds in cost.items())
        print(f"{case[0]}: {shown}; ratio {ratio:.0f}", flush=True)


if __name__ == "__main__":
    main()
