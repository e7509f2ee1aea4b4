"""Compare recordings with h5py, and with each other, bit for bit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import h5py
import numpy as np

from isoscope.core.recording.model import Recording
from isoscope.core.recording.superdex.eventfile import EventFile
from isoscope.core.recording.superdex.events import Assembler

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from isoscope.core.recording.model import Actor
    from isoscope.core.recording.tracks import AnyTrack, FieldTable

Fields = dict[str, np.ndarray[Any, Any]]
STEP_FIELDS = ("timeTotal", "timeStep", "gravity")


# -- with h5py ----------------------------------------------------------------------


def fields_of(group: h5py.Group, prefix: str = "") -> Fields:
    """All that a group holds, as h5py's own interface gives it; not its `actors`."""
    found = {prefix + name: np.asarray(value) for name, value in group.attrs.items()}
    for name, child in group.items():
        if isinstance(child, h5py.Dataset):
            found[prefix + name] = np.asarray(child[()])
            for key, value in child.attrs.items():
                found[f"{prefix}{name}@{key}"] = np.asarray(value)
        elif name != "actors":
            found |= fields_of(child, f"{prefix}{name}/")
    return found


def assert_equals_h5py(
    path: Path, recording: Recording, rows: Iterable[int] | None = None
) -> int:
    """Compare steps (all by default) and creations with h5py; returns values seen."""
    wanted = None if rows is None else set(rows)
    seen = row = 0
    lives: dict[int, list[Actor]] = {}
    for actor in recording.actors:
        lives.setdefault(actor.handle, []).append(actor)
    created: dict[int, int] = {}
    with h5py.File(path, "r", locking=False) as file:
        events = file["events"]
        for number in (
            sorted(map(int, events))
            if wanted is None
            else _some(events, recording, wanted)
        ):
            event = events[str(number)]
            kind = event.attrs["eventType"]
            if kind == b"Step":
                if wanted is not None:
                    row = int(np.searchsorted(recording.steps.event, number))
                assert recording.steps.event[row] == number
                seen += _assert_step(event, recording, row, lives)
                row += 1
            elif kind == b"CreateActor":
                handle = int(event.attrs["handle"])
                life = created[handle] = created.get(handle, -1) + 1
                seen += _assert_created(event, lives[handle][life], row, wanted)
            else:
                handle = int(event.attrs["handle"])
                assert lives[handle][created[handle]].destroyed_native == row
    if wanted is None:
        assert row == len(recording)
    return seen


def _some(events: h5py.Group, recording: Recording, rows: set[int]) -> list[int]:
    return sorted(int(recording.steps.event[row]) for row in rows)


def _assert_step(
    event: h5py.Group, recording: Recording, row: int, lives: dict[int, list[Actor]]
) -> int:
    scene = fields_of(event)
    del scene["eventType"]
    seen = _assert_row(recording.scene, row, scene)
    times = (recording.steps.time_s, recording.steps.h_s, recording.steps.gravity)
    for name, column in zip(STEP_FIELDS, times, strict=True):
        assert np.array_equal(column[row], scene[name].astype(np.float64))
    present = set()
    for handle, group in event.get("actors", {}).items():
        (actor,) = (a for a in lives[int(handle)] if a.alive(row))
        present.add(actor.index)
        seen += _assert_row(actor.fields, row, fields_of(group))
    for actor in recording.actors:
        if actor.index not in present:
            assert _assert_row(actor.fields, row, {}) == 0
    return seen


def _assert_row(table: FieldTable, row: int, expected: Fields) -> int:
    """What is there is equal, and what is not there is absent."""
    assert expected.keys() <= table.tracks.keys()
    for name, track in table.tracks.items():
        value, other = track.at(row), expected.get(name)
        assert (value is None) == (other is None), name
        assert track.present(row) == (other is not None)
        if value is not None and other is not None:
            assert_identical(value, other, name)
    return len(expected)


def _assert_created(
    event: h5py.Group, actor: Actor, row: int, wanted: set[int] | None
) -> int:
    fields = fields_of(event)
    assert actor.name == fields.pop("name").item().decode()
    assert actor.type == fields.pop("type").item().decode()
    assert actor.static == bool(fields.pop("static"))
    assert actor.handle == int(fields.pop("handle"))
    del fields["eventType"]
    if wanted is None:
        assert actor.created_native == row
    assert fields.keys() == actor.reference.keys()
    for name, value in fields.items():
        assert_identical(actor.reference[name], value, name)
    return len(fields) + 5


def assert_identical(
    one: np.ndarray[Any, Any], other: np.ndarray[Any, Any], what: str
) -> None:
    assert one.dtype == other.dtype, what
    assert one.shape == other.shape, what
    assert one.tobytes() == other.tobytes(), what


# -- with each other ----------------------------------------------------------------


def row_by_row(path: Path) -> Recording:
    """Read a file the slow way: every event by libhdf5, one after the other."""
    file = EventFile(path)
    recording = Recording(path, "superdex-events", size_bytes=path.stat().st_size)
    assembler = Assembler(recording, file.count)
    numbers = file.numbers
    recording.problems += file.problems
    for number in numbers.tolist():
        event = file.event(number, assembler.tell)
        if event is not None:
            assembler.add(event)
    assembler.finish()
    file.close()
    return recording


def assert_same(one: Recording, other: Recording) -> None:
    """Steps, actors, tracks, order of fields, counts and problems are all the same."""
    assert len(one) == len(other)
    for name in ("event", "time_s", "h_s", "gravity", "scene_time_s"):
        assert_identical(getattr(one.steps, name), getattr(other.steps, name), name)
    assert one.event_counts == other.event_counts
    assert one.real == other.real
    assert sorted(map(str, one.problems)) == sorted(map(str, other.problems))
    assert list(map(repr, one.actors)) == list(map(repr, other.actors))
    _assert_same_fields(one.scene, other.scene)
    for actor, twin in zip(one.actors, other.actors, strict=True):
        _assert_same_fields(actor.fields, twin.fields)
        assert list(actor.reference) == list(twin.reference)
        for name, value in actor.reference.items():
            assert_identical(value, twin.reference[name], name)


def _assert_same_fields(one: FieldTable, other: FieldTable) -> None:
    assert list(one) == list(other)
    for name in one:
        track, twin = one[name], other[name]
        assert type(track) is type(twin)
        assert (track.first, len(track)) == (twin.first, len(twin))
        assert (track.dtype, track.shape) == (twin.dtype, twin.shape)
        assert track.odd.keys() == twin.odd.keys()
        for (row, value), (_, same) in zip(_rows(track), _rows(twin), strict=True):
            assert (value is None) == (same is None), (name, row)
            if value is not None and same is not None:
                assert_identical(value, same, name)


def _rows(track: AnyTrack) -> Iterator[tuple[int, np.ndarray[Any, Any] | None]]:
    for row in range(track.first, track.first + len(track)):
        yield row, track.at(row)
