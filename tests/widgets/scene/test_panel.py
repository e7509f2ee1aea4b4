from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QHelpEvent
from PySide6.QtWidgets import (
    QApplication,
    QDockWidget,
    QLabel,
    QMainWindow,
    QToolTip,
)

from isoscope.core.recording.tracks import Track
from isoscope.widgets.scene.nothing import NO_STEPS
from isoscope.widgets.scene.panel import ScenePanel
from isoscope.widgets.scene.state import Ghost
from isoscope.widgets.session import Session
from isoscope.widgets.theme import tokens
from tests.widgets.scene.build import actor_named, add_cube, empty, one_cube, real, show

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytestqt.qtbot import QtBot

    from isoscope.core.recording.model import Recording

pytestmark = pytest.mark.gl
LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def panel(qtbot: QtBot) -> Iterator[ScenePanel]:
    made = ScenePanel(Session())
    qtbot.addWidget(made)
    made.resize(480, 320)
    made.show()
    qtbot.waitExposed(made)
    yield made
    made.release()


def settle(qtbot: QtBot, panel: ScenePanel) -> np.ndarray:
    """Wait until all is drawn; the picture."""
    qtbot.waitUntil(panel.settled, timeout=20_000)
    image = panel.grab_image()
    assert image is not None
    return image


def opened(qtbot: QtBot, panel: ScenePanel, recording: Recording) -> np.ndarray:
    show(panel.session, recording)
    return settle(qtbot, panel)


def pixel_of(panel: ScenePanel, actor: int) -> QPoint:
    """Where an actor's origin is seen."""
    view = panel._view
    assert view is not None
    camera = view.control.camera
    at = panel.model.state.transforms[actor][:, 3]
    x, y, _, w = camera.projection(view.aspect) @ camera.view() @ [*at, 1.0]
    return QPoint(
        round((0.5 + 0.5 * x / w) * view.width()),
        round((0.5 - 0.5 * y / w) * view.height()),
    )


def coloured(image: np.ndarray) -> int:
    """How many pixels are clearly no grey."""
    spread = image.max(axis=2).astype(int) - image.min(axis=2)
    return int((spread > 60).sum())


def test_it_draws_the_actors(qtbot: QtBot, panel: ScenePanel) -> None:
    nothing = settle(qtbot, panel)
    assert coloured(nothing) == 0
    image = opened(qtbot, panel, real("rigid_contacts_all"))
    assert coloured(image) > 200


@pytest.mark.parametrize("meshes", [True, False])
def test_actors_of_a_recording_without_a_step_are_not_drawn(
    qtbot: QtBot, panel: ScenePanel, meshes: bool
) -> None:
    recording = empty(0)
    cube = add_cube(recording, np.zeros((1, 3)))
    cube.fields.tracks.clear()
    if not meshes:
        cube.reference.clear()
    image = opened(qtbot, panel, recording)
    assert coloured(image) == 0
    assert panel._view is not None
    assert panel._view.empty.text() == NO_STEPS


def test_a_seek_draws_another_picture(qtbot: QtBot, panel: ScenePanel) -> None:
    first = opened(qtbot, panel, real("rigid_contacts_all"))
    panel.session.clock.seek(60)
    assert not panel.settled()
    second = settle(qtbot, panel)
    assert (first != second).any()
    panel.session.clock.seek(0)
    assert (settle(qtbot, panel) == first).all()


def test_a_screenshot_of_the_widget_holds_the_picture(
    qtbot: QtBot, panel: ScenePanel
) -> None:
    image = opened(qtbot, panel, real("rigid_contacts_all"))
    shot = panel.grab().toImage()
    at = pixel_of(panel, 0)
    ratio = panel.devicePixelRatioF()
    seen = shot.pixelColor(round(at.x() * ratio), round(at.y() * ratio))
    drawn = image[round(at.y() * ratio), round(at.x() * ratio)]
    assert np.abs(np.array(seen.getRgb()[:3]) - drawn.astype(int)).max() <= 2


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_it_takes_the_theme(qtbot: QtBot, panel: ScenePanel, theme: str) -> None:
    panel.session.set_theme(theme)
    image = opened(qtbot, panel, real("rigid_contacts_all"))
    top = image[2, 5].astype(int)
    wanted = tokens(theme).scene_top
    expected = [int(wanted[i : i + 2], 16) for i in (1, 3, 5)]
    assert np.abs(top - expected).max() < 14


