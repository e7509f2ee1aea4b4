"""Themes, layouts, messages, palette, bookmarks, links: what the window keeps."""

from __future__ import annotations

import json
import sys

import pytest
from PySide6.QtCore import QPointF, Qt, QTimer
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication

from isoscope.app.crashes import CrashNet, log_file
from isoscope.app.panels import PANELS
from isoscope.app.window.layouts import LAYOUTS
from isoscope.core.errors import UsageError
from isoscope.core.timeline.pieces import Shape
from isoscope.widgets.keys import ACTIONS
from isoscope.widgets.session import FieldRef
from isoscope.widgets.theme import DARK, LIGHT
from tests.app import stand_ins
from tests.app.conftest import SHIPPED, settle

LEFT = Qt.MouseButton.LeftButton


# -- themes --------------------------------------------------------------------------


def test_choosing_a_theme_changes_the_whole_look_and_is_remembered(
    make_window, window, recordings
):
    app = QApplication.instance()
    assert DARK.panel in app.styleSheet()
    window.set_theme("light")
    assert window.session.theme == "light"
    assert LIGHT.panel in app.styleSheet()
    assert DARK.panel not in app.styleSheet()
    picture = window.frame.header.grab().toImage()
    assert picture.pixelColor(picture.width() // 2, 4).name() == LIGHT.panel
    window.close()
    again = make_window(theme=None)
    assert again.session.theme == "light"


def test_the_system_theme_is_followed(window, monkeypatch):
    # Xvfb has no system theme, so a stand-in for what Qt says of it.
    scheme = Qt.ColorScheme.Light
    monkeypatch.setattr(window.theming, "system_scheme", lambda: scheme)
    hints = QGuiApplication.styleHints()
    hints.colorSchemeChanged.emit(scheme)
    assert window.session.theme == "dark"  # not while the user has chosen
    window.set_theme("system")
    assert window.session.theme == "light"
    scheme = Qt.ColorScheme.Dark
    hints.colorSchemeChanged.emit(scheme)
    assert window.session.theme == "dark"


# -- layouts -------------------------------------------------------------------------


def test_the_layout_is_saved_restored_and_reset(make_window, window):
    docks = window.docks.docks
    default = docks["signals"].width()
    window.docks.resizeDocks(
        [docks["signals"]], [default + 150], Qt.Orientation.Horizontal
    )
    docks["inspector"].hide()
    QTest.qWait(50)
    changed = docks["signals"].width()
    assert changed > default + 50
    window.close()
    again = make_window()
    assert again.docks.docks["inspector"].isHidden()
    assert abs(again.docks.docks["signals"].width() - changed) <= 2
    again.actions_by_id["view.reset"].trigger()
    QTest.qWait(50)
    assert again.docks.docks["inspector"].isVisible()
    assert abs(again.docks.docks["signals"].width() - default) <= 2


def test_the_docks_lie_as_in_the_drawing(window):
    def box(key):
        dock = window.docks.docks[key]
        return dock.geometry()

    assert box("sources").right() < box("scene").left()
    assert box("scene").right() < box("signals").left()
    assert box("timeline").top() > box("scene").bottom()
    assert box("timeline").left() == box("sources").left()
    assert box("inspector").top() > box("signals").bottom()
    assert box("scene").width() > 2 * box("sources").width()
    transport = window.panels["transport"]
    assert transport.mapTo(window, QPointF(0, 0)).y() > box("timeline").bottom()


def test_what_the_timeline_shows_goes_before_the_end_of_its_legend(make_window, qtbot):
    timeline = {"timeline": PANELS["timeline"]}
    window = make_window(panels=stand_ins.ALL | timeline)
    panel = window.panels["timeline"]
    title, legend = window.docks.docks["timeline"].title, panel._legend
    entries = [(shape, "a long word of the legend") for shape in Shape]
    legend.show_entries(entries)
    panel.set_subtitle("all 126,653 native steps")
    wanted = title.subtitle.fontMetrics().horizontalAdvance(panel.subtitle)
    assert legend.sizeHint().width() > title.width()
    qtbot.waitUntil(lambda: title.subtitle.width() >= wanted)


def test_docks_that_lie_upon_each_other_are_named_in_one_title(window, qtbot):
    docks = window.docks.docks
    window.docks.tabifyDockWidget(docks["signals"], docks["inspector"])
    qtbot.waitUntil(lambda: bool(docks["inspector"].title.tabs), timeout=3000)
    window.docks.raise_panel("signals")
    qtbot.waitUntil(lambda: docks["signals"].title.isVisible(), timeout=3000)
    (other,) = docks["signals"].title.tabs
    assert other.text() == "Inspector"
    QTest.mouseClick(other, LEFT)
    qtbot.waitUntil(
        lambda: not docks["inspector"].visibleRegion().isEmpty(), timeout=3000
    )


# -- messages ------------------------------------------------------------------------


def test_an_error_in_a_slot_is_told_logged_and_survived(window, qtbot):
    net = CrashNet(window.session)
    # The test harness has a hook of its own, which would make this a failure.
    before = sys.excepthook
    net.install()
    try:

        def fail():
            raise ValueError("the cause")

        QTimer.singleShot(0, fail)
        bar = window.frame.message_bar
        qtbot.waitUntil(lambda: bar.current is not None, timeout=3000)
    finally:
        net.remove()
    assert sys.excepthook is before
    assert "ValueError: the cause" in bar.text
    assert "Traceback" in bar.current.details
    assert "ValueError: the cause" in log_file().read_text()
    QTest.mouseClick(bar._unfold, LEFT)
    assert bar._details.isVisible()
    QTest.mouseClick(bar._copy, LEFT)
    assert "Traceback" in QGuiApplication.clipboard().text()


def test_an_expected_error_in_a_slot_is_told_in_its_own_words(window, qtbot):
    net = CrashNet(window.session)
    net.install()
    try:

        def fail():
            raise UsageError("no such thing")

        QTimer.singleShot(0, fail)
        bar = window.frame.message_bar
        qtbot.waitUntil(lambda: bar.current is not None, timeout=3000)
    finally:
        net.remove()
    assert bar.text == "no such thing"


# -- palette -------------------------------------------------------------------------


def ask(window, text):
    QTest.keyClick(
        window.windowHandle(), Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier
    )
    line = window.frame.palette_card.line
    QTest.keyClicks(line, text)
    return line


def test_the_palette_finds_and_runs_a_command(window):
    line = ask(window, "loop")
    first = window.frame.palette_card.shown[0]
    assert first.title == "Loop"
    QTest.keyClick(line, Qt.Key.Key_Return)
    assert window.session.clock.state.loop
    assert not window.frame.palette_card.isVisible()


def test_the_palette_goes_to_a_position(window):
    line = ask(window, "native:77")
    QTest.keyClick(line, Qt.Key.Key_Return)
    assert window.session.clock.row == 77


def test_the_palette_says_why_a_position_is_none(window):
    line = ask(window, "native:777")
    first = window.frame.palette_card.shown[0]
    assert first.run is None
    assert "777" in first.title
    QTest.keyClick(line, Qt.Key.Key_Return)
    assert window.frame.palette_card.isVisible()


def test_slash_finds_a_field_and_plots_it(window):
    QTest.keyClick(window.windowHandle(), Qt.Key.Key_Slash)
    line = window.frame.palette_card.line
    QTest.keyClicks(line, "pole omega")
    assert window.frame.palette_card.shown[0].title == "CartPole/Pole · omega"
    QTest.keyClick(line, Qt.Key.Key_Return)
    assert FieldRef(1, "omega") in window.session.active.plots
    assert window.session.active.selection.field == "omega"


def test_the_palette_selects_an_actor_by_the_mouse(window):
    ask(window, "pole rigid")
    card = window.frame.palette_card
    index = card.list.model().index(0, 0)
    QTest.mouseClick(
        card.list.viewport(), LEFT, pos=card.list.visualRect(index).center()
    )
    actor = window.session.active.actor(window.session.active.selection.actor)
    assert actor.name == "CartPole/Pole"


def test_a_click_beside_the_palette_puts_it_away(window):
    ask(window, "x")
    card = window.frame.palette_card
    QTest.mouseClick(card, LEFT, pos=card.rect().bottomLeft())
    assert not card.isVisible()


# -- bookmarks -----------------------------------------------------------------------


def test_a_bookmark_is_saved_at_once_and_there_the_next_time(
    make_window, window, tmp_path, recordings
):
    window.session.clock.seek(42)
    key, ctrl = Qt.Key.Key_B, Qt.KeyboardModifier.ControlModifier
    QTest.keyClick(window.windowHandle(), key, ctrl)
    (sidecar,) = (tmp_path / "data" / "bookmarks").glob("*.json")
    assert json.loads(sidecar.read_text())["bookmarks"][0]["row"] == 42
    card = window.frame.bookmark_card
    QTest.keyClicks(card.name, "the fall")
    QTest.keyClick(card.name, Qt.Key.Key_Return)
    assert not card.isVisible()
    again = make_window(recordings / SHIPPED)
    (mark,) = again.session.active.bookmarks
    assert (mark.row, mark.name) == (42, "the fall")
    assert 42 in again.session.clock.marks("event")
    assert not list(recordings.glob("*.json.*"))


def test_a_bookmark_is_edited_and_removed_where_it_is(window, tmp_path):
    add = window.actions_by_id["bookmark.add"]
    add.trigger()
    window.frame.bookmark_card.close_card()
    add.trigger()
    assert len(window.session.active.bookmarks) == 1
    window.frame.bookmark_card.note.setPlainText("two\nlines")
    window.frame.bookmark_card._save()
    assert window.session.active.bookmarks[0].note == "two\nlines"
    add.trigger()
    window.frame.bookmark_card._remove()
    assert window.session.active.bookmarks == []
    assert not list((tmp_path / "data" / "bookmarks").glob("*.json"))


# -- links ---------------------------------------------------------------------------


def test_a_link_reopens_the_very_view(make_window, window):
    document = window.session.active
    window.session.clock.seek(33)
    document.set_hidden(2, True)
    document.add_plot(FieldRef(1, "vcom", 0))
    window.session.select(1)
    window.session.focus(1)
    window.actions_by_id["link.copy"].trigger()
    text = QGuiApplication.clipboard().text()
    assert text.startswith("isoscope:?file=/")
    again = make_window(theme="light")
    QGuiApplication.clipboard().setText(text)
    again.actions_by_id["link.open"].trigger()
    settle(again)
    opened = again.session.active
    assert again.session.clock.row == 33
    assert again.session.theme == "dark"
    assert opened.hidden == {2}
    assert opened.plots == document.plots
    assert FieldRef(1, "vcom", 0) in opened.plots
    assert opened.selection.actor == 1
    assert opened.focus == 1


def test_a_text_that_is_no_link_is_told(window):
    QGuiApplication.clipboard().setText("hello")
    window.actions_by_id["link.open"].trigger()
    assert "not a link" in window.frame.message_bar.text


def test_a_link_with_an_unknown_layout_changes_nothing(window):
    window.open_link("isoscope:?file=/nowhere.h5&layout=sideways")
    assert "sideways" in window.frame.message_bar.text
    assert len(window.session.documents) == 1


# -- the table -----------------------------------------------------------------------


def test_every_action_of_the_menus_is_in_a_menu_bar_and_can_be_triggered(window):
    bar = window.frame.header.menu_bar
    shown = {
        action.text()
        for menu in bar.actions()
        for action in menu.menu().actions()
        if not action.isSeparator()
    }
    # Curating's own actions come with its panel, which isn't one of these windows'.
    expected = {row.text for row in ACTIONS if row.menu and row.scope != "curate"}
    assert shown == expected


def test_submenus_are_filled_when_they_open(window):
    bar = window.frame.header.menu_bar
    view = next(a for a in bar.actions() if a.text() == "View").menu()
    panels = next(a for a in view.actions() if a.text() == "Panels").menu()
    panels.aboutToShow.emit()
    names = [action.text() for action in panels.actions()]
    shown = ["Sources", "Scene", "Timeline", "Signals", "Clocks", "Costs"]
    assert names == [*shown, "Replay", "Findings", "Curate", "Export", "Inspector"]
    next(a for a in panels.actions() if a.text() == "Signals").trigger()
    assert window.docks.docks["signals"].isHidden()


@pytest.mark.parametrize("key", LAYOUTS)
def test_every_layout_can_be_chosen(window, key):
    window.set_layout(key)
    assert window.arrangement.key == key
    for panel in LAYOUTS[key].panels:
        assert not window.docks.docks[panel].isHidden()
