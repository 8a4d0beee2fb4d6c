# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""How calls of a model's modules are seen: hooks on each module, and wrapped functions on classes for the rest."""

from __future__ import annotations

import contextlib
import functools
import threading
import types
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import torch
from torch import nn
from torch.jit._script import RecursiveScriptModule
from torch.utils.hooks import RemovableHandle

from modulelens.names import NamedModule
from modulelens.recorder import Recorder


def is_traced_by_torch() -> bool:
    """Whether what runs now is being turned into a graph, in which the tracer must leave nothing."""
    return torch.compiler.is_compiling() or torch._C._get_tracing_state() is not None


def inside_script(modules: Iterable[NamedModule]) -> dict[str, list[str]]:
    """The names of the modules whose calls nothing sees, by the TorchScript module inside which they run."""
    modules = list(modules)
    hidden: dict[str, list[str]] = {}
    below: set[nn.Module] = set()
    for named in modules:
        if isinstance(named.module, torch.jit.ScriptModule) and named.module not in below:
            inner = set(named.module.modules()) - {named.module}
            names = [other.name for other in modules if other.module in inner]
            if names:
                hidden[named.name] = names
            below |= inner
    return hidden


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
    """Puts hooks on a module that run inside its own: after its pre-hooks and before its post-hooks.

    TorchScript takes no hooks; `WatchedMethods` sees its calls.
    """
    if isinstance(named.module, RecursiveScriptModule):
        return []
    before = named.module.register_forward_pre_hook(_Before(recorder, named), with_kwargs=True)
    after = named.module.register_forward_hook(
        _After(recorder, named), with_kwargs=True, prepend=True, always_call=True
    )
    return [before, after]


class WatchedMethods:
    """Sees calls that no hook sees: `module.forward(x)`, and the methods that are asked for.

    Functions are wrapped on the classes, since copies of an instance would take a wrapper of its own along. Other
    instances of these classes pass straight through. All tracers share one wrapper, which goes with the last of them.
    """

    def __init__(self, recorder: Recorder, modules: Iterable[NamedModule], methods: Iterable[str]) -> None:
        self.recorder = recorder
        self.by_id = {id(named.module): named for named in modules}
        self._methods = list(dict.fromkeys(methods))
        self._wrapped: list[_WrappedFunction] = []

    def install(self) -> None:
        """Wraps the functions of every class once."""
        done: set[tuple[type, str]] = set()
        for named in self.by_id.values():
            if isinstance(named.module, RecursiveScriptModule):
                self._watch(RecursiveScriptModule, "__call__", done)
                continue
            for name in ("forward", *self._methods):
                owner = next((base for base in type(named.module).__mro__ if name in base.__dict__), None)
                if owner is not None and owner not in (nn.Module, object):
                    self._watch(owner, name, done)

    def _watch(self, owner: type, name: str, done: set[tuple[type, str]]) -> None:
        if (owner, name) in done:
            return
        done.add((owner, name))
        with _WRAPPING:
            wrapped = _WrappedFunction.of(owner, name)
            if wrapped is not None:
                wrapped.watchers = (*wrapped.watchers, self)
                self._wrapped.append(wrapped)

    def remove(self) -> None:
        """Puts the functions back that no other tracer watches."""
        self.by_id = {}
        with _WRAPPING:
            for wrapped in self._wrapped:
                wrapped.watchers = tuple(watcher for watcher in wrapped.watchers if watcher is not self)
                wrapped.release()
        self._wrapped.clear()


_WRAPPING = threading.Lock()


class _WrappedFunction:
    """One function of a class with a wrapper around it. Changed under the lock, called from any thread."""

    _all: ClassVar[dict[tuple[type, str], _WrappedFunction]] = {}

    def __init__(self, owner: type, name: str, function: types.FunctionType) -> None:
        self.watchers: tuple[WatchedMethods, ...] = ()
        self._owner = owner
        self._name = name
        self._function = function
        self._inherited = name not in owner.__dict__
        self._wrapper = self._make_wrapper()
        setattr(owner, name, self._wrapper)

    @classmethod
    def of(cls, owner: type, name: str) -> _WrappedFunction | None:
        """Returns the wrapped function, wrapping it when it is not; None for what is no plain function."""
        known = cls._all.get((owner, name))
        if known is not None:
            return known
        function = getattr(owner, name) if name == "__call__" else owner.__dict__[name]
        if not isinstance(function, types.FunctionType):
            return None
        wrapped = cls._all[owner, name] = cls(owner, name, function)
        return wrapped

    def release(self) -> None:
        """Puts the function back when nobody watches. One that others have wrapped since stays, and does nothing."""
        if not self.watchers and self._owner.__dict__.get(self._name) is self._wrapper:
            with contextlib.suppress(Exception):
                if self._inherited:
                    delattr(self._owner, self._name)
                else:
                    setattr(self._owner, self._name, self._function)
                del self._all[self._owner, self._name]

    def _make_wrapper(self) -> Callable[..., Any]:
        function, is_direct = self._function, self._name == "forward"
        name = "forward" if self._name == "__call__" else self._name

        @functools.wraps(function)
        def watched(module: Any, /, *args: Any, **kwargs: Any) -> Any:
            watching = self._watching(module)
            for watcher, named in watching:
                watcher.recorder.begin(named, args, kwargs, name, is_direct=is_direct)
            try:
                output = function(module, *args, **kwargs)
            except BaseException:
                for watcher, named in reversed(watching):
                    watcher.recorder.end(named, None)
                raise
            for watcher, named in reversed(watching):
                watcher.recorder.end(named, output)
            return output

        return watched

    def _watching(self, module: Any) -> list[tuple[WatchedMethods, NamedModule]]:
        """The tracers that see this call and have not seen it begin."""
        found = []
        for watcher in self.watchers:
            named = watcher.by_id.get(id(module))
            is_open = named is not None and self._name != "__call__" and watcher.recorder.is_open(named, self._name)
            if named is not None and not is_traced_by_torch() and not is_open:
                found.append((watcher, named))
        return found
