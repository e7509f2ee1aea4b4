"""Curate and Export in the real window: keys, files, threads."""

from __future__ import annotations

import shlex
import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest

from isoscope.app import exporting
from isoscope.app.workspaces import journal_of
from isoscope.core.dataset.curate.columns import return_of
from isoscope.core.dataset.manifest.diff import diff
from isoscope.core.dataset.manifest.stored import read_manifest
from isoscope.core.dataset.readers.registry import open_episodes
from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.recorder import Recorder
from isoscope.widgets.export.fields import DTYPE, NAME, UNITS
from tests.app.cli import printed
from tests.app.conftest import settle
from tests.app.stand_ins import WITHOUT_GL

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.app.window import Window
    from isoscope.widgets.curate.panel import CuratePanel
    from isoscope.widgets.export.panel import ExportPanel

Key, Modifier, LEFT = Qt.Key, Qt.KeyboardModifier, Qt.MouseButton.LeftButton
CTRL_SHIFT = Modifier.ControlModifier | Modifier.ShiftModifier
FIELDS = (
    r.Field(name="observation", shape=(2,), group="observation_before", unit="m"),
    r.Field(name="observation", shape=(2,), group="observation_after", unit="m"),
    r.Field(name="action", shape=(1,), group="action", low=(-1.0,), high=(1.0,)),
)
EPISODE = 6  # control steps


def record(path: Path) -> Path:
    """Two environments in turn, two episodes each, a native step a control step."""
    identity = r.Identity(environments=2, simulation_hz=50, substeps=1)
    rng = np.random.default_rng(4)
    with Recorder(path, identity) as recorder:
        frame = recorder.frame(FIELDS, "f4", over="transitions")
        seen = [rng.normal(size=2), rng.normal(size=2)]
        for episode in (1, 2):
            for k in range(1, EPISODE + 1):
                for env in range(2):
                    where: dict[str, Any] = {"env": env, "episode": episode}
                    where |= {"control_step": k}
                    row = recorder.native(r.NativeStep(**where, substep=0, h_s=0.02))
                    after = seen[env] + rng.normal(size=2)
                    frame.put(0, seen[env])
                    frame.put(1, after)
                    frame.put(2, rng.uniform(-1, 1, 1))
                    seen[env] = after
                    told = r.Transition(
                        **where,
                        first_row=row,
                        last_row=row,
                        reward=env + k / 10,
                        terminated=int(k == EPISODE),
                        truncated=0,
                    )
                    recorder.transition(told, frame)
    return path


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return record(tmp_path / "run.isoscope.h5")


@pytest.fixture
def window(make_window, source: Path, qtbot) -> Window:
    made = make_window(source, panels=WITHOUT_GL)
    made.set_layout("curate")
    settle(made)
    made.activateWindow()
    qtbot.waitUntil(made.isActiveWindow)
    return made


def curate_of(window: Window) -> CuratePanel:
    return window.panels["curate"]


def export_of(window: Window) -> ExportPanel:
    return window.panels["export"]


def press(window: Window, key: Qt.Key, modifier=Modifier.NoModifier) -> None:
    QTest.keyClick(window.windowHandle(), key, modifier)


def verdicts(window: Window) -> list[str | None]:
    return [item.verdict for item in curate_of(window).model.items]


def test_keys_judge_move_and_undo(window: Window) -> None:
    panel = curate_of(window)
    assert [item.id for item in panel.model.items][:2] == ["env0-ep1", "env0-ep2"]
    panel.table.setFocus()
    press(window, Key.Key_Down)
    press(window, Key.Key_A)
    press(window, Key.Key_Down)
    press(window, Key.Key_R)
    assert verdicts(window) == ["accepted", "rejected", None, None]
    assert window.session.clock.row == 2 * EPISODE
    assert window.session.active.focus == 0
    press(window, Key.Key_U)
    assert verdicts(window) == ["accepted", None, None, None]
    press(window, Key.Key_Z, Modifier.ControlModifier)
    press(window, Key.Key_Z, Modifier.ControlModifier)
    assert verdicts(window) == ["accepted", None, None, None]
    press(window, Key.Key_Z, CTRL_SHIFT)
    assert verdicts(window) == ["accepted", "rejected", None, None]


def test_letters_in_a_text_box_are_letters(window: Window, qtbot) -> None:
    panel = curate_of(window)
    panel.table.selectRow(0)
    panel.table.setFocus()
    qtbot.waitUntil(panel.table.hasFocus)
    press(window, Key.Key_T)
    qtbot.waitUntil(panel.tags.line.hasFocus)
    for key in (Key.Key_R, Key.Key_A, Key.Key_T):
        press(window, key)
    press(window, Key.Key_Return)
    assert panel.model.items[0].tags == ("rat",)
    assert panel.table.hasFocus()
    panel.filter.line.setFocus()
    press(window, Key.Key_R)
    assert panel.filter.line.text() == "r"
    assert verdicts(window)[0] is None


def test_edits_are_there_again_in_another_window(
    window: Window, make_window, source: Path
) -> None:
    curate_of(window).table.selectRow(3)
    curate_of(window).commands["reject"]()
    again = make_window(source, panels=WITHOUT_GL)
    again.set_layout("curate")
    settle(again)
    assert verdicts(again) == [None, None, None, "rejected"]
    assert sorted(p.name for p in source.parent.iterdir() if p.is_file()) == [
        source.name
    ]


def test_the_timelines_range_trims(window: Window) -> None:
    panel = curate_of(window)
    panel.table.selectRow(0)
    window.panels["timeline"].select_range(4, 8)
    panel.commands["trim"]()
    item = panel.model.items[0]
    assert (item.start, item.stop) == (2, 5)  # env 0 has every other native step


