# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""The program engine against eager PyTorch: the same module, inputs and threads, both sides in turn in one run."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "backend" / "python"))
sys.path.insert(0, str(Path(__file__).parent))
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
warnings.filterwarnings("ignore")

import torch  # noqa: E402
import transformers  # noqa: E402
from modulelens import ModuleTracer  # noqa: E402
from worker_process import BundleReader, WorkerProcess  # noqa: E402

THREADS = 1
ROUNDS = 15
ROUND_SECONDS = 0.12


def bert_tiny() -> tuple[torch.nn.Module, dict[str, Any]]:
    config = transformers.BertConfig(
        hidden_size=64, num_hidden_layers=4, num_attention_heads=4, intermediate_size=128, vocab_size=1000
    )
    return transformers.BertModel(config), {"input_ids": torch.arange(16).reshape(1, 16)}


def llama_tiny() -> tuple[torch.nn.Module, dict[str, Any]]:
    config = transformers.LlamaConfig(
        hidden_size=64,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=2,
        intermediate_size=128,
        vocab_size=1000,
        use_cache=False,
    )
    return transformers.LlamaModel(config), {"input_ids": torch.arange(16).reshape(1, 16)}


def t5_tiny() -> tuple[torch.nn.Module, dict[str, Any]]:
    config = transformers.T5Config(d_model=64, d_kv=16, d_ff=128, num_layers=4, num_heads=4, vocab_size=1000)
    return transformers.T5EncoderModel(config), {"input_ids": torch.arange(16).reshape(1, 16)}


def bert_base_layer() -> tuple[torch.nn.Module, dict[str, Any]]:
    model = transformers.BertModel(transformers.BertConfig(num_hidden_layers=1))
    return model.encoder.layer[0], {"hidden_states": torch.randn(2, 128, 768)}


MODELS: list[tuple[str, Callable[[], tuple[torch.nn.Module, dict[str, Any]]], float]] = [
    ("bert_tiny", bert_tiny, 0.6),
    ("llama_tiny", llama_tiny, 0.6),
    ("t5_tiny", t5_tiny, 0.6),
    ("bert_base_layer", bert_base_layer, 1.05),
]


def result(name: str, ratios: list[float], target: float, detail: str) -> dict[str, Any]:
    value = statistics.median(ratios)
    low, high = min(ratios), max(ratios)
    return {
        "name": name,
        "value": round(value, 4),
        "unit": "ratio",
        "target": f"<= {target}",
        "ok": value <= target,
        "detail": f"{detail}; {len(ratios)} rounds, {low:.3f} to {high:.3f}",
    }


def eager_median_ns(model: torch.nn.Module, inputs: dict[str, Any], repetitions: int) -> float:
    samples = []
    with torch.no_grad():
        for _ in range(repetitions):
            start = time.perf_counter_ns()
            output = model(**inputs)
            samples.append(time.perf_counter_ns() - start)
            del output
    return statistics.median(samples)


def capture(model: torch.nn.Module, inputs: dict[str, Any], folder: str, name: str) -> BundleReader:
    with (
        torch.no_grad(),
        ModuleTracer(model, store=folder, model_name=name, select=[""], dynamic_batch=False) as tracer,
    ):
        model(**inputs)
    assert tracer.bundle is not None
    return BundleReader(tracer.bundle)


def compare(name: str, model: torch.nn.Module, inputs: dict[str, Any], target: float) -> list[dict[str, Any]]:
    model.eval()
    with tempfile.TemporaryDirectory() as folder:
        bundle = capture(model, inputs, folder, name)
        worker = WorkerProcess(THREADS)
        version = bundle.version("")
        handle = worker.call("load", bundle.load_params(version))["handle"]
        call = bundle.call_params(version, handle, THREADS)
        verdict = worker.call("validate", call)
        eager = eager_median_ns(model, inputs, 10)
        repetitions = max(5, int(ROUND_SECONDS * 1e9 / eager))
        run = {"call": call, "warmup_runs": 5, "repetitions": repetitions, "budget_ms": 60_000}
        engine_to_eager, timed_to_plain, sum_to_plain = [], [], []
        plain_ns = 0.0
        for _ in range(ROUNDS):
            eager = eager_median_ns(model, inputs, repetitions)
            plain_ns = worker.call("benchmark", run)["median_ns"]
            engine_to_eager.append(plain_ns / eager)
            profile = worker.call("profile", {**run, "repetitions": max(5, repetitions // 2)})
            timed_to_plain.append(profile["timed_run_ns"] / profile["latency_ns"])
            sum_to_plain.append(abs(profile["operator_sum_ns"] / profile["latency_ns"] - 1))
        worker.close()
    exact = "bits equal" if verdict["verdict"] == "pass" and verdict["exact"] else f"verdict {verdict['verdict']}"
    detail = f"engine {plain_ns / 1e3:.0f} us, eager {eager / 1e3:.0f} us, {THREADS} thread, {exact}"
    results = [result(f"engine/eager {name}", engine_to_eager, target, detail)]
    results[0]["ok"] = results[0]["ok"] and exact == "bits equal"
    if name == "bert_base_layer":
        results.append(result(f"timing pass/plain {name}", timed_to_plain, 1.05, "one profile each"))
    results.append(result(f"operator sum off plain {name}", sum_to_plain, 0.1, "|sum of operators / plain run - 1|"))
    return results


def cold_validation() -> dict[str, Any]:
    """`modulelens validate` of one layer of MiniLM's size, from registry to verdict with a worker of its own, against
    starting Python and `import torch`."""
    config = transformers.BertConfig(
        hidden_size=384, num_hidden_layers=1, num_attention_heads=12, intermediate_size=1536
    )
    layer = transformers.BertModel(config).encoder.layer[0].eval()
    program = Path(os.environ["MODULELENS_BIN_DIR"]) / "modulelens"
    ratios = []
    cold = imported = 0.0
    with tempfile.TemporaryDirectory() as folder:
        capture(layer, {"hidden_states": torch.randn(4, 32, 384)}, folder, "minilm_layer")
        registry = ["--registry", f"{folder}/registry", "--json"]
        subprocess.run([program, "import", folder, *registry], check=True, stdout=subprocess.DEVNULL)
        for _ in range(7):
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", "import torch"], check=True)
            imported = time.perf_counter() - start
            start = time.perf_counter()
            answer = subprocess.run([program, "validate", "minilm_layer::", *registry], check=True, capture_output=True)
            cold = time.perf_counter() - start
            assert json.loads(answer.stdout)["data"]["exact"], answer.stdout
            ratios.append(cold / imported)
    detail = f"registry to verdict {cold:.3f} s, import torch {imported:.3f} s"
    return result("cold validation/import torch", ratios, 0.6, detail)


def main() -> None:
    torch.set_num_threads(THREADS)
    torch.manual_seed(0)
    results = []
    for name, make, target in MODELS:
        model, inputs = make()
        results += compare(name, model, inputs, target)
    results.append(cold_validation())
    print(json.dumps({"results": results}))


if __name__ == "__main__":
    main()
