"""From events, one by one, to the columnar recording.

This is the row-wise way in: the h5py reader uses it for every event that the fast scan
does not take, and it is the one place that knows what an event means. Source of the
format: the SuperDex scene recorder, release 1.0.0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.recording.model import Actor, Problem, Recording
from isoscope.core.recording.schema import ragged_by_nature
from isoscope.core.recording.tracks import (
    AnyTrack,
    Array,
    FieldTable,
    RaggedTrack,
    Track,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

CREATE, DESTROY, STEP = "CreateActor", "DestroyActor", "Step"
IDENTITY = ("handle", "name", "type", "static")
# How many places of one problem are told one by one.
TOLD_EACH = 1
# A new track reserves no more than this at once; longer ones double.
RESERVED_BYTES = 1 << 26


@dataclass(slots=True)
class Event:
    """One event as read: its attributes and child datasets by name, its actors.

    `fields` holds attributes and datasets alike under their names (an attribute of a
    dataset as ``dataset@attribute``, a dataset in a child group as ``group/dataset``).
    `actors` holds the same for each actor's group of a Step, by the group's name.
    """

    number: int
    fields: dict[str, Array]
    actors: dict[str, dict[str, Array]] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """Its eventType, or ``""`` where that can't be read."""
        return text(self.fields.get("eventType"))


def text(value: Array | None) -> str:
    """A string attribute as text; ``""`` where it is absent or no string."""
    if value is None or value.size != 1:
        return ""
    item = value.reshape(-1)[0]
    if isinstance(item, bytes):
        return item.decode("utf-8", "replace")
    return item if isinstance(item, str) else ""


def real_number(value: Array | None) -> float:
    """A real scalar, or NaN where it is absent or no number."""
    if value is None or value.size != 1 or value.dtype.kind not in "fiu":
        return float("nan")
    return float(value.reshape(-1)[0])


def vector3(value: Array | None) -> Array:
    """A float64 vector [3], NaN where it is absent or of another shape."""
    if value is None or value.shape != (3,) or value.dtype.kind not in "fiu":
        return np.full(3, np.nan)
    return value.astype(np.float64)


def handle_of(fields: dict[str, Array], group_name: str = "") -> int | None:
    """The actor's handle, from its attribute or, failing that, its group's name."""
    value = fields.get("handle")
    if value is not None and value.size == 1 and value.dtype.kind in "ui":
        return int(value.reshape(-1)[0])
    return int(group_name) if group_name.isdecimal() else None


