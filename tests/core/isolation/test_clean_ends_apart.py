"""Nothing is found in clean runs whose environments end at different times.

The clean runs of every kind end all at once, by their limit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from isoscope.app import environments
from isoscope.app.demo.settings import DemoSettings
from tests.core.envs.rail_scene import make_rail_scene
from tests.core.isolation.clean.runs import MODES
from tests.core.isolation.recorded_demo import recorded

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("scene", ["resident", "shared"])
def test_nothing_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scene: Any, mode: Any
) -> None:
    monkeypatch.setattr(environments, "make_scene", make_rail_scene)
    settings = DemoSettings(
        task="CartPole",
        envs=3,
        scene=scene,
        steps=45,
        device="cpu",
        autoreset=mode,
        task_settings={"max_steps": 40},
    )
    one = recorded(tmp_path, settings)
    assert 0 < one.demo.returns.count < 6  # some fell before others' limit
    assert [f"{f.severity}: {f.message}" for f in one.said.findings] == []
