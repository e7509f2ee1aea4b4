"""Bodies that something moved between the step and its record."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.isolation.checks.incomplete_recording import told_whole
from isoscope.core.isolation.findings import Finding, Taint
from isoscope.core.isolation.following import Carry
from isoscope.core.isolation.registry import CannotRunError
from isoscope.core.isolation.starts import How, odd_starts, restored_between, told
from isoscope.core.isolation.words import env_named, place_text
from isoscope.core.recording.tracks import Track
from isoscope.core.replay.fields import take
from isoscope.core.summary import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.attribution.result import Jump
    from isoscope.core.isolation.context import Context, Examined
    from isoscope.core.isolation.findings import Severity
    from isoscope.core.isolation.following import Joined
    from isoscope.core.isolation.labelled_context import LabelledContext
    from isoscope.core.isolation.starts import Start
    from isoscope.core.recording.model import Actor
    from isoscope.core.recording.tracks import Array

ID = "callback-moved-state"
SEVERITY: Severity = "warning"
ABOUT = "bodies that were moved after the step, so that state and velocity disagree"
ROUNDINGS = 16.0  # of the numbers that a distance is made of

REMEDY = (
    "A post-step callback or a call between the steps sets its transform. Its velocity "
    "does not tell that motion; don't compute with both."
)


def run(context: Context) -> Iterator[Finding]:
    """Yield one finding an actor."""
    subject = context.subject
    attribution = subject.attribution
    exact = False
    if context.labelled is not None:
        joined = Carry("before", "after", "restored_from").join(context.labelled)
        exact = bool(told(joined).any())
        shared = bool(context.labelled.in_turn)
        for start in odd_starts(joined, context.labelled):
            restored = shared and restored_between(joined, context.labelled, start)
            if start.how is How.SET or (start.how is How.NOWHERE and not restored):
                yield _by_digest(joined, start)
        for i in _set_within(context.labelled):
            exact = True
            yield _by_event(joined, context.labelled, i)
    seen = np.isfinite(attribution.residual_m)
    if attribution.residual_m.size and not seen.any() and not exact:
        raise CannotRunError(
            "no step tells where it began",
            "transforms and velocities (record_dynamic_actor_state), or digests",
        )
    if told_whole(context) and not exact:
        for jump in attribution.jumps:
            yield _jumped(subject, jump)
    displaced = attribution.displaced
    for index, count in attribution.displaced_actors.items():
        rows = np.flatnonzero(displaced) if displaced is not None else np.zeros(0, int)
        actor = subject.recording.actors[index]
        moved_m = _moved_m(subject, actor, rows)
        if (moved_m > 0).any():
            rows, moved_m = rows[moved_m > 0], moved_m[moved_m > 0]
        yield _finding(subject, actor, rows, count, moved_m)


def _finding(
    subject: Examined, actor: Actor, rows: Array, count: int, moved_m: Array
) -> Finding:
    first, last = (int(rows[0]), int(rows[-1])) if len(rows) else (0, 0)
    env, episode, control_step = subject.place(first)
    farthest = float(moved_m.max(initial=0.0))
    by = f", by up to {farthest:.3g} m" if farthest > 0 else ""
    headline = f"something moved {actor.name} outside of a step"
    return Finding(
        id=ID,
        severity=SEVERITY,
        env=env,
        episode=episode,
        control_step=control_step,
        native=(first, last),
        field=f"{actor.name}.translationCom",
        headline=headline,
        message=(
            f"{headline}: in {counted(count, 'native step')} it does not begin where "
            f"the step before left it{by}, while the other bodies do"
        ),
        remedy=REMEDY,
        evidence={"rows": count, "farthest_m": farthest if farthest > 0 else None},
    )


def _set_within(window: LabelledContext) -> list[int]:
    """Events that tell that the state was set inside of a native step."""
    events = window.events
    at = np.flatnonzero(events.are("set_state")).tolist()
    return [i for i in at if events.detail(i).get("within_step")]


def _by_event(joined: Joined, window: LabelledContext, i: int) -> Finding:
    env, row = int(window.events.env[i]), int(window.events.row[i])
    index = int(np.searchsorted(joined.row, row))
    if int(window.events.scene[i]) in window.side_by_side:
        # Of a step that all took at once, each has a row of its own.
        own = joined.of(env)
        own = own[joined.row[own] >= row]
        if len(own):
            index, row = int(own[0]), int(joined.row[own[0]])
    inside = index < len(joined) and joined["env"][index] == env
    where = joined.at(index) if inside else joined.about(env, row)
    place = place_text(*where) or f"native step {row}"
    headline = f"a callback moved {env_named(env)}'s state at {place}"
    return Finding(
        id=ID,
        severity=SEVERITY,
        env=env if env >= 0 else None,
        episode=where.episode,
        control_step=where.control_step,
        native=joined.native(row),
        headline=headline,
        message=f"{headline}: it was set inside of native step {row}",
        remedy=REMEDY,
        evidence={"event": window.events.first + i},
        taints=(Taint(env=env if env >= 0 else None, native=(row, row)),),
    )


def _by_digest(joined: Joined, start: Start) -> Finding:
    row, env = int(joined.row[start.at]), int(joined["env"][start.at])
    where = joined.at(start.at)
    place = place_text(*where) or f"native step {row}"
    own = int(joined.row[start.own])
    headline = f"something moved {env_named(env)}'s state before {place}"
    return Finding(
        id=ID,
        severity=SEVERITY,
        env=env,
        episode=where.episode,
        control_step=where.control_step,
        native=(row, row),
        field="digest",
        headline=headline,
        message=(
            f"{headline}: nothing was restored since its native step {own}, and yet "
            "the state is another one"
        ),
        remedy=REMEDY,
        evidence={"own_last_native": own, "by": "digest"},
        taints=(Taint(env=env, native=(row, row)),),
    )


def _jumped(subject: Examined, jump: Jump) -> Finding:
    env, episode, control_step = subject.place(jump.native)
    place = subject.where(jump.native)
    headline = f"something moved {env_named(env)}'s state before {place}"
    return Finding(
        id=ID,
        severity=SEVERITY,
        env=env,
        episode=episode,
        control_step=control_step,
        native=(jump.native, jump.native),
        headline=headline,
        message=f"{headline}: no step left this state, and none is missing",
        remedy=REMEDY,
        taints=(Taint(env=env, native=(jump.native, jump.native)),),
    )


def _moved_m(subject: Examined, actor: Actor, rows: Array) -> Array:
    """How far [m] its centre was moved before each of these steps; 0 unknown."""
    com, vcom = actor.fields.get("translationCom"), actor.fields.get("vcom")
    if not isinstance(com, Track) or not isinstance(vcom, Track):
        return np.zeros(len(rows))
    if com.shape != (3,) or vcom.shape != (3,):
        return np.zeros(len(rows))
    parents = subject.attribution.parent[rows].astype(np.int64)
    end, has_end = take(com, rows)
    before, has_before = take(com, parents)
    speed, has_speed = take(vcom, rows)
    end, before = end.astype(np.float64), before.astype(np.float64)
    eps = float(np.finfo(com.dtype).eps)
    with np.errstate(over="ignore", invalid="ignore"):  # of made-up, huge values
        moved = subject.recording.steps.h_s[rows, None] * speed.astype(np.float64)
        off = np.linalg.norm(end - before - moved, axis=1)
        size = np.abs(end).max(axis=1) + np.abs(before).max(axis=1)
    known = has_end & has_before & has_speed & (parents >= 0) & np.isfinite(off)
    return np.where(known & (off > ROUNDINGS * eps * size), off, 0.0)
