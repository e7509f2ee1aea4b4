"""The Signals panel with real clicks, drags, wheel and keys."""

from __future__ import annotations

import csv
import time
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtWidgets import QApplication

from isoscope.core.clock import TimeKind
from isoscope.core.decimate import Decimator
from isoscope.widgets.session import FieldRef, Phase, Session
from isoscope.widgets.signals.panel import SignalsPanel
from isoscope.widgets.signals.span import Span
from tests.widgets.opened import (
    add_steps,
    made_document,
    made_recording,
    open_document,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from isoscope.widgets.session import Document

LEFT = Qt.MouseButton.LeftButton
NO_KEYS = Qt.KeyboardModifier.NoModifier


@pytest.fixture
def session() -> Session:
    return Session()


@pytest.fixture
def panel(session: Session, qtbot) -> Iterator[SignalsPanel]:
    made = SignalsPanel(session)
    qtbot.addWidget(made)
    made.resize(460, 360)
    with qtbot.waitExposed(made):
        made.show()
    yield made
    made.release()


@pytest.fixture
def opened(session: Session, panel: SignalsPanel, qtbot) -> Callable[..., Document]:
    def open_(document: Document, plots: list[FieldRef] | None = None) -> Document:
        session.add(document)
        if plots is not None:
            document.set_plots(plots)
        qtbot.waitUntil(panel.settled)
        return document

    return open_


def at(panel: SignalsPanel, row: float, plot: int = 0) -> QPoint:
    """Where a row is, in the middle of a plot."""
    body = panel.canvas.stack.body(plot)
    return QPointF(panel.canvas.x_of(row), body.center().y()).toPoint()


def drag(qtbot, panel: SignalsPanel, start: QPoint, end: QPoint) -> None:
    qtbot.mousePress(panel.canvas, LEFT, pos=start)
    for share in (0.3, 0.7, 1.0):
        qtbot.mouseMove(panel.canvas, start + (end - start) * share)
    qtbot.mouseRelease(panel.canvas, LEFT, pos=end)


def wheel(panel: SignalsPanel, where: QPoint, turn: int, keys=NO_KEYS) -> None:
    event = QWheelEvent(
        where.toPointF(),
        panel.canvas.mapToGlobal(where.toPointF()),
        QPoint(),
        QPoint(0, turn),
        Qt.MouseButton.NoButton,
        keys,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(panel.canvas, event)


def test_without_a_recording_it_says_what_to_do(panel) -> None:
    assert panel.empty.isVisible()
    assert not panel.empty.add.isVisible()
    assert not panel.add_tool.isEnabled()
    assert panel.settled()


def test_a_recording_comes_with_its_default_plots(panel, opened, recordings) -> None:
    document = opened(open_document(recordings / "rigid_contacts_all.h5"))
    assert [ref.field for ref in document.plots] == [
        "translationCom",
        "contacts_distance",
    ]
    assert len(panel.canvas.stack.plots) == 2
    assert panel.canvas.isVisible()
    assert "2 fields" in panel.canvas.accessibleName()


def test_contacts_that_turn_up_later_are_plotted_when_all_is_known(
    panel, opened, recordings
) -> None:
    document = open_document(recordings / "rigid_contacts_all.h5")
    indexed, document.source.recording = document.source.recording, document.preview
    document.phase = Phase.INDEXING
    opened(document)
    assert [ref.field for ref in document.plots] == ["translationCom"]
    document.source.recording = indexed
    document.set_phase(Phase.READY)
    assert [ref.field for ref in document.plots][1:] == ["contacts_distance"]


def test_what_the_user_chose_is_left_alone(panel, opened, recordings) -> None:
    chosen = [FieldRef(1, "omega")]
    document = open_document(recordings / "rigid_contacts_all.h5")
    document.phase = Phase.INDEXING
    document.plots = list(chosen)  # as a saved layout does
    opened(document)
    document.set_phase(Phase.READY)
    assert document.plots == chosen
    document.remove_plot(chosen[0])
    document.set_phase(Phase.READY)
    assert document.plots == []
    assert panel.empty.isVisible()


def test_a_click_seeks_and_the_cursor_can_be_dragged(
    panel, opened, session, recordings, qtbot
) -> None:
    opened(open_document(recordings / "shared_cartpole_2env.h5"))
    qtbot.mouseClick(panel.canvas, LEFT, pos=at(panel, 80))
    assert session.clock.row == pytest.approx(80, abs=1)
    row = session.clock.row
    drag(qtbot, panel, at(panel, row), at(panel, 20))
    assert session.clock.row == pytest.approx(20, abs=1)
    assert panel.span.is_whole
    qtbot.waitUntil(panel.settled)


def test_dragging_zooms_and_a_double_click_shows_everything(
    panel, opened, recordings, qtbot
) -> None:
    opened(open_document(recordings / "shared_cartpole_2env.h5"))
    drag(qtbot, panel, at(panel, 90), at(panel, 50))
    assert panel.span.low == pytest.approx(50, abs=1)
    assert panel.span.high == pytest.approx(90, abs=1)
    qtbot.waitUntil(panel.settled)
    assert panel.subtitle.startswith("native 5")
    qtbot.mouseDClick(panel.canvas, LEFT, pos=at(panel, 70))
    assert panel.span.is_whole
    qtbot.waitUntil(panel.settled)
    assert panel.subtitle == ""


def test_the_wheel_zooms_at_the_pointer_and_moves_with_shift(
    panel, opened, recordings, qtbot
) -> None:
    opened(open_document(recordings / "shared_cartpole_2env.h5"))
    where = at(panel, 40)
    row = panel.canvas.row_at(where.x())
    wheel(panel, where, 240)
    assert panel.span.width < 90
    assert panel.canvas.row_at(where.x()) == pytest.approx(row, abs=1e-6)
    low = panel.span.low
    wheel(panel, where, -120, Qt.KeyboardModifier.ShiftModifier)
    assert panel.span.low > low
    qtbot.waitUntil(panel.settled)


def test_a_cursor_move_draws_and_decimates_nothing_anew(
    panel, opened, session, recordings, qtbot, monkeypatch
) -> None:
    opened(open_document(recordings / "shared_cartpole_2env.h5"))
    picture, calls = panel.canvas._picture, []
    whole = Decimator.window
    monkeypatch.setattr(
        Decimator, "window", lambda *args: calls.append(args) or whole(*args)
    )
    for row in (3, 77, 124):
        session.clock.seek(row)
        qtbot.waitUntil(panel.settled)
        assert panel.canvas.painted_row == row
    assert panel.canvas._picture is picture
    assert calls == []


def test_the_cursor_is_seen_at_its_row(
    panel, opened, session, recordings, qtbot
) -> None:
    opened(open_document(recordings / "shared_cartpole_2env.h5"))
    session.clock.seek(100)
    qtbot.waitUntil(panel.settled)
    image = panel.canvas.grab().toImage()
    y = round(panel.canvas.stack.body(0).bottom()) - 2

    def blueness(row: float) -> int:
        colour = image.pixelColor(round(panel.canvas.x_of(row)), y)
        return colour.blue() - colour.red()

    assert blueness(100) > 60 > blueness(60)


def test_absent_rows_break_the_line(panel, opened, recordings) -> None:
    document = open_document(recordings / "create_destroy.h5")
    opened(document, [FieldRef(0, "translation", 1), FieldRef(3, "translation", 1)])
    crate, late = (plot.lines[0] for plot in panel.canvas.stack.plots)
    assert crate.rows.tolist() == list(range(20))
    assert late.rows.tolist() == list(range(10, 30))
    track = document.recording.actors[0].fields["translation"]
    track.valid[5] = False
    panel.refresh()
    line = panel.canvas.stack.plots[0].lines[0]
    assert not line.joined[line.rows.tolist().index(4)]


def test_long_tracks_are_decimated_and_that_is_told(panel, opened, qtbot) -> None:
    opened(made_document(made_recording(20_000)), [FieldRef(0, "omega")])
    assert panel.subtitle.startswith("min/max 1:")
    line = panel.canvas.stack.plots[0].lines[0]
    assert len(line.rows) < 8_000
    panel.show_span(panel.span.between(100, 160))
    qtbot.waitUntil(panel.settled)
    assert "min/max" not in panel.subtitle
    panel.fit()
    assert panel.span.is_whole


def test_dense_noise_costs_as_little_at_twice_the_scale(panel, opened) -> None:
    # Stroked as one path it would cost many times as much.
    opened(made_document(made_recording(20_000)), [FieldRef(0, "omega")])

    def cost_s(ratio: float) -> float:
        panel.canvas.stack.picture(panel.tokens, ratio)
        took = []
        for _ in range(3):
            begin = time.process_time()
            panel.canvas.stack.picture(panel.tokens, ratio)
            took.append(time.process_time() - begin)
        return min(took)

    # Four times the pixels; stroked as one path it is hundreds of times the work.
    assert cost_s(2.0) < 40 * cost_s(1.0)


def test_playing_past_the_view_turns_the_page(
    panel, opened, session, recordings, qtbot
) -> None:
    opened(open_document(recordings / "shared_cartpole_2env.h5"))
    panel.show_span(panel.span.between(10, 30))
    session.clock.seek(31)
    assert panel.span.low <= 31 <= panel.span.high
    assert panel.span.width == pytest.approx(20)
    session.clock.seek(12)
    assert panel.span.low <= 12 <= panel.span.high


def test_buttons_remove_and_choose_what_is_shown(
    panel, opened, recordings, qtbot
) -> None:
    document = opened(open_document(recordings / "rigid_contacts_all.h5"))
    parts, remove = panel.board.heads.buttons[1]
    by_text = {a.text().partition(":")[0]: a for a in parts.menu().actions()}
    assert list(by_text) == ["count", "sum", "max"]
    assert by_text["count"].isChecked()
    by_text["max"].trigger()
    assert document.plots[1].measure == "max"
    qtbot.waitUntil(panel.settled)
    _, remove = panel.board.heads.buttons[0]
    qtbot.mouseClick(remove, LEFT)
    qtbot.waitUntil(panel.settled)
    assert [ref.field for ref in document.plots] == ["contacts_distance"]
    components, _ = panel.board.heads.buttons[0]
    assert components.accessibleName().startswith("Choose what to plot of Crate")


def test_nothing_plotted_offers_plots_with_one_click(
    panel, opened, recordings, qtbot
) -> None:
    document = opened(open_document(recordings / "shared_cartpole_2env.h5"), [])
    assert panel.empty.isVisible()
    assert len(panel.empty.offers) == 3
    assert panel.empty.offers[0].text() == "Pole · omega z"
    qtbot.mouseClick(panel.empty.offers[0], LEFT)
    assert document.plots == [FieldRef(1, "omega", 2)]
    assert panel.canvas.isVisible()


def test_a_field_is_found_and_plotted_by_the_keyboard(
    panel, opened, recordings, qtbot
) -> None:
    document = opened(open_document(recordings / "shared_cartpole_2env.h5"))
    qtbot.mouseClick(panel.add_tool, LEFT)
    picker = panel.picker
    assert picker.isVisible()
    qtbot.keyClicks(picker.search, "pole/cart vcom")
    qtbot.keyClick(picker.search, Qt.Key.Key_Down)
    qtbot.keyClick(picker.search, Qt.Key.Key_Return)
    assert not picker.isVisible()
    assert document.plots[-1] == FieldRef(2, "vcom", 0)
    panel.pick_field()
    qtbot.keyClick(picker.search, Qt.Key.Key_Escape)
    assert not picker.isVisible()


def test_the_picker_is_a_sound_model(panel, opened, recordings, qtmodeltester) -> None:
    opened(open_document(recordings / "shared_cartpole_2env.h5"))
    panel.pick_field()
    qtmodeltester.check(panel.picker.model)
    panel.picker.search.setText("omega z")
    qtmodeltester.check(panel.picker.model)
    panel.picker.hide()


def test_the_plotted_range_is_written_as_csv(
    panel, opened, session, recordings, qtbot, tmp_path: Path
) -> None:
    document = opened(open_document(recordings / "shared_cartpole_2env.h5"))
    panel.show_span(Span.whole(125).between(9.6, 19.4))
    told = []
    session.messaged.connect(told.append)
    out = tmp_path / "range.csv"
    panel.export_to(str(out))
    qtbot.waitUntil(lambda: bool(told))
    assert told[0].level == "note"
    with out.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["native"]) for row in rows] == list(range(10, 20))
    pose = document.recording.actors[0].fields["pose"].values[10:20, 0]
    written = np.array([row["CartPole.pose.0 [m or rad]"] for row in rows], np.float32)
    assert np.array_equal(written, pose)
    panel.export_to(str(tmp_path / "no" / "folder.csv"))
    qtbot.waitUntil(lambda: len(told) == 2)
    assert told[1].level == "error"


