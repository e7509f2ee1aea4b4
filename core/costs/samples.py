"""Entries added up by control step: one sample a control step, reset or wait.

A profiler tells a step's entries together, so a sample is a run of entries of one
environment that go with the same transition (or, without one, the same native row; and
without either, from one entry at the top to the next).
Entries of one name in one sample are added up: a stage that is passed M times.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import Array, BoolArray

_LEAST = 256


class Phase(IntEnum):
    """When in the run a sample was."""

    INITIALISATION = 0  # before the environment's first control step
    FIRST = 1  # that step, which makes and compiles what the others find
    STEADY = 2  # all other control steps, and waits between them
    RESET = 3  # resets later on


class What(IntEnum):
    """What a sample is of."""

    STEP = 0
    RESET = 1
    WAIT = 2


class Samples:
    """Sums by sample and kind of entry, which only grow in number.

    Attributes
    ----------
    values
        float64 [n, kinds]: NaN where the sample has no such entry.
    env, row, transition
        [n]: whose; the native row and the transition told with it, or -1.
    phase, what
        [n] of `Phase` and `What`.
    """

    def __init__(self) -> None:
        self._count = 0
        self._values: Array = np.full((_LEAST, 0), np.nan)
        self._about: Array = np.zeros((_LEAST, 5), np.int64)
        # By environment: its last sample, what that goes with, and what it is of.
        self._open: dict[int, tuple[int, int, int]] = {}
        self._stepped: set[int] = set()

    def __len__(self) -> int:
        """How many."""
        return self._count

    @property
    def values(self) -> Array:
        """See the class."""
        return self._values[: self._count]

    @property
    def env(self) -> Array:
        """See the class."""
        return self._about[: self._count, 0]

    @property
    def row(self) -> Array:
        """See the class."""
        return self._about[: self._count, 1]

    @property
    def transition(self) -> Array:
        """See the class."""
        return self._about[: self._count, 2]

    @property
    def phase(self) -> Array:
        """See the class."""
        return self._about[: self._count, 3]

    @property
    def what(self) -> Array:
        """See the class."""
        return self._about[: self._count, 4]

    def add(
        self,
        kind: Array,
        value: Array,
        env: Array,
        transition: Array,
        row: Array,
        what_of_kind: Array,
        top_of_kind: Array,
    ) -> None:
        """Take in a block of entries, in the order in which they were told.

        Parameters
        ----------
        kind, value, env, transition, row
            [n]; see `Entries.update`. Values in their base units.
        what_of_kind
            [kinds] of `What`: what an entry of each kind belongs to; -1 for one that
            goes with the entries before it, such as a copy's.
        top_of_kind
            Bool [kinds]: whether nothing contains it.
        """
        if not len(kind):
            return
        self._room(kinds=len(what_of_kind))
        order = np.argsort(env, kind="stable")
        told = [column[order] for column in (kind, value, env, transition, row)]
        kind, value, env, transition, row = told
        new_env = np.diff(env, prepend=env[0] - 1) != 0
        what = self._what(what_of_kind[kind], env, np.flatnonzero(new_env))
        # Even and odd, so that a transition and a row of one number differ.
        goes_with = np.where(transition >= 0, 2 * transition, 2 * row + 1)
        goes_with = 3 * goes_with + what
        begins = new_env.copy()
        begins[1:] |= np.diff(goes_with) != 0
        nowhere = top_of_kind[kind] & (what_of_kind[kind] >= 0)
        begins |= nowhere & (transition < 0) & (row < 0)
        about = np.stack([env.astype(np.int64), row, transition, what], axis=1)
        sample = self._sample_of(order, begins, goes_with, about)
        for at in np.flatnonzero(np.diff(env, append=env[-1] + 1)).tolist():
            left = (int(sample[at]), int(goes_with[at]), int(what[at]))
            self._open[int(env[at])] = left
        known = ~np.isnan(value)
        where = (sample[known], kind[known])
        self._values[where] = np.nan_to_num(self._values[where])
        np.add.at(self._values, where, value[known])

    def _what(self, what: Array, env: Array, firsts: Array) -> Array:
        """What each entry belongs to, [n]; sorted by environment."""
        for at in firsts.tolist():
            if what[at] < 0:
                before = self._open.get(int(env[at]))
                what[at] = What.STEP if before is None else before[2]
        place = np.where(what >= 0, np.arange(len(what)), 0)
        filled: Array = what[np.maximum.accumulate(place)]
        return filled

    def _sample_of(
        self, order: Array, begins: Array, goes_with: Array, about: Array
    ) -> Array:
        """The sample of each entry [n], sorted by environment; makes the new ones.

        Parameters
        ----------
        order
            [n]: the entry's place in the order in which they were told.
        begins
            Bool [n]: whether a sample begins, as far as this block says.
        about
            [n, 4]: environment, row, transition, what.
        """
        env, goes_on = about[:, 0], {}
        for at in np.flatnonzero(np.diff(env, prepend=env[0] - 1)).tolist():
            last = self._open.get(int(env[at]))
            top_again = about[at, 1] < 0 and about[at, 2] < 0
            if last is not None and last[1] == int(goes_with[at]) and not top_again:
                begins[at] = False  # the block before ended in the midst of it
                goes_on[at] = last[0]
        # Numbered in the order in which they were told, not by environment.
        firsts = np.flatnonzero(begins)
        rank = np.argsort(order[firsts])
        firsts = firsts[rank]
        sample = np.full(len(order), -1, np.int64)
        sample[firsts] = self._count + np.arange(len(firsts))
        for at, number in goes_on.items():
            sample[at] = number
        place = np.where(sample >= 0, np.arange(len(sample)), 0)
        sample = sample[np.maximum.accumulate(place)]
        self._room(more=len(firsts))
        made = slice(self._count, self._count + len(firsts))
        self._about[made, :3] = about[firsts, :3]
        self._about[made, 4] = about[firsts, 3]
        self._count = made.stop
        self._tell_phases(made)
        return sample

    def _tell_phases(self, made: slice) -> None:
        """Say of the new samples when in the run they were."""
        env, what = self._about[made, 0], self._about[made, 4]
        phase = np.where(what == What.RESET, Phase.RESET, Phase.STEADY)
        for new in set(np.unique(env).tolist()) - self._stepped:
            own = np.flatnonzero(env == new)
            steps = own[what[own] == What.STEP]
            before = own if not len(steps) else own[own < steps[0]]
            phase[before] = Phase.INITIALISATION
            if len(steps):
                phase[steps[0]] = Phase.FIRST
                self._stepped.add(new)
        self._about[made, 3] = phase

    def _room(self, more: int = 0, kinds: int = 0) -> None:
        rows, wide = self._values.shape
        needed = self._count + more
        if kinds > wide or needed > rows:
            size = (max(rows, 2 * needed if needed > rows else 0), max(wide, kinds))
            values = np.full(size, np.nan)
            values[: self._count, :wide] = self._values[: self._count]
            about = np.zeros((size[0], 5), np.int64)
            about[: self._count] = self._about[: self._count]
            self._values, self._about = values, about


def last_steps(samples: Samples, many: int) -> BoolArray:
    """Bool [n]: the last so many control steps of each environment, and what follows.

    What was told with them (waits, resets) between them is in it.
    """
    chosen = np.zeros(len(samples), np.bool_)
    env, what = samples.env, samples.what
    for own_env in np.unique(env).tolist():
        own = np.flatnonzero(env == own_env)
        steps = own[what[own] == What.STEP]
        first = int(steps[-many]) if len(steps) >= many else 0
        chosen[own[own >= first]] = True
    return chosen
