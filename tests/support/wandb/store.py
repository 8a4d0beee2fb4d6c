# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""What the stand-in server keeps, all of it in memory: entities, projects, collections, artifacts, runs and stored bytes."""

from __future__ import annotations

import base64
import datetime
import hashlib
import secrets
import threading
from dataclasses import dataclass, field
from typing import Any

from graphql import GraphQLError

ORGANIZATION = "Acme Org"
ORGANIZATION_ENTITY = "acme-org-entity"
TEAM = "team-a"
USER = "alice"
FEATURES = (
    "LARGE_FILENAMES",
    "ARTIFACT_TAGS",
    "CLIENT_IDS",
    "ARTIFACT_REGISTRY_SEARCH",
    "STRUCTURED_CONSOLE_LOGS",
    "ARTIFACT_COLLECTION_MEMBERSHIP_FILES",
    "ARTIFACT_COLLECTION_MEMBERSHIP_FILE_DOWNLOAD_HANDLER",
    "USE_ARTIFACT_WITH_ENTITY_AND_PROJECT_INFORMATION",
    "INCLUDE_ARTIFACT_TYPES_IN_REGISTRY_CREATION",
    "PROJECT_ARTIFACT_COLLECTION_MEMBERSHIP",
    "ARTIFACT_MEMBERSHIP_IN_LINK_ARTIFACT_RESPONSE",
    "TOTAL_COUNT_IN_FILE_CONNECTION",
    "ARTIFACT_COLLECTIONS_FILTERING_SORTING",
    "ARTIFACT_V2_DOWNLOAD_HANDLER_SUPPORTS_ARTIFACT_ID",
    "ARTIFACT_DIGEST_ALGORITHM",
)


def now() -> str:
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def global_id(kind: str, number: object) -> str:
    return base64.b64encode(f"{kind}:{number}".encode()).decode()


def base64_md5(content: bytes) -> str:
    return base64.b64encode(hashlib.md5(content).digest()).decode()


def blob_key(birth_artifact: str, digest: str) -> str:
    """Where the content of an artifact's file lies in the storage; `digest` is base64."""
    return f"{hashlib.sha1(birth_artifact.encode()).hexdigest()[:12]}/{base64.b64decode(digest).hex()}"


@dataclass(eq=False)
class Entity:
    name: str
    kind: str  # "organization", "team" or "user".
    id: str
    organization: str | None = None


@dataclass(eq=False)
class Project:
    entity: str
    name: str
    number: int
    description: str = ""
    created: str = field(default_factory=now)


@dataclass(eq=False)
class Collection:
    entity: str
    project: str
    name: str
    number: int
    typename: str  # "ArtifactSequence" or "ArtifactPortfolio".
    type: str
    tags: list[str] = field(default_factory=list)
    description: str | None = None
    state: str = "READY"
    next_version: int = 0
    created: str = field(default_factory=now)
    updated: str | None = None

    @property
    def id(self) -> str:
        return global_id("ArtifactCollection", self.number)


@dataclass(eq=False)
class Run:
    entity: str
    project: str
    name: str
    fields: dict[str, Any] = field(default_factory=dict)
    state: str = "running"
    created: str = field(default_factory=now)


@dataclass(eq=False)
class Artifact:
    number: int
    sequence: Collection
    type: str
    digest: str
    algorithm: str
    description: str | None
    metadata: str | None
    tags: list[str]
    first_aliases: list[str]
    run: Run | None
    client_id: str | None
    state: str = "PENDING"
    created: str = field(default_factory=now)
    updated: str | None = None
    size: int = 0
    file_count: int = 0
    files: dict[str, str] = field(default_factory=dict)
    manifest_digest: str = ""
    manifest_key: str = ""
    manifest_blob: str = ""

    @property
    def id(self) -> str:
        return global_id("Artifact", self.number)


@dataclass(eq=False)
class Membership:
    number: int
    collection: Collection
    artifact: Artifact
    version_index: int
    aliases: list[str] = field(default_factory=list)
    created: str = field(default_factory=now)


@dataclass
class MultipartUpload:
    key: str
    parts: dict[int, bytes] = field(default_factory=dict)


@dataclass
class Failure:
    """An answer that is given instead of the right one, `count` times."""

    code: int
    headers: dict[str, str]
    count: int
    body: str
    where: str  # "graphql", "put" or "get".
    operation: str  # Of "graphql": only for this one; empty: for any.


