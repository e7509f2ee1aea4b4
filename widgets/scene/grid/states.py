"""The states of the cells, resolved within a given time; what is known is kept. No Qt.

A step of the cursor moves few environments, so few cells are resolved anew. Where many
have to be, those that waited longest come first and the others keep their last picture
for a moment.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isoscope.widgets.scene.resolve import resolve
from isoscope.widgets.scene.state import NOTHING, Intent, SceneState

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.core.recording.model import Recording
    from isoscope.widgets.scene.grid.cells import Cell
    from isoscope.widgets.scene.grid.owners import Owners
    from isoscope.widgets.scene.shapes import Shapes


@dataclass(slots=True, eq=False)
class _Kept:
    """A state, and what it was resolved from."""

    source: tuple[int, int, frozenset[int]]  # row, actors covered, hidden ones
    state: SceneState
    turn: int


class CellStates:
    """Keeps a state for each cell."""

    def __init__(self) -> None:
        self._recording: Recording | None = None
        self._kept: dict[int, _Kept] = {}
        self._turn = 0

    def resolve(
        self,
        recording: Recording,
        shapes: Shapes,
        cells: Sequence[Cell],
        owners: Owners,
        hidden: frozenset[int],
        budget_s: float,
    ) -> bool:
        """Bring the cells' states up to date; whether all of them are.

        At least one is, however little time there is.
        """
        if recording is not self._recording:
            self._recording, self._kept = recording, {}
        shown = {cell.env for cell in cells}
        for env in self._kept.keys() - shown:
            del self._kept[env]
        stale = []
        for cell in cells:
            without = hidden | owners.elsewhere(cell.scene)
            source = (cell.row, len(shapes), without)
            kept = self._kept.get(cell.env)
            if kept is None or kept.source != source:
                stale.append((-1 if kept is None else kept.turn, cell, source))
        stale.sort(key=lambda entry: entry[0])
        end = time.perf_counter() + budget_s
        self._turn += 1
        for done, (_, cell, source) in enumerate(stale):
            if done and time.perf_counter() > end:
                return False
            state = NOTHING
            if cell.row >= 0:
                intent = Intent(hidden=source[2], contacts=False)
                state = resolve(recording, shapes, cell.row, intent)
            self._kept[cell.env] = _Kept(source, state, self._turn)
        return True

    def state(self, env: int) -> SceneState:
        """The state of a cell; nothing where it was not resolved yet."""
        kept = self._kept.get(env)
        return NOTHING if kept is None else kept.state
