# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""What queries see of the store: plain dictionaries whose members are values, or functions where work is to be done."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import filters
from graphql import GraphQLError
from store import Artifact, Collection, Entity, Membership, Project, Run, Store, blob_key, global_id

View = dict[str, Any]
_COLLECTION_TYPES = {"ArtifactPortfolio": "PORTFOLIO", "ArtifactSequence": "SEQUENCE"}


def _parsed(text: str | None) -> dict[str, Any] | None:
    return json.loads(text) if text else None


def project_fields(project: Project) -> filters.Getter:
    return {
        "name": project.name,
        "id": project.number,
        "description": project.description,
        "created_at": project.created,
    }.get


def collection_fields(collection: Collection) -> filters.Getter:
    return {
        "name": collection.name,
        "artifact_collection_id": collection.number,
        "tag": collection.tags,
        "description": collection.description,
        "created_at": collection.created,
        "updated_at": collection.updated,
    }.get


def version_fields(membership: Membership) -> filters.Getter:
    artifact = membership.artifact

    def get(field: str) -> Any:
        if field.startswith("metadata."):
            value: Any = json.loads(artifact.metadata or "{}")
            for part in field.split(".")[1:]:
                value = value.get(part) if isinstance(value, dict) else None
            return value
        return {
            "tag": artifact.tags,
            "alias": membership.aliases,
            "version": f"v{membership.version_index}",
            "created_at": artifact.created,
            "updated_at": artifact.updated,
            "id": artifact.number,
        }.get(field)

    return get


