"""Which native steps of two episodes are the same step.

By their place in the episode where both recordings step at the same pace. Where M
differs, by control step: the last native step of each is compared. Where only h differs
and M is unknown, by the time since the episode's beginning.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from isoscope.core.isolation.context import Examined
    from isoscope.core.recording.tracks import Array

# Times that are the same but for rounding: far below the reset's own step of 1e-5 s.
SAME_TIME_S = 1e-8


@dataclass(frozen=True, slots=True, eq=False)
class Matched:
    """Native steps that are the same, and the first that only one has (else -1)."""

    rows: Array
    twins: Array
    row_after: int
    twin_after: int


@dataclass(frozen=True, slots=True, eq=False)
class Pace:
    """How the steps of A and of B are brought together.

    Attributes
    ----------
    by
        ``"place"``, ``"control step"`` or ``"time"``.
    control_a, control_b
        int64 [T]: the control step of each native step.
    ends_a, ends_b
        bool [T]: whether it is the last of its control step (or a reset).
    h_a, h_b
        float64 [T].
    """

    by: str
    control_a: Array
    control_b: Array
    ends_a: Array
    ends_b: Array
    h_a: Array
    h_b: Array

    @classmethod
    def of(cls, a: Examined, b: Examined) -> Pace:
        """Choose by M and h of both."""
        m_a, m_b = a.attribution.substeps, b.attribution.substeps
        by = "place"
        if m_a is not None and m_b is not None:
            by = "place" if m_a == m_b else "control step"
        elif not _same_h(a, b):
            by = "time"
        return cls(
            by,
            a.attribution.labels.control_step,
            b.attribution.labels.control_step,
            _ends(a),
            _ends(b),
            a.recording.steps.h_s[: len(a.attribution)],
            b.recording.steps.h_s[: len(b.attribution)],
        )


def _ends(examined: Examined) -> Array:
    labels, count = examined.attribution.labels, examined.attribution.substeps
    last = labels.substep == (-2 if count is None else count - 1)
    return np.asarray(last | (labels.control_step == 0))


def usual_h_s(examined: Examined) -> float | None:
    """The h that most steps have [s]; None where none is known."""
    h_s = examined.recording.steps.h_s
    known = h_s[np.isfinite(h_s)]
    if not len(known):
        return None
    values, counts = np.unique(known, return_counts=True)
    return float(values[np.argmax(counts)])


def _same_h(a: Examined, b: Examined) -> bool:
    one, two = usual_h_s(a), usual_h_s(b)
    return one is None or two is None or abs(one - two) <= SAME_TIME_S


def common_steps(rows: Array, twins: Array, pace: Pace) -> Matched:
    """Lay two episodes (int64 [n] and [m] native steps) over one another."""
    if pace.by == "control step":
        ours = rows[pace.ends_a[rows]]
        others = twins[pace.ends_b[twins]]
        keys_a, keys_b = pace.control_a[ours], pace.control_b[others]
    elif pace.by == "time":
        ours, others = rows, twins
        keys_a = np.rint(np.cumsum(pace.h_a[rows]) / SAME_TIME_S)
        keys_b = np.rint(np.cumsum(pace.h_b[twins]) / SAME_TIME_S)
    else:
        n = min(len(rows), len(twins))
        return Matched(
            rows[:n],
            twins[:n],
            int(rows[n]) if len(rows) > n else -1,
            int(twins[n]) if len(twins) > n else -1,
        )
    _, at_a, at_b = np.intersect1d(keys_a, keys_b, return_indices=True)
    after_a = ours[keys_a > keys_b.max(initial=-1)]
    after_b = others[keys_b > keys_a.max(initial=-1)]
    return Matched(
        ours[at_a],
        others[at_b],
        int(after_a[0]) if len(after_a) else -1,
        int(after_b[0]) if len(after_b) else -1,
    )
