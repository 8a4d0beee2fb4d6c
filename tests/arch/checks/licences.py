# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""Every file names its licence, and the right one: GPL where QCustomPlot is linked, MIT everywhere else."""

from __future__ import annotations

import fnmatch
import re
import tomllib

from .project import Project

_COPYRIGHT = "SPDX-FileCopyrightText: 2026 The ModuleLens authors"
_LICENCE = re.compile(r"SPDX-License-Identifier: ([\w.+-]+)")
_GPL = "GPL-3.0-or-later"


def _expected(project: Project, name: str) -> str:
    layer = project.layer_of(name)
    if layer is not None:
        return layer.licence
    group = project.test_groups.get(project.test_layer_of(name) or "")
    if group is not None and any(project.layers[used].licence == _GPL for used in group.visible):
        return _GPL
    if name.startswith("tests/bench/") and name.endswith(".cpp"):
        shown = [project.layer_of(include.path) for include in project.includes(name)]
        return _GPL if any(used is not None and used.licence == _GPL for used in shown) else "MIT"
    tested = project.layers.get(project.test_layer_of(name) or "")
    return tested.licence if tested is not None else "MIT"


def _annotations(project: Project) -> list[tuple[list[str], str]]:
    """Files that cannot carry a comment: REUSE.toml names their licence. Later entries win."""
    path = project.source / "REUSE.toml"
    if not path.is_file():
        return []
    entries = []
    for entry in tomllib.loads(path.read_text())["annotations"]:
        paths = entry["path"] if isinstance(entry["path"], list) else [entry["path"]]
        entries.append((paths, entry["SPDX-License-Identifier"]))
    return entries


def check(project: Project) -> list[str]:
    problems = []
    annotations = _annotations(project)
    for name in project.files:
        if name.startswith("LICENSES/"):
            continue
        head = project.text(name)[:600] if (project.source / name).stat().st_size < 4_000_000 else ""
        found = _LICENCE.search(head)
        annotated = [licence for paths, licence in annotations if any(fnmatch.fnmatch(name, path) for path in paths)]
        if found is None and not annotated:
            problems.append(f"{name}: no SPDX-License-Identifier in its first lines, and REUSE.toml does not name it")
            continue
        licence = found.group(1) if found else annotated[-1]
        if found is not None and _COPYRIGHT not in head:
            problems.append(f"{name}: the line '{_COPYRIGHT}' is missing")
        expected = _expected(project, name)
        # A helper of GPL tests may be MIT; the reverse would put GPL code into MIT programs.
        if licence != expected and not (licence == "MIT" and name.startswith("tests/")):
            problems.append(f"{name}: licence {licence}, expected {expected}")
        if not (project.source / "LICENSES" / f"{licence}.txt").is_file():
            problems.append(f"{name}: LICENSES/{licence}.txt does not exist")
    return problems
