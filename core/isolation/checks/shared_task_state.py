"""A random generator or a counter that two environments have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.isolation.checks.unseeded_action_space import increment_of
from isoscope.core.isolation.counters import NATIVE, jumps
from isoscope.core.isolation.findings import Finding, Taint
from isoscope.core.isolation.registry import CannotRunError
from isoscope.core.isolation.seeding import alike, seed_at, seeds_by_env
from isoscope.core.isolation.words import env_named, place_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.context import Context
    from isoscope.core.isolation.findings import Severity
    from isoscope.core.isolation.labelled_context import LabelledContext

ID = "shared-task-state"
SEVERITY: Severity = "warning"
ABOUT = "task state or random generators that several environments have in common"
NEEDS = "digests of the environments' generators, or their task state, at control steps"


def run(context: Context) -> Iterator[Finding]:
    """Yield one finding a pair of environments and what they share."""
    window = context.tells(NEEDS)
    table = window.transitions
    if len(table.environments) < 2:
        return
    counted = jumps(window)
    generators = _states(window)
    if not table.rng.any() and not generators and counted is None:
        raise CannotRunError("neither generators nor task state are recorded", NEEDS)
    told: set[tuple[int, int]] = set()
    same_seed = {_pair(one.env, again.env) for one, again in alike(window)}
    by_stream = [
        found
        for found in _by_stream(window, generators)
        if _pair(found[0], found[1]) not in same_seed
    ]
    # Streams tell who has the other's; equal states only that one of them has.
    for env, other, at in [*by_stream, *_by_digest(window)]:
        pair = _pair(env, other)
        if pair not in told:
            told.add(pair)
            yield _finding(
                window,
                *(env, other, at, "rng", None, None),
                "draw from one random generator",
                "its state is the same in both, though their seeds are not",
            )
    for jump in counted or ():
        yield _finding(
            window,
            *(jump.env, jump.other, jump.transition, jump.field),
            *(jump.value, jump.expected),
            f"count {jump.field} together",
            f"it goes from {jump.before:g} to {jump.value:g}, where the other one has "
            f"{jump.theirs:g}",
        )


def _pair(one: int, other: int) -> tuple[int, int]:
    return min(one, other), max(one, other)


def _by_digest(window: LabelledContext) -> Iterator[tuple[int, int, int]]:
    """Yield (env, other, transition): it moved the generator, and the other's with it.

    One that a reset brings there has the same seed, which is another finding.
    """
    table = window.transitions
    key, env = table.rng, table.env
    given = seeds_by_env(window)
    order = np.argsort(key, kind="stable")
    ordered = key[order]
    again = np.flatnonzero((ordered[1:] == ordered[:-1]) & (ordered[1:] != 0)) + 1
    again = again[env[order[again]] != env[order[again - 1]]]
    before = table.previous()
    at = order[again]
    moved = (table.valid[at] != 0) & (before[at] >= 0) & (key[before[at]] != key[at])
    again = again[moved & (key[before[at]] != 0)]
    # The earliest in the run first; a pair is told once.
    pairs: dict[tuple[int, int], tuple[int, int]] = {}
    for k in again.tolist():
        i, j = int(order[k]), int(order[k - 1])
        mine, theirs = int(env[i]), int(env[j])
        pair = _pair(mine, theirs)
        if pair in pairs and pairs[pair][0] <= i:
            continue
        seeds = [
            seed_at(given.get(e, []), int(table.episode[t]))
            for e, t in ((mine, i), (theirs, j))
        ]
        if seeds[0] is not None and seeds[0] == seeds[1]:
            continue  # which is a finding of its own
        pairs[pair] = (i, j)
    for i, j in pairs.values():
        yield int(env[j]), int(env[i]), j


def _states(window: LabelledContext) -> list[tuple[int, int, str]]:
    """Environment, reset and stream of every generator that resets tell."""
    found = []
    for i in range(len(window.resets)):
        states = window.resets.rng(i)
        for name, state in states.items() if isinstance(states, dict) else ():
            stream = increment_of(state)
            if stream is not None and name != "action_space":
                found.append((int(window.resets.env[i]), i, f"{name} {stream}"))
    return found


def _by_stream(
    window: LabelledContext, generators: list[tuple[int, int, str]]
) -> Iterator[tuple[int, int, int]]:
    """Yield (env, other, transition): PCG64's stream is another environment's."""
    given = seeds_by_env(window)
    first: dict[str, tuple[int, int]] = {}
    for env, reset, stream in generators:
        owner, begun = first.setdefault(stream, (env, reset))
        if owner == env:
            continue
        seeds = [
            seed_at(given.get(e, []), int(window.resets.episode[i]))
            for e, i in ((env, reset), (owner, begun))
        ]
        if seeds[0] is None or seeds[0] != seeds[1]:
            yield env, owner, int(window.resets.transition[reset])


def _finding(
    window: LabelledContext,
    env: int,
    other: int,
    t: int,
    field: str,
    value: float | None,
    expected: float | None,
    what: str,
    why: str,
) -> Finding:
    table = window.transitions
    episode = k = row = None
    if t >= 0:
        episode = int(table.episode[t]) if table.episode[t] >= 0 else None
        k = int(table.control_step[t])
        k = k if k >= 0 else (0 if table.valid[t] == 0 else None)
        if field == NATIVE and value is not None:
            k = int(value)  # so the step is labelled, whatever the tap counted
        row = int(table.first_row[t]) if table.first_row[t] >= 0 else None
    place = place_text(episode, k)
    headline = f"{env_named(env)} and {env_named(other)} {what}"
    return Finding(
        id=ID,
        severity=SEVERITY,
        env=env,
        other_env=other,
        episode=episode,
        control_step=k,
        native=(row, row) if row is not None else None,
        field=field,
        value=value,
        expected=expected,
        headline=headline,
        message=f"{headline}: {why}{f', at {place}' if place else ''}",
        remedy=(
            "Make generators and task state in the environment's constructor, not in "
            "its class or module, and don't hand one object to several environments."
        ),
        transition=t if t >= 0 else None,
        taints=tuple(
            Taint(env=who, transition=(t, None), until="end" if who != env else "reset")
            for who in (env, other)
            if t >= 0
        ),
    )
