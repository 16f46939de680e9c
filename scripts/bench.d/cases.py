# SPDX-License-Identifier: Apache-2.0
"""The comparisons and series that scripts/bench measures."""
import dataclasses

PEERS = ("langgraph", "langgraph.js", "eino", "graph-flow")
PYTHON, JS, EINO, RUST = PEERS


@dataclasses.dataclass(frozen=True)
class Case:
    """A workload that superstep and peers run with the same parameters. `ours`, `theirs` and the entries of
    `special` add the number of runs, so that every measurement takes long enough to be exact."""

    workload: str
    params: str = ""
    peers: tuple = (PYTHON, JS)
    ours: str = ""
    theirs: str = "reps=3"
    special: dict = dataclasses.field(default_factory=dict)
    modes: tuple = ("sync",)  # engines of LangGraph for Python; the better one counts
    quick: bool = False
    serves: bool = False  # needs the model server
    note: str = ""  # what dominates our cost
    floor: dict = dataclasses.field(default_factory=dict)  # basic operations that one unit needs at least

    @property
    def name(self):
        return f"{self.workload} {self.params}".strip()


# The basic operations of Case.floor: their member in the report of `floor`, its factor to µs, and their names.
OPERATIONS = {
    "call": ("call_ns", 1e-3, "call", "calls"),
    "alloc": ("alloc_ns", 1e-3, "allocation", "allocations"),
    "share": ("share_ns", 1e-3, "copy of a shared pointer", "copies of a shared pointer"),
    "copy": ("copy_ns", 1e-3, "copy of 1 kB", "copies of 1 kB"),
    "hop": ("hop_ns", 1e-3, "message between actors", "messages between actors"),
    "loopback": ("loopback_us", 1, "round trip on loopback", "round trips on loopback"),
    "sync": ("sync_cpu_us", 1, "sync of the disk", "syncs of the disk"),
    "process": ("process_us", 1, "empty program", "empty programs"),
}

BOTH = ("sync", "async")
FAST = {EINO: "runs=50", RUST: "runs=50"}

CASES = (
    Case("chain3", "", PEERS, "runs=20000", "runs=60",
         {EINO: "runs=2000", RUST: "runs=20000"}, quick=True,
         note="three super-steps and the hand-over of a run to its lane",
         floor={"hop": 2, "call": 3}),
    Case("fan5", "", PEERS, "runs=10000", "runs=60", {EINO: "runs=2000", RUST: "runs=2000"},
         note="six tasks and two barriers",
         floor={"hop": 2, "call": 6}),
    Case("W1", "K=100", PEERS, "runs=500", "reps=3", FAST, BOTH,
         note="barrier, routing and activation of one task",
         floor={"call": 1, "alloc": 1}),
    Case("W2", "N=1000", (PYTHON, JS), "runs=50", "reps=3", {}, BOTH, quick=True,
         note="creation and end of a task",
         floor={"call": 1, "alloc": 1}),
    Case("W3", "S=1000", PEERS, "runs=50", "reps=3", {EINO: "runs=10", RUST: "runs=10"}, BOTH, quick=True,
         note="as W1, with a router",
         floor={"call": 2, "alloc": 1}),
    Case("W4", "C=1 T=10 version=v1", (PYTHON, JS, EINO), "runs=100", "reps=3", {EINO: "runs=100"}, BOTH,
         note="parsing of arguments, messages and their ids; one model call per tool call",
         floor={"call": 2, "alloc": 8}),
    Case("W4", "C=8 T=10 version=v1", (PYTHON, JS, EINO), "runs=50", "reps=3", {EINO: "runs=50"}, quick=True,
         note="parsing of arguments, messages and their ids",
         floor={"call": 1, "alloc": 5}),
    Case("W4", "C=1 T=100 version=v1", (PYTHON, JS, EINO), "runs=10", "reps=1", {EINO: "runs=10"},
         note="as C=1 T=10; the scripted model reads all messages",
         floor={"call": 2, "alloc": 8}),
    Case("W4", "C=8 T=10 version=v2", (PYTHON, JS), "runs=50", "reps=3",
         note="one Send per call: a task each",
         floor={"call": 1, "alloc": 5}),
    Case("W4", "C=8 T=10 new=1", (PYTHON, JS), "runs=50", "reps=3", note="as version=v2",
         floor={"call": 1, "alloc": 5}),
    Case("W5", "size=25x300", (PYTHON,), "runs=50 reps=10", "reps=5",
         note="texts that its nodes make, copies of pointers to shared values", floor={"call": 1, "alloc": 5, "share": 70}),
    Case("W5k", "M=300 S=100", (PYTHON, JS), "reps=10", "reps=2", note="one stored value per key and step",
         floor={"alloc": 1}),
    Case("W6", "N=100", (PYTHON, JS), "runs=20", "reps=2", {}, BOTH, quick=True,
         note="tasks and routers of nested runs, copies of their texts",
         floor={"call": 2, "alloc": 3, "copy": 2}),
    Case("W7", "R=500 lat=10", (PYTHON, JS, EINO), "reps=5", "reps=2", quick=True,
         note="three model calls, four tool calls and timers",
         floor={"hop": 2, "call": 7, "alloc": 36}),
    Case("W8loop", "S=200 saver=mem", (PYTHON, JS), "reps=10", "reps=2", note="one encoded checkpoint per step",
         floor={"call": 1, "alloc": 2}),
    Case("W8loop", "S=200 saver=sqlite dur=sync", (PYTHON,), "reps=5", "reps=2", quick=True,
         note="one transaction of SQLite with two pages, and the sync",
         floor={"sync": 1}),
    Case("W8loop", "S=200 saver=postgres dur=sync", (PYTHON,), "reps=5", "reps=2",
         note="one call of a function of the server, which syncs its disk",
         floor={"loopback": 1}),
    Case("W8chat", "H=100 saver=sqlite", (PYTHON,), "", "", note="checkpoints of five super-steps per turn",
         floor={"sync": 1}),
    Case("W10", "R=100", (PYTHON, JS, EINO), "reps=10", "reps=2", quick=True,
         note="one event per token through a queue to the reader",
         floor={"call": 1, "alloc": 2}),
    Case("W11", "N=10000", (PYTHON,), "reps=5", "reps=2", note="hash look-ups, copies of JSON objects",
         floor={"call": 1, "alloc": 2}),
    Case("W12", "", PEERS, "", "", quick=True, note="the dynamic linker",
         floor={"process": 1}),
    Case("W13", "conc=10 R=50", (PYTHON, JS, EINO), "reps=2", "reps=2", serves=True,
         note="system calls of sockets, hand-overs between threads",
         floor={"loopback": 3}),
    Case("W13", "conc=100 R=200", (PYTHON, JS, EINO), "reps=2", "reps=1", serves=True,
         note="system calls of sockets, JSON of requests and answers",
         floor={"loopback": 3}),
    Case("append", "S=1000", (PYTHON, JS), "runs=10", "reps=1", note="one message, its id and one super-step",
         floor={"call": 1, "alloc": 3}),
    Case("send-state", "N=100 M=2000", (PYTHON, JS), "runs=10", "reps=2",
         note="copies of the 2,000 messages of the input, each with a new id",
         floor={"call": 1, "alloc": 61}),
)

