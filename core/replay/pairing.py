"""Which environment of one recording is which of another, by how they begin."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from isoscope.core.recording.model import StepKind
from isoscope.core.replay.fields import states

if TYPE_CHECKING:
    from isoscope.core.isolation.context import Examined
    from isoscope.core.recording.tracks import Array
    from isoscope.core.replay.episodes import Episode
    from isoscope.core.replay.fields import Field

How: TypeAlias = Literal["starts", "middle", "nearest", "number"]
Ends: TypeAlias = tuple[int, int]  # an environment of A and one of B
# Nearest starts are believed only if the next nearest is this much farther off ...
NEARER = 10.0
# ... and if their poses differ by no more [m or rad] than other rounding, or one short
# step under other configuration, makes of them. A velocity over so short a step is
# mostly rounding.
NEAR = 1e-4
# Environments that begin alike are told apart by their first steps, up to this many.
FIRST_STEPS = 64
TOLD_APART = 64
# Beginnings in the middle of an episode that are looked for among all other steps.
SOUGHT = 64


class Starts:
    """The states that the whole episodes of one recording begin in.

    Parameters
    ----------
    fields
        What both recordings hold.
    side
        ``"a"`` or ``"b"``.
    examined
        The recording on that side.
    episodes
        Of each environment.
    """

    def __init__(
        self,
        fields: list[Field],
        side: str,
        examined: Examined,
        episodes: dict[int, list[Episode]],
    ) -> None:
        self._fields, self._side = fields, side
        self._poses = [f for f in fields if f.kind == "pose"]
        self.episodes = episodes
        self.environments = set(episodes)
        whole = [e for own in episodes.values() for e in own if e.whole]
        rows = np.array([e.rows[0] for e in whole], np.int64)
        found = states(fields, side, rows)
        self.by_state: dict[bytes, list[Episode]] = {}
        self.first: dict[int, Episode] = {}
        for episode, state in zip(whole, found, strict=True):
            if state.size and np.isfinite(state).any():
                self.by_state.setdefault(state.tobytes(), []).append(episode)
                self.first.setdefault(episode.env, episode)
        self.ambiguous = self._ambiguous(examined)

    def _ambiguous(self, examined: Examined) -> set[bytes]:
        """States in which several environments, or unknown ones, were reset."""
        labels = examined.attribution.labels
        rows = np.flatnonzero(labels.kind == StepKind.RESET)
        whose: dict[bytes, set[int]] = {}
        found = states(self._fields, self._side, rows)
        for state, env in zip(found, labels.env[rows].tolist(), strict=True):
            whose.setdefault(state.tobytes(), set()).add(env)
        return {state for state, envs in whose.items() if len(envs) > 1 or -1 in envs}

    def first_steps(self, env: int) -> Array:
        """States float64 [n, D] of the first steps of its first whole episode."""
        rows = self.first[env].rows[:FIRST_STEPS]
        return states(self._fields, self._side, rows)

    def poses(self, envs: list[int]) -> Array:
        """The poses float64 [n, D] that these environments begin in."""
        rows = np.array([self.first[env].rows[0] for env in envs], np.int64)
        return states(self._poses, self._side, rows)

    def begun_in_the_middle(self, envs: set[int]) -> dict[int, Array]:
        """The first state of those environments of which no beginning is recorded."""
        cut = [e for e in sorted(envs) if not self.episodes[e][0].whole]
        rows = np.array([self.episodes[e][0].rows[0] for e in cut], np.int64)
        found = states(self._fields, self._side, rows)
        return {e: s for e, s in zip(cut, found, strict=True) if np.isfinite(s).any()}

    def find(self, wanted: list[Array], envs: set[int]) -> list[int | None]:
        """Which of these environments was ever in each of these states, if one was."""
        found: list[set[int]] = [set() for _ in wanted]
        for env in sorted(envs):
            for episode in self.episodes[env]:
                there = states(self._fields, self._side, episode.rows)
                for who, state in zip(found, wanted, strict=True):
                    same = (there == state) | (np.isnan(there) & np.isnan(state))
                    if same.all(axis=1).any():
                        who.add(env)
        return [who.pop() if len(who) == 1 else None for who in found]


def pair_up(a: Starts, b: Starts) -> list[tuple[int, int, How]]:
    """Pair environments: those that begin alike, the nearest ones, then by number."""
    pairs: list[tuple[int, int, How]] = []
    free_a, free_b = set(a.environments), set(b.environments)

    def take(env: int, twin: int, how: How) -> None:
        if env in free_a and twin in free_b:
            pairs.append((env, twin, how))
            free_a.remove(env)
            free_b.remove(twin)

    for env, twin in _begin_alike(a, b):
        take(env, twin, "starts")
    for env, twin in _from_the_middle(a, b, free_a, free_b):
        take(env, twin, "middle")
    for env, twin in _nearest(a, b, free_a, free_b):
        take(env, twin, "nearest")
    # Numbers mean the same in both, unless the starts have shown that they don't.
    if all(env == twin for env, twin, _ in pairs):
        for env in sorted(free_a & free_b):
            take(env, env, "number")
    return sorted(pairs)


def _begin_alike(a: Starts, b: Starts) -> list[Ends]:
    """Pairs that have starts in common, to the last bit; the most alike first."""
    votes: Counter[Ends] = Counter()
    doubtful: set[Ends] = set()
    for state, episodes in a.by_state.items():
        doubt = state in a.ambiguous or state in b.ambiguous
        for one in episodes:
            for other in b.by_state.get(state, ()):
                # The same episode says more than another that begins alike.
                key = (one.env, other.env)
                votes[key] += 2 if one.number == other.number else 1
                if doubt:
                    doubtful.add(key)
    alike = _same_first_steps(a, b, doubtful)
    # Where many begin alike, only what they do then says which is which.
    believed = [k for k in votes if k not in doubtful or alike[k] > 1]
    return sorted(believed, key=lambda k: (-alike[k], -votes[k], k[0] != k[1], k))


def _same_first_steps(a: Starts, b: Starts, asked: set[Ends]) -> Counter[Ends]:
    """How many first steps are equal, for those whose starts leave a choice."""
    alike: Counter[Ends] = Counter()
    if len(asked) > TOLD_APART**2:
        return alike
    mine = {env: a.first_steps(env) for env in {k[0] for k in asked}}
    theirs = {twin: b.first_steps(twin) for twin in {k[1] for k in asked}}
    for env, twin in asked:
        one, two = mine[env], theirs[twin]
        n = min(len(one), len(two))
        same = (one[:n] == two[:n]) | (np.isnan(one[:n]) & np.isnan(two[:n]))
        alike[env, twin] = int(np.cumprod(same.all(axis=1)).sum())
    return alike


def _from_the_middle(
    a: Starts, b: Starts, free_a: set[int], free_b: set[int]
) -> list[Ends]:
    """Pairs of which one begins in a state that the other had on its way."""
    found = []
    theirs = b.begun_in_the_middle(free_b)
    if 0 < len(theirs) <= SOUGHT:
        who = a.find(list(theirs.values()), free_a)
        found += [(e, t) for t, e in zip(theirs, who, strict=True) if e is not None]
    mine = a.begun_in_the_middle(free_a)
    if 0 < len(mine) <= SOUGHT:
        who = b.find(list(mine.values()), free_b)
        found += [(e, t) for e, t in zip(mine, who, strict=True) if t is not None]
    return found


def _nearest(a: Starts, b: Starts, free_a: set[int], free_b: set[int]) -> list[Ends]:
    """Pairs whose first starts are near, and nearer than to any other."""
    envs = [env for env in sorted(free_a) if env in a.first]
    twins = [twin for twin in sorted(free_b) if twin in b.first]
    others = b.poses(twins)
    if not envs or not twins or others.shape[1] == 0:
        return []
    apart = np.stack([_distance(one, others) for one in a.poses(envs)])
    found = []
    for i, row in enumerate(apart):
        k = int(np.argmin(row))
        rivals = np.concatenate([np.delete(row, k), np.delete(apart[:, k], i)])
        if row[k] <= NEAR and row[k] * NEARER <= rivals.min(initial=np.inf):
            found.append((envs[i], twins[k]))
    return found


def _distance(one: Array, many: Array) -> Array:
    """The largest difference to each of many states [n, D]; inf if none is known."""
    off = np.abs(many - one)
    known = np.isfinite(off)
    worst = np.where(known, off, 0.0).max(axis=1)
    return np.asarray(np.where(known.any(axis=1), worst, np.inf))


def offsets(pairs: list[Ends], a: Starts, b: Starts) -> dict[Ends, int]:
    """By how much the numbers of equal episodes differ in each pair.

    They do where one recording began in the middle.
    """
    wanted = set(pairs)
    seen: dict[Ends, Counter[int]] = {}
    for state, episodes in a.by_state.items():
        for one in episodes:
            for other in b.by_state.get(state, ()):
                key = (one.env, other.env)
                if key in wanted:
                    off = other.number - one.number
                    seen.setdefault(key, Counter())[off] += 1
    return {
        key: min(counts, key=lambda off: (-counts[off], abs(off)))
        for key, counts in seen.items()
    }