class Views:
    """Makes views of what the store holds."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def connection(
        self, items: list[Any], view: Callable[[Any], View | None], after: str | None = None, first: int | None = None
    ) -> View:
        start = int(base64.b64decode(after)) if after else 0
        store = self._store
        if store.empty_pages > 0 and start == 0:
            # Rows that the user may not see can leave a page empty.
            store.empty_pages -= 1
            cursor = base64.b64encode(b"0").decode()
            return self._page([], cursor + "=" * store.empty_pages, True, len(items))
        page = items[start : start + min(first if first is not None else 50, store.page_limit)]
        end = start if store.repeats_cursor else start + len(page)
        cursor = base64.b64encode(str(end).encode()).decode()
        edges = [{"node": view(item), "cursor": cursor} for item in page]
        return self._page(edges, cursor if page else None, end < len(items), len(items))

    @staticmethod
    def _page(edges: list[View], cursor: str | None, more: bool, total: int) -> View:
        return {"edges": edges, "pageInfo": {"endCursor": cursor, "hasNextPage": more}, "totalCount": total}

    def project(self, project: Project | None) -> View | None:
        if project is None:
            return None
        store = self._store

        def find(name: str) -> Collection | None:
            return store.by_name.get((project.entity, project.name, name))

        def membership(info: Any, name: str) -> View | None:
            collection, _, alias = name.partition(":")
            return self.membership(store.member(find(collection), alias or "latest"))

        def collections(
            info: Any, after: Any = None, first: Any = None, filters: Any = None, order: Any = None, **_: Any
        ) -> View:
            return self._collections(
                lambda each: (each.entity, each.project) == (project.entity, project.name), filters, order, after, first
            )

        def types(info: Any, **_: Any) -> View:
            names = sorted(
                {
                    each.type
                    for each in store.collections
                    if (each.entity, each.project) == (project.entity, project.name)
                }
            )
            return {
                "edges": [{"node": self.type(name, project)} for name in names],
                "pageInfo": {"endCursor": None, "hasNextPage": False},
            }

        def artifact(info: Any, name: str) -> View | None:
            collection, _, alias = name.partition(":")
            found = store.member(find(collection), alias or "latest")
            return self.artifact(found.artifact) if found else None

        def run(info: Any, name: str, **_: Any) -> View | None:
            return self.run(store.runs.get((project.entity, project.name, name)))

        return {
            "__typename": "Project",
            "id": global_id("Project", project.number),
            "internalId": global_id("ProjectInternalId", project.number),
            "name": project.name,
            "entity": lambda info: self.entity(store.entities[project.entity]),
            "entityName": project.entity,
            "description": project.description,
            "createdAt": project.created,
            "access": "PRIVATE",
            "readOnly": False,
            "allowAllArtifactTypesInRegistry": True,
            "artifactTypes": types,
            "artifactType": lambda info, name: self.type(name, project),
            "artifactCollection": lambda info, name: self.collection(find(name)),
            "artifactCollections": collections,
            "artifactCollectionMembership": membership,
            "artifact": artifact,
            "run": run,
            "bucket": run,
        }

    def _collections(
        self, belongs: Callable[[Collection], bool], wanted: str | None, order: str | None, after: Any, first: Any
    ) -> View:
        found = [
            each
            for each in self._store.collections
            if belongs(each) and filters.matches(_parsed(wanted), collection_fields(each))
        ]
        return self.connection(filters.ordered(found, order, collection_fields), self.collection, after, first)

    def type(self, name: str, project: Project) -> View:
        def collections(
            info: Any, after: Any = None, first: Any = None, filters: Any = None, order: Any = None
        ) -> View:
            return self._collections(
                lambda each: (each.entity, each.project, each.type) == (project.entity, project.name, name),
                filters,
                order,
                after,
                first,
            )

        return {
            "id": global_id("ArtifactType", name),
            "name": name,
            "createdAt": project.created,
            "artifactCollection": lambda info, name: self.collection(
                self._store.by_name.get((project.entity, project.name, name))
            ),
            "artifactCollections": collections,
        }

    def entity(self, entity: Entity | None) -> View | None:
        if entity is None:
            return None
        store = self._store

        def chosen(
            project_filters: str | None, collection_filters: str | None, types: list[str] | None
        ) -> list[Collection]:
            return [
                each
                for each in store.collections
                if each.entity == entity.name
                and (not types or _COLLECTION_TYPES[each.typename] in types)
                and filters.matches(
                    _parsed(project_filters), project_fields(store.projects[(each.entity, each.project)])
                )
                and filters.matches(_parsed(collection_filters), collection_fields(each))
            ]

        def projects(info: Any, filters: Any = None, after: Any = None, first: Any = None, order: Any = None) -> View:
            return self._projects(entity, filters, order, after, first)

        def collections(
            info: Any,
            projectFilters: Any = None,
            filters: Any = None,
            collectionTypes: Any = None,
            after: Any = None,
            first: Any = None,
            order: Any = None,
        ) -> View:
            return self.connection(chosen(projectFilters, filters, collectionTypes), self.collection, after, first)

        def memberships(
            info: Any,
            projectFilters: Any = None,
            collectionFilters: Any = None,
            filters: Any = None,
            after: Any = None,
            first: Any = None,
            order: Any = None,
        ) -> View:
            if "ARTIFACT_REGISTRY_SEARCH" not in store.features:
                raise GraphQLError("registry search is not supported by this server")
            return self._memberships(chosen(projectFilters, collectionFilters, ["PORTFOLIO"]), filters, after, first)

        def user(info: Any) -> View | None:
            if entity.kind != "user":
                return None
            return {"id": global_id("User", 1), "name": entity.name, "organizations": [self.organization()]}

        return {
            "__typename": "Entity",
            "id": entity.id,
            "name": entity.name,
            "entityType": entity.kind,
            "isTeam": entity.kind == "team",
            "xxhashDigestsEnabled": store.with_xxhash,
            "organization": lambda info: self.organization() if entity.organization else None,
            "user": user,
            "project": lambda info, name=None: self.project(store.projects.get((entity.name, name or ""))),
            "projects": projects,
            "artifactCollections": collections,
            "artifactMemberships": memberships,
        }

    def _projects(self, entity: Entity, wanted: str | None, order: str | None, after: Any, first: Any) -> View:
        prefix = "wandb-registry-" if entity.kind == "organization" else ""
        found = [
            each
            for each in self._store.projects.values()
            if each.entity == entity.name
            and each.name.startswith(prefix)
            and filters.matches(_parsed(wanted), project_fields(each))
        ]
        return self.connection(filters.ordered(found, order, project_fields), self.project, after, first)

    def _memberships(self, collections: list[Collection], wanted: str | None, after: Any, first: Any) -> View:
        conditions = _parsed(wanted)
        found = [
            each
            for collection in collections
            for each in self._store.members(collection)
            if each.artifact.state == "COMMITTED" and filters.matches(conditions, version_fields(each))
        ]
        return self.connection(found, self.membership, after, first)

    def organization(self) -> View:
        entity = next(each for each in self._store.entities.values() if each.kind == "organization")
        return {
            "__typename": "Organization",
            "id": global_id("Organization", 1),
            "name": entity.organization,
            "orgEntity": lambda info: self.entity(entity),
            "advancedRegistryFeatures": {"advancedSearch": False},
            "featureFlags": [],
        }

    def collection(self, collection: Collection | None) -> View | None:
        if collection is None:
            return None
        store = self._store
        project = store.projects[(collection.entity, collection.project)]

        def aliases(info: Any, after: Any = None, first: Any = None) -> View:
            pairs = [(alias, each) for each in store.members(collection) for alias in each.aliases]
            return self.connection(pairs, lambda pair: self.alias(*pair), after, first)

        def artifacts(info: Any, after: Any = None, first: Any = None, order: Any = None, filters: Any = None) -> View:
            members = sorted(store.members(collection), key=lambda each: -each.version_index)
            committed = [each for each in members if each.artifact.state == "COMMITTED"]
            page = self.connection(committed, lambda each: self.artifact(each.artifact), after, first)
            for edge, each in zip(page["edges"], committed[-len(page["edges"]) :], strict=False):
                edge["version"] = f"v{each.version_index}"
            return page

        def latest(info: Any) -> View | None:
            found = store.member(collection, "latest")
            return self.artifact(found.artifact) if found else None

        return {
            "__typename": collection.typename,
            "id": collection.id,
            "name": collection.name,
            "description": collection.description,
            "state": collection.state,
            "createdAt": collection.created,
            "updatedAt": collection.updated,
            "project": lambda info: self.project(project),
            "defaultArtifactType": lambda info: self.type(collection.type, project),
            "tags": {"edges": [{"node": {"id": global_id("Tag", tag), "name": tag}} for tag in collection.tags]},
            "aliases": aliases,
            "artifacts": artifacts,
            "artifactMembership": lambda info, aliasName: self.membership(store.member(collection, aliasName)),
            "artifactMemberships": lambda info, after=None, first=None: self.connection(
                store.members(collection), self.membership, after, first
            ),
            "latestArtifact": latest,
        }

    def alias(self, alias: str, membership: Membership) -> View:
        return {
            "id": global_id("ArtifactAlias", f"{membership.number}-{alias}"),
            "alias": alias,
            "artifactCollection": lambda info: self.collection(membership.collection),
        }

    def membership(self, membership: Membership | None) -> View | None:
        if membership is None:
            return None
        return {
            "id": global_id("ArtifactCollectionMembership", membership.number),
            "versionIndex": membership.version_index,
            "createdAt": membership.created,
            "aliases": [self.alias(alias, membership) for alias in membership.aliases],
            "artifactCollection": lambda info: self.collection(membership.collection),
            "artifact": lambda info: self.artifact(membership.artifact),
            "files": lambda info, names=None, after=None, first=None: self.files(
                membership.artifact, names, after, first
            ),
        }

    def manifest_entries(self, artifact: Artifact) -> dict[str, Any]:
        manifest: dict[str, Any] = json.loads(self._store.blobs[artifact.manifest_blob])["contents"]
        return manifest

    def files(self, artifact: Artifact, names: list[str] | None, after: Any, first: Any) -> View:
        entries = [
            (name, entry)
            for name, entry in sorted(self.manifest_entries(artifact).items())
            if not names or name in names
        ]
        return self.connection(entries, lambda pair: self.file(artifact, *pair), after, first)

    def file(self, artifact: Artifact, name: str, entry: dict[str, Any]) -> View:
        key = blob_key(entry.get("birthArtifactID") or artifact.id, entry["digest"])
        return {
            "id": global_id("File", name),
            "name": name,
            "displayName": name,
            "url": self._store.storage_url(key, "url"),
            "directUrl": self._store.storage_url(key, "direct"),
            "uploadHeaders": [],
            "storagePath": f"wandb_artifacts/{key}",
            "sizeBytes": entry.get("size") or 0,
            "md5": entry["digest"],
            "digest": entry["digest"],
            "mimetype": "application/octet-stream",
            "artifact": lambda info: self.artifact(artifact),
        }

    def manifest(self, artifact: Artifact, upload_url: str | None = None) -> View:
        return {
            "id": global_id("ArtifactManifest", artifact.number),
            "digest": artifact.manifest_digest,
            "type": "FULL",
            "file": {
                "id": global_id("File", "manifest"),
                "name": "wandb_manifest.json",
                "displayName": "wandb_manifest.json",
                "directUrl": self._store.storage_url(artifact.manifest_blob or "none", "manifest"),
                "uploadUrl": upload_url,
                "uploadHeaders": ["Content-Type:application/json"] if upload_url else [],
                "sizeBytes": 0,
            },
        }

    def artifact(self, artifact: Artifact | None) -> View | None:
        if artifact is None:
            return None
        store = self._store
        own = next((each for each in store.memberships.get(artifact.sequence, []) if each.artifact is artifact), None)

        def entries(info: Any, entries: list[dict[str, Any]], **_: Any) -> View:
            files = [self.file(artifact, each["name"], each) for each in entries]
            return self._page([{"node": each, "cursor": ""} for each in files], None, False, len(files))

        return {
            "id": artifact.id,
            "state": artifact.state,
            "digest": artifact.digest,
            "digestAlgorithm": artifact.algorithm,
            "description": artifact.description,
            "metadata": artifact.metadata,
            "size": artifact.size,
            "fileCount": artifact.file_count,
            "commitHash": "",
            "createdAt": artifact.created,
            "updatedAt": artifact.updated,
            "ttlDurationSeconds": -2,
            "ttlIsInherited": True,
            "versionIndex": own.version_index if own else None,
            "artifactType": lambda info: self.type(
                artifact.type, store.projects[(artifact.sequence.entity, artifact.sequence.project)]
            ),
            "artifactSequence": lambda info: self.collection(artifact.sequence),
            "currentManifest": lambda info: self.manifest(artifact) if artifact.manifest_blob else None,
            "aliases": lambda info: [
                self.alias(alias, each) for each in store.members_of(artifact) for alias in each.aliases
            ],
            "tags": [{"id": global_id("Tag", tag), "name": tag} for tag in artifact.tags],
            "artifactMemberships": lambda info: self.connection(store.members_of(artifact), self.membership),
            "files": lambda info, names=None, after=None, first=None: self.files(artifact, names, after, first),
            "filesByManifestEntries": entries,
            "createdBy": lambda info: {**self.run(artifact.run), "__typename": "Run"} if artifact.run else None,
            "usedBy": {"edges": []},
        }

    def run(self, run: Run | None) -> Any:
        if run is None:
            return None
        store = self._store
        project = store.projects[(run.entity, run.project)]
        return {
            "id": global_id("Run", f"v1:{run.name}:{run.project}:{run.entity}"),
            "name": run.name,
            "displayName": run.fields.get("displayName") or run.name,
            "config": run.fields.get("config", "{}"),
            "state": run.state,
            "createdAt": run.created,
            "jobType": run.fields.get("jobType"),
            "tags": run.fields.get("tags") or [],
            "projectId": project.number,
            "historyLineCount": 0,
            "logLineCount": 0,
            "eventsLineCount": 0,
            "readOnly": False,
            "user": lambda info: self.user(),
            "project": lambda info: self.project(project),
            "outputArtifacts": lambda info, after=None, first=None: self.connection(
                [each for each in store.artifacts.values() if each.run is run], self.artifact, after, first
            ),
            "inputArtifacts": lambda info, after=None, first=None: self.connection([], self.artifact),
        }

    def user(self) -> View:
        store = self._store
        return {
            "__typename": "User",
            "id": global_id("User", 1),
            "name": "Alice",
            "username": "alice",
            "email": "alice@example.com",
            "admin": False,
            "flags": "{}",
            "entity": "team-a",
            "apiKeys": {"edges": []},
            "teams": lambda info: {
                "edges": [{"node": self.entity(each)} for each in store.entities.values() if each.kind == "team"]
            },
            "organizations": lambda info: [self.organization()],
        }


def require(condition: object, message: str) -> None:
    """Refuses a request."""
    if not condition:
        raise GraphQLError(message)
