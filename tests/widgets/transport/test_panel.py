"""The Transport with real clicks, and its ticker with a clock of the test's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from PySide6.QtCore import Qt

from isoscope.core.clock import RATES, Clock, TimeAxis, TimeKind
from isoscope.core.recording.model import Labels
from isoscope.widgets.session import Phase, Session
from isoscope.widgets.transport.panel import TransportPanel, rate_text
from isoscope.widgets.transport.readout import UNKNOWN, Readout
from isoscope.widgets.transport.ticker import LONGEST_S, Ticker
from tests.widgets.opened import (
    add_steps,
    made_document,
    made_recording,
    open_document,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def session() -> Session:
    return Session()


@pytest.fixture
def panel(session: Session, qtbot) -> Iterator[TransportPanel]:
    made = TransportPanel(session)
    qtbot.addWidget(made)
    made.resize(1100, 44)
    with qtbot.waitExposed(made):
        made.show()
    yield made
    made.release()


def click(qtbot, button) -> None:
    qtbot.mouseClick(button, LEFT)


def test_nothing_open_disables_all(panel) -> None:
    assert not panel.play.isEnabled()
    assert not panel.rate.isEnabled()
    assert panel.readout.text.startswith(f"native {UNKNOWN} · recording {UNKNOWN}")
    assert panel.settled()


def test_buttons_command_the_clock(panel, session, recordings, qtbot) -> None:
    session.add(open_document(recordings / "shared_cartpole_2env.h5"))
    clock = session.clock
    click(qtbot, panel.end)
    assert clock.row == 124
    click(qtbot, panel.step_back)
    assert clock.row == 123
    click(qtbot, panel.start)
    click(qtbot, panel.step)
    assert clock.row == 1
    qtbot.waitUntil(panel.settled)
    assert panel.readout.text.startswith("native 1 · recording ")


def test_control_steps_need_to_be_known(panel, session, recordings, qtbot) -> None:
    document = open_document(recordings / "shared_cartpole_2env.h5")
    session.add(document)
    assert not panel.next.isEnabled()
    assert "not known" in panel.next.toolTip()
    session.clock.set_marks("control", [2, 4, 6])
    document.analysed.emit()
    click(qtbot, panel.next)
    click(qtbot, panel.next)
    assert session.clock.row == 4
    click(qtbot, panel.previous)
    assert session.clock.row == 2


def test_play_moves_the_cursor_and_pause_stops_it(
    panel, session, recordings, qtbot
) -> None:
    session.add(open_document(recordings / "shared_cartpole_2env.h5"))
    assert panel.play.accessibleName() == "Play"
    assert not panel.ticker.timer.isActive()
    click(qtbot, panel.play)
    assert panel.play.accessibleName() == "Pause"
    qtbot.waitUntil(lambda: session.clock.row > 3)
    click(qtbot, panel.play)
    assert not panel.ticker.timer.isActive()
    row = session.clock.row
    qtbot.wait(60)
    assert session.clock.row == row


def test_speed_is_shown_and_chosen(panel, session, recordings) -> None:
    session.add(open_document(recordings / "no_state.h5"))
    actions = {a.text(): a for a in panel.rate.menu().actions() if a.text()}
    assert list(actions) == [rate_text(rate) for rate in RATES]
    actions["0.25×"].trigger()  # noqa: RUF001
    assert session.clock.state.rate == 0.25
    assert panel.rate.text().startswith("0.25×")  # noqa: RUF001
    assert actions["0.25×"].isChecked()  # noqa: RUF001


def test_the_loop_is_set_at_the_cursor_and_shown(
    panel, session, recordings, qtbot
) -> None:
    session.add(open_document(recordings / "shared_cartpole_2env.h5"))
    session.clock.seek(10)
    click(qtbot, panel.loop_in)
    session.clock.seek(40)
    click(qtbot, panel.loop_out)
    state = session.clock.state
    assert (state.loop, state.loop_in, state.loop_out) == (True, 10, 40)
    assert panel.loop.text() == "loop 10–40"  # noqa: RUF001
    assert "native 10 to 40" in panel.loop.toolTip()
    click(qtbot, panel.loop)
    assert not session.clock.state.loop
    assert panel.loop.text() == "loop"


def test_only_known_times_can_be_chosen(panel, session, recordings) -> None:
    session.add(open_document(recordings / "no_state.h5"))
    texts = [a.text().partition(":")[0] for a in panel.times.menu().actions()]
    assert texts == ["recording", "native"]
    panel.times.menu().actions()[1].trigger()
    assert session.clock.state.kind is TimeKind.NATIVE
    assert panel.times.text().startswith("clock: native")


def test_follow_is_offered_only_while_it_grows(panel, session, qtbot) -> None:
    recording = made_recording(30)
    document = made_document(recording, Phase.INDEXING)
    session.add(document)
    assert panel.follow.isVisible()
    click(qtbot, panel.follow)
    assert session.clock.row == 29
    add_steps(recording, 12)
    document.set_progress(42, 42)
    assert session.clock.row == 41
    document.set_phase(Phase.READY)
    assert not panel.follow.isVisible()


def test_numbers_stay_in_their_slots(panel, session, recordings) -> None:
    session.add(open_document(recordings / "shared_cartpole_2env.h5"))
    widths = set()
    for row in (0, 9, 10, 99, 124):
        session.clock.seek(row)
        widths.add((panel.readout.sizeHint().width(), panel.readout.x()))
    assert len(widths) == 1


def test_unknown_times_are_a_dash_and_labels_are_shown(qtbot) -> None:
    readout = Readout()
    qtbot.addWidget(readout)
    recording = made_recording(20)
    readout.set_recording(recording)
    assert readout.text == "native 0 · recording 0.02000 s · scene —"
    labels = Labels.unknown(20)
    labels.control_step[5:], labels.episode[5:] = 9, 1
    recording.labels = labels
    recording.steps.scene_time_s[:] = np.arange(20) * 0.02
    readout.set_recording(recording)
    readout.set_row(6)
    assert readout.text == (
        "native 6 · recording 0.14000 s · scene 0.12000 s · control 1/9"
    )
    readout.set_row(0)
    assert readout.texts()[-1] == ("control", UNKNOWN)


def test_tab_reaches_every_button_in_order(panel, session, recordings, qtbot) -> None:
    session.add(open_document(recordings / "shared_cartpole_2env.h5"))
    panel.activateWindow()
    panel.start.setFocus()
    seen = []
    for _ in range(6):
        seen.append(panel.focusWidget().accessibleName())
        qtbot.keyClick(panel.focusWidget(), Qt.Key.Key_Tab)
    assert seen == [
        "To the start",
        "One native step back",
        "Play",
        "One native step on",
        "To the end",
        "Speed",
    ]


def test_every_button_has_a_name_and_a_tip(panel, session, recordings) -> None:
    session.add(open_document(recordings / "shared_cartpole_2env.h5"))
    buttons = [*panel._glyphs, panel.rate, panel.times, panel.loop, panel.follow]
    for button in (*buttons, panel.loop_in, panel.loop_out):
        assert button.accessibleName()
        assert button.toolTip()


def test_the_ticker_passes_on_the_time_that_went_by(qtbot) -> None:
    clock, now = Clock(), [100.0]
    clock.set_axes([TimeAxis.native(np.full(1000, 0.1))])
    ticker = Ticker(clock, None, lambda: now[0])
    clock.changed.connect(lambda new, old: ticker.follow(new))
    now[0] = 500.0  # long before playing began
    clock.play()
    assert ticker.timer.isActive()
    now[0] += 0.21
    ticker.tick()
    assert clock.row == 2
    now[0] += 1000.0  # the window was busy, or the lid closed
    ticker.tick()
    assert clock.row == pytest.approx(2 + LONGEST_S / 0.1, abs=1)
    clock.pause()
    assert not ticker.timer.isActive()


def test_both_themes(panel, session, recordings, qtbot) -> None:
    session.add(open_document(recordings / "no_state.h5"))
    dark = panel.grab().toImage().pixelColor(4, 4).lightness()
    session.set_theme("light")
    assert panel.grab().toImage().pixelColor(4, 4).lightness() > dark + 100


def test_any_speed_can_be_typed(panel, session, qtbot) -> None:
    session.add(made_document(made_recording(10)))
    told = []
    session.messaged.connect(told.append)
    panel.rate.menu().popup(panel.mapToGlobal(panel.rate.pos()))
    qtbot.keyClicks(panel.any_rate, "0.3")
    qtbot.keyClick(panel.any_rate, Qt.Key.Key_Return)
    assert session.clock.state.rate == 0.3
    assert panel.rate.text().startswith("0.3")
    for wrong in ("fast", "0", "-2", "inf", "nan"):
        panel.any_rate.setText(wrong)
        qtbot.keyClick(panel.any_rate, Qt.Key.Key_Return)
        assert session.clock.state.rate == 0.3
    assert len(told) == 5
    panel.rate.menu().close()


def test_rows_that_are_control_steps_are_called_rows(panel, session, qtbot) -> None:
    session.add(made_document(made_recording(30)))
    recording = made_recording(40)
    recording.row_is = "control step"
    session.add(made_document(recording))
    panel.times.menu().actions()[1].trigger()
    assert session.clock.state.kind is TimeKind.NATIVE
    assert panel.times.text() == "clock: rows ▾"
    click(qtbot, panel.loop_in)
    told = [
        *(f"{b.accessibleName()} {b.toolTip()}" for b in panel._glyphs),
        *(action.text() for action in panel.times.menu().actions()),
        panel.loop.toolTip(),
        panel.readout.text,
    ]
    assert not [text for text in told if "native" in text]
    assert panel.step.toolTip() == "One row on (.)"
    assert "row 0 to 39" in panel.loop.toolTip()
    session.activate(session.documents[0])
    assert panel.step.toolTip() == "One native step on (.)"
    assert panel.times.text().startswith("clock: native")
