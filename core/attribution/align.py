"""How the clocks of an attributed recording lie over one another, by environment.

A segment is a stretch of one environment's native steps over which all of its clocks
run through: it ends at a reset, where another state than its own was taken, where an
earlier state was restored, where steps are missing, or where the recording's or the
wall's clock begins again. In each segment every clock is
fitted against the number of the control step: the slope is what a control step takes on
that clock, and the offset what the clock said at control step 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

from isoscope.core.attribution.clocks import (
    NATIVE,
    RECORDING,
    SCENE,
    WALL,
    Clocks,
    clocks_of,
    ends_of_control_steps,
)
from isoscope.core.attribution.stamps import examine, fit_line, fit_slope, runs_through
from isoscope.core.recording.model import StepKind

if TYPE_CHECKING:
    from isoscope.core.attribution.result import Attribution, RewindSeen
    from isoscope.core.attribution.stamps import StampReport
    from isoscope.core.recording.model import Recording
    from isoscope.core.recording.tracks import Array, Int64Array

RESET, MISSED, REWIND, GAP, RESTART, END = (
    "reset",
    "missed_restore",
    "rewind",
    "gap",
    "clock_restart",
    "recording_end",
)


class ClockFit(msgspec.Struct):
    """A clock fitted against the number of the control step.

    Attributes
    ----------
    clock
        ``"recording"``, ``"scene"``, ``"control"`` or ``"wall"``.
    slope_s_per_control_step
        Null where M is unknown; then the slope is per native step only.
    slope_s_per_native_step
        Of the environment's own native steps.
    relative
        Whether the clock is counted from the segment's first known state, its true
        offset being unknown: the scene's, where no reset was recorded.
    offset_s
        At control step 0 (at the segment's first native step, where M is unknown).
    max_residual_s, jitter_s
        The largest deviation, and the usual one.
    """

    clock: str
    slope_s_per_control_step: float | None
    offset_s: float
    max_residual_s: float
    jitter_s: float
    slope_s_per_native_step: float | None = None
    relative: bool = False


class ClockGap(msgspec.Struct):
    """Missing before a native step: `missing` control steps, and seconds between."""

    native: int
    clock: str
    missing: int
    seconds: float


class ClockSpot(msgspec.Struct):
    """A native step at which a clock repeats a stamp, or goes back a little."""

    native: int
    clock: str


class AlignSegment(msgspec.Struct):
    """A stretch over which all clocks of an environment run through.

    Attributes
    ----------
    episode
        Null where unknown.
    native
        First and last native step, inclusive.
    why_it_ends
        ``"reset"``, ``"missed_restore"``, ``"rewind"``, ``"gap"``,
        ``"clock_restart"`` or ``"recording_end"``.
    control_steps
        First and last, inclusive; null where unknown.
    fits, gaps, duplicates, reorders
        Of its clocks. The recording's and the wall's stamps are looked at in the order
        of all native steps, whoever took the one before.
    jitter_s
        The largest of the clocks' jitters; null where nothing could be fitted.
    """

    episode: int | None
    native: tuple[int, int]
    why_it_ends: str
    fits: list[ClockFit]
    gaps: list[ClockGap]
    duplicates: list[ClockSpot]
    reorders: list[ClockSpot]
    jitter_s: float | None
    control_steps: tuple[int, int] | None = None


class AlignedEnvironment(msgspec.Struct):
    """One environment's segments; `env` is null for steps that are nobody's."""

    env: int | None
    segments: list[AlignSegment]


class RewindTime(msgspec.Struct):
    """The scene's clock set back by a restored state.

    Both times are null where they are unknown. If no reset was recorded, they are
    counted from the first state that was, and `relative` is true.
    """

    native: int
    scene_time_from_s: float | None
    scene_time_to_s: float | None
    relative: bool = False


class AlignResult(msgspec.Struct, kw_only=True):
    """What ``isoscope align --json`` prints."""

    schema: str = "isoscope.align/1"
    file: str
    environments: list[AlignedEnvironment]
    rewinds: list[RewindTime]


def align(
    recording: Recording,
    found: Attribution,
    wall_s: Array | None = None,
) -> AlignResult:
    """Lay the clocks of an attributed recording over one another.

    Parameters
    ----------
    recording, found
        The recording and its attribution.
    wall_s
        float64 [T]: the computer's time of each row; the recording's by default.
    """
    clocks = clocks_of(recording, found, wall_s)
    done = ends_of_control_steps(found)
    ends = _ends(found)
    common = {
        name: examine(column)
        for name, column in clocks.columns.items()
        if name in (RECORDING, WALL)
    }
    restarts = np.unique([s.start for r in common.values() for s in r.segments[1:]])
    environments = []
    for env, rows in _rows_by_env(found):
        segments = [
            _segment(clocks, common, found, part, done, why)
            for part, why in _cut(rows, ends, restarts)
        ]
        environments.append(AlignedEnvironment(env if env >= 0 else None, segments))
    rewinds = [_rewind(found, r) for r in found.rewinds]
    name = recording.name if recording.path is None else str(recording.path)
    return AlignResult(file=name, environments=environments, rewinds=rewinds)


def _rows_by_env(found: Attribution) -> list[tuple[int, Int64Array]]:
    """Each environment with its rows, ascending; the steps that are nobody's last."""
    env = found.labels.env
    order = np.argsort(env, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(env[order])) + 1)
    each = [(int(env[rows[0]]), rows) for rows in parts if len(rows)]
    return sorted(each, key=lambda one: (one[0] < 0, one[0]))


