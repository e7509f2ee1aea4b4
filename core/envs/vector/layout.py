"""Spaces as arrays: which leaves a batch has, and rows written to and read from them.

Supported are Box, Discrete, MultiDiscrete and MultiBinary, and Dict and Tuple of
supported ones, nested as deep as one likes: their values have one shape and one type.
Refused are Text, Sequence, Graph, OneOf and custom spaces, which don't, and boxes of
objects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import Space, spaces

from isoscope.core.envs.vector.errors import VectorEnvError

Array = np.ndarray[Any, Any]
Allocate = Callable[[tuple[int, ...], "np.dtype[Any]"], Array]


@dataclass(frozen=True, slots=True)
class Leaf:
    """One array of a batch: a row's shape, and its type as numpy writes it."""

    shape: tuple[int, ...]
    dtype: str


# A leaf, or a dict or tuple of trees; a batch is the same with arrays for leaves.
Tree = Any
Batch = Any


def tree_of(space: Space[Any], what: str) -> Tree:
    """Give the leaves of a space.

    Parameters
    ----------
    space
        Of a single environment.
    what
        Such as ``"observation"``, for the error.

    Raises
    ------
    VectorEnvError
        If a space in it can't be a row of an array.
    """
    match space:
        case spaces.Dict():
            return {
                key: tree_of(inner, f"{what}[{key!r}]")
                for key, inner in space.spaces.items()
            }
        case spaces.Tuple():
            return tuple(
                tree_of(inner, f"{what}[{at}]") for at, inner in enumerate(space.spaces)
            )
        case (
            spaces.Box()
            | spaces.Discrete()
            | spaces.MultiDiscrete()
            | spaces.MultiBinary()
        ):
            dtype = np.dtype(space.dtype)
            if not dtype.hasobject:
                return Leaf(tuple(space.shape or ()), dtype.str)
    raise VectorEnvError(
        f"reading the {what} space: {space} is not supported; wrap the environment so "
        "that it has Box, Discrete, MultiDiscrete, MultiBinary, or Dict or Tuple of "
        "these"
    )


def allocated(tree: Tree, count: int, allocate: Allocate) -> Batch:
    """Make the arrays of a batch, in the tree's own order."""
    if isinstance(tree, dict):
        return {key: allocated(inner, count, allocate) for key, inner in tree.items()}
    if isinstance(tree, tuple):
        return tuple(allocated(inner, count, allocate) for inner in tree)
    return allocate((count, *tree.shape), np.dtype(tree.dtype))


def mapped(batch: Batch, function: Callable[[Array], Any]) -> Any:
    """Apply a function to every array of a batch."""
    if isinstance(batch, dict):
        return {key: mapped(inner, function) for key, inner in batch.items()}
    if isinstance(batch, tuple):
        return tuple(mapped(inner, function) for inner in batch)
    return function(batch)


def copied(batch: Batch) -> Batch:
    """Copy a batch."""
    return mapped(batch, np.array)


def read_row(batch: Batch, row: int) -> Any:
    """Copy one row: arrays, and numpy scalars where a row has no axis."""
    if type(batch) is np.ndarray:
        return _row(batch, row)
    return mapped(batch, lambda array: _row(array, row))


def _row(array: Array, row: int) -> Any:
    return array[row].copy() if array.ndim > 1 else array[row]


def write_row(batch: Batch, row: int, value: Any) -> None:
    """Write one row, as the space has it.

    Raises
    ------
    ValueError
        If keys or shapes are others. No broadcasting: what doesn't fit is wrong.
    TypeError
        If its type can't be the array's without losing its kind.
    """
    if (
        type(batch) is np.ndarray
        and type(value) is np.ndarray
        and value.dtype == batch.dtype
        and value.shape == batch.shape[1:]
    ):  # the common case, as it has to be cheap
        batch[row] = value
        return
    _write(batch, slice(row, row + 1), value, lead=())


def write_all(batch: Batch, value: Any) -> None:
    """Write all rows at once; raises as :func:`write_row`, before anything is written.

    Parameters
    ----------
    batch
        The arrays, [N, …] each.
    value
        Of the same structure and exact shapes; lists are made arrays.
    """
    lead = (_length(batch),)
    _write(batch, slice(None), value, lead=lead, check=True)
    _write(batch, slice(None), value, lead=lead)


def _length(batch: Batch) -> int:
    while not isinstance(batch, np.ndarray):
        inner = list(batch.values()) if isinstance(batch, dict) else batch
        if not inner:
            return 0
        batch = inner[0]
    return len(batch)


def _write(
    batch: Batch,
    rows: slice,
    value: Any,
    *,
    lead: tuple[int, ...],
    check: bool = False,
    where: str = "",
) -> None:
    if isinstance(batch, dict):
        if not isinstance(value, Mapping) or set(value) != set(batch):
            given = sorted(value) if isinstance(value, Mapping) else type(value)
            raise ValueError(f"{where or 'it'} has to have keys {list(batch)}: {given}")
        for key, inner in batch.items():
            at = f"{where}[{key!r}]"
            _write(inner, rows, value[key], lead=lead, check=check, where=at)
        return
    if isinstance(batch, tuple):
        if not isinstance(value, (tuple, list)) or len(value) != len(batch):
            raise ValueError(f"{where or 'it'} has to be a tuple of {len(batch)}")
        for place, inner in enumerate(batch):
            at = f"{where}[{place}]"
            _write(inner, rows, value[place], lead=lead, check=check, where=at)
        return
    array = np.asarray(value)
    expected = (*lead, *batch.shape[1:])
    if array.shape != expected:
        raise ValueError(
            f"{where or 'it'} has shape {list(array.shape)} and has to have "
            f"{list(expected)}"
        )
    if not np.can_cast(array.dtype, batch.dtype, "same_kind"):
        raise TypeError(f"{where or 'it'} is {array.dtype} and has to be {batch.dtype}")
    if not check:
        np.copyto(batch[rows], array, casting="same_kind")
