"""Write a part of a labelled recording as one: chosen episodes, and all of theirs.

Native steps, control steps, resets, snapshots, events, failures and fields of the
chosen episodes are copied bit for bit and numbered anew; changes of the configuration
stay, since they hold for what follows. Blobs are copied as they lie.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.dataset.exporters.compare import ReadBack
from isoscope.core.errors import UsageError, WriteError
from isoscope.core.recording.labelled.container import Container
from isoscope.core.recording.labelled.forms import (
    FORMAT_NAME,
    HEAD_BYTES,
    frame_definition,
    read_definitions,
    version_of,
)
from isoscope.core.recording.labelled.rewriting import BLOB_STEP
from isoscope.core.recording.labelled.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from isoscope.core.dataset.exporters.plan import Plan, Refusal
    from isoscope.core.dataset.model import Feature
    from isoscope.core.recording.labelled.catalog import Table
    from isoscope.core.recording.tracks import Array

FORMAT = "isoscope"
READ_AS = FORMAT_NAME
ABOUT = "a labelled recording with the chosen episodes of one; all records, bit for bit"
EXTRA = ""
FOLDER = False
_EXACT, _NEXT = "exact", "next"
# Columns that hold numbers of native rows, and what becomes of one that is left out:
# absent, or the next that stays.
_NATIVE: dict[str, tuple[tuple[str, str], ...]] = {
    "transitions": (("first_row", _EXACT), ("last_row", _EXACT)),
    "resets": (("row", _EXACT),),
    "profile": (("row", _EXACT),),
    "snapshots": (("row", _EXACT),),
    "changes": (("row", _NEXT),),
    "failures": (("row", _NEXT),),
    "events": (("row", _EXACT),),
    "streams": (("row", _EXACT),),
    "dropped": (("row", _NEXT),),
}
_APART = ("chunks", "end")  # of whole runs: left out, and made anew


def name(feature: Feature) -> str:
    """What a feature is called: nothing is renamed."""
    return feature.name


def holds(features: Sequence[Feature]) -> list[Refusal]:
    """Nothing that a labelled recording has can't be held by one."""
    return []


def fit(plan: Plan, target: Path) -> None:
    """See that the source is such a recording, and knows its rows.

    Raises
    ------
    UsageError
        If not.
    """
    path = plan.source.path
    head = b""
    if path is not None and path.is_file():
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    if version_of(head) is None:
        raise UsageError(
            f"exporting to isoscope: {plan.source.name} is no labelled recording, of "
            "which this could be a part"
        )
    if any(c.feature.name != c.source for c in plan.columns) or plan.splits:
        raise UsageError(
            "exporting to isoscope: a labelled recording keeps its fields' names, and "
            "has no splits"
        )
    unknown = next(
        (e.id for e in plan.episodes() if e.rows is None and e.native is None), None
    )
    if unknown is not None:
        raise UsageError(
            f"exporting to isoscope: episode {unknown} does not say which rows it has"
        )
    plan.columns = []
    plan.left_out.append("chunks of a collection: they are of whole runs")


def write(plan: Plan, place: Path, tick: Callable[[int], None]) -> None:
    """Write the file."""
    assert plan.source.path is not None
    store = Store(plan.source.path)
    try:
        chosen = _choose(plan, store)
        blob_bytes = store.blob_bytes()
        container = Container(
            place, dict(store.attributes), live=False, blob_bytes=blob_bytes
        )
        try:
            container.add_definitions(_definitions(store, chosen))
            for at in range(0, blob_bytes, BLOB_STEP):
                stop = min(at + BLOB_STEP, blob_bytes)
                container.add_blobs(store.raw("blobs", at, stop))
            for table in list(store.tables.values()):
                for first, rows in _blocks(store, table, chosen):
                    container.add_blocks([(table.id, table.schema, first, rows)])
                    tick(0)
        finally:
            container.close()
    finally:
        store.close()
    tick(sum(e.length for e in plan.episodes()))


