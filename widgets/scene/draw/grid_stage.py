"""Draws the cells of a grid with one camera: a few calls a cell, on one canvas.

Each cell is a viewport with a scissor, so that what a frame costs is bounded by the
canvas' pixels and the number of cells, however large a body is in the picture.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from vispy import gloo

from isoscope.widgets.scene.draw.actors import ActorTexture
from isoscope.widgets.scene.draw.bodies import Bodies, DrawnCell
from isoscope.widgets.scene.draw.stage import clip_of, key_light, light_of
from isoscope.widgets.scene.draw.strokes import StrokeLayer
from isoscope.widgets.scene.draw.surroundings import Backdrop, Ground

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from isoscope.core.recording.tracks import Array
    from isoscope.widgets.scene.camera import Camera
    from isoscope.widgets.scene.draw.look import Look
    from isoscope.widgets.scene.draw.stage import Viewport
    from isoscope.widgets.scene.grid.picture import GridPicture
    from isoscope.widgets.scene.shapes import Shapes
    from isoscope.widgets.scene.survey import Survey

_SHADOW_BIT = 1


class GridStage:
    """The graphics card's part of the grid. Every call needs a current context."""

    def __init__(self) -> None:
        self._bodies = Bodies()
        self._backdrop = Backdrop()
        self._ground = Ground()
        self._actors = ActorTexture()
        self._shapes: Shapes | None = None
        self._origin = np.zeros(3)
        self._picture: GridPicture | None = None
        self._cells: list[DrawnCell] = []
        self._strokes: list[StrokeLayer | None] = []

    def present(self, shapes: Shapes, picture: GridPicture, origin: Array) -> None:
        """Upload what changed; the meshes only when the actors did.

        `origin` [3] is taken when the meshes are; later ones are ignored until then.
        """
        if shapes is not self._shapes:
            self._shapes, self._origin = shapes, origin.copy()
            self._bodies.load(shapes)
            self._cells, self._strokes, self._picture = [], [], None
        if picture is self._picture:
            return
        self._picture = picture
        transforms = picture.transforms.copy()
        while len(self._cells) < len(picture.cells):
            self._cells.append(DrawnCell(0, None, self._bodies.deformed()))
            self._strokes.append(None)
        del self._cells[len(picture.cells) :], self._strokes[len(picture.cells) :]
        for number, (cell, told) in enumerate(
            zip(self._cells, picture.cells, strict=True)
        ):
            cell.first, cell.only = told.first, told.only
            for actor in told.surfaces:
                # In the world already, and relative to the origin.
                transforms[told.first + actor] = np.eye(3, 4)
                transforms[told.first + actor, :, 3] = self._origin
            self._bodies.deform(cell.deformed, told.surfaces, self._origin)
            layer = self._strokes[number]
            if layer is None and len(told.lines):
                layer = self._strokes[number] = StrokeLayer()
            if layer is not None:
                layer.update(told.lines, self._origin)
        self._actors.update(transforms, picture.colours, self._origin)

    def draw(
        self,
        canvas: Viewport,
        cells: Sequence[Viewport],
        camera: Camera,
        look: Look,
        survey: Survey,
        *,
        wire: bool = False,
    ) -> None:
        """Draw all cells; `canvas` is what the backdrop fills."""
        gloo.set_viewport(canvas.x, canvas.y, canvas.width, canvas.height)
        gloo.set_state(
            depth_test=False, blend=False, cull_face=False, stencil_test=False
        )
        gloo.set_depth_mask(True)
        self._backdrop.draw(look.top, look.bottom)
        picture = self._picture
        if picture is None or self._actors.texture is None or not cells:
            return

        def enter(number: int) -> None:
            view = cells[number]
            gloo.set_viewport(view.x, view.y, view.width, view.height)
            gloo.set_scissor(view.x, view.y, view.width, view.height)

        drawn = self._cells[: len(cells)]
        clip = clip_of(camera, cells[0].aspect, self._origin)
        lit = {
            **light_of(camera, look, clip, self._origin),
            "u_translucent": 0.0,
            "u_wire": float(wire),
        }
        gloo.set_state(scissor_test=True, depth_test=True)
        gloo.set_depth_func("lequal")
        self._bodies.draw_cells(False, self._actors, drawn, lit, enter)
        gloo.set_depth_mask(False)
        gloo.set_state(
            blend=True,
            blend_func=(
                *("src_alpha", "one_minus_src_alpha"),
                *("one", "one_minus_src_alpha"),
            ),
        )
        self._floor(cells, enter, camera, look, survey, clip)
        if survey.grounds and not wire:
            self._shadows(drawn, enter, camera, look, survey, clip)
        if picture.translucent:
            lit["u_translucent"] = 1.0
            self._bodies.draw_cells(False, self._actors, drawn, lit, enter)
        near, _ = camera.near_far()
        for number, layer in enumerate(self._strokes[: len(cells)]):
            if layer is not None:
                enter(number)
                view = cells[number]
                layer.draw(clip, (view.width, view.height), view.scale, near)
        gloo.set_depth_mask(True)
        gloo.set_state(scissor_test=False, depth_test=False, blend=False)

    def _floor(
        self,
        cells: Sequence[Viewport],
        enter: Callable[[int], None],
        camera: Camera,
        look: Look,
        survey: Survey,
        clip: Array,
    ) -> None:
        real = bool(survey.grounds)
        surface = look.surface if real else look.surface * np.array([1, 1, 1, 0])
        for number in range(len(cells)):
            enter(number)
            if number:
                self._ground.draw_again()
                continue
            self._ground.draw(
                camera,
                clip,
                survey.ground_m,
                self._origin,
                look.line,
                surface,
                1.0 if real else 0.8,
                cells[0].scale,
            )

    def _shadows(
        self,
        drawn: Sequence[DrawnCell],
        enter: Callable[[int], None],
        camera: Camera,
        look: Look,
        survey: Survey,
        clip: Array,
    ) -> None:
        """One pass with a hard edge: in a small cell a soft one isn't seen."""
        if float(camera.up @ camera.eye) <= survey.ground_m:
            return
        gloo.set_state(stencil_test=True)
        gloo.set_stencil_mask(_SHADOW_BIT)
        gloo.set_stencil_func("notequal", _SHADOW_BIT, _SHADOW_BIT)
        gloo.set_stencil_op("keep", "keep", "replace")
        shadow = {
            "u_clip": clip,
            "u_up": camera.up,
            "u_key": key_light(camera),
            "u_ground": survey.ground_m - float(camera.up @ self._origin),
            "u_colour": look.shadow,
            "u_reach": max(survey.size_m, 1e-9),
        }
        self._bodies.draw_cells(True, self._actors, drawn, shadow, enter)
        gloo.set_state(stencil_test=False)
