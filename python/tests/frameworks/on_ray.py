# SPDX-License-Identifier: Apache-2.0
"""Runs the adapter in a Ray cluster of three node processes."""

from __future__ import annotations

import pathlib
from typing import Any

import pyarrow.compute
import ray
from ray.cluster_utils import Cluster

import common
import lang_agent

import superstep.ray

here = str(pathlib.Path(__file__).resolve().parent)


class Identity:
    def __call__(self, block: dict[str, Any]) -> dict[str, Any]:
        block["answer"] = [q[:20] for q in block["question"]]
        return block


class ArrowIdentity:
    def __call__(self, block: Any) -> Any:
        questions = block.column("question")
        return block.append_column("answer", pyarrow.compute.utf8_slice_codeunits(questions, 0, 20))


def job(
    kind: Any, size: int, arguments: dict[str, Any], block: int = 1_000, form: str = "numpy"
) -> dict[int, str]:
    rows = [{"id": i, "question": common.question_of(i)} for i in range(size)]
    data = ray.data.from_items(rows, override_num_blocks=max(1, size // block)).map_batches(
        kind, batch_size=block, batch_format=form, concurrency=2, fn_constructor_kwargs=arguments
    )
    answers: dict[int, str] = {}
    count = 0
    for made in data.iter_batches(batch_size=4_096):
        answers.update(zip(map(int, made["id"]), map(str, made["answer"])))
        count += len(made["id"])
    assert len(answers) == count == size
    return answers


def lose_node(cluster: Any, nodes: list[Any], notes: common.Notes) -> None:
    """Removes the node whose worker has noted the last call."""
    worker = notes.lines()[-1][0]
    parent = int(pathlib.Path(f"/proc/{worker}/stat").read_text().rpartition(")")[2].split()[1])
    for node in nodes:
        if node.all_processes["raylet"][0].process.pid == parent:
            cluster.remove_node(node)
            nodes.remove(node)
            return
    raise AssertionError(f"process {worker} is not a worker of a node")


def main() -> None:
    # No tasks run in the head, so that the loss of a node is the loss of a worker.
    node = {"num_cpus": 2, "object_store_memory": 200 << 20}
    cluster = Cluster(
        initialize_head=True,
        head_node_args={**node, "num_cpus": 0, "include_dashboard": False},
    )
    nodes = [cluster.add_node(**node) for _ in range(2)]
    ray.init(address=cluster.address, log_to_driver=False, runtime_env={"env_vars": {"PYTHONPATH": here}})
    ray.data.DataContext.get_current().enable_progress_bars = False
    print("nodes", len(ray.nodes()))
    arguments = {"agent": common.agent_file(), "tools": [common.inc], "question": "question"}
    try:
        slopes = common.compare(
            "ray",
            {
                "identity": lambda n: job(Identity, n, {}),
                "agent": lambda n: common.check(job(superstep.ray.Agent, n, arguments), n),
                "identity of Arrow tables": lambda n: job(ArrowIdentity, n, {}, form="pyarrow"),
                "agent with Arrow tables": lambda n: common.check(
                    job(superstep.ray.Agent, n, arguments, form="pyarrow"), n
                ),
            },
        )
        theirs = common.compare(
            "ray",
            {"LangGraph": lambda n: common.check(job(lang_agent.Agent, n, {}, n // 10), n)},
            (500, 1_500),
        )
        print(f"ray: LangGraph costs {theirs['LangGraph'] / slopes['agent']:.0f} times as much", flush=True)

        def kill_job(arguments: dict[str, Any]) -> dict[int, str]:
            return job(superstep.ray.Agent, common.KILL_ROWS, arguments, common.KILL_BLOCK)

        for kept in common.KEPT:
            common.with_kill("ray, map worker", kill_job, kept)
        for kept in common.KEPT:
            common.with_kill(
                "ray, node", kill_job, kept, lambda notes: lose_node(cluster, nodes, notes)
            )
            nodes.append(cluster.add_node(**node))
    finally:
        ray.shutdown()
        cluster.shutdown()


if __name__ == "__main__":
    main()
