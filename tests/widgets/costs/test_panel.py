"""The Costs panel with real clicks and keys, and recordings made in a moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication

from isoscope.core.costs.naming import Stage
from isoscope.core.recording.registry import open_source
from isoscope.widgets.costs.panel import CostsPanel
from isoscope.widgets.session import Document, Phase, Session
from tests.core.costs.recorded import recorder_at, stepped, usual
from tests.widgets.opened import made_document, made_recording, open_document

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def session() -> Session:
    return Session()


@pytest.fixture
def panel(session: Session, qtbot) -> Iterator[CostsPanel]:
    made = CostsPanel(session)
    qtbot.addWidget(made)
    made.resize(620, 620)
    with qtbot.waitExposed(made):
        made.show()
    yield made
    made.release()


def record(path: Path, steps: int = 6, scale: float = 1.0) -> Path:
    """Two workers of two environments, the second twice as slow."""
    with recorder_at(path, environments_per_process=2) as recorder:
        for k in range(1, steps + 1):
            for env in range(4):
                told = usual(scale * (1 + env // 2))
                stepped(recorder, env, k, told, per_worker=2)
    return path


@pytest.fixture
def document(session: Session, panel: CostsPanel, tmp_path: Path, qtbot) -> Document:
    made = open_document(record(tmp_path / "run.isoscope.h5"))
    session.add(made)
    qtbot.waitUntil(lambda: panel.report is not None)
    qtbot.waitUntil(panel.settled)
    return made


def cell(panel: CostsPanel, key: str, column: int = 1) -> str:
    item = panel.table.item_of(key)
    assert item is not None, key
    return item.text(column)


def click(qtbot, panel: CostsPanel, which: str) -> None:
    button = panel.choice.buttons[which]
    qtbot.mouseClick(button, LEFT, pos=QPoint(8, button.height() // 2))
    qtbot.waitUntil(panel.settled)


def test_it_names_the_slowest_and_shows_the_parts(
    panel: CostsPanel, document: Document
) -> None:
    assert panel.said.text().startswith(
        "Slowest is worker 1 (env 2, 3): 40.0 ms a turn, 60 % of it in substeps"
    )
    assert cell(panel, "step:step", 3) == "2.00 ms"
    assert cell(panel, "step:step/substeps", 4) == "60 %"
    assert "all entries add up to what the outermost take" in panel.note.text()
    assert cell(panel, "worker:worker 1", 0).startswith("▲ worker 1")
    assert not panel.problems.isVisible()


def test_what_is_not_told_is_said_and_never_a_zero(
    panel: CostsPanel, document: Document
) -> None:
    for section in ("solves", "copies"):
        item = panel.table.item_of(f"{section}:none")
        assert item is not None
        assert item.text(0) == "not told"
        assert item.toolTip(0)


def test_the_last_steps_by_a_click(
    panel: CostsPanel, document: Document, qtbot
) -> None:
    panel.choice.last = 2
    click(qtbot, panel, "last")
    assert panel.subtitle == "last 2 control steps"
    assert cell(panel, "step:step", 6) == "8"
    click(qtbot, panel, "all")
    assert cell(panel, "step:step", 6) == "20"


def test_the_selected_range_is_followed(
    panel: CostsPanel, session: Session, document: Document, qtbot
) -> None:
    click(qtbot, panel, "range")
    assert panel.subtitle == "no range is selected: all"
    session.clock.set_loop_range(8, 15)
    qtbot.waitUntil(panel.settled)
    assert panel.subtitle == "native 8 to 15"
    assert cell(panel, "step:step", 6) == "8"


def test_two_recordings_are_compared_by_keeping_one(
    panel: CostsPanel, session: Session, document: Document, tmp_path: Path, qtbot
) -> None:
    qtbot.mouseClick(panel.keep_tool, LEFT)
    assert panel.keep_tool.isChecked()
    session.add(open_document(record(tmp_path / "other.isoscope.h5", scale=1.5)))
    qtbot.waitUntil(lambda: panel.said.text().startswith("A control step"))
    assert "takes 1.50 times as long: 15 ms against 10 ms" in panel.said.text()
    assert cell(panel, "compared:step/substeps", 3) == "+3.00 ms"
    qtbot.mouseClick(panel.keep_tool, LEFT)
    assert panel.said.text().startswith("Slowest")
    assert panel.table.item_of("compared") is None


def test_ctrl_c_copies_csv(panel: CostsPanel, document: Document, qtbot) -> None:
    qtbot.keyClick(panel.table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text().startswith("section,name,stage,unit,")


def test_keys_fold_a_section_and_it_stays_so(
    panel: CostsPanel, document: Document, qtbot
) -> None:
    table = panel.table
    section = table.item_of("workers")
    table.setCurrentItem(section)
    table.setFocus()
    qtbot.keyClick(table, Qt.Key.Key_Left)
    assert not section.isExpanded()
    panel.invalidate()
    qtbot.waitUntil(panel.settled)
    again = table.item_of("workers")
    assert not again.isExpanded()
    assert table.currentItem() is again
    assert table.item_of("step").isExpanded()


def test_a_bar_says_what_is_under_the_pointer(
    panel: CostsPanel, document: Document
) -> None:
    worker, stage, _, box = next(p for p in panel.bars.pieces())
    assert (worker.name, stage) == ("worker 1", Stage.RESTORE)
    assert panel.bars.about(box.center().toPoint()) == (
        "worker 1 (env 2, 3)\nrestore: 4.00 ms, 10 % of a turn"
    )
    assert panel.bars.about(QPoint(1, 1)) == ""


def test_a_recording_that_grows_is_followed(
    panel: CostsPanel, session: Session, tmp_path: Path, qtbot
) -> None:
    with recorder_at(tmp_path / "live.isoscope.h5") as recorder:
        stepped(recorder, 0, 1, usual())
        stepped(recorder, 0, 2, usual())
        recorder.flush()
        source = open_source(tmp_path / "live.isoscope.h5")
        source.index()
        document = Document(source)
        session.add(document)
        qtbot.waitUntil(lambda: panel.report is not None)
        assert cell(panel, "step:step", 6) == "1"
        for k in range(3, 8):
            stepped(recorder, 0, k, usual())
        recorder.flush()
        source.refresh()
        document.set_progress(7, 7)
        qtbot.waitUntil(lambda: cell(panel, "step:step", 6) == "6")
        source.close()
        document.phase = Phase.READY


def test_without_a_profile_it_says_how_to_record_one(
    panel: CostsPanel, session: Session, tmp_path: Path, qtbot
) -> None:
    assert panel.empty.text().startswith("Open a recording")
    session.add(made_document(made_recording(5)))
    assert "tap.attach(env" in panel.empty.text()
    with recorder_at(tmp_path / "bare.isoscope.h5") as recorder:
        for k in range(1, 4):
            stepped(recorder, 0, k, [])
    session.add(open_document(tmp_path / "bare.isoscope.h5"))
    qtbot.waitUntil(lambda: panel.report is not None)
    assert panel.said.text().startswith("No profiler entries were recorded.")
    assert "tap.attach" not in panel.said.text()  # it was tapped
    assert cell(panel, "wall:control steps") == "4.00 ms"
    assert panel.bars.sizeHint().height() == 0


def test_what_does_not_fit_is_told(
    panel: CostsPanel, session: Session, tmp_path: Path, qtbot
) -> None:
    odd = [("step", 1.0, "ms", ""), ("step/restore", 3.0, "ms", "step")]
    with recorder_at(tmp_path / "odd.isoscope.h5") as recorder:
        for k in range(1, 4):
            stepped(recorder, 0, k, odd)
    session.add(open_document(tmp_path / "odd.isoscope.h5"))
    qtbot.waitUntil(lambda: panel.problems.isVisible())
    assert "▲ the parts of step are longer than it is" in panel.problems.text()


def test_both_themes_tell_stages_apart(
    panel: CostsPanel, session: Session, document: Document
) -> None:
    for theme in ("dark", "light"):
        session.set_theme(theme)
        image = panel.bars.grab().toImage()
        seen = {
            image.pixelColor(x, image.height() // 4).name()
            for x in range(image.width())
        }
        assert {panel.tokens.environment(0), panel.tokens.environment(1)} <= seen
