"""Read an export back with our own reader, and compare every value with the source.

Values are compared as bytes: a NaN equals a NaN of the same bits, and -0.0 is not 0.0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.dataset.readers.registry import open_episodes
from isoscope.core.errors import IsoscopeError, WriteError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from isoscope.core.dataset.exporters.plan import Column, Plan
    from isoscope.core.dataset.model import Episodes
    from isoscope.core.recording.tracks import Array

_KEPT = ("id", "length", "env", "number", "terminated", "truncated", "seed", "task")
_TOLD = ("role", "names", "units", "low", "high", "per")


@dataclass(frozen=True, slots=True)
class ReadBack:
    """What was compared: all of it was equal."""

    episodes: int
    columns: int
    values: int


def compare(
    plan: Plan, content: Path, format: str, tick: Callable[[int], None]
) -> ReadBack:
    """Compare what was written with what should have been.

    Raises
    ------
    WriteError
        At the first difference, with its place; or if it can't be read back.
    """
    try:
        found = open_episodes(content, format)
    except IsoscopeError as error:
        raise WriteError(f"reading back what was written: {error}") from None
    try:
        return _compared(plan, found, tick)
    finally:
        found.close()


def _compared(plan: Plan, found: Episodes, tick: Callable[[int], None]) -> ReadBack:
    if len(found.episodes) != len(plan):
        raise _differs(f"{len(found.episodes)} episodes instead of {len(plan)}")
    _features(plan, found)
    count = 0
    for place in range(len(plan)):
        expected, there = plan.episode(place), found.episodes[place]
        for name in (*_KEPT, "final", "complete", "native"):
            if getattr(expected, name) != getattr(there, name):
                raise _differs(
                    f"episode {expected.id}: {name} is {getattr(there, name)!r} "
                    f"instead of {getattr(expected, name)!r}"
                )
        for column in plan.columns:
            for start, values in plan.windows(column, place):
                name = column.feature.name
                try:
                    got = found.read(place, name, start, start + len(values))
                except IsoscopeError as error:
                    raise WriteError(
                        f"reading back what was written: {error}"
                    ) from None
                _equal(values, got, column, f"episode {expected.id}", start)
                count += values.size
        tick(expected.length)
    return ReadBack(len(plan), len(plan.columns), count)


def _features(plan: Plan, found: Episodes) -> None:
    there = {f.name: f for f in found.features}
    for feature in plan.features:
        got = there.get(feature.name)
        if got is None:
            raise _differs(f"there is no {feature.name}")
        for name in _TOLD:
            a, b = getattr(feature, name), getattr(got, name)
            if not _same(a, b):
                raise _differs(f"{name} of {feature.name} is {b!r} instead of {a!r}")


def _same(a: Any, b: Any) -> bool:
    if a == b:
        return True
    numbers = isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b)
    return numbers and np.array_equal(
        np.array(a, object).astype(float), np.array(b, object).astype(float), True
    )


def _equal(values: Array, got: Array, column: Column, where: str, start: int) -> None:
    if column.derived and got.size == values.size:
        got = got.reshape(values.shape)  # nothing tells the reader a shape of (1,)
    if values.dtype != got.dtype or values.shape != got.shape:
        raise _differs(
            f"{where}: {column.feature.name} is {got.dtype}{list(got.shape)} instead "
            f"of {values.dtype}{list(values.shape)}"
        )
    a = np.ascontiguousarray(values).reshape(len(values), -1).view(np.uint8)
    b = np.ascontiguousarray(got).reshape(len(values), -1).view(np.uint8)
    if np.array_equal(a, b):
        return
    row = int(np.flatnonzero((a != b).any(axis=1))[0])
    raise _differs(
        f"{where}: row {start + row} of {column.feature.name} is "
        f"{got[row].tolist()} instead of {values[row].tolist()}"
    )


def _differs(what: str) -> WriteError:
    return WriteError(f"reading back what was written: it differs: {what}")
