# SPDX-License-Identifier: Apache-2.0
"""The agent of common.py with LangGraph, as a class for Ray's map_batches()."""

from __future__ import annotations

import re
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult

import common


class FakeModel(BaseChatModel):
    """Calls the tool `inc` for a question, and repeats its result."""

    @property
    def _llm_type(self) -> str:
        return "fake"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        last = messages[-1]
        if isinstance(last, ToolMessage):
            message = AIMessage(f"It is {last.content}.")
        else:
            found = re.search(r"(\d+) plus", str(last.content))
            assert found is not None
            call = {"name": "inc", "args": {"x": int(found[1])}, "id": "1", "type": "tool_call"}
            message = AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=message)])


class Agent:
    """Runs the rows of a block one after the other: on one core, threads do not make them faster."""

    def __init__(self) -> None:
        self._agent = create_agent(FakeModel(), tools=[common.inc])

    def __call__(self, block: dict[str, Any]) -> dict[str, Any]:
        block["answer"] = [self._answer(str(question)) for question in block["question"]]
        return block

    def _answer(self, question: str) -> str:
        result = self._agent.invoke({"messages": [{"role": "user", "content": question}]})
        return str(result["messages"][-1].content)
