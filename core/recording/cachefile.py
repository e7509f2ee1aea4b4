"""The form in which an index is kept: columns, one after the other, then what they are.

::

    magic (8) | columns, each at a multiple of 64 | header, JSON | tail (32)

The tail says where the header is and holds its checksum; the header holds each
column's. A file that was cut has no tail, so it is seen to be none. No pickles, since
a cache is read without asking.
"""

from __future__ import annotations

import struct
import zlib
from typing import IO, TYPE_CHECKING

import msgspec
import numpy as np

from isoscope.core.recording.model import Actor, Problem, Severity
from isoscope.core.recording.tracks import FieldTable, RaggedTrack, Track

if TYPE_CHECKING:
    from io import BufferedReader

    from isoscope.core.recording.model import Recording
    from isoscope.core.recording.tracks import AnyTrack, Array

MAGIC = b"isoindex"
# Raise when the form changes.
FORM = 1
_TAIL = struct.Struct("<QQII8s")
_ALIGN = 64
_KINDS = frozenset("biufcS")


class CorruptError(Exception):
    """The file is cut, changed, or of another form; never reaches the user."""


class _Column(msgspec.Struct, array_like=True):
    dtype: str
    shape: tuple[int, ...]
    at: int
    crc: int


class _Track(msgspec.Struct):
    name: str
    first: int
    # Fixed: values, valid. Ragged: values, ends, valid, shape_of, and the shapes.
    columns: list[_Column]
    shapes: list[tuple[int, ...]] | None
    odd: list[tuple[int, _Column]]


class _Actor(msgspec.Struct):
    handle: int
    name: str
    type: str
    static: bool | None
    created_native: int
    destroyed_native: int | None
    reference: dict[str, _Column]
    tracks: list[_Track]


class Header(msgspec.Struct):
    """All of a recording but its columns, and which file it was made of."""

    form: int
    key: dict[str, str | int]
    format: str
    steps: list[_Column]
    scene: list[_Track]
    actors: list[_Actor]
    event_counts: dict[str, int]
    problems: list[tuple[str, str, int, Severity]]
    complete: bool
    real: str | None
    notes: dict[str, str]


_headers = msgspec.json.Decoder(Header)


def write(file: IO[bytes], key: dict[str, str | int], recording: Recording) -> None:
    """Write a recording's index.

    Raises
    ------
    OSError
        If it can't be written.
    """
    writer = _Writer(file)
    steps = recording.steps
    table = [steps.event, steps.time_s, steps.h_s, steps.gravity, steps.scene_time_s]
    header = Header(
        form=FORM,
        key=key,
        format=recording.format,
        steps=[writer.column(values) for values in table],
        scene=writer.tracks(recording.scene),
        actors=[
            _Actor(
                a.handle,
                a.name,
                a.type,
                a.static,
                a.created_native,
                a.destroyed_native,
                {name: writer.column(v) for name, v in a.reference.items()},
                writer.tracks(a.fields),
            )
            for a in recording.actors
        ],
        event_counts=recording.event_counts,
        problems=[
            (p.message, p.where, p.count, p.severity) for p in recording.problems
        ],
        complete=recording.complete,
        real=None if recording.real is None else recording.real.str,
        notes=recording.notes,
    )
    writer.finish(msgspec.json.encode(header))


class _Writer:
    def __init__(self, file: IO[bytes]) -> None:
        self.file = file
        self.at = file.write(MAGIC)

    def _bytes(self, content: bytes | memoryview) -> int:
        self.at += self.file.write(bytes(-self.at % _ALIGN))
        start = self.at
        self.at += self.file.write(content)
        return start

    def column(self, values: Array) -> _Column:
        whole = np.asarray(values, order="C")
        content = whole.reshape(-1).view(np.uint8).data if whole.size else b""
        start = self._bytes(content)
        return _Column(whole.dtype.str, values.shape, start, zlib.crc32(content))

    def tracks(self, table: FieldTable) -> list[_Track]:
        return [self.track(name, track) for name, track in table.tracks.items()]

    def track(self, name: str, track: AnyTrack) -> _Track:
        shapes = None
        if isinstance(track, RaggedTrack):
            values, ends, valid, shapes, shape_of = track.columns
            columns = [self.column(c) for c in (values, ends, valid, shape_of)]
        else:
            columns = [self.column(c) for c in (track.values, track.valid)]
        odd = [(row, self.column(value)) for row, value in track.odd.items()]
        return _Track(name, track.first, columns, shapes, odd)

    def finish(self, header: bytes) -> None:
        start = self._bytes(header)
        self.file.write(_TAIL.pack(start, len(header), zlib.crc32(header), 0, MAGIC))


