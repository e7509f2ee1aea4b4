"""Operators and preconditioners: what they multiply by, and what they save."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from isoscope.gpu.errors import LinearSystemError
from isoscope.gpu.linear_solver import (
    BlockJacobi,
    CsrOperator,
    CsrPattern,
    DenseOperator,
    Jacobi,
    MatrixFreeOperator,
    Operator,
    Preconditioner,
    SolveOptions,
    solve,
)
from isoscope.gpu.traffic import Traffic
from isoscope.gpu.transfer import Ledger
from tests.gpu.linear.systems import general, generator, right_sides, spd

Method = Literal["cg", "gmres"]
METHODS: tuple[Method, ...] = ("cg", "gmres")


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


def sparse(worlds: int, size: int, seed: int) -> tuple[torch.Tensor, CsrOperator]:
    """Random entries at random places; rows may be empty."""
    mask = torch.rand(size, size, generator=generator(seed)) < 0.4
    matrix = general(worlds, size, seed) * mask
    pattern = CsrPattern.from_mask(mask.numpy())
    return matrix, CsrOperator(pattern, matrix[:, mask])


@given(st.integers(1, 15), st.integers(0, 2**31))
def test_sparse_products_have_the_bits_of_dense_ones(size: int, seed: int) -> None:
    matrix, operator = sparse(3, size, seed)
    dense = DenseOperator(matrix)
    x = right_sides(3, size, seed).t().contiguous()
    # torch.equal takes -0 for 0, which is the only bit that may differ.
    assert torch.equal(operator.apply(x), dense.apply(x))
    expected = (matrix @ x.t().unsqueeze(2)).squeeze(2).t()
    assert torch.allclose(operator.apply(x), expected, rtol=1e-12, atol=1e-13)
    assert torch.equal(operator.transpose().apply(x), dense.transpose().apply(x))
    transposed = (matrix.transpose(1, 2) @ x.t().unsqueeze(2)).squeeze(2).t()
    assert torch.allclose(
        dense.transpose().apply(x), transposed, rtol=1e-12, atol=1e-13
    )
    again = operator.transpose().transpose()
    assert torch.equal(again.apply(x), operator.apply(x))
    assert torch.equal(operator.diagonal(), dense.diagonal())
    assert torch.equal(operator.block(0, size), dense.block(0, size))
    assert torch.equal(dense.block(0, size), matrix.permute(1, 2, 0))
    half = size // 2
    assert torch.equal(
        operator.transpose().block(half, size - half),
        matrix[:, half:, half:].permute(2, 1, 0),
    )


@pytest.mark.parametrize("method", METHODS)
def test_sparse_answers_have_the_bits_of_dense_ones(method: Method) -> None:
    matrix = spd(4, 9, 2)
    places = torch.arange(9)
    mask = (places[:, None] - places).abs() <= 1
    matrix = matrix * mask + 2 * torch.eye(9)
    pattern = CsrPattern.from_mask(mask.numpy())
    options = SolveOptions(method=method, preconditioner=BlockJacobi((3, 3, 3)))
    rhs = right_sides(4, 9, 2)
    one = solve(CsrOperator(pattern, matrix[:, mask]), rhs, options=options)
    two = solve(DenseOperator(matrix), rhs, options=options)
    assert one.converged.all()
    assert torch.equal(one.solution, two.solution)
    assert torch.equal(one.relative_residual, two.relative_residual)


def test_patterns_by_hand() -> None:
    pattern = CsrPattern([0, 2, 2, 3], [0, 2, 1])
    assert (pattern.size, pattern.nnz) == (3, 3)
    operator = CsrOperator(pattern, torch.tensor([[1.0, 2.0, 3.0]]))
    assert operator.apply(torch.tensor([[1.0], [10], [100]])).flatten().tolist() == [
        201.0,
        0.0,
        30.0,
    ]
    assert operator.diagonal().flatten().tolist() == [1.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("offsets", "columns", "message"),
    [
        ([0], [], "one entry more"),
        ([1, 2], [0], "begin with 0"),
        ([0, 2, 1], [0, 1], "never fall"),
        ([0, 1], [0, 0], "ends with 1, but there are 2 columns"),
        ([0, 1], [1], "outside of 0 to 0"),
        ([0, 1], [-1], "outside of 0 to 0"),
        ([0, 2, 2], [1, 0], "rise within each row"),
        ([0, 2, 2], [1, 1], "rise within each row"),
        ([0, 1], [0.5], "list of integers"),
        ([[0, 1]], [0], "list of integers"),
    ],
)
def test_what_is_no_pattern(
    offsets: list[int], columns: list[int], message: str
) -> None:
    with pytest.raises(LinearSystemError, match=message):
        CsrPattern(offsets, columns)


def test_values_that_do_not_fit_the_pattern() -> None:
    pattern = CsrPattern.from_mask(np.eye(3))
    for shape in ([2, 4], [3], [0, 3]):
        with pytest.raises(LinearSystemError, match=r"has to be \[W, 3\]"):
            CsrOperator(pattern, torch.zeros(shape))
    with pytest.raises(LinearSystemError, match=r"has to be \[n, n\]"):
        CsrPattern.from_mask(np.ones((2, 3)))


def test_a_pattern_goes_to_the_device_once() -> None:
    pattern = CsrPattern.from_mask(np.eye(3))
    values, rhs = torch.ones(2, 3, dtype=torch.float64), right_sides(2, 3, 0)
    options = SolveOptions(preconditioner=BlockJacobi((1, 2)))
    books = []
    for _ in range(3):
        ledger = Ledger()
        operator = CsrOperator(pattern, values, ledger)
        solve(operator, rhs, options=options, ledger=ledger)
        solve(operator.transpose(), rhs, options=options, ledger=ledger)
        books.append(ledger.by_cause())
    assert "solver-pattern" not in books[1]
    assert books[1] == books[2]
    # Rows, columns and two blocks of both patterns, and the order of the transposed.
    assert books[0]["solver-pattern"] == Traffic(
        h2d_bytes=8 * (2 * (3 + 3 + 1 + 4) + 3), h2d_copies=9
    )


def test_a_pattern_without_entries() -> None:
    operator = CsrOperator(CsrPattern([0, 0, 0], []), torch.zeros(1, 0))
    assert operator.apply(torch.ones(2, 1)).flatten().tolist() == [0.0, 0.0]


def iterations(
    operator: Operator,
    rhs: torch.Tensor,
    method: Method,
    preconditioner: Preconditioner | None,
) -> int:
    options = SolveOptions(
        method=method, preconditioner=preconditioner, max_iterations=2000
    )
    result = solve(operator, rhs, options=options)
    assert result.converged.all()
    return int(result.iterations.max())


@pytest.mark.parametrize("method", METHODS)
def test_jacobi_undoes_units(method: Method) -> None:
    size = 30
    units = torch.linspace(1, 100, size, dtype=torch.float64)
    near = torch.eye(size, dtype=torch.float64) + 0.02 * spd(3, size, 0)
    matrix = near * units[:, None] * units[None, :]
    rhs = right_sides(3, size, 0)
    operator = DenseOperator(matrix)
    plain = iterations(operator, rhs, method, None)
    assert iterations(operator, rhs, method, Jacobi()) < plain / 2


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("sizes", [(6,) * 5, (6, 6, 3, 3, 6, 6)])
def test_blocks_that_are_all_there_is_need_one_iteration(
    method: Method, sizes: tuple[int, ...]
) -> None:
    blocks = [spd(3, size, k) for k, size in enumerate(sizes)]
    matrix = torch.stack([torch.block_diag(*(b[w] for b in blocks)) for w in range(3)])
    rhs = right_sides(3, 30, 0)
    operator = DenseOperator(matrix)
    assert iterations(operator, rhs, method, None) > 5
    assert iterations(operator, rhs, method, Jacobi()) > 5
    assert iterations(operator, rhs, method, BlockJacobi(sizes)) <= 2


def test_blocks_of_the_transposed_matrix() -> None:
    matrix = torch.stack(
        [torch.block_diag(*general(3, 4, seed).unbind(0)) for seed in range(2)]
    )
    operator = DenseOperator(matrix).transpose()
    rhs = right_sides(2, 12, 0)
    assert iterations(operator, rhs, "gmres", BlockJacobi((4, 4, 4))) == 1


def test_parts_that_can_not_be_inverted_count_as_one() -> None:
    x = torch.ones(4, 2, dtype=torch.float64)
    matrix = torch.zeros(2, 4, 4, dtype=torch.float64)
    matrix[0] = torch.diag(torch.tensor([2.0, 4.0, 0.0, 5e-324], dtype=torch.float64))
    matrix[1] = torch.nan
    operator = DenseOperator(matrix)
    jacobi = Jacobi().build(operator)(x)
    assert jacobi[:, 0].tolist() == [0.5, 0.25, 1.0, 1.0]
    assert jacobi[:, 1].tolist() == [1.0] * 4
    blocks = BlockJacobi((2, 2)).build(operator)(x)
    assert blocks[:, 0].tolist() == [0.5, 0.25, 1.0, 1.0]
    assert blocks[:, 1].tolist() == [1.0] * 4


@pytest.mark.parametrize("sizes", [(), (2, 3), (4, 0), (5, -1)])
def test_blocks_that_do_not_add_up(sizes: tuple[int, ...]) -> None:
    with pytest.raises(LinearSystemError, match="add up to 4 unknowns"):
        BlockJacobi(sizes).build(DenseOperator(general(2, 4, 0)))


def test_functions_show_no_blocks() -> None:
    operator = MatrixFreeOperator(lambda x: x, right_sides(2, 4, 0))
    with pytest.raises(LinearSystemError, match="block of 2 at 0 is not known"):
        BlockJacobi((2, 2)).build(operator)
    with pytest.raises(LinearSystemError, match=r"diagonal's shape is \[2, 3\]"):
        MatrixFreeOperator(
            lambda x: x, right_sides(2, 4, 0), diagonal=right_sides(2, 3, 0)
        )
    with pytest.raises(LinearSystemError, match=r"has to be \[W, n\]"):
        MatrixFreeOperator(lambda x: x, torch.ones(3))
