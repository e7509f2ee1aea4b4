"""Faults of sensors and of the profile that a rollout keeps."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from isoscope.core.envs.faults.order import Place
from isoscope.core.envs.faults.storing import RolloutFault

if TYPE_CHECKING:
    from isoscope.core.envs.faults.fault import Fault, Need
    from isoscope.core.envs.faults.order import FaultOrder
    from isoscope.core.envs.rollout.records import Frame, ProfileLine
    from isoscope.core.envs.rollout.rollout import Rollout

FRAMES: tuple[Need, ...] = ("frames",)
MS = 1e3


class FrameRestamped(RolloutFault):
    """An old frame comes with a new number and time."""

    NAME = "frame-restamped"
    ABOUT = "a sensor gives its last frame again, under a new number and time"
    FINDS = ("frame-restamped",)
    NEEDS: ClassVar[tuple[Need, ...]] = FRAMES

    def __init__(self, order: FaultOrder) -> None:
        super().__init__(order)
        self._last: Frame | None = None

    def frame(self, rollout: Rollout, frame: Frame) -> Frame:
        """Put a new stamp on the last one."""
        frame = self.inner.frame(rollout, frame)
        if frame.env != self.place.env:
            return frame
        last, self._last = self._last, frame
        if self.waiting and last is not None and self.reached(rollout) is not None:
            self.note()
            return replace(frame, data=last.data)
        return frame


class _Profile(RolloutFault):
    """Something is wrong with the entries of a round."""

    FINDS = ("profile-sum",)

    def profile(
        self, rollout: Rollout, lines: tuple[ProfileLine, ...]
    ) -> tuple[ProfileLine, ...]:
        """Change them in the round of the place."""
        lines = self.inner.profile(rollout, lines)
        row = self.row(rollout) if self.waiting else None
        if row is None or rollout.answer is None:
            return lines
        # a profile is of a round of all environments, told after its rows
        if not (
            rollout.last_episode[row] == self.place.episode
            and rollout.last_count[row] == self.place.control_step
        ):
            return lines
        # it is the round's, which the first environment's row stands for
        first = (
            rollout.source.watched[0],
            rollout.last_episode[0],
            rollout.last_count[0],
        )
        self.happened.append(Place(*(int(number) for number in first)))
        return self.changed(lines)

    def changed(self, lines: tuple[ProfileLine, ...]) -> tuple[ProfileLine, ...]:
        """The wrong ones."""
        raise NotImplementedError


class ProfileTwice(_Profile):
    """An entry is added twice."""

    NAME = "profile-twice"
    ABOUT = "an entry of the profile is added twice, so that parts exceed the whole"

    def changed(self, lines: tuple[ProfileLine, ...]) -> tuple[ProfileLine, ...]:
        """Add the longest part once more."""
        return (*lines, max(lines[1:], key=lambda line: line.value))


class ProfileUnits(_Profile):
    """Milliseconds are told as seconds."""

    NAME = "profile-units"
    ABOUT = "an entry of the profile is in milliseconds and says seconds"

    def changed(self, lines: tuple[ProfileLine, ...]) -> tuple[ProfileLine, ...]:
        """Multiply the longest part, and leave its unit."""
        longest = max(lines[1:], key=lambda line: line.value)
        return tuple(
            replace(line, value=line.value * MS) if line is longest else line
            for line in lines
        )


FAULTS: tuple[type[Fault], ...] = (FrameRestamped, ProfileTwice, ProfileUnits)
