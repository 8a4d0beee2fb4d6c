# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Captures modules with their gradients, with what eager PyTorch says of a training step of each: `capture_training.py FOLDER`.

Leaves one folder per module with its bundle, and `expected.json`: peaks of memory by torch.profiler's allocations (of a run without
gradients and of forward and backward), bytes of gradients, FLOPs of backward by torch's counter. Beside some of them
`NAME.optimizers.safetensors`: their parameters after steps of torch.optim. One module is there as a TorchScript archive, too.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "backend" / "python"))

import torch
from modulelens import ModuleTracer
from safetensors.torch import save_file
from torch import nn
from torch._C._profiler import _EventType
from torch.nn import functional as F
from torch.profiler import ProfilerActivity, profile
from torch.utils import _pytree as pytree
from torch.utils.flop_counter import FlopCounterMode

# --- reference models ------------------------------------------------------------------------------------------------------


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, width, bias=False)
        self.value = nn.Linear(width, width, bias=False)
        self.out = nn.Linear(width, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        query, key, value = (
            layer(x).view(batch, length, self.heads, width // self.heads).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        )
        mixed = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


class FeedForward(nn.Module):
    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.gate = nn.Linear(width, hidden, bias=False)
        self.up = nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(F.silu(self.gate(x)) * self.up(x))


class Block(nn.Module):
    def __init__(self, width: int = 128, heads: int = 4) -> None:
        super().__init__()
        self.first_norm = nn.RMSNorm(width)
        self.second_norm = nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.feed_forward = FeedForward(width, 2 * width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.first_norm(x))
        return x + self.feed_forward(self.second_norm(x))


class Stack(nn.Module):
    """Two blocks of which one runs twice, tied weights, one module under two names, a tied head."""

    def __init__(self, width: int = 128, vocabulary: int = 200) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(2))
        self.blocks[1].feed_forward.gate.weight = self.blocks[0].feed_forward.gate.weight
        self.shared = FeedForward(width, width)
        self.alias = self.shared
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.tokens(ids)
        for block in self.blocks:
            x = block(x)
        x = self.blocks[0](x)
        x = x + self.shared(x)
        x = x + self.alias(x)
        return self.head(x)


class Recommender(nn.Module):
    def __init__(self, tables: int = 8, rows: int = 1000, width: int = 32, dense: int = 13) -> None:
        super().__init__()
        self.bags = nn.ModuleList(nn.EmbeddingBag(rows, width, mode="sum") for _ in range(tables))
        self.bottom = nn.Sequential(nn.Linear(dense, 64), nn.ReLU(), nn.Linear(64, width), nn.ReLU())
        count = tables + 1
        pairs = count * (count - 1) // 2
        self.top = nn.Sequential(nn.Linear(width + pairs, 128), nn.ReLU(), nn.Linear(128, 1), nn.Sigmoid())
        first, second = torch.tril_indices(count, count, -1)
        self.register_buffer("first", first)
        self.register_buffer("second", second, persistent=False)

    def forward(self, dense: torch.Tensor, ids: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
        x = self.bottom(dense)
        stacked = torch.stack([x] + [bag(ids[i], offsets[i]) for i, bag in enumerate(self.bags)], 1)
        products = torch.bmm(stacked, stacked.transpose(1, 2))
        return self.top(torch.cat([x, products[:, self.first, self.second]], 1))


class Basic(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int = 1) -> None:
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.first_norm = nn.BatchNorm2d(outputs)
        self.second = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.second_norm = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        same = stride == 1 and inputs == outputs
        shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))
        self.shortcut = None if same else shortcut

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept = x if self.shortcut is None else self.shortcut(x)
        y = self.relu(self.first_norm(self.first(x)))
        y = self.second_norm(self.second(y))
        y += kept
        return self.relu(y)


class Residual(nn.Module):
    def __init__(self, width: int = 16) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, width, 7, 2, 3, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, 2, 1),
        )
        self.layers = nn.Sequential(Basic(width, width), Basic(width, 2 * width, 2))
        self.up = nn.ConvTranspose2d(2 * width, width, 2, 2)
        self.depthwise = nn.Conv2d(width, width, 3, 1, 1, groups=width)
        self.head = nn.Linear(width, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.depthwise(self.up(self.layers(self.stem(x))))
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))


