# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Outputs, written-to inputs and changed state of a run against what was captured."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from modulelens.decoding import DecodeError
from modulelens.json_types import Json, JsonObject, pointer_token
from modulelens.tensor_store import shape_reference
from modulelens.values import Scope, ValueEncoder
from modulelens.worker.errors import WorkerError
from modulelens.worker.leaves import Leaf, compare_tensors, has_same_bits, new_leaf, on_host
from modulelens.worker.loaded import BoundCall, Outcome, expected_tensor, input_references

_NAMING_KEYS = ("cls", "fields", "context", "layout", "scheme", "dtype", "coalesced", "axis")
_PLAIN = (bool, int, float, str, type(None))


class _Recorder:
    """Takes the tensors of an encoded value aside, in order."""

    def __init__(self) -> None:
        self.tensors: list[torch.Tensor] = []

    def put(self, tensor: torch.Tensor) -> JsonObject:
        self.tensors.append(tensor)
        return {**shape_reference(tensor), "at": len(self.tensors) - 1}


class Encoded:
    """A value of a run in the form of a captured one, with its tensors."""

    def __init__(self, value: Any) -> None:
        recorder = _Recorder()
        self.json: Json = ValueEncoder(recorder, lambda _: {"$t": "module"}).encode(value, Scope())
        self._tensors = recorder.tensors

    def tensor(self, encoded: Json) -> torch.Tensor | None:
        """The tensor that stands for this part of `json`."""
        at = encoded.get("at") if isinstance(encoded, dict) else None
        return self._tensors[at] if isinstance(at, int) else None


class Comparison:
    """One run of a call against the capture. `tensors` are those that were compared, by pointer."""

    def __init__(self, bound: BoundCall, outcome: Outcome) -> None:
        self.leaves: list[Leaf] = []
        self.tensors: dict[str, torch.Tensor] = {}
        self._bound = bound
        self._decoder = bound.loaded.decoder(bound.data)
        self._compare_outputs(outcome)
        self._compare_inputs(outcome)
        self._compare_state()

    def _compare_outputs(self, outcome: Outcome) -> None:
        encoded = Encoded(outcome.output)
        self._compare(self._bound.call["output"], encoded.json, encoded, "/output")

    def _compare(self, expected: Json, got: Json, encoded: Encoded, pointer: str) -> None:
        if isinstance(expected, dict) and expected.get("$t") == "gap":
            self.leaves.append(new_leaf(pointer, "not_comparable", str(expected.get("reason"))))
        elif isinstance(expected, dict) and ("ref" in expected or "gap" in expected) and "shape" in expected:
            self._compare_tensor(expected, encoded.tensor(got), pointer)
        elif isinstance(expected, dict) and isinstance(got, dict) and expected.get("$t") == got.get("$t"):
            self._compare_objects(expected, got, encoded, pointer)
        elif isinstance(expected, list) and isinstance(got, list) and len(expected) == len(got):
            for index, (one, other) in enumerate(zip(expected, got, strict=True)):
                self._compare(one, other, encoded, f"{pointer}/{index}")
        elif isinstance(expected, _PLAIN) and isinstance(got, _PLAIN):
            same = expected == got and type(expected) is type(got)
            leaf = new_leaf(
                pointer, "exact" if same else "fail", "" if same else "the values differ", "" if same else "values"
            )
            leaf.update(elements=1, mismatched=0 if same else 1, expected=_text(expected), got=_text(got))
            self.leaves.append(leaf)
        else:
            reason = f"expected {_kind(expected)}, got {_kind(got)}"
            self.leaves.append(new_leaf(pointer, "fail", reason, "structure"))

    def _compare_objects(self, expected: JsonObject, got: JsonObject, encoded: Encoded, pointer: str) -> None:
        if expected.get("$t") == "module":
            return
        for key in dict.fromkeys([*expected, *got]):
            below = pointer + pointer_token(key)
            if key == "$t" or key in ("obj", "storage", "offset", "storage_bytes"):
                continue
            if key not in expected or key not in got:
                reason = f"the {'run' if key in got else 'capture'} alone has '{key}'"
                self.leaves.append(new_leaf(below, "fail", reason, "structure"))
            elif "$t" in expected and key in _NAMING_KEYS and not isinstance(expected[key], dict | list):
                if expected[key] != got[key]:
                    reason = f"expected {key} {expected[key]}, got {got[key]}"
                    self.leaves.append(new_leaf(below, "fail", reason, "structure"))
            elif "$t" in expected and key in ("shape", "fields", "context", "dtype"):
                if _without_numbers(expected[key]) != _without_numbers(got[key]):
                    self.leaves.append(new_leaf(below, "fail", f"another {key} than captured", "structure"))
            else:
                self._compare(expected[key], got[key], encoded, below)

    def _compare_tensor(self, reference: JsonObject, got: torch.Tensor | None, pointer: str) -> None:
        try:
            expected = expected_tensor(self._decoder, reference)
        except (DecodeError, WorkerError) as error:
            self.leaves.append(new_leaf(pointer, "not_comparable", str(error)))
            return
        if got is None:
            self.leaves.append(
                new_leaf(pointer, "fail", "the run gives no tensor where the capture has one", "structure")
            )
            return
        if expected.device.type == "meta":
            self.leaves.append(new_leaf(pointer, "not_comparable", "the capture has a tensor without data here"))
            return
        device = reference.get("device", "cpu").partition(":")[0]
        self.leaves.append(compare_tensors(expected, got, pointer, device == got.device.type))
        self.tensors[pointer] = got

    def _compare_inputs(self, outcome: Outcome) -> None:
        call = self._bound.call
        encoded = Encoded([list(outcome.args), outcome.kwargs])
        places = {"args": encoded.json[0], "kwargs": encoded.json[1]}
        before = {pointer: reference.get("obj") for pointer, reference in input_references(call)}

        def given(pointer: str) -> torch.Tensor | None:
            number = before.get(pointer)
            held = None if number is None else self._bound.given.get(number)
            return held if held is not None else encoded.tensor(_at(places, pointer))

        declared = call.get("mutated") or {}
        for pointer, reference in declared.items():
            self._compare_tensor(reference, given(pointer), pointer)
        for pointer, after in (call.get("inputs_after") or {}).items():
            self._compare(after, _at(places, pointer), encoded, f"/inputs_after{pointer}")
        mutated_objects = {ref.get("obj") for pointer, ref in input_references(call) if pointer in declared}
        mutated_storages = {ref.get("storage") for pointer, ref in input_references(call) if pointer in declared}
        for pointer, reference in input_references(call):
            known = pointer in declared or reference.get("obj") in mutated_objects
            if known or reference.get("storage", -1) in mutated_storages or "ref" not in reference:
                continue
            now = given(pointer)
            if now is not None and not _same_as_captured(self._decoder, reference, now):
                reason = "the module wrote to this input and the captured call did not"
                self.leaves.append(new_leaf(pointer, "fail", reason, "write"))

    def _compare_state(self) -> None:
        loaded, call = self._bound.loaded, self._bound.call
        declared = call.get("state_after") or {}
        for name, reference in declared.items():
            pointer = "/state_after" + pointer_token(name)
            if name in loaded.tensors:
                self._compare_tensor(reference, loaded.tensors[name], pointer)
            else:
                self.leaves.append(new_leaf(pointer, "not_comparable", "the module does not hold this tensor"))
        before = {**loaded.state, **(call.get("state_before") or {})}
        changed = {id(loaded.tensors[name]) for name in declared if name in loaded.tensors}
        storages = {loaded.state[name].get("storage") for name in declared if name in loaded.state}
        for name in sorted(self._bound.dirty - set(declared)):
            reference = before.get(name)
            if reference is None or name not in loaded.tensors or id(loaded.tensors[name]) in changed:
                continue
            if loaded.state[name].get("storage", -1) in storages or "ref" not in reference:
                continue
            if not _same_as_captured(self._decoder, reference, loaded.tensors[name]):
                reason = "the module wrote to this tensor and the captured call did not"
                self.leaves.append(new_leaf("/state_after" + pointer_token(name), "fail", reason, "write"))


