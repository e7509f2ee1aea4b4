"""Environments that were given the same seed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.isolation.checks.unseeded_action_space import (
    increment_of,
    stream_of,
)
from isoscope.core.isolation.findings import Finding
from isoscope.core.isolation.registry import CannotRunError
from isoscope.core.isolation.seeding import (
    NEEDS,
    Seeded,
    alike,
    seed_at,
    seeded,
    seeds_by_env,
)
from isoscope.core.isolation.words import env_named, envs_named, place_text
from isoscope.core.summary import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.context import Context
    from isoscope.core.isolation.findings import Severity
    from isoscope.core.isolation.labelled_context import LabelledContext

ID = "duplicate-seeds"
SEVERITY: Severity = "warning"
ABOUT = "environments that draw the same random numbers since they got the same seed"
LISTED_AT_MOST = 64
REMEDY = (
    "Give a list of seeds, one an environment, that are all different; never add small "
    "numbers to seeds at two places."
)


def run(context: Context) -> Iterator[Finding]:
    """Yield one finding for double expansion, else one a seed that is given twice."""
    window = context.tells(NEEDS)
    given = seeded(window)
    unseen = [(one, again) for one, again in alike(window) if one.env != again.env]
    if not given and not window.transitions.rng.any() and window.environments:
        raise CannotRunError("no seed is told", NEEDS)
    first: dict[int, Seeded] = {}
    for one in given:
        first.setdefault(one.env, one)
    double = _double(window, first)
    if double is not None:
        yield double
        return
    groups: dict[Any, list[Seeded]] = {}
    for one in given:
        groups.setdefault(_key(one.seed), []).append(one)
    told: set[tuple[int, int]] = set()
    for group in groups.values():
        envs = list(dict.fromkeys(one.env for one in group))
        if len(envs) > 1:
            again = next(one for one in group if one.env != group[0].env)
            told.update((one.env, one.episode) for one in group)
            yield _finding(group[0], again, envs)
    # What begins alike once goes on alike: each pair is told of once.
    alike_before: set[tuple[int, int]] = set()
    for one, again in unseen:
        pair = (min(one.env, again.env), max(one.env, again.env))
        if (again.env, again.episode) not in told and pair not in alike_before:
            alike_before.add(pair)
            envs = [one.env, again.env]
            if _as_told(window, one) is False and _as_told(window, again):
                yield _finding(again, one, envs)  # the first one's own is another
            else:
                yield _finding(one, again, envs)


def _as_told(window: LabelledContext, one: Seeded) -> bool | None:
    """Whether a reset left Gymnasium's generator in the stream of the seed it was told.

    None where that can't be seen.
    """
    seed = seed_at(seeds_by_env(window).get(one.env, []), one.episode)
    resets = window.resets
    at = np.flatnonzero(resets.transition == one.transition)
    if not isinstance(seed, int) or seed < 0 or not len(at):
        return None
    states = resets.rng(int(at[0]))
    stream = increment_of(states.get("env")) if isinstance(states, dict) else None
    return None if stream is None else stream == stream_of(seed)


def _key(seed: Any) -> Any:
    return tuple(seed) if isinstance(seed, list) else seed


def _double(window: LabelledContext, first: dict[int, Seeded]) -> Finding | None:
    """Find seeds s + p + j for environment j of process p, several of both."""
    per = window.identity.environments_per_process
    envs = sorted(first)
    seeds = [first[env].seed for env in envs]
    count = len(envs)
    whole = all(isinstance(seed, int) for seed in seeds)
    if envs != list(range(count)) or not whole or len(set(seeds)) == count:
        return None
    for k in [per] if per else range(2, count):
        if count % k or not 1 < k < count:
            continue
        base = seeds[0]
        if seeds == [base + g // k + g % k for g in range(count)]:
            return _expanded(first, seeds, count // k, k)
    return None


def _expanded(
    first: dict[int, Seeded], seeds: list[int], processes: int, per: int
) -> Finding:
    count = processes * per
    distinct = len(set(seeds))
    again = next(env for env in range(count) if seeds.index(seeds[env]) != env)
    headline = f"{distinct} different seeds for {count} environments"
    return Finding(
        id=ID,
        severity=SEVERITY,
        env=again,
        other_env=seeds.index(seeds[again]),
        episode=first[again].episode if first[again].episode >= 0 else None,
        control_step=0,
        native=_native(first[again]),
        field="seed",
        value=seeds[:LISTED_AT_MOST],
        expected=list(range(seeds[0], seeds[0] + min(count, LISTED_AT_MOST))),
        headline=headline,
        message=(
            f"{headline}: the seed was expanded twice, once over {processes} processes "
            f"and once over the {per} environments of each, which gives W+K-1 = "
            f"{processes}+{per}-1 seeds instead of W·K = {count}"
        ),
        remedy=REMEDY,
        evidence={
            "distinct": distinct,
            "environments": count,
            "processes": processes,
            "environments_per_process": per,
            "double_expansion": True,
        },
    )


def _finding(one: Seeded, again: Seeded, envs: list[int]) -> Finding:
    place = place_text(again.episode if again.episode >= 0 else None, 0)
    where = f" at {place}" if place else ""
    headline = f"{env_named(again.env)} got the seed of {env_named(one.env)}{where}"
    others = "" if len(envs) < 3 else f"; so did {counted(len(envs) - 2, 'more')}"
    begin = f"which had it at episode {one.episode}" if one.episode > 0 else "too"
    seed = again.seed
    if seed is None:
        seed = "its generator stands where that of the other stood"
    return Finding(
        id=ID,
        severity=SEVERITY,
        env=again.env,
        other_env=one.env,
        episode=again.episode if again.episode >= 0 else None,
        control_step=0,
        native=_native(again),
        field="seed",
        value=again.seed,
        headline=headline,
        message=f"{headline}: {seed}, {begin}{others}",
        remedy=REMEDY,
        evidence={"environments": envs[:LISTED_AT_MOST], "who": envs_named(envs)},
        transition=again.transition if again.transition >= 0 else None,
    )


def _native(one: Seeded) -> tuple[int, int] | None:
    return (one.row, one.row) if one.row >= 0 else None
