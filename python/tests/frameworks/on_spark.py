# SPDX-License-Identifier: Apache-2.0
"""Runs the adapter in a local Spark cluster of two workers."""

from __future__ import annotations

import os
import pathlib
import sys
from typing import Any, Iterator

here = str(pathlib.Path(__file__).resolve().parent)
os.environ["PYSPARK_PYTHON"] = sys.executable
os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"

from pyspark.sql import SparkSession  # noqa: E402

import common  # noqa: E402

import superstep.spark  # noqa: E402


def identity(blocks: Iterator[Any]) -> Iterator[Any]:
    for block in blocks:
        yield block.assign(answer=[q[:20] for q in block.question])


def main() -> None:
    spark = (
        SparkSession.builder.master("local-cluster[2,1,1024]")
        .config("spark.executorEnv.PYTHONPATH", here)
        .config("spark.ui.enabled", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    def mapped(**settings: Any) -> Any:
        return superstep.spark.map(common.agent_file(), [common.inc], question="question", **settings)

    def job(run: Any, size: int, schema: str, parts: int = 4, form: str = "mapInPandas") -> dict[int, str]:
        text = "concat('What is ', id, ' plus 1? ', repeat('x', 200)) as question"
        frame = spark.range(size).selectExpr("id", text).repartition(parts)
        rows = getattr(frame, form)(run, schema).select("id", "answer").collect()
        assert len(rows) == size
        return {row.id: row.answer for row in rows}

    plain = "id long, question string, answer string"
    agent = superstep.spark.schema("id long, question string")
    job(identity, 1_000, plain)

    def agent_job(form: str, schema: str, **settings: Any) -> common.Job:
        function = mapped(**settings)
        return lambda n: common.check(job(function, n, schema, form=form), n)

    answers = {"columns": ["answer"]}  # the columns of the first job
    common.compare(
        "spark",
        {
            "identity": lambda n: job(identity, n, plain),
            "mapInPandas, answers": agent_job("mapInPandas", plain, **answers),
            "mapInArrow, answers": agent_job("mapInArrow", plain, **answers),
            "mapInPandas, all columns": agent_job("mapInPandas", agent),
            "mapInArrow, all columns": agent_job("mapInArrow", agent),
        },
    )
    parts = common.KILL_ROWS // common.KILL_BLOCK
    for kept in common.KEPT:
        common.with_kill(
            "spark",
            lambda arguments: job(superstep.spark.map(**arguments), common.KILL_ROWS, agent, parts),
            kept,
        )
    spark.stop()


if __name__ == "__main__":
    main()
