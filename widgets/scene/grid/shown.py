"""A grid as the view holds it: its picture, its cells, and where they are drawn."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from isoscope.widgets.scene.draw.stage import Viewport

if TYPE_CHECKING:
    from isoscope.widgets.scene.grid.arrange import Arrangement
    from isoscope.widgets.scene.grid.cells import Cell
    from isoscope.widgets.scene.grid.picture import GridPicture


@dataclass(frozen=True, slots=True, eq=False)
class ShownGrid:
    """What the view shows as a grid."""

    picture: GridPicture
    cells: tuple[Cell, ...]
    where: Arrangement

    def moved(self, where: Arrangement) -> ShownGrid:
        """The same elsewhere."""
        return self if where == self.where else replace(self, where=where)

    def viewports(self, height: int, scale: float) -> list[Viewport]:
        """The cells in physical pixels, from the lower left of a canvas of a height."""
        views = []
        for number in range(len(self.cells)):
            box = self.where.box(number)
            left, right = round(box.x * scale), round((box.x + box.width) * scale)
            top, below = round(box.y * scale), round((box.y + box.height) * scale)
            size = (max(right - left, 1), max(below - top, 1))
            views.append(Viewport(left, height - below, *size, scale))
        return views
