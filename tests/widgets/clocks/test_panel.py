"""The Clocks panel with real clicks and the clock's moves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QFontMetrics

from isoscope.widgets.clocks.facts import Fact, facts_at
from isoscope.widgets.clocks.panel import ClocksPanel
from isoscope.widgets.clocks.table import COLUMN_PX, FactsTable
from isoscope.widgets.session import Session
from isoscope.widgets.signals.span import Span
from tests.widgets.opened import (
    analysed_document,
    made_document,
    made_recording,
    open_document,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from isoscope.widgets.session import Document

LEFT = Qt.MouseButton.LeftButton
MISSED = "shared_cartpole_missed_restore.h5"


@pytest.fixture
def session() -> Session:
    return Session()


@pytest.fixture
def panel(session: Session, qtbot) -> Iterator[ClocksPanel]:
    made = ClocksPanel(session)
    qtbot.addWidget(made)
    made.resize(700, 520)
    with qtbot.waitExposed(made):
        made.show()
    yield made
    made.release()


@pytest.fixture
def document(session: Session, panel: ClocksPanel, recordings: Path, qtbot) -> Document:
    made = analysed_document(recordings / MISSED)
    session.add(made)
    qtbot.waitUntil(panel.settled)
    return made


@pytest.fixture
def missed_facts(recordings: Path) -> list[list[Fact]]:
    document = analysed_document(recordings / MISSED)
    return [facts_at(document, row) for row in (0, 31, 34, 120, 125)]


def value(panel: ClocksPanel, name: str) -> str:
    return next(f.value for f in panel.table.facts if f.name == name)


def test_the_table_follows_the_cursor(
    panel: ClocksPanel, session: Session, document: Document, qtbot
) -> None:
    session.clock.seek(34)
    qtbot.waitUntil(panel.settled)
    assert value(panel, "native step") == "34 of 125"
    assert value(panel, "goes on from") == "native 33, env 1"
    assert "scene 0.34001 s" in panel.table.accessibleDescription()


def test_the_columns_of_few_facts_share_the_whole_width(qtbot) -> None:
    table = FactsTable()
    qtbot.addWidget(table)
    table.resize(3 * COLUMN_PX + 10, table.height_in(3 * COLUMN_PX + 10))
    table.show_facts([Fact(f"fact {at}", "102,189 of 102,228") for at in range(13)])
    assert table.columns == 3
    assert table.grid == (7, 2)
    table.show_facts([Fact(f"fact {at}", "1") for at in range(15)])
    assert table.grid == (7, 3)


def test_a_click_in_a_plot_seeks(
    panel: ClocksPanel, session: Session, document: Document, qtbot
) -> None:
    body = panel.canvas.stack.body(1)
    x = round(panel.canvas.x_of(60))
    qtbot.mouseClick(panel.canvas, LEFT, pos=QPoint(x, int(body.center().y())))
    assert session.clock.row == 60


def test_a_drag_zooms_and_fit_shows_all(
    panel: ClocksPanel, document: Document, qtbot
) -> None:
    y = int(panel.canvas.stack.body(0).center().y())
    begin, end = (QPoint(round(panel.canvas.x_of(r)), y) for r in (30, 50))
    qtbot.mousePress(panel.canvas, LEFT, pos=begin)
    qtbot.mouseMove(panel.canvas, begin + QPoint(20, 0))
    qtbot.mouseMove(panel.canvas, end)
    qtbot.mouseRelease(panel.canvas, LEFT, pos=end)
    qtbot.waitUntil(panel.settled)
    assert panel.canvas.span.low == pytest.approx(30, abs=1)
    assert panel.subtitle.startswith("native 3")
    panel.fit_tool.click()
    qtbot.waitUntil(panel.settled)
    assert panel.canvas.span == Span.whole(126)


def test_a_finding_zooms_where_it_would_be_lost(
    panel: ClocksPanel, session: Session, document: Document, qtbot
) -> None:
    session.show_finding(0)
    qtbot.waitUntil(panel.settled)
    assert panel.canvas.span.is_whole  # large enough as it is
    session.show_finding(None)
    panel.show_span(Span.whole(126).between(80, 120))
    session.show_finding(0)
    qtbot.waitUntil(panel.settled)
    assert panel.canvas.span.low <= 34 <= 39 <= panel.canvas.span.high
    assert panel.canvas.stack.notes.spans == ((34, 39),)


def test_who_is_looked_at_stands_in_the_title(
    panel: ClocksPanel, session: Session, document: Document, qtbot
) -> None:
    session.focus(1)
    qtbot.waitUntil(panel.settled)
    assert panel.subtitle == "env 1"
    assert [c.name for c in panel.specs[1].curves] == ["env 0", "env 1"]


def test_the_analysis_brings_the_scene_s_clock(
    panel: ClocksPanel, session: Session, recordings: Path, qtbot
) -> None:
    plain = open_document(recordings / MISSED)
    session.add(plain)
    qtbot.waitUntil(panel.settled)
    assert len(panel.specs) == 1
    plain.set_analysis(analysed_document(recordings / MISSED).analysis)
    qtbot.waitUntil(panel.settled)
    assert len(panel.specs) == 3


def test_a_low_panel_keeps_the_clocks_and_what_matters_most(
    panel: ClocksPanel, document: Document, qtbot
) -> None:
    panel.resize(460, 240)
    qtbot.waitUntil(panel.settled)
    assert [plot.actor for plot in panel.specs] == ["clocks"]
    assert panel.table.height() <= 120
    assert panel.table.facts[0].name == "native step"


def test_nothing_open_is_said(panel: ClocksPanel) -> None:
    assert panel.empty.isVisible()
    assert panel.settled()


def test_rows_that_come_later_are_drawn(
    panel: ClocksPanel, session: Session, recordings: Path, qtbot
) -> None:
    from isoscope.core.recording.registry import open_source
    from isoscope.widgets.session import Document, Phase

    source = open_source(recordings / MISSED)
    grown = Document(source, source.preview())
    session.add(grown)
    source.index()
    grown.phase = Phase.READY
    grown.set_progress(1, 1)
    qtbot.waitUntil(panel.settled)
    assert panel.canvas.span.rows == 126
    source.close()


def test_both_themes_draw_the_lines(
    panel: ClocksPanel, session: Session, document: Document, qtbot
) -> None:
    for theme in ("dark", "light"):
        session.set_theme(theme)
        session.focus(None)
        qtbot.waitUntil(panel.settled)
        image = panel.canvas.grab().toImage()
        seen = {
            image.pixelColor(x, y).name()
            for x in range(0, image.width(), 1)
            for y in range(20, image.height(), 3)
        }
        assert panel.tokens.environment(0) in seen
        assert panel.tokens.environment(1) in seen


def test_what_is_not_recorded_is_told_in_place_of_plots(
    panel: ClocksPanel, session: Session, recordings: Path, qtbot
) -> None:
    silent = made_recording(4)
    silent.steps.time_s[:] = np.nan
    session.add(made_document(silent))
    qtbot.waitUntil(panel.settled)
    assert panel.nothing.isVisible()
    assert "Neither recording, scene nor control time" in panel.nothing.text()
    assert not panel.canvas.isVisible()
    assert not panel.canvas.stack.isVisible()
    session.add(analysed_document(recordings / MISSED))
    qtbot.waitUntil(panel.settled)
    assert panel.canvas.isVisible()
    assert panel.canvas.stack.isVisible()
    assert not panel.nothing.isVisible()


@pytest.mark.parametrize("width", [400, 526, 600, 720])
def test_no_value_of_the_table_is_cut(qtbot, missed_facts, width: int) -> None:
    table = FactsTable()
    qtbot.addWidget(table)
    table.resize(width, table.height_in(width))
    metrics = QFontMetrics(table.values_font)
    for facts in missed_facts:
        table.show_facts(facts)
        placed = table.placed()
        assert len(placed) >= len(facts) - 3  # what matters least
        for one in placed:
            assert " ".join(one.lines) == one.fact.value
            assert all(metrics.horizontalAdvance(x) <= one.value_px for x in one.lines)


def test_names_keep_their_order_while_a_run_goes_on(
    panel: ClocksPanel, session: Session, document: Document, qtbot
) -> None:
    stack = panel.canvas.stack
    plot, body = stack.plots[1], stack.body(1)

    def crossed(first: float, second: float) -> list[str]:
        for line, value in zip(plot.lines, (first, second), strict=True):
            line.values[-1] = value
        return [curve.name for _, curve in stack.names(plot, body)]

    assert crossed(plot.high, plot.low) == ["env 0", "env 1"]
    assert crossed(plot.low, plot.high) == ["env 1", "env 0"]
    stack.goes_on = True
    assert crossed(plot.high, plot.low) == ["env 1", "env 0"]
    panel.show_span(Span.whole(126).between(80, 120))
    qtbot.waitUntil(panel.settled)
    assert not stack.goes_on  # a file's order is that of its curves
