"""Transitions that hold NaN or infinity: actions, observations, rewards, task state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.isolation.findings import Finding, Taint
from isoscope.core.isolation.finite import bad_rows
from isoscope.core.isolation.words import env_named, place_text
from isoscope.core.summary import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.labelled_context import LabelledContext
    from isoscope.core.recording.tracks import Array

LISTED_AT_MOST = 100
GROUPS = (
    "raw_action",
    "action",
    "observation_before",
    "observation_after",
    "reward_term",
    "task_state",
)


def in_transitions(
    window: LabelledContext, told: set[tuple[int, int]]
) -> Iterator[Finding]:
    """Yield one finding an environment's episode.

    Parameters
    ----------
    told
        Environments and episodes of which enough is said.
    """
    table = window.transitions
    if not len(table):
        return
    bad: dict[str, Array] = {}
    # A row that only resets has no reward, which is no number that is not finite.
    finite = np.isfinite(table.reward)
    counts = table.valid == 1
    reward = np.isinf(table.reward)
    if finite[counts].any():  # else it is just not told
        reward |= np.isnan(table.reward) & counts
    if reward.any():
        bad["reward"] = np.flatnonzero(reward)
    for group in GROUPS:
        for name, track in window.fields(group).items():
            if track.dtype.kind in "fc" and len(rows := bad_rows(track)):
                bad[f"{group}.{name}"] = rows
    if not bad:
        return
    rows = np.unique(np.concatenate(list(bad.values())))
    rows = rows[rows < len(table)]
    keys = np.stack([table.env[rows], table.episode[rows]], axis=1).astype(np.int64)
    found, first = np.unique(keys, axis=0, return_index=True)
    for k in np.argsort(first).tolist():
        env, episode = (int(v) for v in found[k])
        if (env, episode) in told:
            continue
        own = rows[(keys == found[k]).all(axis=1)]
        fields = [field for field, at in bad.items() if np.isin(own[0], at)]
        yield _of_transition(window, own, fields)


def _of_transition(window: LabelledContext, rows: Array, fields: list[str]) -> Finding:
    table, t = window.transitions, int(rows[0])
    env, episode, k = (
        int(column[t]) if column[t] >= 0 else None
        for column in (table.env, table.episode, table.control_step)
    )
    low, high = int(table.first_row[t]), int(table.last_row[t])
    verb = "are" if len(fields) > 1 else "is"
    what = fields[0]
    if len(fields) > 1:
        what += f" and {counted(len(fields) - 1, 'more field')}"
    place = place_text(episode, k) or f"transition {t}"
    headline = f"{what} of {env_named(env)} {verb} not finite from {place} on"
    return Finding(
        id="non-finite",
        severity="error",
        env=env,
        episode=episode,
        control_step=k,
        native=(low, high) if low >= 0 else None,
        field=fields[0],
        headline=headline,
        message=f"{headline}: so in {counted(len(rows), 'transition')} of this episode",
        remedy=(
            "Look at what made the first one: the policy for an action, the task for "
            "an observation or reward. Leave these transitions out."
        ),
        evidence={"transitions": len(rows), "fields": fields[:LISTED_AT_MOST]},
        transition=t,
        taints=(Taint(env=env, transition=(t, None)),),
    )
