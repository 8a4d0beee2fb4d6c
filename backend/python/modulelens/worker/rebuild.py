# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""A module from its captured state alone: from its structure, else by its constructor, else from its program."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import nn
from torch.nn.utils import parametrize

from modulelens.decoding import DecodeError
from modulelens.json_types import Json, JsonObject
from modulelens.worker.data import Extent
from modulelens.worker.decoder import SourceDecoder
from modulelens.worker.errors import WorkerError, is_out_of_memory
from modulelens.worker.trust import CodeResolver

RUNGS = ("structure", "init", "program")
_DEEPEST = 200
_MOST_MODULES = 1_000_000
_SETS_STATE = "__setstate__"
_USES_PICKLE = re.compile(rb'"use_pickle"\s*:\s*(?!\s|false)')
_CONTAINERS = (nn.Sequential, nn.ModuleList, nn.ModuleDict)


@dataclass
class Rebuilt:
    """A module that runs again."""

    module: nn.Module
    how: str
    tensors: dict[str, torch.Tensor]
    reasons: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


@dataclass
class Blueprint:
    """What a version says of its module. Decoders are made anew for every attempt."""

    root: str
    name: str
    nodes: JsonObject
    state: JsonObject
    resolver: CodeResolver
    decoder: Callable[[Callable[[JsonObject], nn.Module] | None], SourceDecoder]
    program: Extent | None = None
    edited: set[str] = field(default_factory=set)

    def node(self, digest: Any) -> JsonObject:
        """Returns a node document. WorkerError: the request does not hold it."""
        found = self.nodes.get(digest)
        if not isinstance(found, dict):
            raise WorkerError("corrupt", f"the version's node {str(digest)[:12]} is missing")
        return found


def rebuild(blueprint: Blueprint, rungs: tuple[str, ...] = RUNGS) -> Rebuilt:
    """Tries the rungs in order. WorkerError: none gives a module; the message is the first rung's, others follow."""
    builders = {"structure": _from_structure, "init": _from_constructor, "program": _from_program}
    failures: list[tuple[str, BaseException]] = []
    for rung in rungs:
        try:
            built = builders[rung](blueprint)
            built.reasons = [f"{name}: {_sentence(error)}" for name, error in failures]
            return built
        except WorkerError as error:
            if error.name == "consent_needed":
                raise
            failures.append((rung, error))
        except Exception as error:
            if is_out_of_memory(error):
                raise
            failures.append((rung, error))
    if "structure" in rungs and isinstance(failures[0][1], DecodeError):
        built = _from_structure(blueprint, with_gaps=True)
        built.reasons = [f"{name}: {_sentence(error)}" for name, error in failures]
        return built
    first = failures[0][1]
    name = first.name if isinstance(first, WorkerError) else "unsupported"
    fix = first.fix if isinstance(first, WorkerError) else ""
    others = "".join(f"; {rung}: {_sentence(error)}" for rung, error in failures[1:])
    raise WorkerError(name, f"the module cannot be rebuilt: {_sentence(first)}{others}", fix)


def state_tensors(blueprint: Blueprint) -> dict[str, torch.Tensor]:
    """Decodes the state by name; equal names of one tensor share it, views share their storage."""
    decoder = blueprint.decoder(None)
    tagged = {name: reference if "$t" in reference else {"$t": "tensor", **reference}
              for name, reference in blueprint.state.items()}  # fmt: skip
    decoder.prepare(tagged)
    return {name: decoder.decode(reference) for name, reference in tagged.items()}


