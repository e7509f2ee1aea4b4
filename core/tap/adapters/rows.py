"""Rows of a batch: numbers out of vector infos, and which actions lie within limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.tap.adapters.scalars import MOST_DEPTH, Name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.core.recording.tracks import Array
    from isoscope.core.tap.adapters.leaves import Leaf

TERMS = "reward_terms"
REWARD_PREFIX = "reward_"


def columns(
    infos: Any, count: int, skip: Sequence[str] = ()
) -> dict[Name, tuple[Array, Array]]:
    """Named numbers of vector infos: values float64 [N] and where they were written.

    Gymnasium's form: arrays [N], each with its mask under ``_key``; where the mask is
    false nothing was written, whatever is there. What has no mask is not told.
    """
    found: dict[Name, tuple[Array, Array]] = {}
    if isinstance(infos, dict):
        _collect(infos, "", "info", count, skip, found, None, 0)
    return found


def _collect(
    infos: dict[Any, Any],
    prefix: str,
    group: str,
    count: int,
    skip: Sequence[str],
    found: dict[Name, tuple[Array, Array]],
    outer: Array | None,
    depth: int,
) -> None:
    for key, value in infos.items():
        if not isinstance(key, str) or key in skip:
            continue
        mask = infos.get(f"_{key}")
        there: Array | None = outer if mask is None else np.asarray(mask, np.bool_)
        if isinstance(value, dict):
            if depth < MOST_DEPTH:
                terms = key == TERMS and not prefix
                inner = "" if terms else f"{prefix}{key}/"
                kind = "reward_term" if terms else group
                _collect(value, inner, kind, count, skip, found, there, depth + 1)
            continue
        if there is None or there.shape != (count,) or key.startswith("_"):
            continue
        if (
            isinstance(value, np.ndarray)
            and value.shape == (count,)
            and value.dtype.kind in "biuf"
        ):
            found[group, f"{prefix}{key}"] = value.astype(np.float64), there.copy()


def limits_of(actions: Sequence[Leaf]) -> tuple[Array, Array] | None:
    """Low and high of a plain vector of real numbers, float64 [size]; else None."""
    if len(actions) != 1 or actions[0].path or actions[0].dtype.kind != "f":
        return None
    leaf = actions[0]
    if not leaf.low:
        none = np.full(leaf.size, np.inf)
        return -none, none
    return np.array(leaf.low), np.array(leaf.high)


def within(actions: Any, limits: tuple[Array, Array] | None) -> Array | None:
    """Which rows lie within the limits, bool [n]: clipping would change nothing."""
    if limits is None or not isinstance(actions, np.ndarray):
        return None
    flat = actions.reshape(len(actions), -1)
    if flat.shape[1] != len(limits[0]):
        return None
    return np.asarray(((flat >= limits[0]) & (flat <= limits[1])).all(1))
