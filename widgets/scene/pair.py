"""Two scenes side by side, one camera: what was recorded and what was stepped again.

Drawn as a grid of two cells, which has one camera for all. No GL.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from isoscope.widgets.isolate.again import beyond, how_far
from isoscope.widgets.scene.caption import Caption
from isoscope.widgets.scene.ghosts import ghost_state
from isoscope.widgets.scene.grid.cells import Cell, Chip
from isoscope.widgets.scene.grid.picture import GridPainter, GridPicture
from isoscope.widgets.scene.resolve import resolve
from isoscope.widgets.scene.state import Ghost, Intent, SceneState

if TYPE_CHECKING:
    from isoscope.core.between import Between
    from isoscope.core.replay.states import Replayed
    from isoscope.widgets.isolate.view import Isolated
    from isoscope.widgets.scene.model import SceneModel
    from isoscope.widgets.theme import Tokens


@dataclass(frozen=True, slots=True)
class NamedCell(Cell):
    """A cell that is called otherwise than by its environment."""

    title: str = ""

    @property
    def name(self) -> str:
        """What is in it."""
        return self.title


class PairMode:
    """The two cells, of the document whose re-simulation is looked at."""

    def __init__(self) -> None:
        self._painter = GridPainter()
        self.cells: tuple[Cell, ...] = ()

    def follow(
        self,
        found: Replayed,
        model: SceneModel,
        shown: Isolated,
        without: frozenset[int],
        tokens: Tokens,
        between: Between | None = None,
    ) -> tuple[GridPicture, tuple[Cell, ...]]:
        """The pictures at this cursor, the recorded one first.

        Parameters
        ----------
        without
            Actors that are not drawn.
        between
            Where between this state and a later one both are drawn.
        """
        recording = model.recording
        assert recording is not None
        intent = Intent(hidden=without, contacts=False)
        recorded = resolve(
            recording, model.shapes, shown.row, intent, model.labels, between
        )
        if shown.whose is not None and recorded.row >= 0:
            recorded = replace(recorded, whose=shown.whose)
        model.state = recorded
        there = found.states.has(shown.row)
        again = recorded
        if there:
            ghost = Ghost(shown.row, "", recording=found.states.recording)
            again = with_still(
                ghost_state(
                    *(recording, model.shapes, ghost, without, model.shapes_of), between
                ),
                recorded,
                model,
            )
        whose, colour = recorded.whose, shown.tint or tokens.accent
        env = whose.env if shown.tint else -1
        where = (env, shown.row, whose.episode, whose.control_step, -1, colour)
        tone = "error" if there and beyond(found, shown.row) else "text"
        said = how_far(found, shown.row) if there else "not stepped again here"
        self.cells = (
            NamedCell(*where, False, (), title="recorded"),
            NamedCell(
                *(where[0], shown.row if there else -1, *where[2:]),
                False,
                (Chip(said, "error" if tone == "error" else "text"),),
                title=found.name,
            ),
        )
        picture = self._painter.picture(
            model.shapes,
            model.survey,
            self.cells,
            [recorded, again],
            [without, without],
            tokens,
        )
        return picture, self.cells


def pair_caption(found: Replayed, cursor: int, made_up: str) -> Caption:
    """The caption over both; `made_up` says what of it was not recorded."""
    notes = [made_up] if made_up else []
    return Caption(
        f"recorded, and {found.name}",
        f"at native step {cursor:,}, one camera for both",
        (*notes, "shown: side by side — B shows a ghost"),
    )


def with_still(
    state: SceneState, recorded: SceneState, model: SceneModel
) -> SceneState:
    """The same with what never moves, which stands where it stands."""
    still = np.array([not s.moving for s in model.shapes.all], np.bool_)
    poses, placed = state.poses.copy(), state.transforms.copy()
    poses[still] = recorded.poses[still]
    placed[still] = recorded.transforms[still]
    return replace(state, poses=poses, transforms=placed)
