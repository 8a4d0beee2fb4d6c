# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""The root of the schema: queries, and the mutations with what they refuse."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import secrets
from typing import Any

from graphql import GraphQLError
from store import Artifact, MultipartUpload, Run, Store, base64_md5, blob_key, global_id
from views import View, Views, require


class Operations:
    """Root value of an execution: one method for each field of Query and Mutation, named as the schema names it."""

    def __init__(self, store: Store, views: Views) -> None:
        self._store = store
        self._views = views

    # Queries.

    def viewer(self, info: Any) -> View:
        return self._views.user()

    def serverInfo(self, info: Any) -> View:
        features = [{"name": name, "isEnabled": True} for name in self._store.features]
        return {"features": features, "cliVersionInfo": {"max_cli_version": "99.0.0", "min_cli_version": "0.10.0"}}

    def entity(self, info: Any, name: str | None = None) -> View | None:
        return self._views.entity(self._store.entities.get(name or ""))

    def organization(self, info: Any, name: str) -> View | None:
        organization = self._views.organization()
        return organization if organization["name"] == name else None

    def project(self, info: Any, name: str | None = None, entityName: str | None = None) -> View | None:
        return self._views.project(self._store.projects.get((entityName or "", name or "")))

    model = project

    def artifact(self, info: Any, id: str) -> View | None:
        return self._views.artifact(self._store.artifacts.get(id))

    def artifactCollection(self, info: Any, id: str) -> View | None:
        return self._views.collection(self._store.collection_by_id(id))

    def clientIDMapping(self, info: Any, clientID: str) -> View | None:
        found = self._by_client_id(clientID)
        return {"serverID": found.id} if found else None

    def _by_client_id(self, client_id: str | None) -> Artifact | None:
        return next((each for each in self._store.artifacts.values() if each.client_id == client_id), None)

    # Runs and projects.

    def upsertBucket(self, info: Any, input: View) -> View:
        store = self._store
        entity = input.get("entityName") or "team-a"
        project = input.get("modelName") or "uncategorized"
        store.project(entity, project, create=True)
        key = (entity, project, input.get("name") or secrets.token_hex(4))
        inserted = key not in store.runs
        run = store.runs.setdefault(key, Run(*key))
        run.fields.update({name: value for name, value in input.items() if value is not None})
        return {"bucket": self._views.run(run), "inserted": inserted}

    def upsertModel(self, info: Any, input: View) -> View:
        store = self._store
        inserted = (input["entityName"], input["name"]) not in store.projects
        project = store.project(input["entityName"], input["name"], create=True)
        if input.get("description") is not None:
            project.description = input["description"]
        return {"project": self._views.project(project), "inserted": inserted}

    def deleteModel(self, info: Any, input: View) -> View:
        projects = self._store.projects
        for key in [key for key, each in projects.items() if global_id("Project", each.number) == input["id"]]:
            del projects[key]
        return {"success": True}

    def createRunFiles(self, info: Any, input: View) -> View:
        files = [
            {
                "id": name,
                "name": name,
                "displayName": name,
                "uploadUrl": self._store.storage_url(f"runfile/{input['runName']}/{name}", "upload"),
                "uploadHeaders": [],
                "directUrl": "",
                "sizeBytes": 0,
            }
            for name in input["files"]
        ]
        return {"runID": global_id("Run", input["runName"]), "uploadHeaders": [], "files": files}

    # Publishing.

    def createArtifact(self, info: Any, input: View) -> View:
        store = self._store
        name = input.get("artifactCollectionName") or input["artifactCollectionNames"][0]
        require(not re.search(r"[/:]", name) and len(name) <= 128, f"invalid artifact name {name}")
        entity, project = input["entityName"], input["projectName"]
        sequence = store.collection(entity, project, name, "ArtifactSequence", input["artifactTypeName"])
        require(
            sequence.type == input["artifactTypeName"],
            f"collection {name} holds artifacts of type {sequence.type}, not {input['artifactTypeName']}",
        )
        metadata = input.get("metadata")
        require(metadata is None or len(json.loads(metadata)) <= 100, "metadata has more than 100 keys")
        same = [
            each
            for each in store.artifacts.values()
            if each.sequence is sequence and each.state != "DELETED" and each.digest == input["digest"]
        ]
        mine = self._by_client_id(input.get("clientID")) if input.get("clientID") else None
        committed = [each for each in same if each.state == "COMMITTED"]
        if committed and input.get("enableDigestDeduplication"):
            return {"artifact": self._views.artifact(committed[0])}
        if mine is not None:
            return {"artifact": self._views.artifact(mine)}
        artifact = Artifact(
            number=store.next(),
            sequence=sequence,
            type=input["artifactTypeName"],
            digest=input["digest"],
            algorithm=input["digestAlgorithm"],
            description=input.get("description"),
            metadata=metadata,
            tags=[each["tagName"] for each in input.get("tags") or []],
            first_aliases=[each["alias"] for each in input.get("aliases") or []],
            run=store.runs.get((entity, project, input.get("runName") or "")),
            client_id=input.get("clientID"),
        )
        store.artifacts[artifact.id] = artifact
        return {"artifact": self._views.artifact(artifact)}

    def createArtifactManifest(self, info: Any, input: View) -> View:
        artifact = self._store.artifact_by_id(input["artifactID"])
        require((input["entityName"], input["projectName"], input["runName"]) in self._store.runs, "run not found")
        return self._new_manifest(artifact, input["digest"])

    def updateArtifactManifest(self, info: Any, input: View) -> View:
        for each in self._store.artifacts.values():
            if global_id("ArtifactManifest", each.number) == input["artifactManifestID"]:
                return self._new_manifest(each, input.get("digest") or "")
        raise GraphQLError("manifest not found")

    def _new_manifest(self, artifact: Artifact, digest: str) -> View:
        artifact.manifest_digest = digest
        artifact.manifest_key = f"manifest/{artifact.number}/{secrets.token_hex(4)}"
        url = self._store.storage_url(artifact.manifest_key, "upload")
        return {"artifactManifest": self._views.manifest(artifact, url)}

    def createArtifactFiles(self, info: Any, input: View) -> View:
        edges = [{"node": self._file_to_upload(each), "cursor": ""} for each in input["artifactFiles"]]
        return {
            "files": {"edges": edges, "pageInfo": {"endCursor": None, "hasNextPage": False}, "totalCount": len(edges)}
        }

    def _file_to_upload(self, wanted: View) -> View:
        store = self._store
        name, digest = wanted["name"], wanted.get("digest") or wanted["md5"]
        artifact = store.artifact_by_id(wanted["artifactID"])
        earlier = next(
            (
                each
                for each in store.artifacts.values()
                if each.sequence is artifact.sequence and each.state == "COMMITTED" and each.files.get(name) == digest
            ),
            None,
        )
        birth = earlier or artifact
        artifact.files[name] = digest
        node = self._views.file(birth, name, {"digest": digest, "birthArtifactID": birth.id})
        if earlier is None:
            key = blob_key(birth.id, digest)
            node["uploadHeaders"] = ["Content-MD5:" + wanted["md5"], "Content-Type:application/octet-stream"]
            node["uploadUrl"] = store.storage_url(key, "upload")
            if wanted.get("uploadPartsInput"):
                upload = secrets.token_hex(6)
                store.uploads[upload] = MultipartUpload(key)
                node["uploadMultipartUrls"] = {
                    "uploadID": upload,
                    "uploadUrlParts": [
                        {
                            "partNumber": part["partNumber"],
                            "uploadUrl": store.storage_url(f"multipart/{upload}/{part['partNumber']}", "upload"),
                        }
                        for part in wanted["uploadPartsInput"]
                    ],
                }
        return node

    def completeMultipartUploadArtifact(self, info: Any, input: View) -> View:
        upload = self._store.uploads[input["uploadID"]]
        content = b""
        for part in input["completedParts"]:
            stored = upload.parts.get(part["partNumber"])
            require(stored is not None, f"part {part['partNumber']} not uploaded")
            require(part["hexMD5"] == f'"{hashlib.md5(stored or b"").hexdigest()}"', "etag mismatch")
            content += stored or b""
        self._store.blobs[upload.key] = content
        return {"digest": base64_md5(content)}

    def commitArtifact(self, info: Any, input: View) -> View:
        store = self._store
        artifact = store.artifact_by_id(input["artifactID"])
        body = store.blobs.get(artifact.manifest_key)
        if body is None:
            raise GraphQLError("manifest not uploaded")
        require(base64_md5(body) == artifact.manifest_digest, "manifest digest mismatch")
        manifest = json.loads(body)
        require(manifest["version"] == 1 and manifest["storagePolicy"] == "wandb-storage-policy-v1", "bad manifest")
        whole = self._digest_of(artifact.algorithm == "MANIFEST_XXH128", b"wandb-artifact-manifest-v1\n")
        for name, entry in sorted(manifest["contents"].items()):
            whole.update(f"{name}:{entry['digest']}\n".encode())
            if "ref" not in entry:
                self._check_entry(artifact, name, entry)
        require(whole.hexdigest() == artifact.digest, "artifact digest mismatch")
        artifact.manifest_blob = artifact.manifest_key
        artifact.size = sum(each.get("size", 0) for each in manifest["contents"].values())
        artifact.file_count = len(manifest["contents"])
        artifact.state = "COMMITTED"
        store.add_member(artifact.sequence, artifact, artifact.first_aliases)
        return {"artifact": self._views.artifact(artifact)}

    @staticmethod
    def _digest_of(is_xxh128: bool, content: bytes) -> Any:
        if not is_xxh128:
            return hashlib.md5(content)
        import xxhash

        return xxhash.xxh128(content)

    def _check_entry(self, artifact: Artifact, name: str, entry: View) -> None:
        content = self._store.blobs.get(blob_key(entry.get("birthArtifactID") or artifact.id, entry["digest"]))
        if content is None:
            raise GraphQLError(f"file {name} not uploaded")
        digest = self._digest_of(entry.get("extra", {}).get("alg") == "XXH128", content)
        right = base64.b64encode(digest.digest()).decode() == entry["digest"] and len(content) == entry["size"]
        require(right, f"file {name} digest/size mismatch")

    def useArtifact(self, info: Any, input: View) -> View:
        return {"artifact": self._views.artifact(self._store.artifact_by_id(input["artifactID"]))}

    def linkArtifact(self, info: Any, input: View) -> View:
        store = self._store
        artifact = store.artifacts.get(input.get("artifactID") or "") or self._by_client_id(input.get("clientID"))
        if artifact is None:
            raise GraphQLError("artifact not found")
        require(artifact.state == "COMMITTED", "artifact is not committed")
        entity, project = input["entityName"], input["projectName"]
        require((entity, project) in store.projects, f"project {project} not found in {entity}")
        portfolio = store.collection(
            entity, project, input["artifactPortfolioName"], "ArtifactPortfolio", artifact.type
        )
        require(portfolio.typename == "ArtifactPortfolio", "collection is not a portfolio")
        require(
            portfolio.type == artifact.type,
            f"artifact type {artifact.type} does not match collection type {portfolio.type}",
        )
        member = store.add_member(portfolio, artifact, [each["alias"] for each in input.get("aliases") or []])
        return {"versionIndex": member.version_index, "artifactMembership": self._views.membership(member)}

    # Changing and deleting.

    def unlinkArtifact(self, info: Any, input: View) -> View:
        collection = self._store.collection_by_id(input["artifactPortfolioID"])
        members = self._store.memberships.get(collection, [])
        members[:] = [each for each in members if each.artifact.id != input["artifactID"]]
        return {"artifactID": input["artifactID"], "success": True}

    def updateArtifact(self, info: Any, input: View) -> View:
        artifact = self._store.artifact_by_id(input["artifactID"])
        for name in ("description", "metadata"):
            if input.get(name) is not None:
                setattr(artifact, name, input[name])
        for tag in input.get("tagsToAdd") or []:
            fit = re.fullmatch(r"[-\w]+( +[-\w]+)*", tag["tagName"]) and len(tag["tagName"]) <= 128
            require(fit, f"invalid tag {tag['tagName']}")
            if tag["tagName"] not in artifact.tags:
                artifact.tags.append(tag["tagName"])
        gone = {tag["tagName"] for tag in input.get("tagsToDelete") or []}
        artifact.tags = [tag for tag in artifact.tags if tag not in gone]
        return {"artifact": self._views.artifact(artifact)}

    def deleteArtifact(self, info: Any, input: View) -> View:
        artifact = self._store.artifact_by_id(input["artifactID"])
        named = [alias for each in self._store.members_of(artifact) for alias in each.aliases if alias != "latest"]
        require(not named or input.get("deleteAliases"), "failed to delete artifact with aliases")
        artifact.state = "DELETED"
        return {"artifact": self._views.artifact(artifact)}

    def addAliases(self, info: Any, input: View) -> View:
        for member, alias in self._aliased(input):
            self._store.set_alias(member, alias)
        return {"success": True}

    def deleteAliases(self, info: Any, input: View) -> View:
        for member, alias in self._aliased(input):
            if alias in member.aliases:
                member.aliases.remove(alias)
        return {"success": True}

    def _aliased(self, input: View) -> list[Any]:
        store = self._store
        artifact = store.artifact_by_id(input["artifactID"])
        pairs = []
        for each in input["aliases"]:
            collection = store.collection(each["entityName"], each["projectName"], each["artifactCollectionName"])
            members = store.members(collection) if collection else []
            member = next((member for member in members if member.artifact is artifact), None)
            if member is None:
                raise GraphQLError("artifact is not in the collection")
            pairs.append((member, each["alias"]))
        return pairs

    def updateArtifactPortfolio(self, info: Any, input: View) -> View:
        return self._change_collection(input["artifactPortfolioID"], input)

    def updateArtifactSequence(self, info: Any, input: View) -> View:
        return self._change_collection(input["artifactSequenceID"], input)

    def _change_collection(self, wanted: str, input: View) -> View:
        collection = self._store.collection_by_id(wanted)
        if input.get("description") is not None:
            collection.description = input["description"]
        if input.get("name") is not None:
            names = self._store.by_name
            del names[(collection.entity, collection.project, collection.name)]
            collection.name = input["name"]
            names[(collection.entity, collection.project, collection.name)] = collection
        return {"artifactCollection": self._views.collection(collection)}

    def deleteArtifactPortfolio(self, info: Any, input: View) -> View:
        return self._remove_collection(input["artifactPortfolioID"])

    def deleteArtifactSequence(self, info: Any, input: View) -> View:
        return self._remove_collection(input["artifactSequenceID"])

    def _remove_collection(self, wanted: str) -> View:
        collection = self._store.collection_by_id(wanted)
        self._store.remove_collection(collection)
        return {"artifactCollection": self._views.collection(collection)}

    def createArtifactCollectionTagAssignments(self, info: Any, input: View) -> View:
        collection = self._tagged(input)
        collection.tags += [each["tagName"] for each in input["tags"] if each["tagName"] not in collection.tags]
        return {"tags": [{"id": global_id("Tag", tag), "name": tag} for tag in collection.tags]}

    def deleteArtifactCollectionTagAssignments(self, info: Any, input: View) -> View:
        collection = self._tagged(input)
        gone = {each["tagName"] for each in input["tags"]}
        collection.tags = [tag for tag in collection.tags if tag not in gone]
        return {"success": True}

    def _tagged(self, input: View) -> Any:
        found = self._store.collection(input["entityName"], input["projectName"], input["artifactCollectionName"])
        require(found is not None, "collection not found")
        return found
