"""With which seed each environment began each episode, as far as it is told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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
