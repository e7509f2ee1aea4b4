"""Rows of a batch: numbers out of vector infos, and which actions lie within limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.tap.adapters.plain_steps import REASONS
from isoscope.core.tap.adapters.scalars import MOST_DEPTH, Name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from isoscope.core.recording.tracks import Array
    from isoscope.core.tap.adapters.leaves import Leaf

TERMS = "reward_terms"
REWARD_PREFIX = "reward_"
FINALS = ("final_obs", "final_observation", "final_info")


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


def named_in(
    infos: Any, count: int, done: Array | None
) -> dict[Name, tuple[Array, Array]]:
    """Numbers of a step's infos, as `columns`. Of ended rows they are in the finals.

    Parameters
    ----------
    done
        Rows that were reset within the step, whose own infos are the reset's.
    """
    named = columns(infos, count, FINALS)
    if done is None:
        return named
    named = {name: (v, there & ~done) for name, (v, there) in named.items()}
    last = infos.get("final_info") if isinstance(infos, dict) else None
    for name, (values, there) in columns(last, count).items():
        old, old_there = named.get(name, (values, np.zeros(count, np.bool_)))
        named[name] = np.where(there, values, old), there & done | old_there
    return named


def reasons_in(infos: Any, lanes: Array) -> Iterator[tuple[int, dict[str, str]]]:
    """Why episodes of these lanes ended, of those where the infos tell."""
    if not isinstance(infos, dict) or not any(key in infos for key in REASONS):
        return
    for lane in lanes.tolist():
        why = {}
        for key in REASONS:
            values, there = infos.get(key), infos.get(f"_{key}")
            if values is None or (there is not None and not there[lane]):
                continue
            if isinstance(values[lane], str):
                why[key] = str(values[lane])
        if why:
            yield lane, why


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