# Series over a size: name, unit of the axis, words per runner, sizes.
SIZES = (
    ("Sends in one super-step", "wide-step N={}", "CPU per task",
     {"superstep": (1, 10, 100, 1000, 10000, 100000), PYTHON: (1, 10, 100, 1000), JS: (1, 10, 100, 1000)}),
    ("Messages appended in a loop", "append S={}", "CPU per super-step",
     {"superstep": (10, 100, 1000, 10000), PYTHON: (10, 100, 1000), JS: (10, 100, 1000)}),
)

# Series over workers: words and the member that grows.
SCALING = (
    ("runs of three nodes", "runs ms=1000", "runs_per_s"),
    ("rows of a batch job", "batch R=4000", "rows_per_s"),
    ("tool calls that compute (W9)", "W9 reps=3", "calls_per_s"),
)

# Figures of superstep alone, for the README and the page: label, words, member, factor, unit.
FIGURES = (
    ("a run of a chain of 3 nodes, with reused actors", "chain3", "unit", 1e6, "µs"),
    ("a run of a chain of 3 nodes, with newly created actors", "chain3 fresh=1", "unit", 1e6, "µs"),
    ("a run of five parallel nodes and a join", "fan5", "unit", 1e6, "µs"),
    ("a super-step of a loop of two nodes", "W3 S=1000 runs=20", "unit", 1e6, "µs"),
    ("the task of one Send, if a super-step has 1,000 Sends", "W2 N=1000 runs=20", "unit", 1e6, "µs"),
    ("a super-step of a subgraph, if 100 Sends run subgraphs in parallel", "W6 N=100 runs=10", "unit", 1e6, "µs"),
    ("a tool call of a ReAct agent, if each turn has one call", "W4 C=1 T=10 runs=50", "unit", 1e6, "µs"),
    ("a tool call of a ReAct agent, if each turn has eight calls", "W4 C=8 T=10 runs=20", "unit", 1e6, "µs"),
    ("a super-step with a checkpoint in SQLite", "W8loop saver=sqlite", "unit", 1e6, "µs"),
    ("a row of a batch job with files: four model calls, three tool calls", "batch R=4000 workers=1",
     "cpu_us_per_row", 1, "µs"),
    ("a request of the HTTP client, 100 at a time", "http conc=100", "cpu_us_per_request", 1, "µs"),
    ("a token streamed to a reader", "W10 R=200", "cpu_per_token_us", 1, "µs"),
    ("a get of the long-term store with 100,000 items", "W11 reps=1", "get_us", 1, "µs"),
    ("10,000 agents in parallel, each of which waits twice for two tools of 50 ms", "W7 R=10000 lat=50 reps=1",
     "seconds", 1, "s wall"),
    ("memory of each of these agents", "W7 R=10000 lat=50 reps=1", "rss_per_run_kb", 1, "kB"),
    ("memory of an agent that waits in a tool call, of 20,000", "idle N=20000", "bytes_per_run", 1e-3, "kB"),
    ("cancelling an agent that waits in a tool call, of 10,000", "cancel N=10000", "unit", 1e6, "µs"),
)
