"""Windows for tests, each closed again, with a look at what it leaves behind."""

from __future__ import annotations

import gc
import threading
from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication

from isoscope.app.screenshot import wait_settled
from isoscope.app.settings import Settings
from isoscope.app.window import Window
from isoscope.app.workers import Workers
from isoscope.app.workspace import Workspace
from isoscope.widgets.session import Session
from tests.app import stand_ins

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SHIPPED = "shared_cartpole_missed_restore.h5"


def our_threads() -> list[str]:
    return [t.name for t in threading.enumerate() if t.name.startswith("isoscope")]


def settle(window: Window) -> None:
    wait_settled(window, 20)


@pytest.fixture
def make_window(qtbot) -> Iterator[Callable[..., Window]]:
    """Makes shown windows over plain panels; closes them and looks for threads."""
    windows: list[Window] = []
    app = QApplication.instance()
    sheet, palette = app.styleSheet(), app.palette()

    def make(*files: Path, theme="dark", panels=None) -> Window:
        workspace = Workspace(Session(), Workers(), Settings())
        window = Window(workspace, theme, panels or stand_ins.ALL)
        windows.append(window)
        window.resize(1280, 800)
        if files:
            window.open_files(files)
        window.show()
        qtbot.waitExposed(window)
        settle(window)
        window.activateWindow()
        qtbot.waitUntil(window.isActiveWindow, timeout=5000)
        return window

    yield make
    for window in windows:
        window.close()
        window.deleteLater()
    windows.clear()
    app.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
    gc.collect()
    app.setStyleSheet(sheet)
    app.setPalette(palette)
    assert our_threads() == []


@pytest.fixture
def window(make_window, recordings: Path) -> Window:
    """A window on the shipped recording."""
    return make_window(recordings / SHIPPED)
