# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""How calls of a model's modules are seen: hooks on each module, and wrapped functions on classes for the rest."""

from __future__ import annotations

import contextlib
import functools
import types
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import nn
from torch.utils.hooks import RemovableHandle

from modulelens.names import NamedModule
from modulelens.recorder import Recorder


def is_traced_by_torch() -> bool:
    """Whether what runs now is being turned into a graph, in which the tracer must leave nothing."""
    return torch.compiler.is_compiling() or torch._C._get_tracing_state() is not None


class _Hook:
    """A hook that copies and pickles of the module, made inside the block, do not take along."""

    def __init__(self, recorder: Recorder, named: NamedModule) -> None:
        self.recorder = recorder
        self.named = named

    def __deepcopy__(self, memo: dict[int, Any]) -> Callable[..., None]:
        return contextlib.nullcontext().__exit__

    def __reduce__(self) -> tuple[Any, ...]:
        return getattr, (contextlib.nullcontext(), "__exit__")  # takes anything and does nothing


class _Before(_Hook):
    def __call__(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if not is_traced_by_torch():
            self.recorder.begin(self.named, args, kwargs)


class _After(_Hook):
    def __call__(self, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        if not is_traced_by_torch():
            self.recorder.end(self.named, output)


def attach(recorder: Recorder, named: NamedModule) -> list[RemovableHandle]:
    """Puts hooks on a module that run inside its own: after its pre-hooks and before its post-hooks."""
    before = named.module.register_forward_pre_hook(_Before(recorder, named), with_kwargs=True)
    after = named.module.register_forward_hook(
        _After(recorder, named), with_kwargs=True, prepend=True, always_call=True
    )
    return [before, after]


class WatchedMethods:
    """Sees calls that no hook sees: `module.forward(x)`, and the methods that are asked for.

    Functions are wrapped on the classes, since copies of an instance would take a wrapper of its own along. Other
    instances of these classes pass straight through, and so does everything after `remove`.
    """

    def __init__(self, recorder: Recorder, modules: Iterable[NamedModule], methods: Iterable[str]) -> None:
        self._recorder = recorder
        self._by_id = {id(named.module): named for named in modules}
        self._methods = list(dict.fromkeys(methods))
        self._wrapped: list[tuple[type, str, Any, Any]] = []

    def install(self) -> None:
        """Wraps the functions of every class once."""
        done: set[tuple[type, str]] = set()
        for named in self._by_id.values():
            if isinstance(named.module, torch.jit.ScriptModule):
                continue
            for name in ("forward", *self._methods):
                owner = next((base for base in type(named.module).__mro__ if name in base.__dict__), None)
                if owner is None or owner in (nn.Module, object) or (owner, name) in done:
                    continue
                done.add((owner, name))
                self._wrap(owner, name)

    def remove(self) -> None:
        """Puts the functions back. One that somebody else has wrapped since stays, and does nothing."""
        self._by_id = {}
        for owner, name, function, wrapper in reversed(self._wrapped):
            if owner.__dict__.get(name) is wrapper:
                with contextlib.suppress(Exception):
                    setattr(owner, name, function)
        self._wrapped.clear()

    def _wrap(self, owner: type, name: str) -> None:
        function = owner.__dict__[name]
        if not isinstance(function, types.FunctionType):
            return
        watched = self._watcher(function, name)
        setattr(owner, name, watched)
        self._wrapped.append((owner, name, function, watched))

    def _watcher(self, function: types.FunctionType, name: str) -> Callable[..., Any]:
        recorder = self._recorder

        @functools.wraps(function)
        def watched(module: Any, /, *args: Any, **kwargs: Any) -> Any:
            named = self._by_id.get(id(module))
            if named is None or is_traced_by_torch() or recorder.is_open(named, name):
                return function(module, *args, **kwargs)
            recorder.begin(named, args, kwargs, name, is_direct=name == "forward")
            try:
                output = function(module, *args, **kwargs)
            except BaseException:
                recorder.end(named, None)
                raise
            recorder.end(named, output)
            return output

        return watched
