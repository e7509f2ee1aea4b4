"""Semi-implicit (symplectic) Euler: v' = v + h a(q, v), then q' = q (+) h v'.

Source: E. Hairer, C. Lubich, G. Wanner, Geometric Numerical Integration, 2nd edition,
Springer 2006, section I.1.2 (symplectic Euler).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from isoscope.gpu.integrators.base import StepOutcome, finite_status

if TYPE_CHECKING:
    from torch import Tensor

    from isoscope.gpu.dynamics.dynamics import Dynamics
    from isoscope.gpu.dynamics.joint_forces import Control
    from isoscope.gpu.integrators.base import ContactForces, ContactLaw
    from isoscope.gpu.model.parameters import Parameters


class SemiImplicitEuler:
    """Explicit in the forces, so small steps where they are stiff.

    Parameters
    ----------
    contacts
        Finds contacts and their forces at the step's start; None: there are none.
    """

    def __init__(self, dynamics: Dynamics, contacts: ContactLaw | None = None) -> None:
        self.dynamics = dynamics
        self.contacts = contacts

    def step(
        self,
        q: Tensor,
        v: Tensor,
        h: float,
        control: Control,
        parameters: Parameters,
    ) -> StepOutcome:
        """Step by h seconds; see `Integrator.step`."""
        report: ContactForces | None = None
        if self.contacts is not None:
            kinematics = self.dynamics.kinematics(q, v, parameters)
            report = self.contacts.evaluate(kinematics, parameters)
            control = control.with_wrench(report.wrench)
        next_q, next_v = self.dynamics.semi_implicit(q, v, h, control, parameters)
        worlds = q.shape[-1]
        return StepOutcome(
            next_q,
            next_v,
            finite_status(next_q, next_v),
            torch.zeros(worlds, dtype=torch.int32, device=q.device),
            torch.zeros(worlds, dtype=q.dtype, device=q.device),
            report,
        )
