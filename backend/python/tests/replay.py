# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Replays a captured call from files alone: torch.export.load, weights from safetensors, inputs by the leaf map."""

from __future__ import annotations

import json
import zipfile
from typing import Any

import torch
from bundle_check import Bundle, at_pointer

from modulelens.decoding import ValueDecoder
from modulelens.isolation import captured_conditions


def bytes_of(bundle: Bundle, digest: str) -> torch.Tensor:
    """A tensor's bytes in aligned memory of their own."""
    content = bundle.tensors[digest][1]
    return torch.frombuffer(bytearray(content), dtype=torch.uint8).clone() if content else torch.empty(0).byte()


def decoder_of(bundle: Bundle) -> ValueDecoder:
    return ValueDecoder(lambda digest: bytes_of(bundle, digest), lambda _: True)


def replay(bundle: Bundle, module: str = "", index: int = 0) -> bool:
    """True when the call's program gives every captured output, and the captured state, bit for bit."""
    version = bundle.versions[module]
    call = version["calls"][index]
    path = bundle.program(call["program"])
    with zipfile.ZipFile(path) as archive:
        sidecar = json.loads(archive.read("program/extra/modulelens.json"))
    program = torch.export.load(path)
    state = decoder_of(bundle)
    references = {**version["state"]["tensors"], **call["state_before"]}
    program._state_dict = {name: state.tensor(references[name]) for name in program.state_dict}
    runnable = program.module()
    inputs = decoder_of(bundle)
    inputs.prepare(call["args"], call["kwargs"])
    args, kwargs = inputs.decode(call["args"]), inputs.decode(call["kwargs"])
    for pointer in sidecar["inputs"]:
        at_pointer(call, pointer)
    with captured_conditions(call):
        if call["rng"]:
            torch.set_rng_state(inputs.tensor(call["rng"]["cpu"]))
        output = runnable(*args, **kwargs)
    leaves = torch.utils._pytree.tree_leaves(output)
    expected = decoder_of(bundle)
    wanted = [expected.decode(at_pointer(call, pointer)) for pointer in sidecar["outputs"]]
    buffers = dict(runnable.named_buffers(remove_duplicate=False))
    for name, reference in call["state_after"].items():
        leaves.append(buffers[name])
        wanted.append(decoder_of(bundle).tensor(reference))
    return len(leaves) == len(wanted) and all(same_bits(*pair) for pair in zip(leaves, wanted, strict=True))


def same_bits(actual: Any, expected: Any) -> bool:
    """Equal dtype, shape and bytes, so that NaN equals NaN and -0.0 differs from 0.0."""
    if not isinstance(expected, torch.Tensor):
        return bool(actual == expected)
    if (actual.dtype, actual.shape) != (expected.dtype, expected.shape):
        return False
    pair = [t.detach().resolve_conj().resolve_neg().contiguous().reshape(-1) for t in (actual, expected)]
    return not pair[0].numel() or torch.equal(pair[0].view(torch.uint8), pair[1].view(torch.uint8))
