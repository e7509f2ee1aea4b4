"""Environments whose episodes begin in the very same state."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.isolation.findings import Finding
from isoscope.core.isolation.following import Carry
from isoscope.core.isolation.observed_starts import observed_starts
from isoscope.core.isolation.registry import CannotRunError
from isoscope.core.isolation.row_keys import rows_alike
from isoscope.core.isolation.seeding import seed_at, seeds_by_env
from isoscope.core.isolation.starts import How, odd_starts
from isoscope.core.isolation.states import state_keys
from isoscope.core.isolation.words import envs_named
from isoscope.core.recording.model import StepKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.context import Context, Examined
    from isoscope.core.isolation.findings import Severity
    from isoscope.core.isolation.labelled_context import LabelledContext
    from isoscope.core.recording.model import Labels
    from isoscope.core.recording.tracks import Array

ID = "identical-start"
SEVERITY: Severity = "warning"
ABOUT = "environments that begin episodes in the same state, to the last bit"
LISTED_AT_MOST = 16  # native steps, and starts


def run(context: Context) -> Iterator[Finding]:
    """Yield one finding a group of environments that begin alike."""
    subject = context.subject
    labels = subject.attribution.labels
    resets = _last_ones(labels, np.flatnonzero(labels.kind == StepKind.RESET))
    looks = _looks(context, resets)
    if len(resets) and not any(keys.any() for _, keys in looks):
        raise CannotRunError(
            "the resets tell no state", "transforms (record_dynamic_actor_state)"
        )
    seeds = None if context.labelled is None else _Seeds(context.labelled)
    groups: dict[tuple[int, ...], list[list[int]]] = {}
    seen: set[int] = set()
    for rows, keys in looks:
        for alike in rows_alike(rows, keys):
            envs = tuple(sorted({int(labels.env[r]) for r in alike}))
            # Resets of unknown owners begin alike: that is why the owners are unknown.
            if len(envs) < 2 and envs != (-1,):
                continue
            if seeds is not None and seeds.same(subject, alike):
                continue  # which is a finding of its own
            if not seen.issuperset(alike):
                groups.setdefault(envs, []).append(alike)
            seen.update(alike)
    always = any(
        len(rows) > 1 and keys.all() and len(np.unique(keys)) == 1
        for rows, keys in looks
    )
    for envs, starts in groups.items():
        yield _finding(subject, envs, starts, always)


def _last_ones(labels: Labels, resets: Array) -> Array:
    """The last step of each reset; before it a new scene may be stepped once."""
    rows = resets[np.argsort(labels.env[resets], kind="stable")]
    env, episode = labels.env[rows], labels.episode[rows]
    goes_on = np.zeros(len(rows), np.bool_)
    goes_on[:-1] = (env[1:] == env[:-1]) & (episode[1:] == episode[:-1])
    return np.sort(rows[~goes_on | (env < 0) | (episode < 0)])


class _Seeds:
    """Whether starts are alike because their environments have the same seed."""

    def __init__(self, window: LabelledContext) -> None:
        self._given = seeds_by_env(window)
        table = window.transitions
        at = np.flatnonzero((table.valid == 0) & (table.rng != 0))
        places = zip(table.env[at].tolist(), table.episode[at].tolist(), strict=True)
        self._generators = dict(zip(places, table.rng[at].tolist(), strict=True))

    def same(self, subject: Examined, rows: list[int]) -> bool:
        """Whether they had, by what was given or by where their generators stood."""
        labels = subject.attribution.labels
        env, episode = labels.env[rows].tolist(), labels.episode[rows].tolist()
        places = list(zip(env, episode, strict=True))
        for known in (
            {seed_at(self._given.get(e, []), n) for e, n in places},
            {self._generators.get(place) for place in places},
        ):
            if len(known) == 1 and None not in known:
                return True
        return False


def _looks(context: Context, resets: Array) -> list[tuple[Array, Array]]:
    """Ways to see how episodes begin: reset rows, and a number for what is seen there.

    After the reset's own step by its state, or its digest; before the first control
    step by digest, since somebody may have set the state in between; and by what the
    reset gave back as observation, whole or without what is the environment's own.
    """
    window = context.labelled
    if window is None:
        return [(resets, state_keys(context.subject.recording, resets))]
    steps = window.steps
    inside = resets[resets < len(steps)]
    after = window.digests("after")[inside]
    if not after.all():
        after = state_keys(context.subject.recording, inside)
    looks = [(inside, after)]
    before = steps.previous()
    first = np.flatnonzero((before >= 0) & ~steps.reset & steps.reset[before])
    # One that took another's state from the scene is a missed restore, and no start.
    first = first[~np.isin(first, _from_others(window))]
    looks.append((before[first], window.digests("before")[first]))
    looks += observed_starts(window)
    return looks


def _from_others(window: LabelledContext) -> list[int]:
    """Native steps that began in what another one's step had just left in the scene."""
    joined = Carry("before", "after").join(window)
    return [
        int(joined.row[start.at])
        for start in odd_starts(joined, window)
        if start.how is How.SCENE
    ]


def _finding(
    subject: Examined, envs: tuple[int, ...], starts: list[list[int]], always: bool
) -> Finding:
    rows = sorted(row for start in starts for row in start)
    known = [e for e in envs if e >= 0]
    who = envs_named(known) if known else "environments of unknown number"
    if known and len(known) < len(envs):
        who += " and others"
    times = f"{len(starts)} of their starts" if len(starts) > 1 else "one start"
    every = ", as every reset in this recording does" if always else ""
    headline = f"{who} begin alike to the last bit"
    # Whoever began second did so like the first.
    first, second = min(starts)[:2]
    env, episode, control_step = subject.place(second)
    other, _, _ = subject.place(first)
    if env is None or env == other:
        env = known[0] if known else None
        other = known[1] if len(known) > 1 else None
    return Finding(
        id=ID,
        severity=SEVERITY,
        env=env,
        other_env=other,
        episode=episode,
        control_step=control_step,
        native=(rows[0], rows[-1]),
        headline=headline,
        message=f"{headline}: in {times}{every}",
        remedy=(
            "Give every environment a seed of its own (a list of seeds, not one "
            "number), and don't seed again at each reset. While their states are the "
            "same, nobody can tell whose a step was."
        ),
        evidence={
            "starts": [start[:LISTED_AT_MOST] for start in starts[:LISTED_AT_MOST]]
        },
    )
