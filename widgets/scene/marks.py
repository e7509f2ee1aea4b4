"""Lines, points and arrows over the bodies, as strokes; pure.

A stroke runs from one world position to another with a width in pixels and a colour at
each end, so it stays as wide at any distance. A stroke without length is a round point;
one that narrows to nothing is an arrow's head.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoscope.widgets.scene.palette import rgb
from isoscope.widgets.scene.shapes import Kind
from isoscope.widgets.scene.state import Pose

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.core.recording.tracks import Array
    from isoscope.widgets.scene.shapes import Shapes
    from isoscope.widgets.scene.state import Contacts, SceneState, Trail

_LINK_WIDTH, _TRAIL_WIDTH, _ROD_WIDTH, _ARROW_WIDTH = 1.6, 2.6, 6.0, 2.6
_POINT_WIDTH, _HEAD_WIDTH, _BARE_WIDTH = 7.0, 11.0, 2.4
_ARC_PARTS = 24
# How long the arrow of the typical force is, as a part of the scene's size.
ARROW_PART = 0.16


@dataclass(frozen=True, slots=True, eq=False)
class Strokes:
    """Strokes, all arrays of n.

    Attributes
    ----------
    ends
        [n, 2, 3] in metres.
    colours
        [n, 2, 4] sRGB and alpha at each end.
    widths
        [n, 2] in pixels at each end.
    """

    ends: Array
    colours: Array
    widths: Array

    def __len__(self) -> int:
        """How many."""
        return len(self.ends)


NO_STROKES = Strokes(np.zeros((0, 2, 3)), np.zeros((0, 2, 4)), np.zeros((0, 2)))


def joined(parts: Sequence[Strokes]) -> Strokes:
    """All of them in one."""
    kept = [part for part in parts if len(part)]
    if not kept:
        return NO_STROKES
    return Strokes(
        np.concatenate([p.ends for p in kept]),
        np.concatenate([p.colours for p in kept]),
        np.concatenate([p.widths for p in kept]),
    )


def even(
    ends: Array, colour: str, width: float | tuple[float, float], alpha: float = 1.0
) -> Strokes:
    """Strokes [n, 2, 3] of one colour and one width (or one at each end)."""
    n = len(ends)
    tint = np.broadcast_to(np.append(rgb(colour), alpha), (n, 2, 4))
    return Strokes(ends, tint, np.broadcast_to(np.asarray(width, float), (n, 2)))


def link_strokes(state: SceneState, colour: str) -> Strokes:
    """Thin lines along articulations, with a dot at each link's origin."""
    if not len(state.links):
        return NO_STROKES
    dots = np.repeat(state.links.reshape(-1, 1, 3), 2, axis=1)
    return joined(
        [
            even(state.links, colour, _LINK_WIDTH, 0.8),
            even(dots, colour, 3.2 * _LINK_WIDTH, 0.9),
        ]
    )


def trail_strokes(trails: Sequence[Trail], colours: Sequence[str]) -> Strokes:
    """Lines that fade out towards the past, with a dot at a trail's every beginning."""
    parts = []
    for trail in trails:
        to = np.flatnonzero(trail.joined)
        ends = np.stack([trail.points[to - 1], trail.points[to]], axis=1)
        age = np.stack([to - 1, to], axis=1) / max(len(trail.points) - 1, 1)
        tint = np.empty((len(to), 2, 4))
        tint[..., :3] = rgb(colours[trail.actor])
        tint[..., 3] = 0.15 + 0.85 * age
        widths = np.full((len(to), 2), _TRAIL_WIDTH)
        parts.append(Strokes(ends, tint, widths))
    return joined(parts)


def rod_strokes(
    shapes: Shapes, state: SceneState, colours: Sequence[str], alpha: float = 1.0
) -> Strokes:
    """Rods as thick lines through their nodes."""
    parts = []
    for actor, nodes in state.deformed.items():
        mesh = shapes[actor].mesh
        if mesh is not None and not len(mesh.faces):
            ends = np.stack([nodes[:-1], nodes[1:]], axis=1)
            parts.append(even(ends, colours[actor], _ROD_WIDTH, alpha))
    return joined(parts)


