# SPDX-License-Identifier: Apache-2.0
"""The stored form of values, long-term stores, and caches of outputs."""

import base64
import collections
import dataclasses
import datetime
import decimal
import enum
import gc
import pathlib
import pickle
import random
import re
import subprocess
import uuid
from typing import Any, Callable, ClassVar, NamedTuple, TypedDict

import pytest

import superstep as ss
from superstep import _msgpack, _stored


class State(TypedDict, total=False):
    value: Any
    n: int


@ss.storable
@dataclasses.dataclass
class Cart:
    items: list[str]
    total: decimal.Decimal


@ss.storable
class Color(enum.Enum):
    RED = "red"


@ss.storable
class Point(NamedTuple):
    x: int
    y: int


class Matrix:
    def __init__(self, rows: list[list[float]]) -> None:
        self.rows = rows

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Matrix) and self.rows == other.rows


ss.storable(Matrix, dump=lambda m: m.rows, load=Matrix)

VALUES: list[Any] = [
    (1, ("a", None)),
    {1, 2},
    frozenset({"x"}),
    collections.deque([1, 2]),
    b"\x00\xff",
    bytearray(b"q"),
    1 << 80,
    -(1 << 70),
    float("inf"),
    complex(1, -2),
    {1: "a", (2, 3): "b"},
    {"$msgpack": "AQ=="},
    {"deep": [{"when": datetime.date(2024, 2, 29)}]},
    datetime.datetime(2024, 5, 6, 7, 8, 9, 10, datetime.timezone.utc),
    datetime.time(1, 2, 3),
    datetime.timedelta(days=-1, microseconds=5),
    datetime.timezone(datetime.timedelta(hours=5), "X"),
    decimal.Decimal("1.10"),
    uuid.UUID(int=7),
    pathlib.Path("/a/b"),
    re.compile("a+", re.IGNORECASE),
    Cart(["a"], decimal.Decimal("2.50")),
    Color.RED,
    [Point(1, 2)],
    Matrix([[1.0, 2.0]]),
]


def keep(checkpointer: ss.Checkpointer, node: Callable[[Any], Any] = lambda s: None) -> ss.CompiledGraph:
    return ss.Graph(State).add("a", node).edge(ss.START, "a").compile(checkpointer=checkpointer)


@pytest.mark.parametrize("value", VALUES, ids=lambda v: type(v).__name__)
def test_values_are_restored_exactly(value: Any, tmp_path: pathlib.Path) -> None:
    keep(ss.sqlite_checkpointer(tmp_path / "a.db")).invoke({"value": value}, thread_id="t")
    gc.collect()
    read = keep(ss.sqlite_checkpointer(tmp_path / "a.db")).get_state("t").values["value"]
    assert read == value and type(read) is type(value)


def test_subclasses_of_plain_values_are_stored_as_these(tmp_path: pathlib.Path) -> None:
    class Text(str):
        pass

    given = {"a": Text("b"), "c": collections.OrderedDict(d=1)}
    path = tmp_path / "a.db"
    keep(ss.sqlite_checkpointer(path)).invoke({"value": given}, thread_id="t")
    read = keep(ss.sqlite_checkpointer(path)).get_state("t").values["value"]
    assert read == {"a": "b", "c": {"d": 1}} and type(read["a"]) is str


class Unknown:
    pass


@pytest.mark.parametrize("value", [Unknown(), [{"x": Unknown()}], (1, {Unknown}), lambda: 1])
def test_unknown_classes_fail_with_key_and_type(value: Any, tmp_path: pathlib.Path) -> None:
    graph = keep(ss.sqlite_checkpointer(tmp_path / "a.db"), lambda s: {"value": value})
    with pytest.raises(TypeError, match=r"state\['value'\].*(Unknown|type|function)"):
        graph.invoke({"n": 1}, thread_id="t")


