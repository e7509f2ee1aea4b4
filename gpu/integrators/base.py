"""What an integrator is given, and what it gives back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import torch

if TYPE_CHECKING:
    from torch import Tensor

    from isoscope.gpu.dynamics.dynamics import Kinematics
    from isoscope.gpu.dynamics.joint_forces import Control
    from isoscope.gpu.model.parameters import Parameters

# a world's status after a step, int8
CONVERGED = 0
STOPPED = 1
DIVERGED = 2


class ContactForces(Protocol):
    """What an integrator needs of a report of contacts."""

    @property
    def wrench(self) -> Tensor:
        """Force and couple on each link, as `Control.wrenches`, [L, 6, W]."""


class ContactLaw(Protocol):
    """What finds contacts and their forces."""

    def evaluate(self, kinematics: Kinematics, parameters: Parameters) -> ContactForces:
        """Find all contacts where links are and move as `kinematics` says."""


@dataclass(frozen=True, slots=True, eq=False)
class StepOutcome:
    """What one step of W worlds came to.

    Attributes
    ----------
    q, v
        After it, [nq, W] and [nv, W]. A world that diverged has what came out.
    status
        int8 [W]: 0 converged, 1 stopped before it had, 2 diverged or not finite.
    iterations
        int32 [W]; 0 where the method has none.
    residual
        [W]; what is left of the equations, 0 where the method solves none.
    contacts
        The report that the step's forces came from; None without a contact law.
    timing
        Seconds by part, where they were taken.
    """

    q: Tensor
    v: Tensor
    status: Tensor
    iterations: Tensor
    residual: Tensor
    contacts: Any = None
    timing: dict[str, float] | None = None


class Integrator(Protocol):
    """Steps W worlds from one time to the next."""

    def step(
        self,
        q: Tensor,
        v: Tensor,
        h: float,
        control: Control,
        parameters: Parameters,
    ) -> StepOutcome:
        """Step by h seconds.

        Parameters
        ----------
        q, v
            [nq, W] and [nv, W]; left as they are.
        """


def finite_status(q: Tensor, v: Tensor) -> Tensor:
    """Return int8 [W]: 2 where a world has a number that is not finite, else 0."""
    fine = torch.ones(q.shape[-1], dtype=torch.bool, device=q.device)
    for rows in (q.detach(), v.detach()):
        if len(rows):
            # a NaN survives amax, and is below nothing; far cheaper than isfinite
            fine = fine & (rows.abs().amax(0) < torch.inf)
    return (~fine).to(torch.int8) * DIVERGED
