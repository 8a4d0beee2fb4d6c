# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Names, collections and selections."""

from __future__ import annotations

import hashlib

import pytest
import torch
from conftest import Capture
from torch import nn

from modulelens.names import collection_id, name_modules, run_collection
from modulelens.selection import select


def test_collectionId_isTheMd5OfModelNulModule() -> None:
    assert collection_id("bert-base", "encoder.layer.5") == "657e731e70d24cb6d1f797211d91e3ac"
    assert collection_id("m", "") == hashlib.md5(b"m\0").hexdigest()


def test_runCollection_keepsPlainNames() -> None:
    assert run_collection("minilm-l6_v2.1") == "registered_model_minilm-l6_v2.1"
    assert run_collection("x" * 111) == "registered_model_" + "x" * 111


def test_runCollection_marksChangedNames() -> None:
    digest = hashlib.sha256("a/b \u00e9".encode()).hexdigest()[:8]
    assert run_collection("a/b \u00e9") == f"registered_model_a-b---{digest}"
    long = run_collection("x" * 112)
    assert (
        len(long) == 128 and long == "registered_model_" + "x" * 102 + "-" + hashlib.sha256(b"x" * 112).hexdigest()[:8]
    )


def test_wrappers_leaveNoTraceInNames() -> None:
    inner = nn.Sequential(nn.Linear(2, 2))
    wrapped = nn.DataParallel(inner)
    assert [named.name for named in name_modules(wrapped)] == ["", "0"]
    assert name_modules(wrapped)[0].module is inner


def test_ordinaryAttributeCalledModule_keepsItsName() -> None:
    model = nn.Module()
    model.module = nn.Linear(2, 2)
    model.norm = nn.ReLU()
    assert [named.name for named in name_modules(model)] == ["", "module", "norm"]


def test_compiledModel_isCapturedEagerly(capture: Capture) -> None:
    model = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
    compiled = torch.compile(model)
    bundle = capture(compiled, torch.randn(2, 3))
    assert sorted(bundle.versions) == ["", "0", "1"]


_MODEL = nn.Sequential(nn.Sequential(nn.Linear(1, 1), nn.ReLU()), nn.Linear(1, 1))


@pytest.mark.parametrize(
    ("selectors", "excluded", "expected"),
    [
        (["**"], [], ["", "0", "0.0", "0.1", "1"]),
        (["*"], [], ["0", "1"]),
        (["0.**"], [], ["0", "0.0", "0.1"]),
        (["**.0"], [], ["0", "0.0"]),
        (["0.*"], [], ["0.0", "0.1"]),
        ([""], [], [""]),
        (["class:Linear"], [], ["0.0", "1"]),
        (["depth:1"], [], ["", "0", "1"]),
        (["re:.*1"], [], ["0.1", "1"]),
        ([nn.ReLU], [], ["0.1"]),
        ([lambda name, module: name == "1"], [], ["1"]),
        (["**"], ["0.**", ""], ["1"]),
        ([], [], []),
    ],
)
def test_selection(selectors: list[object], excluded: list[object], expected: list[str]) -> None:
    chosen = select(selectors, excluded)  # type: ignore[arg-type]
    assert [name for name, module in _MODEL.named_modules() if chosen(name, module)] == expected