def bare_strokes(
    shapes: Shapes, state: SceneState, colours: Sequence[str], reach_m: float
) -> Strokes:
    """A small cross along its axes for each actor whose mesh isn't in the file."""
    parts = []
    for shape in shapes.of_kind(Kind.BARE):
        if not state.drawn[shape.index]:
            continue
        placed = state.transforms[shape.index]
        arms = reach_m * placed[:, :3].T
        ends = np.stack([placed[:, 3] - arms, placed[:, 3] + arms], axis=1)
        at = np.repeat(placed[None, None, :, 3], 2, axis=1)
        faded = state.poses[shape.index] == Pose.NOT_RECORDED
        alpha = 0.5 if faded else 1.0
        parts.append(even(ends, colours[shape.index], _BARE_WIDTH, alpha))
        parts.append(even(at, colours[shape.index], 3.5 * _BARE_WIDTH, alpha))
    return joined(parts)


def contact_strokes(
    contacts: Contacts, colour: str, metres_per_newton: float, head_m: float
) -> Strokes:
    """A point for each contact, and an arrow for each force that is known.

    Parameters
    ----------
    head_m
        Length of an arrow's head; a shorter arrow is all head.
    """
    if not len(contacts):
        return NO_STROKES
    points = np.repeat(contacts.points[:, None], 2, axis=1)
    parts = [even(points, colour, _POINT_WIDTH)]
    known = np.isfinite(contacts.forces).all(axis=1)
    way = metres_per_newton * contacts.forces[known]
    length = np.linalg.norm(way, axis=1)
    seen = length > 0
    if seen.any():
        start = contacts.points[known][seen]
        parts.append(_arrows(start, way[seen], length[seen], colour, head_m))
    return joined(parts)


def arc(start: Array, end: Array, up: Array, colour: str, head_m: float) -> Strokes:
    """A curved arrow from one place [3] to another, bulging upwards.

    Nothing where they are nearer than the arrow's head [m] is long.
    """
    if not float(np.linalg.norm(end - start)) > 1.5 * head_m:
        return NO_STROKES
    part = np.linspace(0, 1, _ARC_PARTS + 1)[:, None]
    rise = 0.28 * float(np.linalg.norm(end - start))
    path = start + part * (end - start) + 4 * rise * part * (1 - part) * up
    ends = np.stack([path[:-1], path[1:]], axis=1)
    way = path[-1] - path[-3]
    tip = path[-1] - way / float(np.linalg.norm(way)) * head_m
    head = np.stack([tip, path[-1]])[None]
    before = np.linalg.norm(ends[:, 1] - end, axis=1) > 0.9 * head_m
    return joined(
        [
            even(ends[before], colour, _ARROW_WIDTH),
            even(head, colour, (1.2 * _HEAD_WIDTH, 0.0)),
        ]
    )


def arrow(start: Array, way: Array, colour: str, head_m: float) -> Strokes:
    """A straight arrow from a place [3] along a way [3]; nothing for no way."""
    length = float(np.linalg.norm(way))
    if not length > 0:
        return NO_STROKES
    return _arrows(start[None], way[None], np.array([length]), colour, head_m)


def _arrows(
    start: Array, way: Array, length: Array, colour: str, head_m: float
) -> Strokes:
    tip = start + way
    head = np.minimum(head_m, 0.5 * length)
    neck = tip - way * (head / length)[:, None]
    shafts = np.stack([start, neck], axis=1)
    heads = np.stack([neck, tip], axis=1)
    return joined(
        [
            even(shafts, colour, _ARROW_WIDTH),
            even(heads, colour, (_HEAD_WIDTH, 0.0)),
        ]
    )
