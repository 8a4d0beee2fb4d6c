# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""Python files pass ruff, are laid out by it, and the package's types hold under mypy."""

from __future__ import annotations

import os
import subprocess

from .project import Project
from .tools import pinned


def check(project: Project) -> list[str]:
    ruff = pinned(project, "ruff")
    mypy = pinned(project, "mypy")
    files = [name for name in project.files if name.endswith(".py")]
    package = project.source / "backend/python"
    runs = [
        ("ruff check", [*ruff, "check", "--no-cache", "--quiet", "--output-format=concise", *files], project.source),
        ("ruff format", [*ruff, "format", "--no-cache", "--quiet", "--check", *files], project.source),
    ]
    if (package / "pyproject.toml").is_file():
        cache = project.build / "mypy_cache"
        runs.append(("mypy", [*mypy, "--cache-dir", os.fspath(cache), "--no-error-summary"], package))
    problems = []
    for what, command, folder in runs:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
            problems += [f"{what}: {line}" for line in lines[:60]] or [f"{what} ended with {done.returncode}"]
    return problems
