# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Writes files as people have them, made without the tracer, for the tests of importing them.

    make_foreign.py FOLDER

Beside each NAME stand NAME.inputs.safetensors and NAME.outputs.safetensors: what went in, and what PyTorch gave, by position.
"""

from __future__ import annotations

import importlib.util
import json
import sys
import warnings
import zipfile
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import nn


class Tied(nn.Module):
    """Tied weights, a list of layers, a buffer of each kind, keyword inputs of several depths, a dict of outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(10, 4)
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])
        self.head = nn.Linear(4, 10, bias=False)
        self.head.weight = self.embedding.weight
        self.register_buffer("scale", torch.full((4,), 2.0), persistent=False)
        self.register_buffer("shift", torch.ones(4))

    def forward(self, ids: torch.Tensor, *, mask: torch.Tensor, options: dict[str, torch.Tensor]) -> Any:
        hidden = self.embedding(ids)
        for layer in self.layers:
            hidden = layer(hidden) * self.scale + self.shift
        return {"logits": self.head(hidden * mask), "pair": (hidden, options["bias"] + 1)}


class Transposed(nn.Module):
    """A parameter that is a view with strides of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.arange(6.0).reshape(2, 3).t())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x @ self.weight


class Counter(nn.Module):
    """TorchScript with a container, a buffer that it writes to and an attribute that it replaces."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(8, 16), nn.Linear(16, 8)])
        self.norm = nn.BatchNorm1d(8)
        self.register_buffer("calls", torch.zeros(1))
        self.last = torch.zeros(4, 8)

    def forward(self, x: torch.Tensor, factor: int = 2) -> tuple[torch.Tensor, torch.Tensor]:
        hidden = x
        for layer in self.layers:
            hidden = torch.relu(layer(hidden))
        self.calls += 1
        self.last = self.last + hidden
        return self.norm(self.last) * factor, self.calls * 1.0


class Layer(nn.Module):
    """Two modules in a row, an operator in a loop of its own, and a method that calls a module again."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.activation = nn.ReLU()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.activation(self.linear(x))
        for _ in range(2):
            x = x.tanh()
        return self.again(x)

    def again(self, x: torch.Tensor) -> torch.Tensor:
        return self.activation(x * 2)


class Repeated(nn.Module):
    """Calls modules again: on other lines, within one line, in loops with and without operators between the calls."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = Layer()
        self.cell = nn.Linear(4, 4)
        self.chain = nn.Sequential(nn.Linear(4, 4), nn.ReLU())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.layer(x)
        x = self.layer(self.layer(x))
        for _ in range(3):
            x = self.cell(x)
        for _ in range(2):
            x = self.cell(x) * 2
        for _ in range(2):
            x = self.chain(x)
        return self.layer(x)


class Steps(nn.Module):
    """Runs for as long as its caller says."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.Linear(4, 4)
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, count: int) -> torch.Tensor:
        x = torch.ones(2, 4)
        for _ in range(count):
            x = torch.tanh(self.cell(x))
            self.calls += 1
        return x + self.calls


class Twice(nn.Module):
    """Needs an operator of a library of its own."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.ops.modulelens_test.twice(x) + 1


