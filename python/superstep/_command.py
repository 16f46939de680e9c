# SPDX-License-Identifier: Apache-2.0
"""The program ``superstep``, which the wheel contains."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Replaces this process by the program."""
    program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "superstep")
    os.execv(program, [program, *sys.argv[1:]])