class Assembler:
    """Appends events, in number order, to a recording.

    Parameters
    ----------
    recording
        Grown in place.
    capacity
        Steps to reserve room for.
    """

    def __init__(self, recording: Recording, capacity: int = 64) -> None:
        self.recording = recording
        self.capacity = capacity
        # Living actors by handle.
        self.alive: dict[int, Actor] = {}
        # The row that creations and destructions are counted from, where it is ahead
        # of the rows appended so far: a block's steps are appended after its events.
        self.ahead: int | None = None
        self._problems: dict[str, int] = {}

    @property
    def row(self) -> int:
        """The row that comes next."""
        return len(self.recording) if self.ahead is None else self.ahead

    def tell(self, message: str, where: str, severity: str = "warning") -> None:
        """List a problem; the same message again only counts."""
        problems = self.recording.problems
        found = self._problems.get(message)
        if found is None:
            self._problems[message] = len(problems)
            problems.append(
                Problem(
                    message, where, 1, "error" if severity == "error" else "warning"
                )
            )
            return
        old = problems[found]
        problems[found] = Problem(message, old.where, old.count + 1, old.severity)

    def count(self, kind: str, events: int = 1) -> None:
        """Count events of a kind."""
        counts = self.recording.event_counts
        counts[kind] = counts.get(kind, 0) + events

    def add(self, event: Event) -> None:
        """Append one event."""
        kind = event.kind
        where = f"/events/{event.number}"
        if kind == STEP:
            self.count(kind)
            self._step(event)
        elif kind == CREATE:
            self.count(kind)
            self._create(event, where)
        elif kind == DESTROY:
            self.count(kind)
            self._destroy(event, where)
        else:
            self.count(kind or "unreadable")
            self.tell(
                f"event of unknown kind {kind!r} was passed over"
                if kind
                else "event without an eventType was passed over",
                where,
            )

    # -- the three kinds ------------------------------------------------------------

    def _create(self, event: Event, where: str) -> None:
        handle = handle_of(event.fields)
        if handle is None:
            self.tell("actor created without a handle was passed over", where)
            return
        if handle in self.alive:
            self.tell("actor created twice under one handle", where)
            self.alive[handle].destroyed_native = self.row
        for name in ("name", "type"):
            if name not in event.fields:
                self.tell(f"actor created without its attribute {name!r}", where)
        self.new_actor(handle, event.fields)

    def new_actor(self, handle: int, fields: dict[str, Array]) -> Actor:
        """Make the actor that these creation fields describe, alive from now on."""
        static = fields.get("static")
        actor = Actor(
            index=len(self.recording.actors),
            handle=handle,
            name=text(fields.get("name")) or f"actor {handle}",
            type=text(fields.get("type")) or "unknown",
            static=None if static is None or static.size != 1 else bool(static),
            created_native=self.row,
            reference={
                k: v for k, v in fields.items() if k not in (*IDENTITY, "eventType")
            },
        )
        self.recording.actors.append(actor)
        self.alive[handle] = actor
        return actor

    def _destroy(self, event: Event, where: str) -> None:
        handle = handle_of(event.fields)
        actor = self.alive.pop(handle, None) if handle is not None else None
        if actor is None:
            self.tell("an actor was destroyed that had not been created", where)
            return
        actor.destroyed_native = self.row

    def _step(self, event: Event) -> None:
        recording = self.recording
        row = len(recording)
        for name in ("timeTotal", "timeStep", "gravity"):
            if name not in event.fields:
                self.tell(f"step without its attribute {name!r}", _event(event))
        self._put_all(
            recording.scene, event.fields, row, 0, _event(event), {"eventType"}
        )
        for group_name, fields in event.actors.items():
            where = f"{_event(event)}/actors/{group_name}"
            handle = handle_of(fields, group_name)
            if handle is None:
                self.tell("actor without a handle was passed over", where)
                continue
            actor = self.actor_for(handle, fields, where)
            self._put_all(actor.fields, fields, row, actor.created_native, where)
        recording.steps.append(
            np.array([event.number], np.int64),
            np.array([real_number(event.fields.get("timeTotal"))]),
            np.array([real_number(event.fields.get("timeStep"))]),
            vector3(event.fields.get("gravity"))[None],
        )

    def actor_for(self, handle: int, fields: dict[str, Array], where: str) -> Actor:
        """The living actor of this handle; one that was never created is made up."""
        actor = self.alive.get(handle)
        if actor is None:
            self.tell("a step holds an actor that no event had created", where)
            actor = self.new_actor(
                handle, {k: fields[k] for k in IDENTITY if k in fields}
            )
        return actor

    # -- values ---------------------------------------------------------------------

    def _put_all(
        self,
        table: FieldTable,
        fields: dict[str, Array],
        row: int,
        first: int,
        where: str,
        leave_out: Iterable[str] = (),
    ) -> None:
        for name, value in fields.items():
            if name in leave_out:
                continue
            track = self.track_for(table, name, value, row, first)
            if not track.append_value(value):
                self.tell(f"dtype or shape of {name!r} changes on the way", where)

    def track_for(
        self, table: FieldTable, name: str, like: Array, row: int, first: int
    ) -> AnyTrack:
        """The track of this field, brought up to `row`; made where it is new."""
        track = table.tracks.get(name)
        if track is None:
            if ragged_by_nature(name):
                track = RaggedTrack(like.dtype, first)
            else:
                track = Track(like.dtype, like.shape, first, self._room(like, first))
            table.tracks[name] = track
            if like.dtype.kind == "f" and name not in ("timeTotal", "timeStep"):
                self.note_real(like.dtype)
        track.skip_to(row)
        return track

    def _room(self, like: Array, first: int) -> int:
        """Rows to reserve: all for an actor of the first row, within reason."""
        if first:
            return 1
        return min(self.capacity, RESERVED_BYTES // max(like.nbytes, 1))

    def note_real(self, dtype: np.dtype[np.floating]) -> None:
        """Remember the precision: the widest real dtype seen."""
        real = self.recording.real
        if real is None or dtype.itemsize > real.itemsize:
            self.recording.real = dtype

    def finish(self) -> None:
        """Bring every track up to the last row, so that all are of equal reach."""
        rows = len(self.recording)
        for track in self.recording.scene.tracks.values():
            track.skip_to(rows)
        for actor in self.recording.actors:
            end = rows if actor.destroyed_native is None else actor.destroyed_native
            for track in actor.fields.tracks.values():
                track.skip_to(end)


def _event(event: Event) -> str:
    return f"/events/{event.number}"
