# SPDX-License-Identifier: Apache-2.0
"""The build backend: scikit-build-core, with source archives that contain the C++ library.

The library is in the folder above, which a source archive of this folder alone would lack.
"""

from __future__ import annotations

import pathlib
import re
import shutil
from typing import Any

from scikit_build_core import build as _scikit
from scikit_build_core.build import (  # noqa: F401  # the other hooks are unchanged
    build_editable,
    build_wheel,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

HERE = pathlib.Path(__file__).resolve().parent.parent
#: The copy of the library in a source archive. CMakeLists.txt uses it if it exists.
COPY = HERE / "tree"


def build_sdist(sdist_directory: str, config_settings: dict[str, Any] | None = None) -> str:
    """Builds a source archive."""
    if COPY.exists():  # this folder is itself a source archive
        return _scikit.build_sdist(sdist_directory, config_settings)
    try:
        _copy_tree(HERE.parent)
        return _scikit.build_sdist(sdist_directory, config_settings)
    finally:
        shutil.rmtree(COPY, ignore_errors=True)


def _copy_tree(tree: pathlib.Path) -> None:
    """Copies what CMake reads when tests, benchmarks and examples are not built."""
    cmake = (tree / "CMakeLists.txt").read_text(encoding="utf-8")
    components = re.search(r"set\(components ([^)]*)\)", cmake)
    if components is None:
        raise RuntimeError("CMakeLists.txt: the list of components was not found")
    COPY.mkdir()
    for name in ("CMakeLists.txt", "LICENSE"):
        shutil.copy(tree / name, COPY / name)
    for name in ("cmake", "include", "cli", *components[1].split()):
        if (tree / name).is_dir():
            shutil.copytree(tree / name, COPY / name)
    (COPY / "docs").mkdir()
    shutil.copy(tree / "docs" / "Doxyfile.in", COPY / "docs")
