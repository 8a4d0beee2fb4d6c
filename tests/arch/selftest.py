# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""Plants one violation after another in a copy of the source tree and asserts that its check names it.

A check that finds nothing proves nothing until it was seen to find something.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from checks import (
    architecture_table,
    cpp_format,
    cpp_tidy,
    declared_arrows,
    file_length,
    headers,
    include_arrows,
    licences,
    linkage,
    tests_registered,
)
from checks.project import Project
from checks.tools import ToolMissing

_SPDX = "// SPDX-FileCopyrightText: 2026 The ModuleLens authors\n// SPDX-License-Identifier: MIT\n"
_HEADER = _SPDX + "#pragma once\n"


@dataclass(frozen=True)
class Plant:
    what: str
    check: Callable[[Project], list[str]]
    file: str
    text: str
    expected: str


_PLANTS = [
    Plant(
        "table in ARCHITECTURE.md with an arrow that the build has not",
        architecture_table.check,
        "ARCHITECTURE.md",
        "| base | everything | registry | |\n",
        r"says that base may use 'registry'",
    ),
    Plant(
        "upward include",
        include_arrows.check,
        "backend/base/Planted.h",
        _HEADER + '#include "backend/registry/Planted2.h"\n',
        r"Planted\.h:4: .*is not a file",
    ),
    Plant(
        "include of a layer that is not in the table's line",
        include_arrows.check,
        "backend/base/Planted.h",
        _HEADER + '#include "backend/registry/CMakeLists.txt"\n',
        r"of layer registry, which base may not use",
    ),
    Plant(
        "relative include",
        include_arrows.check,
        "backend/base/Planted.h",
        _HEADER + '#include "Result.h"\n',
        r"not a file of the source tree",
    ),
    Plant(
        "include of a test helper",
        include_arrows.check,
        "backend/base/Planted.h",
        _HEADER + '#include "tests/support/TestMain.h"\n',
        r"is a test helper that base may not use",
    ),
    Plant(
        "include of LibTorch",
        include_arrows.check,
        "backend/graph/Planted.h",
        _HEADER + "#include <ATen/Tensor.h>\n",
        r"<ATen/Tensor\.h> is of torch, which graph may not use",
    ),
    Plant(
        "include of Qt",
        include_arrows.check,
        "backend/capture/Planted.h",
        _HEADER + "#include <QString>\n",
        r"<QString> is of qtcore, which capture may not use",
    ),
    Plant(
        "include of widgets in a model",
        include_arrows.check,
        "models/Planted.h",
        _HEADER + "#include <QWidget>\n",
        r"<QWidget> is of qtwidgets, which models may not use",
    ),
    Plant(
        "include of curl",
        include_arrows.check,
        "backend/registry/Planted.h",
        _HEADER + "#include <curl/curl.h>\n",
        r"<curl/curl\.h> is of curl, which registry may not use",
    ),
    Plant(
        "header of an unknown library",
        include_arrows.check,
        "backend/base/Planted.h",
        _HEADER + "#include <boost/any.hpp>\n",
        r"belongs to no library",
    ),
    Plant(
        "input in a widget",
        include_arrows.check,
        "widgets/Planted.h",
        _HEADER + "#include <QFile>\n",
        r"widgets does no input or output",
    ),
    Plant(
        "own header not first",
        include_arrows.check,
        "backend/base/Result.cpp",
        _SPDX + "#include <string>\n",
        r"first include is not its own header",
    ),
    Plant(
        "source file outside the layers",
        include_arrows.check,
        "backend/planted/Planted.cpp",
        _SPDX,
        r"lies in no layer",
    ),
    Plant(
        "test that is not registered",
        tests_registered.check,
        "tests/base/tst_Planted.cpp",
        _SPDX + "ML_TEST_MAIN(TestPlanted)\n",
        r"tst_Planted\.cpp: not a ctest entry",
    ),
    Plant(
        "test class that never runs",
        tests_registered.check,
        "tests/base/tst_Planted.cpp",
        _SPDX,
        r"without ML_TEST_MAIN",
    ),
    Plant("source that is not built", tests_registered.check, "backend/base/Planted.cpp", _SPDX, r"in no target"),
    Plant(
        "header that does not compile alone",
        lambda project: headers.compile_alone(project, ["backend/capture/Planted.h"]),
        "backend/capture/Planted.h",
        _HEADER + "std::string planted();\n",
        r"Planted\.h: does not compile alone",
    ),
    Plant(
        "file without a licence",
        licences.check,
        "backend/base/Planted.h",
        "#pragma once\n",
        r"no SPDX-License-Identifier",
    ),
    Plant(
        "GPL in the backend",
        licences.check,
        "backend/base/Planted.h",
        _HEADER.replace("Identifier: MIT", "Identifier: GPL-3.0-or-later"),
        r"licence GPL-3\.0-or-later, expected MIT",
    ),
    Plant(
        "MIT in the widgets", licences.check, "widgets/Planted.h", _HEADER, r"licence MIT, expected GPL-3\.0-or-later"
    ),
    Plant("long file", file_length.check, "backend/base/Planted.h", _HEADER + "\n" * 600, r"the limit is 600"),
    Plant(
        "unformatted file",
        cpp_format.check,
        "backend/base/Planted.h",
        _HEADER + "int  planted( ) ;\n",
        r"not formatted",
    ),
]


