"""One step at which two runs differ, with what it is and what may be behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.isolation.states import as_plain
from isoscope.core.replay.differences import worst_field
from isoscope.core.replay.fields import take
from isoscope.core.replay.forms import Divergence, Place
from isoscope.core.summary import counted

if TYPE_CHECKING:
    from isoscope.core.isolation.context import Examined
    from isoscope.core.replay.fields import Field
    from isoscope.core.replay.matching import Pair


def place(examined: Examined, row: int) -> Place:
    """Where a native step is; -1 in the labels is unknown."""
    labels = examined.attribution.labels

    def known(values: object) -> int | None:
        value = int(np.asarray(values)[row])
        return value if value >= 0 else None

    return Place(
        env=known(labels.env),
        episode=known(labels.episode),
        control_step=known(labels.control_step),
        substep=known(labels.substep),
        native=row,
    )


def divergence_at(
    a: Examined,
    b: Examined,
    fields: list[Field],
    pair: Pair,
    index: int,
    alike: str = "equal",
) -> Divergence:
    """The divergence at one of a pair's common steps; `alike` is what those before are.

    Raises
    ------
    AssertionError
        If nothing differs in that step.
    """
    row, twin = int(pair.rows[index]), int(pair.twins[index])
    worst = worst_field(fields, row, twin)
    assert worst is not None, "a step that differs has a field that does"
    one, size = worst
    off = (
        "is finite in one only"
        if not np.isfinite(size)
        else (f"is off by {size:.3g}{f' {one.unit}' if one.unit else ''}")
    )
    why = f"{one.full_name} {off} after {counted(index, f'{alike} native step')}"
    why += "".join(f"; {reason}" for reason in _reasons(a, b, pair, row, twin))
    here, there = place(a, row), place(b, twin)
    # M may be known in one recording only.
    step = here.control_step if here.control_step is not None else there.control_step
    substep = here.substep if here.substep is not None else there.substep
    return Divergence(
        env=here.env,
        episode=here.episode,
        control_step=step,
        substep=substep,
        native=row,
        actor=one.actor,
        field=one.name,
        size=size,
        unit=one.unit,
        value_a=as_plain(take(one.a, pair.rows[index : index + 1])[0][0]),
        value_b=as_plain(take(one.b, pair.twins[index : index + 1])[0][0]),
        in_b=there,
        equal_steps=index,
        why=why,
    )


def _reasons(a: Examined, b: Examined, pair: Pair, row: int, twin: int) -> list[str]:
    """What the recordings themselves show at such a step."""
    found = []
    for name, examined, env, at in (("A", a, pair.env, row), ("B", b, pair.twin, twin)):
        for missed in examined.attribution.missed_restores:
            first, last = missed.tainted
            if missed.place.env == env and first <= at <= last:
                whose = missed.victim.env
                other = f"env {whose}'s" if whose >= 0 else "another environment's"
                found.append(f"in {name} it went on from {other} state")
    one, two = a.recording.steps.gravity[row], b.recording.steps.gravity[twin]
    if not np.array_equal(one, two, equal_nan=True):
        found.append("it was taken under another gravity")
    one_s, two_s = a.recording.steps.h_s[row], b.recording.steps.h_s[twin]
    if np.isfinite([one_s, two_s]).all() and one_s != two_s:
        found.append(f"h is {one_s:g} s in A and {two_s:g} s in B")
    return found


def parting(a: Examined, b: Examined, pair: Pair) -> Divergence | None:
    """The divergence of an episode that ended in one recording only."""
    parted = pair.parted
    if parted is None:
        return None
    goes_on, ended = ("A", "B") if parted.row >= 0 else ("B", "A")
    here = place(a, parted.row) if parted.row >= 0 else None
    there = place(b, parted.twin_row) if parted.twin_row >= 0 else None
    where = here if here is not None else there
    return Divergence(
        env=pair.env,
        episode=parted.episode,
        control_step=None if where is None else where.control_step,
        substep=None if where is None else where.substep,
        native=None if here is None else here.native,
        actor=None,
        field=None,
        size=None,
        unit=None,
        in_b=there,
        equal_steps=len(pair.rows),
        why=(
            f"the episode ended in {ended} and goes on in {goes_on}, after "
            f"{counted(len(pair.rows), 'equal native step')}"
        ),
    )
