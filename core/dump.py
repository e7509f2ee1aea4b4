"""One field over the native steps as a file: .npz with its validity mask, or .csv.

npz keys, over the T native steps asked for:

``native``
    int64 [T], row numbers.
``value``
    [T, *shape] in the recording's own dtype. Where `valid` is false it means nothing
    (NaN for reals, 0 or empty for others).
``valid``
    bool [T].
``offsets``
    int64 [T + 1], only for a field whose length varies: ``value`` is then flat, and
    row i is ``value[offsets[i]:offsets[i + 1]]``.

A csv has a line a native step: ``native``, ``valid`` (1 or 0), then a column a
component. Cells of absent values are empty. Reals are written with as few digits as
give back the very same number in their dtype.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.dump_files import write_csv, write_npz
from isoscope.core.errors import UsageError, one_line
from isoscope.core.natural import some_of
from isoscope.core.newfile import new_file, refuse_bad_target
from isoscope.core.summary import counted, listed

if TYPE_CHECKING:
    from isoscope.core.recording.model import Actor, Recording
    from isoscope.core.recording.tracks import AnyTrack

NAMED_AT_MOST = 8  # actors of one name that a message lists
SCENE = "scene"  # what stands for the step itself where an actor is named
ENDINGS = (".npz", ".csv")
_STEPS = re.compile(r"(-?[0-9]{1,18})?:(-?[0-9]{1,18})?")


@dataclass(frozen=True, slots=True)
class Dumped:
    """What was written.

    Attributes
    ----------
    what
        The actor and field, for people.
    start, stop
        Native steps, half open.
    present
        In how many of them the field was recorded, the odd ones not counted.
    odd
        Native steps whose value was left out since its dtype or shape is another.
    dtype, shape
        Of one step's value; shape ``(-1,)`` where its length varies.
    """

    what: str
    start: int
    stop: int
    present: int
    odd: tuple[int, ...]
    dtype: str
    shape: tuple[int, ...]


def check_target(
    out: str | Path, source: Path | None, *, overwrite: bool = False
) -> None:
    """Say no before anything is read, where `dump` would say no in the end.

    Raises
    ------
    UsageError
        If the ending is unknown, the file exists, or is the source.
    WriteError
        If its folder is not there.
    """
    if Path(out).suffix.lower() not in ENDINGS:
        raise UsageError(f"writing {out}: the ending has to be {' or '.join(ENDINGS)}")
    refuse_bad_target(out, overwrite=overwrite, sources=[source])


def dump(
    recording: Recording,
    field: str,
    out: str | Path,
    *,
    actor: str | None = None,
    steps: str = ":",
    overwrite: bool = False,
) -> Dumped:
    """Write one field over a range of native steps.

    Parameters
    ----------
    recording
        Indexed as far as the range reaches.
    field
        Its name.
    out
        A new file, .npz or .csv.
    actor
        A name or handle; None or ``"scene"`` for the fields of the steps themselves,
        native and control ones.
    steps
        ``A:B`` as Python slices: B is not included, below 0 counts from the end, an
        empty side is open. Unlike there, what is not there is refused.
    overwrite
        Whether an existing file may be replaced; never the recording itself.

    Raises
    ------
    UsageError
        If the actor, field or range is not there or not clear, or `out` not allowed.
    WriteError
        If it can't be written.
    """
    check_target(out, recording.path, overwrite=overwrite)
    start, stop = parse_steps(steps, len(recording), recording.name)
    what, track = find_track(recording, actor, field)
    if track.dtype.kind in "OV":
        raise UsageError(
            f"{what} holds {one_line(track.dtype)}, which is neither number nor text"
        )
    window = track.read(start, stop)
    with new_file(out, overwrite=overwrite, sources=[recording.path]) as file:
        if Path(out).suffix.lower() == ".npz":
            write_npz(file, window)
        else:
            write_csv(file, window, field)
    odd = tuple(sorted(row for row in track.odd if start <= row < stop))
    present = int(np.count_nonzero(window.valid))
    shape = tuple(int(size) for size in track.shape)
    return Dumped(what, start, stop, present, odd, str(track.dtype), shape)


def parse_steps(text: str, rows: int, name: str) -> tuple[int, int]:
    """Read ``A:B`` as a half-open range of the rows there are.

    Raises
    ------
    UsageError
        If it is no range, goes beyond the rows, or is empty.
    """
    match = _STEPS.fullmatch(text.strip())
    if match is None:
        raise UsageError(
            f"steps {one_line(text)!r} are not written A:B, such as 0:100, :100 or "
            "-50: (A is included, B is not)"
        )
    if rows == 0:
        raise UsageError(f"{name} has no native step")
    first, last = match.groups()
    start = _end(first, 0, rows, text, name)
    stop = _end(last, rows, rows, text, name)
    if start >= stop:
        raise UsageError(f"steps {text!r} name no step: {start} is not before {stop}")
    return start, stop


def _end(number: str | None, default: int, rows: int, text: str, name: str) -> int:
    if number is None:
        return default
    value = int(number)
    if not -rows <= value <= rows:
        raise UsageError(
            f"steps {text!r} go beyond {name}, which has {counted(rows, 'native step')}"
            f" (0 to {rows - 1}), so that the widest range is 0:{rows}"
        )
    return value + rows if value < 0 else value


def find_track(
    recording: Recording, actor: str | None, field: str
) -> tuple[str, AnyTrack]:
    """Find a field by its actor's name or handle; with it, what to call it.

    Raises
    ------
    UsageError
        If there is no such actor or field, or several actors of that name.
    """
    named = actor is not None and actor in {a.name for a in recording.actors}
    if actor is None or (actor == SCENE and not named):
        track = recording.scene.get(field)
        if track is None:
            track = recording.control.get(field)
        if track is None:
            own = (some_of(recording.scene), some_of(recording.control))
            fields = ", ".join(filter(None, own)) or "none at all"
            raise UsageError(
                f"the steps of {recording.name} have no field {field!r}; they have "
                f"{fields}; for a field of an actor, name the actor"
            )
        return f"{field} of the steps", track
    found = recording.find_actors(actor)
    if len(found) > 1:
        each = [_which(a, len(recording)) for a in found[:NAMED_AT_MOST]]
        if len(found) > NAMED_AT_MOST:
            each.append(f"{len(found) - NAMED_AT_MOST:,} more")
        if (
            len({(a.name, a.handle) for a in found}) == 1
        ):  # of several processes' scenes
            raise UsageError(
                f"{recording.name} has {len(found)} actors named {actor!r}, of several "
                f"scenes; give {found[0].name}#1 to {found[0].name}#{len(found)}"
            )
        raise UsageError(
            f"{recording.name} has {len(found)} actors named {actor!r}; give the handle"
            f" of one: {listed(each)}"
        )
    return f"{field} of {found[0].name}", recording.track_of(found[0], field)


def _which(actor: Actor, rows: int) -> str:
    last = rows if actor.destroyed_native is None else actor.destroyed_native
    return f"{actor.handle} ({actor.type}, steps {actor.created_native}:{last})"
