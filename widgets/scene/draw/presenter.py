"""Brings pictures to the graphics card: what is equal to the last one stays there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.widgets.scene.draw.stage import Stage, Viewport

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoscope.core.recording.tracks import Array
    from isoscope.widgets.scene.camera import Camera
    from isoscope.widgets.scene.draw.look import Look
    from isoscope.widgets.scene.marks import Strokes
    from isoscope.widgets.scene.picture import Picture, Placed
    from isoscope.widgets.scene.shapes import Shapes
    from isoscope.widgets.scene.survey import Survey


class Presenter:
    """One stage, and what was last brought to it."""

    def __init__(self) -> None:
        self._stage: Stage | None = None
        self._shapes: Shapes | None = None
        self._origin = np.zeros(3)
        self._shown: Picture | None = None

    def present(self, shapes: Shapes, picture: Picture, origin: Array) -> None:
        """Upload what changed. The meshes go up only when the actors do.

        `origin` [3] is taken when the meshes are; later ones are ignored until then.
        """
        if self._stage is None:
            self._stage = Stage()
        stage = self._stage
        if shapes is not self._shapes:
            self._origin = origin.copy()
            stage.load(shapes, self._origin)
            self._shapes = shapes
            self._shown = None
        last = self._shown
        if last is None or not _same_placed(picture.live, last.live):
            live = picture.live
            stage.place(live.transforms, live.colours, dict(live.surfaces))
        if last is None or not _same_ghosts(picture, last):
            stage.place_ghosts(
                [(g.transforms, g.colours, dict(g.surfaces)) for g in picture.ghosts],
                [g.rim for g in picture.ghosts],
            )
        if (
            last is None
            or not _same_strokes(picture.lines, last.lines)
            or not _same_strokes(picture.through, last.through)
        ):
            stage.mark(picture.lines, picture.through)
        self._shown = picture

    def draw(
        self,
        viewport: Viewport,
        camera: Camera,
        look: Look,
        survey: Survey,
        *,
        wire: bool = False,
    ) -> None:
        """Draw what was presented last."""
        if self._stage is None:
            self._stage = Stage()
        chosen = self._shown.chosen if self._shown is not None else ()
        self._stage.draw(viewport, camera, look, survey, chosen=chosen, wire=wire)


def _same(a: Array, b: Array) -> bool:
    return a is b or np.array_equal(a, b, equal_nan=True)


def _same_strokes(a: Strokes, b: Strokes) -> bool:
    return a is b or (
        _same(a.ends, b.ends)
        and _same(a.colours, b.colours)
        and _same(a.widths, b.widths)
    )


def _same_placed(a: Placed, b: Placed) -> bool:
    return (
        _same(a.transforms, b.transforms)
        and _same(a.colours, b.colours)
        and _same_surfaces(a.surfaces, b.surfaces)
    )


def _same_surfaces(a: Mapping[int, Array], b: Mapping[int, Array]) -> bool:
    return a.keys() == b.keys() and all(_same(a[k], b[k]) for k in a)


def _same_ghosts(a: Picture, b: Picture) -> bool:
    return len(a.ghosts) == len(b.ghosts) and all(
        _same_placed(x, y) and x.rim == y.rim
        for x, y in zip(a.ghosts, b.ghosts, strict=True)
    )
