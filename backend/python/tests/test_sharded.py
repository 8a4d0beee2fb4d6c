# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Captures over several ranks, each a process of its own over gloo, as whole modules in one bundle.

Expected values: the captured outputs themselves, which the live sharded model gave, replayed in this process without a
process group; weights also against the unsharded model built from the same seed.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from bundle_check import Bundle, check_bundle
from conftest import Capture
from replay import decoder_of, replay
from sharded_models import Net
from torch.utils import _pytree as pytree

from modulelens.decoding import ValueDecoder
from modulelens.distributed.structure_builder import StructureBuilder
from modulelens.isolation import captured_conditions, isolated_copy

pytestmark = pytest.mark.skipif(not torch.distributed.is_available(), reason="torch has no distributed package")
FOLDER = Path(__file__).parent
HAS_TORCHREC = importlib.util.find_spec("torchrec") is not None
NET = ["", "blocks.0", "blocks.0.fc1", "blocks.0.act", "blocks.0.fc2"]
NET += ["blocks.1", "blocks.1.fc1", "blocks.1.act", "blocks.1.fc2", "norm"]


def run_ranks(
    tmp_path: Path, case: str, world: int, **options: str
) -> tuple[Path, list[subprocess.CompletedProcess[str]]]:
    """Runs one process a rank and returns the store and what each has said."""
    store = tmp_path / "store"
    store.mkdir(parents=True, exist_ok=True)
    environment = os.environ | {
        "PYTHONPATH": f"{FOLDER.parent}{os.pathsep}{FOLDER}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
        "OMP_NUM_THREADS": "1",
    }
    python = os.environ.get("MODULELENS_SHARDED_PYTHON", sys.executable)
    settings = [f"{key}={value}" for key, value in options.items()]
    head = [python, "-W", "ignore", str(FOLDER / "sharded_ranks.py"), case, str(store), str(tmp_path / "rendezvous")]
    processes = [
        subprocess.Popen(
            [*head, str(rank), str(world), *settings],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(world)
    ]
    done = []
    for process in processes:
        said, _ = process.communicate(timeout=600)
        done.append(subprocess.CompletedProcess(process.args, process.returncode, said))
    return store, done


def captured(tmp_path: Path, case: str, world: int = 2, **options: str) -> Bundle:
    """The one bundle that the ranks of a case leave."""
    store, ranks = run_ranks(tmp_path, case, world, **options)
    assert [rank.returncode for rank in ranks] == [0] * world, "\n".join(rank.stdout for rank in ranks)
    assert [path.name for path in store.iterdir() if path.name.startswith(".")] == []
    bundles = list(store.iterdir())
    assert len(bundles) == 1, [rank.stdout for rank in ranks]
    return check_bundle(bundles[0])


def largest_difference(bundle: Bundle, module: str, index: int = 0) -> float:
    """How far the rebuilt module, run alone on the captured inputs, is from the captured outputs."""
    version = bundle.versions[module]
    call = version["calls"][index]
    nodes = {digest: json.dumps(node).encode() for digest, node in bundle.nodes.items()}
    structure = StructureBuilder(nodes, lambda digest: torch.empty(0), {}).build(version["state"]["node"])
    references = {
        name: {"$t": "tensor", **reference}
        for name, reference in {**version["state"]["tensors"], **call["state_before"]}.items()
    }
    state = decoder_of(bundle)
    state.prepare(references)
    tensors = {name: state.decode(reference) for name, reference in references.items()}
    rebuilt = isolated_copy(structure, tensors, [call["training"] for _ in structure.modules()])
    inputs: ValueDecoder = decoder_of(bundle)
    inputs.prepare(call["args"], call["kwargs"])
    args, kwargs = inputs.decode(call["args"]), inputs.decode(call["kwargs"])
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # as in the ranks
    try:
        with captured_conditions(call):
            output = rebuilt(*args, **kwargs)
    finally:
        torch.set_num_threads(threads)
    expected = pytree.tree_leaves(decoder_of(bundle).decode(call["output"]))
    actual = pytree.tree_leaves(output)
    assert len(actual) == len(expected)
    worst = 0.0
    for one, other in zip(actual, expected, strict=True):
        if isinstance(other, torch.Tensor):
            assert (one.dtype, one.shape) == (other.dtype, other.shape)
            worst = max(worst, float((one.detach().double() - other.detach().double()).abs().max()))
        else:
            assert one == other
    return worst


def assert_whole(bundle: Bundle, modules: list[str] = NET, tolerance: float = 0.0) -> None:
    assert bundle.index["complete"] is True
    assert sorted(bundle.versions) == sorted(modules)
    for module, version in bundle.versions.items():
        for index in range(len(version["calls"])):
            assert largest_difference(bundle, module, index) <= tolerance, (module, index)


def assert_weightsOfNet(bundle: Bundle, dtype: torch.dtype = torch.float32) -> None:
    torch.manual_seed(0)
    expected = Net().state_dict()
    found = bundle.versions[""]["state"]["tensors"]
    assert sorted(found) == sorted(expected)
    for name, value in expected.items():
        wanted = value if name == "scale" else value.to(dtype)
        assert torch.equal(decoder_of(bundle).tensor(found[name]), wanted), name


def test_fsdp2_arrivesWhole_inOneBundle(tmp_path: Path) -> None:
    bundle = captured(tmp_path, "fsdp2", programs="no")
    assert bundle.index["problems"] == []
    assert bundle.index["ranks"]["merged"] == [0, 1] and bundle.index["ranks"]["missing"] == []
    assert_whole(bundle)
    assert_weightsOfNet(bundle)
    assert {node["class"].partition(":")[2] for node in bundle.nodes.values()} >= {"Net", "Mlp"}


@pytest.mark.slow
@pytest.mark.parametrize("case", ["ddp", "fsdp1", "fsdp1_flat", "fsdp2"])
def test_dataParallel_isExact_andHasPrograms(tmp_path: Path, case: str) -> None:
    bundle = captured(tmp_path, case)
    assert bundle.index["problems"] == []
    assert_whole(bundle)
    assert_weightsOfNet(bundle)
    torch.set_num_threads(1)
    for module in NET:
        assert replay(bundle, module), module


@pytest.mark.slow
def test_mixedPrecision_isKeptAsComputed_rootIncluded(tmp_path: Path) -> None:
    bundle = captured(tmp_path, "fsdp2_mixed", programs="no")
    assert_whole(bundle)
    assert_weightsOfNet(bundle, torch.bfloat16)
    for module in NET:
        assert bundle.call(module)["args"][0]["dtype"] == "bfloat16"


@pytest.mark.slow
def test_trainingSteps_haveTheirOwnWeights(tmp_path: Path) -> None:
    bundle = captured(tmp_path, "fsdp2_training", programs="no")
    assert_whole(bundle)
    for module in ("", "blocks.0", "blocks.0.fc1"):
        calls = bundle.versions[module]["calls"]
        name = next(
            name
            for name in bundle.versions[module]["state"]["tensors"]
            if name.endswith("fc1.weight") or name == "weight"
        )
        digests = [
            call["state_before"].get(name, bundle.versions[module]["state"]["tensors"][name])["ref"] for call in calls
        ]
        assert len(set(digests)) == 3, module


@pytest.mark.slow
@pytest.mark.parametrize(("case", "world"), [("tensor_parallel", 2), ("fsdp2_by_tp", 4)])
def test_tensorParallel_isWhole_withinTheOrderOfTheSum(tmp_path: Path, case: str, world: int) -> None:
    bundle = captured(tmp_path, case, world)
    assert_whole(bundle, tolerance=1e-6)
    assert_weightsOfNet(bundle)
    assert bundle.call("blocks.0.fc1")["output"]["shape"] == [4, 16]


@pytest.mark.slow
def test_localBundles_mergeOffline_asFullOnesDo(tmp_path: Path) -> None:
    full = captured(tmp_path / "full", "fsdp2_by_tp", 4, programs="no")
    store, ranks = run_ranks(tmp_path / "local", "fsdp2_by_tp", 4, sharded="local")
    assert [rank.returncode for rank in ranks] == [0] * 4
    bundles = sorted(store.iterdir())
    parts = [check_bundle(bundle) for bundle in bundles]
    assert sorted(part.index["ranks"]["rank"] for part in parts) == [0, 1, 2, 3]
    assert all(not part.index["complete"] for part in parts)

    merged = check_bundle(merge(bundles, tmp_path / "merged"))
    assert merged.index["complete"] is True
    assert_whole(merged, tolerance=1e-6)
    for module, version in full.versions.items():
        assert merged.versions[module]["state"]["node"] == version["state"]["node"]
        assert merged.versions[module]["calls"] == version["calls"]

    assert merge_code([bundles[0], bundles[0]], tmp_path) == 9
    document = next((bundles[1] / "versions").iterdir())
    document.write_bytes(document.read_bytes()[:-5])
    assert merge_code(bundles, tmp_path) == 9
    bundles[1] = bundles[0]

    partial = check_bundle(merge(bundles[1:], tmp_path / "partial"))
    assert partial.index["complete"] is False and "is missing" in partial.index["incomplete_reason"]


@pytest.mark.slow
def test_pipelineStages_joinUnderOneTop(tmp_path: Path) -> None:
    bundle = captured(tmp_path, "pipeline", programs="no")
    assert_whole(bundle, ["stage_0", "stage_1", *(name for name in NET if name)])
    sent, received = (bundle.versions[stage]["calls"][1] for stage in ("stage_0", "stage_1"))
    assert sent["output"]["ref"] == received["args"][0]["ref"]
    for run in bundle.runs:
        tops = [call["module"] for call in run["calls"] if call["parent"] == 0]
        assert run["calls"][0]["module"] == "" and tops == ["stage_0", "stage_1"]


@pytest.mark.slow
def test_killedRank_leavesTheOthersUnhurt_andTheBundleIncomplete(tmp_path: Path) -> None:
    store, ranks = run_ranks(tmp_path, "killed", 2, programs="no")
    assert [rank.returncode for rank in ranks] == [0, 9]
    bundle = check_bundle(next(store.iterdir()))
    assert bundle.index["complete"] is False
    assert bundle.index["ranks"]["missing"] == [{"rank": 1, "reason": "the process ended before its part was written"}]
    assert "gap" in bundle.versions["blocks.0.fc1"]["state"]["tensors"]["weight"]
    assert largest_difference(bundle, "norm") == 0
    assert [call["module"] for call in bundle.runs[0]["calls"]] == NET


@pytest.mark.slow
def test_raisingRank_isNamed_andItsPartUsed(tmp_path: Path) -> None:
    store, ranks = run_ranks(tmp_path, "raising", 2, programs="no")
    assert [rank.returncode for rank in ranks] == [0, 0]
    bundle = check_bundle(next(store.iterdir()))
    assert bundle.index["complete"] is False
    assert bundle.index["incomplete_reason"] == "rank 1: the traced block raised RuntimeError: only here"
    assert largest_difference(bundle, "") < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("case", ["untraced", "broken_tracer"])
def test_tracerOfOneRank_orItsFailure_hangsNobody(tmp_path: Path, case: str) -> None:
    store, ranks = run_ranks(tmp_path, case, 2, programs="no")
    assert [rank.returncode for rank in ranks] == [0, 0]
    bundle = check_bundle(next(store.iterdir()))
    assert bundle.index["complete"] is False
    assert "gap" in bundle.versions["blocks.0.fc1"]["state"]["tensors"]["weight"]
    assert [path for path in store.iterdir() if path.name.startswith(".")] == []


@pytest.mark.slow
@pytest.mark.skipif(not HAS_TORCHREC, reason="torchrec is not installed (requirements/sharded.txt)")
@pytest.mark.parametrize("kind", ["table_wise", "row_wise", "column_wise", "data_parallel"])
def test_shardedEmbeddings_areTheUnshardedCollection(tmp_path: Path, kind: str) -> None:
    bundle = captured(tmp_path, "recommender", kind=kind)
    name = "sparse_arch.embedding_bag_collection"
    collection = bundle.versions[name]
    assert collection["class"] == "torchrec.modules.embedding_modules:EmbeddingBagCollection"
    for module in bundle.versions:
        assert largest_difference(bundle, module) <= (1e-7 if kind == "row_wise" else 0), module
    gathered = torch.load(tmp_path / "tables.pt", weights_only=True)
    tables = collection["state"]["tensors"]
    assert sorted(f"{name}.{table}" for table in tables) == sorted(gathered)
    for table, reference in tables.items():
        assert torch.equal(decoder_of(bundle).tensor(reference), gathered[f"{name}.{table}"]), table
    call = collection["calls"][0]
    assert call["args"][0]["cls"].endswith(":KeyedJaggedTensor") and call["output"]["cls"].endswith(":KeyedTensor")
    assert all(version["state"]["programs"] for version in bundle.versions.values())


@pytest.mark.slow
@pytest.mark.skipif(not HAS_TORCHREC, reason="torchrec is not installed (requirements/sharded.txt)")
@pytest.mark.parametrize("kind", ["table_wise", "row_wise", "column_wise"])  # data-parallel ones fbgemm pools on CPUs
@pytest.mark.parametrize("sharded", ["full", "touched-rows"])
def test_shardedSequences_areTheUnshardedCollection(tmp_path: Path, kind: str, sharded: str) -> None:
    bundle = captured(tmp_path, "sequences", kind=kind, sharded=sharded)
    collection = bundle.versions["embeddings"]
    assert collection["class"] == "torchrec.modules.embedding_modules:EmbeddingCollection"
    assert sorted(bundle.versions) == ["", "embeddings", "project"]
    for module in bundle.versions:
        assert largest_difference(bundle, module) == 0, module
    gathered = torch.load(tmp_path / "tables.pt", weights_only=True)
    for table, reference in collection["state"]["tensors"].items():
        whole = gathered[f"embeddings.{table}"]
        if "touched_rows_of" in reference:
            assert reference["touched_rows_of"] == whole.shape[0] > reference["shape"][0]
        else:
            assert torch.equal(decoder_of(bundle).tensor(reference), whole), table
    assert all(version["state"]["programs"] for version in bundle.versions.values())


@pytest.mark.slow
@pytest.mark.skipif(not HAS_TORCHREC, reason="torchrec is not installed (requirements/sharded.txt)")
@pytest.mark.parametrize("kind", ["table_wise", "row_wise", "column_wise"])
def test_touchedRows_areTheTable_atTheCapturedIds(tmp_path: Path, kind: str) -> None:
    from sharded_recommender import ROWS, sparse_batch

    bundle = captured(tmp_path, "recommender", kind=kind, sharded="touched-rows")
    name = "sparse_arch.embedding_bag_collection"
    for module in bundle.versions:
        assert largest_difference(bundle, module) <= (1e-7 if kind == "row_wise" else 0), module
    gathered = torch.load(tmp_path / "tables.pt", weights_only=True)
    _, sparse = sparse_batch(0)
    for index in range(3):
        reference = bundle.versions[name]["state"]["tensors"][f"embedding_bags.t{index}.weight"]
        used = torch.unique(sparse[f"f{index}"].values())
        assert reference["touched_rows_of"] == ROWS + 10 * index and reference["shape"][0] == used.numel() < ROWS
        whole = gathered[f"{name}.embedding_bags.t{index}.weight"]
        assert torch.equal(decoder_of(bundle).tensor(reference), whole[used])
    tables = [node for node in bundle.nodes.values() if node["class"].endswith(":EmbeddingBag")]
    assert all(table["attributes"]["num_embeddings"] == table["parameters"]["weight"]["shape"][0] for table in tables)
    assert all(version["state"]["programs"] for version in bundle.versions.values())


def test_mergeOfOtherThings_isRefused(tmp_path: Path, capture: Capture, capsys: pytest.CaptureFixture[str]) -> None:
    bundle = capture(Net(), torch.randn(4, 8))
    assert merge_code([tmp_path], tmp_path / "out") == 3
    assert "is no bundle folder" in capsys.readouterr().err
    assert merge_code([bundle.folder], tmp_path / "out") == 9
    assert "is not the bundle of one rank" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def merge_code(bundles: list[Path], into: Path) -> int:
    from modulelens.distributed.merge_command import main

    return main([*map(str, bundles), "--into", str(into)])


def merge(bundles: list[Path], into: Path, *more: str) -> Path:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "modulelens", "merge", *map(str, bundles), "--into", str(into), *more],
        env=os.environ | {"PYTHONPATH": f"{FOLDER.parent}{os.pathsep}{FOLDER}"},
        capture_output=True,
        text=True,
        check=True,
    )
    return Path(done.stdout.strip())
