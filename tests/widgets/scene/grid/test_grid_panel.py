"""Grid mode with real clicks, the wheel and drags, on one canvas."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtOpenGLWidgets import QOpenGLWidget
from PySide6.QtWidgets import QApplication

from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.recorder import Recorder
from isoscope.core.recording.registry import open_source
from isoscope.widgets.scene.panel import ScenePanel
from isoscope.widgets.session import Document, Phase, Session
from tests.widgets.opened import analysed_document, made_document
from tests.widgets.scene.build import add_cube, empty, one_cube, real, show
from tests.widgets.scene.grid.made import Batch, record

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pytestqt.qtbot import QtBot

pytestmark = pytest.mark.gl
LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def panel(qtbot: QtBot) -> Iterator[ScenePanel]:
    made = ScenePanel(Session())
    qtbot.addWidget(made)
    made.resize(640, 440)
    made.show()
    qtbot.waitExposed(made)
    yield made
    made.release()


def settle(qtbot: QtBot, panel: ScenePanel) -> np.ndarray:
    qtbot.waitUntil(panel.settled, timeout=20_000)
    image = panel.grab_image()
    assert image is not None
    return image


def opened(
    qtbot: QtBot, panel: ScenePanel, path: Path, envs: int, *, shared: bool
) -> np.ndarray:
    """A recording in grid mode, at its end."""
    record(path, envs, 4, shared=shared, lasts=4)
    panel.session.add(analysed_document(path))
    panel.session.clock.seek(4 * envs - 1)
    press(qtbot, panel)
    return settle(qtbot, panel)


def press(qtbot: QtBot, panel: ScenePanel) -> None:
    qtbot.mouseClick(panel.toolbar.button("grid"), LEFT)


def middle(panel: ScenePanel, cell: int) -> QPoint:
    grid = panel._view._grid
    assert grid is not None
    box = grid.where.box(cell)
    return QPoint(round(box.x + box.width / 2), round(box.y + box.height / 2))


def cell_image(panel: ScenePanel, image: np.ndarray, cell: int) -> np.ndarray:
    """The pixels of one cell."""
    box = panel._view._grid.where.box(cell)
    s = panel.devicePixelRatioF()
    return image[
        round(box.y * s) : round((box.y + box.height) * s),
        round(box.x * s) : round((box.x + box.width) * s),
    ]


def coloured(image: np.ndarray) -> int:
    spread = image.max(axis=2).astype(int) - image.min(axis=2)
    return int((spread > 40).sum())


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("envs", [1, 8, 64])
def test_each_cell_has_a_body_on_one_canvas(
    qtbot: QtBot, panel: ScenePanel, tmp_path: Path, envs: int, shared: bool
) -> None:
    path = tmp_path / "run.isoscope.h5"
    image = opened(qtbot, panel, path, envs, shared=shared)
    assert len(panel.grid.cells) == envs
    for cell in range(envs):
        assert coloured(cell_image(panel, image, cell)) > 0, cell
    assert len(panel.findChildren(QOpenGLWidget)) == 1


def test_a_click_chooses_and_a_double_click_shows_it_alone(
    qtbot: QtBot, panel: ScenePanel, tmp_path: Path
) -> None:
    opened(qtbot, panel, tmp_path / "run.isoscope.h5", 8, shared=True)
    canvas = panel._view.canvas_widget
    qtbot.mouseClick(canvas, LEFT, pos=middle(panel, 5))
    settle(qtbot, panel)
    assert panel.session.active.focus == 5
    assert [c.env for c in panel.grid.cells if c.chosen] == [5]
    assert panel.grid.on
    place = middle(panel, 2)
    qtbot.mouseClick(canvas, LEFT, pos=place)
    qtbot.mouseDClick(canvas, LEFT, pos=place)
    settle(qtbot, panel)
    assert panel.session.active.focus == 2
    assert not panel.grid.on
    assert panel.subtitle == "env 2"
    assert not panel.toolbar.button("grid").isChecked()


def test_a_click_beside_the_cells_chooses_nobody(
    qtbot: QtBot, panel: ScenePanel, tmp_path: Path
) -> None:
    opened(qtbot, panel, tmp_path / "run.isoscope.h5", 8, shared=True)
    grid = panel._view._grid
    assert grid.where.columns * grid.where.lines > 8
    last = QPoint(panel.width() - 5, panel.height() - 5)
    qtbot.mouseClick(panel._view.canvas_widget, LEFT, pos=last)
    qtbot.mouseDClick(panel._view.canvas_widget, LEFT, pos=last)
    assert panel.session.active.focus is None
    assert panel.grid.on


def test_all_cells_have_one_camera(
    qtbot: QtBot, panel: ScenePanel, tmp_path: Path
) -> None:
    before = opened(qtbot, panel, tmp_path / "run.isoscope.h5", 4, shared=True)
    canvas = panel._view.canvas_widget
    begin = middle(panel, 0)
    qtbot.mousePress(canvas, LEFT, pos=begin)
    qtbot.mouseMove(canvas, begin + QPoint(15, 0))
    qtbot.mouseMove(canvas, begin + QPoint(60, 10))
    qtbot.mouseRelease(canvas, LEFT, pos=begin + QPoint(60, 10))
    after = settle(qtbot, panel)
    assert panel.session.active.focus is None  # a drag is no click
    for cell in range(4):
        a, b = (cell_image(panel, image, cell) for image in (before, after))
        assert (a != b).any()


def test_the_wheel_zooms_to_what_is_under_the_pointer_in_its_cell(
    qtbot: QtBot, panel: ScenePanel, tmp_path: Path
) -> None:
    opened(qtbot, panel, tmp_path / "run.isoscope.h5", 4, shared=True)
    control, canvas = panel._view.control, panel._view.canvas_widget
    target = control.camera.target
    for cell in (0, 3):
        at = QPointF(middle(panel, cell))
        assert np.allclose(control.pointer(at), 0, atol=0.02)
        wheel = QWheelEvent(
            at,
            QPointF(canvas.mapToGlobal(at.toPoint())),
            QPoint(),
            QPoint(0, 120),
            Qt.MouseButton.NoButton,
            Qt.KeyboardModifier.NoModifier,
            Qt.ScrollPhase.NoScrollPhase,
            False,
        )
        QApplication.sendEvent(canvas, wheel)
    # at the middle of a cell the target stays
    assert np.allclose(control.camera.target, target, atol=0.02)


def test_the_pointer_asks_and_is_told(
    qtbot: QtBot, panel: ScenePanel, tmp_path: Path
) -> None:
    opened(qtbot, panel, tmp_path / "run.isoscope.h5", 4, shared=True)
    panel._view.control.pressed_at = QPointF(middle(panel, 1))
    said = panel.about(0, 0)
    assert said.startswith("env 1 · ep 1 · step 4\nits own last state: native step 13")
    assert "terminated\ntruncated" in said


def test_a_seek_moves_only_whose_step_it_was(
    qtbot: QtBot, panel: ScenePanel, tmp_path: Path
) -> None:
    before = opened(qtbot, panel, tmp_path / "run.isoscope.h5", 4, shared=True)
    panel.session.clock.seek(14)
    assert not panel.settled()
    after = settle(qtbot, panel)
    changed = [
        (cell_image(panel, before, c) != cell_image(panel, after, c)).any()
        for c in range(4)
    ]
    assert changed == [False, False, False, True]
    assert [c.row for c in panel.grid.cells] == [12, 13, 14, 11]


def test_leaving_the_grid_brings_the_scene_back(
    qtbot: QtBot, panel: ScenePanel, tmp_path: Path
) -> None:
    record(tmp_path / "run.isoscope.h5", 4, 4, shared=True)
    panel.session.add(analysed_document(tmp_path / "run.isoscope.h5"))
    first = settle(qtbot, panel)
    press(qtbot, panel)
    grid = settle(qtbot, panel)
    assert (grid != first).any()
    assert not panel.toolbar.button("contacts").isEnabled()
    assert not panel._view.gizmo.isVisible()
    press(qtbot, panel)
    assert (settle(qtbot, panel) == first).all()
    assert panel.toolbar.button("contacts").isEnabled()
    assert panel._view.gizmo.isVisible()


def test_scenes_of_their_own_are_seen_one_at_a_time_outside_the_grid(
    qtbot: QtBot, panel: ScenePanel, tmp_path: Path
) -> None:
    record(tmp_path / "run.isoscope.h5", 3, 2, shared=False)
    panel.session.add(analysed_document(tmp_path / "run.isoscope.h5"))
    panel.session.clock.seek(4)
    settle(qtbot, panel)
    assert list(np.flatnonzero(panel.model.state.drawn)) == [1]


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_names_and_the_frame_of_the_chosen_are_painted(
    qtbot: QtBot, panel: ScenePanel, tmp_path: Path, theme: str
) -> None:
    panel.session.set_theme(theme)
    opened(qtbot, panel, tmp_path / "run.isoscope.h5", 4, shared=True)
    panel.session.focus(3)
    settle(qtbot, panel)
    assert "env 3 ep 1 · step 4" in panel._view.cell_labels.accessibleDescription()
    box = panel._view._grid.where.box(3)
    shot, s = panel.grab().toImage(), panel.devicePixelRatioF()
    x, y = round((box.x + 1) * s), round((box.y + box.height / 2) * s)
    assert shot.pixelColor(x, y).name() == panel.tokens.accent


def test_a_hidden_environment_has_no_cell(
    qtbot: QtBot, panel: ScenePanel, tmp_path: Path
) -> None:
    opened(qtbot, panel, tmp_path / "run.isoscope.h5", 4, shared=True)
    panel.session.active.set_hidden_envs({1, 2})
    settle(qtbot, panel)
    assert [c.env for c in panel.grid.cells] == [0, 3]


def test_soft_bodies_and_crosses_are_drawn_in_the_grid(
    qtbot: QtBot, panel: ScenePanel
) -> None:
    for name in ("soft_body", "rigid_contacts_all"):
        try:
            recording = real(name)
        except OSError:
            continue
        show(panel.session, recording)
        panel.show_grid(True)
        assert coloured(settle(qtbot, panel)) > 50
    bare = empty(3)
    add_cube(bare, np.zeros((3, 3)))
    bare.actors[0].reference = {}
    panel.session.add(made_document(bare))
    assert coloured(settle(qtbot, panel)) > 0


def test_without_anything_open_it_says_so(qtbot: QtBot, panel: ScenePanel) -> None:
    press(qtbot, panel)
    settle(qtbot, panel)
    assert panel._view.empty.text() == "Nothing is open"
    show(panel.session, one_cube(np.zeros((3, 3))))
    settle(qtbot, panel)
    assert len(panel.grid.cells) == 1


def test_a_live_run_moves_its_cells_and_keeps_the_camera(
    qtbot: QtBot, panel: ScenePanel, tmp_path: Path
) -> None:
    path = tmp_path / "live.isoscope.h5"
    with Recorder(path, r.Identity()) as recorder:
        batch = Batch(recorder, 4, shared=False)
        batch.turn()
        recorder.flush()
        source = open_source(path)
        source.index()
        document = Document(source)
        document.phase = Phase.LIVE
        panel.session.add(document)
        panel.session.clock.set_follow(True)
        panel.show_grid(True)
        settle(qtbot, panel)
        camera = panel._view.control.camera
        batch.turn()
        recorder.flush()
        source.refresh()
        document.set_progress(8, 8)
        settle(qtbot, panel)
        assert [c.control_step for c in panel.grid.cells] == [2, 2, 2, 2]
        assert panel._view.control.camera is camera
        source.close()
