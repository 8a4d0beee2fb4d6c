# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""The written table has arrows to earlier layers only. The configure step refuses anything else; this reads what it wrote."""

from __future__ import annotations

from .project import Project


def check(project: Project) -> list[str]:
    problems = []
    seen: set[str] = set()
    for layer in project.layers.values():
        problems += [
            f"layer {layer.name} uses {used}, which is not declared above it"
            for used in layer.may_use
            if used not in seen
        ]
        seen.add(layer.name)
        if not (project.source / layer.folder / "CMakeLists.txt").is_file():
            problems.append(f"layer {layer.name}: {layer.folder}/CMakeLists.txt is missing")
    return problems
