"""Merge packets of a source into an intake: all numbers become those of the target.

Each process numbers its rows, scenes, actors, snapshots, texts, blobs and tables from
0. Here they get the numbers of one stream. What was lost on the way, since a window
joined late or was too slow, is named nowhere: whoever names it names nothing.

What comes from another process is not trusted: whatever makes no sense raises
:class:`PacketError`, and never anything else.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.recording.labelled.forms import read_definitions
from isoscope.core.recording.labelled.tables import FIXED, Column, Schema
from isoscope.core.tap.raw_natives import COLUMNS, Layout, RawNatives
from isoscope.core.tap.raw_natives import KIND as RAW
from isoscope.core.tap.rowmap import RowMap

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import Array
    from isoscope.core.tap.packet import Packet, Rows
    from isoscope.core.tap.target import Target

_FIXED = {schema.name: schema for schema in FIXED}
_OURS = ("end", "blobs")  # tables that each stream has for itself
_ROWS = ("row", "first_row", "last_row")
MAX_TABLES = 1 << 16
FEW = 1024
MAX_ROW_BYTES = 1 << 24
_WRONG = (KeyError, TypeError, ValueError, OverflowError, AttributeError, IndexError)


class PacketError(Exception):
    """A packet that makes no sense."""


@dataclass(slots=True)
class _Table:
    """A table of the source: where its rows go, and how many were heard of."""

    schema: Schema
    there: int
    over: str = ""  # of a frame
    elements: int = -1  # of a ragged field: the source's table of its entries
    raw: RawNatives | None = None  # of raw native steps: what takes them apart
    length: int = 0

    @property
    def rank(self) -> int:
        name = self.schema.name
        return 0 if name == "snapshots" else 2 if name in _FIXED or self.over else 1


def _unbroken(came: list[tuple[int, int]]) -> int:
    """Where the last rows without a gap begin; what came is (first, count), sorted."""
    begin, stop = came[0][0], came[0][0]
    for first, count in came:
        if first != stop:
            begin = first
        stop = first + count
    return begin


class Merger:
    """Merges one source.

    Parameters
    ----------
    target
        Where to.
    name
        The source's, for what it says of the run.
    """

    def __init__(self, target: Target, name: str = "") -> None:
        self.target = target
        self.name = name
        self.ended = False
        self._tables: dict[int, _Table] = {}
        self._fixed: dict[str, int] = {}
        self._texts: dict[int, int] = {}
        self._blobs: dict[int, int] = {}
        self._earlier_blobs: dict[int, int] = {}
        self._scenes: dict[int, int] = {-1: -1}
        self._actors: dict[int, int] = {-1: -1}
        self._snapshots: dict[int, int] = {}
        self._maps = {"native": RowMap(), "transitions": RowMap()}
        self._began: dict[str, int] = {}

    @property
    def began(self) -> int | None:
        """From which native step of the source on all came; None before any.

        Of a source that lets nobody see native steps: from which transition on.
        """
        return self._began.get("native", self._began.get("transitions"))

    def take(self, packet: Packet) -> None:
        """Merge a packet.

        Raises
        ------
        PacketError
            If it makes no sense; a part of it may have been taken.
        """
        try:
            self._take(packet)
        except _WRONG as error:
            raise PacketError(f"{type(error).__name__}: {error}") from None

    def _take(self, packet: Packet) -> None:
        definitions, length = read_definitions(packet.definitions)
        if length != len(packet.definitions):
            raise PacketError("damaged definitions")
        for told in definitions:
            if told.get("define") in ("table", "text"):
                self._define_first(told)
        blobs = dict(packet.blobs)
        unpacked = [self._unpacked(rows) for rows in packet.blocks]
        blocks = self._expanded(unpacked, blobs)
        self._earlier_blobs, self._blobs = self._blobs, {}
        for number, content in blobs.items():
            self._blobs[number] = self.target.intake.blob(bytes(content))
        # Others name these rows, which are added further down.
        for over, rows_map in self._maps.items():
            at = self.target.length(over)
            mine = self._fixed.get(over, -1)
            came = sorted((first, len(b)) for name, first, b in blocks if name == mine)
            if came and over not in self._began:
                self._began[over] = _unbroken(came)
            for name, first, rows in blocks:
                if name == mine:
                    rows_map.add(first, at, len(rows))
                    at += len(rows)
        ends = {over: self._end(over, blocks) for over in self._maps}
        for told in definitions:
            self._define(told, ends)
        # Entries before the rows that say where they end, snapshots before their names.
        blocks.sort(key=lambda block: self._tables[block[0]].rank)
        last = {
            number: rows["end"][-1:].copy()
            for number, _, rows in blocks
            if self._tables[number].elements >= 0
        }
        # At once: whoever writes meanwhile would take steps whose states come next.
        with self.target.intake.lock:
            for number, _, rows in blocks:
                self._add(number, rows, ends, last)

    def _end(self, over: str, blocks: list[tuple[int, int, Array]]) -> int:
        mine = self._fixed.get(over, -1)
        more = sum(len(rows) for number, _, rows in blocks if number == mine)
        return self.target.length(over) + more

    def _unpacked(self, rows: Rows) -> tuple[int, int, Array]:
        """A block's table, first row and rows, less those that are there already."""
        table = self._tables.get(rows.table)
        if table is None:
            raise PacketError(f"rows of table {rows.table}, which was not defined")
        values = np.frombuffer(rows.content, table.schema.dtype)
        if len(values) != rows.count or rows.first < 0:
            raise PacketError(
                f"{len(values)} rows of {table.schema.name}, not "
                f"{rows.count} from {rows.first}"
            )
        skip = min(max(table.length - rows.first, 0), len(values))
        table.length = max(table.length, rows.first + rows.count)
        return rows.table, rows.first + skip, values[skip:].copy()

    def _expanded(
        self, blocks: list[tuple[int, int, Array]], blobs: dict[int, Any]
    ) -> list[tuple[int, int, Array]]:
        """The blocks with raw native steps taken apart, in the steps' order.

        The blobs that these are in are taken out.
        """
        raws = [self._tables[number].raw for number, *_ in blocks]
        if not any(raw is not None for raw in raws):
            return blocks
        native = self._fixed["native"]
        numbers, parts, found = [], [], []
        framed: dict[int, list[Array]] = {}
        for (number, first, rows), raw in zip(blocks, raws, strict=True):
            if number == native:
                numbers.append(np.arange(first, first + len(rows)))
                parts.append(rows)
            elif raw is None:
                found.append((number, first, rows))
            else:
                contents = [blobs.pop(n) for n in rows["content"].tolist()]
                steps = raw.expand(contents)
                numbers.append(steps.numbers)
                parts.append(steps.natives)
                for frame, packed in steps.frames:
                    framed.setdefault(frame, []).append(packed)
        for frame, several in framed.items():
            values = np.concatenate(several)
            found.append((frame, 0, values[np.argsort(values["row"], kind="stable")]))
        unsorted = np.concatenate(numbers)
        order = np.argsort(unsorted, kind="stable")
        at, steps_in_order = unsorted[order], np.concatenate(parts)[order]
        if len(at) and (at[0] < 0 or not (np.diff(at) > 0).all()):
            raise PacketError("native steps that have each other's numbers")
        cuts = np.flatnonzero(np.diff(at) != 1) + 1
        for numbers_of_run, run in zip(
            np.split(at, cuts), np.split(steps_in_order, cuts), strict=True
        ):
            if len(run):
                found.append((native, int(numbers_of_run[0]), run))
        table = self._tables[native]
        table.length = max(table.length, int(at[-1]) + 1 if len(at) else 0)
        return found

    # -- definitions --

    def _define_first(self, told: dict[str, Any]) -> None:
        """Tables and texts: rows are nothing without them."""
        number = int(told["id"])
        if told["define"] == "text":
            self._texts[number] = self.target.intake.text(str(told["text"]))
        elif number not in self._tables:
            if len(self._tables) >= MAX_TABLES or number < 0:
                raise PacketError("too many tables")
            self._define_table(number, told)

    def _define_table(self, number: int, told: dict[str, Any]) -> None:
        intake = self.target.intake
        schema = _schema(told)
        fixed = _FIXED.get(schema.name)
        if fixed is not None:
            if schema.columns != fixed.columns:
                raise PacketError(f"a table {fixed.name} of another form")
            self._tables[number] = _Table(fixed, intake.tables[fixed.name])
            self._fixed[fixed.name] = number
            return
        if RAW in told:
            given = (int(n) for n in told[RAW]["frames"])
            frames = {n: self._tables[n].schema for n in given}
            if any(self._tables[n].over != "native" for n in frames):
                raise PacketError("raw steps with a frame of something else")
            if schema.columns != COLUMNS:
                raise PacketError("raw steps of another form")
            layout = Layout(*told[RAW]["layout"])
            raw = RawNatives(frames, int(told[RAW]["scene"]), layout)
            self._tables[number] = _Table(schema, -1, raw=raw)
            return
        about: dict[str, Any] = {}
        over, elements = "", -1
        for kind in ("frame", "ragged"):
            if kind in told:
                about[kind] = dict(told[kind])
                over = about[kind]["over"]
                if over not in self._maps:
                    raise PacketError(f"a {kind} over {over!r}")
                self._renumber(about[kind])
        if "ragged" in about:
            elements = int(about["ragged"]["elements"])
            about["ragged"]["elements"] = self._tables[elements].there
        with intake.lock:
            named = f"{_kind(about)}{len(intake.buffers)}"
            there = intake.add_table(Schema(named, schema.columns), about)
        self._tables[number] = _Table(schema, there, over, elements)
        if over:
            ends_in = self._tables[elements].there if elements >= 0 else -1
            self.target.frames[there] = (over, ends_in)

    def _renumber(self, about: dict[str, Any]) -> None:
        """Scene and actors of a frame."""
        about["scene"] = self._scene(int(about.get("scene", -1)))
        if "field" in about:
            about["field"] = self._field(about["field"])
        if "fields" in about:
            about["fields"] = [self._field(f) for f in about["fields"]]

    def _field(self, told: dict[str, Any]) -> dict[str, Any]:
        return {**told, "actor": self._actor(int(told.get("actor", -1)))}

    def _define(self, told: dict[str, Any], ends: dict[str, int]) -> None:
        kind, target = told.get("define"), self.target
        if kind == "identity":
            target.identify(self.name, told)
        elif kind == "scene":
            target.intake.define({**told, "id": self._scene(int(told["id"]))})
        elif kind == "actor":
            reference = {
                name: [self._blob(int(number)), *rest]
                for name, (number, *rest) in told["reference"].items()
            }
            target.intake.define(
                {
                    **told,
                    "id": self._actor(int(told["id"])),
                    "scene": self._scene(int(told.get("scene", -1))),
                    "created_row": self._next(int(told["created_row"]), ends),
                    "reference": {n: r for n, r in reference.items() if r[0] >= 0},
                }
            )
        elif kind == "destroyed":
            row = self._next(int(told["row"]), ends)
            actor = self._actor(int(told["actor"]))
            target.intake.define({**told, "actor": actor, "row": row})

    def _next(self, row: int, ends: dict[str, int]) -> int:
        return row if row < 0 else self._maps["native"].next(row, ends["native"])

    def _scene(self, number: int) -> int:
        if number not in self._scenes:
            self._scenes[number] = self.target.scenes.give(number)
        return self._scenes[number]

    def _actor(self, number: int) -> int:
        if number not in self._actors:
            self._actors[number] = self.target.actors.give(number)
        return self._actors[number]

    def _blob(self, number: int) -> int:
        found = self._blobs.get(number)
        return self._earlier_blobs.get(number, -1) if found is None else found

    # -- rows --

    def _add(
        self, number: int, rows: Array, ends: dict[str, int], last: dict[int, Array]
    ) -> None:
        table = self._tables[number]
        name = table.schema.name
        if name in _OURS:
            self.ended |= name == "end" and len(rows) > 0
            return
        if name in _FIXED:
            self._renumber_fixed(table.schema, rows, ends)
        elif table.over:
            rows["row"] = self._maps[table.over].all(rows["row"], -1)
            if table.elements < 0:
                rows = rows[rows["row"] >= 0]
            else:
                self._shift_ends(table, rows, last[number])
        self.target.intake.extend(table.there, rows)

    def _shift_ends(self, table: _Table, rows: Array, last: Array) -> None:
        """Let a ragged field's rows name the ends of their entries there.

        A packet has the entries of just the rows that it has, so its last row ends
        where they end.
        """
        there = self._tables[table.elements].there
        if len(last):
            rows["end"] += len(self.target.intake.buffers[there]) - last[0]
        ends = rows["end"]
        if len(ends) and not (
            0 <= ends[0]
            and (np.diff(ends) >= 0).all()
            and ends[-1] <= len(self.target.intake.buffers[there])
        ):
            raise PacketError("a ragged field's entries end where there are none")

    def _renumber_fixed(
        self, schema: Schema, rows: Array, ends: dict[str, int]
    ) -> None:
        for column in schema.columns:
            name, values = column.name, rows[column.name]
            if column.meaning == "text":
                rows[name] = _looked_up(values, self._texts.get)
            elif column.meaning in ("json", "bytes"):
                rows[name] = _looked_up(values, self._blob)
            elif name in _ROWS:
                rows[name] = self._maps["native"].all(values, ends["native"])
            elif name == "transition":
                rows[name] = self._maps["transitions"].all(values, ends["transitions"])
            elif name == "scene":
                rows[name] = _looked_up(values, self._scene)
            elif name in ("snapshot", "restored_from"):
                rows[name] = _looked_up(values, self._snapshots.get)
        if schema.name == "snapshots":
            rows["id"] = _looked_up(rows["id"], self._new_snapshot)
        elif schema.name == "native":
            rows["time_s"] = self.target.times(rows["h_s"], rows["time_s"])

    def _new_snapshot(self, number: int) -> int:
        given = self._snapshots[number] = self.target.snapshots.give(number)
        return given


