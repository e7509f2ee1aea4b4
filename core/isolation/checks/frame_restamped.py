"""Sensor frames that are old ones with a new stamp, or that stand still."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.isolation.findings import Finding, Taint
from isoscope.core.isolation.registry import CannotRunError
from isoscope.core.isolation.streams import Streams
from isoscope.core.isolation.words import env_named, natives
from isoscope.core.summary import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.context import Context
    from isoscope.core.isolation.findings import Severity
    from isoscope.core.isolation.labelled_context import LabelledContext
    from isoscope.core.recording.tracks import Array

ID = "frame-restamped"
SEVERITY: Severity = "warning"
ABOUT = "sensor frames that come again under a new stamp, or whose stamp stands still"
NEEDS = "sensor frames with their count and times, by tap.stream"
OFTEN = 0.2  # of a stream's frames alike: then the sensor just sees nothing move
AT_LEAST = 4  # frames of a stream, to say what is usual
REMEDY = (
    "Take the frame's number and capture time where the sensor takes it, not where it "
    "is read, and wait for a new one: an old frame teaches the policy a delay."
)


def run(context: Context) -> Iterator[Finding]:
    """Yield one finding a frame."""
    window = context.tells(NEEDS)
    if not window.labelled.count("streams"):
        if not len(window.transitions) and not len(window.steps):
            return
        raise CannotRunError("no sensor is recorded", NEEDS)
    streams = Streams(window.labelled)
    before = streams.before()
    has = np.flatnonzero(before >= 0)
    b = before[has]
    newer = (streams.capture_id[has] != streams.capture_id[b]) | (
        streams.capture_time_s[has] > streams.capture_time_s[b]
    )
    same = (streams.digest[has] == streams.digest[b]) & (streams.digest[has] != 0)
    moved = _stepped(window, streams, has, b)
    again = newer & same & moved
    for i in has[again & ~_sees_nothing(streams, has, same & moved)].tolist():
        why = "the data are those of the frame before, to the last bit"
        yield _finding(
            window, streams, i, int(before[i]), "is an old one restamped", why
        )
    known = (streams.capture_id[has] >= 0) & (streams.digest[has] != 0)
    stuck = known & (streams.capture_id[has] == streams.capture_id[b]) & ~same
    stuck &= streams.digest[b] != 0
    for i in has[stuck].tolist():
        why = "it has the number of the frame before, and other data"
        yield _finding(window, streams, i, int(before[i]), "has an old stamp", why)


def _stepped(window: LabelledContext, streams: Streams, i: Array, b: Array) -> Array:
    """Bool [k]: the environment took a native step, or a control step, in between."""
    row, env = streams.row, streams.env
    moved = np.zeros(len(i), np.bool_)
    known = (row[i] > row[b]) & (row[b] >= -1)
    if known.any() and len(window.steps):
        for who in np.unique(env[i[known]]).tolist():
            own = window.steps.of(int(who)) + window.steps.first
            mine = known & (env[i] == who)
            low = np.searchsorted(own, row[b[mine]], "right")
            high = np.searchsorted(own, row[i[mine]], "right")
            moved[mine] = high > low
    if not len(window.steps):
        # Without native steps the sensor's own clock says that time went on.
        moved |= streams.capture_time_s[i] > streams.capture_time_s[b]
    return moved


def _sees_nothing(streams: Streams, i: Array, alike: Array) -> Array:
    """Bool [k]: frames of streams in which frames are often alike."""
    key = streams.stream[i]
    _, which = np.unique(key, return_inverse=True)
    which = which.reshape(-1)
    size = np.bincount(which)
    many = np.bincount(which, alike)
    often = (many > OFTEN * size) & (many > 1)
    return np.asarray(often[which] | (size[which] < AT_LEAST - 1))


def _finding(
    window: LabelledContext, streams: Streams, i: int, b: int, what: str, why: str
) -> Finding:
    env, row = int(streams.env[i]), int(streams.row[i])
    who = env if env >= 0 else None
    inside = 0 <= row < window.steps.stop
    episode, control_step = window.at(row) if inside else streams.place(window, i)
    at = f" at {natives(row, row)}" if inside else ""
    number = int(streams.capture_id[i])
    name = streams.name(i)
    headline = f"frame {number} of {name} of {env_named(env)} {what}{at}"
    frames = counted(len(streams), "frame")
    return Finding(
        id=ID,
        severity=SEVERITY,
        env=who,
        episode=episode,
        control_step=control_step,
        native=(row, row) if inside else None,
        field=name,
        value=number,
        expected=int(streams.capture_id[b]),
        headline=headline,
        message=f"{headline}: {why}",
        remedy=REMEDY,
        evidence={
            "frame": i,
            "frame_before": b,
            "capture_time_s": _finite(streams.capture_time_s[i]),
            "recorded": frames,
        },
        taints=(Taint(env=who, native=(row, row)),) if inside else (),
    )


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
