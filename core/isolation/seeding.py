"""With which seed each environment began each episode, as far as it is told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from isoscope.core.isolation.labelled_context import LabelledContext

NEEDS = "the seeds of resets, or of the identity, as the tap records them"


@dataclass(frozen=True, slots=True)
class Seeded:
    """An environment that was given a seed.

    Attributes
    ----------
    row
        The reset's native row; -1 where it has none.
    transition
        The reset's transition; -1 where it has none.
    """

    env: int
    episode: int
    seed: Any
    row: int
    transition: int


def seeded(window: LabelledContext) -> list[Seeded]:
    """Every seed that was given, in the order in which they came.

    Where resets tell no seed, those of the identity count for the first episodes.
    """
    table = window.resets
    found = [
        Seeded(
            int(table.env[i]),
            int(table.episode[i]),
            seed,
            int(table.row[i]),
            int(table.transition[i]),
        )
        for i, seed in enumerate(table.seeds)
        if seed is not None and int(table.env[i]) >= 0
    ]
    known = {one.env for one in found}
    told = [
        Seeded(env, 1, seed, window.next_row(env, 0), -1)
        for env, seed in enumerate(window.identity.seeds)
        if seed is not None and env not in known
    ]
    return [*told, *found]


def seeds_by_env(window: LabelledContext) -> dict[int, list[tuple[int, Any]]]:
    """By environment, the episode and seed of each seed that it was given."""
    found: dict[int, list[tuple[int, Any]]] = {}
    for one in seeded(window):
        found.setdefault(one.env, []).append((one.episode, one.seed))
    return found


def seed_at(given: list[tuple[int, Any]], episode: int) -> Any:
    """The last of an environment's seeds up to an episode; None before the first."""
    known = [seed for begun, seed in given if begun <= episode]
    return known[-1] if known else None


def alike(window: LabelledContext) -> list[tuple[Seeded, Seeded]]:
    """Resets after which a generator stands where it stood after an earlier reset.

    So both had the same seed, although nobody has seen it given. Pairs of the first
    such reset and each later one, in their order.
    """
    table = window.transitions
    at = np.flatnonzero((table.valid == 0) & (table.rng != 0))
    stepped = table.first_row[at] >= 0
    if stepped.any():
        at = at[stepped]  # the others were told, and nothing was done
    order = at[np.argsort(table.rng[at], kind="stable")]
    key = table.rng[order]
    before = table.previous()
    groups = np.split(order, np.flatnonzero(np.diff(key)) + 1)
    # Where resets draw nothing, a generator stands still, whoever seeds it or not.
    draws = any(
        len(np.unique(table.rng[own])) > 1
        for env in table.environments
        if len(own := at[table.env[at] == env]) > 1
    )
    pairs = []
    for group in groups:
        first = int(group[0]) if len(group) else -1
        for t in group[1:].tolist():
            stood = before[t] >= 0 and table.rng[before[t]] == table.rng[t]
            same = table.env[t] == table.env[first]
            if not stood or (same and draws):
                pairs.append((_reset_at(window, first), _reset_at(window, t)))
    return sorted(pairs, key=lambda pair: pair[1].transition)


def _reset_at(window: LabelledContext, t: int) -> Seeded:
    table = window.transitions
    row = int(table.first_row[t])
    return Seeded(int(table.env[t]), int(table.episode[t]), None, row, table.first + t)
