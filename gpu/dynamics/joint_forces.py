"""Forces at the joints: friction, springs, limits, drives, and what a control asks for.

=========== ======================================================================
friction    -damping q̇
spring      stiffness (rest - q)
limit       beyond it, the spring and damper that push back, never pull
drive       gear clip(law), see `gpu.model.spec.Drive`
=========== ======================================================================
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from isoscope.gpu.dynamics.expression import (
    Expression,
    Scalar,
    maximum,
    minimum,
    where_less,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from isoscope.gpu.dynamics.structure import Numbers
    from isoscope.gpu.model.tree import Tree, TreeDrive

ONE_DOF = ("prismatic", "revolute")


@dataclass(frozen=True, slots=True, eq=False)
class Control:
    """What acts on W worlds from outside during a step.

    Attributes
    ----------
    targets
        The drives' controls u, [nu, W]; None: the drives are off.
    forces
        Generalised forces [nv, W] [N or N·m]; None: there are none.
    wrenches
        Force and couple about each link's origin, world axes, (fx fy fz tx ty tz),
        [L, 6, W] [N, N·m]; None: there are none.
    """

    targets: Tensor | None = None
    forces: Tensor | None = None
    wrenches: Tensor | None = None

    def block(self, start: int, stop: int) -> Control:
        """Return that of the worlds from `start` up to `stop`, as views."""

        def part(tensor: Tensor | None) -> Tensor | None:
            return None if tensor is None else tensor[..., start:stop]

        return Control(part(self.targets), part(self.forces), part(self.wrenches))

    def with_wrench(self, wrench: Tensor) -> Control:
        """Return it with `wrench` [L, 6, W] added."""
        total = wrench if self.wrenches is None else self.wrenches + wrench
        return Control(self.targets, self.forces, total)


NO_CONTROL = Control()


def joint_forces(
    tree: Tree,
    numbers: Numbers,
    q: Sequence[Scalar],
    v: Sequence[Scalar],
    targets: Sequence[Scalar] | None,
    forces: Sequence[Scalar] | None,
) -> list[Scalar]:
    """Return the generalised forces, nv scalars.

    Parameters
    ----------
    targets
        The drives' controls; None: the drives are off.
    forces
        Added as they are; None: there are none.
    """
    result: list[Scalar] = list(forces) if forces is not None else [0.0] * tree.nv
    for link in tree.links:
        first = link.velocity_start
        for dof in range(first, first + link.velocities):
            result[dof] = result[dof] - numbers["damping"][dof] * v[dof]
        if link.joint in ONE_DOF:
            place = q[link.position_start]
            result[first] = result[first] + (
                numbers["spring_stiffness"][first]
                * (numbers["spring_rest"][first] - place)
            )
            result[first] = result[first] + _limit_force(
                numbers, first, place, v[first]
            )
    if targets is not None:
        for drive in tree.drives:
            dof = drive.velocity_index
            result[dof] = result[dof] + _drive_force(
                drive, numbers, targets[drive.index], q[drive.position_index], v[dof]
            )
    return result


def _is(scalar: Scalar, value: float) -> bool:
    if isinstance(scalar, Expression):
        return scalar.is_constant(value)
    return scalar == value


def _limit_force(numbers: Numbers, dof: int, q: Scalar, rate: Scalar) -> Scalar:
    lower, upper = numbers["limit_lower"][dof], numbers["limit_upper"][dof]
    stiffness = numbers["limit_stiffness"][dof]
    damping = numbers["limit_damping"][dof]
    total: Scalar = 0.0
    if not _is(lower, -math.inf):
        push = maximum(stiffness * (lower - q) - damping * rate, 0.0)
        total = total + where_less(q, lower, push, 0.0)
    if not _is(upper, math.inf):
        push = maximum(stiffness * (q - upper) + damping * rate, 0.0)
        total = total - where_less(upper, q, push, 0.0)
    return total


def _clip(value: Scalar, lower: Scalar, upper: Scalar) -> Scalar:
    if not _is(lower, -math.inf):
        value = maximum(value, lower)
    if not _is(upper, math.inf):
        value = minimum(value, upper)
    return value


def _drive_force(
    drive: TreeDrive, numbers: Numbers, target: Scalar, q: Scalar, rate: Scalar
) -> Scalar:
    k = drive.index
    gear = numbers["drive_gear"][k]
    damping = numbers["drive_damping"][k]
    u = _clip(
        target, numbers["drive_control_lower"][k], numbers["drive_control_upper"][k]
    )
    law = u
    if drive.drive.type == "position":
        law = numbers["drive_stiffness"][k] * (u - gear * q) - damping * (gear * rate)
    elif drive.drive.type == "velocity":
        law = damping * (u - gear * rate)
    return gear * _clip(
        law, numbers["drive_force_lower"][k], numbers["drive_force_upper"][k]
    )


def zero_control(
    tree: Tree,
    worlds: int,
    *,
    dtype: torch.dtype = torch.float64,
    device: torch.device | str = "cpu",
) -> Control:
    """Return a control of zeros: drives on, with targets 0; no forces, no wrenches."""
    return Control(torch.zeros(len(tree.drives), worlds, dtype=dtype, device=device))