def test_a_click_selects_and_a_click_beside_lets_go(
    qtbot: QtBot, panel: ScenePanel
) -> None:
    opened(qtbot, panel, real("rigid_contacts_all"))
    document = panel.session.active
    assert document is not None
    assert panel._view is not None
    widget = panel._view.canvas_widget
    crate = actor_named(real("rigid_contacts_all"), "Crate").index
    qtbot.mouseClick(widget, LEFT, pos=pixel_of(panel, crate))
    assert document.selection.actor == crate
    settle(qtbot, panel)
    qtbot.mouseClick(widget, LEFT, pos=QPoint(20, 200))
    assert document.selection.actor is None


def test_the_resting_pointer_is_told_what_is_there(
    qtbot: QtBot, panel: ScenePanel
) -> None:
    opened(qtbot, panel, real("rigid_contacts_all"))
    view = panel._view
    assert view is not None
    at = view.control.pointer(QPointF(pixel_of(panel, 0)))
    assert panel.about(*at).startswith("Crate (Rigid)")
    assert "horizontal plane" in panel.about(-0.8, -0.8)
    assert panel.about(0, 5) == ""
    place = pixel_of(panel, 0)
    event = QHelpEvent(QEvent.Type.ToolTip, place, view.mapToGlobal(place))
    QApplication.sendEvent(view.canvas_widget, event)
    assert QToolTip.text().startswith("Crate (Rigid)")
    QToolTip.hideText()


def test_tooltips_say_the_keys_there_are(panel: ScenePanel) -> None:
    panel.show_shortcuts({"trails": "Ctrl+T", "wireframe": ""})
    assert panel.toolbar.button("trails").toolTip().endswith("(Ctrl+T)")
    assert "(" not in panel.toolbar.button("wireframe").toolTip()
    assert panel.toolbar.button("frame").toolTip().endswith("(F)")


def test_what_is_selected_has_an_outline(qtbot: QtBot, panel: ScenePanel) -> None:
    plain = opened(qtbot, panel, real("rigid_contacts_all"))
    panel.session.select(0)
    outlined = settle(qtbot, panel)
    changed = (plain != outlined).any(axis=2)
    assert 20 < changed.sum() < 3000
    panel.session.select(None)
    assert (settle(qtbot, panel) == plain).all()


def test_a_double_click_frames_the_actor(qtbot: QtBot, panel: ScenePanel) -> None:
    opened(qtbot, panel, real("rigid_contacts_all"))
    view = panel._view
    assert view is not None
    before = view.control.camera.distance
    qtbot.mouseDClick(view.canvas_widget, LEFT, pos=pixel_of(panel, 0))
    settle(qtbot, panel)
    at = panel.model.state.transforms[0][:, 3]
    assert np.allclose(view.control.camera.target, at, atol=0.02)
    assert view.control.camera.distance < before


def test_framing_the_selection_and_everything(qtbot: QtBot, panel: ScenePanel) -> None:
    opened(qtbot, panel, real("rigid_contacts_all"))
    view = panel._view
    assert view is not None
    whole = view.control.camera
    panel.session.select(1)
    panel.frame_selection()
    settle(qtbot, panel)
    assert view.control.camera.distance < whole.distance
    panel.frame_all()
    settle(qtbot, panel)
    assert np.allclose(view.control.camera.target, whole.target)


def test_hidden_actors_are_not_drawn(qtbot: QtBot, panel: ScenePanel) -> None:
    both = opened(qtbot, panel, real("rigid_contacts_all"))
    document = panel.session.active
    assert document is not None
    document.set_hidden(0, True)
    document.set_hidden(1, True)
    none = settle(qtbot, panel)
    assert coloured(none) < coloured(both) / 10


def test_actors_that_come_and_go(qtbot: QtBot, panel: ScenePanel) -> None:
    recording = real("create_destroy")
    opened(qtbot, panel, recording)
    crate = actor_named(recording, "Crate").index
    panel.session.clock.seek(19)
    with_crate = settle(qtbot, panel)
    at = pixel_of(panel, crate)
    panel.session.clock.seek(20)
    without = settle(qtbot, panel)
    blue = with_crate[at.y(), at.x()].astype(int)
    assert blue[2] > blue[0] + 40
    gone = without[at.y(), at.x()].astype(int)
    assert abs(gone[2] - gone[0]) < 30


