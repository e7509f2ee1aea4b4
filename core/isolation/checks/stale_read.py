"""A scene that was read for one environment while it held another one's state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.isolation.findings import Finding, Taint
from isoscope.core.isolation.following import Carry
from isoscope.core.isolation.registry import CannotRunError
from isoscope.core.isolation.residents import residents
from isoscope.core.isolation.same_values import (
    Same,
    same_beside_own,
    same_frames,
    same_observations,
)
from isoscope.core.isolation.words import env_named, place_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.context import Context
    from isoscope.core.isolation.findings import Severity
    from isoscope.core.isolation.following import Joined
    from isoscope.core.isolation.labelled_context import LabelledContext

ID = "stale-read"
SEVERITY: Severity = "error"
ABOUT = "observations, pictures and last steps read from another environment's state"
NEEDS = "a recording by the tap of a shared scene, with its reads or the observations"
READS = ("read", "render", "observe", "last_step")
_WHAT = {
    "render": "was rendered",
    "observe": "was observed",
    "last_step": "was asked for its last step",
}
# Values that are equal to the last bit by chance are rare, but they are no proof.
BY_VALUE = 0.9


def run(context: Context) -> Iterator[Finding]:
    """Yield one finding a read."""
    window = context.tells(NEEDS)
    if not window.in_turn:
        return
    reads = np.flatnonzero(window.events.are(*READS))
    observed = window.fields("observation_after")
    frames = window.labelled.count("streams") > 0
    if not len(reads) and not observed and not frames:
        raise CannotRunError("neither reads nor observations were recorded", NEEDS)
    joined = Carry("after").join(window)
    told: set[tuple[int, int]] = set()
    if len(reads):
        for finding, last in _by_events(joined, window, reads):
            where = (finding.env or 0, last)
            if where not in told:
                told.add(where)
                yield finding
    seen = set(told)
    for same in same_observations(window, joined):
        if _is_new(same, told):
            seen.add((same.env, same.row))
            yield _by_value(joined, same)
    for same in same_beside_own(window, joined):
        if _is_new(same, seen):
            yield _by_value(joined, same)
    for same in same_frames(window, joined):
        if _is_new(same, told):
            yield _by_value(joined, same)


def _is_new(same: Same, told: set[tuple[int, int]]) -> bool:
    """Of two that see the same, the one that was told already is the wrong one."""
    return not told & {(same.env, same.row), (same.other, same.other_row)}


def _by_events(
    joined: Joined, window: LabelledContext, reads: np.ndarray
) -> Iterator[tuple[Finding, int]]:
    """Yield a finding a read, and the last native step of whom it was for."""
    events = window.events
    shared = set(window.in_turn)
    owners = residents(joined, window, reads)
    env = events.env[reads]
    for k in np.flatnonzero((owners >= 0) & (env >= 0) & (owners != env)).tolist():
        i, other = int(reads[k]), int(owners[k])
        if int(events.scene[i]) not in shared:
            continue
        who, row = int(env[k]), int(events.row[i])
        last = joined.last_of(who, row)
        where = joined.at(last) if last >= 0 else joined.about(who, row)
        what = _WHAT.get(events.kind(i), "was read")
        detail = events.detail(i)
        field = detail.get("field") or detail.get("what")
        last_row = int(joined.row[last]) if last >= 0 else row
        yield (
            _finding(
                who,
                other,
                where.episode,
                where.control_step,
                joined.native(max(row - 1, 0)),
                f"the scene {what} for {env_named(who)}",
                f"{env_named(other)}'s state was in it",
                field if isinstance(field, str) else None,
                1.0,
                {"event": events.first + i, "kind": events.kind(i)},
                last_row=last_row,
                transition=None,
            ),
            last_row,
        )


def _by_value(joined: Joined, same: Same) -> Finding:
    index = int(np.searchsorted(joined.row, same.row))
    where = (
        joined.at(index) if index < len(joined) else joined.about(same.env, same.row)
    )
    return _finding(
        same.env,
        same.other,
        where.episode if same.episode is None else same.episode,
        where.control_step if same.control_step is None else same.control_step,
        joined.native(same.row),
        f"the {same.what} of {env_named(same.env)} shows {env_named(same.other)}",
        "it equals that one's last to the last bit, while their states differ",
        same.what,
        BY_VALUE,
        {"other_native": same.other_row, "what": same.what},
        last_row=same.row,
        transition=same.transition,
    )


def _finding(
    env: int,
    other: int,
    episode: int | None,
    control_step: int | None,
    native: tuple[int, int] | None,
    what: str,
    why: str,
    field: str | None,
    confidence: float,
    evidence: dict[str, object],
    *,
    last_row: int,
    transition: int | None,
) -> Finding:
    place = place_text(episode, control_step) or f"native step {last_row}"
    headline = f"{what} at {place}"
    taint = Taint(
        env=env,
        native=None if transition is not None else (last_row, None),
        transition=None if transition is None else (transition, None),
        until="here",
    )
    return Finding(
        id=ID,
        severity=SEVERITY,
        env=env,
        other_env=other,
        episode=episode,
        control_step=control_step,
        native=native,
        field=field,
        confidence=confidence,
        headline=headline,
        message=f"{headline}: {why}",
        remedy=(
            "Restore the environment's snapshot before anything that reads the scene: "
            "render() and sensors don't. What was read here belongs to the other one."
        ),
        evidence=evidence,
        transition=transition,
        taints=(taint,),
    )
