# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""What every check reads: the source tree, and the layer and test tables that the configure step wrote."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)
_SKIPPED_FOLDERS = {".git", "build", ".venv", "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache"}


@dataclass(frozen=True)
class Layer:
    name: str
    folder: str
    executable: str
    licence: str
    built: bool
    may_use: tuple[str, ...]
    third_party: tuple[str, ...]
    sources: tuple[str, ...]


@dataclass(frozen=True)
class TestGroup:
    """The tests of one layer: what they may include beside tests/support."""

    layer: str
    visible: tuple[str, ...]
    third_party: tuple[str, ...]


@dataclass(frozen=True)
class Include:
    path: str
    is_system: bool
    line: int


class Project:
    def __init__(self, source: Path, build: Path) -> None:
        self.source = source
        self.build = build
        self._includes: dict[str, list[Include]] = {}
        table = json.loads((build / "layers.json").read_text())
        self.layers = {
            entry["name"]: Layer(
                entry["name"],
                entry["dir"],
                entry["executable"],
                entry["licence"],
                entry["built"],
                tuple(entry["may_use"]),
                tuple(entry["third_party"]),
                tuple(entry["sources"]),
            )
            for entry in table["layers"]
        }
        tests = json.loads((build / "tests.json").read_text())
        self.qt_headers = Path(tests["qt_headers"])
        self.python = tests["python"]
        self.tests_left_out = set(tests["left_out"])
        self.test_groups = {
            entry["layer"]: TestGroup(entry["layer"], tuple(entry["visible"]), tuple(entry["third_party"]))
            for entry in tests["groups"]
        }

    @cached_property
    def files(self) -> list[str]:
        """All files of the tree that git does not ignore, relative to the root."""
        if (self.source / ".git").exists():
            listed = subprocess.run(
                ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                cwd=self.source,
                capture_output=True,
                check=True,
            ).stdout.decode()
            return sorted(name for name in set(listed.split("\0")) if name and (self.source / name).is_file())
        found = []
        for path in self.source.rglob("*"):
            relative = path.relative_to(self.source)
            if path.is_file() and not _SKIPPED_FOLDERS.intersection(relative.parts):
                found.append(relative.as_posix())
        return sorted(found)

    def cpp_files(self) -> list[str]:
        return [name for name in self.files if name.endswith((".h", ".cpp"))]

    def text(self, name: str) -> str:
        return (self.source / name).read_text(encoding="utf-8", errors="replace")

    def includes(self, name: str) -> list[Include]:
        if name not in self._includes:
            self._includes[name] = self._read_includes(name)
        return self._includes[name]

    def _read_includes(self, name: str) -> list[Include]:
        text = self.text(name)
        return [
            Include(match.group(2), match.group(1) == "<", text.count("\n", 0, match.start()) + 1)
            for match in _INCLUDE.finditer(text)
        ]

    def layer_of(self, name: str) -> Layer | None:
        for layer in self.layers.values():
            if name.startswith(layer.folder + "/"):
                return layer
        return None

    def test_layer_of(self, name: str) -> str | None:
        """The layer whose tests the file belongs to; "support" for tests/support; None outside tests/."""
        parts = name.split("/")
        return parts[1] if len(parts) > 2 and parts[0] == "tests" else None
