"""Batches on another device: the same numbers, and no look that is not told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from isoscope.core.envs.errors import ActionError, NotResetError
from isoscope.core.envs.lane_options import LaneOptions
from isoscope.core.envs.making import SceneWish
from isoscope.core.envs.resident_env import ResidentVectorEnv
from isoscope.core.envs.scene_env import SceneEnv
from isoscope.core.envs.tasks.registry import make_task
from tests.core.envs.far_scene import FarScene, make_far_scene
from tests.core.envs.making import batch
from tests.core.envs.test_three_kinds import DISTURBED, PLAN, assert_same, trace

WISH = SceneWish(make_far_scene)


def far(task: str = "CartPole", n: int = 3, **kwargs: Any) -> ResidentVectorEnv:
    own = {
        name: kwargs.pop(name)
        for name in ("autoreset_mode", "results")
        if name in kwargs
    }
    names = ("persistent", "disturbances", "ahead", "on_nonfinite")
    chosen = {"ahead": 4} | {n: kwargs.pop(n) for n in names if n in kwargs}
    options = LaneOptions(**chosen)
    return ResidentVectorEnv(make_task(task, **kwargs), WISH, n, options=options, **own)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
@pytest.mark.parametrize("what", ["plain", "all"])
def test_the_same_numbers_as_near(mode: str, what: str) -> None:
    kwargs: dict[str, Any] = {"max_steps": 6, "autoreset_mode": mode}
    if what == "all":
        kwargs |= {"persistent": PLAN, "disturbances": DISTURBED}
    assert_same([trace(make(**kwargs), mode, 20, 3) for make in (batch, far)])


def test_single_environments_may_be_far_too() -> None:
    one = SceneEnv(make_task("Pusher"), WISH)
    first, _ = one.reset(seed=2)
    observation, *_ = one.step(np.zeros(2, np.float32))
    assert not isinstance(observation, FarScene)
    last = one.last_step()
    assert last is not None
    assert np.array_equal(last.observation_before, first)
    state = one.capture()
    one.restore(state)
    assert one.capture() == state
    one.close()


def test_a_loop_that_never_looks_crosses_only_for_draws() -> None:
    many = far(
        "Pusher",
        results="lazy",
        on_nonfinite="invalidate",
        ahead=16,
        max_steps=3,
        n=5,
    )
    scene = many.scene
    assert isinstance(scene, FarScene)
    many.reset(seed=1)
    action = scene.to_device(np.zeros((5, 2), np.float32), "test")
    for _ in range(3):
        many.step(action)
    scene.crossings.clear()
    for _ in range(12):
        many.step(action)
    assert scene.crossings == []
    for _ in range(40):
        many.step(action)
    assert scene.crossings
    assert {cause.removeprefix("up: ") for cause, _ in scene.crossings} == {
        "task draws",
        "reset_position draws",
        "reset_velocity draws",
    }


def test_what_has_to_be_known_is_looked_at_and_told() -> None:
    many = far(autoreset_mode="Disabled", max_steps=1)
    scene = many.scene
    assert isinstance(scene, FarScene)
    many.reset(seed=1)
    action = scene.to_device(np.full((3, 1), np.nan, np.float32), "test")
    with pytest.raises(ActionError, match="env 0, 1, 2"):
        many.step(action)
    zero = action * 0.0
    zero[:] = 0.0
    scene.crossings.clear()
    many.step_device(zero)
    assert {c for c, _ in scene.crossings} == {"ended environments", "finite actions"}
    assert sum(size for _, size in scene.crossings) == 2
    with pytest.raises(NotResetError, match="reset_mask"):
        many.step(zero)
