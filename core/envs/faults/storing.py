"""Faults of whoever consumes the stream: which rows are taken, what is put in them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from gymnasium.vector import AutoresetMode

from isoscope.core.envs.faults.fault import Fault, Need
from isoscope.core.envs.faults.order import FaultOrder, Place
from isoscope.core.envs.rollout.stages import RolloutStages, WrappedRolloutStages

if TYPE_CHECKING:
    from isoscope.core.envs.rollout.records import Array, InfoValues, StoredRows
    from isoscope.core.envs.rollout.rollout import Rollout

HANDLE_BASE = (1 << 32) + 1  # where the engine's handles begin
# native fields that a fault wants to be looked at
TARGET, POSE, PLACE = "targetPose", "pose", "translation"


class RolloutFault(Fault, WrappedRolloutStages):
    """A fault in a stage of the rollout.

    Attributes
    ----------
    FIELDS
        Native fields of articulations that have to be looked at.
    """

    FIELDS: ClassVar[tuple[str, ...]] = ()

    def __init__(self, order: FaultOrder) -> None:
        Fault.__init__(self, order)
        WrappedRolloutStages.__init__(self, RolloutStages())

    def row(self, rollout: Rollout) -> int | None:
        """The watched row of the place's environment."""
        found = np.flatnonzero(rollout.source.watched == self.place.env)
        return int(found[0]) if found.size else None

    def reached(self, rollout: Rollout, late: bool = False) -> int | None:
        """The row, if its environment is at the place now (or, if `late`, after it).

        Asked within a round, once it is known what it was.
        """
        row = self.row(rollout)
        if row is None:
            return None
        here = (int(rollout.episode[row]), int(rollout.count[row]))
        wanted = (self.place.episode, self.place.control_step)
        return row if here == wanted or (late and here > wanted) else None

    def note_here(self, rollout: Rollout, row: int) -> None:
        """Remember that it happened now."""
        self.note(int(rollout.episode[row]), int(rollout.count[row]))

    def note_next(self, rollout: Rollout, row: int) -> None:
        """Remember that it shows in the first step of the episode that begins now."""
        already = rollout.source.mode is AutoresetMode.NEXT_STEP
        self.note(int(rollout.episode[row]) + (not already), 1)


class ResetRow(RolloutFault):
    """The row that only resets is stored as a transition."""

    NAME = "reset-row"
    ABOUT = "a row that only resets is stored as if its action had been taken"
    FINDS = ("reset-row",)
    MODES = ("next_step",)
    WHEN = "end"

    def transitions(self, rollout: Rollout, rows: StoredRows) -> StoredRows:
        """Take it."""
        rows = self.inner.transitions(rollout, rows)
        row = self.reached(rollout, late=True) if self.waiting else None
        if row is not None and not rows.transition[row]:
            rows.transition[row] = rows.usable[row] = True
            self.note_here(rollout, row)
        return rows


class FinalObservation(RolloutFault):
    """The next observation at an end is the new episode's first."""

    NAME = "final-observation"
    ABOUT = "at an episode's end the new episode's first observation is stored as next"
    FINDS = ("final-observation",)
    MODES = ("same_step",)
    WHEN = "end"

    def transitions(self, rollout: Rollout, rows: StoredRows) -> StoredRows:
        """Store what was returned."""
        rows = self.inner.transitions(rollout, rows)
        row = self.reached(rollout, late=True) if self.waiting else None
        answer = rollout.answer
        if row is not None and answer is not None and answer.starts[row]:
            rows.next_obs[row] = answer.returned[row]
            self.note_here(rollout, row)
        return rows


class _Flags(RolloutFault):
    """Both flags of an end are stored alike."""

    FINDS = ("end-flags",)
    WHEN = "end"
    FLAG: ClassVar[bool]

    def transitions(self, rollout: Rollout, rows: StoredRows) -> StoredRows:
        """Store them wrong, at the first end with one of them."""
        rows = self.inner.transitions(rollout, rows)
        row = self.reached(rollout, late=True) if self.waiting else None
        if row is None or not rows.usable[row]:
            return rows
        if bool(rows.terminated[row]) != bool(rows.truncated[row]):
            rows.terminated[row] = rows.truncated[row] = self.FLAG
            self.note_here(rollout, row)
        return rows


class FlagsMerged(_Flags):
    """Both are set."""

    NAME = "end-flags-both"
    ABOUT = "an end of one kind is stored as terminated and truncated"
    FLAG = True


