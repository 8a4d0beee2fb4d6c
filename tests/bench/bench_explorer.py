# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""Process start to first paint of the explorer against an empty Qt window of the same size, taken in turn."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

PAIRS = 15


def seconds(command: list[str], environment: dict[str, str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - started


def main() -> None:
    programs = Path(os.environ["MODULELENS_BIN_DIR"])
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(
            os.environ, QT_QPA_PLATFORM="offscreen", XDG_CONFIG_HOME=folder, XDG_RUNTIME_DIR=folder, XDG_DATA_HOME=folder
        )
        explorer = [str(programs / "modulelens-explorer"), "--exit-after-first-paint"]
        empty = [str(programs / "empty-window")]
        for command in (explorer, empty):
            seconds(command, environment)
        pairs = [(seconds(explorer, environment), seconds(empty, environment)) for _ in range(PAIRS)]
    ratio = statistics.median(a / b for a, b in pairs)
    detail = (
        f"explorer {statistics.median(a for a, _ in pairs) * 1e3:.0f} ms, "
        f"empty window {statistics.median(b for _, b in pairs) * 1e3:.0f} ms, {PAIRS} pairs, offscreen"
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
