# SPDX-License-Identifier: Apache-2.0
"""Runs the adapter on two worker processes of Dask."""

from __future__ import annotations

import os
import pathlib
from typing import Any

from distributed import Client, LocalCluster

import common

import superstep.dask

here = str(pathlib.Path(__file__).resolve().parent)


def identity(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**row, "answer": row["question"][:20]} for row in rows]


def main() -> None:
    os.environ["PYTHONPATH"] = here
    with LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1"
    ) as cluster, Client(cluster) as client:

        def rows_of(size: int) -> list[dict[str, Any]]:
            return [{"id": i, "question": common.question_of(i)} for i in range(size)]

        def job(size: int) -> None:
            futures = superstep.dask.map(
                client, file, rows_of(size), [common.inc], question="question"
            )
            done = [row for block in client.gather(futures) for row in block]
            common.check({row["id"]: row["answer"] for row in done}, size)

        def plain(size: int) -> None:
            rows = rows_of(size)
            blocks = [rows[i : i + 1_000] for i in range(0, size, 1_000)]
            client.gather([client.submit(identity, block, pure=False) for block in blocks])

        def kill_job(arguments: dict[str, Any]) -> dict[int, str]:
            futures = superstep.dask.map(
                client, rows=rows_of(common.KILL_ROWS), block_size=common.KILL_BLOCK, **arguments
            )
            done = [row for block in client.gather(futures) for row in block]
            assert len(done) == common.KILL_ROWS
            return {row["id"]: row["answer"] for row in done}

        file = common.agent_file()
        common.compare("dask", {"identity": plain, "agent": job})
        for kept in common.KEPT:
            common.with_kill("dask", kill_job, kept)


if __name__ == "__main__":
    main()
