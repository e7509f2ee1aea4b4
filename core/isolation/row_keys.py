"""A number for the bytes of each row, so that equal rows are found by sorting."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.recording.tracks import Array


def row_keys(values: Array) -> Array:
    """uint64 [n]: a number for each row's bytes; equal rows have equal ones."""
    if not values.size:
        return np.zeros(len(values), np.uint64)
    flat = np.ascontiguousarray(values).reshape(len(values), -1)
    if flat.dtype.kind == "f":
        flat = flat + np.zeros(1, flat.dtype)  # -0.0 and 0.0 are one value
    raw = flat.view(np.uint8).reshape(len(values), -1)
    width = -(-raw.shape[1] // 8) * 8
    if width != raw.shape[1]:
        raw = np.pad(raw, ((0, 0), (0, width - raw.shape[1])))
    words = raw.view(np.uint64)
    key = np.zeros(len(values), np.uint64)
    for column in range(words.shape[1]):
        key = (key ^ words[:, column]) * np.uint64(0x9E3779B97F4A7C15)
        key ^= key >> np.uint64(29)
    return key


def rows_alike(rows: Array, keys: Array) -> Iterator[list[int]]:
    """Yield the rows of each key that several have, ascending."""
    known = keys != 0
    rows, keys = rows[known], keys[known]
    order = np.argsort(keys, kind="stable")
    parts = np.split(rows[order], np.flatnonzero(np.diff(keys[order])) + 1)
    for part in sorted((p for p in parts if len(p) > 1), key=lambda p: int(p[0])):
        yield sorted(part.tolist())
