"""What a task is: what an action does, what is seen, its worth, when it ends.

A task has settings and no state: what differs from environment to environment and from
episode to episode is in the view it is given. All arrays there lead with the worlds and
are of the scene's kind, so the same task serves one environment and thousands.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoscope.core.envs.quantities import Layout
    from isoscope.core.envs.randomisation.distributions import AnyDistribution
    from isoscope.core.envs.randomisation.reset_noise import ResetNoise
    from isoscope.core.envs.timing import Timing
    from isoscope.core.scene import Array, Precision, Scene, Worlds


class SceneMaker(Protocol):
    """Makes scenes; injected, since `core` knows no simulator."""

    def __call__(
        self,
        model_name: str,
        worlds: int,
        device: str,
        precision: Precision,
        integrator: str,
    ) -> Scene:
        """Make a scene of a model in the resources, or raise IsoscopeError."""
        ...


@dataclass(slots=True)
class TaskView:
    """What a task may look at.

    Attributes
    ----------
    worlds
        bool [W]: the worlds that are meant, None for all; to be passed on to whatever
        changes the scene.
    draws
        What was drawn for the episode, by name: [W], in the scene's precision.
    count
        int64 [W]: control steps done in the episode.
    """

    scene: Scene
    xp: Any
    worlds: Worlds
    draws: Mapping[str, Array]
    count: Array


class Task(Protocol):
    """A task; implementations are frozen dataclasses of settings.

    Attributes
    ----------
    name
        Its class of environments: ``CartPole``.
    model
        The model's name in the resources.
    integrator
        The one that the task was made for.
    """

    name: ClassVar[str]
    model: ClassVar[str]
    integrator: ClassVar[str]

    @property
    def timing(self) -> Timing:
        """Frequencies and the limit of an episode."""
        ...

    @property
    def observation(self) -> Layout:
        """What is seen."""
        ...

    @property
    def action(self) -> Layout:
        """What can be done."""
        ...

    @property
    def noise(self) -> ResetNoise:
        """Noise at a reset."""
        ...

    @property
    def draws(self) -> Mapping[str, AnyDistribution]:
        """What is drawn for each episode, by name."""
        ...

    def key(self) -> str:
        """What tells its scenes apart, as far as the task knows."""
        ...

    def configuration(self) -> Mapping[str, Any]:
        """Persistent values it wants other than the model's."""
        ...

    def bind(self, scene: Scene) -> None:
        """Refuse a scene whose actors are not as expected.

        Raises
        ------
        TaskError
        """
        ...

    def apply(self, view: TaskView, action: Mapping[str, Array], substep: int) -> None:
        """Set control input; called before every native step."""
        ...

    def observe(self, view: TaskView) -> Mapping[str, Array]:
        """Quantities of the observation, [W, n] each."""
        ...

    def rewards(
        self, view: TaskView, action: Mapping[str, Array], seen: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        """Reward terms by name, [W]; the reward is their sum in this order."""
        ...

    def terminations(
        self, view: TaskView, seen: Mapping[str, Array]
    ) -> Mapping[str, Array]:
        """Reasons to terminate, bool [W]."""
        ...