def with_members(source: Path, target: Path, changes: dict[str, bytes | None]) -> None:
    """Copies an archive; members whose names end as `changes` says get other content, or are left out for None."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for member in old.infolist():
            content: bytes | None = old.read(member)
            for end, change in changes.items():
                if member.filename.endswith(end):
                    content = change
            if content is not None:
                new.writestr(member.filename, content)


def save_tensors(path: Path, values: list[torch.Tensor]) -> None:
    save_file({str(i): value.detach().clone().contiguous() for i, value in enumerate(values)}, path)


def exported(folder: Path) -> None:
    module = Tied().eval()
    ids, mask = torch.randint(0, 10, (3, 5)), torch.rand(3, 5, 1)
    options = {"bias": torch.ones(2)}
    batch = torch.export.Dim("batch", min=2, max=64)
    program = torch.export.export(
        module,
        (ids,),
        {"mask": mask, "options": options},
        dynamic_shapes={"ids": {0: batch}, "mask": {0: batch}, "options": {"bias": None}},
    )
    torch.export.save(program, folder / "tied.pt2")
    result = module(ids, mask=mask, options=options)
    save_tensors(folder / "tied.inputs.safetensors", [ids, mask, options["bias"]])
    save_tensors(folder / "tied.outputs.safetensors", [result["logits"], *result["pair"]])
    with_members(folder / "tied.pt2", folder / "no_samples.pt2", {"sample_inputs/model.pt": b""})
    with_members(folder / "tied.pt2", folder / "absent_samples.pt2", {"sample_inputs/model.pt": None})
    with zipfile.ZipFile(folder / "tied.pt2") as archive:
        config = archive.read("tied/data/weights/model_weights_config.json")
    pickled = config.replace(b'"use_pickle": false', b'"use_pickle": true', 1)
    with_members(folder / "tied.pt2", folder / "pickled_weight.pt2", {"model_weights_config.json": pickled})
    torch.save(((Path("x"),), {}), folder / "object.pt")
    pickled_object = (folder / "object.pt").read_bytes()
    with_members(folder / "tied.pt2", folder / "pickled_object.pt2", {"sample_inputs/model.pt": pickled_object})
    with_members(folder / "tied.pt2", folder / "no_program.pt2", {"models/model.json": b"{"})

    transposed = Transposed().eval()
    x = torch.rand(2, 3)
    torch.export.save(torch.export.export(transposed, (x,)), folder / "transposed.pt2")
    save_tensors(folder / "transposed.inputs.safetensors", [x])
    save_tensors(folder / "transposed.outputs.safetensors", [transposed(x)])


def custom_operator(folder: Path) -> None:
    library = torch.library.Library("modulelens_test", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x * 2, "CPU")
    torch.library.register_fake("modulelens_test::twice", torch.empty_like, lib=library)
    x = torch.rand(3)
    torch.export.save(torch.export.export(Twice(), (x,)), folder / "custom_operator.pt2")
    save_tensors(folder / "custom_operator.outputs.safetensors", [x * 2 + 1])


def repeated(folder: Path) -> None:
    """Beside the archive stand the module calls that PyTorch makes, gradients, and the same with another batch."""
    torch.manual_seed(11)
    module = Repeated().eval()
    scripted = torch.jit.script(module)
    torch.jit.save(scripted, folder / "repeated.pt")
    calls: dict[str, int] = {}
    for name, child in module.named_modules():
        child.register_forward_hook(lambda *_, name=name: calls.update({name: calls.get(name, 0) + 1}))
    x = torch.rand(3, 4)
    with torch.enable_grad():
        module(x).sum().backward()
    gradient_bytes = sum(p.grad.numel() * p.grad.element_size() for p in module.parameters() if p.grad is not None)
    save_tensors(folder / "repeated.inputs.safetensors", [x])
    save_tensors(folder / "repeated.outputs.safetensors", [torch.jit.load(folder / "repeated.pt")(x)])
    (folder / "repeated.json").write_text(json.dumps({"calls": calls, "gradient_bytes": gradient_bytes}))
    torch.jit.save(torch.jit.script(Steps().eval()), folder / "steps.pt")
    torch.jit.save(torch.jit.trace(module, x), folder / "traced.pt")


def torch_script(folder: Path) -> None:
    module = torch.jit.script(Counter().eval())
    torch.jit.save(module, folder / "counter.pt")
    x = torch.rand(4, 8)
    save_tensors(folder / "counter.inputs.safetensors", [x])
    save_tensors(folder / "counter.outputs.safetensors", list(torch.jit.load(folder / "counter.pt")(x, 3)))
    with zipfile.ZipFile(folder / "counter.pt") as archive:
        code = next(name for name in archive.namelist() if name.endswith("code/__torch__.py"))
        text = archive.read(code)
    with_members(folder / "counter.pt", folder / "edited.pt", {code: text.replace(b"return", b"retrun")})
    whole = (folder / "counter.pt").read_bytes()
    (folder / "truncated.pt").write_bytes(whole[: len(whole) // 2])
    damaged = bytearray(whole)
    with zipfile.ZipFile(folder / "counter.pt") as archive:
        weight = max((archive.read(name) for name in archive.namelist() if "/data/" in name), key=len)
    damaged[whole.index(weight)] ^= 0xFF
    (folder / "damaged.pt").write_bytes(damaged)


def not_models(folder: Path) -> None:
    torch.save({"weight": torch.ones(2)}, folder / "checkpoint.pt")
    torch.save({"weight": torch.ones(2)}, folder / "legacy.pt", _use_new_zipfile_serialization=False)
    with zipfile.ZipFile(folder / "other.zip", "w") as archive:
        archive.writestr("readme.txt", "nothing here")
    (folder / "text.pt").write_text("no archive at all\n")


def silero(folder: Path) -> None:
    """The voice activity detector as its authors publish it, when its package is there."""
    package = importlib.util.find_spec("silero_vad")
    if package is None or package.origin is None:
        return
    path = Path(package.origin).parent / "data" / "silero_vad.jit"
    (folder / "silero_vad.jit").write_bytes(path.read_bytes())
    x = torch.rand(1, 512)
    module = torch.jit.load(path)
    save_tensors(folder / "silero_vad.inputs.safetensors", [x])
    save_tensors(folder / "silero_vad.outputs.safetensors", [module(x, 16000)])
    parameters = sum(parameter.numel() * parameter.element_size() for parameter in module.parameters())
    modules = [name for name, _ in module.named_modules()]
    (folder / "silero_vad.json").write_text(json.dumps({"parameter_bytes": parameters, "modules": modules}))


def main() -> None:
    warnings.filterwarnings("ignore")
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(7)
    torch.set_num_threads(1)
    with torch.no_grad():
        exported(folder)
        custom_operator(folder)
        torch_script(folder)
        repeated(folder)
        not_models(folder)
        silero(folder)


if __name__ == "__main__":
    main()