def test_it_grows_with_its_recording(panel, opened, session, qtbot) -> None:
    document = made_document(made_recording(50), Phase.INDEXING)
    opened(document, [FieldRef(0, "omega", 0)])
    assert panel.span.rows == 50
    track = document.recording.actors[0].fields["omega"]
    track.append(np.ones((30, 3), np.float32))
    add_steps(document.recording, 30)
    document.set_progress(80, 80)
    qtbot.waitUntil(lambda: panel.settled() and panel.span.rows == 80)
    assert panel.canvas.stack.plots[0].lines[0].rows[-1] == 79


def test_hidden_it_does_nothing_and_catches_up_when_shown(
    panel, opened, session, recordings, qtbot
) -> None:
    document = opened(open_document(recordings / "shared_cartpole_2env.h5"))
    panel.hide()
    document.add_plot(FieldRef(1, "omega"))
    session.clock.seek(60)
    assert panel.settled()
    assert len(panel.canvas.stack.plots) == 1
    panel.show()
    qtbot.waitUntil(lambda: panel.settled() and panel.canvas.painted_row == 60)
    assert len(panel.canvas.stack.plots) == 2


def test_another_time_is_shown_below_the_rows(
    panel, opened, session, recordings, qtbot
) -> None:
    opened(open_document(recordings / "shared_cartpole_2env.h5"))
    two_lines = panel.canvas.stack.foot_px
    session.clock.set_time(TimeKind.NATIVE)
    qtbot.waitUntil(panel.settled)
    assert panel.canvas.stack.foot_px < two_lines


def test_both_themes_and_closing(panel, opened, session, recordings, qtbot) -> None:
    opened(open_document(recordings / "shared_cartpole_2env.h5"))
    dark = panel.canvas.grab().toImage().pixelColor(3, 3).lightness()
    session.set_theme("light")
    qtbot.waitUntil(panel.settled)
    assert panel.canvas.grab().toImage().pixelColor(3, 3).lightness() > dark + 100
    session.remove(session.documents[0])
    assert panel.empty.isVisible()
    qtbot.waitUntil(panel.settled)
