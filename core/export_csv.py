"""Series as a table of comma-separated values, with what is absent left out.

Columns: ``native`` (row number), ``time_s`` (recording time), then for every field its
components, each named ``Actor.field.component [unit]``, and ``Actor.field.valid``: 1
where the field was recorded in that row, else 0 and its cells are empty. Numbers are
written so that reading them gives the same bits; a recorded NaN is ``nan``, an empty
row's missing largest norm is empty.
"""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.errors import UsageError
from isoscope.core.series import (
    CONTROL,
    FieldRows,
    Reference,
    component_count,
    component_names,
    is_numeric,
    track_of,
    unit_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.core.recording.model import Recording
    from isoscope.core.recording.tracks import AnyTrack, Array, BoolArray

_CHUNK_ROWS = 4096


@dataclass(frozen=True, slots=True)
class Written:
    """What `export_csv` wrote: rows, columns, and how many odd values were left out."""

    rows: int
    columns: int
    odd: int


def export_csv(
    path: str | Path,
    recording: Recording,
    refs: Sequence[Reference],
    start: int,
    stop: int,
) -> Written:
    """Write rows start .. stop of these series to a new file.

    The file is written beside its place and renamed, so it is whole or not there.

    Raises
    ------
    UsageError
        If there is nothing to write, a reference names nothing, or the file can't be
        written.
    """
    start, stop = max(start, 0), min(stop, len(recording))
    if stop <= start:
        raise UsageError(f"no rows to write to {path}: {start} to {stop} is empty")
    if not refs:
        raise UsageError(f"no field to write to {path}: plot one first")
    columns: list[_Columns] = []
    told: set[tuple[int | None, str]] = set()  # fields that have their valid column
    for ref in refs:
        columns.append(_Columns(recording, ref, (ref.actor, ref.field) not in told))
        told.add((ref.actor, ref.field))
    header = ["native", "time_s", *(name for c in columns for name in c.names)]
    path = Path(path)
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(header)
            for begin in range(start, stop, _CHUNK_ROWS):
                end = min(begin + _CHUNK_ROWS, stop)
                cells = [[str(row) for row in range(begin, end)]]
                time_s = recording.steps.time_s[begin:end]
                cells.append(_texts(time_s, np.isfinite(time_s)))
                for column in columns:
                    cells.extend(column.cells(begin, end))
                writer.writerows(zip(*cells, strict=True))
        os.replace(part, path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise UsageError(
            f"writing {path}: {error.strerror or error}; choose another place"
        ) from None
    odd = sum(start <= row < stop for c in columns if c.tells for row in c.track.odd)
    return Written(stop - start, len(header), odd)


class _Columns:
    """The columns of one reference; `tells` if the valid column is among them."""

    def __init__(self, recording: Recording, ref: Reference, tells: bool) -> None:
        track = track_of(recording, ref)
        who = {None: "step", CONTROL: "control step"}.get(
            ref.actor, f"actor {ref.actor}"
        )
        if track is None:
            raise UsageError(f"{who} has no field {ref.field!r} in {recording.name}")
        if not is_numeric(track):
            raise UsageError(f"{ref.field!r} of {who} holds {track.dtype}, no numbers")
        self.track: AnyTrack = track
        self.tells = tells
        name = f"{_name_of(recording, ref.actor)}.{ref.field}"
        unit = unit_of(ref, track)
        ending = f" [{unit}]" if unit else ""
        self._rows: FieldRows | None = None
        if track.ragged:
            measure = ref.measure or "count"
            self._rows = FieldRows(recording, track, ref.field, 0, measure)
            self._parts: list[int] = []
            parts = [f"{name}.{measure}{ending}"]
        else:
            labels = component_names(ref.field, track.shape, track)
            every = range(component_count(track))
            self._parts = list(every if ref.component is None else [ref.component])
            if any(part not in every for part in self._parts):
                raise UsageError(f"{name} has no component {ref.component}")
            parts = [
                f"{name}.{labels[i]}{ending}" if labels[i] else f"{name}{ending}"
                for i in self._parts
            ]
        self.names = [*parts, f"{name}.valid"] if tells else parts

    def cells(self, start: int, stop: int) -> list[list[str]]:
        if self._rows is not None:
            values, drawable = self._rows.read(start, stop)
            valid = self.track.read(start, stop).valid
            whole = self._rows.measure == "count"
            if whole:
                values = values.astype(np.int64)
            texts = [_texts(values, valid if whole else valid & drawable)]
        else:
            window = self.track.read(start, stop)
            valid = window.valid
            flat = window.values.reshape(stop - start, component_count(self.track))
            texts = [_texts(flat[:, part], valid) for part in self._parts]
        if self.tells:
            texts.append(["1" if there else "0" for there in valid])
        return texts


def _texts(values: Array, valid: BoolArray) -> list[str]:
    """The shortest text of each number that reads back the same; empty if absent."""
    texts: list[str] = values.astype("U32").tolist()
    if valid.all():
        return texts
    return [text if there else "" for text, there in zip(texts, valid, strict=True)]


def _name_of(recording: Recording, actor: int | None) -> str:
    """The actor's name, with its handle where another one has the same name."""
    if actor is None:
        return "step"
    if actor == CONTROL:
        return "control"
    found = recording.actors[actor]
    same = sum(other.name == found.name for other in recording.actors)
    return found.name if same == 1 else f"{found.name} {found.handle}"
