"""The picture with what lies over it: the canvas, corners, labels, camera control."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtWidgets import QLabel, QWidget

from isoscope.widgets.scene.caption import Caption, nice, quantity
from isoscope.widgets.scene.control import CameraControl
from isoscope.widgets.scene.corners import (
    AxisGizmo,
    CaptionLabel,
    Legend,
    WorldLabel,
    leans,
)
from isoscope.widgets.scene.draw.canvas import Canvas
from isoscope.widgets.scene.draw.grid_stage import GridStage
from isoscope.widgets.scene.draw.look import look_of
from isoscope.widgets.scene.draw.presenter import Presenter
from isoscope.widgets.scene.draw.stage import Viewport
from isoscope.widgets.scene.draw.surroundings import grid_spacing
from isoscope.widgets.scene.grid.arrange import arranged
from isoscope.widgets.scene.grid.labels import CellLabels
from isoscope.widgets.scene.grid.shown import ShownGrid
from isoscope.widgets.scene.picture import metres_per_newton
from isoscope.widgets.scene.shapes import NO_SHAPES, Shapes
from isoscope.widgets.scene.survey import Survey
from isoscope.widgets.theme import DARK, Tokens

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtGui import QResizeEvent

    from isoscope.core.recording.tracks import Array
    from isoscope.widgets.scene.grid.arrange import Arrangement
    from isoscope.widgets.scene.grid.cells import Cell
    from isoscope.widgets.scene.grid.picture import GridPicture
    from isoscope.widgets.scene.picture import Picture, WorldText

_MARGIN = 12
TOOLBAR_PX = 8  # between the toolbar and the corner
_ARROW_PX = 90.0  # the most that the legend's arrow may be long


class SceneView(QWidget):
    """Shows one picture after another; resolves nothing itself.

    Parameters
    ----------
    parent
        The panel.
    toolbar
        Made by the caller; put into the upper right corner.
    """

    painted = Signal()
    clicked = Signal(float, float)
    double_clicked = Signal(float, float)
    failed = Signal(str)
    resized = Signal()

    def __init__(self, parent: QWidget, toolbar: Callable[[QWidget], QWidget]) -> None:
        super().__init__(parent)
        self._shapes: Shapes = NO_SHAPES
        self._survey = Survey()
        self._tokens: Tokens = DARK
        self._look = look_of(DARK)
        self._wire = self._forces = False
        self._picture: Picture | None = None
        self._presented: Picture | None = None
        self._wanted = self._drawn = 0  # generations of what is to be seen
        self._presenter = Presenter()
        self._canvas = self._make_canvas()
        self.control = CameraControl(self._canvas.widget, self)
        self.control.moved.connect(self._camera_moved)
        self.control.clicked.connect(self.clicked)
        self.control.double_clicked.connect(self.double_clicked)
        self.caption = CaptionLabel(self)
        self.legend = Legend(self)
        self.gizmo = AxisGizmo(self)
        self.empty = QLabel(self)
        self.empty.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.empty.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.toolbar = toolbar(self)
        self.cell_labels = CellLabels(self)
        self.cell_labels.stackUnder(self.toolbar)
        self._grid: ShownGrid | None = None
        self._grid_stage: GridStage | None = None
        self._labels: list[tuple[WorldLabel, Array, bool]] = []
        self._label_texts: tuple[WorldText, ...] = ()

    # -- what is shown ----------------------------------------------------------------

    @property
    def canvas_widget(self) -> QWidget:
        """The widget that takes the mouse and the keys."""
        return self._canvas.widget

    @property
    def aspect(self) -> float:
        """Width over height, of a cell where a grid is shown."""
        if self._grid is not None:
            return self._grid.where.aspect
        return self.width() / max(self.height(), 1)

    def set_tokens(self, tokens: Tokens) -> None:
        """Take a theme's colours."""
        self._tokens = tokens
        self._look = look_of(tokens)
        self.empty.setStyleSheet(f"color:{tokens.dim};")

    def show_picture(
        self,
        shapes: Shapes,
        survey: Survey,
        picture: Picture,
        caption: Caption,
        *,
        wire: bool,
        forces: bool,
    ) -> None:
        """Show this one from the next frame on; `forces` says whether it has arrows."""
        self._grid = None
        self.control.room = None
        self._forces = forces
        self._shapes, self._survey, self._picture = shapes, survey, picture
        self._wire = wire
        self.caption.show_caption(caption, self._tokens)
        self._make_labels(picture.texts)
        self._dress()
        self.repaint_later()

    def show_grid(
        self,
        shapes: Shapes,
        survey: Survey,
        picture: GridPicture,
        cells: tuple[Cell, ...],
        caption: Caption,
        *,
        wire: bool,
    ) -> None:
        """Show a small scene for each of these cells from the next frame on."""
        self._shapes, self._survey, self._wire = shapes, survey, wire
        self._picture = self._presented = None
        self.caption.show_caption(caption, self._tokens)
        self._make_labels(())
        self._grid = ShownGrid(picture, cells, self._arranged(len(cells)))
        self.control.room = self._cell_room
        self._dress()
        self.repaint_later()

    def cell_at(self, place: QPointF) -> int | None:
        """The cell under a place of the canvas; None where there is none."""
        if self._grid is None:
            return None
        return self._grid.where.at(place.x(), place.y())

    def _arranged(self, count: int) -> Arrangement:
        least = self.toolbar.height() + 2 * TOOLBAR_PX
        top = max(self.caption.height() + _MARGIN + TOOLBAR_PX, least)
        return arranged(count, self.width(), self.height(), min(top, self.height() / 3))

    def _cell_room(self, place: QPointF) -> QRectF | None:
        grid = self._grid
        if grid is None:
            return None
        # Beside the cells it is as over the first one.
        box = grid.where.box(self.cell_at(place) or 0)
        return QRectF(box.x, box.y, box.width, box.height)

    def repaint_later(self) -> None:
        """Draw a frame when Qt finds the time."""
        self._wanted += 1
        self._canvas.update()

    def settled(self) -> bool:
        """Whether what is to be seen is what was drawn."""
        return self._drawn == self._wanted and not self.control.moving

    def image(self) -> Array:
        """What is drawn, without what lies over it: uint8 [height, width, 3]."""
        return self._canvas.image()

    def close_canvas(self) -> None:
        """Let go of the graphics card."""
        self.control.stop()
        self._canvas.close()

    # -- the canvas -------------------------------------------------------------------

    def _make_canvas(self) -> Canvas:
        canvas = Canvas(self, self._draw, self.failed.emit)
        canvas.lost.connect(self._renew_canvas)
        # Not by a layout: each change of a text over the picture would have the whole
        # window laid out anew.
        canvas.widget.setGeometry(self.rect())
        self.setFocusProxy(canvas.widget)
        return canvas

    def _renew_canvas(self) -> None:
        """Begin anew when Qt took the OpenGL context away, as when a dock floats."""
        old = self._canvas
        old.close()
        old.widget.hide()
        old.widget.deleteLater()
        # Before the new canvas, which may paint at once.
        self._presenter = Presenter()
        self._presented, self._grid_stage = None, None
        self._canvas = self._make_canvas()
        self._canvas.widget.lower()
        self._canvas.widget.show()
        self.control.watch(self._canvas.widget)
        self.repaint_later()

    def _draw(self, width: int, height: int, scale: float) -> None:
        if self._grid is not None:
            self._draw_grid(self._grid, width, height, scale)
        else:
            self._draw_scene(width, height, scale)
        if self._drawn != self._wanted:
            self._drawn = self._wanted
            QTimer.singleShot(0, self, self.painted.emit)

    def _draw_grid(
        self, grid: ShownGrid, width: int, height: int, scale: float
    ) -> None:
        if self._grid_stage is None:
            self._grid_stage = GridStage()
        stage = self._grid_stage
        stage.present(self._shapes, grid.picture, self._survey.centre)
        stage.draw(
            Viewport(0, 0, width, height, scale),
            grid.viewports(height, scale),
            self.control.camera,
            self._look,
            self._survey,
            wire=self._wire,
        )

    def _draw_scene(self, width: int, height: int, scale: float) -> None:
        picture = self._picture
        if picture is not None and picture is not self._presented:
            self._presenter.present(self._shapes, picture, self._survey.centre)
            self._presented = picture
        self._presenter.draw(
            Viewport(0, 0, width, height, scale),
            self.control.camera,
            self._look,
            self._survey,
            wire=self._wire,
        )

    def _camera_moved(self) -> None:
        self._dress()
        self.repaint_later()

    # -- what lies over it ------------------------------------------------------------

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802
        """Keep the corners in the corners."""
        super().resizeEvent(event)
        self._canvas.widget.setGeometry(self.rect())
        self.resized.emit()
        self._dress()

    def _dress(self) -> None:
        camera, grid = self.control.camera, self._grid
        self.gizmo.show_camera(camera, self._tokens)
        self.gizmo.setVisible(grid is None)
        self.cell_labels.setVisible(grid is not None)
        self._show_scales()
        width, height = self.width(), self.height()
        self.caption.move(_MARGIN, _MARGIN)
        self.legend.move(_MARGIN, height - self.legend.height() - _MARGIN + 4)
        size = self.gizmo.SIZE
        self.gizmo.move(width - size - 4, height - size - 4)
        self.toolbar.move(width - self.toolbar.width() - TOOLBAR_PX, TOOLBAR_PX)
        self.empty.setGeometry(0, 0, width, height)
        if grid is not None:
            grid = self._grid = grid.moved(self._arranged(len(grid.cells)))
            self.cell_labels.setGeometry(0, 0, width, height)
            self.cell_labels.show_cells(grid.cells, grid.where, self._tokens)
        clip = camera.projection(self.aspect) @ camera.view()
        taken = [self.caption.geometry(), self.toolbar.geometry()]
        beside = [place for _, place, beside in self._labels if beside]
        lean = iter(leans(clip, beside))
        for label, place, stands_beside in self._labels:
            way = next(lean) if stands_beside else 0
            label.follow(clip, place, QSize(width, height), taken, way)

    def _show_scales(self) -> None:
        camera, survey = self.control.camera, self._survey
        fine, strength = grid_spacing(camera.distance)
        spacing = fine if strength > 0.5 else 10 * fine
        per_newton = metres_per_newton(survey)
        picture = self._picture
        force, arrow_px = "", 0.0
        if per_newton and self._forces:
            per_metre = self.height() / (
                2 * camera.distance * float(np.tan(camera.field_of_view / 2))
            )
            newtons = nice(_ARROW_PX / (per_newton * per_metre))
            arrow_px = newtons * per_newton * per_metre
            force = quantity(newtons, "N")
        self.legend.show_scales(
            f"grid {quantity(spacing, 'm')}", force, arrow_px, self._tokens
        )
        self.legend.setVisible(picture is not None and len(self._shapes) > 0)

    def _make_labels(self, texts: tuple[WorldText, ...]) -> None:
        same = [(t.text, t.colour) for t in texts] == [
            (t.text, t.colour) for t in self._label_texts
        ]
        if not same:
            for label, *_ in self._labels:
                label.deleteLater()
            made = [WorldLabel(self, t.text, t.colour, self._tokens) for t in texts]
        else:
            made = [label for label, *_ in self._labels]
        self._labels = [
            (m, t.place, t.beside) for m, t in zip(made, texts, strict=True)
        ]
        self._label_texts = texts
