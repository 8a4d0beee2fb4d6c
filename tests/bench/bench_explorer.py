# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""Process start to first paint of the explorer against an empty Qt window of the same size, taken in turn, on an X server
of their own: offscreen an empty window would not even look for a font."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PAIRS = 15


def seconds(command: list[str], environment: dict[str, str]) -> float:
    """Time from the start of the process to the line that it prints after its first paint."""
    started = time.perf_counter()
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        elapsed = time.perf_counter() - started
    if not line.startswith(b"first paint") or process.returncode != 0:
        raise SystemExit(f"{command[0]} ended with {process.returncode} before its first paint")
    return elapsed


def main() -> None:
    if "MODULELENS_BENCH_DISPLAY" not in os.environ:
        xvfb = shutil.which("xvfb-run")
        if xvfb is None:
            raise SystemExit("xvfb-run is missing: install xvfb")
        os.environ["MODULELENS_BENCH_DISPLAY"] = "1"
        os.execv(xvfb, [xvfb, "-a", "-s", "-screen 0 1920x1200x24", sys.executable, __file__])
    programs = Path(os.environ["MODULELENS_BIN_DIR"])
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(
            os.environ, QT_QPA_PLATFORM="xcb", XDG_CONFIG_HOME=folder, XDG_RUNTIME_DIR=folder, XDG_DATA_HOME=folder
        )
        explorer = [str(programs / "modulelens-explorer"), "--exit-after-first-paint"]
        empty = [str(programs / "empty-window")]
        for command in (explorer, empty):
            seconds(command, environment)
        pairs = [(seconds(explorer, environment), seconds(empty, environment)) for _ in range(PAIRS)]
    ratio = statistics.median(a / b for a, b in pairs)
    detail = (
        f"explorer {statistics.median(a for a, _ in pairs) * 1e3:.0f} ms, "
        f"empty window {statistics.median(b for _, b in pairs) * 1e3:.0f} ms, {PAIRS} pairs, Xvfb"
    )
    result = {
        "name": "explorer first paint / empty Qt window",
        "value": ratio,
        "unit": "ratio",
        "target": "<= 2",
        "ok": ratio <= 2,
        "detail": detail,
    }
    print(json.dumps({"results": [result]}))


if __name__ == "__main__":
    main()
