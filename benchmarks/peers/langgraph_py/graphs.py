# SPDX-License-Identifier: Apache-2.0
"""Workloads of graphs without models: chains, loops, Sends, wide states and subgraphs."""

import asyncio
import hashlib
import operator
import random
import string
import time
from typing import Annotated, Any, TypedDict

from langchain_core.messages import HumanMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import Send
from runner import Report, expect


class Counter(TypedDict):
    n: int


class Sum(TypedDict):
    total: Annotated[int, operator.add]


class TalkingSum(MessagesState):
    total: Annotated[int, operator.add]


def digest(texts):
    return hashlib.sha256("|".join(texts).encode()).hexdigest()[:16]


def runs_of(graph, given, is_async, count=1, limit=1_000_000):
    """Returns a function that runs the graph `count` times and returns the last result."""
    config = {"recursion_limit": limit}

    def run():
        for _ in range(count):
            result = graph.invoke(given, config)
        return result

    async def arun():
        for _ in range(count):
            result = await graph.ainvoke(given, config)
        return result

    return (lambda: asyncio.run(arun())) if is_async else run


def add_one(state):
    return {"n": state["n"] + 1}


def make_chain(length, state=Counter, body=add_one):
    g = StateGraph(state)
    last = START
    for i in range(length):
        g.add_node(f"n{i}", body)
        g.add_edge(last, f"n{i}")
        last = f"n{i}"
    g.add_edge(last, END)
    return g.compile()


def sequential(p):
    length, is_async, runs, reps = p.integer("K", 10), p.is_async(), p.integer("runs", 1), p.integer("reps", 3)
    p.done()
    r = Report("super-step", length * runs, {"n": length})
    run = runs_of(make_chain(length), {"n": 0}, is_async, runs)
    runs_of(make_chain(10), {"n": 0}, is_async)()
    expect(r.measure(reps, run)["n"] == length, "n")
    return r


def sequential_messages(p):
    length, is_async, reps = p.integer("K", 10), p.is_async(), p.integer("reps", 3)
    p.done()
    r = Report("super-step", length, {"messages": 1})
    run = runs_of(make_chain(length, MessagesState, lambda _: None), {"messages": [HumanMessage("hi")]}, is_async)
    run()
    expect(len(r.measure(reps, run)["messages"]) == 1, "messages")
    return r


def chain3(p):
    is_async, runs, reps = p.is_async(), p.integer("runs", 100), p.integer("reps", 3)
    p.done()
    r = Report("run", runs, {"n": 3})
    run = runs_of(make_chain(3), {"n": 0}, is_async, runs)
    expect(r.measure(reps, run)["n"] == 3, "n")
    return r


def fan5(p):
    is_async, runs, reps = p.is_async(), p.integer("runs", 100), p.integer("reps", 3)
    p.done()
    g = StateGraph(Sum)
    names = [f"one{i}" for i in range(5)]
    for name in names:
        g.add_node(name, lambda _: {"total": 1})
        g.add_edge(START, name)
    g.add_node("join", lambda _: None)
    g.add_edge(names, "join")
    g.add_edge("join", END)
    run = runs_of(g.compile(), {"total": 0}, is_async, runs)
    run()
    r = Report("run", runs, {"total": 5})
    expect(r.measure(reps, run)["total"] == 5, "total")
    return r


def make_fan(width, state=Sum):
    g = StateGraph(state)
    g.add_node("worker", lambda task: {"total": task["i"]})
    g.add_conditional_edges(START, lambda _: [Send("worker", {"i": k}) for k in range(width)], ["worker"])
    g.add_edge("worker", END)
    return g.compile()


