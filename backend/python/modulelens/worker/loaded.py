# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""A loaded module and the calls that are run on it: each run starts from what was captured."""

from __future__ import annotations

import contextlib
import copy
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn

from modulelens.decoding import DecodeError, ValueDecoder
from modulelens.isolation import captured_conditions
from modulelens.json_types import JsonObject
from modulelens.raw_memory import fingerprint
from modulelens.values import tensors_in
from modulelens.worker.data import TensorData
from modulelens.worker.decoder import DeviceMap, SourceDecoder
from modulelens.worker.errors import WorkerError
from modulelens.worker.trust import CodeResolver

_PLAIN_TAGS = {
    "tensor",
    "tuple",
    "dict",
    "float",
    "complex",
    "size",
    "dtype",
    "device",
    "layout",
    "memory_format",
    "slice",
}
_MODULE_INTERNALS = set(nn.Module().__dict__) - {"training"}


@dataclass
class LoadedModule:
    """A rebuilt module with the captured values of its state, by which every run begins."""

    name: str
    module: nn.Module
    how: str
    tensors: dict[str, torch.Tensor]
    state: JsonObject
    data: TensorData
    resolver: CodeResolver
    devices: DeviceMap
    node: JsonObject
    module_name: str = ""
    warnings: list[str] = field(default_factory=list)
    has_run: bool = False

    def __post_init__(self) -> None:
        self._attributes = _attributes_of(self.module)
        self._training = [part.training for part in self.module.modules()]

    def decoder(self, data: TensorData) -> SourceDecoder:
        """A decoder of values of calls."""
        return SourceDecoder(data.bytes_of, self.resolver, self.devices)

    def restore(self, call: JsonObject, data: TensorData, dirty: set[str]) -> None:
        """Puts state, attributes and training flags as before the call; `dirty` names what runs have changed."""
        before = call.get("state_before") or {}
        wanted = {**{name: self.state[name] for name in dirty if name in self.state}, **before}
        decoder = self.decoder(data)
        with torch.no_grad():
            for name, reference in wanted.items():
                if name in self.tensors and "ref" in reference:
                    value = decoder.tensor({key: item for key, item in reference.items() if key not in _IDENTITY})
                    _overwrite(self.tensors[name], value)
        _restore_attributes(self._attributes)
        for part, flag in zip(self.module.modules(), self._training, strict=False):
            part.training = flag
        if self.how != "program" and self.module.training != call.get("training", self.module.training):
            self.module.train(call["training"])


_IDENTITY = ("obj", "storage", "offset", "storage_bytes", "parameter", "requires_grad")


def _overwrite(tensor: torch.Tensor, value: torch.Tensor) -> None:
    if tensor.shape == value.shape and tensor.dtype == value.dtype:
        tensor.copy_(value)
    else:
        tensor.data = value


def _attributes_of(module: nn.Module) -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """Each module's attribute table with a copy of it; plain containers are copied too."""
    kept = []
    for part in module.modules():
        table = part.__dict__
        kept.append((table, {name: value for name, value in table.items() if name not in _MODULE_INTERNALS}))
    return [(table, {name: _copied(value) for name, value in values.items()}) for table, values in kept]


def _copied(value: Any) -> Any:
    return copy.copy(value) if type(value) in (list, dict, set) else value


