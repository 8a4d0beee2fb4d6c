# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""What the README shows runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import modulelens

README = Path(modulelens.__file__).parents[1] / "README.md"


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.ModuleList(nn.Linear(4, 4) for _ in range(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layer:
            x = layer(x)
        return x


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = Encoder()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.encoder(x)


def test_pythonBlocks_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    blocks = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    own = [block for block in blocks if "sharded" not in block]
    assert len(own) == 3
    batch = torch.randn(2, 4)
    known: dict[str, Any] = {"model": Model(), "batch": batch, "build": Model, "nn": nn, "loader": [batch] * 3}
    known["train_step"] = lambda batch: known["model"](batch)
    exec(own[0], known)
    assert "'verdict': 'pass', 'exact': True" in capsys.readouterr().out
    exec(own[1], known)
    assert known["tracer"].problems == []
    assert [bundle.parent.name for bundle in known["tracer"].bundles] == ["inbox"]
    known["pack_bundle"] = modulelens.pack_bundle
    exec(own[2], known)
    assert list(tmp_path.glob("captures/*.mlens"))
