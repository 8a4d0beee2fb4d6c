# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""Layers of torch.nn."""

from __future__ import annotations

from typing import Any

import torch
from cases import CASES, Case, modules, rows, same
from torch import nn
from torch.nn.utils import parametrizations

IMAGE = rows(3, 8, 8)
WIDE = rows(8)
SEQUENCE = rows(5, 8)


class Apply(nn.Module):
    """A module whose call needs more than `module(x)`."""

    def __init__(self, module: nn.Module, call: Any) -> None:
        super().__init__()
        self.module = module
        self.call = call

    def forward(self, *arguments: torch.Tensor) -> Any:
        return self.call(self.module, *arguments)


modules(
    "convolution",
    IMAGE,
    plain=lambda: nn.Conv2d(3, 6, 3),
    grouped=lambda: nn.Conv2d(3, 6, 3, groups=3, padding=1, bias=False),
    strided_dilated=lambda: nn.Conv2d(3, 4, 2, stride=2, dilation=2),
    same=lambda: nn.Conv2d(3, 4, (3, 2), padding="same"),
    reflected=lambda: nn.Conv2d(3, 4, 3, padding=1, padding_mode="reflect"),
    circular=lambda: nn.Conv2d(3, 4, 3, padding=2, padding_mode="circular"),
    transposed=lambda: nn.ConvTranspose2d(3, 4, 3, stride=2, output_padding=1),
    channels_last=lambda: nn.Conv2d(3, 4, 3).to(memory_format=torch.channels_last),
    with_norm=lambda: nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(inplace=True)),
)
modules("convolution", rows(4, 9), one=lambda: nn.Conv1d(4, 6, 3), one_transposed=lambda: nn.ConvTranspose1d(4, 2, 3))
modules(
    "convolution",
    rows(2, 5, 5, 5),
    three=lambda: nn.Conv3d(2, 3, 2),
    three_transposed=lambda: nn.ConvTranspose3d(2, 3, 2),
)

modules(
    "pooling",
    IMAGE,
    maximum=lambda: nn.MaxPool2d(2, return_indices=True),
    average=lambda: nn.AvgPool2d(3, stride=2, padding=1, count_include_pad=False),
    adaptive_average=lambda: nn.AdaptiveAvgPool2d((3, None)),
    adaptive_maximum=lambda: nn.AdaptiveMaxPool2d(3, return_indices=True),
    power=lambda: nn.LPPool2d(2, 2),
    fractional=lambda: nn.FractionalMaxPool2d(2, output_size=(4, 4)),
    unpooled=lambda: Apply(nn.MaxUnpool2d(2), lambda m, x: m(*nn.functional.max_pool2d(x, 2, return_indices=True))),
)
modules("pooling", rows(2, 6), average_one=lambda: nn.AvgPool1d(2), maximum_one=lambda: nn.MaxPool1d(2, ceil_mode=True))
modules("pooling", rows(2, 4, 4, 4), maximum_three=lambda: nn.MaxPool3d(2), average_three=lambda: nn.AvgPool3d(2))

modules(
    "normalisation",
    IMAGE,
    batch=lambda: nn.BatchNorm2d(3),
    batch_cumulative=lambda: nn.BatchNorm2d(3, momentum=None),
    batch_untracked=lambda: nn.BatchNorm2d(3, track_running_stats=False),
    instance=lambda: nn.InstanceNorm2d(3, affine=True),
    instance_tracked=lambda: nn.InstanceNorm2d(3, track_running_stats=True),
    group=lambda: nn.GroupNorm(3, 3),
    local_response=lambda: nn.LocalResponseNorm(2),
    layer=lambda: nn.LayerNorm([3, 8, 8]),
)
modules(
    "normalisation",
    WIDE,
    batch_one=lambda: nn.BatchNorm1d(8),
    root_mean_square=lambda: nn.RMSNorm(8),
    layer_one=lambda: nn.LayerNorm(8, bias=False),
    weight=lambda: parametrizations.weight_norm(nn.Linear(8, 4)),
    spectral=lambda: parametrizations.spectral_norm(nn.Linear(8, 4)),
    orthogonal=lambda: parametrizations.orthogonal(nn.Linear(8, 4)),
)

