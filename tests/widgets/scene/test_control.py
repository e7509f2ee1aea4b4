from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QContextMenuEvent, QKeyEvent, QWheelEvent
from PySide6.QtWidgets import QApplication, QWidget

from isoscope.widgets.scene.camera import Camera
from isoscope.widgets.scene.control import CameraControl

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def widget(qtbot: QtBot) -> QWidget:
    made = QWidget()
    qtbot.addWidget(made)
    made.resize(400, 200)
    made.show()
    qtbot.waitExposed(made)
    return made


@pytest.fixture
def control(widget: QWidget) -> CameraControl:
    return CameraControl(widget, widget)


def drag(
    qtbot: QtBot, widget: QWidget, button: Qt.MouseButton, dx: int, dy: int
) -> None:
    start = QPoint(200, 100)
    qtbot.mousePress(widget, button, pos=start)
    # QTest moves without buttons, as the window system doesn't.
    for part in (1, 2, 3, 4):
        at = QPointF(start) + QPointF(dx, dy) * part / 4
        event = _move(at, button)
        QApplication.sendEvent(widget, event)
    qtbot.mouseRelease(widget, button, pos=start + QPoint(dx, dy))


def _move(at: QPointF, button: Qt.MouseButton) -> QEvent:
    from PySide6.QtGui import QMouseEvent

    return QMouseEvent(
        QEvent.Type.MouseMove,
        at,
        at,
        Qt.MouseButton.NoButton,
        button,
        Qt.KeyboardModifier.NoModifier,
    )


def test_left_drag_orbits(
    qtbot: QtBot, widget: QWidget, control: CameraControl
) -> None:
    before = control.camera
    drag(qtbot, widget, LEFT, 40, 0)
    assert np.array_equal(control.camera.target, before.target)
    assert control.camera.yaw > before.yaw
    assert control.touched


def test_right_drag_looks(
    qtbot: QtBot, widget: QWidget, control: CameraControl
) -> None:
    before = control.camera
    drag(qtbot, widget, Qt.MouseButton.RightButton, 40, 10)
    assert np.allclose(control.camera.eye, before.eye)
    assert control.camera.yaw > before.yaw
    assert control.camera.pitch > before.pitch


def test_middle_drag_pans(
    qtbot: QtBot, widget: QWidget, control: CameraControl
) -> None:
    before = control.camera
    drag(qtbot, widget, Qt.MouseButton.MiddleButton, 40, 0)
    assert control.camera.yaw == before.yaw
    right = before.axes[0]
    assert (control.camera.target - before.target) @ right < 0


def test_a_click_is_no_drag(
    qtbot: QtBot, widget: QWidget, control: CameraControl
) -> None:
    clicks: list[tuple[float, float]] = []
    control.clicked.connect(lambda x, y: clicks.append((x, y)))
    qtbot.mouseClick(widget, LEFT, pos=QPoint(300, 50))
    drag(qtbot, widget, LEFT, 50, 0)
    assert clicks == [(1.0, 0.5)]


def test_a_double_click_is_told_once(
    qtbot: QtBot, widget: QWidget, control: CameraControl
) -> None:
    clicks: list[str] = []
    control.clicked.connect(lambda x, y: clicks.append("click"))
    control.double_clicked.connect(lambda x, y: clicks.append("double"))
    qtbot.mouseDClick(widget, LEFT, pos=QPoint(200, 100))
    qtbot.mouseRelease(widget, LEFT, pos=QPoint(200, 100))
    assert clicks.count("double") == 1


def test_the_wheel_zooms(widget: QWidget, control: CameraControl) -> None:
    before = control.camera.distance
    at = QPointF(200, 100)
    event = QWheelEvent(
        at,
        at,
        QPoint(),
        QPoint(0, 120),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(widget, event)
    assert control.camera.distance < before


def test_a_held_key_moves_until_it_is_let_go(
    qtbot: QtBot, widget: QWidget, control: CameraControl
) -> None:
    start = control.camera
    qtbot.keyPress(widget, Qt.Key.Key_W)
    assert control.moving
    qtbot.waitUntil(lambda: control.camera is not start)
    ahead = control.camera.target - start.target
    assert ahead @ start.axes[2] > 0
    qtbot.keyRelease(widget, Qt.Key.Key_W)
    qtbot.waitUntil(lambda: not control.moving)
    stopped = control.camera
    qtbot.wait(50)
    assert control.camera is stopped


def test_opposite_keys_cancel(widget: QWidget, control: CameraControl) -> None:
    start = control.camera
    for key in (Qt.Key.Key_A, Qt.Key.Key_D):
        press = QKeyEvent(QEvent.Type.KeyPress, key, Qt.KeyboardModifier.NoModifier)
        QApplication.sendEvent(widget, press)
    control.advance(0.1)
    assert np.array_equal(control.camera.target, start.target)


@pytest.mark.parametrize(
    "key", [Qt.Key.Key_F, Qt.Key.Key_O, Qt.Key.Key_Space, Qt.Key.Key_Left]
)
def test_other_keys_are_left_to_the_window(
    qtbot: QtBot, widget: QWidget, control: CameraControl, key: Qt.Key
) -> None:
    qtbot.keyPress(widget, key)
    assert not control.moving


def test_letters_with_ctrl_are_left_to_the_window(
    qtbot: QtBot, widget: QWidget, control: CameraControl
) -> None:
    qtbot.keyPress(widget, Qt.Key.Key_S, Qt.KeyboardModifier.ControlModifier)
    assert not control.moving


def test_its_keys_come_before_actions_of_the_same_letter(
    widget: QWidget, control: CameraControl
) -> None:
    def claimed(key: Qt.Key, modifier: Qt.KeyboardModifier) -> bool:
        event = QKeyEvent(QEvent.Type.ShortcutOverride, key, modifier)
        event.ignore()
        QApplication.sendEvent(widget, event)
        return event.isAccepted()

    none = Qt.KeyboardModifier.NoModifier
    assert claimed(Qt.Key.Key_A, none)
    assert not claimed(Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    assert not claimed(Qt.Key.Key_F, none)


def test_the_right_button_brings_no_menu(
    widget: QWidget, control: CameraControl
) -> None:
    menus: list[QPoint] = []
    widget.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
    widget.customContextMenuRequested.connect(menus.append)
    at = QPoint(20, 20)
    reason = QContextMenuEvent.Reason.Mouse
    QApplication.sendEvent(widget, QContextMenuEvent(reason, at, at))
    assert menus == []


def test_losing_the_focus_lets_go_of_the_keys(
    qtbot: QtBot, widget: QWidget, control: CameraControl
) -> None:
    qtbot.keyPress(widget, Qt.Key.Key_W)
    from PySide6.QtGui import QFocusEvent

    QApplication.sendEvent(widget, QFocusEvent(QEvent.Type.FocusOut))
    qtbot.waitUntil(lambda: not control.moving)


def test_a_flight_ends_where_it_leads(qtbot: QtBot, control: CameraControl) -> None:
    end = Camera(target=np.array([1.0, 2, 3]), distance=1.0)
    control.fly(end)
    assert control.moving
    qtbot.waitUntil(lambda: not control.moving)
    assert control.camera is end
    assert not control.touched


def test_stopping_ends_a_flight_at_once(control: CameraControl) -> None:
    end = Camera(distance=1.0)
    control.fly(end)
    control.stop()
    assert control.camera is end
    assert not control.moving
