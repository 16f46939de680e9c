# SPDX-License-Identifier: Apache-2.0
"""Workloads of checkpoints and of the long-term store."""

import os
import sqlite3
import time

from agents import ScriptedModel, make_agent
from graphs import make_loop
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.store.memory import InMemoryStore
from runner import Report, expect


def open_server(url):
    """Returns a saver in a PostgreSQL database, without the threads of earlier runs."""
    import psycopg
    from langgraph.checkpoint.postgres import PostgresSaver

    connection = psycopg.connect(url, autocommit=True, prepare_threshold=0, row_factory=psycopg.rows.dict_row)
    saver = PostgresSaver(connection)
    saver.setup()
    connection.execute("truncate checkpoints, checkpoint_blobs, checkpoint_writes")
    return saver


class Place:
    """Where checkpoints are stored: a file, memory, a server, or nowhere. open() starts empty."""

    def __init__(self, p):
        self.kind = p.text("saver", "sqlite")
        self.url = p.text("url", "")
        self.path = os.path.join(p.text("dir", "."), f"w8-{os.getpid()}.db")
        self.durability = p.text("dur", "async")
        self.keep = p.integer("keep", 0) == 1

    def files(self):
        return [self.path + suffix for suffix in ("", "-wal", "-shm") if os.path.exists(self.path + suffix)]

    def open(self):
        if self.kind == "none":
            return None
        if self.kind == "mem":
            return InMemorySaver()
        if self.kind == "postgres":
            return open_server(self.url)
        self.clear()
        return SqliteSaver(sqlite3.connect(self.path, check_same_thread=False))

    def bytes(self):
        return sum(os.path.getsize(file) for file in self.files() if not file.endswith("-shm"))

    def clear(self):
        for file in self.files():
            os.remove(file)


def config_of(thread):
    return {"recursion_limit": 1_000_000, "configurable": {"thread_id": thread}}


def kept_loop(p):
    steps, place, reps = p.integer("S", 1000), Place(p), p.integer("reps", 3)
    p.done()
    r = Report("super-step", steps)
    stored = 0
    for _ in range(reps):
        saver = place.open()
        graph = make_loop(steps, checkpointer=saver)
        how = {"durability": place.durability} if saver else {}
        result = r.measure(1, lambda: graph.invoke({"n": 0}, config_of("t"), **how))
        expect(result["n"] == steps, result)
        stored = len(list(saver.list(config_of("t")))) if saver else 0
    place.clear()
    r.checks = {"n": steps, "checkpoints": stored}
    return r


def kept_chat(p):
    turns, place = p.integer("H", 100), Place(p)
    p.done()
    saver = place.open()
    agent = make_agent(ScriptedModel(), False, checkpointer=saver)
    times = []
    r = Report("turn", turns)

    def talk():
        for k in range(1, turns + 1):
            wall, cpu = time.perf_counter(), time.process_time()
            said = {"messages": [HumanMessage(f"hi {k} ".ljust(200, "x"))]}
            state = agent.invoke(said, config_of("chat"), durability=place.durability)
            times.append((time.perf_counter() - wall, time.process_time() - cpu))
        return state

    messages = len(r.measure(1, talk)["messages"])
    expect(messages == 4 * turns, f"{messages} messages")

    def ten(of, which):
        return sum(one[which] for one in of) / len(of) * 1000

    r.checks = {"messages": messages}
    r.extra = {"first_ms": ten(times[:10], 0), "last_ms": ten(times[-10:], 0),
               "first_cpu_ms": ten(times[:10], 1), "last_cpu_ms": ten(times[-10:], 1)}
    if place.kind == "sqlite":
        saver.conn.close()
        r.extra |= {"bytes": place.bytes(), "bytes_per_turn": place.bytes() / turns}
        if place.keep:
            r.extra["file"] = place.path
        else:
            place.clear()
    return r


def resumed_chat(p):
    file = p.text("file", "w8.db")
    p.done()
    r = Report("resume", 1)
    wall, cpu = time.perf_counter(), time.process_time()
    agent = make_agent(ScriptedModel(), False,
                       checkpointer=SqliteSaver(sqlite3.connect(file, check_same_thread=False)))
    before = len(agent.get_state(config_of("chat")).values["messages"])
    read = time.perf_counter()
    after = len(agent.invoke({"messages": [HumanMessage("one more turn")]}, config_of("chat"))["messages"])
    r.add(time.perf_counter() - wall, time.process_time() - cpu)
    expect(after == before + 4, f"{after} messages")
    r.checks = {"messages": before}
    r.extra = {"read_ms": (read - wall) * 1000, "turn_ms": (r.seconds - read + wall) * 1000}
    return r


def vector_of(i):
    return [((i * 2654435761 + d * 40503) % 2**32) / 2**31 - 1 for d in range(256)]


def store_times(r, put, get, search, items, searches, reps):
    parts = [Report("", 1) for _ in range(3)]
    for _ in range(reps):
        for part, once in zip(parts, (put, get, search)):
            part.measure(1, once)
    r.add(sum(part.seconds for part in parts), sum(part.cpu_min for part in parts))
    r.extra = {"put_us": parts[0].cpu_min * 1e6 / items, "get_us": parts[1].cpu_min * 1e6 / items,
               "search_us": parts[2].cpu_min * 1e6 / searches}
    return r


def long_term_store(p):
    similar = p.integer("vec", 0) == 1
    count, reps = p.integer("N", 10_000 if similar else 100_000), p.integer("reps", 3)
    p.done()
    r = Report("operation", 2 * count + 100)
    found = {}
    if similar:
        index = {"dims": 256, "embed": lambda texts: [vector_of(int(t)) for t in texts], "fields": ["text"]}
        store = InMemoryStore(index=index)

        def put():
            for i in range(count):
                store.put(("bench",), f"k{i}", {"text": str(i)})

        def get():
            for i in range(count):
                store.get(("bench",), f"k{i}")

        def search():
            found["own_first"] = sum(
                store.search(("bench",), query=str(i))[0].key == f"k{i}" for i in range(100))
    else:
        store = InMemoryStore()

        def put():
            for i in range(count):
                store.put(("bench", f"u{i % 100}"), f"k{i}", {"text": f"item {i}", "n": i})

        def get():
            found["sum"] = sum(store.get(("bench", f"u{i % 100}"), f"k{i}").value["n"] for i in range(count))

        def search():
            for _ in range(100):
                found["found"] = len(store.search(("bench", "u7"), filter={"n": 7}))

    store_times(r, put, get, search, count, 100, reps)
    r.checks = found
    return r


WORKLOADS = {"W8loop": kept_loop, "W8chat": kept_chat, "W8resume": resumed_chat, "W11": long_term_store}