@pytest.mark.parametrize(
    "name", ["soft_body", "no_state", "shared_cartpole_2env", "fp64_rigid_contacts_all"]
)
def test_other_recordings_are_drawn(qtbot: QtBot, panel: ScenePanel, name: str) -> None:
    panel.toggle_trails()
    image = opened(qtbot, panel, real(name))
    panel.session.clock.seek(len(real(name)) // 2)
    assert coloured(settle(qtbot, panel)) > 30
    assert coloured(image) > 30


def test_contacts_can_be_switched_off(qtbot: QtBot, panel: ScenePanel) -> None:
    opened(qtbot, panel, real("rigid_contacts_all"))
    panel.session.clock.seek(60)
    shown = settle(qtbot, panel)
    button = panel.toolbar.button("contacts")
    assert button.isChecked()
    qtbot.mouseClick(button, LEFT)
    without = settle(qtbot, panel)
    assert not button.isChecked()
    assert (shown != without).any()
    assert len(panel.model.state.contacts) == 0


def test_wireframe_shows_less_of_the_bodies(qtbot: QtBot, panel: ScenePanel) -> None:
    solid = coloured(opened(qtbot, panel, real("rigid_contacts_all")))
    panel.toggle_wireframe()
    wire = coloured(settle(qtbot, panel))
    assert 20 < wire < solid


def test_ghosts_are_drawn_labelled_and_cycled(qtbot: QtBot, panel: ScenePanel) -> None:
    opened(qtbot, panel, real("rigid_contacts_all"))
    panel.session.clock.seek(60)
    plain = settle(qtbot, panel)
    overlay_button = panel.toolbar.button("overlay")
    assert not overlay_button.isVisible()
    panel.set_ghosts([Ghost(2, "#ff00ff", "was here")], "before", here="is here")
    ghosts = settle(qtbot, panel)
    assert (plain != ghosts).any()
    texts = {label.text() for label in panel.findChildren(QLabel) if label.isVisible()}
    assert {"was here", "is here"} <= texts
    assert any("overlay: before" in text for text in texts)
    qtbot.mouseClick(overlay_button, LEFT)
    assert (settle(qtbot, panel) == plain).all()


def test_side_by_side_frames_all_of_them(qtbot: QtBot, panel: ScenePanel) -> None:
    opened(qtbot, panel, real("shared_cartpole_2env"))
    view = panel._view
    assert view is not None
    before = view.control.camera.distance
    panel.set_side_by_side([(10, "ten", "#ff0000"), (20, "twenty", "#00ff00")])
    settle(qtbot, panel)
    assert view.control.camera.distance > before


def drifting() -> Recording:
    """A cube that goes 40 m along X."""
    at = np.zeros((50, 3))
    at[:, 0] = np.linspace(0, 40, 50)
    return one_cube(at)


def test_the_camera_goes_along_where_bodies_drift(
    qtbot: QtBot, panel: ScenePanel
) -> None:
    opened(qtbot, panel, drifting())
    button = panel.toolbar.button("track")
    assert button.isChecked()
    for row in (0, 25, 49):
        panel.session.clock.seek(row)
        assert coloured(settle(qtbot, panel)) > 2000
    qtbot.mouseClick(button, LEFT)
    panel.session.clock.seek(0)
    assert coloured(settle(qtbot, panel)) == 0
    panel.frame_selection()
    assert coloured(settle(qtbot, panel)) > 2000
    panel.frame_all()
    assert 0 < coloured(settle(qtbot, panel)) < 1000


def test_the_camera_stands_still_where_bodies_stay(
    qtbot: QtBot, panel: ScenePanel
) -> None:
    opened(qtbot, panel, real("rigid_contacts_all"))
    view = panel._view
    assert view is not None
    before = view.control.camera
    panel.session.clock.seek(60)
    settle(qtbot, panel)
    assert view.control.camera is before
    panel.session.select(0)
    panel.toggle_tracking()
    settle(qtbot, panel)
    start = panel.model.state.transforms[0][:, 3]
    panel.session.clock.seek(70)
    settle(qtbot, panel)
    way = panel.model.state.transforms[0][:, 3] - start
    assert np.allclose(view.control.camera.target - before.target, way)


def test_each_recording_keeps_its_camera(qtbot: QtBot, panel: ScenePanel) -> None:
    session = panel.session
    first = show(session, real("rigid_contacts_all"))
    settle(qtbot, panel)
    view = panel._view
    assert view is not None
    qtbot.keyPress(view.canvas_widget, Qt.Key.Key_W)
    qtbot.wait(60)
    qtbot.keyRelease(view.canvas_widget, Qt.Key.Key_W)
    settle(qtbot, panel)
    kept = view.control.camera
    show(session, real("soft_body"))
    settle(qtbot, panel)
    assert view.control.camera is not kept
    session.activate(first)
    settle(qtbot, panel)
    assert view.control.camera is kept


def test_a_pose_that_is_not_finite_is_told_and_not_drawn(
    qtbot: QtBot, panel: ScenePanel
) -> None:
    recording = one_cube(np.zeros((3, 3)))
    track = recording.actors[0].fields.tracks["translation"]
    assert isinstance(track, Track)
    track.values[1] = np.nan
    assert coloured(opened(qtbot, panel, recording)) > 100
    panel.session.clock.seek(1)
    assert coloured(settle(qtbot, panel)) == 0
    assert "not finite" in panel._view.caption.text()  # type: ignore[union-attr]  # shown


@pytest.mark.parametrize("scale", [1e-3, 1e3])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_scenes_of_any_size_and_place_fill_the_picture(
    qtbot: QtBot, panel: ScenePanel, scale: float, offset: float
) -> None:
    image = opened(qtbot, panel, one_cube(np.full((4, 3), offset * scale), scale=scale))
    assert coloured(image) > 0.1 * image.shape[0] * image.shape[1]


def test_hundreds_of_actors_are_drawn_at_once(qtbot: QtBot, panel: ScenePanel) -> None:
    recording = empty(2)
    for i in range(300):
        at = np.tile([0.4 * (i % 20), 0.0, 0.4 * (i // 20)], (2, 1))
        add_cube(recording, at, name=f"Cube {i}")
    image = opened(qtbot, panel, recording)
    assert coloured(image) > 5000


def test_it_survives_floating_and_docking(qtbot: QtBot) -> None:
    window = QMainWindow()
    qtbot.addWidget(window)
    window.resize(640, 400)
    panel = ScenePanel(Session())
    dock = QDockWidget("Scene", window)
    dock.setWidget(panel)
    window.setCentralWidget(QLabel("centre"))
    window.addDockWidget(Qt.DockWidgetArea.LeftDockWidgetArea, dock)
    window.show()
    qtbot.waitExposed(window)
    show(panel.session, real("rigid_contacts_all"))
    for floating in (True, False):
        dock.setFloating(floating)
        panel.session.clock.seek(60 if floating else 10)
        assert coloured(settle(qtbot, panel)) > 100
    panel.release()


def test_a_hidden_panel_does_not_work_and_catches_up(
    qtbot: QtBot, panel: ScenePanel
) -> None:
    opened(qtbot, panel, real("rigid_contacts_all"))
    panel.hide()
    panel.session.clock.seek(60)
    assert panel.settled()
    assert panel.model.state.row == 0
    panel.show()
    settle(qtbot, panel)
    assert panel.model.state.row == 60


def test_a_driver_that_refuses_leaves_a_message(
    qtbot: QtBot, panel: ScenePanel, monkeypatch: pytest.MonkeyPatch
) -> None:
    from isoscope.widgets.scene.draw import presenter

    def refuse(*_: object, **__: object) -> None:
        raise RuntimeError("Shader compilation error")

    monkeypatch.setattr(presenter.Presenter, "draw", refuse)
    show(panel.session, real("rigid_contacts_all"))
    qtbot.waitUntil(lambda: panel.findChild(QLabel, "scene-missing") is not None)
    label = panel.findChild(QLabel, "scene-missing")
    assert isinstance(label, QLabel)
    assert "Shader compilation error" in label.text()
    panel.session.clock.seek(3)
    assert panel.settled()
