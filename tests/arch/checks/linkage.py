# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""What the built programs need at run time: LibTorch only in the worker and tests of it, Qt Widgets only where windows are."""

from __future__ import annotations

import re
import subprocess

from .project import Project

_NEEDED = re.compile(r"\(NEEDED\)[^\[]*\[([^\]]+)\]")
_TORCH = re.compile(r"lib(torch\w*|c10\w*)\.so")
_WIDGETS = re.compile(r"lib(Qt6Widgets|qcustomplot\w*|QCustomPlot\w*)\.so", re.IGNORECASE)
_QT = re.compile(r"libQt6\w+\.so")


def _programs(project: Project) -> dict[str, set[str]]:
    """Program name -> libraries of the layer table that it may need."""
    allowed = {
        layer.executable: _with_used(project, [layer.name]) for layer in project.layers.values() if layer.executable
    }
    for group in project.test_groups.values():
        allowed[f"tests_{group.layer}"] = set(group.third_party) | _with_used(project, list(group.visible)) | {"qtcore"}
    return allowed


def _with_used(project: Project, names: list[str]) -> set[str]:
    libraries: set[str] = set()
    pending = list(names)
    while pending:
        layer = project.layers[pending.pop()]
        libraries.update(layer.third_party)
        pending += layer.may_use
    return libraries


def check(project: Project) -> list[str]:
    problems = []
    for program, allowed in _programs(project).items():
        path = project.build / "bin" / program
        if not path.is_file():
            continue
        answer = subprocess.run(["readelf", "-d", str(path)], capture_output=True, text=True, check=True).stdout
        for library in _NEEDED.findall(answer):
            if _TORCH.match(library) and "torch" not in allowed:
                problems.append(f"bin/{program} needs {library}: only the worker and tests of the engine link LibTorch")
            if _WIDGETS.match(library) and "qtwidgets" not in allowed:
                problems.append(f"bin/{program} needs {library}: only programs with windows link it")
            if _QT.match(library) and not any(key.startswith("qt") for key in allowed):
                problems.append(f"bin/{program} needs {library}: this program is free of Qt")
    return problems
