# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""The real wandb SDK against our client, both ways, over the stand-in: `check_sdk.py MODULELENS BUNDLE`.

Our client publishes and the SDK lists, downloads and verifies; the tracer's store publishes with the SDK and our client lists, fetches and
checks; what both publish is one version. Ends with 77 (skipped) where wandb or graphql-core is not installed.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SOURCE = Path(__file__).resolve().parents[2]
TEAM = "wandb:team-a/modulelens"


@contextlib.contextmanager
def stand_in() -> Iterator[str]:
    server = subprocess.Popen(
        [sys.executable, "-B", SOURCE / "tests/support/wandb/stand_in.py"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        yield server.stdout.readline().strip()
    finally:
        server.stdin.close()
        server.wait()


def set_environment(url: str, folder: Path) -> None:
    os.environ |= {
        "WANDB_BASE_URL": url,
        "WANDB_API_KEY": "a" * 40,
        "WANDB_ERROR_REPORTING": "false",
        "WANDB_SILENT": "true",
        "HOME": str(folder / "home"),
        "MODULELENS_CACHE": str(folder / "cache"),
        "no_proxy": "127.0.0.1",
    }
    for name in ("DIR", "CACHE_DIR", "CONFIG_DIR", "DATA_DIR", "ARTIFACT_DIR"):
        os.environ[f"WANDB_{name}"] = str(folder / "wandb")
    (folder / "home").mkdir()


def run(program: str, *arguments: object) -> dict[str, Any]:
    done = subprocess.run([program, *map(str, arguments), "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"
    data: dict[str, Any] = json.loads(done.stdout)["data"]
    return data


def main(program: str, bundle: str) -> int:
    missing = [name for name in ("wandb", "graphql") if importlib.util.find_spec(name) is None]
    if missing:
        print(f"SKIPPED: not installed: {', '.join(missing)}")
        return 77
    sys.path.insert(0, str(SOURCE / "backend/python"))
    with tempfile.TemporaryDirectory() as scratch, stand_in() as url:
        folder = Path(scratch)
        set_environment(url, folder)
        check(str(Path(program).resolve()), Path(bundle), folder)
    return 0


def contents(program: str, registry: Path) -> list[str]:
    """What every version of a registry holds: names, program and the digests of all captured tensors."""
    versions = run(program, "--registry", registry, "search")["versions"]
    shown = [run(program, "--registry", registry, "show", each["id"]) for each in versions]
    return sorted(
        json.dumps([each[key] for key in ("address", "class", "program", "calls", "environment")]) for each in shown
    )


def check(program: str, bundle: Path, folder: Path) -> None:
    import wandb
    from modulelens.wandb_store import publish_bundle

    local = folder / "local"
    run(program, "--registry", local, "import", bundle)
    sent = run(program, "--registry", local, "registry", "publish", "--query", "", "--team", TEAM)
    names = [version["id"] for version in sent["versions"]]
    assert names, "nothing was published"
    assert all(version["new"] for version in sent["versions"])

    # Ours, read by the SDK.
    api = wandb.Api(overrides={"base_url": os.environ["WANDB_BASE_URL"]})
    seen = {}
    for artifact in api.registry("modulelens").collections(filter={"name": {"$regex": "^[0-9a-f]{32}$"}}).versions():
        path = artifact.download(root=str(folder / "sdk" / artifact.name.replace(":", "-")))
        artifact.verify(path)
        assert artifact.manifest.digest() == artifact.digest
        seen[artifact.name.replace(":v", "-v")] = artifact
    assert set(seen) == set(names), (sorted(seen), sorted(names))
    print(f"the SDK verified {len(seen)} versions that our client published")

    # The same content, published by the SDK, is the same version.
    again = publish_bundle(bundle, "team-a", "modulelens")
    assert sorted(name.replace(":v", "-v") for name in again.versions) == sorted(names), (again.versions, names)
    print("the SDK's publication of the same bundle gave no new version")

    # A fresh server's registry, filled by the SDK alone, read by ours.
    with stand_in() as url:
        os.environ["WANDB_BASE_URL"] = url
        # In a process of its own: the SDK keeps the address of its first server.
        os.environ["PYTHONPATH"] = str(SOURCE / "backend/python")
        subprocess.run([sys.executable, "-B", "-m", "modulelens", "publish", bundle, TEAM], check=True)
        listed = run(program, "--registry", TEAM, "search")
        assert listed["total"] == len(names), listed
        shown = run(program, "--registry", TEAM, "show", listed["versions"][0]["id"])
        assert shown["id"] == listed["versions"][0]["id"], shown
        other = folder / "other"
        fetched = run(program, "--registry", other, "registry", "fetch", "--query", "", "--team", TEAM)
        assert fetched["versions_new"] == len(names), fetched
        assert run(program, "--registry", other, "registry", "verify")["verdict"] == "pass"
        assert contents(program, local) == contents(program, other)
        known = run(program, "--registry", other, "registry", "fetch", "--query", "", "--team", TEAM)
        assert (known["versions_new"], known["versions_known"]) == (0, len(names)), known
        print(f"our client fetched and checked {len(names)} versions that the SDK published")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
