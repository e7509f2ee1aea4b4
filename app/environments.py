"""The environments that ship with the program, made with the simulator.

Gymnasium imports this module and calls `register_all` whenever it is imported itself
(the entry point group ``gymnasium.envs``), so nothing heavy may be imported here before
an environment is made.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from isoscope.core.envs.lane_options import LaneOptions
    from isoscope.core.envs.making import SceneWish
    from isoscope.core.envs.resident_env import ResidentVectorEnv
    from isoscope.core.envs.scene_env import SceneEnv
    from isoscope.core.envs.stages import Stages
    from isoscope.core.scene import Precision, Scene

NAMESPACE = "isoscope"
# Names of the tasks' registry, which a test compares; it is not imported for its names.
NAMES = ("CartPole", "CartPoleLab", "DoublePendulumRail", "FallingBodies", "Pusher")


def register_all() -> None:
    """Register ``isoscope/<task>-v0`` for each task, once."""
    from gymnasium.envs.registration import register, registry

    for name in NAMES:
        identity = f"{NAMESPACE}/{name}-v0"
        if identity in registry:
            continue
        register(
            identity,
            entry_point=f"{__name__}:make_env",
            vector_entry_point=f"{__name__}:make_batch",
            kwargs={"task": name},
        )


def make_scene(
    model_name: str, worlds: int, device: str, precision: Precision, integrator: str
) -> Scene:
    """Make a scene of the simulator; see `core.envs.task.SceneMaker`."""
    from isoscope.gpu.model.named import named_model
    from isoscope.gpu.scene.make import make_scene as simulated

    model = named_model(model_name)
    return simulated(model, worlds, device, precision, integrator)


@dataclass(frozen=True)
class EnvFactory:
    """What an environment is made of; it can be pickled, for workers that are spawned.

    Attributes
    ----------
    task
        A name of the registry.
    settings
        Fields of the task's dataclass.
    scene
        ``shared`` or ``independent``; batches are resident.
    integrator
        None takes the one the task was made for.
    """

    task: str
    settings: dict[str, Any] = field(default_factory=dict)
    scene: Literal["shared", "independent"] = "shared"
    device: str = "cpu"
    precision: Precision = "float64"
    integrator: str | None = None
    options: LaneOptions | None = None
    stages: Stages | None = None

    def __call__(
        self, env_id: int = 0, seed: int | None = None, **others: Any
    ) -> SceneEnv:
        """Make one environment."""
        from isoscope.core.envs.scene_env import SceneEnv
        from isoscope.core.envs.tasks.registry import make_task

        return SceneEnv(
            make_task(self.task, **self.settings),
            self._wish(),
            scene=self.scene,
            env_id=env_id,
            seed=seed,
            options=self.options,
            stages=self.stages,
            **others,
        )

    def batch(self, num_envs: int, **others: Any) -> ResidentVectorEnv:
        """Make a resident batch."""
        from isoscope.core.envs.resident_env import ResidentVectorEnv
        from isoscope.core.envs.tasks.registry import make_task

        return ResidentVectorEnv(
            make_task(self.task, **self.settings),
            self._wish(),
            num_envs,
            options=self.options,
            stages=self.stages,
            **others,
        )

    def _wish(self) -> SceneWish:
        from isoscope.core.envs.making import SceneWish

        return SceneWish(make_scene, self.device, self.precision, self.integrator)


_FACTORY = ("scene", "device", "precision", "integrator", "options", "stages")
_ENV = ("env_id", "seed", "render_mode")
_BATCH = ("autoreset_mode", "results", "first_env", "seed")


def make_env(task: str, **kwargs: Any) -> SceneEnv:
    """Make an environment for `gymnasium.make`.

    Parameters
    ----------
    kwargs
        Fields of `EnvFactory`, arguments of `SceneEnv`, and settings of the task.

    Raises
    ------
    TaskError
        For what is none of these.
    """
    own = {name: kwargs.pop(name) for name in _ENV if name in kwargs}
    return _factory(task, kwargs)(**own)


def make_batch(task: str, num_envs: int = 1, **kwargs: Any) -> ResidentVectorEnv:
    """Make a resident batch for `gymnasium.make_vec`; see `make_env`."""
    own = {name: kwargs.pop(name) for name in _BATCH if name in kwargs}
    if kwargs.pop("scene", "resident") != "resident":
        from isoscope.core.errors import UsageError

        raise UsageError(
            f"making a batch of {task}: its scene is resident; take "
            "vectorization_mode='sync' for shared or independent ones"
        )
    return _factory(task, kwargs).batch(num_envs, **own)


def _factory(task: str, kwargs: dict[str, Any]) -> EnvFactory:
    mine = {name: kwargs.pop(name) for name in _FACTORY if name in kwargs}
    return EnvFactory(task, settings=kwargs, **mine)
