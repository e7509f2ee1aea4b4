"""Faults of restoring and capturing an environment's own state in a shared scene."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from isoscope.core.envs.arrays import copied
from isoscope.core.envs.faults.fault import InjectedError, SceneKind, StageFault

if TYPE_CHECKING:
    from isoscope.core.envs.faults.fault import Fault, Need
    from isoscope.core.envs.lanes import LaneGroup
    from isoscope.core.scene import StepReport

SHARED: tuple[SceneKind, ...] = ("shared",)
NO_HANDLE = -1


class MissedRestore(StageFault):
    """The step goes on from whatever state is in the scene."""

    NAME = "missed-restore"
    ABOUT = "a control step begins without the restore of the environment's own state"
    FINDS = ("missed-restore",)
    SCENES = SHARED
    NEEDS: ClassVar[tuple[Need, ...]] = ("others",)

    def restore(self, lanes: LaneGroup) -> None:
        """Leave it out."""
        if self.here(lanes) is None:
            self.inner.restore(lanes)
            return
        self.note()


class PartialRestore(StageFault):
    """Positions come back; velocities are those that were in the scene."""

    NAME = "partial-restore"
    ABOUT = "a restore brings positions back and leaves another's velocities"
    FINDS = ("restore-failed",)
    SCENES = SHARED
    NEEDS: ClassVar[tuple[Need, ...]] = ("others",)

    def restore(self, lanes: LaneGroup) -> None:
        """Restore, and put the velocities back that were there."""
        if self.here(lanes) is None:
            self.inner.restore(lanes)
            return
        scene = lanes.scene
        moving = [actor.index for actor in scene.actors if not actor.static]
        theirs = {actor: copied(scene.velocities(actor)) for actor in moving}
        self.inner.restore(lanes)
        for actor, velocities in theirs.items():
            scene.set_state(actor, copied(scene.positions(actor)), velocities)
        self.note()


class FailedRestore(StageFault):
    """The restore is asked for a state that there is not."""

    NAME = "failed-restore"
    ABOUT = "a restore is refused, since its handle is none; the episode ends there"
    FINDS = ("restore-failed",)
    SCENES = SHARED

    def restore(self, lanes: LaneGroup) -> None:
        """Ask for a handle that was never given."""
        if self.here(lanes) is None:
            self.inner.restore(lanes)
            return
        self.note()
        lanes.handle.restore(NO_HANDLE, env=lanes.envs[0])


class LostSnapshot(StageFault):
    """The snapshot was let go of at the restore, and no new one was taken."""

    NAME = "lost-snapshot"
    ABOUT = "an exception between restore and capture; the snapshot is gone by then"
    FINDS = ("snapshot-lost",)
    SCENES = SHARED

    def step(self, lanes: LaneGroup, substep: int) -> StepReport:
        """Step natively, then let go and raise."""
        mask = self.here(lanes) if substep == 0 else None
        report = self.inner.step(lanes, substep)
        if mask is None:
            return report
        self.note()
        own, lanes.own = lanes.own, None
        if own is not None:
            lanes.handle.release(own)
        raise InjectedError(
            f"stepping env {lanes.envs[0]}: a callback failed, as {self.order} wanted"
        )


FAULTS: tuple[type[Fault], ...] = (
    MissedRestore,
    PartialRestore,
    FailedRestore,
    LostSnapshot,
)
