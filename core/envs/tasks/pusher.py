"""An arm of two joints that pushes a free box to a place drawn for each episode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from isoscope.core.envs.arrays import like
from isoscope.core.envs.quantities import Layout, Quantity
from isoscope.core.envs.randomisation.distributions import AnyDistribution, Uniform
from isoscope.core.envs.randomisation.reset_noise import DofNoise, ResetNoise
from isoscope.core.envs.tasks.base import FREE, BaseTask

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoscope.core.envs.task import TaskView
    from isoscope.core.scene import Array, Scene

ARM, BOX = 0, 1
UNITS = ("rad", "rad")
LINK_M = 0.45  # both links; the finger is at the end of the second
OBSERVATION = Layout(
    (
        Quantity("box_position", "m", size=2, about="x and z on the ground"),
        Quantity("box_velocity", "m/s", size=2, about="along x and z"),
        Quantity("finger_position", "m", size=2, about="x and z"),
        Quantity("joint_angles", "rad", size=2, about="shoulder, elbow"),
        Quantity("joint_velocities", "rad/s", size=2, about="shoulder, elbow"),
        Quantity("target", "m", size=2, about="x and z, drawn for each episode"),
    )
)
ACTION = Layout(
    (Quantity("speed", "1", size=2, low=-1.0, high=1.0, about="shoulder, elbow"),)
)


@dataclass(frozen=True)
class Pusher(BaseTask):
    """Push the box to the target.

    Attributes
    ----------
    speed_scale_rad_s
        Target velocity of the joints' drives per unit of action.
    target_x_m, target_z_m
        Between which the target is drawn.
    reached_m
        How near counts as there.
    reach_m
        Further from the shoulder than this the box is out of reach.
    """

    name: ClassVar[str] = "Pusher"
    model: ClassVar[str] = "pusher"
    integrator: ClassVar[str] = "semi_implicit"

    control_hz: int = 25
    simulation_hz: int = 500
    max_steps: int = 200
    speed_scale_rad_s: float = 2.0
    reset_noise_m: float = 0.02
    reset_noise_rad: float = 0.05
    target_x_m: tuple[float, float] = (0.4, 0.7)
    target_z_m: tuple[float, float] = (-0.2, 0.2)
    reached_m: float = 0.03
    reach_m: float = 1.0

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
        joints = [DofNoise(ARM, d, "rad", self.reset_noise_rad) for d in (0, 1)]
        places = [DofNoise(BOX, d, "m", self.reset_noise_m) for d in (0, 2)]
        return ResetNoise((*joints, *places))

    @property
    def draws(self) -> Mapping[str, AnyDistribution]:
        """See `Task.draws`."""
        (x0, x1), (z0, z1) = self.target_x_m, self.target_z_m
        return {
            "target_x": Uniform(unit="m", low=x0, high=x1),
            "target_z": Uniform(unit="m", low=z0, high=z1),
        }

    def bind(self, scene: Scene) -> None:
        """See `Task.bind`."""
        self._expect(scene, ARM, "an arm of two joints", UNITS)
        self._expect(scene, BOX, "a free box", FREE)

    def apply(self, view: TaskView, action: Mapping[str, Array], substep: int) -> None:
        """See `Task.apply`."""
        speed = like(action["speed"], view.scene.velocities(ARM))
        view.scene.set_targets(ARM, speed * self.speed_scale_rad_s, view.worlds)

    def observe(self, view: TaskView) -> Mapping[str, Array]:
        """See `Task.observe`."""
        scene, draws, xp = view.scene, view.draws, view.xp
        arm, box = scene.positions(ARM), scene.positions(BOX)
        velocity = scene.velocities(BOX)
        first, second = arm[:, 0], arm[:, 0] + arm[:, 1]
        # the joints turn about y, so that z is minus the sine
        finger = (
            LINK_M * (xp.cos(first) + xp.cos(second)),
            -LINK_M * (xp.sin(first) + xp.sin(second)),
        )
        return {
            "box_position": xp.stack([box[:, 0], box[:, 2]], 1),
            "box_velocity": xp.stack([velocity[:, 0], velocity[:, 2]], 1),
            "finger_position": xp.stack(finger, 1),
            "joint_angles": arm[:, 0:2],
            "joint_velocities": scene.velocities(ARM)[:, 0:2],
            "target": xp.stack([draws["target_x"], draws["target_z"]], 1),
        }

    def rewards(
        self, view: TaskView, action: Mapping[str, Array], seen: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        """See `Task.rewards`."""
        sqrt = view.xp.sqrt
        near = _squared(seen["finger_position"] - seen["box_position"])
        return {
            "to_target": -sqrt(self._missing(seen)),
            "to_box": -0.1 * sqrt(near),
            "effort": -0.01 * _squared(action["speed"]),
        }

    def terminations(
        self, view: TaskView, seen: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        """See `Task.terminations`."""
        return {
            "target reached": self._missing(seen) <= self.reached_m * self.reached_m,
            "box out of reach": _squared(seen["box_position"])
            > self.reach_m * self.reach_m,
        }

    def _missing(self, seen: Mapping[str, Array]) -> Array:
        return _squared(seen["box_position"] - seen["target"])


def _squared(vector: Array) -> Array:
    x, y = vector[:, 0], vector[:, 1]
    return x * x + y * y
