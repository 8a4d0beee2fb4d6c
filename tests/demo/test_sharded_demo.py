# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""Captures the sharded demo models over four processes and validates every module with the built program and worker."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("MODULELENS_BIN_DIR", ROOT / "build/dev/bin")) / "modulelens"
HAS_TORCHREC = importlib.util.find_spec("torchrec") is not None


def run(registry: Path, *arguments: str) -> dict[str, Any]:
    """Runs a verb with --json; its data, once the answer was ok."""
    done = subprocess.run(
        [PROGRAM, *arguments, "--registry", str(registry), "--json"], capture_output=True, text=True, check=False
    )
    answer = json.loads(done.stdout)
    assert answer["status"] == "ok", answer["error"]
    data: dict[str, Any] = answer["data"]
    return data


# The modules of each model, and how many of them no sum over ranks rounds otherwise: these are exact to the bit.
@pytest.mark.parametrize(
    ("what", "model", "modules", "exact"),
    [
        ("fsdp2-tp", "decoder-fsdp2-tp", 40, 3 * 8),
        pytest.param(
            "torchrec",
            "dlrm-torchrec",
            20,
            18,
            marks=pytest.mark.skipif(not HAS_TORCHREC, reason="requirements/sharded.txt is not installed"),
        ),
    ],
)
def test_everyShardedModule_validatesOnItsOwn(tmp_path: Path, what: str, model: str, modules: int, exact: int) -> None:
    captures, registry = tmp_path / "captures", tmp_path / "registry"
    command = [sys.executable, ROOT / "demo/capture_sharded.py", captures, "--only", what]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    assert run(registry, "import", str(captures))["versions_new"] == modules
    results = run(registry, "validate", "--query", f"model:{model}")["results"]
    assert len(results) == modules
    assert [result["address"] for result in results if result["verdict"] != "pass"] == []
    assert sum(result["exact"] is True for result in results) >= exact
