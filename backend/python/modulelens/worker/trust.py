# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Which code a version needs, the digest that consent is given for, and what may be resolved after it was given."""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import importlib
import sys
import types
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import nn

from modulelens.json_types import Json, JsonObject
from modulelens.worker.errors import WorkerError

# Of the standard library: what values of modules are made of. Everything else of it does more than hold a value.
_PLAIN_MODULES = {
    "argparse",
    "collections",
    "collections.abc",
    "dataclasses",
    "datetime",
    "decimal",
    "enum",
    "fractions",
    "functools",
    "math",
    "numbers",
    "operator",
    "pathlib",
    "types",
    "typing",
    "uuid",
}
_PLAIN_BUILTINS = {
    "abs",
    "bool",
    "bytes",
    "complex",
    "dict",
    "float",
    "frozenset",
    "int",
    "len",
    "list",
    "max",
    "min",
    "object",
    "pow",
    "range",
    "reversed",
    "round",
    "set",
    "slice",
    "sorted",
    "str",
    "sum",
    "tuple",
    "type",
    "zip",
}
_PLAIN_FUNCTION_HOMES = {"math", "operator", "functools", "dataclasses", "collections"}
_TORCH_FUNCTION_HOMES = ("torch", "torch.fft", "torch.linalg", "torch.special", "torch._C._nn", "torch._C")
_TORCH_LOADERS = {"load", "save", "compile", "from_file", "frombuffer", "import_ir_module", "set_default_device"}
_MOST_PATH_FILES = 20_000
_MOST_NAMES_SHOWN = 6


def names_in(value: Json) -> Iterator[str]:
    """Yields the names of the classes and functions that an encoded value stands for."""
    if isinstance(value, list):
        for item in value:
            yield from names_in(item)
    elif isinstance(value, dict):
        if value.get("$t") == "ref" and isinstance(value.get("v"), str):
            yield value["v"]
        elif "$t" in value and isinstance(value.get("cls"), str):
            yield value["cls"]
        for item in value.values():
            yield from names_in(item)


def is_plain(name: str) -> bool:
    """True for what needs no consent: torch, which runs anyway, and the value types of the standard library."""
    module, _, qualname = name.partition(":")
    if module == "builtins":
        return qualname in _PLAIN_BUILTINS
    return package_of(name) == "torch" or module in _PLAIN_MODULES


def package_of(name: str) -> str:
    """Returns the top package of "package.module:QualName"."""
    return name.partition(":")[0].partition(".")[0]


@dataclass
class NeededCode:
    """The code that rebuilding a version runs: names with the digests of their captured sources."""

    names: dict[str, set[str]] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)

    def add(self, name: str, source: str | None = None) -> None:
        """Notes a class or function, unless it needs no consent."""
        if not is_plain(name):
            self.names.setdefault(name, set()).add(source or "-")

    @property
    def sha256(self) -> str | None:
        """What consent is given for: the same names and sources give the same digest. None when none is needed."""
        lines = [f"{name} {source}" for name, sources in self.names.items() for source in sources]
        text = "".join(f"{line}\n" for line in sorted([*lines, *self.files]))
        return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest() if text else None

    @property
    def packages(self) -> list[str]:
        """The top packages of the names."""
        return sorted({package_of(name) for name in self.names})

    def sentence(self) -> str:
        """Names the code, for people."""
        shown = sorted(self.names)[:_MOST_NAMES_SHOWN]
        more = len(self.names) - len(shown)
        return ", ".join([*shown, *self.files[:1]]) + (f" and {more} more" if more else "")


def path_digest(folder: Path) -> str:
    """Returns the sha256 of all Python files below a folder with their names. WorkerError: too many, or no folder."""
    if not folder.is_dir():
        raise WorkerError("not_found", f"there is no folder {folder} to import from", "Check --python-path.")
    digest = hashlib.sha256()
    files = sorted(path for path in folder.rglob("*.py") if path.is_file())
    if len(files) > _MOST_PATH_FILES:
        raise WorkerError(
            "invalid_argument", f"{folder} holds more than {_MOST_PATH_FILES} Python files", "Name a smaller one."
        )
    for path in files:
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{path.relative_to(folder).as_posix()} {content}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


