"""Under whose configuration each step was taken, and whom a change of it reached.

A bare recording tells gravity of it; a labelled one a digest of all. Such a value is
constant over *runs* of native steps. The environment that takes a run's
first step is the suspect: it, or something just before its step, set the value. Another
environment is reached if it then steps under a value that is not its own.

Its own are the value that it began under, and one that it keeps putting back: it
stepped first under that value at least twice, and came to it that way; or it took its
first control step under that value and again and again came back to it while the scene
had others. So environments that each set their own value before their steps reach
nobody, in whatever order they step; and a value that is put back is no second change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.recording.model import StepKind

if TYPE_CHECKING:
    from isoscope.core.isolation.context import Examined
    from isoscope.core.recording.tracks import Array

KEEPS_PUTTING_BACK = 2
COMES_BACK = 3  # runs of one value


@dataclass(frozen=True, slots=True)
class Change:
    """A change of the value, and whom it reached.

    Attributes
    ----------
    before, after
        The last native step under the old value, and the first under the new one.
    last
        The last native step under the new one.
    suspect
        The environment that took step `after`; -1 where unknown.
    reached
        Environment and its first native step under the new value, in order of these.
    only
        Whether it is the recording's first change and nobody but the suspect has a turn
        between it and the end, so that whom it reaches is still open.
    """

    before: int
    after: int
    last: int
    suspect: int
    reached: tuple[tuple[int, int], ...]
    only: bool


class Runs:
    """Runs of one value, over the rows of one scene in which it is known.

    Parameters
    ----------
    rows
        int64 [n]: native steps whose value is known, ascending.
    known
        [n] or [n, k]: the value in them.
    env, reset
        [n]: whose each is, and whether it is a reset's own.

    Attributes
    ----------
    rows, env, reset
        As given.
    value, run
        int64 [n]: a number for the value, and the run.
    starts
        int64 [k]: index into `rows` of each run's first step.
    changer
        int64 [k]: who brought each run's value: its first step's environment, unless
        somebody knows better and says so.
    """

    def __init__(self, rows: Array, known: Array, env: Array, reset: Array) -> None:
        self.rows = rows
        known = known.reshape(len(rows), -1)
        cut = np.ones(len(known), np.bool_)
        cut[1:] = (known[1:] != known[:-1]).any(axis=1)
        self.starts = np.flatnonzero(cut)
        self.run = np.cumsum(cut) - 1
        # -0.0 and 0.0 are one value.
        zero = np.zeros(1, known.dtype)
        _, value = np.unique(known[self.starts] + zero, axis=0, return_inverse=True)
        self.value = value.reshape(-1).astype(np.int64)[self.run]
        self.env = env.astype(np.int64)
        self.reset = reset
        self.changer = self.env[self.starts]

    @classmethod
    def of_gravity(cls, subject: Examined) -> Runs:
        """Runs of one gravity."""
        gravity = subject.recording.steps.gravity[: len(subject.attribution)]
        labels = subject.attribution.labels
        rows = np.flatnonzero(np.isfinite(gravity).all(axis=1))
        reset = labels.kind[rows] == StepKind.RESET
        return cls(rows, gravity[rows], labels.env[rows], reset)

    def own_before(self) -> Array:
        """The value of each environment's step before; -1 where it had none."""
        order = np.lexsort((np.arange(len(self.env)), self.env))
        env, value = self.env[order], self.value[order]
        before = np.full(len(env), -1, np.int64)
        same = np.flatnonzero(env[1:] == env[:-1]) + 1
        before[same] = value[same - 1]
        found = np.empty(len(env), np.int64)
        found[order] = before
        return found

    def own_values(self, before: Array) -> set[tuple[int, int]]:
        """Pairs (environment, value): the values that are an environment's own."""
        own = self._began_under()
        by_itself = self.changer == self.env[self.starts]
        first = self.starts[by_itself & (self.changer >= 0)]
        pairs = np.stack([self.env[first], self.value[first]], axis=1)
        came = before[first] != self.value[first]
        many, counts = np.unique(pairs, axis=0, return_counts=True)
        introduced = {(int(e), int(v)) for e, v in pairs[came]}
        for (env, value), count in zip(many.tolist(), counts.tolist(), strict=True):
            if count >= KEEPS_PUTTING_BACK and (env, value) in introduced:
                own.add((env, value))
        return own

    def _began_under(self) -> set[tuple[int, int]]:
        """What each environment began under, or chose for its first step."""
        starts = np.zeros(len(self.rows), np.bool_)
        starts[self.starts[self.changer == self.env[self.starts]]] = True
        envs, first = np.unique(self.env, return_index=True)
        # One that appears under a value that somebody else had set began under that of
        # the recording.
        usual = np.where((self.run[first] == 0) | starts[first], first, 0)
        began = dict(zip(envs.tolist(), self.value[usual].tolist(), strict=True))
        steps = np.flatnonzero(~self.reset)
        envs, first = np.unique(self.env[steps], return_index=True)
        chose = starts[steps[first]]
        chosen = self.value[steps[first]]
        began.update(zip(envs[chose].tolist(), chosen[chose].tolist(), strict=True))
        found = set(began.items()) | self._comes_back(steps, envs, chosen)
        return {(env, value) for env, value in found if env >= 0}

    def _comes_back(
        self, steps: Array, envs: Array, chosen: Array
    ) -> set[tuple[int, int]]:
        """Environments that step in several runs of the value of their first step."""
        table = np.full(int(self.env.max(initial=0)) + 2, -1, np.int64)
        table[envs] = chosen
        inside = steps[self.value[steps] == table[self.env[steps]]]
        visits = np.unique(
            np.stack([self.env[inside], self.run[inside]], axis=1), axis=0
        )
        who, count = np.unique(visits[:, 0], return_counts=True)
        return {(int(e), int(table[e])) for e in who[count >= COMES_BACK]}


