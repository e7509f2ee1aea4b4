"""Stepping again in the real window: clicks, keys, threads, what is told."""

from __future__ import annotations

import shlex
import threading
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit

from isoscope.app import replay_view
from isoscope.app.branching import branches_file
from isoscope.app.main import main
from isoscope.app.replay_view import examined_of
from isoscope.core.recording.registry import load
from isoscope.core.replay.driver import TOLD_EVERY
from isoscope.core.replay.engine import ReplayError
from isoscope.core.timeline.pieces import Shape
from isoscope.widgets.replay.fields import TOLERANCE
from tests.app.conftest import SHIPPED, settle
from tests.app.stand_ins import WITHOUT_GL

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from isoscope.app.window import Window
    from isoscope.widgets.replay.panel import ReplayPanel

Key, Modifier, LEFT = Qt.Key, Qt.KeyboardModifier, Qt.MouseButton.LeftButton
FAULT = (2, 1, 4)  # environment, episode and control step without its restore


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four CartPoles in one scene, one of which goes on from another's state."""
    path = tmp_path_factory.mktemp("replay") / "run.isoscope.h5"
    fault = "missed-restore@{}:{}/{}".format(*FAULT)
    options = ("--headless", "--steps", "8", "--fault", fault)
    assert main(["demo", *options, "--record", str(path), "--json"]) == 0
    return path


@pytest.fixture
def window(make_window: Callable[..., Window], recorded: Path) -> Window:
    made = make_window(recorded, panels=WITHOUT_GL)
    made.set_layout("replay")
    settle(made)
    return made


@pytest.fixture
def panel(window: Window) -> ReplayPanel:
    return window.panels["replay"]  # type: ignore[return-value]  # by its key


def click(widget: Any) -> None:
    QTest.mouseClick(widget, LEFT)


def alone(window: Window, panel: ReplayPanel) -> None:
    """Step each environment alone, by two clicks."""
    click(panel.form.ways["alone"])
    click(panel.form.run)
    settle(window)


def typed(table: Any, text: str) -> None:
    """Type into the editor of the table's current cell, and press Enter."""
    editors = table.viewport().findChildren(QLineEdit)
    editor = next(one for one in editors if one.isVisible())  # one may be going still
    editor.selectAll()
    QTest.keyClicks(editor, text)
    QTest.keyClick(editor, Key.Key_Return)
    QApplication.processEvents()  # it is committed after the key


def answers(panel: ReplayPanel) -> list[str]:
    return [word for _, word, _ in panel.result.claims.lines]


def timeline_marks_it(window: Window) -> None:
    timeline = window.panels["timeline"].canvas.timeline  # type: ignore[attr-defined]
    marks = timeline.lane(f"env:{FAULT[0]}").marks
    at = [i for i, s in enumerate(marks.shapes.tolist()) if s == Shape.DIVERGENCE]
    assert len(at) == 1
    assert marks.text(at[0]).startswith("stepped alone: env 2 departs at episode 1")
    for env in (0, 1, 3):
        assert Shape.DIVERGENCE not in timeline.lane(f"env:{env}").marks.kinds


def plot_and_cursor_are_one(window: Window, panel: ReplayPanel) -> None:
    click(panel.result.sentence)
    plot, row = panel.result.plot, window.session.clock.row
    value = plot.value_at(row, FAULT[0])
    assert value is not None
    assert value > 0
    x, middle = plot.x_of(row), plot.height() / 2
    before = plot.value_at(row, FAULT[0])
    QTest.mouseClick(plot, LEFT, pos=QPointF(plot.x_of(0), middle).toPoint())
    assert window.session.clock.row < row
    QTest.mouseClick(plot, LEFT, pos=QPointF(x, middle).toPoint())
    assert abs(window.session.clock.row - row) <= 4
    assert before == value


def test_alone_says_where_together_departs(window: Window, panel: ReplayPanel) -> None:
    alone(window, panel)
    assert answers(panel) == ["yes", "no", "no"]
    said = panel.result.sentence.plain
    assert said.startswith("Stepped alone, env 2 departs at episode 1, control step 4")
    window.session.clock.seek(0)
    click(panel.result.sentence)
    document = window.session.active
    assert document is not None
    labels = document.labels
    assert labels is not None
    row = window.session.clock.row
    assert (labels.env[row], labels.episode[row], labels.control_step[row]) == FAULT
    assert document.focus == FAULT[0]
    assert panel.subtitle == "stepped alone"
    timeline_marks_it(window)
    plot_and_cursor_are_one(window, panel)


