"""The Inspector panel: what it says is what the file holds, and where."""

from __future__ import annotations

import contextlib
import io
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication

from isoscope.widgets.inspector.model import NAME, TYPE, UNIT, VALUE
from isoscope.widgets.inspector.nodes import Kind, Node
from isoscope.widgets.inspector.panel import InspectorPanel
from isoscope.widgets.session import FieldRef, Phase, Session
from tests.widgets.opened import (
    add_steps,
    made_document,
    made_recording,
    open_document,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from isoscope.widgets.session import Document

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def session() -> Session:
    return Session()


@pytest.fixture
def panel(session: Session, qtbot) -> Iterator[InspectorPanel]:
    made = InspectorPanel(session)
    qtbot.addWidget(made)
    made.resize(460, 520)
    with qtbot.waitExposed(made):
        made.show()
    yield made
    made.release()


@pytest.fixture
def opened(session: Session, panel: InspectorPanel, qtbot) -> Callable[..., Document]:
    def open_(document: Document) -> Document:
        session.add(document)
        qtbot.waitUntil(panel.settled)
        return document

    return open_


def node_of(panel: InspectorPanel, actor: int | None, name: str) -> Node:
    found = panel.model.find(actor, name)
    assert found is not None
    assert found.name == name
    return found


def text_of(panel: InspectorPanel, node: Node, column: int = VALUE) -> str:
    return panel.model.data(panel.model.index_of(node, column))


def clipboard() -> str:
    return QGuiApplication.clipboard().text()


def choose(panel: InspectorPanel, node: Node, qtbot) -> None:
    """Click on a row, unfolding what is above it."""
    above = node.parent
    while above is not None:
        panel.view.expand(panel.model.index_of(above))
        above = above.parent
    index = panel.model.index_of(node)
    panel.view.scrollTo(index)
    place = panel.view.visualRect(index).center()
    qtbot.mouseClick(panel.view.viewport(), LEFT, pos=place)
    assert panel.chosen is node


def test_the_step_comes_first_then_the_actors(panel, opened, recordings) -> None:
    opened(open_document(recordings / "shared_cartpole_2env.h5"))
    assert [top.name for top in panel.model.tops] == [
        "Step",
        "CartPole",
        "CartPole/Pole",
        "CartPole/Cart",
    ]
    names = [node.name for node in panel.model.tops[2].children]
    assert names[:3] == ["translation", "rotation", "translationCom"]
    assert names[-2:] == ["type", "at creation"]


def test_name_type_value_and_unit_at_the_cursor(
    panel, opened, session, recordings
) -> None:
    document = opened(open_document(recordings / "shared_cartpole_2env.h5"))
    session.clock.seek(60)
    omega = node_of(panel, 1, "omega")
    texts = [text_of(panel, omega, column) for column in (NAME, TYPE, UNIT)]
    assert texts == ["omega", "f4 (3,)", "rad/s"]
    value = document.recording.actors[1].fields["omega"].at(60)
    shown = [float(part) for part in text_of(panel, omega).split()]
    assert np.allclose(shown, value, rtol=1e-6)
    assert text_of(panel, panel.model.tops[0]) == "native 60 · event 63"


def test_absent_is_a_word_and_says_when_an_actor_is_not_there(
    panel, opened, session, recordings
) -> None:
    opened(open_document(recordings / "create_destroy.h5"))
    session.clock.seek(25)
    assert text_of(panel, node_of(panel, 0, "translation")) == "absent"
    assert text_of(panel, panel.model.tops[1]) == "gone from 20"
    assert "absent" in panel.model.tooltip(node_of(panel, 0, "translation"))
    session.clock.seek(3)
    assert text_of(panel, panel.model.tops[4]) == "not before 10"


def test_a_value_that_breaks_the_rule_is_marked(
    panel, opened, session, recordings
) -> None:
    document = open_document(recordings / "post_callback.h5")
    track = document.recording.actors[0].fields["translation"]
    track.odd[4] = np.array([1.0, 2.0])
    opened(document)
    session.clock.seek(4)
    node = node_of(panel, 0, "translation")
    assert text_of(panel, node, TYPE) == "≠ f8 (2,)"
    assert "odd" in panel.model.tooltip(node)
    session.clock.seek(3)
    assert text_of(panel, node, TYPE) == "f4 (3,)"


def test_a_vector_unfolds_into_its_components(
    panel, opened, session, recordings, qtbot
) -> None:
    document = opened(open_document(recordings / "shared_cartpole_2env.h5"))
    session.clock.seek(60)
    omega = node_of(panel, 1, "omega")
    panel.view.expand(panel.model.index_of(omega.parent))
    panel.view.expand(panel.model.index_of(omega))
    assert [child.name for child in omega.children] == ["x", "y", "z"]
    z = omega.children[2]
    assert float(text_of(panel, z)) == pytest.approx(
        document.recording.actors[1].fields["omega"].at(60)[2], rel=1e-6
    )
    choose(panel, z, qtbot)
    qtbot.mouseClick(panel.details.plot, LEFT)
    assert FieldRef(1, "omega", 2) in document.plots


def test_it_is_a_sound_model(panel, opened, recordings, qtmodeltester) -> None:
    opened(open_document(recordings / "rigid_contacts_all.h5"))
    qtmodeltester.check(panel.model)


def run_snippet() -> np.ndarray:
    names: dict[str, object] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(clipboard(), names)
    return np.asarray(names["value"])


@pytest.mark.parametrize(
    ("file", "actor", "name", "place"),
    [
        ("shared_cartpole_2env", 1, "omega", "/events/63/actors/8589934595 @omega"),
        ("shared_cartpole_2env", 0, "pose", "/events/63/actors/8589934597/pose"),
        ("shared_cartpole_2env", None, "gravity", "/events/63 @gravity"),
        ("rigid_contacts_all", 0, "contacts_force", " @contacts_force"),
    ],
)
def test_where_it_is_and_the_python_that_reads_it(
    panel, opened, session, recordings, qtbot, file, actor, name, place
) -> None:
    document = opened(open_document(recordings / f"{file}.h5"))
    session.clock.seek(60)
    node = node_of(panel, actor, name)
    choose(panel, node, qtbot)
    assert panel.details.box.toolTip().endswith(place)
    qtbot.mouseClick(panel.details.copy_python, LEFT)
    assert np.array_equal(run_snippet(), node.value_at(60))
    session.clock.seek(50)
    qtbot.mouseClick(panel.details.copy_python, LEFT)
    assert np.array_equal(run_snippet(), node.value_at(50))
    shown = panel.details.box.toolTip()
    assert f"/events/{document.recording.steps.event[50]}" in shown
    qtbot.mouseClick(panel.details.copy_value, LEFT)
    assert clipboard() == np.array2string(
        node.value_at(50), separator=", ", floatmode="unique", max_line_width=100
    )


def test_what_the_creation_holds_is_listed_with_its_place(
    panel, opened, session, recordings, qtbot
) -> None:
    opened(open_document(recordings / "create_destroy.h5"))
    creation = panel.model.tops[4].children[-1]
    assert creation.kind is Kind.CREATION
    positions = next(n for n in creation.children if n.name == "surfRefPositions")
    choose(panel, positions, qtbot)
    qtbot.mouseClick(panel.details.copy_python, LEFT)
    assert np.array_equal(run_snippet(), positions.value)
    translation = next(n for n in creation.children if n.name == "translation")
    choose(panel, translation, qtbot)
    assert not panel.details.plot.isEnabled()
    qtbot.mouseClick(panel.details.copy_python, LEFT)
    assert np.array_equal(run_snippet(), translation.value)


def test_absent_values_cannot_be_copied(
    panel, opened, session, recordings, qtbot
) -> None:
    opened(open_document(recordings / "create_destroy.h5"))
    session.clock.seek(25)
    choose(panel, node_of(panel, 0, "omega"), qtbot)
    assert not panel.details.copy_value.isEnabled()
    assert not panel.details.copy_python.isEnabled()
    assert "absent" in panel.details.box.accessibleDescription()
    session.clock.seek(5)
    assert panel.details.copy_value.isEnabled()
    assert panel.details.copy_python.isEnabled()


def test_a_recording_without_a_file_has_no_place(panel, opened, qtbot) -> None:
    opened(made_document(made_recording(10)))
    choose(panel, node_of(panel, 0, "omega"), qtbot)
    assert panel.details.copy_value.isEnabled()
    assert not panel.details.copy_python.isEnabled()


def test_choosing_goes_both_ways(panel, opened, session, recordings, qtbot) -> None:
    document = opened(open_document(recordings / "shared_cartpole_2env.h5"))
    session.select(2)
    assert panel.chosen is panel.model.find(2, None)
    assert panel.view.isExpanded(panel.view.currentIndex())
    choose(panel, node_of(panel, 1, "vcom"), qtbot)
    assert (document.selection.actor, document.selection.field) == (1, "vcom")
    session.select(0, "pose")
    assert panel.chosen is node_of(panel, 0, "pose")


def test_the_search_keeps_what_matches_and_comes_back(
    panel, opened, recordings, qtbot
) -> None:
    opened(open_document(recordings / "shared_cartpole_2env.h5"))
    panel.focus_filter()
    qtbot.keyClicks(panel.filter, "POLE/cart vc")
    assert [top.name for top in panel.model.tops] == ["CartPole/Cart"]
    assert [node.name for node in panel.model.tops[0].children] == ["vcom"]
    assert panel.view.isExpanded(panel.model.index_of(panel.model.tops[0]))
    panel.filter.clear()
    assert len(panel.model.tops) == 4
    assert panel.view.isExpanded(panel.model.index_of(panel.model.tops[1]))
    assert not panel.view.isExpanded(panel.model.index_of(panel.model.tops[3]))


def test_a_cursor_move_asks_only_for_what_is_seen(
    panel, opened, session, qtbot, monkeypatch
) -> None:
    fields = {f"field{i}": (3,) for i in range(13)}
    opened(made_document(made_recording(40, actors=300, fields=fields)))
    panel.view.expandToDepth(0)
    qtbot.wait(60)  # unfolding is painted
    asked = []
    whole = panel.model.text
    monkeypatch.setattr(
        panel.model, "text", lambda *args: asked.append(args) or whole(*args)
    )
    session.clock.seek(17)
    qtbot.waitUntil(panel.settled)
    assert 5 < len(asked) < 40


def test_hidden_it_does_nothing_and_catches_up(
    panel, opened, session, recordings, qtbot
) -> None:
    opened(open_document(recordings / "shared_cartpole_2env.h5"))
    panel.hide()
    session.clock.seek(33)
    assert panel.settled()
    assert panel.model.row == 0
    panel.show()
    qtbot.waitUntil(lambda: panel.settled() and panel.model.row == 33)


def test_fields_that_turn_up_later_are_listed(panel, opened, session, qtbot) -> None:
    recording = made_recording(10)
    document = made_document(recording, Phase.INDEXING)
    opened(document)
    panel.view.expand(panel.model.index_of(panel.model.tops[1]))
    recording.actors[0].fields.tracks["vcom"] = recording.actors[0].fields["omega"]
    add_steps(recording, 5)
    document.set_progress(15, 15)
    qtbot.waitUntil(panel.settled)
    assert node_of(panel, 0, "vcom")
    assert panel.view.isExpanded(panel.model.index_of(panel.model.tops[1]))


def test_nothing_open_and_both_themes(
    panel, opened, session, recordings, qtbot
) -> None:
    assert panel.empty.isVisible()
    opened(open_document(recordings / "no_state.h5"))
    assert not panel.empty.isVisible()
    corner = QPoint(3, panel.height() - 3)
    dark = panel.grab().toImage().pixelColor(corner).lightness()
    session.set_theme("light")
    qtbot.waitUntil(panel.settled)
    assert panel.grab().toImage().pixelColor(corner).lightness() > dark + 100
    session.remove(session.documents[0])
    assert panel.empty.isVisible()
    assert panel.settled()
