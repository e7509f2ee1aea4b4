"""One batched solve: cycles of a method, and after each the residual computed anew.

A method works on all worlds at once and freezes each as it is done: its coefficients
are zero from then on, so that its vectors keep their bits however long the others take.
What decides about a world (its iterations, its restarts, its end) depends on that world
only; how often the host asks whether all are done changes no bit.

Right-hand sides are divided by the power of two of their largest entry first. That is
exact, and squares of residuals neither overflow nor vanish in float32.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import torch

from isoscope.gpu.device import contract, power_of_two
from isoscope.gpu.linear.status import (
    RUNNING,
    STATUS_CAUSE,
    SolveResult,
    SolveStatus,
)

if TYPE_CHECKING:
    from isoscope.gpu.linear.operators import Operator
    from isoscope.gpu.linear.preconditioners import Apply
    from isoscope.gpu.linear.status import SolveOptions
    from isoscope.gpu.linear.timing import PartTimer
    from isoscope.gpu.transfer import Ledger


class System:
    """What a method may do with the matrices, and what it may ask.

    Parameters
    ----------
    operator, options, ledger, timer
        As the solve was given them.
    """

    def __init__(
        self,
        operator: Operator,
        options: SolveOptions,
        ledger: Ledger,
        timer: PartTimer,
    ) -> None:
        self._operator = operator
        self._ledger = ledger
        self._timer = timer
        self._apply: Apply | None = None
        if options.preconditioner is not None:
            with timer.part("preconditioner"):
                self._apply = options.preconditioner.build(operator)
        self.size = operator.size
        self.restart = min(options.restart, operator.size)
        self.cap = options.cap_for(operator.size)
        self._check_every = options.check_for(operator.device)

    def multiply(self, x: torch.Tensor) -> torch.Tensor:
        """Return A x, ``[n, W]``."""
        return self._operator.apply(x)

    def precondition(self, residual: torch.Tensor) -> torch.Tensor:
        """Return M residual, ``[n, W]``; the residual itself where there is no M."""
        if self._apply is None:
            return residual
        with self._timer.part("preconditioner"):
            return self._apply(residual)

    def all_done(self, active: torch.Tensor, iteration: int) -> bool:
        """Ask whether no world is active; False without asking where none is due."""
        return iteration % self._check_every == 0 and not self.any_of(active)

    def any_of(self, flags: torch.Tensor) -> bool:
        """Read back whether any of ``[W]`` flags is set; the ledger books it."""
        with self._timer.part("read_back"):
            return self._ledger.read_flag(flags.any(), STATUS_CAUSE)


@dataclass
class State:
    """Where the worlds are between two cycles; not to be changed in place.

    Vectors are ``[n, W]``, the rest ``[W]``. ``target`` is the residual norm that
    counts as converged, ``limit`` the one that counts as diverged; ``norm`` is that of
    ``residual``, which is b - A x computed anew.
    """

    x: torch.Tensor
    residual: torch.Tensor
    norm: torch.Tensor
    target: torch.Tensor
    limit: torch.Tensor
    running: torch.Tensor
    iterations: torch.Tensor


@dataclass
class CycleEnd:
    """What a cycle reached: the next ``x``, and ``[W]`` flags of what ended it.

    ``claimed``: by the method's own account converged. ``broken``: it can't go on.
    ``not_finite``: it met a number that is not finite.
    """

    x: torch.Tensor
    iterations: torch.Tensor
    claimed: torch.Tensor
    broken: torch.Tensor
    not_finite: torch.Tensor


class Method(Protocol):
    """Improves the running worlds until each is done or a restart is due."""

    def __call__(self, system: System, state: State) -> CycleEnd:
        """Run one cycle; worlds that are not running keep their x."""


def run(
    method: Method,
    operator: Operator,
    rhs: torch.Tensor,
    guess: torch.Tensor | None,
    options: SolveOptions,
    ledger: Ledger,
    timer: PartTimer,
) -> SolveResult:
    """Solve for ``[W, n]`` right-hand sides; the arguments fit together already."""
    with timer.part("iterations"):
        system = System(operator, options, ledger, timer)
        rhs = rhs.t().contiguous()
        scale = power_of_two(rhs.abs().amax(0))
        rhs = rhs / scale
        rhs_norm = norm(rhs)
        state = _begin(system, rhs, rhs_norm, guess, scale, options)
        status = _first_status(state, rhs_norm)
        # A guess may be the answer: then there is no cycle to run.
        open_ = guess is None or system.any_of(status == RUNNING)
        for _ in range(system.cap if open_ else 0):
            state.running = status == RUNNING
            end = method(system, state)
            status = _settle(system, rhs, state, end, status)
            if not system.any_of(status == RUNNING):
                break
        relative = state.norm / torch.where(rhs_norm > 0, rhs_norm, 1.0)
        relative = torch.where(status == SolveStatus.NOT_FINITE, torch.nan, relative)
        solution = (state.x * scale).t()
    return SolveResult(solution, status, state.iterations, relative)


def norm(vectors: torch.Tensor) -> torch.Tensor:
    """Return the Euclidean norms ``[W]`` of ``[n, W]``, of numbers around 1."""
    return torch.sqrt(contract(vectors, vectors, 0))


def _begin(
    system: System,
    rhs: torch.Tensor,
    rhs_norm: torch.Tensor,
    guess: torch.Tensor | None,
    scale: torch.Tensor,
    options: SolveOptions,
) -> State:
    if guess is None:
        x, residual, size = torch.zeros_like(rhs), rhs, rhs_norm
    else:
        # Where b is 0 the answer is 0, exactly. Adding 0 turns -0 into 0; no sum does
        # the reverse, so that a frozen world may add zeros.
        x = torch.where(rhs_norm == 0, 0.0, guess.t() / scale + 0.0)
        residual = rhs - system.multiply(x)
        size = norm(residual)
    relative = options.tolerance_for(rhs.dtype)
    target = torch.maximum(rhs_norm * relative, options.absolute_tolerance / scale)
    limit = torch.maximum(size, rhs_norm) * options.divergence_limit
    done = torch.zeros_like(size, dtype=torch.bool)
    iterations = torch.zeros_like(size, dtype=torch.int32)
    return State(x, residual, size, target, limit, done, iterations)


def _first_status(state: State, rhs_norm: torch.Tensor) -> torch.Tensor:
    status = torch.full_like(state.norm, RUNNING, dtype=torch.int8)
    status = status.masked_fill(state.norm <= state.target, SolveStatus.CONVERGED)
    finite = torch.isfinite(state.norm) & torch.isfinite(rhs_norm)
    return status.masked_fill(~finite, SolveStatus.NOT_FINITE)


def _settle(
    system: System,
    rhs: torch.Tensor,
    state: State,
    end: CycleEnd,
    status: torch.Tensor,
) -> torch.Tensor:
    """Judge a cycle by the residual computed anew; take its x where it is finite."""
    running = state.running
    residual = rhs - system.multiply(end.x)
    size = norm(residual)
    finite = torch.isfinite(size) & torch.isfinite(end.x.abs().amax(0))
    finite &= ~end.not_finite
    taken = running & finite
    # A claim that the residual doesn't bear out is tried again from here, as long as
    # that gains something; then rounding is what stands in the way.
    stuck = end.claimed & ~(size <= state.norm * 0.5)
    status = status.masked_fill(
        running & (stuck | (end.iterations >= system.cap)), SolveStatus.STOPPED
    )
    status = status.masked_fill(running & end.broken, SolveStatus.BREAKDOWN)
    status = status.masked_fill(running & (size > state.limit), SolveStatus.DIVERGED)
    status = status.masked_fill(taken & (size <= state.target), SolveStatus.CONVERGED)
    # Also where b was 0: zero times what is not finite is not zero.
    at_once = status == SolveStatus.CONVERGED
    status = status.masked_fill((running | at_once) & ~finite, SolveStatus.NOT_FINITE)
    state.x = torch.where(taken, end.x, state.x)
    state.residual = torch.where(taken, residual, state.residual)
    state.norm = torch.where(taken, size, state.norm)
    state.iterations = end.iterations
    return status
