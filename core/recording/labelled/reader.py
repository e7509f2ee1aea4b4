"""The reader of labelled recordings, also of one that somebody is still writing.

The columns of the native steps are read when it is indexed; actors' fields stay in the
file until somebody reads them. Where no native step is told, a row is a control step.
Where several scenes are in one file there is still one step table, in the order in
which the steps were recorded; an actor's fields are absent in the rows of all other
scenes. The recording time adds up h over all rows.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.errors import CancelledError, ReadError
from isoscope.core.recording.labelled import plain_rows
from isoscope.core.recording.labelled.forms import FORMAT_NAME, version_of
from isoscope.core.recording.labelled.hdf5 import writer_of
from isoscope.core.recording.labelled.labelled import LabelledRecording
from isoscope.core.recording.labelled.records import SENSELESS_PACKETS
from isoscope.core.recording.labelled.store import Store
from isoscope.core.recording.labelled.transition_tracks import (
    TransitionRows,
    transition_tracks,
)
from isoscope.core.recording.model import Actor, Labels, Problem, Recording
from isoscope.core.recording.problems import STILL_WRITTEN
from isoscope.core.recording.tracks import FieldTable, Track
from isoscope.core.roomy import roomy

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.recording.labelled.labelled import Actor as Told
    from isoscope.core.recording.labelled.labelled import Key
    from isoscope.core.recording.source import Cancel, Progress
    from isoscope.core.recording.spill import Spill
    from isoscope.core.recording.tracks import AnyTrack, Array

FORMAT = FORMAT_NAME
BLOCK = 16384  # rows taken in at a time
SEARCH_EVERY_S = 1.0
WAIT_AT_MOST = 40  # looks: two seconds of a live run
CONTROL = "control/"  # before the names of native control inputs among the fields
# How many actors, fields, destructions were taken in, and whether transitions were.
NOTHING = (-1, -1, -1, False)
_LABELS = ("env", "episode", "control_step", "substep", "kind")
# Columns that are also shown as fields of the steps: column, name there.
_SCENE = (
    ("time_s", "timeTotal"),
    ("h_s", "timeStep"),
    ("gravity", "gravity"),
    ("scene", "scene"),
    ("scene_time_s", "sceneTime"),
    ("solver_status", "solverStatus"),
    ("solver_iterations", "solverIterations"),
    ("solver_residual", "solverResidual"),
)


def sniff(path: Path, head: bytes) -> bool:
    """Whether the first bytes say so."""
    return version_of(head) is not None


def open_source(path: Path) -> LabelledSource:
    """Open a labelled recording; raises ReadError."""
    return LabelledSource(path)


class LabelledSource:
    """An opened labelled recording; see :class:`isoscope.core.recording.source.Source`.

    Raises
    ------
    ReadError
        If nothing in it can be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.store = Store(path)
        self.labelled = LabelledRecording(self.store)
        missing = [n for n in ("native", "blobs") if n not in self.store.tables]
        if missing:
            self.store.close()
            raise ReadError(
                "opening",
                path,
                "cut before anything was recorded",
                remedy="record again",
            )
        self.labelled.update()
        self.recording = Recording(
            path,
            FORMAT,
            size_bytes=path.stat().st_size,
            labelled=self.labelled,
        )
        self._say_rows()
        self.recording.expected_steps = self.event_count
        self._label_tracks = {n: Track(np.dtype(np.int32), ()) for n in _LABELS[:4]}
        self._kind = Track(np.dtype(np.int8), ())
        self._wall = Track(np.dtype(np.float64), ())
        self._spill: Spill | None = None
        self._control = TransitionRows(self.labelled, self.recording)
        self._shown: set[Key] = set()
        self._told = 0
        self._waited = 0  # looks at an actor whose arrays had not come
        self._closed = False
        self.mine = False  # whether it is this program that writes it: no news to it
        self._next_search_s = 0.0
        self._had = NOTHING

    def _say_rows(self) -> None:
        self._plain = plain_rows.without_natives(self.labelled)
        self.recording.row_is = "control step" if self._plain else "native step"

    @property
    def event_count(self) -> int:
        """Rows: native steps in the file, or control steps where it holds no others."""
        return self.labelled.count(plain_rows.OVER if self._plain else "native")

    def preview(self, event: int | None = None) -> Recording | None:
        """Read one native step, as a recording of one row."""
        row = event or 0
        if not 0 <= row < self.event_count:
            return None
        picture = Recording(self.path, FORMAT, size_bytes=self.recording.size_bytes)
        picture.labelled = self.labelled
        self._append_steps(picture, row, row + 1)
        for actor in self._actors():
            if not actor.alive(row):
                continue
            actor.index = len(picture.actors)
            actor.created_native, actor.destroyed_native = 0, None
            for name, track in list(actor.fields.tracks.items()):
                if track.ragged:
                    del actor.fields.tracks[name]
                    continue
                window = track.read(row, row + 1)
                actor.fields.tracks[name] = Track.of(window.values, window.valid)
            picture.actors.append(actor)
        picture.real = self._real()
        picture.expected_steps, picture.complete = 1, True
        return picture

    def index(
        self, progress: Progress | None = None, cancelled: Cancel | None = None
    ) -> None:
        """Fill the recording to the end of what is written."""
        self._take_actors()
        total = self.event_count
        while len(self.recording) < total:
            done = len(self.recording)
            if self._closed or (cancelled is not None and cancelled()):
                raise CancelledError(
                    f"indexing {self.path} was stopped at {done} native steps"
                )
            self._take_rows(done, min(done + BLOCK, total))
            if progress is not None:
                progress(len(self.recording), total)
        if progress is not None and not total:
            progress(0, 0)
        self._conclude()

    def refresh(self, *, sure: bool = False) -> bool:
        """Take in what its writer has written since; whether there was anything.

        The rows are appended to the same recording. A writer that is gone is noticed
        when nothing comes any more, at most once a second.

        Parameters
        ----------
        sure
            Whether to look for the writer now, however lately that was done.

        Raises
        ------
        ReadError
            If it can't be read on.
        """
        if self._closed or self.recording.complete:
            return False
        news = self.store.refresh()
        if not news:
            self._look_for_writer(sure=sure)
            return False
        self.labelled.update()
        if not len(self.recording):
            self._say_rows()
        self._take_actors(patient=True)
        done, total = len(self.recording), self.event_count
        for start in range(done, total, BLOCK):
            self._take_rows(start, min(start + BLOCK, total))
        self.recording.expected_steps = total
        self._conclude()
        if self._spill is not None:
            self._spread()
            self._spill.trim()
        return True

    def _look_for_writer(self, *, sure: bool) -> None:
        """Notice that its writer is gone; this goes through the system's processes."""
        now = time.monotonic()
        if self.store.writer is None or (now < self._next_search_s and not sure):
            return
        self._next_search_s = now + SEARCH_EVERY_S
        if self.labelled.end is None:
            self.store.writer = writer_of(self.path)
            self.store.cut = self.store.writer is None
            self._conclude()

    def close(self) -> None:
        """Let go of the file. What is read later opens it again for that."""
        self._closed = True
        self.store.close()

    def spill_to(self, spill: Spill) -> None:
        """Let the columns that grow with the rows do so there; those in use stay."""
        self._spill = spill
        self._spread()

    def _spread(self) -> None:
        """Also those that have turned up since."""
        scene = self.recording.scene.tracks.values()
        plain = [t for t in scene if type(t) is Track]
        labels = [*self._label_tracks.values(), self._kind, self._wall]
        steps = self.recording.steps.tracks
        for track in (*steps, *labels, *plain, *self.labelled.row_numbers):
            track.spill = self._spill

    # -- filling the recording --

    def _append_steps(self, recording: Recording, start: int, stop: int) -> None:
        if self._plain:
            recording.steps.append(*plain_rows.steps(start, stop))
            return
        read = self.store.read
        recording.steps.append(
            np.arange(start, stop),
            read("native", "time_s", start, stop),
            read("native", "h_s", start, stop),
            read("native", "gravity", start, stop),
            read("native", "scene_time_s", start, stop),
        )

    def _take_rows(self, start: int, stop: int) -> None:
        recording, read = self.recording, self.store.read
        over, told = "native", {}
        if self._plain:
            over, told = plain_rows.OVER, plain_rows.labels(self.labelled, start, stop)
        for name in _LABELS:
            track = self._label_tracks.get(name, self._kind)
            values = told[name] if told else read(over, name, start, stop)
            track.append(values.astype(track.dtype))
        wall_ns = read(over, "wall_ns", start, stop)
        self._wall.append(np.where(wall_ns < 0, np.nan, wall_ns / 1e9))
        for column, name in () if self._plain else _SCENE:
            values = read("native", column, start, stop)
            found = recording.scene.get(name)
            if not isinstance(found, Track):
                found = Track(values.dtype, values.shape[1:])
                recording.scene.tracks[name] = found
            found.append(values, _there(values))
        # The labels are there before the rows that they are about.
        env, episode, control_step, substep = (
            self._label_tracks[name].values for name in _LABELS[:4]
        )
        recording.labels = Labels(
            env, episode, control_step, substep, self._kind.values
        )
        recording.wall_s = self._wall.values
        self._append_steps(recording, start, stop)

    def _actors(self) -> list[Actor]:
        told = sorted(self.labelled.actors.items())
        return [self._actor(place, *one) for place, one in enumerate(told)]

    def _actor(self, place: int, number: int, told: Told) -> Actor:
        info = told.info
        actor = Actor(
            index=place,
            handle=info.handle,
            name=info.name,
            type=info.type,
            static=info.static,
            created_native=info.created_row,
            destroyed_native=self.labelled.destroyed.get(number),
            reference=self._reference(told),
        )
        actor.fields.tracks.update(self._fields_of(number))
        return actor

    def _fields_of(self, number: int) -> dict[str, AnyTrack]:
        return {
            _shown(key): track
            for key, track in self.labelled.fields.items()
            if key.over == "native" and key.actor == number
        }

    def _reference(self, told: Told) -> dict[str, Array]:
        try:
            return self.labelled.reference(told)
        except (ReadError, ValueError, TypeError) as error:
            self.store.catalog.problems.append((f"{told.info.name}: {error}", "/blobs"))
            return {}

    def _take_actors(self, *, patient: bool = False) -> None:
        """Add actors and fields that have turned up since.

        Parameters
        ----------
        patient
            Whether an actor waits a little for its arrays, which come apart from it.
        """
        recording, labelled = self.recording, self.labelled
        have = (
            len(labelled.actors),
            len(labelled.fields),
            len(labelled.destroyed),
            labelled.count("transitions") > 0,
        )
        if have == self._had:
            return
        self._had = have
        for place, (number, told) in enumerate(sorted(labelled.actors.items())):
            if place < len(recording.actors):
                known = recording.actors[place]
                known.destroyed_native = labelled.destroyed.get(number)
                _add_tracks(known.fields, self._fields_of(number))
                continue
            actor = self._actor(place, number, told)
            waits = patient and self._waited < WAIT_AT_MOST
            if waits and len(actor.reference) < len(told.reference):
                self._waited += 1
                self._had = NOTHING
                break  # those after it have to wait, too: they are in order
            recording.actors.append(actor)
        loose = {
            _shown(key): track
            for key, track in self.labelled.fields.items()
            if key.over == "native" and key.actor not in self.labelled.actors
        }
        _add_tracks(recording.scene, loose)
        new = transition_tracks(self.labelled, self._control, recording.control.tracks)
        _add_tracks(recording.control, new)
        recording.real = self._real()

    def _real(self) -> np.dtype[np.floating] | None:
        for key, track in self.labelled.fields.items():
            if key.group == "state" and track.dtype.kind == "f":
                return track.dtype
        return None

    def _conclude(self) -> None:
        """Say how complete it is, and what it holds."""
        recording, labelled, store = self.recording, self.labelled, self.store
        recording.size_bytes = self.path.stat().st_size
        recording.event_counts = {
            "CreateActor": len(labelled.actors),
            "DestroyActor": len(labelled.destroyed),
            "Step": 0 if self._plain else len(recording),
        }
        recording.notes = _notes(labelled)
        new, self._told = (
            store.catalog.problems[self._told :],
            len(store.catalog.problems),
        )
        fixed = [p for p in recording.problems if p.where != _STATE]
        fixed += [Problem(what, where, severity="error") for what, where in new]
        state = self._state()
        known = {p.message for p in fixed}
        wrong = [Problem(p) for p in labelled.problems if p not in known]
        recording.problems[:] = [*fixed, *wrong, *state]
        ended = labelled.end is not None
        sound = not any(p.severity == "error" for p in recording.problems)
        recording.complete = ended and sound and not self.store.missing

    def _state(self) -> list[Problem]:
        """In which state its writer left it."""
        end = self.labelled.end
        told: list[str] = []
        if end is None and self.store.writer is not None:
            told += [] if self.mine else [f"{self.store.writer} {STILL_WRITTEN}"]
        elif self.store.missing:
            told.append(
                f"cut: {self.store.missing:,} bytes are missing at its end; isoscope "
                "repair makes a clean copy of what is left"
            )
        elif end is None and self.store.cut:
            told.append(
                "cut: its writer died or had to stop; up to a second before that may "
                "be missing, and isoscope repair makes a clean copy"
            )
        elif end is None:
            told.append(
                "cut: recording stopped before the run's end (it was killed, or the "
                "disk was full, perhaps); isoscope repair makes a clean copy"
            )
        elif end.why:
            told.append(
                f"{end.why} after its writer died: its last moments are missing"
            )
        dropped = self.labelled.dropped()
        senseless = [d for d in dropped if d.what == SENSELESS_PACKETS]
        packets = sum(d.count for d in senseless)
        lost = sum(d.count for d in dropped) - packets
        if lost:
            told.append(f"{lost} records were dropped while recording")
        if senseless:
            told.append(
                f"{packets} packet{'s' * (packets != 1)} of the run made no sense, and "
                f"what was there is missing here; the last time: {senseless[-1].why}"
            )
        return [Problem(line, _STATE) for line in told]


