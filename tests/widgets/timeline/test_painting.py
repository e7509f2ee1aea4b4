from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QObject, QPoint
from PySide6.QtGui import QColor, QImage, QPaintEvent

from isoscope.core.recording.registry import load
from isoscope.core.timeline.model import Arc, FindingMark, Taint, TimelineExtras
from isoscope.widgets.session import Phase
from isoscope.widgets.theme import tokens
from isoscope.widgets.timeline.canvas import Canvas
from tests.widgets.timeline.stand_ins import document_of, recording_of, truth, turns


def pixels_of(panel) -> np.ndarray:
    """What is on the screen, as int [height, width, 3]."""
    image = panel.canvas.grab().toImage()
    image = image.convertToFormat(QImage.Format.Format_RGB32)
    raw = np.frombuffer(image.constBits(), np.uint8)
    high, wide = image.height(), image.width()
    return raw.reshape(high, wide, 4)[:, :, 2::-1].astype(int)


def columns_of(pixels, colour: str) -> np.ndarray:
    """The x of every pixel column that holds exactly this colour."""
    red, green, blue, _ = QColor(colour).getRgb()
    same = (pixels == [red, green, blue]).all(axis=2)
    return np.flatnonzero(same.any(axis=0))


def renders(monkeypatch) -> list[int]:
    counted: list[int] = []
    render = Canvas._render

    def count(self, frame):
        counted.append(1)
        render(self, frame)

    monkeypatch.setattr(Canvas, "_render", count)
    return counted


def test_the_playhead_stands_on_its_row(opened, session):
    panel = opened(recording_of(np.full(400, 0.02)))
    session.clock.seek(300)
    place = panel.canvas.place
    strip = pixels_of(panel)[place.lanes_top + 4 : place.lanes_bottom]
    found = columns_of(strip, tokens("dark").accent)
    assert found.min() <= panel.canvas.frame().x_mid(300) <= found.max() + 1
    assert len(found) <= 3


def test_a_moving_playhead_leaves_nothing_behind(opened, session, qtbot):
    panel = opened(recording_of(np.full(400, 0.02)))
    for row in (10, 200, 390, 55):
        session.clock.seek(row)
        qtbot.wait(1)
    moved = pixels_of(panel)
    panel.canvas.set_theme("light")
    panel.canvas.set_theme("dark")
    assert (pixels_of(panel) == moved).all()


def test_a_moving_playhead_renders_no_lanes(opened, session, qtbot, monkeypatch):
    panel = opened(recording_of(np.full(400, 0.02)))
    counted = renders(monkeypatch)
    for row in range(0, 400, 20):
        session.clock.seek(row)
        panel.canvas.repaint()
    assert counted == []


class Painted(QObject):
    """How many pixels each paint event asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.areas: list[int] = []

    def eventFilter(self, watched, event):  # noqa: N802
        if isinstance(event, QPaintEvent):
            self.areas.append(sum(r.width() * r.height() for r in event.region()))
        return False


def test_a_moving_playhead_paints_only_strips(opened, session, qtbot):
    panel = opened(recording_of(np.full(400, 0.02)))
    painted = Painted()
    panel.canvas.installEventFilter(painted)
    session.clock.seek(200)
    qtbot.waitUntil(lambda: bool(painted.areas))
    assert max(painted.areas) < 0.15 * panel.canvas.width() * panel.canvas.height()


def test_one_short_step_in_a_million_is_seen_and_drawn_alone(opened, qtbot):
    h_s = np.full(1_000_000, 0.02)
    h_s[654_321] = 0.01
    panel = opened(recording_of(h_s))
    panel.session.clock.seek(0)
    place = panel.canvas.place
    steps = place.pinned[0]
    band = pixels_of(panel)[steps.top : steps.bottom, place.left + 4 :]
    found = columns_of(band, tokens("dark").accent) + place.left + 4
    assert len(found) <= 2
    assert abs(found.mean() - panel.canvas.frame().x_mid(654_321)) < 2


@pytest.mark.parametrize("theme", ["dark", "light"])
def test_everything_at_once_is_painted_in_both_themes(
    opened, session, recordings, theme
):
    case = "shared_cartpole_missed_restore"
    panel = opened(load(recordings / f"{case}.h5"))
    labels = truth(recordings / f"{case}.truth.json")
    extras = TimelineExtras(
        labels=labels,
        arcs=(Arc(33, 34, "error"), Arc(100, 20, "note"), Arc(5, 9)),
        findings=(FindingMark(34, "error", "missed restore", 0),),
        residual=np.full(len(labels), 1e-9),
        tainted=(Taint(34, 60, 0),),
    )
    panel.set_extras(session.active, extras)
    session.set_theme(theme)
    session.clock.set_loop_range(20, 60)
    panel.select_range(30, 40)
    colours = tokens(theme)
    pixels = pixels_of(panel)
    for colour in (colours.error, colours.environment(0), colours.environment(1)):
        assert len(columns_of(pixels, colour))
    background = QColor(colours.panel).getRgb()[:3]
    assert tuple(pixels[panel.canvas.height() - 2, 2]) == background


def test_the_rows_still_to_come_are_hatched(session, panel, qtbot):
    recording = recording_of(np.full(100, 0.02))
    recording.expected_steps = 400
    session.add(document_of(recording, Phase.INDEXING))
    qtbot.waitUntil(panel.settled)
    place = panel.canvas.place
    band = pixels_of(panel)[place.lanes_top + 60 : place.lanes_bottom - 4]
    half = panel.canvas.frame().x_of(250)
    background = QColor(tokens("dark").panel).getRgb()[:3]
    ahead = band[:, round(half) : place.right - 4]
    share = (ahead != background).any(axis=2).mean()
    assert 0.05 < share < 0.6


def test_labels_say_whose_lane_it_is(opened, session):
    recording = recording_of(np.full(400, 0.02))
    recording.labels = turns(400, 4)
    panel = opened(recording)
    pixels = pixels_of(panel)
    for placed in panel.canvas.place.scrolled:
        left = pixels[placed.top : placed.bottom, : panel.canvas.place.left - 4]
        chip = columns_of(left, tokens("dark").environment(placed.lane.env))
        assert len(chip) >= 5


def test_a_hidden_panel_is_settled(opened, session):
    panel = opened(recording_of(np.full(400, 0.02)))
    panel.hide()
    panel.canvas.fit()
    panel.zoom_in()
    assert panel.settled()


def test_the_message_is_painted_where_there_is_nothing(panel):
    pixels = pixels_of(panel)
    assert len(columns_of(pixels, tokens("dark").panel)) == panel.canvas.width()
    ink = (pixels != pixels[0, 0]).any(axis=2)
    rows = np.flatnonzero(ink.any(axis=1))
    assert abs(rows.mean() - panel.canvas.height() / 2) < 30
    assert panel.canvas.childAt(QPoint(5, 5)) is None
