from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from PySide6.QtWidgets import QLabel

from isoscope.widgets.scene.draw import support
from isoscope.widgets.scene.panel import ScenePanel
from isoscope.widgets.scene.state import Ghost
from isoscope.widgets.session import Session
from tests.widgets.scene.build import real, show

if TYPE_CHECKING:
    from pytestqt.qtbot import QtBot


@pytest.fixture
def panel(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> ScenePanel:
    monkeypatch.setenv(support.SWITCH_OFF, "1")
    made = ScenePanel(Session())
    qtbot.addWidget(made)
    made.show()
    qtbot.waitExposed(made)
    return made


def said(panel: ScenePanel) -> str:
    label = panel.findChild(QLabel, "scene-missing")
    assert isinstance(label, QLabel)
    assert label.isVisible()
    return label.text()


def test_it_says_what_is_missing_and_what_to_do(panel: ScenePanel) -> None:
    text = said(panel)
    assert "ISOSCOPE_NO_GL" in text
    assert "libgl1-mesa-dri" in text
    assert "isoscope doctor" in text


def test_everything_else_goes_on(panel: ScenePanel) -> None:
    session = panel.session
    document = show(session, real("rigid_contacts_all"))
    session.clock.seek(30)
    session.select(1)
    document.set_hidden(0, True)
    session.set_theme("light")
    panel.frame_selection()
    panel.frame_all()
    panel.toggle_contacts()
    panel.toggle_trails()
    panel.toggle_wireframe()
    panel.cycle_overlay()
    panel.look_along(0, 1)
    panel.set_ghosts([Ghost(3, "#ff0000")])
    panel.set_side_by_side([(3, "a", "#ff0000")])
    panel.set_actor_colours(lambda actor, row: None)
    assert panel.actor_colour(0).startswith("#")
    assert panel.grab_image() is None
    assert panel.settled()
    session.remove(document)
    said(panel)
    panel.release()


def test_a_platform_without_opengl_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(support.SWITCH_OFF, raising=False)
    monkeypatch.setattr(
        support.QGuiApplication, "platformName", staticmethod(lambda: "offscreen")
    )
    assert "offscreen" in support.missing()


def test_a_context_that_can_not_be_made_is_told(
    qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken:
        def create(self) -> bool:
            return False

    monkeypatch.delenv(support.SWITCH_OFF, raising=False)
    monkeypatch.setattr(
        support.QGuiApplication, "platformName", staticmethod(lambda: "xcb")
    )
    monkeypatch.setattr(support, "QOpenGLContext", Broken)
    assert support.missing() == "No OpenGL context could be created."