_STATE = "/end"


def _shown(key: Key) -> str:
    """What a field is called among an actor's."""
    return f"{CONTROL}{key.name}" if key.group == "control" else key.name


def _add_tracks(table: FieldTable, tracks: dict[str, AnyTrack]) -> None:
    for name, track in tracks.items():
        if name not in table.tracks:
            table.tracks[name] = track


def _there(values: Array) -> Array:
    """Where a column is not absent."""
    found = roomy((len(values),), np.bool_)
    if values.dtype.kind == "f":
        flat = values.reshape(len(values), -1)
        finite = np.isfinite(flat, out=roomy(flat.shape, np.bool_))
        np.any(finite, axis=1, out=found)
    else:
        np.not_equal(values, -1, out=found)
    return found


def _notes(labelled: LabelledRecording) -> dict[str, str]:
    """What it holds, under the names that `supports` asks for."""
    notes: dict[str, str] = {}
    identity = labelled.identity
    if identity.engine:
        words = (identity.engine, identity.engine_version, identity.build)
        notes["engine"] = " ".join(word for word in words if word)
    counts = {
        "snapshots": labelled.count("snapshots"),
        "transitions": labelled.count("transitions"),
        "resets": labelled.count("resets"),
    }
    if counts["snapshots"]:
        notes["snapshots"] = str(counts["snapshots"])
    if counts["transitions"]:
        if labelled.names("action") or labelled.names("raw_action"):
            notes["actions"] = str(counts["transitions"])
        notes["rewards"] = str(counts["transitions"])
    if counts["resets"] or any(s is not None for s in identity.seeds):
        notes["seeds"] = str(counts["resets"] or len(identity.seeds))
    return notes
