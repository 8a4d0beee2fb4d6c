# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""A deep learning recommendation model: embedding bags, two MLPs and the dot interaction of their features."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import torch
from torch import nn

SparseFeature = tuple[torch.Tensor, torch.Tensor]


def mlp(sizes: Sequence[int], last: nn.Module) -> nn.Sequential:
    """Linear layers with ReLU between them and `last` at the end."""
    layers: list[nn.Module] = []
    for index, (inputs, outputs) in enumerate(itertools.pairwise(sizes)):
        layers.append(nn.Linear(inputs, outputs))
        layers.append(last if index == len(sizes) - 2 else nn.ReLU())
    return nn.Sequential(*layers)


class SparseArch(nn.Module):
    """One embedding bag per categorical feature, summed over each sample's ids."""

    def __init__(self, table_sizes: Sequence[int], dimension: int) -> None:
        super().__init__()
        self.tables = nn.ModuleList(
            nn.EmbeddingBag(size, dimension, mode="sum", include_last_offset=True) for size in table_sizes
        )

    def forward(self, features: list[SparseFeature]) -> torch.Tensor:
        """Takes (ids, offsets) per table; returns [batch, tables, dimension]."""
        pooled = [table(ids, offsets) for table, (ids, offsets) in zip(self.tables, features, strict=True)]
        return torch.stack(pooled, dim=1)


class DotInteraction(nn.Module):
    """The dot products of all pairs of feature vectors, after the dense vector itself."""

    def __init__(self, features: int) -> None:
        super().__init__()
        rows, columns = torch.tril_indices(features, features, offset=-1)
        self.register_buffer("rows", rows, persistent=False)
        self.register_buffer("columns", columns, persistent=False)

    def forward(self, dense: torch.Tensor, sparse: torch.Tensor) -> torch.Tensor:
        vectors = torch.cat([dense.unsqueeze(1), sparse], dim=1)
        products = torch.bmm(vectors, vectors.transpose(1, 2))
        return torch.cat([dense, products[:, self.rows, self.columns]], dim=1)


class DLRM(nn.Module):
    """Predicts the probability of a click from dense and categorical features."""

    def __init__(
        self, dense_features: int, table_sizes: Sequence[int], dimension: int, bottom: Sequence[int], top: Sequence[int]
    ) -> None:
        super().__init__()
        features = len(table_sizes) + 1
        self.bottom_mlp = mlp([dense_features, *bottom, dimension], nn.ReLU())
        self.sparse_arch = SparseArch(table_sizes, dimension)
        self.interaction = DotInteraction(features)
        self.top_mlp = mlp([dimension + features * (features - 1) // 2, *top, 1], nn.Sigmoid())

    def forward(self, dense: torch.Tensor, sparse: list[SparseFeature]) -> torch.Tensor:
        """Takes dense features [batch, dense_features] and (ids, offsets) per table; returns [batch]."""
        bottom = self.bottom_mlp(dense)
        return self.top_mlp(self.interaction(bottom, self.sparse_arch(sparse))).squeeze(1)
