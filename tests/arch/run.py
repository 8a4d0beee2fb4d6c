# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""Runs one check: `run.py NAME --source DIR --build DIR`. Ends with 0, 1 (violations, one a line) or 77 (skipped)."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path

from checks.project import Project
from checks.tools import ToolMissing


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name")
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--build", type=Path, required=True)
    arguments = parser.parse_args()
    check = importlib.import_module(f"checks.{arguments.name}")
    try:
        problems = check.check(Project(arguments.source.resolve(), arguments.build.resolve()))
    except ToolMissing as missing:
        print(f"SKIPPED: {missing}")
        return 77
    for problem in problems:
        print(problem)
    print(f"{arguments.name}: {len(problems)} violations")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
