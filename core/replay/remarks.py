"""What a comparison could not compare, and what should be known besides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.recording.model import StepKind
from isoscope.core.summary import counted, listed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.isolation.context import Examined
    from isoscope.core.recording.tracks import Array
    from isoscope.core.replay.compare import Compared

NAMED_AT_MOST = 8


def not_checkable(seen: Compared) -> list[str]:
    """What belongs to the compared environments and could not be compared, and why."""
    shared = seen.shared
    found: list[str] = []
    for side, actors in (("A", shared.actors_a), ("B", shared.actors_b)):
        if actors:
            found.append(f"only {side} has the moving {_named('actor', actors)}")
    for side, fields in (("A", shared.only_a), ("B", shared.only_b)):
        if fields:
            found.append(f"only {side} has the {_named('field', fields)}")
    if shared.shapes:
        found.append(f"the {_named('field', shared.shapes)} differ in shape")
    if not shared.fields:
        found.append("the two recordings have no state field in common")
    for side, examined in (("A", seen.a), ("B", seen.b)):
        found.extend(_nobodys(side, examined))
    found.extend(_absent(seen))
    for pair, compared in zip(seen.matching.pairs, seen.compared_steps(), strict=True):
        if pair.skipped:
            episodes = listed([str(number) for number in pair.skipped[:NAMED_AT_MOST]])
            found.append(
                f"env {pair.env}, episode {episodes}: begins in the middle, and the "
                "other recording has no equal state"
            )
        elif not len(pair.rows):
            found.append(f"env {pair.env} has no step that both hold")
        elif compared < len(pair.rows) and shared.fields:
            steps = counted(len(pair.rows) - compared, "step")
            found.append(f"env {pair.env} has {steps} of which both hold no state")
    if not seen.matching.pairs:
        found.append("no environment of A could be paired with one of B")
    return found


def _named(noun: str, names: list[str]) -> str:
    shown = names[:NAMED_AT_MOST]
    if len(names) > len(shown):
        shown = [*shown, f"{len(names) - len(shown)} more"]
    return f"{noun}{'s' if len(names) > 1 else ''} {listed(shown)}"


def _absent(seen: Compared) -> Iterator[str]:
    """Fields that one side lacks in some steps, those of an actor together."""
    alike: dict[tuple[str, int, int], list[str]] = {}
    for one in seen.seen.fields:
        if one.only_a or one.only_b:
            key = (one.field.actor, one.only_a + one.only_b, one.first_absent)
            alike.setdefault(key, []).append(one.field.name)
    for (actor, steps, first), fields in alike.items():
        what = _named("field", fields)
        where = f"the first is native step {int(seen.rows[first])} of A"
        yield (
            f"the {what} of {actor} {'is' if len(fields) == 1 else 'are'} absent on "
            f"one side in {counted(steps, 'compared step')}; {where}"
        )


def _nobodys(side: str, examined: Examined) -> Iterator[str]:
    """Steps whose environment or episode is unknown."""
    labels, reason = examined.attribution.labels, examined.attribution.reason
    unknown = (labels.env < 0) | (labels.episode < 0)
    unknown &= (labels.kind != StepKind.ZERO) & (labels.kind != StepKind.FREE)
    if not unknown.any():
        return
    from isoscope.core.attribution.result import Reason

    counts = np.bincount(reason[unknown], minlength=len(Reason))
    why = [r.key for r in Reason if counts[r] and r != Reason.NONE]
    steps = counted(int(unknown.sum()), "native step")
    yield (
        f"whose {steps} of {side} {'was' if unknown.sum() == 1 else 'were'} is unknown"
        f"{f' ({listed(why)})' if why else ''}"
    )


def notes(seen: Compared) -> list[str]:
    """How environments were paired and in which order they step, and what is NaN."""
    found = list(_pairing(seen))
    pace = seen.matching.pace
    if pace.by == "control step":
        found.append("M differs: the last native step of each control step is compared")
    elif pace.by == "time":
        found.append("h differs: steps are compared that end at the same time")
    if not seen.by_bits:
        found.append(
            f"differences up to {seen.tolerance:g} times (1 + the larger value) are no "
            "divergence; velocities over a reset's own short step are not judged"
        )
    if _order(seen) is False:
        found.append(
            "A and B step their environments in another order; that alone changes "
            "nothing where nothing leaks"
        )
    for one in seen.seen.fields:
        if one.both_nan:
            found.append(
                f"{one.field.full_name} is NaN in both in "
                f"{counted(one.both_nan, 'step')}, counted as equal"
            )
    return found


def _pairing(seen: Compared) -> Iterator[str]:
    matching = seen.matching
    pairs = matching.pairs
    renamed = [p for p in pairs if p.env != p.twin]
    by_number = [p for p in pairs if p.how == "number"]
    nearest = [p for p in pairs if p.how == "nearest"]
    if renamed:
        each = [f"env {p.env} of A is env {p.twin} of B" for p in renamed]
        more = len(each) - NAMED_AT_MOST
        each = each[:NAMED_AT_MOST] + ([f"{more} more"] if more > 0 else [])
        yield f"environments are paired by how they begin: {listed(each)}"
    if by_number:
        which = listed([f"env {p.env}" for p in by_number[:NAMED_AT_MOST]])
        yield (
            f"{which} {'is' if len(by_number) == 1 else 'are'} paired by number: the "
            "starts differ"
        )
    if nearest:
        which = listed([f"env {p.env}" for p in nearest[:NAMED_AT_MOST]])
        yield (
            f"{which} {'is' if len(nearest) == 1 else 'are'} paired by the nearest "
            "start: none is equal"
        )
    for side, left in (("A", matching.left_a), ("B", matching.left_b)):
        if left:
            yield f"only {side} has {_named('environment', [str(e) for e in left])}"


def _order(seen: Compared) -> bool | None:
    """Whether the paired environments take turns in the same order; None if alone."""
    pairs = {p.twin: p.env for p in seen.matching.pairs if len(p.rows)}
    if len(pairs) < 2:
        return None
    one = _turns(seen.a.attribution.labels.env, {e: e for e in pairs.values()})
    two = _turns(seen.b.attribution.labels.env, pairs)
    n = min(len(one), len(two))
    return bool(np.array_equal(one[:n], two[:n]))


def _turns(env: Array, names: dict[int, int]) -> Array:
    """The named environments in the order of their visits."""
    table = np.full(int(env.max(initial=0)) + 2, -1, np.int64)
    for own, name in names.items():
        table[own] = name
    order = table[env]
    order = order[order >= 0]
    return np.asarray(order[np.diff(order, prepend=-1) != 0])
