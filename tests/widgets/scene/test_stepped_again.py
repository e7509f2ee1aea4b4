"""What was stepped again in the scene: a ghost, two scenes with one camera, and marks.

And states between the recorded ones, which are marked wherever they are shown.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from PySide6.QtCore import Qt

from isoscope.core.between import goes_on_to
from isoscope.core.replay.states import Keeper, Replayed
from isoscope.core.replay.tape import StateField
from isoscope.widgets.scene.panel import ScenePanel
from isoscope.widgets.session import Session
from tests.widgets.opened import analysed_document

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from isoscope.widgets.session import Document

pytestmark = pytest.mark.gl
LEFT = Qt.MouseButton.LeftButton
ENV, FIRST, OFF_M = 0, 20, 0.4


@pytest.fixture
def panel(qtbot) -> Iterator[ScenePanel]:
    made = ScenePanel(Session())
    qtbot.addWidget(made)
    made.resize(760, 420)
    made.show()
    qtbot.waitExposed(made)
    yield made
    made.release()


@pytest.fixture
def document(panel: ScenePanel, recordings: Path, qtbot) -> Document:
    made = analysed_document(recordings / "shared_cartpole_missed_restore.h5")
    panel.session.add(made)
    panel.session.focus(ENV)
    settle(panel, qtbot)
    return made


def settle(panel: ScenePanel, qtbot) -> np.ndarray:
    qtbot.waitUntil(panel.settled, timeout=20_000)
    image = panel.grab_image()
    assert image is not None
    return image


def caption(panel: ScenePanel) -> str:
    return panel._view.caption.text_lines()


def stepped(document: Document) -> Replayed:
    """Env 0 as recorded, and from a native step on moved aside."""
    keeper = Keeper(1e-3)
    analysis = document.analysis
    assert analysis is not None
    rows = analysis.rows_of(ENV)
    for actor in document.recording.actors:
        for name in ("translation", "rotation"):
            track = actor.fields.tracks.get(name)
            if track is None or actor.static:
                continue
            unit = "m" if name == "translation" else ""
            field = StateField(
                actor.name, name, "pose", unit, name == "rotation", track
            )
            window = track.read(0, len(document.recording))
            recorded = window.values[rows]
            here = recorded.copy()
            if name == "translation":
                here[rows >= FIRST, 2] += OFF_M
            keeper.take(ENV, field, rows, recorded, here, window.valid[rows], None)
    states = keeper.states(document.recording)
    return Replayed("stepped alone", None, states)  # type: ignore[arg-type]  # unused


def test_it_is_a_ghost_where_it_was_stepped(
    panel: ScenePanel, document: Document, qtbot
) -> None:
    session = panel.session
    session.clock.seek(FIRST + 4)
    plain = settle(panel, qtbot)
    document.set_replayed(stepped(document))
    ghost = settle(panel, qtbot)
    assert (plain != ghost).any()
    assert "overlay: stepped alone: " in caption(panel)
    assert "is off by 0.4 m" in caption(panel)
    overlay = panel.model.overlay
    assert overlay is not None
    assert overlay.ghosts[0].arrow, "it is far enough for an arrow"
    session.clock.seek(FIRST - 6)
    settle(panel, qtbot)
    assert "stepped alone: equal here" in caption(panel)
    document.set_replay_view("hidden")
    settle(panel, qtbot)
    assert "stepped alone" not in caption(panel)


def test_side_by_side_has_one_camera(
    panel: ScenePanel, document: Document, qtbot
) -> None:
    button = panel.toolbar.button("beside")
    assert not button.isVisible(), "there is nothing to stand beside"
    panel.session.clock.seek(FIRST + 4)
    document.set_replayed(stepped(document))
    settle(panel, qtbot)
    assert button.isVisible()
    qtbot.mouseClick(button, LEFT)
    both = settle(panel, qtbot)
    assert document.replay_view == "beside"
    assert [cell.name for cell in panel.pair.cells] == ["recorded", "stepped alone"]
    assert panel.pair.cells[1].chips[0].text.endswith("is off by 0.4 m")
    assert panel.pair.cells[1].chips[0].tone == "error"
    half = both.shape[1] // 2
    left, right = both[:, : half - 2], both[:, half + 2 :]
    assert (left[:, : right.shape[1]] != right[:, : left.shape[1]]).any()
    camera = panel._view.control.camera
    panel.look_along(1, 1)
    turned = settle(panel, qtbot)
    assert panel._view.control.camera != camera
    for part in (np.s_[:, : half - 2], np.s_[:, half + 2 :]):
        assert (turned[part] != both[part]).any(), "both are seen by the one camera"
    qtbot.mouseClick(button, LEFT)
    settle(panel, qtbot)
    assert document.replay_view == "ghost"
    assert "overlay: stepped alone" in caption(panel)


def test_beside_without_a_replay_says_what_to_do(
    panel: ScenePanel, document: Document
) -> None:
    told = []
    panel.session.messaged.connect(told.append)
    panel.toggle_beside()
    assert "run a replay in the Replay panel first" in told[0].text
    assert not panel.beside


def test_where_it_was_not_stepped_it_says_so(
    panel: ScenePanel, document: Document, qtbot
) -> None:
    document.set_replayed(stepped(document))
    document.set_replay_view("beside")
    panel.session.focus(1)
    panel.session.clock.seek(FIRST + 5)
    settle(panel, qtbot)
    assert panel.pair.cells[1].row == -1
    assert panel.pair.cells[1].chips[0].text == "not stepped again here"


def test_nothing_is_made_up_unless_asked(
    panel: ScenePanel, document: Document, qtbot
) -> None:
    clock, analysis = panel.session.clock, document.analysis
    assert analysis is not None
    clock.seek(22)
    row = analysis.last_row(ENV, clock.row)
    clock.seek(row)
    recorded = settle(panel, qtbot)
    clock.play(1)
    clock.tick(0.01)
    assert clock.row == row
    assert (settle(panel, qtbot) == recorded).all()
    assert "interpolated" not in caption(panel)
    panel.session.set_interpolate(True)
    between = settle(panel, qtbot)
    assert (between != recorded).any()
    after = goes_on_to(analysis, row)
    assert f"from native step {row} to {after}" in caption(panel)
    assert "▲ interpolated" in caption(panel)
    clock.pause()
    clock.seek(row)
    assert (settle(panel, qtbot) == recorded).all()
    assert "interpolated" not in caption(panel), "a recorded state is none"


def test_between_is_between(panel: ScenePanel, document: Document, qtbot) -> None:
    clock, analysis = panel.session.clock, document.analysis
    assert analysis is not None
    panel.session.set_interpolate(True)
    row = analysis.last_row(ENV, 22)
    after = goes_on_to(analysis, row)
    assert after is not None
    places = []
    for seek in (row, after):
        clock.seek(seek)
        settle(panel, qtbot)
        places.append(panel.model.state.transforms.copy())
    clock.seek(row)
    clock.play(1)
    whole = clock.begins_s(after) - clock.begins_s(row)
    clock.tick(0.25 * whole)
    settle(panel, qtbot)
    made = panel.model.state.transforms
    expected = 0.75 * places[0][:, :, 3] + 0.25 * places[1][:, :, 3]
    np.testing.assert_allclose(made[:, :, 3], expected, atol=1e-9)
    for matrix in made[np.isfinite(made).all(axis=(1, 2))][:, :, :3]:
        np.testing.assert_allclose(matrix @ matrix.T, np.eye(3), atol=1e-9)


def test_never_across_a_missed_restore(
    panel: ScenePanel, document: Document, qtbot
) -> None:
    """Env 0's native step 34 goes on from env 1's state, so nothing leads there."""
    clock = panel.session.clock
    panel.session.set_interpolate(True)
    clock.seek(32)
    clock.play(1)
    clock.tick(0.005)
    settle(panel, qtbot)
    assert "interpolated" not in caption(panel)


def test_the_toolbar_and_the_session_are_one(
    panel: ScenePanel, document: Document, qtbot
) -> None:
    button = panel.toolbar.button("interpolate")
    qtbot.mouseClick(button, LEFT)
    settle(panel, qtbot)
    assert panel.session.interpolate
    assert button.isChecked()
    panel.session.set_interpolate(False)
    settle(panel, qtbot)
    assert not button.isChecked()
