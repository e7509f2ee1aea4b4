"""A world's answer has the same bits in every batch, and however often is asked."""

from __future__ import annotations

from typing import Literal

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from isoscope.gpu.linear_solver import (
    BlockJacobi,
    CsrOperator,
    CsrPattern,
    DenseOperator,
    Jacobi,
    Operator,
    Preconditioner,
    SolveOptions,
    SolveResult,
    solve,
)
from tests.gpu.linear.systems import general, right_sides, spd

Method = Literal["cg", "gmres"]
METHODS: tuple[Method, ...] = ("cg", "gmres")


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


def batch(
    worlds: int, size: int, seed: int, method: Method
) -> tuple[torch.Tensor, torch.Tensor]:
    """Systems that end at different times, and in different ways."""
    matrix = (spd if method == "cg" else general)(worlds, size, seed)
    rhs = right_sides(worlds, size, seed)
    eye = torch.eye(size, dtype=torch.float64)
    matrix[1::5] = eye + 0.01 * matrix[1::5]
    matrix[2::7] = 0
    matrix[3::11] *= torch.nan
    rhs[4::9] = 0
    return matrix, rhs


def preconditioner(kind: int, size: int) -> Preconditioner | None:
    if kind == 2:
        return BlockJacobi((size // 2,) * 2 + (1,) * (size % 2))
    return Jacobi() if kind else None


def operator_of(matrix: torch.Tensor, sparse: bool) -> Operator:
    if not sparse:
        return DenseOperator(matrix)
    size = matrix.shape[1]
    pattern = CsrPattern.from_mask(torch.ones(size, size, dtype=torch.bool).numpy())
    return CsrOperator(pattern, matrix.flatten(1))


def same(
    one: SolveResult, place: int | slice, other: SolveResult, there: int | slice
) -> None:
    for name in ("solution", "status", "iterations", "relative_residual"):
        left, right = getattr(one, name)[place], getattr(other, name)[there]
        # Bits: NaN is equal to itself, and -0 is not 0.
        assert left.contiguous().numpy().tobytes() == (
            right.contiguous().numpy().tobytes()
        ), name


@settings(max_examples=40)
@example(18, 0, "cg", 2, torch.float64, False, 18)  # blocks of 9: 648 bytes each
@given(
    st.integers(2, 20),
    st.integers(0, 2**31),
    st.sampled_from(METHODS),
    st.integers(0, 2),
    st.sampled_from([torch.float32, torch.float64]),
    st.booleans(),
    st.integers(0, 63),
)
def test_alone_among_seven_and_among_sixty_four(
    size: int,
    seed: int,
    method: Method,
    kind: int,
    dtype: torch.dtype,
    sparse: bool,
    world: int,
) -> None:
    matrix, rhs = batch(64, size, seed, method)
    matrix, rhs = matrix.to(dtype), rhs.to(dtype)
    options = SolveOptions(
        method=method, preconditioner=preconditioner(kind, size), restart=7
    )

    def solved(worlds: list[int]) -> SolveResult:
        operator = operator_of(matrix[worlds], sparse)
        return solve(operator, rhs[worlds], options=options)

    whole = solved(list(range(64)))
    same(solved([world]), 0, whole, world)
    same(solved([(world + k) % 64 for k in range(-3, 4)]), 3, whole, world)
    backwards = solved(list(reversed(range(64))))
    same(backwards, 63 - world, whole, world)


@settings(max_examples=20)
@given(
    st.integers(2, 20),
    st.integers(0, 2**31),
    st.sampled_from(METHODS),
    st.integers(2, 50),
)
def test_however_often_is_asked(
    size: int, seed: int, method: Method, check_every: int
) -> None:
    matrix, rhs = batch(8, size, seed, method)
    results = [
        solve(
            DenseOperator(matrix),
            rhs,
            guess=-0.0 * rhs,
            options=SolveOptions(method=method, check_every=every, restart=7),
        )
        for every in (1, check_every)
    ]
    everywhere = slice(None)
    same(results[0], everywhere, results[1], everywhere)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("size", [3, 40])
def test_more_worlds_than_one_thread_takes(method: Method, size: int) -> None:
    worlds = 40_000 // size
    matrix, rhs = batch(worlds, size, 1, method)
    options = SolveOptions(method=method, preconditioner=Jacobi(), max_iterations=15)
    whole = solve(DenseOperator(matrix), rhs, options=options)
    for world in (0, 1, worlds // 2, worlds - 1):
        one = slice(world, world + 1)
        same(
            solve(DenseOperator(matrix[one]), rhs[one], options=options),
            0,
            whole,
            world,
        )
