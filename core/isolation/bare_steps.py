"""Native steps of the bare scene, taken between the turns of its environments.

They go on from what the last turn left in the scene; then everybody restores their own
snapshot, and what the bare steps did is given up. In a recording that looks like an
environment that went back to an earlier state of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.recording.model import StepKind

if TYPE_CHECKING:
    from isoscope.core.isolation.context import Examined
    from isoscope.core.recording.tracks import Array


def given_up(subject: Examined) -> Array:
    """int64 [n]: steps that followed at once on somebody's and were given up again.

    Those that are no whole number of control steps, or else the environment may have
    taken them itself, and gone back.
    """
    attribution = subject.attribution
    found = []
    for rewind in attribution.rewinds:
        rows = np.arange(rewind.to_native + 1, rewind.left_native + 1)
        at_once = bool((attribution.parent[rows] == rows - 1).all())
        if rewind.to_native >= 0 and len(rows) and at_once:
            found.append(rows)
    none = np.zeros(0, np.int64)
    if not found or len(subject.environments()) < 2:
        return none
    count = _substeps_without(subject, np.concatenate(found))
    return np.concatenate([none, *(rows for rows in found if len(rows) % count)])


def _substeps_without(subject: Examined, left_out: Array) -> int:
    """M by the lengths of the uninterrupted turns, without these steps."""
    labels = subject.attribution.labels
    owner = np.where(labels.kind == StepKind.SUBSTEP, labels.env, -1)
    owner[left_out] = -1
    cuts = np.flatnonzero(np.diff(owner)) + 1
    lengths = np.diff(np.concatenate([[0], cuts, [len(owner)]]))
    whose = owner[np.concatenate([[0], cuts])]
    # The recording may have begun or ended in the middle of one.
    inner = np.arange(1, len(lengths) - 1)
    turns = lengths[inner[whose[inner] >= 0]]
    return int(np.gcd.reduce(turns)) if len(turns) else 1
