# record.py POSTGRES_URL SQLITE_FILE FOLDER
#
# Records the data of langgraph_import_test.cpp: threads that LangGraph saves in an empty PostgreSQL
# database and in an SQLite file, and what LangGraph reads from them (FOLDER/*.json). Recorded with
# langgraph 1.2.24, langgraph-checkpoint-postgres 3.2.0, langgraph-checkpoint-sqlite 3.1.2.
# postgres.sql and sqlite.sql are dumps of the tables checkpoints and checkpoint_blobs, with the two
# newest checkpoints of each thread.
import collections, dataclasses, datetime, decimal, enum, json, operator, pathlib, sys, uuid
from typing import Annotated, Any
import pydantic
from typing_extensions import TypedDict
from langchain_core.load import dumpd
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.graph import StateGraph, MessagesState, START, END
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver

class Mood(enum.Enum):
    good = "good"

@dataclasses.dataclass
class Order:
    number: int
    items: list[str]

class Answer(pydantic.BaseModel):
    label: str
    score: float

class Chat(MessagesState):
    turns: int
    notes: Annotated[list[Any], operator.add]
    answer: Any

def agent(state):
    n = len(state["messages"])
    last = state["messages"][-1]
    if isinstance(last, HumanMessage) and "weather" in str(last.content):
        return {"messages": [AIMessage(content="", id=f"ai-{n}", tool_calls=[{"name": "weather", "args": {"city": "Köln", "days": 3}, "id": f"call-{n}"}],
                                       usage_metadata={"input_tokens": 12, "output_tokens": 4, "total_tokens": 16})]}
    return {"messages": [AIMessage(content=[{"type": "text", "text": f"answer {n} ☀"}] if n % 4 == 3 else f"answer {n}", id=f"ai-{n}", response_metadata={"model_name": "m-1", "finish_reason": "stop"})],
            "turns": state.get("turns", 0) + 1, "notes": [{"n": n, "x": 0.5}]}

def tools(state):
    n = len(state["messages"])
    return {"messages": [ToolMessage(content="sunny", tool_call_id=state["messages"][-1].tool_calls[0]["id"], name="weather", id=f"tool-{n}", artifact={"raw": [1, 2]})]}

g = StateGraph(Chat)
g.add_node(agent); g.add_node(tools)
g.add_edge(START, "agent")
g.add_conditional_edges("agent", lambda s: "tools" if s["messages"][-1].type == "ai" and s["messages"][-1].tool_calls else END)
g.add_edge("tools", "agent")

class Odd(TypedDict):
    values: dict

o = StateGraph(Odd)
o.add_node("keep", lambda s: {})
o.add_edge(START, "keep")

odd = {
    "text": "x" * 300, "long": list(range(-40, 40)) + [2**31, 2**40, -(2**40), 2**63 - 1, -(2**63), 2**64 - 1],
    "many": {f"k{i}": i for i in range(20)}, "float": 0.1, "none": None, "yes": True, "no": False, "big_text": "ü" * 300,
    "keys": {1: "one", True: "yes" }, "when": datetime.datetime(2026, 5, 4, 3, 2, 1, tzinfo=datetime.timezone.utc),
    "day": datetime.date(2026, 5, 4), "id": uuid.UUID("12345678-1234-5678-1234-567812345678"), "price": decimal.Decimal("1.10"),
    "set": {7}, "queue": collections.deque([1, 2]), "path": pathlib.Path("/tmp/a"), "mood": Mood.good, "order": Order(3, ["a"]),
    "answer": Answer(label="ok", score=0.5), "span": datetime.timedelta(days=1, seconds=2), "bytes": b"\x00\x01", "nan": float("nan"),
    "message": HumanMessage(content="inside", id="h-9"), "nested": [[[{"a": [HumanMessage(content="deep", id="h-10")]}]]], "bytes_long": b"a" * 300,
}

def fill(saver, expected):
    app = g.compile(checkpointer=saver)
    for t, texts in {"weather": ["hello", "what is the weather", "thanks", "weather again"], "short": ["hi"]}.items():
        for i, text in enumerate(texts):
            app.invoke({"messages": [SystemMessage(content="be brief", id="sys-1")] * (i == 0) + [HumanMessage(content=text, id=f"h-{i}", name="ann" if i else None)]}, {"configurable": {"thread_id": t}})
        got = saver.get_tuple({"configurable": {"thread_id": t}})
        expected[t] = dumpd({"checkpoint": got.checkpoint, "metadata": got.metadata})
    o.compile(checkpointer=saver).invoke({"values": odd}, {"configurable": {"thread_id": "odd"}})

expected = {}
with PostgresSaver.from_conn_string(sys.argv[1]) as saver:
    saver.setup()
    fill(saver, expected)
with SqliteSaver.from_conn_string(sys.argv[2]) as saver:
    fill(saver, {})
for t, e in expected.items():
    pathlib.Path(sys.argv[3], f"{t}.json").write_text(json.dumps(e) + "\n")

def placeholder(cls):
    return {"lc": 1, "type": "not_implemented", "id": [cls.__module__, cls.__name__]}

def plain(value):
    """Returns what an import makes of a value, in superstep's form."""
    match value:
        case float() if value != value:
            return placeholder(float)
        case bytes() | datetime.timedelta():
            return placeholder(type(value))
        case datetime.date():
            return value.isoformat()
        case uuid.UUID() | decimal.Decimal() | pathlib.Path():
            return str(value)
        case set() | collections.deque() | list():
            return [plain(v) for v in value]
        case enum.Enum():
            return value.value
        case HumanMessage():
            return {"type": "human", "content": value.content, "id": value.id}
        case pydantic.BaseModel():
            return value.model_dump()
        case dict():
            return {json.loads(json.dumps(k)) if isinstance(k, str) else json.dumps(k): plain(v) for k, v in value.items()}
        case _ if dataclasses.is_dataclass(value):
            return dataclasses.asdict(value)
    return value

pathlib.Path(sys.argv[3], "odd.json").write_text(json.dumps(plain(odd)) + "\n")
