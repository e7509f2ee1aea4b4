"""The predictor for engines that record the mean velocity over the step.

Source: SuperDex Physics 1.0.0, seen with the real engine. ``vcom`` is the displacement
of the centre of mass over the step divided by h, so the step began at
``translationCom - h * vcom``. ``omega`` and ``vsym`` are the antisymmetric and the
symmetric part of ``(I - R_before R_after^T) / h``, so the body was turned by
``R_before = (I - h L) R_after`` with ``L = [omega]x + vsym``. Seen bounds: 1.1 eps of
``|h * vcom|`` for each component, 3 eps for an entry of the rotation matrix (more, the
further a body turns in a step).

A soft body's nodes are recorded as displacements in the frame it had *before* the step,
and its new frame is the old one moved by the recorded pivot transform P (rotation
``pivotEvalRotation``, taking the point ``rigidTransformEvalPoint`` to
``pivotEvalTranslation``): ``frame_before = frame_after P^-1``. World positions of the
nodes at the end are ``frame_before (reference + displacement)`` and at the start
``frame_before (reference + displacement - h * velocity)``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.attribution.predictor import NOT_FINITE, Layout, Motion
from isoscope.core.attribution.rounding import Precision, precision_of
from isoscope.core.recording.tracks import Track

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoscope.core.recording.model import Actor, Recording
    from isoscope.core.recording.tracks import Array

TIGHT_EPS = 2.0  # of |h * vcom|, seen at most 1.1
LOOSE_EPS = 4.0  # of max(|h * vcom|, |translationCom|)
# Of an entry of the rotation matrix: seen at most 3.2 for small turns, and 13 where a
# body turns by about half a turn in one step, which makes `h * L` as large as 2; 8.4
# where quaternions are rounded to float64 from angles.
ROTATION_EPS = 12.0
NODE_EPS = 16.0  # of the largest coordinate of a soft body, seen at most 2
HUGE = 1e20  # above it a number is as good as infinite, in whatever unit
TINY = 1e-36  # below any distance that means something
SAMPLE_ROWS = 512  # that the precision is judged on
NODES = (-1, 3)  # as many rows as the body has reference points
CENTRE_FIELDS = {"translationCom": (3,), "vcom": (3,)}
ROTATION_FIELDS = {"rotation": (4,), "omega": (3,), "vsym": (9,)}
SOFT_FIELDS = {
    "displacement": NODES,
    "velocity": NODES,
    "translation": (3,),
    "rotation": (4,),
    "pivotEvalTranslation": (3,),
    "pivotEvalRotation": (4,),
}


@dataclass(slots=True)
class _Part:
    """Some columns of one actor, and how they are made."""

    actor: Actor
    kind: str  # "centre", "rotation" or "nodes"
    columns: slice


class MeanVelocity:
    """Predicts the start of a step from the recorded mean velocities.

    Parameters
    ----------
    recording
        May grow; actors and fields that turn up later add columns.
    """

    name = "mean velocity"

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.layout = Layout()
        self.precision: dict[tuple[int, str], Precision] = {}
        self._parts: list[_Part] = []
        self._known: set[tuple[int, str]] = set()
        self._parts_by_kind = {
            "centre": self._centre,
            "rotation": self._rotation,
            "nodes": self._nodes,
        }

    def read(self, start: int, stop: int) -> Motion:
        """Motion of the native steps start .. stop; see `Motion`."""
        self._find_parts()
        shape = (stop - start, len(self.layout))
        motion = Motion(start, stop, *(np.full(shape, np.nan) for _ in "1234"))
        h = np.array(self.recording.steps.h_s[start:stop], np.float64)
        # A step of no duration records nothing of use: the engine leaves its fields
        # unset (seen: denormal garbage).
        h[~((h > 0) & (h <= HUGE))] = np.nan
        for part in self._parts:
            self._parts_by_kind[part.kind](part, motion, h)
        return motion

    # -- which columns there are ----------------------------------------------------

    def _find_parts(self) -> None:
        for actor in self.recording.actors:
            if actor.static:
                continue
            self._look_for(actor, "centre", CENTRE_FIELDS, 3)
            self._look_for(actor, "rotation", ROTATION_FIELDS, 9)
            points = actor.reference.get("refPositions")
            if (
                points is not None
                and points.ndim == 2
                and points.shape[1] == 3
                and _sane(points)
            ):
                fields = {
                    name: points.shape if shape == NODES else shape
                    for name, shape in SOFT_FIELDS.items()
                }
                self._look_for(actor, "nodes", fields, points.size)

    def _look_for(
        self,
        actor: Actor,
        kind: str,
        fields: Mapping[str, tuple[int, ...]],
        columns: int,
    ) -> None:
        """Add columns if all the fields are there, each of the shape it must have.

        One of another shape means something else, and is as good as absent.
        """
        key = (actor.index, kind)
        if key in self._known:
            return
        for name, shape in fields.items():
            track = _track(actor, name)
            if track is None or track.shape != shape:
                return
        if kind == "nodes":
            anchor = actor.reference.get("rigidTransformEvalPoint")
            if anchor is None or anchor.shape != (3,) or not _sane(anchor):
                return
        if kind == "rotation" and (actor.index, "centre") not in self._known:
            return
        self._known.add(key)
        at = self.layout.add(actor.index, columns, metres=kind != "rotation")
        self._parts.append(_Part(actor, kind, at))

    def _precision(self, actor: Actor, name: str) -> Precision:
        key = (actor.index, name)
        found = self.precision.get(key)
        if found is None:
            track = _track(actor, name)
            if track is None:
                raise AssertionError(f"{actor.name} has lost its field {name}")
            rows = track.values[:SAMPLE_ROWS][track.valid[:SAMPLE_ROWS]]
            found = precision_of(rows)
            if len(rows) >= SAMPLE_ROWS // 8 or self.recording.complete:
                self.precision[key] = found
        return found

    # -- the three kinds --------------------------------------------------------------

    def _centre(self, part: _Part, motion: Motion, h: Array) -> None:
        end, lost = _values(part.actor, "translationCom", motion)
        velocity, _ = _values(part.actor, "vcom", motion)
        moved = h[:, None] * velocity
        place = self._precision(part.actor, "translationCom")
        speed = self._precision(part.actor, "vcom")
        grid = place.grid + h[:, None] * speed.grid / 2
        # Half precision, say: then the places are rounded too, by as much.
        coarse = place.eps if place.rounded and not place.grid else 0.0
        size = np.fmax(np.abs(moved), np.abs(end)).max(axis=1, keepdims=True)
        tight = TIGHT_EPS * speed.eps * np.abs(moved) + TINY + grid + coarse * size
        eps = max(place.eps, speed.eps)
        loose = LOOSE_EPS * eps * size + TINY + grid
        _put(motion, part.columns, h, end, moved, tight, loose, lost)

    def _rotation(self, part: _Part, motion: Motion, h: Array) -> None:
        turned, lost = _values(part.actor, "rotation", motion)
        omega, _ = _values(part.actor, "omega", motion)
        vsym, _ = _values(part.actor, "vsym", motion)
        rows = len(motion)
        matrix = rotation_matrices(turned)
        rate = h[:, None] * vsym
        x, y, z = (h * omega[:, k] for k in range(3))
        rate[:, 1] -= z
        rate[:, 2] += y
        rate[:, 3] += z
        rate[:, 5] -= x
        rate[:, 6] -= y
        rate[:, 7] += x
        moved = (rate.reshape(rows, 3, 3) @ matrix).reshape(rows, 9)
        exact = self._precision(part.actor, "rotation")
        speed = self._precision(part.actor, "omega")
        turn = np.abs(rate).max(axis=1, keepdims=True)
        eps = max(exact.eps, speed.eps)
        bound = ROTATION_EPS * eps * (1 + turn) + 4 * exact.grid
        bound = bound + 2 * h[:, None] * speed.grid
        end = matrix.reshape(rows, 9)
        _put(motion, part.columns, h, end, moved, bound, bound, lost)

    def _nodes(self, part: _Part, motion: Motion, h: Array) -> None:
        actor = part.actor
        points = actor.reference["refPositions"].astype(np.float64)
        anchor = actor.reference["rigidTransformEvalPoint"].astype(np.float64)
        shift, lost = _values(actor, "displacement", motion)
        velocity, _ = _values(actor, "velocity", motion)
        place, _ = _values(actor, "translation", motion)
        turned, _ = _values(actor, "rotation", motion)
        pivot, _ = _values(actor, "pivotEvalTranslation", motion)
        pivot_turned, _ = _values(actor, "pivotEvalRotation", motion)
        turn = rotation_matrices(pivot_turned)
        before = rotation_matrices(turned) @ turn.transpose(0, 2, 1)
        lever = pivot - turn @ anchor
        origin = place - (before @ lever[:, :, None])[:, :, 0]
        ends = (points + shift) @ before.transpose(0, 2, 1) + origin[:, None]
        moved = (h[:, None, None] * velocity) @ before.transpose(0, 2, 1)
        rows = len(motion)
        flat = ends.reshape(rows, -1)
        exact = [self._precision(actor, name) for name in SOFT_FIELDS]
        size = np.abs(flat).max(axis=1, keepdims=True)
        bound = NODE_EPS * max(p.eps for p in exact) * size + TINY
        bound = bound + 4 * max(p.grid for p in exact)
        at = part.columns
        _put(motion, at, h, flat, moved.reshape(rows, -1), bound, bound, lost)


def rotation_matrices(quaternions: Array) -> Array:
    """Rotation matrices [n, 3, 3] of unit quaternions x y z w [n, 4]."""
    x, y, z, w = (quaternions[:, k] for k in range(4))
    out = np.empty((len(quaternions), 3, 3))
    out[:, 0, 0] = 1 - 2 * (y * y + z * z)
    out[:, 0, 1] = 2 * (x * y - z * w)
    out[:, 0, 2] = 2 * (x * z + y * w)
    out[:, 1, 0] = 2 * (x * y + z * w)
    out[:, 1, 1] = 1 - 2 * (x * x + z * z)
    out[:, 1, 2] = 2 * (y * z - x * w)
    out[:, 2, 0] = 2 * (x * z - y * w)
    out[:, 2, 1] = 2 * (y * z + x * w)
    out[:, 2, 2] = 1 - 2 * (x * x + y * y)
    return out


def _track(actor: Actor, name: str) -> Track | None:
    """A fixed-shape track of real numbers, or None."""
    track = actor.fields.get(name)
    if isinstance(track, Track) and track.dtype.kind == "f":
        return track
    return None


def _sane(points: Array) -> bool:
    """Whether no coordinate of a body's shape is beyond `HUGE`."""
    return not bool((np.abs(points) > HUGE).any())


