"""From text to a position, with a message that says which part is wrong."""

from __future__ import annotations

import math
import re
from datetime import datetime

from isoscope.core.errors import PositionError, one_line
from isoscope.core.positions.forms import (
    TIME_NAMES,
    ChunkPosition,
    ControlPosition,
    EventPosition,
    FindingPosition,
    NativePosition,
    Position,
    TimeName,
    TimePosition,
    WallPosition,
)

FORMS = (
    "native:N, control:[ENV/]EPISODE/K, time:recording=S, time:scene=S, "
    "time:control=S, time:wall=ISO, chunk:STEP.EPOCH.RANK.STAGE.CHUNK[/SLOT], "
    "event:N or finding:N"
)
LONGEST = 200  # characters; no position needs more
DIGITS = 18  # of a whole number, so that it fits 64 bits

_CLOCKS: dict[str, TimeName] = {name: name for name in TIME_NAMES}
_NUMBER = re.compile(rf"[0-9]{{1,{DIGITS}}}")
_SECONDS = re.compile(r"[0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?|\.[0-9]+([eE][-+]?[0-9]+)?")


def parse_position(text: str) -> Position:
    """Read a position.

    Raises
    ------
    PositionError
        If it is none; the message says which part is wrong and what the form is.
    """
    text = text.strip()
    if len(text) > LONGEST:
        raise PositionError(
            f"not a position: {len(text)} characters are too many; it is {FORMS}"
        )
    head, colon, rest = text.partition(":")
    if not colon or head not in _PARSERS:
        hint = f"; did you mean native:{text}?" if _NUMBER.fullmatch(text) else ""
        raise PositionError(f"{one_line(text)!r} is no position; it is {FORMS}{hint}")
    return _PARSERS[head](rest, text)


def _whole(text: str, what: str, whole: str, least: int = 0) -> int:
    if not _NUMBER.fullmatch(text):
        shown = repr(one_line(text)) if text else "nothing"
        raise PositionError(
            f"{one_line(whole)!r}: {what} is a whole number from {least}, not {shown}"
        )
    number = int(text)
    if number < least:
        raise PositionError(
            f"{one_line(whole)!r}: {what} counts from {least}, not from {number}"
        )
    return number


def _native(rest: str, whole: str) -> Position:
    return NativePosition(_whole(rest, "the native step", whole))


def _event(rest: str, whole: str) -> Position:
    return EventPosition(_whole(rest, "the event", whole))


def _finding(rest: str, whole: str) -> Position:
    return FindingPosition(_whole(rest, "the finding", whole, 1))


def _control(rest: str, whole: str) -> Position:
    parts = rest.split("/")
    if len(parts) not in (2, 3):
        raise PositionError(
            f"{one_line(whole)!r}: a control step is written control:EPISODE/K or "
            "control:ENV/EPISODE/K"
        )
    env = _whole(parts[0], "the environment", whole) if len(parts) == 3 else None
    episode = _whole(parts[-2], "the episode", whole, 1)
    return ControlPosition(env, episode, _whole(parts[-1], "the control step", whole))


def _time(rest: str, whole: str) -> Position:
    name, equals, value = rest.partition("=")
    shown = one_line(whole)
    if not equals or (name != "wall" and name not in _CLOCKS):
        raise PositionError(
            f"{shown!r}: a time is written time:recording=S, time:scene=S, "
            "time:control=S (seconds) or time:wall=ISO"
        )
    if name == "wall":
        return _wall(value, shown)
    if not _SECONDS.fullmatch(value):
        raise PositionError(
            f"{shown!r}: the time is a number of seconds from 0, not "
            f"{one_line(value)!r}"
        )
    seconds = float(value)
    if not math.isfinite(seconds):
        raise PositionError(f"{shown!r}: that many seconds are no time")
    return TimePosition(_CLOCKS[name], seconds)


def _wall(value: str, shown: str) -> Position:
    try:
        return WallPosition(datetime.fromisoformat(value))
    except ValueError:
        raise PositionError(
            f"{shown!r}: a wall time is ISO 8601, such as 2026-11-30T14:05:09+01:00"
        ) from None


def _chunk(rest: str, whole: str) -> Position:
    key, slash, slot = rest.partition("/")
    names = ("step", "epoch", "rank", "stage", "chunk")
    parts = key.split(".")
    if len(parts) != len(names):
        raise PositionError(
            f"{one_line(whole)!r}: a chunk is written "
            "chunk:STEP.EPOCH.RANK.STAGE.CHUNK or, for one action, with /SLOT after it"
        )
    step, epoch, rank, stage, chunk = (
        _whole(p, f"the {name}", whole) for p, name in zip(parts, names, strict=True)
    )
    place = _whole(slot, "the slot", whole) if slash else None
    return ChunkPosition(step, epoch, rank, stage, chunk, place)


_PARSERS = {
    "native": _native,
    "control": _control,
    "time": _time,
    "chunk": _chunk,
    "event": _event,
    "finding": _finding,
}
