"""What the tasks have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from isoscope.core.envs.errors import TaskError
from isoscope.core.envs.randomisation.reset_noise import DofNoise, ResetNoise
from isoscope.core.envs.timing import Timing

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoscope.core.envs.randomisation.distributions import AnyDistribution
    from isoscope.core.scene import Scene


class BaseTask:
    """Defaults: no draws, the model's own configuration, one key a task."""

    name: ClassVar[str]
    model: ClassVar[str]
    integrator: ClassVar[str] = "backward_euler"
    # fields of every task, each with its own default
    control_hz: int
    simulation_hz: int
    max_steps: int

    @property
    def timing(self) -> Timing:
        """See `Task.timing`."""
        return Timing(self.control_hz, self.simulation_hz, self.max_steps)

    @property
    def draws(self) -> Mapping[str, AnyDistribution]:
        """See `Task.draws`."""
        return {}

    def key(self) -> str:
        """See `Task.key`."""
        return self.name

    def configuration(self) -> Mapping[str, Any]:
        """See `Task.configuration`."""
        return {}

    def _expect(
        self, scene: Scene, actor: int, what: str, units: Sequence[str]
    ) -> None:
        """Refuse a scene whose actor has not these degrees of freedom."""
        actors = scene.actors
        found = actors[actor].dof_units if actor < len(actors) else None
        if found is None or tuple(found) != tuple(units):
            raise TaskError(
                f"making {self.name}: actor {actor} of model {self.model} must be "
                f"{what}, with degrees of freedom in {', '.join(units)}; it has "
                + ("none" if found is None else ", ".join(found))
            )


FREE = ("m", "m", "m", "rad", "rad", "rad")


def joint_noise(units: Sequence[str], scale: float, actor: int = 0) -> ResetNoise:
    """SuperDex Lab's reset noise: one scale for all, each in its own unit."""
    if scale == 0.0:
        return ResetNoise()
    return ResetNoise(
        tuple(
            DofNoise(actor, dof, "m" if unit == "m" else "rad", scale, scale)
            for dof, unit in enumerate(units)
        )
    )
