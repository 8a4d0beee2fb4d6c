# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Which module a run is in, by hooks on all modules at once: each module's own hooks, and so its fast paths, stay."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from torch import nn
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

from modulelens.names import name_modules
from modulelens.nodes import class_of
from modulelens.references import qualified_name


@dataclass(frozen=True)
class ModuleScope:
    """One call of a module; the root's path is empty, its parent -1."""

    path: str
    class_name: str
    call: int
    parent: int


class ScopeRecorder:
    """The module calls of one run in the order in which they begin, and which one is open. One thread at a time."""

    def __init__(self, root: nn.Module) -> None:
        self.scopes: list[ModuleScope] = []
        self.classes = {named.name: qualified_name(class_of(named.module)) for named in name_modules(root)}
        self._names = {id(named.module): named.name for named in name_modules(root)}
        self._open: list[int] = []
        self._counts: dict[str, int] = {}

    @property
    def current(self) -> int:
        """The index of the innermost open scope; 0 outside."""
        return self._open[-1] if self._open else 0

    @contextlib.contextmanager
    def recording(
        self, on_begin: Callable[[int], None] | None = None, on_end: Callable[[int], None] | None = None
    ) -> Iterator[None]:
        """While it is open, calls are recorded from the beginning."""
        self.scopes, self._open, self._counts = [], [], {}

        def begin(module: nn.Module, _: Any) -> None:
            name = self._names.get(id(module))
            if name is None:
                return
            call = self._counts.get(name, 0)
            self._counts[name] = call + 1
            self.scopes.append(ModuleScope(name, self.classes[name], call, self._open[-1] if self._open else -1))
            self._open.append(len(self.scopes) - 1)
            if on_begin is not None:
                on_begin(self._open[-1])

        def end(module: nn.Module, *_: Any) -> None:
            if id(module) in self._names and self._open:
                index = self._open.pop()
                if on_end is not None:
                    on_end(index)

        handles = [register_module_forward_pre_hook(begin), register_module_forward_hook(end, always_call=True)]
        try:
            yield
        finally:
            for handle in handles:
                handle.remove()
