"""A double pendulum on a cart on a rail, to be held upright."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from isoscope.core.envs.arrays import like
from isoscope.core.envs.quantities import Layout, Quantity
from isoscope.core.envs.tasks.base import BaseTask, joint_noise

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoscope.core.envs.randomisation.reset_noise import ResetNoise
    from isoscope.core.envs.task import TaskView
    from isoscope.core.scene import Array, Scene

UNITS = ("m", "rad", "rad")
OBSERVATION = Layout(
    (
        Quantity("position", "m", about="of the cart along the rail"),
        Quantity("angles", "rad", size=2, about="of the joints, the second relative"),
        Quantity("linear_vel", "m/s", about="of the cart"),
        Quantity("angular_vel", "rad/s", size=2, about="of the joints"),
    )
)
ACTION = Layout((Quantity("control", "1", low=-1.0, high=1.0),))


@dataclass(frozen=True)
class DoublePendulumRail(BaseTask):
    """Hold both poles near their first position by pushing the cart.

    Attributes
    ----------
    force_scale_n
        Newtons per unit of action.
    tilt_rad
        Beyond it, of either pole against the vertical, the episode terminates.
    rail_m
        Beyond it, to either side, too.
    """

    name: ClassVar[str] = "DoublePendulumRail"
    model: ClassVar[str] = "double_pendulum_rail"

    control_hz: int = 50
    simulation_hz: int = 200
    max_steps: int = 500
    reset_noise: float = 0.02
    force_scale_n: float = 20.0
    tilt_rad: float = 0.6
    rail_m: float = 2.0

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
        return joint_noise(UNITS, self.reset_noise)

    def bind(self, scene: Scene) -> None:
        """See `Task.bind`."""
        self._expect(scene, 0, "a cart with two poles", UNITS)

    def apply(self, view: TaskView, action: Mapping[str, Array], substep: int) -> None:
        """See `Task.apply`."""
        force = like(action["control"], view.scene.velocities(0)) * self.force_scale_n
        none = force * 0.0
        view.scene.set_dof_forces(
            0, view.xp.concatenate([force, none, none], 1), view.worlds
        )

    def observe(self, view: TaskView) -> Mapping[str, Array]:
        """See `Task.observe`."""
        q, v = view.scene.positions(0), view.scene.velocities(0)
        return {
            "position": q[:, 0:1],
            "angles": q[:, 1:3],
            "linear_vel": v[:, 0:1],
            "angular_vel": v[:, 1:3],
        }

    def rewards(
        self, view: TaskView, action: Mapping[str, Array], seen: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        """See `Task.rewards`."""
        first, second = self._tilts(seen)
        push = action["control"][:, 0]
        standing = view.xp.logical_not(self._fallen(view, seen))
        return {
            "alive": like(standing, first),
            "tilt": -(first * first + second * second),
            "effort": -0.01 * (push * push),
        }

    def terminations(
        self, view: TaskView, seen: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        """See `Task.terminations`."""
        off = view.xp.abs(seen["position"][:, 0]) > self.rail_m
        return {"a pole tilted too far": self._fallen(view, seen), "off the rail": off}

    def _tilts(self, seen: Mapping[str, Array]) -> tuple[Array, Array]:
        angles = seen["angles"]
        return angles[:, 0], angles[:, 0] + angles[:, 1]

    def _fallen(self, view: TaskView, seen: Mapping[str, Array]) -> Array:
        xp = view.xp
        first, second = self._tilts(seen)
        return xp.logical_or(
            xp.abs(first) > self.tilt_rad, xp.abs(second) > self.tilt_rad
        )
