"""Programs of the build that measure and simulate a ledger, for the long checks."""
import json
import os
import pathlib
import subprocess
import sys

import jobs

AGENT = """\
name: answers
model: {provider: scripted, path: rules.yaml}
"""
ANSWER = "The answer is right. " * 12
RULES = f"""\
rules:
  - {{match: '.', text: '{ANSWER}'}}
"""


def built(name):
    """Returns a program of the tests."""
    found = pathlib.Path(jobs.program()).parents[1] / "tests" / name
    if not found.exists():
        sys.exit(f"{found} is missing: build the target {name}")
    return str(found)


def start(program, *arguments):
    return subprocess.Popen([built(program), *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, preexec_fn=jobs.end_with_parent)


def run(program, *arguments):
    """Runs a program of the tests. Returns what it has printed."""
    process = start(program, *arguments)
    text, errors = process.communicate()
    if process.returncode != 0:
        sys.exit(f"{program} ended with {process.returncode}: {text}{errors}")
    return text


def simulate(**options):
    """Simulates a fleet. Returns its figures after printing them."""
    text, figures = run("ledger_simulation", *(f"{name}={value}" for name, value in options.items())).splitlines()
    print(text, flush=True)
    return json.loads(figures)


def query(database, text):
    return subprocess.run(database.command("psql", "-X", "-A", "-t", "-h", database.folder, "-U", "postgres", "-c", text),
                          check=True, capture_output=True, text=True).stdout.strip()


def write_job(folder, name, rows):
    """Writes an agent whose scripted model answers at once, and an input file."""
    (folder / "agent.yaml").write_text(AGENT)
    (folder / "rules.yaml").write_text(RULES)
    with open(folder / f"{name}.jsonl", "w") as out:
        for i in range(rows):
            out.write(f'{{"id":"r{i}","messages":[{{"role":"user","content":"Is {i} right?"}}]}}\n')


def superstep(folder, *arguments):
    """Starts superstep in a folder."""
    with open(folder / "log", "a") as log:
        return subprocess.Popen([jobs.program(), *map(str, arguments)], cwd=folder, stdout=log, stderr=log,
                                preexec_fn=jobs.end_with_parent)


def wait(process, folder):
    """Waits for a process. Returns its seconds of processor time."""
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.exit(f"superstep ended with {process.returncode}: {(folder / 'log').read_text()[-800:]}")
    return used.ru_utime + used.ru_stime


def submit(database, folder, name, rows):
    """Stores a job of its own with so many rows."""
    write_job(folder, name, rows)
    wait(superstep(folder, "submit", "agent.yaml", "--input", f"{name}.jsonl", "--ledger", database.url(), "--job", name),
         folder)
    (folder / f"{name}.jsonl").unlink()


def worker(database, folder, name):
    return superstep(folder, "run", "--ledger", database.url(), "--job", name, "--progress", "none",
                     "--concurrency", CONCURRENCY)


CONCURRENCY = 256
COST_ROWS = 200_000


def statement_costs(database, folder, line_bytes):
    """Returns the seconds of the server for a commit, for a row of it, and for a row that is read."""
    submit(database, folder, "costs", COST_ROWS)
    commit, row, _, read = map(float, run("ledger_driver", "costs", database.url(), "costs", line_bytes).split())
    return {"statement_cost": commit / 1e6, "row_cost": row / 1e6, "read_cost": read / 1e6}
