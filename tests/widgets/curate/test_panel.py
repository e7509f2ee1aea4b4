"""The Curate panel with real clicks and keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from PySide6.QtCore import Qt

from isoscope.core.dataset.curate.edits import Trim
from isoscope.core.dataset.curate.workspace import Workspace
from isoscope.widgets.curate.episodes_model import END, RETURN, VERDICT
from isoscope.widgets.curate.panel import CuratePanel
from isoscope.widgets.session import Message, Session
from tests.core.dataset.made import made
from tests.widgets.curate.chosen import document_of
from tests.widgets.opened import made_document, made_recording

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from isoscope.core.dataset.curate.edits import Item
    from isoscope.widgets.session import Document

LEFT, Key = Qt.MouseButton.LeftButton, Qt.Key
LENGTHS = (5, 4, 12, 8, 9)


@pytest.fixture
def session() -> Session:
    return Session()


@pytest.fixture
def panel(session: Session, qtbot) -> Iterator[CuratePanel]:
    made_panel = CuratePanel(session)
    qtbot.addWidget(made_panel)
    made_panel.resize(900, 500)
    with qtbot.waitExposed(made_panel):
        made_panel.show()
    yield made_panel
    made_panel.release()


@pytest.fixture
def document(session: Session, panel: CuratePanel, tmp_path: Path, qtbot) -> Document:
    document = document_of(made(LENGTHS, plain=True), tmp_path / "edits.jsonl")
    session.add(document)
    qtbot.waitUntil(panel.settled)
    return document


def items(document: Document) -> tuple[Item, ...]:
    assert document.curation is not None
    return document.curation.choice.items


def click(qtbot, panel: CuratePanel, row: int, keys=Qt.KeyboardModifier.NoModifier):
    index = panel.model.index(row, 1)
    spot = panel.table.visualRect(index).center()
    qtbot.mouseClick(panel.table.viewport(), LEFT, keys, spot)


def ask(qtbot, panel: CuratePanel, query: str) -> None:
    panel.filter.line.clear()
    qtbot.keyClicks(panel.filter.line, query)
    qtbot.waitUntil(panel.settled)


def said(session: Session) -> list[Message]:
    found: list[Message] = []
    session.messaged.connect(found.append)
    return found


def test_each_episode_is_told_by_shape_and_word(
    panel: CuratePanel, document: Document
) -> None:
    assert [panel.model.text(row, END) for row in range(3)] == [
        "■ terminated",
        "◆ truncated",
        "◌ incomplete",
    ]
    assert panel.model.text(0, VERDICT) == "· undecided"
    assert panel.totals.said.text() == "To export: 5 of 5 episodes, 38 transitions"


def test_returns_are_the_rewards_sums(panel: CuratePanel, document: Document) -> None:
    assert document.curation is not None
    for row, item in enumerate(panel.model.items):
        rewards = document.curation.episodes.read(item.source, "reward")
        assert float(panel.model.text(row, RETURN)) == pytest.approx(
            float(rewards.sum()), rel=1e-4
        )
        series = panel.model.series[item.source, item.start, item.stop]
        assert np.array_equal(series.low, rewards)  # fewer than there are points


def test_choosing_an_episode_moves_the_clock_to_it(
    panel: CuratePanel, session: Session, document: Document, qtbot
) -> None:
    click(qtbot, panel, 2)
    # Each episode before it has a row for its reset, and so has it.
    assert session.clock.row == (5 + 1) + (4 + 1) + 1
    qtbot.keyClick(panel.table, Key.Key_Down)
    assert session.clock.row == (5 + 1) + (4 + 1) + (12 + 1) + 1


def test_several_are_judged_at_once_and_that_is_on_the_disk(
    panel: CuratePanel, document: Document, qtbot
) -> None:
    click(qtbot, panel, 1)
    click(qtbot, panel, 3, Qt.KeyboardModifier.ShiftModifier)
    qtbot.mouseClick(panel.bar.buttons["reject"], LEFT)
    verdicts = [item.verdict for item in items(document)]
    assert verdicts == [None, "rejected", "rejected", "rejected", None]
    assert panel.totals.said.text() == "To export: 2 of 5 episodes, 14 transitions"
    assert document.curation is not None
    again = Workspace(document.curation.episodes, document.curation.workspace.path)
    assert again.choice.items == items(document)
    assert len(panel.table.chosen()) == 3


def test_undo_and_redo_by_the_buttons(
    panel: CuratePanel, document: Document, qtbot
) -> None:
    assert not panel.undo_tool.isEnabled()
    click(qtbot, panel, 0)
    qtbot.mouseClick(panel.bar.buttons["accept"], LEFT)
    qtbot.mouseClick(panel.undo_tool, LEFT)
    assert items(document)[0].verdict is None
    qtbot.mouseClick(panel.redo_tool, LEFT)
    assert items(document)[0].verdict == "accepted"


def test_a_query_lists_what_matches_and_rejects_it(
    panel: CuratePanel, document: Document, qtbot
) -> None:
    assert not panel.filter.reject.isVisible()
    ask(qtbot, panel, "length > 8")
    assert [item.length for item in panel.model.items] == [12, 9]
    assert panel.filter.matches.text() == "2 match"
    qtbot.mouseClick(panel.filter.reject, LEFT)
    assert [i.length for i in items(document) if i.verdict == "rejected"] == [12, 9]
    assert items(document)[2].why == "where length > 8"
    qtbot.keyClick(panel.filter.line, Key.Key_Escape)
    qtbot.waitUntil(panel.settled)
    assert len(panel.model.items) == 5


def test_what_is_wrong_with_a_query_stands_under_it(
    panel: CuratePanel, document: Document, qtbot
) -> None:
    ask(qtbot, panel, "lenght > 8")
    assert panel.filter.error.isVisible()
    assert "there is no 'lenght'; there are" in panel.filter.error.text()
    assert not panel.filter.reject.isEnabled()
    assert len(panel.model.items) == 5
    ask(qtbot, panel, "length >= 4 and")
    assert "can't be understood" in panel.filter.error.text()


def test_what_is_edited_is_asked_about_again(
    panel: CuratePanel, document: Document, qtbot
) -> None:
    ask(qtbot, panel, "not rejected")
    click(qtbot, panel, 0)
    panel.commands["reject"]()
    qtbot.waitUntil(lambda: len(panel.model.items) == 4)
    assert len(panel.table.chosen()) == 1  # the one that took its place


def test_a_tag_is_typed_and_taken_away_again(
    panel: CuratePanel, document: Document, qtbot
) -> None:
    click(qtbot, panel, 0)
    for tags in (("good",), ()):
        qtbot.mouseClick(panel.bar.buttons["tag"], LEFT)
        assert panel.tags.isVisible()
        qtbot.keyClicks(panel.tags.line, "good")
        qtbot.keyClick(panel.tags.line, Key.Key_Return)
        assert items(document)[0].tags == tags
        assert not panel.tags.isVisible()
    qtbot.mouseClick(panel.bar.buttons["tag"], LEFT)
    qtbot.keyClicks(panel.tags.line, "bad")
    qtbot.keyClick(panel.tags.line, Key.Key_Escape)
    assert items(document)[0].tags == ()


def test_trim_to_the_selected_range(
    panel: CuratePanel, session: Session, document: Document, qtbot
) -> None:
    click(qtbot, panel, 2)
    begin = session.clock.row
    found = said(session)
    qtbot.mouseClick(panel.bar.buttons["trim"], LEFT)
    assert found[-1].text.startswith("Select a range first")
    session.clock.set_loop_range(begin + 2, begin + 6)
    qtbot.mouseClick(panel.bar.buttons["trim"], LEFT)
    assert document.curation is not None
    assert document.curation.workspace.edits == (Trim(items(document)[2].id, 2, 7),)
    assert (items(document)[2].start, items(document)[2].stop) == (2, 7)
    session.clock.set_loop_range(0, 1)
    qtbot.mouseClick(panel.bar.buttons["trim"], LEFT)
    assert "nothing was trimmed" in found[-1].text
    assert len(document.curation.workspace.edits) == 1


def test_split_at_the_playhead(
    panel: CuratePanel, session: Session, document: Document, qtbot
) -> None:
    click(qtbot, panel, 2)
    found = said(session)
    qtbot.mouseClick(panel.bar.buttons["split"], LEFT)
    assert "at its first control step" in found[-1].text
    session.clock.seek(session.clock.row + 5)
    qtbot.mouseClick(panel.bar.buttons["split"], LEFT)
    lengths = [item.length for item in items(document)]
    assert lengths == [5, 4, 5, 7, 8, 9]
    assert panel.model.text(2, END) == "◌ incomplete"
    qtbot.waitUntil(panel.settled)
    assert "…" not in [panel.model.text(row, RETURN) for row in range(6)]


def test_ten_thousand_are_listed_and_only_the_visible_ones_asked_first(
    panel: CuratePanel, session: Session, qtbot
) -> None:
    document = document_of(made([3] * 10_000, plain=True))
    session.add(document)
    assert panel.model.rowCount() == 10_000
    assert 0 < len(panel.table.visible_rows()) < 60
    panel.table.selectAll()
    assert len(panel.table.chosen()) == 10_000
    panel.commands["accept"]()
    assert panel.totals.more.text().startswith("✓ 10,000 accepted")
    qtbot.waitUntil(panel.settled, timeout=60_000)
    assert len(panel.model.series) == 10_000


def test_without_transitions_it_says_what_to_do(
    panel: CuratePanel, session: Session, qtbot
) -> None:
    assert panel.empty.label.text().startswith("Open a recording")
    asked: list[object] = []
    panel.wanted.connect(asked.append)
    document = made_document(made_recording(5))
    session.add(document)
    assert asked == [document]
    document.set_curation(None, "made holds no actions; give --transitions FILE")
    assert "--transitions FILE" in panel.empty.label.text()
    assert panel.empty.isVisible()


def test_another_document_has_its_own_edits(
    panel: CuratePanel, session: Session, document: Document, qtbot
) -> None:
    click(qtbot, panel, 0)
    panel.commands["reject"]()
    other = document_of(made((3, 3), plain=True))
    session.add(other)
    assert panel.model.rowCount() == 2
    assert panel.totals.said.text() == "To export: 2 of 2 episodes, 6 transitions"
    session.activate(document)
    assert panel.totals.said.text() == "To export: 4 of 5 episodes, 33 transitions"


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_curves_are_painted_in_the_themes_colour(
    panel: CuratePanel, session: Session, document: Document, theme: str
) -> None:
    session.set_theme(theme)
    panel.table.clearSelection()
    box = panel.table.visualRect(panel.model.index(2, 5))
    image = panel.table.viewport().grab(box).toImage()
    seen = {
        image.pixelColor(x, y).name()
        for x in range(image.width())
        for y in range(image.height())
    }
    assert len(seen) > 5
    assert panel.tokens.panel in seen