def test_as_recorded_is_the_same_once_more(window: Window, panel: ReplayPanel) -> None:
    click(panel.form.run)
    settle(window)
    assert answers(panel) == ["yes", "yes", "yes"]
    assert "equal to the last bit" in panel.result.sentence.plain
    assert panel.result.plot.value_at(40, 0) in (0.0, None)


def test_restore_twice_and_pinned(window: Window, panel: ReplayPanel) -> None:
    click(panel.form.ways["twice"])
    click(panel.form.run)
    settle(window)
    assert "Restored twice" in panel.result.about.text()
    assert "the same twice" in panel.result.about.text()
    said = panel.result.sentence.plain
    assert "Restored twice, the same followed in 4 of 4 environments" in said
    click(panel.form.ways["pinned"])
    assert "another request" in panel.form.doing.text()
    click(panel.form.run)
    settle(window)
    document = window.session.active
    assert document is not None
    assert document.replayed is not None
    assert document.replayed.report.mode == "pinned"
    assert panel.form.doing.text() == ""


def test_a_key_goes_to_the_first_divergence(window: Window, panel: ReplayPanel) -> None:
    QTest.keyClick(window, Key.Key_D, Modifier.ControlModifier)
    assert "Nothing was stepped again yet" in window.frame.message_bar.text
    window.frame.message_bar.clear()
    window.actions_by_id["replay.alone"].trigger()
    settle(window)
    window.session.clock.seek(0)
    QTest.keyClick(window, Key.Key_D, Modifier.ControlModifier)
    document = window.session.active
    assert document is not None
    assert document.replayed is not None
    first = document.replayed.report.first_divergence
    assert first is not None
    assert window.session.clock.row == first.native


def test_a_tolerance_is_set_and_judged_by(window: Window, panel: ReplayPanel) -> None:
    alone(window, panel)
    fields = panel.result.fields
    names = [fields.item(at, 0).text() for at in range(fields.rowCount())]
    for at, name in enumerate(names):
        value = fields.item(at, TOLERANCE)
        if value.text() == "—":
            fields.setCurrentCell(at, TOLERANCE)
            QTest.keyClick(fields, Key.Key_F2)
            typed(fields, "100")
            field = name.rpartition(".")[2]
            assert panel.form.tolerances[field] == 100.0
    click(panel.form.run)
    settle(window)
    assert answers(panel) == ["yes", "yes", "no"]
    assert panel.result.sentence.plain.endswith("native steps.")
    fields.setCurrentCell(0, TOLERANCE)
    QTest.keyClick(fields, Key.Key_F2)
    typed(fields, "much")
    assert "give a number of at least 0" in window.frame.message_bar.text


def test_the_copied_command_does_the_same(
    window: Window, panel: ReplayPanel, capsys: pytest.CaptureFixture[str]
) -> None:
    click(panel.form.ways["alone"])
    panel.form.env.setCurrentIndex(1 + FAULT[0])
    panel.form.steps.set_value(5)
    click(panel.form.copy)
    words = shlex.split(QGuiApplication.clipboard().text())
    assert words[:2] == ["isoscope", "replay"]
    assert main(words[1:]) == 1
    assert "env 2 departs at episode 1, control step 4" in capsys.readouterr().out


def stepping(monkeypatch: pytest.MonkeyPatch, before: Callable[[int], None]) -> None:
    """Have something done before each native step of the engine, by its number."""
    maker_of = replay_view.maker_of

    def watched(*given: Any) -> Any:
        def make(blueprint: Any) -> Any:
            engine: Any = maker_of(*given)(blueprint)
            step, numbers = engine.step, count()

            def stepped(h_s: float, worlds: Any) -> None:
                before(next(numbers))
                step(h_s, worlds)

            engine.step = stepped
            return engine

        return make

    monkeypatch.setattr(replay_view, "maker_of", watched)