class _Structure:
    """Builds the tree of modules without calling any constructor."""

    def __init__(self, blueprint: Blueprint, tensors: dict[str, torch.Tensor], with_gaps: bool) -> None:
        self._blueprint = blueprint
        self._tensors = tensors
        self._with_gaps = with_gaps
        self._built: dict[str, nn.Module] = {}
        self._shared: dict[tuple[Any, ...], nn.Module] = {}
        self._open: list[tuple[nn.Module, JsonObject, str]] = []
        self._outside: dict[str, nn.Module] = {}
        self.warnings: list[str] = []

    def build(self) -> nn.Module:
        module = self._module(self._blueprint.root, "", 0)
        while self._open:
            self._fill(*self._open.pop())
        return module

    def _module(self, digest: Any, path: str, depth: int) -> nn.Module:
        node = self._blueprint.node(digest)
        if depth > _DEEPEST or len(self._built) > _MOST_MODULES:
            raise WorkerError("corrupt", "the version's modules are nested too deeply")
        shared = self._shared_key(digest, path)
        if shared is not None and shared in self._shared:
            self._built[path] = self._shared[shared]
            return self._shared[shared]
        kind = self._blueprint.resolver.module_class(node["class"])
        module = kind.__new__(kind)
        nn.Module.__init__(module)
        self._built[path] = module
        if shared is not None:
            self._shared[shared] = module
        for name, reference in node["parameters"].items():
            module._parameters[name] = None if reference is None else self._parameter(path, name)
        for name, reference in node["buffers"].items():
            module._buffers[name] = None if reference is None else self._tensor(path, name)
        module._non_persistent_buffers_set = set(node["non_persistent"])
        for name, child in node["children"].items():
            below = f"{path}.{name}" if path else name
            module._modules[name] = None if child is None else self._module(child, below, depth + 1)
        self._open.append((module, node, path))
        return module

    def _fill(self, module: nn.Module, node: JsonObject, path: str) -> None:
        """Attributes come when all modules are there: they may name any of them."""
        decoder = self._blueprint.decoder(self._find)
        decoder.prepare(node["attributes"])
        for name, value in node["attributes"].items():
            try:
                module.__dict__[name] = decoder.decode(value)
            except DecodeError as error:
                text = f"the attribute '{path + '.' if path else ''}{name}' was not kept: {error}"
                if not self._with_gaps:
                    raise DecodeError(text) from error
                self.warnings.append(text)
        module.training = bool(node["training"])
        own = next((kind for kind in type(module).__mro__ if _SETS_STATE in kind.__dict__), nn.Module)
        if own is not nn.Module:
            own.__dict__[_SETS_STATE](module, dict(module.__dict__))
        _parametrize(module)

    def _shared_key(self, digest: Any, path: str) -> tuple[Any, ...] | None:
        """Two names of one module have one node and the very same tensors."""
        prefix = f"{path}." if path else ""
        state = self._blueprint.state
        numbers = [reference.get("obj") for name, reference in state.items() if name.startswith(prefix)]
        if not numbers or None in numbers or not path:
            return None
        return (digest, *numbers)

    def _tensor(self, path: str, name: str) -> torch.Tensor:
        full = f"{path}.{name}" if path else name
        if full not in self._tensors:
            raise WorkerError("corrupt", f"the version's state has no '{full}'")
        return self._tensors[full]

    def _parameter(self, path: str, name: str) -> nn.Parameter:
        tensor = self._tensor(path, name)
        return tensor if isinstance(tensor, nn.Parameter) else nn.Parameter(tensor, tensor.requires_grad)

    def _find(self, encoded: JsonObject) -> nn.Module:
        path, digest = encoded.get("path"), encoded.get("node")
        if isinstance(path, str):
            name = self._blueprint.name
            inside = path if not name else path[len(name) + 1 :] if path.startswith(f"{name}.") else None
            inside = "" if path == name else inside
            if inside is None or inside not in self._built:
                raise DecodeError(f"it names the module '{path}' of the model, which is not part of this one")
            return self._built[inside]
        if digest is None:
            raise DecodeError("it holds a module that contains it")
        if digest not in self._outside:
            found = self._outside[digest] = _OutsideModule(self._blueprint, self).build(digest)
            return found
        return self._outside[digest]


class _OutsideModule:
    """A module that stands in an attribute and is no child: its tensors are in its own nodes."""

    def __init__(self, blueprint: Blueprint, around: _Structure) -> None:
        self._blueprint = blueprint
        self._around = around

    def build(self, digest: Any, depth: int = 0) -> nn.Module:
        node = self._blueprint.node(digest)
        if depth > _DEEPEST:
            raise WorkerError("corrupt", "the version's modules are nested too deeply")
        kind = self._blueprint.resolver.module_class(node["class"])
        module = kind.__new__(kind)
        nn.Module.__init__(module)
        decoder = self._blueprint.decoder(self._around._find)
        for name, reference in node["parameters"].items():
            tensor = None if reference is None else decoder.tensor(reference)
            keeps = isinstance(tensor, nn.Parameter) or tensor is None
            module._parameters[name] = tensor if keeps else nn.Parameter(tensor, tensor.requires_grad)  # type: ignore[assignment,union-attr,arg-type]
        for name, reference in node["buffers"].items():
            module._buffers[name] = None if reference is None else decoder.tensor(reference)
        for name, child in node["children"].items():
            module._modules[name] = None if child is None else self.build(child, depth + 1)
        self._around._fill(module, node, "")
        return module


def _from_structure(blueprint: Blueprint, with_gaps: bool = False) -> Rebuilt:
    tensors = state_tensors(blueprint)
    structure = _Structure(blueprint, tensors, with_gaps)
    module = structure.build()
    warnings = structure.warnings
    if blueprint.node(blueprint.root)["class"] in blueprint.edited:
        warnings += _complete(blueprint, module)
    return Rebuilt(module, "structure", tensors, warnings=warnings)


def _complete(blueprint: Blueprint, module: nn.Module) -> list[str]:
    """Gives a module of an edited class what its own constructor makes and the capture lacks."""
    try:
        fresh = _construct(blueprint, blueprint.root)
    except Exception as error:
        return [f"the edited class has the captured attributes alone: its constructor did not run: {_sentence(error)}"]
    for name, value in fresh.__dict__.items():
        module.__dict__.setdefault(name, value)
    added: list[str] = []
    for table in ("_parameters", "_buffers", "_modules"):
        known, new = module.__dict__[table], fresh.__dict__[table]
        for name in new:
            if name not in known and new[name] is not None:
                known[name] = new[name]
                added.append(name)
    fresh.train(module.training)
    return (
        [f"the edited class has {', '.join(added)} beyond the captured state, as its constructor made it"]
        if added
        else []
    )


