"""Contact of a whole tree: from link poses and velocities to points and wrenches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from isoscope.gpu.contact.box_box import POINTS as BOX_POINTS
from isoscope.gpu.contact.box_box import box_box
from isoscope.gpu.contact.candidates import Candidates, Posed
from isoscope.gpu.contact.compiled import Constants, constants_on, lay_out
from isoscope.gpu.contact.law import contact_force, pair_friction
from isoscope.gpu.contact.on_box import capsule_box, sphere_box
from isoscope.gpu.contact.on_plane import box_plane, capsule_plane, sphere_plane
from isoscope.gpu.contact.report import ContactReport
from isoscope.gpu.contact.rounded import (
    capsule_capsule,
    sphere_capsule,
    sphere_sphere,
)
from isoscope.gpu.contact.vectors import cross, to_world, total
from isoscope.gpu.device import tree_sum

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from isoscope.gpu.contact.inputs import ContactNumbers, LinkMotion
    from isoscope.gpu.contact.pairs import Kind
    from isoscope.gpu.model.tree import Tree

# For each kind of pair: what finds its candidate points, and how many there are.
KINDS: dict[Kind, tuple[Callable[[Posed, Posed], Candidates], int]] = {
    ("sphere", "sphere"): (sphere_sphere, 1),
    ("sphere", "capsule"): (sphere_capsule, 1),
    ("sphere", "box"): (sphere_box, 1),
    ("sphere", "plane"): (sphere_plane, 1),
    ("capsule", "capsule"): (capsule_capsule, 3),
    ("capsule", "box"): (capsule_box, 3),
    ("capsule", "plane"): (capsule_plane, 2),
    ("box", "box"): (box_box, BOX_POINTS),
    ("box", "plane"): (box_plane, 8),
}


class Contacts:
    """The contacts of a tree, compiled: pairs of the same kind are evaluated together.

    No shape of a tensor and no branch depends on the state, nothing is copied between
    host and device once the first evaluation on a device has been, and a world's result
    has the same bits whatever other worlds there are (`isoscope.gpu.device`).

    Parameters
    ----------
    tree
        Its shapes' sizes and placements are compiled in; frictions are parameters.

    Attributes
    ----------
    points
        P: candidate points of all pairs.
    """

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.layout = lay_out(tree, {kind: count for kind, (_, count) in KINDS.items()})
        self.points = self.layout.points
        self._constants: dict[tuple[torch.device, torch.dtype], Constants] = {}
        self._for_report = {
            name: torch.from_numpy(getattr(self.layout, name))
            for name in ("link_a", "link_b", "shape_a", "shape_b")
        }

    def __call__(
        self, kinematics: LinkMotion, parameters: ContactNumbers
    ) -> ContactReport:
        """Do the same as `evaluate`."""
        return self.evaluate(kinematics, parameters)

    def evaluate(
        self, kinematics: LinkMotion, parameters: ContactNumbers
    ) -> ContactReport:
        """Find all candidate points, the forces there and the wrenches on the links.

        Parameters
        ----------
        kinematics
            Poses and velocities of the links.
        parameters
            The law's parameters, which enter as tensors.

        Returns
        -------
        ContactReport
            Differentiable by reverse and forward mode wherever no point begins or ends
            to touch and no nearest feature changes.
        """
        position = kinematics.position
        constants = self._on(position.device, position.dtype)
        if not self.points:
            return self._nothing(position)
        origins = _with_world(position)
        found = self._candidates(kinematics, constants, origins)
        point, normal = found.position.squeeze(1), found.normal.squeeze(1)
        distance, share = found.distance.squeeze(1), found.share.squeeze(1)

        arm_a = point - origins.index_select(0, constants.link_a)
        arm_b = point - origins.index_select(0, constants.link_b)
        linear, angular = (
            _with_world(kinematics.linear),
            _with_world(kinematics.angular),
        )
        velocity = _velocity(linear, angular, constants.link_a, arm_a) - _velocity(
            linear, angular, constants.link_b, arm_b
        )
        friction = pair_friction(
            parameters.friction.index_select(0, constants.shape_a),
            parameters.friction.index_select(0, constants.shape_b),
        )
        force = contact_force(
            distance,
            share,
            normal,
            velocity,
            friction,
            parameters.contact_stiffness,
            parameters.contact_damping,
            parameters.slip_speed,
        )
        return ContactReport(
            position=point,
            normal=normal,
            force=force,
            distance=distance,
            velocity=velocity,
            share=share,
            active=(distance < 0) & (share > 0),
            wrench=self._wrench(constants, force, arm_a, arm_b),
            **self._for_report,
        )

    def _candidates(
        self, kinematics: LinkMotion, constants: Constants, origins: Tensor
    ) -> Candidates:
        """All groups' candidates as P pairs of one point each."""
        matrix = kinematics.matrix
        matrix = matrix.reshape(-1, 3, 3, matrix.shape[-1])
        one = torch.eye(3, dtype=matrix.dtype, device=matrix.device)[None, ..., None]
        matrices = torch.cat((matrix, one.expand(1, 3, 3, matrix.shape[-1])), 0)
        link_matrix = matrices.index_select(0, constants.shape_link)
        center = origins.index_select(0, constants.shape_link) + to_world(
            link_matrix, constants.place
        )
        turned = total(link_matrix.unsqueeze(3) * constants.turn.unsqueeze(1), 2)
        parts: list[Candidates] = []
        for group, shapes, sizes in zip(
            self.layout.groups, constants.shapes, constants.sizes, strict=True
        ):
            a, b = (
                Posed(
                    center.index_select(0, index), turned.index_select(0, index), size
                )
                for index, size in zip(shapes, sizes, strict=True)
            )
            parts.append(KINDS[group.kind][0](a, b))
        return Candidates(
            _joined([part.position for part in parts]),
            _joined([part.normal for part in parts]),
            _joined([part.distance for part in parts]),
            _joined([part.share for part in parts]),
        )

    def _wrench(
        self, constants: Constants, force: Tensor, arm_a: Tensor, arm_b: Tensor
    ) -> Tensor:
        """Add points up to pairs, and pairs up to links, in an order compiled once."""
        on_a = torch.cat((force, cross(arm_a, force)), 1)
        on_b = torch.cat((-force, cross(force, arm_b)), 1)
        sums = [self._over_points(on_a), self._over_points(on_b)]
        zero = torch.zeros_like(force[:1]).repeat(1, 2, 1)
        every = torch.cat((*sums, zero), 0).index_select(0, constants.gather)
        links, most = self.layout.gather.shape
        return tree_sum(every.reshape(links, most, 6, every.shape[-1]), 1)

    def _over_points(self, wrench: Tensor) -> Tensor:
        """From points [P, 6, W] to pairs [pairs, 6, W]."""
        worlds = wrench.shape[-1]
        parts: list[Tensor] = []
        for group in self.layout.groups:
            pairs, points = len(group.pairs), group.points
            own = wrench.narrow(0, group.start, pairs * points)
            parts.append(tree_sum(own.reshape(pairs, points, 6, worlds), 1))
        return torch.cat(parts, 0)

    def _on(self, device: torch.device, dtype: torch.dtype) -> Constants:
        """Constants on a device, copied there when first needed."""
        key = (device, dtype)
        constants = self._constants.get(key)
        if constants is None:
            constants = constants_on(self.tree, self.layout, device, dtype)
            self._constants[key] = constants
        return constants

    def _nothing(self, position: Tensor) -> ContactReport:
        worlds = position.shape[-1]
        vectors = position.new_zeros((0, 3, worlds))
        numbers = position.new_zeros((0, worlds))
        return ContactReport(
            position=vectors,
            normal=vectors,
            force=vectors,
            distance=numbers,
            velocity=vectors,
            share=numbers,
            active=numbers > 0,
            wrench=position.new_zeros((position.shape[0], 6, worlds)),
            **self._for_report,
        )


def _joined(parts: list[Tensor]) -> Tensor:
    """Lay [n, k, ...] of all groups end to end as [P, 1, ...]."""
    return torch.cat([part.flatten(0, 1) for part in parts], 0).unsqueeze(1)


def _with_world(rows: Tensor) -> Tensor:
    """Append the world, at rest in the origin, as the last link."""
    return torch.cat((rows, torch.zeros_like(rows[:1])), 0)


def _velocity(linear: Tensor, angular: Tensor, link: Tensor, arm: Tensor) -> Tensor:
    return linear.index_select(0, link) + cross(angular.index_select(0, link), arm)
