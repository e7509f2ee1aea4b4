"""Export again and again, until somebody ends it; or onto disks that are full.

python -m tests.core.dataset.exporters.exporting_child kill FORMAT TARGET [SOURCE]
python -m tests.core.dataset.exporters.exporting_child limit FORMAT TARGET SEED [SOURCE]
python -m tests.core.dataset.exporters.exporting_child full FORMAT TARGET SEED [SOURCE]

`kill` goes on for ever; `limit` sets twenty limits of file sizes; `full` leaves twenty
different amounts of room on the target's file system, which should be a small one.
SOURCE is a labelled recording, which the format isoscope takes parts of.
"""

from __future__ import annotations

import os
import resource
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.dataset.curate.curated import curated
from isoscope.core.dataset.curate.edits import Choice, Judge
from isoscope.core.dataset.manifest.build import Made
from isoscope.core.dataset.manifest.exporting import export_with_manifest
from isoscope.core.dataset.transitions.door import episodes_of
from isoscope.core.errors import WriteError
from isoscope.core.recording.registry import load
from tests.core.dataset.made import FEATURES, made

if TYPE_CHECKING:
    from isoscope.core.dataset.model import Episodes

LENGTHS = ((40, 3), (7, 60, 2))
ENDS_AT = (3, 7)  # episodes of a labelled recording that the two sources have
LONG = ((400, 300), (700, 600, 200))


def sources(
    recording: str = "", lengths: tuple[tuple[int, ...], ...] = LENGTHS
) -> list[Episodes]:
    """The dataset that is there, and the one that is to take its place."""
    if not recording:
        return [made(one, FEATURES) for one in lengths]
    whole = episodes_of(load(recording))
    everything = Choice.all_of(whole.episodes)
    out: list[Episodes] = []
    for end in ENDS_AT:
        rest = tuple(e.id for e in whole.episodes[end:])
        out.append(curated(whole, everything.after(Judge(rest, "rejected"))))
    return out


def write(episodes: Episodes, format: str, target: Path) -> None:
    export_with_manifest(Made(episodes), format, target, overwrite=True)


def kill(format: str, target: Path, recording: str) -> None:
    both = sources(recording)
    write(both[0], format, target)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    while True:
        for source in reversed(both):
            write(source, format, target)


def _attempt(episodes: Episodes, format: str, target: Path, what: int) -> None:
    message = "NO ERROR"
    try:
        write(episodes, format, target)
    except WriteError as error:
        message = str(error)
    resource.setrlimit(
        resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    )
    left = sorted(p.name for p in target.parent.iterdir() if p.name != "filler")
    sys.stdout.write(f"{what}\t{left}\t{message}\n")


def _files(place: Path) -> list[Path]:
    if place.is_file():
        return [place]
    return [p for p in place.rglob("*") if p.is_file()]


def limit(format: str, target: Path, seed: int, recording: str) -> None:
    """Twenty limits below the largest file; prints each message."""
    old, new = sources(recording)
    with tempfile.TemporaryDirectory() as name:
        whole = Path(name) / target.name
        write(new, format, whole)
        most = max(p.stat().st_size for p in _files(whole))
    write(old, format, target)
    rng = np.random.default_rng(seed)
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    for size in rng.integers(0, most, 20).tolist():
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
        _attempt(new, format, target, size)


def full(format: str, target: Path, seed: int, recording: str) -> None:
    """Twenty amounts of room that don't suffice; prints each message."""
    old, new = sources(recording, LONG)
    write(old, format, target)
    filler = target.with_name("filler")
    before = shutil.disk_usage(target.parent).free
    other = target.with_name("other-v0")
    write(new, format, other)
    needed = before - shutil.disk_usage(target.parent).free
    shutil.rmtree(other) if other.is_dir() else other.unlink()
    rng = np.random.default_rng(seed)
    for room in rng.integers(0, int(0.95 * needed), 20).tolist():
        with filler.open("xb") as file:
            os.posix_fallocate(
                file.fileno(), 0, shutil.disk_usage(target.parent).free - room
            )
        _attempt(new, format, target, room)
        filler.unlink()


if __name__ == "__main__":
    command, format_, target_, *rest = sys.argv[1:]
    if command == "kill":
        kill(format_, Path(target_), rest[0] if rest else "")
    else:
        seed_, recording_ = int(rest[0]), rest[1] if len(rest) > 1 else ""
        {"limit": limit, "full": full}[command](
            format_, Path(target_), seed_, recording_
        )
