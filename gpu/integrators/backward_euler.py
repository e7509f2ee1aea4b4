"""Backward Euler: all forces at the end of the step, found by Newton's method.

r(v') = 0 with r of `linearised`, then q' = q (+) h v'. Source: E. Hairer, G. Wanner,
Solving Ordinary Differential Equations II, 2nd edition, Springer 1996, section IV.3.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from isoscope.gpu.errors import ParameterError
from isoscope.gpu.integrators.base import StepOutcome
from isoscope.gpu.integrators.halving import solved_by_halves
from isoscope.gpu.integrators.linearised import BackwardEulerResidual
from isoscope.gpu.integrators.newton import NewtonOptions, newton
from isoscope.gpu.integrators.tree_blocks import TreeBlocks
from isoscope.gpu.transfer import Ledger

if TYPE_CHECKING:
    from torch import Tensor

    from isoscope.gpu.dynamics.dynamics import Dynamics
    from isoscope.gpu.dynamics.joint_forces import Control
    from isoscope.gpu.integrators.base import ContactLaw
    from isoscope.gpu.model.parameters import Parameters

# Speeds can't be told apart by less than a rounding of the positions they lead to,
# which is so many units in the last place after all that is computed from it.
ROUNDINGS = 8
CHECK_EVERY_ELSEWHERE = 4


@dataclass(frozen=True)
class BackwardEulerSettings:
    """How exactly a step is solved for; all worlds share it.

    Attributes
    ----------
    tolerance_float64, tolerance_float32
        Of the scaled residual in each precision: which part of 1 + |speed|, in m/s or
        rad/s, may be missing (`newton.row_sizes`). What rounding of the positions
        leaves open is added.
    max_iterations
        Where a world is not done by then, its step is halved (`halving`).
    max_halvings
        How often; a world that is not done then is stopped.
    check_every
        After how many iterations to ask whether all worlds are done; 0: after each on a
        CPU, after four elsewhere. Changes no bit.

    Raises
    ------
    ParameterError
        For a number that makes no sense.
    """

    tolerance_float64: float = 1e-9
    tolerance_float32: float = 2e-5
    max_iterations: int = 32
    max_halvings: int = 5
    check_every: int = 0

    def __post_init__(self) -> None:
        for name in ("tolerance_float64", "tolerance_float32"):
            if not 0 < getattr(self, name) < 1:
                raise ParameterError(
                    f"setting integrator.{name}: {getattr(self, name)} was given; it "
                    "must be between 0 and 1"
                )
        if self.max_iterations < 1 or min(self.check_every, self.max_halvings) < 0:
            raise ParameterError(
                "setting the integrator: max_iterations must be 1 or more, "
                "max_halvings and check_every 0 or more"
            )

    def options(self, like: Tensor) -> NewtonOptions:
        """Return what they come to in a tensor's precision and place."""
        single = like.dtype == torch.float32
        on_cpu = like.device.type == "cpu"
        return NewtonOptions(
            self.tolerance_float32 if single else self.tolerance_float64,
            self.max_iterations,
            self.check_every or (1 if on_cpu else CHECK_EVERY_ELSEWHERE),
        )


class BackwardEuler:
    """Implicit in all forces, so large steps where they are stiff; damps what swings.

    Parameters
    ----------
    contacts
        Finds contacts and their forces, at the step's end; None: there are none.
    ledger
        Where read-backs are booked; None: nowhere.
    """

    def __init__(
        self,
        dynamics: Dynamics,
        contacts: ContactLaw | None = None,
        settings: BackwardEulerSettings | None = None,
        ledger: Ledger | None = None,
    ) -> None:
        self.dynamics = dynamics
        self.contacts = contacts
        self.settings = settings or BackwardEulerSettings()
        self.ledger = ledger or Ledger()
        self.preconditioner = TreeBlocks.of(
            dynamics.tree, touching=contacts is not None
        )

    def equations(
        self, q: Tensor, v: Tensor, h: float, control: Control, parameters: Parameters
    ) -> BackwardEulerResidual:
        """Return the equations of a step."""
        return BackwardEulerResidual(
            self.dynamics, self.contacts, q, v, h, control, parameters
        )

    def step(
        self,
        q: Tensor,
        v: Tensor,
        h: float,
        control: Control,
        parameters: Parameters,
    ) -> StepOutcome:
        """Step by h seconds, which is not zero; see `Integrator.step`.

        The report of contacts is that of the step's end. Takes no part in autograd:
        `gpu.gradients` differentiates such steps.
        """
        return solved_by_halves(
            self.solve,
            self.equations(q, v, h, control, parameters),
            self.settings.max_halvings,
            self.ledger,
        )

    def solve(self, equations: BackwardEulerResidual) -> StepOutcome:
        """Solve a step's equations as a whole, and go where the speed found leads."""
        q, v, h = equations.q, equations.v, equations.h
        with torch.no_grad():
            if not len(v):
                return _nothing_moves(q, v)
            result = newton(
                equations,
                v,
                _slack(q, h),
                self.settings.options(v),
                self.preconditioner,
                self.ledger,
            )
            place = self.dynamics.integrate(q, result.solution, h, equations.parameters)
        return StepOutcome(
            place,
            result.solution,
            result.status,
            result.iterations,
            result.residual,
            result.found,
        )


def _slack(q: Tensor, h: float) -> Tensor:
    epsilon: float = torch.finfo(q.dtype).eps
    return q.abs().amax(0) * (ROUNDINGS * epsilon / abs(h))


def _nothing_moves(q: Tensor, v: Tensor) -> StepOutcome:
    worlds = q.shape[-1]
    return StepOutcome(
        q.clone(),
        v.clone(),
        torch.zeros(worlds, dtype=torch.int8, device=q.device),
        torch.zeros(worlds, dtype=torch.int32, device=q.device),
        torch.zeros(worlds, dtype=q.dtype, device=q.device),
    )
