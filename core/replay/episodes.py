"""The episodes of a recording: each environment's own steps, in their order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.isolation.bare_steps import given_up
from isoscope.core.recording.model import StepKind

if TYPE_CHECKING:
    from isoscope.core.isolation.context import Examined
    from isoscope.core.recording.tracks import Array


@dataclass(frozen=True, slots=True, eq=False)
class Episode:
    """One environment's native steps from a reset (or the beginning) to the next.

    Attributes
    ----------
    env, number
        Whose, and which of its episodes.
    rows
        int64 [n]: its native steps, ascending.
    whole
        Whether it begins with its reset.
    free
        Whether it belongs to a scene that nobody resets.
    last
        Whether the recording holds no later one of this environment, so that it may
        have gone on after the recording's end.
    """

    env: int
    number: int
    rows: Array
    whole: bool
    free: bool
    last: bool


def episodes_of(examined: Examined) -> dict[int, list[Episode]]:
    """The episodes of each environment, in order; steps of nobody are in none."""
    labels = examined.attribution.labels
    of_somebody = (labels.env >= 0) & (labels.episode >= 0)
    if np.isin(labels.kind, (StepKind.SUBSTEP, StepKind.RESET)).any():
        # Among steps of environments, free ones are nobody's.
        of_somebody &= labels.kind != StepKind.FREE
        of_somebody[given_up(examined)] = False
    known = np.flatnonzero(of_somebody)
    if not len(known):
        return {}
    env, number = labels.env[known], labels.episode[known]
    order = np.lexsort((known, number, env))
    known, env, number = known[order], env[order], number[order]
    cut = (np.diff(env, prepend=-1) != 0) | (np.diff(number, prepend=-1) != 0)
    starts = np.flatnonzero(cut).tolist()
    found: dict[int, list[Episode]] = {}
    for start, stop in zip(starts, [*starts[1:], len(known)], strict=True):
        rows = known[start:stop]
        kind = labels.kind[rows[0]]
        whose = int(env[start])
        last = stop == len(known) or int(env[stop]) != whose
        found.setdefault(whose, []).append(
            Episode(
                whose,
                int(number[start]),
                rows,
                whole=bool(kind == StepKind.RESET),
                free=bool(kind == StepKind.FREE),
                last=last,
            )
        )
    return found
