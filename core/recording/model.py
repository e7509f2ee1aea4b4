"""The columnar recording: a step table, actors with their lifetime, a track a field.

Rows are native steps, counted from 0 in the order of the file's event numbers. Every
source (a file's reader, a live run) gives this same form; a live or still-indexed one
grows at its end, written by one thread and read by any.

Axis order: time first. Times are float64 seconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from isoscope.core.errors import UsageError
from isoscope.core.natural import shortened, some_of
from isoscope.core.recording.tracks import AnyTrack, Array, FieldTable, Track

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.recording.labelled.labelled import LabelledRecording
    from isoscope.core.recording.spill import Spill

Severity = Literal["error", "warning", "note"]


@dataclass(frozen=True, slots=True)
class Problem:
    """Something about the file that the user should know, told where it is.

    Attributes
    ----------
    message
        One line, without the file's name.
    where
        The place inside the file, such as ``"/events/12"``; empty for the whole file.
    count
        How many places are like this one; `where` is the first.
    severity
        ``"error"`` where something could not be read, else ``"warning"``.
    """

    message: str
    where: str = ""
    count: int = 1
    severity: Severity = "warning"

    def __str__(self) -> str:
        """One line."""
        place = f" ({self.where})" if self.where else ""
        more = f", and {self.count - 1} more like it" if self.count > 1 else ""
        return f"{self.message}{place}{more}"


class StepKind(IntEnum):
    """What a native step is for; the file alone doesn't say."""

    UNKNOWN = -1
    SUBSTEP = 0
    RESET = 1
    FREE = 2
    ZERO = 3


@dataclass(slots=True)
class Labels:
    """Whose each native step was, where a source says so or attribution found out.

    All are arrays [T]; -1 is unknown. Environments and substeps count from 0, episodes
    and control steps from 1, and a reset's own step is control step 0.
    """

    env: Array
    episode: Array
    control_step: Array
    substep: Array
    kind: Array

    @classmethod
    def unknown(cls, steps: int) -> Labels:
        """Labels [steps] that say nothing yet."""
        env, episode, control, substep = (np.full(steps, -1, np.int32) for _ in "1234")
        kind = np.full(steps, StepKind.UNKNOWN, np.int8)
        return cls(env, episode, control, substep, kind)

    def __len__(self) -> int:
        """Native steps covered."""
        return len(self.env)


class StepTable:
    """The native steps: event number, recording time, h, gravity, scene time.

    All columns are of equal length and grow together; each property is a view.
    """

    def __init__(self, capacity: int = 64) -> None:
        self._event = Track(np.dtype(np.int64), (), 0, capacity)
        self._time = Track(np.dtype(np.float64), (), 0, capacity)
        self._h = Track(np.dtype(np.float64), (), 0, capacity)
        self._gravity = Track(np.dtype(np.float64), (3,), 0, capacity)
        self._scene_time = Track(np.dtype(np.float64), (), 0, capacity)
        # Last, so that a reader who takes the length sees every column filled.
        self._length = 0

    @property
    def tracks(self) -> tuple[Track, ...]:
        """The columns as tracks."""
        return self._event, self._time, self._h, self._gravity, self._scene_time

    @property
    def spill(self) -> Spill | None:
        """Where they grow beyond memory, and what is worked out for each step, too."""
        return self._event.spill

    def append(
        self,
        event: Array,
        time_s: Array,
        h_s: Array,
        gravity: Array,
        scene_time_s: Array | None = None,
    ) -> None:
        """Append n steps.

        Parameters
        ----------
        event
            int64 [n]: the file's event numbers (row numbers where there are none).
        time_s, h_s
            float64 [n]; NaN where the file doesn't say.
        gravity
            float64 [n, 3]; NaN where the file doesn't say.
        scene_time_s
            float64 [n]; NaN (the default) where unknown, as in a native recording.
        """
        self._event.append(event)
        self._time.append(time_s)
        self._h.append(h_s)
        self._gravity.append(gravity)
        n = len(event)
        unknown = np.full(n, np.nan)
        self._scene_time.append(unknown if scene_time_s is None else scene_time_s)
        self._length += n

    def __len__(self) -> int:
        """Native steps so far."""
        return self._length

    @property
    def event(self) -> Array:
        """int64 [T]: number of each step's event in the file."""
        return self._event.values[: self._length]

    @property
    def time_s(self) -> Array:
        """float64 [T]: recording time at the end of the step; NaN where unknown."""
        return self._time.values[: self._length]

    @property
    def h_s(self) -> Array:
        """float64 [T]: duration of the step; NaN where unknown."""
        return self._h.values[: self._length]

    @property
    def gravity(self) -> Array:
        """float64 [T, 3] in m/s²; NaN where unknown."""
        return self._gravity.values[: self._length]

    @property
    def scene_time_s(self) -> Array:
        """float64 [T]: the scene's own clock, which a restore rewinds; NaN unknown."""
        return self._scene_time.values[: self._length]

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        columns = (self._event, self._time, self._h, self._gravity, self._scene_time)
        return sum(c.values.nbytes for c in columns)


