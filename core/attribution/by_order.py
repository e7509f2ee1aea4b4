"""What the order of the turns says about lineages: cuts, and whose they are."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.attribution.lineages import Birth, Lineage
from isoscope.core.attribution.order import Turn, fixed_order, rounds

if TYPE_CHECKING:
    from isoscope.core.attribution.claims import Claim, Ownership
    from isoscope.core.attribution.segments import Chains
    from isoscope.core.recording.tracks import Array

BY_ORDER = 0.999  # confidence in what only the order of the turns shows


@dataclass(slots=True)
class FoundOrder:
    """The order that was found.

    Attributes
    ----------
    kind
        ``"fixed"``, ``"rounds"``, or None.
    cuts
        Rows at which a lineage is somebody else's from there on.
    places
        By the first row of a lineage (or a cut): for "fixed", its place in the order;
        for "rounds", the first row of the first lineage of the same environment.
    resets_behind
        Whether it shows that a reset takes no turn of its own but comes right behind
        its environment's last one.
    resets_take_turns
        For "rounds", whether a reset is a turn.
    offset
        For "rounds", how many turns the first, cut one has.
    """

    kind: str | None = None
    cuts: list[int] = field(default_factory=list)
    places: dict[int, int] = field(default_factory=dict)
    resets_behind: bool = False
    resets_take_turns: bool = False
    offset: int | None = None


def find_order(
    turns: list[Turn], found: list[Lineage], claims: list[Claim]
) -> FoundOrder:
    """Look for an order; `claims` are the environments as far as they are known."""
    # Where native steps are missing, what follows is out of step: that somebody did not
    # restore explains it no better, and is not said.
    missing = any(claim.gap for claim in claims)
    fixed = fixed_order(turns)
    if fixed is not None:
        out = _places(turns, fixed.owner, found)
        return FoundOrder() if missing and out.cuts else out
    without = _by_rounds([t for t in turns if not t.reset], found, claims)
    within = _by_rounds(turns, found, claims)
    without, within = (
        None if order is not None and missing and order.cuts else order
        for order in (without, within)
    )
    if without is not None and within is not None:
        # Nobody is said not to have restored if it may be a matter of how resets come.
        if without.cuts and not within.cuts:
            without = None
    if without is not None:
        without.resets_behind = within is None
        return without
    if within is not None:
        within.resets_take_turns = True
    return within or FoundOrder()


def places_by_rounds(
    turns: list[Turn], found: list[Lineage], claims: list[Claim], known: FoundOrder
) -> dict[int, int]:
    """Places that the rounds give, which are known to hold, with what is known now."""
    counted = [t for t in turns if known.resets_take_turns or not t.reset]
    again = _by_rounds(counted, found, claims, known.offset)
    return {} if again is None else again.places


def _places(turns: list[Turn], owner: list[int], found: list[Lineage]) -> FoundOrder:
    """Cuts, and the place of each lineage, from the owners of all turns."""
    out = FoundOrder("fixed")
    now: dict[int, int] = {}
    for turn, here in zip(turns, owner, strict=True):
        if here < 0:
            continue
        if turn.lineage not in now:
            out.places[found[turn.lineage].start] = here
        elif now[turn.lineage] != here and turn.soft:
            out.cuts.append(turn.row)
            out.places[turn.row] = here
        elif now[turn.lineage] != here:
            continue
        now[turn.lineage] = here
    return out


def _by_rounds(
    turns: list[Turn],
    found: list[Lineage],
    claims: list[Claim],
    offset: int | None = None,
) -> FoundOrder | None:
    """Cuts and places by rounds; again as long as one answer leads to another."""
    envs = [c.env for c in claims]
    linked = sorted({c.env for c in claims if c.linked and c.env >= 0})
    number = {env: k for k, env in enumerate(linked)}
    first = {envs[x.index]: x.start for x in reversed(found)}
    out = FoundOrder("rounds")
    while True:
        env_of = [number.get(envs[t.lineage], -1) for t in turns]
        found_here = rounds(turns, env_of, len(linked), offset)
        if found_here is None:
            return None
        offset, answer = found_here
        out.offset = offset
        out.cuts = []
        votes: dict[int, set[int]] = {}  # by an environment that is not linked
        for turn, was, now in zip(turns, env_of, answer, strict=True):
            if was >= 0 and now != was:
                # Twice in one round: not its own, whether or not it shows whose.
                out.cuts.append(turn.row)
                if now >= 0:
                    out.places[turn.row] = first[linked[now]]
            elif now >= 0 and was < 0:
                votes.setdefault(envs[turn.lineage], set()).add(linked[now])
        agreed = {env: v.pop() for env, v in votes.items() if len(v) == 1}
        if not agreed:
            return out
        for lineage in found:
            home = envs[lineage.index]
            if home in agreed:
                envs[lineage.index] = agreed[home]
                out.places[lineage.start] = first[agreed[home]]


def cut(
    found: list[Lineage],
    lineage_of: list[int],
    rows: Array,
    cuts: list[int],
    chains: Chains,
) -> tuple[list[Lineage], Array]:
    """Cut lineages at these rows: what follows is somebody's who did not restore.

    `lineage_of` is renumbered in place; `rows` [T] is the lineage of each row.
    """
    if not cuts:
        return found, rows
    rows = rows.copy()
    extra: list[Lineage] = []
    for row in sorted(cuts):
        home = int(rows[row])
        whole = [*found, *extra][home]
        index = len(found) + len(extra)
        parent = chains.parent_of[row]
        segment = chains.segment_of[parent]
        extra.append(Lineage(index, Birth.THIEF, row, whole.last, [], parent, segment))
        mine = np.flatnonzero(rows == home)
        rows[mine[mine >= row]] = index
        whole.last = parent
    everything = sorted([*found, *extra], key=lambda x: (x.start, x.index))
    renumber = np.full(len(everything) + 1, -1, np.int32)
    for new, lineage in enumerate(everything):
        renumber[lineage.index] = new
    for lineage in everything:
        lineage.index = int(renumber[lineage.index])
    lineage_of[:] = [int(renumber[k]) for k in lineage_of]
    return everything, renumber[rows]


def apply_fixed(found: list[Lineage], owned: Ownership, places: dict[int, int]) -> None:
    """Environments by their place in a fixed order.

    A lineage without a turn in it goes with the others of its environment.
    """
    claims = owned.claims
    place_of = {
        x.index: places[x.start]
        for x in found
        if x.start in places and owned.merged[x.index] < 0
    }
    by_env: dict[int, set[int]] = {}
    for index, place in place_of.items():
        by_env.setdefault(claims[index].env, set()).add(place)
    for lineage, claim in zip(found, claims.copy(), strict=True):
        if owned.merged[lineage.index] >= 0:
            continue
        common = by_env.get(claim.env, set())
        place_or_none = place_of.get(lineage.index)
        if place_or_none is None and len(common) == 1:
            (place_or_none,) = common
        if place_or_none is not None:
            claims[lineage.index] = replace(
                claim,
                env=owned.envs + place_or_none,
                linked=True,
                confidence=claim.confidence if claim.linked else BY_ORDER,
            )


def apply_rounds(
    found: list[Lineage], owned: Ownership, places: dict[int, int]
) -> bool:
    """Environments of lineages that were in doubt; whether that changed anything."""
    claims = owned.claims
    index_at = {x.start: x.index for x in found if owned.merged[x.index] < 0}
    target: dict[int, int] = {}
    for row, first in places.items():
        index, model = index_at.get(row), index_at.get(first)
        if index is not None and model is not None and not claims[index].linked:
            target[claims[index].env] = claims[model].env
    for index, claim in enumerate(claims):
        if claim.env in target and not claim.linked:
            env = target[claim.env]
            claims[index] = replace(claim, env=env, linked=True, confidence=BY_ORDER)
    return bool(target)
