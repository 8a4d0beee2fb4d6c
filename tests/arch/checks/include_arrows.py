# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""Every #include follows the layer table: the project's own headers and those of libraries, also through headers."""

from __future__ import annotations

import re
from collections.abc import Iterator

from . import third_party
from .project import Include, Layer, Project

# A layer that draws and nothing else: files, processes and settings are the business of others.
_NO_INPUT_OUTPUT = {
    "widgets": re.compile(r"fstream|filesystem|QFile|QSaveFile|QDir|QProcess|QSettings|QtNetwork/|QNetwork")
}


class _Scope:
    """What one file may include."""

    def __init__(self, name: str, layers: set[str], libraries: set[str], is_test: bool) -> None:
        self.name = name
        self.layers = layers
        self.libraries = libraries
        self.is_test = is_test


def _scope(project: Project, name: str) -> _Scope | None:
    layer = project.layer_of(name)
    if layer is not None:
        return _Scope(layer.name, {layer.name, *layer.may_use}, set(layer.third_party), False)
    tested = project.test_layer_of(name)
    if tested == "support":
        return _Scope(
            "tests/support",
            set(project.layers),
            {"qtcore", "qtgui", "qtwidgets", "qttest", "nlohmann_json", "openssl"},
            True,
        )
    group = project.test_groups.get(tested or "")
    if group is not None:
        return _Scope(f"tests/{tested}", set(group.visible), {*group.third_party, "qttest", "qtcore"}, True)
    return None


def _implied(libraries: set[str]) -> set[str]:
    """Libraries that come with others: widgets need the headers of gui, gui those of core."""
    result = set(libraries)
    if "qtwidgets" in result:
        result.add("qtgui")
    if "qtgui" in result:
        result.add("qtcore")
    return result


def _direct(project: Project, name: str, include: Include, scope: _Scope) -> str | None:
    header = include.path
    if include.is_system:
        key = third_party.owner(header, project.qt_headers)
        if key is None:
            return f"<{header}> belongs to no library that cmake/ThirdParty.cmake knows"
        if key and key not in _implied(scope.libraries):
            return f"<{header}> is of {key}, which {scope.name} may not use"
        forbidden = _NO_INPUT_OUTPUT.get(scope.name)
        if forbidden is not None and forbidden.match(header):
            return f"<{header}>: {scope.name} does no input or output"
        return None
    if re.fullmatch(r"(moc_)?\w+\.(moc|cpp)", header) and "moc" in header:
        return None
    if not (project.source / header).is_file():
        return f'"{header}" is not a file of the source tree; paths start at the root of the source tree'
    if header.startswith("tests/"):
        if not scope.is_test or project.test_layer_of(header) not in ("support", scope.name.removeprefix("tests/")):
            return f'"{header}" is a test helper that {scope.name} may not use'
        return None
    target = project.layer_of(header)
    if target is None:
        return f'"{header}" belongs to no layer'
    if target.name not in scope.layers:
        return f'"{header}" is of layer {target.name}, which {scope.name} may not use'
    return None


def _reached(project: Project, name: str, seen: set[str]) -> Iterator[tuple[str, Include]]:
    for include in project.includes(name):
        yield name, include
        if not include.is_system and include.path not in seen and (project.source / include.path).is_file():
            seen.add(include.path)
            yield from _reached(project, include.path, seen)


def _through_headers(project: Project, layer: Layer, name: str) -> Iterator[str]:
    """A header shows only what each of its readers may use."""
    scope = _Scope(layer.name, {layer.name, *layer.may_use}, set(layer.third_party), False)
    for via, include in _reached(project, name, {name}):
        if via == name:
            continue
        owner = project.layer_of(via)
        if include.is_system:
            key = third_party.owner(include.path, project.qt_headers)
            if key and key not in _implied(scope.libraries) and not third_party.is_forward_declaration(include.path):
                yield f'{name}: through "{via}" it sees <{include.path}> of {key}, which {layer.name} may not use'
        else:
            target = project.layer_of(include.path)
            if target is not None and target.name not in scope.layers and owner is not None:
                yield f'{name}: through "{via}" it sees "{include.path}" of layer {target.name}, which {layer.name} may not use'


def check(project: Project) -> list[str]:
    problems: list[str] = []
    for name in project.cpp_files():
        scope = _scope(project, name)
        if scope is None:
            if not name.startswith(("tests/arch/", "tests/bench/", "tests/data/", "tests/fuzz/")):
                problems.append(f"{name}: lies in no layer and in no folder of tests/")
            continue
        includes = project.includes(name)
        problems += [
            f"{name}:{include.line}: {problem}"
            for include in includes
            if (problem := _direct(project, name, include, scope)) is not None
        ]
        own = name.removesuffix(".cpp") + ".h"
        if name.endswith(".cpp") and (project.source / own).is_file() and (not includes or includes[0].path != own):
            problems.append(f'{name}: its first include is not its own header "{own}"')
        if name.endswith(".h") and "#pragma once" not in project.text(name):
            problems.append(f"{name}: has no #pragma once")
        layer = project.layer_of(name)
        if layer is not None:
            problems += sorted(set(_through_headers(project, layer, name)))
    return problems
