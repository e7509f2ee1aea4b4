"""The sentence bar, the label that is cut, the palette's list, the start page."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLineEdit, QWidget

from isoscope.widgets.elided import ElidedLabel
from isoscope.widgets.keys_page import KeysPage
from isoscope.widgets.palette import Entry, Palette
from isoscope.widgets.sentence_bar import Sentence, SentenceBar
from isoscope.widgets.start_page import StartPage
from isoscope.widgets.theme import DARK

Key = Qt.Key


def under(qtbot, make, *args):
    """A card over a plain window that has the focus in a text box."""
    window = QWidget()
    qtbot.addWidget(window)
    window.resize(800, 600)
    line = QLineEdit(window)
    card = make(window, *args)
    window.show()
    qtbot.waitExposed(window)
    window.activateWindow()
    qtbot.waitUntil(window.isActiveWindow, timeout=5000)
    line.setFocus()
    return window, line, card


def test_a_sentence_shows_its_buttons_tone_and_progress(qtbot):
    bar = SentenceBar()
    qtbot.addWidget(bar)
    bar.apply_theme(DARK)
    bar.resize(600, 34)
    bar.show_sentence(Sentence(("half",), progress=0.5))
    bar.show()
    qtbot.waitExposed(bar)
    picture = bar.grab().toImage()
    bottom = picture.height() - 1
    assert picture.pixelColor(100, bottom).name() == DARK.accent
    assert picture.pixelColor(500, bottom).name() != DARK.accent
    bar.show_sentence(Sentence(("bad ", ("news", True)), "error", (("go", "Go"),)))
    assert bar._mark.text() == "▲"
    with qtbot.waitSignal(bar.pressed) as told:
        QTest.mouseClick(bar.buttons["go"], Qt.MouseButton.LeftButton)
    assert told.args == ["go"]
    assert bar.label.text == "bad news"


def test_a_long_line_is_cut_where_it_matters_least(qtbot):
    label = ElidedLabel()
    qtbot.addWidget(label)
    label.set_text("a long and plain beginning of no great matter ", ("2 errors", True))
    label.resize(150, 20)
    label.show()
    (plain, _), (bold, _) = label.shown()
    assert plain.endswith("…")
    assert bold == "2 errors"
    assert label.toolTip() == label.text
    label.resize(1000, 20)
    assert label.shown() == label._parts
    assert label.toolTip() == ""


def test_the_palette_gives_the_focus_back(qtbot):
    _, line, palette = under(qtbot, Palette, DARK)
    palette.ask([Entry("one", "command", lambda: None)], "Find")
    assert palette.line.hasFocus()
    QTest.keyClick(palette.line, Key.Key_Escape)
    assert not palette.isVisible()
    assert line.hasFocus()


def test_the_palette_is_walked_by_the_arrows_and_runs_by_enter(qtbot):
    ran = []
    _, _, palette = under(qtbot, Palette, DARK)
    entries = [Entry(f"item {i}", "x", lambda i=i: ran.append(i)) for i in range(5)]
    palette.ask(entries, "Find")
    for key in (Key.Key_Down, Key.Key_Down, Key.Key_Up, Key.Key_Return):
        QTest.keyClick(palette.line, key)
    assert ran == [1]
    palette.ask(entries, "Find")
    for key in (Key.Key_Up, Key.Key_Return):  # round to the last
        QTest.keyClick(palette.line, key)
    assert ran == [1, 4]


def test_the_palette_says_when_there_is_nothing(qtbot):
    _, _, palette = under(qtbot, Palette, DARK)
    palette.ask([Entry("one", "x", lambda: None)], "Find")
    QTest.keyClicks(palette.line, "zzz")
    assert [entry.title for entry in palette.shown] == ["Nothing found"]
    QTest.keyClick(palette.line, Key.Key_Return)
    assert palette.isVisible()


def test_what_is_typed_can_make_an_entry(qtbot):
    ran = []
    _, _, palette = under(qtbot, Palette, DARK)

    def typed(text: str) -> list[Entry]:
        return [Entry(f"go to {text}", "x", lambda: ran.append(text))]

    palette.ask([], "Find", typed, "a note")
    QTest.keyClicks(palette.line, "42")
    QTest.keyClick(palette.line, Key.Key_Return)
    assert ran == ["42"]


def test_a_card_fits_a_small_window(qtbot):
    window, _, page = under(qtbot, KeysPage, "foot")
    page.open_card()
    window.resize(500, 300)
    QTest.qWait(20)
    assert page.geometry() == window.rect()
    assert window.rect().contains(page.card.geometry())


def test_the_start_page_asks_for_a_recent_file_by_click_and_by_enter(qtbot):
    page = StartPage("1.0")
    qtbot.addWidget(page)
    page.show_recent(["/a/one.h5", "/b/two.h5"])
    page.show()
    with qtbot.waitSignal(page.recent_asked) as told:
        QTest.mouseClick(page.rows[1], Qt.MouseButton.LeftButton)
    assert told.args == ["/b/two.h5"]
    with qtbot.waitSignal(page.recent_asked) as told:
        QTest.keyClick(page.rows[0], Key.Key_Return)
    assert told.args == ["/a/one.h5"]
    page.show_recent([])
    assert not page._heading.isVisible()
