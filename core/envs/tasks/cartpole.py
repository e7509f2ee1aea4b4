"""The CartPole of the recordings: 25 and 50 Hz, 10 N per unit of action.

Its scene is that of SuperDex's recorded examples; the observation in key order is
[angular_vel, linear_vel, position, vertical_ang].
"""

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

UNITS = ("m", "rad")
OBSERVATION = Layout(
    (
        Quantity("position", "m", about="of the cart along the rail"),
        Quantity("vertical_ang", "rad", about="of the pole, 0 upright"),
        Quantity("linear_vel", "m/s", about="of the cart"),
        Quantity("angular_vel", "rad/s", about="of the pole"),
    )
)
ACTION = Layout((Quantity("control", "1", low=-3.0, high=3.0),))


@dataclass(frozen=True)
class CartPole(BaseTask):
    """Keep the pole upright by pushing the cart.

    Attributes
    ----------
    force_scale_n
        Newtons per unit of action.
    reset_noise
        Scale on both poses and both velocities.
    upright_rad
        Beyond it the episode terminates.
    gravity, damping
        Whether there is any; persistent, and therefore in the scene's key.
    """

    name: ClassVar[str] = "CartPole"
    model: ClassVar[str] = "cartpole"

    control_hz: int = 25
    simulation_hz: int = 50
    max_steps: int = 1000
    reset_noise: float = 0.05
    force_scale_n: float = 10.0
    upright_rad: float = 0.2
    gravity: bool = True
    damping: bool = True

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

    def key(self) -> str:
        """See `Task.key`."""
        return f"{self.name} gravity={self.gravity} damping={self.damping}"

    def configuration(self) -> Mapping[str, object]:
        """See `Task.configuration`."""
        wanted: dict[str, object] = {}
        if not self.gravity:
            wanted["gravity"] = (0.0, 0.0, 0.0)
        if not self.damping:
            wanted["damping"] = (0.0, 0.0)
        return wanted

    def bind(self, scene: Scene) -> None:
        """See `Task.bind`."""
        self._expect(scene, 0, "a cart with a pole", UNITS)

    def apply(self, view: TaskView, action: Mapping[str, Array], substep: int) -> None:
        """See `Task.apply`."""
        force = like(action["control"], view.scene.velocities(0)) * self.force_scale_n
        none = force * 0.0
        view.scene.set_dof_forces(0, view.xp.concatenate([force, none], 1), view.worlds)

    def observe(self, view: TaskView) -> Mapping[str, Array]:
        """See `Task.observe`."""
        q, v = view.scene.positions(0), view.scene.velocities(0)
        return {
            "position": q[:, 0:1],
            "vertical_ang": q[:, 1:2],
            "linear_vel": v[:, 0:1],
            "angular_vel": v[:, 1:2],
        }

    def rewards(
        self, view: TaskView, action: Mapping[str, Array], seen: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        """See `Task.rewards`."""
        return {"upright_reward": like(self._upright(view, seen), seen["position"])}

    def terminations(
        self, view: TaskView, seen: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        """See `Task.terminations`."""
        fallen = view.xp.logical_not(self._upright(view, seen))
        return {"pole angle exceeded threshold": fallen}

    def _upright(self, view: TaskView, seen: Mapping[str, Array]) -> Array:
        # in float32, as the observation: what is seen decides
        return view.xp.abs(seen["vertical_ang"][:, 0]) <= self.upright_rad
