# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""clang-tidy finds nothing that .clang-tidy lists, the lock annotations of backend/base/Mutex.h included."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .project import Project
from .tools import pinned

# Options that only g++ knows, where clang would stop; and -Werror: g++ judges the compiler's own warnings, here clang's
# would fail on deprecations inside the headers of libstdc++. What .clang-tidy lists stays an error.
_NOT_FOR_CLANG = ("-Winvalid-pch", "-fno-sanitize-recover=undefined", "-Werror")


def _database(project: Project, folder: Path) -> list[str]:
    """Writes a compile database for clang: no precompiled headers, no launcher. Returns the files in it."""
    entries = []
    for entry in json.loads((project.build / "compile_commands.json").read_text()):
        name = os.path.relpath(entry["file"], project.source)
        if name.startswith("..") or name.startswith("build/") or not name.endswith(".cpp"):
            continue
        words = [word for word in shlex.split(entry["command"]) if word not in _NOT_FOR_CLANG and "ccache" not in word]
        while "-include" in words:
            at = words.index("-include")
            del words[at : at + 2]
        entries.append(
            {"directory": entry["directory"], "file": entry["file"], "arguments": [*words, "-Wthread-safety"]}
        )
    (folder / "compile_commands.json").write_text(json.dumps(entries))
    return [entry["file"] for entry in entries]


def check(project: Project) -> list[str]:
    tool = pinned(project, "clang-tidy")
    with tempfile.TemporaryDirectory() as folder:
        files = _database(project, Path(folder))

        def tidy(file: str) -> list[str]:
            done = subprocess.run(
                [*tool, "-p", folder, "--quiet", f"--config-file={project.source / '.clang-tidy'}", file],
                capture_output=True,
                text=True,
                check=False,
            )
            found = re.findall(r"^.*: (?:error|warning): .*$", done.stdout, re.MULTILINE)
            if done.returncode != 0 and not found:
                found = [f"{file}: clang-tidy failed: {done.stderr.strip()[:300]}"]
            return found

        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            return sorted({problem for problems in pool.map(tidy, files) for problem in problems})
