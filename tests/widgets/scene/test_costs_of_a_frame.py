"""What lies over the picture is painted with each frame, and must cost little."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, QObject, QSize
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from isoscope.widgets.elided import ElidedLabel
from isoscope.widgets.icons import icon
from isoscope.widgets.scene.camera import Camera
from isoscope.widgets.scene.caption import Caption
from isoscope.widgets.scene.corners import AxisGizmo
from isoscope.widgets.scene.view import SceneView
from isoscope.widgets.theme import DARK, LIGHT

LAYOUT = QEvent.Type.LayoutRequest


class Layouts(QObject):
    """Counts how often a widget is laid out anew."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self.count = 0
        widget.installEventFilter(self)

    def eventFilter(self, _widget, event):  # noqa: N802
        self.count += event.type() == LAYOUT
        return False


@pytest.mark.gl
def test_a_new_caption_does_not_lay_the_window_out_anew(qtbot):
    window = QWidget()
    qtbot.addWidget(window)
    row = QVBoxLayout(window)
    view = SceneView(window, QWidget)
    row.addWidget(view)
    window.resize(500, 400)
    with qtbot.waitExposed(window):
        window.show()
    assert view.canvas_widget.geometry() == view.rect()
    qtbot.wait(50)
    counted = Layouts(window)
    for k in range(3):
        view.caption.show_caption(Caption(f"native step {10**k}"), DARK)
        qtbot.wait(20)
    assert counted.count == 0
    window.resize(640, 420)
    assert view.canvas_widget.geometry() == view.rect()
    assert view.width() > 500


def test_a_subtitle_that_changes_does_not_lay_its_line_out_anew(qtbot):
    window = QWidget()
    qtbot.addWidget(window)
    label = ElidedLabel()
    QHBoxLayout(window).addWidget(label, 1)
    window.resize(200, 60)
    with qtbot.waitExposed(window):
        window.show()
    counted = Layouts(window)
    label.set_text("native 7")
    label.set_text("native 1,000,000 · of a very long recording indeed")
    qtbot.wait(20)
    assert counted.count == 0
    assert label.width() <= 200
    assert label.toolTip() == label.text  # it is cut


def test_the_axes_are_drawn_once_for_each_camera_and_theme(qtbot, monkeypatch):
    window = QWidget()
    qtbot.addWidget(window)
    gizmo = AxisGizmo(window)
    drawn = []
    original = AxisGizmo._paint
    monkeypatch.setattr(
        AxisGizmo, "_paint", lambda self, p: (drawn.append(1), original(self, p))
    )
    camera = Camera()
    gizmo.show_camera(camera, DARK)
    dark = gizmo.grab().toImage()
    assert gizmo.grab().toImage() == dark
    assert len(drawn) == 1
    gizmo.show_camera(camera, LIGHT)
    assert gizmo.grab().toImage() != dark
    assert len(drawn) == 2


def test_an_icon_has_a_picture_for_each_state(qtbot):
    made = icon("mdi6.crosshairs", 18, DARK.dim, DARK.accent, DARK.faint)
    assert made is icon("mdi6.crosshairs", 18, DARK.dim, DARK.accent, DARK.faint)
    off, on, disabled = (
        made.pixmap(QSize(18, 18), *look).toImage()
        for look in (
            (QIcon.Mode.Normal, QIcon.State.Off),
            (QIcon.Mode.Normal, QIcon.State.On),
            (QIcon.Mode.Disabled, QIcon.State.Off),
        )
    )
    assert off != on != disabled != off
