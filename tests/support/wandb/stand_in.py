# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""A stand-in for the W&B server, for tests on loopback: `stand_in.py [--port N]` prints its address and serves until its
standard input ends.

It checks every operation strictly against schema.graphql, a schema of our own that the real Python SDK works with. Options
by the environment: STAND_IN_OFF=FEATURE,... plays an older server, STAND_IN_PAGE=N caps pages, STAND_IN_XXH=1 offers XXH128
digests, STAND_IN_KEY is the key that it accepts. POST /_control with {"do": ...} changes how it behaves, see Control.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import gzip
import hashlib
import json
import os
import re
import sys
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from graphql import GraphQLError, build_schema, execute, parse, validate
from operations import Operations
from store import Failure, Store, base64_md5, blob_key
from views import Views

Answer = tuple[int, dict[str, str], bytes]

_SCHEMA = build_schema((Path(__file__).parent / "schema.graphql").read_text())


def _json_answer(value: Any, status: int = 200) -> Answer:
    return status, {"Content-Type": "application/json"}, json.dumps(value).encode()


def _resolve(source: Any, info: Any, **arguments: Any) -> Any:
    name = info.field_name
    value = source.get(name) if isinstance(source, dict) else getattr(source, name, None)
    return value(info, **arguments) if callable(value) else value


