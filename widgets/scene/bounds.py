"""How much room drawn actors take, at one row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.widgets.scene.shapes import Kind
from isoscope.widgets.scene.state import DRAWN

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isoscope.core.recording.tracks import Array
    from isoscope.widgets.scene.shapes import Shapes
    from isoscope.widgets.scene.state import SceneState


def ball(
    shapes: Shapes, state: SceneState, actor: int, least_m: float = 0.0
) -> tuple[Array, float] | None:
    """Centre [3] and radius [m] of a ball around a drawn actor, or None."""
    if actor >= len(state.poses) or state.poses[actor] not in DRAWN:
        return None
    surface = state.deformed.get(actor)
    if surface is not None:
        low, high = surface.min(axis=0), surface.max(axis=0)
        return (low + high) / 2, max(float(np.linalg.norm(high - low)) / 2, least_m)
    centre, radius = shapes[actor].sphere
    placed = state.transforms[actor]
    return placed[:, :3] @ centre + placed[:, 3], max(radius, least_m)


def moving(shapes: Shapes) -> list[int]:
    """Actors that may move and have a place of their own."""
    left_out = (Kind.ROOT, Kind.PLANE)
    return [s.index for s in shapes.all if s.moving and s.kind not in left_out]


def box(
    shapes: Shapes, state: SceneState, actors: Iterable[int], least_m: float = 0.0
) -> tuple[Array, Array] | None:
    """Corners [3] of the box around the drawn ones of these actors, or None."""
    balls = [ball(shapes, state, actor, least_m) for actor in actors]
    found = [b for b in balls if b is not None]
    if not found:
        return None
    low = np.min([centre - radius for centre, radius in found], axis=0)
    high = np.max([centre + radius for centre, radius in found], axis=0)
    return low, high
