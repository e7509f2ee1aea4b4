"""Where the cells of a grid are: rows and columns in a rectangle. Pure."""

from __future__ import annotations

from dataclasses import dataclass

ASPECT = 1.35  # of a cell, width over height, that is aimed at
GAP = 2.0  # pixels between cells


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle in pixels of the widget, from its upper left corner."""

    x: float
    y: float
    width: float
    height: float

    @property
    def aspect(self) -> float:
        """Width over height."""
        return self.width / max(self.height, 1.0)


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Cells in rows, from the upper left.

    Attributes
    ----------
    count
        How many cells there are.
    columns, lines
        How they are arranged.
    width, height, top
        Of the widget, and how much of it is kept free above.
    """

    count: int
    columns: int
    lines: int
    width: float
    height: float
    top: float

    def box(self, cell: int) -> Box:
        """Where a cell is."""
        wide = (self.width + GAP) / self.columns
        high = (self.height - self.top + GAP) / self.lines
        line, column = divmod(cell, self.columns)
        return Box(
            column * wide,
            self.top + line * high,
            max(wide - GAP, 1.0),
            max(high - GAP, 1.0),
        )

    def at(self, x: float, y: float) -> int | None:
        """The cell under a place; None where there is none."""
        if not (0 <= x < self.width and self.top <= y < self.height):
            return None
        column = int(x * self.columns / self.width)
        line = int((y - self.top) * self.lines / (self.height - self.top))
        cell = line * self.columns + column
        return cell if cell < self.count else None

    @property
    def aspect(self) -> float:
        """Of each cell."""
        return self.box(0).aspect


def arranged(count: int, width: float, height: float, top: float) -> Arrangement:
    """The arrangement whose cells are seen largest."""
    room = max(height - top, 1.0)

    def seen(columns: int) -> float:
        lines = -(-count // columns)
        return min(width / columns, ASPECT * room / lines)

    columns = max(range(1, max(count, 1) + 1), key=lambda c: (seen(c), -c))
    lines = -(-max(count, 1) // columns)
    return Arrangement(count, columns, lines, max(width, 1.0), max(height, 2.0), top)
