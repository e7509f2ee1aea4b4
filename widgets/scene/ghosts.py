"""Ghosts: other states drawn through the present one, or beside it. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from isoscope.widgets.scene.resolve import resolve
from isoscope.widgets.scene.state import DRAWN, Ghost, Intent, Overlay, Pose, SceneState

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isoscope.core.between import Between
    from isoscope.core.recording.model import Recording
    from isoscope.core.recording.tracks import Array
    from isoscope.widgets.scene.shapes import Shapes
    from isoscope.widgets.scene.survey import Survey

_GAP = 1.15


def ghost_state(
    recording: Recording,
    shapes: Shapes,
    ghost: Ghost,
    hidden: frozenset[int],
    shapes_of_other: Callable[[Recording], Shapes],
    between: Between | None = None,
) -> SceneState:
    """The state that a ghost shows, by the actors of the recording shown.

    Static actors are left out: they stand where they stand. Another recording's actors
    are matched by name, the first of each name. `between` is for a ghost of the same
    native steps as the present state, which goes along with it.
    """
    intent = Intent(hidden=hidden, contacts=False)
    if ghost.recording is None or ghost.recording is recording:
        state = resolve(recording, shapes, ghost.row, intent, between=between)
    else:
        other = shapes_of_other(ghost.recording)
        theirs = resolve(
            ghost.recording, other, ghost.row, Intent(contacts=False), between=between
        )
        state = _matched(theirs, other, shapes, hidden)
    if state.row < 0:
        return state
    poses = state.poses.copy()
    still = np.array([not s.moving for s in shapes.all], np.bool_)
    poses[still | (poses == Pose.NOT_RECORDED)] = Pose.NONE
    if ghost.actors is not None:
        poses[~np.isin(np.arange(len(poses)), ghost.actors)] = Pose.NONE
    return _moved(replace(state, poses=poses), np.array(ghost.offset))


def _moved(state: SceneState, offset: Array) -> SceneState:
    placed = state.transforms.copy()
    placed[:, :, 3] += offset
    placed[~np.isin(state.poses, DRAWN)] = np.nan
    surfaces = {a: p + offset for a, p in state.deformed.items() if state.poses[a]}
    return replace(
        state, transforms=placed, deformed=surfaces, links=state.links + offset
    )


def _matched(
    theirs: SceneState, other: Shapes, shapes: Shapes, hidden: frozenset[int]
) -> SceneState:
    if theirs.row < 0:
        return theirs
    named: dict[str, int] = {}
    for shape in other.all:
        named.setdefault(shape.name, shape.index)
    poses = np.zeros(len(shapes), np.uint8)
    placed = np.full((len(shapes), 3, 4), np.nan)
    surfaces = {}
    for shape in shapes.all:
        index = named.get(shape.name)
        if index is None or shape.index in hidden:
            continue
        surface = theirs.deformed.get(index)
        if surface is not None:
            mesh = shape.mesh
            if mesh is None or len(mesh.positions) != len(surface):
                continue
            surfaces[shape.index] = surface
        poses[shape.index] = theirs.poses[index]
        placed[shape.index] = theirs.transforms[index]
    return replace(theirs, poses=poses, transforms=placed, deformed=surfaces)


def side_by_side(
    entries: Sequence[tuple[int, str, str]], survey: Survey, here: str = ""
) -> Overlay:
    """Several rows' states in a line, the present one first.

    Parameters
    ----------
    entries
        Row, label and colour of each.
    survey
        Of the recording: they stand apart along the horizontal axis that the bodies
        need least room on.
    here
        Label of the present state.
    """
    ghosts = tuple(Ghost(row, tint, text, alpha=1.0) for row, text, tint in entries)
    return set_apart(Overlay("side by side", ghosts, here), survey)


def set_apart(overlay: Overlay, survey: Survey) -> Overlay:
    """The same overlay with its ghosts in a line beside the present state."""
    room = np.where(np.abs(survey.up) > 0, np.inf, survey.high - survey.low)
    axis = int(room.argmin())
    step = np.zeros(3)
    # Away from the first camera, which looks from the positive side.
    step[axis] = -_GAP * max(float(room[axis]), 0.35 * survey.scale_m)
    ghosts = []
    for place, ghost in enumerate(overlay.ghosts, start=1):
        x, y, z = (float(v) for v in place * step)
        ghosts.append(replace(ghost, offset=(x, y, z)))
    return replace(overlay, ghosts=tuple(ghosts), apart=False)
