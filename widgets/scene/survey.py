"""The whole recording at a glance: which way is up, where things move, how large.

The camera, the grid and the arrows' scale follow from it. Robust: a body that flies off
or a number that isn't finite doesn't make everything else a dot.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.recording.tracks import Track
from isoscope.widgets.scene.bounds import box, moving
from isoscope.widgets.scene.contacts import typical_force_n
from isoscope.widgets.scene.poses import transforms
from isoscope.widgets.scene.resolve import resolve
from isoscope.widgets.scene.shapes import Kind

if TYPE_CHECKING:
    from isoscope.core.recording.model import Actor, Recording
    from isoscope.core.recording.tracks import Array
    from isoscope.widgets.scene.shapes import Shape, Shapes

SAMPLED_ROWS = 64
INSTANTS = 7
# From this many times what the bodies take at an instant, they drift.
_DRIFT = 6.0
# Positions further from the median than this many median deviations (or half widths of
# a body) don't count.
_FAR = 50.0
_PERCENT = 2.0


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """What was found.

    Attributes
    ----------
    low, high
        [3] in metres: corners of the box that the bodies stay in, by and large.
    up
        Unit vector [3] along a coordinate axis, against gravity.
    grounds
        Indices of the planes among the actors.
    ground_m
        Height of the first plane's origin along `up`; without a plane, the lowest
        height that bodies reach.
    force_n
        Typical contact force; 0 where none was recorded.
    instant_m
        Diagonal of the box around what moves at one instant, typically; 0 if unknown.
    """

    low: Array = field(default_factory=lambda: np.full(3, -1.0))
    high: Array = field(default_factory=lambda: np.full(3, 1.0))
    up: Array = field(default_factory=lambda: np.array([0.0, 1.0, 0.0]))
    grounds: tuple[int, ...] = ()
    ground_m: float = 0.0
    force_n: float = 0.0
    instant_m: float = 0.0

    @property
    def size_m(self) -> float:
        """The box's diagonal."""
        return float(np.linalg.norm(self.high - self.low))

    @property
    def drifts(self) -> bool:
        """Whether the bodies go much further than they reach."""
        return 0 < _DRIFT * self.instant_m < self.size_m

    @property
    def scale_m(self) -> float:
        """How large things are that are seen together; what symbols are sized by."""
        return 2 * self.instant_m if self.drifts else self.size_m

    @property
    def centre(self) -> Array:
        """The box's middle [3]."""
        middle: Array = (self.low + self.high) / 2
        return middle


def survey(recording: Recording, shapes: Shapes) -> Survey:
    """Look at the bodies in rows spread over the recording."""
    up = up_axis(recording)
    box = _box(recording, shapes)
    grounds = tuple(s.index for s in shapes.of_kind(Kind.PLANE))
    low, high = box if box is not None else (np.full(3, -1.0), np.full(3, 1.0))
    height = float(up @ np.where(up > 0, low, high))
    for index in grounds:
        creation = shapes[index].creation
        if creation is not None:
            height = float(up @ creation[:, 3])
            break
    return Survey(
        low=low,
        high=high,
        up=up,
        grounds=grounds,
        ground_m=height,
        force_n=typical_force_n(recording),
        instant_m=_instant(recording, shapes),
    )


def _instant(recording: Recording, shapes: Shapes) -> float:
    """Diagonal [m] of the box around what moves, the median over a few rows."""
    actors = moving(shapes)
    found = []
    for row in np.unique(np.linspace(0, len(recording) - 1, INSTANTS).astype(int)):
        around = box(shapes, resolve(recording, shapes, int(row)), actors)
        if around is not None:
            found.append(float(np.linalg.norm(around[1] - around[0])))
    return float(np.median(found)) if found else 0.0


def up_axis(recording: Recording) -> Array:
    """The coordinate axis nearest to against gravity; +Y where there is none.

    The first row with gravity decides: later changes don't turn the world over.
    """
    gravity = recording.steps.gravity
    strong = np.isfinite(gravity).all(axis=1) & (np.abs(gravity).max(axis=1) > 1e-6)
    up = np.zeros(3)
    if not strong.any():
        up[1] = 1.0
        return up
    first = gravity[int(strong.argmax())]
    axis = int(np.abs(first).argmax())
    up[axis] = -np.sign(first[axis])
    return up


def _box(recording: Recording, shapes: Shapes) -> tuple[Array, Array] | None:
    """Corners of the box around what moves; around everything if nothing does."""
    rows = len(recording)
    if rows == 0:
        return None
    for moves in (True, False):
        chosen = [
            s
            for s in shapes.all
            if s.moving is moves and s.kind not in (Kind.PLANE, Kind.ROOT)
        ]
        found = [_samples(recording.actors[s.index], s, rows) for s in chosen]
        at = np.concatenate([c for c, _ in found]) if found else np.zeros((0, 3))
        reach = np.concatenate([r for _, r in found]) if found else np.zeros((0, 3))
        if len(at):
            return _robust(at, reach)
    return None


def _samples(actor: Actor, shape: Shape, rows: int) -> tuple[Array, Array]:
    """Middles [k, 3] over sampled rows, and how far the body reaches [k, 3] there."""
    stride = max(1, rows // SAMPLED_ROWS)
    placed = np.zeros((0, 3, 4))
    at = _sampled(actor, "translation", rows, stride, 3)
    turned = _sampled(actor, "rotation", rows, stride, 4)
    if at is not None and turned is not None:
        placed = transforms(at, turned)
        placed = placed[np.isfinite(placed).all(axis=(1, 2))]
    if not len(placed) and shape.creation is not None:
        placed = shape.creation[None]
    middle, half = np.zeros(3), np.zeros(3)
    if shape.mesh is not None:
        low = shape.mesh.positions.min(axis=0)
        high = shape.mesh.positions.max(axis=0)
        middle, half = (low + high) / 2, (high - low) / 2
    turns = placed[:, :, :3]
    return turns @ middle + placed[:, :, 3], np.abs(turns) @ half


def _sampled(
    actor: Actor, name: str, rows: int, stride: int, width: int
) -> Array | None:
    """Every stride-th row [k, width], NaN where absent; None without such a field."""
    track = actor.fields.tracks.get(name)
    if not isinstance(track, Track) or track.shape != (width,):
        return None
    window = track.read(0, rows)
    taken = window.values[::stride].astype(np.float64)
    taken[~window.valid[::stride]] = np.nan
    return taken


def _robust(at: Array, reach: Array) -> tuple[Array, Array]:
    middle = np.median(at, axis=0)
    away = np.abs(at - middle)
    usual = np.maximum(np.median(away, axis=0), np.median(reach))
    near = (away <= _FAR * np.where(usual > 0, usual, np.inf)).all(axis=1)
    at, reach = at[near], reach[near]
    low = np.percentile(at - reach, _PERCENT, axis=0)
    high = np.percentile(at + reach, 100 - _PERCENT, axis=0)
    # A point, or a flat body, still needs a box to look at.
    least = max(float((high - low).max()), 1e-9 * float(np.abs(at).max()), 1e-6)
    flat = high - low < 0.2 * least
    low[flat] -= 0.1 * least
    high[flat] += 0.1 * least
    return low, high
