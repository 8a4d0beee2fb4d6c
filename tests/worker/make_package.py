# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Compiles the captured perceptron with AOTInductor, which takes a compiler and a minute, into FOLDER/perceptron.pt2.

make_package.py FOLDER
"""

from __future__ import annotations

import shutil
import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "engine"))

import capture_training
import torch


def main() -> None:
    warnings.filterwarnings("ignore")
    folder = Path(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    exported = torch.export.export(capture_training.perceptron().eval(), (torch.rand(8, 32),))
    torch._inductor.aoti_compile_and_package(exported, package_path=str(folder / "perceptron.pt2"))


if __name__ == "__main__":
    main()
