# SPDX-License-Identifier: Apache-2.0
"""Limits per minute that processes share in PostgreSQL (`limits.share`)."""

import json
import os
import pathlib
import subprocess
import sys
import textwrap
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Iterator

import pytest

import superstep as ss


@pytest.fixture
def scripted(tmp_path: pathlib.Path, url: str) -> str:
    """An agent file with a scripted model and a shared limit of 10 requests per second."""
    (tmp_path / "rules.yaml").write_text("default: {text: ok}\n")
    model = f"{{provider: scripted, path: {tmp_path}/rules.yaml}}"
    return f"name: helper\nmodel: {model}\nlimits: {{rpm: 600, share: '{url}'}}\n"


WORKER = """
import sys, time
import superstep as ss
agent = ss.Agent.from_text(sys.stdin.read())
begin = time.monotonic()
rows = agent.batch(["q"] * 40, concurrency=4)
print(begin, time.monotonic(), sum(row.answer == "ok" for row in rows))
"""


def test_processes_use_a_limit_together(scripted: str) -> None:
    def work(seen: list[list[float]]) -> None:
        done = subprocess.run([sys.executable, "-c", WORKER], input=scripted, capture_output=True, text=True)
        seen.append(list(map(float, done.stdout.split())))

    seen: list[list[float]] = []
    threads = [threading.Thread(target=work, args=[seen]) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    begin, end, answered = zip(*seen)
    assert answered == (40, 40)
    # 80 requests, of which 10 per second are allowed. Each process alone would need 4 seconds.
    assert max(end) - min(begin) >= 6.0, seen


FORK = """
import os, sys
import superstep as ss
agent = ss.Agent.from_text(sys.stdin.read())
print(agent.invoke("q").text, flush=True)
child = os.fork()
if child == 0:
    if sys.argv[1] == "use":
        print(agent.invoke("q").text, flush=True)
    sys.exit(0)  # the interpreter of the child destroys its objects
print(os.waitpid(child, 0)[1], agent.invoke("q").text)
"""


def run_fork(agent: str, use: str) -> str:
    options = ["-W", "ignore::DeprecationWarning", "-c", textwrap.dedent(FORK), use]
    done = subprocess.run(
        [sys.executable, *options], input=agent, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(("use", "out"), [("use", "ok\nok\n0 ok\n"), ("leave", "ok\n0 ok\n")])
def test_forked_child_asks_for_its_own_share(scripted: str, use: str, out: str) -> None:
    assert run_fork(scripted, use) == out


class Provider(BaseHTTPRequestHandler):
    """Answers chat completions."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        message = {"role": "assistant", "content": "ok"}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        body = json.dumps({"id": "1", "object": "chat.completion", "choices": [choice]}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


def test_forked_child_of_a_provider_asks_for_its_own_share(url: str) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        address = f"http://127.0.0.1:{server.server_address[1]}/v1"
        model = f"{{provider: openai, model: m, base_url: '{address}', api_key_env: ''}}"
        agent = f"name: helper\nmodel: {model}\nlimits: {{rpm: 600, share: '{url}'}}\n"
        assert run_fork(agent, "use") == "ok\nok\n0 ok\n"
    finally:
        server.shutdown()
        server.server_close()


def test_unreachable_database_is_an_error_of_the_file(tmp_path: pathlib.Path) -> None:
    (tmp_path / "rules.yaml").write_text("default: {text: ok}\n")
    model = f"{{provider: scripted, path: {tmp_path}/rules.yaml}}"
    share = f"postgresql:///none?host={tmp_path}"
    # A system without libpq cannot open any database.
    with pytest.raises((ValueError, RuntimeError), match="limits.share: |libpq.so.5 was not found"):
        ss.Agent.from_text(f"name: helper\nmodel: {model}\nlimits: {{rpm: 600, share: '{share}'}}\n")
