"""The Findings panel with real clicks and keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication

from isoscope.core.isolation.registry import CHECKS
from isoscope.widgets.findings.panel import FindingsPanel
from isoscope.widgets.session import Phase, Session
from tests.widgets.opened import (
    analysed_document,
    made_document,
    made_recording,
    open_document,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from isoscope.widgets.session import Document

FOLDED = f"▸ {len(CHECKS) - 12} checks"
LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def session() -> Session:
    return Session()


@pytest.fixture
def panel(session: Session, qtbot) -> Iterator[FindingsPanel]:
    made = FindingsPanel(session)
    qtbot.addWidget(made)
    made.resize(460, 320)
    with qtbot.waitExposed(made):
        made.show()
    yield made
    made.release()


@pytest.fixture
def opened(session: Session, recordings: Path) -> Callable[[str], Document]:
    def open_(name: str) -> Document:
        document = analysed_document(recordings / f"{name}.h5")
        session.add(document)
        return document

    return open_


def click(qtbot, panel: FindingsPanel, row: int) -> None:
    table = panel.table
    box = table.visualRect(panel.model.index(row, 1))
    qtbot.mouseClick(table.viewport(), LEFT, pos=box.center())


def test_a_click_goes_there_and_explains(
    panel: FindingsPanel, session: Session, opened, qtbot
) -> None:
    document = opened("shared_cartpole_missed_restore")
    assert document.finding is None
    assert "Choose a finding" in panel.details.text()
    click(qtbot, panel, 0)
    assert document.finding == 0
    assert document.focus == 0
    assert session.clock.row == 34
    assert "its own snapshot was not restored" in panel.details.text()
    assert "Remedy." in panel.details.text()


def test_a_second_click_goes_there_again(
    panel: FindingsPanel, session: Session, opened, qtbot
) -> None:
    opened("shared_cartpole_missed_restore")
    click(qtbot, panel, 0)
    session.clock.seek(100)
    click(qtbot, panel, 0)
    assert session.clock.row == 34


def test_up_and_down_go_from_finding_to_finding(
    panel: FindingsPanel, session: Session, opened, qtbot
) -> None:
    document = opened("restore_twice")
    click(qtbot, panel, 0)
    panel.table.setFocus()
    qtbot.keyClick(panel.table, Qt.Key.Key_Down)
    assert (document.finding, session.clock.row) == (1, 30)
    qtbot.keyClick(panel.table, Qt.Key.Key_Up)
    assert (document.finding, session.clock.row) == (0, 15)
    session.clock.seek(3)
    qtbot.keyClick(panel.table, Qt.Key.Key_Return)
    assert session.clock.row == 15


def test_other_keys_are_left_to_the_window(panel: FindingsPanel, opened, qtbot) -> None:
    opened("restore_twice")
    click(qtbot, panel, 0)
    heard = []
    panel.keyPressEvent = lambda event: heard.append(event.key())
    panel.table.setFocus()
    qtbot.keyClick(panel.table, Qt.Key.Key_Right)
    assert heard == [Qt.Key.Key_Right]


def test_down_reaches_what_could_not_run_and_moves_nothing(
    panel: FindingsPanel, session: Session, opened, qtbot
) -> None:
    document = opened("shared_cartpole_missed_restore")
    click(qtbot, panel, 0)
    panel.table.setFocus()
    qtbot.keyClick(panel.table, Qt.Key.Key_Down)
    assert session.clock.row == 34
    assert document.finding == 0
    assert panel.rows[1].id == FOLDED
    assert "could not run here" in panel.details.text()
    qtbot.keyClick(panel.table, Qt.Key.Key_Return)
    qtbot.keyClick(panel.table, Qt.Key.Key_Down)
    assert session.clock.row == 34
    assert document.finding == 0
    assert panel.rows[2].id == "hidden-leak"
    assert "It needs an independent twin" in panel.details.text()


def test_a_click_unfolds_what_could_not_run_and_folds_it_again(
    panel: FindingsPanel, session: Session, opened, qtbot
) -> None:
    document = opened("shared_cartpole_missed_restore")
    assert [row.group for row in panel.rows] == ["error", "not run"]
    click(qtbot, panel, 1)
    assert len(panel.rows) == 2 + len(CHECKS) - 12
    assert panel.rows[1].id == f"▾ {len(CHECKS) - 12} checks"
    assert panel.table.currentIndex().row() == 1
    assert "Click it to fold them." in panel.details.text()
    # What the user was looking at is looked at still.
    assert document.finding is None
    opened("shared_cartpole_2env")
    assert len(panel.rows) == 1 + len(CHECKS) - 12
    session.activate(document)
    click(qtbot, panel, 1)
    assert [row.group for row in panel.rows] == ["error", "not run"]
    actions = {a.text(): a for a in panel.menu_for(panel.rows[1]).actions()}
    actions["Copy"].trigger()
    copied = QGuiApplication.clipboard().text().splitlines()
    assert len(copied) == len(CHECKS) - 12
    assert copied[0].startswith("hidden-leak could not run: ")
    actions["List them"].trigger()
    assert len(panel.rows) == 2 + len(CHECKS) - 12


def test_the_session_s_finding_is_chosen_in_the_table(
    panel: FindingsPanel, session: Session, opened
) -> None:
    opened("restore_twice")
    session.show_finding(1)
    assert panel.table.currentIndex().row() == 1
    assert "native step 30" in panel.details.text()


def test_a_filter_takes_a_severity_away(panel: FindingsPanel, opened, qtbot) -> None:
    opened("restore_twice")
    not_run = ["not run"]
    assert [row.group for row in panel.rows] == ["note", "note", *not_run]
    for button in panel.title_tools():
        button.setParent(panel)
    qtbot.mouseClick(panel.filters["note"], LEFT)
    assert [row.group for row in panel.rows] == not_run
    qtbot.mouseClick(panel.filters["note"], LEFT)
    assert len(panel.rows) == 2 + len(not_run)
    assert panel.filters["note"].text() == "○ 2"
    assert panel.filters["error"].isHidden()


def test_no_finding_tells_which_checks_looked(panel: FindingsPanel, opened) -> None:
    opened("shared_cartpole_2env")
    assert "No findings." in panel.details.text()
    assert "missed-restore" in panel.details.text()
    assert panel.subtitle == f"12 checks ran, {len(CHECKS) - 12} could not"
    assert panel.rows[0].id.endswith(" checks")
    assert {row.group for row in panel.rows} == {"not run"}


def test_it_says_why_it_is_empty(
    panel: FindingsPanel, session: Session, recordings: Path
) -> None:
    assert panel.empty.text().startswith("Open a recording")
    document = open_document(recordings / "soft_body.h5")
    document.phase = Phase.INDEXING
    session.add(document)
    assert "as soon as the recording is indexed" in panel.empty.text()
    document.set_phase(Phase.READY)
    document.set_analysing(0.25)
    assert panel.empty.text() == "Finding out whose each step was: 25%"
    document.set_analysing(None, "stopped")
    assert panel.empty.text().startswith("No check has run")
    session.add(made_document(made_recording(0)))
    assert panel.empty.text() == "There is no native step to check."


def test_a_row_is_copied_whole(panel: FindingsPanel, opened) -> None:
    opened("shared_cartpole_missed_restore")
    menu = panel.menu_for(panel.rows[0])
    copy = next(action for action in menu.actions() if action.text() == "Copy")
    copy.trigger()
    text = QGuiApplication.clipboard().text()
    assert text.startswith("error missed-restore: env 0 went on from env 1's state")
    assert "distance to own state [m]: 0.100585" in text
    panel.unfold(True)
    names = [action.text() for action in panel.menu_for(panel.rows[2]).actions()]
    assert names == ["Copy"]


def test_another_document_brings_its_own(
    panel: FindingsPanel, session: Session, opened
) -> None:
    one = opened("shared_cartpole_missed_restore")
    opened("restore_twice")
    assert [row.id for row in panel.rows[:3]] == ["rewind", "rewind", FOLDED]
    session.activate(one)
    assert [row.id for row in panel.rows[:2]] == ["missed-restore", FOLDED]


def test_it_is_legible_in_both_themes(
    panel: FindingsPanel, session: Session, opened, qtbot
) -> None:
    opened("shared_cartpole_missed_restore")
    pictures = []
    for theme in ("dark", "light"):
        session.set_theme(theme)
        qtbot.wait(20)
        image = panel.grab().toImage()
        ground = image.pixelColor(QPoint(image.width() - 3, image.height() - 3))
        assert ground.name() == panel.tokens.panel
        pictures.append(image)
    assert pictures[0] != pictures[1]


def test_severity_is_told_to_screen_readers(panel: FindingsPanel, opened) -> None:
    opened("shared_cartpole_missed_restore")
    index = panel.model.index(0, 0)
    assert index.data(Qt.ItemDataRole.AccessibleTextRole) == "▲ error"
    head = panel.model.headerData(
        3, Qt.Orientation.Horizontal, Qt.ItemDataRole.DisplayRole
    )
    assert head == "Episode/control step"
    assert "went on from" in index.data(Qt.ItemDataRole.ToolTipRole)
