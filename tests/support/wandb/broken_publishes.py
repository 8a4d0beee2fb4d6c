# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""Eleven broken publications, each of which the stand-in must refuse, and the right one, which it must take.

The publication here is the shortest reading of the protocol, with nothing but the standard library: a second opinion on what
backend/wandb sends. Ends with 77 (skipped) where graphql-core is not installed.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import json
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

FILES = {"graph.txt": b"module\n" * 500, "sub dir/weights.bin": bytes(range(256)) * 100, "empty.txt": b""}
REGISTRY = "wandb-registry-modulelens"
FAULTS = [
    "manifest digest in hex",
    "artifact digest without its first line",
    "artifact digest over unsorted names",
    "one file not uploaded",
    "corrupt bytes uploaded",
    "wrong size in the manifest",
    "no commit",
    "unknown input field",
    "collection tags by id",
    "bearer instead of basic",
    "link into a project without the prefix",
]


class Refused(Exception):
    """The server refused a request."""


def base64_md5(content: bytes) -> str:
    return base64.b64encode(hashlib.md5(content).digest()).decode()


class Publication:
    """Publishes FILES to a collection, with one fault or none."""

    def __init__(self, url: str, collection: str, fault: str = "") -> None:
        self._url = url
        self._collection = collection
        self._fault = fault

    def _send(self, method: str, url: str, body: bytes, headers: dict[str, str]) -> bytes:
        request = urllib.request.Request(url, data=body, headers=headers, method=method)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request) as answer:
                content: bytes = answer.read()
                return content
        except urllib.error.HTTPError as error:
            raise Refused(error.read().decode(errors="replace")[:200]) from error

    def _ask(self, name: str, kind: str, selection: str, value: dict[str, Any]) -> Any:
        field = name[0].lower() + name[1:]
        query = f"mutation {name}($input: {kind}!) {{ {field}(input: $input) {{ {selection} }} }}"
        key = base64.b64encode(f"api:{'a' * 40}".encode()).decode()
        scheme = f"Bearer {'a' * 40}" if self._fault == "bearer instead of basic" else f"Basic {key}"
        body = json.dumps({"query": query, "variables": {"input": value}}).encode()
        answer = self._send(
            "POST", self._url + "/graphql", body, {"Authorization": scheme, "Content-Type": "application/json"}
        )
        return json.loads(answer)["data"][field]

    def run(self) -> None:
        project = {"entityName": "team-a", "projectName": "modulelens"}
        self._ask(
            "UpsertBucket",
            "UpsertBucketInput",
            "inserted",
            {"name": "r1", "modelName": "modulelens", "entityName": "team-a"},
        )
        created = {
            **project,
            "runName": "r1",
            "artifactTypeName": "module",
            "artifactCollectionName": self._collection,
            "digest": self._artifact_digest(),
            "digestAlgorithm": "MANIFEST_MD5",
        }
        if self._fault == "unknown input field":
            created["bogus"] = 1
        artifact = self._ask("CreateArtifact", "CreateArtifactInput", "artifact { id }", created)["artifact"]["id"]
        manifest = {**project, "artifactID": artifact, "name": "wandb_manifest.json", "runName": "r1", "type": "FULL"}
        body = self._upload(artifact, self._manifest({**manifest, "digest": ""})["id"])
        digest = hashlib.md5(body).hexdigest() if self._fault == "manifest digest in hex" else base64_md5(body)
        self._send("PUT", self._manifest({**manifest, "digest": digest})["file"]["uploadUrl"], body, {})
        if self._fault != "no commit":
            self._ask("CommitArtifact", "CommitArtifactInput", "artifact { id }", {"artifactID": artifact})
        self._link(artifact)

    def _artifact_digest(self) -> str:
        digest = hashlib.md5(
            b"" if self._fault == "artifact digest without its first line" else b"wandb-artifact-manifest-v1\n"
        )
        for name in sorted(FILES, reverse=self._fault == "artifact digest over unsorted names"):
            digest.update(f"{name}:{base64_md5(FILES[name])}\n".encode())
        return digest.hexdigest()

    def _manifest(self, value: dict[str, Any]) -> Any:
        selection = "artifactManifest { id file { uploadUrl } }"
        return self._ask("CreateArtifactManifest", "CreateArtifactManifestInput", selection, value)["artifactManifest"]

    def _upload(self, artifact: str, manifest: str) -> bytes:
        wanted = [
            {"artifactID": artifact, "artifactManifestID": manifest, "name": name, "md5": base64_md5(content)}
            for name, content in FILES.items()
        ]
        selection = "files { edges { node { uploadUrl artifact { id } } } }"
        value = {"artifactFiles": wanted, "storageLayout": "V2"}
        edges = self._ask("CreateArtifactFiles", "CreateArtifactFilesInput", selection, value)["files"]["edges"]
        contents = {}
        for (name, content), edge in zip(FILES.items(), edges, strict=True):
            size = len(content) + (self._fault == "wrong size in the manifest")
            birth = edge["node"]["artifact"]["id"]
            contents[name] = {"digest": base64_md5(content), "size": size, "birthArtifactID": birth}
            if self._fault == "one file not uploaded" and name == "graph.txt":
                continue
            sent = content + b"x" if self._fault == "corrupt bytes uploaded" else content
            self._send("PUT", edge["node"]["uploadUrl"], sent, {})
        policy = {
            "version": 1,
            "storagePolicy": "wandb-storage-policy-v1",
            "storagePolicyConfig": {"storageLayout": "V2"},
        }
        return json.dumps({**policy, "contents": contents}).encode()

    def _link(self, artifact: str) -> None:
        prefixed = self._fault != "link into a project without the prefix"
        place = {"entityName": "acme-org-entity", "projectName": REGISTRY if prefixed else "modulelens"}
        link = {"artifactID": artifact, "artifactPortfolioName": self._collection, **place}
        self._ask("LinkArtifact", "LinkArtifactInput", "versionIndex", link)
        named = {**place, "artifactCollectionName": self._collection}
        if self._fault == "collection tags by id":
            named = {"artifactCollectionID": "x"}
        kind = "CreateArtifactCollectionTagAssignmentsInput"
        self._ask(
            "CreateArtifactCollectionTagAssignments", kind, "tags { name }", {**named, "tags": [{"tagName": "t"}]}
        )


def is_refused(url: str, number: int, fault: str) -> bool:
    try:
        Publication(url, hashlib.md5(str(number).encode()).hexdigest(), fault).run()
    except Refused as refusal:
        print(f"refused  {fault or 'the right publication'}: {refusal}")
        return True
    print(f"taken    {fault or 'the right publication'}")
    return False


def main() -> int:
    if importlib.util.find_spec("graphql") is None:
        print("SKIPPED: graphql-core is not installed")
        return 77
    # Another server to try, such as an older stand-in, may be named.
    if len(sys.argv) > 1:
        return check(sys.argv[1])
    server = subprocess.Popen(
        [sys.executable, "-B", Path(__file__).parent / "stand_in.py"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        return check(server.stdout.readline().strip())
    finally:
        server.stdin.close()
        server.wait()


def check(url: str) -> int:
    wrong = [fault for number, fault in enumerate(FAULTS) if not is_refused(url, number, fault)]
    if is_refused(url, len(FAULTS), ""):
        wrong.append("the right publication")
    print(f"{len(FAULTS) + 1 - len(wrong)} of {len(FAULTS) + 1} as it should be")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
