# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Names of importable classes and functions, `package.module:QualName`, and the way back."""

from __future__ import annotations

import contextlib
import importlib
import types
from collections.abc import Callable
from typing import Any

# torch's built-in functions claim a private home; these are the public places to look for them.
_PUBLIC_HOMES = ("torch", "torch.nn.functional", "torch._C._nn", "builtins", "math", "operator")


def qualified_name(thing: Any) -> str:
    """Returns `module:qualname` of a class or function, importable or not."""
    if isinstance(thing, types.BuiltinFunctionType):
        name = str(getattr(thing, "__name__", ""))
        for home in _PUBLIC_HOMES:
            if getattr(importlib.import_module(home), name, None) is thing:
                return f"{home}:{name}"
    module = getattr(thing, "__module__", None)
    return f"{module}:{getattr(thing, '__qualname__', type(thing).__qualname__)}"


def resolve(name: str, allowed: Callable[[str], bool]) -> Any:
    """Imports what `name` stands for. Raises PermissionError when `allowed(module)` says no."""
    module_name, _, qualname = name.partition(":")
    if not allowed(module_name):
        raise PermissionError(f"{name} is not among the classes that may be imported")
    found: Any = importlib.import_module(module_name)
    for part in qualname.split("."):
        found = getattr(found, part)
    return found


def is_importable(thing: Any) -> bool:
    """True when importing the thing's qualified name gives this very thing."""
    with contextlib.suppress(Exception):
        return resolve(qualified_name(thing), lambda _: True) is thing
    return False
