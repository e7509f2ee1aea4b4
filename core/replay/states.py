"""What was stepped again, kept to be looked at: states, and how far they are apart."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import numpy as np

from isoscope.core.recording.model import Actor, Recording
from isoscope.core.recording.tracks import FieldTable, Track
from isoscope.core.replay.differences import sizes

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import Array
    from isoscope.core.replay.past_end import PastEnd
    from isoscope.core.replay.replay_forms import Replay
    from isoscope.core.replay.stand_in.forms import StandIn

NO_ROWS = np.zeros(0, np.int64)


class KeptField(Protocol):
    """What a keeper has to know of a field."""

    @property
    def actor(self) -> str:
        """Whose."""
        ...

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    @property
    def unit(self) -> str | None:
        """Its unit."""
        ...

    @property
    def rotation(self) -> bool:
        """Whether it is a quaternion, so that q and -q are the same."""
        ...

    @property
    def track(self) -> Track:
        """Its recorded values."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """How far apart one field of one environment is, step by step.

    Attributes
    ----------
    actor, name, unit
        The field.
    env
        The environment.
    rows
        int64 [n], ascending: the native steps that both hold it in.
    size
        float64 [n]: the difference of the component that is nearest to its tolerance
        or furthest beyond it, in the field's unit; infinite where one of the two is not
        a finite number.
    limit
        float64 [n]: that component's tolerance.
    """

    actor: str
    name: str
    unit: str | None
    env: int
    rows: Array
    size: Array
    limit: Array

    @property
    def full_name(self) -> str:
        """``actor.field``."""
        return f"{self.actor}.{self.name}"


@dataclass(frozen=True, slots=True, eq=False)
class States:
    """States that were stepped again, over the native steps of the recording.

    Attributes
    ----------
    recording
        As the recorded one, with the same rows and actors; its actors hold the fields
        that were stepped, and only in the rows that were.
    rows
        int64 [n], ascending: these rows.
    traces
        Of all fields and environments.
    """

    recording: Recording
    rows: Array
    traces: tuple[Trace, ...]

    def has(self, row: int) -> bool:
        """Whether a native step was stepped again."""
        at = int(np.searchsorted(self.rows, row))
        return at < len(self.rows) and int(self.rows[at]) == row

    def fields(self) -> list[str]:
        """Full names, those first that are furthest beyond their tolerance."""
        worst: dict[str, float] = {}
        for trace in self.traces:
            share = _worst_share(trace)
            worst[trace.full_name] = max(worst.get(trace.full_name, 0.0), share)
        return sorted(worst, key=lambda name: -worst[name])

    def of(self, full_name: str) -> list[Trace]:
        """The traces of a field, by environment."""
        found = [trace for trace in self.traces if trace.full_name == full_name]
        return sorted(found, key=lambda trace: trace.env)


@dataclass(frozen=True, slots=True, eq=False)
class Replayed:
    """What a re-simulation said, and what it stepped; one thing to look at.

    Attributes
    ----------
    name
        What to call it: ``"stepped alone"``, or a branch's name.
    report
        What can be claimed of it.
    states
        What was stepped.
    past_end
        What was stepped past the recorded end; None where nothing was.
    """

    name: str
    report: Replay | StandIn
    states: States
    past_end: PastEnd | None = None


def _worst_share(trace: Trace) -> float:
    if not len(trace.size):
        return 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(trace.size > 0, trace.size / trace.limit, 0.0)
    return float(np.nanmax(share, initial=0.0))


@dataclass(slots=True, eq=False)
class _Field:
    """The blocks of one field of one environment."""

    of: KeptField
    env: int
    rows: list[Array] = field(default_factory=list)
    values: list[Array] = field(default_factory=list)
    valid: list[Array] = field(default_factory=list)
    size: list[Array] = field(default_factory=list)
    limit: list[Array] = field(default_factory=list)


class Keeper:
    """Takes what `Stepwise` compares, block by block, and makes `States` of it.

    Parameters
    ----------
    relative
        |a - b| may be this times (1 + the larger of |a| and |b|), where no tolerance is
        given for a field.
    """

    def __init__(self, relative: float) -> None:
        self._relative = relative
        self._kept: dict[tuple[int, int], _Field] = {}
        self._drawn: dict[int, Track] = {}

    def take(
        self,
        env: int,
        one: KeptField,
        rows: Array,
        recorded: Array,
        here: Array,
        valid: Array,
        allowed: float | None,
    ) -> None:
        """Take a block of one field.

        Parameters
        ----------
        rows
            int64 [n].
        recorded, here
            [n, D], of the recording and of the engine.
        valid
            bool [n]: whether the recording has it.
        allowed
            The field's tolerance, where one was given.
        """
        kept = self._kept.setdefault((id(one.track), env), _Field(one, env))
        size, scale = sizes(recorded, here, one.rotation)
        limit = self._relative * (1.0 + scale) if allowed is None else scale * 0.0
        if allowed is not None:
            limit += allowed
        if size.shape[1]:
            with np.errstate(divide="ignore", invalid="ignore"):
                share = np.where(size > 0, size / limit, 0.0)
            worst = np.argmax(share, axis=1)[:, None]
            size = np.take_along_axis(size, worst, axis=1)[:, 0]
            limit = np.take_along_axis(limit, worst, axis=1)[:, 0]
        else:
            size = limit = np.zeros(len(rows))
        kept.rows.append(rows.copy())
        kept.values.append(here)
        kept.valid.append(valid.copy())
        kept.size.append(size)
        kept.limit.append(limit)

    def draw(self, track: Track, rows: Array, values: Array) -> None:
        """Take a field only to be drawn: [n, D] in these rows, int64 [n], ascending."""
        self._drawn[id(track)] = _column(rows, values, track.shape)

    def states(self, recording: Recording) -> States:
        """All that was taken, over the rows of the recording that it is of."""
        tracks: dict[int, list[_Field]] = {}
        traces = []
        for (track, _), kept in self._kept.items():
            tracks.setdefault(track, []).append(kept)
            traces.append(_trace(kept))
        all_rows = [np.concatenate(kept.rows) for kept in self._kept.values()]
        rows = np.unique(np.concatenate(all_rows)) if all_rows else NO_ROWS
        other = Recording(
            recording.path,
            "stepped-again",
            steps=recording.steps,
            labels=recording.labels,
            complete=True,
        )
        for actor in list(recording.actors):
            found = {
                name: _track(tracks[id(track)])
                for name, track in actor.fields.tracks.items()
                if id(track) in tracks
            }
            found |= {
                name: self._drawn[id(track)]
                for name, track in actor.fields.tracks.items()
                if id(track) in self._drawn
            }
            other.actors.append(_like(actor, found))
        return States(other, rows, tuple(traces))


def _trace(kept: _Field) -> Trace:
    rows, valid = np.concatenate(kept.rows), np.concatenate(kept.valid)
    order = np.argsort(rows, kind="stable")
    order = order[valid[order]]
    one = kept.of
    return Trace(
        one.actor,
        one.name,
        one.unit,
        kept.env,
        rows[order],
        np.concatenate(kept.size)[order],
        np.concatenate(kept.limit)[order],
    )


def _track(parts: list[_Field]) -> Track:
    """One field of all environments as a track; absent where nothing was stepped."""
    rows = np.concatenate([rows for part in parts for rows in part.rows])
    values = np.concatenate([block for part in parts for block in part.values])
    return _column(rows, values, parts[0].of.track.shape)


def _column(rows: Array, values: Array, shape: tuple[int, ...]) -> Track:
    first = int(rows.min())
    length = int(rows.max()) - first + 1
    column = np.zeros((length, *shape), values.dtype)
    there = np.zeros(length, np.bool_)
    column[rows - first] = values.reshape(len(values), *shape)
    there[rows - first] = True
    return Track.of(column, there, first)


def _like(actor: Actor, tracks: dict[str, Track]) -> Actor:
    return Actor(
        index=actor.index,
        handle=actor.handle,
        name=actor.name,
        type=actor.type,
        static=actor.static,
        created_native=actor.created_native,
        destroyed_native=actor.destroyed_native,
        reference=actor.reference,
        fields=FieldTable(dict(tracks)),
    )
