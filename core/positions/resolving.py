"""From a position to a row of a recording, saying what was chosen on the way."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from isoscope.core.errors import PositionError
from isoscope.core.following.reading import told_of
from isoscope.core.positions.chunks import resolve_chunk
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
from isoscope.core.positions.resolution import Resolution
from isoscope.core.summary import counted, listed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from isoscope.core.recording.model import Labels, Recording
    from isoscope.core.recording.tracks import Array
    from isoscope.core.timeline.chunks import Chunks

# Stamps [T] in seconds of clocks that the recording itself does not hold; wall time in
# seconds since 1970-01-01 UTC.
Times: TypeAlias = "Mapping[Literal['scene', 'control', 'wall'], Array]"
NAMED_AT_MOST = 8


def resolve_position(
    recording: Recording,
    position: Position,
    *,
    labels: Labels | None = None,
    times: Times | None = None,
    findings: Sequence[int | None] | None = None,
    shown: Sequence[int] = (),
    chunks: Chunks | None = None,
) -> Resolution:
    """Find the row that a position names.

    A control step is its last native step, whose state is the one after it.

    Parameters
    ----------
    recording
        What to look in; one that still grows answers for the rows it has.
    position
        What to look for.
    labels
        Whose each step was; the recording's own labels by default.
    times
        Stamps of more clocks, as alignment finds them.
    findings
        The first row of each finding of the audit, None where it has no row.
    shown
        Environments in the order in which they are shown; where a position leaves the
        environment open, the first of them that has it is taken. By number by default.
    chunks
        The chunks that it tells of; read now by default.

    Raises
    ------
    PositionError
        If there is no such row, or nothing that tells; the message says what is there,
        or what is missing.
    """
    look = _Look(recording, format_position(position))
    if len(recording) == 0:
        raise look.fail("there is no native step yet" if look.growing else _EMPTY)
    match position:
        case NativePosition(native):
            return look.native(native)
        case ControlPosition():
            whose = labels if labels is not None else recording.labels
            return look.control(position, whose, shown)
        case TimePosition(clock, seconds):
            return look.time(clock, seconds, times or {})
        case WallPosition(at):
            try:
                seconds = at.timestamp()
            except (OverflowError, OSError, ValueError):
                raise look.fail("no computer's clock ever said that") from None
            return look.time("wall", seconds, times or {})
        case EventPosition(number):
            return look.event(number)
        case FindingPosition(number):
            return look.finding(number, findings)
        case ChunkPosition():
            if chunks is None:
                chunks = told_of(recording).chunks
            whose = labels if labels is not None else recording.labels
            return resolve_chunk(position, chunks, whose, len(recording), look.fail)


_EMPTY = "it holds no native step"


class _Look:
    """One look-up: the recording, and the position as written for the messages."""

    def __init__(self, recording: Recording, written: str) -> None:
        self.recording = recording
        self.written = written
        self.growing = not recording.complete

    def fail(self, problem: str) -> PositionError:
        return PositionError(f"{self.written} in {self.recording.name}: {problem}")

    def native(self, row: int) -> Resolution:
        rows = len(self.recording)
        if row >= rows:
            far = " so far" if self.growing else ""
            raise self.fail(f"its native steps go from 0 to {rows - 1}{far}")
        return Resolution(row)

    def event(self, number: int) -> Resolution:
        events = self.recording.steps.event
        row = int(np.searchsorted(events, number))
        if row >= len(events):
            raise self.fail(f"its last step is event {int(events[-1])}")
        if int(events[row]) == number:
            return Resolution(row)
        return Resolution(
            row, f"event {number} is no step; the next one is event {int(events[row])}"
        )

    def finding(self, number: int, rows: Sequence[int | None] | None) -> Resolution:
        if rows is None:
            raise self.fail("it has no list of findings")
        if not rows:
            raise self.fail("it has no findings")
        if not 1 <= number <= len(rows):
            raise self.fail(f"its findings go from 1 to {len(rows)}")
        row = rows[number - 1]
        if row is None or not 0 <= row < len(self.recording):
            raise self.fail("this finding is about no native step")
        return Resolution(row)

    # -- clocks ------------------------------------------------------------------

    def time(self, clock: str, seconds: float, times: Times) -> Resolution:
        steps = self.recording.steps
        if clock == "recording":
            stamps = steps.time_s
        elif clock == "scene" and "scene" not in times:
            stamps = steps.scene_time_s
        else:
            stamps = next((times[name] for name in times if name == clock), np.zeros(0))
        stamps = stamps[: len(self.recording)]
        known = np.isfinite(stamps)
        if not known.any():
            raise self.fail(_UNKNOWN_TIME[clock])
        low, high = float(stamps[known].min()), float(stamps[known].max())
        h_s = steps.h_s[np.isfinite(steps.h_s)]
        # A step's stamp is its end: it covers the h before. Half an h after the last
        # one is left for a number that was rounded.
        step_s = float(np.median(h_s)) if len(h_s) else 0.0
        after = 0.0 if self.growing else step_s / 2
        if not low - step_s * (1 + 1e-6) <= seconds <= high + after:
            far = " so far" if self.growing else ""
            raise self.fail(
                f"its {clock} time goes from {_stamp(clock, low)} to "
                f"{_stamp(clock, high)}{far}"
            )
        away = np.where(known, np.abs(stamps - seconds), np.inf)
        row = int(np.argmin(away))
        stamp = float(stamps[row])
        said = []
        if abs(stamp - seconds) > 1e-9 + 1e-6 * abs(seconds):
            said.append(f"the nearest native step is {row}, at {_stamp(clock, stamp)}")
        same = int(np.count_nonzero(stamps == stamp))
        if same > 1:
            said.append(
                f"{counted(same, 'native step')} are at {clock} time "
                f"{_stamp(clock, stamp)}; the first one, {row}, is taken"
            )
        return Resolution(row, "; ".join(said))

    # -- control steps -----------------------------------------------------------

    def control(
        self, position: ControlPosition, labels: Labels | None, shown: Sequence[int]
    ) -> Resolution:
        if labels is None or not bool((labels.env >= 0).any()):
            raise self.fail(
                "nothing says which control step a native step belongs to; "
                "name it as native:N or time:recording=S"
            )
        rows = len(self.recording)
        env, episode, control = (
            column[:rows]
            for column in (labels.env, labels.episode, labels.control_step)
        )
        found = env >= 0
        if position.env is not None:
            found = found & (env == position.env)
            if not found.any():
                raise self.fail(f"its environments are {_span(env[env >= 0])}")
        there = _span(episode[found & (episode >= 1)])
        found = found & (episode == position.episode)
        if not found.any():
            which = "" if position.env is None else f" of environment {position.env}"
            raise self.fail(f"its episodes{which} are {there}")
        there = _span(control[found & (control >= 0)])
        found = found & (control == position.control_step)
        if not found.any():
            raise self.fail(f"the control steps of that episode are {there}")
        having = [int(e) for e in np.unique(env[found])]
        chosen = next((e for e in shown if e in having), having[0])
        passes = _passes(np.flatnonzero(env == chosen), found, labels.substep)
        said = []
        if len(having) > 1:
            said.append(
                f"{len(having)} environments have this control step; environment "
                f"{chosen} is taken"
            )
        elif position.env is None:
            said.append(f"environment {chosen} is taken")
        if len(passes) > 1:
            said.append(
                f"it was stepped {len(passes)} times, since the scene went back; the "
                "first time is taken"
            )
        return Resolution(int(passes[0][-1]), "; ".join(said))


_UNKNOWN_TIME = {
    "recording": "its steps carry no recording time",
    "scene": "it does not hold the scene's own time",
    "control": "nothing says which control step a native step belongs to",
    "wall": "it does not hold the computer's time",
}


def _stamp(clock: str, seconds: float) -> str:
    if clock == "wall":
        return datetime.fromtimestamp(seconds).isoformat(timespec="milliseconds")
    return f"{seconds:.6g} s"


def _passes(own: Array, found: Array, substep: Array) -> list[Array]:
    """Split the found ones among an environment's own rows [n] into runs of substeps.

    A run ends where another of the environment's steps comes between, or where the
    substep does not go on.
    """
    at = np.flatnonzero(found[own])
    rows = own[at]
    substeps = substep[rows]
    apart = np.diff(at) != 1
    back = (np.diff(substeps) <= 0) & (substeps[1:] >= 0) & (substeps[:-1] >= 0)
    return np.split(rows, np.flatnonzero(apart | back) + 1)


def _span(numbers: Array) -> str:
    """The numbers there are: ``"0 and 1"``, ``"1 to 30"``; at most a few are named."""
    each = np.unique(numbers)
    if len(each) == 0:
        return "unknown"
    if len(each) > 2 and int(each[-1] - each[0]) == len(each) - 1:
        return f"{each[0]} to {each[-1]}"
    if len(each) > NAMED_AT_MOST:
        return f"{counted(len(each), 'number')} between {each[0]} and {each[-1]}"
    return listed([str(n) for n in each])