def verify(plan: Plan, place: Path, tick: Callable[[int], None]) -> ReadBack:
    """Compare every record that was written with the source's.

    Raises
    ------
    WriteError
        At the first difference.
    """
    assert plan.source.path is not None
    store, found = Store(plan.source.path), Store(place)
    values = columns = 0
    try:
        chosen = _choose(plan, store)
        for table in list(store.tables.values()):
            there = found.tables.get(table.schema.name)
            count = 0
            for first, rows in _blocks(store, table, chosen):
                count = first + len(rows)
                if there is None or len(there) < count:
                    break
                for column in table.schema.columns:
                    got = found.read(table.schema.name, column.name, first, count)
                    if (
                        got.tobytes()
                        != np.ascontiguousarray(rows[column.name]).tobytes()
                    ):
                        raise WriteError(
                            "reading back what was written: it differs: "
                            f"{column.name} of {table.schema.name}, rows {first} to "
                            f"{count - 1}"
                        )
                    values += got.size
            if (0 if there is None else len(there)) != count:
                raise WriteError(
                    "reading back what was written: it differs: rows of "
                    f"{table.schema.name}"
                )
            columns += len(table.schema.columns)
    finally:
        store.close()
        found.close()
    tick(sum(e.length for e in plan.episodes()))
    return ReadBack(len(plan), columns, values)


@dataclass(slots=True)
class _Chosen:
    """Which rows stay: ascending numbers, and what else the episodes need."""

    native: Array
    transitions: Array
    envs: set[int]
    episodes: set[tuple[int, int]]
    restored: set[int]
    elements: dict[str, Array] = field(default_factory=dict)

    def place(self, over: str, rows: Array, how: str = _EXACT) -> Array:
        """New numbers of rows; -1 where they are left out."""
        kept = self.native if over == "native" else self.transitions
        at = np.searchsorted(kept, rows)
        inside = at < len(kept)
        if how == _EXACT and len(kept):
            inside &= kept[np.minimum(at, len(kept) - 1)] == rows
        return np.where(inside & (rows >= 0), at, -1)


def _choose(plan: Plan, store: Store) -> _Chosen:
    native: list[Array] = []
    transitions: list[Array] = []
    pairs: set[tuple[int, int]] = set()
    for episode in plan.episodes():
        if episode.rows is not None:
            transitions.append(np.asarray(episode.rows, np.int64))
        if episode.env is not None and episode.number is not None:
            pairs.add((episode.env, episode.number))
        if episode.native is None:
            continue
        first, last = episode.native
        rows = np.arange(first, last + 1, dtype=np.int64)
        if episode.env is not None:
            env = store.read("native", "env", first, last + 1)
            rows = rows[(env == episode.env) | (env == -1)]
        native.append(rows)
    none = np.zeros(0, np.int64)
    kept = np.unique(np.concatenate([none, *native]))
    restored: set[int] = set()
    ids = store.read("native", "restored_from")
    restored.update(np.unique(ids[kept]).tolist())
    return _Chosen(
        kept,
        np.unique(np.concatenate([none, *transitions])),
        {env for env, _ in pairs},
        pairs,
        restored - {-1},
    )


def _definitions(store: Store, chosen: _Chosen) -> bytes:
    """The definitions, with the rows in which actors begin and end numbered anew."""
    found, _ = read_definitions(store.raw("definitions", 0, store.definition_bytes()))
    keys = {"actor": "created_row", "destroyed": "row"}
    out = []
    for definition in found:
        key = keys.get(str(definition.get("define")))
        if key is not None and isinstance(definition.get(key), int):
            at = int(np.searchsorted(chosen.native, definition[key]))
            definition = {**definition, key: at}
        out.append(frame_definition(definition))
    return b"".join(out)


def _blocks(store: Store, table: Table, chosen: _Chosen) -> Iterator[tuple[int, Array]]:
    """What stays of a table, in whole blocks: first new row, rows."""
    step = table.schema.block_rows
    waiting: list[Array] = []
    held = first = 0
    for part in _kept(store, table, chosen):
        waiting.append(part)
        held += len(part)
        while held >= step:
            rows = np.concatenate(waiting)
            yield first, rows[:step]
            first += step
            waiting, held = [rows[step:]], held - step
    if held:
        yield first, np.concatenate(waiting)


