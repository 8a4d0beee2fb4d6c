# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Compiles a module with AOTInductor and has the built command line import, run and measure the package.

    check_aotinductor.py MODULELENS FOLDER

Takes a compiler and a minute. Ends with another code than 0, and says why, when something differs from what PyTorch says.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import torch
from torch import nn


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(8, 16)
        self.second = nn.Linear(16, 4)

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        return {"y": self.second(torch.relu(self.first(x))), "sum": x.sum()}


def main() -> None:
    warnings.filterwarnings("ignore")
    program, folder = sys.argv[1], Path(sys.argv[2])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    exported = torch.export.export(Net().eval(), (torch.rand(3, 8),))
    package = torch._inductor.aoti_compile_and_package(exported, package_path=str(folder / "net.pt2"))
    environment = os.environ | {
        "XDG_CONFIG_HOME": str(folder / "settings"),
        "MODULELENS_REGISTRY": str(folder / "registry"),
    }

    def run(expected: int, *words: str) -> Any:
        ended = subprocess.run(
            [program, *words, "--json"], env=environment, capture_output=True, text=True, check=False
        )
        assert ended.returncode == expected, (words, ended.returncode, ended.stdout, ended.stderr)
        return json.loads(ended.stdout)["data"]

    run(12, "import", package)
    run(0, "import", package, "--trust", "--input", "float32[3,8]")
    outputs = run(0, "rebuild", "net::")["outputs"]
    assert [output["pointer"] for output in outputs] == ["/output/y", "/output/sum"], outputs
    assert outputs[0]["shape"] == [3, 4], outputs
    profile = run(0, "profile", "net::")
    assert profile["totals"]["latency_ns"] > 0, profile["totals"]
    assert profile["totals"]["flops"] is None, profile["totals"]
    assert any(node["name"] == "aotinductor::model" for node in profile["nodes"]), profile["nodes"]


if __name__ == "__main__":
    main()
