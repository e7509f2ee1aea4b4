"""The rows in view: a range that is zoomed, moved and fitted; no Qt.

Ends are fractions of rows, so that zooming at a pointer keeps what is under it. Row r
is drawn at x = r; the whole of T rows is ``-0.5 .. T - 0.5``.
"""

from __future__ import annotations

from dataclasses import dataclass

NARROWEST = 4.0  # rows


@dataclass(frozen=True, slots=True)
class Span:
    """From `low` to `high` out of `rows`."""

    low: float
    high: float
    rows: int

    @classmethod
    def whole(cls, rows: int) -> Span:
        """Everything."""
        return cls(-0.5, max(rows, 1) - 0.5, rows)

    @property
    def width(self) -> float:
        """Rows in view."""
        return self.high - self.low

    @property
    def is_whole(self) -> bool:
        """Whether everything is in view."""
        all_ = Span.whole(self.rows)
        return self.low <= all_.low and self.high >= all_.high

    @property
    def first(self) -> int:
        """The first row in view."""
        return max(0, -int(-self.low // 1))

    @property
    def stop(self) -> int:
        """One past the last row in view."""
        return max(min(self.rows, int(self.high // 1) + 1), self.first)

    def zoomed(self, factor: float, at: float) -> Span:
        """`factor` times as many rows in view, `at` staying where it is."""
        return self.between(
            at - (at - self.low) * factor, at + (self.high - at) * factor
        )

    def moved(self, rows: float) -> Span:
        """Moved, as far as there are rows."""
        all_ = Span.whole(self.rows)
        rows = min(max(rows, all_.low - self.low), all_.high - self.high)
        return Span(self.low + rows, self.high + rows, self.rows)

    def between(self, low: float, high: float) -> Span:
        """From `low` to `high`, in the order given or not, kept within what there is.

        Never narrower than a few rows.
        """
        low, high = min(low, high), max(low, high)
        all_ = Span.whole(self.rows)
        missing = min(NARROWEST, all_.width) - (high - low)
        if missing > 0:
            low, high = low - missing / 2, high + missing / 2
        if high - low >= all_.width:
            return all_
        shift = max(all_.low - low, 0.0) or min(all_.high - high, 0.0)
        return Span(low + shift, high + shift, self.rows)

    def grown(self, rows: int) -> Span:
        """With another number of rows: the whole stays the whole."""
        if self.is_whole:
            return Span.whole(rows)
        return Span(self.low, self.high, rows).between(self.low, self.high)
