"""The Sources panel with real clicks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QStyle, QStyleOptionViewItem

from isoscope.core.recording.model import Problem
from isoscope.core.recording.problems import STILL_WRITTEN
from isoscope.widgets.session import Phase, Session
from isoscope.widgets.sources.panel import SourcesPanel
from isoscope.widgets.sources.rows import Kind, sections
from isoscope.widgets.sources.texts import (
    lifetime_text,
    size_text,
    state_text,
    tooltip,
)
from isoscope.widgets.sources.tree import ROW, below
from tests.widgets.opened import made_document, made_recording, open_document

if TYPE_CHECKING:
    from collections.abc import Iterator

    from PySide6.QtGui import QStandardItem

    from isoscope.widgets.session import Document

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def session() -> Session:
    return Session()


@pytest.fixture
def panel(session: Session, qtbot) -> Iterator[SourcesPanel]:
    made = SourcesPanel(session)
    qtbot.addWidget(made)
    made.resize(260, 480)
    with qtbot.waitExposed(made):
        made.show()
    yield made
    made.release()


def item(panel: SourcesPanel, document: Document, *path: str) -> QStandardItem:
    found = panel.model.item_of(document)
    assert found is not None
    for name in path:
        found = next(child for child in below(found) if child.text() == name)
    return found


def click(panel: SourcesPanel, what: QStandardItem, qtbot) -> None:
    place = panel.tree.visualRect(what.index()).center()
    qtbot.mouseClick(panel.tree.viewport(), LEFT, pos=place)


def click_check(panel: SourcesPanel, what: QStandardItem, qtbot) -> None:
    option = QStyleOptionViewItem()
    panel.tree.initViewItemOption(option)
    panel.tree.rows.initStyleOption(option, what.index())
    option.rect = panel.tree.visualRect(what.index())
    box = panel.tree.style().subElementRect(
        QStyle.SubElement.SE_ItemViewItemCheckIndicator, option, panel.tree
    )
    qtbot.mouseClick(panel.tree.viewport(), LEFT, pos=box.center())
    qtbot.waitUntil(panel.settled)


def test_nothing_open_offers_to_open(panel, qtbot) -> None:
    assert panel.open_button.isVisible()
    with qtbot.waitSignal(panel.open_requested):
        qtbot.mouseClick(panel.open_button, LEFT)


def test_a_document_lists_its_actors_links_below_their_articulation(
    panel, session, recordings
) -> None:
    document = open_document(recordings / "shared_cartpole_2env.h5")
    session.add(document)
    top = item(panel, document)
    assert [child.text() for child in below(top)] == ["Actors"]
    assert [child.text() for child in below(item(panel, document, "Actors"))] == [
        "CartPole"
    ]
    links = below(item(panel, document, "Actors", "CartPole"))
    assert [link.text() for link in links] == ["Pole", "Cart"]
    assert state_text(document) == "125 steps · 2.40003 s · SuperDex events" or (
        state_text(document).startswith("125 steps · ")
    )


def test_lifetimes_are_said_for_those_that_come_and_go(recordings) -> None:
    document = open_document(recordings / "create_destroy.h5")
    (actors,) = sections(document)
    assert {row.text: row.right for row in actors.children} == {
        "Crate": "steps 0–19",  # noqa: RUF001
        "BallA": "",
        "Ground": "static",
        "Late": "from step 10",
    }
    crate = document.recording.actors[0]
    crate.created_native = crate.destroyed_native = 20
    assert lifetime_text(crate) == "in no step"


def test_a_name_of_several_lines_is_drawn_on_one(
    panel, session, recordings, qtbot
) -> None:
    seen = []
    for name in ("Crate No 1", "Crate\nNo\n1"):
        document = open_document(recordings / "no_state.h5")
        document.recording.actors[0].name = name
        session.add(document)
        qtbot.waitUntil(panel.settled)
        place = panel.tree.visualRect(item(panel, document, "Actors", name).index())
        seen.append(panel.tree.viewport().grab(place).toImage())
        session.remove(document)
    assert seen[0] == seen[1]


def test_a_check_box_hides_an_actor(panel, session, recordings, qtbot) -> None:
    document = open_document(recordings / "create_destroy.h5")
    session.add(document)
    late = item(panel, document, "Actors", "Late")
    click_check(panel, late, qtbot)
    assert document.hidden == {3}
    click_check(panel, late, qtbot)
    assert document.hidden == set()
    document.set_hidden(1, True)
    qtbot.waitUntil(panel.settled)
    ball = item(panel, document, "Actors", "BallA")
    assert ball.checkState() is Qt.CheckState.Unchecked


def test_an_articulation_takes_its_links_along(
    panel, session, recordings, qtbot
) -> None:
    document = open_document(recordings / "shared_cartpole_2env.h5")
    session.add(document)
    whole = item(panel, document, "Actors", "CartPole")
    click_check(panel, whole, qtbot)
    assert document.hidden == {0, 1, 2}
    click_check(panel, item(panel, document, "Actors", "CartPole", "Pole"), qtbot)
    assert document.hidden == {0, 2}
    assert whole.checkState() is Qt.CheckState.PartiallyChecked


def test_clicks_activate_and_select_both_ways(
    panel, session, recordings, qtbot
) -> None:
    first, second = (
        open_document(recordings / f"{name}.h5")
        for name in ("create_destroy", "rigid_contacts_all")
    )
    session.add(first)
    session.add(second)
    assert panel.tree.rows.active is second
    assert panel.tree.currentIndex() == item(panel, second).index()
    click(panel, item(panel, first), qtbot)
    assert session.active is first
    click(panel, item(panel, second, "Actors", "BallA"), qtbot)
    assert session.active is second
    assert second.selection.actor == 1
    session.select(0)
    assert panel.tree.currentIndex().data() == "Crate"
    qtbot.keyClick(panel.tree, Qt.Key.Key_Down)
    qtbot.keyClick(panel.tree, Qt.Key.Key_Return)
    assert second.selection.actor == 1


def test_indexing_shows_progress_and_a_cancel_that_works(panel, session, qtbot) -> None:
    document = made_document(made_recording(40), Phase.INDEXING)
    session.add(document)
    document.set_progress(10, 40)
    assert state_text(document) == "indexing 25 %"
    button = panel.cancel_button(document)
    assert button is not None
    assert button.isVisible()
    with qtbot.waitSignal(panel.cancel_requested) as asked:
        qtbot.mouseClick(button, LEFT)
    assert asked.args == [document]
    document.set_phase(Phase.STOPPED)
    assert panel.cancel_button(document) is None
    assert state_text(document) == "stopped after 10 of 40 events · 40 steps"


def test_actors_that_turn_up_while_indexing_are_listed(panel, session, qtbot) -> None:
    recording = made_recording(10, actors=2)
    second = recording.actors.pop()
    document = made_document(recording, Phase.INDEXING)
    session.add(document)
    panel.tree.collapse(item(panel, document, "Actors").index())
    recording.actors.append(second)
    document.set_progress(10, 10)
    qtbot.waitUntil(panel.settled)
    assert len(below(item(panel, document, "Actors"))) == 2
    assert not panel.tree.isExpanded(item(panel, document, "Actors").index())


def test_that_a_run_is_still_written_is_no_problem_while_it_is_watched(
    panel, session, qtbot
) -> None:
    recording = made_recording(5)
    recording.problems.append(Problem(f"process 7 {STILL_WRITTEN}", "/end"))
    document = made_document(recording, Phase.LIVE)
    session.add(document)
    assert [child.text() for child in below(item(panel, document))] == ["Actors"]
    recording.problems.append(Problem("3 records were dropped", "/end"))
    document.set_progress(5, 5)
    qtbot.waitUntil(panel.settled)
    assert item(panel, document, "Problems").data(ROW).right == "1"
    document.set_phase(Phase.STOPPED)  # now it may be one
    qtbot.waitUntil(panel.settled)
    assert item(panel, document, "Problems").data(ROW).right == "2"


def test_problems_are_listed_with_their_places(panel, session, qtbot) -> None:
    recording = made_recording(5)
    recording.problems.append(Problem("dtype of 'omega' changes", "/events/17", 3))
    recording.problems.append(Problem("event is missing", "/events/9", 1, "error"))
    document = made_document(recording, Phase.FAILED)
    document.error = "cut off"
    session.add(document)
    problems = item(panel, document, "Problems")
    assert problems.data(ROW).right == "4"
    assert problems.data(ROW).icon == "error"
    first = below(problems)[0]
    assert first.data(ROW).right == "×3"  # noqa: RUF001
    assert [place.text() for place in below(first)] == ["/events/17"]
    assert state_text(document) == "can't be read to the end"
    assert "cut off" in tooltip(document)
    panel.tree.expand(first.index())
    click(panel, below(first)[0], qtbot)
    assert session.clock.row == 0  # its events end before
    recording.steps.event[:] = [5, 9, 16, 18, 20]
    click(panel, below(first)[0], qtbot)
    assert session.clock.row == 3  # the first one from there
    panel.tree.collapse(problems.index())
    assert panel.show_problems(document)
    assert panel.tree.isExpanded(problems.index())
    copy = next(
        action
        for action in panel.menu_for(first.data(ROW), document).actions()
        if action.text() == "Copy"
    )
    copy.trigger()
    assert QGuiApplication.clipboard().text().startswith("dtype of 'omega' changes")


def test_the_menu_asks_the_window_and_draws_only_one(
    panel, session, recordings, qtbot
) -> None:
    document = open_document(recordings / "rigid_contacts_all.h5")
    session.add(document)

    def menu(*path: str) -> dict[str, object]:
        row = item(panel, document, *path).data(ROW)
        return {a.text(): a for a in panel.menu_for(row, document).actions()}

    for text, signal in (
        ("Close", panel.close_requested),
        ("Open again", panel.reopen_requested),
    ):
        with qtbot.waitSignal(signal) as asked:
            menu()[text].trigger()
        assert asked.args == [document]
    menu()["Copy the path"].trigger()
    assert QGuiApplication.clipboard().text() == str(document.recording.path)
    menu("Actors", "BallA")["Draw only this"].trigger()
    assert document.hidden == {0, 2}
    menu("Actors", "BallA")["Draw all"].trigger()
    assert document.hidden == set()
    menu("Actors", "BallA")["Draw this"].trigger()
    assert document.hidden == {1}


def test_closing_the_last_one_offers_to_open_again(panel, session, recordings) -> None:
    document = open_document(recordings / "no_state.h5")
    session.add(document)
    assert panel.tree.isVisible()
    session.remove(document)
    assert panel.open_button.isVisible()
    document.set_phase(Phase.READY)  # nobody listens any more


def test_it_is_a_sound_model_in_both_themes(
    panel, session, recordings, qtmodeltester
) -> None:
    document = open_document(recordings / "shared_cartpole_2env.h5")
    session.add(document)
    qtmodeltester.check(panel.model)
    dark = panel.tree.grab().toImage().pixelColor(5, 400).lightness()
    session.set_theme("light")
    light = panel.tree.grab().toImage().pixelColor(5, 400).lightness()
    assert light > dark + 100


def test_sections_are_made_by_functions_that_can_be_added_to(recordings) -> None:
    document = open_document(recordings / "no_state.h5")
    assert [row.kind for row in sections(document)] == [Kind.SECTION]
    assert [row.text for row in sections(document)] == ["Actors"]


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (999, "999 B"), (7488, "7.5 kB"), (101313078, "101.3 MB")],
)
def test_sizes_for_people(size: int, text: str) -> None:
    assert size_text(size) == text
