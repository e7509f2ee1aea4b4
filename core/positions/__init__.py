"""Positions: what ``--seek``, bookmarks, links and reports name a place by.

Written forms::

    native:N                            a native step, from 0
    control:[ENV/]EPISODE/K             a control step; environments count from 0,
                                        episodes from 1, K from 1 (0 is the reset)
    time:recording=S                    recording time in seconds; also scene=S and
                                        control=S
    time:wall=ISO                       ISO 8601; without an offset it is local time
    chunk:STEP.EPOCH.RANK.STAGE.CHUNK[/SLOT]
    event:N                             an event's number in the file
    finding:N                           a finding's place in the audit's list, from 1

`parse_position` needs no recording; `resolve_position` says which row it is in one.
"""

from isoscope.core.positions.forms import (
    ChunkPosition,
    ControlPosition,
    EventPosition,
    FindingPosition,
    NativePosition,
    Position,
    TimePosition,
    WallPosition,
    format_position,
)
from isoscope.core.positions.parsing import FORMS, parse_position
from isoscope.core.positions.resolution import Resolution
from isoscope.core.positions.resolving import resolve_position

__all__ = [
    "FORMS",
    "ChunkPosition",
    "ControlPosition",
    "EventPosition",
    "FindingPosition",
    "NativePosition",
    "Position",
    "Resolution",
    "TimePosition",
    "WallPosition",
    "format_position",
    "parse_position",
    "resolve_position",
]
