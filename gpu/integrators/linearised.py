"""The backward Euler residual of many worlds and its exact Jacobian, contact included.

With q' = q (+) h v'::

    r(v') = ID(q', v', (v' - v)/h) - joint_force(q', v') - external - J(q')ᵀ f(q', v')

ID is inverse dynamics and f the wrenches of contact. What is smooth in the tree is
differentiated symbolically when its code is made; f is differentiated in forward mode,
along all nv directions at once, in the worlds that touch. Where a force has a kink the
derivative is that of the side that its value comes from, which is what a semi-smooth
Newton method needs (L. Qi, J. Sun, A nonsmooth version of Newton's method, Mathematical
Programming 58, 1993).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import torch
from torch.autograd import forward_ad

if TYPE_CHECKING:
    from torch import Tensor

    from isoscope.gpu.dynamics.dynamics import Dynamics
    from isoscope.gpu.dynamics.joint_forces import Control
    from isoscope.gpu.integrators.base import ContactForces, ContactLaw
    from isoscope.gpu.model.parameters import Parameters


@dataclass(frozen=True, slots=True, eq=False)
class Linearisation:
    """The residual somewhere, and how it changes there.

    Attributes
    ----------
    residual
        [nv, W] [N or N·m].
    matrix
        Its derivative by v', rows before columns, [nv, nv, W].
    contacts
        The report that it was computed with; None without a contact law.
    """

    residual: Tensor
    matrix: Tensor
    contacts: ContactForces | None


class BackwardEulerResidual:
    """The equations of a step, of a tree and its contact law."""

    def __init__(self, dynamics: Dynamics, contacts: ContactLaw | None) -> None:
        self.dynamics = dynamics
        self.contacts = contacts
        self._tiled: tuple[Parameters, Parameters] | None = None

    def value(
        self,
        q: Tensor,
        v: Tensor,
        next_v: Tensor,
        h: float,
        control: Control,
        parameters: Parameters,
    ) -> tuple[Tensor, ContactForces | None]:
        """Compute r [nv, W] and the report of contacts; differentiable by autograd."""
        report = self._report(q, next_v, h, parameters)
        if report is not None:
            control = control.with_wrench(report.wrench)
        result = self.dynamics.residual(q, v, next_v, h, control, parameters)
        return result, report

    def linearise(
        self,
        q: Tensor,
        v: Tensor,
        next_v: Tensor,
        h: float,
        control: Control,
        parameters: Parameters,
    ) -> Linearisation:
        """Compute r and its derivative by next_v; takes no part in autograd."""
        report = self._report(q, next_v, h, parameters)
        if report is not None:
            control = control.with_wrench(report.wrench)
        residual, matrix = self.dynamics.residual_jacobian(
            q, v, next_v, h, control, parameters
        )
        active = getattr(report, "active", None)
        if report is not None and (active is None or len(active)):
            matrix = self._with_contact(matrix, q, next_v, h, parameters, active)
        return Linearisation(residual, matrix, report)

    def _report(
        self, q: Tensor, next_v: Tensor, h: float, parameters: Parameters
    ) -> ContactForces | None:
        if self.contacts is None:
            return None
        moved = self.dynamics.integrate(q, next_v, h, parameters)
        kinematics = self.dynamics.kinematics(moved, next_v, parameters)
        return self.contacts.evaluate(kinematics, parameters)

    def _with_contact(
        self,
        matrix: Tensor,
        q: Tensor,
        next_v: Tensor,
        h: float,
        parameters: Parameters,
        active: Tensor | None,
    ) -> Tensor:
        """Take the derivative of contact's forces off the matrix.

        On a CPU only of the worlds that touch: for the others it is exactly zero. On
        CUDA it would have to be asked which ones those are.
        """
        if active is None or q.device.type != "cpu":
            parts = self._tiles(parameters)
            return matrix - self._contact_derivative(q, next_v, h, parts)
        touching = active.any(0)
        if not bool(touching.any()):
            return matrix
        if bool(touching.all()):
            parts = self._tiles(parameters)
            return matrix - self._contact_derivative(q, next_v, h, parts)
        index = touching.nonzero()[:, 0]
        parts = tiled_parameters(
            chosen_worlds(parameters, index), self.dynamics.tree.nv
        )
        change = self._contact_derivative(
            q.index_select(1, index), next_v.index_select(1, index), h, parts
        )
        result = matrix.clone()
        result[:, :, index] = matrix.index_select(2, index) - change
        return result

    def _contact_derivative(
        self, q: Tensor, next_v: Tensor, h: float, parameters: Parameters
    ) -> Tensor:
        """Differentiate J(q')ᵀ f(q', v') with J held, [nv, nv, W].

        The worlds are repeated nv times, once for each direction.

        Parameters
        ----------
        parameters
            Of the repeated worlds.
        """
        assert self.contacts is not None
        nv, worlds = next_v.shape
        wide_q, wide_v = q.repeat(1, nv), next_v.repeat(1, nv)
        directions = torch.eye(nv, dtype=q.dtype, device=q.device)
        directions = directions.repeat_interleave(worlds, dim=1)
        with forward_ad.dual_level():
            speed = _dual(wide_v, directions)
            place = self.dynamics.integrate(wide_q, speed, h, parameters)
            kinematics = self.dynamics.kinematics(place, speed, parameters)
            wrench = self.contacts.evaluate(kinematics, parameters).wrench
            moved, _ = _parts(place)
            _, change = _parts(wrench)
        if change is None:
            return next_v.new_zeros((nv, nv, worlds))
        force = self.dynamics.wrench_force(moved, change, parameters)
        return force.reshape(nv, nv, worlds)

    def _tiles(self, parameters: Parameters) -> Parameters:
        if self._tiled is None or self._tiled[0] is not parameters:
            wide = tiled_parameters(parameters, self.dynamics.tree.nv)
            self._tiled = (parameters, wide)
        return self._tiled[1]


def tiled_parameters(parameters: Parameters, times: int) -> Parameters:
    """Return those of the worlds repeated: all of them, and all of them again."""
    parts: dict[str, Any] = {
        declared.name: tensor.repeat(1, times)
        for declared, tensor in parameters.items()
        if tensor.shape[1] != 1
    }
    if not parts:
        return parameters
    return replace(parameters, worlds=parameters.worlds * times, **parts)


def chosen_worlds(parameters: Parameters, index: Tensor) -> Parameters:
    """Return those of the worlds with these numbers."""
    parts: dict[str, Any] = {
        declared.name: tensor.index_select(1, index)
        for declared, tensor in parameters.items()
        if tensor.shape[1] != 1
    }
    if not parts:
        return parameters
    return replace(parameters, worlds=len(index), **parts)


def _dual(value: Tensor, tangent: Tensor) -> Tensor:
    dual: Tensor = forward_ad.make_dual(value, tangent)  # type: ignore[no-untyped-call]
    return dual


def _parts(dual: Tensor) -> tuple[Tensor, Tensor | None]:
    """Take a number apart: its value, and its tangent if it has one."""
    parts = forward_ad.unpack_dual(dual)  # type: ignore[no-untyped-call]
    return parts.primal, parts.tangent
