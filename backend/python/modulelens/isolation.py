# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""A module of its own to export from: captured tensors, captured mode, and nothing shared with the live model."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn

from modulelens.decoding import ValueDecoder
from modulelens.json_types import JsonObject
from modulelens.state import named_tensors


def isolated_copy(
    module: nn.Module,
    tensors: dict[str, torch.Tensor],
    training: list[bool],
    attributes: list[dict[str, Any]] | None = None,
) -> nn.Module:
    """Returns a copy of the module that holds `tensors` (by FQN).

    Training flags and, where given, the attributes that differ from the live ones come in `modules()` order.
    """
    replacements: dict[int, Any] = {}
    for name, live, _ in named_tensors(module):
        replacements[id(live)] = tensors.get(name, live.detach().clone())
    try:
        copied = copy.deepcopy(module, dict(replacements))
    except Exception:
        copied = _shallow_copy(module, replacements, {})
    for part, flag in zip(copied.modules(), training, strict=False):
        part.training = flag
    for part, changed in zip(copied.modules(), attributes or [], strict=False):
        part.__dict__.update(changed)
    copied._forward_hooks.clear()
    copied._forward_pre_hooks.clear()
    return copied


def _shallow_copy(module: nn.Module, replacements: dict[int, Any], done: dict[int, nn.Module]) -> nn.Module:
    if id(module) in done:
        return done[id(module)]
    copied = done[id(module)] = type(module).__new__(type(module))
    copied.__dict__.update({key: copy.copy(value) if type(value) in (dict, list, set) else value
                            for key, value in module.__dict__.items()})  # fmt: skip
    for name in ("_forward_hooks", "_forward_pre_hooks"):
        copied.__dict__[name] = copy.copy(module.__dict__[name])
    copied.__dict__["_parameters"] = _replaced(module._parameters, replacements)
    copied.__dict__["_buffers"] = _replaced(module._buffers, replacements)
    copied.__dict__["_modules"] = {
        name: None if child is None else _shallow_copy(child, replacements, done)
        for name, child in module._modules.items()
    }
    if isinstance(copied, nn.RNNBase):
        copied._init_flat_weights()
    return copied


def _replaced(tensors: dict[str, Any], replacements: dict[int, Any]) -> dict[str, Any]:
    return {name: replacements.get(id(tensor), tensor) for name, tensor in tensors.items()}


def call_again(module: nn.Module, call: JsonObject, args: Any, kwargs: dict[str, Any]) -> Any:
    """Calls the method that the captured call was a call of."""
    called = module if call["method"] == "forward" else getattr(module, call["method"])
    return called(*args, **kwargs)


@contextlib.contextmanager
def captured_conditions(call: JsonObject) -> Iterator[None]:
    """Grad mode and autocast of the call; the caller's random state comes back afterwards."""
    with contextlib.ExitStack() as stack:
        devices = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else ()
        stack.enter_context(torch.random.fork_rng(devices=devices))
        stack.enter_context(torch.set_grad_enabled(call["grad_mode"] and not call["inference_mode"]))
        for entry in call["autocast"] or []:
            dtype = getattr(torch, entry["dtype"])
            stack.enter_context(torch.autocast(entry["device"], dtype=dtype, cache_enabled=entry["cache"]))
        yield


def seed_from(call: JsonObject, decoder: ValueDecoder) -> None:
    """Sets the generator as it was before the call."""
    if call["rng"] is not None:
        torch.set_rng_state(decoder.tensor(call["rng"]["cpu"]))
