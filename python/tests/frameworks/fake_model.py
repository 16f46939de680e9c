# SPDX-License-Identifier: Apache-2.0
"""A model for LangGraph that answers by a rule."""

from __future__ import annotations

import re
from typing import Any

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult


class FakeModel(BaseChatModel):
    """Calls a tool with the part of a question that matches, and puts the result of the tool in its answer."""

    pattern: str = r"weather in (\w+)"
    tool: str = "get_weather"
    argument: str = "city"
    answer: str = "{}"

    @property
    def _llm_type(self) -> str:
        return "fake"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        last = messages[-1]
        if isinstance(last, ToolMessage):
            message = AIMessage(self.answer.format(last.content))
        elif found := re.search(self.pattern, str(last.content)):
            call = {"name": self.tool, "args": {self.argument: found[1]}, "id": "1", "type": "tool_call"}
            message = AIMessage("", tool_calls=[call])
        else:
            message = AIMessage("I see.")
        return ChatResult(generations=[ChatGeneration(message=message)])