def measure_fan(r, width, given, is_async, runs, reps, state=Sum):
    run = runs_of(make_fan(width, state), given, is_async, runs)
    runs_of(make_fan(10, state), given, is_async)()
    total = r.measure(reps, run)["total"]
    expect(total == width * (width - 1) // 2, f"total is {total}")
    r.checks = {"total": total}
    return r


def fan_out(p):
    width, is_async, runs, reps = p.integer("N", 1000), p.is_async(), p.integer("runs", 1), p.integer("reps", 3)
    p.done()
    return measure_fan(Report("task", width * runs), width, {"total": 0}, is_async, runs, reps)


def send_state(p):
    width, messages, is_async = p.integer("N", 100), p.integer("M", 2000), p.is_async()
    runs, reps = p.integer("runs", 1), p.integer("reps", 3)
    p.done()
    given = {"total": 0, "messages": [HumanMessage("m" * 100) for _ in range(messages)]}
    r = measure_fan(Report("task", width * runs), width, given, is_async, runs, reps, TalkingSum)
    few = measure_fan(Report("task", runs), 1, given, is_async, runs, reps, TalkingSum)
    r.extra = {"send_cpu_us": (r.cpu_min - few.cpu_min) * 1e6 / (width - 1) / runs}
    return r


def make_loop(steps, **compiled):
    g = StateGraph(Counter)
    g.add_node("a", add_one)
    g.add_node("b", add_one)
    g.add_edge(START, "a")
    g.add_edge("a", "b")
    g.add_conditional_edges("b", lambda s: "a" if s["n"] < steps else END, ["a", END])
    return g.compile(**compiled)


def loop(p):
    steps, is_async, runs, reps = p.integer("S", 1000), p.is_async(), p.integer("runs", 1), p.integer("reps", 3)
    p.done()
    r = Report("super-step", steps * runs, {"n": steps})
    runs_of(make_loop(2), {"n": 0}, is_async)()
    expect(r.measure(reps, runs_of(make_loop(steps), {"n": 0}, is_async, runs))["n"] == steps, "n")
    return r


def append(p):
    steps, is_async, reps = p.integer("S", 1000), p.is_async(), p.integer("reps", 3)
    p.done()
    tenth = max(steps // 10, 1)
    times = {}

    def body(state):
        count = len(state["messages"])
        if count in (steps - 1 - tenth, steps - 1):
            times[count] = time.process_time()
        return {"messages": [HumanMessage("m" * 100)]}

    g = StateGraph(MessagesState)
    g.add_node("append", body)
    g.add_edge(START, "append")
    g.add_conditional_edges("append", lambda s: "append" if len(s["messages"]) < steps else END, ["append", END])
    run = runs_of(g.compile(), {"messages": []}, is_async)
    r = Report("super-step", steps, {"messages": steps})
    last = float("inf")
    for _ in range(reps):
        expect(len(r.measure(1, run)["messages"]) == steps, "messages")
        last = min(last, times[steps - 1] - times[steps - 1 - tenth])
    r.extra = {"last_us": last * 1e6 / tenth}
    return r


def appended(a, b):
    return a + b


def merged(a, b):
    return {**(a or {}), **(b or {})}


class Wide(TypedDict, total=False):
    messages: Annotated[list, appended]
    trigger_events: Annotated[list, appended]
    primary_issue_medium: str
    autoresponse: Any
    issue: Any
    relevant_rules: list
    memory_docs: list
    categorizations: Annotated[list, appended]
    responses: Annotated[list, appended]
    user_info: Any
    crm_info: Any
    email_thread_id: str
    slack_participants: Annotated[dict, merged]
    bot_id: str
    notified_assignees: Annotated[dict, merged]


def make_wide_lists(messages_max):
    def letters():
        return "".join(random.choices(string.ascii_lowercase, k=messages_max))

    g = StateGraph(Wide)
    g.add_node("one", lambda s: {"trigger_events": s["messages"], "primary_issue_medium": letters()})
    g.add_node("two", lambda s: {"autoresponse": s["trigger_events"][-1], "issue": s["trigger_events"][-1]})
    g.add_node("three", lambda s: {"relevant_rules": [s["autoresponse"]]})
    g.add_node("four", lambda s: dict.fromkeys(("categorizations", "responses", "memory_docs"), s["trigger_events"]))
    infos = ("user_info", "crm_info", "slack_participants", "notified_assignees")
    g.add_node("five", lambda s: {**dict.fromkeys(infos, s["categorizations"][-1]),
                                  "email_thread_id": letters(), "bot_id": letters()})
    g.add_node("six", lambda s: {"messages": s["responses"]})
    for edge in ((START, "one"), ("one", "two"), ("two", "three"), ("two", "four"), (["three", "four"], "five"),
                 ("five", "six")):
        g.add_edge(*edge)
    g.add_conditional_edges("six", lambda s: END if len(s["messages"]) > messages_max else "one", ["one", END])
    return g.compile()


def wide_lists(p):
    size, is_async, reps = p.text("size", "25x300"), p.is_async(), p.integer("reps", 3)
    p.done()
    outer, inner, most = {"25x300": (5, 5, 300), "15x600": (3, 5, 600), "9x1200": (3, 3, 1200)}[size]
    values = ["hi?" * 10, True, 1, 6327816386138, None] * 5
    message = {str(i) * 10: {str(j) * 10: values for j in range(inner)} for i in range(outer)}
    run = runs_of(make_wide_lists(most), {"messages": [message]}, is_async)
    passes, count = 0, 1
    triggers = responses = 0
    while count <= most:  # the lengths of the lists follow from the graph
        triggers += count
        responses += triggers
        count += responses
        passes += 1
    r = Report("super-step", 5 * passes, {"messages": count, "passes": passes})
    result = r.measure(reps, run)
    expect(len(result["messages"]) == count, f"{len(result['messages'])} messages")
    return r


def wide_state(p):
    keys, steps, is_async, reps = p.integer("M", 300), p.integer("S", 100), p.is_async(), p.integer("reps", 3)
    p.done()
    names = [f"k{i}" for i in range(keys)]
    g = StateGraph(TypedDict("Keys", dict.fromkeys(names, int)))
    g.add_node("all", lambda s: {name: s[name] + 1 for name in names})
    g.add_edge(START, "all")
    g.add_conditional_edges("all", lambda s: "all" if s["k0"] < steps else END, ["all", END])
    run = runs_of(g.compile(), dict.fromkeys(names, 0), is_async)
    r = Report("key-write", keys * steps, {"sum": keys * steps})
    expect(sum(r.measure(reps, run).values()) == keys * steps, "sum")
    return r


class Joke(TypedDict):
    subject: str
    jokes: list


class Show(TypedDict):
    subjects: list
    jokes: Annotated[list, operator.add]


def make_show():
    g = StateGraph(Joke)
    g.add_node("edit", lambda s: {"subject": s["subject"] + " - hohoho"})
    g.add_node("generate", lambda s: {"jokes": [f"Joke about {s['subject']}"]})
    g.add_node("bump", lambda s: {"jokes": [s["jokes"][0] + " a"]})
    for edge in ((START, "edit"), ("edit", "generate"), ("generate", "bump"), ("generate", END)):
        g.add_edge(*edge)
    g.add_conditional_edges("bump", lambda s: END if s["jokes"][0].endswith(" a" * 10) else "bump", ["bump", END])
    below = g.compile()
    top = StateGraph(Show)
    top.add_node("generate_joke", below)
    top.add_conditional_edges(
        START, lambda s: [Send("generate_joke", {"subject": x}) for x in s["subjects"]], ["generate_joke"])
    top.add_edge("generate_joke", END)
    return top.compile()


def subgraphs(p):
    width, is_async, runs, reps = p.integer("N", 100), p.is_async(), p.integer("runs", 1), p.integer("reps", 3)
    p.done()
    subjects = [f"s{k}-".ljust(1000, "x") for k in range(width)]
    r = Report("subgraph super-step", 12 * width * runs)
    runs_of(make_show(), {"subjects": subjects[:1]}, is_async)()
    jokes = r.measure(reps, runs_of(make_show(), {"subjects": subjects}, is_async, runs))["jokes"]
    expect(len(jokes) == width, f"{len(jokes)} jokes")
    r.checks = {"jokes": len(jokes), "digest": digest(jokes)}
    return r


WORKLOADS = {
    "W1": sequential, "W1m": sequential_messages, "W2": fan_out, "W3": loop, "W5": wide_lists, "W5k": wide_state,
    "W6": subgraphs, "chain3": chain3, "fan5": fan5, "append": append, "send-state": send_state,
    "wide-step": fan_out,
}
