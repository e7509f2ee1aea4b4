"""What was stepped past the end of what was recorded: states, and how far they go."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.recording.model import Actor, Labels, Recording, StepKind
from isoscope.core.recording.tracks import FieldTable, Track
from isoscope.core.replay.differences import sizes

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from isoscope.core.recording.tracks import Array


@dataclass(frozen=True, slots=True, eq=False)
class PastEnd:
    """Native steps past the last recorded one, counted from 1.

    Attributes
    ----------
    recording
        Their states as a recording of so many rows, with the actors' shapes.
    after
        The recorded native row that they follow on.
    away
        By ``actor.field`` how far each step's value is from the recorded one in `after`
        (the component that is furthest), float64 [n], in the field's unit.
    """

    recording: Recording
    after: int
    away: Mapping[str, Array]

    def __len__(self) -> int:
        return len(self.recording)

    @property
    def h_s(self) -> Array:
        """float64 [n]."""
        return self.recording.steps.h_s

    def place(self, step: int) -> str:
        """Environment, episode and control step of one, for people."""
        labels = self.recording.labels
        assert labels is not None  # it was made with some
        at = step - 1
        return (
            f"env {labels.env[at]} · episode {labels.episode[at]} · control step "
            f"{labels.control_step[at]}"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Continued:
    """A field's values: [n, *shape], and the last recorded one [*shape] if known."""

    actor: str
    name: str
    rotation: bool
    values: Array
    last: Array | None


def past_end(
    recording: Recording,
    after: int,
    fields: Iterable[Continued],
    h_s: Array,
    places: tuple[int, int, Array, Array],
) -> PastEnd:
    """Put steps past the recorded end together.

    Parameters
    ----------
    recording
        The one whose end it is.
    after
        The native row that they follow on.
    h_s
        float64 [n].
    places
        Environment, episode, and of each step the control step and the substep [n].
    """
    env, episode, control_steps, substeps = places
    n = len(h_s)
    labels = Labels.unknown(n)
    labels.env[:], labels.episode[:] = env, episode
    labels.control_step[:], labels.substep[:] = control_steps, substeps
    labels.kind[:] = StepKind.SUBSTEP
    other = Recording(recording.path, "past-the-end", labels=labels, complete=True)
    steps = recording.steps
    ahead = np.cumsum(h_s)
    other.steps.append(
        np.arange(n, dtype=np.int64),
        float(steps.time_s[after]) + ahead,
        h_s,
        np.repeat(steps.gravity[after][None], n, axis=0),
        float(steps.scene_time_s[after]) + ahead,
    )
    found: dict[str, dict[str, Track]] = {}
    away: dict[str, Array] = {}
    for one in fields:
        there = np.ones(n, np.bool_)
        found.setdefault(one.actor, {})[one.name] = Track.of(one.values, there, 0)
        if one.last is not None:
            last = np.repeat(np.reshape(one.last, (1, -1)), n, axis=0)
            off, _ = sizes(last, one.values.reshape(n, -1), one.rotation)
            away[f"{one.actor}.{one.name}"] = off.max(1, initial=0.0)
    for actor in recording.actors:
        if actor.created_native > after:
            continue
        gone = actor.destroyed_native
        if gone is not None and gone <= after:
            continue
        other.actors.append(
            Actor(
                index=len(other.actors),
                handle=actor.handle,
                name=actor.name,
                type=actor.type,
                static=actor.static,
                created_native=0,
                destroyed_native=None,
                reference=actor.reference,
                fields=FieldTable(dict(found.get(actor.name, {}))),
            )
        )
    return PastEnd(other, after, away)
