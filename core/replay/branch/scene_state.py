"""Overwrites a part of an actor's state in a scene, one world's, as a branch asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.replay.engine import ReplayError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.core.scene import Scene, SceneActor

CAUSE = "branch"
POSITIONS, VELOCITIES = "positions", "velocities"
QUATERNION = slice(3, 7)
# Of a free body: parts of its positions x y z, quaternion x y z w, and its velocities.
RIGID: dict[str, tuple[str, slice]] = {
    "translation": (POSITIONS, slice(0, 3)),
    "rotation": (POSITIONS, QUATERNION),
    "velocity": (VELOCITIES, slice(0, 3)),
    "omega": (VELOCITIES, slice(3, 6)),
}


def edit_scene_state(
    scene: Scene,
    actor: str,
    field: str,
    component: int | str | None,
    value: Sequence[float],
    world: int,
) -> None:
    """Set a part of an actor's positions or velocities; the rest stays.

    Parameters
    ----------
    field, component
        See `isoscope.core.replay.branch.model.StateEdit`. A quaternion of a free body
        is normalised.
    value
        As many numbers as are meant, SI.

    Raises
    ------
    IsoscopeError
        For what the scene doesn't have, a wrong number of values or a quaternion of
        length zero; nothing was changed.
    """
    its = _actor(scene, actor)
    doing = f"setting {field} of {actor}"
    which, part = _part(its, field, doing)
    positions = scene.to_host(scene.positions(its.index), CAUSE).copy()
    velocities = scene.to_host(scene.velocities(its.index), CAUSE).copy()
    state = (positions if which == POSITIONS else velocities)[world]
    meant = np.arange(len(state))[part]
    if component is not None:
        meant = meant[_place(its, which, len(meant), component, doing)][None]
    if len(value) != len(meant):
        raise ReplayError(
            f"{doing}: {len(value)} numbers for {len(meant)}; give as many"
        )
    state[meant] = value
    if which == POSITIONS and its.type == "Rigid":
        length = float(np.linalg.norm(state[QUATERNION].astype(np.float64)))
        if not length > 0:
            raise ReplayError(f"{doing}: a quaternion of length zero turns nothing")
        if set(meant.tolist()) & set(range(3, 7)):
            state[QUATERNION] = state[QUATERNION] / length
    mask = np.zeros(scene.worlds, np.bool_)
    mask[world] = True
    scene.set_state(
        its.index,
        scene.to_device(positions, CAUSE),
        scene.to_device(velocities, CAUSE),
        scene.to_device(mask, CAUSE),
    )


def _actor(scene: Scene, name: str) -> SceneActor:
    movable = [one for one in scene.actors if not one.static and one.velocity_size]
    for one in movable:
        if one.name == name:
            return one
    there = ", ".join(one.name for one in movable) or "none"
    raise ReplayError(f"setting the state of {name}: actors that move are {there}")


def _part(actor: SceneActor, field: str, doing: str) -> tuple[str, slice]:
    known = {POSITIONS: (POSITIONS, slice(None)), VELOCITIES: (VELOCITIES, slice(None))}
    if actor.type == "Rigid" and actor.position_size == QUATERNION.stop:
        known |= RIGID
    else:
        known["pose"] = known[POSITIONS]
    if field not in known:
        raise ReplayError(f"{doing}: its state has {', '.join(known)}")
    return known[field]


def _place(
    actor: SceneActor, which: str, size: int, component: int | str, doing: str
) -> int:
    """The place of a component in a part of so many."""
    if isinstance(component, str):
        names = list(actor.dofs)
        # Positions go by the names of degrees of freedom only where there is one each.
        if which == VELOCITIES or actor.position_size == actor.velocity_size:
            if size == len(names) and component in names:
                return names.index(component)
            raise ReplayError(f"{doing}: no component {component}; there are {names}")
        raise ReplayError(f"{doing}: give the component's number, from 0")
    if not 0 <= component < size:
        raise ReplayError(f"{doing}: component {component}; there are 0 to {size - 1}")
    return component
