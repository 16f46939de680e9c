# SPDX-License-Identifier: Apache-2.0
"""Processes: fork, spawn, Ctrl-C, exit, threads, subinterpreters."""

import multiprocessing
import pathlib
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
from typing import Any, Callable

import pytest

import superstep as ss
from superstep import _superstep

Run = Callable[..., "subprocess.CompletedProcess[str]"]

GRAPH = """
import superstep as ss
def add_one(state): return {"n": state["n"] + 1}
graph = ss.Graph({"n": None}).add("a", add_one).edge(ss.START, "a").compile()
"""


def add_one(state: Any) -> dict[str, Any]:
    return {"n": state["n"] + 1}


def make_graph() -> ss.CompiledGraph:
    return ss.Graph({"n": None}).add("a", add_one).edge(ss.START, "a").compile()


def invoke_in_child(graph: ss.CompiledGraph) -> Any:
    return graph.invoke({"n": 1})["n"]


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_multiprocessing(method: str) -> None:
    graph = make_graph()
    assert graph.invoke({"n": 1})["n"] == 2  # the engine of the parent runs
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.map(invoke_in_child, [graph] * 4) == [2] * 4
    assert graph.invoke({"n": 1})["n"] == 2


def test_fork_is_noticed_before_the_engine_starts(run_python: Run, tmp_path: pathlib.Path) -> None:
    done = run_python(
        f"""
        import os, warnings
        import superstep as ss
        from superstep import _superstep
        warnings.simplefilter("ignore", DeprecationWarning)
        saved = ss.sqlite_checkpointer({str(tmp_path / "a.db")!r})
        saved.delete_thread("t")
        assert not _superstep.is_started()
        native = saved._built
        child = os.fork()
        if child == 0:
            saved.delete_thread("t")
            os._exit(0 if saved._built is not native else 1)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """
    )
    assert done.stdout == "0\n", done.stderr