def test_a_dataset_is_written_and_the_command_writes_the_same(
    window: Window, tmp_path: Path, qtbot, capsys
) -> None:
    curate_of(window).table.selectRow(1)
    curate_of(window).commands["reject"]()
    window.set_layout("inspect")
    settle(window)
    press(window, Key.Key_E, Modifier.ControlModifier)
    panel = export_of(window)
    qtbot.waitUntil(panel.isVisible)
    settle(window)
    QTest.mouseClick(panel.form.formats["robomimic"], LEFT)
    panel.form.target.setText(str(tmp_path / "mine"))
    panel.form.env.setText("Cart")
    tree = panel.form.fields
    for field, column, text in (
        ("observation", NAME, "obs/seen"),
        ("observation", DTYPE, "float64"),
        ("action", UNITS, "N"),
    ):
        (item,) = tree.findItems(field, Qt.MatchFlag.MatchExactly)
        item.setText(column, text)
    settle(window)
    QTest.mouseClick(panel.buttons.validate, LEFT)
    settle(window)
    for rule in panel.state.report.rules:
        if rule.blocks:
            panel.waive(rule.id, "made for a test")
    QTest.mouseClick(panel.buttons.export, LEFT)
    settle(window)
    assert panel.state.error == ""
    assert "Its manifest is inside of it" in panel.buttons.result.text()
    assert panel.buttons.result.text().startswith("✓ Written to")
    assert "Read back and compared" in panel.buttons.result.text()
    made = open_episodes(tmp_path / "mine")
    assert [e.length for e in made.episodes] == [EPISODE] * 3
    QTest.mouseClick(panel.buttons.copy, LEFT)
    words = shlex.split(QGuiApplication.clipboard().text())
    words[words.index("--out") + 1] = str(tmp_path / "again")
    printed(capsys, *words[1:])
    other = open_episodes(tmp_path / "again")
    assert other.features == made.features
    assert {f.name: f.units for f in made.features}["actions"] == ("N",)
    assert {f.name: f.dtype for f in made.features}["obs/seen"] == np.float64
    manifests = [read_manifest(tmp_path / name) for name in ("mine", "again")]
    found = diff(manifests[0], manifests[1])
    assert found.claims.bit_for_bit.answer == "yes"
    assert {d.key for d in found.differences} <= {"created", "waivers"}
    for episode in made.episodes:
        for feature in made.features:
            a, b = (d.read(episode.index, feature.name) for d in (made, other))
            assert np.array_equal(a, b, equal_nan=a.dtype.kind == "f")


@pytest.mark.parametrize("stage", ["validate", "export_with_manifest"])
def test_cancel_leaves_nothing(
    window: Window, tmp_path: Path, monkeypatch, qtbot, stage: str
) -> None:
    real, begun = getattr(exporting, stage), threading.Event()

    def waits(*args: Any, **named: Any) -> Any:
        """Go on as soon as it is cancelled, as where there is much to do."""
        cancelled = named["cancelled"] if "cancelled" in named else args[4]
        begun.set()
        while not cancelled():
            time.sleep(0.005)
        return real(*args, **named)

    panel = export_of(window)
    QTest.mouseClick(panel.form.formats["shards"], LEFT)
    panel.form.target.setText(str(tmp_path / "mine"))
    settle(window)
    QTest.mouseClick(panel.buttons.validate, LEFT)
    settle(window)
    for rule in panel.state.report.rules:
        if rule.blocks:
            panel.waive(rule.id, "made for a test")
    monkeypatch.setattr(exporting, stage, waits)
    QTest.mouseClick(panel.buttons.export, LEFT)
    qtbot.waitUntil(begun.is_set)
    QTest.mouseClick(panel.buttons.cancel, LEFT)
    settle(window)
    assert "was stopped" in panel.buttons.problem.text()
    assert not [p for p in tmp_path.iterdir() if "mine" in p.name]


def test_a_bare_recording_gets_its_actions_from_a_file(
    make_window, recordings: Path
) -> None:
    name = "shared_cartpole_2env"
    window = make_window(recordings / f"{name}.h5", panels=WITHOUT_GL)
    window.set_layout("curate")
    settle(window)
    panel, document = curate_of(window), window.session.active
    assert "--transitions FILE" in panel.empty.label.text()
    assert panel.empty.button.isVisible()
    curating = window.workspace.curating
    curating.use_transitions(document, recordings / "README.md")
    settle(window)
    assert window.frame.message_bar.current.level == "error"
    assert panel.empty.button.isVisible()
    curating.use_transitions(document, recordings / f"{name}.truth.json")
    settle(window)
    assert panel.model.rowCount() == 5
    curation = document.curation
    labels = document.analysis.labels
    for at, item in enumerate(panel.model.items):
        panel.table.selectRow(at)
        row = window.session.clock.row
        episode = curation.episodes.episodes[item.source]
        assert (labels.env[row], labels.episode[row]) == (episode.env, episode.number)
        assert labels.control_step[row] == 1
        known = panel.model.series[item.source, item.start, item.stop]
        assert known.total == return_of(curation.episodes, item, "reward")
    assert curation.touches is not None


def test_edits_that_cannot_be_read_are_put_aside(make_window, source: Path) -> None:
    journal = journal_of(source)
    journal.parent.mkdir(parents=True)
    journal.write_bytes(b"no journal\n")
    window = make_window(source, panels=WITHOUT_GL)
    window.set_layout("curate")
    settle(window)
    assert "put aside" in window.frame.message_bar.text
    assert journal.with_suffix(".unreadable").read_bytes() == b"no journal\n"
    curate_of(window).table.selectRow(0)
    curate_of(window).commands["accept"]()
    assert journal.exists()
