"""What a check may look at: the recording, whose each step was, and a reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.isolation.findings import Affected
from isoscope.core.isolation.labelled_context import LabelledContext
from isoscope.core.isolation.registry import CannotRunError
from isoscope.core.isolation.words import place_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.attribution.result import Attribution
    from isoscope.core.isolation.resimulator import Resimulator
    from isoscope.core.recording.model import Actor, Recording
    from isoscope.core.recording.tracks import AnyTrack, Array


@dataclass(frozen=True, slots=True, eq=False)
class Examined:
    """A recording and whose its steps were."""

    recording: Recording
    attribution: Attribution

    @property
    def file(self) -> str:
        """What to call it."""
        path = self.recording.path
        return str(path) if path is not None else self.recording.name

    def rows_of(self, env: int) -> Array:
        """int64 [n]: the native steps of one environment, ascending."""
        return np.flatnonzero(self.attribution.labels.env == env)

    def environments(self) -> list[int]:
        """The environments that have a step, ascending."""
        env = self.attribution.labels.env
        return [int(e) for e in np.unique(env) if e >= 0]

    def place(self, row: int) -> tuple[int | None, int | None, int | None]:
        """Environment, episode, control step of a row; None where unknown."""
        labels = self.attribution.labels
        return tuple(  # type: ignore[return-value]  # three by construction
            int(column[row]) if column[row] >= 0 else None
            for column in (labels.env, labels.episode, labels.control_step)
        )

    def where(self, row: int) -> str:
        """The place of a row in words: ``"episode 2, control step 4"``."""
        _, episode, control_step = self.place(row)
        if episode is None:
            return f"native step {row}"
        if control_step is None:
            return f"episode {episode} (native step {row})"
        return place_text(episode, control_step)

    def affected(self, env: int, row: int) -> Affected:
        """An environment as reached from this row of its own on."""
        _, episode, control_step = self.place(row)
        return Affected(
            env=env, episode=episode, control_step=control_step, native=int(row)
        )

    def tracks(self) -> Iterator[tuple[Actor, str, AnyTrack]]:
        """Every field of every actor."""
        for actor in self.recording.actors:
            for name, track in actor.fields.tracks.items():
                yield actor, name, track


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """What one audit looks at.

    Attributes
    ----------
    subject
        The recording under audit.
    reference
        An independent twin: the same environment stepped alone, or None.
    resimulator
        What can step the subject's environments again, or None.
    labelled
        What a labelled recording tells beyond its native steps; None for any other.
    """

    subject: Examined
    reference: Examined | None = None
    resimulator: Resimulator | None = None
    labelled: LabelledContext | None = None

    def __post_init__(self) -> None:
        recording = self.subject.recording
        if self.labelled is None and recording.labelled is not None:
            found = LabelledContext(recording.labelled, recording)
            object.__setattr__(self, "labelled", found)

    def tells(self, needs: str) -> LabelledContext:
        """What the labelled recording tells.

        Raises
        ------
        CannotRunError
            If it is none; `needs` says what would have to be recorded.
        """
        if self.labelled is None:
            raise CannotRunError("a bare recording can't show it", needs)
        return self.labelled


def runs(rows: Array) -> list[tuple[int, int]]:
    """Ascending rows as ranges [first, last], inclusive."""
    if len(rows) == 0:
        return []
    breaks = np.flatnonzero(np.diff(rows) > 1)
    firsts = np.concatenate([rows[:1], rows[breaks + 1]])
    lasts = np.concatenate([rows[breaks], rows[-1:]])
    return [(int(a), int(b)) for a, b in zip(firsts, lasts, strict=True)]
