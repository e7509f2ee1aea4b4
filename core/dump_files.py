"""A window of a track as .npz or .csv; :mod:`isoscope.core.dump` says the form."""

from __future__ import annotations

import csv
import io
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from isoscope.core.recording.tracks import RaggedWindow, Window
from isoscope.core.series import component_names, values_a_point

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.recording.tracks import Array

BLOCK_CELLS = 1 << 16  # of a csv, made into text at once


def write_npz(file: IO[bytes], window: Window | RaggedWindow) -> None:
    """Write the window with its row numbers and its validity."""
    native = np.arange(window.start, window.stop, dtype=np.int64)
    if isinstance(window, RaggedWindow):
        np.savez(
            file,
            native=native,
            value=window.values,
            valid=window.valid,
            offsets=window.offsets,
        )
    else:
        np.savez(file, native=native, value=_blanked(window), valid=window.valid)


def _blanked(window: Window) -> Array:
    """The values with something harmless where they are absent."""
    if window.valid.all():
        return window.values
    values = window.values.copy()
    values[~window.valid] = (
        np.nan if values.dtype.kind in "fc" else np.zeros((), values.dtype)
    )
    return values


def write_csv(file: IO[bytes], window: Window | RaggedWindow, field: str) -> None:
    """Write the window of this field, a line a row."""
    text = io.TextIOWrapper(file, "utf-8", newline="", write_through=True)
    try:
        writer = csv.writer(text, lineterminator="\n")
        if isinstance(window, RaggedWindow):
            lengths = np.diff(window.offsets)
            names = _ragged_names(field, lengths)
            lines = _ragged_lines(window, len(names))
        else:
            names = _names(field, window.values.shape[1:])
            lines = _lines(window)
        writer.writerow(["native", "valid", *names])
        writer.writerows(lines)
        text.flush()
    finally:
        text.detach()  # the file is not ours to close


def _lines(window: Window) -> Iterator[list[object]]:
    count = window.stop - window.start
    flat = window.values.reshape(count, -1)
    width = flat.shape[1]
    block = max(BLOCK_CELLS // max(width, 1), 1)
    for low in range(0, count, block):
        rows = _cells(flat[low : low + block])
        for offset, cells in enumerate(rows, low):
            valid = bool(window.valid[offset])
            yield [
                window.start + offset,
                int(valid),
                *(cells if valid else [""] * width),
            ]


def _ragged_lines(window: RaggedWindow, width: int) -> Iterator[list[object]]:
    for offset in range(window.stop - window.start):
        values = window.row(offset)
        cells = [] if values is None else _cells(values)
        padding = [""] * (width - len(cells))
        yield [window.start + offset, int(values is not None), *cells, *padding]


def _cells(values: Array) -> list[Any]:
    """Numbers and text [...] as csv writes them, nested as `values` is."""
    kind = values.dtype.kind
    if kind == "b":
        values = values.astype(np.uint8)
    elif kind in "fc":
        values = values.astype("U64")  # the shortest digits that read back the same
    elif kind == "S":
        values = np.char.decode(values, "utf-8", "replace")
    cells: list[Any] = values.tolist()
    return cells


def _names(field: str, shape: tuple[int, ...]) -> list[str]:
    return [f"{field}.{n}" if n else field for n in component_names(field, shape)]


def _ragged_names(field: str, lengths: Array) -> list[str]:
    widest = int(lengths.max(initial=0))
    a_point = values_a_point(field)
    if bool((lengths % a_point).any()):
        return _names(field, (widest,))
    shape = (widest // a_point, a_point) if a_point > 1 else (widest,)
    return _names(field, shape)
