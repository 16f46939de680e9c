# SPDX-License-Identifier: Apache-2.0
"""Fixtures: a model that calls a tool and repeats its result, and a database server."""

import os
import pathlib
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import textwrap
import time
from typing import TYPE_CHECKING, Any, Callable, Iterator

import pytest

import superstep as ss

if TYPE_CHECKING:
    from superstep.checkpoint.postgres import PostgresSaver

# A shell starts background jobs with SIGINT ignored, and child processes inherit that. Tests send the signal to them.
signal.signal(signal.SIGINT, signal.default_int_handler)

SCRIPT = r"""scripted:
rules:
  - {type: tool, text: '\0'}
  - {type: human, match: 'in (\w+)', calls: [{name: weather, args: {city: '\1'}}]}
default: {text: 'I do not know.'}
"""


@pytest.fixture
def script() -> str:
    """A model that asks the tool `weather` and answers with its result."""
    return SCRIPT


@pytest.fixture
def run_python() -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """Runs a program in a new interpreter."""

    def run(program: str, **options: Any) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-c", textwrap.dedent(program)],
            capture_output=True,
            text=True,
            timeout=options.pop("timeout", 300),
            **options,
        )

    return run


@pytest.fixture
def weather() -> "ss.Tool[..., str]":
    """A tool."""

    @ss.tool
    def weather(city: str) -> str:
        """Current weather in a city."""
        return f"It is sunny in {city}."

    return weather


def programs() -> "pathlib.Path | None":
    """Returns the folder with the programs of the newest server that is installed."""
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda p: int(p.parts[4]))
    return found[-1].parent if found else None


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    """The address of a PostgreSQL server without a network port."""
    bin = programs()
    if bin is None:
        pytest.skip("PostgreSQL is not installed")
    folder = tempfile.mkdtemp(prefix="superstep-pg-")  # short, because it contains a socket
    become = ["setpriv", "--pdeathsig=KILL"]
    if os.geteuid() == 0:
        become += ["--reuid=postgres", "--regid=postgres", "--clear-groups"]
        # In some containers, only root may enter the folder `/`. access() respects the capability to do
        # so only with the bit no_setuid_fixup.
        if not os.stat("/").st_mode & stat.S_IXOTH:
            become += ["--securebits=+no_setuid_fixup", "--inh-caps=+dac_read_search"]
            become += ["--ambient-caps=+dac_read_search"]
        shutil.chown(folder, "postgres", "postgres")
    environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}  # that of a sanitizer
    make = [f"{bin}/initdb", "-D", f"{folder}/data", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale"]
    subprocess.run([*become, *make, "--no-sync"], check=True, capture_output=True, env=environment)
    start = [f"{bin}/postgres", "-D", f"{folder}/data", "-k", folder, "-c", "listen_addresses="]
    with open(f"{folder}/log", "wb") as log:
        server = subprocess.Popen([*become, *start], stdout=log, stderr=log, env=environment)
    try:
        ready = [f"{bin}/pg_isready", "-q", "-h", folder]
        end = time.monotonic() + 60
        while subprocess.run(ready, env=environment).returncode != 0:
            assert time.monotonic() < end and server.poll() is None, pathlib.Path(folder, "log").read_text()
            time.sleep(0.05)
        yield f"postgresql:///postgres?host={folder}&user=postgres"
    finally:
        server.send_signal(signal.SIGINT)  # does not wait for clients
        server.wait(30)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def saver(url: str) -> "Iterator[PostgresSaver]":
    """A saver for LangGraph, if it is installed."""
    postgres = pytest.importorskip("superstep.checkpoint.postgres")
    with postgres.PostgresSaver.from_conn_string(url) as opened:
        yield opened
