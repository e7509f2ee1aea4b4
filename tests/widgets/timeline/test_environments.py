"""Environments and findings in the Timeline panel, with real clicks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import QPoint, Qt

from tests.widgets.opened import analysed_document, open_document

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.widgets.session import Document

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def missed(panel, session, recordings: Path, qtbot) -> Document:
    document = analysed_document(recordings / "shared_cartpole_missed_restore.h5")
    session.add(document)
    qtbot.waitUntil(panel.settled)
    return document


def placed(panel, key: str):
    place = panel.canvas.place
    return next(p for p in (*place.pinned, *place.scrolled) if p.lane.key == key)


def keys(panel) -> list[str]:
    return [lane.key for lane in panel.canvas.timeline.lanes]


def test_the_analysis_brings_a_lane_an_environment(
    panel, session, recordings, qtbot
) -> None:
    document = open_document(recordings / "shared_cartpole_2env.h5")
    session.add(document)
    qtbot.waitUntil(panel.settled)
    assert keys(panel) == ["steps"]
    found = analysed_document(recordings / "shared_cartpole_2env.h5").analysis
    document.set_analysis(found)
    qtbot.waitUntil(panel.settled)
    assert keys(panel) == ["owner", "residual", "steps", "env:0", "env:1"]


def test_a_click_on_a_lane_s_name_looks_at_its_environment(
    panel, session, missed, qtbot
) -> None:
    at = QPoint(20, int(placed(panel, "env:1").middle))
    qtbot.mouseClick(panel.canvas, LEFT, pos=at)
    assert missed.focus == 1
    assert panel.canvas.timeline.focus == 1
    qtbot.mouseClick(panel.canvas, LEFT, pos=at)
    assert missed.focus is None


def test_a_click_on_a_finding_s_mark_looks_at_it(panel, session, missed, qtbot) -> None:
    x = panel.canvas.frame().x_mid(34)
    at = QPoint(round(x) + 2, int(placed(panel, "events").middle))
    qtbot.mouseClick(panel.canvas, LEFT, pos=at)
    assert missed.finding == 0
    assert missed.focus == 0
    assert session.clock.row == 34


def test_a_click_beside_a_mark_only_seeks(panel, session, missed, qtbot) -> None:
    x = panel.canvas.frame().x_mid(80)
    at = QPoint(round(x), int(placed(panel, "events").middle))
    qtbot.mouseClick(panel.canvas, LEFT, pos=at)
    assert missed.finding is None
    assert session.clock.row == 80


def test_hidden_environments_are_only_hinted_at(panel, session, missed, qtbot) -> None:
    def mean(key: str) -> float:
        image = panel.canvas.grab().toImage()
        lane = placed(panel, key)
        y = int(lane.middle)
        left, right = panel.canvas.place.left + 40, panel.canvas.place.right - 40
        found = [image.pixelColor(x, y).lightness() for x in range(left, right, 3)]
        return sum(found) / len(found)

    before = mean("env:1")
    kept = mean("env:0")
    missed.set_hidden_envs({1})
    qtbot.waitUntil(panel.settled)
    assert mean("env:1") < before - 20
    assert mean("env:0") == pytest.approx(kept, abs=1)


def test_a_finding_that_is_out_of_view_is_brought_into_it(
    panel, session, missed, qtbot
) -> None:
    session.show_finding(0)
    assert panel.canvas.view.all_shown
    session.show_finding(None)
    panel.show_rows(90, 110)
    session.show_finding(0)
    view = panel.canvas.view
    assert view.first <= 34
    assert view.last >= 39
    assert not view.all_shown


def test_a_lane_that_is_looked_at_is_scrolled_into_sight(
    panel, session, recordings, qtbot
) -> None:
    import numpy as np

    document = analysed_document(recordings / "shared_cartpole_2env.h5")
    labels = document.analysis.labels
    labels.env[:] = np.arange(len(labels)) % 40
    session.add(document)
    qtbot.waitUntil(panel.settled)
    place = panel.canvas.place
    assert placed(panel, "env:39").bottom > place.scroll_bottom
    session.focus(39)
    qtbot.waitUntil(panel.settled)
    place = panel.canvas.place
    assert placed(panel, "env:39").bottom <= place.scroll_bottom + 1
