"""Write a labelled recording anew: whole blocks, no journals, no holes.

What can't be read becomes absent and is told; every row keeps its number, since other
tables speak of it. The result appears under its name only when all of it is there.
"""

from __future__ import annotations

import os
import secrets
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.errors import ReadError, WriteError
from isoscope.core.recording.labelled.container import Container
from isoscope.core.recording.labelled.store import Store

if TYPE_CHECKING:
    from pathlib import Path

    from isoscope.core.recording.labelled.catalog import Table
    from isoscope.core.recording.tracks import Array

BLOB_STEP = 16 << 20
REPAIRED = "repaired"


@dataclass(slots=True)
class Copied:
    """What was copied.

    Attributes
    ----------
    rows
        By table.
    lost
        What could not be read, one line each.
    ended
        Whether the source has the mark of a clean end.
    """

    rows: dict[str, int] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)
    ended: bool = False


def beside(path: Path) -> Path:
    """A name beside a file, for what isn't finished yet."""
    return path.with_name(f".{path.name[:200]}.{secrets.token_hex(4)}.part")


def compact(path: Path) -> None:
    """Replace a finished recording by the same one, written anew.

    Raises
    ------
    OSError, ReadError, WriteError
        If that can't be done; the file is as it was.
    """
    part = beside(path)
    store = Store(path)
    try:
        copied = copy(store, part, note="")
        if copied.lost or not copied.ended:
            return
        store.close()
        os.replace(part, path)
    finally:
        store.close()
        with suppress(OSError):
            part.unlink(missing_ok=True)


def copy(store: Store, target: Path, note: str) -> Copied:
    """Copy all that can be read to a new file.

    Parameters
    ----------
    store
        The source.
    target
        A file that is not there yet.
    note
        Why it ends, where the source has no mark of its end.

    Raises
    ------
    ReadError
        If not even the definitions can be read.
    WriteError
        If it can't be written; then there is no target.
    """
    attributes = {**store.attributes, "written": secrets.token_hex(16)}
    copied = Copied(
        lost=[f"{what} ({where})" for what, where in store.catalog.problems]
    )
    end = store.tables.get("end")
    copied.ended = end is not None and len(end) > 0
    definitions = store.raw("definitions", 0, store.definition_bytes())
    blob_bytes = 0
    try:
        blob_bytes = store.blob_bytes()
    except ReadError as error:
        copied.lost.append(str(error))
    container: Container | None = None
    try:
        container = Container(target, attributes, live=False, blob_bytes=blob_bytes)
        container.add_definitions(definitions)
        _blobs(store, container, blob_bytes, copied)
        for table in list(store.tables.values()):
            _table(store, container, table, copied)
        if end is not None and not copied.ended:
            row = np.zeros(1, end.schema.dtype)
            rows = copied.rows.get("native", 0)
            row["wall_ns"], row["rows"], row["why"] = time.time_ns(), rows, -1
            if note:
                row["why"] = _text(store, container, note)
            container.add_blocks([(end.id, end.schema, 0, row)])
        container.close()
    except OSError as error:
        with suppress(Exception):
            if container is not None:
                container.close()
        with suppress(OSError):
            target.unlink(missing_ok=True)
        why = (error.strerror or str(error)).lower()
        raise WriteError(f"writing {target}: {why}") from None
    return copied


def _text(store: Store, container: Container, text: str) -> int:
    from isoscope.core.recording.labelled.forms import frame_definition

    number = max(store.catalog.texts, default=-1) + 1
    definition = {"define": "text", "id": number, "text": text}
    container.add_definitions(frame_definition(definition))
    return number


def _blobs(store: Store, container: Container, length: int, copied: Copied) -> None:
    """Copy the blobs as they lie, so that their places stay right."""
    for at in range(0, length, BLOB_STEP):
        stop = min(at + BLOB_STEP, length)
        try:
            content = store.raw("blobs", at, stop)
        except ReadError as error:
            copied.lost.append(str(error))
            content = bytes(stop - at)  # which no checksum fits
        container.add_blobs(content)


def _table(store: Store, container: Container, table: Table, copied: Copied) -> None:
    """Copy a table, block by block."""
    step = table.schema.block_rows
    total = len(table)
    for start in range(0, total, step):
        stop = min(start + step, total)
        rows = np.zeros(stop - start, table.schema.dtype)
        damaged: list[str] = []
        for column in table.schema.columns:
            try:
                rows[column.name] = store.read(
                    table.schema.name, column.name, start, stop
                )
            except ReadError:
                rows[column.name] = absent(rows[column.name])
                damaged.append(column.name)
        if damaged:
            if "valid" in table.schema.parts:
                rows["valid"] = 0
            names = ", ".join(damaged)
            copied.lost.append(
                f"{names} of {table.schema.name} in its rows {start} to {stop - 1}"
            )
        container.add_blocks([(table.id, table.schema, start, rows)])
    copied.rows[table.schema.name] = total


def absent(like: Array) -> Any:
    """What stands for absent in a column of this dtype."""
    if like.dtype.kind == "f":
        return np.nan
    return -1 if like.dtype.kind == "i" else 0
