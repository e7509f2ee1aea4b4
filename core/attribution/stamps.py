"""One clock's stamps over a sequence: where it restarts, skips, repeats, goes back.

Works on any stamps: of steps, of camera frames, of a message queue. A sequence keeps
its order whatever its stamps say; what is found is told, and nothing is sorted.

=========  ==========================================================================
restart    the clock goes back and stays back: a new segment begins
reorder    one or a few stamps are a little too early, and the clock goes on as before
duplicate  a stamp equal to the one before
gap        more time, or more index numbers, between two stamps than between others
jitter     what remains of a line through a segment's stamps
=========  ==========================================================================
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import Array, Int64Array

# An interval this many times the usual one is a gap.
GAP = 1.5
MOST_MISSING = 1 << 53  # samples, where the usual interval is next to nothing
# A clock that goes back by no more than this many intervals, and recovers within as
# many samples, was only reordered.
REORDER_INTERVALS = 2.0
REORDER_SAMPLES = 3
# Pairs that a slope is the median of, at most.
PAIRS = 4096
EXACT = 1e-9  # relative; stamps that differ less than this lie on their line


@dataclass(frozen=True, slots=True)
class Fit:
    """A line through stamps: ``offset + slope * index``.

    Attributes
    ----------
    slope_s
        Seconds for each index number.
    offset_s
        Seconds at index 0: a constant, such as the 1e-5 s of a reset's step, is no
        drift.
    max_residual_s
        The largest deviation from the line.
    jitter_s
        The usual one: 1.4826 times the median deviation (a standard deviation, if
        they are normal).
    """

    slope_s: float
    offset_s: float
    max_residual_s: float
    jitter_s: float


@dataclass(frozen=True, slots=True)
class Gap:
    """Something missing before a sample.

    Attributes
    ----------
    at
        The sample after it.
    missing
        How many index numbers (or usual intervals) are missing.
    seconds
        Between the stamps on either side; NaN where unknown.
    """

    at: int
    missing: int
    seconds: float


@dataclass(frozen=True, slots=True)
class StampSegment:
    """Samples start .. stop over which a clock runs through.

    `why_it_ends` is ``"restart"`` or ``"end"``.
    """

    start: int
    stop: int
    why_it_ends: str
    fit: Fit | None


@dataclass(frozen=True, slots=True)
class StampReport:
    """What was found in one clock's stamps; all sample numbers ascend.

    Attributes
    ----------
    segments
        They cover all samples, in order.
    gaps
        Within segments.
    duplicates
        Samples whose stamp equals the one before.
    reorders
        Samples whose stamp is before an earlier one of the same segment.
    unknown
        Samples without a stamp.
    """

    segments: tuple[StampSegment, ...]
    gaps: tuple[Gap, ...]
    duplicates: tuple[int, ...]
    reorders: tuple[int, ...]
    unknown: tuple[int, ...]


def examine(stamps_s: Array, index: Int64Array | None = None) -> StampReport:
    """Look through one clock's stamps.

    Parameters
    ----------
    stamps_s
        float64 [n]; NaN where unknown.
    index
        int64 [n]: what the stamps should be proportional to, such as the number of the
        control step; counted through by default. Where it restarts, so does the clock.
    """
    stamps_s = np.asarray(stamps_s, np.float64)
    known = np.flatnonzero(np.isfinite(stamps_s))
    numbers = np.arange(len(stamps_s)) if index is None else np.asarray(index, np.int64)
    times, counts = stamps_s[known], numbers[known]
    usual = _usual_interval(times, counts)
    cuts, reorders = _restarts(times, counts, usual)
    segments: list[StampSegment] = []
    gaps: list[Gap] = []
    duplicates: list[int] = []
    edges = [0, *cuts, len(known)]
    for low, high in pairwise(edges):
        if low == high:
            continue
        # The samples without a stamp before it belong to the segment, too.
        start = 0 if not segments else int(known[low])
        last = high == len(known)
        stop = len(stamps_s) if last else int(known[high])
        fit = fit_line(counts[low:high], times[low:high])
        why = "end" if last else "restart"
        segments.append(StampSegment(start, stop, why, fit))
        inside = np.arange(low + 1, high)
        step = times[inside] - times[inside - 1]
        ahead = counts[inside] - counts[inside - 1]
        duplicates += known[inside[step == 0]].tolist()
        missing = ahead - 1
        if index is None and usual > 0:
            with np.errstate(over="ignore"):
                whole = np.clip(np.rint(step / usual), -MOST_MISSING, MOST_MISSING)
            missing = whole.astype(np.int64) - 1
            missing[step <= GAP * usual] = 0
        for k in np.flatnonzero(missing > 0).tolist():
            gaps.append(Gap(int(known[inside[k]]), int(missing[k]), float(step[k])))
    unknown = np.flatnonzero(~np.isfinite(stamps_s))
    if not segments and len(stamps_s):
        segments.append(StampSegment(0, len(stamps_s), "end", None))
    return StampReport(
        tuple(segments),
        tuple(gaps),
        tuple(duplicates),
        tuple(int(known[k]) for k in reorders),
        tuple(unknown.tolist()),
    )


def fit_line(index: Array, stamps_s: Array) -> Fit | None:
    """Fit stamps [n] to index [n] robustly: a tenth of wild stamps does no harm.

    The slope is the median of the slopes between samples half the sequence apart (a
    Theil-Sen estimate with pairs at one distance); the offset, the median of what
    remains. None for fewer than two different index numbers.
    """
    x, y = _known_in_order(index, stamps_s)
    slope = _slope(x, y)
    if slope is None:
        return None
    rest = y - slope * x
    offset = _median(rest)
    away = np.abs(rest - offset)
    # What is rounding only is none.
    away[away <= EXACT * max(abs(slope), abs(float(np.abs(y).max())))] = 0.0
    return Fit(slope, offset, float(away.max()), 1.4826 * _median(away))


def fit_slope(index: Array, stamps_s: Array) -> float | None:
    """The slope alone of `fit_line`, in half of the time."""
    return _slope(*_known_in_order(index, stamps_s))


def runs_through(stamps_s: Array, index: Array) -> bool:
    """Whether `examine` would find nothing to tell: the usual case, told quickly.

    All stamps are known, each is after the one before, and so is its index, by one.
    """
    later = bool((stamps_s[1:] > stamps_s[:-1]).all())
    return later and bool((index[1:] - index[:-1] == 1).all())


def _known_in_order(index: Array, stamps_s: Array) -> tuple[Array, Array]:
    """The samples with a stamp, by index."""
    x = np.asarray(index, np.float64)
    y = np.asarray(stamps_s, np.float64)
    if (x[1:] < x[:-1]).any():
        order = np.argsort(x, kind="stable")
        x, y = x[order], y[order]
    known = np.isfinite(y)
    return (x, y) if known.all() else (x[known], y[known])


def _slope(x: Array, y: Array) -> float | None:
    """The median slope of pairs half of the samples apart; x ascends."""
    half = len(x) // 2
    if len(x) < 2 or x[0] == x[-1]:
        return None
    count = len(x) - half
    if count <= PAIRS:
        run, rise = x[half:] - x[:count], y[half:] - y[:count]
    else:
        far = np.unique(np.linspace(0, count - 1, PAIRS).astype(np.int64))
        run, rise = x[far + half] - x[far], y[far + half] - y[far]
    usable = run > 0
    if not usable.all():
        run, rise = run[usable], rise[usable]
    if not len(run):
        return float((y[-1] - y[0]) / (x[-1] - x[0]))
    return _median(rise / run)


def _median(values: Array) -> float:
    """The median of at least one finite value.

    As numpy's, to the last bit; most of the time that numpy's takes for a few hundred
    values goes into looking at its arguments, and a long alignment asks often.
    """
    middle = len(values) // 2
    if len(values) % 2:
        return float(np.partition(values, middle)[middle])
    part = np.partition(values, (middle - 1, middle))
    return float((part[middle - 1] + part[middle]) / 2)


def _usual_interval(times: Array, counts: Array) -> float:
    """The median time for one index number; 0 if there is none."""
    step, ahead = np.diff(times), np.diff(counts)
    each = step[(step > 0) & (ahead > 0)] / ahead[(step > 0) & (ahead > 0)]
    return _median(each) if len(each) else 0.0


def _restarts(times: Array, counts: Array, usual: float) -> tuple[list[int], list[int]]:
    """Samples that begin a new segment, and those that are only out of order."""
    reorders: list[int] = []
    back = np.flatnonzero(np.diff(times) < 0) + 1
    again = np.flatnonzero(np.diff(counts) < 0) + 1
    restart = set(again.tolist())
    begin = 0
    for at in sorted(restart | set(back.tolist())):
        if at in restart:
            begin = at
            continue
        drop = times[at - 1] - times[at]
        ahead = times[at + 1 : at + 1 + REORDER_SAMPLES]
        recovers = not len(ahead) or bool((ahead >= times[at - 1]).any())
        # Back at where the segment began is a restart, however short that was.
        inside = times[at] > times[begin]
        if inside and drop <= REORDER_INTERVALS * usual and recovers:
            reorders.append(at)
        else:
            restart.add(at)
            begin = at
    return sorted(restart), reorders
