"""The backward Euler residual of many worlds and its exact Jacobian, contact included.

With q' = q (+) h v'::

    r(v') = ID(q', v', (v' - v)/h) - joint_force(q', v') - external - J(q')ᵀ f(q', v')

ID is inverse dynamics and f the wrenches of contact. What is smooth in the tree is
differentiated symbolically when its code is made; f is differentiated by autograd, all
nv rows at once, in the worlds that touch. Where a force has a kink the
derivative is that of the side that its value comes from, which is what a semi-smooth
Newton method needs (L. Qi, J. Sun, A nonsmooth version of Newton's method, Mathematical
Programming 58, 1993).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from isoscope.gpu.dynamics.dynamics import Dynamics
    from isoscope.gpu.dynamics.joint_forces import Control
    from isoscope.gpu.integrators.base import ContactForces, ContactLaw
    from isoscope.gpu.model.parameters import Parameters


class BackwardEulerResidual:
    """The equations of one step of W worlds, in the unknown v' [nv, W].

    Parameters
    ----------
    q, v
        Where the step begins.
    """

    def __init__(
        self,
        dynamics: Dynamics,
        contacts: ContactLaw | None,
        q: Tensor,
        v: Tensor,
        h: float,
        control: Control,
        parameters: Parameters,
    ) -> None:
        self.dynamics = dynamics
        self.contacts = contacts
        self.q = q
        self.v = v
        self.h = h
        self.control = control
        self.parameters = parameters

    def part(self, index: Tensor, h: float) -> BackwardEulerResidual:
        """Return those of the worlds with these numbers, for a step of h seconds."""

        def chosen(tensor: Tensor | None) -> Tensor | None:
            if tensor is None:
                return None
            return tensor.index_select(tensor.dim() - 1, index)

        control = self.control
        return BackwardEulerResidual(
            self.dynamics,
            self.contacts,
            self.q.index_select(1, index),
            self.v.index_select(1, index),
            h,
            type(control)(
                chosen(control.targets),
                chosen(control.forces),
                chosen(control.wrenches),
            ),
            chosen_worlds(self.parameters, index),
        )

    def value(self, x: Tensor) -> tuple[Tensor, ContactForces | None]:
        """Compute r [nv, W] [N or N·m] and the report of contacts.

        Autograd may follow it into everything that the step was given.
        """
        report = self._report(x)
        residual = self.dynamics.residual(
            self.q, self.v, x, self.h, self._forces(report), self.parameters
        )
        return residual, report

    def linearise(
        self, x: Tensor, found: ContactForces | None
    ) -> tuple[Tensor, Tensor]:
        """Compute r and its derivative by x, [nv, nv, W], rows before columns.

        Takes no part in autograd.

        Parameters
        ----------
        found
            The report of contacts at x; None if it isn't known.
        """
        report = self._report(x) if found is None else found
        residual, matrix = self.dynamics.residual_jacobian(
            self.q, self.v, x, self.h, self._forces(report), self.parameters
        )
        if report is not None:
            active = getattr(report, "active", None)
            matrix = self._with_contact(matrix, x, active)
        return residual, matrix

    def _forces(self, report: ContactForces | None) -> Control:
        return (
            self.control if report is None else self.control.with_wrench(report.wrench)
        )

    def _report(self, x: Tensor) -> ContactForces | None:
        if self.contacts is None:
            return None
        moved = self.dynamics.integrate(self.q, x, self.h, self.parameters)
        kinematics = self.dynamics.kinematics(moved, x, self.parameters)
        return self.contacts.evaluate(kinematics, self.parameters)

    def _with_contact(self, matrix: Tensor, x: Tensor, active: Tensor | None) -> Tensor:
        """Take the derivative of contact's forces off the matrix.

        On a CPU only of the worlds that touch: for the others it is exactly zero. On
        CUDA it would have to be asked which ones those are.
        """
        everywhere = active is None or self.q.device.type != "cpu"
        touching = None if everywhere or active is None else active.any(0)
        if touching is None or bool(touching.all()):
            return matrix - self._contact_derivative(self.q, x, self.parameters)
        if not bool(touching.any()):
            return matrix
        index = touching.nonzero()[:, 0]
        change = self._contact_derivative(
            self.q.index_select(1, index),
            x.index_select(1, index),
            chosen_worlds(self.parameters, index),
        )
        result = matrix.clone()
        result[:, :, index] = matrix.index_select(2, index) - change
        return result

    def _contact_derivative(
        self, q: Tensor, x: Tensor, parameters: Parameters
    ) -> Tensor:
        """Differentiate J(q')ᵀ f(q', v') with J held, [nv, nv, W].

        The worlds are repeated nv times, once for each row.
        """
        assert self.contacts is not None
        nv, worlds = x.shape
        rows = torch.eye(nv, dtype=q.dtype, device=q.device)
        rows = rows.repeat_interleave(worlds, dim=1)
        wide_q, parameters = q.repeat(1, nv), repeated_worlds(parameters, nv)
        with torch.enable_grad():
            speed = x.detach().repeat(1, nv).requires_grad_()
            place = self.dynamics.integrate(wide_q, speed, self.h, parameters)
            kinematics = self.dynamics.kinematics(place, speed, parameters)
            wrench = self.contacts.evaluate(kinematics, parameters).wrench
            if not wrench.requires_grad:
                return x.new_zeros((nv, nv, worlds))
            force = self.dynamics.wrench_force(place.detach(), wrench, parameters)
            (change,) = torch.autograd.grad(force, speed, rows)
        return change.reshape(nv, nv, worlds).transpose(0, 1)


def repeated_worlds(parameters: Parameters, times: int) -> Parameters:
    """Return those of the worlds repeated: all of them, and all of them again."""
    return _each(parameters, parameters.worlds * times, lambda t: t.repeat(1, times))


def chosen_worlds(parameters: Parameters, index: Tensor) -> Parameters:
    """Return those of the worlds with these numbers."""
    return _each(parameters, len(index), lambda t: t.index_select(1, index))


def _each(
    parameters: Parameters, worlds: int, change: Callable[[Tensor], Tensor]
) -> Parameters:
    """Change what differs between worlds; the same object where nothing does."""
    parts: dict[str, Any] = {
        declared.name: change(tensor)
        for declared, tensor in parameters.items()
        if tensor.shape[1] != 1
    }
    return replace(parameters, worlds=worlds, **parts) if parts else parameters