def test_reading_rejects_unregistered_classes(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a.db"

    @ss.storable
    @dataclasses.dataclass
    class Gone:
        n: int

    keep(ss.sqlite_checkpointer(path)).invoke({"value": Gone(1)}, thread_id="t")
    del _stored._forms[Gone], _stored._loaders[_stored._name_of(Gone)]
    with pytest.raises(ValueError, match="Gone, which is not registered"):
        keep(ss.sqlite_checkpointer(path)).get_state("t")


def test_threads_store_standard_values_first(run_python: Any, tmp_path: pathlib.Path) -> None:
    done = run_python(
        """
        import decimal, threading
        import superstep as ss

        ss.storable(decimal.Decimal, dump=lambda d: f"my {d}", load=lambda text: decimal.Decimal(text[3:]))
        graph = ss.Graph({"x": None}).add("n", lambda s: None).edge(ss.START, "n")
        app = graph.compile(checkpointer=ss.sqlite_checkpointer("threads.db"))
        ready, given = threading.Barrier(8), (1, {2}, b"3", decimal.Decimal("4.0"))

        def store(number):
            ready.wait()
            app.invoke({"x": given}, thread_id=str(number))

        users = [threading.Thread(target=store, args=(i,)) for i in range(8)]
        for user in users:
            user.start()
        for user in users:
            user.join()
        print(all(app.get_state(str(i)).values["x"] == given for i in range(8)))
        print(ss._stored._forms[decimal.Decimal].dump(4))
        """,
        cwd=tmp_path,
    )
    assert (done.stdout, done.stderr) == ("True\nmy 4\n", "")


def test_reading_never_imports_or_calls_other_names() -> None:
    for name in (["os", "system"], ["builtins", "eval"], ["subprocess", "Popen"]):
        for code in range(7):
            packed = _msgpack.pack(object(), lambda _: (code, [*name, "echo no"]))
            with pytest.raises(ValueError, match="not registered"):
                _stored.unpack(base64.b64encode(packed).decode())


def test_damaged_values_are_errors() -> None:
    packed = _msgpack.pack(VALUES[:12], _stored._to_extension)
    random.seed(7)
    for _ in range(2_000):
        broken = bytearray(packed)
        for _ in range(random.randint(1, 4)):
            broken[random.randrange(len(broken))] = random.randrange(256)
        del broken[random.randrange(len(broken) // 2, len(broken) + 1) :]
        try:
            _msgpack.unpack(bytes(broken), _stored._of_extension)
        except (ValueError, TypeError, ArithmeticError):  # also of a class that rejects its argument
            pass


@pytest.mark.parametrize("cls", [Unknown, int])
def test_storable_needs_a_form(cls: Any) -> None:
    with pytest.raises(TypeError, match="pass dump= and load="):
        ss.storable(cls)


def test_memory_checkpointer_keeps_objects() -> None:
    thing = Unknown()
    graph = keep(ss.memory_checkpointer(), lambda s: {"value": thing})
    graph.invoke({"n": 1}, thread_id="t")
    assert graph.get_state("t").values["value"] is thing


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: pathlib.Path) -> ss.Store:
    return ss.memory_store() if request.param == "memory" else ss.sqlite_store(tmp_path / "s.db")


def test_store_keeps_items(store: ss.Store) -> None:
    store.put(("users", "1"), "name", {"text": "Ada", "age": 36})
    store.put(("users", "2"), "name", {"text": "Bob", "age": 17})
    assert store.get(("users", "1"), "name") == ss.Item(("users", "1"), "name", {"text": "Ada", "age": 36})
    assert store.get("users", "name") is None
    assert [i.value["text"] for i in store.search("users", filter={"age": {"$gt": 18}})] == ["Ada"]
    assert len(store.search(("users",), limit=1, offset=1)) == 1
    assert store.list_namespaces(prefix="users") == [("users", "1"), ("users", "2")]
    store.delete(("users", "1"), "name")
    assert store.get(("users", "1"), "name") is None
    with pytest.raises(ValueError, match="period|label"):
        store.put(("a.b",), "k", {})
    with pytest.raises(TypeError, match="the value of 'k'"):
        store.put(("a",), "k", {"x": Unknown()})


def test_store_finds_similar_items() -> None:
    def embed(texts: list[str]) -> list[list[float]]:
        return [[float(text.count(letter)) for letter in "abc"] for text in texts]

    store = ss.memory_store(embed=embed, fields=["text"])
    for text in ("aaa", "bbb", "ccc"):
        store.put("words", text, {"text": text})
    store.put("words", "hidden", {"text": "bb"}, index=False)
    found = store.search("words", query="bb")
    assert [i.key for i in found][0] == "bbb" and found[0].score == pytest.approx(1.0)

    def broken(texts: list[str]) -> list[list[float]]:
        raise OSError("no model")

    with pytest.raises(OSError, match="no model"):
        ss.memory_store(embed=broken).put("a", "k", {"text": "x"})


def test_nodes_and_tools_use_the_store(store: ss.Store) -> None:
    def node(state: Any, runtime: ss.Runtime) -> dict[str, Any]:
        assert runtime.store is not None
        seen = runtime.store.get("runs", "count")
        runtime.store.put("runs", "count", {"n": seen.value["n"] + 1 if seen else 1})
        return {"n": state["n"] + 1}

    graph = ss.Graph(State).add("a", node).edge(ss.START, "a").compile(store=store)
    for i in range(3):
        graph.invoke({"n": i})
    found = store.get("runs", "count")
    assert found is not None and found.value == {"n": 3}

    def remember(fact: str, runtime: ss.Runtime) -> str:
        assert runtime.store is not None
        runtime.store.put(("facts",), fact, {"fact": fact})
        return "noted"

    rules = "rules:\n- {type: tool, text: done}\n- {type: human, calls: [{name: remember, args: {fact: x}}]}"
    agent = ss.create_agent("scripted:\n" + rules, [remember], store=store)
    assert agent.invoke("hi").text == "done"
    assert [i.key for i in store.search("facts")] == ["x"]


def test_runtime_has_no_store_by_default() -> None:
    def node(state: Any, runtime: ss.Runtime) -> dict[str, Any]:
        return {"value": runtime.store is None}

    assert ss.Graph(State).add("a", node).edge(ss.START, "a").compile().invoke({})["value"] is True


def test_stores_and_caches_pickle(tmp_path: pathlib.Path) -> None:
    store = ss.sqlite_store(tmp_path / "s.db")
    store.put("a", "k", {"x": 1})
    copy: ss.Store = pickle.loads(pickle.dumps(store))
    found = copy.get("a", "k")
    assert found is not None and found.value == {"x": 1} and repr(copy) == repr(store)
    assert "sqlite_cache" in repr(pickle.loads(pickle.dumps(ss.sqlite_cache(tmp_path / "c.db"))))


def cached(cache: ss.Cache, policy: ss.CachePolicy, calls: list[Any]) -> ss.CompiledGraph:
    def node(state: Any) -> dict[str, Any]:
        calls.append(state["n"])
        return {"value": (state["n"], "made")}

    g = ss.Graph(State).add("a", node, cache=policy).edge(ss.START, "a")
    return g.compile(cache=cache)


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_cache_replaces_calls(kind: str, tmp_path: pathlib.Path) -> None:
    calls: list[Any] = []
    cache = ss.memory_cache() if kind == "memory" else ss.sqlite_cache(tmp_path / "c.db")
    graph = cached(cache, ss.CachePolicy(), calls)
    for n in (1, 2, 1, 2, 1):
        assert graph.invoke({"n": n})["value"] == (n, "made")
    assert calls == [1, 2]
    cache.clear()
    graph.invoke({"n": 1})
    assert calls == [1, 2, 1]


def test_cache_key_is_a_function_of_the_input() -> None:
    calls: list[Any] = []
    graph = cached(ss.memory_cache(), ss.CachePolicy(key=lambda s: str(s["n"] % 10)), calls)
    assert [graph.invoke({"n": n})["value"][0] for n in (1, 11, 21, 2)] == [1, 1, 1, 2]
    assert calls == [1, 2]


def test_cache_without_a_storable_input_fails() -> None:
    graph = cached(ss.memory_cache(), ss.CachePolicy(), [])
    with pytest.raises((TypeError, ss.RunError), match="Unknown"):
        graph.invoke({"n": 1, "value": Unknown()})


def test_saved_values_survive_a_killed_process(run_python: Callable[..., "subprocess.CompletedProcess[str]"],
                                               tmp_path: pathlib.Path) -> None:
    done = run_python(
        f"""
        import superstep as ss, os
        g = ss.Graph({{"value": None}}).add("a", lambda s: {{"value": (s["value"], b"x")}}).edge(ss.START, "a")
        graph = g.compile(checkpointer=ss.sqlite_checkpointer({str(tmp_path / "a.db")!r}))
        graph.invoke({{"value": {{1, 2}}}}, thread_id="t", durability="sync")
        os._exit(9)
        """
    )
    assert done.returncode == 9, done.stderr
    graph = ss.Graph({"value": None}).add("a", lambda s: None).edge(ss.START, "a")
    saved = graph.compile(checkpointer=ss.sqlite_checkpointer(tmp_path / "a.db"))
    assert saved.get_state("t").values == {"value": ({1, 2}, b"x")}


AGENT_WITH_STORE = """name: helper
model: {provider: scripted, path: rules.yaml}
store: {path: memory.db}
tools:
- remember
- recall
"""
RULES_WITH_STORE = """rules:
- {type: tool, text: '\\0'}
- {type: human, match: 'keep', calls: [{name: remember, args: {key: color, text: secret blue}}]}
- {type: human, match: 'look', calls: [{name: recall, args: {about: color}}]}
"""


def test_store_of_an_agent_file_is_encrypted(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rules.yaml").write_text(RULES_WITH_STORE)
    (tmp_path / "agent.yaml").write_text(AGENT_WITH_STORE)
    monkeypatch.setenv("SUPERSTEP_CHECKPOINT_KEY", "ab" * 32)
    agent = ss.Agent.from_file(tmp_path / "agent.yaml")
    assert agent.invoke("keep").status == "finished"
    assert "secret blue" in agent.invoke("look").text
    files = sorted(tmp_path.glob("memory.db*"))
    assert files and not any(b"secret blue" in file.read_bytes() for file in files)
    del agent
    gc.collect()

    monkeypatch.delenv("SUPERSTEP_CHECKPOINT_KEY")
    with pytest.raises(ss.RunError, match="key") as caught:
        ss.Agent.from_file(tmp_path / "agent.yaml")
    assert caught.value.code == "checkpoint_errc::wrong_key"
    monkeypatch.setenv("SUPERSTEP_CHECKPOINT_KEY", "cd" * 32)
    with pytest.raises(ss.RunError, match="key"):
        ss.Agent.from_file(tmp_path / "agent.yaml")
    monkeypatch.setenv("SUPERSTEP_CHECKPOINT_KEY", "ab" * 32)
    assert "secret blue" in ss.Agent.from_file(tmp_path / "agent.yaml").invoke("look").text


@ss.storable
@dataclasses.dataclass(frozen=True)
class Counted:
    n: int
    kind: ClassVar[str] = "a class variable"
    log: list[str] = dataclasses.field(init=False, default_factory=list)


def test_fields_without_parameter_are_stored(tmp_path: pathlib.Path) -> None:
    value = Counted(1)
    value.log.append("work")
    g = ss.Graph({"value": None})
    g.add("write", lambda state: {"value": value}).edge(ss.START, "write")
    database = str(tmp_path / "threads.db")
    g.compile(checkpointer=ss.sqlite_checkpointer(database)).invoke({}, thread_id="1")
    found = g.compile(checkpointer=ss.sqlite_checkpointer(database)).get_state("1").values["value"]
    assert (found.n, found.log) == (1, ["work"])


def test_value_that_another_thread_changes_does_not_end_the_process(
    run_python: Callable[..., "subprocess.CompletedProcess[str]"], tmp_path: pathlib.Path
) -> None:
    ended = run_python("""
        import decimal, threading
        import superstep as ss
        values = {}
        def change():
            while not over.is_set():
                values["k"] = [decimal.Decimal(i) for i in range(200)]
        over = threading.Event()
        thread = threading.Thread(target=change)
        thread.start()
        g = ss.Graph({"x": None})
        g.add("n", lambda state: {"x": values}).edge(ss.START, "n")
        graph = g.compile(checkpointer=ss.sqlite_checkpointer("threads.db"))
        for i in range(300):
            graph.invoke({}, thread_id=str(i))
        over.set()
        thread.join()
        print("done")
    """, cwd=tmp_path)
    assert ended.stdout == "done\n", ended.stderr
