"""Pair the environments of two recordings, and find where two of them part.

Steps are matched by episode and by their place within the episode (the reset first), so
the twin's M need not be known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.isolation.states import STATE_FIELDS, as_plain, state_bytes
from isoscope.core.recording.model import StepKind

if TYPE_CHECKING:
    from isoscope.core.isolation.context import Examined
    from isoscope.core.recording.model import Recording
    from isoscope.core.recording.tracks import Array

STARTS_COMPARED = 4


@dataclass(frozen=True, slots=True)
class Departure:
    """The first step at which an environment differs from its twin.

    Attributes
    ----------
    row, twin_row
        The native step in either recording.
    last_equal_row
        The environment's native step before it; -1 if it differs from the beginning.
    equal_steps
        Native steps of the environment that are equal before it.
    actor, field, size
        Where it differs most, and by how much, in the field's unit; infinite where one
        is not finite.
    value, expected
        That field in either.
    gravity_differs
        Whether the two steps were taken under different gravity.
    """

    row: int
    twin_row: int
    last_equal_row: int
    equal_steps: int
    actor: str
    field: str
    size: float
    value: Any
    expected: Any
    gravity_differs: bool


def episodes_of(examined: Examined, env: int) -> dict[int, Array]:
    """Rows int64 [n] of each episode that begins with its reset, by its number."""
    labels = examined.attribution.labels
    rows = examined.rows_of(env)
    found: dict[int, Array] = {}
    for episode in np.unique(labels.episode[rows]):
        own = rows[labels.episode[rows] == episode]
        if episode >= 0 and labels.kind[own[0]] == StepKind.RESET:
            found[int(episode)] = own
    return found


def pair_up(subject: Examined, reference: Examined) -> list[tuple[int, int]]:
    """Environments (of the subject, of the reference) that begin alike.

    A pair's first few common episodes begin in the same state, to the last bit.
    """
    pairs = []
    for twin in reference.environments():
        theirs = episodes_of(reference, twin)
        for env in subject.environments():
            ours = episodes_of(subject, env)
            common = sorted(set(ours) & set(theirs))[:STARTS_COMPARED]
            if common and _same_start(
                subject.recording,
                int(ours[common[0]][0]),
                reference.recording,
                int(theirs[common[0]][0]),
            ):
                pairs.append((env, twin))
    return pairs


def _same_start(a: Recording, row_a: int, b: Recording, row_b: int) -> bool:
    first = state_bytes(a, row_a)
    return bool(first) and first == state_bytes(b, row_b)


def first_departure(
    subject: Examined, env: int, reference: Examined, twin: int
) -> Departure | None:
    """Find the first step at which the two differ; None if they never do.

    Up to the end of the shorter of two episodes whose lengths differ: equal states
    can't end one episode and not the other, so there the schedules part, not the
    states, and what comes after is not comparable.
    """
    ours, theirs = episodes_of(subject, env), episodes_of(reference, twin)
    equal, last = 0, -1
    for episode in sorted(set(ours) & set(theirs)):
        rows, twins = ours[episode], theirs[episode]
        for row, other in zip(rows.tolist(), twins.tolist(), strict=False):
            where = _difference(subject.recording, row, reference.recording, other)
            if where is not None:
                gravity_a = subject.recording.steps.gravity[row]
                gravity_b = reference.recording.steps.gravity[other]
                differs = not np.array_equal(gravity_a, gravity_b, equal_nan=True)
                return Departure(row, other, last, equal, *where, differs)
            equal, last = equal + 1, row
        if len(rows) != len(twins):
            break
    return None


def _difference(
    a: Recording, row_a: int, b: Recording, row_b: int
) -> tuple[str, str, float, object, object] | None:
    """Where two states differ most, by actor name and field; None where nowhere."""
    worst: tuple[str, str, float, object, object] | None = None
    others = {actor.name: actor for actor in b.actors if actor.alive(row_b)}
    for actor in a.actors:
        other = others.get(actor.name)
        if actor.static or other is None or not actor.alive(row_a):
            continue
        for name in STATE_FIELDS:
            one, two = actor.fields.get(name), other.fields.get(name)
            first = None if one is None else one.at(row_a)
            second = None if two is None else two.at(row_b)
            if first is None or second is None or first.shape != second.shape:
                continue
            if np.array_equal(first, second, equal_nan=first.dtype.kind == "f"):
                continue
            apart = np.abs(first.astype(float) - second.astype(float))
            size = float(np.max(np.where(np.isfinite(apart), apart, np.inf)))
            if worst is None or size > worst[2]:
                worst = (actor.name, name, size, as_plain(first), as_plain(second))
    return worst