def _restore_attributes(kept: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    for table, values in kept:
        for name in [name for name in table if name not in values and name not in _MODULE_INTERNALS]:
            del table[name]
        for name, value in values.items():
            held = table.get(name)
            if type(value) in (list, dict, set):
                if held != value if not _holds_tensors(value) else True:
                    table[name] = copy.copy(value)
            elif held is not value:
                table[name] = value


def _holds_tensors(value: Any) -> bool:
    items = value.values() if isinstance(value, dict) else value
    return any(not isinstance(item, bool | int | float | str | type(None)) for item in items)


@dataclass
class Outcome:
    """What one run gave."""

    output: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    host_ns: int
    drew_random_numbers: bool = False


class BoundCall:
    """One captured call of a loaded module, ready to be run any number of times."""

    def __init__(self, loaded: LoadedModule, call: JsonObject, data: TensorData) -> None:
        self.loaded = loaded
        self.call = call
        self.data = data
        if call.get("method", "forward") != "forward" and not hasattr(loaded.module, str(call.get("method"))):
            raise WorkerError("invalid_argument", f"the module has no method '{call.get('method')}'")
        self._reusable = not call.get("mutated") and _is_plain([call["args"], call["kwargs"]])
        self._inputs: tuple[tuple[Any, ...], dict[str, Any]] | None = None
        self.given: dict[int, torch.Tensor] = {}
        """The tensors among the inputs by object number, wherever the run has put others in their places."""
        self._watched = _marks(loaded.tensors)
        self.dirty: set[str] = set(loaded.tensors)
        self._first = True

    def inputs(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Decodes the inputs anew. WorkerError: one of them was not captured."""
        decoder = self.loaded.decoder(self.data)
        try:
            decoder.prepare(self.call["args"], self.call["kwargs"])
            self.given = decoder.objects
            return tuple(decoder.decode(self.call["args"])), decoder.decode(self.call["kwargs"])
        except DecodeError as error:
            raise WorkerError("unsupported", f"an input of the call was not kept: {error}") from error

    def prepare(self) -> None:
        """Puts inputs and state in place. Every run does it when nobody did it before."""
        if self._first:
            self.dirty = set()
            self._first = False
        self.loaded.restore(self.call, self.data, self.dirty)
        self._watched = _marks(self.loaded.tensors)
        if self._inputs is None or not self._reusable:
            self._inputs = self.inputs()

    def function(self) -> Callable[..., Any]:
        """What is called."""
        method = self.call.get("method", "forward")
        return self.loaded.module if method == "forward" else getattr(self.loaded.module, method)

    @contextlib.contextmanager
    def conditions(self, grad: bool | None = None) -> Iterator[None]:
        """Grad mode, autocast and generator state of the call; `grad` true turns autograd on whatever the call had."""
        call = self.call if grad is None else {**self.call, "grad_mode": grad, "inference_mode": False}
        with captured_conditions(call), contextlib.ExitStack() as stack:
            if call["inference_mode"]:
                stack.enter_context(torch.inference_mode())
            if call.get("rng") and "cpu" in call["rng"]:
                torch.set_rng_state(self.loaded.decoder(self.data).tensor(call["rng"]["cpu"]))
            yield

    def run(self, grad: bool | None = None) -> Outcome:
        """Runs once from the captured inputs and state, which are put in place outside the time that is taken."""
        self.prepare()
        assert self._inputs is not None
        args, kwargs = self._inputs
        function = self.function()
        with self.conditions(grad):
            generator = None if self.call.get("rng") else torch.get_rng_state()
            begin = time.perf_counter_ns()
            output = function(*args, **kwargs)
            _wait(self.loaded.devices.device)
            host_ns = time.perf_counter_ns() - begin
            drew = generator is not None and not torch.equal(generator, torch.get_rng_state())
        self.loaded.has_run = True
        self.note_writes()
        return Outcome(output, args, kwargs, host_ns, drew)

    def note_writes(self) -> None:
        """Remembers which state tensors the run has written to, so that the next one finds them as captured."""
        now = _marks(self.loaded.tensors)
        self.dirty |= {name for name, mark in now.items() if self._watched.get(name) != mark}
        self.dirty |= set(self.call.get("state_before") or {}) | set(self.call.get("state_after") or {})

    def release(self) -> None:
        """Puts the state back to what the version holds, for other calls."""
        self.loaded.restore({**self.call, "state_before": {}}, self.data, self.dirty)
        self.loaded.module.zero_grad(set_to_none=True)


def _wait(device: str) -> None:
    if device != "cpu":
        torch.accelerator.synchronize()


def _marks(tensors: dict[str, torch.Tensor]) -> dict[str, Any]:
    marks = {}
    for name, tensor in tensors.items():
        with contextlib.suppress(RuntimeError, NotImplementedError):
            marks[name] = (tensor._version, None if tensor.numel() > 4096 else fingerprint(tensor.detach()))
    return marks


def _is_plain(value: Any) -> bool:
    """Whether decoding once is enough: objects of other classes may keep something of a run."""
    if isinstance(value, list):
        return all(_is_plain(item) for item in value)
    if isinstance(value, dict):
        if value.get("$t", "tensor") not in _PLAIN_TAGS or value.get("requires_grad"):
            return False
        return all(_is_plain(item) for item in value.values())
    return True


def expected_tensor(decoder: ValueDecoder, reference: JsonObject) -> torch.Tensor:
    """Decodes the captured value of a reference. DecodeError: it was not kept."""
    plain = {key: value for key, value in reference.items() if key not in _IDENTITY and key != "$t"}
    return decoder.tensor(plain)


def input_references(call: JsonObject) -> Iterator[tuple[str, JsonObject]]:
    """Yields pointer and reference of each plain tensor among the inputs."""
    for key in ("args", "kwargs"):
        yield from tensors_in(call[key], f"/{key}")
