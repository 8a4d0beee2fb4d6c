# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""C++ files are laid out as .clang-format says."""

from __future__ import annotations

import re
import subprocess

from .project import Project
from .tools import pinned


def check(project: Project) -> list[str]:
    tool = pinned(project, "clang-format")
    files = project.cpp_files()
    if not files:
        return []
    done = subprocess.run([*tool, "--dry-run", *files], cwd=project.source, capture_output=True, text=True, check=False)
    wrong = sorted(
        set(
            re.findall(r"^(\S+?):\d+:\d+: (?:warning|error): code should be clang-formatted", done.stderr, re.MULTILINE)
        )
    )
    problems = [f"{name}: not formatted; run ./dev format" for name in wrong]
    if done.returncode != 0 and not problems:
        problems.append(done.stderr.strip()[:500])
    return problems
