"""Numbers that environments count, and where one goes on from another's count."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from isoscope.core.recording.tracks import Track

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.labelled_context import LabelledContext
    from isoscope.core.recording.tracks import Array

GROUPS = ("task_state", "info")
NATIVE = "native.control_step"  # the label of native steps
USUAL = 0.8  # of its changes that are the same for it to be a counter
AT_LEAST = 4  # changes of a counter that are looked at
NEAR = 2  # how far from the other's count, in steps
ALWAYS = 4  # continuations of another's count that prove that there is only one


class Jump(NamedTuple):
    """A count that an environment did not come to by itself."""

    env: int
    other: int
    transition: int
    field: str
    before: float
    value: float
    expected: float
    theirs: float


def jumps(window: LabelledContext) -> list[Jump] | None:
    """Where an environment's count goes on from another's; None if nothing counts.

    The first of each environment and field.
    """
    table = window.transitions
    columns: dict[str, Array] = {}
    if (table.control_step >= 0).any():
        counts = table.control_step.astype(float)
        columns["control_step"] = np.where(counts < 0, np.nan, counts)
    native = _native_counts(window)
    if native is not None:
        columns[NATIVE] = native
    for group in GROUPS:
        for name, track in window.fields(group).items():
            if not isinstance(track, Track) or track.dtype.kind not in "iuf":
                continue
            if int(np.prod(track.shape, dtype=np.int64)) != 1:
                continue
            read = track.read(table.first, table.stop)
            values = read.values.reshape(-1).astype(float)
            columns[f"{group}.{name}"] = np.where(read.valid, values, np.nan)
    if not columns:
        return None
    found: dict[int, Jump] = {}
    for field, values in columns.items():
        for jump in (*_once(window, field, values), *_always(window, field, values)):
            if jump.env not in found or jump.transition < found[jump.env].transition:
                found[jump.env] = jump
    return sorted(found.values(), key=lambda jump: jump.transition)


def _native_counts(window: LabelledContext) -> Array | None:
    """The control step that the first native step of each transition is labelled."""
    table, steps = window.transitions, window.steps
    inside = (table.first_row >= steps.first) & (table.first_row < steps.stop)
    if not inside.any():
        return None
    counts = np.full(len(table), np.nan)
    rows = table.first_row[inside] - steps.first
    counts[inside] = np.where(
        steps.control_step[rows] < 0, np.nan, steps.control_step[rows]
    )
    return counts


def _steps(window: LabelledContext, values: Array) -> tuple[Array, Array]:
    """Transitions whose value follows one of the same episode, and those before."""
    table = window.transitions
    before = table.previous()
    at = np.flatnonzero(before >= 0)
    was = before[at]
    known = np.isfinite(values[at]) & np.isfinite(values[was])
    same = (table.episode[at] == table.episode[was]) & known
    return at[same], was[same]


def _once(window: LabelledContext, field: str, values: Array) -> Iterator[Jump]:
    """Yield jumps of a counter to about where another environment's is."""
    at, was = _steps(window, values)
    if len(at) < AT_LEAST or _dropped(window):
        return
    change = values[at] - values[was]
    steps, counts = np.unique(change, return_counts=True)
    step = float(steps[np.argmax(counts)])
    if step == 0 or counts.max() < USUAL * len(at):
        return
    env = window.transitions.env
    for k in np.flatnonzero(change != step).tolist():
        t = int(at[k])
        other, theirs = _nearest(env, values, t, step)
        # Its own reset explains a count that begins again.
        if other >= 0 and change[k] != 0 and values[t] != step:
            yield Jump(
                int(env[t]),
                other,
                t,
                field,
                float(values[was[k]]),
                float(values[t]),
                float(values[was[k]] + step),
                theirs,
            )


def _nearest(env: Array, values: Array, t: int, step: float) -> tuple[int, float]:
    """The other environment whose last count is within a few steps of this one."""
    best, theirs, distance = -1, float("nan"), float("inf")
    for other in np.unique(env[:t]).tolist():
        own = np.flatnonzero((env[:t] == other) & np.isfinite(values[:t]))
        if other == env[t] or not len(own):
            continue
        off = abs(float(values[t] - values[own[-1]])) / abs(step)
        if off < distance:
            best, theirs, distance = other, float(values[own[-1]]), off
    return (best, theirs) if distance <= NEAR + 1 else (-1, theirs)


def _always(window: LabelledContext, field: str, values: Array) -> Iterator[Jump]:
    """Yield the first continuation of a value that environments have in common.

    Where others changed it in between, it goes on from theirs by the same amount each
    time; from its own it goes on by as much for everyone who had a turn, or by no
    amount that is the same each time.
    """
    at, was = _steps(window, values)
    known = np.flatnonzero(np.isfinite(values))
    place = np.searchsorted(known, at) - 1
    at, was, place = at[place >= 0], was[place >= 0], place[place >= 0]
    last = known[place]
    env = window.transitions.env
    between = (values[last] != values[was]) & (env[last] != env[at])
    at, was, last = at[between], was[between], last[between]
    if len(at) < ALWAYS:
        return
    theirs, mine = values[at] - values[last], values[at] - values[was]
    turns = np.searchsorted(known, at) - np.searchsorted(known, was)
    by_turns = theirs[0] != 0 and (mine == theirs[0] * turns).all()
    if (theirs == theirs[0]).all() and (by_turns or not (mine == mine[0]).all()):
        t = int(at[0])
        yield Jump(
            int(env[t]),
            int(env[last[0]]),
            t,
            field,
            float(values[was[0]]),
            float(values[t]),
            float(values[was[0]] + theirs[0]),
            float(values[last[0]]),
        )


def _dropped(window: LabelledContext) -> bool:
    """Whether transitions are missing, which makes counts jump."""
    return any(d.what in ("transitions", "records") for d in window.labelled.dropped())
