"""What a record, step or trajectory holds, as an inspector or an export lists it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from isoscope.core.trajectory.fields import fields_of, trajectory_fields
from isoscope.core.trajectory.record import Record
from isoscope.core.trajectory.trajectory import Trajectory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from isoscope.core.trajectory.fields import Field
    from isoscope.core.trajectory.steps import TrajectoryStep

SEPARATOR = "."


@dataclass(frozen=True, slots=True)
class FieldRow:
    """One tensor of a record.

    Attributes
    ----------
    name
        Its field, and the keys inside it, joined by dots.
    shape, dtype
        As it is.
    declared_shape
        What its declaration says, for one chunk.
    rows
        How many rows it has in a trajectory, in words.
    doc
        What it is; empty if the declaration doesn't say.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    declared_shape: str
    rows: str
    doc: str


def overview(of: Record | TrajectoryStep | Trajectory) -> list[FieldRow]:
    """List every tensor that a record, a step or a trajectory holds.

    Fields in the order of their declarations, an epoch's extra row after its field.
    """
    return [
        FieldRow(
            name,
            tuple(value.shape),
            str(value.dtype).removeprefix("torch."),
            field.shape,
            field.rows.value,
            field.doc,
        )
        for name, value, field in _leaves(of)
    ]


def flat_tensors(of: Record | TrajectoryStep | Trajectory) -> dict[str, torch.Tensor]:
    """Every tensor by its dotted name, as they are written into a file."""
    return {name: value for name, value, _ in _leaves(of)}


def _leaves(of: Any) -> Iterator[tuple[str, torch.Tensor, Field]]:
    fields = fields_of(of.owner) if isinstance(of, Record) else trajectory_fields()
    for field in fields:
        names = [field.name]
        if field.extra is not None and not isinstance(of, (Record, Trajectory)):
            names.append(field.extra)
        for name in names:
            for path, value in _inside(name, of.__dict__.get(name)):
                yield path, value, field


def _inside(path: str, value: Any) -> Iterator[tuple[str, torch.Tensor]]:
    if isinstance(value, torch.Tensor):
        yield path, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _inside(f"{path}{SEPARATOR}{key}", inner)