def _from_constructor(blueprint: Blueprint) -> Rebuilt:
    tensors = state_tensors(blueprint)
    module = _construct(blueprint, blueprint.root)
    _assign(blueprint, module, blueprint.root, "", tensors)
    return Rebuilt(module, "init", tensors)


def _construct(blueprint: Blueprint, digest: Any, depth: int = 0) -> nn.Module:
    node = blueprint.node(digest)
    kind = blueprint.resolver.module_class(node["class"])
    if kind in _CONTAINERS and depth < _DEEPEST:
        container: Any = kind()
        for name, child in node["children"].items():
            container._modules[name] = None if child is None else _construct(blueprint, child, depth + 1)
        return container  # type: ignore[no-any-return]
    init = node["init"]
    if init["how"] == "unknown":
        missing = ", ".join(init["missing"])
        raise DecodeError(f"its constructor's arguments are not known: {missing}")

    def find(encoded: JsonObject) -> nn.Module:
        if encoded.get("node") is None:
            raise DecodeError("a constructor's argument is a module of the model")
        return _construct(blueprint, encoded["node"], depth + 1)

    decoder = blueprint.decoder(find)
    decoder.prepare(init["args"], init["kwargs"])
    args, kwargs = decoder.decode(init["args"]), decoder.decode(init["kwargs"])
    with torch.random.fork_rng(devices=[]):
        return kind(*args, **kwargs)


def _assign(blueprint: Blueprint, module: nn.Module, digest: Any, path: str, tensors: dict[str, torch.Tensor]) -> None:
    """Puts the captured tensors and training flags into a module that its constructor made."""
    node = blueprint.node(digest)
    prefix = f"{path}." if path else ""
    for table, own in (("parameters", module._parameters), ("buffers", module._buffers)):
        for name, reference in node[table].items():
            if name not in own:
                raise DecodeError(f"its constructor makes no '{prefix}{name}'")
            own[name] = None if reference is None else tensors[prefix + name]  # type: ignore[assignment]
    module.training = bool(node["training"])
    for name, child in node["children"].items():
        below = module._modules.get(name)
        if child is None:
            continue
        if below is None:
            raise DecodeError(f"its constructor makes no module '{prefix}{name}'")
        _assign(blueprint, below, child, prefix + name, tensors)
    if isinstance(module, nn.RNNBase):
        module._init_flat_weights()  # type: ignore[no-untyped-call,unused-ignore]


def _from_program(blueprint: Blueprint) -> Rebuilt:
    if blueprint.program is None:
        raise DecodeError("it has no program")
    content = blueprint.program.read()
    refuse_pickles(content)
    program = torch.export.load(io.BytesIO(content))
    tensors = state_tensors(blueprint)
    program._state_dict = {name: tensors.get(name, old) for name, old in program.state_dict.items()}
    program._constants = {name: tensors.get(name, old) for name, old in program.constants.items()}
    module = program.module()
    own = {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }
    return Rebuilt(module, "program", {name: own.get(name, tensor) for name, tensor in tensors.items()})


def refuse_pickles(content: bytes) -> None:
    """WorkerError for an archive of which torch.export.load would unpickle a part."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for member in archive.infolist():
                name = member.filename
                suffixes = (".pt", ".pth", ".pkl", ".pickle")
                is_pickle = name.endswith(suffixes) or "custom_obj_" in name or "opaque_obj_" in name
                if member.file_size and is_pickle:
                    raise WorkerError("unsupported", f"the program holds a pickle, {name}")
                if name.endswith(".json") and _USES_PICKLE.search(archive.read(member)):
                    raise WorkerError("unsupported", f"the program holds pickled tensors, see {name}")
    except zipfile.BadZipFile as error:
        raise WorkerError("corrupt", f"the program is no archive: {error}") from error


def _parametrize(module: nn.Module) -> None:
    """Registers again what a parametrised module computes its tensors with; the class for that is made at run time."""
    held = module._modules.get("parametrizations")
    if not isinstance(held, nn.ModuleDict):
        return
    names = [name for name in held if not isinstance(getattr(type(module), name, None), property)]
    if names:
        parametrize._inject_new_class(module)
    for name in names:
        parametrize._inject_property(module, name)


def _sentence(error: BaseException) -> str:
    text = error.message if isinstance(error, WorkerError) else str(error)
    plain = isinstance(error, WorkerError | DecodeError)
    return text if plain and text else f"{type(error).__name__}: {text}"


def nodes_below(nodes: JsonObject, root: Json) -> list[JsonObject]:
    """Returns the documents of a node and of everything below it, each once."""
    found: dict[str, JsonObject] = {}
    open_digests = [root]
    while open_digests:
        digest = open_digests.pop()
        node = nodes.get(digest)
        if isinstance(node, dict) and digest not in found:
            found[digest] = node
            open_digests.extend(child for child in node.get("children", {}).values() if child is not None)
    return list(found.values())
