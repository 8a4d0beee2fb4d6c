# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""The table of layers in ARCHITECTURE.md says what cmake/LayerTable.cmake says, in the same order."""

from __future__ import annotations

import re

from .project import Project


def check(project: Project) -> list[str]:
    written: dict[str, list[str]] = {}
    for line in project.text("ARCHITECTURE.md").splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("|") and len(cells) == 4 and re.fullmatch(r"[a-z]+", cells[0]) and cells[0] != "layer":
            written[cells[0]] = cells[2].split()
    problems = []
    if list(written) != list(project.layers):
        problems.append(
            f"ARCHITECTURE.md lists the layers {' '.join(written)}, the build has {' '.join(project.layers)}"
        )
    for name, layer in project.layers.items():
        if name in written and sorted(written[name]) != sorted(layer.may_use):
            problems.append(
                f"ARCHITECTURE.md says that {name} may use '{' '.join(written[name])}', the build says "
                f"'{' '.join(layer.may_use)}'"
            )
    return problems
