# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""The command line with a team's registry, over the stand-in: `check_cli.py MODULELENS BUNDLE`.

Ends with 77 (skipped) where graphql-core is not installed.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path
from typing import Any

from check_sdk import TEAM, contents, run, set_environment, stand_in


def control(**request: Any) -> Any:
    url = os.environ["WANDB_BASE_URL"] + "/_control"
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(urllib.request.Request(url, json.dumps(request).encode(), method="POST")) as answer:
        return json.loads(answer.read())


def operations() -> list[str]:
    names = [entry["operation"] for entry in control(do="log")]
    control(do="forget_log")
    return names


def fails(code: int, program: str, *arguments: object) -> str:
    done = subprocess.run([program, *map(str, arguments), "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == code, f"{arguments}: {done.returncode} instead of {code}: {done.stdout}{done.stderr}"
    assert "a" * 40 not in done.stdout + done.stderr, "the key is shown"
    return done.stdout


def check(program: str, bundle: Path, folder: Path) -> None:
    local, other = folder / "local", folder / "other"
    run(program, "--registry", local, "import", bundle)
    versions = run(program, "--registry", local, "search")["versions"]

    # Both ways, each one action; what is there is not sent again.
    sent = run(program, "--registry", local, "registry", "publish", "--query", "", "--team", TEAM)
    assert len(sent["versions"]) == len(versions)
    assert sent["bytes_sent"] > 0
    again = run(program, "--registry", local, "registry", "publish", "--query", "", "--team", TEAM)
    assert again["bytes_sent"] == 0
    assert not any(version["new"] for version in again["versions"])
    found = run(program, "--registry", TEAM, "search", "is:latest")
    assert found["total"] == len(versions), found
    address = found["versions"][0]["address"]
    fetched = run(program, "--registry", other, "registry", "fetch", address, "--team", TEAM)
    assert fetched["versions_new"] == 1, fetched
    run(program, "--registry", other, "registry", "fetch", "--query", "", "--team", TEAM)
    assert contents(program, local) == contents(program, other)
    assert run(program, "--registry", other, "registry", "verify")["verdict"] == "pass"

    # The same pages as of a local registry; a second look asks for no address.
    operations()
    shown = run(program, "--registry", TEAM, "show", address)
    here = run(program, "--registry", other, "show", address)
    assert shown["program"] == here["program"]
    assert shown["calls"] == here["calls"]
    tree = run(program, "--registry", TEAM, "tree", address)
    assert tree["nodes"] == run(program, "--registry", other, "tree", address)["nodes"]
    assert "FileUrls" not in operations()
    run(program, "--registry", TEAM, "tag", "add", address, "reviewed")
    assert run(program, "--registry", TEAM, "search", "tag:reviewed")["total"] == 1

    # Without a network: what was seen, with its age; publishing waits and goes on.
    proof = {"code": 403, "count": 1000000, "body": "<html>captive portal</html>"}
    control(do="fail", **proof)
    run(program, "--registry", TEAM, "search")
    done = subprocess.run([program, "--registry", TEAM, "search"], capture_output=True, text=True, check=True)
    assert "cannot be reached" in done.stderr, done.stderr
    fails(13, program, "--registry", local, "registry", "publish", "--query", "", "--team", TEAM)
    assert len(run(program, "registry", "queue")["publications"]) == 1
    control(do="clear")
    resumed = run(program, "registry", "publish")
    assert len(resumed["versions"]) == len(versions)
    assert not run(program, "registry", "queue")["publications"]

    # Mistakes.
    fails(2, program, "--registry", local, "registry", "publish")
    fails(2, program, "--registry", local, "registry", "publish", address, "--team", "wandb:team-a")
    fails(3, program, "--registry", "wandb:team-a/none", "search")
    fails(3, program, "--registry", "wandb:nobody/modulelens", "search")
    fails(3, program, "--registry", TEAM, "show", "none::none")
    os.environ["WANDB_API_KEY"] = "b" * 40
    fails(13, program, "--registry", "wandb:team-a/other", "search")
    os.environ["WANDB_API_KEY"] = ""
    fails(13, program, "--registry", TEAM, "search")

    # The cache is seen and cleared.
    assert run(program, "registry", "cache")["bytes"] > 0
    run(program, "registry", "cache", "clear")
    print(f"{len(versions)} versions went to the team and back")


def main(program: str, bundle: str) -> int:
    if importlib.util.find_spec("graphql") is None:
        print("SKIPPED: graphql-core is not installed")
        return 77
    with tempfile.TemporaryDirectory() as scratch, stand_in() as url:
        set_environment(url, Path(scratch))
        check(str(Path(program).resolve()), Path(bundle), Path(scratch))
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
