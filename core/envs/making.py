"""Get an environment its scene: the key it is shared under, and a share in it."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from isoscope.core.envs.manager import context
from isoscope.core.envs.scene_handle import SceneHandle
from isoscope.core.envs.scene_key import SceneKey, fingerprint

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoscope.core.envs.manager import Lease
    from isoscope.core.envs.randomisation.persistent import PersistentPlan
    from isoscope.core.envs.stages import Stages
    from isoscope.core.envs.task import SceneMaker, Task
    from isoscope.core.scene import Precision


@dataclass(frozen=True, slots=True)
class SceneWish:
    """What kind of scene an environment wants.

    Attributes
    ----------
    integrator
        None takes the one the task was made for.
    configuration
        Persistent values other than the model's and the task's, by name; part of the
        key that scenes are shared under.
    """

    maker: SceneMaker
    device: str = "cpu"
    precision: Precision = "float64"
    integrator: str | None = None
    configuration: Mapping[str, Any] = field(default_factory=dict)


def lease_scene(
    task: Task,
    wish: SceneWish,
    stages: Stages,
    *,
    worlds: int,
    shared: bool,
    env: int,
    persistent: PersistentPlan,
) -> Lease:
    """Acquire the scene of a task's class of environments, making it if there is none.

    Raises
    ------
    IsoscopeError
        Whatever the maker refuses, or a scene of another thread.
    """
    integrator = wish.integrator or task.integrator
    wanted = {**task.configuration(), **wish.configuration}
    texts = {
        "model": task.model,
        "device": wish.device,
        "precision": wish.precision,
        "integrator": integrator,
        "worlds": str(worlds),
        # environments that set their own parameters again share among themselves only
        "reapplied": " ".join(persistent.entries),
    }
    key = SceneKey(
        task=task.key(),
        fingerprint=fingerprint(wanted, texts),
        private="" if shared else secrets.token_hex(8),
    )

    def make(key: SceneKey) -> SceneHandle:
        scene = wish.maker(task.model, worlds, wish.device, wish.precision, integrator)
        try:
            handle = SceneHandle(scene, key, wanted)
        except BaseException:
            scene.close()
            raise
        stages.cleanups(handle)
        return handle

    lease = context.manager(task.name).acquire(stages.key(key), make, env)
    lease.wanted = wanted
    return lease
