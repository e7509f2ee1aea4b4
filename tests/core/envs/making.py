"""Environments over the NumPy scene, made in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from isoscope.core.envs.lane_options import LaneOptions
from isoscope.core.envs.making import SceneWish
from isoscope.core.envs.resident_env import ResidentVectorEnv
from isoscope.core.envs.scene_env import SceneEnv
from isoscope.core.envs.tasks.registry import make_task
from tests.core.envs.rail_scene import RailScene, make_rail_scene

if TYPE_CHECKING:
    from collections.abc import Sequence

WISH = SceneWish(make_rail_scene)
# Options of a lane group go there, the rest to the environment or the task.
OPTIONS = ("on_nonfinite", "persistent", "disturbances", "noise", "ahead")
ENV = ("env_id", "seed", "stages", "render_mode")
BATCH = ("autoreset_mode", "results", "first_env", "seed", "stages")


def _sorted_out(kwargs: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: kwargs.pop(name) for name in names if name in kwargs}


def env(task: str = "CartPole", scene: Any = "shared", **kwargs: Any) -> SceneEnv:
    options = LaneOptions(**_sorted_out(kwargs, OPTIONS))
    own = _sorted_out(kwargs, ENV)
    return SceneEnv(
        make_task(task, **kwargs), WISH, scene=scene, options=options, **own
    )


def batch(task: str = "CartPole", n: int = 3, **kwargs: Any) -> ResidentVectorEnv:
    chosen = {"ahead": 4} | _sorted_out(kwargs, OPTIONS)
    own = _sorted_out(kwargs, BATCH)
    options = LaneOptions(**chosen)
    return ResidentVectorEnv(make_task(task, **kwargs), WISH, n, options=options, **own)


def rails(made: SceneEnv | ResidentVectorEnv) -> RailScene:
    scene = made.scene
    assert isinstance(scene, RailScene)
    return scene
