# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT
"""Functions of torch and torch.nn.functional."""

from __future__ import annotations

import torch
from cases import functions, rows, same
from torch.nn import functional

IMAGE = rows(3, 8, 8)
SQUARE = rows(4, 4)
ROWS = rows(8)

functions(
    "interpolation",
    IMAGE,
    nearest=lambda x: functional.interpolate(x, scale_factor=2),
    bilinear=lambda x: functional.interpolate(x, size=(5, 6), mode="bilinear", align_corners=True),
    bicubic=lambda x: functional.interpolate(x, scale_factor=1.5, mode="bicubic"),
    area=lambda x: functional.interpolate(x, size=3, mode="area"),
    antialiased=lambda x: functional.interpolate(x, size=4, mode="bilinear", antialias=True),
    grid=lambda x: functional.grid_sample(
        x,
        functional.affine_grid(torch.eye(2, 3).expand(x.shape[0], 2, 3), [x.shape[0], 3, 5, 5], align_corners=False),
        align_corners=False,
        padding_mode="reflection",
    ),
)
functions(
    "interpolation", rows(2, 4, 4, 4), trilinear=lambda x: functional.interpolate(x, scale_factor=2, mode="trilinear")
)

functions(
    "fourier",
    rows(16),
    forward=lambda x: torch.fft.fft(x),
    round_trip=lambda x: torch.fft.irfft(torch.fft.rfft(x, norm="ortho"), n=16, norm="ortho"),
    shifted=lambda x: torch.fft.fftshift(torch.fft.ifft(x)).real,
    short_time=lambda x: torch.stft(x, 8, hop_length=4, window=torch.hann_window(8), return_complex=True).abs(),
    short_time_back=lambda x: torch.istft(
        torch.stft(x, 8, hop_length=4, window=torch.hann_window(8), return_complex=True),
        8,
        hop_length=4,
        window=torch.hann_window(8),
    ),
    planar=lambda x: torch.fft.fft2(x.reshape(-1, 4, 4)).imag,
)


def definite(x: torch.Tensor) -> torch.Tensor:
    return x @ x.mT + 4 * torch.eye(4)


functions(
    "algebra",
    SQUARE,
    determinant=lambda x: torch.linalg.det(x),
    sign_and_log=lambda x: tuple(torch.linalg.slogdet(x)),
    inverse=lambda x: torch.linalg.inv(definite(x)),
    solved=lambda x: torch.linalg.solve(definite(x), x),
    triangular=lambda x: torch.linalg.solve_triangular(torch.tril(definite(x)), x, upper=False),
    cholesky=lambda x: torch.linalg.cholesky(definite(x)),
    orthogonal=lambda x: tuple(torch.linalg.qr(x)),
    singular_values=lambda x: torch.linalg.svdvals(x),
    symmetric=lambda x: torch.linalg.eigvalsh(definite(x)),
    general=lambda x: torch.linalg.eigvals(x).abs().sum(-1),
    exponential=lambda x: torch.matrix_exp(x * 0.1),
    power=lambda x: torch.linalg.matrix_power(x, 3),
    norms=lambda x: (torch.linalg.norm(x, dim=(-2, -1)), torch.linalg.vector_norm(x, 3, dim=-1), x.norm(p=1)),
    pseudo=lambda x: torch.linalg.pinv(definite(x)),
)

functions(
    "products",
    same(2, 4, 4),
    batched=lambda x, y: torch.bmm(x, y),
    einsum_batched=lambda x, y: torch.einsum("bij,bjk->bik", x, y),
    einsum_traced=lambda x, y: torch.einsum("bii,bjj->bij", x, y),
    einsum_dotted=lambda x, y: torch.einsum("...ij,...kj->...ik", x, y),
    tensor_dot=lambda x, y: torch.tensordot(x, y, dims=([1, 2], [2, 1])),
    kronecker=lambda x, y: torch.kron(x[0], y[0]),
    distances=lambda x, y: torch.cdist(x, y),
    chained=lambda x, y: torch.baddbmm(x, x, y, beta=0.5, alpha=2) + torch.matmul(x, y[0]),
    outer=lambda x, y: torch.outer(x[:, 0, 0], y[:, 0, 1]),
    cross=lambda x, y: torch.linalg.cross(x[..., :3], y[..., :3]),
    attention=lambda x, y: functional.scaled_dot_product_attention(x, y, y),
    attention_causal=lambda x, y: functional.scaled_dot_product_attention(x, y, y, is_causal=True, scale=0.3),
    attention_masked=lambda x, y: functional.scaled_dot_product_attention(x, y, y, attn_mask=x > 0),
)

