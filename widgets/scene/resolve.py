"""From the recording, a row and what the user asked for to what is drawn. Pure.

Nothing is made up: an actor whose pose this row doesn't hold is drawn where it was
created and marked so; one whose numbers are not finite is not drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.between import along, turned
from isoscope.widgets.scene.contacts import contacts_at
from isoscope.widgets.scene.poses import apply, deformed_nodes, transforms
from isoscope.widgets.scene.shapes import Kind
from isoscope.widgets.scene.state import (
    NOTHING,
    Intent,
    Pose,
    SceneState,
    Whose,
    nothing,
)
from isoscope.widgets.scene.trails import trails_at

if TYPE_CHECKING:
    from isoscope.core.between import Between
    from isoscope.core.recording.model import Actor, Labels, Recording
    from isoscope.core.recording.tracks import Array
    from isoscope.widgets.scene.shapes import Shape, Shapes

_VECTOR, _QUATERNION = (3,), (4,)
EVERYTHING = Intent(contacts=False)


def resolve(
    recording: Recording,
    shapes: Shapes,
    row: int,
    intent: Intent = EVERYTHING,
    labels: Labels | None = None,
    between: Between | None = None,
) -> SceneState:
    """What is drawn at this row.

    Parameters
    ----------
    recording
        What is shown, or the part of it that is indexed so far.
    shapes
        The shapes of its actors. Actors beyond these are left out.
    row
        The native step; outside of the recording nothing is drawn.
    intent
        What the user wants to see.
    labels
        Whose each step was; the recording's own labels by default.
    between
        Where between this row's state and a later one rigid bodies are drawn; contacts
        are left out then, since they were recorded where the bodies are not. What bends
        stays as it was recorded.
    """
    rows = len(recording)
    if not 0 <= row < rows:
        return nothing(len(shapes))
    poses, placed = _place_all(recording.actors, shapes, row, intent.hidden, between)
    deformed = _deform_all(recording.actors, shapes, row, poses, placed)
    shown = np.isin(poses, (Pose.RECORDED, Pose.CREATION, Pose.NOT_RECORDED))
    placed[~shown] = np.nan
    steps = recording.steps
    return SceneState(
        row=row,
        rows=rows,
        time_s=float(steps.time_s[row]),
        h_s=float(steps.h_s[row]),
        whose=whose_step(labels or recording.labels, row),
        poses=poses,
        transforms=placed,
        deformed=deformed,
        links=_link_lines(shapes, poses, placed),
        contacts=contacts_at(recording, row, intent)
        if intent.contacts and between is None
        else _NO,
        trails=trails_at(recording, shapes, row, intent, labels)
        if intent.trails
        else (),
    )


_NO = NOTHING.contacts


def whose_step(labels: Labels | None, row: int) -> Whose:
    """Whose step it was, as far as it is known."""
    if labels is None or not 0 <= row < len(labels):
        return Whose()
    return Whose(
        int(labels.env[row]), int(labels.episode[row]), int(labels.control_step[row])
    )


def vector_at(
    actor: Actor, field: str, row: int, shape: tuple[int, ...]
) -> Array | None:
    """A real field of this shape in this row, or None where it is absent."""
    track = actor.fields.tracks.get(field)
    value = track.at(row) if track is not None else None
    if value is None or value.shape != shape or value.dtype.kind != "f":
        return None
    return value


def _place_all(
    actors: list[Actor],
    shapes: Shapes,
    row: int,
    hidden: frozenset[int],
    between: Between | None = None,
) -> tuple[Array, Array]:
    """Where each actor's transform comes from [n], and the transforms [n, 3, 4]."""
    count = len(shapes)
    poses = np.zeros(count, np.uint8)
    at = np.full((count, 3), np.nan)
    turns = np.full((count, 4), np.nan)
    standing = []
    for shape, actor in zip(shapes.all, actors, strict=False):
        if not actor.alive(row) or shape.index in hidden:
            continue
        translation = vector_at(actor, "translation", row, _VECTOR)
        rotation = vector_at(actor, "rotation", row, _QUATERNION)
        if translation is not None and rotation is not None:
            poses[shape.index] = Pose.RECORDED
            if between is not None and shape.kind is not Kind.DEFORMABLE:
                translation, rotation = _between(actor, translation, rotation, between)
            at[shape.index] = translation
            turns[shape.index] = rotation
        elif shape.kind is Kind.ROOT and shapes.links.get(shape.index):
            continue  # its links say where it is; it has no body of its own
        elif shape.creation is None:
            poses[shape.index] = Pose.NOWHERE
        else:
            poses[shape.index] = Pose.NOT_RECORDED if shape.moving else Pose.CREATION
            standing.append(shape)
    placed = transforms(at, turns)
    for shape in standing:
        placed[shape.index] = shape.creation
    lost = ~np.isfinite(placed).all(axis=(1, 2)) & (poses == Pose.RECORDED)
    poses[lost] = Pose.NOT_FINITE
    return poses, placed


