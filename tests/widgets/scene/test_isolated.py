"""The Scene panel looking at one environment of a shared scene, with real keys."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from isoscope.widgets.scene.panel import ScenePanel
from isoscope.widgets.scene.state import Ghost
from isoscope.widgets.session import Session
from tests.widgets.opened import analysed_document

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from isoscope.widgets.session import Document

pytestmark = pytest.mark.gl


@pytest.fixture
def panel(qtbot) -> Iterator[ScenePanel]:
    made = ScenePanel(Session())
    qtbot.addWidget(made)
    made.resize(640, 420)
    made.show()
    qtbot.waitExposed(made)
    yield made
    made.release()


@pytest.fixture
def missed(panel: ScenePanel, recordings: Path, qtbot) -> Document:
    document = analysed_document(recordings / "shared_cartpole_missed_restore.h5")
    panel.session.add(document)
    settle(panel, qtbot)
    return document


def settle(panel: ScenePanel, qtbot) -> np.ndarray:
    qtbot.waitUntil(panel.settled, timeout=20_000)
    image = panel.grab_image()
    assert image is not None
    return image


def caption(panel: ScenePanel) -> str:
    return panel._view.caption.text_lines()


def test_the_caption_says_whose_state_it_is_and_why(panel, missed, qtbot) -> None:
    session = panel.session
    session.clock.seek(33)
    settle(panel, qtbot)
    assert "env 1 · episode 1 · control step 8" in caption(panel)
    session.focus(0)
    settle(panel, qtbot)
    assert "env 0 · episode 1 · control step 8" in caption(panel)
    assert "the scene itself holds env 1" in caption(panel)
    assert panel.subtitle == "env 0"
    assert panel.model.state.row == 31


def test_the_colour_is_the_environment_s(panel, missed, qtbot) -> None:
    seen = []
    for row in (31, 33):
        panel.session.clock.seek(row)
        settle(panel, qtbot)
        seen.append(panel.actor_colour(2))
    assert seen == [panel.tokens.environment(0), panel.tokens.environment(1)]


def test_a_finding_brings_its_proof_and_its_labels(panel, missed, qtbot) -> None:
    session = panel.session
    session.clock.seek(34)
    session.focus(0)
    plain = settle(panel, qtbot)
    session.show_finding(0)
    proved = settle(panel, qtbot)
    assert not np.array_equal(plain, proved)
    assert panel.subtitle == "env 0 · overlay: expected start"
    labels = [label.text() for label, *_ in panel._view._labels]
    assert sorted(labels) == ["began here: env 1's state", "should have begun here"]
    assert "how native step 34 began: the state after native step 33" in caption(panel)
    assert "native step 34 is tainted by missed-restore: env 0" in caption(panel)


def test_labels_keep_clear_of_each_other_and_of_the_corners(
    panel, missed, qtbot
) -> None:
    panel.resize(420, 240)
    panel.session.show_finding(0)
    settle(panel, qtbot)
    view = panel._view
    boxes = [label.geometry() for label, *_ in view._labels if label.isVisible()]
    assert len(boxes) == 2
    assert not boxes[0].intersects(boxes[1])
    assert not any(box.intersects(view.caption.geometry()) for box in boxes)


def test_the_overlay_is_cycled_and_comes_back_with_the_finding(
    panel, missed, qtbot
) -> None:
    panel.session.show_finding(0)
    settle(panel, qtbot)
    panel.cycle_overlay()
    settle(panel, qtbot)
    assert panel.subtitle == "env 0 · overlay: other environments"
    panel.cycle_overlay()
    settle(panel, qtbot)
    assert panel.subtitle == "env 0"
    panel.session.show_finding(None)
    panel.session.show_finding(0)
    settle(panel, qtbot)
    assert panel.subtitle == "env 0 · overlay: expected start"


def test_side_by_side_both_environments_are_in_the_picture(
    panel, recordings, qtbot
) -> None:
    document = analysed_document(recordings / "shared_cartpole_leak_gravity.h5")
    panel.session.add(document)
    before = settle(panel, qtbot)
    panel.session.show_finding(0)
    settle(panel, qtbot)
    camera = panel._view.control.camera
    clip = camera.projection(panel._view.aspect) @ camera.view()
    for label, place, _ in panel._view._labels:
        x, y, _, w = clip @ np.append(place, 1.0)
        assert w > 0, label.text()
        assert abs(x / w) < 1
        assert abs(y / w) < 1
    texts = {label.text() for label, *_ in panel._view._labels}
    assert "env 0: affected from 2/4" in texts
    panel.session.show_finding(None)
    panel.session.focus(None)
    panel.session.clock.seek(0)
    assert np.array_equal(settle(panel, qtbot), before)  # the first view is back


def test_overlays_from_outside_come_first(panel, missed, qtbot) -> None:
    panel.session.show_finding(0)
    panel.set_ghosts([Ghost(2, "#ff00ff", "mine")], "mine")
    settle(panel, qtbot)
    assert panel.model.overlay.name == "mine"
    panel.set_ghosts([])
    settle(panel, qtbot)
    assert panel.model.overlay.name == "expected start"
