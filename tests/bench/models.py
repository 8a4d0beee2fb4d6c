# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""The reference models of the engine's benchmark, by name. Each is made from a fixed seed and is in eval mode."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
import transformers
from torch import Tensor, nn
from torch.nn import functional


@dataclass
class Sample:
    """A module with one call of it."""

    module: nn.Module
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)

    def call(self) -> Any:
        return self.module(*self.args, **self.kwargs)


class Dlrm(nn.Module):
    """Embedding bags, their pairwise products and two towers, as recommenders have them."""

    def __init__(self, tables: int = 8, rows: int = 1000, width: int = 32, dense: int = 13) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(rows, width, mode="sum") for _ in range(tables))
        self.bottom = nn.Sequential(nn.Linear(dense, 64), nn.ReLU(), nn.Linear(64, width), nn.ReLU())
        features = tables + 1
        pairs = features * (features - 1) // 2
        self.top = nn.Sequential(nn.Linear(width + pairs, 128), nn.ReLU(), nn.Linear(128, 1), nn.Sigmoid())
        rows_of_pairs, columns_of_pairs = torch.tril_indices(features, features, -1)
        self.register_buffer("rows_of_pairs", rows_of_pairs)
        self.register_buffer("columns_of_pairs", columns_of_pairs)

    def forward(self, dense: Tensor, indices: Tensor, offsets: Tensor) -> tuple[Tensor, Tensor]:
        bottom = self.bottom(dense)
        looked_up = [table(indices[k], offsets[k]) for k, table in enumerate(self.tables)]
        features = torch.stack([bottom, *looked_up], 1)
        products = torch.bmm(features, features.transpose(1, 2))
        pairs = products[:, self.rows_of_pairs, self.columns_of_pairs]
        return self.top(torch.cat([bottom, pairs], 1)), torch.triu(products, diagonal=1)


class Attention(nn.Module):
    def __init__(self, width: int, heads: int, key_heads: int) -> None:
        super().__init__()
        self.heads, self.key_heads, self.head_width = heads, key_heads, width // heads
        self.query = nn.Linear(width, width, bias=False)
        self.key = nn.Linear(width, key_heads * self.head_width, bias=False)
        self.value = nn.Linear(width, key_heads * self.head_width, bias=False)
        self.output = nn.Linear(width, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        query = self.query(x).view(batch, length, self.heads, self.head_width).transpose(1, 2)
        key = self.key(x).view(batch, length, self.key_heads, self.head_width).transpose(1, 2)
        value = self.value(x).view(batch, length, self.key_heads, self.head_width).transpose(1, 2)
        attended = functional.scaled_dot_product_attention(
            query, key, value, is_causal=True, enable_gqa=self.key_heads != self.heads
        )
        return self.output(attended.transpose(1, 2).reshape(batch, length, width))


class GatedMlp(nn.Module):
    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.gate = nn.Linear(width, hidden, bias=False)
        self.down = nn.Linear(hidden, width, bias=False)
        self.up = nn.Linear(width, hidden, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(functional.silu(self.gate(x)) * self.up(x))


class Block(nn.Module):
    def __init__(self, width: int, heads: int, key_heads: int) -> None:
        super().__init__()
        self.first_norm, self.second_norm = nn.RMSNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, key_heads)
        self.mlp = GatedMlp(width, 2 * width)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.first_norm(x))
        return x + self.mlp(self.second_norm(x))


class Stack(nn.Module):
    """Blocks with a repeated first one, tied weights, and one module under two names."""

    def __init__(self, width: int, heads: int, blocks: int, key_heads: int, vocabulary: int = 200) -> None:
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList(Block(width, heads, key_heads) for _ in range(blocks))
        self.blocks[1].mlp.gate.weight = self.blocks[0].mlp.gate.weight
        self.shared = GatedMlp(width, width)
        self.alias = self.shared
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, ids: Tensor) -> Tensor:
        x = self.tokens(ids)
        for block in self.blocks:
            x = block(x)
        x = self.blocks[0](x)
        x = x + self.shared(x)
        x = x + self.alias(x)
        return self.head(x)


class Mixer(nn.Module):
    def __init__(self, width: int = 64, patches: int = 16, layers: int = 4) -> None:
        super().__init__()

        def mlp(size: int, hidden: int) -> nn.Module:
            return nn.Sequential(nn.Linear(size, hidden), nn.GELU(), nn.Linear(hidden, size))

        self.stem = nn.Conv2d(3, width, 8, 8)
        self.token_norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(layers))
        self.channel_norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(layers))
        self.token_mlps = nn.ModuleList(mlp(patches, 2 * patches) for _ in range(layers))
        self.channel_mlps = nn.ModuleList(mlp(width, 4 * width) for _ in range(layers))
        self.head = nn.Linear(width, 10)

    def forward(self, images: Tensor) -> Tensor:
        x = self.stem(images).flatten(2).transpose(1, 2)
        for token_norm, token_mlp, channel_norm, channel_mlp in zip(
            self.token_norms, self.token_mlps, self.channel_norms, self.channel_mlps, strict=True
        ):
            x = x + token_mlp(token_norm(x).transpose(1, 2)).transpose(1, 2)
            x = x + channel_mlp(channel_norm(x))
        return self.head(x.mean(1))