class SelfTest:
    def __init__(self, source: Path, build: Path, work: Path) -> None:
        self.original = Project(source, build)
        self.copy = work / "source"
        self.work = work
        self.build = build
        self.failures: list[str] = []
        for name in self.original.files:
            if not name.startswith(("tests/data/", "resources/", "docs/")):
                target = self.copy / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source / name, target)

    def project(self, build: Path | None = None) -> Project:
        return Project(self.copy, build or self.build)

    def report(self, what: str, caught: bool, detail: str) -> None:
        print(f"{'caught' if caught else 'MISSED'}: {what}" + ("" if caught else f": {detail}"), flush=True)
        if not caught:
            self.failures.append(what)

    def run_plants(self) -> None:
        for plant in _PLANTS:
            target = self.copy / plant.file
            before = target.read_bytes() if target.is_file() else None
            made = [parent for parent in target.parents if not parent.exists()]
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(plant.text)
            try:
                problems = plant.check(self.project())
            except ToolMissing as missing:
                print(f"not tried: {plant.what}: {missing}")
                continue
            finally:
                if before is None:
                    target.unlink()
                else:
                    target.write_bytes(before)
                for parent in made:
                    parent.rmdir()
            caught = any(re.search(plant.expected, problem) for problem in problems)
            self.report(plant.what, caught, f"got {problems[:5]}")

    def run_transitive(self) -> None:
        hidden = self.copy / "backend/capture/Planted.h"
        reader = self.copy / "widgets/Planted.h"
        hidden.write_text(_HEADER + "#include <nlohmann/json.hpp>\n")
        reader.write_text(_HEADER + '#include "backend/capture/Planted.h"\n')
        problems = include_arrows.check(self.project())
        hidden.unlink()
        reader.unlink()
        expected = 'widgets/Planted.h: through "backend/capture/Planted.h" it sees <nlohmann/json.hpp>'
        self.report(
            "header that shows a library to a layer without it", any(expected in p for p in problems), str(problems[:5])
        )

    def run_declared_arrows(self) -> None:
        script = self.work / "table.cmake"
        table = (self.copy / "cmake/LayerTable.cmake").read_text()
        lines = [
            "cmake_minimum_required(VERSION 3.25)",
            f'list(PREPEND CMAKE_MODULE_PATH "{self.copy}/cmake")',
            "include(Layers)",
            f'include("{self.work}/LayerTable.cmake")',
        ]
        script.write_text("\n".join(lines) + "\n")
        plants = {
            "nothing planted": (table, ""),
            "arrow to a later layer": (
                table.replace(
                    "ml_layer(rpc DIR backend/rpc QT_FREE MAY_USE base",
                    "ml_layer(rpc DIR backend/rpc QT_FREE MAY_USE base registry",
                ),
                "may not use\\s+'registry'",
            ),
            "arrow to itself": (table + "ml_layer(planted DIR planted MAY_USE planted)\n", "may not use\\s+'planted'"),
            "layer declared twice": (table + "ml_layer(base DIR planted)\n", "declared twice"),
        }
        for what, (text, expected) in plants.items():
            (self.work / "LayerTable.cmake").write_text(text)
            done = subprocess.run(["cmake", "-P", str(script)], capture_output=True, text=True, check=False)
            if expected:
                self.report(
                    f"configure: {what}",
                    done.returncode != 0 and re.search(expected, done.stderr) is not None,
                    done.stderr,
                )
            elif done.returncode != 0:
                self.report("configure: the table as it is", False, done.stderr)
        table_as_written = json.loads((self.build / "layers.json").read_text())
        table_as_written["layers"][0]["may_use"] = ["registry"]
        build = self.fake_build(table_as_written)
        problems = declared_arrows.check(self.project(build))
        self.report(
            "arrow to a later layer in layers.json", any("base uses registry" in p for p in problems), str(problems)
        )

    def fake_build(self, table: object | None = None) -> Path:
        build = self.work / "build"
        (build / "bin").mkdir(parents=True, exist_ok=True)
        shutil.copy2(self.build / "tests.json", build / "tests.json")
        if table is None:
            shutil.copy2(self.build / "layers.json", build / "layers.json")
        else:
            (build / "layers.json").write_text(json.dumps(table))
        return build

    def run_linkage(self) -> None:
        build = self.fake_build()
        empty = self.work / "empty.c"
        empty.write_text("int main(void) { return 0; }\n")
        for library, program, expected in [
            ("libtorch_cpu.so", "modulelens", "only the worker and tests of the engine link LibTorch"),
            ("libc10.so", "modulelens-explorer", "only the worker and tests of the engine link LibTorch"),
            ("libQt6Widgets.so.6", "modulelens", "only programs with windows link it"),
            ("libQt6Core.so.6", "modulelens-worker", "this program is free of Qt"),
        ]:
            stand_in = self.work / library
            subprocess.run(
                ["c++", "-x", "c", "-shared", "-fPIC", f"-Wl,-soname,{library}", "-o", str(stand_in), str(empty)],
                check=True,
            )
            out = build / "bin" / program
            subprocess.run(
                ["c++", "-x", "c", str(empty), "-x", "none", "-Wl,--no-as-needed", str(stand_in), "-o", str(out)],
                check=True,
            )
            problems = linkage.check(self.project(build))
            out.unlink()
            self.report(f"{program} linked with {library}", any(expected in p for p in problems), str(problems))

    def run_strict_includes(self) -> None:
        commands = headers.compile_commands(self.original)
        if not (self.build / "staging").is_dir() or "ml_base" not in commands:
            print("not tried: strict include folders: this build has none (the ci preset does)")
            return
        command, folder = commands["ml_base"]
        for header, expected in [
            ("backend/base/Result.h", 0),
            ("backend/capture/CMakeLists.txt", 1),
            ("tests/support/TestMain.h", 1),
        ]:
            done = subprocess.run(
                [*command, "-x", "c++", "-fsyntax-only", "-"],
                cwd=folder,
                input=f'#if !__has_include("{header}")\n#error "No such file"\n#endif\n',
                capture_output=True,
                text=True,
                check=False,
            )
            refused = "No such file" in done.stderr
            if refused != bool(expected):
                self.report(f"strict include folder of base with {header}", False, done.stderr)
        self.report(
            "include of another layer, by the compiler", not self.failures or "strict" not in self.failures[-1], ""
        )

    def run_tidy(self) -> None:
        """A small tree with one file: an unlocked read of a guarded member, and a name against the style."""
        if not (self.copy / "backend/base/Mutex.h").is_file():
            print("not tried: clang-tidy: backend/base/Mutex.h does not exist")
            return
        build = self.fake_build()
        planted = self.copy / "backend/base/Planted.cpp"
        planted.write_text(
            _SPDX + '#include "backend/base/Mutex.h"\nnamespace modulelens {\nclass planted_type {\npublic:\n'
            "    int read() { return m_value; }\nprivate:\n    base::Mutex m_mutex;\n"
            "    int m_value ML_GUARDED_BY(m_mutex) = 0;\n};\nint planted() { return planted_type().read(); }\n}\n"
        )
        (build / "compile_commands.json").write_text(
            json.dumps(
                [
                    {
                        "directory": str(build),
                        "file": str(planted),
                        "command": f"c++ -std=c++20 -I{self.copy} -o planted.o -c {planted}",
                    }
                ]
            )
        )
        try:
            problems = cpp_tidy.check(self.project(build))
        except ToolMissing as missing:
            print(f"not tried: clang-tidy: {missing}")
            return
        finally:
            planted.unlink()
        self.report(
            "read of a guarded member without its lock", any("thread-safety" in p for p in problems), str(problems)
        )
        self.report(
            "type name against the style", any("readability-identifier-naming" in p for p in problems), str(problems)
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--source", type=Path, required=True)
    parser.add_argument("--build", type=Path, required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        test = SelfTest(arguments.source.resolve(), arguments.build.resolve(), Path(folder))
        test.run_declared_arrows()
        test.run_plants()
        test.run_transitive()
        test.run_linkage()
        test.run_strict_includes()
        test.run_tidy()
    print(f"{len(test.failures)} planted violations were missed")
    return 1 if test.failures else 0


if __name__ == "__main__":
    sys.exit(main())
