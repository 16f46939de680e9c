# SPDX-License-Identifier: Apache-2.0
"""The program ``superstep``, which the native module contains."""

from __future__ import annotations

import signal
import sys

from . import _superstep


def main() -> None:
    """Runs the program with the arguments of this process."""
    # Python handles or ignores these signals; the program expects their default actions.
    for name in ("SIGINT", "SIGPIPE", "SIGXFSZ"):
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    sys.exit(_superstep.run_program(["superstep", *sys.argv[1:]]))