class Control:
    """What tests ask of the server beyond the protocol."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def handle(self, request: dict[str, Any]) -> Any:
        return getattr(self, "_" + request.pop("do"))(**request)

    def _clear(self) -> None:
        self._store.clear()

    def _log(self) -> list[dict[str, Any]]:
        """Every request so far: "operation", "variables", "query" or "path", and "headers"."""
        return self._store.log

    def _forget_log(self) -> None:
        self._store.log.clear()

    def _fail(
        self,
        code: int,
        count: int = 1,
        headers: dict[str, str] | None = None,
        body: str = "",
        where: str = "graphql",
        operation: str = "",
    ) -> None:
        self._store.failures.append(Failure(code, headers or {}, count, body, where, operation))

    def _expire(self, count: int) -> None:
        """The next downloads of files are refused as expired."""
        self._store.expired = count

    def _tamper(self) -> None:
        """Changes the first byte of every stored file, and no size."""
        for key, content in self._store.blobs.items():
            if content and not key.startswith(("manifest", "runfile")):
                self._store.blobs[key] = bytes([content[0] ^ 1]) + content[1:]

    def _rename_entry(self, name: str) -> None:
        """Gives the first file of every manifest another name."""
        for artifact in self._store.artifacts.values():
            if artifact.manifest_blob:
                manifest = json.loads(self._store.blobs[artifact.manifest_blob])
                first = next(iter(manifest["contents"]))
                manifest["contents"][name] = manifest["contents"].pop(first)
                self._store.blobs[artifact.manifest_blob] = json.dumps(manifest).encode()

    def _manifests(self, text: str) -> None:
        """Replaces every manifest."""
        for artifact in self._store.artifacts.values():
            self._store.blobs[artifact.manifest_blob] = text.encode()

    def _empty_pages(self, count: int) -> None:
        self._store.empty_pages = count

    def _repeat_cursor(self, on: bool) -> None:
        self._store.repeats_cursor = on

    def _runs(self) -> list[dict[str, str]]:
        return [{"project": run.project, "name": run.name, "state": run.state} for run in self._store.runs.values()]

    def _artifacts(self) -> list[dict[str, Any]]:
        return [
            {
                "collection": each.sequence.name,
                "project": each.sequence.project,
                "type": each.type,
                "state": each.state,
                "files": sorted(each.files),
                "metadata": json.loads(each.metadata or "{}"),
            }
            for each in self._store.artifacts.values()
        ]

    def _fill(self, versions: int, modules: int) -> None:
        """Adds versions without files to the registry, spread over modules of one model."""
        store = self._store
        operations = Operations(store, Views(store))
        for number in range(versions):
            model, module = "bulk", f"layers.{number % modules}"
            name = hashlib.md5(f"{model}\0{module}".encode()).hexdigest()
            sequence = store.collection("team-a", "modulelens", name, "ArtifactSequence", "module")
            metadata = {
                "schema": "modulelens.version",
                "schema_version": 1,
                "model_name": model,
                "module_name": module,
                "class": "m:C",
            }
            metadata |= {
                "version_digest": f"{number:064x}",
                "captured": "2026-11-30T16:01:45.000000Z",
                "parameter_bytes": number,
            }
            operations.createArtifact(
                None,
                {
                    "entityName": "team-a",
                    "projectName": "modulelens",
                    "artifactTypeName": "module",
                    "artifactCollectionName": name,
                    "digest": f"{number:032x}",
                    "digestAlgorithm": "MANIFEST_MD5",
                    "metadata": json.dumps(metadata),
                },
            )
            artifact = next(reversed(store.artifacts.values()))
            artifact.state = "COMMITTED"
            store.add_member(sequence, artifact, [])
            portfolio = store.collection(
                "acme-org-entity", "wandb-registry-modulelens", name, "ArtifactPortfolio", "module"
            )
            store.add_member(portfolio, artifact, [])


class Server:
    """Answers requests, one at a time but for the transfer of bytes."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._root = Operations(store, Views(store))
        self._control = Control(store)

    def answer(self, method: str, target: str, headers: dict[str, str], body: bytes) -> Answer:
        path = urllib.parse.urlsplit(target).path
        if path == "/_control":
            with self._store.lock:
                return _json_answer(self._control.handle(json.loads(body)))
        if path == "/graphql" and method == "POST":
            return self._graphql(headers, body)
        if path.startswith("/storage/"):
            with self._store.lock:
                return self._storage(method, urllib.parse.unquote(path.removeprefix("/storage/")), headers, body)
        if path.startswith("/artifactsV2/") and method == "GET":
            return self._download_handler(path, headers)
        stream = re.fullmatch(r"/files/([^/]+)/([^/]+)/([^/]+)/file_stream", path)
        if stream and method == "POST":
            return self._file_stream(stream.groups(), headers, body)
        return _json_answer({"error": "not found"}, 404)

    def _is_signed_in(self, headers: dict[str, str]) -> bool:
        wanted = "Basic " + base64.b64encode(f"api:{self._store.key}".encode()).decode()
        return headers.get("authorization") == wanted

    def _injected(self, where: str, operation: str = "") -> Answer | None:
        for failure in self._store.failures:
            if failure.where == where and failure.operation in ("", operation):
                failure.count -= 1
                if failure.count <= 0:
                    self._store.failures.remove(failure)
                body = failure.body or '{"errors":[{"message":"injected"}]}'
                return failure.code, failure.headers, body.encode()
        return None

    def _graphql(self, headers: dict[str, str], body: bytes) -> Answer:
        if not self._is_signed_in(headers):
            return _json_answer({"errors": [{"message": "user is not logged in"}]}, 401)
        request = json.loads(body)
        query, variables = request["query"], request.get("variables") or {}
        named = re.search(r"(?:query|mutation)\s+(\w+)", query)
        operation = named[1] if named else ""
        with self._store.lock:
            self._store.log.append({"operation": operation, "variables": variables, "query": query, "headers": headers})
            injected = self._injected("graphql", operation)
            if injected:
                return injected
            try:
                document = parse(query)
            except GraphQLError as error:
                return _json_answer({"errors": [error.formatted]}, 400)
            errors = validate(_SCHEMA, document)
            errors = errors or self._unsupported(query)
            if errors:
                return _json_answer({"errors": [error.formatted for error in errors]}, 400)
            result = execute(
                _SCHEMA,
                document,
                root_value=self._root,
                variable_values=variables,
                operation_name=request.get("operationName") or None,
                field_resolver=_resolve,
                type_resolver=lambda value, info, kind: value["__typename"],
            )
        return _json_answer(result.formatted, 400 if result.errors else 200)

    def _unsupported(self, query: str) -> list[GraphQLError]:
        """What a server without a feature says to a query that needs it."""
        needs = {
            "artifactMembership {": "ARTIFACT_MEMBERSHIP_IN_LINK_ARTIFACT_RESPONSE",
            "digestAlgorithm": "ARTIFACT_DIGEST_ALGORITHM",
            "artifactCollectionMembership": "PROJECT_ARTIFACT_COLLECTION_MEMBERSHIP",
        }
        exempt = "CreateArtifact(" in query
        return [
            GraphQLError(f'Cannot query field "{field.split()[0]}".')
            for field, feature in needs.items()
            if field in query and feature not in self._store.features and not exempt
        ]

    def _storage(self, method: str, key: str, headers: dict[str, str], body: bytes) -> Answer:
        store = self._store
        store.log.append({"operation": f"STORAGE {method}", "path": key, "headers": headers})
        injected = self._injected(method.lower())
        if injected:
            return injected
        if method == "PUT":
            digest = headers.get("content-md5")
            if digest and digest != base64_md5(body):
                return 400, {}, b"<Error><Code>BadDigest</Code></Error>"
            part = re.fullmatch(r"multipart/(\w+)/(\d+)", key)
            if part:
                store.uploads[part[1]].parts[int(part[2])] = body
            else:
                store.blobs[key] = body
            return 200, {"ETag": f'"{hashlib.md5(body).hexdigest()}"'}, b""
        if store.expired > 0 and not key.startswith("manifest"):
            store.expired -= 1
            return 403, {}, b"<Error><Code>AccessDenied</Code><Message>Request has expired</Message></Error>"
        if key not in store.blobs:
            return 404, {}, b"<Error><Code>NoSuchKey</Code></Error>"
        return self._content(store.blobs[key], headers)

    @staticmethod
    def _content(content: bytes, headers: dict[str, str]) -> Answer:
        entity = {"ETag": f'"{hashlib.md5(content).hexdigest()}"', "Accept-Ranges": "bytes"}
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", headers.get("range", ""))
        if not wanted:
            return 200, entity, content
        begin = int(wanted[1])
        end = min(int(wanted[2]) + 1 if wanted[2] else len(content), len(content))
        if begin >= len(content):
            return 416, {"Content-Range": f"bytes */{len(content)}"}, b""
        return 206, {**entity, "Content-Range": f"bytes {begin}-{end - 1}/{len(content)}"}, content[begin:end]

    def _download_handler(self, path: str, headers: dict[str, str]) -> Answer:
        if not self._is_signed_in(headers):
            return _json_answer({"error": "not signed in"}, 401)
        with self._store.lock:
            # region, entity, project, collection[, artifact], birth artifact, hex digest, name
            parts = [urllib.parse.unquote(part) for part in path.split("/")[2:]]
            self._store.log.append({"operation": "DOWNLOAD", "path": path, "headers": headers})
            by_artifact = "ARTIFACT_V2_DOWNLOAD_HANDLER_SUPPORTS_ARTIFACT_ID" in self._store.features
            if len(parts) != (8 if by_artifact else 7):
                return _json_answer({"error": "not found"}, 404)
            digest = urllib.parse.unquote(parts[-2])
            key = blob_key(parts[-3], base64.b64encode(bytes.fromhex(digest)).decode())
            if key not in self._store.blobs:
                return _json_answer({"error": "not found"}, 404)
            return self._content(self._store.blobs[key], headers)

    def _file_stream(self, run: tuple[str, ...], headers: dict[str, str], body: bytes) -> Answer:
        if not self._is_signed_in(headers):
            return _json_answer({"error": "not signed in"}, 401)
        if headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        with self._store.lock:
            found = self._store.runs.get((run[0], run[1], run[2]))
            if found and json.loads(body or b"{}").get("complete"):
                found.state = "finished"
        return _json_answer({"limits": {}})


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_to_ask: Server

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        try:
            status, answered, content = self.server_to_ask.answer(self.command, self.path, headers, body)
        except Exception as error:
            status, answered, content = _json_answer({"error": f"{type(error).__name__}: {error}"}, 500)
        self.send_response(status)
        for name, value in answered.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            with contextlib.suppress(ConnectionError):  # The client has stopped.
                self.wfile.write(content)

    do_GET = do_POST = do_PUT = do_HEAD = _serve

    def log_message(self, format: str, *arguments: Any) -> None:
        if os.environ.get("STAND_IN_VERBOSE"):
            super().log_message(format, *arguments)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0, help="0 (default): a free one")
    arguments = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", arguments.port), _Handler)
    server.daemon_threads = True
    address = f"http://127.0.0.1:{server.server_address[1]}"
    off = {name for name in os.environ.get("STAND_IN_OFF", "").split(",") if name}
    key = os.environ.get("STAND_IN_KEY", "a" * 40)
    limit = int(os.environ.get("STAND_IN_PAGE", "1000"))
    store = Store(address, off, key, limit, bool(os.environ.get("STAND_IN_XXH")))
    _Handler.server_to_ask = Server(store)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
