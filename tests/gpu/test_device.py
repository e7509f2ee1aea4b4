"""Devices by name, and sums whose bits no batch size changes."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from isoscope.gpu.device import (
    contract,
    matvec,
    power_of_two,
    precision_name,
    resolve_device,
    resolve_dtype,
    row_dot,
    row_norm,
    tree_sum,
)
from isoscope.gpu.errors import DeviceError

DTYPES = [torch.float32, torch.float64]


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


def test_cpu_by_name() -> None:
    assert resolve_device("cpu") == torch.device("cpu")
    assert resolve_device(torch.device("cpu")) == torch.device("cpu")


def test_auto_takes_cuda_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert resolve_device("auto").type == "cpu"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    assert resolve_device("auto") == torch.device("cuda", 0)
    assert resolve_device("cuda:1") == torch.device("cuda", 1)
    with pytest.raises(DeviceError, match=r"there are 2 CUDA.*cuda:1 or auto"):
        resolve_device("cuda:2")


@pytest.mark.parametrize("name", ["cuda", "cuda:1"])
def test_cuda_where_there_is_none(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(DeviceError, match=f"{name} was asked for.*use auto or cpu"):
        resolve_device(name)


@pytest.mark.parametrize(
    "name", ["", "gpu", "mps", "cuda:", "cuda:x", "cpu:0", "cuda1"]
)
def test_names_of_no_device(name: str) -> None:
    with pytest.raises(DeviceError, match="not a device it runs on; use auto, cpu"):
        resolve_device(name)


def test_precisions() -> None:
    for dtype in DTYPES:
        assert resolve_dtype(precision_name(dtype)) == dtype
        assert resolve_dtype(dtype) == dtype
    with pytest.raises(DeviceError, match="'float16' is not one of float32, float64"):
        resolve_dtype("float16")
    with pytest.raises(DeviceError, match=r"torch\.int64 is not one of"):
        precision_name(torch.int64)


@given(
    st.integers(1, 40),
    st.sampled_from(DTYPES),
    st.sampled_from([1, 2, 7, 64, 129]),
    st.integers(0, 2**31),
)
def test_rows_have_their_bits_in_any_batch(
    length: int, dtype: torch.dtype, worlds: int, seed: int
) -> None:
    generator = torch.Generator().manual_seed(seed)
    a = torch.randn(worlds, length, dtype=dtype, generator=generator)
    b = torch.randn(worlds, length, dtype=dtype, generator=generator)
    matrix = torch.randn(worlds, 3, length, dtype=dtype, generator=generator)
    place = seed % worlds
    one = slice(place, place + 1)
    assert torch.equal(row_dot(a, b)[one], row_dot(a[one].clone(), b[one].clone()))
    assert torch.equal(row_norm(a)[one], row_norm(a[one].clone()))
    assert torch.equal(matvec(matrix, a)[one], matvec(matrix[one].clone(), a[one]))
    assert torch.equal(tree_sum(a, 1)[one], tree_sum(a[one].clone(), 1))
    exact = [math.fsum(row) for row in (a.double() * b.double()).tolist()]
    close = 4 * length * torch.finfo(dtype).eps * length
    for got, want in zip(row_dot(a, b).tolist(), exact, strict=True):
        assert got == pytest.approx(want, abs=close * 20)
    for got, row in zip(tree_sum(a, 1).tolist(), a.double().tolist(), strict=True):
        assert got == pytest.approx(math.fsum(row), abs=close * 5)


def test_contract_broadcasts_either_side() -> None:
    a = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    b = torch.tensor([[10.0, 100.0]])
    assert contract(a, b, 1).tolist() == [210.0, 430.0]
    assert contract(b, a, 0).tolist() == [40.0, 600.0]


def test_sums_pass_gradients_without_other_bits() -> None:
    generator = torch.Generator().manual_seed(3)
    a = torch.randn(4, 5, dtype=torch.float64, generator=generator)
    b = torch.randn(4, 5, dtype=torch.float64, generator=generator)
    plain = row_dot(a, b)
    a.requires_grad_()
    assert torch.equal(row_dot(a, b), plain)
    assert torch.autograd.gradcheck(row_dot, (a, b))
    assert torch.autograd.gradcheck(row_norm, (a,))
    assert torch.autograd.gradcheck(lambda terms: tree_sum(terms, 1), (a,))


def test_norm_of_the_largest_and_the_smallest() -> None:
    rows = torch.tensor(
        [[3e200, 4e200], [3e-200, 4e-200], [0.0, 0.0], [1.7e308, 0.0], [5e-324, 0.0]],
        dtype=torch.float64,
    )
    assert row_norm(rows).tolist() == pytest.approx(
        [5e200, 5e-200, 0.0, 1.7e308, 5e-324], rel=1e-15
    )
    assert row_norm(torch.tensor([[math.inf, 1.0]])).item() == math.inf
    assert math.isnan(row_norm(torch.tensor([[math.nan, 1.0]])).item())


@given(st.floats(allow_subnormal=True), st.sampled_from(DTYPES))
def test_power_of_two_is_one_exactly(size: float, dtype: torch.dtype) -> None:
    value = torch.tensor([abs(size)], dtype=dtype)
    power = power_of_two(value).item()
    mantissa, _ = math.frexp(power)
    assert mantissa == 0.5
    if math.isfinite(value.item()) and value.item() > 0:
        assert 0.5 <= value.item() / power <= 2
    else:
        assert power == 1.0
