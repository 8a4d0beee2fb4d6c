# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Module names and collection ids."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from torch import nn

_WRAPPER_SEGMENTS = {"_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module", "_dmp_wrapped_module"}
_RUN_PREFIX = "registered_model_"
_MAX_NAME = 128
_CUT_NAME = 119


def collection_id(model_name: str, module_name: str) -> str:
    """Returns the lower-case hex MD5 that names all versions of one module."""
    text = f"{model_name}\0{module_name}".encode()
    return hashlib.md5(text, usedforsecurity=False).hexdigest()


def run_collection(model_name: str) -> str:
    """Returns the name under which the run records of a model are kept."""
    name = _RUN_PREFIX + re.sub(r"[^A-Za-z0-9._-]", "-", model_name)
    if name == _RUN_PREFIX + model_name and len(name) <= _MAX_NAME:
        return name
    return f"{name[:_CUT_NAME]}-{hashlib.sha256(model_name.encode()).hexdigest()[:8]}"


@dataclass
class NamedModule:
    """One module of the traced model with its name and its other names."""

    name: str
    module: nn.Module
    aliases: list[str] = field(default_factory=list)


def name_modules(model: nn.Module, hides: Callable[[nn.Module], bool] | None = None) -> list[NamedModule]:
    """Names every distinct module, in `named_modules()` order, without wrapper modules and wrapper segments.

    What lies below a module that `hides` holds for is left out. Raises ValueError when a name holds NUL.
    """
    named: dict[nn.Module, NamedModule] = {}
    for name, module in _walk(model, "", set(), hides or (lambda _: False)):
        if "\0" in name:
            raise ValueError(f"the module name {name!r} holds a NUL character; rename the attribute")
        entry = named.setdefault(module, NamedModule(name, module))
        if name != entry.name and name not in entry.aliases:
            entry.aliases.append(name)
    return list(named.values())


def unwrapped(module: nn.Module) -> nn.Module:
    """Returns the module that wrappers stand for: the module itself when it is none."""
    wrapped = _wrapped_child(module)
    return module if wrapped is None else unwrapped(wrapped)


def _walk(
    module: nn.Module, name: str, path: set[int], hides: Callable[[nn.Module], bool]
) -> Iterator[tuple[str, nn.Module]]:
    if id(module) in path:
        return
    path.add(id(module))
    wrapped = _wrapped_child(module)
    if wrapped is not None:
        yield from _walk(wrapped, name, path, hides)
    else:
        yield name, module
        for key, child in ({} if hides(module) else module._modules).items():
            if child is not None:
                yield from _walk(child, f"{name}.{key}" if name else key, path, hides)
    path.remove(id(module))


def _wrapped_child(module: nn.Module) -> nn.Module | None:
    """The module that a wrapper (DDP, FSDP1, torch.compile, checkpointing) stands for, or None."""
    if len(module._modules) != 1:
        return None
    key, child = next(iter(module._modules.items()))
    if key in _WRAPPER_SEGMENTS or (key == "module" and type(module).__module__.startswith("torch.")):
        return child
    return None
