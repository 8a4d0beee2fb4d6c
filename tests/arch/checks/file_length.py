# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""A file over the limit says at its top why it is long."""

from __future__ import annotations

from .project import Project

_LIMIT = 600
_REASON = "Longer than"


def check(project: Project) -> list[str]:
    problems = []
    for name in project.files:
        if not name.endswith((".h", ".cpp", ".py", ".cmake")):
            continue
        text = project.text(name)
        lines = text.count("\n")
        if lines > _LIMIT and _REASON not in "\n".join(text.splitlines()[:12]):
            problems.append(
                f"{name}: {lines} lines, the limit is {_LIMIT}; split it, or give the reason at its top in a comment "
                f"that starts with '{_REASON} {_LIMIT} lines:'"
            )
    return problems