def summarize(leaves: list[Leaf]) -> JsonObject:
    """The verdict over all leaves: verdict, exact, max_abs_diff, reason."""
    verdicts = [leaf["verdict"] for leaf in leaves]
    differences = [leaf["max_abs_diff"] for leaf in leaves if leaf["max_abs_diff"] is not None]
    summary: JsonObject = {
        "verdict": "pass",
        "exact": bool(leaves) and all(verdict == "exact" for verdict in verdicts),
        "max_abs_diff": max(differences) if differences else None,
        "reason": "",
    }
    gaps = [leaf for leaf in leaves if leaf["verdict"] == "not_comparable"]
    if "fail" in verdicts:
        summary["verdict"] = "fail"
    elif not leaves:
        summary.update(verdict="not_comparable", reason="the call has no output that could be compared")
    elif gaps:
        first = f"the first, at {gaps[0]['pointer']}: {gaps[0]['reason']}"
        reason = f"{len(gaps)} of {len(leaves)} values cannot be compared; {first}"
        summary.update(verdict="not_comparable", reason=reason)
    return summary


def tensors_of(value: Any, pointer: str = "/output") -> Iterator[tuple[str, torch.Tensor]]:
    """Yields the plain tensors of a run's value by their pointers."""
    encoded = Encoded(value)

    def visit(json: Json, at: str) -> Iterator[tuple[str, torch.Tensor]]:
        if isinstance(json, list):
            for index, item in enumerate(json):
                yield from visit(item, f"{at}/{index}")
        elif isinstance(json, dict):
            tensor = encoded.tensor(json)
            if tensor is not None:
                yield at, tensor
            else:
                for key, item in json.items():
                    yield from visit(item, at + pointer_token(key))

    yield from visit(encoded.json, pointer)


def _same_as_captured(decoder: Any, reference: JsonObject, now: torch.Tensor) -> bool:
    try:
        before = on_host(expected_tensor(decoder, reference))
    except (DecodeError, WorkerError):
        return True
    after = on_host(now)
    return before.shape == after.shape and before.dtype == after.dtype and has_same_bits(before, after)


def _at(places: JsonObject, pointer: str) -> Json:
    value: Json = places
    for token in pointer.split("/")[1:]:
        key = token.replace("~1", "/").replace("~0", "~")
        try:
            value = value[int(key)] if isinstance(value, list) else value[key]
        except (KeyError, IndexError, ValueError, TypeError):
            return None
    return value


def _without_numbers(value: Json) -> Json:
    if isinstance(value, dict):
        return {
            key: _without_numbers(item)
            for key, item in value.items()
            if key not in ("obj", "storage", "offset", "at", "ref")
        }
    return [_without_numbers(item) for item in value] if isinstance(value, list) else value


def _kind(value: Json) -> str:
    if isinstance(value, dict):
        return f"a value of kind '{value.get('$t', 'dict')}'"
    return f"a list of {len(value)}" if isinstance(value, list) else repr(value)


def _text(value: Json) -> str:
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
