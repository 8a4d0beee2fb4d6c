# SPDX-FileCopyrightText: 2026 The ModuleLens authors
# SPDX-License-Identifier: MIT

"""Every kind of value goes into JSON and comes back as it was."""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import json
import math
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from replay import same_bits
from torch import nn

from modulelens.decoding import DecodeError, ValueDecoder
from modulelens.json_types import encode_json
from modulelens.tensor_store import TensorStore
from modulelens.values import Scope, ValueEncoder, tensors_in


class Colour(enum.Enum):
    RED = 1


class Point(NamedTuple):
    x: Any
    y: Any


@dataclasses.dataclass(frozen=True)
class Frozen:
    a: Any
    b: Any


class Plain:
    def __init__(self, value: Any) -> None:
        self.value = value

    def method(self) -> Any:
        return self.value


@pytest.fixture
def store(tmp_path: Path) -> TensorStore:
    return TensorStore(tmp_path / "tensors")


def round_trip(store: TensorStore, value: Any, scope: Scope | None = None) -> Any:
    encoded = json.loads(encode_json(ValueEncoder(store).encode(value, scope or Scope())))
    store.flush()
    decoder = ValueDecoder(store.bytes_of, lambda _: True)
    decoder.prepare(encoded)
    return decoder.decode(encoded)


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        3,
        -(2**70),
        1.5,
        math.inf,
        -math.inf,
        "text with \u00e9 and \u0000",
        [1, [2]],
        (1, (2,), []),
        {"a": 1, "b/~c": [2]},
        {"$t": "tensor"},
        {1: "one", (2, 3): "pair"},
        {3, 1, 2},
        frozenset({1}),
        2 + 3j,
        complex(math.inf, 1),
        b"\x00\xff",
        slice(1, None, 2),
        range(0, 9, 3),
        ...,
        torch.float8_e4m3fn,
        torch.device("cuda:1"),
        torch.strided,
        torch.channels_last,
        torch.Size([2, 3]),
        Colour.RED,
        Point(1, "y"),
        Frozen(1, (2, 3)),
        collections.OrderedDict([("z", 1), ("a", 2)]),
        np.float32(0.5),
        torch.relu,
        nn.Linear,
        math.sqrt,
    ],
    ids=repr,
)
def test_value_comes_back(store: TensorStore, value: Any) -> None:
    back = round_trip(store, value)
    assert back == value
    assert type(back) is type(value)


def test_dict_order_is_kept(store: TensorStore) -> None:
    assert list(round_trip(store, {"z": 1, "a": 2})) == ["z", "a"]


def test_nan_comes_back(store: TensorStore) -> None:
    assert math.isnan(round_trip(store, math.nan))


def test_partial_method_and_object_come_back(store: TensorStore) -> None:
    partial = round_trip(store, functools.partial(torch.add, alpha=2))
    assert (partial.func, partial.keywords) == (torch.add, {"alpha": 2})
    assert round_trip(store, Plain(7).method)() == 7
    assert vars(round_trip(store, Plain([1]))) == {"value": [1]}


def test_numpy_array_comes_back(store: TensorStore) -> None:
    array = np.arange(6, dtype=np.int16).reshape(2, 3).T
    assert np.array_equal(round_trip(store, array), array)


_TENSORS = {
    "bfloat16": torch.randn(3, 2).bfloat16(),
    "float8_e4m3fn": torch.randn(4).to(torch.float8_e4m3fn),
    "float8_e5m2": torch.randn(4).to(torch.float8_e5m2),
    "float8_e4m3fnuz": torch.randn(4).to(torch.float8_e4m3fnuz),
    "complex64": torch.randn(2, 2, dtype=torch.complex64),
    "complex128": torch.randn(2, dtype=torch.complex128),
    "uint16": torch.tensor([1, 65535], dtype=torch.uint16),
    "uint64": torch.tensor([1, 2**63], dtype=torch.uint64),
    "bool": torch.tensor([True, False]),
    "no elements": torch.empty(0, 3),
    "no dimensions": torch.tensor(2.5),
    "nan and infinity": torch.tensor([math.nan, -math.inf, -0.0]),
    "transposed": torch.randn(2, 3).t(),
    "expanded": torch.randn(1, 3).expand(4, 3),
    "expanded scalar": torch.tensor(1.0).expand(2, 2),
    "unfolded": torch.arange(6.0).unfold(0, 3, 1),
    "channels last": torch.randn(2, 3, 4, 4).to(memory_format=torch.channels_last),
    "narrowed": torch.randn(8, 4)[2:5, 1:3],
    "conjugate": torch.randn(2, dtype=torch.complex64).conj(),
    "negative": torch.randn(2, dtype=torch.complex64).conj().imag,
}