class FlagsLost(_Flags):
    """Neither is set."""

    NAME = "end-flags-neither"
    ABOUT = "an episode's end is stored with neither flag"
    FLAG = False


class Aliasing(RolloutFault):
    """Rows of an environment are views of one buffer, written into every round."""

    NAME = "aliasing"
    ABOUT = "from a control step on, an environment's stored rows share one buffer"
    FINDS = ("aliasing",)
    LASTS = True

    def __init__(self, order: FaultOrder) -> None:
        super().__init__(order)
        self._shared: dict[str, list[Array]] = {"obs": [], "next_obs": []}

    def keep(self, rollout: Rollout, rows: StoredRows) -> StoredRows:
        """Write what is new into the rows before as well."""
        rows = self.inner.keep(rollout, rows)
        row = self.row(rollout)
        if row is None:
            return rows
        if self.waiting:
            if self.reached(rollout) is None:
                return rows
            self.note_here(rollout, row)
        for name, shared in self._shared.items():
            fresh = getattr(rows, name)
            for array in shared:
                array[row] = fresh[row]
            # what was handed over since is nobody's any more
            del shared[: -rollout.options.horizon]
            shared.append(fresh)
        return rows


class ObservationDtype(RolloutFault):
    """The observation goes through half precision."""

    NAME = "observation-dtype"
    ABOUT = "an observation is stored in half precision, not as its space declares"
    FINDS = ("observation-schema",)

    def transitions(self, rollout: Rollout, rows: StoredRows) -> StoredRows:
        """Round it."""
        rows = self.inner.transitions(rollout, rows)
        row = self.reached(rollout) if self.waiting else None
        if row is not None:
            half = np.clip(rows.next_obs[row], -65504, 65504).astype(np.float16)
            rows.next_obs[row] = half
            self.note_here(rollout, row)
        return rows


class MaskedInfo(RolloutFault):
    """What stands where an info's mask is unset is taken for a value."""

    NAME = "masked-info"
    ABOUT = "an info is read as a value in a row where its mask says there is none"
    FINDS = ("masked-info",)
    WHEN = "end"

    def info(self, rollout: Rollout, key: str, info: InfoValues) -> InfoValues:
        """Leave the mask unread."""
        info = self.inner.info(rollout, key, info)
        row = self.reached(rollout, late=True) if self.waiting else None
        if row is None or info.present[row]:
            return info
        if info.ends is not None and info.ends()[row] == info.values[row]:
            return info  # what stands there happens to be the very value
        present = info.present.copy()
        present[row] = True
        self.note_here(rollout, row)
        return replace(info, present=present)


class AbsentField(RolloutFault):
    """A native field that is not there is stored as zero."""

    NAME = "absent-field"
    ABOUT = "a native field that a body has not is stored as zero"
    FINDS = ("absent-field",)
    FIELDS = (TARGET,)

    def field(self, rollout: Rollout, name: str, values: Array) -> Array:
        """Write zeros where there is nothing."""
        values = self.inner.field(rollout, name, values)
        row = self.reached(rollout) if self.waiting else None
        if row is not None and np.isnan(values[row]).any():
            values = values.copy()
            values[row] = np.nan_to_num(values[row])
            self.note_here(rollout, row)
        return values


class TargetAsAction(RolloutFault):
    """The controller's target is stored as the action."""

    NAME = "target-as-action"
    ABOUT = "the joints' target (where they have none: pose) is stored as the action"
    FINDS = ("target-as-action",)
    MAY_FIND = ("action-range",)  # where the target lies outside the box
    FIELDS = (TARGET, POSE, PLACE)

    def transitions(self, rollout: Rollout, rows: StoredRows) -> StoredRows:
        """Store it."""
        rows = self.inner.transitions(rollout, rows)
        row = self.reached(rollout) if self.waiting else None
        if row is None:
            return rows
        found = (self._native(rows, field, row) for field in self.FIELDS)
        known = [values for values in found if not np.isnan(values).any()]
        if not known:
            return rows
        rows.action[row] = np.resize(known[0], rows.action.shape[1])
        self.note_here(rollout, row)
        return rows

    def _native(self, rows: StoredRows, field: str, row: int) -> Array:
        for name, values in rows.fields.items():
            if name.endswith(f"/{field}"):
                found: Array = values[row]
                return found
        return np.full(1, np.nan)