def test_forked_child_has_its_own_engine(run_python: Run) -> None:
    done = run_python(
        GRAPH
        + """
import os, sys, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # of fork() with threads, since Python 3.12
def tool(city: str) -> str: return city
agent = ss.create_agent("scripted:\\ndefault: {text: hello}", [tool])
assert agent.invoke("hi").text == "hello" and graph.invoke({"n": 1})["n"] == 2
child = os.fork()
if child == 0:
    assert agent.invoke("hi").text == "hello"
    for i in range(100):
        assert graph.invoke({"n": i})["n"] == i + 1
    sys.exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
assert graph.invoke({"n": 1})["n"] == 2
"""
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("body", ["time.sleep(60)", "while True: pass"])
def test_interrupt_signal_ends_a_run_at_once(body: str) -> None:
    program = f"""
    import superstep as ss, sys, time
    def slow(state):
        print("started", flush=True)
        {body}
    graph = ss.Graph({{"n": None}}).add("a", slow).edge(ss.START, "a").compile()
    try:
        graph.invoke({{"n": 1}})
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        raise
    """
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None and child.stdout.readline() == "started\n"
    begin = time.monotonic()
    child.send_signal(signal.SIGINT)
    assert child.stdout.readline() == "interrupted\n"
    assert time.monotonic() - begin < 20.0  # 0.05 s on an idle machine; the node takes longer
    child.wait(timeout=60)
    child.stdout.close()
    assert child.stderr is not None
    child.stderr.close()
    assert child.returncode in (130, -signal.SIGINT)


def test_exit_with_live_runs_reports_them(run_python: Run) -> None:
    done = run_python(
        """
        import superstep as ss, time
        graph = ss.Graph({"n": None}).add("a", lambda s: time.sleep(60)).edge(ss.START, "a").compile()
        stream = graph.stream({"n": 1})
        import threading
        threading.Thread(target=lambda: next(stream), daemon=True).start()
        while ss.stats()["live_runs"] == 0:
            time.sleep(0.01)
        print("end")
        """
    )
    assert done.stdout == "end\n"
    assert "the process exits and cancels 1 run that had not ended" in done.stderr
    assert done.returncode == 1


def test_exit_without_runs_is_silent(run_python: Run) -> None:
    done = run_python(
        GRAPH
        + """
import asyncio
async def node(state): return {"n": 5}
other = ss.Graph({"n": None}).add("a", node).edge(ss.START, "a").compile()
assert graph.invoke({"n": 1})["n"] == 2
assert asyncio.run(other.ainvoke({"n": 1}))["n"] == 5 and other.invoke({"n": 1})["n"] == 5
agent = ss.create_agent("scripted:\\ndefault: {text: hello}")
rows = agent.batch(["a", "b"])
stream = graph.stream({"n": 1})
next(stream)
while ss.stats()["live_runs"]: pass
"""
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_import_starts_no_threads(run_python: Run) -> None:
    done = run_python(
        """
        import superstep, os, sys
        print(len(os.listdir("/proc/self/task")))
        print([m for m in ("asyncio", "inspect", "dataclasses", "pydantic") if m in sys.modules])
        """
    )
    assert done.stdout == "1\n[]\n"


def test_engine_options(run_python: Run) -> None:
    done = run_python(
        """
        import superstep as ss
        ss.engine(workers=1)
        ss.engine(workers=1)
        try:
            ss.engine(workers=2)
        except ValueError as e:
            print(e)
        """
    )
    assert "already runs with workers=1" in done.stdout


def test_threads_that_use_an_object_first_share_it(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    open_sqlite = _superstep.sqlite_checkpointer

    def counted(path: str) -> Any:
        opened.append(path)
        return open_sqlite(path)

    monkeypatch.setattr(_superstep, "sqlite_checkpointer", counted)
    makers = [ss.memory_checkpointer, *(lambda i=i: ss.sqlite_checkpointer(tmp_path / f"{i}.db") for i in range(5))]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for make in makers * 4:
            checkpointer = make()
            made = [
                ss.Graph({"n": None}).add("a", add_one).edge(ss.START, "a").compile(checkpointer=checkpointer)
                for _ in range(8)
            ]
            graphs = pickle.loads(pickle.dumps(made))  # nothing is open in these copies
            opened.clear()
            ready = threading.Barrier(len(graphs))

            def use(number: int) -> None:
                ready.wait()
                graphs[number].invoke({"n": number}, thread_id=str(number))

            users = [threading.Thread(target=use, args=(i,)) for i in range(len(graphs))]
            for user in users:
                user.start()
            for user in users:
                user.join()
            assert len(opened) <= 1
            assert all(graphs[0].get_state(str(i)).values == {"n": i + 1} for i in range(len(graphs)))
    finally:
        sys.setswitchinterval(interval)


def test_threads_share_the_engine() -> None:
    graph = make_graph()
    failures: list[BaseException] = []

    def work() -> None:
        try:
            for i in range(200):
                assert graph.invoke({"n": i})["n"] == i + 1
        except BaseException as e:
            failures.append(e)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert failures == []


def test_subinterpreter_is_refused(run_python: Run) -> None:
    done = run_python(
        """
        import superstep
        try:
            import _xxsubinterpreters as interpreters
        except ImportError:
            import _interpreters as interpreters
        interpreter = interpreters.create()
        try:
            failed = interpreters.run_string(interpreter, "import superstep")
            print("refused" if failed is not None else "accepted")
        except Exception as e:
            print("refused")
        """
    )
    assert done.stdout == "refused\n"


def test_key_is_not_in_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    import pickle

    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-key")
    agent = ss.create_agent("openai:gpt-4o-mini")
    assert "sk-secret" not in repr(agent) and b"sk-secret" not in pickle.dumps(agent)


def test_exit_after_ctrl_c_has_the_code_of_the_signal(run_python: Run) -> None:
    done = run_python(
        """
        import superstep as ss, signal, threading, time
        def slow(state):
            time.sleep(0.1)
            signal.raise_signal(signal.SIGINT)  # handled by the main thread, which waits for the run
            time.sleep(60)
        graph = ss.Graph({"n": None}).add("a", slow).edge(ss.START, "a").compile()
        graph.invoke({"n": 1})
        """
    )
    assert done.returncode == 130 and "KeyboardInterrupt" in done.stderr


CANCELLATIONS = """
import asyncio, random, warnings
import superstep as ss
warnings.simplefilter("ignore", RuntimeWarning)  # of deleted coroutines that have not started

async def step(state):
    await asyncio.sleep(random.random() * 0.01)
    return {"n": state["n"] + 1}
graph = ss.Graph({"n": None}).add("a", step).edge(ss.START, "a").compile()

async def act(x: str) -> str:
    "Acts."
    return str((await graph.ainvoke({"n": 1}))["n"])
agent = ss.create_agent('''scripted:
rules:
- {type: tool, text: 'after'}
- {type: human, match: '.*', calls: [{name: act, args: {x: a}}]}
''', [act])
"""

#: Waits until the cancelled runs have ended. Deleted tasks cancel their runs.
END = """
import gc, time
while ss.stats()["live_runs"]:
    gc.collect()
    time.sleep(0.01)
"""


@pytest.mark.parametrize(
    "body",
    [
        """
async def one(i):
    try:
        await asyncio.wait_for(agent.ainvoke(str(i)), random.random() * 0.02)
    except asyncio.TimeoutError:
        pass
async def main():
    await asyncio.gather(*map(one, range(200)))
for _ in range(3):
    asyncio.run(main())
""",
        """
for _ in range(3):
    for count, row in enumerate(agent.map(map(str, range(10_000)), concurrency=64)):
        if count == 100:
            break
""",
        """
for _ in range(20):  # loops that are closed while tasks and runs wait
    loop = asyncio.new_event_loop()
    for _ in range(20):
        loop.create_task(agent.ainvoke("x"))
    loop.run_until_complete(asyncio.sleep(0.005))
    for task in asyncio.all_tasks(loop):
        task._log_destroy_pending = False
    loop.close()
del loop, task
""",
    ],
    ids=["tasks", "rows", "closed loops"],
)
def test_exit_after_cancelled_runs_leaves_no_objects(run_python: Run, body: str) -> None:
    program = CANCELLATIONS + body + END
    done = run_python(program)
    assert (done.returncode, done.stderr) == (0, "")  # nanobind would list objects that are left


@pytest.mark.parametrize("saved", ["ss.memory_checkpointer()", "ss.sqlite_checkpointer('t.db')"])
def test_exit_after_values_of_own_classes_leaves_no_objects(
    run_python: Run, tmp_path: pathlib.Path, saved: str
) -> None:
    done = run_python(
        f"""
        import dataclasses, superstep as ss
        @ss.storable
        @dataclasses.dataclass
        class Cart:
            items: list
        graph = ss.Graph({{"cart": None}}).add("fill", lambda s: {{"cart": Cart(["apple"])}})
        app = graph.edge(ss.START, "fill").compile(checkpointer={saved})
        app.invoke({{}}, thread_id="1")
        print(app.get_state("1").values["cart"])
        """,
        cwd=tmp_path,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "Cart(items=['apple'])\n", "")


@pytest.mark.parametrize("first", ["", "graph().invoke({})"])
def test_finalizers_of_an_exiting_process_start_no_runs(run_python: Run, first: str) -> None:
    done = run_python(
        f"""
        import superstep as ss
        def graph():
            return ss.Graph({{"n": None}}).add("a", lambda s: {{"n": 1}}).edge(ss.START, "a").compile()
        class Last:
            def __del__(self):
                for start in (lambda: graph().invoke({{}}), lambda: list(graph().stream({{}})), lambda: ss.engine(2)):
                    try:
                        start()
                    except RuntimeError as error:
                        print(error)
        {first}
        last = Last()
        """
    )
    lines = ["no run can be started: the process is exiting"] * 3
    assert (done.returncode, done.stdout.splitlines(), done.stderr) == (0, lines, "")


@pytest.mark.parametrize("define", ["def", "async def"])
def test_exit_reports_code_that_does_not_return(run_python: Run, define: str) -> None:
    done = run_python(
        f"""
        import superstep as ss, time
        {define} slow(state):
            time.sleep(60)
        graph = ss.Graph({{"n": None}}).add("a", slow).edge(ss.START, "a").compile()
        try:
            graph.invoke({{"n": 1}}, deadline=0.2)
        except ss.RunError as e:
            print(e.code)
        """
    )
    assert done.stdout == "graph_errc::deadline\n"
    assert "ends Python code of a cancelled run that had not returned" in done.stderr
    assert done.returncode == 1


def test_exit_ends_coroutines_of_cancelled_runs(run_python: Run) -> None:
    done = run_python(
        """
        import asyncio, os, superstep as ss
        async def slow(state):
            try:
                await asyncio.sleep(60)
            finally:
                os.write(1, b"cleaned up\\n")
        graph = ss.Graph({"n": None}).add("a", slow).edge(ss.START, "a").compile()
        try:
            graph.invoke({"n": 1}, deadline=0.2)
        except ss.RunError as e:
            os.write(1, f"{e.code}\\n".encode())
        """
    )
    assert sorted(done.stdout.splitlines()) == ["cleaned up", "graph_errc::deadline"]
    assert (done.returncode, done.stderr) == (0, "")


def test_package_can_be_loaded_again(run_python: Run) -> None:
    done = run_python(
        GRAPH
        + """
import importlib, sys
assert graph.invoke({"n": 1})["n"] == 2
assert importlib.reload(ss) is ss
assert ss.Graph({"n": None}).add("a", add_one).edge(ss.START, "a").compile().invoke({"n": 2})["n"] == 3
for name in [name for name in sys.modules if name.split(".")[0] == "superstep"]:
    del sys.modules[name]
import superstep as again
assert again is not ss
other = again.Graph({"n": None}).add("a", add_one).edge(again.START, "a").compile()
assert other.invoke({"n": 3})["n"] == 4 and graph.invoke({"n": 4})["n"] == 5
assert again.stats()["live_runs"] == ss.stats()["live_runs"] == 0
"""
    )
    assert (done.returncode, done.stderr) == (0, "")
