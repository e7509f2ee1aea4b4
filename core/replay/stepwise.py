"""Compares re-simulated states with the recorded ones, block by block."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.replay.differences import sizes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from isoscope.core.recording.tracks import Array, BoolArray
    from isoscope.core.replay.states import Keeper
    from isoscope.core.replay.tape import StateField

BLOCK = 256  # steps compared together
GROWTH = 24  # steps after a divergence of which the size is kept


@dataclass(slots=True)
class First:
    """The first divergence: where, in which field, by how much."""

    row: int
    field: StateField
    size: float
    recorded: Any
    here: Any
    equal_steps: int


@dataclass(slots=True)
class FieldSeen:
    """One field of one environment over all compared steps."""

    field: StateField
    largest: float = 0.0
    at: int = -1
    compared: int = 0
    differing: int = 0
    beyond: int = 0
    other_bits: int = 0
    both_nan: int = 0


@dataclass(slots=True)
class EnvSeen:
    """What was seen of one environment.

    Attributes
    ----------
    compared, differing, beyond
        Native steps compared, those in which any field differs, and those in which one
        does by more than its tolerance.
    growth
        Row and size of the first divergence's field, from there on.
    states_equal, states_other
        Recorded snapshots passed whose bytes were those of the state here, and others.
    """

    env: int
    fields: list[FieldSeen] = field(default_factory=list)
    compared: int = 0
    differing: int = 0
    beyond: int = 0
    first: First | None = None
    growth: list[tuple[int, float]] = field(default_factory=list)
    states_equal: int = 0
    states_other: int = 0
    first_other_state: int = -1


class Stepwise:
    """Takes states as they are stepped.

    Parameters
    ----------
    fields
        What is compared, and with what.
    tolerances
        By field's name, in its unit; fields that are not in it have `relative`.
    relative
        |a - b| may be this times (1 + the larger of |a| and |b|).
    by_bits
        Whether any difference is a divergence, or only one beyond the tolerance.
    keeper
        Takes the states and the differences, to be looked at; None keeps none.
    """

    def __init__(
        self,
        fields: list[StateField],
        tolerances: Mapping[str, float],
        relative: float,
        *,
        by_bits: bool,
        keeper: Keeper | None = None,
    ) -> None:
        self.fields = fields
        self.envs: dict[int, EnvSeen] = {}
        self._tolerances = dict(tolerances)
        self._relative = relative
        self._by_bits = by_bits
        self._keeper = keeper
        self._rows: dict[int, list[int]] = {}
        self._values: dict[int, list[list[Array]]] = {}

    def env(self, number: int) -> EnvSeen:
        """What was seen of an environment so far."""
        found = self.envs.get(number)
        if found is None:
            found = EnvSeen(number, [FieldSeen(one) for one in self.fields])
            self.envs[number] = found
            self._rows[number], self._values[number] = [], []
        return found

    def add(self, env: int, row: int, values: list[Array]) -> None:
        """Take one step's state, a value a field."""
        self.env(env)
        self._rows[env].append(row)
        self._values[env].append(values)
        if len(self._rows[env]) >= BLOCK:
            self._flush(env)

    def state(self, env: int, row: int, *, equal: bool) -> None:
        """Take whether the state is the one that a snapshot after `row` holds."""
        seen = self.env(env)
        if equal:
            seen.states_equal += 1
            return
        seen.states_other += 1
        if seen.first_other_state < 0:
            seen.first_other_state = row

    def configured_otherwise(self, row: int) -> None:
        """Take that a step is taken under another configuration than was recorded.

        Told before the step itself.
        """

    def set_by_hand(self, row: int) -> None:
        """Take that somebody set the state before a step, in the recording only.

        Told before the step itself.
        """

    def judged(self, env: int, rows: Array, differs: BoolArray) -> BoolArray:
        """Which of these steps [n] are a divergence, of those that differ."""
        return differs

    def finish(self) -> None:
        """Compare what waits."""
        for env in self.envs:
            self._flush(env)

    def _flush(self, env: int) -> None:
        rows = np.array(self._rows[env], np.int64)
        if not len(rows):
            return
        values, seen = self._values[env], self.envs[env]
        self._rows[env], self._values[env] = [], []
        n = len(rows)
        largest = np.zeros((len(self.fields), n))
        beyond = np.zeros((len(self.fields), n), np.bool_)
        recorded_of: list[Array] = []
        for k, one in enumerate(seen.fields):
            here = np.stack([step[k] for step in values]).reshape(n, -1)
            recorded, valid = _recorded(one.field, rows)
            recorded = recorded.reshape(n, -1)
            recorded_of.append(recorded)
            largest[k], beyond[k] = self._compare(one, rows, recorded, here, valid)
            if self._keeper is not None:
                allowed = self._tolerances.get(one.field.name)
                self._keeper.take(env, one.field, rows, recorded, here, valid, allowed)
        differs = (largest > 0).any(axis=0)
        any_beyond = beyond.any(axis=0)
        worse = np.asarray(differs if self._by_bits else any_beyond)
        judged = self.judged(env, rows, worse)
        for at in np.flatnonzero(judged)[:1] if seen.first is None else ():
            worth = largest[:, at] if self._by_bits else largest[:, at] * beyond[:, at]
            k = int(np.argmax(np.nan_to_num(worth, posinf=np.finfo(float).max)))
            chosen = self.fields[k]
            seen.first = First(
                row=int(rows[at]),
                field=chosen,
                size=float(largest[k, at]),
                recorded=recorded_of[k][at].tolist(),
                here=np.asarray(values[at][k]).reshape(-1).tolist(),
                equal_steps=seen.compared + int(at),
            )
        self._grow(seen, rows, largest)
        seen.compared += n
        seen.differing += int(differs.sum())
        seen.beyond += int(any_beyond.sum())

    def _grow(self, seen: EnvSeen, rows: Array, largest: Array) -> None:
        first, room = seen.first, GROWTH - len(seen.growth)
        if first is None or room <= 0:
            return
        k = next(i for i, one in enumerate(self.fields) if one is first.field)
        after = np.flatnonzero(rows >= first.row)[:room]
        seen.growth += [(int(rows[i]), float(largest[k, i])) for i in after]

    def _compare(
        self, one: FieldSeen, rows: Array, recorded: Array, here: Array, valid: Array
    ) -> tuple[Array, Array]:
        """The largest difference of each step [n], and whether it is beyond [n]."""
        n = len(rows)
        largest, beyond = np.zeros(n), np.zeros(n, np.bool_)
        one.compared += int(valid.sum())
        nan = np.isnan(recorded) & np.isnan(here)
        one.both_nan += int((nan.any(axis=1) & valid).sum())
        unsigned = f"u{here.dtype.itemsize}"
        other = recorded.view(unsigned) != here.view(unsigned)
        look = np.flatnonzero(valid & (other & ~nan).any(axis=1))
        if not len(look):
            return largest, beyond
        size, scale = sizes(recorded[look], here[look], one.field.rotation)
        largest[look] = size.max(axis=1, initial=0.0)
        allowed = self._tolerances.get(one.field.name)
        limit = self._relative * (1.0 + scale) if allowed is None else allowed
        beyond[look] = (size > limit).any(axis=1)
        one.differing += int((largest > 0).sum())
        one.other_bits += int((largest[look] == 0).sum())
        one.beyond += int(beyond.sum())
        worst = int(np.argmax(largest))
        if largest[worst] > one.largest:
            one.largest, one.at = float(largest[worst]), int(rows[worst])
        return largest, beyond


def _recorded(field: StateField, rows: Array) -> tuple[Array, Array]:
    """Values [n, *shape] and whether they are there [n]; contiguous."""
    start, stop = int(rows[0]), int(rows[-1]) + 1
    window = field.track.read(start, stop)
    values = np.ascontiguousarray(window.values[rows - start])
    return values, np.asarray(window.valid[rows - start])