functions(
    "indexing",
    rows(6),
    sort=lambda x: tuple(x.sort(-1, descending=True)),
    sort_stable=lambda x: tuple(torch.sort(x, dim=-1, stable=True)),
    argsort=lambda x: x.argsort(-1),
    top=lambda x: tuple(x.topk(2)),
    kth=lambda x: tuple(x.kthvalue(2, -1)),
    median=lambda x: tuple(x.median(-1)),
    mode=lambda x: tuple(x.round().mode(-1)),
    gather=lambda x: x.gather(1, x.argsort(-1)),
    scatter=lambda x: torch.zeros_like(x).scatter(1, x.argsort(-1), x),
    scatter_value=lambda x: x.scatter(1, x.argsort(-1)[:, :2], 3.0),
    scatter_add=lambda x: torch.zeros_like(x).scatter_add(1, x.argsort(-1) // 2, x),
    scatter_reduce=lambda x: torch.ones_like(x).scatter_reduce(1, x.argsort(-1) // 2, x, reduce="amax"),
    index_select=lambda x: x.index_select(1, torch.tensor([3, 0])),
    index_add=lambda x: x.index_add(1, torch.tensor([0, 5]), x[:, :2], alpha=2),
    index_copy=lambda x: x.index_copy(1, torch.tensor([1]), x[:, :1]),
    advanced=lambda x: x[:, torch.tensor([[0, 1], [2, 3]])],
    advanced_mixed=lambda x: x[..., None, torch.tensor([0, 2])],
    put=lambda x: x.index_put((torch.tensor([0, 1]), torch.tensor([0, 1])), torch.tensor(2.0), accumulate=True),
    boolean=lambda x: torch.where(x > 0, x, torch.tensor(-1.0)),
    masked_fill=lambda x: x.masked_fill(x > 0, float("-inf")),
    masked_scatter=lambda x: x.masked_scatter(x > 0, torch.zeros_like(x)),
    along=lambda x: torch.take_along_dim(x, x.argmax(-1, keepdim=True), 1),
    searched=lambda x: torch.searchsorted(x.sort(-1)[0], x),
    buckets=lambda x: torch.bucketize(x, torch.tensor([-1.0, 0.0, 1.0]), right=True),
    hot=lambda x: functional.one_hot(x.argmax(-1), 6),
    counts=lambda x: torch.bincount(x.argmax(-1), minlength=6),
    histogram=lambda x: torch.histc(x, 5, -2, 2),
    triangle=lambda x: (x.tril(), x.triu(1), torch.tril_indices(3, 3)),
    flipped=lambda x: (x.flip(1), x.roll(2, 1), x.rot90()),
)
functions(
    "data_dependent",
    rows(6),
    nonzero=lambda x: x.nonzero(),
    selected=lambda x: x[x > 0],
    unique=lambda x: torch.unique(x.round(), return_counts=True),
    unique_consecutive=lambda x: torch.unique_consecutive(x.round().flatten()),
    repeated=lambda x: torch.repeat_interleave(x, (x[:, 0] > 0).long() + 1, dim=0),
    item=lambda x: x * x.sum().abs().long().item(),
    counted=lambda x: torch.zeros(8)[: (x > 0).sum().clamp(0, 8).item()] + 1,
)

functions(
    "reduction",
    rows(4, 6),
    sums=lambda x: (x.sum(), x.sum((0, 2)), x.sum(-1, keepdim=True), x.sum(dtype=torch.float64)),
    means=lambda x: (x.mean(), x.mean(1), x.var(1, unbiased=False), *torch.var_mean(x, -1)),
    extremes=lambda x: (x.amax(1), *x.max(1), *torch.aminmax(x, dim=1), x.argmin()),
    products=lambda x: (x.prod(1), x.cumprod(1), x.cumsum(-1), *x.cummax(1)),
    logsumexp=lambda x: (x.logsumexp(1), x.logcumsumexp(1), x.softmax(1, dtype=torch.float64)),
    quantiles=lambda x: (x.quantile(torch.tensor([0.25, 0.5]), dim=1), x.nanmean(), x.nanmedian()),
    logical=lambda x: ((x > 0).any(1), (x > 0).all(), (x > 0).sum(1), x.count_nonzero(1)),
    deviations=lambda x: (x.std(), x.std(1, correction=2), torch.cov(x[0]), torch.corrcoef(x[0])),
    trapezoids=lambda x: (torch.trapezoid(x), x.diff(dim=-1), torch.renorm(x, 2, 0, 1.0)),
)

functions(
    "complex",
    rows(6),
    polar=lambda x: torch.polar(x.abs(), x),
    viewed=lambda x: torch.view_as_complex(x.reshape(-1, 3, 2)) * (1 + 2j),
    back=lambda x: torch.view_as_real(torch.complex(x, x + 1)),
    parts=lambda x: (torch.complex(x, x).angle(), torch.complex(x, -x).real, torch.complex(x, x).imag),
    conjugated=lambda x: torch.complex(x, x).conj() @ torch.complex(x, x).mT,
    rotary=lambda x: torch.view_as_real(
        torch.view_as_complex(x.reshape(-1, 3, 2)) * torch.polar(torch.ones(3), torch.arange(3.0))
    ).flatten(1),
)

functions(
    "integer",
    lambda batch: (torch.randint(-20, 20, (batch, 6)), torch.randint(1, 6, (batch, 6))),
    bits=lambda x, y: (x & y, x | y, x ^ y, ~x, x << y, x >> y),
    divisions=lambda x, y: (x // y, x % y, torch.fmod(x, y), torch.div(x, y, rounding_mode="trunc"), x / y),
    powers=lambda x, y: (x**2, x * y, x.abs().gcd(y), torch.lcm(x, y)),
    comparisons=lambda x, y: (x == y, (x > y) & (x < 10), x.logical_xor(y), torch.isin(x, y), x.eq(3)),
    casts=lambda x, y: (x.to(torch.uint8), x.to(torch.int16) + y.to(torch.int8), x.bool(), (x + 0.5).to(torch.int32)),
    matrix=lambda x, y: x.mT @ y,
    ranges=lambda x, y: (torch.arange(x.shape[0]), torch.arange(0, 6, 2) + x[:, :3], torch.linspace(0, 1, 5)),
)

functions(
    "elementwise",
    same(2, 6),
    arithmetic=lambda x, y: (x + y, x - 2 * y, torch.add(x, y, alpha=3), x / y, 1 / x, 2 - x, x**3, 2**x),
    mixed=lambda x, y: (x.half() + y, x.bfloat16() * 2, x.double() + 1, x + torch.tensor(2), x * True),
    functions=lambda x, y: (x.exp(), x.abs().log1p(), x.sin().atan2(y), x.erf(), x.sigmoid().logit(), x.expm1()),
    gammas=lambda x, y: (
        x.abs().lgamma(),
        x.abs().digamma(),
        torch.special.i0(x),
        torch.special.xlogy(x.abs(), y.abs()),
    ),
    roundings=lambda x, y: (x.round(decimals=1), x.floor(), x.frac(), x.sign(), torch.copysign(x, y), x.trunc()),
    clamped=lambda x, y: (x.clamp(-1, 1), x.clamp(min=y), x.clamp_max(0.5), torch.maximum(x, y), x.nan_to_num(1.0)),
    fused=lambda x, y: (
        torch.addcmul(x, y, y, value=0.5),
        torch.addcdiv(x, y, y.abs() + 1),
        torch.lerp(x, y, 0.3),
        x.lerp(y, y),
    ),
    hypotenuse=lambda x, y: (x.hypot(y), x.rsqrt(), x.nextafter(y), x.isnan(), x.heaviside(y), x.fmax(y)),
    glued=lambda x, y: (torch.cat([x, y], 1), torch.stack([x, y]), torch.block_diag(x, y), torch.hstack([x, y])),
    meshed=lambda x, y: torch.meshgrid(x[:, 0], y[:, 1], indexing="ij"),
)

functions(
    "views",
    rows(4, 6),
    strided=lambda x: torch.as_strided(x, (2, 3), (1, 6)),
    transposed=lambda x: (x.transpose(1, 2), x.permute(2, 0, 1), x.movedim(0, -1), x.mT),
    expanded=lambda x: x[:, :1].expand(-1, 4, -1) + x,
    unfolded=lambda x: x.unfold(2, 3, 2),
    parts=lambda x: (*x.split(2, -1), *x.chunk(3, -1), *x.unbind(1), *x.tensor_split([1, 4], -1)),
    narrowed=lambda x: (x.narrow(2, 1, 3), x[:, ::2, -3:], x.diagonal(dim1=1, dim2=2), x.select(1, 0)),
    retyped=lambda x: x.view(torch.int32),
    reshaped=lambda x: (x.reshape(-1, 3), x.flatten(1), x.view(x.shape[0], 2, 2, -1), x.unsqueeze(0).squeeze(0)),
    contiguous=lambda x: (x.mT.contiguous(), x.unsqueeze(1).contiguous(memory_format=torch.channels_last)),
    broadcast=lambda x: torch.broadcast_tensors(x, torch.ones(1, 4, 1)),
    repeated=lambda x: (x.repeat(2, 1, 1), x.tile(2), x.repeat_interleave(2, dim=1)),
)

functions(
    "random",
    ROWS,
    like=lambda x: (torch.rand_like(x), torch.randn_like(x), torch.randint_like(x, 5)),
    made=lambda x: (torch.rand(3, 2), torch.randn(x.shape[0]), torch.randint(0, 4, (5,)), torch.randperm(6)),
    bernoulli=lambda x: (torch.bernoulli(x.sigmoid()), x.sigmoid().bernoulli(0.3)),
    multinomial=lambda x: torch.multinomial(x.softmax(-1), 3),
    normal=lambda x: (torch.normal(x, 1.0), torch.normal(0.0, 1.0, (4,)), x.new_empty(3).uniform_()),
    gumbel=lambda x: functional.gumbel_softmax(x, hard=True),
    dropped=lambda x: functional.dropout(x, 0.5, training=True),
    exponential=lambda x: (x.new_empty(4).exponential_(), x.new_empty(4).log_normal_(), torch.poisson(x.abs())),
)