class BasicBlock(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int = 1) -> None:
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.first_norm = nn.BatchNorm2d(outputs)
        self.second = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.second_norm = nn.BatchNorm2d(outputs)
        self.relu = nn.ReLU(inplace=True)
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))

    def forward(self, x: Tensor) -> Tensor:
        y = self.relu(self.first_norm(self.first(x)))
        y = self.second_norm(self.second(y))
        y += self.shortcut(x)
        return self.relu(y)


class ResNet(nn.Module):
    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, width, 7, 2, 3, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, 2, 1),
        )
        self.first = nn.Sequential(BasicBlock(width, width), BasicBlock(width, width))
        self.second = nn.Sequential(BasicBlock(width, 2 * width, 2), BasicBlock(2 * width, 2 * width))
        self.up = nn.ConvTranspose2d(2 * width, width, 2, 2)
        self.depthwise = nn.Conv2d(width, width, 3, 1, 1, groups=width)
        self.head = nn.Linear(width, 10)

    def forward(self, images: Tensor) -> Tensor:
        x = self.second(self.first(self.stem(images)))
        x = self.depthwise(self.up(x))
        return self.head(functional.adaptive_avg_pool2d(x, 1).flatten(1))


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gru = nn.GRU(32, 48, 2, batch_first=True, bidirectional=True)
        self.lstm = nn.LSTM(96, 32, batch_first=True)
        self.cell = nn.GRUCell(32, 32)

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        between, gru_state = self.gru(x)
        outputs, (lstm_state, cell_state) = self.lstm(between)
        return outputs, gru_state, lstm_state, cell_state, self.cell(outputs[:, 0], lstm_state[0])


class TinyOperators(nn.Module):
    """400 operators on 8 x 8 numbers, of which tests/bench/TinyOperators.cpp has a hand-written twin."""

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        for _ in range(100):
            x = torch.add(x, y)
            x = torch.relu(x)
            x = torch.mul(x, y)
            x = torch.transpose(x, 0, 1)
        return x


def _tiny_transformer(module: nn.Module) -> Sample:
    ids = torch.randint(0, 500, (2, 16))
    mask = torch.ones(2, 16, dtype=torch.long)
    mask[0, -3:] = 0
    return Sample(module, kwargs={"input_ids": ids, "attention_mask": mask})


def _bert_tiny() -> Sample:
    config = transformers.BertConfig(
        vocab_size=500, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=256
    )
    return _tiny_transformer(transformers.BertModel(config))


def _llama_tiny() -> Sample:
    config = transformers.LlamaConfig(
        vocab_size=500,
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        intermediate_size=256,
        use_cache=False,
    )
    return _tiny_transformer(transformers.LlamaModel(config))


def _t5_tiny() -> Sample:
    config = transformers.T5Config(vocab_size=500, d_model=64, num_layers=2, num_heads=4, d_kv=16, d_ff=256)
    return _tiny_transformer(transformers.T5EncoderModel(config))


def _bert_base_layer() -> Sample:
    layer = transformers.BertModel(transformers.BertConfig(num_hidden_layers=1)).encoder.layer[0]
    return Sample(layer, kwargs={"hidden_states": torch.randn(2, 128, 768)})


def _deep_llama() -> Sample:
    """500 nodes."""
    config = transformers.LlamaConfig(
        vocab_size=500,
        hidden_size=32,
        num_hidden_layers=7,
        num_attention_heads=4,
        num_key_value_heads=2,
        intermediate_size=64,
        use_cache=False,
    )
    return _tiny_transformer(transformers.LlamaModel(config))


def _dlrm() -> Sample:
    indices = torch.randint(0, 1000, (8, 256))
    offsets = torch.arange(0, 256, 4).repeat(8, 1)
    return Sample(Dlrm(), (torch.randn(64, 13), indices, offsets))


_SAMPLES: dict[str, Callable[[], Sample]] = {
    "bert_tiny": _bert_tiny,
    "llama_tiny": _llama_tiny,
    "t5_tiny": _t5_tiny,
    "dlrm": _dlrm,
    "block": lambda: Sample(Block(128, 4, 4), (torch.randn(2, 64, 128),)),
    "stack": lambda: Sample(Stack(128, 4, 2, 4), (torch.randint(0, 200, (2, 32)),)),
    "mixer": lambda: Sample(Mixer(), (torch.randn(4, 3, 32, 32),)),
    "rnn": lambda: Sample(Recurrent(), (torch.randn(3, 10, 32),)),
    "resnet_eval": lambda: Sample(ResNet(), (torch.randn(4, 3, 64, 64),)),
    "stackmed": lambda: Sample(Stack(256, 8, 6, 2), (torch.randint(0, 200, (4, 64)),)),
    "bert_base_layer": _bert_base_layer,
    "deep_llama": _deep_llama,
    "tiny_operators": lambda: Sample(TinyOperators(), (torch.randn(8, 8), torch.rand(8, 8))),
}


def make(name: str) -> Sample:
    torch.manual_seed(0)
    sample = _SAMPLES[name]()
    sample.module.eval()
    return sample
