"""The menus, built from the table of actions; submenus are filled as they open."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from PySide6.QtGui import QAction, QActionGroup

from isoscope.app.settings import PAUSE_ON, THEME_CHOICES
from isoscope.widgets.keys import ACTIONS, MENUS, Action

if TYPE_CHECKING:
    from collections.abc import Callable

    from PySide6.QtWidgets import QMenu, QMenuBar

    from isoscope.app.window.window import Window

MARKS_AT_MOST = 40


def build_menus(window: Window, bar: QMenuBar) -> None:
    """Put every menu of the table into the bar."""
    fillers: dict[str, Callable[[Window, QMenu], None]] = {
        "file.recent": fill_recent,
        "view.layout": fill_layouts,
        "view.panels": fill_panels,
        "view.theme": fill_themes,
        "bookmark.list": fill_bookmarks,
        "watch.pause_on": fill_pause_on,
        "watch.memory": fill_memory,
    }
    for name in MENUS:
        menu = bar.addMenu(name)
        menu.setToolTipsVisible(True)
        group = ""
        for row in ACTIONS:
            if row.menu != name:
                continue
            if row.kind != "submenu" and row.id not in window.actions_by_id:
                continue  # its panel isn't there
            if group and row.group != group:
                menu.addSeparator()
            group = row.group
            if row.kind == "submenu":
                _submenu(window, menu, row, fillers[row.id])
            else:
                menu.addAction(window.actions_by_id[row.id])


def _submenu(
    window: Window, menu: QMenu, row: Action, fill: Callable[[Window, QMenu], None]
) -> None:
    below = menu.addMenu(row.text)
    fill_when_opened(window, below, fill)


def fill_when_opened(
    window: Window, menu: QMenu, fill: Callable[[Window, QMenu], None]
) -> None:
    """Make the menu's content each time that it is about to be seen."""

    def refill() -> None:
        menu.clear()
        fill(window, menu)
        if menu.isEmpty():
            menu.addAction("None yet").setEnabled(False)

    menu.aboutToShow.connect(refill)


def fill_recent(window: Window, menu: QMenu) -> None:
    """The recent files."""
    for name in window.settings.values.recent:
        action = menu.addAction(Path(name).name)
        action.setToolTip(name)
        action.triggered.connect(lambda _=False, name=name: window.open_files([name]))
    menu.setToolTipsVisible(True)


def fill_layouts(window: Window, menu: QMenu) -> None:
    """The named layouts."""
    _choices(
        menu,
        [(layout.title, layout.key) for layout in window.arrangement.layouts],
        window.arrangement.key,
        window.set_layout,
    )


def fill_panels(window: Window, menu: QMenu) -> None:
    """Every panel, to show or to hide."""
    for dock in window.docks.docks.values():
        action = menu.addAction(dock.panel.title)
        action.setCheckable(True)
        action.setChecked(not dock.isHidden())
        action.toggled.connect(dock.setVisible)


def fill_themes(window: Window, menu: QMenu) -> None:
    """Light, dark, or as the system is."""
    texts = {"system": "As the system", "dark": "Dark", "light": "Light"}
    _choices(
        menu,
        [(texts[choice], choice) for choice in THEME_CHOICES],
        window.theming.choice,
        window.set_theme,
    )


def fill_pause_on(window: Window, menu: QMenu) -> None:
    """From which finding on a run that is watched is paused."""
    texts = {
        "error": "At an error",
        "warning": "At a warning or an error",
        "never": "Never",
    }
    pausing = window.workspace.pausing
    _choices(
        menu,
        [(texts[choice], choice) for choice in PAUSE_ON],
        pausing.level,
        pausing.choose,
    )


def fill_memory(window: Window, menu: QMenu) -> None:
    """How much of a run that is watched is kept in memory."""
    memory = window.workspace.memory
    _choices(
        menu,
        [(f"{mb:,} MiB", mb) for mb in memory.choices],
        memory.mb,
        memory.choose,
    )


def fill_bookmarks(window: Window, menu: QMenu) -> None:
    """The active recording's bookmarks."""
    document = window.session.active
    for mark in document.bookmarks[:MARKS_AT_MOST] if document is not None else ():
        action = menu.addAction(f"{mark.name}\t{mark.row:,}")
        action.setToolTip(mark.note or f"native step {mark.row:,}")
        action.triggered.connect(
            lambda _=False, row=mark.row: window.session.clock.seek(row)
        )
    menu.setToolTipsVisible(True)


def _choices(
    menu: QMenu,
    choices: list[tuple[str, Any]],
    current: Any,
    choose: Callable[[Any], object],
) -> None:
    group = QActionGroup(menu)
    for text, key in choices:
        action = QAction(text, menu)
        action.setCheckable(True)
        action.setChecked(key == current)
        action.triggered.connect(lambda _=False, key=key: choose(key))
        group.addAction(action)
        menu.addAction(action)
