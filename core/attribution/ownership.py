"""To which environment each lineage belongs, as far as that is proven.

Lineages are taken in the order of their first rows. One that begins anew (after a
reset, or from somebody else's state) continues an environment whose last lineage has
ended and that nobody has claimed yet. If there is exactly one, that is proven. If there
is none, it is a new environment. If there are several, more is needed:

- *habit*: wherever it is proven, a reset comes right behind the last step of its own
  environment. Then it does here, too.
- *silence*: an environment that is silent for much longer than pauses between turns
  last in this recording has ended; one that was active until shortly before the
  recording's end may just not have had its turn again.
- *order*: see `order`.

What remains open keeps an environment number of its own and is not linked.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.attribution.claims import Claim, Ownership
from isoscope.core.attribution.habits import (
    Pauses,
    belief_in_habit,
    first_step_of,
    is_bare,
    most_together,
    reset_twice,
)
from isoscope.core.attribution.lineages import Birth, Rewind

if TYPE_CHECKING:
    from isoscope.core.attribution.lineages import Lineage
    from isoscope.core.attribution.segments import Chains, Segment
    from isoscope.core.recording.tracks import BoolArray

# Below this chance of a pause as long as an environment's silence, it has ended.
UNLIKELY_PAUSE = 1e-3
BELIEVED = 0.95
# Where more have ended unclaimed than this, it can't be told who continues whom.
MANY = 1024
CERTAIN = 0.99


@dataclass(slots=True)
class _Open:
    """Ended lineages of which it is unknown who claimed them."""

    members: set[int] = field(default_factory=set)
    taken: int = 0


def assign(
    lineages: list[Lineage],
    lineage_of: list[int],
    chains: Chains,
    pauses: Pauses,
    twins: set[int],
    lost: BoolArray,
    *,
    dry: bool = False,
    resets_behind: bool = False,
) -> Ownership:
    """Give each lineage an environment.

    Parameters
    ----------
    lineages, lineage_of
        As `isoscope.core.attribution.lineages.lineages` gives them. A doubtful thief
        that turns out to be a rewind is merged into its victim's lineage.
    chains
        What they were made of.
    pauses
        Between two visits to a lineage.
    twins
        Rows that wait to be continued in a state equal to another such row's.
    lost
        bool [T]: rows with a state that is not finite.
    dry
        Leave the lineages as they are.
    resets_behind
        Whether the order of the turns shows that a reset comes right behind its
        environment's last step.
    """
    given = (lineages, lineage_of, chains, pauses, twins, lost)
    counted = _Assigner(*given, 0.0).run(dry=True)
    belief = belief_in_habit(counted, lineages)
    if resets_behind:
        belief = max(belief, CERTAIN)
    return _Assigner(*given, belief, counted.late > 0).run(dry)


class _Assigner:
    def __init__(
        self,
        lineages: list[Lineage],
        lineage_of: list[int],
        chains: Chains,
        pauses: Pauses,
        twins: set[int],
        lost: BoolArray,
        belief: float,
        strict: bool = False,
    ) -> None:
        self.lineages = lineages
        self.lineage_of = lineage_of
        self.chains = chains
        self.twins = twins
        self.lost = lost
        self.together = most_together(lineages)
        # Whether the recording began in the middle: somebody goes on who can't have
        # been seen before.
        self.from_the_middle = bool(lineages) and lineages[0].birth is not Birth.RESET
        self.belief = belief
        # Whether somebody is first seen by a reset, after a beginning in the middle.
        self.strict = strict
        self.pauses = pauses
        rows = len(chains)
        lasts = np.array([x.last for x in lineages], np.int64)
        # How likely it is that each is silent to the recording's end by chance.
        self.chance = pauses.chance(rows - 1 - lasts).tolist()
        self.out = Ownership(
            [Claim(-1) for _ in lineages], [-1 for _ in lineages], 0, 0, 0
        )
        self.by_end = sorted(lineages, key=lambda x: x.last)
        self.next_end = 0
        # Ended lineages, by index, that nobody has claimed; and of those, apart, the
        # resets that nobody stepped from.
        self.ended: dict[int, Lineage] = {}
        self.waiting: dict[int, Lineage] = {}
        self.first_step = first_step_of(chains)
        self.twice = reset_twice(lineages, self.first_step)
        self.open = _Open()
        self.grown: set[int] = set()  # lineages that took in others

    def run(self, dry: bool = False) -> Ownership:
        """Take the lineages in order. A dry run merges nothing."""
        for lineage in self.lineages:
            self._let_end(lineage.start)
            if self._too_many(lineage):
                continue
            if lineage.birth is Birth.RESET:
                self._reset(lineage)
            elif lineage.birth in (Birth.THIEF, Birth.COPY):
                self._thief(lineage, dry)
            elif lineage.birth is Birth.POOL:
                self._pool(lineage)
            else:
                self._root(lineage)
        segments = self.chains.segments
        for home in self.grown:
            self.lineages[home].rewinds.sort(key=lambda r: r.row)
            self.lineages[home].segments.sort(
                key=lambda s: (segments[s].start, segments[s].tip)
            )
        return self.out

    def _too_many(self, lineage: Lineage) -> bool:
        """Settle what would take too long to weigh, and can't be told anyway."""
        crowd = len(self.ended)
        if lineage.birth in (Birth.POOL, Birth.RESET):
            crowd -= MANY  # these look at few of them
        if crowd <= MANY or lineage.doubtful:
            return False
        self.out.claims[lineage.index] = Claim(self._new(), linked=False)
        self.out.claims[lineage.index].gap = lineage.birth is Birth.FIRST
        return True

    # -- who can be claimed ----------------------------------------------------------

    def _let_end(self, row: int) -> None:
        while (
            self.next_end < len(self.by_end) and self.by_end[self.next_end].last < row
        ):
            lineage = self.by_end[self.next_end]
            self.next_end += 1
            # Who left one of several equal states was continued, if not by whom.
            if self.out.merged[lineage.index] >= 0 or self._pooled(lineage):
                continue
            bare = is_bare(lineage)
            (self.waiting if bare else self.ended)[lineage.index] = lineage

    def _pooled(self, lineage: Lineage) -> bool:
        return lineage.last in self.chains.pools

    def _surely_over(self, lineage: Lineage) -> bool:
        return bool(self.chance[lineage.index] < UNLIKELY_PAUSE)

    def _maybe_unseen(self, lineage: Lineage) -> bool:
        """Whether one that was not seen before may only now have its first turn."""
        pause = float(self.pauses.chance(np.array([lineage.start]))[0])
        return self.from_the_middle and pause > UNLIKELY_PAUSE

    def _likeliest(self, candidates: list[Lineage]) -> tuple[Lineage, float]:
        """Whose silence is least likely to be a pause, and how sure that is.

        One of them has ended; the others are only silent until the recording's end.
        Of two that are surely over none is likelier for having been so for longer.
        """
        odds = [1.0 / max(self.chance[x.index], UNLIKELY_PAUSE) for x in candidates]
        best = max(range(len(odds)), key=odds.__getitem__)
        return candidates[best], odds[best] / sum(odds)

    def _candidates(self, lineage: Lineage) -> list[Lineage]:
        """Ended lineages that this one may continue.

        A bare reset may be that of an environment which never has its turn. A missed
        restore may follow it; another reset does only if it comes right behind.
        """
        if lineage.birth is not Birth.RESET:
            return [*self.ended.values(), *self.waiting.values()]
        twice = self.twice.get(lineage.index)
        if twice is not None:
            return [self.lineages[twice]]
        before = self.chains.before[lineage.start]
        later = lineage.start > self.first_step
        more = [x for x in self.waiting.values() if x.last == before and later]
        return [*self.ended.values(), *more]

    def _drop(self, index: int) -> None:
        self.ended.pop(index, None)
        self.waiting.pop(index, None)

    def _new(self) -> int:
        self.out.envs += 1
        return self.out.envs - 1

    def _take(self, lineage: Lineage, orphan: Lineage, confidence: float = 1.0) -> None:
        claim = self.out.claims[orphan.index]
        self.out.claims[lineage.index] = Claim(
            claim.env, claim.linked, confidence * claim.confidence, orphan.index
        )
        self._drop(orphan.index)
        self.open.members.discard(orphan.index)
        self._close()

    def _leave_open(self, lineage: Lineage, candidates: list[Lineage]) -> None:
        """One of these was claimed, and it can't be told which."""
        self.open.members |= {x.index for x in candidates}
        self.open.taken += 1
        rivals = tuple(x.index for x in candidates)
        claim = Claim(self._new(), linked=False, rivals=rivals)
        self.out.claims[lineage.index] = claim
        self._close()

    def _close(self) -> None:
        """Once as many were claimed as there are, none of them is left."""
        if self.open.taken >= len(self.open.members):
            for index in self.open.members:
                self._drop(index)
            self.open = _Open()

    # -- the kinds of births -----------------------------------------------------------

    def _reset(self, lineage: Lineage) -> None:
        before = self.chains.before[lineage.start]
        candidates = self._candidates(lineage)
        behind = next((x for x in candidates if x.last == before), None)
        if not candidates:
            self.out.claims[lineage.index] = Claim(self._new())
            self.out.late += self.from_the_middle
            return
        alone = len(candidates) == 1
        unseen = self._maybe_unseen(lineage)
        if self.strict and self.belief < BELIEVED and unseen:
            # Not even the only one that has ended need be its own.
            rivals = tuple(x.index for x in candidates)
            claim = Claim(self._new(), linked=False, rivals=rivals)
            self.out.claims[lineage.index] = claim
            return
        if alone and (behind is not None or self.belief < BELIEVED):
            if not unseen:
                self.out.direct += behind is not None
                self.out.indirect += behind is None
            self._take(lineage, candidates[0])
            return
        if behind is None and not unseen:
            self.out.indirect += 1  # whichever it continues
        if behind is not None and self.belief >= BELIEVED:
            self._take(lineage, behind, self.belief)
            return
        over = [x for x in candidates if self._surely_over(x)]
        if behind is None and self.belief >= BELIEVED and not over:
            # Its own last step would be right before it: somebody's first reset.
            self.out.claims[lineage.index] = Claim(self._new(), True, self.belief)
            return
        self._take_likeliest(lineage, candidates)

    def _take_likeliest(self, lineage: Lineage, candidates: list[Lineage]) -> None:
        best, sure = self._likeliest(candidates)
        if sure >= CERTAIN:
            self._take(lineage, best, sure)
        else:
            self._leave_open(lineage, candidates)

    def _thief(self, lineage: Lineage, dry: bool) -> None:
        candidates = self._candidates(lineage)
        if not candidates and lineage.doubtful:
            self._merge(lineage, dry)
            return
        if not candidates:
            # All others go on: one that had not been seen before.
            self.out.claims[lineage.index] = Claim(self._new())
            return
        self._take_likeliest(lineage, candidates)

    def _merge(self, lineage: Lineage, dry: bool) -> None:
        """A doubtful thief that nobody misses: its victim went back on purpose."""
        home = self.lineage_of[lineage.parent]
        while self.out.merged[home] >= 0:
            home = self.out.merged[home]
        self.out.merged[lineage.index] = home
        self.out.claims[lineage.index] = self.out.claims[home]
        if dry:
            return
        victim = self.lineages[home]
        victim.rewinds += [
            *lineage.rewinds,
            Rewind(lineage.heir, lineage.last, lineage.parent_row),
        ]
        victim.start = min(victim.start, lineage.start)
        victim.segments += lineage.segments
        self.grown.add(home)

    def _pool(self, lineage: Lineage) -> None:
        """From one of several equal states.

        If all that is known of those who left them is equal too, nothing is lost by
        giving their numbers to the lineages that follow, in any order: the steps
        before have no name. Otherwise it is an environment of its own at first.
        """
        claims = self.out.claims
        segment = self.chains.segments[lineage.segments[0]]
        tips = self._tips_of(segment)
        owners = [self.lineage_of[self.chains.segment_of[tip]] for tip in tips]
        named = [k for k in owners if not self._anonymous(k)]
        free = [k for k in owners if not claims[k].nameless]
        if named or not free:
            rivals = tuple(owners)
            claims[lineage.index] = Claim(self._new(), linked=False, rivals=rivals)
            return
        claims[free[0]].nameless = True
        claims[lineage.index] = Claim(
            claims[free[0]].env, orphan=free[0], rivals=tuple(owners)
        )
        claims[lineage.index].nameless = lineage.last in self.twins

    def _tips_of(self, segment: Segment) -> list[int]:
        """The equal states that a segment may have come from, as known by now."""
        if segment.pool is None:
            return []
        pools = self.chains.pools
        now = next((pools[t] for t in segment.pool.tips if t in pools), segment.pool)
        return sorted(now.tips)

    def _anonymous(self, index: int) -> bool:
        """Whether nothing before this lineage tells whose it is."""
        claims = self.out.claims
        while index >= 0 and claims[index].linked:
            if self.lineages[index].birth is Birth.RESET:
                before = claims[index].orphan
                return before < 0 or claims[before].nameless
            if self.lineages[index].birth is not Birth.POOL:
                return False
            index = claims[index].orphan
            if index >= 0 and claims[index].nameless:
                return True  # only what is anonymous loses its name
        return False

    def _root(self, lineage: Lineage) -> None:
        """A state that nothing explains: a new environment, or a jump of an old one."""
        if lineage.index == 0:
            self.out.claims[lineage.index] = Claim(self._new())
            return
        candidates = self._candidates(lineage)
        over = [x for x in candidates if self._surely_over(x)]
        alone = self.together == 1 and bool(candidates)
        unseen = self._maybe_unseen(lineage) or (self.from_the_middle and not over)
        # A state that is not finite stays so: hardly a new one's, where one was left.
        stays = self.lost[lineage.start] and any(self.lost[x.last] for x in candidates)
        if not candidates or (unseen and not (alone or stays)):
            self.out.claims[lineage.index] = Claim(self._new())
            self.from_the_middle |= not self.lost[lineage.start]
        else:
            self._jump(lineage, candidates)

    def _jump(self, lineage: Lineage, candidates: list[Lineage]) -> None:
        """An environment that had ended goes on in a state that nothing explains.

        From a state that is not finite nobody can be seen to go on: so one that ended
        in such a state goes on in a finite one here, if there is only one.
        """
        lost = [x for x in candidates if self.lost[x.last]]
        if len(candidates) == 1:
            self._take(lineage, candidates[0])
        elif len(lost) == 1 and not self.lost[lineage.start]:
            self._take(lineage, lost[0], CERTAIN)
        else:
            self._take_likeliest(lineage, candidates)
        claim = self.out.claims[lineage.index]
        claim.gap = True
        claim.not_finite = bool(lost) or bool(self.lost[lineage.start])
