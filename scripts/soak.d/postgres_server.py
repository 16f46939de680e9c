"""A PostgreSQL server of its own for a check, in a folder, with a Unix socket."""
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import sys
import time

START_S_MAX = 60


class PostgresServer:
    """It refuses to run as root, so it runs as the user `postgres` then. In some containers, only root may
    enter the folder `/`, so the server receives the capability to do so. access() respects it only with the
    bit no_setuid_fixup."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir()
        self.programs = max(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), default=None)
        if self.programs is None:
            sys.exit("PostgreSQL is not installed: scripts/test installs it")
        if os.geteuid() == 0:
            shutil.chown(self.folder, "postgres", "postgres")
        made = subprocess.run(self.command("initdb", "-D", self.folder / "data", "-U", "postgres", "-A", "trust",
                                           "-E", "UTF8", "--no-locale", "--no-sync"),
                              capture_output=True, text=True)
        if made.returncode != 0:
            sys.exit(f"initdb failed: {made.stderr}")
        self.start()

    def command(self, name, *arguments):
        become = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--pdeathsig=KILL"]
        if not os.stat("/").st_mode & stat.S_IXOTH:
            become += ["--securebits=+no_setuid_fixup", "--inh-caps=+dac_read_search",
                       "--ambient-caps=+dac_read_search"]
        return [*(become if os.geteuid() == 0 else []), str(self.programs / name), *map(str, arguments)]

    def url(self):
        return f"postgresql:///postgres?host={self.folder}&user=postgres"

    def start(self):
        self.process = subprocess.Popen(
            self.command("postgres", "-D", self.folder / "data", "-k", self.folder, "-c", "listen_addresses="),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + START_S_MAX
        while subprocess.run(self.command("pg_isready", "-q", "-h", self.folder)).returncode != 0:
            if time.monotonic() > end:
                self.process.kill()
                sys.exit("the PostgreSQL server does not start")
            time.sleep(0.1)

    def crash(self):
        """Stops the server at once, as `pg_ctl stop -m immediate` does."""
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait()

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        self.process.wait()
