"""From ``[T, b, ...]`` to micro-batches: flatten, permute, cut, pack.

Row ``t * b + e`` of a flat batch is chunk t of environment e.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from isoscope.core.trajectory.errors import (
    TrajectoryIndexError,
    TrajectoryKeyError,
    TrajectoryNotImplementedError,
    TrajectoryValueError,
)
from isoscope.core.trajectory.fields import names_with_extra_row

if TYPE_CHECKING:
    from collections.abc import Mapping

SEPARATOR = "::"


def micro_batches(
    batch: Mapping[str, Any], size: int, generator: torch.Generator | None
) -> list[dict[str, Tensor]]:
    """Cut a batch ``[T, b, ...]`` into packed micro-batches of `size` rows.

    Parameters
    ----------
    batch
        With ``prev_logprobs``, which tells T and b.
    size
        Rows of a micro-batch; T*b must be a multiple.
    generator
        A CPU generator for the permutation, which it advances; None keeps the order.

    Raises
    ------
    TrajectoryKeyError
        If there are no prev_logprobs.
    TrajectoryValueError
        If the rows don't divide.
    """
    logprobs = batch.get("prev_logprobs")
    if logprobs is None:
        raise TrajectoryKeyError(
            "cutting micro-batches: there are no prev_logprobs; "
            "set rollout.collect_prev_infos to True"
        )
    rows = logprobs.shape[0] * logprobs.shape[1]
    if size <= 0 or rows % size:
        raise TrajectoryValueError(
            f"cutting micro-batches: {rows} rows (chunks times environments) don't "
            f"divide by actor.micro_batch_size {size}"
        )
    order = (
        torch.arange(rows)
        if generator is None
        else torch.randperm(rows, generator=generator)
    )
    flat = flatten_embodied_batch(batch, order)
    return [pack_batch(part) for part in split_dict_to_chunk(flat, rows // size)]


def flatten_embodied_batch(batch: Mapping[str, Any], indices: Tensor) -> dict[str, Any]:
    """Flatten time and environment into rows, and take `indices` of them.

    ``[T, b, ...]`` becomes ``[len(indices), ...]``. The last row of the fields with T+1
    rows is dropped. None stays; a value that is neither tensor nor dict is left out.
    Raises :class:`TrajectoryNotImplementedError` for a key with ``env_info`` in it, and
    :class:`TrajectoryIndexError` for a tensor of too few rows.
    """
    highest = int(indices.max()) if indices.numel() else -1
    return _flattened(batch, indices, highest, top=True)


def _flattened(
    batch: Mapping[str, Any], indices: Tensor, highest: int, top: bool
) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in batch.items():
        if "env_info" in str(key):
            raise TrajectoryNotImplementedError(
                f"flattening a batch: {key} holds information of environments, which "
                "has no row for each chunk; leave it out of the batch"
            )
        if value is None:
            flat[key] = None
        elif isinstance(value, Tensor):
            # T+1 rows: the last one belongs to no chunk
            kept = value[:-1] if top and key in names_with_extra_row() else value
            rows = kept.reshape(-1, *kept.shape[2:])
            if len(rows) <= highest:
                raise TrajectoryIndexError(
                    f"flattening a batch: {key} is {list(value.shape)}, which are "
                    f"{len(rows)} rows, and row {highest} is wanted; give it for every "
                    "chunk and environment"
                    + (", and one more row" if kept is not value else "")
                )
            flat[key] = rows[indices]
        elif isinstance(value, dict):
            flat[key] = _flattened(value, indices, highest, top=False)
    return flat


def pack_batch(batch: Mapping[str, Any]) -> dict[str, Tensor]:
    """Join nested keys with ``::`` and drop what is None.

    Raises :class:`TrajectoryValueError` for a value that is neither tensor nor dict.
    """
    packed: dict[str, Tensor] = {}
    for key, value in batch.items():
        if isinstance(value, dict):
            inner = pack_batch(value)
            packed |= {f"{key}{SEPARATOR}{name}": each for name, each in inner.items()}
        elif isinstance(value, Tensor):
            packed[key] = value
        elif value is not None:
            raise TrajectoryValueError(
                f"packing a batch: {key} is {type(value).__name__}; only tensors and "
                "dicts of tensors can be sent to an actor"
            )
    return packed


def unpack_batch(batch: Mapping[str, Tensor]) -> dict[str, Any]:
    """Undo :func:`pack_batch`: nested dicts again."""
    nested: dict[str, Any] = {}
    for key, value in batch.items():
        *path, name = key.split(SEPARATOR)
        inside = nested
        for part in path:
            inside = inside.setdefault(part, {})
            if not isinstance(inside, dict):
                raise TrajectoryValueError(
                    f"unpacking a batch: {key} lies inside {part}, which is a tensor"
                )
        inside[name] = value
    return nested


def split_dict_to_chunk(data: Mapping[str, Any], chunks: int) -> list[dict[str, Any]]:
    """Cut every tensor and list along its first axis into `chunks` parts.

    The first parts are one longer where it doesn't divide (10 into 3: 4, 3, 3), and the
    last are empty where there is too little. Dicts are cut inside, None stays.
    Raises :class:`TrajectoryValueError` for anything else.
    """
    if chunks < 1:
        raise TrajectoryValueError(
            f"cutting a batch into {chunks} parts: choose 1 or more"
        )
    parts: list[dict[str, Any]] = [{} for _ in range(chunks)]
    for key, value in data.items():
        for part, cut in zip(parts, _cut(key, value, chunks), strict=True):
            part[key] = cut
    return parts


def _cut(key: str, value: Any, chunks: int) -> list[Any]:
    if value is None:
        return [None] * chunks
    if isinstance(value, dict):
        return list(split_dict_to_chunk(value, chunks))
    if not isinstance(value, list) and not (isinstance(value, Tensor) and value.dim()):
        raise TrajectoryValueError(
            f"cutting a batch: {key} is {type(value).__name__}, which has no rows"
        )
    length, longer = divmod(len(value), chunks)
    cuts, at = [], 0
    for part in range(chunks):
        until = at + length + (part < longer)
        cuts.append(value[at:until])
        at = until
    return cuts
