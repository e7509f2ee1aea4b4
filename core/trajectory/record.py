"""What all records have in common: they hold the declared fields of their owner.

A record is a dataclass, so that `dataclasses.fields` lists what is built in; its
constructor also takes every field that was declared for it since. All tensors are on
the CPU, contiguous and detached from then on.
"""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import torch

from isoscope.core.trajectory.errors import TrajectoryTypeError
from isoscope.core.trajectory.fields import Field, Merge, Owner, fields_of, on_change
from isoscope.core.trajectory.values import (
    merge_batch_values,
    merge_episode_data,
    on_cpu,
    split_batch_value,
    split_episode_data,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

Tensor = torch.Tensor
Tree = dict[str, Any]

_MISSING: Any = MISSING
_OWN_FIELDS: dict[type, tuple[dict[str, Any], frozenset[str]]] = {}
on_change(_OWN_FIELDS.clear)


class Record:
    """Base of what travels: values by declared name, and a few of the class's own.

    Parameters
    ----------
    **given
        Values by name. What is left out takes its default: None for a batch field.

    Raises
    ------
    TrajectoryTypeError
        If a required value is missing, or one is given that nobody declared.
    """

    owner: ClassVar[Owner]

    def __init__(self, **given: Any) -> None:
        names, batched = _own_fields(type(self))
        mine = self.__dict__
        for name, default in names.items():
            value = given.pop(name, default)
            if name in batched:
                if value is _MISSING:
                    self._refuse(name, "needs a value")
                # what is neither a tensor nor holds any is kept as it is
                mine[name] = value if value is None else on_cpu(value)
            elif value is not _MISSING:
                mine[name] = value
            else:
                self._fill(name)
        for name in given:
            self._refuse(name, "is not declared")

    def _fill(self, name: str) -> None:
        """Give a field of the class's own its default."""
        for item in fields(self):  # type: ignore[arg-type]  # each subclass is one
            if item.name == name and item.default_factory is not MISSING:
                self.__dict__[name] = item.default_factory()
                return
        self._refuse(name, "needs a value")

    def _refuse(self, name: str, problem: str) -> None:
        kind = type(self).__name__
        names = ", ".join(_own_fields(type(self))[0])
        raise TrajectoryTypeError(
            f"making a {kind}: {name} {problem}; its fields are {names}, "
            "and others can be declared (isoscope.core.trajectory.fields.declare)"
        )

    def __repr__(self) -> str:
        inside = ", ".join(
            f"{name}={_brief(value)}"
            for name, value in self.__dict__.items()
            if value is not None and not name.startswith("_")
        )
        return f"{type(self).__name__}({inside})"

    def replaced(self: R, **changes: Any) -> R:
        """A copy with some values changed; everything else is shared with this one."""
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy.__dict__.update(changes)
        return copy

    def _split_fields(self, sizes: Sequence[int]) -> list[dict[str, Any]]:
        """Cut every batch field; one dict of values a shard."""
        shards: list[dict[str, Any]] = [{} for _ in sizes]
        for field in fields_of(self.owner):
            value = self.__dict__.get(field.name)
            for shard, piece in zip(
                shards, split_field(field, value, sizes, self.owner), strict=True
            ):
                shard[field.name] = piece
        return shards

    @classmethod
    def _merge_fields(
        cls, records: Sequence[Record], leave: frozenset[str] = frozenset()
    ) -> dict[str, Any]:
        """Put every batch field together, but those to leave; one dict of values."""
        return {
            field.name: merge_field(
                field,
                [record.__dict__.get(field.name) for record in records],
                cls.owner,
            )
            for field in fields_of(cls.owner)
            if field.name not in leave
        }


R = TypeVar("R", bound=Record)


def split_field(
    field: Field, value: Any, sizes: Sequence[int], owner: str
) -> list[Any]:
    """Cut one field as it is declared."""
    if field.merge is Merge.EPISODE:
        return list(split_episode_data(value, sizes))
    return split_batch_value(
        value, sizes, axis=field.batch_axis, name=f"{owner}.{field.name}"
    )


def merge_field(field: Field, values: Sequence[Any], owner: str) -> Any:
    """Put one field together as it is declared."""
    if field.merge is Merge.EPISODE and any(v is not None for v in values):
        return merge_episode_data(values)
    return merge_batch_values(
        values, axis=field.batch_axis, name=f"{owner}.{field.name}"
    )


def _own_fields(kind: type[Record]) -> tuple[dict[str, Any], frozenset[str]]:
    """The names and defaults of a record's fields, and which run along the batch."""
    found = _OWN_FIELDS.get(kind)
    if found is None:
        batched = {field.name: field for field in fields_of(kind.owner)}
        names: dict[str, Any] = {}
        for item in fields(kind):  # type: ignore[arg-type]  # each subclass is one
            names[item.name] = item.default
        for name, field in batched.items():
            names.setdefault(name, _MISSING if field.required else None)
        found = names, frozenset(batched)
        _OWN_FIELDS[kind] = found
    return found


def _brief(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k}: {_brief(v)}" for k, v in value.items()) + "}"
    text = repr(value)
    return text if len(text) <= 60 else f"{type(value).__name__} of {len(text)}"
