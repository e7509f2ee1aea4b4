"""Salvage a labelled recording whose writer died, or that was cut, to a clean copy.

The source is only read. The copy appears under its name when all of it is there.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import msgspec

from isoscope.core.errors import ReadError, WriteError
from isoscope.core.newfile import refuse_bad_target
from isoscope.core.recording.labelled.hdf5 import read_head
from isoscope.core.recording.labelled.rewriting import REPAIRED, beside, copy
from isoscope.core.recording.labelled.store import Store

SUFFIX = ".isoscope.h5"


class RepairResult(msgspec.Struct, kw_only=True):
    """What was saved, and what was not.

    Attributes
    ----------
    file, out
        The source and the copy.
    native_steps
        Saved.
    rows
        Saved by table; tables without rows are left out.
    lost
        What could not be read, one line each. What the dead writer had not written
        can't be known.
    needed
        Whether anything was wrong with the source.
    bytes
        Of the copy.
    """

    schema: str = "isoscope.repair/1"
    file: str
    out: str
    native_steps: int
    rows: dict[str, int]
    lost: list[str]
    needed: bool
    bytes: int


def default_target(source: Path) -> Path:
    """``run.isoscope.h5`` gives ``run.repaired.isoscope.h5``, beside it."""
    stem = source.name.removesuffix(SUFFIX)
    if stem == source.name:
        stem = source.stem
    return source.with_name(f"{stem}.repaired{SUFFIX}")


def repair(
    source: str | Path, target: str | Path | None = None, *, overwrite: bool = False
) -> RepairResult:
    """Save what can be read of a labelled recording to a new, clean file.

    Parameters
    ----------
    source
        The recording; never changed.
    target
        Where to; see `default_target`.
    overwrite
        Whether an existing target may be replaced.

    Raises
    ------
    ReadError
        If nothing of it can be read, or a program is still writing it.
    UsageError, WriteError
        If the target may not or can't be written.
    """
    source = Path(source)
    head = read_head(source)
    out = default_target(source) if target is None else Path(target)
    refuse_bad_target(out, overwrite=overwrite, sources=[source])
    part = beside(out)
    store: Store | None = None
    try:
        lost: list[str] = []
        if head.size < head.end:
            lost.append(
                f"the file is cut: {head.size:,} of {head.end:,} bytes are left"
            )
        store = Store(source)
        if store.writer is not None:
            raise ReadError(
                "repairing",
                source,
                f"{store.writer} is still writing it",
                remedy="open it as it is, or end that program first",
            )
        if not {"native", "blobs"} <= set(store.tables):
            raise ReadError("repairing", source, "nothing was recorded in it")
        copied = copy(store, part, REPAIRED)
        refuse_bad_target(out, overwrite=overwrite, sources=[source])
        os.replace(part, out)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise WriteError(f"writing {out}: {why}") from None
    finally:
        if store is not None:
            store.close()
        with suppress(OSError):
            part.unlink(missing_ok=True)
    lost += copied.lost
    return RepairResult(
        file=str(source),
        out=str(out),
        native_steps=copied.rows.get("native", 0),
        rows={name: rows for name, rows in copied.rows.items() if rows},
        lost=lost,
        needed=bool(lost) or not copied.ended or head.marked,
        bytes=out.stat().st_size,
    )