class CodeResolver:
    """Resolves names inside the packages that consent covers. Classes of `replaced` take the place of captured ones."""

    def __init__(self, packages: Iterable[str]) -> None:
        self._packages = {"torch", *packages}
        self.replaced: dict[str, type] = {}

    def module_class(self, name: str) -> type[nn.Module]:
        """Returns a module's class. WorkerError: it cannot be imported, or is none."""
        found = self.replaced.get(name) or self.kind(name)
        if not issubclass(found, nn.Module):
            raise WorkerError("corrupt", f"{name} is no class of modules")
        if issubclass(found, torch.jit.ScriptModule):
            raise WorkerError(
                "unsupported",
                "a TorchScript module cannot be rebuilt from Python",
                "Save the module with torch.jit.save and import that file.",
            )
        return found

    def kind(self, name: str) -> type:
        """Returns a class of values. WorkerError: it cannot be imported, is not covered by consent, or is no class."""
        found = self._import(name)
        if not isinstance(found, type):
            raise WorkerError("unsupported", f"{name} is no class")
        return found

    def reference(self, name: str) -> Any:
        """Returns a class or function. Of torch and the standard library only functions that compute."""
        found = self._import(name)
        if isinstance(found, type):
            return found
        if not isinstance(found, types.FunctionType | types.BuiltinFunctionType) or not _is_harmless(name):
            raise WorkerError("unsupported", f"{name} is no function that a module's value may name")
        return found

    def _import(self, name: str) -> Any:
        module_name, _, qualname = name.partition(":")
        self._check(name)
        if module_name == "__main__" or "<locals>" in qualname:
            where = "in the training script itself" if module_name == "__main__" else "inside a function"
            raise WorkerError(
                "environment_missing",
                f"the class {qualname} was written {where}, so it cannot be imported",
                "Move it into a module of its own, or use the program engine.",
            )
        try:
            found: Any = importlib.import_module(module_name)
        except ModuleNotFoundError as error:
            raise WorkerError(
                "environment_missing",
                f"the class {name} needs the package '{error.name}', which {sys.executable} does not have",
                f"Install {package_of(str(error.name))} there, name another with --python, or use the program engine.",
            ) from error
        except Exception as error:
            raise WorkerError(
                "environment_missing",
                f"the module {module_name} cannot be imported: {type(error).__name__}: {error}",
                "Choose another interpreter with --python, or use the program engine.",
            ) from error
        for part in qualname.split("."):
            if not hasattr(found, part):
                raise WorkerError(
                    "environment_missing",
                    f"the module {module_name} of this Python has no {qualname}",
                    "Install the version that was captured, or use the program engine.",
                )
            found = getattr(found, part)
        home = getattr(found, "__module__", None)
        if isinstance(home, str):
            self._check(f"{home}:{getattr(found, '__qualname__', qualname)}")
        return found

    def _check(self, name: str) -> None:
        package = package_of(name)
        if is_plain(name):
            return
        if package in sys.stdlib_module_names:
            raise WorkerError("unsupported", f"the capture names {name}, which no value of a module needs")
        if package not in self._packages:
            raise WorkerError(
                "consent_needed",
                f"the capture names {name}, and there is no consent to code of {package}",
                "If you trust where it comes from, repeat the command with --trust.",
            )


def _is_harmless(name: str) -> bool:
    module, _, qualname = name.partition(":")
    if package_of(name) != "torch":
        return not is_plain(name) or module == "builtins" or module in _PLAIN_FUNCTION_HOMES
    if module.startswith("torch.nn.") and not module.startswith("torch.nn.parallel"):
        return True
    return module in _TORCH_FUNCTION_HOMES and qualname not in _TORCH_LOADERS


def is_value_class(kind: type) -> bool:
    """Whether attributes may be put into an object of this class without its constructor."""
    plain = issubclass(kind, enum.Enum) or dataclasses.is_dataclass(kind)
    return plain or not hasattr(kind, "__del__") or issubclass(kind, torch.Tensor)


def needed_code(nodes: JsonObject, values: list[Json]) -> NeededCode:
    """Returns what the nodes and the values of calls name."""
    code = NeededCode()
    for node in nodes.values():
        if not isinstance(node, dict) or not isinstance(node.get("class"), str):
            raise WorkerError("corrupt", "a node of the version names no class")
        source = node.get("source")
        code.add(node["class"], source if isinstance(source, str) else None)
        for name in names_in([node.get("attributes"), node.get("init"), node.get("parameters"), node.get("buffers")]):
            code.add(name)
    for name in names_in(values):
        code.add(name)
    return code
