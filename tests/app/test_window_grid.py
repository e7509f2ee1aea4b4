"""Grid mode and costs in the whole window, by their keys and menus."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from PySide6.QtCore import Qt

from isoscope.app.panels import PANELS
from isoscope.app.window.layouts import LAYOUTS
from isoscope.widgets.costs.panel import CostsPanel
from isoscope.widgets.scene.panel import ScenePanel
from tests.app import stand_ins
from tests.app.conftest import settle
from tests.core.costs.recorded import recorder_at, stepped, usual

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.gl


def test_g_in_the_scene_switches_the_grid(make_window, recordings: Path, qtbot) -> None:
    panels = {**stand_ins.ALL, "scene": PANELS["scene"]}
    window = make_window(recordings / "shared_cartpole_2env.h5", panels=panels)
    scene = window.panels["scene"]
    assert isinstance(scene, ScenePanel)
    scene.setFocus()
    canvas = scene._view.canvas_widget
    qtbot.keyClick(canvas, Qt.Key.Key_G)
    settle(window)
    assert scene.grid.on
    assert [cell.env for cell in scene.grid.cells] == [0, 1]
    qtbot.keyClick(canvas, Qt.Key.Key_G)
    settle(window)
    assert not scene.grid.on


def test_costs_are_in_the_layout_live(make_window, tmp_path: Path) -> None:
    path = tmp_path / "run.isoscope.h5"
    with recorder_at(path) as recorder:
        for k in range(1, 5):
            stepped(recorder, 0, k, usual())
    panels = {**stand_ins.ALL, "costs": PANELS["costs"]}
    window = make_window(path, panels=panels)
    window.set_layout("live")
    settle(window)
    costs = window.panels["costs"]
    assert isinstance(costs, CostsPanel)
    assert costs.said.text().startswith("A turn takes 10.0 ms, ")


def test_a_layout_comes_back_with_its_own_panels_only(make_window) -> None:
    window = make_window()
    window.set_layout("live")
    settle(window)

    def shown(of) -> set[str]:
        return {key for key, dock in of.docks.docks.items() if not dock.isHidden()}

    before = shown(window)
    assert before == set(LAYOUTS["live"].panels)
    window.close()
    again = make_window()
    assert again.arrangement.key == "live"
    assert shown(again) == before