modules(
    "recurrent",
    SEQUENCE,
    elman=lambda: nn.RNN(8, 4, batch_first=True),
    elman_relu=lambda: nn.RNN(8, 4, nonlinearity="relu", num_layers=2, batch_first=True),
    long_short=lambda: nn.LSTM(8, 4, num_layers=2, batch_first=True, dropout=0.3),
    long_short_projected=lambda: nn.LSTM(8, 6, proj_size=3, batch_first=True),
    gated=lambda: nn.GRU(8, 4, bidirectional=True, batch_first=True),
    gated_biasless=lambda: nn.GRU(8, 4, bias=False, batch_first=True),
)
modules(
    "recurrent",
    rows(8),
    cell=lambda: nn.LSTMCell(8, 4),
    gated_cell=lambda: nn.GRUCell(8, 4),
    elman_cell=lambda: nn.RNNCell(8, 4),
)

modules(
    "attention",
    SEQUENCE,
    multihead=lambda: Apply(nn.MultiheadAttention(8, 2, batch_first=True), lambda m, x: m(x, x, x)),
    multihead_weightless=lambda: Apply(
        nn.MultiheadAttention(8, 2, batch_first=True, dropout=0.2), lambda m, x: m(x, x, x, need_weights=False)[0]
    ),
    multihead_extended=lambda: Apply(
        nn.MultiheadAttention(8, 2, add_bias_kv=True, add_zero_attn=True, batch_first=True), lambda m, x: m(x, x, x)[0]
    ),
    encoder=lambda: nn.TransformerEncoder(
        nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2, enable_nested_tensor=False
    ),
    encoder_causal=lambda: Apply(
        nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=True, activation="gelu"),
        lambda m, x: m(x, src_mask=nn.Transformer.generate_square_subsequent_mask(5), is_causal=True),
    ),
)
modules(
    "attention",
    same(2, 5, 8),
    decoder=lambda: nn.TransformerDecoderLayer(8, 2, 16, batch_first=True),
    both=lambda: nn.Transformer(8, 2, 1, 1, 16, batch_first=True),
)


def ids(batch: int) -> tuple[Any, ...]:
    return (torch.randint(0, 10, (batch, 4)),)


def bags(batch: int) -> tuple[Any, ...]:
    return (torch.randint(0, 10, (3 * batch,)), torch.arange(0, 3 * batch, 3))


modules(
    "embedding",
    ids,
    plain=lambda: nn.Embedding(10, 4),
    padded=lambda: nn.Embedding(10, 4, padding_idx=0),
    scaled=lambda: nn.Embedding(10, 4, scale_grad_by_freq=True),
    renormalised=lambda: nn.Embedding(10, 4, max_norm=0.5),
    bag_rows=lambda: nn.EmbeddingBag(10, 4, mode="max"),
    bag_padded=lambda: nn.EmbeddingBag(10, 4, mode="sum", padding_idx=1),
)
modules("embedding", bags, bag=lambda: nn.EmbeddingBag(10, 4, mode="mean"))