def test_it_can_be_cancelled_while_the_window_goes_on(
    window: Window, panel: ReplayPanel, monkeypatch: pytest.MonkeyPatch, qtbot: Any
) -> None:
    """What was compared until then is shown, and said to be a part."""
    goes_on = threading.Event()
    stepping(monkeypatch, lambda k: k < 40 or goes_on.wait(60) or None)
    click(panel.form.run)
    qtbot.waitUntil(lambda: " native steps" in panel.form.doing.text())
    assert panel.form.cancel.isVisible()
    assert not panel.form.run.isVisible()
    assert not window.settled()
    window.session.clock.seek(7)
    assert panel.result.plot._cursor == 7
    click(panel.form.cancel)
    goes_on.set()
    qtbot.waitUntil(lambda: panel.form.run.isVisible())
    document = window.session.active
    assert document is not None
    assert document.replayed is not None
    report = document.replayed.report
    assert report.stopped == "it was cancelled"
    assert 40 < report.compared_steps <= TOLD_EVERY
    assert panel.result.head.text() == "on screen: stepped again, in part"
    assert panel.result.sentence.plain.endswith("It ended early: it was cancelled.")
    assert answers(panel)[1:] == ["not checkable", "not checkable"]
    assert f"{report.compared_steps} native steps" in window.frame.message_bar.text
    settle(window)


def test_one_that_is_cancelled_at_once_leaves_what_was_shown(
    window: Window, panel: ReplayPanel, monkeypatch: pytest.MonkeyPatch, qtbot: Any
) -> None:
    alone(window, panel)
    shown = window.session.active.replayed  # type: ignore[union-attr]
    goes_on, maker_of = threading.Event(), replay_view.maker_of

    def waiting(*given: Any) -> Any:
        goes_on.wait(60)
        return maker_of(*given)

    monkeypatch.setattr(replay_view, "maker_of", waiting)
    click(panel.form.run)
    click(panel.form.cancel)
    goes_on.set()
    qtbot.waitUntil(lambda: panel.form.run.isVisible())
    assert panel.form.doing.text().startswith("cancelled")
    assert window.session.active.replayed is shown  # type: ignore[union-attr]
    settle(window)