def _between(
    actor: Actor, translation: Array, rotation: Array, where: Between
) -> tuple[Array, Array]:
    """Position and rotation between these and a later step's; as recorded without."""
    if not actor.alive(where.after):
        return translation, rotation
    later = vector_at(actor, "translation", where.after, _VECTOR)
    ahead = vector_at(actor, "rotation", where.after, _QUATERNION)
    if later is None or ahead is None:
        return translation, rotation
    return along(translation, later, where.part), turned(rotation, ahead, where.part)


def _deform_all(
    actors: list[Actor], shapes: Shapes, row: int, poses: Array, placed: Array
) -> dict[int, Array]:
    """World positions of the deformable surfaces; corrects their `poses` in place."""
    deformed = {}
    for shape in shapes.of_kind(Kind.DEFORMABLE):
        if shape.mesh is None or poses[shape.index] not in (
            Pose.RECORDED,
            Pose.NOT_RECORDED,
        ):
            continue
        surface = None
        if poses[shape.index] == Pose.RECORDED:
            surface = _surface(actors[shape.index], shape, row, placed[shape.index])
        if surface is None:
            # The body's frame alone doesn't place the nodes.
            surface = _as_created(shape)
            poses[shape.index] = Pose.NOWHERE if surface is None else Pose.NOT_RECORDED
        elif not np.isfinite(surface).all():
            poses[shape.index] = Pose.NOT_FINITE
            surface = None
        if surface is not None:
            deformed[shape.index] = surface
    return deformed


def _surface(actor: Actor, shape: Shape, row: int, placed: Array) -> Array | None:
    """World positions [p, 3] of a deformable surface, or None where not recorded."""
    mesh = shape.mesh
    track = actor.fields.tracks.get("displacement")
    displacement = track.at(row) if track is not None else None
    at = vector_at(actor, "pivotEvalTranslation", row, _VECTOR)
    turned = vector_at(actor, "pivotEvalRotation", row, _QUATERNION)
    if (
        mesh is None
        or displacement is None
        or displacement.ndim != 2
        or displacement.shape[1] < 3
        or len(displacement) <= int(mesh.nodes.max())
    ):
        return None
    if shape.eval_point is None and "pivotEvalTranslation" not in actor.fields.tracks:
        # Told in the frame that the body has after the step, as the tap does.
        with np.errstate(invalid="ignore", over="ignore"):
            return apply(placed, mesh.positions + displacement[mesh.nodes, :3])
    if shape.eval_point is None or at is None or turned is None:
        return None
    with np.errstate(invalid="ignore", over="ignore"):
        return deformed_nodes(
            mesh.positions,
            # A rod has a fourth number a node, its twist.
            displacement[mesh.nodes, :3],
            step=placed,
            pivot=transforms(at, turned),
            eval_point=shape.eval_point,
        )


def _as_created(shape: Shape) -> Array | None:
    if shape.creation is None or shape.mesh is None:
        return None
    return apply(shape.creation, shape.mesh.positions)


def _link_lines(shapes: Shapes, poses: Array, placed: Array) -> Array:
    """Lines [m, 2, 3] along the articulations whose ends are both recorded."""
    pairs = [pair for bones in shapes.bones.values() for pair in bones]
    if not pairs:
        return NOTHING.links
    ends = np.array(pairs)
    seen = (poses[ends] == Pose.RECORDED).all(axis=1)
    lines: Array = placed[ends[seen], :, 3]
    return lines
