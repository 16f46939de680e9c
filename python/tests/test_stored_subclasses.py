# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of subclasses of plain values and of objects with several parts, and cache keys of values without order."""

import collections
import datetime
import math
import pathlib
import zoneinfo
from typing import Any

import pytest

import superstep as ss


class Float(float):
    pass


class Text(str):
    def __str__(self) -> str:
        return "another text"


@pytest.mark.parametrize(
    "value, stored",
    [
        (collections.Counter({1: 1}), {1: 1}),
        (collections.defaultdict(list, {1: [2]}), {1: [2]}),
        (collections.OrderedDict(a=1), {"a": 1}),
        ((collections.OrderedDict(a=1),), ({"a": 1},)),
        ((Float(1.5), Text("x")), (1.5, "x")),
        ({1: Text("x")}, {1: "x"}),
        (Text("x"), "x"),
        (Float("inf"), math.inf),
    ],
)
def test_subclasses_are_stored_as_plain_values(tmp_path: pathlib.Path, value: Any, stored: Any) -> None:
    graph = ss.Graph({"v": None}).add("a", lambda s: {"v": value}).edge(ss.START, "a")
    graph.compile(checkpointer=ss.sqlite_checkpointer(tmp_path / "a.db")).invoke({}, thread_id="1")
    app = graph.compile(checkpointer=ss.sqlite_checkpointer(tmp_path / "a.db"))
    restored = app.get_state("1").values["v"]
    assert restored == stored and type(restored) is type(stored)
    if isinstance(stored, tuple):
        assert [type(item) for item in restored] == [type(item) for item in stored]


def test_equal_sets_have_the_same_cache_key() -> None:
    calls: list[Any] = []

    def count(state: dict[str, Any]) -> dict[str, Any]:
        calls.append(state["x"])
        return {"size": len(state["x"])}

    graph = ss.Graph({"x": None, "size": None}).add("a", count, cache=ss.CachePolicy()).edge(ss.START, "a")
    app = graph.compile(cache=ss.memory_cache())
    for given in ({8, 0}, {0, 8}, {8, 0, 16} - {16}):
        assert app.invoke({"x": given})["size"] == 2
    assert len(calls) == 1


BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")
CET = datetime.timezone(datetime.timedelta(hours=1), "CET")
FOLDED = datetime.datetime(2024, 10, 27, 2, 30, 0, 5, BERLIN, fold=1)


@pytest.mark.parametrize(
    "value",
    [
        collections.deque([1, 2], maxlen=2),
        collections.deque([(1,)], maxlen=0),
        FOLDED,
        FOLDED.replace(fold=0),
        datetime.datetime(2024, 10, 27, 2, 30, fold=1),
        datetime.datetime(2024, 1, 2, tzinfo=CET),
        datetime.datetime(2024, 1, 2, tzinfo=datetime.timezone.utc, fold=1),
        datetime.time(2, 30, tzinfo=BERLIN),
        datetime.time(2, 30, 1, 2, fold=1),
        BERLIN,
    ],
    ids=repr,
)
def test_parts_of_standard_objects_are_not_lost(value: Any, tmp_path: pathlib.Path) -> None:
    graph = ss.Graph({"v": None}).add("a", lambda s: {"v": value}).edge(ss.START, "a")
    graph.compile(checkpointer=ss.sqlite_checkpointer(tmp_path / "a.db")).invoke({}, thread_id="1")
    app = graph.compile(checkpointer=ss.sqlite_checkpointer(tmp_path / "a.db"))
    restored = app.get_state("1").values["v"]
    assert restored == value and repr(restored) == repr(value)


class Zone(datetime.tzinfo):
    """A time zone of another package."""

    def utcoffset(self, dt: Any) -> datetime.timedelta:
        return datetime.timedelta(0)

    dst = utcoffset

    def tzname(self, dt: Any) -> str:
        return "Z"


def test_time_zones_that_cannot_be_stored_are_errors(tmp_path: pathlib.Path) -> None:
    files = (pathlib.Path(folder, "UTC") for folder in zoneinfo.TZPATH)
    file = next((f for f in files if f.exists()), None)
    zones: list[datetime.tzinfo] = [Zone()]
    if file is not None:
        with file.open("rb") as content:
            zones.append(zoneinfo.ZoneInfo.from_file(content))
    graph = ss.Graph({"v": None}).add("a", lambda s: None).edge(ss.START, "a")
    app = graph.compile(checkpointer=ss.sqlite_checkpointer(tmp_path / "a.db"))
    for zone in zones:
        with pytest.raises(TypeError, match=r"state\['v'\].*cannot be stored"):
            app.invoke({"v": datetime.datetime(2024, 1, 2, tzinfo=zone)}, thread_id="1")


@pytest.mark.parametrize(
    "given",
    [
        [{1: "a", 2: "b"}, {2: "b", 1: "a"}],
        [{(1, 2): {3: 4, 5: 6}}, {(1, 2): {5: 6, 3: 4}}],
        [({"a": 1, "b": 2},), ({"b": 2, "a": 1},)],
    ],
)
def test_equal_dicts_have_the_same_cache_key(given: list[Any]) -> None:
    calls: list[Any] = []
    graph = ss.Graph({"x": None}).add("a", lambda s: calls.append(s["x"]), cache=ss.CachePolicy())
    app = graph.edge(ss.START, "a").compile(cache=ss.memory_cache())
    for value in given:
        app.invoke({"x": value})
    app.invoke({"x": {1: "b", 2: "a"}})
    assert calls == [given[0], {1: "b", 2: "a"}]


def test_dicts_are_stored_in_their_order(tmp_path: pathlib.Path) -> None:
    graph = ss.Graph({"v": None}).add("a", lambda s: None).edge(ss.START, "a")
    graph.compile(checkpointer=ss.sqlite_checkpointer(tmp_path / "a.db")).invoke({"v": {2: 0, 1: 0}}, thread_id="1")
    app = graph.compile(checkpointer=ss.sqlite_checkpointer(tmp_path / "a.db"))
    assert list(app.get_state("1").values["v"]) == [2, 1]