class Store:
    """Everything that the server knows. Its users hold `lock` while they work with it."""

    def __init__(self, base_url: str, features_off: set[str], key: str, page_limit: int, with_xxhash: bool) -> None:
        self.lock = threading.RLock()
        self.base_url = base_url
        self.key = key
        self.page_limit = page_limit
        self.with_xxhash = with_xxhash
        self.features = [name for name in FEATURES if name not in features_off]
        self.clear()

    def clear(self) -> None:
        self._count = 0
        self.entities: dict[str, Entity] = {}
        self.projects: dict[tuple[str, str], Project] = {}
        self.collections: list[Collection] = []
        self.by_name: dict[tuple[str, str, str], Collection] = {}
        self.artifacts: dict[str, Artifact] = {}
        self.memberships: dict[Collection, list[Membership]] = {}
        self.runs: dict[tuple[str, str, str], Run] = {}
        self.blobs: dict[str, bytes] = {}
        self.uploads: dict[str, MultipartUpload] = {}
        self.log: list[dict[str, Any]] = []
        self.failures: list[Failure] = []
        self.expired = 0
        self.empty_pages = 0
        self.repeats_cursor = False
        for name, kind, organization in (
            (ORGANIZATION_ENTITY, "organization", ORGANIZATION),
            (TEAM, "team", ORGANIZATION),
            (USER, "user", None),
        ):
            self.entities[name] = Entity(name, kind, global_id("Entity", self.next()), organization)
        self.project(ORGANIZATION_ENTITY, "wandb-registry-modulelens", create=True).description = "captured modules"
        self.project(ORGANIZATION_ENTITY, "wandb-registry-other", create=True)

    def next(self) -> int:
        self._count += 1
        return self._count

    def project(self, entity: str, name: str, create: bool = False) -> Any:
        found = self.projects.get((entity, name))
        if found is None and create:
            if entity not in self.entities:
                raise GraphQLError(f"entity {entity} not found during upsertBucket")
            found = self.projects[(entity, name)] = Project(entity, name, self.next())
        return found

    def collection(self, entity: str, project: str, name: str, typename: str = "", kind: str = "") -> Any:
        """The collection of that name, made as a `typename` of artifacts of type `kind` when it is not there; None without."""
        found = self.by_name.get((entity, project, name))
        if found is None and typename:
            self.project(entity, project, create=True)
            found = Collection(entity, project, name, self.next(), typename, kind)
            self.by_name[(entity, project, name)] = found
            self.collections.append(found)
        return found

    def remove_collection(self, collection: Collection) -> None:
        collection.state = "DELETED"
        del self.by_name[(collection.entity, collection.project, collection.name)]
        self.collections.remove(collection)

    def collection_by_id(self, wanted: str) -> Collection:
        for each in self.collections:
            if each.id == wanted:
                return each
        raise GraphQLError(f"collection {wanted} not found")

    def artifact_by_id(self, wanted: str | None) -> Artifact:
        artifact = self.artifacts.get(wanted or "")
        if artifact is None:
            raise GraphQLError(f"artifact {wanted} not found")
        return artifact

    def members(self, collection: Collection) -> list[Membership]:
        return [each for each in self.memberships.get(collection, []) if each.artifact.state != "DELETED"]

    def members_of(self, artifact: Artifact) -> list[Membership]:
        return [each for members in self.memberships.values() for each in members if each.artifact is artifact]

    def member(self, collection: Collection | None, alias: str) -> Membership | None:
        if collection is None:
            return None
        for each in self.members(collection):
            if alias in each.aliases or alias in (f"v{each.version_index}", each.artifact.digest):
                return each
        return None

    def set_alias(self, membership: Membership, alias: str) -> None:
        for other in self.members(membership.collection):
            if alias in other.aliases:
                other.aliases.remove(alias)
        membership.aliases.append(alias)

    def add_member(self, collection: Collection, artifact: Artifact, aliases: list[str]) -> Membership:
        found = next((each for each in self.members(collection) if each.artifact is artifact), None)
        if found is None:
            found = Membership(self.next(), collection, artifact, collection.next_version)
            collection.next_version += 1
            self.memberships.setdefault(collection, []).append(found)
        for alias in dict.fromkeys([*aliases, "latest"]):
            self.set_alias(found, alias)
        return found

    def storage_url(self, key: str, purpose: str) -> str:
        return f"{self.base_url}/storage/{key}?sig={purpose}-{secrets.token_hex(4)}"