def changes(subject: Examined) -> list[Change]:
    """All changes of gravity that reached somebody, or whose reach is still open."""
    return changes_of(Runs.of_gravity(subject))


def changes_of(runs: Runs) -> list[Change]:
    """All changes that reached somebody, or whose reach is still open."""
    if len(runs.starts) < 2:
        return []
    reached = _reached(runs)
    found = []
    ends = [*(runs.starts[1:] - 1).tolist(), len(runs.rows) - 1]
    for number in range(1, len(runs.starts)):
        start = int(runs.starts[number])
        suspect = int(runs.changer[number])
        others = reached.get(number, ())
        only = (
            not others
            and number == len(runs.starts) - 1 == 1
            and suspect >= 0
            and bool((runs.env[start:] == suspect).all())
        )
        if others or only:
            found.append(
                Change(
                    int(runs.rows[start - 1]),
                    int(runs.rows[start]),
                    int(runs.rows[ends[number]]),
                    suspect,
                    tuple(others),
                    only,
                )
            )
    return found


def _reached(runs: Runs) -> dict[int, list[tuple[int, int]]]:
    """By run: the environments that it reached, and their first native steps in it."""
    starter = runs.changer[runs.run]
    before = runs.own_before()
    came = (before != runs.value) & (runs.env >= 0) & (runs.env != starter)
    came &= runs.run > 0
    own = runs.own_values(before)
    width = int(runs.env.max(initial=0)) + 1
    # A reset's own step is too short to matter, unless more follows it.
    stepped = np.unique((runs.run * width + runs.env)[~runs.reset & (runs.env >= 0)])
    found: dict[int, list[tuple[int, int]]] = {}
    at = np.flatnonzero(came)
    at = at[np.isin(runs.run[at] * width + runs.env[at], stepped)]
    for i in at.tolist():
        env = int(runs.env[i])
        if (env, int(runs.value[i])) not in own:
            found.setdefault(int(runs.run[i]), []).append((env, int(runs.rows[i])))
    return found
