"""A model that stands in, from the window: chosen in a dialog, run, remembered."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDialogButtonBox, QFileDialog, QLineEdit

from isoscope.app import standing_in
from isoscope.core.replay.stand_in.forms import StandIn
from isoscope.core.timeline.pieces import Shape
from isoscope.gpu.model.named import named_model
from tests.app.cli import path
from tests.app.conftest import settle
from tests.app.stand_ins import WITHOUT_GL

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from isoscope.app.window import Window
    from isoscope.widgets.replay.panel import ReplayPanel

LEFT = Qt.MouseButton.LeftButton
SUBJECT = "shared_cartpole_2env"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """SuperDex's CartPole of the recordings: 10 N a unit of action."""
    told = msgspec.to_builtins(named_model("cartpole"))
    told["actors"][0]["drives"][0]["gear"] = 10.0
    out = tmp_path_factory.mktemp("model") / "driven.json"
    out.write_bytes(msgspec.json.encode(told))
    return out


@pytest.fixture
def opened(make_window: Callable[..., Window]) -> Callable[[], Window]:
    def open_it() -> Window:
        window = make_window(path(SUBJECT), panels=WITHOUT_GL)
        window.set_layout("replay")
        settle(window)
        return window

    return open_it


def panel_of(window: Window) -> ReplayPanel:
    return window.panels["replay"]  # type: ignore[return-value]  # by its key


def click(widget: Any) -> None:
    assert widget.isVisible()
    QTest.mouseClick(widget, LEFT)


def choose(window: Window, file: str) -> None:
    """Paste a file into the dialog that is open, and press its button."""
    dialogs = window.findChildren(QFileDialog)
    (dialog,) = [one for one in dialogs if one.isVisible()]
    line = dialog.findChild(QLineEdit, "fileNameEdit")
    assert line is not None
    QGuiApplication.clipboard().setText(file)
    QTest.keyClick(line, Qt.Key.Key_V, Qt.KeyboardModifier.ControlModifier)
    completer = line.completer()
    assert completer is not None
    completer.popup().hide()  # else the click only closes it
    buttons = dialog.findChild(QDialogButtonBox)
    assert buttons is not None
    click(buttons.button(QDialogButtonBox.StandardButton.Open))
    QApplication.processEvents()


def test_a_model_is_chosen_run_and_remembered(
    opened: Callable[[], Window], model: Path
) -> None:
    window = opened()
    panel = panel_of(window)
    assert "A model of yours can stand in" in panel.empty.label.text()
    click(panel.empty.button)
    choose(window, str(model))
    form = panel.form
    assert form.model.choice.model == str(model)
    click(form.model.choose_inputs)
    choose(window, path(SUBJECT).replace(".h5", ".truth.json"))
    assert not form.ways["alone"].isEnabled()
    assert not form.whatif.isEnabled()
    click(form.run)
    settle(window)
    document = window.session.active
    assert document is not None
    shown = document.replayed
    assert shown is not None
    assert isinstance(shown.report, StandIn)
    assert panel.subtitle == "predicted by driven"
    answers = [line[1] for line in panel.result.claims.lines]
    assert answers == ["not checkable", "yes", "not checkable"]
    why = panel.result.claims.lines[1][2]
    assert "115 native steps, each from the recorded state" in why
    assert "CartPole/Pole.omega" in why
    assert "CartPole.pose" in why
    about = panel.result.about.text()
    assert "Freely, from each episode" in about
    assert "drifts freely" in about
    # every field's residual is listed, and what is drawn is what was predicted
    listed = {panel.result.fields.item(at, 0).text() for at in range(5)}
    assert listed <= {f"{m.actor}.{m.field}" for m in shown.report.max_difference}
    pole = next(a for a in shown.states.recording.actors if a.name == "CartPole/Pole")
    recorded = next(a for a in document.recording.actors if a.name == "CartPole/Pole")
    row = int(shown.states.rows[20])
    for field, close in (("translation", 1e-4), ("translationCom", 1e-4)):
        here = pole.fields.tracks[field].read(row, row + 1)
        there = recorded.fields.tracks[field].read(row, row + 1)
        assert here.valid[0]
        assert here.values[0] == pytest.approx(there.values[0], abs=close)
    click(form.ways["pinned"])
    assert "another request" in form.doing.text()
    again = opened()
    assert panel_of(again).form.model.choice == form.model.choice
    assert panel_of(again).form.run.isVisible(), "it needs no choosing once more"


def test_where_the_model_is_off_is_shown(opened: Callable[[], Window]) -> None:
    window = opened()
    panel = panel_of(window)
    panel.form.set_engine("model")
    assert not panel.form.run.isEnabled()
    assert panel.form.doing.text() == "choose the model first"
    QTest.keyClicks(panel.form.model.model, "cartpole")
    click(panel.form.run)
    settle(window)
    said = panel.result.sentence.plain
    assert "115 native steps predicted by the model, env 0 departs" in said
    timeline = window.panels["timeline"].canvas.timeline  # type: ignore[attr-defined]
    marks = timeline.lane("env:0").marks
    assert Shape.DIVERGENCE in marks.shapes.tolist()
    window.session.clock.seek(0)
    click(panel.result.sentence)
    document = window.session.active
    assert document is not None
    assert document.replayed is not None
    first = document.replayed.report.first_divergence
    assert first is not None
    assert window.session.clock.row == first.native


def test_it_can_be_cancelled_and_refused(
    opened: Callable[[], Window], monkeypatch: pytest.MonkeyPatch, qtbot: Any
) -> None:
    window = opened()
    panel = panel_of(window)
    panel.form.set_engine("model")
    QTest.keyClicks(panel.form.model.model, "nowhere.json")
    click(panel.form.run)
    settle(window)
    assert "nowhere.json" in window.frame.message_bar.text
    window.frame.message_bar.clear()
    panel.form.model.model.clear()
    QTest.keyClicks(panel.form.model.model, "cartpole")
    goes_on, model_scenes = threading.Event(), standing_in.model_scenes

    def waiting(*given: Any) -> Any:
        made = model_scenes(*given)

        def make(worlds: int) -> Any:
            goes_on.wait(60)
            return made(worlds)

        return make

    monkeypatch.setattr(standing_in, "model_scenes", waiting)
    click(panel.form.run)
    click(panel.form.cancel)
    goes_on.set()
    qtbot.waitUntil(panel.form.run.isVisible)
    assert panel.form.doing.text().startswith("cancelled")
    assert window.session.active.replayed is None  # type: ignore[union-attr]
    settle(window)
