"""Between two recorded states of one environment: only where asked, never across a gap.

Nothing between native steps was recorded. What is shown there is made up: positions
along straight lines, rotations along the shortest arc (K. Shoemake, *Animating rotation
with quaternion curves*, SIGGRAPH 1985). Whoever shows it has to say so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.recording.model import StepKind

if TYPE_CHECKING:
    from isoscope.core.analysis import Analysis
    from isoscope.core.recording.tracks import Array

NEARLY_ONE = 0.9995  # cosine of an angle from which a straight line is as good


@dataclass(frozen=True, slots=True)
class Between:
    """A place between the states after two native steps.

    Attributes
    ----------
    before, after
        The native steps.
    part
        Above 0 and below 1: how far from the one to the other.
    """

    before: int
    after: int
    part: float


def goes_on_to(analysis: Analysis, row: int) -> int | None:
    """The native step that goes on from the state after this one; None without one.

    It is the same environment's next, in the same episode, known to begin where this
    one ended: no reset, restore or rewind, no missing step and no foreign state is
    between them.
    """
    labels = analysis.labels
    if not 0 <= row < analysis.rows:
        return None
    env = int(labels.env[row])
    after = analysis.next_row(env, row) if env >= 0 else -1
    if not row < after < analysis.rows:
        return None
    if labels.episode[after] != labels.episode[row] or labels.episode[row] < 0:
        return None
    if StepKind.RESET in (int(labels.kind[after]), int(labels.kind[row])):
        return None
    found = analysis.attribution
    if len(found.parent) <= after or int(found.parent[after]) != row:
        return None
    broken = {one.native for one in found.missed_restores}
    broken |= {one.native for one in found.rewinds}
    broken |= {one.native for one in found.jumps}
    return None if after in broken else after


def along(one: Array, two: Array, part: float) -> Array:
    """Between two positions [..., n], along the straight line; float64."""
    a, b = one.astype(np.float64), two.astype(np.float64)
    found: Array = a + part * (b - a)
    return found


def turned(one: Array, two: Array, part: float) -> Array:
    """Between two unit quaternions [4] x y z w, along the shorter arc; float64.

    What is not finite, or no direction, stays not a number.
    """
    a, b = one.astype(np.float64), two.astype(np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        a, b = a / np.linalg.norm(a), b / np.linalg.norm(b)
        cosine = float(a @ b)
        if cosine < 0:  # -q turns as q does
            b, cosine = -b, -cosine
        if not cosine < NEARLY_ONE:
            mixed = a + part * (b - a)
            found: Array = mixed / np.linalg.norm(mixed)
            return found
        angle = np.arccos(cosine)
        weights = np.sin((1 - part) * angle), np.sin(part * angle)
    mixed = (weights[0] * a + weights[1] * b) / np.sin(angle)
    return np.asarray(mixed)
