"""What a labelled recording says, or shows, to be missing from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.isolation.control_findings import about, where
from isoscope.core.isolation.control_steps import ControlSteps
from isoscope.core.isolation.counters import jumps
from isoscope.core.isolation.findings import Finding
from isoscope.core.isolation.scene_failures import failed
from isoscope.core.isolation.words import envs_named, place_text
from isoscope.core.summary import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.labelled_context import LabelledContext
    from isoscope.core.isolation.scene_failures import Failed

ID = "incomplete-recording"
WORKER = "worker"  # as the tap tells a process that died
INSIDE = ("step", "exception", "apply", "capture")
_VERBS = {
    "step": "raised in a step",
    "exception": "raised in a step",
    "reset": "raised in a reset",
    "close": "raised while closing",
    WORKER: "ended with their process",
    "program": "ended by an exception",
    "tap": "was not told any more",
    "recording": "was not recorded for a while",
}


def missing_records(window: LabelledContext) -> Iterator[Finding]:
    """Yield one finding a kind of dropped records, and one a gap of control steps."""
    kinds: dict[str, list[tuple[int, int, str]]] = {}
    for dropped in window.labelled.dropped():
        told = (dropped.row, dropped.count, dropped.why)
        kinds.setdefault(dropped.what, []).append(told)
    for what, times in kinds.items():
        yield _dropped(window, what, times)
    yield from _gaps(ControlSteps.of(window))
    yield from _failures(window)


def _dropped(
    window: LabelledContext, what: str, times: list[tuple[int, int, str]]
) -> Finding:
    total = sum(count for _, count, _ in times)
    rows = [row for row, _, _ in times if 0 <= row < window.steps.stop]
    why = next((why for _, _, why in times if why), "they came faster than written")
    headline = f"{counted(total, 'record')} of {what} were dropped while recording"
    return Finding(
        id=ID,
        severity="warning",
        native=(min(rows), max(rows)) if rows else None,
        field=what,
        value=total,
        expected=0,
        headline=headline,
        message=f"{headline}: {why}; what was around them is not whole",
        remedy=(
            "Record less (fewer fields, snapshots or frames), on a faster disk, or "
            "with a larger backlog. Episodes across a gap are cut there."
        ),
        evidence={"records": total, "times": len(times)},
    )


def _goes_on(steps: ControlSteps, t: int) -> bool:
    """Whether a control step may begin in the state that the one before it left."""
    table, natives = steps.table, steps.window.steps
    last = int(table.last_row[steps.before[t]]) - natives.first
    first = int(table.first_row[t]) - natives.first
    if not (0 <= last < len(natives) and 0 <= first < len(natives)):
        return False
    left = steps.window.digests("after")[last]
    begun = steps.window.digests("before")[first]
    return not (left and begun) or bool(left == begun)


def _failures(window: LabelledContext) -> Iterator[Finding]:
    """Yield one finding a failure that no other check is about."""
    at_once: dict[tuple[int, int], list[Failed]] = {}
    groups: dict[tuple[object, ...], list[Failed]] = {}
    for one in failed(window):
        at_once.setdefault((one.env, one.row), []).append(one)
    events = window.events
    refused = set(
        zip(
            events.env[events.are("thread")].tolist(),
            events.row[events.are("thread")].tolist(),
            strict=True,
        )
    )
    for place, several in at_once.items():
        if place in refused or any(_another_s(window, one) for one in several):
            continue
        for one in several:
            # A process has several environments, and died once.
            key = (one.doing, one.problem) if one.doing == WORKER else (id(one),)
            groups.setdefault(key, []).append(one)
    for several in groups.values():
        yield _failed(window, several)


def _another_s(window: LabelledContext, one: Failed) -> bool:
    """Whether another check tells of such a failure."""
    if one.doing in ("cleanup", "restore"):
        return True
    in_turn = set(window.in_turn)
    mine = {scene for scene in in_turn if one.env in window.sharers[scene]}
    return one.doing in INSIDE and bool(mine) and _was_restored(window, one)


def _was_restored(window: LabelledContext, one: Failed) -> bool:
    """Whether its own state was restored for the step, and not captured again."""
    events = window.events
    own = np.flatnonzero(
        events.are("restore", "capture")
        & (events.env == one.env)
        & (events.row <= one.row)
    )
    if one.event >= 0:
        own = own[own + events.first < one.event]
    return bool(len(own)) and bool(events.are("restore")[own[-1]])


def _failed(window: LabelledContext, several: list[Failed]) -> Finding:
    one = several[0]
    if one.doing == WORKER and len(several) > 1:  # whose turn it was, or would be
        one = min(several, key=lambda each: _steps_of(window, each.env))
    where_ = window.about(one.env, one.row) if one.row >= 0 else None
    if one.row < 0 and one.env >= 0:
        where_ = window.about(one.env, window.steps.stop)
    episode = one.episode if one.episode is not None else where_ and where_.episode
    k = one.control_step
    if k is None:
        k = where_ and where_.control_step
    envs = sorted({each.env for each in several if each.env >= 0})
    whose = envs_named(envs) if envs else "the run"
    place = place_text(episode, k)
    verb = _VERBS.get(one.doing, f"failed ({one.doing})")
    headline = f"{whose} {verb}{f' at {place}' if place else ''}"
    row = one.row if one.row >= 0 else window.steps.stop
    return Finding(
        id=ID,
        severity="warning",
        env=one.env if one.env >= 0 else None,
        episode=episode,
        control_step=k,
        native=(max(row - 1, 0),) * 2 if window.steps.stop else None,
        field="failure",
        headline=headline,
        message=f"{headline}: {one.problem or 'no more is told'}",
        remedy=(
            "What came after it, up to the next reset, is missing or is no transition. "
            "See what it says, and record again."
        ),
        evidence={"doing": one.doing, "problem": one.problem, "environments": envs},
    )


def _steps_of(window: LabelledContext, env: int) -> tuple[int, int, int]:
    """How far an environment came: its rows, its last native step, and its number.

    Those of a process go in turn: who stepped longest ago is the next one.
    """
    last = window.last_row(env, window.steps.stop)
    return len(window.transitions.of(env)), last, env


def _gaps(steps: ControlSteps) -> Iterator[Finding]:
    """Yield control steps before which others of their episode are missing."""
    table, before = steps.table, steps.before
    if not len(steps):
        return
    k = table.control_step
    # A count that goes on from another environment's is another finding.
    taken_over = {jump.transition - table.first for jump in jumps(steps.window) or ()}
    follows = (before >= 0) & (table.episode == table.episode[before])
    gap = follows & (k >= 0) & (k[before] >= 0) & (k > k[before] + 1)
    for t in np.flatnonzero(gap).tolist():
        if t in taken_over and _goes_on(steps, t):
            continue
        lost = int(k[t] - k[before[t]]) - 1
        yield about(
            steps,
            ID,
            t,
            headline=(
                f"{counted(lost, 'control step')} missing before {where(steps, t)}"
            ),
            why=f"the one before it in the recording is {int(k[before[t]])}",
            remedy=(
                "The recording did not keep up, or its process died and went on: what "
                "this one saw before is not what the last one led to."
            ),
            field="control_step",
            value=int(k[t]),
            expected=int(k[before[t]]) + 1,
            evidence={"missing": lost},
            rows=np.zeros(0, np.int64),
        )
