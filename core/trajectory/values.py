"""Cutting nested batches along the batch axis, and putting them together again.

A batch is whatever an environment or a policy gives: a tensor, an array, a list of
texts, a number that holds for every row, or a dict of such things, nested. Rules of
section 2.2 of the trajectory contract.
"""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from isoscope.core.trajectory.errors import (
    TrajectoryRuntimeError,
    TrajectoryTypeError,
    TrajectoryValueError,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SCALARS = (bool, int, float, str)
TIME_LISTS = ("obs_list", "infos_list")
IGNORED = "task_descriptions"  # texts are no training inputs


def on_cpu(value: Any) -> Any:
    """Bring every tensor to the CPU, contiguous and detached; the rest stays.

    Dicts and lists are copied, so that changing the caller's changes nothing here; a
    tensor that is already like that is shared, not copied.
    """
    if isinstance(value, torch.Tensor):
        if value.requires_grad:
            value = value.detach()
        if value.device.type != "cpu":
            value = value.cpu()
        return value if value.is_contiguous() else value.contiguous()
    if isinstance(value, dict):
        return {name: on_cpu(item) for name, item in value.items()}
    if isinstance(value, list):
        return [on_cpu(item) for item in value]
    return value


def split_batch_value(
    value: Any, split_sizes: Sequence[int], *, axis: int = 0, name: str = "a batch"
) -> list[Any]:
    """Cut a nested batch into shards.

    Parameters
    ----------
    value
        The batch; None and scalars go to every shard as they are.
    split_sizes
        Rows of each shard.
    axis
        The batch axis of tensors and arrays. Lists have only one.
    name
        What it is, for the message.

    Returns
    -------
    list
        One value a shard; tensors contiguous.

    Raises
    ------
    TrajectoryRuntimeError
        If the sizes don't add up to the rows of a tensor or array. The length of a list
        is not checked: rows without a text get none.
    TrajectoryTypeError
        If something in it is of another type.
    """
    if value is None or isinstance(value, SCALARS):
        return [value] * len(split_sizes)
    if isinstance(value, dict):
        columns = {
            key: split_batch_value(
                item, split_sizes, axis=axis, name=f"{name}[{key!r}]"
            )
            for key, item in value.items()
        }
        return [
            {key: shards[at] for key, shards in columns.items()}
            for at in range(len(split_sizes))
        ]
    ends = list(accumulate(split_sizes))
    if isinstance(value, list):
        return [value[e - s : e] for s, e in zip(split_sizes, ends, strict=True)]
    if isinstance(value, torch.Tensor):
        check_rows(value.shape, split_sizes, axis, name)
        pieces = torch.split(value, list(split_sizes), dim=axis)
        return [piece.contiguous() for piece in pieces]
    if isinstance(value, np.ndarray):
        check_rows(value.shape, split_sizes, axis, name)
        return np.split(value, ends[:-1], axis=axis) if ends else []
    raise TrajectoryTypeError(
        f"splitting {name}: {type(value).__name__} can't be split along the batch; "
        "use tensors, arrays, lists, numbers, texts or dicts of these"
    )


def check_rows(
    shape: Sequence[int], sizes: Sequence[int], axis: int, name: str
) -> None:
    """Refuse sizes that don't add up to the rows that there are."""
    if axis >= len(shape) or shape[axis] != sum(sizes):
        raise TrajectoryRuntimeError(
            f"splitting {name}: sizes {list(sizes)} don't fit shape {list(shape)}; "
            f"give sizes that add up to axis {axis}"
        )


def merge_batch_values(
    values: Sequence[Any], *, axis: int = 0, name: str = "a batch"
) -> Any:
    """Put shards of a nested batch together.

    Parameters
    ----------
    values
        The shards, in order.
    axis, name
        As for `split_batch_value`.

    Returns
    -------
    object
        Tensors and arrays concatenated, lists joined, dicts merged by key; None if all
        are None; a scalar as it is, which has to be the same in every shard.

    Raises
    ------
    TrajectoryValueError
        If there are no shards, some are None, the dicts' keys or the scalars differ, or
        the shapes of arrays don't fit; `TrajectoryRuntimeError` for those of tensors.
    TrajectoryTypeError
        If something is of another type, or of several.
    """
    if not values:
        raise TrajectoryValueError(f"merging {name}: there are no shards to merge")
    first = values[0]
    absent = [value is None for value in values]
    if any(absent):
        if all(absent):
            return None
        raise TrajectoryValueError(
            f"merging {name}: shards {_where(absent)} of {len(values)} don't have it; "
            "give it in all of them or in none"
        )
    if isinstance(first, torch.Tensor):
        _same_kind(values, torch.Tensor, name)
        return values[0] if len(values) == 1 else _concatenate(values, axis, name)
    if isinstance(first, np.ndarray):
        _same_kind(values, np.ndarray, name)
        return values[0] if len(values) == 1 else _concatenate(values, axis, name)
    if isinstance(first, dict):
        _same_kind(values, dict, name)
        return _merge_dicts(values, axis, name)
    if isinstance(first, list):
        _same_kind(values, list, name)
        return [item for value in values for item in value]
    if isinstance(first, SCALARS):
        return _merge_scalars(values, name)
    raise TrajectoryTypeError(
        f"merging {name}: {type(first).__name__} can't be merged along the batch; "
        "use tensors, arrays, lists, numbers, texts or dicts of these"
    )


def _merge_dicts(values: Sequence[dict[Any, Any]], axis: int, name: str) -> Any:
    keys = values[0].keys()
    for value in values[1:]:
        if value.keys() != keys:
            odd = sorted(map(str, value.keys() ^ keys))
            raise TrajectoryValueError(
                f"merging {name}: only some shards have {', '.join(odd)}; "
                "give the same keys in all of them"
            )
    return {
        key: merge_batch_values(
            [value[key] for value in values], axis=axis, name=f"{name}[{key!r}]"
        )
        for key in keys
    }


def _merge_scalars(values: Sequence[Any], name: str) -> Any:
    first = values[0]
    for value in values[1:]:
        both_nan = value != value and first != first
        if not isinstance(value, SCALARS) or (value != first and not both_nan):
            raise TrajectoryValueError(
                f"merging {name}: it is {first!r} in one shard and {value!r} in "
                "another; what holds for every row must be the same in all"
            )
    return first


def _concatenate(values: Sequence[Any], axis: int, name: str) -> Any:
    shapes = {(*v.shape[:axis], *v.shape[axis + 1 :]) for v in values}
    if len(shapes) > 1 or values[0].ndim <= axis:
        tensors = isinstance(values[0], torch.Tensor)
        refusal = TrajectoryRuntimeError if tensors else TrajectoryValueError
        raise refusal(
            f"merging {name}: shapes {[list(v.shape) for v in values]} differ beside "
            f"the batch axis {axis}; give shards of one shape"
        )
    if isinstance(values[0], torch.Tensor):
        return torch.cat(list(values), dim=axis)
    return np.concatenate(values, axis=axis)


def _same_kind(values: Sequence[Any], kind: type, name: str) -> None:
    odd = {type(value).__name__ for value in values if not isinstance(value, kind)}
    if odd:
        raise TrajectoryTypeError(
            f"merging {name}: {kind.__name__} in some shards and {', '.join(odd)} in "
            "others; give one type"
        )


def _where(flags: Iterable[bool]) -> str:
    return ", ".join(str(at) for at, flag in enumerate(flags) if flag)


def split_episode_data(
    data: dict[str, Any] | None, split_sizes: Sequence[int]
) -> list[dict[str, Any] | None]:
    """Cut one chunk's episode data along the batch; its time lists stay whole.

    Section 1.4 of the contract: `obs_list` and `infos_list` run over the chunk's
    low-level steps, and each of their entries is a nested batch.
    """
    if data is None:
        return [None] * len(split_sizes)
    shards: list[dict[str, Any]] = [{} for _ in split_sizes]
    for key, value in data.items():
        name = f"episode_data[{key!r}]"
        if key in TIME_LISTS and isinstance(value, list):
            steps = [split_batch_value(v, split_sizes, name=name) for v in value]
            pieces: list[Any] = [
                [step[at] for step in steps] for at in range(len(split_sizes))
            ]
        else:
            pieces = split_batch_value(value, split_sizes, name=name)
        for shard, piece in zip(shards, pieces, strict=True):
            shard[key] = piece
    return list(shards)


def merge_episode_data(data: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Put shards of one chunk's episode data together.

    Raises
    ------
    TrajectoryValueError
        If there are none, or their keys or numbers of low-level steps differ.
    """
    if not data:
        raise TrajectoryValueError("merging episode_data: there are no shards to merge")
    keys = {key for shard in data for key in shard}
    merged: dict[str, Any] = {}
    for key in (*data[0], *sorted(keys - data[0].keys())):
        name = f"episode_data[{key!r}]"
        if any(key not in shard for shard in data):
            raise TrajectoryValueError(
                f"merging {name}: only some shards have it; give it in all or in none"
            )
        values = [shard[key] for shard in data]
        if key in TIME_LISTS and all(isinstance(value, list) for value in values):
            if len({len(value) for value in values}) > 1:
                raise TrajectoryValueError(
                    f"merging {name}: the shards have "
                    f"{', '.join(str(len(v)) for v in values)} low-level steps; "
                    "all of a chunk have the same number"
                )
            steps = zip(*values, strict=True)
            merged[key] = [merge_batch_values(step, name=name) for step in steps]
        else:
            merged[key] = merge_batch_values(values, name=name)
    return merged
