"""What there is to say about one row, one line each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.recording.model import StepKind
from isoscope.core.recording.scenes import came_later
from isoscope.core.timeline.pieces import StepLook
from isoscope.core.timeline.ruler import stamp_decimals, stamp_text
from isoscope.core.timeline.steps import step_looks

if TYPE_CHECKING:
    from isoscope.core.clock import TimeAxis
    from isoscope.core.recording.model import Labels, Recording
    from isoscope.core.timeline.model import Lane, Timeline

_ODD = {
    StepLook.LONGER: "longer than usual",
    StepLook.SHORTER: "shorter than usual",
    StepLook.TINY: "as long as a reset's own step",
    StepLook.ZERO: "no time passes",
}
_MOST = 4


def describe_row(
    recording: Recording, timeline: Timeline, row: int, axis: TimeAxis
) -> list[str]:
    """Lines about a native step; unknown things are said to be unknown, or left out.

    Parameters
    ----------
    axis
        The time that the window shows.
    """
    steps = recording.steps
    if not 0 <= row < min(len(steps), timeline.rows):
        return ["not yet indexed"]
    lines = [f"native step {row}, event {int(steps.event[row])}"]
    if recording.row_is == "control step":
        lines = [f"row {row}"]
    owner = owner_text(timeline.labels, row)
    if owner:
        lines.append(owner)
    lines.append(_h_text(float(steps.h_s[row]), timeline.typical_h_s))
    time_s, scene_s = float(steps.time_s[row]), float(steps.scene_time_s[row])
    times = []
    if np.isfinite(time_s):
        times.append(f"recording {time_s:.6g} s")
    if np.isfinite(scene_s):
        times.append(f"scene {scene_s:.6g} s")
    if axis.kind.value not in ("native", "recording", "scene") and row < len(axis):
        said = stamp_text(axis.kind, float(axis.stamps[row]), stamp_decimals(axis))
        times.append(f"{axis.kind.value} {said}")
    if times:
        lines.append("time: " + ", ".join(times))
    gravity = steps.gravity[row]
    if np.isfinite(gravity).all():
        lines.append(f"gravity ({', '.join(f'{g:.6g}' for g in gravity)}) m/s²")
    residual = timeline.extras.residual
    if residual is not None and row < len(residual) and np.isfinite(residual[row]):
        lines.append(f"residual {float(residual[row]):.3g}")
    later = came_later(recording)
    for actor in list(recording.actors):
        if actor.created_native == row and actor.index in later:
            lines.append(f"{actor.name} is new")
        if actor.destroyed_native == row:
            lines.append(f"{actor.name} is gone")
    return _shortened(lines, 12)


def things_at(
    timeline: Timeline, low: int, high: int, pointed: Lane | None = None
) -> list[str]:
    """What is marked on the rows low .. high (half open): marks, arcs, taint.

    The marks are those of the pinned lanes and of the lane that is pointed at.
    """
    said: dict[str, None] = {}
    for lane in timeline.lanes:
        if not lane.pinned and lane is not pointed:
            continue
        near = lane.marks.between(low, high)
        for index in near[:_MOST]:
            said[lane.marks.text(index)] = None
        if len(near) > _MOST:
            said[f"and {len(near) - _MOST} more marks here in {lane.label}"] = None
    for arc in timeline.extras.arcs:
        if low <= arc.target < high:
            what = arc.text or "goes on from an earlier state"
            said[f"{what} (row {arc.source} to row {arc.target})"] = None
    for taint in timeline.extras.tainted:
        if taint.low < high and taint.high >= low:
            said[taint.text or f"tainted: rows {taint.low} to {taint.high}"] = None
    return _shortened([text for text in said if text], 8)


def owner_text(labels: Labels | None, row: int) -> str:
    """Whose native step this row is; empty where nobody has looked."""
    if labels is None or row >= len(labels):
        return ""
    env, episode = int(labels.env[row]), int(labels.episode[row])
    if env < 0:
        return "env unknown"
    control, substep = int(labels.control_step[row]), int(labels.substep[row])
    parts = [f"env {env}"]
    parts.append(f"episode {episode}" if episode >= 0 else "episode unknown")
    if control == 0 or labels.kind[row] == StepKind.RESET:
        parts.append("reset")
    elif control > 0:
        parts.append(f"control step {control}")
        parts.append(f"substep {substep}" if substep >= 0 else "substep unknown")
    else:
        parts.append("control step unknown")
    return ", ".join(parts)


def _h_text(h_s: float, typical_s: float) -> str:
    if not np.isfinite(h_s):
        return "h unknown"
    look = StepLook(int(step_looks(np.array([h_s]), typical_s)[0]))
    odd = _ODD.get(look)
    return f"h {h_s:.6g} s" + (f" ({odd})" if odd else "")


def _shortened(lines: list[str], most: int) -> list[str]:
    if len(lines) <= most:
        return lines
    return [*lines[: most - 1], f"and {len(lines) - most + 1} more"]
