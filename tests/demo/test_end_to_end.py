# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""Captures the demo models, whose weights are real, and works on them with the built command line program and worker.

Expected numbers come from PyTorch on the live models: module counts, FLOPs by FlopCounterMode, bytes of unique storages.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("MODULELENS_BIN_DIR", ROOT / "build/dev/bin")) / "modulelens"
sys.path.insert(0, str(ROOT / "tests/bench"))

MODELS = ["minilm-l6", "silero-vad", "dlrm-ads"]
FEWEST_MINILM_MODULES = 113
SUMMED_METRICS = ["latency_ns", "flops", "bytes", "activation_bytes", "peak_bytes", "parameter_bytes"]


def run(registry: Path, *arguments: str) -> dict[str, Any]:
    """Runs a verb with --json; its data, once the answer was ok."""
    done = subprocess.run(
        [PROGRAM, *arguments, "--registry", str(registry), "--json"], capture_output=True, text=True, check=False
    )
    answer = json.loads(done.stdout)
    assert answer["status"] == "ok", answer["error"]
    assert done.returncode == 0, done.stdout[-2000:]
    data: dict[str, Any] = answer["data"]
    return data


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Path:
    captures = tmp_path_factory.mktemp("captures")
    folder = tmp_path_factory.mktemp("demo") / "registry"
    subprocess.run([sys.executable, ROOT / "demo/capture_demo.py", captures], check=True, stderr=subprocess.DEVNULL)
    run(folder, "import", str(captures))
    return folder


def versions_of(registry: Path, query: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    cursor: list[str] = []
    while True:
        page = run(registry, "search", query, "--limit", "100", *cursor)
        found += page["versions"]
        if page["next_cursor"] is None:
            assert len(found) == page["total"]
            return found
        cursor = ["--cursor", page["next_cursor"]]


@pytest.fixture(scope="module")
def live() -> dict[str, tuple[Any, Any]]:
    import bench_demo

    return {name: (model, step) for name, model, step in bench_demo.first_captures()}


def called_modules(model: Any, step: Any) -> set[str]:
    called: set[str] = set()

    def noting(path: str) -> Any:
        return lambda *_: called.add(path)

    hooks = [module.register_forward_hook(noting(path)) for path, module in model.named_modules()]
    step()
    for hook in hooks:
        hook.remove()
    return called


def test_everyModule_isCaptured_withAProgram(registry: Path, live: dict[str, tuple[Any, Any]]) -> None:
    for name in MODELS:
        versions = versions_of(registry, f"model:{name}")
        assert {version["module"] for version in versions} == called_modules(*live[name])
        assert all(version["program"] for version in versions)
        assert {version["version"] for version in versions if version["module"] == ""} >= {0, 1}
    assert len({version["module"] for version in versions_of(registry, "model:minilm-l6")}) >= FEWEST_MINILM_MODULES


@pytest.mark.parametrize("model", MODELS)
def test_everyCapturedModule_validates_toTheBit(registry: Path, model: str) -> None:
    expected = len(versions_of(registry, f"model:{model}"))
    answer = run(registry, "validate", "--query", f"model:{model}")
    results = answer["results"]
    assert len(results) == expected
    wrong = [result["address"] for result in results if result["verdict"] != "pass" or result["exact"] is not True]
    assert wrong == []


@pytest.mark.parametrize("model", MODELS)
def test_profileOfTheWholeModel_agreesWithPyTorch(registry: Path, live: dict[str, tuple[Any, Any]], model: str) -> None:
    import bench_demo

    module, step = live[model]
    profile = run(registry, "profile", f"{model}::@v0", "--all")
    totals = profile["totals"]
    assert totals["flops"] == bench_demo.counted_flops(step) // bench_demo.calls_of(module, step)
    assert profile["coverage"]["unknown"] == []
    storages = {parameter.untyped_storage().data_ptr(): parameter for parameter in module.parameters()}
    assert totals["parameter_bytes"] == sum(parameter.untyped_storage().nbytes() for parameter in storages.values())
    assert len(profile["nodes"]) == profile["nodes_total"]
    for metric in SUMMED_METRICS:
        root = next(node for node in profile["nodes"] if node["parent"] is None)
        assert sum(node[metric]["self"] or 0 for node in profile["nodes"]) == root[metric]["total"], metric