def _kept(store: Store, table: Table, chosen: _Chosen) -> Iterator[Array]:
    named, schema = table.schema.name, table.schema
    if named == "end":
        row = np.zeros(min(len(table), 1), schema.dtype)
        if len(row):
            for column in schema.columns:
                row[column.name] = store.read(named, column.name, len(table) - 1)
            row["rows"] = len(chosen.native)
        yield row
    if named in _APART:
        return
    step = schema.block_rows
    end = new_end = 0  # of a ragged field's entries: in the source, and here
    for start in range(0, len(table), step):
        stop = min(start + step, len(table))
        rows = np.zeros(stop - start, schema.dtype)
        for column in schema.columns:
            rows[column.name] = store.read(named, column.name, start, stop)
        if "ragged" in table.definition:
            lengths = np.diff(rows["end"], prepend=end)
            end = int(rows["end"][-1])
            keep = chosen.place(_over(table), rows["row"]) >= 0
            ends = new_end + np.cumsum(np.where(keep, lengths, 0))
            new_end = int(ends[-1])
            rows["end"] = ends
        else:
            keep = _stays(store, table, rows, start, chosen)
        rows = rows[keep]
        _renumber(table, rows, chosen)
        yield rows


def _over(table: Table) -> str:
    about = table.definition.get("frame") or table.definition.get("ragged") or {}
    return str(about.get("over", "native"))


def _stays(
    store: Store, table: Table, rows: Array, start: int, chosen: _Chosen
) -> Array:
    """Which rows of a table stay: bool [n]."""
    named = table.schema.name
    at = np.arange(start, start + len(rows))
    if named in ("native", "transitions"):
        return chosen.place(named, at) >= 0
    if "frame" in table.definition:
        return chosen.place(_over(table), rows["row"]) >= 0
    if named.startswith("elements"):
        return _entries(store, named, chosen)[at]
    if named in ("blobs", "dropped"):
        return np.ones(len(rows), np.bool_)
    inside = chosen.place("native", rows["row"]) >= 0
    if named == "profile":
        return inside | (chosen.place("transitions", rows["transition"]) >= 0)
    if named == "resets":
        pairs = zip(rows["env"].tolist(), rows["episode"].tolist(), strict=True)
        return inside | np.array([p in chosen.episodes for p in pairs], np.bool_)
    if named == "snapshots":
        return inside | np.isin(rows["id"], list(chosen.restored))
    if named == "changes":
        last = chosen.native[-1] if len(chosen.native) else -1
        return np.asarray(rows["row"] <= last)
    if named == "failures":
        return inside | (rows["row"] < 0) | np.isin(rows["env"], list(chosen.envs))
    return inside


def _entries(store: Store, named: str, chosen: _Chosen) -> Array:
    """Which entries of a ragged field stay: bool, all of the table."""
    found = chosen.elements.get(named)
    if found is not None:
        return found
    number = store.tables[named].id
    keep = np.zeros(len(store.tables[named]), np.bool_)
    for table in store.tables.values():
        about = table.definition.get("ragged")
        if about is None or int(about["elements"]) != number:
            continue
        ends = store.read(table.schema.name, "end")
        rows = store.read(table.schema.name, "row")
        stays = chosen.place(_over(table), rows) >= 0
        spread = np.repeat(stays, np.diff(ends, prepend=0))
        keep[: len(spread)] |= spread
    chosen.elements[named] = keep
    return keep


def _renumber(table: Table, rows: Array, chosen: _Chosen) -> None:
    named = table.schema.name
    for column, how in _NATIVE.get(named, ()):
        rows[column] = chosen.place("native", rows[column], how)
    if named in ("resets", "profile"):
        rows["transition"] = chosen.place("transitions", rows["transition"])
    if "frame" in table.definition or "ragged" in table.definition:
        rows["row"] = chosen.place(_over(table), rows["row"])
