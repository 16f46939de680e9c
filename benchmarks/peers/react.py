# SPDX-License-Identifier: Apache-2.0
"""Runs LangGraph's prebuilt agent with a scripted model: the same work as `superstep-bench W4`.

  react.py C=8 T=10 version=v2 mode=sync reps=3 [pay=1] [new=1]

Prints one line of JSON with the minimum wall time, the minimum CPU time and a check of the results.
`new=1` uses LangChain's create_agent, which has no versions.
"""

import asyncio
import hashlib
import json
import os
import sys
import time
import warnings

for name in ("LANGSMITH_TRACING", "LANGCHAIN_TRACING_V2"):
    os.environ[name] = "false"
warnings.filterwarnings("ignore")

from importlib.metadata import version as version_of  # noqa: E402

from langchain_core.language_models.chat_models import BaseChatModel  # noqa: E402
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage  # noqa: E402
from langchain_core.outputs import ChatGeneration, ChatResult  # noqa: E402
from langchain_core.tools import tool  # noqa: E402

LARGE_QUERY = 3600


class ScriptedModel(BaseChatModel):
    """Calls `echo` `calls` times in each of `rounds` rounds, then returns a text about its input."""

    rounds: int
    calls: int
    large: bool = False

    @property
    def _llm_type(self):
        return "scripted"

    def bind_tools(self, tools, **kwargs):
        return self

    def _query(self, text):
        if not self.large:
            return text
        return (text * (LARGE_QUERY // len(text) + 1))[:LARGE_QUERY]

    def _answer(self, messages):
        humans = answers = results = 0
        for message in messages:
            if isinstance(message, HumanMessage):
                humans += 1
                answers = 0
            elif isinstance(message, AIMessage):
                answers += 1
            elif isinstance(message, ToolMessage):
                results += 1
        if answers >= self.rounds:
            return AIMessage(content=f"done {humans} {results}")
        calls = [
            {
                "name": "echo",
                "args": {"query": self._query(f"q{humans}-{answers}-{j}")},
                "id": f"call_{humans}_{answers}_{j}",
                "type": "tool_call",
            }
            for j in range(self.calls)
        ]
        return AIMessage(content="", tool_calls=calls)

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        return ChatResult(generations=[ChatGeneration(message=self._answer(messages))])

    async def _agenerate(self, messages, stop=None, run_manager=None, **kwargs):
        return self._generate(messages)


def make_echo(large, is_async):
    def text_of(query):
        return f"result for query: {query}" * 10 if large else f"result for {query}"

    if is_async:

        @tool
        async def echo(query: str) -> str:
            """Repeats the query."""
            return text_of(query)
    else:

        @tool
        def echo(query: str) -> str:
            """Repeats the query."""
            return text_of(query)

    return echo


def make_agent(options, rounds, calls):
    model = ScriptedModel(rounds=rounds, calls=calls, large=options["pay"] == "1")
    tools = [make_echo(options["pay"] == "1", options["mode"] == "async")]
    if options["new"] == "1":
        from langchain.agents import create_agent

        return create_agent(model, tools)
    from langgraph.prebuilt import create_react_agent

    return create_react_agent(model, tools, version=options["version"])


def run(agent, rounds, is_async):
    given = {"messages": [HumanMessage(content="hi")]}
    config = {"recursion_limit": 2 * rounds + 10}
    if is_async:
        return asyncio.run(agent.ainvoke(given, config))["messages"]
    return agent.invoke(given, config)["messages"]


def main():
    options = {"C": "1", "T": "3", "version": "v2", "mode": "sync", "reps": "3", "pay": "0", "new": "0"}
    for word in sys.argv[1:]:
        key, _, value = word.partition("=")
        if key not in options:
            sys.exit(f"unknown parameter {key}")
        options[key] = value
    calls, rounds = int(options["C"]), int(options["T"])
    is_async = options["mode"] == "async"
    run(make_agent(options, 1, 1), 1, is_async)  # warm-up, not measured

    agent = make_agent(options, rounds, calls)
    seconds = cpu = float("inf")
    messages = []
    for _ in range(int(options["reps"])):
        wall_before, cpu_before = time.monotonic(), time.process_time()
        messages = run(agent, rounds, is_async)
        seconds = min(seconds, time.monotonic() - wall_before)
        cpu = min(cpu, time.process_time() - cpu_before)
    contents = "|".join(message.content for message in messages)
    print(
        json.dumps(
            {
                "workload": "W4",
                "params": options,
                "peer": "langgraph",
                "version": version_of("langgraph"),
                "seconds": seconds,
                "unit": "tool call",
                "units": rounds * calls,
                "per_unit": seconds / (rounds * calls),
                "cpu_seconds_min": cpu,
                "checks": {
                    "messages": len(messages),
                    "digest": hashlib.sha256(contents.encode()).hexdigest()[:16],
                },
            }
        )
    )


main()
