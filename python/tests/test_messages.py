# SPDX-License-Identifier: Apache-2.0
"""The reducer add_messages, and messages of LangChain."""

from typing import Any

import pytest
from langchain_core.messages import AIMessageChunk, HumanMessage, RemoveMessage

import superstep as ss

A = {"role": "user", "content": "a", "id": "1"}
B = {"role": "user", "content": "b", "id": "2"}


def contents(messages: list[Any]) -> list[str]:
    return [m["content"] for m in messages]


@pytest.mark.parametrize("remove", [RemoveMessage(id="1"), {"role": "remove", "id": "1"}])
def test_remove_deletes_the_message_with_its_id(remove: Any) -> None:
    assert ss.add_messages([A, B], [remove]) == [B]
    assert contents(ss.add_messages([A, B], [remove, {**A, "content": "c"}])) == ["c", "b"]
    with pytest.raises(ValueError, match="no message with the id '1' can be removed"):
        ss.add_messages([B], [remove])


def test_remove_all_keeps_what_follows() -> None:
    assert ss.add_messages([A], ["x", RemoveMessage(id="__remove_all__"), B]) == [B]


def test_remove_all_ignores_what_precedes() -> None:
    everything = RemoveMessage(id="__remove_all__")
    assert ss.add_messages([A], [RemoveMessage(id="unknown"), everything, B]) == [B]
    assert ss.add_messages([A], [B, everything, "x", everything]) == []


def test_message_objects_are_replaced_by_id() -> None:
    assert contents(ss.add_messages([HumanMessage("a", id="1")], [HumanMessage("b", id="1")])) == ["b"]


def test_lists_of_two_texts_are_messages() -> None:
    assert ss.add_messages([], [["user", "hi"]]) == [{"role": "user", "content": "hi"}]
    agent = ss.create_agent(lambda messages, tools: messages[-1]["content"])
    assert agent.invoke({"messages": [["user", "hi"]]}).text == "hi"


def test_sum_of_chunks_is_a_message() -> None:
    whole = AIMessageChunk(content="a", id="1") + AIMessageChunk(content="b", id="1")
    (merged,) = ss.add_messages([], [whole])
    assert (merged["type"], merged["content"]) == ("ai", "ab")
    agent = ss.create_agent(lambda messages, tools: messages[1]["type"])
    assert agent.invoke([HumanMessage("q"), whole, HumanMessage("r")]).text == "ai"
