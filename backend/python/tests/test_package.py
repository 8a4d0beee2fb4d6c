# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""The package can be installed with pip from its folder."""

from __future__ import annotations

from pathlib import Path

import pytest

pyprojecttoml = pytest.importorskip("setuptools.config.pyprojecttoml")


def test_packageDescription_isAccepted_bySetuptools() -> None:
    described = pyprojecttoml.read_configuration(Path(__file__).parents[1] / "pyproject.toml")

    assert described["project"]["name"] == "modulelens"
    assert described["tool"]["setuptools"]["packages"] == ["modulelens", "modulelens.distributed", "modulelens.worker"]
