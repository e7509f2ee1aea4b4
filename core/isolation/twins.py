"""Find where the environments of a recording depart from their independent twins.

The steps of both are laid over one another by `isoscope.core.replay.matching` and
compared to the last bit. What the recording itself shows, a missed restore or a change
of gravity, is another finding: the steps that it spoils are passed over here, in either
recording, to the end of the episode.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.isolation.registry import CannotRunError
from isoscope.core.isolation.states import as_plain
from isoscope.core.replay.differences import differences, worst_field
from isoscope.core.replay.fields import common, take
from isoscope.core.replay.matching import match
from isoscope.core.replay.places import usual_h_s

if TYPE_CHECKING:
    from isoscope.core.isolation.context import Examined
    from isoscope.core.recording.tracks import Array, BoolArray
    from isoscope.core.replay.fields import Field
    from isoscope.core.replay.matching import Pair


@dataclass(frozen=True, slots=True)
class Departure:
    """The first step at which an environment differs from its twin.

    Attributes
    ----------
    env, twin
        Its number in either recording.
    row, twin_row
        The native step in either.
    last_equal_row
        The environment's native step before it; -1 if it differs from the beginning.
    equal_steps
        Native steps of the environment that are equal before it.
    field, unit, size
        Where it differs most, and by how much; infinite where one is not finite.
    value, expected
        That field in either.
    """

    env: int
    twin: int
    row: int
    twin_row: int
    last_equal_row: int
    equal_steps: int
    field: str
    unit: str | None
    size: float
    value: Any
    expected: Any


def departures(subject: Examined, reference: Examined) -> list[Departure]:
    """Find where each environment that has a twin departs from it, if it does.

    Raises
    ------
    CannotRunError
        If the reference can be nobody's twin, with the reason.
    """
    fields = _comparable(subject, reference)
    matching = match(subject, reference, fields)
    if matching.pace.by != "place":
        raise CannotRunError(
            f"{reference.file} takes {reference.attribution.substeps} native steps a "
            f"control step, not {subject.attribution.substeps}",
            "a reference with the same frequencies",
        )
    pairs = [p for p in matching.pairs if p.how != "number" and len(p.rows)]
    if not pairs:
        raise CannotRunError(
            f"no environment begins an episode like one of {reference.file}",
            "a reference with the same seed and precision, recorded from the reset on",
        )
    rows = np.concatenate([p.rows for p in pairs])
    twins = np.concatenate([p.twins for p in pairs])
    differs = differences(fields, rows, twins, 0.0).differs
    found = []
    start = 0
    for pair in pairs:
        own = differs[start : start + len(pair.rows)]
        start += len(pair.rows)
        departure = _first(subject, reference, pair, fields, own)
        if departure is not None:
            found.append(departure)
    return found


def _comparable(subject: Examined, reference: Examined) -> list[Field]:
    """The fields to compare, of two recordings that may be compared to the bit."""
    fields = common(subject, reference).fields
    if not fields:
        raise CannotRunError(
            f"it has no state in common with {reference.file}",
            "a reference of the same actors, recorded with the same options",
        )
    if any(one.a.dtype != one.b.dtype for one in fields):
        raise CannotRunError(
            f"{reference.file} is {reference.recording.real} and this recording "
            f"{subject.recording.real}",
            "a reference of the same precision",
        )
    h_s, other_s = usual_h_s(subject), usual_h_s(reference)
    if h_s is not None and other_s is not None and h_s != other_s:
        raise CannotRunError(
            f"{reference.file} steps by {other_s:g} s and this recording by {h_s:g} s",
            "a reference with the same frequencies",
        )
    return fields


def _first(
    subject: Examined,
    reference: Examined,
    pair: Pair,
    fields: list[Field],
    differs: BoolArray,
) -> Departure | None:
    rows, twins = pair.rows, pair.twins
    gravity = _other_gravity(subject, reference, rows, twins)
    shown = _missed(subject, pair.env, rows) | _missed(reference, pair.twin, twins)
    if not gravity[0]:
        # It began under the same: the change is there to be seen in one of the files.
        shown |= _to_the_end_of_the_episode(gravity, subject, rows)
    at = np.flatnonzero((differs | gravity) & ~shown)
    if not len(at):
        return None
    k = int(at[0])
    row, twin = int(rows[k]), int(twins[k])
    where = None if gravity[k] else worst_field(fields, row, twin)
    if where is None:
        return _under_other_gravity(subject, reference, pair, k)
    one, size = where
    return Departure(
        pair.env,
        pair.twin,
        row,
        twin,
        int(rows[k - 1]) if k else -1,
        k,
        one.full_name,
        one.unit,
        size,
        as_plain(take(one.a, rows[k : k + 1])[0][0]),
        as_plain(take(one.b, twins[k : k + 1])[0][0]),
    )


def _under_other_gravity(
    subject: Examined, reference: Examined, pair: Pair, k: int
) -> Departure:
    row, twin = int(pair.rows[k]), int(pair.twins[k])
    value = subject.recording.steps.gravity[row]
    expected = reference.recording.steps.gravity[twin]
    return Departure(
        pair.env,
        pair.twin,
        row,
        twin,
        int(pair.rows[k - 1]) if k else -1,
        k,
        "gravity",
        "m/s²",
        float(np.abs(value - expected).max()),
        as_plain(value),
        as_plain(expected),
    )


def _other_gravity(
    subject: Examined, reference: Examined, rows: Array, twins: Array
) -> BoolArray:
    """Steps [n] that were taken under another gravity than the twin's."""
    one = subject.recording.steps.gravity[rows]
    two = reference.recording.steps.gravity[twins]
    known = np.isfinite(one) & np.isfinite(two)
    return np.asarray(((one != two) & known).any(axis=1))


def _missed(examined: Examined, env: int, rows: Array) -> BoolArray:
    """Steps [n] that come from another environment's state."""
    spoilt = np.zeros(len(rows), np.bool_)
    for missed in examined.attribution.missed_restores:
        if missed.place.env == env:
            first, last = missed.tainted
            spoilt |= (rows >= first) & (rows <= last)
    return spoilt


def _to_the_end_of_the_episode(
    where: BoolArray, examined: Examined, rows: Array
) -> BoolArray:
    """Steps [n] at or after such a step of the same episode."""
    if not where.any():
        return where
    episode = examined.attribution.labels.episode[rows]
    begins = np.concatenate([[0], np.flatnonzero(np.diff(episode)) + 1])
    first = np.searchsorted(begins, np.arange(len(rows)), side="right") - 1
    counts = np.cumsum(where)
    before = np.concatenate([[0], counts])[begins]
    return np.asarray(counts > before[first])
