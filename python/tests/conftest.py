# SPDX-License-Identifier: Apache-2.0
"""Fixtures: a model that calls a tool and repeats its result."""

import subprocess
import sys
import textwrap
from typing import Any, Callable

import pytest

import superstep as ss

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
            timeout=options.pop("timeout", 60),
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