def _values(actor: Actor, name: str, motion: Motion) -> tuple[Array, Array]:
    """Values [n, *shape] as float64, and which rows [n] are there but not finite.

    NaN wherever a value is absent or not finite; what is beyond `HUGE` counts as not
    finite, so that nothing computed from the rest can overflow.
    """
    track = _track(actor, name)
    if track is None:
        raise AssertionError(f"{actor.name} has lost its field {name}")
    window = track.read(motion.start, motion.stop)
    values = window.values.astype(np.float64)
    finite = np.abs(values) <= HUGE
    values[~window.valid] = np.nan
    if finite.all():
        return values, np.zeros(len(motion), np.bool_)
    values[~finite] = np.nan
    whole = finite.reshape(len(finite), -1).all(axis=1)
    return values, window.valid & ~whole


def _put(
    motion: Motion,
    columns: slice,
    h: Array,
    end: Array,
    moved: Array,
    tight: Array,
    loose: Array,
    lost: Array,
) -> None:
    """Write some columns; a state that is not finite is one that stays as it is."""
    motion.end[:, columns] = np.where(np.isnan(h)[:, None], np.nan, end)
    motion.moved[:, columns] = moved
    motion.tight[:, columns] = tight
    motion.loose[:, columns] = loose
    if lost.any():
        lost = lost & ~np.isnan(h)
        motion.end[lost, columns] = NOT_FINITE
        motion.moved[lost, columns] = 0.0
        motion.tight[lost, columns] = motion.loose[lost, columns] = TINY
