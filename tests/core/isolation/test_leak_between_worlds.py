"""A batch whose worlds reach each other is seen by stepping each world again alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoscope.app import environments
from isoscope.app.demo.settings import DemoSettings
from isoscope.core.replay.scene_engine import SceneEngine
from tests.core.envs.rail_scene import RailScene
from tests.core.isolation import recorded_demo

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from isoscope.core.isolation.findings import Audit
    from isoscope.core.replay.engine import Blueprint

FROM_S = 0.11  # from when on it mixes: in the 6th native step of 0.02 s
MODEL = "cartpole"


class MixingScene(RailScene):
    """Adds a little of world 0's velocities to world 1's, as a wrong index would."""

    def step(self, h_s: float, worlds: Any = None) -> Any:
        report = super().step(h_s, worlds)
        if self.time_s[0] > FROM_S and (worlds is None or worlds[1]):
            for v in self._v:
                v[1] += 1e-6 * v[0]
        return report


def audited(
    kind: type[RailScene], folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Audit:
    """Record three environments of such a batch, and step each again alone in one."""

    def make_scene(model: str, worlds: int, device: str, precision: Any, _: str) -> Any:
        return kind(model, worlds, precision)

    def make_engine(blueprint: Blueprint) -> Any:
        return SceneEngine(kind(MODEL, blueprint.worlds, blueprint.precision))

    monkeypatch.setattr(environments, "make_scene", make_scene)
    monkeypatch.setattr(recorded_demo, "make_builtin", make_engine)
    settings = DemoSettings(
        task="CartPole", envs=3, scene="resident", device="cpu", steps=12, seed=3
    )
    return recorded_demo.recorded(folder, settings).said


def test_whom_another_world_reached_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [found] = audited(MixingScene, tmp_path, monkeypatch).findings
    assert (found.id, found.env, found.episode) == ("hidden-leak", 1, 1)
    # The 6th changed a velocity, which shows in the 7th's place; two a control step.
    assert found.control_step == 4
    assert found.evidence["equal_steps_before"] == 6


def test_nothing_is_said_of_worlds_by_themselves(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = audited(RailScene, tmp_path, monkeypatch)
    assert said.findings == []
    assert "hidden-leak" in [check.id for check in said.checks if check.ran]
