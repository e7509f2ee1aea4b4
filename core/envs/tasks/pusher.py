"""A pusher on two rails that brings a free puck to a place drawn for each episode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from isoscope.core.envs.arrays import like
from isoscope.core.envs.quantities import Layout, Quantity
from isoscope.core.envs.randomisation.distributions import AnyDistribution, Uniform
from isoscope.core.envs.randomisation.reset_noise import DofNoise, ResetNoise
from isoscope.core.envs.tasks.base import FREE, BaseTask
from isoscope.core.envs.timing import Timing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoscope.core.envs.task import TaskView
    from isoscope.core.scene import Array, Scene

PUSHER, PUCK = 0, 1
UNITS = ("m", "m")
OBSERVATION = Layout(
    (
        Quantity("puck_position", "m", size=2, about="along the rails' axes"),
        Quantity("puck_velocity", "m/s", size=2),
        Quantity("pusher_position", "m", size=2),
        Quantity("pusher_velocity", "m/s", size=2),
        Quantity("target", "m", size=2, about="drawn for each episode"),
    )
)
ACTION = Layout((Quantity("force", "1", size=2, low=-1.0, high=1.0),))


@dataclass(frozen=True)
class Pusher(BaseTask):
    """Push the puck to the target.

    Attributes
    ----------
    force_scale_n
        Newtons per unit of action.
    target_m
        The target is drawn from a square of this half width.
    reached_m
        How near counts as there.
    table_m
        Further from the middle than this the puck is off the table.
    """

    name: ClassVar[str] = "Pusher"
    model: ClassVar[str] = "pusher"
    integrator: ClassVar[str] = "semi_implicit"

    control_hz: int = 25
    simulation_hz: int = 500
    max_steps: int = 200
    force_scale_n: float = 10.0
    reset_noise_m: float = 0.02
    target_m: float = 0.3
    reached_m: float = 0.03
    table_m: float = 1.0

    @property
    def timing(self) -> Timing:
        """See `Task.timing`."""
        return Timing(self.control_hz, self.simulation_hz, self.max_steps)

    @property
    def observation(self) -> Layout:
        """See `Task.observation`."""
        return OBSERVATION

    @property
    def action(self) -> Layout:
        """See `Task.action`."""
        return ACTION

    @property
    def noise(self) -> ResetNoise:
        """See `Task.noise`."""
        return ResetNoise(
            tuple(
                DofNoise(actor, dof, "m", position=self.reset_noise_m)
                for actor in (PUSHER, PUCK)
                for dof in (0, 1)
            )
        )

    @property
    def draws(self) -> Mapping[str, AnyDistribution]:
        """See `Task.draws`."""
        return {
            name: Uniform(unit="m", low=-self.target_m, high=self.target_m)
            for name in ("target_x", "target_y")
        }

    def bind(self, scene: Scene) -> None:
        """See `Task.bind`."""
        self._expect(scene, PUSHER, "a pusher on two rails", UNITS)
        self._expect(scene, PUCK, "a free puck", FREE)

    def apply(self, view: TaskView, action: Mapping[str, Array], substep: int) -> None:
        """See `Task.apply`."""
        force = (
            like(action["force"], view.scene.velocities(PUSHER)) * self.force_scale_n
        )
        view.scene.set_dof_forces(PUSHER, force, view.worlds)

    def observe(self, view: TaskView) -> Mapping[str, Array]:
        """See `Task.observe`."""
        scene, draws = view.scene, view.draws
        return {
            "puck_position": scene.positions(PUCK)[:, 0:2],
            "puck_velocity": scene.velocities(PUCK)[:, 0:2],
            "pusher_position": scene.positions(PUSHER)[:, 0:2],
            "pusher_velocity": scene.velocities(PUSHER)[:, 0:2],
            "target": view.xp.stack([draws["target_x"], draws["target_y"]], 1),
        }

    def rewards(
        self, view: TaskView, action: Mapping[str, Array], seen: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        """See `Task.rewards`."""
        sqrt, force = view.xp.sqrt, action["force"]
        near = _squared(seen["pusher_position"] - seen["puck_position"])
        return {
            "to_target": -sqrt(self._missing(seen)),
            "to_puck": -0.1 * sqrt(near),
            "effort": -0.01 * _squared(force),
        }

    def terminations(
        self, view: TaskView, seen: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        """See `Task.terminations`."""
        return {
            "target reached": self._missing(seen) <= self.reached_m * self.reached_m,
            "off the table": _squared(seen["puck_position"])
            > self.table_m * self.table_m,
        }

    def _missing(self, seen: Mapping[str, Array]) -> Array:
        return _squared(seen["puck_position"] - seen["target"])


def _squared(vector: Array) -> Array:
    x, y = vector[:, 0], vector[:, 1]
    return x * x + y * y
