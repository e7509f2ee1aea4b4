"""Newton's method on equations of which the answer is known."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from isoscope.gpu.integrators.newton import NewtonOptions, newton, row_sizes
from isoscope.gpu.integrators.tree_blocks import TreeBlocks, factorised, substituted
from isoscope.gpu.linear_solver import DenseOperator
from isoscope.gpu.model.build import build_tree
from isoscope.gpu.transfer import Ledger
from tests.gpu.dynamics.models import forest

ONE = TreeBlocks(((0, 1),))


class Scalar:
    """One unknown: f(x) = 0, each world with its own parameter."""

    def __init__(self, name: str, shift: torch.Tensor) -> None:
        self.name = name
        self.shift = shift
        self.asked = 0

    def value(self, x: torch.Tensor) -> tuple[torch.Tensor, Any]:
        self.asked += 1
        y = x - self.shift
        if self.name == "bend":  # of atan's kind, without atan: steps overshoot
            return y / torch.sqrt(1 + y * y), None
        if self.name == "kink":
            return torch.where(y < 0, 0.01 * y, 5.0 * y), None
        if self.name == "none":
            return 1 + y * y, None
        return 3.0 * y, None

    def linearise(
        self, x: torch.Tensor, found: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        y = x - self.shift
        root = torch.sqrt(1 + y * y)
        slope = {
            "bend": 1 / (root * root * root),
            "kink": torch.where(y < 0, 0.01, 5.0).to(y.dtype),
            "none": 2 * y,
            "line": torch.full_like(y, 3.0),
        }[self.name]
        self.asked -= 1
        return self.value(x)[0], slope[None]


def solved(
    name: str, start: list[float], shift: float = 0.0, cap: int = 50, every: int = 1
) -> Any:
    x = torch.tensor([start], dtype=torch.float64)
    equations = Scalar(name, torch.full_like(x, shift))
    options = NewtonOptions(1e-12, cap, every)
    return newton(equations, x, torch.zeros(len(start)), options, ONE, Ledger())


def test_a_line_takes_one_step() -> None:
    result = solved("line", [4.0, -2.0], 1.0)
    assert result.status.tolist() == [0, 0]
    assert result.iterations.tolist() == [1, 1]
    assert result.solution[0].tolist() == [1.0, 1.0]


def test_steps_that_overshoot_are_shortened() -> None:
    # undamped, x becomes -x³: it runs away from beyond 1
    result = solved("bend", [0.5, 1.2, 3.0])
    assert result.status.tolist() == [0, 0, 0]
    assert result.solution.abs().max() < 1e-11
    assert result.iterations[2] > result.iterations[0]


def test_a_kink_is_passed() -> None:
    result = solved("kink", [-5.0, 5.0, -0.1], 0.3)
    assert result.status.tolist() == [0, 0, 0]
    torch.testing.assert_close(result.solution, torch.full_like(result.solution, 0.3))


def test_what_has_no_solution_is_stopped_and_holds_nobody_up() -> None:
    torch.set_num_threads(1)
    result = solved("none", [0.7, 2.0], cap=12)
    assert result.status.tolist() == [1, 1]
    assert result.iterations.tolist() == [12, 12]


def test_what_is_not_finite_is_given_up() -> None:
    result = solved("line", [math.nan, 2.0, math.inf])
    assert result.status.tolist() == [2, 0, 2]
    assert result.solution[0, 1].item() == 0.0


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(-5, 5), min_size=1, max_size=6), st.integers(1, 5))
def test_worlds_end_alike_alone_and_asked_rarely(
    start: list[float], every: int
) -> None:
    torch.set_num_threads(1)
    together = solved("bend", start, 0.1)
    rarely = solved("bend", start, 0.1, every=every)
    assert torch.equal(together.solution, rarely.solution)
    assert torch.equal(together.iterations, rarely.iterations)
    assert torch.equal(together.residual, rarely.residual)
    for world, x in enumerate(start):
        alone = solved("bend", [x], 0.1)
        assert alone.solution[0, 0] == together.solution[0, world]


def test_residuals_are_measured_in_their_own_units() -> None:
    matrix = torch.tensor([[1000.0, 1.0], [2.0, 0.5]], dtype=torch.float64)[..., None]
    unit = row_sizes(matrix, torch.tensor([[3.0], [0.0]], dtype=torch.float64))
    assert unit[:, 0].tolist() == [4000.0, 8.0]
    # the second equation in other units: its measure changes with it
    matrix[1] *= 1e-3
    unit = row_sizes(matrix, torch.tensor([[3.0], [0.0]], dtype=torch.float64))
    assert unit[:, 0].tolist() == pytest.approx([4000.0, 8e-3])
    assert row_sizes(torch.zeros(1, 1, 1), torch.zeros(1, 1)).tolist() == [[1.0]]


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 9), st.integers(0, 100))
def test_blocks_are_solved(size: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    matrix = torch.randn(size, size, 4, dtype=torch.float64, generator=generator)
    matrix = matrix + 2 * size * torch.eye(size, dtype=torch.float64)[..., None]
    right = torch.randn(size, 4, dtype=torch.float64, generator=generator)
    found = substituted(factorised(matrix), right)
    back = torch.einsum("ijw,jw->iw", matrix, found)
    torch.testing.assert_close(back, right, rtol=1e-12, atol=1e-12)


def test_a_block_that_cannot_be_factorised_is_the_identity() -> None:
    matrix = torch.eye(2, dtype=torch.float64)[..., None].repeat(1, 1, 3) * 2
    matrix[:, :, 1] = 0.0
    matrix[0, 0, 2] = math.nan
    right = torch.ones(2, 3, dtype=torch.float64)
    found = substituted(factorised(matrix), right)
    assert found.tolist() == [[0.5, 1.0, 1.0], [0.5, 1.0, 1.0]]


def test_blocks_are_the_actors_or_all_where_few_may_touch() -> None:
    tree = build_tree(forest())
    assert TreeBlocks.of(tree, touching=False).spans == ((0, 10), (10, 15), (15, 21))
    assert TreeBlocks.of(tree, touching=True).spans == ((0, 21),)
    matrix = torch.eye(21, dtype=torch.float64).repeat(2, 1, 1) * 4
    apply = TreeBlocks.of(tree, touching=False).build(DenseOperator(matrix))
    ones = torch.ones(21, 2, dtype=torch.float64)
    assert torch.equal(apply(ones), ones / 4)
