"""SuperDex Lab's CartPole: 100 N per unit of action, reset noise 0.1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from isoscope.core.envs.arrays import like
from isoscope.core.envs.tasks.cartpole import CartPole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoscope.core.envs.task import TaskView
    from isoscope.core.scene import Array


@dataclass(frozen=True)
class CartPoleLab(CartPole):
    """Keep the pole upright, with Lab's masses and numbers.

    Attributes
    ----------
    actuate_pole
        Whether the action turns the pole (N·m) instead of pushing the cart (N).
    """

    name: ClassVar[str] = "CartPoleLab"
    model: ClassVar[str] = "cartpole_lab"

    reset_noise: float = 0.1
    force_scale_n: float = 100.0
    actuate_pole: bool = False

    def apply(self, view: TaskView, action: Mapping[str, Array], substep: int) -> None:
        """See `Task.apply`."""
        force = like(action["control"], view.scene.velocities(0)) * self.force_scale_n
        none = force * 0.0
        both = [none, force] if self.actuate_pole else [force, none]
        view.scene.set_dof_forces(0, view.xp.concatenate(both, 1), view.worlds)