# --- small cases -----------------------------------------------------------------------------------------------------------


class Twice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(32, 32)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layer(self.layer(x))


class Several(nn.Module):
    """Outputs that need a gradient, one that needs none, the same tensor twice."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> dict[str, Any]:
        y = self.layer(x)
        return {"y": y, "again": y, "mean": y.mean(0), "ids": y.argmax(1), "plain": x * 2}


class Unused(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.used = nn.Linear(8, 8)
        self.unused = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.used(x)


class WritesInput(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x.mul_(2)
        return self.layer(x)


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(16, 32, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.lstm(x)[0]


class Dot(nn.Module):
    def forward(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return F.scaled_dot_product_attention(q, k, v)


class Views(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.t()[1:]


class Large(nn.Module):
    """From next to nothing: one tensor of 128 MiB."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x.expand(8192, 4096) * self.weight).mean()


class Deep(nn.Module):
    """Frees as it goes in inference; keeps 16 tensors of 8 MiB for backward."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x.expand(1024, 2048) * self.weight
        for _ in range(16):
            x = x.sin()
        return x.mean()


def perceptron() -> nn.Module:
    return nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 32))


def frozen_weight() -> nn.Module:
    layer = nn.Linear(32, 16)
    layer.weight.requires_grad_(False)
    layer.bias.requires_grad_(False)
    return layer


def with_gradient(*shape: int) -> torch.Tensor:
    return torch.randn(*shape).requires_grad_()


def transformers_models() -> dict[str, tuple[nn.Module, tuple[Any, ...], dict[str, Any]]]:
    try:
        import transformers
    except ImportError:
        return {}
    sizes = {"vocab_size": 500, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    bert = transformers.BertModel(transformers.BertConfig(**sizes, intermediate_size=256))
    llama = transformers.LlamaModel(
        transformers.LlamaConfig(**sizes, num_key_value_heads=2, intermediate_size=256, use_cache=False)
    )
    mask = torch.ones(2, 16, dtype=torch.long)
    mask[0, -3:] = 0
    inputs = {"input_ids": torch.randint(0, 500, (2, 16)), "attention_mask": mask}
    return {"bert": (bert.eval(), (), inputs), "llama": (llama.eval(), (), inputs)}


def modules() -> dict[str, tuple[nn.Module, tuple[Any, ...], dict[str, Any]]]:
    """Name -> module, arguments, keyword arguments."""
    ids = torch.randint(0, 1000, (8, 256))
    offsets = torch.arange(0, 256, 4).repeat(8, 1)
    cases: dict[str, tuple[nn.Module, tuple[Any, ...]]] = {
        "block": (Block().eval(), (torch.randn(2, 64, 128),)),
        "stack": (Stack().eval(), (torch.randint(0, 200, (2, 32)),)),
        "dlrm": (Recommender().eval(), (torch.randn(64, 13), ids, offsets)),
        "resnet": (Residual().train(), (torch.randn(4, 3, 64, 64),)),
        "perceptron": (perceptron(), (torch.randn(8, 32),)),
        "perceptron_of_view": (perceptron(), (torch.randn(1000, 32)[:8],)),
        "perceptron_of_1": (perceptron(), (torch.randn(1, 32),)),
        "perceptron_of_2": (perceptron(), (torch.randn(2, 32),)),
        "perceptron_of_4": (perceptron(), (torch.randn(4, 32),)),
        "linear": (nn.Linear(32, 16), (with_gradient(8, 32),)),
        "linear_frozen": (frozen_weight(), (with_gradient(8, 32),)),
        "linear_of_constant": (nn.Linear(32, 16), (torch.randn(8, 32),)),
        "linear_all_frozen": (frozen_weight(), (torch.randn(8, 32),)),
        "convolution": (nn.Conv2d(8, 12, 3, padding=1), (with_gradient(1, 8, 16, 16),)),
        "convolution_grouped": (nn.Conv2d(8, 12, 3, padding=1, groups=4), (with_gradient(1, 8, 16, 16),)),
        "recurrent": (Recurrent(), (with_gradient(2, 10, 16),)),
        "attention": (Dot(), tuple(with_gradient(1, 12, 64, 64) for _ in range(3))),
        "twice": (Twice(), (torch.randn(8, 32),)),
        "several": (Several(), (with_gradient(4, 8),)),
        "unused": (Unused(), (torch.randn(4, 8),)),
        "writes_input": (WritesInput(), (with_gradient(4, 8) * 1,)),
        "dropout": (nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.5), nn.Linear(8, 8)).train(), (torch.randn(4, 8),)),
        "bfloat16": (nn.Linear(8, 4).to(torch.bfloat16), (torch.randn(3, 8).to(torch.bfloat16),)),
        "under_autocast": (perceptron(), (torch.randn(8, 32),)),
        "inner": (nn.Sequential(nn.Linear(8, 8), perceptron_of(8), nn.Linear(8, 4)), (torch.randn(4, 8),)),
        "views": (Views().eval(), (torch.randn(4, 8),)),
        "large": (Large().eval(), (torch.randn(1),)),
        "deep": (Deep().eval(), (torch.randn(1),)),
    }
    return {name: (module, args, {}) for name, (module, args) in cases.items()} | transformers_models()


def perceptron_of(width: int) -> nn.Module:
    return nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))


# --- what eager PyTorch says -----------------------------------------------------------------------------------------------


def peak_of(run: Callable[[], object]) -> int:
    """The most that `run` had allocated at one time, by the profiler's own record of the allocator."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True, record_shapes=False) as profiler:
        kept = run()
    del kept
    events: list[tuple[int, int, int]] = []
    open_nodes = list(profiler.profiler.kineto_results.experimental_event_tree())
    while open_nodes:
        node = open_nodes.pop()
        open_nodes.extend(node.children)
        if node.tag == _EventType.Allocation:
            fields = node.extra_fields
            events.append((node.start_time_ns, fields.ptr, fields.alloc_size))
    alive: dict[int, int] = {}
    now = peak = 0
    for _, pointer, size in sorted(events, key=lambda event: event[0]):
        if size > 0:
            alive[pointer] = size
            now += size
            peak = max(peak, now)
        else:
            now -= alive.pop(pointer, 0)
    return peak


