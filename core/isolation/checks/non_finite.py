"""NaN or infinity in what a step wrote, and in transitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.isolation.context import runs
from isoscope.core.isolation.findings import Finding, Taint
from isoscope.core.isolation.finite import bad_rows
from isoscope.core.isolation.finite_transitions import in_transitions
from isoscope.core.summary import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.context import Context, Examined
    from isoscope.core.isolation.findings import Severity
    from isoscope.core.recording.tracks import AnyTrack, Array

ID = "non-finite"
SEVERITY: Severity = "error"
ABOUT = "NaN or infinity in a recorded field of a step or a transition"
BLOCK = 65536  # rows looked at together
LISTED_AT_MOST = 100


def run(context: Context) -> Iterator[Finding]:
    """Yield one finding an environment's episode that holds such values.

    The transitions of an episode whose native steps are told of already are not told
    of again: they follow from these.
    """
    told: set[tuple[int, int]] = set()
    for finding in _in_steps(context):
        told.add((_number(finding.env), _number(finding.episode)))
        yield finding
    if context.labelled is not None:
        yield from in_transitions(context.labelled, told)


def _number(value: int | None) -> int:
    return -1 if value is None else value


def _in_steps(context: Context) -> Iterator[Finding]:
    subject = context.subject
    tracks = {name: t for name, t in subject.recording.scene.tracks.items()}
    tracks.update((f"{a.name}.{name}", t) for a, name, t in subject.tracks())
    bad = {
        field: rows
        for field, track in tracks.items()
        if track.dtype.kind in "fc" and len(rows := bad_rows(track))
    }
    if not bad:
        return
    for rows in _by_episode(subject, np.unique(np.concatenate(list(bad.values())))):
        first = int(rows[0])
        fields = [field for field, own in bad.items() if _holds(own, first)]
        yield _finding(subject, rows, fields, tracks[fields[0]])


def _by_episode(subject: Examined, rows: Array) -> list[Array]:
    """The rows of each environment's episode together, in order of their first."""
    labels = subject.attribution.labels
    inside = rows[rows < len(labels)]
    keys = np.stack([labels.env[inside], labels.episode[inside]], axis=1)
    _, which = np.unique(keys, axis=0, return_inverse=True)
    which = which.reshape(-1)
    groups = [inside[which == k] for k in range(int(which.max(initial=-1)) + 1)]
    return sorted(groups, key=lambda group: int(group[0]))


def _holds(rows: Array, row: int) -> bool:
    at = int(np.searchsorted(rows, row))
    return at < len(rows) and int(rows[at]) == row


def _finding(
    subject: Examined, rows: Array, fields: list[str], track: AnyTrack
) -> Finding:
    first, last = int(rows[0]), int(rows[-1])
    env, episode, control_step = subject.place(first)
    value = track.at(first)
    shown = (
        ""
        if value is None
        else str(value.reshape(-1)[~np.isfinite(value.reshape(-1))][0])
    )
    what = fields[0]
    if len(fields) > 1:
        what += f" and {counted(len(fields) - 1, 'more field')}"
    if env is not None:
        what += f" of env {env}"
    verb = "are" if len(fields) > 1 else "is"
    headline = f"{what} {verb} not finite from {subject.where(first)} on"
    return Finding(
        id=ID,
        severity=SEVERITY,
        env=env,
        episode=episode,
        control_step=control_step,
        native=(first, last),
        field=fields[0],
        value=shown,
        headline=headline,
        message=(
            f"{headline}: {shown} in native step {first}, and so in "
            f"{counted(len(rows), 'native step')} of this episode"
        ),
        remedy=(
            "The simulation has diverged or a value was never set: look at the steps "
            "before the first one, and leave out this episode from there on."
        ),
        evidence={"rows": len(rows), "fields": fields[:LISTED_AT_MOST]},
        tainted=tuple(runs(rows)),
        taints=(Taint(env=env, native=(first, None)),),
    )
