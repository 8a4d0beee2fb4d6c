# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""From a bundle to the validated output of one BERT layer in a Python worker, against importing torch and the layer's class.

Both are processes that start cold, in turn; the ratio is the median over rounds. The worker's time goes from its start to the
answer of `validate`: initialize, consent, load (class, weights) and one compared run.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "backend" / "python"), str(ROOT / "backend" / "python" / "tests")]
os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")

import torch  # noqa: E402
from modulelens import InitCapture, ModuleTracer  # noqa: E402
from transformers import BertConfig, BertModel  # noqa: E402
from worker_client import BundleRequests, WorkerProcess  # noqa: E402

ROUNDS = 7
TARGET = 1.3
LAYER = "encoder.layer.1"
IMPORTS = "import torch; from transformers.models.bert.modeling_bert import BertLayer"


def capture(folder: Path) -> BundleRequests:
    torch.manual_seed(0)
    config = BertConfig(hidden_size=384, intermediate_size=1536, num_hidden_layers=2, num_attention_heads=12)
    with InitCapture():
        model = BertModel(config).eval()
    options = {"model_name": "bert", "select": [LAYER], "programs": False}
    with torch.no_grad(), ModuleTracer(model, store=folder, **options) as tracer:
        model(input_ids=torch.randint(0, 1000, (8, 64)))
    assert tracer.bundle is not None
    return BundleRequests(tracer.bundle)


def imports() -> float:
    begin = time.perf_counter()
    subprocess.run([sys.executable, "-c", IMPORTS], check=True)
    return time.perf_counter() - begin


def rebuild(bundle: BundleRequests) -> tuple[float, str]:
    begin = time.perf_counter()
    with WorkerProcess() as worker:
        worker.initialize(torch.get_num_threads())
        loaded = worker.call("load", bundle.consented(worker, LAYER))
        result = worker.call("validate", {**bundle.call(loaded["handle"], LAYER), "repeats": 1})
        seconds = time.perf_counter() - begin
    verdict = "bits equal" if result["exact"] else result["verdict"]
    return seconds, f"{loaded['how']}, {verdict}"


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        bundle = capture(Path(folder))
        ratios, detail = [], ""
        for _ in range(ROUNDS):
            plain = imports()
            seconds, detail = rebuild(bundle)
            ratios.append(seconds / plain)
    value = statistics.median(ratios)
    ok = value <= TARGET and detail == "structure, bits equal"
    spread = f"{ROUNDS} rounds, {min(ratios):.3g} to {max(ratios):.3g}"
    name = "Python worker, bundle to validated layer / import of torch and class"
    result = {"name": name, "value": round(value, 4), "unit": "ratio", "target": f"<= {TARGET}", "ok": ok}
    print(json.dumps({"results": [{**result, "detail": f"{detail}; {spread}"}]}))


if __name__ == "__main__":
    main()