def _kind(about: dict[str, Any]) -> str:
    return next(iter(about), "elements")


def _looked_up(values: Array, find: Any) -> Array:
    """Each number by `find`; -1, and what isn't found, is -1."""
    if not values.size:
        return values.astype(np.int64)
    low, high = int(values.min()), int(values.max())
    if high - low < values.size + FEW:  # mostly: looked up in a table, not sorted
        at = values.astype(np.int64) - low
        there = np.zeros(high - low + 1, np.bool_)
        there[at] = True
        unique = np.flatnonzero(there)
        table = np.empty(len(there), np.int64)
        table[unique] = _each((unique + low).tolist(), find)
        out: Array = table[at]
        return out
    unique, inverse = np.unique(values, return_inverse=True)
    out = _each(unique.tolist(), find)[inverse]
    return out.reshape(values.shape)


def _each(numbers: list[int], find: Any) -> Array:
    found = [find(n) if n >= 0 else -1 for n in numbers]
    return np.array([-1 if n is None else n for n in found], np.int64)


def _schema(told: dict[str, Any]) -> Schema:
    """A table's schema out of its definition; raises where it makes no sense."""
    columns = tuple(
        Column(
            str(c["name"]),
            str(c["dtype"]),
            tuple(int(n) for n in c["shape"]),
            c.get("unit"),
            c.get("meaning", "number"),
        )
        for c in told["columns"]
    )
    if any(n < 0 for c in columns for n in c.shape):
        raise PacketError("a shape below 0")
    schema = Schema(str(told["name"]), columns)
    _ = schema.widths  # a dtype that can't be recorded is met here
    if not 0 < schema.dtype.itemsize <= MAX_ROW_BYTES:
        raise PacketError(f"rows of {schema.dtype.itemsize} bytes")
    return schema
