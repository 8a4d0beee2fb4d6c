# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Edited source in the place of captured classes, loaded from a file that the user consented to."""

from __future__ import annotations

import difflib
import hashlib
import importlib
import inspect
import linecache
import sys
import types
from dataclasses import dataclass
from pathlib import Path

from torch import nn

from modulelens.class_sources import class_source
from modulelens.json_types import JsonObject
from modulelens.worker.errors import WorkerError
from modulelens.worker.params import optional, required
from modulelens.worker.trust import CodeResolver


@dataclass(frozen=True)
class EditedSource:
    """A file whose classes take the place of captured ones; `class_name` names the one for the module itself."""

    file: Path
    sha256: str
    class_name: str | None


def parse_edited(value: JsonObject | None) -> EditedSource | None:
    """Reads `edited` of a request."""
    if value is None:
        return None
    where = "edited"
    return EditedSource(
        Path(required(value, "file", str, where)),
        required(value, "sha256", str, where),
        optional(value, "class", str, where),
    )


def install_edited(edited: EditedSource, root_class: str, classes: set[str], resolver: CodeResolver) -> set[str]:
    """Runs the file and lets its classes replace those of the same name; returns the captured names that are replaced.

    WorkerError: the file changed since consent, it does not run, or it has no class for the module itself.
    """
    try:
        content = edited.file.read_bytes()
    except OSError as error:
        raise WorkerError("not_found", f"the edited source cannot be read: {error}") from error
    if hashlib.sha256(content).hexdigest() != edited.sha256:
        raise WorkerError("consent_needed", f"{edited.file} changed since it was consented to", "Repeat the command.")
    found = {
        kind.__qualname__: kind
        for kind in _execute(edited.file, content, root_class, resolver).__dict__.values()
        if isinstance(kind, type) and issubclass(kind, nn.Module) and kind.__module__.startswith(_PREFIX)
    }
    own = _class_for(edited, found, root_class)
    replaced = {root_class: own}
    if edited.class_name is None:
        replaced.update({name: found[_qualname(name)] for name in classes if _qualname(name) in found})
        replaced[root_class] = own
    resolver.replaced.update(replaced)
    return set(replaced)


def source_differences(classes: dict[str, str], sources: JsonObject, resolver: CodeResolver) -> list[JsonObject]:
    """Returns {class, difference} for each class whose source now is not the captured one: a unified difference.

    `classes` are names with the digests of their captured sources, `sources` the captured texts that are known.
    """
    differences: list[JsonObject] = []
    for name, digest in sorted(classes.items()):
        captured = sources.get(digest)
        try:
            kind = resolver.module_class(name)
        except WorkerError:
            continue
        if isinstance(captured, str) and _stands_in_file(captured, kind):
            continue
        text = class_source(kind)
        if text is None or hashlib.sha256(text.encode("utf-8", "replace")).hexdigest() == digest:
            continue
        lines: list[str] = []
        if isinstance(captured, str):
            before, after = captured.splitlines(), text.splitlines()
            lines = list(difflib.unified_diff(before, after, "captured", "now", lineterm=""))
        differences.append({"class": name, "difference": "\n".join(lines)})
    return differences


def _stands_in_file(text: str, kind: type) -> bool:
    """Whether the class's file holds this very text. Quick, where finding the class means parsing its file."""
    try:
        file = inspect.getsourcefile(kind)
    except TypeError:
        return False
    return bool(text) and file is not None and text in "".join(linecache.getlines(file))


_PREFIX = "_modulelens_edited_"


def _execute(file: Path, content: bytes, root_class: str, resolver: CodeResolver) -> types.ModuleType:
    """Runs the file as a module beside the captured class's own: its relative imports and its names are known."""
    home = root_class.partition(":")[0]
    missing = ""
    name = f"{_PREFIX}{hashlib.sha256(content).hexdigest()[:12]}"
    module = types.ModuleType(name)
    module.__file__ = str(file)
    try:
        resolver.module_class(root_class)
        parent = importlib.import_module(home)
        module.__package__ = parent.__package__ or ""
        # A captured class alone, without the imports above it, runs as it did at home.
        names = {name: value for name, value in vars(parent).items() if not _is_special(name)}
        module.__dict__.update(names)
    except WorkerError as error:
        module.__package__ = ""
        missing = f" (the names of {home} are not known: {error.message})"
    sys.modules[name] = module
    linecache.checkcache(str(file))
    try:
        exec(compile(content, str(file), "exec"), module.__dict__)
    except Exception as error:
        line = next((frame.lineno for frame in _frames(error) if frame.filename == str(file)), None)
        line = error.lineno if isinstance(error, SyntaxError) and error.lineno else line
        where = f"{file.name}:{line}" if line else file.name
        more = missing if isinstance(error, NameError) else ""
        raise WorkerError(
            "invalid_argument", f"the edited source does not run: {where}: {type(error).__name__}: {error}{more}"
        ) from error
    return module


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def _frames(error: BaseException) -> list[inspect.FrameInfo]:
    return list(reversed(inspect.getinnerframes(error.__traceback__))) if error.__traceback__ else []


def _class_for(edited: EditedSource, found: dict[str, type], root_class: str) -> type:
    wanted = edited.class_name or _qualname(root_class)
    if wanted in found:
        return found[wanted]
    if edited.class_name is None and len(found) == 1:
        return next(iter(found.values()))
    there = ", ".join(sorted(found)) or "none"
    raise WorkerError(
        "invalid_argument",
        f"{edited.file.name} has no class of modules named {wanted}; there are: {there}",
        "Name one with --source FILE:Class.",
    )


def _qualname(name: str) -> str:
    return name.partition(":")[2]
