"""A ball, a crate and a rod that fall on the ground, and a push on the ball."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from isoscope.core.envs.arrays import like
from isoscope.core.envs.quantities import Layout, Quantity
from isoscope.core.envs.randomisation.reset_noise import DofNoise, ResetNoise
from isoscope.core.envs.tasks.base import FREE, BaseTask

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoscope.core.envs.task import TaskView
    from isoscope.core.scene import Array, Scene

BODIES = ("ball", "crate", "rod")
BALL = 0
OBSERVATION = Layout(
    quantity
    for body in BODIES
    for quantity in (
        Quantity(f"{body}_position", "m", size=3, about="of its origin, world axes"),
        Quantity(f"{body}_velocity", "m/s", size=3, about="of its origin, world axes"),
    )
)
ACTION = Layout((Quantity("push", "1", size=3, low=-1.0, high=1.0),))


@dataclass(frozen=True)
class FallingBodies(BaseTask):
    """Bring three bodies to rest on the ground.

    Attributes
    ----------
    force_scale_n
        Newtons per unit of action.
    reset_noise_m, reset_noise_rad
        Scale on the places and on the turns of the bodies.
    lost_m
        Further from the origin than this a body is lost and the episode terminates.
    """

    name: ClassVar[str] = "FallingBodies"
    model: ClassVar[str] = "falling_bodies"
    integrator: ClassVar[str] = "semi_implicit"

    control_hz: int = 50
    simulation_hz: int = 500
    max_steps: int = 200
    force_scale_n: float = 5.0
    reset_noise_m: float = 0.02
    reset_noise_rad: float = 0.1
    lost_m: float = 20.0

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
        scales = (self.reset_noise_m,) * 3 + (self.reset_noise_rad,) * 3
        return ResetNoise(
            tuple(
                DofNoise(actor, dof, "m" if dof < 3 else "rad", position=scale)
                for actor in range(len(BODIES))
                for dof, scale in enumerate(scales)
            )
        )

    def bind(self, scene: Scene) -> None:
        """See `Task.bind`."""
        for actor, body in enumerate(BODIES):
            self._expect(scene, actor, f"a free {body}", FREE)

    def apply(self, view: TaskView, action: Mapping[str, Array], substep: int) -> None:
        """See `Task.apply`."""
        push = like(action["push"], view.scene.velocities(BALL)) * self.force_scale_n
        forces = view.xp.concatenate([push, push * 0.0], 1)
        view.scene.set_dof_forces(BALL, forces, view.worlds)

    def observe(self, view: TaskView) -> Mapping[str, Array]:
        """See `Task.observe`."""
        seen = {}
        for actor, body in enumerate(BODIES):
            seen[f"{body}_position"] = view.scene.positions(actor)[:, 0:3]
            seen[f"{body}_velocity"] = view.scene.velocities(actor)[:, 0:3]
        return seen

    def rewards(
        self, view: TaskView, action: Mapping[str, Array], seen: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        """See `Task.rewards`."""
        ball, crate, rod = (_squared(seen[f"{body}_velocity"]) for body in BODIES)
        return {
            "rest": -0.1 * (ball + crate + rod),
            "effort": -0.01 * _squared(action["push"]),
        }

    def terminations(
        self, view: TaskView, seen: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        """See `Task.terminations`."""
        limit = self.lost_m * self.lost_m
        return {
            f"the {body} is lost": _squared(seen[f"{body}_position"]) > limit
            for body in BODIES
        }


def _squared(vector: Array) -> Array:
    x, y, z = vector[:, 0], vector[:, 1], vector[:, 2]
    return x * x + y * y + z * z
