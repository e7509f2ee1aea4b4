"""What makes a step's result jump or bend: contact, limits and clips that switch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from isoscope.gpu.gradients.errors import Refusal
from isoscope.gpu.integrators.base import CONVERGED
from isoscope.gpu.integrators.linearised import BackwardEulerResidual

if TYPE_CHECKING:
    from torch import Tensor

    from isoscope.gpu.dynamics.joint_forces import Control
    from isoscope.gpu.integrators.base import ContactForces, StepOutcome
    from isoscope.gpu.model.parameters import Parameters
    from isoscope.gpu.model.tree import Tree


class WatchedEquations(BackwardEulerResidual):
    """Equations that remember which points touched wherever they were evaluated."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._first: Tensor | None = None
        self._switched: Tensor | None = None

    def _report(self, x: Tensor) -> ContactForces | None:
        report = super()._report(x)
        active = getattr(report, "active", None)
        if active is not None:
            if self._first is None or self._switched is None:
                self._first = active
                self._switched = torch.zeros_like(active[:1]).any(0)
            self._switched = self._switched | (active != self._first).any(0)
        return report

    def switched(self) -> Tensor | None:
        """Bool [W]: whether a point began or ceased to touch; None without contact."""
        return self._switched


class Watch:
    """Collects reasons from step to step.

    Parameters
    ----------
    action_limits
        Between which actions are clipped before they act; None: they are not.
    """

    def __init__(
        self, tree: Tree, action_limits: tuple[float, float] | None = None
    ) -> None:
        self._tree = tree
        self._limits = action_limits
        self._active: Tensor | None = None
        self._beyond: Tensor | None = None
        self.refusals: list[Refusal] = []

    def action(self, step: int, action: Tensor) -> None:
        """Look at an action, [W, n], before it is clipped."""
        if self._limits is None:
            return
        low, high = self._limits
        clipped = ((action <= low) | (action >= high)).any(1)
        self._refuse("clipped-action", "the action is clipped", step, clipped)

    def step(
        self,
        number: int,
        outcome: StepOutcome,
        control: Control,
        parameters: Parameters,
        where: tuple[Tensor, Tensor],
        switched: Tensor | None,
    ) -> None:
        """Look at a step.

        Parameters
        ----------
        where
            q and v that its forces were computed at.
        switched
            Bool [W]: whether contact switched while it was solved.
        """
        finite = torch.isfinite(outcome.q).all(0) & torch.isfinite(outcome.v).all(0)
        self._refuse("not-finite", "the state is not finite", number, ~finite)
        open_ = finite & (outcome.status != CONVERGED)
        self._refuse("unconverged", "the step did not converge", number, open_)
        changed = torch.zeros_like(finite) if switched is None else switched
        active = getattr(outcome.contacts, "active", None)
        if active is not None:
            if self._active is not None:
                changed = changed | (active != self._active).any(0)
            self._active = active
        self._refuse(
            "contact-switch", "a point begins or ceases to touch", number, changed
        )
        self._joint_limits(number, parameters, where[0])
        self._drives(number, control, parameters, where)

    def apart(self, step: int, worlds: Tensor) -> None:
        """Refuse a recorded state that the step does not lead to, bool [W]."""
        self._refuse(
            "state-pairs",
            "the recorded state is not what the step leads to",
            step,
            worlds,
        )

    def _joint_limits(self, number: int, parameters: Parameters, q: Tensor) -> None:
        rows = [
            (link.position_start, link.velocity_start)
            for link in self._tree.links
            if link.joint in ("prismatic", "revolute")
        ]
        if not rows:
            return
        place = q[[row for row, _ in rows]]
        dofs = [dof for _, dof in rows]
        below = place < parameters.limit_lower.detach()[dofs]
        beyond = torch.cat((below, place > parameters.limit_upper.detach()[dofs]))
        if self._beyond is not None:
            changed = (beyond != self._beyond).any(0)
            self._refuse(
                "limit-switch",
                "a joint comes to its limit or leaves it",
                number,
                changed,
            )
        self._beyond = beyond

    def _drives(
        self,
        number: int,
        control: Control,
        parameters: Parameters,
        where: tuple[Tensor, Tensor],
    ) -> None:
        if control.targets is None or not self._tree.drives:
            return
        q, v = (part.detach() for part in where)
        targets = control.targets.detach()
        clipped = torch.zeros_like(targets[0], dtype=torch.bool)
        for drive in self._tree.drives:
            k = drive.index

            def number_of(name: str, row: int = k) -> Tensor:
                return parameters[name].detach()[row]

            u = targets[k]
            low = number_of("drive_control_lower")
            high = number_of("drive_control_upper")
            clipped = clipped | (u <= low) | (u >= high)
            gear, damping = number_of("drive_gear"), number_of("drive_damping")
            place, rate = q[drive.position_index], v[drive.velocity_index]
            law = u
            if drive.drive.type == "position":
                stiffness = number_of("drive_stiffness")
                law = stiffness * (u - gear * place) - damping * (gear * rate)
            elif drive.drive.type == "velocity":
                law = damping * (u - gear * rate)
            clipped = clipped | (law <= number_of("drive_force_lower"))
            clipped = clipped | (law >= number_of("drive_force_upper"))
        self._refuse(
            "clipped-action", "a drive's control or force is clipped", number, clipped
        )

    def _refuse(self, reason: str, problem: str, step: int, worlds: Tensor) -> None:
        if bool(worlds.any()):
            numbers = tuple(worlds.nonzero()[:, 0].tolist())
            self.refusals.append(Refusal(reason, problem, step, numbers))
