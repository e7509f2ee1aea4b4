"""Answers of CG and GMRES against the library's direct solver."""

from __future__ import annotations

from typing import Literal

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from isoscope.gpu.linear_solver import (
    BlockJacobi,
    DenseOperator,
    Jacobi,
    MatrixFreeOperator,
    SolveOptions,
    SolveResult,
    SolveStatus,
    solve,
)
from isoscope.gpu.transfer import Ledger
from tests.gpu.linear.systems import badly_scaled, general, right_sides, spd

SIZES = st.integers(1, 24)
SEEDS = st.integers(0, 2**31)
Method = Literal["cg", "gmres"]
METHODS: tuple[Method, ...] = ("cg", "gmres")
OPTIONS = SolveOptions(relative_tolerance=1e-14)


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


@given(SIZES, SEEDS, st.sampled_from([None, Jacobi()]))
def test_gmres_solves_general_systems(
    size: int, seed: int, preconditioner: Jacobi | None
) -> None:
    matrix, rhs = general(5, size, seed), right_sides(5, size, seed)
    options = SolveOptions(relative_tolerance=1e-12, preconditioner=preconditioner)
    result = solve(DenseOperator(matrix), rhs, options=options)
    verify(matrix, rhs, result, 1e-12)


@given(SIZES, SEEDS, st.sampled_from(METHODS))
def test_both_solve_positive_definite_systems(
    size: int, seed: int, method: Method
) -> None:
    matrix, rhs = spd(5, size, seed), right_sides(5, size, seed)
    options = SolveOptions(method=method, relative_tolerance=1e-12)
    verify(matrix, rhs, solve(DenseOperator(matrix), rhs, options=options), 1e-12)


@given(st.integers(2, 16), SEEDS, st.sampled_from(METHODS))
def test_both_solve_badly_scaled_systems(size: int, seed: int, method: Method) -> None:
    matrix, rhs = badly_scaled(5, size, seed)
    options = SolveOptions(
        method=method,
        preconditioner=Jacobi(),
        relative_tolerance=1e-9,
    )
    result = solve(DenseOperator(matrix), rhs, options=options)
    assert result.converged.all()
    actual = relative_residual(matrix, rhs, result.solution)
    assert torch.allclose(result.relative_residual, actual, rtol=0, atol=1e-10)
    assert (actual <= 1.1e-9).all()


@settings(max_examples=20)
@given(st.integers(4, 20), SEEDS)
def test_restarts_reach_the_same(size: int, seed: int) -> None:
    matrix, rhs = spd(3, size, seed), right_sides(3, size, seed)
    options = SolveOptions(restart=3, max_iterations=5000, relative_tolerance=1e-11)
    result = solve(DenseOperator(matrix), rhs, options=options)
    verify(matrix, rhs, result, 1e-11)
    assert (result.iterations > 3).any()


@pytest.mark.parametrize("size", [40, 60])
def test_many_unknowns(size: int) -> None:
    matrix, rhs = general(3, size, 5), right_sides(3, size, 5)
    options = SolveOptions(relative_tolerance=1e-12)
    verify(matrix, rhs, solve(DenseOperator(matrix), rhs, options=options), 1e-12)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("unit", [1e-30, 1.0, 1e30])
def test_float32_in_any_unit(method: Method, unit: float) -> None:
    matrix = spd(6, 5, 1).float()
    rhs = (right_sides(6, 5, 1) * unit).float()
    options = SolveOptions(method=method)
    result = solve(DenseOperator(matrix), rhs, options=options)
    assert result.converged.all()
    assert result.solution.dtype == torch.float32
    expected = torch.linalg.solve(matrix.double(), rhs.double()) / unit
    assert torch.allclose(
        result.solution.double() / unit, expected, rtol=1e-3, atol=1e-4
    )


def test_transposed_systems_are_the_adjoint() -> None:
    matrix = general(4, 6, 8)
    rhs, weight = right_sides(4, 6, 8), right_sides(4, 6, 9)
    operator = DenseOperator(matrix)
    options = SolveOptions(relative_tolerance=1e-13, preconditioner=BlockJacobi((2, 4)))
    forward = solve(operator, rhs, options=options).solution
    adjoint = solve(operator.transpose(), weight, options=options).solution
    # w . (A^-1 b) = (A^-T w) . b
    left, right = (weight * forward).sum(1), (adjoint * rhs).sum(1)
    assert torch.allclose(left, right, rtol=1e-11, atol=1e-12)


def test_inside_an_autograd_function() -> None:
    class Solve(torch.autograd.Function):
        @staticmethod
        def forward(  # type: ignore[override]
            ctx: torch.autograd.function.FunctionCtx,
            matrix: torch.Tensor,
            rhs: torch.Tensor,
        ) -> torch.Tensor:
            x = solve(DenseOperator(matrix), rhs, options=OPTIONS).solution
            ctx.save_for_backward(matrix, x)
            return x

        @staticmethod
        def backward(  # type: ignore[override]
            ctx: torch.autograd.function.FunctionCtx, gradient: torch.Tensor
        ) -> tuple[torch.Tensor, torch.Tensor]:
            matrix, x = ctx.saved_tensors  # type: ignore[attr-defined]
            operator = DenseOperator(matrix).transpose()
            adjoint = solve(operator, gradient, options=OPTIONS).solution
            return -adjoint.unsqueeze(2) * x.unsqueeze(1), adjoint

    matrix = general(3, 4, 2).requires_grad_()
    rhs = right_sides(3, 4, 2).requires_grad_()
    assert torch.autograd.gradcheck(Solve.apply, (matrix, rhs), rtol=1e-6)


