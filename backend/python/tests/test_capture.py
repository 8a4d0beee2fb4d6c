# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Reading bundles back as Python values and running modules; what is damaged or hostile is refused with a sentence."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from replay import same_bits
from torch import nn
from torch.nn.utils import parametrizations

from modulelens import Capture, InitCapture, ModuleTracer, pack_bundle
from modulelens.bundle_reader import BundleError


class Counting(nn.Module):
    """In this module's own package, so that it can be imported."""

    def __init__(self, width: int = 3) -> None:
        super().__init__()
        self.count = 0
        self.inner = nn.Linear(width, width)
        self.register_buffer("total", torch.zeros(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count += 1
        self.total.add_(x.detach().sum(0))
        return self.inner(x) * self.count + self.total


class Gadget:
    def __init__(self) -> None:
        self.value = 3


def captured(tmp_path: Path, model: nn.Module, step: Callable[[], Any], **options: Any) -> Capture:
    options.setdefault("programs", False)
    with ModuleTracer(model, tmp_path, "m", tags=["t"], **options) as tracer:
        step()
    assert tracer.bundle is not None, tracer.problems
    return Capture.open(tracer.bundle)


def test_bundle_isAMappingOfModules(tmp_path: Path) -> None:
    with InitCapture():
        model = nn.Sequential(nn.Linear(4, 3), nn.ReLU())
    x = torch.randn(2, 4)
    capture = captured(tmp_path, model, lambda: model(x))
    assert (list(capture), len(capture), "0" in capture, "7" in capture) == (["", "0", "1"], 3, True, False)
    assert (capture.model, capture.tags, capture.is_complete, capture.problems) == ("m", ["t"], True, [])
    assert capture.environment["torch"] == torch.__version__
    assert [call["module"] for call in capture.runs[0]["calls"]] == ["", "0", "1"]
    linear = capture["0"]
    assert (linear.name, linear.class_name, len(linear.calls)) == ("0", "torch.nn.modules.linear:Linear", 1)
    assert linear.source is not None and linear.source.startswith("class Linear(Module):")
    (args, kwargs) = linear.inputs()
    assert same_bits(args[0], x) and kwargs == {}
    assert same_bits(linear.output(), model[0](x).detach())
    assert same_bits(linear.state()["weight"], model[0].weight)
    with pytest.raises(KeyError, match="was not captured"):
        capture["7"]
    with pytest.raises(IndexError, match="there is no call 1"):
        linear.inputs(1)
    assert "Linear" in repr(linear) and "3 modules" in repr(capture)


def test_module_isBuiltAndValidated(tmp_path: Path) -> None:
    model = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True).eval()
    x = torch.randn(2, 5, 16)
    capture = captured(tmp_path, model, lambda: model(x))
    for name in capture:
        module = capture[name]
        report = module.validate()
        assert (report["verdict"], report["exact"], module.how) == ("pass", True, "structure"), (name, report)
        assert report["leaves"][0]["pointer"].startswith("/output")
    built = capture[""].build()
    assert type(built) is nn.TransformerEncoderLayer and not built.training
    with torch.no_grad():
        built.linear2.weight.mul_(2)
    assert capture[""].validate(built)["verdict"] == "fail"


def test_stateThatChangesBetweenCalls_isThatOfTheCall(tmp_path: Path) -> None:
    model = Counting()
    capture = captured(tmp_path, model, lambda: [model(torch.randn(2, 3)) for _ in range(3)])
    module = capture[""]
    allow = {__name__.partition(".")[0]}
    for call in range(3):
        built = module.build(call, allow)
        assert (built.count, bool(built.total.any())) == (call, call > 0)
        assert module.validate(call=call, allow=allow)["exact"], call


@pytest.mark.parametrize("kind", ["weight_norm", "spectral_norm", "orthogonal"])
def test_newStyleParametrization_isRegisteredAgain(tmp_path: Path, kind: str) -> None:
    linear = getattr(parametrizations, kind)(nn.Linear(4, 4)).eval()
    module = captured(tmp_path, linear, lambda: linear(torch.randn(2, 4)))[""]
    assert module.validate()["exact"] and module.how == "structure"
    built = module.build()
    assert torch.nn.utils.parametrize.is_parametrized(built, "weight")


def test_oldWeightNorm_isBuiltFromItsStructure(tmp_path: Path) -> None:
    linear = torch.nn.utils.weight_norm(nn.Linear(4, 4))
    module = captured(tmp_path, linear, lambda: linear(torch.randn(2, 4)))[""]
    assert module.validate()["verdict"] == "pass" and module.how == "structure"


def test_classThatIsNotAllowed_isRefused(tmp_path: Path) -> None:
    model = Counting()
    module = captured(tmp_path, model, lambda: model(torch.randn(2, 3)))[""]
    with pytest.raises(PermissionError, match="'allow' does not name"):
        module.build()


def test_valueOfAClassThatIsNotAllowed_isRefused(tmp_path: Path) -> None:
    class Passing(nn.Module):
        def forward(self, x: torch.Tensor, gadget: Gadget) -> torch.Tensor:
            return x * gadget.value

    model = Passing()
    module = captured(tmp_path, model, lambda: model(torch.ones(2), Gadget()))[""]
    with pytest.raises(PermissionError):
        module.inputs()
    assert module.inputs(allow={__name__.partition(".")[0]})[0][1].value == 3


def test_localClass_runsFromItsProgram(tmp_path: Path) -> None:
    class Local(nn.Linear):
        pass

    model = Local(3, 3)
    module = captured(tmp_path, model, lambda: model(torch.randn(2, 3)), programs=True)[""]
    assert module.validate(allow={__name__})["verdict"] == "pass"
    assert module.how == "program" and "inside a function" in module.reasons[0]


def test_packedBundleAndFolderOfBundles_areOpened(tmp_path: Path) -> None:
    model, x = nn.Linear(3, 3), torch.randn(2, 3)
    capture = captured(tmp_path / "store", model, lambda: model(x), programs=True)
    packed = pack_bundle(capture.path, tmp_path / "packed.mlens")
    for path in (packed, tmp_path / "store"):
        module = Capture.open(path)[""]
        assert same_bits(module.inputs()[0][0], x) and module.validate()["exact"]
    with pytest.raises(BundleError, match="no bundle"):
        Capture.open(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(BundleError, match="holds no bundle"):
        Capture.open(tmp_path / "empty")


def whole(tmp_path: Path) -> Path:
    model = nn.Linear(3, 3)
    return captured(tmp_path, model, lambda: model(torch.randn(2, 3)), programs=True).path


def test_everyFileThatIsCutOrChanged_isRefused(tmp_path: Path) -> None:
    folder = whole(tmp_path)
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        content = path.read_bytes()
        middle = len(content) // 2
        for changed in (content[:middle], content[:-1] + bytes([content[-1] ^ 1]), None):
            if changed is None:
                path.unlink()
            else:
                path.write_bytes(changed)
            if path.suffix in (".pt2", ".py") and changed is not None:
                path.write_bytes(content)
                continue  # read only when it is needed
            with pytest.raises(BundleError):
                module = Capture.open(folder)[""]
                module.inputs()
                module.state()
                module.output()
                assert Capture.open(folder).runs
            path.write_bytes(content)
    assert Capture.open(folder)[""].validate()["exact"]


def reseal(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    index = json.loads((folder / "bundle.json").read_bytes())
    change(index)
    content = json.dumps(index).encode()
    (folder / "bundle.json").write_bytes(content)
    (folder / "bundle.sha256").write_text(f"{hashlib.sha256(content).hexdigest()}  bundle.json\n")


def test_namesThatLeaveTheFolder_areRefused(tmp_path: Path) -> None:
    folder = whole(tmp_path)
    (tmp_path / "outside.json").write_text("{}")

    def outside(index: dict[str, Any]) -> None:
        index["nodes"][0]["file"] = "../outside.json"

    reseal(folder, outside)
    with pytest.raises(BundleError, match="exactly the files"):
        Capture.open(folder)


def test_linkInABundle_isRefused(tmp_path: Path) -> None:
    folder = whole(tmp_path)
    (folder / "sources" / "x.py").symlink_to("/etc/hostname")
    with pytest.raises(BundleError, match="link"):
        Capture.open(folder)


def test_newerBundle_isRefusedWithASentence(tmp_path: Path) -> None:
    folder = whole(tmp_path)
    reseal(folder, lambda index: index.update(schema_version=2))
    with pytest.raises(BundleError, match="newer"):
        Capture.open(folder)


def test_programWithAPickle_isRefused(tmp_path: Path) -> None:
    class Local(nn.Linear):
        pass

    model = Local(3, 3)
    folder = captured(tmp_path, model, lambda: model(torch.randn(2, 3)), programs=True).path
    (program,) = (folder / "programs").iterdir()
    with zipfile.ZipFile(program, "a") as archive:
        archive.writestr("program/data/constants/evil.pkl", b"\x80\x04.")
    digest = hashlib.sha256(program.read_bytes()).hexdigest()
    text = (folder / json.loads((folder / "bundle.json").read_bytes())["versions"][0]["file"]).read_text()
    assert program.stem in text
    program.rename(program.with_name(f"{digest}.pt2"))

    def exchange(index: dict[str, Any]) -> None:
        entry = index["programs"][0]
        old = entry["digest"]
        entry.update(
            digest=digest, file=f"programs/{digest}.pt2", size=(folder / f"programs/{digest}.pt2").stat().st_size
        )
        version = index["versions"][0]
        content = (folder / version["file"]).read_text().replace(old, digest).encode()
        (folder / version["file"]).write_bytes(content)
        version.update(digest=hashlib.sha256(content).hexdigest(), size=len(content))

    reseal(folder, exchange)
    with pytest.raises((ValueError, ImportError), match="pickle"):
        Capture.open(folder)[""].build(allow={__name__})
