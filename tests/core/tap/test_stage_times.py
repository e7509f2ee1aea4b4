"""What our environments' steps take arrives in the recording, by control step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from isoscope.core import tap
from isoscope.core.costs.model import CostModel
from isoscope.core.costs.naming import Stage
from isoscope.core.costs.samples import Phase
from isoscope.core.envs.making import SceneWish
from isoscope.core.envs.profiling import step_profiles
from isoscope.core.envs.resident_env import ResidentVectorEnv
from isoscope.core.envs.scene_env import SceneEnv
from isoscope.core.envs.tasks.registry import make_task
from isoscope.core.envs.vector.hybrid import HybridVectorEnv
from isoscope.core.recording.registry import load
from isoscope.gpu.scene.make import make_scene

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(autouse=True)
def nobody_else_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sessions that other tests left to the garbage collector may still be there."""
    monkeypatch.setattr(step_profiles, "_listeners", ())


@pytest.fixture(autouse=True)
def no_tap() -> Iterator[None]:
    yield
    tap.detach()


WISH = SceneWish(make_scene, device="cpu")


def env() -> SceneEnv:
    return SceneEnv(make_task("CartPole"), WISH, scene="shared")


def report_of(path: Path):
    labelled = load(path).labelled
    assert labelled is not None
    model = CostModel(labelled)
    model.update()
    return labelled, model.report()


def test_each_environment_s_steps_with_their_transitions(tmp_path: Path) -> None:
    path = tmp_path / "run.isoscope.h5"
    # Both call themselves env 0; in the run they are 0 and 1.
    made = [tap.attach(env(), record=path if k == 0 else None) for k in range(2)]
    for one in made:
        one.reset(seed=1)
    for _ in range(4):
        for one in made:
            one.step(np.zeros(1, np.float32))
    tap.detach()
    labelled, report = report_of(path)
    transitions = labelled.transitions()
    for entry in labelled.profile():
        of = transitions[entry.transition]
        assert of.env == entry.env
        if entry.unit == "s":
            assert (of.control_step == 0) == entry.name.startswith("reset")
    assert report.samples[Phase.FIRST] == 2
    assert report.samples[Phase.STEADY] == 6
    assert report.samples[Phase.INITIALISATION] == 2
    assert report.adds_up
    assert report.problems == ()


def test_a_batch_s_steps_go_with_its_rows(tmp_path: Path) -> None:
    path = tmp_path / "batch.isoscope.h5"
    made = tap.attach(ResidentVectorEnv(make_task("CartPole"), WISH, 3), record=path)
    made.reset(seed=1)
    for _ in range(4):
        made.step(np.zeros((3, 1), np.float32))
    tap.detach()
    made.close()
    _, report = report_of(path)
    assert [w.name for w in report.workers] == ["the batch"]
    assert report.samples[Phase.STEADY] == 3
    assert report.adds_up


def test_no_profile_where_nobody_wants_one(tmp_path: Path) -> None:
    path = tmp_path / "none.isoscope.h5"
    made = tap.attach(env(), record=path, profile=False)
    made.reset(seed=1)
    made.step(np.zeros(1, np.float32))
    assert not step_profiles.listened_to
    tap.detach()
    labelled, _ = report_of(path)
    assert labelled.count("profile") == 0


def test_nothing_is_timed_after_the_tap_has_let_go(tmp_path: Path) -> None:
    made = tap.attach(env(), record=tmp_path / "gone.isoscope.h5")
    made.reset(seed=1)
    assert step_profiles.listened_to
    tap.detach()
    made.step(np.zeros(1, np.float32))
    made.step(np.zeros(1, np.float32))
    assert not step_profiles.listened_to


def test_a_vector_environment_s_own_step_is_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "vector.isoscope.h5"
    vector = HybridVectorEnv(
        [tap.factory(env, record=path if k == 0 else None) for k in range(2)]
    )
    made = tap.attach(vector)
    made.reset(seed=1)
    for _ in range(4):
        made.step(np.zeros((2, 1), np.float32))
    made.close()
    tap.detach()
    _, report = report_of(path)
    whole = report.workers[-1]
    assert (whole.name, whole.envs) == ("vector environment", ())
    assert set(whole.stages) >= {Stage.WAIT, Stage.CONVERT}
    assert report.adds_up
