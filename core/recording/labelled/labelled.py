"""Typed access to all that a labelled recording holds: what ran, and every record.

The columns of the native steps and the actors' tracks are in the
:class:`isoscope.core.recording.model.Recording`, whose attribute `labelled` this is.
Everything is read when asked for.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
import numpy as np

from isoscope.core.recording.labelled import records as r
from isoscope.core.recording.labelled.columns import (
    FrameTrack,
    Piece,
    RaggedFrameTrack,
    Rows,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.recording.labelled.store import Store
    from isoscope.core.recording.labelled.tables import Column
    from isoscope.core.recording.tracks import AnyTrack, Array, Track

Record = TypeVar("Record", bound=msgspec.Struct)


@dataclass(frozen=True, slots=True)
class Key:
    """What names a field: the table it goes with, its group, actor and name."""

    over: str
    group: str
    actor: int
    name: str


@dataclass(frozen=True, slots=True)
class Actor:
    """An actor as told; `reference` has the numbers of its arrays' blobs."""

    id: int
    info: r.ActorInfo
    reference: dict[str, tuple[int, str, tuple[int, ...]]]


class LabelledRecording:
    """What a labelled recording holds besides the columns of its native steps.

    Attributes
    ----------
    identity
        What ran.
    scenes
        By number.
    actors
        By number.
    destroyed
        Actor number to the first native row in which it no longer exists.
    fields
        Tracks of all fields over the rows of ``"native"`` or ``"transitions"``: state,
        control inputs, actions, observations, reward terms, task state, info.
    problems
        What makes no sense in the definitions, one line each.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self.identity = r.Identity()
        self.scenes: dict[int, r.SceneInfo] = {}
        self.actors: dict[int, Actor] = {}
        self.destroyed: dict[int, int] = {}
        self.fields: dict[Key, AnyTrack] = {}
        self.problems: list[str] = []
        self._rows: list[Rows] = []
        self._tracks: list[tuple[str, FrameTrack | RaggedFrameTrack]] = []
        self._taken = 0
        self._framed: set[str] = set()

    def update(self) -> None:
        """Take in what the store has taken in."""
        with self._store.lock:
            definitions = self._store.catalog.definitions
            new, self._taken = definitions[self._taken :], len(definitions)
            for definition in new:
                self._guarded(self._define, definition)
            for name, table in list(self._store.tables.items()):
                if name not in self._framed:
                    self._framed.add(name)
                    self._guarded(self._frame, table.definition)
            for rows in self._rows:
                rows.update()
            lengths = {over: self.count(over) for over in ("native", "transitions")}
            for over, track in self._tracks:
                track.cover(lengths[over])

    def _guarded(self, take: Any, definition: dict[str, Any]) -> None:
        wrong = (msgspec.ValidationError, KeyError, TypeError, ValueError)
        try:
            take(definition)
        except wrong as error:
            kind = definition.get("define")
            self.problems.append(f"a definition of {kind} that makes no sense: {error}")

    def _define(self, definition: dict[str, Any]) -> None:
        kind = definition["define"]
        if kind == "identity":
            self.identity = msgspec.convert(definition, r.Identity, strict=False)
        elif kind == "scene":
            scene = msgspec.convert(definition, r.SceneInfo)
            self.scenes[scene.id] = scene
        elif kind == "actor":
            told = dict(definition)
            reference = {
                str(name): (int(number), str(dtype), tuple(int(n) for n in shape))
                for name, (number, dtype, shape) in told.pop("reference").items()
            }
            info = msgspec.convert(told, r.ActorInfo)
            self.actors[int(told["id"])] = Actor(int(told["id"]), info, reference)
        elif kind == "destroyed":
            self.destroyed[int(definition["actor"])] = int(definition["row"])

    def _frame(self, definition: dict[str, Any]) -> None:
        name = str(definition["name"])
        parts = self._store.tables[name].schema.parts
        if "frame" in definition:
            about = definition["frame"]
            dtype = np.dtype(parts["values"].column.dtype).newbyteorder("=")
            rows = Rows(self._store, name)
            self._rows.append(rows)
            low = 0
            for index, told in enumerate(about["fields"]):
                field = _field(told)
                high = low + int(np.prod(field.shape, dtype=np.int64))
                piece = Piece(rows, low, high, index)
                self._place(about["over"], field, dtype, piece)
                low = high
        elif "ragged" in definition:
            about = definition["ragged"]
            field = _field(about["field"])
            elements = self._store.catalog.table_name(int(about["elements"]))
            kind = self._store.tables[elements].schema.parts["value"].column.dtype
            rows = Rows(self._store, name)
            self._rows.append(rows)
            dtype = np.dtype(kind).newbyteorder("=")
            first = self._first(about["over"], field)
            track = RaggedFrameTrack(field, dtype, rows, elements, first)
            self._add(about["over"], field, track)

    def _place(
        self, over: str, field: r.Field, dtype: np.dtype[Any], piece: Piece
    ) -> None:
        """Put a field of a frame with the field that it goes on, or by itself."""
        for _, found in self._named(over, field):
            if (
                isinstance(found, FrameTrack)
                and found.dtype == dtype
                and found.shape == field.shape
                and found.field.names == field.names
            ):
                found.add(piece)
                return
        first = self._first(over, field)
        self._add(over, field, FrameTrack(field, dtype, piece, first))

    def _first(self, over: str, field: r.Field) -> int:
        actor = self.actors.get(field.actor)
        return actor.info.created_row if actor is not None and over == "native" else 0

    def _add(
        self, over: str, field: r.Field, track: FrameTrack | RaggedFrameTrack
    ) -> None:
        """Add a track; a second of its name and of another form is numbered."""
        for key, found in self._named(over, field):
            if found is None:
                self.fields[key] = track
        self._tracks.append((over, track))

    def _named(
        self, over: str, field: r.Field
    ) -> Iterator[tuple[Key, AnyTrack | None]]:
        """Yield the tracks ``NAME``, ``NAME#2``, …, at last a key without one."""
        name, number = field.name, 1
        while True:
            key = Key(over, field.group, field.actor, name)
            found = self.fields.get(key)
            yield key, found
            if found is None:
                return
            number += 1
            name = f"{field.name}#{number}"

    # -- what there is --

    @property
    def row_numbers(self) -> list[Track]:
        """What grows with the rows of frames: the numbers that they go with."""
        return [rows.column for rows in self._rows]

    @property
    def attributes(self) -> dict[str, str]:
        """Of the file: the run's id, when and where it was made."""
        return self._store.attributes

    @property
    def end(self) -> r.End | None:
        """The mark of its end; None where there is none (yet)."""
        found = self.records("end", r.End)
        return found[-1] if found else None

    def count(self, table: str) -> int:
        """Rows of a table so far; 0 where there is no such table."""
        found = self._store.tables.get(table)
        return 0 if found is None else len(found)

    def columns(
        self, table: str, start: int = 0, stop: int | None = None
    ) -> dict[str, Array]:
        """Rows start .. stop of a table, an array [n, *shape] a column.

        Texts come as objects, JSON and bytes as the numbers of their blobs.

        Raises
        ------
        ReadError
            If they can't be read.
        """
        schema = self._store.tables[table].schema
        out = {}
        for column in schema.columns:
            values = self._store.read(table, column.name, start, stop)
            if column.meaning == "text":
                texts = self._store.catalog.texts
                values = np.array([texts.get(n, "") for n in values.tolist()], object)
            out[column.name] = values
        return out

    def column(
        self, table: str, name: str, start: int = 0, stop: int | None = None
    ) -> Array:
        """Rows start .. stop of one column; see `columns`."""
        return self._store.read(table, name, start, stop)

    def text(self, number: int) -> str:
        """The text of this number, as text columns hold it; empty where absent."""
        return self._store.catalog.texts.get(number, "")

    def json(self, number: int) -> Any:
        """The JSON value of this number, as columns hold it; None where absent.

        Raises
        ------
        ReadError
            If it can't be read.
        """
        return self._store.json(number)

    def has(self, table: str, column: str) -> bool:
        """Whether there is such a column."""
        found = self._store.tables.get(table)
        return found is not None and column in found.schema.parts

    def track(self, over: str, group: str, name: str, actor: int = -1) -> AnyTrack:
        """The track of a field; raises KeyError if there is none."""
        return self.fields[Key(over, group, actor, name)]

    def names(self, group: str, over: str = "transitions") -> list[str]:
        """Names of the fields of a group, such as ``"reward_term"``."""
        keys = [k for k in self.fields if k.group == group and k.over == over]
        return list(dict.fromkeys(k.name for k in keys))

    def records(
        self,
        table: str,
        kind: type[Record],
        start: int = 0,
        stop: int | None = None,
    ) -> list[Record]:
        """Rows start .. stop of a table as structs; bytes are left empty.

        Raises
        ------
        ReadError
            If they can't be read.
        """
        if table not in self._store.tables:
            return []
        schema = self._store.tables[table].schema
        with self._store.lock:
            stop = self.count(table) if stop is None else stop
            columns = self.columns(table, start, stop)
            known = [c for c in schema.columns if c.name in kind.__struct_fields__]
            values = [self._values(c, columns[c.name]) for c in known]
        names = [c.name for c in known]
        rows = zip(*values, strict=True)
        return [kind(**dict(zip(names, row, strict=True))) for row in rows]

    def _values(self, column: Column, values: Array) -> list[Any]:
        """A column's values as a struct holds them."""
        if column.meaning == "digest":
            return [v.tobytes() if v.any() else b"" for v in values]
        if column.meaning == "json":
            return [self._store.json(n) for n in values.tolist()]
        if column.meaning == "bytes":
            return [b"" for _ in values]
        out: list[Any] = values.tolist()
        return out

    # -- records by kind --

    def transitions(
        self, start: int = 0, stop: int | None = None
    ) -> list[r.Transition]:
        """Control steps; their vectors are in `fields`."""
        return self.records("transitions", r.Transition, start, stop)

    def resets(self) -> list[r.Reset]:
        """Resets."""
        return self.records("resets", r.Reset)

    def profile(self, start: int = 0, stop: int | None = None) -> list[r.ProfileEntry]:
        """Profilers' entries."""
        return self.records("profile", r.ProfileEntry, start, stop)

    def snapshots(self) -> list[r.Snapshot]:
        """Snapshots, without their bytes."""
        return self.records("snapshots", r.Snapshot)

    def snapshot_data(self, id: int) -> bytes | None:
        """The bytes of the snapshot of this id; None if there is none."""
        ids = self._store.read("snapshots", "id")
        at = np.flatnonzero(ids == id)
        if not len(at):
            return None
        row = int(at[-1])
        number = int(self._store.read("snapshots", "data", row, row + 1)[0])
        return self._store.blob(number)

    def changes(self) -> list[r.ConfigurationChange]:
        """Changes of the persistent configuration."""
        return self.records("changes", r.ConfigurationChange)

    def failures(self) -> list[r.Failure]:
        """Failures."""
        return self.records("failures", r.Failure)

    def events(self, start: int = 0, stop: int | None = None) -> list[r.SceneEvent]:
        """What happened to scenes between native steps."""
        return self.records("events", r.SceneEvent, start, stop)

    def chunks(self, start: int = 0, stop: int | None = None) -> list[r.ChunkEvent]:
        """Stages in the lives of action chunks."""
        return self.records("chunks", r.ChunkEvent, start, stop)

    def dropped(self) -> list[r.Dropped]:
        """What was not recorded."""
        return self.records("dropped", r.Dropped)

    def streams(self, start: int = 0, stop: int | None = None) -> dict[str, Array]:
        """Samples of sensors, a column each; `sample` gives their data."""
        return self.columns("streams", start, stop)

    def sample(self, row: int) -> Array | bytes | None:
        """The data of the sample in this row of `streams`; None where not kept."""
        columns = self.columns("streams", row, row + 1)
        content = self._store.blob(int(columns["data"][0]))
        form = str(columns["form"][0])
        if content is None or not form:
            return content
        dtype, _, shape = form.partition(" ")
        sizes = [int(n) for n in shape.split("x") if n]
        return np.frombuffer(content, dtype).reshape(sizes)

    def reference(self, actor: Actor) -> dict[str, Array]:
        """The arrays that an actor's creation holds.

        Raises
        ------
        ReadError
            If they can't be read.
        """
        out = {}
        for name, (number, dtype, shape) in actor.reference.items():
            content = self._store.blob(number)
            if content is not None:
                out[name] = np.frombuffer(content, dtype).reshape(shape)
        return out


def _field(told: dict[str, Any]) -> r.Field:
    """A field as told; JSON has no infinity, so a limit that is null is none."""
    told = dict(told)
    for name, none in (("low", -math.inf), ("high", math.inf)):
        if isinstance(limits := told.get(name), list):
            told[name] = [none if one is None else one for one in limits]
    return msgspec.convert(told, r.Field)
