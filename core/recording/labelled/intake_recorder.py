"""The recorder's calls: they pack records into an intake, whatever empties that.

Behind it is a file (:class:`isoscope.core.recording.labelled.recorder.Recorder`) or
another process. Every call packs a row into memory that is there already and returns.
"""

from __future__ import annotations

import hashlib
import math
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from isoscope.core.recording.labelled import tables as t
from isoscope.core.recording.labelled.forms import to_json
from isoscope.core.recording.labelled.frames import OVER, Frame, Ragged
from isoscope.core.recording.labelled.records import DIGEST_BYTES, Dropped, Field

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.core.recording.labelled import records as r
    from isoscope.core.recording.labelled.intake import Intake, Pack

EVENT_BYTES = 256  # of one that waits to be packed, about
_astuple = msgspec.structs.astuple


class IntakeRecorder:
    """Records one run into an intake. All methods may be called from any thread.

    Parameters
    ----------
    intake
        What takes the records in.
    """

    def __init__(self, intake: Intake) -> None:
        self._intake = intake
        self._time_s = 0.0
        self._actors = 0
        self._snapshots = 0
        self._native = intake.buffers[intake.tables["native"]]
        self._events = intake.tables["events"]
        self._profile = intake.tables["profile"]
        self._transitions = intake.tables["transitions"]

    # -- what there is --

    @property
    def intake(self) -> Intake:
        """What takes the records in."""
        return self._intake

    @property
    def rows(self) -> int:
        """Native steps recorded so far: the number that the next one gets."""
        return self._intake.length(self._native.table)

    @property
    def backlog_bytes(self) -> int:
        """What waits in memory."""
        return self._intake.backlog

    def identify(self, identity: r.Identity) -> None:
        """Say what runs; the last one holds."""
        told = msgspec.structs.asdict(identity)
        told["spaces"] = [msgspec.structs.asdict(s) for s in identity.spaces]
        self._intake.define({"define": "identity", **told})

    def scene(self, scene: r.SceneInfo) -> None:
        """Say what a scene is; may be told again as more of it is known."""
        told = msgspec.structs.asdict(scene)
        self._intake.define({"define": "scene", **told})

    def actor(self, actor: r.ActorInfo) -> int:
        """Add an actor, at any time; returns its number, for `Field.actor`."""
        told = msgspec.structs.asdict(actor)
        reference = {}
        for name, value in actor.reference.items():
            array = np.ascontiguousarray(value)
            if array.dtype.kind in "biuf":
                number = self._intake.blob(array.tobytes())
                reference[name] = [number, array.dtype.str, list(array.shape)]
        with self._intake.lock:
            number = self._actors
            self._actors += 1
            told |= {"define": "actor", "id": number, "reference": reference}
            self._intake.define(told)
        return number

    def destroyed(self, actor: int, row: int) -> None:
        """Say that an actor no longer exists from this native row on."""
        self._intake.define({"define": "destroyed", "actor": actor, "row": row})

    def frame(
        self,
        fields: Sequence[Field],
        dtype: Any,
        over: str = "native",
        scene: int = -1,
    ) -> Frame:
        """Add a frame: values of these fields, all of one dtype, that go with rows.

        Parameters
        ----------
        fields
            What is in it; at any time, so also when new fields turn up.
        dtype
            Of numbers or bool.
        over
            ``"native"`` or ``"transitions"``: whose rows.
        scene
            Whose state it is, or -1.
        """
        return Frame(self._intake, fields, dtype, _checked(over), scene)

    def ragged(
        self, field: Field, dtype: Any, over: str = "native", scene: int = -1
    ) -> Ragged:
        """Add a field whose length varies; `field.shape` is one entry's."""
        return Ragged.make(self._intake, field, dtype, _checked(over), scene)

    # -- records --

    def native(self, step: r.NativeStep, *frames: Frame) -> int:
        """Record a native step and the vectors of these frames; returns its row.

        -1 where it was refused: too much waits, or the recording stopped.
        """
        intake = self._intake
        with intake.lock:
            h_s = step.h_s
            if not intake.accepts:
                row = intake.refuse("native")
            else:
                intake.catch_up(self._native.table)
                if math.isfinite(h_s):
                    self._time_s += h_s
                s = _astuple(step)
                buffer = self._native
                packer = t.NATIVE.packer
                packer.pack_into(
                    buffer.raw, buffer.count * packer.size, *s, self._time_s
                )
                row = intake.filled(buffer)
            for frame in frames:
                frame.commit(row)
        return row

    def transition(self, transition: r.Transition, *frames: Frame) -> int:
        """Record a control step and the vectors of these frames; returns its number."""
        intake = self._intake
        with intake.lock:
            intake.catch_up(self._transitions)
            if transition.reasons is None and transition.options is None:
                values = (*_astuple(transition)[:-2], -1, -1)
                row = intake.add(self._transitions, values)
            else:
                row = self._add("transitions", transition)
            for frame in frames:
                frame.commit(row)
        return row

    def transitions(
        self, rows: np.ndarray[Any, Any], frames: Sequence[tuple[Frame, Any, Any]] = ()
    ) -> int:
        """Record control steps of many environments at once; the first one's number.

        Parameters
        ----------
        rows
            Structured [n], of `tables.TRANSITIONS`: what is absent has to be filled in
            as such; `transition_rows` makes them.
        frames
            Frames with their values [n, width] and where these are present [n, fields].

        Returns
        -------
        int
            -1 where they were refused.
        """
        intake = self._intake
        table = intake.tables["transitions"]
        with intake.lock:
            if not intake.accepts:
                for _ in range(len(rows)):
                    intake.refuse("transitions")
                return -1
            intake.catch_up(table)
            return self._extend(table, rows, frames)

    def natives_packed(
        self, rows: np.ndarray[Any, Any], frames: Sequence[tuple[Frame, Any, Any]] = ()
    ) -> int:
        """Append native steps that `native_later` has numbered: for its `pack`.

        Parameters
        ----------
        rows
            Structured [n], of `tables.NATIVE`, all filled in but ``time_s``.
        frames
            As in `transitions`.

        Returns
        -------
        int
            The first one's number.
        """
        with self._intake.lock:
            h_s = np.where(np.isfinite(rows["h_s"]), rows["h_s"], 0.0)
            # Added up one after the other, as single rows are: the same bits.
            total = np.add.accumulate(np.concatenate(([self._time_s], h_s)))
            rows["time_s"], self._time_s = total[1:], float(total[-1])
            return self._extend(self._native.table, rows, frames)

    def native_later(self, pack: Pack, raw: Any, size: int) -> int:
        """Record a native step that is packed later; see `Intake.later`."""
        return self._intake.later(self._native.table, pack, raw, size)

    def transitions_packed(
        self, rows: np.ndarray[Any, Any], frames: Sequence[tuple[Frame, Any, Any]] = ()
    ) -> None:
        """Append control steps that `Intake.later` has numbered: for its `pack`."""
        with self._intake.lock:
            self._extend(self._transitions, rows, frames)

    def _extend(
        self,
        table: int,
        rows: np.ndarray[Any, Any],
        frames: Sequence[tuple[Frame, Any, Any]],
    ) -> int:
        intake = self._intake
        first = len(intake.buffers[table])
        intake.extend(table, rows)
        numbers = np.arange(first, first + len(rows))
        for frame, values, valid in frames:
            frame.extend(numbers, values, valid)
        return first

    def reset(self, reset: r.Reset) -> int:
        """Record a reset."""
        return self._add("resets", reset)

    def profile(self, entry: r.ProfileEntry) -> int:
        """Record a profiler's entry."""
        raw = _astuple(entry)
        return self._intake.later(
            self._profile, self._profiles_packed, raw, EVENT_BYTES
        )

    def profiles(self, raws: Sequence[tuple[Any, ...]]) -> int:
        """Record a profiler's entries, each the fields of a `records.ProfileEntry`."""
        pack = self._profiles_packed
        return self._intake.later_many(self._profile, pack, raws, EVENT_BYTES)

    def _profiles_packed(self, raws: list[tuple[Any, ...]]) -> None:
        text = self._intake.text
        name, value, unit, parent, *rest = zip(*raws, strict=True)
        texts = ([*map(text, each)] for each in (unit, parent))
        self._extend_by_columns(t.PROFILE, ([*map(text, name)], value, *texts, *rest))

    def _extend_by_columns(self, schema: t.Schema, columns: Sequence[Any]) -> None:
        """Append rows of a table whose columns these are, in order, [n] each."""
        rows = np.empty(len(columns[0]), schema.dtype)
        for column, values in zip(schema.columns, columns, strict=True):
            rows[column.name] = values
        self._intake.extend(self._intake.tables[schema.name], rows)

    def snapshot(self, snapshot: r.Snapshot) -> int:
        """Record a snapshot; returns its id, -1 where it was refused."""
        with self._intake.lock:
            if snapshot.id < 0:
                snapshot = msgspec.structs.replace(snapshot, id=self._snapshots)
            if self._add("snapshots", snapshot) < 0:
                return -1
            self._snapshots = max(self._snapshots, snapshot.id + 1)
        return snapshot.id

    def change(self, change: r.ConfigurationChange) -> int:
        """Record a change of the persistent configuration."""
        return self._add("changes", change)

    def failure(self, failure: r.Failure) -> int:
        """Record a failure."""
        return self._add("failures", failure)

    def event(self, event: r.SceneEvent) -> int:
        """Record what happened to a scene between native steps."""
        if event.detail is not None:
            return self._add("events", event)
        return self.event_later(_astuple(event))

    def event_later(self, raw: tuple[Any, ...]) -> int:
        """Record an event that is packed later.

        Two of them go with every control step in a shared scene.

        Parameters
        ----------
        raw
            The fields of a `records.SceneEvent`, in order. Its detail is nobody's who
            would change it.
        """
        return self._intake.later(self._events, self.events_packed, raw, EVENT_BYTES)

    def events_packed(self, raws: list[tuple[Any, ...]]) -> None:
        """Append events as `event_later` takes them: for packs; the lock is held."""
        text, blob = self._intake.text, self._intake.blob
        kind, *rest, detail = zip(*raws, strict=True)
        blobs = [-1 if told is None else blob(to_json(told)) for told in detail]
        self._extend_by_columns(t.EVENTS, ([*map(text, kind)], *rest, blobs))

    def chunk(self, event: r.ChunkEvent) -> int:
        """Record a stage in the life of an action chunk."""
        return self._add("chunks", event)

    def dropped(self, dropped: Dropped) -> int:
        """Record that something was not recorded, by whoever gives the records."""
        return self._add("dropped", dropped)

    def stream(self, sample: r.StreamSample) -> int:
        """Record a sample of a sensor."""
        data, form, digest = sample.data, "", b""
        if data is not None:
            if not isinstance(data, bytes | bytearray | memoryview):
                array = np.ascontiguousarray(data)
                form = f"{array.dtype.str} {'x'.join(map(str, array.shape))}"
                data = array.tobytes()
            digest = hashlib.blake2b(data, digest_size=DIGEST_BYTES).digest()
        values = (
            *(sample.name, sample.capture_id, sample.capture_time_s),
            *(sample.read_time_s, sample.env, sample.row, sample.wall_ns),
            *(digest, form, data if sample.keep else None),
        )
        return self._intake.add_record("streams", list(values))

    def _add(self, table: str, record: msgspec.Struct) -> int:
        return self._intake.add_record(table, list(_astuple(record)))


def transition_rows(count: int) -> np.ndarray[Any, Any]:
    """Rows of `tables.TRANSITIONS` in which everything is absent: structured [n]."""
    rows = np.zeros(count, t.TRANSITIONS.dtype)
    for column in t.TRANSITIONS.columns:
        if column.meaning != "digest":
            rows[column.name] = np.nan if column.dtype == "<f8" else -1
    return rows


def _checked(over: str) -> str:
    if over not in OVER:
        raise ValueError(f"a frame goes with {' or '.join(OVER)}, not {over!r}")
    return over