def loss_of(output: Any) -> torch.Tensor:
    total = None
    seen: set[int] = set()
    for leaf in pytree.tree_leaves(output):
        if isinstance(leaf, torch.Tensor) and leaf.requires_grad and id(leaf) not in seen:
            seen.add(id(leaf))
            part = leaf.sum()
            total = part if total is None else total + part
    assert total is not None
    return total


def expected_of(name: str, module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    def forward() -> Any:
        with torch.no_grad(), mode_of(name):
            return module(*args, **kwargs)

    def step() -> Any:
        with mode_of(name):
            output = module(*args, **kwargs)
        loss_of(output).backward()
        return output

    def clear() -> None:
        for tensor in [*module.parameters(), *[leaf for leaf in pytree.tree_leaves((args, kwargs))]]:
            if isinstance(tensor, torch.Tensor) and tensor.is_leaf:
                tensor.grad = None

    forward()
    result: dict[str, Any] = {"inference_peak": peak_of(forward), "training_peak": None}
    try:
        step()
    except (AssertionError, RuntimeError):
        return result
    clear()
    result["training_peak"] = peak_of(step)
    result["gradient_bytes"] = sum(
        tensor.grad.untyped_storage().nbytes()
        for tensor in {id(t): t for t in [*module.parameters(), *pytree.tree_leaves((args, kwargs))]}.values()
        if isinstance(tensor, torch.Tensor) and tensor.is_leaf and tensor.grad is not None
    )
    clear()
    with mode_of(name):
        output = module(*args, **kwargs)
    loss = loss_of(output)
    with FlopCounterMode(display=False) as counter:
        loss.backward()
    result["backward_flops"] = counter.get_total_flops()
    clear()
    return result


OPTIMIZERS: dict[str, Callable[[list[nn.Parameter]], torch.optim.Optimizer]] = {
    "sgd": lambda parameters: torch.optim.SGD(parameters),
    "sgd,lr=0.01,momentum=0.9,weight_decay=0.1": lambda parameters: torch.optim.SGD(
        parameters, lr=0.01, momentum=0.9, weight_decay=0.1
    ),
    "sgd,lr=0.01,momentum=0.9,dampening=0.2": lambda parameters: torch.optim.SGD(
        parameters, lr=0.01, momentum=0.9, dampening=0.2
    ),
    "sgd,lr=0.01,momentum=0.9,nesterov=1": lambda parameters: torch.optim.SGD(
        parameters, lr=0.01, momentum=0.9, nesterov=True
    ),
    "adam": lambda parameters: torch.optim.Adam(parameters),
    "adam,lr=0.01,beta1=0.8,beta2=0.95,eps=1e-6,weight_decay=0.1": lambda parameters: torch.optim.Adam(
        parameters, lr=0.01, betas=(0.8, 0.95), eps=1e-6, weight_decay=0.1
    ),
    "adamw": lambda parameters: torch.optim.AdamW(parameters),
    "adamw,lr=0.01,weight_decay=0.3": lambda parameters: torch.optim.AdamW(parameters, lr=0.01, weight_decay=0.3),
}


def steps_of(module: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, torch.Tensor]:
    """Parameters by "OPTIMIZER|STEP|FQN" after the step. The optimizer goes on, the weights begin anew in each step."""
    before = {name: parameter.detach().clone() for name, parameter in module.named_parameters()}
    after: dict[str, torch.Tensor] = {}
    for spelling, make in OPTIMIZERS.items():
        optimizer = make(list(module.parameters()))
        for step in range(3):
            optimizer.zero_grad()
            loss_of(module(*args, **kwargs)).backward()
            optimizer.step()
            for name, parameter in module.named_parameters(remove_duplicate=False):
                after[f"{spelling}|{step}|{name}"] = parameter.detach().clone()
            for name, parameter in module.named_parameters():
                parameter.data.copy_(before[name])
    module.zero_grad()
    return after


def mode_of(name: str) -> contextlib.AbstractContextManager[Any]:
    return torch.autocast("cpu", dtype=torch.bfloat16) if name == "under_autocast" else contextlib.nullcontext()


def main() -> None:
    folder = Path(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    torch.manual_seed(0)
    torch.set_num_threads(2)
    # Export never takes the fused path of evaluation, which rounds differently.
    torch.backends.mha.set_fastpath_enabled(False)
    expected: dict[str, Any] = {}
    for name, (module, args, kwargs) in modules().items():
        tracer = ModuleTracer(
            module,
            store=folder / name,
            model_name=name,
            select=["1" if name == "inner" else ""],
            dynamic_batch=False,
            backward=True,
        )
        with tracer:
            with mode_of(name):
                output = module(*args, **kwargs)
            if name == "inner":
                output.square().sum().backward()
        if tracer.problems:
            print(name, tracer.problems, file=sys.stderr)
        if name not in ("writes_input", "inner"):
            expected[name] = expected_of(name, module, args, kwargs)
        if name == "perceptron":
            torch.jit.save(torch.jit.trace(module, args), folder / "perceptron.torchscript.pt")
        if name in ("perceptron", "stack", "bfloat16", "convolution_grouped", "unused"):
            save_file(steps_of(module, args, kwargs), folder / f"{name}.optimizers.safetensors")
    (folder / "expected.json").write_text(json.dumps(expected, indent=1))


if __name__ == "__main__":
    main()
