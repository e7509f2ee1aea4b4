"""Where two runs differ: which steps, which field first, and the largest differences.

NaN against a number is a difference; NaN against NaN is none, and is counted. A zero of
the other sign and a quaternion of the other sign are the same quantity in other bits:
no difference, but not equal bit for bit either. Absent is never compared.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from isoscope.core.replay.fields import Field, take

if TYPE_CHECKING:
    from isoscope.core.recording.tracks import Array, BoolArray

BLOCK = 16384  # steps compared together


@dataclass(slots=True)
class FieldDifference:
    """One field over all common steps.

    Attributes
    ----------
    field
        Which.
    largest, at
        The largest difference in the field's unit, infinite where one of the two is not
        finite, and the index of the step (of the n compared); -1 where there is none.
    compared
        Steps in which both hold it.
    differing, other_bits
        Steps that differ, and those that are the same in other bits.
    both_nan, first_nan
        Steps in which both are not a number at the same place, and the first of them.
    only_a, only_b, first_absent
        Steps in which one only holds it, and the first of them.
    """

    field: Field
    largest: float = 0.0
    at: int = -1
    compared: int = 0
    differing: int = 0
    other_bits: int = 0
    both_nan: int = 0
    first_nan: int = -1
    only_a: int = 0
    only_b: int = 0
    first_absent: int = -1


@dataclass(slots=True)
class Differences:
    """What the common steps say.

    Attributes
    ----------
    differs, beyond
        bool [n]: steps in which anything differs, and those in which it does by more
        than the tolerance.
    compared
        bool [n]: steps in which both hold at least one of the fields.
    fields
        Field by field.
    """

    differs: BoolArray
    beyond: BoolArray
    compared: BoolArray
    fields: list[FieldDifference] = field(default_factory=list)


def differences(
    fields: list[Field],
    rows: Array,
    twins: Array,
    tolerance: float,
    short: BoolArray | None = None,
) -> Differences:
    """Compare rows int64 [n] of A with twins int64 [n] of B in these fields.

    Parameters
    ----------
    tolerance
        |a - b| may be this times (1 + the larger of |a| and |b|).
    short
        bool [n]: steps so short that their velocities are mostly rounding: these are
        not held to the tolerance. None (the default) stands for no step.
    """
    steps = len(rows)
    differs, beyond, compared = (np.zeros(steps, np.bool_) for _ in range(3))
    found = Differences(differs, beyond, compared)
    for one in fields:
        seen = FieldDifference(one)
        for start in range(0, steps, BLOCK):
            at = slice(start, min(start + BLOCK, steps))
            judged = np.ones(len(rows[at]), np.bool_)
            if short is not None and one.kind == "velocity":
                judged = ~short[at]
            _block(seen, start, rows[at], twins[at], tolerance, judged, found)
        found.fields.append(seen)
    return found


def _block(
    seen: FieldDifference,
    start: int,
    rows: Array,
    twins: Array,
    tolerance: float,
    judged: BoolArray,
    found: Differences,
) -> None:
    one, has_a = take(seen.field.a, rows)
    two, has_b = take(seen.field.b, twins)
    both = has_a & has_b
    _count_absent(seen, start, has_a, has_b)
    seen.compared += int(both.sum())
    found.compared[start : start + len(rows)] |= both
    n = len(rows)
    one, two = one.reshape(n, -1), two.reshape(n, -1)
    nan = np.isnan(one) & np.isnan(two)
    if nan.any():
        hit = np.flatnonzero(nan.any(axis=1) & both)
        seen.both_nan += len(hit)
        if len(hit) and seen.first_nan < 0:
            seen.first_nan = start + int(hit[0])
    # Most steps of most comparisons are equal to the last bit.
    other = _bits(one) != _bits(two) if one.dtype == two.dtype else one != two
    look = np.flatnonzero(both & (other & ~nan).any(axis=1))
    if not len(look):
        return
    size, scale = sizes(one[look], two[look], seen.field.rotation)
    largest = size.max(axis=1, initial=0.0)
    differing = largest > 0
    seen.other_bits += int((~differing).sum())
    seen.differing += int(differing.sum())
    found.differs[start + look] |= differing
    too_far = (size > tolerance * (1.0 + scale)).any(axis=1)
    found.beyond[start + look] |= too_far & judged[look]
    worst = int(np.argmax(largest))
    if largest[worst] > seen.largest:
        seen.largest, seen.at = float(largest[worst]), start + int(look[worst])


def _count_absent(
    seen: FieldDifference, start: int, has_a: BoolArray, has_b: BoolArray
) -> None:
    only_a, only_b = has_a & ~has_b, has_b & ~has_a
    seen.only_a += int(only_a.sum())
    seen.only_b += int(only_b.sum())
    hit = np.flatnonzero(only_a | only_b)
    if len(hit) and seen.first_absent < 0:
        seen.first_absent = start + int(hit[0])


def _bits(values: Array) -> Array:
    if values.dtype.itemsize in (4, 8):
        return np.ascontiguousarray(values).view(f"u{values.dtype.itemsize}")
    return values


def sizes(one: Array, two: Array, rotation: bool = False) -> tuple[Array, Array]:
    """How far apart values [n, D] are, and their scale, both float64 [n, D].

    Infinite where only one of the two is a finite number; 0 where both are NaN, or the
    same infinity. A quaternion (`rotation`) is taken with the sign that is nearer.
    """
    a, b = one.astype(np.float64), two.astype(np.float64)
    if rotation:
        opposite = np.einsum("nd,nd->n", np.nan_to_num(a), np.nan_to_num(b)) < 0
        b = np.where(opposite[:, None], -b, b)
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    finite = np.isfinite(a) & np.isfinite(b)
    with np.errstate(invalid="ignore"):
        off = np.where(finite, np.abs(a - b), np.inf)
    scale = np.where(finite, np.maximum(np.abs(a), np.abs(b)), 0.0)
    return np.where(same, 0.0, off), scale


def worst_field(fields: list[Field], row: int, twin: int) -> tuple[Field, float] | None:
    """The field that differs most in one step, by its number; None where none does."""
    worst: tuple[Field, float] | None = None
    for one in fields:
        first, has_a = take(one.a, np.array([row]))
        second, has_b = take(one.b, np.array([twin]))
        if not (has_a[0] and has_b[0]):
            continue
        size, _ = sizes(first.reshape(1, -1), second.reshape(1, -1), one.rotation)
        largest = float(size.max(initial=0.0))
        if largest > 0 and (worst is None or largest > worst[1]):
            worst = (one, largest)
    return worst
