"""The order in which environments take their turns, where it repeats.

A turn is the M native steps of one control step. In many programs the turns follow one
another in a fixed order, or each environment has exactly one turn in every round. Where
that holds throughout a recording, it proves what single states can't: to whom an
episode belongs that began while two others had ended, or that a run of two turns was
not one environment's twice but the second one's who had not restored its own state.

Whether a reset takes a turn (it is made when the environment would have had its next
one) or follows its environment's last turn at once is tried both ways.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import lgamma, log
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

# How unlikely it must be that turns in no order at all would look like this.
UNLIKELY = log(1e4)
# Of the turns, what share may be somebody's who did not restore, and in any case one.
FEW = 0.05


@dataclass(frozen=True, slots=True)
class Turn:
    """One control step, or one reset.

    Attributes
    ----------
    row
        Its first row.
    lineage
        Of that row.
    soft
        Whether it went on at once from the turn before within the same lineage, so
        that it may have been somebody else who had not restored.
    reset
        Whether it is a reset.
    """

    row: int
    lineage: int
    soft: bool = False
    reset: bool = False


@dataclass(frozen=True, slots=True)
class Order:
    """What an order of turns says.

    Attributes
    ----------
    kind
        ``"fixed"`` or ``"rounds"``.
    owner
        For each turn given, resets too, the provisional environment, or -1.
    """

    kind: str
    owner: list[int]


def fixed_order(turns: Sequence[Turn]) -> Order | None:
    """Try whether the turns repeat in one fixed order, from the first to the last.

    Environments are numbered by their place in it.
    """
    for resets in ("behind", "turn", "ahead"):
        found = _fixed(turns, resets)
        if found is not None:
            return found
    return None


def _fixed(turns: Sequence[Turn], resets: str) -> Order | None:
    # Those at the beginning are made in whatever order, before the turns begin.
    begin = next((k for k, t in enumerate(turns) if not t.reset), len(turns))
    counted = [t for t in turns[begin:] if resets == "turn" or not t.reset]
    period = _period(counted)
    if period < 2 or len(counted) < 2 * period:
        return None
    place: dict[int, int] = {}  # of each lineage, since its last hard turn
    agreed = switches = 0
    owner: dict[int, int] = {}
    for number, turn in enumerate(counted):
        here = number % period
        owner[turn.row] = here
        if turn.soft and place.get(turn.lineage) != here:
            switches += 1
            place[turn.lineage] = here
        elif turn.lineage not in place:
            place[turn.lineage] = here
        elif place[turn.lineage] != here:
            return None
        elif not turn.soft:
            agreed += 1
    if agreed * log(period) < UNLIKELY or switches > _few(len(counted)):
        return None
    owners = _with_resets(turns, owner, resets)
    return None if owners is None else Order("fixed", owners)


def _few(turns: int) -> int:
    return max(1, int(FEW * turns))


def _period(turns: Sequence[Turn]) -> int:
    """The commonest distance between two turns of one lineage."""
    last: dict[int, int] = {}
    count: dict[int, int] = {}
    for number, turn in enumerate(turns):
        if turn.lineage in last:
            distance = number - last[turn.lineage]
            count[distance] = count.get(distance, 0) + 1
        last[turn.lineage] = number
    return max(count, key=lambda d: (count[d], d)) if count else 0


def _with_resets(
    turns: Sequence[Turn], owner: dict[int, int], resets: str
) -> list[int] | None:
    """Owners of all turns, resets that take none included.

    Such a reset comes right behind its environment's last turn, or right ahead of its
    next one. Before all turns, it is known by who goes on from it. None where that does
    not hold.
    """
    next_hard: dict[int, int] = {}  # the first turn that surely is that lineage's own
    next_any: dict[int, int] = {}
    for turn in turns:
        if turn.reset:
            continue
        next_any.setdefault(turn.lineage, owner[turn.row])
        if not turn.soft:
            next_hard.setdefault(turn.lineage, owner[turn.row])
    out: list[int] = []
    before = -1
    for turn in turns:
        if turn.row in owner:
            before = owner[turn.row]
            out.append(before)
        elif before < 0:
            out.append(next_any.get(turn.lineage, -1))
        elif resets == "behind":
            if next_hard.get(turn.lineage, before) != before:
                return None
            out.append(before)
        else:
            out.append(next_any.get(turn.lineage, -1))
    return out


def rounds(
    turns: Sequence[Turn],
    env_of: Sequence[int],
    envs: int,
    offset: int | None = None,
) -> tuple[int, list[int]] | None:
    """Where every environment has one turn a round: who had the turns in doubt.

    Parameters
    ----------
    turns
        In order; resets that take no turn left out.
    env_of
        The environment of each turn, -1 where it is in doubt.
    envs
        How many environments there are.
    offset
        How many turns of the first round are there, where that is known already, and
        then no more evidence is asked for.

    Returns
    -------
    The offset, and the environment of each turn, -1 where it stays in doubt; None where
    there are no such rounds.
    """
    if envs < 2:
        return None
    if offset is not None:
        known = _rounds(turns, env_of, envs, offset, 0.0)
        return None if known is None else (offset, known)
    for tried in range(envs):
        found = _rounds(turns, env_of, envs, tried, UNLIKELY)
        if found is not None:
            return tried, found
    return None


def _rounds(
    turns: Sequence[Turn],
    env_of: Sequence[int],
    envs: int,
    offset: int,
    needed: float,
) -> list[int] | None:
    changed: dict[int, int] = {}
    whole = switched = 0
    for begin in range(offset - envs, len(turns), envs):
        low, high = max(begin, 0), min(begin + envs, len(turns))
        seen: set[int] = set()
        doubt: list[int] = []
        for k in range(low, high):
            env = env_of[k]
            if env >= 0 and env not in seen:
                seen.add(env)
            elif env >= 0 and not turns[k].soft:
                return None
            else:
                switched += env >= 0
                changed[k] = -1
                doubt.append(k)
        if high - low < envs:
            continue
        whole += not doubt
        if len(doubt) == 1 and len(seen) == envs - 1:
            changed[doubt[0]] = next(e for e in range(envs) if e not in seen)
    # The chance that a whole round has everybody once: envs! / envs**envs.
    each = envs * log(envs) - lgamma(envs + 1)
    if whole * each < needed or switched > _few(whole):
        return None
    out = list(env_of)
    for k, env in changed.items():
        out[k] = env
    return out