@pytest.mark.parametrize("name", _TENSORS)
def test_tensor_comes_back(store: TensorStore, name: str) -> None:
    tensor = _TENSORS[name]
    back = round_trip(store, tensor)
    assert same_bits(back, tensor)
    assert back.stride() == tensor.stride()
    assert (back.is_conj(), back.is_neg()) == (tensor.is_conj(), tensor.is_neg())


def test_storedTensor_isReadIntoAlignedMemory(store: TensorStore) -> None:
    encoder = ValueEncoder(store)
    references = [encoder.encode(torch.randn(size)) for size in (1, 3, 64, 7)]
    store.flush()
    for reference in references:
        assert store.bytes_of(reference["ref"]).data_ptr() % 64 == 0


def test_expanded_dimension_isStoredOnce(store: TensorStore) -> None:
    encoded = ValueEncoder(store).encode(torch.randn(1, 5).expand(100, 5))
    assert encoded["stored_shape"] == [1, 5]
    assert encoded["stride"] == [0, 1]
    assert store.bytes_of(encoded["ref"]).numel() == 20


def test_meta_tensor_isAGapWithItsShape(store: TensorStore) -> None:
    encoded = ValueEncoder(store).encode(torch.empty(2, 3, device="meta"))
    assert (encoded["gap"], encoded["shape"], encoded["device"]) == ("meta", [2, 3], "meta")
    assert "ref" not in encoded


_DTYPES = sorted(
    {dtype for dtype in vars(torch).values() if isinstance(dtype, torch.dtype)},
    key=str,
)


@pytest.mark.parametrize("dtype", [dtype for dtype in _DTYPES if not str(dtype).startswith("torch.q")], ids=str)
def test_everyDtype_comesBack(store: TensorStore, dtype: torch.dtype) -> None:
    raw = torch.randint(0, 2 if dtype is torch.bool else 256, (16,), dtype=torch.uint8)
    tensor = raw.view(dtype)
    back = round_trip(store, tensor)
    assert (back.dtype, back.shape) == (dtype, tensor.shape)
    assert torch.equal(back.view(torch.uint8), raw)


class Tagged(torch.Tensor):
    """A subclass without parts."""


def test_tensorSubclass_keepsItsClass(store: TensorStore) -> None:
    tensor = torch.randn(3).as_subclass(Tagged)
    back = round_trip(store, tensor)
    assert type(back) is Tagged and torch.equal(back.as_subclass(torch.Tensor), tensor.as_subclass(torch.Tensor))
    assert ValueEncoder(store).encode(tensor)["cls"].endswith(":Tagged")


def test_maskedTensor_isAGapWithAReason(store: TensorStore) -> None:
    encoded = ValueEncoder(store).encode(torch.masked.masked_tensor(torch.ones(2), torch.tensor([True, False])))
    assert encoded["$t"] == "gap" and "masked" in encoded["reason"]


def test_fakeTensor_isAGap(store: TensorStore) -> None:
    with torch._subclasses.FakeTensorMode():
        encoded = ValueEncoder(store).encode(torch.ones(2))
    assert encoded["$t"] == "gap"


@pytest.mark.parametrize("gradients", [False, True])
def test_oldNestedTensor_comesBack(store: TensorStore, gradients: bool) -> None:
    parts = [torch.randn(2, 3), torch.randn(4, 3)]
    nested = torch.nested.nested_tensor(parts, requires_grad=gradients)
    back = round_trip(store, nested)
    assert back.is_nested and back.layout == torch.strided and back.requires_grad is gradients
    assert all(torch.equal(*pair) for pair in zip(back.unbind(), parts, strict=True))
    turned = round_trip(store, nested.detach().transpose(1, 2))
    assert all(torch.equal(one, other.t()) for one, other in zip(turned.unbind(), parts, strict=True))


def test_jaggedNestedTensor_comesBack(store: TensorStore) -> None:
    parts = [torch.randn(2, 3), torch.randn(4, 3)]
    back = round_trip(store, torch.nested.nested_tensor(parts, layout=torch.jagged))
    assert back.is_nested and back.layout == torch.jagged
    assert all(torch.equal(*pair) for pair in zip(back.unbind(), parts, strict=True))


def test_onednnTensor_comesBack(store: TensorStore) -> None:
    dense = torch.randn(3, 4)
    back = round_trip(store, dense.to_mkldnn())
    assert back.layout == torch._mkldnn and torch.equal(back.to_dense(), dense)


