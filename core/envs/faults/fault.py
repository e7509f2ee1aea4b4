"""What a fault is: its name, what it does, what must find it, and where it happened."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from isoscope.core.envs.arrays import choose
from isoscope.core.envs.faults.order import FaultOrder, Place
from isoscope.core.envs.stages import Stages, WrappedStages
from isoscope.core.errors import IsoscopeError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoscope.core.envs.faults.switch import FaultSwitch, SwitchedEnv
    from isoscope.core.envs.lanes import LaneGroup
    from isoscope.core.scene import Array

SceneKind: TypeAlias = Literal["shared", "independent", "resident"]
Need: TypeAlias = Literal["workers", "others", "policy-state", "frames", "profile"]
When: TypeAlias = Literal["step", "reset", "end", "start"]
Whose: TypeAlias = Literal["env", "pair", "process", "run"]
ANY_SCENE: tuple[SceneKind, ...] = ("shared", "independent", "resident")
ONE_WORLD: tuple[SceneKind, ...] = ("shared", "independent")


class InjectedError(IsoscopeError):
    """An exception that a fault raises on purpose."""


class Fault:
    """One fault at one place.

    Attributes
    ----------
    NAME, ABOUT
        What it is ordered by; what it does, in one line.
    FINDS
        Ids of the audit that must find it, at this place.
    MAY_FIND
        Ids that may find it as well, since one thing shows in several ways.
    SCENES, MODES
        Kinds of scenes and autoreset modes in which there is such a fault.
    NEEDS
        What else a run must have.
    WHEN
        ``step``: in control step K of the place, from 1. ``reset``: as the episode
        begins, K is 0. ``end``: at the first chance at or after the place. ``start``:
        when the run is set up or ended; the place is ENV:1/0.
    WHOSE
        Whom a finding can name. ``env``: the environment of the place. ``pair``: it and
        another one, of which nobody can say who took the other's. ``process``: one of
        those in its process, at the place or before, since what the process had not
        sent is gone with it. ``run``: nobody, or whoever comes first: it is in all.
    LASTS
        Whether it goes on from there; otherwise it happens once.
    happened
        Where it really did.
    """

    NAME: ClassVar[str]
    ABOUT: ClassVar[str]
    FINDS: ClassVar[tuple[str, ...]]
    MAY_FIND: ClassVar[tuple[str, ...]] = ()
    SCENES: ClassVar[tuple[SceneKind, ...]] = ANY_SCENE
    MODES: ClassVar[tuple[str, ...]] = ("next_step", "same_step", "disabled")
    NEEDS: ClassVar[tuple[Need, ...]] = ()
    WHEN: ClassVar[When] = "step"
    WHOSE: ClassVar[Whose] = "env"
    LASTS: ClassVar[bool] = False

    def __init__(self, order: FaultOrder) -> None:
        self.order = order
        self.happened: list[Place] = []
        k, env = order.place.control_step, order.place.env
        wrong = ""
        if self.WHEN == "step" and k == 0:
            wrong = "happens in a control step; give a K of 1 or more"
        elif self.WHEN == "reset" and k != 0:
            wrong = "happens as an episode begins; give a K of 0"
        elif self.WHEN == "start" and order.place != Place(env, 1, 0):
            wrong = f"happens once a run; write {self.NAME}@{env}:1/0"
        if wrong:
            raise UsageError(f"putting {order} in: {self.NAME} {wrong}")

    @property
    def place(self) -> Place:
        """Where it is wanted."""
        return self.order.place

    @property
    def waiting(self) -> bool:
        """Whether it has not happened yet."""
        return not self.happened

    def note(self, episode: int | None = None, control_step: int | None = None) -> None:
        """Remember that it happened, by default where it was wanted."""
        place = self.place
        self.happened.append(
            Place(
                place.env,
                place.episode if episode is None else episode,
                place.control_step if control_step is None else control_step,
            )
        )


class StageFault(Fault, WrappedStages):
    """A fault within an environment's control step, reset or making.

    Attributes
    ----------
    switch
        Who knows the other environments of this process.
    """

    switch: FaultSwitch

    def __init__(self, order: FaultOrder) -> None:
        Fault.__init__(self, order)
        WrappedStages.__init__(self, Stages())

    def here(self, lanes: LaneGroup) -> Array | None:
        """The lane that is at the place right now, bool [W]; None if it is not there.

        On a device that is no CPU one flag crosses over; it is told to the ledger.
        """
        place = self.place
        if self.happened or place.env not in lanes.envs or lanes.place is None:
            return None
        mask = lanes.at(place.env, place.episode, place.control_step)
        if lanes.place.worlds is not None:
            mask = lanes.xp.logical_and(mask, lanes.place.worlds)
        lane = lanes.envs.index(place.env)
        flag = lanes.scene.to_host(mask[lane : lane + 1], "fault")
        return mask if bool(flag[0]) else None

    def lane(self, lanes: LaneGroup) -> int:
        """The place's lane in its group."""
        return lanes.envs.index(self.place.env)


def put_rows(mask: Array, yes: Array, no: Array, lanes: LaneGroup) -> Array:
    """Rows of `yes` where the mask is set, of `no` elsewhere."""
    return choose(mask, yes, no, lanes.xp)


class EnvFault(Fault):
    """A fault around one environment, outside its control step."""

    switch: FaultSwitch

    def at_step(self, outside: SwitchedEnv, action: Any) -> Any:
        """Take a step in the environment's stead; None leaves that to it."""
        return None

    def at_reset(
        self, outside: SwitchedEnv, episode: int, kwargs: dict[str, Any]
    ) -> Any:
        """Begin an episode in the environment's stead; None leaves that to it."""
        return None


class RunFault(Fault):
    """A fault in how a run is set up."""

    WHEN: ClassVar[When] = "start"

    def arrange(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments of the vector environment that are to be others."""
        raise NotImplementedError