@dataclass(slots=True, eq=False)
class Actor:
    """One actor: what it is, when it lives, and its fields.

    Attributes
    ----------
    index
        Its place in `Recording.actors`; the key to use inside the program.
    handle
        u64 that names it within one run only. Not an environment id.
    name, type
        As written. An articulation's links are named ``Articulation/Link``.
    static
        Whether the engine never moves it; None where the file doesn't say.
    created_native
        The first row in which it exists.
    destroyed_native
        The first row in which it no longer exists, or None.
    reference
        What its creation holds once: meshes, counts, transform at that time. The
        transform is the one *after* the first recorded step, not the initial one.
    fields
        A track a field, over the rows.
    """

    index: int
    handle: int
    name: str
    type: str
    static: bool | None
    created_native: int
    destroyed_native: int | None = None
    reference: dict[str, Array] = field(default_factory=dict)
    fields: FieldTable = field(default_factory=FieldTable)

    def alive(self, native: int) -> bool:
        """Whether it exists in this row."""
        if native < self.created_native:
            return False
        return self.destroyed_native is None or native < self.destroyed_native

    @property
    def parent_name(self) -> str | None:
        """The articulation's name, if this is one of its links."""
        head, slash, _ = self.name.rpartition("/")
        return head if slash else None

    def __repr__(self) -> str:
        """What, when, and how many fields."""
        end = "" if self.destroyed_native is None else self.destroyed_native
        return (
            f"Actor({self.index} {self.name!r} {self.type}, rows "
            f"{self.created_native}:{end}, {len(self.fields.tracks)} fields)"
        )


@dataclass(slots=True, eq=False)
class Recording:
    """One recording, or the part of it that has been indexed so far.

    Attributes
    ----------
    path
        The file; None for a live run.
    format
        Key of the reader that made it, such as ``"superdex-events"``.
    size_bytes
        Of the file.
    steps
        The step table.
    scene
        Fields of the steps themselves exactly as written (timeTotal, gravity, …).
    actors
        In order of creation.
    event_counts
        How many events of each kind were seen.
    problems
        What could not be read, or should be known.
    complete
        Whether every event of the file is in here.
    let_go
        Whether somebody who followed it while it was written chose to have no more.
    expected_steps
        An upper bound of the rows to come, while it is being indexed; 0 if unknown.
    labels
        Whose each step was, where the source itself says so.
    real
        Dtype of the real-valued fields, or None if there is none.
    notes
        Free facts that a reader knows, for `info`: key to text.
    wall_s
        float64 [T]: the computer's time of each row, seconds since the epoch; NaN where
        unknown. None where the source has no such time.
    control
        Fields of the control steps, in every native step that each one took: empty
        where the source tells of none.
    labelled
        What a labelled recording holds besides these columns, or None.
    row_is
        What a row is: a native step, or a control step where environments tell of
        nothing below them.
    """

    path: Path | None
    format: str
    size_bytes: int = 0
    steps: StepTable = field(default_factory=StepTable)
    scene: FieldTable = field(default_factory=FieldTable)
    actors: list[Actor] = field(default_factory=list)
    event_counts: dict[str, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    complete: bool = False
    let_go: bool = False
    expected_steps: int = 0
    labels: Labels | None = None
    real: np.dtype[Any] | None = None
    notes: dict[str, str] = field(default_factory=dict)
    wall_s: Array | None = None
    control: FieldTable = field(default_factory=FieldTable)
    labelled: LabelledRecording | None = None
    row_is: Literal["native step", "control step"] = "native step"

    def __len__(self) -> int:
        """Rows so far."""
        return len(self.steps)

    @property
    def name(self) -> str:
        """What to call it in a list."""
        return self.path.name if self.path is not None else "live"

    @property
    def columns_bytes(self) -> int:
        """Bytes held by the step table and all tracks."""
        tables = [self.scene, *(a.fields for a in self.actors)]
        tracks = sum(t.nbytes for table in tables for t in table.tracks.values())
        return self.steps.nbytes + tracks

    def find_actors(self, name: str) -> list[Actor]:
        """Actors of this name or, written as a number, this handle.

        ``NAME#2`` is the second of that name, where scenes share names and handles.

        Raises
        ------
        UsageError
            If there is none; the message lists the names there are.
        """
        found = [a for a in self.actors if a.name == name or str(a.handle) == name]
        if not found and "#" in name:
            alike, _, number = name.rpartition("#")
            same = [a for a in self.actors if a.name == alike]
            if number.isdecimal() and 0 < int(number) <= len(same):
                return [same[int(number) - 1]]
        if not found:
            names = some_of(a.name for a in self.actors) or "no actor at all"
            raise UsageError(f"no actor named {name!r} in {self.name}; it has {names}")
        return found

    def track_of(self, actor: Actor, name: str) -> AnyTrack:
        """The actor's track of this name.

        Raises
        ------
        UsageError
            If it has none; the message lists the fields there are.
        """
        track = actor.fields.get(name)
        if track is None:
            names = some_of(actor.fields) or "no field at all"
            raise UsageError(
                f"actor {shortened(actor.name)!r} has no field {name!r} in "
                f"{self.name}; it has {names}"
            )
        return track
