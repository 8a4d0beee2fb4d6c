# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""Every source file is built and every test file runs: no file lies beside the build."""

from __future__ import annotations

import json
import re
import subprocess

from .project import Project


def _ctest_names(project: Project) -> set[str]:
    answer = subprocess.run(
        ["ctest", "--show-only=json-v1"], cwd=project.build, capture_output=True, text=True, check=True
    ).stdout
    return {test["name"] for test in json.loads(answer)["tests"]}


def check(project: Project) -> list[str]:
    problems = []
    registered = _ctest_names(project) | project.tests_left_out
    for name in project.cpp_files():
        match = re.fullmatch(r"tests/(\w+)/(?:.*/)?tst_(\w+)\.cpp", name)
        if match:
            entry = f"{match.group(1)}.{match.group(2)}"
            if entry not in registered:
                problems.append(
                    f"{name}: not a ctest entry; add ml_test({match.group(1)} tst_{match.group(2)}.cpp) beside it"
                )
            if "ML_TEST_MAIN(" not in project.text(name):
                problems.append(f"{name}: ends without ML_TEST_MAIN, so its test class never runs")
        layer = project.layer_of(name)
        if layer is not None and layer.built and name not in layer.sources:
            problems.append(f"{name}: in no target; add it to ml_sources in {layer.folder}/CMakeLists.txt")
    return problems
