"""The native steps to have in view when a finding is looked at; no Qt."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.core.isolation.findings import Finding
    from isoscope.core.isolation.stretches import Stretch

AROUND = 0.35  # of what is shown of a finding, on either side
LEAST_ROWS = 24  # on either side
MOST_ROWS = 400  # of a long stretch, its beginning is shown
LARGE_PX = 36.0


class Span(Protocol):
    """Rows in view, from `low` to `high`."""

    @property
    def low(self) -> float:
        """The first."""
        ...

    @property
    def high(self) -> float:
        """The last."""
        ...


def stretch_of(
    finding: Finding, rows: int, tainted: Sequence[Stretch] = ()
) -> tuple[float, float] | None:
    """Rows around a finding and what it taints; None where it has no place."""
    if finding.native is None or rows <= 0:
        return None
    first, last = finding.native
    begin = min([first, *(one.low for one in tainted)])
    end = max([last, *(one.high for one in tainted)])
    end = min(end, begin + MOST_ROWS)
    around = max(AROUND * (end - begin), LEAST_ROWS)
    return max(begin - around, -0.5), min(end + around, rows - 0.5)


def needs_zoom(stretch: tuple[float, float], span: Span, width_px: float) -> bool:
    """Whether a stretch lies out of view, or is too small in it to be seen."""
    low, high = stretch
    if low < span.low - 1 or high > span.high + 1:
        return True
    each_px = width_px / max(span.high - span.low, 1e-9)
    return (high - low) * each_px < LARGE_PX
