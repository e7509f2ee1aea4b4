"""From events, one by one, to the columnar recording.

This is the row-wise way in: the h5py reader uses it for every event that the fast scan
does not take, and it is the one place that knows what an event means. Source of the
format: the SuperDex scene recorder, release 1.0.0.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.recording.model import Actor, Recording
from isoscope.core.recording.problems import ProblemLog
from isoscope.core.recording.superdex.columns import Columns
from isoscope.core.recording.superdex.values import (
    flag,
    handle_of,
    real_number,
    text,
    vector3,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from isoscope.core.recording.model import Severity
    from isoscope.core.recording.tracks import AnyTrack, Array, FieldTable

CREATE, DESTROY, STEP = "CreateActor", "DestroyActor", "Step"
IDENTITY = ("handle", "name", "type", "static")
# Raise this when the same file gives another recording than before: what was cached
# by an earlier version is then read again.
INDEX_VERSION = 1
MAX_KINDS = 64  # kinds of events that are counted one by one


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
        self._columns = Columns(capacity, recording.size_bytes)
        self._log = ProblemLog(recording.problems)

    @property
    def row(self) -> int:
        """The row that comes next."""
        return len(self.recording) if self.ahead is None else self.ahead

    def tell(self, message: str, where: str, severity: Severity = "warning") -> None:
        """List a problem; one like an earlier one only counts."""
        self._log.tell(message, where, severity)

    def count(self, kind: str, events: int = 1) -> None:
        """Count events of a kind."""
        counts = self.recording.event_counts
        if kind not in counts and len(counts) >= MAX_KINDS:
            kind = "other"
        counts[kind] = counts.get(kind, 0) + events

    def add(self, event: Event) -> None:
        """Append one event.

        Raises
        ------
        TooMuchError
            If the file expands to more than one of its size may.
        """
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
        actor = Actor(
            index=len(self.recording.actors),
            handle=handle,
            name=text(fields.get("name")) or f"actor {handle}",
            type=text(fields.get("type")) or "unknown",
            static=flag(fields.get("static")),
            created_native=self.row,
            reference={
                k: v for k, v in fields.items() if k not in (*IDENTITY, "eventType")
            },
        )
        self._columns.spend_actor(actor.reference)
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
        try:
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
        finally:
            # Also where the file turns out to be too much: the columns have this row.
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
            if name not in leave_out:
                self.put(table, name, value, row, first, where)

    def put(
        self,
        table: FieldTable,
        name: str,
        value: Array,
        row: int,
        first: int,
        where: str,
    ) -> None:
        """Append one row's value to its track; what is wrong with it is told."""
        if name not in table:
            self._note_new(name, value)
        wrong = self._columns.put(table, name, value, row, first)
        if wrong:
            self.tell(wrong, where)

    def spend(self, size: int) -> None:
        """Count bytes that are appended to tracks from outside.

        Raises
        ------
        TooMuchError
            If the file expands to more than one of its size may.
        """
        self._columns.spend(size)

    def track_for(
        self, table: FieldTable, name: str, like: Array, row: int, first: int
    ) -> AnyTrack:
        """The track of this field, brought up to `row`; made where it is new."""
        if name not in table:
            self._note_new(name, like)
        return self._columns.track_for(table, name, like, row, first)

    def _note_new(self, name: str, like: Array) -> None:
        if like.dtype.kind == "f" and name not in ("timeTotal", "timeStep"):
            self.note_real(like.dtype)

    def note_real(self, dtype: np.dtype[np.floating]) -> None:
        """Remember the precision: the widest real dtype seen."""
        real = self.recording.real
        if real is None or dtype.itemsize > real.itemsize:
            self.recording.real = dtype

    def finish(self) -> None:
        """Bring every track up to the last row, so that all are of equal reach."""
        rows = len(self.recording)
        self._columns.finish(self.recording.scene, rows)
        for actor in self.recording.actors:
            end = rows if actor.destroyed_native is None else actor.destroyed_native
            self._columns.finish(actor.fields, end)


def _event(event: Event) -> str:
    return f"/events/{event.number}"
