"""Which actor is under the pointer: a ray against the drawn triangles. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.widgets.scene.bounds import ball
from isoscope.widgets.scene.shapes import Kind

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import Array
    from isoscope.widgets.scene.shapes import Shapes
    from isoscope.widgets.scene.state import SceneState

_PARALLEL = 1e-14


def pick(
    shapes: Shapes,
    state: SceneState,
    origin: Array,
    direction: Array,
    bare_radius_m: float = 0.0,
) -> int | None:
    """Index of the nearest actor that the ray hits, or None.

    Parameters
    ----------
    origin, direction
        [3] in world coordinates; `direction` of length 1.
    bare_radius_m
        Actors without a mesh are hit within this distance of their origin.
    """
    drawn = np.flatnonzero(state.drawn)
    centres, radii = _balls(shapes, state, drawn, bare_radius_m)
    away = centres - origin
    along = away @ direction
    beside = np.linalg.norm(away - along[:, None] * direction, axis=1)
    near = (radii > 0) & (beside <= radii) & (along + radii > 0)
    best, nearest = None, np.inf
    for actor, depth, radius in zip(drawn[near], along[near], radii[near], strict=True):
        if depth - radius > nearest:
            continue
        hit = _distance(shapes, state, int(actor), origin, direction, float(depth))
        if hit < nearest:
            best, nearest = int(actor), hit
    return best


def _balls(
    shapes: Shapes, state: SceneState, drawn: Array, bare_radius_m: float
) -> tuple[Array, Array]:
    """World centres [k, 3] and radii [k] of balls around the drawn actors."""
    centres = np.zeros((len(drawn), 3))
    radii = np.zeros(len(drawn))
    for i, actor in enumerate(drawn):
        bare = shapes[int(actor)].kind is Kind.BARE
        found = ball(shapes, state, int(actor), bare_radius_m if bare else 0.0)
        if found is not None:
            centres[i], radii[i] = found
    return centres, radii


def _distance(
    shapes: Shapes,
    state: SceneState,
    actor: int,
    origin: Array,
    direction: Array,
    depth: float,
) -> float:
    """How far along the ray the actor is hit [m]; infinity if it isn't."""
    mesh = shapes[actor].mesh
    if mesh is None:
        return depth
    positions = state.deformed.get(actor)
    if positions is None:
        placed = state.transforms[actor]
        turn = placed[:, :3]
        origin, direction = (origin - placed[:, 3]) @ turn, direction @ turn
        positions = mesh.positions
    if not len(mesh.faces):
        return depth  # a rod: within its ball is near enough
    return ray_hits(positions[mesh.faces], origin, direction)


def ray_hits(triangles: Array, origin: Array, direction: Array) -> float:
    """Distance to the first of the triangles [f, 3, 3] on the ray; infinity if none.

    Möller and Trumbore's test, for both sides of a triangle.
    """
    corner = triangles[:, 0]
    edge1, edge2 = triangles[:, 1] - corner, triangles[:, 2] - corner
    across = np.cross(direction, edge2)
    volume = np.einsum("ij,ij->i", edge1, across)
    size = np.linalg.norm(edge1, axis=1) * np.linalg.norm(edge2, axis=1)
    facing = np.abs(volume) > _PARALLEL * np.maximum(size, 1e-300)
    scale = 1 / np.where(facing, volume, 1.0)
    offset = origin - corner
    u = scale * np.einsum("ij,ij->i", offset, across)
    other = np.cross(offset, edge1)
    v = scale * (other @ direction)
    far = scale * np.einsum("ij,ij->i", edge2, other)
    hit = facing & (u >= 0) & (v >= 0) & (u + v <= 1) & (far > 0)
    return float(far[hit].min()) if hit.any() else float("inf")
