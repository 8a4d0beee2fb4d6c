# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""Every header compiles alone.

A header with a .cpp of the same name is proven by the build, because that .cpp includes it first (include_arrows holds
that). The others are compiled here, with the flags of their layer.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .project import Project


def compile_commands(project: Project) -> dict[str, tuple[list[str], str]]:
    """Target name -> (compile command without input and output, working folder)."""
    commands: dict[str, tuple[list[str], str]] = {}
    for entry in json.loads((project.build / "compile_commands.json").read_text()):
        words = shlex.split(entry["command"])
        output = words[words.index("-o") + 1]
        target = next((part.removesuffix(".dir") for part in Path(output).parts if part.endswith(".dir")), "")
        kept: list[str] = []
        skip = 0
        for word in words:
            if skip:
                skip -= 1
            elif word in ("-o", "-c", "-include", "-MF", "-MT"):
                skip = 1
            elif word not in ("-Winvalid-pch", "-MD"):
                kept.append(word)
        if Path(kept[0]).name == "ccache":
            kept = kept[1:]
        commands.setdefault(target, (kept, entry["directory"]))
    return commands


def _target_of(project: Project, name: str) -> str:
    layer = project.layer_of(name)
    tested = project.test_layer_of(name)
    return f"ml_{layer.name}" if layer is not None else "ml_test_support" if tested == "support" else f"tests_{tested}"


def headers_without_source(project: Project) -> list[str]:
    return [
        name
        for name in project.cpp_files()
        if name.endswith(".h") and not (project.source / (name.removesuffix(".h") + ".cpp")).is_file()
    ]


def check(project: Project) -> list[str]:
    return compile_alone(project, headers_without_source(project))


def compile_alone(project: Project, names: list[str]) -> list[str]:
    """The headers among `names` that do not compile by themselves, one sentence each."""
    commands = compile_commands(project)

    def compile_one(name: str) -> str | None:
        target = _target_of(project, name)
        if target not in commands:
            layer = project.layer_of(name)
            users = [
                other.name for other in project.layers.values() if layer is not None and layer.name in other.may_use
            ]
            target = next((f"ml_{user}" for user in users if f"ml_{user}" in commands), "")
        if not target:
            return None
        command, folder = commands[target]
        source = f'#include "{project.source / name}"\n'
        done = subprocess.run(
            [*command, "-x", "c++", "-fsyntax-only", "-"],
            cwd=folder,
            input=source,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode == 0:
            return None
        first = next((line for line in done.stderr.splitlines() if "error:" in line), done.stderr.strip()[:300])
        return f"{name}: does not compile alone: {first}"

    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        return [problem for problem in pool.map(compile_one, names) if problem is not None]
