"""Values as environments give them: owned copies, plain numbers, leaves that hold them.

What is given may be anything, whatever the spaces say. A recording holds it bit for
bit, or as absent.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from isoscope.core.recording.labelled.tables import pool_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from isoscope.core.recording.tracks import Array
    from isoscope.core.tap.adapters.leaves import Leaf

NAN = float("nan")
NUMBERS = "biuf"  # kinds of dtypes


def owned(value: Any) -> Any:
    """A copy on the host: an environment may write into what it gave or got."""
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, dict):
        return {key: owned(inner) for key, inner in value.items()}
    if isinstance(value, (tuple, list)):
        return tuple(owned(inner) for inner in value)
    return _array(value)


def owned_batch(value: Any) -> Any:
    """A copy on the host of what leads with environments; a list is one array."""
    if isinstance(value, dict):
        return {key: owned_batch(inner) for key, inner in value.items()}
    if isinstance(value, tuple):
        return tuple(owned_batch(inner) for inner in value)
    return _array(value)


def picked(batch: Any, which: Array) -> Any:
    """Some rows of a batch."""
    if isinstance(batch, dict):
        return {key: picked(inner, which) for key, inner in batch.items()}
    if isinstance(batch, tuple):
        return tuple(picked(inner, which) for inner in batch)
    return np.asarray(batch)[which]


def clipped_as(raw: Any, low: Any, high: Any, *, done: bool) -> Any:
    """An action [*shape] as clipped; None where that can't be told.

    Parameters
    ----------
    low, high
        Its limits [*shape]; None where it has none that are of numbers.
    done
        Whether it is clipped. Within the limits that would change nothing.
    """
    if low is None or getattr(raw, "shape", None) != low.shape:
        return None
    if raw.dtype.kind not in NUMBERS:
        return None
    if done:
        return np.clip(raw, low, high)
    return raw if bool(((raw >= low) & (raw <= high)).all()) else None


def real(value: Any) -> float:
    """A number as float64; also one in an array. NaN, which is absent, of all else."""
    if type(value) is float:
        return value
    if isinstance(value, str):
        return NAN
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        array = _array(value)
    if array.size == 1 and array.dtype.kind in NUMBERS:
        return float(array.reshape(-1)[0])
    return NAN


def whole(value: Any) -> int | None:
    """An integer, if it is one."""
    return int(value) if isinstance(value, (int, np.integer)) else None


def flag(value: Any) -> int:
    """1 or 0, also of an array of one; -1, which is absent, of all else."""
    if value is True or value is False:
        return int(value)
    array = _array(value)
    if array.size != 1 or array.dtype.kind not in NUMBERS:
        return -1
    return int(array.reshape(-1)[0] != 0)


def holds(leaf: Leaf, value: Array, *batch: int, rounded: bool = False) -> bool:
    """Whether a leaf's field holds a value bit for bit.

    Parameters
    ----------
    value
        [*batch, *shape]; axes of length 1 may be there or not.
    rounded
        Then any number will do that can be rounded to its dtype.
    """
    if not _shaped(leaf, value, batch):
        return False
    if rounded and value.dtype.kind in NUMBERS:
        return True
    return _fits(value.dtype, leaf.dtype)


def fitted(leaves: Sequence[Leaf], value: Any, *batch: int) -> Sequence[Leaf]:
    """The leaves, with dtypes that hold what is given: the same ones if these do.

    Parameters
    ----------
    value
        Of the space, or of a batch; then each leaf is [*batch, *shape].
    """
    out = None
    for k, leaf in enumerate(leaves):
        try:
            given = np.asarray(leaf.of(value))
        except (TypeError, ValueError, KeyError, IndexError):
            continue
        if _fits(given.dtype, leaf.dtype) or not _shaped(leaf, given, batch):
            continue
        wide = _wider(given.dtype, leaf.dtype)
        if wide is not None:
            out = [*leaves] if out is None else out
            out[k] = replace(leaf, dtype=wide)
    return leaves if out is None else out


def fitted_parts(leaves: Sequence[Leaf], value: Any, *batch: int) -> Sequence[Leaf]:
    """The same for actions: of one array it is told beside in which dtype it came."""
    plain = any(not leaf.path for leaf in leaves)
    return leaves if plain else fitted(leaves, value, *batch)


def kept(leaves: Sequence[Leaf], value: Any) -> Any:
    """Those parts of a value that leaves are of, at the same keys.

    Other parts of a batch have no axis of environments: a tuple of texts, say.
    """
    if any(not leaf.path for leaf in leaves):
        return value
    out: dict[Any, Any] = {}
    for leaf in leaves:
        try:
            found = leaf.of(value)
        except (TypeError, KeyError, IndexError):
            continue
        inside = out
        for key in leaf.path[:-1]:
            inside = inside.setdefault(key, {})
        inside[leaf.path[-1]] = found
    return out


def _array(value: Any) -> Any:
    if hasattr(value, "detach"):  # a tensor: as NumPy has it, from whatever device
        host = value.detach().cpu()
        try:
            return host.numpy().copy()
        except TypeError:  # NumPy has no bfloat16
            return host.float().numpy()
    try:
        return np.array(value)
    except (TypeError, ValueError):
        return np.array(None)


def _long(shape: tuple[int, ...]) -> list[int]:
    return [n for n in shape if n != 1]


def _shaped(leaf: Leaf, value: Array, batch: tuple[int, ...]) -> bool:
    shape = (*batch, *leaf.shape)
    return value.shape == shape or _long(value.shape) == _long(shape)


def _fits(given: np.dtype[Any], dtype: np.dtype[Any]) -> bool:
    if given == dtype:
        return True
    return given.kind in NUMBERS and np.can_cast(given, dtype, "safe")


def _wider(given: np.dtype[Any], dtype: np.dtype[Any]) -> np.dtype[Any] | None:
    """A dtype that holds both, or else what is given; None where no column can."""
    if given.kind not in NUMBERS:
        return None
    wide = np.promote_types(given, dtype)
    if wide.kind == "f" and given.kind != "f" and dtype.kind != "f":
        wide = given  # there is no such integer
    try:
        pool_of(wide)
    except TypeError:
        return None
    return wide
