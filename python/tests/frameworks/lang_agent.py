# SPDX-License-Identifier: Apache-2.0
"""The agent of common.py with LangGraph, as a class for Ray's map_batches()."""

from __future__ import annotations

from typing import Any

from langchain.agents import create_agent

import common
from fake_model import FakeModel


class Agent:
    """Runs the rows of a block one after the other: on one core, threads do not make them faster."""

    def __init__(self) -> None:
        model = FakeModel(pattern=r"(\d+) plus", tool="inc", argument="x", answer="It is {}.")
        self._agent = create_agent(model, tools=[common.inc])

    def __call__(self, block: dict[str, Any]) -> dict[str, Any]:
        block["answer"] = [self._answer(str(question)) for question in block["question"]]
        return block

    def _answer(self, question: str) -> str:
        result = self._agent.invoke({"messages": [{"role": "user", "content": question}]})
        return str(result["messages"][-1].content)
