# SPDX-License-Identifier: Apache-2.0
"""Helpers of the tests of savers: threads, and checkpoints without a graph."""

import itertools
import uuid
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple, empty_checkpoint


def new_thread(**more: Any) -> RunnableConfig:
    return {"configurable": {"thread_id": str(uuid.uuid4()), **more}}


version = itertools.count(1)


def put(
    saver: BaseCheckpointSaver[Any], config: RunnableConfig, values: dict[str, Any], **metadata: Any
) -> RunnableConfig:
    checkpoint = empty_checkpoint()
    checkpoint["channel_values"] = values
    checkpoint["channel_versions"] = {k: saver.get_next_version(next(version), None) for k in values}
    config = {"configurable": {"checkpoint_ns": "", **config["configurable"]}}
    about: Any = {"source": "loop", "step": 1, **metadata}
    return saver.put(config, checkpoint, about, checkpoint["channel_versions"])


def get(saver: BaseCheckpointSaver[Any], config: RunnableConfig) -> CheckpointTuple:
    found = saver.get_tuple(config)
    assert found is not None
    return found
