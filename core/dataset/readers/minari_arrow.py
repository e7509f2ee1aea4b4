"""Minari's Arrow storage: a folder an episode, with one row more than actions."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from isoscope.core.dataset.model import Episode, Feature
from isoscope.core.dataset.readers.arrow import ERRORS, to_numpy, value_type
from isoscope.core.dataset.readers.arrow_ipc import read_table
from isoscope.core.dataset.readers.base import Dataset
from isoscope.core.dataset.readers.episodic import role_by_name
from isoscope.core.dataset.readers.places import inside, read_json
from isoscope.core.errors import ReadError, one_line

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.dataset.model import Per
    from isoscope.core.recording.tracks import Array

PART = "part-0.arrow"
STEPS = ("actions", "rewards", "terminations", "truncations")
KEPT, KEPT_BYTES = 8, 1 << 26  # episodes in memory
MAX_BYTES = 1 << 31


class MinariArrow(Dataset):
    """An opened dataset; see `isoscope.core.dataset.readers.base.Dataset`."""

    def __init__(self, path: Path, data: Path, metadata: dict[str, Any]) -> None:
        from isoscope.core.dataset.readers.minari import FORMAT, check_totals, facts_of

        self._data = data
        self._kept: dict[int, pa.Table] = {}
        self._closed = False
        self._numbers = sorted(
            int(entry.name)
            for entry in data.iterdir()
            if entry.is_dir() and entry.name.isascii() and entry.name.isdigit()
        )
        super().__init__(path, FORMAT, (), len(self._numbers))
        self.root = data
        shapes = _shapes(metadata)
        if self._numbers:
            table = self._table(0)
            features: list[Feature] = []
            for name, kind in _leaves("", table.schema):
                self._add(name, kind, shapes.get(name), features)
            self._set(features)
        self.identity = facts_of(metadata, data)
        check_totals(self, metadata)

    def _add(
        self,
        name: str,
        kind: Any,
        shape: tuple[int, ...] | None,
        features: list[Feature],
    ) -> None:
        known = value_type(kind)
        if known is None or -1 in known[1] or name == "episode_id":
            if name != "episode_id":
                self.problems.append(f"{name} is not read: {kind}, not numbers")
            return
        dtype, flat = known
        if shape is None or np.prod(shape) != np.prod(flat):
            shape = flat
        per: Per = "step" if name.split("/")[0] in STEPS else "boundary"
        features.append(Feature(name, role_by_name(name), dtype, shape, per=per))

    def _table(self, index: int) -> pa.Table:
        if self._closed:
            raise self.error("it was closed")
        found = self._kept.get(index)
        if found is not None:
            return found
        path = inside(self._data, f"{self._numbers[index]}/{PART}")
        try:
            table = read_table(path, MAX_BYTES)
        except (*ERRORS, struct.error) as error:
            raise ReadError(
                "reading", path, f"Arrow that is cut or damaged ({one_line(error)})"
            ) from None
        self._kept[index] = table
        while len(self._kept) > 1 and (
            len(self._kept) > KEPT
            or sum(one.nbytes for one in self._kept.values()) > KEPT_BYTES
        ):
            self._kept.pop(next(iter(self._kept)))
        return table

    def describe(self, index: int) -> Episode:
        """The episode from its table, and its seed from the file beside."""
        rows = len(self._table(index))
        number = self._numbers[index]
        told = read_json(self._data, f"{number}/metadata.json")
        length = max(rows - 1, 0)
        steps = told.get("total_steps")
        if isinstance(steps, int) and steps != length:
            raise self.error(
                f"its metadata says {steps} steps, but there are {length}",
                f"{number}/metadata.json",
            )
        seed = told.get("seed")
        ends = [
            bool(self._column(index, name)[length - 1].any()) if length else None
            for name in ("terminations", "truncations")
        ]
        return Episode(
            index,
            f"episode_{number}",
            length,
            terminated=ends[0],
            truncated=ends[1],
            complete=any(ends),
            seed=seed if isinstance(seed, int) else None,
        )

    def _column(self, index: int, name: str) -> Array:
        table = self._table(index)
        top, *rest = name.split("/")
        try:
            column = table.column(top).combine_chunks()
            if isinstance(column, pa.ChunkedArray):
                column = column.chunk(0)
            for key in rest:
                column = column.field(key)
            return to_numpy(column)
        except ERRORS as error:
            place = f"{self._numbers[index]}/{name}"
            raise self.error(one_line(error), place) from None

    def rows(self, episode: int, feature: Feature, start: int, stop: int) -> Array:
        """Rows of a column; the last row of what goes with steps is padding."""
        return self._column(episode, feature.name)[start:stop]

    def close(self) -> None:
        """Let go of the tables."""
        self._kept.clear()
        self._closed = True


def _leaves(prefix: str, fields: Any) -> list[tuple[str, Any]]:
    out: list[tuple[str, Any]] = []
    for k in range(len(fields) if isinstance(fields, pa.Schema) else fields.num_fields):
        field = fields.field(k)
        name = f"{prefix}/{field.name}" if prefix else field.name
        if pa.types.is_struct(field.type):
            out += _leaves(name, field.type)
        else:
            out.append((name, field.type))
    return out


def _shapes(metadata: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    """Shapes of the values as the spaces have them; Arrow keeps them flat."""
    out: dict[str, tuple[int, ...]] = {}

    def walk(name: str, space: Any, depth: int) -> None:
        if not isinstance(space, dict) or depth > 8:
            return
        inner = space.get("subspaces")
        if isinstance(inner, dict):
            for key, value in inner.items():
                walk(f"{name}/{key}", value, depth + 1)
        elif isinstance(inner, list):
            for k, value in enumerate(inner):
                walk(f"{name}/{k}", value, depth + 1)
        elif isinstance(space.get("shape"), list):
            if all(isinstance(n, int) and n >= 0 for n in space["shape"]):
                out[name] = tuple(space["shape"])

    for name in ("observation", "action"):
        told = metadata.get(f"{name}_space")
        if isinstance(told, str):
            try:
                walk(f"{name}s", json.loads(told), 0)
            except (ValueError, RecursionError):
                continue
    return out
