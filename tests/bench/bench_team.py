# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""A team's registry with 10,000 versions, over the stand-in for W&B: how many requests listing and opening take."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests/wandb"))

from check_cli import control, operations  # noqa: E402
from check_sdk import TEAM, run, set_environment, stand_in  # noqa: E402

VERSIONS = 10_000
PAGE = 1000


def main() -> None:
    program = str(Path(os.environ.get("MODULELENS_BIN_DIR", "bin")) / "modulelens")
    with tempfile.TemporaryDirectory() as scratch, stand_in() as url:
        folder = Path(scratch)
        set_environment(url, folder)
        run(program, "--registry", folder / "local", "import", SOURCE / "tests/data/capture/v1")
        run(program, "--registry", folder / "local", "registry", "publish", "--query", "", "--team", TEAM)
        address = run(program, "--registry", TEAM, "search", "is:program")["versions"][0]["address"]
        run(program, "--registry", TEAM, "show", address)
        operations()
        run(program, "--registry", TEAM, "show", address)
        opened = operations()
        control(do="fill", versions=VERSIONS, modules=100)
        begin = time.monotonic()
        total = run(program, "--registry", TEAM, "search", "--limit", "1")["total"]
        seconds = time.monotonic() - begin
        listed = operations().count("Versions")
    fewest = -(-total // PAGE)
    addresses = sum(name in ("FileUrls", "ManifestUrl") or name.startswith("STORAGE") for name in opened)
    results = [
        {
            "name": f"team: requests to list {total} versions",
            "value": listed,
            "unit": "",
            "target": f"<= {fewest}",
            "ok": listed <= fewest,
            "detail": f"{seconds:.1f} s, most of it the stand-in's",
        },
        {
            "name": "team: requests for addresses when a cached version opens",
            "value": addresses,
            "unit": "",
            "target": "<= 0",
            "ok": addresses == 0,
            "detail": ", ".join(opened),
        },
    ]
    print(json.dumps({"results": results}))


if __name__ == "__main__":
    main()
