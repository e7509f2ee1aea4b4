"""Where a ruler's ticks go and what they say.

Rows are evenly spaced, so a time with steps of different length is not: its ticks stand
where the time stands, closer together where steps are long. A time that goes backwards
(a scene's, after a restore) has no one place for a value; there the ticks stand on
round rows and say what the time is.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.clock import TimeAxis, TimeKind

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import Array
    from isoscope.core.timeline.view import View

# Above this, seconds are the computer's clock and no duration (the year 2001).
EPOCH_S = 1e9
LATEST_S = 253_402_300_799.0  # the last second of the year 9999
SMALLEST_SPAN = 1e-200


@dataclass(frozen=True, slots=True)
class Tick:
    """A tick at a row coordinate, with its label."""

    at: float
    label: str


def nice_step(span: float, at_most: int) -> float:
    """The smallest 1, 2 or 5 times a power of ten that cuts span in at most n parts."""
    if not (np.isfinite(span) and span > SMALLEST_SPAN):
        return 1.0
    raw = span / max(at_most, 1)
    power = 10.0 ** np.floor(np.log10(raw))
    for factor in (1.0, 2.0, 5.0, 10.0):
        if factor * power >= raw * (1 - 1e-9):
            return float(factor * power)
    return float(10 * power)


def decimals_of(step: float) -> int:
    """Decimals that tell multiples of this step apart."""
    if not (np.isfinite(step) and step > 0):
        return 3
    return int(min(max(-np.floor(np.log10(step) + 1e-9), 0), 9))


def stamp_text(kind: TimeKind, value: float, decimals: int = 3) -> str:
    """A time as it is written beside a row; ``"unknown"`` where it is."""
    if not np.isfinite(value):
        return "unknown"
    if kind is TimeKind.NATIVE:
        return str(int(value))
    if kind is TimeKind.WALL and EPOCH_S < value < LATEST_S:
        moment = datetime.fromtimestamp(value, UTC)
        return moment.strftime("%H:%M:%S.%f")[: 8 + (decimals + 1 if decimals else 0)]
    return f"{value:.{decimals}f} s"


def stamp_decimals(axis: TimeAxis) -> int:
    """Decimals that tell one row of this time from the next: 3 for h = 0.02 s."""
    if axis.kind is TimeKind.NATIVE or np.isnan(axis.typical_s):
        return 0
    return min(max(3, decimals_of(axis.typical_s)), 6)


def goes_forward(stamps: Array) -> bool:
    """Whether a time is known for every row and never goes back."""
    if not len(stamps) or not np.isfinite(stamps[[0, -1]]).all():
        return False
    return bool((stamps[1:] >= stamps[:-1]).all())


def ticks(view: View, axis: TimeAxis, forward: bool, spacing_px: float) -> list[Tick]:
    """The ticks inside a view.

    Parameters
    ----------
    view
        What is shown.
    axis
        The time to tell; may cover fewer rows than the view.
    forward
        Whether `axis` `goes_forward`, which is asked once a change, not once a frame.
    spacing_px
        Room that a label needs.
    """
    at_most = max(int(view.width / spacing_px), 1)
    low = int(max(np.floor(view.first), 0))
    high = int(min(np.ceil(view.last), len(axis)))
    if high <= low:
        return []
    if axis.kind is TimeKind.NATIVE or not forward:
        return _on_rows(view, axis, low, high, at_most)
    found = _on_times(view, axis, low, high, at_most)
    return _apart(found, view, spacing_px)


def _on_rows(
    view: View, axis: TimeAxis, low: int, high: int, at_most: int
) -> list[Tick]:
    step = max(int(nice_step(view.last - view.first, at_most)), 1)
    rows = range(-(-low // step) * step, high, step)
    digits = stamp_decimals(axis)
    return [
        Tick(row + 0.5, stamp_text(axis.kind, float(axis.stamps[row]), digits))
        for row in rows
    ]


def _on_times(
    view: View, axis: TimeAxis, low: int, high: int, at_most: int
) -> list[Tick]:
    begin, end = float(axis.stamps[low]), float(axis.stamps[high - 1])
    if not np.isfinite(end - begin):
        return _on_rows(view, axis, low, high, at_most)
    share = (high - low) / max(view.last - view.first, 1e-12)
    step = nice_step(end - begin, max(int(at_most * share), 1))
    if end <= begin:
        return [Tick(low + 0.5, stamp_text(axis.kind, begin, stamp_decimals(axis)))]
    digits = decimals_of(step)
    first, last = int(np.ceil(begin / step - 1e-9)), int(np.floor(end / step + 1e-9))
    values = np.arange(first, last + 1) * step
    # The first row that has reached the value, then back by the share of its step.
    row = np.searchsorted(axis.stamps[low:high], values - 1e-9 * step, "left") + low
    row = np.minimum(row, high - 1)
    reached = axis.stamps[row]
    before = np.where(row > low, axis.stamps[np.maximum(row - 1, 0)], reached)
    lasting = reached - before
    with np.errstate(divide="ignore", invalid="ignore"):
        back = np.where(lasting > 0, (reached - values) / lasting, 0.0)
    at = row + 0.5 - np.clip(back, 0.0, 1.0)
    return [
        Tick(float(a), stamp_text(axis.kind, float(v), digits))
        for a, v in zip(at, values, strict=True)
    ]


def _apart(found: list[Tick], view: View, spacing_px: float) -> list[Tick]:
    # Where steps are long, many round times fall close together.
    kept: list[Tick] = []
    for tick in found:
        room = spacing_px * 0.7 * view.per_px
        if not kept or tick.at - kept[-1].at >= room:
            kept.append(tick)
    return kept
