# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""Reads a real W&B server, when one is named: `check_real_server.py MODULELENS`, with MODULELENS_TEST_WANDB=wandb:TEAM/REGISTRY and a key.

Only lists and shows; it changes nothing. Ends with 77 (skipped) without them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys


def main(program: str) -> int:
    address = os.environ.get("MODULELENS_TEST_WANDB")
    if not address or not os.environ.get("WANDB_API_KEY"):
        print("SKIPPED: MODULELENS_TEST_WANDB and WANDB_API_KEY are not set")
        return 77
    done = subprocess.run(
        [program, "--registry", address, "search", "--json"], capture_output=True, text=True, check=False
    )
    print(done.stdout, done.stderr)
    if done.returncode != 0:
        return 1
    versions = json.loads(done.stdout)["data"]["versions"]
    if versions:
        return subprocess.run([program, "--registry", address, "show", versions[0]["id"]], check=False).returncode
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
