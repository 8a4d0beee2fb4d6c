# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""Finds the pinned tools of requirements/development.txt: beside the project's Python, else on PATH."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from .project import Project


class ToolMissing(Exception):
    """The pinned version of a tool is not installed; the check is shown as skipped."""


def pinned(project: Project, tool: str) -> list[str]:
    """The command of `tool` in exactly the version that the requirements pin."""
    requirements = project.text("requirements/development.txt")
    match = re.search(rf"^{re.escape(tool)}==(\S+)", requirements, re.MULTILINE)
    if match is None:
        raise ToolMissing(f"requirements/development.txt does not pin {tool}")
    beside = str(Path(project.python).parent / tool) if project.python else ""
    for candidate in (beside, shutil.which(tool) or ""):
        if candidate and Path(candidate).is_file():
            version = subprocess.run([candidate, "--version"], capture_output=True, text=True, check=False).stdout
            if re.search(rf"\b{re.escape(match.group(1))}\b", version):
                return [candidate]
    raise ToolMissing(f"{tool} {match.group(1)} is not installed; ./dev setup installs it")
