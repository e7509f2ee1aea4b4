"""From the cells' states to the numbers that are uploaded. Pure.

The actors' transforms of all cells lie one after the other in one texture. Cells whose
actors are not the same ones (scenes of their own) share a copy of it, so that N scenes
of A actors take N·A places, and not N·N·A.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoscope.widgets.scene import marks
from isoscope.widgets.scene.palette import actor_colours, linear, rgb
from isoscope.widgets.scene.picture import FADED
from isoscope.widgets.scene.state import DRAWN, Pose

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoscope.core.recording.tracks import Array
    from isoscope.widgets.scene.grid.cells import Cell
    from isoscope.widgets.scene.marks import Strokes
    from isoscope.widgets.scene.shapes import Shapes
    from isoscope.widgets.scene.state import SceneState
    from isoscope.widgets.scene.survey import Survey
    from isoscope.widgets.theme import Tokens

_BARE_PART = 0.03  # of the scene's size: a cross' arm


@dataclass(frozen=True, slots=True, eq=False)
class CellPicture:
    """What is drawn in one cell.

    Attributes
    ----------
    first
        Where its copy of the actors begins.
    only
        Its actors; None for all.
    surfaces
        World positions of its deformable bodies, by actor.
    lines
        Strokes among the bodies.
    """

    first: int
    only: tuple[int, ...] | None
    surfaces: Mapping[int, Array]
    lines: Strokes


@dataclass(frozen=True, slots=True, eq=False)
class GridPicture:
    """All cells.

    Attributes
    ----------
    transforms, colours
        [copies · n, 3, 4] and linear [copies · n, 4].
    cells
        In the order of the cells.
    translucent
        Whether any actor is.
    """

    transforms: Array
    colours: Array
    cells: tuple[CellPicture, ...]
    translucent: bool


class GridPainter:
    """Makes pictures; keeps the colours, which depend on the tint only."""

    def __init__(self) -> None:
        self._for: tuple[Shapes, Tokens] | None = None
        self._names: dict[str, list[str]] = {}
        self._linear: dict[str, Array] = {}

    def picture(
        self,
        shapes: Shapes,
        survey: Survey,
        cells: Sequence[Cell],
        states: Sequence[SceneState],
        elsewhere: Sequence[frozenset[int]],
        tokens: Tokens,
    ) -> GridPicture:
        """The picture of these cells.

        Parameters
        ----------
        states
            Of each cell.
        elsewhere
            Of each cell the actors that are in other scenes than its own.
        """
        count = len(shapes)
        copies = _copies(elsewhere)
        transforms = np.full((count * (max(copies, default=0) + 1), 3, 4), np.nan)
        colours = np.zeros((len(transforms), 4))
        made = []
        for cell, state, others, copy in zip(
            cells, states, elsewhere, copies, strict=True
        ):
            names, shade = self._colours(shapes, tokens, cell)
            first = copy * count
            only = None
            if others:
                only = tuple(i for i in range(count) if i not in others)
            own = slice(None) if only is None else np.array(only, np.int64)
            covered = len(state.poses) == count
            if not covered:  # no step yet, or not resolved: another's must not show
                only = ()
            else:
                into = slice(first, first + count)
                transforms[into][own] = state.transforms[own]
                alpha = np.where(np.isin(state.poses, DRAWN), 1.0, 0.0)
                alpha[state.poses == Pose.NOT_RECORDED] = FADED
                colours[into, :3][own] = shade[own]
                colours[into, 3][own] = alpha[own]
            arm = _BARE_PART * survey.scale_m
            lines = marks.joined(
                [
                    marks.link_strokes(state, tokens.dim),
                    marks.rod_strokes(shapes, state, names),
                    marks.bare_strokes(shapes, state, names, arm),
                ]
                if covered
                else []
            )
            for actor in state.deformed:
                # Surfaces are in the world already.
                transforms[first + actor] = np.nan
            made.append(CellPicture(first, only, state.deformed, lines))
        alpha = colours[:, 3]
        translucent = bool(((alpha > 0) & (alpha < 1)).any())
        return GridPicture(transforms, colours, tuple(made), translucent)

    def _colours(
        self, shapes: Shapes, tokens: Tokens, cell: Cell
    ) -> tuple[list[str], Array]:
        """Colours of the actors in this cell: names, and linear [n, 3]."""
        if self._for != (shapes, tokens):
            self._for, self._names, self._linear = (shapes, tokens), {}, {}
        tint = cell.colour
        if tint not in self._names:
            names = actor_colours(shapes, tokens, tint if cell.env >= 0 else None)
            srgb = np.array([rgb(name) for name in names]).reshape(-1, 3)
            self._names[tint], self._linear[tint] = names, linear(srgb)
        return self._names[tint], self._linear[tint]


def _copies(elsewhere: Sequence[frozenset[int]]) -> list[int]:
    """Which copy of the actors each cell has: the first that its scene left free."""
    taken: dict[frozenset[int], int] = {}
    copies = []
    for others in elsewhere:
        copies.append(taken.get(others, 0))
        taken[others] = copies[-1] + 1
    return copies
