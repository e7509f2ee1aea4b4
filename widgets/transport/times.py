"""What the Transport calls the times that a recording can be played over."""

from __future__ import annotations

from typing import TYPE_CHECKING

from isoscope.core.timeaxis import TimeKind
from isoscope.widgets.row_words import is_native

if TYPE_CHECKING:
    from isoscope.core.recording.model import Recording

_TIMES: dict[TimeKind, str] = {
    TimeKind.NATIVE: "native",
    TimeKind.RECORDING: "recording",
    TimeKind.SCENE: "scene",
    TimeKind.CONTROL: "control",
    TimeKind.WALL: "wall",
}
_ABOUT: dict[TimeKind, str] = {
    TimeKind.NATIVE: "every native step lasts equally long",
    TimeKind.RECORDING: "the file's own clock: the sum of all h",
    TimeKind.SCENE: "the scene's clock, which a restore rewinds",
    TimeKind.CONTROL: "control steps since the reset",
    TimeKind.WALL: "the computer's clock",
}


def time_name(kind: TimeKind, recording: Recording | None) -> str:
    """A time's name: ``scene``."""
    if kind is TimeKind.NATIVE and not is_native(recording):
        return "rows"
    return _TIMES[kind]


def about_time(kind: TimeKind, recording: Recording | None) -> str:
    """What a time is, in a few words."""
    if kind is TimeKind.NATIVE and not is_native(recording):
        return "every row, a control step, lasts equally long"
    return _ABOUT[kind]
