"""The grid as the Scene panel has it: on or off, its cells, where they are. No GL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.widgets.scene.caption import Caption
from isoscope.widgets.scene.grid.cells import Cell, CellMaker, Cells
from isoscope.widgets.scene.grid.ends import Ends
from isoscope.widgets.scene.grid.owners import Owners
from isoscope.widgets.scene.grid.picture import GridPainter, GridPicture
from isoscope.widgets.scene.grid.states import CellStates

if TYPE_CHECKING:
    from isoscope.widgets.scene.model import SceneModel
    from isoscope.widgets.session import Document
    from isoscope.widgets.theme import Tokens

BUDGET_S = 0.025  # of one turn of the event loop, for resolving states


class GridMode:
    """What the grid shows of one document.

    Attributes
    ----------
    on
        Whether the scene is shown as a grid.
    cells
        Those shown last.
    """

    def __init__(self) -> None:
        self.on = False
        self.cells: tuple[Cell, ...] = ()
        self.owners = Owners()
        self._ends = Ends()
        self._maker = CellMaker(self.owners, self._ends)
        self._states = CellStates()
        self._painter = GridPainter()

    def follow(
        self, document: Document, model: SceneModel, cursor: int, tokens: Tokens
    ) -> tuple[GridPicture, Caption, bool]:
        """Bring the cells to this cursor.

        Returns
        -------
        picture, caption, complete
            Complete if all cells are up to date; else call again in the next turn.
        """
        recording = document.recording
        self.owners.follow(document)
        told_all = self._ends.follow(recording.labelled)
        found = self._maker.cells(document, cursor, tokens)
        self.cells = found.cells
        hidden = frozenset(document.hidden)
        complete = self._states.resolve(
            recording, model.shapes, found.cells, self.owners, hidden, BUDGET_S
        )
        states = [self._states.state(cell.env) for cell in found.cells]
        at = next((n for n, cell in enumerate(found.cells) if cell.chosen), 0)
        model.state = states[at]
        picture = self._painter.picture(
            model.shapes,
            model.survey,
            found.cells,
            states,
            [self.owners.elsewhere(cell.scene) for cell in found.cells],
            tokens,
        )
        return picture, _caption(found, cursor), complete and told_all

    def about(self, number: int) -> str:
        """What is in a cell, for people."""
        if number >= len(self.cells):
            return ""
        cell = self.cells[number]
        lines = [" · ".join(part for part in (cell.name, cell.detail) if part)]
        if cell.row >= 0:
            lines.append(f"its own last state: native step {cell.row:,}")
        lines += [chip.text for chip in cell.chips]
        if cell.env >= 0:
            lines.append("Click looks at it, double click shows it alone.")
        return "\n".join(lines)


def _caption(found: Cells, cursor: int) -> Caption:
    count = len(found.cells)
    notes: tuple[str, ...] = ()
    if found.of > count:
        last = found.first + count
        title = f"environments {found.first + 1:,} to {last:,} of {found.of:,}"
        notes = ("shown: 64 at most; Sources has the check boxes",)
    else:
        title = f"{count} environments" if count > 1 else found.cells[0].name
    return Caption(
        title, f"at native step {cursor:,}, each in its own last state", notes
    )