def test_an_engine_that_dies_shows_what_was_compared(
    window: Window, panel: ReplayPanel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(k: int) -> None:
        if k == 50:
            raise ReplayError("the engine's process was ended by SIGKILL")

    stepping(monkeypatch, dies)
    click(panel.form.run)
    settle(window)
    report = window.session.active.replayed.report  # type: ignore[union-attr]
    assert 40 < report.compared_steps <= 50
    assert "ended by SIGKILL" in window.frame.message_bar.text
    assert "compared until then" in window.frame.message_bar.text
    assert "ended by SIGKILL" in panel.result.about.text()
    assert "It ended early" in panel.result.sentence.plain


def test_what_goes_wrong_is_told_in_the_bar(
    window: Window, panel: ReplayPanel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise ReplayError("stepping run.isoscope.h5 again: the engine is gone")

    monkeypatch.setattr(replay_view, "step_again", fail)
    click(panel.form.run)
    settle(window)
    assert window.frame.message_bar.text.endswith("the engine is gone")
    assert panel.form.run.isVisible()


def test_a_bare_recording_says_what_to_do(
    make_window: Callable[..., Window], recordings: Path
) -> None:
    window = make_window(recordings / SHIPPED, panels=WITHOUT_GL)
    QTest.keyClick(window, Key.Key_R, Modifier.ControlModifier)
    settle(window)
    assert window.arrangement.key == "replay"
    panel: Any = window.panels["replay"]
    assert "it holds neither snapshots to begin from" in panel.empty.label.text()
    assert "tap.attach(env, record=" in panel.empty.label.text()
    assert not panel.form.run.isVisible()
    window.actions_by_id["replay.alone"].trigger()
    assert "is a bare recording" in window.frame.message_bar.text


# -- what if -------------------------------------------------------------------------


def branch(window: Window, panel: ReplayPanel, *edits: str, row: int = 20) -> None:
    """Make a branch at a native step, by typing and clicking."""
    click(panel.form.whatif)
    window.session.clock.seek(row)
    form = panel.form.branches
    for edit in edits:
        QTest.keyClicks(form.line, edit)
        QTest.keyClick(form.line, Key.Key_Return)
    click(form.here)
    settle(window)


def test_a_branch_is_made_run_and_kept(
    window: Window, panel: ReplayPanel, make_window: Any, recorded: Path
) -> None:
    branch(window, panel, "gravity=0,-20,0")
    document = window.session.active
    assert document is not None
    assert document.replayed is not None
    assert document.replayed.name == "what if 1"
    assert answers(panel)[0] == "no"
    assert "gravity" in panel.result.configuration.text()
    table = panel.form.branches.table
    assert table.rowCount() == 1
    assert table.item(0, 2).text() == "gravity = [0.0, -20.0, 0.0]"
    assert table.item(0, 3).text().startswith("departs at 1/")
    examined = examined_of(document)
    assert examined is not None
    assert branches_file(examined).exists()
    again = make_window(recorded, panels=WITHOUT_GL)
    other: Any = again.panels["replay"]
    again.set_layout("replay")
    settle(again)
    click(other.form.whatif)
    assert other.form.branches.table.rowCount() == 1
    assert other.form.branches.table.item(0, 3).text() == "not run yet"


def test_an_edit_that_is_none_is_refused(window: Window, panel: ReplayPanel) -> None:
    branch(window, panel, "gravity")
    assert "give KEY=VALUE" in window.frame.message_bar.text
    assert panel.form.branches.table.rowCount() == 0
    window.frame.message_bar.clear()
    panel.form.branches.line.clear()
    branch(window, panel, "colour=3")
    assert "no colour in the persistent configuration" in window.frame.message_bar.text
    assert panel.form.branches.table.rowCount() == 0, "what can't be run isn't kept"


def test_the_menu_offers_what_there_is(window: Window, panel: ReplayPanel) -> None:
    click(panel.form.whatif)
    window.session.clock.seek(20)
    form = panel.form.branches
    offered = form.suggest()
    assert list(offered) == ["Actions", "Native inputs", "Configuration", "State"]
    assert "gravity=0,-9.8,0" in offered["Configuration"]
    form.menu.aboutToShow.emit()
    below = [a.menu() for a in form.menu.actions()]
    below[2].actions()[0].trigger()  # type: ignore[union-attr]
    assert form.line.text() == offered["Configuration"][0]
    assert form.line.hasSelectedText()


def test_a_branch_is_renamed_exported_and_removed(
    window: Window, panel: ReplayPanel, tmp_path: Path
) -> None:
    branch(window, panel, "2-:control*=-1", row=8)
    form = panel.form.branches
    assert form.table.rowCount() == 1, window.frame.message_bar.text
    form.table.setCurrentCell(0, 0)
    click(form.rename)
    typed(form.table, "mirrored")
    assert form.table.item(0, 0).text() == "mirrored"
    path = tmp_path / "mirrored.isoscope.h5"
    assert window.branches is not None
    assert form.chosen is not None
    window.branches.export(form.chosen.id, path)
    settle(window)
    written = load(path).labelled
    assert written is not None
    assert written.identity.extra["branch"]["name"] in ("mirrored", "what if 1")
    click(form.remove)
    assert form.table.rowCount() == 0
    assert window.session.active.replayed is None  # type: ignore[union-attr]


def test_what_goes_past_the_recorded_end_is_seen_and_played(
    window: Window, panel: ReplayPanel
) -> None:
    click(panel.form.whatif)
    document = window.session.active
    assert document is not None
    labels = document.labels
    assert labels is not None
    own = (labels.env == 1) & (labels.control_step >= 1)
    last = int(own.nonzero()[0][-1])
    window.session.clock.seek(last)
    form = panel.form.branches
    form.steps.set_value(4)
    click(form.here)
    settle(window)
    found = document.past_end
    assert found is not None, window.frame.message_bar.text
    assert len(found) == 6, "three control steps of two native ones"
    assert found.after == last
    assert form.table.item(0, 3).text().endswith("6 native steps past the end")
    timeline = window.panels["timeline"].canvas.timeline  # type: ignore[attr-defined]
    marks = timeline.lane("env:1").marks
    (at,) = [i for i, s in enumerate(marks.shapes.tolist()) if s == Shape.GOES_ON]
    assert marks.text(at) == (
        "what if 1 goes on for 6 native steps past the recorded end"
    )
    clock, plot = window.session.clock, panel.result.plot
    click(panel.result.past)
    assert (clock.row, clock.beyond) == (document.rows - 1, 1)
    before = plot.grab().toImage()
    QTest.keyClick(window, Key.Key_Space)
    assert clock.state.playing
    clock.tick(1.0)
    assert clock.beyond == 6
    assert plot.grab().toImage() != before, "its cursor goes along"
    middle = plot.height() / 2
    QTest.mouseClick(plot, LEFT, pos=QPointF(plot.x_of(last + 3), middle).toPoint())
    assert clock.beyond == 3
    assert "6 steps past the end" in panel.result.past.text()
    readout = window.panels["transport"].readout.texts()  # type: ignore[attr-defined]
    assert readout[0] == ("native", f"{document.rows - 1}+3")
    assert {value for _, value in readout[1:]} == {"—"}
    click(panel.views["hidden"])
    assert (clock.beyond, clock.state.tail) == (0, 0)