def test_takes_no_part_in_autograd() -> None:
    matrix = general(2, 3, 0).requires_grad_()
    rhs = right_sides(2, 3, 0).requires_grad_()
    assert not solve(DenseOperator(matrix), rhs).solution.requires_grad


def test_a_function_serves_as_a_matrix() -> None:
    matrix, rhs = general(4, 5, 3), right_sides(4, 5, 3)
    operator = MatrixFreeOperator(
        lambda x: (matrix @ x.unsqueeze(2)).squeeze(2),
        rhs,
        apply_transposed=lambda x: (matrix.transpose(1, 2) @ x.unsqueeze(2)).squeeze(2),
        diagonal=matrix.diagonal(dim1=1, dim2=2),
    )
    options = SolveOptions(relative_tolerance=1e-12, preconditioner=Jacobi())
    verify(matrix, rhs, solve(operator, rhs, options=options), 1e-12)
    transposed = solve(operator.transpose(), rhs, options=options)
    verify(matrix.transpose(1, 2), rhs, transposed, 1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_a_good_guess_saves_iterations(method: Method) -> None:
    matrix, rhs = spd(4, 30, 3) + torch.eye(30), right_sides(4, 30, 3)
    exact = torch.linalg.solve(matrix, rhs)
    options = SolveOptions(method=method)
    operator = DenseOperator(matrix)
    at_once = solve(operator, rhs, guess=exact, options=options)
    assert at_once.iterations.tolist() == [0] * 4
    assert torch.allclose(at_once.solution, exact, rtol=1e-14)
    near = solve(operator, rhs, guess=exact * (1 + 1e-6), options=options)
    far = solve(operator, rhs, options=options)
    assert near.converged.all()
    assert (near.iterations < far.iterations).all()


def test_the_absolute_floor_counts_as_converged() -> None:
    matrix = spd(2, 4, 6)
    rhs = right_sides(2, 4, 6)
    rhs[1] *= 1e-9
    options = SolveOptions(absolute_tolerance=1e-6)
    result = solve(DenseOperator(matrix), rhs, options=options)
    assert result.converged.all()
    assert result.iterations[0] > 0
    assert result.iterations[1] == 0
    assert result.relative_residual[1] == 1.0


@pytest.mark.parametrize("method", METHODS)
def test_worlds_densest_in_memory_are_used_as_they_are(method: Method) -> None:
    matrix, rhs = spd(5, 4, 2), right_sides(5, 4, 2)
    options = SolveOptions(method=method)
    strided = matrix.permute(1, 2, 0).contiguous().permute(2, 0, 1)
    one = solve(DenseOperator(matrix), rhs, options=options)
    two = solve(DenseOperator(strided), rhs.t().contiguous().t(), options=options)
    assert torch.equal(one.solution, two.solution)
    assert DenseOperator(strided).diagonal().data_ptr() == strided.data_ptr()


def test_arguments_are_left_as_they_were() -> None:
    matrix, rhs = spd(5, 4, 2), right_sides(5, 4, 2)
    guess = torch.ones_like(rhs)
    copies = matrix.clone(), rhs.clone(), guess.clone()
    for method in METHODS:
        options = SolveOptions(method=method)
        solve(DenseOperator(matrix), rhs, guess=guess, options=options)
    for tensor, copy in zip((matrix, rhs, guess), copies, strict=True):
        assert torch.equal(tensor, copy)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_cuda_answers_and_asks_as_a_cpu(method: Method, dtype: torch.dtype) -> None:
    matrix, rhs = spd(64, 9, 1).to(dtype), right_sides(64, 9, 1).to(dtype)
    options = SolveOptions(
        method=method,
        preconditioner=BlockJacobi((3, 6)),
        check_every=100,
        timing=True,
    )
    results, books = [], []
    for device in ("cpu", "cuda"):
        ledger = Ledger()
        operator = DenseOperator(matrix.to(device))
        result = solve(operator, rhs.to(device), options=options, ledger=ledger)
        assert result.converged.all()
        assert result.timing is not None
        assert result.timing.iterations_s > 0
        results.append(result.solution.cpu())
        books.append(ledger.by_cause()["solver-status"])
    close = 1e-3 if dtype == torch.float32 else 1e-8
    assert torch.allclose(results[0], results[1], rtol=close, atol=close)
    assert books[0] == books[1]


def relative_residual(
    matrix: torch.Tensor, rhs: torch.Tensor, x: torch.Tensor
) -> torch.Tensor:
    residual = rhs - (matrix @ x.unsqueeze(2)).squeeze(2)
    return torch.linalg.vector_norm(residual, dim=1) / torch.linalg.vector_norm(
        rhs, dim=1
    )


def verify(
    matrix: torch.Tensor, rhs: torch.Tensor, result: SolveResult, tolerance: float
) -> None:
    """Every world converged, its residual is what it says, and the answer is right."""
    assert set(result.status.tolist()) == {SolveStatus.CONVERGED}
    assert (result.relative_residual <= tolerance).all()
    actual = relative_residual(matrix, rhs, result.solution)
    assert torch.allclose(result.relative_residual, actual, rtol=0, atol=1e-14)
    expected = torch.linalg.solve(matrix, rhs)
    error = torch.linalg.vector_norm(result.solution - expected, dim=1)
    bound = torch.linalg.cond(matrix) * torch.linalg.vector_norm(expected, dim=1)
    assert (error <= 2 * tolerance * bound).all()
