# SPDX-License-Identifier: Apache-2.0
"""Runs the examples of docs/python.md and of both README pages, with a scripted model."""

import os
import pathlib
import re
from typing import Any

import pytest

import superstep as ss

SOURCE = pathlib.Path(os.environ.get("SUPERSTEP_SOURCE_DIR", pathlib.Path(__file__).parents[2]))

SCRIPT = r"""scripted:
rules:
  - {type: tool, text: '\0'}
  - {type: human, match: 'eather in (\w+)', calls: [{name: TOOL, args: {city: '\1'}}]}
default: {text: 'I see.'}
"""

EXPECTED = {
    "README.md: 0": "It is sunny in Rome.\n",
    "python/README.md: 0": "It is sunny in Rome.\n",
    "python/README.md: 1": "You said: Hi!\n",
    "docs/python.md: 0": "It is sunny in Rome.\n",
    "docs/python.md: 1": "You said: Hi!\n",
    "docs/python.md: 2": "It's always sunny in Paris!\n",
    "docs/python.md: 3": "['Draft 1 about cats', 'Draft 2 about cats', 'Draft 3 about cats']\n",
    "docs/python.md: 4": "4 I see.\n",
    "docs/python.md: 5": "{'please check': 'draft'}\nfinal\n",
    "docs/python.md: 6": "['A joke about cats', 'A joke about dogs']\n",
    "docs/python.md: 7": "",
    "docs/python.md: 8": "I see.\n",
    "docs/python.md: 9": "I see.\n",
    "docs/python.md: 10": "not available: http://example.org\n",
    "docs/python.md: 11": "['The sky is blue.']\n",
    "docs/python.md: 12": "Cart(items=['apple'])\n",
}


def examples() -> list[Any]:
    out = []
    for page in ("README.md", "python/README.md", "docs/python.md"):
        text = (SOURCE / page).read_text(encoding="utf-8")
        blocks = re.findall(r"(<!-- not run -->\n)?```python\n(.*?)```", text, flags=re.DOTALL)
        shown = [code for skipped, code in blocks if not skipped]
        out += [pytest.param(code, id=f"{page}: {i}") for i, code in enumerate(shown)]
    return out


@pytest.mark.parametrize("code", examples())
def test_example_prints_its_result(
    code: str,
    request: pytest.FixtureRequest,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: pathlib.Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    tool = "get_weather" if "get_weather" in code else "weather"
    script = SCRIPT.replace("TOOL", tool)
    assert code.count("openai:gpt-4o-mini") <= 1
    exec(compile(code.replace('"openai:gpt-4o-mini"', "SCRIPT"), "example", "exec"), {"SCRIPT": script})
    assert capsys.readouterr().out == EXPECTED[request.node.callspec.id]


def test_every_expected_example_exists() -> None:
    assert {p.id for p in examples()} == set(EXPECTED)


def test_names_of_the_page_exist() -> None:
    page = (SOURCE / "docs/python.md").read_text(encoding="utf-8")
    names = set(re.findall(r"\bss\.(\w+)", page))
    assert len(names) > 10 and all(hasattr(ss, name) for name in names)