def _ends(found: Attribution) -> dict[int, str]:
    """Why a segment ends right before a row, by that row."""
    ends = dict.fromkeys(
        np.flatnonzero(found.labels.kind == StepKind.RESET).tolist(), RESET
    )
    ends |= dict.fromkeys((m.native for m in found.missed_restores), MISSED)
    ends |= dict.fromkeys((r.native for r in found.rewinds), REWIND)
    ends |= dict.fromkeys((j.native for j in found.jumps), GAP)
    return ends


def _cut(
    rows: Int64Array, ends: dict[int, str], restarts: Array
) -> list[tuple[Int64Array, str]]:
    """One environment's rows cut into segments, each with why it ends.

    A clock that all share may restart at somebody else's row: it cuts before the next
    one of its own.
    """
    cuts = {k: ends[row] for k, row in enumerate(rows.tolist()) if row in ends}
    for k in np.searchsorted(rows, restarts).tolist():
        cuts.setdefault(k, RESTART)
    at = sorted(k for k in cuts if 0 < k < len(rows))
    why = [cuts[k] for k in at] + [END]
    return list(zip(np.split(rows, at), why, strict=True))


def _segment(
    clocks: Clocks,
    common: dict[str, StampReport],
    found: Attribution,
    rows: Int64Array,
    done: Array,
    why: str,
) -> AlignSegment:
    labels = found.labels
    episode = int(labels.episode[rows[0]])
    counted = found.substeps is not None and bool(done[rows].any())
    ask = rows[done[rows]] if counted else rows
    control = labels.control_step[ask].astype(np.int64)
    index = control if counted else np.arange(len(ask))
    fits: list[ClockFit] = []
    gaps: list[ClockGap] = []
    duplicates: list[ClockSpot] = []
    reorders: list[ClockSpot] = []
    for name, column in clocks.columns.items():
        relative = name == SCENE and not np.isfinite(column[rows]).any()
        column = found.scene_time_since_s if relative else column
        stamps = column[ask]
        if name == NATIVE or not np.isfinite(stamps).any():
            continue
        if not runs_through(stamps, index):
            report = examine(stamps, index)
            gaps += [
                ClockGap(int(ask[g.at]), name, g.missing, g.seconds)
                for g in report.gaps
            ]
            if name not in common:
                duplicates += _spots(name, ask[list(report.duplicates)])
                reorders += _spots(name, ask[list(report.reorders)])
        if name in common:
            duplicates += _spots(name, _own(common[name].duplicates, rows))
            reorders += _spots(name, _own(common[name].reorders, rows))
        line = fit_line(index, stamps)
        if line is None:
            continue
        fits.append(
            ClockFit(
                name,
                line.slope_s if counted else None,
                line.offset_s,
                line.max_residual_s,
                line.jitter_s,
                fit_slope(np.arange(len(rows)), column[rows]),
                relative,
            )
        )
    known = control[control >= 0]
    return AlignSegment(
        episode if episode >= 0 else None,
        (int(rows[0]), int(rows[-1])),
        why,
        fits,
        gaps,
        duplicates,
        reorders,
        max((f.jitter_s for f in fits), default=None),
        (int(known.min()), int(known.max())) if counted and len(known) else None,
    )


def _own(spots: tuple[int, ...], rows: Int64Array) -> Int64Array:
    """Those of the spots that are among the rows; both ascend."""
    if not spots:
        return rows[:0]
    return np.intersect1d(np.array(spots, np.int64), rows, assume_unique=True)


def _spots(clock: str, rows: Int64Array) -> list[ClockSpot]:
    return [ClockSpot(int(row), clock) for row in rows]


def _rewind(found: Attribution, seen: RewindSeen) -> RewindTime:
    before, after = seen.scene_time_from_s, seen.scene_time_to_s
    if np.isfinite(before) and np.isfinite(after):
        return RewindTime(seen.native, before, after)
    since = found.scene_time_since_s
    # The unrecorded state before a first row is where the count begins.
    back = float(since[seen.to_native]) if seen.to_native >= 0 else 0.0
    return RewindTime(
        seen.native, _null(float(since[seen.left_native])), _null(back), True
    )


def _null(value: float) -> float | None:
    return value if np.isfinite(value) else None
