"""The environments that ship with the program, made with the simulator.

Importing this module registers them with Gymnasium, as its `register_envs` wants it:

    import gymnasium as gym
    import isoscope.app.environments
    env = gym.make("isoscope/CartPole-v0")

The module's name in front does without the import, in workers too:
``gym.make("isoscope.app.environments:isoscope/CartPole-v0")``. Nothing of torch is
imported before an environment is made.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from isoscope.core.errors import MissingExtraError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoscope.core.envs.lane_options import LaneOptions
    from isoscope.core.envs.making import SceneWish
    from isoscope.core.envs.resident_env import ResidentVectorEnv
    from isoscope.core.envs.scene_env import SceneEnv
    from isoscope.core.envs.stages import Stages
    from isoscope.core.envs.vector.factories import EnvIndex
    from isoscope.core.scene import Precision, Scene

NAMESPACE = "isoscope"
# Names of the tasks' registry, which a test compares; it is not imported for its names.
NAMES = ("CartPole", "CartPoleLab", "DoublePendulumRail", "FallingBodies", "Pusher")


def register_all() -> None:
    """Register ``isoscope/<task>-v0`` for each task, once."""
    try:
        from gymnasium.envs.registration import register, registry
    except ImportError as error:
        raise MissingExtraError(
            "simulating", "sim", error.name or "gymnasium"
        ) from None

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
    configuration
        Persistent values other than the model's and the task's.
    """

    task: str
    settings: dict[str, Any] = field(default_factory=dict)
    scene: Literal["shared", "independent"] = "shared"
    device: str = "cpu"
    precision: Precision = "float64"
    integrator: str | None = None
    configuration: Mapping[str, Any] = field(default_factory=dict)
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

    def at(self, index: EnvIndex) -> SceneEnv:
        """Make what an `IndexedFactory` is asked for, under its global number."""
        return self(index.global_index)

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

        return SceneWish(
            make_scene,
            self.device,
            self.precision,
            self.integrator,
            self.configuration,
        )


_FACTORY = (
    "scene",
    "device",
    "precision",
    "integrator",
    "configuration",
    "options",
    "stages",
)
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
        raise UsageError(
            f"making a batch of {task}: its scene is resident; take "
            "vectorization_mode='sync' for shared or independent ones"
        )
    return _factory(task, kwargs).batch(num_envs, **own)


def _factory(task: str, kwargs: dict[str, Any]) -> EnvFactory:
    mine = {name: kwargs.pop(name) for name in _FACTORY if name in kwargs}
    return EnvFactory(task, settings=kwargs, **mine)


register_all()
