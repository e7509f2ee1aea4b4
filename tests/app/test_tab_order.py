"""Tab goes through Curate and Export as one reads them, by real keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QTabBar, QWidget

from isoscope.widgets.panel import Panel
from tests.app.conftest import settle
from tests.app.stand_ins import WITHOUT_GL
from tests.app.test_curate_window import curate_of, export_of, press, record

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.app.window import Window

Key = Qt.Key
MOST = 100  # stops in the whole window
CURATE = [
    "Filter episodes by a query",
    "Reject what matches",
    "Accept what matches",
    "✓ Accept",
    "✕ Reject",
    "· Undecided",
    "Tag…",
    "Trim to range",
    "Split here",
    "Episodes",
    "Export…",
]
EXPORT = [
    "lerobot",
    "Target",
    "Folder…",
    "replace",
    "Splits: shares by name",
    "by episode",
    "Seed of the split",
    "Task",
    "Robot type",
    "also the observation after each step",
    "Fields",
    "Rules",
    "Why the rule may fail",
    "Validate",
    "Export",
    "Copy command",
]


@pytest.fixture
def window(make_window, tmp_path: Path) -> Window:
    """On four episodes, one of them edited and chosen; a report that has a failure."""
    made = make_window(record(tmp_path / "run.isoscope.h5"), panels=WITHOUT_GL)
    made.set_layout("curate")
    settle(made)
    panel, export = curate_of(made), export_of(made)
    panel.table.selectRow(1)
    panel.commands["accept"]()
    panel.filter.line.setText("length > 1")
    settle(made)
    QTest.mouseClick(export.buttons.validate, Qt.MouseButton.LeftButton)
    settle(made)
    tree = export.report.tree
    tree.setCurrentItem(tree.topLevelItem(0))
    assert export.report.why.isVisible()
    made.activateWindow()
    return made


def stops(window: Window, start: QWidget, key: Qt.Key) -> list[QWidget]:
    """What Tab, or Shift+Tab, gives the focus, from a widget on around the window."""
    start.setFocus()
    found: list[QWidget] = [start]
    for _ in range(MOST):
        press(window, key)
        here = QApplication.focusWidget()
        if here is start:
            return found
        assert isinstance(here, QWidget)
        found.append(here)
    raise AssertionError("Tab never comes round")


def name_of(widget: QWidget) -> str:
    return widget.accessibleName() or str(widget.property("text") or "")


def panel_of(widget: QWidget) -> Panel | None:
    at: QWidget | None = widget
    while at is not None and not isinstance(at, Panel):
        at = at.parentWidget()
    return at


def test_tab_follows_what_is_read(window: Window) -> None:
    found = stops(window, curate_of(window).filter.line, Key.Key_Tab)
    inside = [panel_of(widget) for widget in found]
    names = [name_of(widget) for widget in found]
    curate, export = curate_of(window), export_of(window)
    assert [n for n, p in zip(names, inside, strict=True) if p is curate] == CURATE
    assert [n for n, p in zip(names, inside, strict=True) if p is export] == EXPORT
    at = [k for k, p in enumerate(inside) if p in (curate, export)]
    assert at == list(range(len(CURATE) + len(EXPORT)))  # in one go


def test_shift_tab_goes_the_same_way_back(window: Window) -> None:
    start = curate_of(window).filter.line
    found = stops(window, start, Key.Key_Tab)
    assert stops(window, start, Key.Key_Backtab) == [start, *reversed(found[1:])]


def test_every_stop_can_be_seen(window: Window) -> None:
    for widget in stops(window, curate_of(window).table, Key.Key_Tab):
        panel = panel_of(widget)
        assert panel is None or not panel.behind, name_of(widget)
        assert not isinstance(widget, QTabBar)
    assert window.panels["findings"].behind
    window.docks.raise_panel("findings")
    settle(window)
    found = stops(window, curate_of(window).table, Key.Key_Tab)
    inside = {panel_of(widget) for widget in found}
    assert window.panels["findings"] in inside
    assert export_of(window) not in inside


def test_to_pass_by_chooses_nothing(make_window, tmp_path: Path) -> None:
    window = make_window(record(tmp_path / "run.isoscope.h5"), panels=WITHOUT_GL)
    window.set_layout("curate")
    settle(window)
    window.session.clock.seek(7)
    stops(window, curate_of(window).filter.line, Key.Key_Tab)
    assert window.session.clock.row == 7
    assert curate_of(window).table.chosen() == []


def test_what_matches_can_be_taken_back_at_once(window: Window) -> None:
    panel = curate_of(window)
    QTest.mouseClick(panel.filter.line, Qt.MouseButton.LeftButton)
    QTest.mouseClick(panel.filter.reject, Qt.MouseButton.LeftButton)
    assert {item.verdict for item in panel.model.items} == {"rejected"}
    press(window, Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    assert [item.verdict for item in panel.model.items] == [
        None,
        "accepted",
        None,
        None,
    ]
    assert panel.filter.query == "length > 1"
