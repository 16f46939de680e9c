# SPDX-License-Identifier: Apache-2.0
"""Runs the adapter in a Ray cluster of three node processes."""

from __future__ import annotations

import os
import pathlib
import sys
from typing import Any

here = str(pathlib.Path(__file__).resolve().parent)
sys.path = [p for p in sys.path if os.path.abspath(p or ".") != here]  # this file is named ray.py

import ray  # noqa: E402
from ray.cluster_utils import Cluster  # noqa: E402

sys.path.append(here)

import common  # noqa: E402

import superstep.ray  # noqa: E402


class Identity:
    def __call__(self, block: dict[str, Any]) -> dict[str, Any]:
        block["answer"] = [q[:20] for q in block["question"]]
        return block


def job(kind: Any, size: int, arguments: dict[str, Any]) -> dict[int, str]:
    rows = [{"id": i, "question": common.question_of(i)} for i in range(size)]
    data = ray.data.from_items(rows).map_batches(
        kind, batch_size=1_000, concurrency=2, fn_constructor_kwargs=arguments
    )
    answers: dict[int, str] = {}
    for block in data.iter_batches(batch_size=4_096):
        answers.update(zip(map(int, block["id"]), map(str, block["answer"])))
    assert len(answers) == size
    return answers


def main() -> None:
    store = 200 * 1024 * 1024
    cluster = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 2, "include_dashboard": False, "object_store_memory": store},
    )
    for _ in range(2):
        cluster.add_node(num_cpus=2, object_store_memory=store)
    ray.init(address=cluster.address, log_to_driver=False, runtime_env={"env_vars": {"PYTHONPATH": here}})
    ray.data.DataContext.get_current().enable_progress_bars = False
    print("nodes", len(ray.nodes()))
    arguments = {"agent": common.agent_file(), "tools": [common.inc], "question": "question"}
    try:
        identity = common.slope("ray, identity", lambda n: job(Identity, n, {}))
        agent = common.slope(
            "ray, agent with a Python tool",
            lambda n: common.check(job(superstep.ray.Agent, n, arguments), n),
        )
        print(f"ratio {agent / identity:.2f}")
    finally:
        ray.shutdown()
        cluster.shutdown()


if __name__ == "__main__":
    main()
