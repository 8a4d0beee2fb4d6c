# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""What torch's own FLOP counter says of captured calls, replayed apart from the live model."""

from __future__ import annotations

import contextlib
import io
import warnings
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

from modulelens.decoding import ValueDecoder
from modulelens.isolation import call_again, captured_conditions, isolated_copy, seed_from
from modulelens.json_types import JsonObject
from modulelens.problems import Problems
from modulelens.record import CapturedCall, ModuleRecord
from modulelens.tensor_store import TensorStore


def count_flops(record: ModuleRecord, store: TensorStore, problems: Problems) -> None:
    """Gives each call of `record` its `torch_flops`. Never raises: what cannot be counted is a problem."""
    for index, captured in enumerate(record.calls):
        if captured.document["exception"] is not None:
            continue
        try:
            captured.document["torch_flops"] = _counted(record, captured, store)
        except Exception as error:
            problems.add(record.name, "flops", f"torch's counter gave nothing for call {index}: {error}")


def _counted(record: ModuleRecord, captured: CapturedCall, store: TensorStore) -> JsonObject:
    call = captured.document
    decoder = ValueDecoder(store.bytes_of, lambda _: True)
    decoder.prepare(call["args"], call["kwargs"])
    args, kwargs = decoder.decode(call["args"]), decoder.decode(call["kwargs"])
    attributes = record.attributes_at(captured)
    module = isolated_copy(record.module, _state(record, call, store), captured.training, attributes)
    counter = FlopCounterMode(display=False)
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()), captured_conditions(call):
        warnings.simplefilter("ignore")
        seed_from(call, decoder)
        with counter:
            call_again(module, call, args, kwargs)
    # Absent when nothing was counted.
    counts = counter.get_flop_counts().get("Global", {})
    by_operator = {_name(operator): int(flops) for operator, flops in counts.items()}
    return {"torch": torch.__version__, "total": int(counter.get_total_flops()), "by_operator": by_operator}


def _state(record: ModuleRecord, call: JsonObject, store: TensorStore) -> dict[str, torch.Tensor]:
    decoder = ValueDecoder(store.bytes_of, lambda _: True)
    references = {**record.tensors, **call["state_before"]}
    tagged = {name: {"$t": "tensor", **reference} for name, reference in references.items()}
    decoder.prepare(tagged)
    return {name: decoder.decode(reference) for name, reference in tagged.items()}


def _name(operator: Any) -> str:
    """`aten.addmm` as `aten::addmm`."""
    return str(operator).replace(".", "::", 1)
