"""Sets a part of an actor's state in a native scene, as a branch asks for it.

The engine's setters let a time integrator of several steps begin anew, and give a pose
controller what is set as its target; a recorded target is applied again right after.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.replay.branch.overwriting import (
    POSITIONS,
    Overwritten,
    not_movable,
)
from isoscope.core.replay.engine import ReplayError
from isoscope.core.tap.adapters.superdex.actors import (
    ARTICULATED,
    RIGID,
    dofs_of,
    is_link,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from isoscope.core.recording.tracks import Array
    from isoscope.core.tap.adapters.superdex.actors import Known


def place(
    physics: Any,
    actors: Iterable[Known],
    name: str,
    field: str,
    component: int | str | None,
    value: Sequence[float],
) -> None:
    """Set it; the rest of the state stays.

    Parameters
    ----------
    physics
        The engine's module.
    actors
        The scene's.
    field, component, value
        See `isoscope.core.replay.branch.overwriting.Overwritten.overwrite`.

    Raises
    ------
    ReplayError
        For what the scene doesn't have, or what that refuses; nothing was changed.
    """
    known = {
        one.actor.get_name(): one
        for one in actors
        if not one.static and not is_link(one.actor)
    }
    chosen = known.get(name)
    movable = [n for n, one in known.items() if one.kind in (ARTICULATED, RIGID)]
    if chosen is None:
        whole, _, _ = name.rpartition("/")
        owner = known.get(whole)
        if owner is not None and owner.kind == ARTICULATED:
            raise not_movable(name, movable, whole, dofs_of(owner.actor)[0])
        raise not_movable(name, movable)
    if chosen.kind == ARTICULATED:
        _place_articulation(physics, chosen.actor, name, field, component, value)
    elif chosen.kind == RIGID:
        _place_body(physics, chosen.actor, name, field, component, value)
    else:
        raise ReplayError(
            f"setting {field} of {name}: it is a {chosen.kind.lower()} actor, whose "
            "state can't be edited; actors whose state can be are "
            f"{', '.join(movable) or 'none'}"
        )


def _place_articulation(
    physics: Any,
    actor: Any,
    name: str,
    field: str,
    component: int | str | None,
    value: Sequence[float],
) -> None:
    positions = _filled(physics, actor, actor.get_articulated_pose)
    velocities = _filled(physics, actor, actor.get_articulated_joint_velocities)
    whole = Overwritten(name, False, dofs_of(actor)[0])
    if whole.overwrite(field, component, value, positions, velocities) == POSITIONS:
        actor.set_articulated_pose_from_joints(positions.tolist())
    else:
        actor.set_articulated_joint_velocities(velocities.tolist())


def _place_body(
    physics: Any,
    actor: Any,
    name: str,
    field: str,
    component: int | str | None,
    value: Sequence[float],
) -> None:
    frame = actor.get_root_transform()
    parts = (frame.translation, frame.rotation)
    positions = np.array([x for part in parts for x in part.tolist()], np.float64)
    rates = (actor.get_linear_velocity(), actor.get_angular_velocity())
    velocities = np.array([x for part in rates for x in part.tolist()], np.float64)
    whole = Overwritten(name, True, ())
    if whole.overwrite(field, component, value, positions, velocities) == POSITIONS:
        at, turned = positions[:3].tolist(), positions[3:].tolist()
        actor.set_root_transform(physics.TransformRT(translation=at, rotation=turned))
    else:
        actor.set_velocity(velocities[:3].tolist(), velocities[3:].tolist())


def _filled(physics: Any, actor: Any, fill: Any) -> Array:
    values = physics.DynamicArrayReal(actor.get_num_dofs())
    fill(values)
    return np.array(values.tolist(), np.float64)
