"""What attribution found: whose every native step was, in columns, and the evidence.

Environments and substeps count from 0, episodes and control steps from 1; a reset's own
step is control step 0. Environments are numbered by their first appearance, unless
labels say.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Literal

import numpy as np

from isoscope.core.recording.model import StepKind

if TYPE_CHECKING:
    from isoscope.core.attribution.rounding import Precision
    from isoscope.core.recording.model import Labels
    from isoscope.core.recording.tracks import Array, BoolArray

Seen = Literal["scene", "copy", "order"]


class Reason(IntEnum):
    """Why something about a step is unknown; the names are those of the JSON form."""

    NONE = 0
    IDENTICAL_STATES = 1
    NO_VELOCITIES = 2
    CALLBACK_MOVED = 3
    M_UNDECIDABLE = 4
    MID_EPISODE = 5
    GAP = 6
    UNSUPPORTED_INTEGRATOR = 7

    @property
    def key(self) -> str:
        """As written in JSON."""
        return self.name.lower()


@dataclass(frozen=True, slots=True)
class Place:
    """Where an environment was: -1 is unknown."""

    env: int
    episode: int
    control_step: int


@dataclass(frozen=True, slots=True)
class MissedRestore:
    """An environment that went on from somebody else's state.

    Attributes
    ----------
    native
        Its first native step from there.
    place
        Which environment, and in which episode and control step.
    linked
        Whether that environment is proven.
    victim
        Whose state it took: which environment, and up to where it had got.
    victim_native
        The native step that left that state in the scene; -1 where that is from before
        the recording.
    orphan_native
        The environment's own last native step, whose state nothing continued; -1 where
        unknown.
    tainted
        First and last native step of the rest of that episode, inclusive: all of the
        environment's steps in there come from the wrong state.
    kind
        ``"scene"`` where the state was simply in the scene; ``"copy"`` where it was
        restored although it was another environment's; ``"order"`` where only the
        order of the turns shows it.
    confidence
        0 to 1.
    """

    native: int
    place: Place
    linked: bool
    victim: Place
    victim_native: int
    orphan_native: int
    tainted: tuple[int, int]
    kind: Seen
    confidence: float


@dataclass(frozen=True, slots=True)
class RewindSeen:
    """An environment that went back to an earlier state of its own, on purpose.

    Attributes
    ----------
    native
        The first native step from there.
    env
        Whose.
    left_native
        The step whose state was given up.
    to_native
        The step whose end was restored; -1 for the unrecorded state before the first.
    scene_time_from_s, scene_time_to_s
        The scene's clock before and after; NaN where unknown.
    """

    native: int
    env: int
    left_native: int
    to_native: int
    scene_time_from_s: float
    scene_time_to_s: float


@dataclass(frozen=True, slots=True)
class Jump:
    """A state that no step left and no reset made: rows are missing, or it was placed.

    `env` is -1 where unknown, `after_native` the last step of that environment before.
    """

    native: int
    env: int
    after_native: int


@dataclass(slots=True)
class Attribution:
    """Whose every native step was.

    Attributes
    ----------
    labels
        Environment, episode, control step, substep and kind; -1 where unknown.
    linked
        bool [T]: whether the environment's number is proven across the reset that the
        step's episode began with.
    residual_m
        float64 [T]: how far the step's start is from the end of the step that it
        continues, the worst position; NaN where it continues none.
    margin_m
        float64 [T]: the same for the second best candidate; NaN where there is none.
    confidence
        float64 [T]: that the environment is right.
    reason
        int8 [T]: a `Reason`.
    parent
        int32 [T]: the row that each one continues; -1 where unknown or none.
    track
        int32 [T]: a number for each lineage (from a reset, or from somebody else's
        state, to where nothing continues it); -1 where unknown.
    scene_time_s
        float64 [T]: the scene's clock after the step, as the restores leave it; NaN
        where it is unknown because the recording began after the reset.
    scene_time_since_s
        float64 [T]: the same, counted from where the track's first known state is, so
        with an offset that is unknown where `scene_time_s` is NaN.
    environments, episodes
        How many there are.
    substeps
        M, or None where undecidable.
    substeps_how
        How M is known, one line.
    odd_runs
        First rows of runs that are no multiple of M.
    origin
        ``"recording"`` where some environment's first steps don't follow a reset, so
        that control steps there count from the first whole one seen.
    order
        ``"fixed"``, ``"rounds"`` or None: in which order the environments take turns,
        where that was needed or could be seen.
    missed_restores, rewinds, jumps
        The evidence for findings, in order of native steps.
    equal_resets
        Groups of native steps: resets that left the very same state.
    displaced
        bool [T]: rows in which some body did not begin where the step before left it.
    displaced_actors
        Actor index to the number of such rows.
    precision
        How exactly the fields used are written, by (actor index, field name).
    notes
        What contradicts or should be known, one line each.
    """

    labels: Labels
    linked: BoolArray
    residual_m: Array
    margin_m: Array
    confidence: Array
    reason: Array
    parent: Array
    track: Array
    scene_time_s: Array
    scene_time_since_s: Array
    environments: int = 0
    episodes: int = 0
    substeps: int | None = None
    substeps_how: str = ""
    odd_runs: tuple[int, ...] = ()
    origin: Literal["reset", "recording"] = "reset"
    order: str | None = None
    missed_restores: list[MissedRestore] = field(default_factory=list)
    rewinds: list[RewindSeen] = field(default_factory=list)
    jumps: list[Jump] = field(default_factory=list)
    equal_resets: list[tuple[int, ...]] = field(default_factory=list)
    displaced: BoolArray | None = None
    displaced_actors: dict[int, int] = field(default_factory=dict)
    precision: dict[tuple[int, str], Precision] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        """Native steps."""
        return len(self.labels)

    @property
    def unknown(self) -> BoolArray:
        """Bool [T]: rows whose environment or control step is unknown.

        A step that belongs to no control step is known if its environment is.
        """
        labels = self.labels
        step = labels.kind == StepKind.SUBSTEP
        counted = (labels.episode >= 0) & (labels.control_step >= 0)
        out: BoolArray = (labels.env < 0) | (step & ~(counted & (labels.substep >= 0)))
        return out

    def place(self, row: int) -> Place:
        """Where the row's environment was."""
        labels = self.labels
        return Place(
            int(labels.env[row]),
            int(labels.episode[row]),
            int(labels.control_step[row]),
        )

    def rows_of(self, env: int) -> Array:
        """The rows of one environment, ascending."""
        return np.flatnonzero(self.labels.env == env)