@pytest.mark.parametrize("dtype", [torch.quint8, torch.quint4x2, torch.quint2x4], ids=str)
def test_floatQuantizedTensor_comesBack(store: TensorStore, dtype: torch.dtype) -> None:
    scales, zeros = torch.rand(3) + 0.1, torch.rand(3)
    tensor = torch.quantize_per_channel(torch.randn(3, 8), scales, zeros, 0, dtype)
    back = round_trip(store, tensor)
    assert (back.dtype, back.shape, back.qscheme()) == (dtype, tensor.shape, tensor.qscheme())
    assert torch.equal(back.dequantize(), tensor.dequantize())


@pytest.mark.parametrize("layout", ["coo", "csr", "csc", "bsr", "bsc"])
def test_sparse_tensor_comes_back(store: TensorStore, layout: str) -> None:
    dense = torch.tensor([[0.0, 1, 0, 2], [0, 0, 3, 0]])
    convert = {
        "coo": dense.to_sparse,
        "csr": dense.to_sparse_csr,
        "csc": dense.to_sparse_csc,
        "bsr": lambda: dense.to_sparse_bsr((1, 2)),
        "bsc": lambda: dense.to_sparse_bsc((1, 2)),
    }
    back = round_trip(store, convert[layout]())
    assert back.layout == convert[layout]().layout
    assert torch.equal(back.to_dense(), dense)


def test_quantized_tensor_comes_back(store: TensorStore) -> None:
    per_tensor = torch.quantize_per_tensor(torch.randn(4, 2), 0.1, 3, torch.qint8)
    per_channel = torch.quantize_per_channel(
        torch.randn(2, 4), torch.tensor([0.1, 0.2]), torch.tensor([0, 1]), 0, torch.qint8
    )
    for tensor in (per_tensor, per_channel):
        back = round_trip(store, tensor)
        assert torch.equal(back.int_repr(), tensor.int_repr()) and torch.equal(back.dequantize(), tensor.dequantize())


def test_sameObject_comesBackAsSameObject(store: TensorStore) -> None:
    x = torch.randn(3)
    first, second, copy = round_trip(store, [x, x, x.clone()])
    assert first is second
    assert copy is not first


def test_viewsOfOneStorage_shareItAgain(store: TensorStore) -> None:
    base = torch.arange(12.0)
    whole, part = round_trip(store, [base, base[4:8]])
    part.add_(100)
    assert whole[4:8].tolist() == [104.0, 105.0, 106.0, 107.0]
    assert part.storage_offset() == 4


def test_viewAlone_keepsItsAlignment(store: TensorStore) -> None:
    view = torch.randn(64)[3:10]
    back = round_trip(store, view)
    assert back.data_ptr() % 64 == 12
    assert same_bits(back, view)


def test_parameters_keepRequiresGrad(store: TensorStore) -> None:
    for flag in (True, False):
        back = round_trip(store, nn.Parameter(torch.randn(2), requires_grad=flag))
        assert isinstance(back, nn.Parameter) and back.requires_grad is flag


def test_generator_isAGapAndIsNotConsumed(store: TensorStore) -> None:
    generator = (i for i in range(3))
    encoded = ValueEncoder(store).encode(generator)
    assert encoded["$t"] == "gap" and "consume" in encoded["reason"]
    assert list(generator) == [0, 1, 2]


def test_lambda_isKeptAsSourceOnly(store: TensorStore) -> None:
    encoded = ValueEncoder(store).encode(lambda x: x + 1)
    assert encoded["$t"] == "source" and "x + 1" in encoded["v"]
    with pytest.raises(DecodeError):
        ValueDecoder(store.bytes_of, lambda _: True).decode(encoded)


def test_textThatIsNotUnicode_isAGap(store: TensorStore) -> None:
    encoded = json.loads(encode_json(ValueEncoder(store).encode(["\ud800", "fine"])))
    assert encoded[0]["$t"] == "gap" and encoded[1] == "fine"


def test_valueThatHoldsItself_isAGap(store: TensorStore) -> None:
    loop: list[Any] = []
    loop.append(loop)
    assert ValueEncoder(store).encode(loop)[0]["reason"] == "the value holds itself"


def test_classOutsideTheAllowList_isRefused(store: TensorStore) -> None:
    encoded = ValueEncoder(store).encode(nn.Linear)
    with pytest.raises(PermissionError):
        ValueDecoder(store.bytes_of, lambda module: module == "math").decode(encoded)


def test_tensorsIn_givesJsonPointers(store: TensorStore) -> None:
    value = {"a/b": (torch.zeros(1), [torch.zeros(2)]), "c": collections.OrderedDict(x=torch.zeros(3))}
    pointers = [pointer for pointer, _ in tensors_in(ValueEncoder(store).encode(value), "/args/0")]
    assert pointers == ["/args/0/a~1b/v/0", "/args/0/a~1b/v/1/0", "/args/0/c/v/0/1"]
