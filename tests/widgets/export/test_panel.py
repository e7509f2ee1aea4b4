"""The Export panel with real clicks and keys; whoever does the work is stood in for."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLineEdit

from isoscope.core.dataset.curate.edits import Judge
from isoscope.core.dataset.exporters.plan import BY_ROLE, FieldMap
from isoscope.core.dataset.validate.run import validate
from isoscope.widgets.export.fields import DTYPE, NAME, UNITS
from isoscope.widgets.export.panel import ExportPanel
from isoscope.widgets.session import Session
from tests.core.dataset.made import FEATURES, MATRIX, made
from tests.widgets.curate.chosen import document_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from isoscope.core.dataset.memory import MemoryEpisodes
    from isoscope.widgets.export.request import Request
    from isoscope.widgets.session import Document

ABSENT = "\N{EN DASH}"
LEFT, Key = Qt.MouseButton.LeftButton, Qt.Key


@pytest.fixture
def session() -> Session:
    return Session()


@pytest.fixture
def panel(session: Session, qtbot) -> Iterator[ExportPanel]:
    made_panel = ExportPanel(session)
    qtbot.addWidget(made_panel)
    made_panel.resize(900, 700)
    with qtbot.waitExposed(made_panel):
        made_panel.show()
    yield made_panel
    made_panel.release()


def episodes(tmp_path: Path, **more) -> MemoryEpisodes:
    found = made((5, 4, 12, 8), plain=True, **more)
    for columns in found.columns:
        np.clip(columns["action"], -3, 3, out=columns["action"])
    found.path = tmp_path / "made.h5"
    return found


@pytest.fixture
def document(session: Session, panel: ExportPanel, tmp_path: Path, qtbot) -> Document:
    document = document_of(episodes(tmp_path), tmp_path / "edits.jsonl")
    session.add(document)
    qtbot.waitUntil(panel.settled)
    return document


def choose(qtbot, panel: ExportPanel, format: str) -> None:
    qtbot.mouseClick(panel.form.formats[format], LEFT)
    qtbot.waitUntil(panel.settled)


def validated(panel: ExportPanel, document: Document) -> None:
    """What whoever does the work would tell."""
    assert document.curation is not None
    report = validate(document.curation.kept())
    panel.show_ended(document, document.curation.choice, report, None)


def test_totals_follow_the_edits(panel: ExportPanel, document: Document, qtbot) -> None:
    assert panel.buttons.totals.text().startswith("4 episodes, 29 transitions, about ")
    assert document.curation is not None
    ids = (document.curation.choice.items[2].id,)
    document.curation.workspace.make(Judge(ids, "rejected"))
    qtbot.waitUntil(panel.settled)
    assert panel.buttons.totals.text().startswith("3 episodes, 17 transitions, about ")


def test_a_suggested_target_goes_with_the_format_and_a_typed_one_stays(
    panel: ExportPanel, document: Document, tmp_path: Path, qtbot
) -> None:
    assert panel.form.target.text() == str(tmp_path / "made-lerobot")
    choose(qtbot, panel, "robomimic")
    assert panel.form.target.text() == str(tmp_path / "made-robomimic.hdf5")
    panel.form.target.selectAll()
    qtbot.keyClicks(panel.form.target, str(tmp_path / "mine"))
    choose(qtbot, panel, "shards")
    assert panel.form.target.text() == str(tmp_path / "mine")
    assert panel.buttons.export.isEnabled()


def test_what_was_written_just_now_is_not_written_over(
    panel: ExportPanel, document: Document, tmp_path: Path, qtbot
) -> None:
    asked: list[Request] = []
    panel.export_asked.connect(lambda _document, request: asked.append(request))
    said: list[str] = []
    panel.session.messaged.connect(lambda message: said.append(message.text))
    qtbot.mouseClick(panel.buttons.export, LEFT)
    assert len(asked) == 1
    asked[0].target.mkdir()  # as an export would have
    qtbot.mouseClick(panel.buttons.export, LEFT)
    assert len(asked) == 1
    assert "tick replace, or rename" in panel.buttons.problem.text()
    assert said == []
    qtbot.mouseClick(panel.form.overwrite, LEFT)
    qtbot.waitUntil(panel.settled)
    qtbot.mouseClick(panel.buttons.export, LEFT)
    assert len(asked) == 2
    assert panel.buttons.problem.isHidden()


def test_what_a_format_cannot_hold_is_said_and_can_be_left_out(
    panel: ExportPanel, session: Session, tmp_path: Path, qtbot
) -> None:
    session.add(document_of(episodes(tmp_path, features=(*FEATURES, MATRIX))))
    qtbot.waitUntil(panel.settled)
    choose(qtbot, panel, "isoscope")
    assert panel.buttons.problem.isVisible()
    assert not panel.buttons.export.isEnabled()
    choose(qtbot, panel, "robomimic")
    tree = panel.form.fields
    (item,) = tree.findItems("info/matrix", Qt.MatchFlag.MatchExactly)
    item.setCheckState(0, Qt.CheckState.Unchecked)
    qtbot.waitUntil(panel.settled)
    assert item.text(2) == ABSENT
    assert panel.form.request().fields == (FieldMap("info/matrix", ""),)


def type_in(qtbot, panel: ExportPanel, field: str, column: int, text: str) -> None:
    """Double click, type, Return."""
    tree = panel.form.fields
    (item,) = tree.findItems(field, Qt.MatchFlag.MatchExactly)
    tree.scrollToItem(item)
    spot = tree.visualItemRect(item)
    spot.setLeft(tree.header().sectionViewportPosition(column) + 6)
    spot.setWidth(4)
    qtbot.mouseClick(tree.viewport(), LEFT, pos=spot.center())
    qtbot.mouseDClick(tree.viewport(), LEFT, pos=spot.center())
    qtbot.waitUntil(lambda: tree.findChild(QLineEdit) is not None)
    editor = tree.findChild(QLineEdit)
    editor.clear()
    qtbot.keyClicks(editor, text)
    qtbot.keyClick(editor, Key.Key_Return)
    qtbot.waitUntil(lambda: tree.findChild(QLineEdit) is None)
    qtbot.waitUntil(panel.settled)


def test_names_units_and_types_are_typed(
    panel: ExportPanel, document: Document, session: Session, tmp_path: Path, qtbot
) -> None:
    choose(qtbot, panel, "robomimic")
    type_in(qtbot, panel, "observation/position", NAME, "obs/joints")
    type_in(qtbot, panel, "observation/goal", UNITS, "m")
    type_in(qtbot, panel, "reward", DTYPE, "float32")
    assert panel.form.request().fields == (
        FieldMap("observation/position", "obs/joints"),
        FieldMap("observation/goal", BY_ROLE, ("m",)),
        FieldMap("reward", BY_ROLE, dtype="float32"),
    )
    (item,) = panel.form.fields.findItems("reward", Qt.MatchFlag.MatchExactly)
    assert item.text(NAME) == "rewards"
    before = panel.buttons.totals.text()
    # What the format can't hold is said at once, by name.
    type_in(qtbot, panel, "reward", DTYPE, "hat")
    assert "'hat' is no dtype" in panel.buttons.problem.text()
    type_in(qtbot, panel, "reward", DTYPE, "")
    type_in(qtbot, panel, "observation/goal", NAME, "obs/joints")
    assert "both be obs/joints" in panel.buttons.problem.text()
    type_in(qtbot, panel, "observation/goal", NAME, "")
    assert panel.buttons.totals.text() != before  # float64 again
    # A field keeps what was typed while another document is shown.
    other = document_of(episodes(tmp_path))
    session.add(other)
    qtbot.waitUntil(panel.settled)
    assert panel.form.request().fields == ()
    session.activate(document)
    qtbot.waitUntil(panel.settled)
    assert [one.source for one in panel.form.request().fields] == [
        "observation/position",
        "observation/goal",
    ]


def test_a_key_types_a_name(panel: ExportPanel, document: Document, qtbot) -> None:
    tree = panel.form.fields
    tree.setFocus()
    tree.setCurrentItem(tree.topLevelItem(0))
    qtbot.keyClick(tree, Key.Key_F2)
    qtbot.waitUntil(lambda: tree.findChild(QLineEdit) is not None)
    assert tree.currentColumn() == NAME
    qtbot.keyClick(tree.findChild(QLineEdit), Key.Key_Escape)
    qtbot.waitUntil(panel.settled)
    qtbot.keyClick(tree, Key.Key_Right)
    assert tree.currentColumn() == UNITS
    assert panel.form.request().fields == ()


def test_what_a_format_asks_for(panel: ExportPanel, document: Document, qtbot) -> None:
    form = panel.form
    choose(qtbot, panel, "lerobot")
    assert (form.task.isVisible(), form.env.isVisible()) == (True, False)
    qtbot.keyClicks(form.task, "swing up")
    qtbot.keyClicks(form.robot, "cart")
    options = form.request().options
    assert (options.task, options.robot_type) == ("swing up", "cart")
    choose(qtbot, panel, "robomimic")
    assert (form.task.isVisible(), form.env.isVisible()) == (False, True)
    assert form.request().options.task == ""
    choose(qtbot, panel, "shards")
    assert not form._told_label.isVisible()


def test_bad_splits_and_places_are_said_at_once(
    panel: ExportPanel, document: Document, tmp_path: Path, qtbot
) -> None:
    qtbot.keyClicks(panel.form.split, "train=0.9,valid")
    qtbot.waitUntil(panel.settled)
    assert "no list such as train=0.8,valid=0.2" in panel.buttons.problem.text()
    assert not panel.buttons.export.isEnabled()
    panel.form.split.clear()
    qtbot.keyClicks(panel.form.split, "train=0.75,valid=0.25")
    qtbot.waitUntil(panel.settled)
    assert panel.buttons.totals.text().endswith("train 3, valid 1")
    panel.form.target.setText(str(tmp_path))
    qtbot.waitUntil(panel.settled)
    assert "the source is there" in panel.buttons.problem.text()


def test_what_is_there_is_replaced_only_if_that_is_ticked(
    panel: ExportPanel, document: Document, tmp_path: Path, qtbot
) -> None:
    (tmp_path / "there").mkdir()
    panel.form.target.setText(str(tmp_path / "there"))
    qtbot.waitUntil(panel.settled)
    assert "tick replace" in panel.buttons.problem.text()
    qtbot.keyClick(panel.form.overwrite, Key.Key_Space)
    qtbot.waitUntil(panel.settled)
    assert not panel.buttons.problem.isVisible()


def test_a_rule_that_fails_leads_there_and_is_waived_with_a_reason(
    panel: ExportPanel, session: Session, tmp_path: Path, qtbot
) -> None:
    source = episodes(tmp_path)
    source.columns[2]["action"][7] = 30
    document = document_of(source)
    session.add(document)
    qtbot.waitUntil(panel.settled)
    validated(panel, document)
    qtbot.waitUntil(panel.settled)
    assert panel.report.said.text().startswith("Can't be exported: action-bounds fails")
    tree = panel.report.tree
    rule = tree.topLevelItem(0)
    assert rule.text(0) == "▲ action-bounds"
    asked: list[str] = []
    panel.episode_asked.connect(asked.append)
    spot = tree.visualItemRect(rule.child(0)).center()
    qtbot.mouseClick(tree.viewport(), LEFT, pos=spot)
    assert asked == [source.episodes[2].id]
    assert session.clock.row == (5 + 1) + (4 + 1) + 1 + 7
    tree.setCurrentItem(tree.topLevelItem(0))
    assert not panel.report.waive.isEnabled()
    qtbot.keyClicks(panel.report.why, "a known spike")
    qtbot.keyClick(panel.report.why, Key.Key_Return)
    assert panel.report.said.text().startswith("Can be exported")
    assert panel.state.waivers["action-bounds"].why == "a known spike"
    qtbot.mouseClick(panel.report.restore, LEFT)
    assert panel.report.said.text().startswith("Can't be exported")


def test_a_report_of_another_choice_says_so(
    panel: ExportPanel, document: Document, qtbot
) -> None:
    validated(panel, document)
    qtbot.waitUntil(panel.settled)
    assert not panel.report.stale.isVisible()
    assert document.curation is not None
    ids = (document.curation.choice.items[0].id,)
    document.curation.workspace.make(Judge(ids, "rejected"))
    assert panel.report.stale.isVisible()


def test_progress_and_cancel(panel: ExportPanel, document: Document, qtbot) -> None:
    asked: list[Request] = []
    stopped: list[object] = []
    panel.export_asked.connect(lambda _, request: asked.append(request))
    panel.cancel_asked.connect(stopped.append)
    qtbot.mouseClick(panel.buttons.export, LEFT)
    assert asked[0].format == "lerobot"
    panel.show_running(document, "Validating")
    panel.show_progress(document, 1, 4)
    assert panel.buttons.doing.text() == "Validating… 25%"
    assert not panel.form.isEnabled()
    qtbot.mouseClick(panel.buttons.cancel, LEFT)
    assert stopped == [document]
    panel.show_failed(document, "writing made-lerobot was stopped; nothing is left")
    assert "nothing is left" in panel.buttons.problem.text()
    assert panel.buttons.export.isVisible()
    assert panel.form.isEnabled()


def test_the_command_is_copied(
    panel: ExportPanel, document: Document, tmp_path: Path, qtbot
) -> None:
    assert document.curation is not None
    ids = (document.curation.choice.items[0].id,)
    document.curation.workspace.make(Judge(ids, "rejected"))
    choose(qtbot, panel, "shards")
    panel.form.target.setText(str(tmp_path / "it's here"))
    panel.form.split.setText("train=0.5, valid=0.5")
    qtbot.mouseClick(panel.form.by, LEFT)
    panel.form.seed.setText("7")
    panel.waive("finite", "a known spike")
    type_in(qtbot, panel, "action", NAME, "")
    type_in(qtbot, panel, "action", UNITS, "kN")
    type_in(qtbot, panel, "reward", DTYPE, "float32")
    type_in(qtbot, panel, "raw_action", NAME, "forward_inputs.given")
    qtbot.waitUntil(panel.settled)
    qtbot.mouseClick(panel.buttons.copy, LEFT)
    words = shlex.split(QGuiApplication.clipboard().text())
    assert words[:3] == ["isoscope", "export", str(tmp_path / "made.h5")]
    assert words[3:] == [
        *("--format", "shards", "--out", str(tmp_path / "it's here")),
        *("--workspace", str(tmp_path / "edits.jsonl")),
        *("--split", "train=0.5,valid=0.5", "--split-by", "environment"),
        *("--seed", "7", "--units", "action=kN", "--dtype", "reward=float32"),
        *("--map", "raw_action=forward_inputs.given"),
        *("--waive", "finite=a known spike"),
    ]
