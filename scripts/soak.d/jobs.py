"""Jobs of `superstep run` for the long checks, whose tool appends to a log, and checks of results."""
import ctypes
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys

PR_SET_PDEATHSIG = 1
PARENT = os.getpid()

# A check that is terminated removes its temporary folders first.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


LIBC = ctypes.CDLL(None)  # loaded before a limit of memory or descriptors


def end_with_parent():
    """Kills this process when its parent ends. Called in new children (preexec_fn).

    The kernel forgets this when the user of the process changes."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != PARENT:  # it has ended before
        os._exit(1)


def program():
    root = pathlib.Path(__file__).resolve().parents[2]
    folder = pathlib.Path(os.environ.get("SUPERSTEP_BIN_DIR", root / "build/release/bin"))  # set by ctest
    found = pathlib.Path(os.environ.get("SUPERSTEP_PROGRAM", folder / "superstep"))
    if not found.exists():
        sys.exit(f"{found} is missing: build it first, or set SUPERSTEP_PROGRAM")
    return str(found)


def chat_server():
    """The model server of the tests; SUPERSTEP_CHAT_SERVER names another."""
    default = pathlib.Path(program()).parents[1] / "tests/chat_server"
    return os.environ.get("SUPERSTEP_CHAT_SERVER", str(default))


class Job:
    """A job in its own folder. Each row calls the tool twice and then answers.

    If `forks` is false, each tool is a single process. A shell that cannot fork would print an error,
    which would become part of the tool's result.
    """

    def __init__(self, folder, rows, effects="journaled", latency_ms=5, tool_s="0.01", record=None,
                 forks=True):
        self.folder = pathlib.Path(folder)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        self.log = self.folder / "effects"
        self.output = self.folder / "out.jsonl"
        self.rows = rows
        said = f"sleep {tool_s}; echo noted" if forks else f"echo noted; exec sleep {tool_s}"
        script = f'echo "$SUPERSTEP_RUN_KEY $SUPERSTEP_TOOL_CALL_ID" >> {self.log}; {said}'
        command = {"name": "note", "description": "notes", "argv": ["sh", "-c", script]}
        if effects:
            command["effects"] = effects
        model = {"provider": "recorded", "path": "turns.jsonl", "latency_ms": latency_ms}
        if record:
            model["record"] = str(record)
        self.write("agent.yaml", json.dumps({"name": "noting", "model": model,
                                             "tools": [{"command": command}]}))
        lines, turns = "", ""
        for i in range(rows):
            key = f"row-{i}"
            lines += json.dumps({"id": key, "messages": [{"role": "user", "content": f"note {key}"}]}) + "\n"
            said = [{"role": "assistant", "content": "", "tool_calls": [
                {"id": f"c{turn}", "type": "function", "function": {"name": "note", "arguments": "{}"}}]}
                for turn in range(2)]
            said.append({"role": "assistant", "content": "Noted. " + "x" * 300})
            turns += json.dumps({"id": key, "turns": said}) + "\n"
        self.write("in.jsonl", lines)
        self.write("turns.jsonl", turns)

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def arguments(self, *more):
        return [program(), "run", "agent.yaml", "-i", "in.jsonl", "-o", "out.jsonl", "--progress", "none",
                *more]

    def start(self, *more, preexec_fn=None, **options):
        def begin():
            end_with_parent()
            if preexec_fn:
                preexec_fn()
        return subprocess.Popen(self.arguments(*more), cwd=self.folder, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, text=True, errors="replace",
                                preexec_fn=begin, **options)

    def run(self, *more, timeout=120, **options):
        child = self.start(*more, **options)
        try:
            text, _ = child.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            child.kill()
            text, _ = child.communicate()
            return "hangs", text
        return child.returncode, text

    def found_rows(self):
        """Returns the rows by key, without members that differ between runs. A repeated key is an error."""
        out = {}
        for line in self.output.read_text().splitlines():
            row = json.loads(line)
            for name in ("wall_ms", "barrier_wait_ms", "attempt", "job_id"):
                row.pop(name, None)
            if out.setdefault(row["id"], row) is not row:
                raise AssertionError(f"{row['id']} is in the output twice")
        return out

    def effects(self):
        """Returns the number of effects of each call of each row."""
        out = {}
        if self.log.exists():
            for line in self.log.read_text().split("\n"):
                if line:
                    out[line] = out.get(line, 0) + 1
        return out

    def check(self, expected, at_most_once=True):
        """Returns the faults of a finished job, and the number of calls with an unknown outcome."""
        rows = self.found_rows()
        faults, unknown = [], 0
        for key, want in expected.items():
            have = rows.get(key)
            if have is None:
                faults.append(f"{key} is missing")
                continue
            # A journaled call that was running when its process was killed is not repeated.
            asked = json.dumps(have)
            if "is not known" in asked:
                unknown += asked.count("is not known")
                have, want = have["output"]["messages"][-1], want["output"]["messages"][-1]
            if have != want:
                faults.append(f"{key} differs: {first_difference(json.dumps(have), json.dumps(want))}")
        faults += [f"{key} is not a row of the job" for key in rows if key not in expected]
        if at_most_once:
            faults += self.doubled()
        return faults, unknown

    def doubled(self):
        """Returns the calls that had their effect more than once."""
        return [f"{call}: {count} effects" for call, count in self.effects().items() if count > 1]


def first_difference(have, want):
    """The parts of two texts from shortly before the place where they differ."""
    at = max(len(os.path.commonprefix([have, want])) - 40, 0)
    return f"{have[at:at + 300]} != {want[at:at + 300]}"


def expected_rows(folder, rows):
    job = Job(folder, rows, tool_s="0")
    code, text = job.run()
    if code != 0:
        sys.exit(f"the uninterrupted job ended with {code}: {text}")
    return job.found_rows()


def processes_in(folder):
    """Returns the processes with this working directory: a job, its guard and tools."""
    out = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                if os.readlink(entry / "cwd") == str(folder):
                    line = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
                    out.append((int(entry.name), line.decode(errors="replace")[:200]))
            except OSError:
                continue
    return out


def seeded(seed, number):
    return random.Random(seed * 1_000_003 + number)
