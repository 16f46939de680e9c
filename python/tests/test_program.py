# SPDX-License-Identifier: Apache-2.0
"""The program `superstep` of the wheel, and what the wheel loads."""

import json
import os
import pathlib
import signal
import subprocess
import sys
from typing import Any

import superstep as ss

PROGRAM = [sys.executable, "-c", "from superstep._command import main; main()"]


def run(*arguments: str, **options: Any) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([*PROGRAM, *arguments], capture_output=True, text=True, timeout=60, **options)


def test_program_runs_a_job(tmp_path: pathlib.Path) -> None:
    (tmp_path / "agent.yaml").write_text(
        "name: a\nmodel: {provider: scripted, path: rules.yaml}\n"
        "input: {messages: [{role: user, content: '{{n}}'}]}\n"
    )
    (tmp_path / "rules.yaml").write_text("rules:\n  - {type: human, match: '(.*)', text: 'got \\1'}\n")
    (tmp_path / "in.jsonl").write_text("".join(f'{{"n": "{i}"}}\n' for i in range(20)))
    done = run("run", "agent.yaml", "-i", "in.jsonl", "-o", "out.jsonl", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = map(json.loads, (tmp_path / "out.jsonl").read_text().splitlines())
    answers = [row["output"]["messages"][-1]["content"] for row in rows]
    assert sorted(answers) == sorted(f"got {i}" for i in range(20))


def test_program_has_version_and_exit_codes() -> None:
    assert run("--version").stdout == f"superstep {ss.__version__}\n"
    wrong = run("run", "--no-such-option")
    assert wrong.returncode == 1 and "--no-such-option" in wrong.stderr


def test_program_ends_when_its_reader_has_ended() -> None:
    # The interpreter ignores SIGPIPE; the program must not inherit that.
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer) as closed:
        done = subprocess.run([*PROGRAM, "--help"], stdout=closed, stderr=subprocess.PIPE, timeout=60)
    assert (done.returncode, done.stderr) == (-signal.SIGPIPE, b"")


def test_wheel_loads_libpq_only_for_ledgers(run_python: Any, tmp_path: pathlib.Path) -> None:
    if pathlib.Path("/proc/self/maps").exists():
        loaded = run_python("import superstep; print(open('/proc/self/maps').read())").stdout
        assert "_superstep" in loaded and "libpq" not in loaded and "libgnutls" not in loaded
    done = run("jobs", "list", "--ledger", f"postgresql://{tmp_path}/none?host={tmp_path}")
    assert done.returncode != 0 and ("PGSQL" in done.stderr or "libpq.so.5 was not found" in done.stderr)
