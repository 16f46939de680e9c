# SPDX-License-Identifier: Apache-2.0
"""Workloads of LangGraph's prebuilt agent: one run, many runs, threads, tools that compute, and streams."""

import asyncio
import resource
from typing import Any

from graphs import digest
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import tool
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import create_react_agent
from runner import Report, expect

LARGE_QUERY = 3600


class ScriptedModel(BaseChatModel):
    """Calls `echo` `calls` times in each of `rounds` rounds, then returns a text about its input."""

    rounds: int = 1
    calls: int = 1
    large: bool = False

    @property
    def _llm_type(self):
        return "scripted"

    def bind_tools(self, tools, **kwargs):
        return self

    def _query(self, text):
        return (text * (LARGE_QUERY // len(text) + 1))[:LARGE_QUERY] if self.large else text

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


def make_echo(is_async, latency=0.0, large=False):
    def text_of(query):
        return f"result for query: {query}" * 10 if large else f"result for {query}"

    if is_async:

        @tool
        async def echo(query: str) -> str:
            """Repeats the query."""
            if latency > 0:
                await asyncio.sleep(latency)
            return text_of(query)
    else:

        @tool
        def echo(query: str) -> str:
            """Repeats the query."""
            return text_of(query)

    return echo


def make_agent(model, is_async, version="v2", latency=0.0, large=False, **options):
    return create_react_agent(model, [make_echo(is_async, latency, large)], version=version, **options)


HI = {"messages": [HumanMessage("hi")]}


def react(p):
    calls, rounds, version = p.integer("C", 1), p.integer("T", 3), p.text("version", "v2")
    large, new, runs = p.integer("pay", 0) == 1, p.integer("new", 0) == 1, p.integer("runs", 1)
    is_async, reps = p.is_async(), p.integer("reps", 3)
    p.done()

    def make(n_rounds, n_calls):
        model = ScriptedModel(rounds=n_rounds, calls=n_calls, large=large)
        if new:
            from langchain.agents import create_agent

            return create_agent(model, [make_echo(is_async, 0, large)])
        return make_agent(model, is_async, version, 0, large)

    async def arun(agent, config):
        return await agent.ainvoke(HI, config)

    def run_with(agent):
        config = {"recursion_limit": 2 * rounds + 10}
        for _ in range(runs):
            result = asyncio.run(arun(agent, config)) if is_async else agent.invoke(HI, config)
        return result

    run_with(make(1, 1))
    agent = make(rounds, calls)
    r = Report("tool call", rounds * calls * runs)
    messages = r.measure(reps, lambda: run_with(agent))["messages"]
    r.checks = {"messages": len(messages), "digest": digest([m.content for m in messages])}
    return r


async def crowd(agent, runs, most):
    """Runs the agent `runs` times with at most `most` runs at a time (0: all) and keeps all results."""
    gate = asyncio.Semaphore(most or runs)

    async def one():
        async with gate:
            return await agent.ainvoke(HI)

    return await asyncio.gather(*(one() for _ in range(runs)))


def measure_crowd(r, agent, runs, most, reps):
    """Measures several crowds. Returns the resident memory in kB that the first one added."""
    loop = asyncio.new_event_loop()  # one loop for all, because the model's connections belong to it
    loop.run_until_complete(crowd(agent, min(10, runs), 0))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    added = 0
    for _ in range(reps):
        results = r.measure(1, lambda: loop.run_until_complete(crowd(agent, runs, most)))
        added = added or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        messages = sum(len(one["messages"]) for one in results)
        dones = sum(one["messages"][-1].content == "done 1 4" for one in results)
        expect(messages == 8 * runs, f"{messages} messages")
        r.checks = {"messages": messages, "dones": dones}
        del results
    return added


def batch(p):
    runs, latency, most = p.integer("R", 1000), p.integer("lat", 0), p.integer("conc", 0)
    p.text("mode", "async")  # only the asynchronous engine runs many agents at once
    reps = p.integer("reps", 3)
    p.done()
    r = Report("run", runs)
    agent = make_agent(ScriptedModel(rounds=2, calls=2), True, latency=latency / 1000)
    added = measure_crowd(r, agent, runs, most, reps)
    r.extra = {"cpu_per_1000": r.cpu / runs * 1000}
    if most == 0:
        r.extra["rss_per_run_kb"] = added / runs
    return r


def model_http(p):
    most = p.integer("conc", 1)
    runs, url, stream = p.integer("R", max(50, 2 * most)), p.text("url", ""), p.integer("stream", 0)
    p.text("mode", "async")
    reps = p.integer("reps", 3)
    p.done()
    from langchain_openai import ChatOpenAI

    model = ChatOpenAI(model="scripted", base_url=url, api_key="none", max_retries=0, streaming=stream == 1)
    r = Report("run", runs)
    measure_crowd(r, create_react_agent(model, [make_echo(True)]), runs, most, reps)
    del r.checks["dones"]
    r.extra = {"runs_per_s": runs / r.seconds, "cpu_per_run_ms": r.cpu / runs * 1000}
    return r


def xorshift(j, iterations):
    x = 88172645463325252 ^ (j + 1)
    mask = (1 << 64) - 1
    for _ in range(iterations):
        x ^= (x << 13) & mask
        x ^= x >> 7
        x ^= (x << 17) & mask
    return str(x)


class OneRound(ScriptedModel):
    """Requests sixteen calls of `work`, and ends the run when it gets their results."""

    def _answer(self, messages):
        if isinstance(messages[-1], ToolMessage):
            return AIMessage("done")
        calls = [{"name": "work", "args": {"j": j}, "id": f"call_{j}", "type": "tool_call"} for j in range(16)]
        return AIMessage(content="", tool_calls=calls)


def cpu_tools(p):
    iterations, reps = p.integer("iters", 20000), p.integer("reps", 3)
    p.text("mode", "sync")
    p.done()

    @tool
    def work(j: int) -> str:
        """Computes."""
        return xorshift(j, iterations)

    agent = create_react_agent(OneRound(), [work])
    one = Report("tool call", 16)
    one.measure(reps, lambda: agent.invoke(HI, {"max_concurrency": 1}))
    r = Report("tool call", 16)
    messages = r.measure(reps, lambda: agent.invoke(HI))["messages"]
    r.checks = {"digest": digest([m.content for m in messages if isinstance(m, ToolMessage)])}
    r.extra = {"speedup": one.seconds / r.seconds, "seconds_1_worker": one.seconds}
    return r


class TalkingModel(ScriptedModel):
    """Streams 200 tokens."""

    def _tokens(self):
        for k in range(200):
            yield ChatGenerationChunk(message=AIMessageChunk(content=f"tok{k} "))

    async def _astream(self, messages, stop=None, run_manager=None, **kwargs: Any):
        for chunk in self._tokens():
            if run_manager:
                await run_manager.on_llm_new_token(chunk.message.content, chunk=chunk)
            yield chunk

    def _answer(self, messages):
        return AIMessage("".join(f"tok{k} " for k in range(200)))


def streaming(p):
    runs, reps = p.integer("R", 1000), p.integer("reps", 3)
    p.text("mode", "async")
    p.done()
    model = TalkingModel()

    async def ask(state):
        return {"messages": [await model.ainvoke(state["messages"])]}

    g = StateGraph(MessagesState)
    g.add_node("model", ask)
    g.add_edge(START, "model")
    g.add_edge("model", END)
    graph = g.compile()

    async def read():
        got = []
        async for chunk, _ in graph.astream(HI, stream_mode="messages"):
            if chunk.content:
                got.append(chunk.content)
        expect(got == [f"tok{k} " for k in range(200)], f"{len(got)} tokens")
        return len(got), sum(map(len, got))

    async def read_all():
        gate = asyncio.Semaphore(100)

        async def one():
            async with gate:
                return await read()

        return await asyncio.gather(*(one() for _ in range(runs)))

    asyncio.run(read())
    r = Report("token", runs * 200)
    got = r.measure(reps, lambda: asyncio.run(read_all()))
    r.checks = {"tokens": sum(t for t, _ in got), "chars": sum(c for _, c in got)}
    r.extra = {"cpu_per_token_us": r.cpu_min / r.units * 1e6}
    return r


WORKLOADS = {"W4": react, "W7": batch, "W9": cpu_tools, "W10": streaming, "W13": model_http}