class Weighted(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.bag = nn.EmbeddingBag(10, 4, mode="sum", include_last_offset=True)

    def forward(self, indices: torch.Tensor, offsets: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        return self.bag(indices, offsets, per_sample_weights=weights)


modules(
    "embedding",
    lambda batch: (torch.randint(0, 10, (3 * batch,)), torch.arange(0, 3 * batch + 1, 3), torch.randn(3 * batch)),
    bag_weighted=Weighted,
)

modules(
    "activation",
    WIDE,
    relu=lambda: nn.ReLU(),
    leaky=lambda: nn.LeakyReLU(0.2, inplace=True),
    parametric=lambda: nn.PReLU(8),
    randomised=lambda: nn.RReLU(),
    exponential=lambda: nn.Sequential(nn.ELU(), nn.SELU(), nn.CELU(0.5)),
    gaussian=lambda: nn.Sequential(nn.GELU(), nn.GELU(approximate="tanh")),
    smooth=lambda: nn.Sequential(nn.SiLU(), nn.Mish(), nn.Softplus(beta=2)),
    hard=lambda: nn.Sequential(nn.Hardswish(), nn.Hardtanh(), nn.Hardsigmoid()),
    shrinking=lambda: nn.Sequential(nn.Softshrink(), nn.Hardshrink(), nn.Tanhshrink(), nn.Softsign()),
    gated=lambda: nn.GLU(),
    normalised=lambda: nn.Sequential(nn.Softmax(-1), nn.LogSoftmax(-1), nn.LogSigmoid()),
    threshold=lambda: nn.Threshold(0.1, 20),
)

modules(
    "dropout",
    IMAGE,
    plain=lambda: nn.Dropout(0.4),
    channels=lambda: nn.Dropout2d(0.4),
    alpha=lambda: nn.AlphaDropout(0.3),
    feature_alpha=lambda: nn.FeatureAlphaDropout(0.3),
    between=lambda: nn.Sequential(nn.Flatten(), nn.Linear(192, 8), nn.Dropout(0.5), nn.Linear(8, 4)),
)

modules(
    "padding",
    IMAGE,
    constant=lambda: nn.ConstantPad2d((1, 2, 0, 1), 0.5),
    reflected=lambda: nn.ReflectionPad2d(2),
    replicated=lambda: nn.ReplicationPad2d((1, 0, 2, 1)),
    circular=lambda: nn.CircularPad2d(1),
    shuffled=lambda: nn.Sequential(nn.PixelUnshuffle(2), nn.PixelShuffle(2), nn.ChannelShuffle(3)),
    unfolded=lambda: nn.Sequential(nn.Unfold(2, stride=2), nn.Fold((8, 8), 2, stride=2)),
)

modules(
    "linear",
    WIDE,
    plain=lambda: nn.Linear(8, 4),
    half=lambda: nn.Linear(8, 4, dtype=torch.bfloat16).float(),
    stack=lambda: nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8)),
    unflattened=lambda: nn.Sequential(nn.Linear(8, 12), nn.Unflatten(1, (3, 4)), nn.Flatten(1)),
)
modules("linear", rows(8, dtype=torch.float64), double=lambda: nn.Linear(8, 4, dtype=torch.float64))
modules("linear", rows(8, dtype=torch.bfloat16), bfloat16=lambda: nn.Linear(8, 4, dtype=torch.bfloat16))
modules("linear", rows(8, dtype=torch.float16), float16=lambda: nn.Linear(8, 4, dtype=torch.float16))
modules("linear", rows(8, dtype=torch.complex64), complex64=lambda: nn.Linear(8, 4, dtype=torch.complex64))
modules(
    "linear",
    same(2, 8),
    bilinear=lambda: nn.Bilinear(8, 8, 4),
    cosine=lambda: nn.CosineSimilarity(),
    distance=lambda: nn.PairwiseDistance(),
)

modules(
    "loss",
    same(2, 8),
    squared=lambda: nn.MSELoss(),
    absolute=lambda: nn.L1Loss(reduction="sum"),
    smooth=lambda: nn.SmoothL1Loss(beta=0.5),
    huber=lambda: nn.HuberLoss(),
    poisson=lambda: nn.PoissonNLLLoss(full=True),
    soft_margin=lambda: nn.SoftMarginLoss(),
    divergence=lambda: nn.KLDivLoss(reduction="batchmean"),
    cross_entropy_soft=lambda: Apply(nn.CrossEntropyLoss(), lambda m, x, y: m(x, y.softmax(-1))),
    binary=lambda: Apply(nn.BCEWithLogitsLoss(pos_weight=torch.full((8,), 2.0)), lambda m, x, y: m(x, y.sigmoid())),
)
modules(
    "loss",
    same(3, 8),
    triplet=lambda: nn.TripletMarginLoss(),
    gaussian=lambda: Apply(nn.GaussianNLLLoss(), lambda m, x, y, z: m(x, y, z.abs())),
)
modules(
    "loss",
    lambda batch: (torch.randn(batch, 8), torch.randint(0, 8, (batch,))),
    cross_entropy=lambda: nn.CrossEntropyLoss(label_smoothing=0.1, ignore_index=0),
    likelihood=lambda: nn.NLLLoss(weight=torch.rand(8)),
    multi_margin=lambda: nn.MultiMarginLoss(),
)


class Connectionist(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.loss = nn.CTCLoss()

    def forward(self, logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        batch = logits.shape[1]
        return self.loss(
            logits.log_softmax(-1),
            targets,
            torch.full((batch,), 6, dtype=torch.long),
            torch.full((batch,), 3, dtype=torch.long),
        )


CASES.append(
    Case(
        "loss",
        "connectionist",
        Connectionist,
        lambda batch: (torch.randn(6, batch, 5), torch.randint(1, 5, (batch, 3))),
    )
)
