# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""The program engine against eager PyTorch and its other runners: the same module, inputs and threads, all sides in turn.

Every ratio is the median over rounds; in a round each side runs one short block after the other and gives the lower
quartile of its calls, so that other work on the machine counts little and meets all sides alike. Eager PyTorch and
torch.jit.trace run under no_grad, as captured.
MODULELENS_BENCH_AOTINDUCTOR names the models that are also compiled by AOTInductor ("all", "none", or a list with commas).
MODULELENS_BENCH_DEVICE is where all sides run; there, the engine's replay of a recorded graph is one side more.
MODULELENS_BENCH_MODELS and MODULELENS_BENCH_ROUNDS make it shorter.
"""

from __future__ import annotations

import json
import os
import shutil
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
from worker_process import DEVICE, BundleReader, WorkerProcess  # noqa: E402

import models  # noqa: E402

THREADS = 1
ROUNDS = int(os.environ.get("MODULELENS_BENCH_ROUNDS", "30"))
BLOCK_SECONDS = 0.04
LOADS = 21
OPERATOR_ROUNDS = 60
AOTINDUCTOR_MODELS = os.environ.get("MODULELENS_BENCH_AOTINDUCTOR", "bert_tiny,block")

# Model: most of eager's time, most of torch.jit.trace's time (None: reported only).
TARGETS: dict[str, tuple[float, float | None]] = {
    "bert_tiny": (0.40, None),
    "llama_tiny": (0.40, None),
    "t5_tiny": (0.40, None),
    "dlrm": (0.60, None),
    "block": (1.0, 1.03),
    "stack": (1.0, 1.03),
    "mixer": (1.0, 1.03),
    "rnn": (1.0, 1.03),
    "resnet_eval": (1.0, 1.03),
    "stackmed": (1.0, 1.03),
    "bert_base_layer": (1.0, None),
}
TIMING_TARGETS = {"bert_base_layer": 1.03, "llama_tiny": 1.06}

Result = dict[str, Any]
Side = Callable[[int], float]  # Runs a block of that many calls, answers their lower quartile in nanoseconds.


def quartile(samples: list[int]) -> float:
    return float(sorted(samples)[len(samples) // 4])


def result(name: str, values: list[float], target: float | None, detail: str, unit: str = "ratio") -> Result:
    value = statistics.median(values)
    ordered = sorted(values)
    quarter = len(ordered) // 4
    spread = f"{len(values)} rounds, quartiles {ordered[quarter]:.3g} to {ordered[-1 - quarter]:.3g}"
    return {
        "name": name,
        "value": round(value, 4),
        "unit": unit,
        "target": "" if target is None else f"<= {target}",
        "ok": target is None or value <= target,
        "detail": f"{detail}; {spread}",
    }


def skipped(name: str, reason: str) -> Result:
    return {"name": name, "value": None, "unit": "ratio", "target": "", "ok": True, "detail": f"SKIPPED: {reason}"}


def wait() -> None:
    """For the work that was given to the device; the CPU works at once."""
    if DEVICE != "cpu":
        torch.accelerator.synchronize()


def in_process(call: Callable[[], Any], inference: bool = False) -> Side:
    def block(calls: int) -> float:
        samples = []
        with torch.inference_mode() if inference else torch.no_grad():
            call()
            wait()
            for _ in range(calls):
                start = time.perf_counter_ns()
                output = call()
                wait()
                samples.append(time.perf_counter_ns() - start)
                del output
        return quartile(samples)

    return block


def traced(sample: models.Sample) -> Callable[[], Any] | None:
    with torch.no_grad():
        try:
            if sample.kwargs:
                module = torch.jit.trace(sample.module, example_kwarg_inputs=sample.kwargs, strict=False)
            else:
                module = torch.jit.trace(sample.module, sample.args)
            for _ in range(5):
                module(*sample.args, **sample.kwargs)
        except Exception as error:
            print(f"torch.jit.trace: {error}", file=sys.stderr)
            return None
    return lambda: module(*sample.args, **sample.kwargs)


def capture(sample: models.Sample, folder: str, name: str) -> BundleReader:
    with (
        torch.no_grad(),
        ModuleTracer(sample.module, store=folder, model_name=name, select=[""], dynamic_batch=False) as tracer,
    ):
        sample.call()
    assert tracer.bundle is not None
    return BundleReader(tracer.bundle)


class LoadedModel:
    """A model captured and loaded by a worker of its own."""

    def __init__(self, name: str, sample: models.Sample) -> None:
        self._folder = tempfile.TemporaryDirectory()
        bundle = capture(sample, self._folder.name, name)
        version = bundle.version("")
        self.worker = WorkerProcess(THREADS)
        self.load_params = bundle.load_params(version)
        self.loaded = self.worker.call("load", self.load_params)
        self.call_params = bundle.call_params(version, self.loaded["handle"], THREADS)

    def validate(self) -> str:
        verdict = self.worker.call("validate", self.call_params)
        return "bits equal" if verdict["verdict"] == "pass" and verdict["exact"] else f"verdict {verdict['verdict']}"

    def _block(self, calls: int) -> dict[str, Any]:
        return {"call": self.call_params, "warmup_runs": 3, "repetitions": calls, "budget_ms": 60_000}

    def run(self, calls: int) -> float:
        return self._quartile(self._block(calls))

    def replay(self, calls: int) -> float:
        return self._quartile({**self._block(calls), "mode": "graph"})

    def _quartile(self, request: dict[str, Any]) -> float:
        return quartile(self.worker.call("benchmark", request)["sides"][0]["samples_ns"])

    def profile(self, calls: int) -> dict[str, Any]:
        return self.worker.call("profile", self._block(calls))

    def page_faults(self, calls: int) -> float:
        """Page faults of one call, when `calls` of them ran."""
        few, before = 10, self.worker.page_faults()
        self.run(few)
        between = self.worker.page_faults()
        self.run(few + calls)
        return ((self.worker.page_faults() - between) - (between - before)) / calls

    def close(self) -> None:
        self.worker.close()
        self._folder.cleanup()


def in_turn(sides: dict[str, Side], calls: int) -> dict[str, list[float]]:
    """Rounds of one block of each side, each round beginning with another side."""
    names = list(sides)
    times: dict[str, list[float]] = {name: [] for name in names}
    for number in range(ROUNDS):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            times[name].append(sides[name](calls))
    return times


def ratios(times: dict[str, list[float]], numerator: str, denominator: str) -> list[float]:
    return [a / b for a, b in zip(times[numerator], times[denominator], strict=True)]


def compiled(sample: models.Sample, folder: str) -> Callable[[], Any] | str:
    """The model as an AOTInductor package, or why there is none."""
    if shutil.which("g++") is None and shutil.which("clang++") is None:
        return "there is no C++ compiler"
    try:
        with torch.no_grad():
            program = torch.export.export(sample.module, sample.args, sample.kwargs, strict=False)
            package = torch._inductor.aoti_compile_and_package(program, package_path=f"{folder}/model.pt2")
            runner = torch._inductor.aoti_load_package(package)
            runner(*sample.args, **sample.kwargs)
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0][:200]}"
    return lambda: runner(*sample.args, **sample.kwargs)


def compare(name: str) -> list[Result]:
    sample = models.make(name)
    model = LoadedModel(name, sample)
    exact = model.validate()
    eager = in_process(sample.call)
    calls = max(5, int(BLOCK_SECONDS * 1e9 / eager(10)))
    sides: dict[str, Side] = {"engine": model.run, "eager": eager, "eager_inference": in_process(sample.call, True)}
    trace = traced(sample)
    if trace is not None:
        sides["trace"] = in_process(trace)
    if DEVICE != "cpu":
        try:
            model.replay(3)
            sides["graph"] = model.replay
        except RuntimeError as error:
            print(f"{name}: {error}", file=sys.stderr)
    times = in_turn(sides, calls)
    middle = {side: statistics.median(values) / 1e3 for side, values in times.items()}
    most_of_eager, most_of_trace = TARGETS[name]
    of_inference = statistics.median(ratios(times, "engine", "eager_inference"))
    detail = (
        f"engine {middle['engine']:.0f} us, eager {middle['eager']:.0f} us (engine/eager in inference mode "
        f"{of_inference:.2f}), {THREADS} thread, {exact}"
    )
    results = [result(f"engine/eager {name}", ratios(times, "engine", "eager"), most_of_eager, detail)]
    results[0]["ok"] = results[0]["ok"] and exact == "bits equal"
    if trace is not None:
        detail = f"torch.jit.trace {middle['trace']:.0f} us"
        results.append(result(f"engine/trace {name}", ratios(times, "engine", "trace"), most_of_trace, detail))
    if "graph" in sides:
        detail = f"replay of a recorded graph {middle['graph']:.0f} us"
        results.append(result(f"graph/eager {name}", ratios(times, "graph", "eager"), None, detail))
    results += profiled(name, model, calls)
    if name == "resnet_eval":
        faults = [model.page_faults(calls) for _ in range(3)]
        results.append(result(f"page faults a call {name}", faults, 2, "freed memory is kept", "faults"))
    model.close()
    return results


def profiled(name: str, model: LoadedModel, calls: int) -> list[Result]:
    profiles = [model.profile(calls) for _ in range(ROUNDS // 2)]
    sums = [abs(each["operator_sum_ns"] / each["latency_ns"] - 1) for each in profiles]
    results = [result(f"operator sum off plain {name}", sums, 0.1, "|sum of operators / plain run - 1|")]
    if name in TIMING_TARGETS:
        timed = [each["timed_run_ns"] / each["latency_ns"] for each in profiles]
        detail = f"one profile of {calls} plain and {calls} timed calls in turn each"
        results.append(result(f"timing pass/plain {name}", timed, TIMING_TARGETS[name], detail))
    return results


def aotinductor() -> list[Result]:
    wanted = list(TARGETS) if AOTINDUCTOR_MODELS == "all" else AOTINDUCTOR_MODELS.split(",")
    results = []
    for name in wanted:
        if name not in TARGETS:
            continue
        sample = models.make(name)
        with tempfile.TemporaryDirectory() as folder:
            start = time.monotonic()
            call = compiled(sample, folder)
            seconds = time.monotonic() - start
            if isinstance(call, str):
                results.append(skipped(f"engine/AOTInductor {name}", call))
                continue
            model = LoadedModel(name, sample)
            eager = in_process(sample.call)
            calls = max(5, int(BLOCK_SECONDS * 1e9 / eager(10)))
            times = in_turn({"engine": model.run, "aotinductor": in_process(call), "eager": eager}, calls)
            of_eager = statistics.median(ratios(times, "aotinductor", "eager"))
            detail = f"AOTInductor/eager {of_eager:.2f}, export and compilation {seconds:.0f} s"
            results.append(result(f"engine/AOTInductor {name}", ratios(times, "engine", "aotinductor"), None, detail))
            model.close()
    return results


def own_cost() -> Result:
    """Of the executor, by operator, over the same operators called by hand from C++ in the same process."""
    program = Path(os.environ["MODULELENS_BIN_DIR"]) / "tiny-operators"
    model = LoadedModel("tiny_operators", models.make("tiny_operators"))
    archive = model.load_params["program"]["file"]
    answer = subprocess.run([program, archive, str(OPERATOR_ROUNDS)], check=True, stdout=subprocess.PIPE)
    model.close()
    measured = json.loads(answer.stdout)
    count = measured["operators"]
    costs = [(each["executor_ns"] - each["by_hand_ns"]) / count / 1e3 for each in measured["rounds"]]
    by_hand = statistics.median(each["by_hand_ns"] for each in measured["rounds"]) / count / 1e3
    detail = f"over at:: calls of {by_hand:.3f} us, {count} operators on 8 x 8 numbers, inference mode on both sides"
    return result("executor's own cost an operator", costs, 0.12, detail, "us")


def load_time() -> Result:
    model = LoadedModel("deep_llama", models.make("deep_llama"))
    exact = model.validate()
    times = []
    for _ in range(LOADS):
        loaded = model.worker.call("load", model.load_params)
        times.append(loaded["load_ns"] / 1e6)
        model.worker.call("unload", {"handle": loaded["handle"]})
    operators = model.loaded["operator_count"]
    model.close()
    found = result("load and plan deep_llama", times, 8.0, f"{operators} operators, {exact}", "ms")
    found["ok"] = found["ok"] and exact == "bits equal"
    return found


def cold_validation() -> Result:
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
        capture(models.Sample(layer, kwargs={"hidden_states": torch.randn(4, 32, 384)}), folder, "minilm_layer")
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
    return result("cold validation/import torch", ratios, 0.5, detail)


def main() -> None:
    torch.set_num_threads(THREADS)
    torch.set_default_device(DEVICE)
    wanted = os.environ.get("MODULELENS_BENCH_MODELS", "")
    results = [each for name in (wanted.split(",") if wanted else TARGETS) for each in compare(name)]
    if DEVICE == "cpu" and not wanted:
        results += [own_cost(), load_time(), cold_validation()]
    results += aotinductor()
    print(json.dumps({"results": results}))


if __name__ == "__main__":
    main()
