"""Each way in which a world's solve can end, without a word to the other worlds."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import pytest
import torch

from isoscope.gpu.errors import LinearSystemError, TransferError
from isoscope.gpu.linear_solver import (
    DenseOperator,
    Jacobi,
    MatrixFreeOperator,
    SolveCounts,
    SolveOptions,
    SolveStatus,
    solve,
    solve_arrays,
)
from isoscope.gpu.traffic import Traffic
from isoscope.gpu.transfer import Ledger
from tests.gpu.linear.systems import general, right_sides, spd

Method = Literal["cg", "gmres"]
METHODS: tuple[Method, ...] = ("cg", "gmres")
WORLDS, SIZE, SICK = 5, 4, 2


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("place", ["matrix", "right-hand side", "guess"])
def test_what_is_not_finite_stays_in_its_world(
    method: Method, value: float, place: str
) -> None:
    matrix, rhs = spd(WORLDS, SIZE, 1), right_sides(WORLDS, SIZE, 1)
    guess = torch.zeros_like(rhs)
    options = SolveOptions(method=method, preconditioner=Jacobi())
    well = solve(DenseOperator(matrix), rhs, guess=guess, options=options)
    if place == "matrix":
        matrix[SICK, 1, 3] = value
    elif place == "guess":
        guess[SICK, 1] = value
    else:
        rhs[SICK, 1] = value
    result = solve(DenseOperator(matrix), rhs, guess=guess, options=options)
    others = [w for w in range(WORLDS) if w != SICK]
    assert result.status[SICK] == SolveStatus.NOT_FINITE
    assert math.isnan(result.relative_residual[SICK].item())
    for name in ("solution", "status", "iterations", "relative_residual"):
        assert torch.equal(getattr(result, name)[others], getattr(well, name)[others])
    assert well.converged.all()


@pytest.mark.parametrize("method", METHODS)
def test_a_zero_right_hand_side_has_the_answer_zero(method: Method) -> None:
    matrix, rhs = spd(3, SIZE, 1), right_sides(3, SIZE, 1)
    rhs[1] = 0
    for guess in (None, torch.ones_like(rhs)):
        result = solve(
            DenseOperator(matrix), rhs, guess=guess, options=SolveOptions(method=method)
        )
        assert result.converged.all()
        assert result.solution[1].tolist() == [0.0] * SIZE
        assert result.iterations[1] == 0
        assert result.relative_residual[1] == 0
        assert result.iterations[0] > 0


@pytest.mark.parametrize("method", METHODS)
def test_zero_times_what_is_not_finite_is_not_zero(method: Method) -> None:
    matrix = spd(2, SIZE, 1)
    matrix[0, 0, 0] = math.nan
    result = solve(
        DenseOperator(matrix),
        torch.zeros(2, SIZE, dtype=torch.float64),
        options=SolveOptions(method=method),
    )
    assert result.status.tolist() == [SolveStatus.NOT_FINITE, SolveStatus.CONVERGED]


@pytest.mark.parametrize("method", METHODS)
def test_the_cap_stops(method: Method) -> None:
    matrix, rhs = spd(3, 20, 1), right_sides(3, 20, 1)
    options = SolveOptions(method=method, max_iterations=4, restart=3)
    result = solve(DenseOperator(matrix), rhs, options=options)
    assert result.status.tolist() == [SolveStatus.STOPPED] * 3
    assert result.iterations.tolist() == [4] * 3
    assert ((result.relative_residual > 1e-10) & (result.relative_residual < 1)).all()


@pytest.mark.parametrize("method", METHODS)
def test_a_tolerance_that_rounding_forbids_stops(method: Method) -> None:
    matrix, rhs = spd(3, 8, 1), right_sides(3, 8, 1)
    options = SolveOptions(method=method, relative_tolerance=1e-19)
    result = solve(DenseOperator(matrix), rhs, options=options)
    assert result.status.tolist() == [SolveStatus.STOPPED] * 3
    assert (result.relative_residual < 1e-13).all()
    # It is seen before the cap, which is 80 here.
    assert (result.iterations < 40).all()


@pytest.mark.parametrize("method", METHODS)
def test_a_singular_matrix_breaks_down(method: Method) -> None:
    matrix = torch.tensor([[1.0, 1.0], [1.0, 1.0]], dtype=torch.float64)
    zero = torch.zeros_like(matrix)
    batch = torch.stack((matrix, zero, matrix, torch.eye(2, dtype=torch.float64)))
    rhs = torch.tensor([[1.0, -1.0], [1, 2], [3, 3], [1, 2]], dtype=torch.float64)
    options = SolveOptions(method=method)
    result = solve(DenseOperator(batch), rhs, options=options)
    assert result.status.tolist() == [
        SolveStatus.BREAKDOWN,
        SolveStatus.BREAKDOWN,
        SolveStatus.CONVERGED,  # it is in the range of the matrix
        SolveStatus.CONVERGED,
    ]
    assert torch.isfinite(result.solution).all()


def test_gmres_takes_no_step_along_what_the_matrix_ignores() -> None:
    matrix = torch.tensor([[[1.0, 0.0], [0.0, 0.0]]], dtype=torch.float64)
    result = solve(DenseOperator(matrix), torch.ones(1, 2, dtype=torch.float64))
    assert result.status.tolist() == [SolveStatus.BREAKDOWN]
    assert result.solution[0].tolist() == pytest.approx([1.0, 1.0])
    assert result.relative_residual[0].item() == pytest.approx(0.5**0.5)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("method", METHODS)
def test_a_matrix_singular_within_rounding_is_not_taken_for_solved(
    method: Method, seed: int
) -> None:
    root = torch.randn(
        3, 6, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)
    )
    matrix = root @ root.transpose(1, 2)
    rhs = right_sides(3, 6, seed)
    result = solve(DenseOperator(matrix), rhs, options=SolveOptions(method=method))
    assert not result.converged.any()
    assert (result.relative_residual > 1e-3).all()


def test_cg_breaks_down_on_an_indefinite_matrix() -> None:
    matrix = torch.diag_embed(
        torch.tensor([[1.0, -1.0], [-1, -1], [2, 1]], dtype=torch.float64)
    )
    rhs = torch.ones(3, 2, dtype=torch.float64)
    options = SolveOptions(method="cg")
    result = solve(DenseOperator(matrix), rhs, options=options)
    assert result.status.tolist() == [
        SolveStatus.BREAKDOWN,
        SolveStatus.BREAKDOWN,
        SolveStatus.CONVERGED,
    ]
    assert solve(DenseOperator(matrix), rhs).converged.all()


def test_cg_diverges_on_a_matrix_that_is_not_symmetric() -> None:
    matrix = torch.tensor([[[1e-9, 1.0], [-1.0, 1e-9]]], dtype=torch.float64)
    rhs = torch.ones(1, 2, dtype=torch.float64)
    result = solve(DenseOperator(matrix), rhs, options=SolveOptions(method="cg"))
    assert result.status.tolist() == [SolveStatus.DIVERGED]
    assert result.iterations[0] == 1
    assert result.relative_residual[0] > 1e8
    assert solve(DenseOperator(matrix), rhs).converged.all()


def test_what_diverged_is_left_alone_while_others_go_on() -> None:
    # Another product with the residual that this ends with would overflow.
    turn = 1e300 * torch.tensor([[1e-12, 1.0], [-1.0, 1e-12]], dtype=torch.float64)
    sick, well = torch.block_diag(turn, turn), spd(1, 4, 1)[0]
    rhs = torch.ones(2, 4, dtype=torch.float64)
    options = SolveOptions(method="cg")
    alone = solve(DenseOperator(sick[None]), rhs[:1], options=options)
    both = solve(DenseOperator(torch.stack((sick, well))), rhs, options=options)
    assert alone.status.tolist() == [SolveStatus.DIVERGED]
    assert both.status.tolist() == [SolveStatus.DIVERGED, SolveStatus.CONVERGED]
    assert torch.equal(both.solution[:1], alone.solution)


def test_cg_never_takes_a_wrong_answer_for_one() -> None:
    matrix, rhs = general(50, 6, 3), right_sides(50, 6, 3)
    result = solve(DenseOperator(matrix), rhs, options=SolveOptions(method="cg"))
    expected = torch.linalg.solve(matrix, rhs)
    good = result.converged
    assert not good.all()
    assert torch.allclose(result.solution[good], expected[good], rtol=1e-6)


def test_restarts_that_gain_nothing_stop_at_the_cap() -> None:
    # Turning the unknowns round leaves the residual what it was, until the n-th step.
    matrix = torch.roll(torch.eye(5, dtype=torch.float64), 1, 0).unsqueeze(0)
    rhs = torch.zeros(1, 5, dtype=torch.float64)
    rhs[0, 0] = 1
    short = solve(DenseOperator(matrix), rhs, options=SolveOptions(restart=4))
    assert short.status.tolist() == [SolveStatus.STOPPED]
    assert short.iterations.tolist() == [50]
    whole = solve(DenseOperator(matrix), rhs, options=SolveOptions(restart=5))
    assert whole.iterations.tolist() == [5]
    assert whole.converged.all()


def test_overflow_on_the_way_is_not_finite() -> None:
    matrix = torch.tensor([[[1e30, 1e30], [-1e30, 1e30]]], dtype=torch.float32)
    rhs = torch.ones(1, 2, dtype=torch.float32)
    result = solve(DenseOperator(matrix), rhs, options=SolveOptions(method="gmres"))
    assert result.status.tolist() == [SolveStatus.NOT_FINITE]
    assert torch.isfinite(result.solution).all()


def test_overflow_of_the_curvature_is_not_finite() -> None:
    matrix = 3e38 * torch.eye(4).unsqueeze(0)
    rhs = torch.full((1, 4), 0.9)
    result = solve(DenseOperator(matrix), rhs, options=SolveOptions(method="cg"))
    assert result.status.tolist() == [SolveStatus.NOT_FINITE]
    assert result.iterations.tolist() == [0]


def test_counts_by_kind() -> None:
    matrix = torch.diag_embed(
        torch.tensor([[1.0, -1.0], [1, 1], [2, 1], [math.nan, 1]], dtype=torch.float64)
    )
    rhs = torch.ones(4, 2, dtype=torch.float64)
    ledger = Ledger()
    options = SolveOptions(method="cg", max_iterations=1)
    result = solve(DenseOperator(matrix), rhs, options=options)
    assert result.counts(ledger) == SolveCounts(converged=1, stopped=1, diverged=2)
    assert ledger.by_cause() == {
        "solver-status": Traffic(d2h_bytes=40, d2h_copies=1, syncs=1)
    }


def test_shapes_that_do_not_fit() -> None:
    operator = DenseOperator(general(3, 4, 0))
    rhs = right_sides(3, 4, 0)
    with pytest.raises(LinearSystemError, match=r"sides have shape \[3, 5\].*\[3, 4\]"):
        solve(operator, right_sides(3, 5, 0))
    with pytest.raises(LinearSystemError, match=r"guesses have shape \[2, 4\]"):
        solve(operator, rhs, guess=rhs[:2])
    with pytest.raises(LinearSystemError, match=r"float32 on cpu, and the matrices"):
        solve(operator, rhs.float())
    for shape in ([3, 4], [3, 4, 5], [0, 2, 2], [2, 0, 0]):
        with pytest.raises(LinearSystemError, match=r"has to be \[W, n, n\]"):
            DenseOperator(torch.zeros(shape))
    with pytest.raises(LinearSystemError, match=r"are torch\.int64, not one of"):
        DenseOperator(torch.zeros(1, 2, 2, dtype=torch.int64))


def test_functions_that_do_not_fit() -> None:
    rhs = right_sides(3, 4, 0)
    operator = MatrixFreeOperator(lambda x: x[:, :2], rhs)
    with pytest.raises(LinearSystemError, match=r"returned torch.float64 \[3, 2\]"):
        solve(operator, rhs)
    with pytest.raises(LinearSystemError, match="give apply_transposed"):
        operator.transpose()
    with pytest.raises(LinearSystemError, match="give diagonal"):
        solve(operator, rhs, options=SolveOptions(preconditioner=Jacobi()))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"method": "lu"}, "'lu' is no method; use gmres or cg"),
        ({"max_iterations": 0}, "max_iterations is 0"),
        ({"restart": 0}, "restart is 0"),
        ({"check_every": -1}, "check_every is -1"),
        ({"relative_tolerance": math.nan}, "relative_tolerance is nan"),
        ({"absolute_tolerance": -1.0}, "absolute_tolerance is -1.0"),
        ({"divergence_limit": 1.0}, "divergence_limit is 1.0"),
    ],
)
def test_options_that_make_no_sense(values: dict[str, object], message: str) -> None:
    with pytest.raises(LinearSystemError, match=message):
        SolveOptions(**values)  # type: ignore[arg-type]


def test_the_ledger_books_each_question() -> None:
    matrix, rhs = spd(3, 6, 1), right_sides(3, 6, 1)
    asked = {}
    for check_every in (1, 2, 4, 100):
        ledger = Ledger()
        options = SolveOptions(method="cg", check_every=check_every)
        result = solve(DenseOperator(matrix), rhs, options=options, ledger=ledger)
        assert int(result.iterations.max()) == 6
        (cause,) = ledger.by_cause()
        assert cause == "solver-status"
        asked[check_every] = ledger.totals()
    # After 1, 2, ... 6 iterations (4, 8 and so on), and once whether a restart is due.
    # The cap of 60 is the last chance that is left to whoever never asks.
    for check_every, questions in {1: 6 + 1, 2: 3 + 1, 4: 2 + 1, 100: 0 + 1}.items():
        assert asked[check_every] == Traffic(
            d2h_bytes=questions, d2h_copies=questions, syncs=questions
        )


def test_the_ledger_books_gmres_questions() -> None:
    matrix, rhs = general(3, 6, 1), right_sides(3, 6, 1)
    ledger = Ledger()
    result = solve(DenseOperator(matrix), rhs, ledger=ledger)
    assert result.iterations.tolist() == [6] * 3
    # After 1 to 5 iterations; the sixth ends the space anyway; and then once.
    assert ledger.totals() == Traffic(d2h_bytes=6, d2h_copies=6, syncs=6)


def test_arrays_there_and_back() -> None:
    matrix, rhs = general(3, 4, 1).numpy(), right_sides(3, 4, 1).numpy()
    ledger = Ledger()
    options = SolveOptions(timing=True, preconditioner=Jacobi())
    result = solve_arrays(
        matrix, rhs, device="cpu", options=options, ledger=ledger, precision="float64"
    )
    expected = np.linalg.solve(matrix, rhs[..., None])[..., 0]
    np.testing.assert_allclose(result.solution, expected, rtol=1e-9)
    assert result.solution.flags.owndata
    assert result.status.tolist() == [0, 0, 0]
    by_cause = ledger.by_cause()
    assert by_cause["solver-system"] == Traffic(
        h2d_bytes=8 * (3 * 16 + 3 * 4), h2d_copies=2
    )
    assert by_cause["solver-solution"] == Traffic(
        d2h_bytes=3 * (4 * 8 + 1 + 4 + 8), d2h_copies=4, syncs=4
    )
    assert result.timing is not None
    for part in (
        result.timing.host_to_device_s,
        result.timing.preconditioner_s,
        result.timing.iterations_s,
        result.timing.read_back_s,
        result.timing.device_to_host_s,
    ):
        assert part > 0


def test_arrays_that_are_none() -> None:
    with pytest.raises(TransferError, match="copying solver-system to cpu"):
        solve_arrays([["a"]], [[1.0]], device="cpu")
    with pytest.raises(LinearSystemError, match="right-hand sides have shape"):
        solve_arrays(np.ones((2, 3, 3)), np.ones(3), device="cpu")


def test_time_is_taken_only_when_asked_for() -> None:
    operator, rhs = DenseOperator(general(3, 4, 1)), right_sides(3, 4, 1)
    assert solve(operator, rhs).timing is None
    timing = solve(operator, rhs, options=SolveOptions(timing=True)).timing
    assert timing is not None
    assert timing.iterations_s > 0
    assert timing.read_back_s > 0
    assert timing.host_to_device_s == timing.device_to_host_s == 0
    assert timing.preconditioner_s == 0
