"""Overwrites a part of an actor's state in a scene, one world's, as a branch asks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.replay.branch.overwriting import (
    QUATERNION,
    Overwritten,
    not_movable,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.core.scene import Scene, SceneActor

CAUSE = "branch"


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
    field, component, value
        See `isoscope.core.replay.branch.overwriting.Overwritten.overwrite`.

    Raises
    ------
    IsoscopeError
        For what the scene doesn't have, or what that refuses; nothing was changed.
    """
    its = _actor(scene, actor)
    positions = scene.to_host(scene.positions(its.index), CAUSE).copy()
    velocities = scene.to_host(scene.velocities(its.index), CAUSE).copy()
    free = its.type == "Rigid" and its.position_size == QUATERNION.stop
    Overwritten(its.name, free, its.dofs).overwrite(
        field, component, value, positions[world], velocities[world]
    )
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
    names = [one.name for one in movable]
    for one in movable:
        if name in one.links and one.type == "Articulated":
            raise not_movable(name, names, one.name, one.dofs)
    raise not_movable(name, names)
