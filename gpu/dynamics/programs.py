"""Which code can be generated for a tree, and what each piece of it computes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoscope.gpu.dynamics.derivatives import jacobian
from isoscope.gpu.dynamics.emit import Program, emit
from isoscope.gpu.dynamics.expression import Expression, Graph
from isoscope.gpu.dynamics.featherstone import (
    forward_dynamics,
    generalized_force,
    integrate,
    inverse_dynamics,
    joint_transforms,
    link_wrenches,
    mass_matrix,
    relative_to_gravity,
)
from isoscope.gpu.dynamics.joint_forces import joint_forces
from isoscope.gpu.dynamics.motion import (
    body_velocity,
    kinetic_energy,
    momentum,
    poses,
    potential_energy,
    velocities,
)
from isoscope.gpu.dynamics.structure import SIMPLE, Numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from isoscope.gpu.dynamics.expression import Scalar
    from isoscope.gpu.dynamics.structure import Structure
    from isoscope.gpu.model.tree import Tree

    Rows = Mapping[str, Sequence[Scalar]]

# rows of a link in what `kinematics` returns: position, rotation, matrix, velocity,
# angular velocity, centre, the centre's velocity
KINEMATIC_PARTS = (3, 4, 9, 3, 3, 3, 3)


@dataclass(frozen=True, slots=True)
class Recipe:
    """A piece of code: how it is computed from scalars, and from which inputs.

    Attributes
    ----------
    inputs
        Always there.
    optional
        May be left out, each making other code.
    """

    compute: Callable[[Tree, Numbers, Rows], list[Scalar]]
    inputs: tuple[str, ...]
    optional: tuple[str, ...] = ()


def rows_of(tree: Tree, group: str) -> int:
    """Return how many rows an input has."""
    return {
        "q": tree.nq,
        "v": tree.nv,
        "a": tree.nv,
        "next_v": tree.nv,
        "force": tree.nv,
        "forces": tree.nv,
        "targets": len(tree.drives),
        "wrench": 6 * len(tree.links),
        "h": 1,
    }[group]


def _wrenches(tree: Tree, rows: Rows) -> list[Sequence[Scalar]]:
    wrench = rows["wrench"]
    return [wrench[6 * i : 6 * i + 6] for i in range(len(tree.links))]


def _inverse(tree: Tree, numbers: Numbers, rows: Rows) -> list[Scalar]:
    q, v = rows["q"], rows["v"]
    gravity = numbers.gravity()
    wrenches = None
    if "wrench" in rows:
        matrices = [place.matrix for place in poses(tree, q)]
        wrenches = link_wrenches(matrices, _wrenches(tree, rows))
    a: Sequence[Scalar] = rows.get("a", [0.0] * tree.nv)
    result = inverse_dynamics(
        tree,
        joint_transforms(tree, q),
        numbers.inertias(),
        gravity,
        v,
        relative_to_gravity(tree, a, gravity),
        wrenches,
    )
    return [
        force + extra * rate
        for force, extra, rate in zip(result, numbers["armature"], a, strict=True)
    ]


def _mass_matrix(tree: Tree, numbers: Numbers, rows: Rows) -> list[Scalar]:
    entries = mass_matrix(
        tree,
        joint_transforms(tree, rows["q"]),
        numbers.inertias(),
        numbers["armature"],
    )
    return [
        entries.get((max(i, j), min(i, j)), 0.0)
        for i in range(tree.nv)
        for j in range(tree.nv)
    ]


def _acceleration(tree: Tree, numbers: Numbers, rows: Rows) -> list[Scalar]:
    q = rows["q"]
    wrenches = None
    if "wrench" in rows:
        matrices = [place.matrix for place in poses(tree, q)]
        wrenches = link_wrenches(matrices, _wrenches(tree, rows))
    return forward_dynamics(
        tree,
        joint_transforms(tree, q),
        numbers.inertias(),
        numbers["armature"],
        numbers.gravity(),
        rows["v"],
        rows["force"],
        wrenches,
    )


def _joint_force(tree: Tree, numbers: Numbers, rows: Rows) -> list[Scalar]:
    return joint_forces(
        tree, numbers, rows["q"], rows["v"], rows.get("targets"), rows.get("forces")
    )


def _integrate(tree: Tree, numbers: Numbers, rows: Rows) -> list[Scalar]:
    return integrate(tree, rows["q"], rows["v"], rows["h"][0])


def _semi_implicit(tree: Tree, numbers: Numbers, rows: Rows) -> list[Scalar]:
    h = rows["h"][0]
    a = _acceleration(
        tree, numbers, {**rows, "force": _joint_force(tree, numbers, rows)}
    )
    v = [rate + h * change for rate, change in zip(rows["v"], a, strict=True)]
    return [*integrate(tree, rows["q"], v, h), *v]


def _residual(tree: Tree, numbers: Numbers, rows: Rows) -> list[Scalar]:
    h = rows["h"][0]
    v, after = rows["v"], rows["next_v"]
    moved = {
        **rows,
        "q": integrate(tree, rows["q"], after, h),
        "v": after,
        "a": [(new - old) / h for new, old in zip(after, v, strict=True)],
    }
    needed = _inverse(tree, numbers, moved)
    given = _joint_force(tree, numbers, moved)
    return [a - b for a, b in zip(needed, given, strict=True)]


def _residual_jacobian(tree: Tree, numbers: Numbers, rows: Rows) -> list[Scalar]:
    residual = _residual(tree, numbers, rows)
    variables = [row for row in rows["next_v"] if isinstance(row, Expression)]
    if not variables:
        return []
    rates = jacobian(variables[0].graph, residual, variables)
    return [*residual, *(entry for row in rates for entry in row)]


def _wrench_force(tree: Tree, numbers: Numbers, rows: Rows) -> list[Scalar]:
    q = rows["q"]
    matrices = [place.matrix for place in poses(tree, q)]
    return generalized_force(
        tree, joint_transforms(tree, q), link_wrenches(matrices, _wrenches(tree, rows))
    )


def _kinematics(tree: Tree, numbers: Numbers, rows: Rows) -> list[Scalar]:
    places = poses(tree, rows["q"])
    speeds = velocities(tree, places, rows["q"], rows["v"])
    result: list[list[Scalar]] = [[] for _ in KINEMATIC_PARTS]
    for link, (place, speed) in enumerate(zip(places, speeds, strict=True)):
        center, center_velocity = place.point(speed, numbers.center(link))
        parts: tuple[Sequence[Scalar], ...] = (
            place.position,
            place.quaternion,
            [entry for row in place.matrix for entry in row],
            speed.linear,
            speed.angular,
            center,
            center_velocity,
        )
        for part, values in zip(result, parts, strict=True):
            part.extend(values)
    return [value for part in result for value in part]


def _energy(tree: Tree, numbers: Numbers, rows: Rows) -> list[Scalar]:
    places = poses(tree, rows["q"])
    inertias = numbers.inertias()
    speeds = [
        body_velocity(place, speed)
        for place, speed in zip(
            places, velocities(tree, places, rows["q"], rows["v"]), strict=True
        )
    ]
    return [
        kinetic_energy(inertias, speeds, numbers["armature"], rows["v"]),
        potential_energy(places, inertias, numbers.gravity()),
    ]


def _momentum(tree: Tree, numbers: Numbers, rows: Rows) -> list[Scalar]:
    places = poses(tree, rows["q"])
    speeds = velocities(tree, places, rows["q"], rows["v"])
    inertias = numbers.inertias()
    result: list[Scalar] = []
    for actor in tree.actors:
        total: list[Scalar] = [0.0] * 6
        for i in range(*actor.links):
            linear, angular = momentum(
                places[i], inertias[i], body_velocity(places[i], speeds[i])
            )
            total = [a + b for a, b in zip(total, (*linear, *angular), strict=True)]
        result.extend(total)
    return result


RECIPES: dict[str, Recipe] = {
    "kinematics": Recipe(_kinematics, ("q", "v")),
    "inverse": Recipe(_inverse, ("q", "v", "a"), ("wrench",)),
    "bias": Recipe(_inverse, ("q", "v"), ("wrench",)),
    "mass_matrix": Recipe(_mass_matrix, ("q",)),
    "acceleration": Recipe(_acceleration, ("q", "v", "force"), ("wrench",)),
    "integrate": Recipe(_integrate, ("q", "v", "h")),
    "energy": Recipe(_energy, ("q", "v")),
    "momentum": Recipe(_momentum, ("q", "v")),
    "joint_force": Recipe(_joint_force, ("q", "v"), ("targets", "forces")),
    "semi_implicit": Recipe(
        _semi_implicit, ("q", "v", "h"), ("targets", "forces", "wrench")
    ),
    "residual": Recipe(
        _residual, ("q", "v", "next_v", "h"), ("targets", "forces", "wrench")
    ),
    "residual_jacobian": Recipe(
        _residual_jacobian, ("q", "v", "next_v", "h"), ("targets", "forces", "wrench")
    ),
    "wrench_force": Recipe(_wrench_force, ("q", "wrench")),
}

_made: dict[tuple[Tree, Structure, str, tuple[str, ...]], Program] = {}


def program(
    tree: Tree, structure: Structure, name: str, given: tuple[str, ...] = ()
) -> Program:
    """Return the code for a tree, made at its first use in this process.

    Parameters
    ----------
    name
        A key of `RECIPES`.
    given
        Which of its optional inputs there are, in the recipe's order.
    """
    key = (tree, structure, name, given)
    found = _made.get(key)
    if found is None:
        recipe = RECIPES[name]
        graph = Graph()
        groups = (*recipe.inputs, *given)
        rows = {group: graph.inputs(group, rows_of(tree, group)) for group in groups}
        outputs = recipe.compute(tree, Numbers.symbolic(graph, structure), rows)
        found = emit(
            name, [graph.lift(value) for value in outputs], groups, tuple(SIMPLE)
        )
        _made[key] = found
    return found