class HandleAsEnv(RolloutFault):
    """A row is labelled with a native handle."""

    NAME = "handle-as-env"
    ABOUT = "a row is labelled with an actor's handle for its environment's number"
    FINDS = ("handle-as-env",)

    def label(self, rollout: Rollout, env: Array) -> Array:
        """Label it wrong."""
        env = self.inner.label(rollout, env)
        row = self.reached(rollout) if self.waiting else None
        if row is not None:
            env = env.copy()
            env[row] = HANDLE_BASE
            self.note_here(rollout, row)
        return env


class HiddenStateKept(RolloutFault):
    """The policy's own state goes on into the next episode."""

    NAME = "hidden-state-kept"
    ABOUT = "what the policy carries on is not reset at an episode's border"
    FINDS = ("hidden-state-not-reset",)
    NEEDS: ClassVar[tuple[Need, ...]] = ("policy-state",)
    WHEN = "end"

    def begin(self, rollout: Rollout, began: Any) -> Any:
        """Leave it."""
        began = self.inner.begin(rollout, began)
        row = self.reached(rollout, late=True) if self.waiting else None
        answer = rollout.answer
        if row is None or answer is None or not answer.starts[row]:
            return began
        self.note_next(rollout, row)
        source = rollout.source
        other = source.up(np.arange(source.num_envs) != self.place.env)
        return source.xp.logical_and(began, other)


class HiddenStateAdvanced(RolloutFault):
    """The policy's own state takes a step in a row that only resets."""

    NAME = "hidden-state-advanced"
    ABOUT = "what the policy carries on is there at an episode's beginning already"
    FINDS = ("hidden-state-not-reset",)
    NEEDS: ClassVar[tuple[Need, ...]] = ("policy-state",)
    MODES = ("next_step",)
    WHEN = "end"

    def advance(self, rollout: Rollout, acted: Any) -> Any:
        """Advance it."""
        acted = self.inner.advance(rollout, acted)
        row, answer = self._where(rollout), rollout.answer
        if row is None or answer is None:
            return acted
        source = rollout.source
        here = source.up(np.arange(source.num_envs) == self.place.env)
        return source.xp.logical_or(acted, here)

    def begin(self, rollout: Rollout, began: Any) -> Any:
        """Leave what was advanced."""
        began = self.inner.begin(rollout, began)
        row = self._where(rollout)
        if row is None:
            return began
        self.note_next(rollout, row)
        source = rollout.source
        other = source.up(np.arange(source.num_envs) != self.place.env)
        return source.xp.logical_and(began, other)

    def _where(self, rollout: Rollout) -> int | None:
        row = self.reached(rollout, late=True) if self.waiting else None
        answer = rollout.answer
        if row is None or answer is None or answer.transition[row]:
            return None
        return row


class UnseededActionSpace(RolloutFault):
    """Actions are drawn from a space that nobody seeded."""

    NAME = "unseeded-action-space"
    ABOUT = "from a control step on, actions come from a space that nobody seeded"
    FINDS = ("unseeded-action-space",)
    LASTS = True

    def before(self, rollout: Rollout) -> None:
        """Lose the seed."""
        self.inner.before(rollout)
        row = self.row(rollout) if self.waiting else None
        if row is None:
            return
        episode, k = int(rollout.episode[row]), int(rollout.count[row]) + 1
        if Place(self.place.env, episode, k) == self.place:
            rollout.policy.unseed(self.place.env)
            self.note()


class ReturnUnits(RolloutFault):
    """A return is summed over seconds, beside others over control steps."""

    NAME = "return-units"
    ABOUT = "a return is of rewards times seconds, among returns a control step each"
    FINDS = ("return-units",)
    WHEN = "end"

    def finish(self, rollout: Rollout, ended: Any) -> Any:
        """Multiply by the control step's length."""
        ended = self.inner.finish(rollout, ended)
        mine = ended.env == self.place.env and self.waiting
        if not mine or self.reached(rollout, late=True) is None:
            return ended
        self.note(ended.episode, ended.length)
        return replace(ended, value=ended.value / ended.control_hz)


FAULTS: tuple[type[Fault], ...] = (
    ResetRow,
    FinalObservation,
    FlagsMerged,
    FlagsLost,
    Aliasing,
    ObservationDtype,
    MaskedInfo,
    AbsentField,
    TargetAsAction,
    HandleAsEnv,
    HiddenStateKept,
    HiddenStateAdvanced,
    UnseededActionSpace,
    ReturnUnits,
)