def read_header(file: IO[bytes]) -> Header:
    """Read what an index is of.

    Raises
    ------
    CorruptError
        If it is none, or of another form.
    OSError
        If it can't be read.
    """
    size = file.seek(0, 2)
    file.seek(max(size - _TAIL.size, 0))
    tail = file.read(_TAIL.size)
    if len(tail) < _TAIL.size:
        raise CorruptError
    start, length, crc, _, magic = _TAIL.unpack(tail)
    if magic != MAGIC or start + length + _TAIL.size != size:
        raise CorruptError
    file.seek(start)
    content = file.read(length)
    if zlib.crc32(content) != crc:
        raise CorruptError
    try:
        header = _headers.decode(content)
    except msgspec.MsgspecError:
        raise CorruptError from None
    if header.form != FORM:
        raise CorruptError
    return header


def read_into(file: BufferedReader, header: Header, recording: Recording) -> None:
    """Fill an empty recording with the index.

    Raises
    ------
    CorruptError
        If it is damaged; the recording is then as it was.
    OSError
        If it can't be read.
    """
    size = file.seek(0, 2)
    content = np.empty(size, np.uint8)
    file.seek(0)
    if file.readinto(content.data) != size:
        raise CorruptError
    reader = _Reader(content)
    try:
        steps = [reader.column(column) for column in header.steps]
        scene = reader.table(header.scene)
        actors = [reader.actor(i, actor) for i, actor in enumerate(header.actors)]
        event, time_s, h_s, gravity, scene_time_s = steps
        real = None if header.real is None else np.dtype(header.real)
    except (ValueError, TypeError, IndexError):
        raise CorruptError from None
    recording.scene = scene
    recording.actors[:] = actors
    recording.event_counts.update(header.event_counts)
    recording.problems[:] = [Problem(*problem) for problem in header.problems]
    recording.notes.update(header.notes)
    recording.real = real
    recording.steps.append(event, time_s, h_s, gravity, scene_time_s)
    recording.complete = header.complete


class _Reader:
    def __init__(self, content: Array) -> None:
        self.content = content

    def column(self, column: _Column) -> Array:
        dtype = np.dtype(column.dtype)
        if dtype.kind not in _KINDS or dtype.itemsize == 0:
            raise CorruptError
        count = 1
        for length in column.shape:
            count *= length
        stop = column.at + count * dtype.itemsize
        if not 0 <= column.at <= stop <= len(self.content):
            raise CorruptError
        piece = self.content[column.at : stop]
        if zlib.crc32(piece.data) != column.crc:
            raise CorruptError
        return piece.view(dtype).reshape(column.shape)

    def table(self, tracks: list[_Track]) -> FieldTable:
        return FieldTable({track.name: self.track(track) for track in tracks})

    def track(self, track: _Track) -> AnyTrack:
        columns = [self.column(column) for column in track.columns]
        made: AnyTrack
        if track.shapes is not None:
            values, ends, valid, shape_of = columns
            made = RaggedTrack.of(
                values, ends, valid, list(track.shapes), shape_of, track.first
            )
        else:
            values, valid = columns
            made = Track.of(values, valid, track.first)
        made.odd.update((row, self.column(column)) for row, column in track.odd)
        return made

    def actor(self, index: int, actor: _Actor) -> Actor:
        return Actor(
            index,
            actor.handle,
            actor.name,
            actor.type,
            actor.static,
            actor.created_native,
            actor.destroyed_native,
            {name: self.column(column) for name, column in actor.reference.items()},
            self.table(actor.tracks),
        )
